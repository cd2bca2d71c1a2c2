#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that all verbs agree about the spans of a file, and with an oracle that shares no code with them.

    agreement_test.py [FILE...]

Without files: every golden file, the traces in ../shared if present, and random programs; with TBED_LONG=1, more of
each. For each file it compares, label by label, the number of spans and their total and self times, as

    report, tree, flame, aggregate, diff        show them for the file
    export --to=mm_profdata, --to=chrome        wrote them, read back
    import                                      imported them from a foreign file, by all of these

with the result of oracle.py. Times are compared exactly if a tick is a nanosecond or does not count time. Otherwise
exports, and only they, round the end of a span to a nanosecond, so each span and each of its children may differ by
one. The verb that writes a format has to count what the format cannot hold.
All verbs that read events also have to exit with the same code.

Check: agreement
Needs: $b/tracebed $b/reader/tests/agreement/agreement_program
Slow: runs every verb for every golden file
"""
import collections
import decimal
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import oracle

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
BUILD = os.path.join(ROOT, os.environ.get("TBED_BUILD", "build/release"))
TRACEBED = os.path.join(BUILD, "tracebed")
TRACES = os.path.join(ROOT, "..", "shared", "traces")
IS_LONG = bool(os.environ.get("TBED_LONG"))
RANDOM_COUNT = 870 if IS_LONG else 58
SECONDS = 120
SHOWN = 4
PROFILE_NBYTES_MAX = 10 ** 9 if IS_LONG else 4 * 10 ** 5  # the decoder in Python is slow

# What a random program does; see agreement_program.c.
PROGRAMS = ("given", "given open", "given whole", "given pairs", "given others open", "given whole categories others",
            "counts whole given", "given ring", "given deep", "given deep open", "given killed whole", "given forks",
            "given resolution", "given missing", "given missing open", "given pairs others", "pairs", "forks others open",
            "killed", "ring killed", "given back", "given whole back", "given resolution pairs open",
            "given deep missing open", "given whole missing categories", "given missing categories open",
            "given deep missing categories", "given ring deep open", "given ring deep categories open")

class Refused(Exception):
    pass


def run(*arguments):
    """(exit code, standard output, standard error)"""
    done = subprocess.run([TRACEBED, *arguments], capture_output=True, timeout=SECONDS, check=False)
    if done.returncode < 0 or b"Sanitizer" in done.stderr or b"runtime error" in done.stderr:
        sys.exit("%s: crashed\n%s" % (" ".join(arguments), done.stderr.decode(errors="replace")[:2000]))
    return done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace")


def run_json(*arguments):
    code, text, errors = run(*arguments)
    if code == 2:
        raise Refused("%s: %s" % (arguments[0], errors.strip()))
    return code, json.loads(text)


# ---- Views: (exit code, {label: {figure: value}}) ----

def nanoseconds(row, name):
    return row[name + "_ns"] if name + "_ns" in row else row[name + "_ticks"]


def sum_rows(rows, figures):
    """'figures' returns what a row adds."""
    sums = collections.defaultdict(collections.Counter)
    for row in rows:
        label, values = figures(row)
        sums[label].update(values)
    return sums


def view_report(path):
    code, report = run_json("report", "--json", *([] if is_profile(path) else ["--spans"]), path)
    found = sum_rows(report["spans"], lambda row: (row["name"], {
        "count": row["count"], "total": nanoseconds(row, "total"), "self": nanoseconds(row, "self"),
        "open": row["never_ended_count"], "unknown": row["unknown_begin_count"]}))
    for row in report.get("rows", []):  # with measureme's columns
        found[row["name"]].update({"invocations": row["invocations"], "timed_total": nanoseconds(row, "time")})
    return code, found


def view_tree(path):
    code, tree = run_json("tree", "--json", "--paths", path)
    rows = [row for row in tree["rows"] if row["depth"] > 0]
    return code, sum_rows(rows, lambda row: (row["name"], {
        "count": row["count"], "total": nanoseconds(row, "total"), "self": nanoseconds(row, "self"), "open": row["never_ended_count"]}))


def has_named_processes(path):
    """Whether the stacks of a trace begin with a process: one that has no name is no frame."""
    roots = {row["name"] for row in run_json("tree", "--json", "--paths", path)[1]["rows"] if row["depth"] == 0}
    if "<unnamed process>" in roots and len(roots) > 1:
        raise Refused("processes with names, and without")
    return "<unnamed process>" not in roots


def flame_paths(path):
    """(exit code, {path of labels: self time})"""
    code, text, errors = run("flame", "--folded", path)
    if code == 2:
        raise Refused("flame: " + errors.strip())
    paths, has_roots = collections.Counter(), has_named_processes(path)
    for line in text.splitlines():
        stack, _, time = line.rpartition(" ")
        paths[tuple(label.replace("\\x3b", ";") for label in stack.split(";")[has_roots:])] += int(time)
    del paths[()]
    return code, paths


def view_aggregate(path):
    code, found = run_json("aggregate", "--json", path)
    return code, sum_rows(found["rows"], lambda row: (row["name"], {
        "invocations": row["invocations"]["min"], "timed_total": nanoseconds_min(row, "time"),
        "self": nanoseconds_min(row, "self")}))


def nanoseconds_min(row, name):
    return nanoseconds(row, name)["min"]


def view_diff(path):
    code, found = run_json("diff", "--json", path, path)
    return code, sum_rows(found["rows"], lambda row: (row["name"], {
        "invocations": row["invocations"][1], "timed_total": nanoseconds(row, "time")[1],
        "self": nanoseconds(row, "self")[1]}))


VIEWS = {"report": view_report, "tree": view_tree, "aggregate": view_aggregate, "diff": view_diff}


# ---- Exports ----

def is_profile(path):
    return not path.endswith((".tbed", ".log"))


def export(path, to, out):
    code, text, errors = run("export", "--to=" + to, "-f", "-o", out, path)
    if code == 2:
        raise Refused("export: " + errors.strip())
    notes = {}
    for line in text.splitlines()[1:]:
        number, _, what = line.strip().partition(" ")
        notes[what] = int(number.replace(",", ""))
    return code, notes


def read_chrome(path, resolution):
    """The spans of each row of the picture, in the order in which the file ends them."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file, parse_float=decimal.Decimal)["traceEvents"]
    facts = oracle.Facts()
    facts.resolution = resolution
    begun = {}
    ns = lambda microseconds: int(microseconds * 1000)
    for event in events:
        row, begin = (event["pid"], event["tid"]), ns(event["ts"])
        spans = facts.streams.setdefault(row, [])
        if event["ph"] == "X":
            spans.append(oracle.Span(event["name"], begin, begin + ns(event["dur"]), event.get("cat"),
                                     "never ended" in event.get("args", {})))
        elif event["ph"] == "b" and str(event.get("id", "")).startswith("beside "):
            begun[event["id"]] = begin, "never ended" in event.get("args", {})
        elif event["ph"] == "e" and str(event.get("id", "")).startswith("beside "):
            spans.append(oracle.Span(event["name"], begun[event["id"]][0], begin, None, begun[event["id"]][1]))
    return facts


