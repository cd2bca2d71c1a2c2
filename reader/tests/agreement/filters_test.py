#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that all verbs agree about what the options of a filter take, and with an oracle that shares no code with them.

    filters_test.py even|odd|SEED...

Each seed gives a random trace and a few random combinations of the options. The oracle reads all spans of the trace,
removes and cuts those that the options leave out, and adds up what is left, as agreement_test.py does without options.
What is no span is compared between report and dump. report with one thread and with two has to give the same bytes.

Check: filters-even even
Check: filters-odd odd
Needs: $b/tracebed $b/reader/tests/agreement/agreement_program
Slow: runs every verb for some hundred combinations of options
"""
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import agreement_test as views
import oracle

SEED_COUNT = 300 if views.IS_LONG else 36
FILTERS_OF_EACH = 6

# Without blocks that are missing: there it depends on the blocks that are read what is known of a span.
PROGRAMS = ("given", "given open", "given whole", "given others open", "given whole categories others", "counts given",
            "counts whole given", "given deep", "given forks", "given back", "given whole back categories", "given categories",
            "given arguments open", "given deep arguments categories", "given whole arguments others")
CATEGORIES = ("Query", "GenericActivity", "QueryBlocked", "IncrementalLoadResult", "other")
POINTS = ("instant", "counter", "message")


class Part:
    """One combination of options: their words, and what they take."""

    def __init__(self, chance, facts):
        self.words, self.chance, self.unit = [], chance, "" if facts.is_count else "ns"
        spans = [span for spans in facts.streams.values() for span in spans]
        ticks = sorted(tick for span in spans for tick in (span.begin, span.end)) or [0]
        self.begin, self.end, self.minimum = 0, None, 0
        self.streams, self.regex, self.exclude, self.categories, self.inside = None, None, None, None, None
        while not self.words:
            self.choose_time(ticks)
            self.choose_kinds(facts)

    def flip(self):
        return self.chance.random() < 0.4

    def choose_time(self, ticks):
        begin, end = sorted((self.chance.choice(ticks), self.chance.choice(ticks) + self.chance.randrange(2)))
        if self.flip():
            self.begin = begin
            self.words.append(f"--begin={begin}{self.unit}")
        if self.flip() and end > self.begin:
            self.end = end
            self.words += ["-e", f"{end}{self.unit}"]
        if self.flip():
            self.minimum = self.chance.choice((0, 1, 40, 500))
            self.words.append(f"--minimum-duration={self.minimum}{self.unit}")

    def choose_kinds(self, facts):
        if self.flip() and facts.streams:
            self.streams = self.chance.sample(sorted(facts.streams), self.chance.randint(1, len(facts.streams)))
            self.words += [f"--stream={number}" for number in self.streams]
        if self.flip():
            self.regex = self.chance.choice(("[0-3]$", "^label (1|4|5|6)", "l 2|l 5", "."))
            self.words += ["-n", self.regex]
        if self.flip():
            self.exclude = self.chance.choice(("[0-3]$", "label 6", "none"))
            self.words.append("--exclude=" + self.exclude)
        if self.flip():
            self.categories = self.chance.sample(CATEGORIES, self.chance.randint(1, 3))
            self.words += ["--category=" + name for name in self.categories]
        if self.flip():
            self.inside = [f"label {number}" for number in self.chance.sample(range(7), self.chance.randint(1, 3))]
            self.words += ["--inside=" + name for name in self.inside]

    # ---- What it takes ----

    def cut(self, span):
        """The part of a span in the window, or None."""
        begin, end = min(span.begin, span.end), span.end
        last = self.end if self.end is not None else float("inf")
        if begin == end:
            return oracle.Span(span.label, span.begin, end, span.category, span.is_open,
                               span.arguments) if self.begin <= end < last else None
        if end <= self.begin or begin >= last:
            return None
        return oracle.Span(span.label, max(begin, self.begin), min(end, last), span.category, span.is_open and end <= last,
                           span.arguments)

    def ranges(self, spans):
        """The time of the spans of --inside: those that overlap are one, but those that only touch are not."""
        found = []
        for span in sorted((span for span in spans if span.label in self.inside), key=lambda span: min(span.begin, span.end)):
            begin = min(span.begin, span.end)
            if found and begin < found[-1][1]:
                found[-1][1] = max(found[-1][1], span.end)
            else:
                found.append([begin, span.end])
        return found

    def takes(self, span, ranges):
        begin = min(span.begin, span.end)
        return (span.end - begin >= self.minimum and
                (self.regex is None or re.search(self.regex, span.label) is not None) and
                (self.exclude is None or re.search(self.exclude, span.label) is None) and
                (self.categories is None or span.category in self.categories) and
                (self.inside is None or any(first <= begin and span.end <= last for first, last in ranges)))

    def apply(self, facts):
        for number, spans in list(facts.streams.items()):
            spans = [cut for cut in map(self.cut, spans) if cut is not None]
            ranges = self.ranges(spans) if self.inside is not None else []
            spans = [span for span in spans if self.takes(span, ranges)]
            facts.streams[number] = spans if self.streams is None or number in self.streams else []


def check_calls(case, path):
    _, tree = views.run_json("tree", "--calls", "--json", path)
    rows = [row for thread in tree["threads"] for row in thread["calls"]]
    case.compare("tree --calls", views.sum_rows(rows, lambda row: (row["name"], {
        "count": 1, "total": views.nanoseconds(row, "duration"), "open": row["never_ended"]})))


def check_points(case, path):
    """What is no span, as dump prints it and report counts it."""
    counts, by_stream = (
        collections.Counter(json.loads(line).get("type") for line in views.run("dump", "--json", order, path)[1].splitlines())
        for order in ("--order=time", "--order=stream"))
    totals = views.run_json("report", "--json", path)[1]["totals"]
    for kind in POINTS:
        if not counts[kind] == by_stream[kind] == totals[kind + "_count"]:
            case.fail("dump", kind, "%d, by stream %d, report has %d" % (counts[kind], by_stream[kind], totals[kind + "_count"]))


# All commands with --jobs that do not compare traces: check_same() has those that do.
WITH_JOBS = (("report", "--json"), ("report", "--json", "--by=thread", "--over-time"), ("tree", "--paths", "--json"),
             ("flame", "--folded"), ("dump", "--json"), ("slowest", "--json"), ("histogram", "--json", "."),
             ("threads", "--json"), ("flows", "--json"), ("aggregate", "--json"), ("strings", "--json"),
             ("export", "--to=chrome", "-o", "-"))


def check_jobs(case, path):
    for words in WITH_JOBS:
        found = [views.run(*words, "--jobs=%d" % jobs, path)[:2] for jobs in (1, 2)]
        if found[0] != found[1]:
            case.fail(words[0], "--jobs", "one thread and two give different results")


def check_same(case, view, words):
    """A trace compared with itself, by one thread and by two; returns what was found."""
    texts = [views.run(*words, "--json", "--jobs=%d" % jobs)[1] for jobs in (1, 2)]
    if texts[0] != texts[1]:
        case.fail(view, "--jobs", "one thread and two give different results")
    found = json.loads(texts[0])
    if found["marked_count"] > 0:
        case.fail(view, "marked_count", "%d labels differ from themselves" % found["marked_count"])
    return found["rows"]


def check_comparisons(case, path):
    rows = check_same(case, "diff --with", ("diff", path, path, "--with", path, path))
    case.compare("diff --with", views.sum_rows(rows, lambda row: (row["name"], {"self": views.nanoseconds(row, "self")[1][0]})))
    rows = check_same(case, "diff --calls", ("diff", "--calls", path, path))
    case.compare("diff --calls", views.sum_rows(rows, lambda row: (row["name"], {"count": row["count"][1]})))
    _, tree = views.run_json("tree", "--json", "--diff=" + path, path)
    case.compare("tree --diff", views.sum_rows((row for row in tree["rows"] if row["depth"] > 0), lambda row: (
        row["name"], {"count": row["count"][0]})))
    for row in tree["rows"]:
        if row["count"][0] != row["count"][1] or views.nanoseconds(row, "self")[0] != views.nanoseconds(row, "self")[1]:
            case.fail("tree --diff", row["name"], "differs from itself")
    _, found = views.run_json("aggregate", "--positions", "--json", path, path)
    for row in found["rows"]:
        if views.nanoseconds(row, "min") != views.nanoseconds(row, "max"):
            case.fail("aggregate --positions", row["position"], "differs from itself")


def check_logs(case, path):
    """Each span has two lines in a log, in the order of time; complete spans and those that never ended have not."""
    depths = collections.Counter()
    code, text, _ = views.run("export", "--to=rtl-log", "-o", "-", path)
    for line in text.splitlines():
        _, _, thread, brace = re.fullmatch(r"((\d+) (\d+) ([{}|]).*|.*)", line).groups()
        depths[thread] += {"{": 1, "}": -1}.get(brace, 0)
        if depths[thread] < 0:
            case.fail("rtl-log", "order", "more ends than begins at " + line)
    opened = sum(row.open for row in case.rows.values())
    if code != 2 and sum(depths.values()) != opened:
        case.fail("rtl-log", "lines", "%d begins without an end, of %d" % (sum(depths.values()), opened))


def check_cut(case, path, folder):
    """All verbs show of a cut what they show of the trace with the options."""
    cut = os.path.join(folder, "cut.tbed")
    code, _, errors = views.run("cut", "-f", path, "-o", cut)
    if code != 0:
        case.fail("cut", "exit code", errors)
        return
    views.check_views(case, cut, {}, "cut, ")
    if views.run("verify", cut)[0] != 0:
        case.fail("cut", "verify", "damaged")


def check_part(path, part, folder):
    """Returns the failures."""
    facts = oracle.read(path)
    part.apply(facts)
    case, run = views.Case(path + " " + " ".join(part.words), facts), views.run
    views.run = lambda verb, *words: run(verb, *(part.words if path in words else ()), *words)  # not for what was exported
    try:
        views.check_views(case, path, {})
        check_calls(case, path)
        check_points(case, path)
        check_jobs(case, path)
        check_comparisons(case, path)
        check_cut(case, path, folder)
        views.check_exports(case, path, folder, {})
        if not facts.is_count and "forks" not in path:  # a span that goes on in a child has no begin there
            check_logs(case, path)
    except views.Refused as refused:
        case.fail("refused", "exit code", str(refused))
    finally:
        views.run = run
    return case.failures


def seeds_of(words):
    """The seeds that the command line names: half of them all, which takes one processor a minute, or single ones."""
    halves = {"even": range(0, SEED_COUNT, 2), "odd": range(1, SEED_COUNT, 2)}
    return halves[words[0]] if words[0] in halves else map(int, words)


def main():
    failures, count = [], 0
    program = os.path.join(views.BUILD, "reader/tests/agreement/agreement_program")
    with tempfile.TemporaryDirectory(prefix="tracebed-filters-") as folder:
        for seed in seeds_of(sys.argv[1:]):
            options = PROGRAMS[seed % len(PROGRAMS)].split()
            path = os.path.join(folder, "%d %s.tbed" % (seed, " ".join(options)))
            subprocess.run([program, str(seed), path, *options], check=True)
            facts, chance = oracle.read(path), random.Random(seed)
            for _ in range(FILTERS_OF_EACH):
                failures += check_part(path, Part(chance, facts), folder)
                count += 1
            os.remove(path)
    print("\n".join(failures))
    print("%d combinations, %d differences" % (count, len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
