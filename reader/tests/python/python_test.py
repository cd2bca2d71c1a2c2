#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks Python's module: rows, columns, conditions and SQL give what the program prints.

It runs in Debian's Python, for which the module is built, and is skipped if the module is not. numpy and pandas are tried
if they are installed.

Check: python
Needs: $b/tracebed $b/python.stamp $b/libtracebed-sqlite.so $b/reader/tests/agreement/agreement_program
"""
import collections
import contextlib
import importlib.util
import io
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
BUILD = os.path.join(ROOT, os.environ.get("TBED_BUILD", "build/release"))
sys.path[:0] = [os.path.join(ROOT, "ninja", "checks"), os.path.join(BUILD, "python")]

import cases  # noqa: E402  pylint: disable=wrong-import-position


def make_trace(folder, seed=3, *options):
    path = os.path.join(folder, "random %d.tbed" % seed)
    program = os.path.join(BUILD, "reader/tests/agreement/agreement_program")
    subprocess.run([program, str(seed), path, "given", *options], check=True)
    return path


def report(path):
    text = subprocess.run([os.path.join(BUILD, "tracebed"), "report", "--json", path], check=False,
                          stdout=subprocess.PIPE).stdout
    return json.loads(text)


def sums_by_label(spans):
    """{label: (count, self)}, as the rows of a report."""
    sums = collections.defaultdict(lambda: [0, 0])
    for span in spans:
        sums[span.label][0] += 1
        sums[span.label][1] += span.self or 0
    return {label: tuple(figures) for label, figures in sums.items()}


def need_equal(got, expected, what):
    cases.need(got == expected, "%s: %r instead of %r" % (what, got, expected))


def test_rows_have_the_figures_of_the_report(folder):
    for seed in range(4):
        path = make_trace(folder, seed)
        expected = {row["name"]: (row["count"], row["self_ns"]) for row in report(path)["spans"]}
        with tracebed.open(path) as trace:
            spans = [span for span in trace.rows("spans", ["label", "self", "ts"]) if span.ts is not None]
        need_equal(sums_by_label(spans), expected, "seed %d" % seed)


def test_columns_have_the_values_of_the_rows(folder):
    with tracebed.open(make_trace(folder)) as trace:
        for table, (_, about) in tracebed.tables().items():
            if any(column[4] for column in about):  # a function
                continue
            names = [column[0] for column in about]
            rows, columns = list(trace.rows(table)), trace.columns(table)
            need_equal(list(columns), names, table)
            for index, name in enumerate(names):
                need_equal(list(columns[name]), [row[index] for row in rows], "%s.%s" % (table, name))
                need_equal(len(memoryview(columns[name])), len(rows), "the buffer of %s.%s" % (table, name))


def test_a_condition_selects_rows(folder):
    with tracebed.open(make_trace(folder, 5)) as trace:
        every = list(trace.spans)
        middle = sorted(span.ts for span in every if span.ts is not None)[len(every) // 2]
        label = collections.Counter(span.label for span in every).most_common(1)[0][0]
        asked = list(trace.rows("spans", where={"ts": (None, middle), "label": label}))
        expected = [span for span in every if span.ts is not None and span.ts < middle and span.label == label]
        cases.need(0 < len(expected) < len(every), "the condition selects a part")
        need_equal(asked, expected, "the rows")
        need_equal(sorted(trace.rows("spans", ["id"], any_order=True)), sorted((span.id,) for span in every), "any order")


def test_sql_gives_what_rows_give(folder):
    with tracebed.open(make_trace(folder, 6)) as trace:
        expected = sorted((span.label, span.dur) for span in trace.spans if span.dur is not None)
        got = trace.sql("SELECT label, dur FROM spans WHERE dur IS NOT NULL ORDER BY 1, 2").fetchall()
        need_equal(got, expected, "the rows")
        counted = trace.sql("SELECT count(*) FROM spans WHERE label = ?", (expected[0][0],)).fetchone()
        need_equal(counted[0], sum(span.label == expected[0][0] for span in trace.spans), "a parameter")


def test_foreign_files_open(folder):
    del folder
    profile = os.path.join(ROOT, "spec/golden/measureme/v9.mm_profdata")
    with tracebed.open(profile) as trace:
        need_equal(sum(1 for span in trace.spans if span.ts is not None),
                   report(profile)["totals"]["whole_span_count"], "spans of a profile")


def test_mistakes_raise(folder):
    path = make_trace(folder)
    trace = tracebed.open(path)
    wrong = [
        (FileNotFoundError, lambda: tracebed.open(path + ".none")),
        (ValueError, lambda: tracebed.open(__file__)),
        (KeyError, lambda: trace.rows("nothing")),
        (KeyError, lambda: trace.rows("spans", ["nothing"])),
        (TypeError, lambda: trace.rows("spans", where={"ts": "soon"})),
        (TypeError, lambda: trace.rows("spans", where={"label": 3})),
        (TypeError, lambda: trace.rows("histogram")),
        (AttributeError, lambda: trace.nothing),
    ]
    for kind, call in wrong:
        try:
            call()
        except kind:
            continue
        raise cases.Failure("no %s" % kind.__name__)
    rows = trace.rows("spans", ["ts"])
    trace.close()
    cases.need(next(rows) is not None, "a scan goes on after the trace was closed")
    try:
        trace.rows("spans")
    except ValueError:
        return
    raise cases.Failure("rows of a closed trace")


def test_numpy_and_pandas_take_the_columns(folder):
    try:
        import numpy  # pylint: disable=import-outside-toplevel
        import pandas  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        print("numpy or pandas is not installed (python3-numpy, python3-pandas)")
        return
    with tracebed.open(make_trace(folder)) as trace:
        columns = trace.columns("spans", ["ts", "dur", "label"])
        array = numpy.asarray(columns["dur"])
        need_equal(array.dtype, numpy.int64, "the type")
        cases.need(numpy.shares_memory(array, numpy.asarray(columns["dur"])), "no copy")
        frame = trace.dataframe("spans", ["label", "dur"])
        sums = frame.groupby("label", observed=True)["dur"].sum()
        expected = collections.Counter()
        for span in trace.rows("spans", ["label", "dur"]):
            expected[span.label] += span.dur or 0
        need_equal({label: int(value) for label, value in sums.items()}, dict(expected), "sums by label")


def test_examples_of_the_documentation_work(folder):
    os.rename(make_trace(folder), os.path.join(folder, "run.tbed"))
    os.chdir(folder)
    with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as page:
        blocks = re.findall(r"^```python\n(.*?)^```", page.read(), re.M | re.S)
    names = {}
    cases.need(len(blocks) >= 7, "the page has examples")
    for block in blocks:
        if "needs pandas" in block and importlib.util.find_spec("pandas") is None:
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            exec(block, names)  # pylint: disable=exec-used


def test_nothing_is_leaked(folder):
    path = make_trace(folder)
    count = None
    for _ in range(5):
        trace = tracebed.open(path)
        next(trace.spans)
        trace.columns("spans")
        del trace
        files = len(os.listdir("/proc/self/fd"))
        cases.need(count in (None, files), "open files: %s instead of %s" % (files, count))
        count = files


def is_skipped():
    """Whether there is nothing to check; starts Debian's Python if this is another one."""
    native = os.path.join(BUILD, "python", "tracebed", "_native.abi3.so")
    if not os.path.exists(native):
        print("skipped: the module is not built (python3-dev)")
        return True
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    return False


if __name__ == "__main__":
    if is_skipped():
        sys.exit(0)
    import tracebed
    sys.exit(cases.run_all(globals()))