def rows_of(facts):
    return {label: {"count": row.count, "total": row.total, "self": row.self, "open": row.open}
            for label, row in facts.figures().items()}


# ---- Comparing ----

def expected_value(row, figure, value):
    """If spans overlap without nesting, self times may be negative; some formats can only represent 0. Sums of
    hostile times beyond 63 bits are not compared."""
    expected = getattr(row, figure)
    if expected >= 2 ** 63:
        return value
    return 0 if figure == "self" and expected < 0 and value == 0 else expected


def slack(facts, row, is_export):
    """By how much a time may be off."""
    if facts.is_exact:
        return 0
    return row.count + row.child_count if is_export else 0.5 + row.count * 0.5


class Case:
    def __init__(self, path, facts):
        self.path, self.facts = path, facts
        self.rows = facts.figures()
        self.reference = None  # of traces whose ticks only the library can convert: what report says
        self.failures = []

    def fail(self, view, figure, text):
        self.failures.append("%s: %s: %s: %s" % (self.path, view, figure, text))

    def compare(self, view, found, is_export=False):
        """A view without rows is compared with everything that is expected."""
        found = {label: values for label, values in found.items() if label is not None and any(values.values())}
        figures = set().union(*found.values()) if found else {"self"}
        if not self.facts.names_all():  # symbols may give two ids one name: only sums compare
            return
        wrong = collections.defaultdict(list)
        for label in set(found) | set(self.rows):
            row = self.rows.get(label, oracle.Figures())
            for figure in figures:
                self.compare_one(wrong, label, row, figure, found.get(label, {}).get(figure, 0), is_export)
        for figure, texts in wrong.items():
            self.fail(view, figure, "; ".join(sorted(texts)[:SHOWN]))

    def compare_one(self, wrong, label, row, figure, value, is_export):
        expected = expected_value(row, figure, value)
        is_time = figure in ("total", "timed_total", "self")
        if is_time and not self.facts.is_exact:
            expected = self.reference.get(label, {}).get(figure, value) if self.reference else value
        rounded = abs(expected) // 2 ** 53 if isinstance(value, float) else 0
        if abs(value - expected) > (slack(self.facts, row, is_export) + rounded if is_time else 0):
            wrong[figure].append("%s has %s, should be %s" % (label, value, expected))

    def compare_counts(self, view, found):
        """If labels are lost, which the verb has reported, no span may be lost."""
        count, expected = sum(values["count"] for values in found.values()), sum(row.count for row in self.rows.values())
        if count != expected:
            self.fail(view, "count", "%d spans, should be %d" % (count, expected))

    def compare_paths(self, view, found):
        """A line of folded stacks cannot be negative."""
        if not self.facts.names_all() or not self.facts.is_exact or self.facts.features & {"deeper", "huge"}:
            return
        expected = {path: min(max(time, 0), 2 ** 64 - 1) for path, time in self.facts.paths().items()}
        wrong = ["%s has %s, should be %s" % (";".join(path), found.get(path, 0), expected.get(path, 0))
                 for path in set(found) | set(expected) if found.get(path, 0) != expected.get(path, 0)]
        if wrong:
            self.fail(view, "self", "; ".join(sorted(wrong)[:SHOWN]))

    def codes(self, codes):
        if len(set(codes.values())) > 1:
            self.fail("exit", "code", str(codes))


