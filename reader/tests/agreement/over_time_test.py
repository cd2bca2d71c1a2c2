#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks 'report --over-time' against an oracle that shares no code with it.

    over_time_test.py [SEED...]

The spans of random traces are read by the oracle, with and without the options that choose a part of a trace, and cut at the
bounds of the parts of time; the time in which a stream is in any span is the union of its spans. Values of counters are those
that dump prints. CSV has to have the same as JSON, and one thread has to give the same bytes as two.

Check: over-time
Needs: $b/tracebed $b/reader/tests/agreement/agreement_program
"""
import collections
import csv
import io
import json
import math
import os
import random
import subprocess
import sys
import tempfile

import agreement_test as views
import filters_test
import oracle

SEED_COUNT = 120 if views.IS_LONG else 16
PARTS_OF_EACH = 2
TABLES = ("busy_moments", "span_moments", "counter_moments")


def at(row):
    return views.nanoseconds(row, "time")


class Times:
    """How a report divides the time: 'starts' are ticks since the start of the trace."""

    def __init__(self, rows, last):
        self.starts = [at(row) for row in rows]
        width = self.starts[1] - self.starts[0] if len(rows) > 1 else last + 1
        self.ends = [start + width for start in self.starts]
        self.is_even = self.starts == [self.starts[0] + i * width for i in range(len(rows))]

    def part_of(self, tick):
        inside = [i for i, start in enumerate(self.starts) if start <= tick]
        return inside[-1] if inside else 0

    def cut(self, begin, end):
        """(part, ticks) of what is in each part; the last takes what is left."""
        for i, start in enumerate(self.starts):
            last = self.ends[i] if i + 1 < len(self.starts) else math.inf
            first = start if i > 0 else -math.inf
            if min(end, last) > max(begin, first):
                yield i, min(end, last) - max(begin, first)


def union(spans):
    """The disjoint ranges of time that the spans cover."""
    ranges = []
    for span in sorted(spans, key=lambda span: min(span.begin, span.end)):
        begin = min(span.begin, span.end)
        if ranges and begin <= ranges[-1][1]:
            ranges[-1][1] = max(ranges[-1][1], span.end)
        else:
            ranges.append([begin, span.end])
    return ranges


def expected_spans(facts, times):
    """{label: {part: [count, ticks]}}, and the same of all spans under None."""
    found = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
    for spans in facts.streams.values():
        for span in spans:
            begin = min(span.begin, span.end)
            for label in (span.label, None):
                found[label][times.part_of(begin)][0] += 1
            for part, ticks in times.cut(begin, span.end):
                found[span.label][part][1] += ticks
        for begin, end in union(spans):
            for part, ticks in times.cut(begin, end):
                found[None][part][1] += ticks
    return found


def expected_counters(path, words, times):
    """
    {(name, process): {part: values}}; without times, just those. Ticks of these programs are nanoseconds from the start.
    """
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    processes = {stream["stream"]: stream["process"] for stream in views.run_json("info", "--json", path)[1]["streams"]}
    for line in views.run("dump", "--json", *words, path)[1].splitlines():
        event = json.loads(line)
        if event.get("type") != "counter":
            continue
        counter = oracle.label_of(event.get("name") or ""), processes.get(event["stream"], 0)
        if times is None:
            found[counter] = {}
        else:
            found[counter][times.part_of(event["tick"])].append(event["value"])
    return found


def check_spans(rows, expected, is_busy, problems):
    for row in rows:
        label, part = (None, row["part"]) if is_busy else (row["name"], row["part"])
        wanted = expected[label][part]
        if [row["count"], views.nanoseconds(row, "busy")] != wanted:
            problems.append(f"{label}, part {part}: {row}, should be {wanted}")


def check_counters(rows, expected, problems):
    if {(row["name"], row["process"]) for row in rows} != set(expected):
        problems.append("not all counters of processes have moments")
    for row in rows:
        values = expected[row["name"], row["process"]][row["part"]]
        mean = math.fsum(values) / len(values) if values else 0
        wanted = [len(values), min(values, default=0), max(values, default=0)]
        is_mean = math.isclose(row["mean_value"], mean, rel_tol=1e-9, abs_tol=1e-9)
        if [row["count"], row["min"], row["max"]] != wanted or not is_mean:
            problems.append(f"counter {row['name']}, part {row['part']}: {row}, should be {wanted}, mean {mean}")


def check_csv(report, words, problems):
    text = views.run("report", "--csv", *words)[1]
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    for table in TABLES:
        found = [row for row in rows if row["table"] == table]
        if len(found) != len(report[table]):
            problems.append(f"CSV: {len(found)} rows of {table}, should be {len(report[table])}")
        for row, wanted in zip(found, report[table]):
            wrong = [key for key in row.keys() & wanted.keys()
                     if row[key] != "" and row[key] != (wanted[key] if key == "name" else json.dumps(wanted[key]))]
            if wrong:
                problems.append(f"CSV: {table}: {row}, should be {wanted}")


def check(path, words, facts, has_order, count):
    """Returns the problems."""
    words = ["--spans", "--over-time=%d" % count, *words]
    problems = []
    try:
        _, report = views.run_json("report", "--json", *words, path)
    except views.Refused:  # there is nothing for it to act on
        is_empty = not any(facts.streams.values()) and not expected_counters(path, words[2:], None)
        return [] if is_empty else ["--over-time is refused"]
    times = Times(report["busy_moments"], views.nanoseconds(report, "duration"))
    if len(report["busy_moments"]) != count or not times.is_even:
        problems.append(f"the parts begin at {times.starts}")
    for table in TABLES:
        for i, row in enumerate(report[table]):
            row["part"] = i % count
            if at(row) != times.starts[i % count]:
                problems.append(f"{table}, row {i} begins at {at(row)}")
    expected = expected_spans(facts, times)
    check_spans(report["span_moments"], expected, False, problems)
    if has_order:  # otherwise ends are not in order, and what is covered twice is not known
        check_spans(report["busy_moments"], expected, True, problems)
    if sorted({row["name"] for row in report["span_moments"]}) != sorted(row["name"] for row in report["spans"]):
        problems.append("not all labels have moments")
    check_counters(report["counter_moments"], expected_counters(path, words[2:], times), problems)
    check_csv(report, [*words, path], problems)
    texts = [views.run("report", *form, *words, "-j%d" % jobs, path)[1] for form in (["--json"], []) for jobs in (1, 2)]
    if texts[0] != texts[1] or texts[2] != texts[3]:
        problems.append("-j1 and -j2 differ")
    return problems


def main():
    failures, seeds = [], list(map(int, sys.argv[1:])) or range(SEED_COUNT)
    program = os.path.join(views.BUILD, "reader/tests/agreement/agreement_program")
    with tempfile.TemporaryDirectory(prefix="tracebed-over-time-") as folder:
        for seed in seeds:
            kind = filters_test.PROGRAMS[seed % len(filters_test.PROGRAMS)] + (" others" if seed % 2 else "")
            path = os.path.join(folder, "%d %s.tbed" % (seed, kind))
            subprocess.run([program, str(seed), path, *kind.split()], check=True)
            chance = random.Random(seed)
            for part in [None] + [filters_test.Part(chance, oracle.read(path)) for _ in range(PARTS_OF_EACH)]:
                facts = oracle.read(path)
                if part is not None:
                    part.apply(facts)
                words = part.words if part is not None else []
                count = chance.choice((1, 2, 7, 20, 97))
                for problem in check(path, words, facts, "back" not in kind, count)[:3]:
                    failures.append("%s --over-time=%d %s: %s" % (os.path.basename(path), count, " ".join(words), problem))
            os.remove(path)
    print("\n".join(failures))
    print("%d traces, %d differences" % (len(seeds), len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
