#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks 'report --by=...' against an oracle that shares no code with it, and its rows against those by label.

    keys_test.py [SEED...]

Each seed gives a random trace; its spans are read by the oracle, named for their thread, category, time or arguments instead
of their labels, and added up. The same with a few random combinations of the options that choose a part of a trace. Whatever
the key is, the sums over all rows have to be the same, and one thread has to give the same bytes as two.

Check: keys
Needs: $b/tracebed $b/reader/tests/agreement/agreement_program
"""
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

import agreement_test as views
import filters_test
import oracle

SEED_COUNT = 120 if views.IS_LONG else 14
PARTS_OF_EACH = 2
WIDTHS = (1, 40, 777, 100000)
SUMS_ONLY = ("name", "location", "file", "function", "module", "process")  # no oracle knows their names here


def read(path, label):
    """The facts of a trace whose names are spelled by this function, instead of as labels."""
    usual, oracle.label_of = oracle.label_of, label
    try:
        return oracle.read(path)
    finally:
        oracle.label_of = usual


def with_arguments(name):
    label, *arguments = name.split(oracle.SEPARATOR)
    return label + "".join(f" arg{i}={oracle.quoted(text)}" for i, text in enumerate(arguments))


def thread_names(path):
    streams = views.run_json("info", "--json", path)[1]["streams"]
    return {row["stream"]: "%s (%d)" % (row["name"], row["tid"]) for row in streams}


def time_name(facts, width):
    """How the part of the time is called in which a span begins."""
    decimals = next(n for n in range(13) if width % 10 ** (9 - n) == 0 or n == 9)
    def name(_, span):
        begin = min(span.begin, span.end) // width * width
        return str(begin) if facts.is_count else f"{begin / 1e9:.{decimals}f} s"
    return name


def rename(facts, name):
    """The facts with other names: 'name' gets a stream and a span."""
    for number, spans in facts.streams.items():
        for span in spans:
            span.label = name(number, span)
    facts.unknown = collections.Counter()
    return facts


def names_of(key, path, facts):
    if key == "thread":
        threads = thread_names(path)
        return lambda number, span: threads[number]
    if key == "category":
        return lambda number, span: span.category if span.category is not None else "<no category>"
    if key == "argument":
        return lambda number, span: span.label + span.arguments
    return time_name(facts, int(key.rstrip("ns")))


def view(key, path, words):
    _, report = views.run_json("report", "--json", "--spans", "--by=" + key, *words, path)
    return views.sum_rows(report["spans"], lambda row: (row["name"], {
        "count": row["count"], "total": views.nanoseconds(row, "total"), "self": views.nanoseconds(row, "self"),
        "open": row["never_ended_count"]})), report


def sums_of(report, nests):
    """Self times of spans that overlap without nesting may be negative, and are 0 then."""
    fields = ["count", "total_ns", "total_ticks", "never_ended_count", "unknown_begin_count"]
    sums = {field: sum(row.get(field, 0) for row in report["spans"]) for field in fields}
    sums["self"] = sum(views.nanoseconds(row, "self") for row in report["spans"]) if nests else None
    sums["instants"] = sum(row["count"] for row in report["instants"])
    return sums


def check_key(case_path, path, key, part):
    """Returns the failures."""
    words = part.words if part is not None else []
    facts = read(path, with_arguments if key == "argument" else oracle.label_of)
    if part is not None and key == "argument" and (part.regex or part.exclude or part.inside):
        return []  # these ask for labels
    if part is not None:
        part.apply(facts)
    case = views.Case(" ".join([case_path, "--by=" + key, *words]), rename(facts, names_of(key, path, facts)))
    case.compare("report", view(key, path, words)[0])
    return case.failures


def check_sums(case_path, path, keys, words):
    failures = []
    nests = "whole" not in case_path and "back" not in case_path
    wanted = sums_of(view("label", path, words)[1], nests)
    for key in keys:
        found = sums_of(view(key, path, words)[1], nests)
        if found != wanted:
            failures.append("%s --by=%s %s: sums %s, should be %s" % (case_path, key, " ".join(words), found, wanted))
        texts = [views.run("report", "--json", "--by=" + key, "-j%d" % jobs, *words, path)[1] for jobs in (1, 2)]
        if texts[0] != texts[1]:
            failures.append("%s --by=%s: -j1 and -j2 differ" % (case_path, key))
    return failures


def check(seed, folder, program):
    words = filters_test.PROGRAMS[seed % len(filters_test.PROGRAMS)]
    path = os.path.join(folder, "%d %s.tbed" % (seed, words))
    subprocess.run([program, str(seed), path, *words.split()], check=True)
    facts, chance, failures = oracle.read(path), random.Random(seed), []
    unit = "" if facts.is_count else "ns"
    width = max(chance.choice(WIDTHS), views.nanoseconds(view("label", path, [])[1], "duration") // 900000 + 1)
    keys = ["thread", "category", "argument", "%d%s" % (width, unit)]
    parts = [None] + [filters_test.Part(chance, facts) for _ in range(PARTS_OF_EACH)]
    for part in parts:
        for key in keys:
            failures += check_key(os.path.basename(path), path, key, part)
        failures += check_sums(os.path.basename(path), path, [*keys, *SUMS_ONLY], part.words if part is not None else [])
    os.remove(path)
    return failures


def main():
    failures, seeds = [], list(map(int, sys.argv[1:])) or range(SEED_COUNT)
    program = os.path.join(views.BUILD, "reader/tests/agreement/agreement_program")
    with tempfile.TemporaryDirectory(prefix="tracebed-keys-") as folder:
        for seed in seeds:
            failures += check(seed, folder, program)
    print("\n".join(failures))
    print("%d traces, %d differences" % (len(seeds), len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