def check_views(case, path, codes, prefix=""):
    for name, view in VIEWS.items():
        code, found = view(path)
        codes[prefix + name] = code
        if name == "report" and not case.facts.is_exact and not prefix:
            case.reference = {label: dict(values) for label, values in found.items()}
        case.compare(prefix + name, found)
    codes[prefix + "flame"], found = flame_paths(path)
    case.compare_paths(prefix + "flame", found)


def check_exports(case, path, folder, codes, prefix=""):
    out = os.path.join(folder, "out.json")
    codes[prefix + "chrome"], notes = export(path, "chrome", out)
    if not any("63 bits" in note for note in notes):
        case.compare(prefix + "chrome", rows_of(read_chrome(out, case.facts.resolution)), True)
    check_notes(case, prefix + "chrome", notes)
    for version in (8, 9) if IS_LONG else (9,):
        out = os.path.join(folder, "out.mm_profdata")
        codes[prefix + "mm_profdata"], notes = export(path, "mm_profdata", out)
        unnamed = sum(count for note, count in notes.items() if "text of its name" in note)
        for name, view in (("report", view_report), ("tree", view_tree)):
            if any("48 bits" in note for note in notes):
                continue
            found = without(view(out)[1], "open")
            if unnamed:
                case.compare_counts(prefix + "mm_profdata, " + name, found)
            else:
                case.compare(prefix + "mm_profdata, " + name, found, True)
        check_notes(case, prefix + "mm_profdata", notes)


def without(found, figure):
    """Removes what a format cannot hold; the verb has to list it instead."""
    return {label: {name: value for name, value in values.items() if name != figure} for label, values in found.items()}


def check_notes(case, view, notes):
    """What the format cannot hold must be listed, with the right count."""
    unknown = sum(case.facts.unknown.values())
    listed = sum(count for note, count in notes.items() if "known begin" in note)
    if listed != unknown:
        case.fail(view, "unknown", "%d ends without a begin listed, of %d" % (listed, unknown))
    opened = sum(row.open for row in case.rows.values())
    listed = sum(count for note, count in notes.items() if "never ended" in note)
    if listed != opened:
        case.fail(view, "open", "%d spans that never ended listed, of %d" % (listed, opened))


def check_file(path, folder):
    """Returns the failures."""
    facts = oracle.read(path if not path.endswith(".log") else imported(path, folder))
    if facts is None:
        return check_refused(path)
    case, codes = Case(path, facts), {}
    check_views(case, path, codes)
    codes["dump"] = subprocess.run([TRACEBED, "dump", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   timeout=SECONDS, check=False).returncode
    check_exports(case, path, folder, codes)
    case.codes(codes)
    if not path.endswith(".tbed"):
        check_import(case, path, folder)
    return case.failures


def imported(path, folder):
    out = os.path.join(folder, "imported.tbed")
    run("import", "-f", "-o", out, path)
    return out


def check_import(case, path, folder):
    """The import's own exit codes are those of an intact file."""
    out, codes = imported(path, folder), {}
    check_views(case, out, codes, "import, ")
    check_exports(case, out, folder, codes, "import, ")
    case.codes(codes)


def check_refused(path):
    codes = {view: run(view, path)[0] for view in ("report", "tree", "dump", "aggregate", "info")}
    codes["flame"] = run("flame", "--folded", path)[0]
    return [] if set(codes.values()) == {2} else ["%s: refused by some only: %s" % (path, codes)]


# ---- Files ----

def golden_files():
    yield from sorted(glob.glob(os.path.join(ROOT, "spec/golden/valid/*.tbed")))
    yield from sorted(glob.glob(os.path.join(ROOT, "reader/tests/logs/*.log")))
    for pattern in ("*.mm_profdata", "*.events"):
        yield from sorted(glob.glob(os.path.join(ROOT, "spec/golden/measureme", pattern)))


def shared_files(folder):
    for pattern in ("*.mm_profdata", "old/*.mm_profdata", "old/*.events", "synth/*.mm_profdata"):
        for path in sorted(glob.glob(os.path.join(TRACES, pattern))):
            if os.path.getsize(path) <= PROFILE_NBYTES_MAX:
                yield path
    for path in sorted(glob.glob(os.path.join(TRACES, "*.zst"))) if IS_LONG else ():
        out = os.path.join(folder, os.path.basename(path).removesuffix(".zst"))
        subprocess.run(["zstd", "-q", "-d", "-f", path, "-o", out], check=True)
        yield out


def lose_block(path, seed):
    """Makes the page of an event block a hole, which is not damage in a trace that is open."""
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        pages = [at for at in range(4096, len(data), 4096) if data[at] == 1]
        if len(pages) > 2:
            at = random.Random(seed).choice(pages[1:-1])
            data[at:at + 4096] = bytes(4096)
            data[608:612] = b"open"
            file.seek(0)
            file.write(data)


def random_files(folder):
    program = os.path.join(BUILD, "reader/tests/agreement/agreement_program")
    for seed in range(RANDOM_COUNT):
        options = PROGRAMS[seed % len(PROGRAMS)].split()
        path = os.path.join(folder, "random %d %s.tbed" % (seed, " ".join(options)))
        subprocess.run([program, str(seed), path, *(word for word in options if word != "missing")], check=False)
        if "missing" in options:
            lose_block(path, seed)
        yield path


def main():
    failures, count = [], 0
    with tempfile.TemporaryDirectory(prefix="tracebed-agreement-") as folder:
        if sys.argv[1:]:
            files = sys.argv[1:]
        else:
            files = [*golden_files(), *shared_files(folder), *random_files(folder)]
        for path in files:
            start = time.monotonic()
            try:
                failures += check_file(path, folder)
            except Refused as refused:
                failures.append("%s: refused: %s" % (path, refused))
            count += 1
            if os.environ.get("TBED_TIMES"):
                print("%.2f s  %s" % (time.monotonic() - start, path), file=sys.stderr)
    print("\n".join(failures))
    print("%d files, %d differences" % (count, len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
