#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Asks each question of docs/sql.md, and compares the answer with that of the command which shows the same, or with plain Python
over what `tracebed dump --json` prints. SQLite's own shell must give the same answers, if it is installed.

    python3 reader/tests/sql/sql_questions_test.py

Check: sql-questions
Needs: $b/programs $b/reader/tests/sql/sql_program
"""

import collections
import json
import math
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

DOCUMENT = cases.ROOT / "docs/sql.md"
PROGRAM = cases.BUILD / "reader/tests/sql/sql_program"
EXTENSION = cases.BUILD / "libtracebed-sqlite"
NS = 1000  # of a tick
SECOND = 10**9


def questions():
    """{heading: the statements below it}"""
    found = re.findall(r"^### (.*)\n(?:(?!^#)[\s\S])*?^```sql\n([\s\S]*?)^```", DOCUMENT.read_text(), re.M)
    return dict(found)


# ---- What the trace has, from its events ----

class Span:
    def __init__(self, event, thread, stack):
        self.label, self.category, self.thread = event["name"], event.get("category_name"), thread
        self.ts, self.stream = event["tick"] * NS, event["stream"]
        self.args = {argument["name"]: argument["value"] for argument in event.get("args", [])}
        self.parent, self.depth = (stack[-1] if stack else None), len(stack)
        self.end = self.dur = None
        self.inner = 0

    @property
    def self(self):
        return self.end - self.ts - self.inner

    def close(self, tick, is_open=False):
        self.end = tick * NS
        self.dur = None if is_open else self.end - self.ts
        if self.parent is not None:
            self.parent.inner += self.end - self.ts


class Trace:
    def __init__(self, path):
        self.path = path
        lines = subprocess.run([cases.TRACEBED, "dump", "--json", path], capture_output=True, check=True).stdout
        self.events = [json.loads(line) for line in lines.splitlines()]
        self.threads = {row["stream"]: row["thread"].split(" ", 1)[1] for row in self.ask("threads")["threads"]}
        self.spans, stacks, last = [], collections.defaultdict(list), {}
        for event in self.events:
            stack = stacks[event["stream"]]
            last[event["stream"]] = event["tick"]
            if event["type"] == "begin":
                stack.append(Span(event, self.thread(event), stack))
                self.spans.append(stack[-1])
            elif event["type"] == "end":
                stack.pop().close(event["tick"])
        for stream, stack in stacks.items():
            while stack:
                stack.pop().close(last[stream], True)

    def thread(self, event):
        return self.threads[event["stream"]]

    def ask(self, verb, *words):
        """What a command prints as JSON, about one file."""
        operands = [self.path, *words] if verb == "slowest" else [*words, self.path]
        run = subprocess.run([cases.TRACEBED, verb, "--json", *operands], capture_output=True, check=True)
        return json.loads(run.stdout)

    def of(self, *labels):
        return [span for span in self.spans if span.label in labels]

    def kind(self, *types):
        return [event for event in self.events if event["type"] in types]

    def counter(self, name):
        return [event for event in self.kind("counter") if event["name"] == name]

    def slowest(self, label="request"):
        return max((span for span in self.of(label) if span.dur is not None), key=lambda span: (span.dur, -span.ts))

    def blocks(self):
        """[site, size, ts, freed_ts or None]"""
        live, found = {}, []
        for event in self.kind("alloc", "free"):
            if event["type"] == "alloc":
                live[event["address"]] = [event["name"], event["size"], event["tick"] * NS, None, event]
                found.append(live[event["address"]])
            else:
                live.pop(event["address"])[3] = event["tick"] * NS
        return found


def percentile(values, percent):
    values = sorted(values)
    return values[max(math.ceil(percent / 100 * len(values)) - 1, 0)] if values else None


def grouped(items, key, row):
    groups = collections.defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return [(*(group if isinstance(group, tuple) else (group,)), *row(members)) for group, members in groups.items()]


def total(spans):
    return sum(span.end - span.ts for span in spans)


def own(spans):
    return sum(span.self for span in spans)


def durations(spans):
    return [span.dur for span in spans if span.dur is not None]


# ---- The answers ----

ANSWERS = {}


def answers(heading):
    def keep(function):
        ANSWERS[heading] = function
        return function
    return keep


@answers("Which labels take the most time?")
def _(run, new):
    rows = [(row["name"], row["count"], row["total_ns"], row["self_ns"]) for row in run.ask("report")["spans"]]
    cases.need(sorted(rows) == sorted(grouped(run.spans, lambda s: s.label, lambda g: (len(g), total(g), own(g)))), "report")
    return sorted(rows, key=lambda row: (-row[3], row[0]))


@answers("The same at once")
def _(run, new):
    keys = ("name", "count", "total_ns", "self_ns", "p50_ns", "p99_ns", "max_ns")
    rows = [tuple(row[key] for key in keys) for row in run.ask("report")["spans"]]
    return sorted(rows, key=lambda row: (-row[3], row[0]))


@answers("How is the time divided among categories?")
def _(run, new):
    rows = [(row["name"], row["count"], row["self_ns"]) for row in run.ask("report", "--by=category")["spans"]]
    return sorted(rows, key=lambda row: -row[2])


@answers("Where is the time, as a tree?")
def _(run, new):
    return [("  " * row["depth"] + row["name"], row["count"], row["total_ns"], row["self_ns"])
            for row in run.ask("tree")["rows"]]


@answers("Who calls what, and how often?")
def _(run, new):
    rows = grouped(run.spans, lambda s: (s.parent.label if s.parent else None, s.label),
                   lambda g: (len(g), sum(durations(g))))
    return sorted(rows, key=lambda row: (-row[2], row[0] or "", row[1]))


@answers("How is the time divided among source files and lines?")
def _(run, new):
    return [(None, None, None, len(run.spans), own(run.spans))]


@answers("What does each thread spend its time on?")
def _(run, new):
    return sorted(grouped(run.spans, lambda s: (s.thread, s.label), lambda g: (own(g),)), key=lambda r: (r[0], -r[2]))


@answers("When was each label first and last used?")
def _(run, new):
    return sorted(grouped(run.spans, lambda s: s.label, lambda g: (len(g), min(s.ts for s in g), max(s.ts for s in g))),
                  key=lambda row: row[2])


@answers("Which second was the busiest?")
def _(run, new):
    return sorted(grouped(run.spans, lambda s: s.ts // SECOND, lambda g: (own(g),)), key=lambda row: -row[1])[:3]


@answers("What is the 99th percentile of a span, per thread and second?")
def _(run, new):
    return sorted(grouped(run.of("request"), lambda s: (s.thread, s.ts // SECOND),
                          lambda g: (len(durations(g)), percentile(durations(g), 99))))


@answers("What are the percentiles of every label?")
def _(run, new):
    rows = sorted(grouped(run.spans, lambda s: s.label, lambda g: tuple(percentile(durations(g), p) for p in (50, 90, 99))))
    for (label, *exact), about in zip(rows, sorted(run.ask("report")["spans"], key=lambda row: row["name"])):
        for value, near in zip(exact, (about["p50_ns"], about["p90_ns"], about["p99_ns"])):
            cases.need(label == "request" or abs(value - near) <= 0.011 * value, f"{label}: {value}, report says {near}")
    return rows


@answers("Which spans took longest, and inside of what?")
def _(run, new):
    slow = sorted((s for s in run.spans if s.dur is not None), key=lambda s: (-s.dur, s.ts))[:10]
    return [(s.label, s.parent.label if s.parent else None, s.thread, s.ts, s.dur) for s in slow]


@answers("Which calls are outliers: more than three standard deviations above the mean?")
def _(run, new):
    values = durations(run.of("query"))
    mean = sum(values) / len(values)
    limit = mean + 3 * math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return sorted(((s.ts, s.dur, s.thread) for s in run.of("query") if s.dur > limit), key=lambda row: (-row[1], row[0]))


@answers("What ran on other threads while the slowest request ran?")
def _(run, new):
    slow = run.slowest()
    others = [s for s in run.spans if s.ts < slow.end and s.end > slow.ts and s.stream != slow.stream]
    rows = grouped(others, lambda s: (s.thread, s.label),
                   lambda g: (len(g), sum(min(s.end, slow.end) - max(s.ts, slow.ts) for s in g)))
    return sorted(rows, key=lambda row: (-row[3], row[0], row[1]))


@answers("What did the slowest request do, step by step?")
def _(run, new):
    slow = run.slowest()
    first = run.ask("slowest", "request")["calls"][0]
    cases.need((slow.ts, slow.dur) == (first["begin_ns"], first["duration_ns"]), "slowest names another request")

    def is_inside(span):
        return span is not None and (span is slow or is_inside(span.parent))
    return [("  " * s.depth + s.label, s.ts, s.dur) for s in sorted(filter(is_inside, run.spans), key=lambda s: (s.ts, s.depth))]


@answers("How are the durations of a label distributed?")
def _(run, new):
    rows = run.ask("histogram", "query")["traces"][0]["rows"]
    ends = [row["from_ns"] for row in rows[1:]] + [None]
    return [(row["from_ns"], end, row["count"], row["total_ns"]) for row, end in zip(rows, ends)]


@answers("Which spans never ended?")
def _(run, new):
    return [(s.label, s.thread, s.ts, s.end - s.ts) for s in run.spans if s.dur is None]


@answers("What does each value of an argument cost?")
def _(run, new):
    rows = grouped(run.of("query"), lambda s: s.args["table"], lambda g: (len(g), total(g), max(durations(g))))
    return sorted(rows, key=lambda row: -row[2])


@answers("Which requests for one path were slow?")
def _(run, new):
    rows = [(s.ts, s.thread, s.dur) for s in run.of("request") if s.args["path"] == "/search" and (s.dur or 0) > SECOND]
    return sorted(rows, key=lambda row: (-row[2], row[0]))


@answers("How often does a request ask the database, and what does each number of queries cost?")
def _(run, new):
    counts = collections.Counter(id(s.parent) for s in run.of("query"))
    rows = grouped(run.of("request"), lambda s: counts[id(s)],
                   lambda g: (len(g), sum(durations(g)) / len(durations(g))))
    return sorted(rows)


def following(run, *labels):
    """Pairs of a span and the next one of these labels on its thread."""
    last = {}
    for span in sorted(run.of(*labels), key=lambda s: s.ts):
        if span.stream in last:
            yield last[span.stream], span
        last[span.stream] = span


@answers("What are the longest gaps between two requests of a thread?")
def _(run, new):
    rows = [(a.thread, a.end, b.ts - a.end) for a, b in following(run, "request")]
    return sorted(rows, key=lambda row: (-row[2], row[1]))[:5]


@answers("How long does it take from the end of parse to the next query?")
def _(run, new):
    pairs = [(a, b) for a, b in following(run, "parse", "query", "reply") if a.label == "parse"]
    return sorted(grouped(pairs, lambda pair: pair[1].label, lambda g: (
        len(g), sum(b.ts - a.end for a, b in g), max(b.ts - a.end for a, b in g))))


@answers("How busy was each thread?")
def _(run, new):
    keys = ("span_count", "busy_ns", "idle_ns", "gap_count", "longest_gap_ns")
    return [(run.threads[row["stream"]], *(row[key] for key in keys)) for row in run.ask("threads")["threads"]]


@answers("How many requests ran at once?")
def _(run, new):
    edges = sorted([(s.ts, 1) for s in run.of("request")] + [(s.end, -1) for s in run.of("request")])
    rows, count = collections.Counter(), 0
    for (ts, step), (next_ts, _) in zip(edges, edges[1:]):
        count += step
        rows[count] += next_ts - ts
    rows[0] += 0
    return sorted(rows.items())


@answers("How many requests began in each second?")
def _(run, new):
    return sorted(collections.Counter(s.ts // SECOND for s in run.of("request")).items())


@answers("Which spans belong to one request, on any thread?")
def _(run, new):
    steps = [event for event in run.kind("flow_begin", "flow_step", "flow_end") if event["key"] == 7]
    found = {s for s in run.spans for f in steps if s.stream == f["stream"] and s.ts <= f["tick"] * NS <= s.end}
    cases.need(len({s.thread for s in found}) == 2, "the request is on one thread only")
    return [(s.thread, s.label, s.ts, s.dur) for s in sorted(found, key=lambda s: (s.ts, s.depth))]


@answers("How long does a request wait for a thread, and how long does it take in all?")
def _(run, new):
    at = {(event["key"], event["type"]): event["tick"] * NS for event in run.kind("flow_begin", "flow_step", "flow_end")}
    keys = {key for key, _ in at}
    rows = [(key, at[key, "flow_step"] - at[key, "flow_begin"], at[key, "flow_end"] - at[key, "flow_begin"]) for key in keys]
    flow = next(row for row in run.ask("flows")["flows"] if row["kind"] == "flow")
    cases.need(flow["total_ns"] == sum(row[2] for row in rows) and flow["count"] == len(rows), "flows")
    return sorted(rows, key=lambda row: (-row[2], row[0]))[:5]


@answers("How long do asynchronous spans last?")
def _(run, new):
    keys = ("name", "count", "total_ns", "p50_ns", "p99_ns", "max_ns", "never_ended_count")
    return [tuple(row[key] for key in keys) for row in run.ask("report")["async_spans"]]


@answers("What was the value of a counter when each slow request began?")
def _(run, new):
    values = run.counter("queue length")
    slow = [s for s in run.of("request") if (s.dur or 0) > SECOND]
    return [(s.ts, s.dur, [v["value"] for v in values if v["tick"] * NS <= s.ts][-1]) for s in sorted(slow, key=lambda s: s.ts)]


@answers("How did a counter develop, second by second?")
def _(run, new):
    return sorted(grouped(run.counter("queue length"), lambda e: e["tick"] * NS // SECOND, lambda g: (
        min(e["value"] for e in g), sum(e["value"] for e in g) / len(g), max(e["value"] for e in g))))


def text_of(event):
    return event["args"][0]["value"]


@answers("What was logged during slow spans?")
def _(run, new):
    slow = [s for s in run.of("request") if (s.dur or 0) > SECOND]
    return sorted((e["tick"] * NS, "warning", text_of(e), s.label, s.dur) for s in slow for e in run.kind("message")
                  if e["stream"] == s.stream and s.ts <= e["tick"] * NS <= s.end)


@answers("What is logged most?")
def _(run, new):
    return sorted((("warning", text_of(e), 1) for e in run.kind("message")), key=lambda row: row[1])[:5]


@answers("How many cache misses did each request have?")
def _(run, new):
    misses = [e for e in run.kind("instant") if e["name"] == "cache miss"]
    return sorted(collections.Counter(
        sum(e["stream"] == s.stream and s.ts <= e["tick"] * NS <= s.end for e in misses) for s in run.of("request")).items())


@answers("Which kinds of events does each thread record?")
def _(run, new):
    return sorted((*key, count) for key, count in collections.Counter((run.thread(e), e["type"]) for e in run.events).items())


@answers("Which sizes were alive when the process used most?")
def _(run, new):
    rows = run.ask("report", "--by=size")["sites"]
    cases.need(sum(row["peak_bytes"] for row in rows) > 0, "nothing is alive at the peak")
    return [(low, high, None, size) for low, high, size in size_rows(rows)]


def size_rows(rows):
    """Classes with bytes at the peak."""
    return [(row["least_bytes"], row["most_bytes"], row["peak_bytes"]) for row in rows if row["peak_bytes"] > 0]


@answers("What was never freed, by the place that allocated it?")
def _(run, new):
    sites = run.ask("report")["sites"]
    rows = [(row["name"], row["live_count"], row["live_bytes"]) for row in sites if row["live_count"] > 0]
    return sorted(rows, key=lambda row: (-row[2], row[0]))


@answers("Who allocates most, and how much of it is temporary?")
def _(run, new):
    keys = ("name", "count", "bytes", "temporary_count", "live_bytes", "peak_bytes")
    rows = [tuple(row[key] for key in keys) for row in run.ask("report")["sites"]]
    return sorted(rows, key=lambda row: (-row[2], row[0]))


@answers("How long do blocks live?")
def _(run, new):
    freed = [block for block in run.blocks() if block[3] is not None]
    return sorted(grouped(freed, lambda b: len(str(b[3] - b[2])), lambda g: (len(g), sum(b[1] for b in g))))


@answers("How much memory was in use at the end of each second?")
def _(run, new):
    steps = collections.Counter()
    for _, size, ts, freed_ts, _ in run.blocks():
        steps[ts // SECOND] += size
        if freed_ts is not None:
            steps[freed_ts // SECOND] -= size
    seconds = sorted(set(steps))
    return [(second, sum(steps[s] for s in seconds if s <= second)) for second in seconds]


@answers("Which spans allocate most?")
def _(run, new):
    blocks = run.blocks()
    return [("request", len(blocks), sum(block[1] for block in blocks))]


@answers("What has changed between two runs?")
def _(run, new):
    before, after = (dict(grouped(t.spans, lambda s: s.label, lambda g: (total(g),))) for t in (run, new))
    rows = [(label, before[label], after[label], after[label] - before[label]) for label in before]
    told = subprocess.run([cases.TRACEBED, "diff", "--json", run.path, new.path], capture_output=True).stdout
    about = {row["name"]: row["time_ns_change"] for row in json.loads(told)["rows"]}
    cases.need({row[0]: row[3] for row in rows} == about, "diff")
    return sorted(rows, key=lambda row: (-abs(row[3]), row[0]))


@answers("Which labels are only in one of them?")
def _(run, new):
    return []


@answers("Is anything missing?")
def _(run, new):
    return [(None, 0, 0)]


@answers("What is known about the trace?")
def _(run, new):
    return None


@answers("Which threads and processes are in it?")
def _(run, new):
    pid = run.ask("info")["processes"][0]["pid"]
    numbers = {row["stream"]: int(row["thread"].split(" ")[0]) for row in run.ask("threads")["threads"]}
    return [(run.threads[stream], number, "sql_program", pid) for stream, number in sorted(numbers.items())]


# ---- Asking ----

def traces(folder):
    for seed, name in ((1, "run"), (2, "new")):
        subprocess.run([PROGRAM, str(seed), f"{folder}/{name}.tbed"], check=True)
    return Trace(f"{folder}/run.tbed"), Trace(f"{folder}/new.tbed")


def ask(folder, sql):
    run = subprocess.run([cases.TRACEBED, "sql", "--json", "run.tbed", sql], cwd=folder, capture_output=True, text=True)
    cases.need(run.returncode == 0, f"{sql}\n{run.stderr}")
    return [tuple(json.loads(line).values()) for line in run.stdout.splitlines()]


def is_same(row, expected):
    """Means are compared as decimal fractions; a None that is expected stands for anything in a count."""
    return len(row) == len(expected) and all(
        a == b or (isinstance(a, float) and isinstance(b, (int, float)) and math.isclose(a, b)) for a, b in zip(row, expected))


def test_answers(folder):
    run, new = traces(folder)
    asked = questions()
    cases.need(len(asked) >= 30, f"only {len(asked)} questions")
    cases.need(set(asked) == set(ANSWERS), f"without question or answer: {set(asked) ^ set(ANSWERS)}")
    for heading, sql in asked.items():
        rows, expected = ask(folder, sql), ANSWERS[heading](run, new)
        if heading == "Which sizes were alive when the process used most?":
            cases.need(sum(row[2] for row in rows) > 0, heading)
            rows = [(*row[:2], None, row[3]) for row in rows]
        if heading == "Where is the time, as a tree?":  # the command sorts the children of a row by time
            rows, expected = sorted(rows), sorted(expected)
        if expected is None:
            cases.need(len(rows) > 3, heading)
            continue
        cases.need(len(rows) == len(expected) and all(map(is_same, rows, expected)),
                   f"{heading}\n{sql}\n  SQL:      {rows[:12]}\n  expected: {expected[:12]}")
    return f"{len(asked)} questions"


def test_shell_gives_the_same_answers(folder):
    shell = shutil.which("sqlite3")
    if shell is None:
        return "skipped: sqlite3 is not installed"
    traces(folder)
    script = [f".load {EXTENSION}", ".mode csv", ".headers on", ".once /dev/null",
              "SELECT tracebed_open('run.tbed'), tracebed_attach('new.tbed', 'new');"]
    for sql in questions().values():
        sql = re.sub(r"^ATTACH .*\n", "", sql, flags=re.M).replace("main.", "temp.")
        script += [f".print == {len(script)}", sql]
    told = subprocess.run([shell], input="\n".join(script), cwd=folder, capture_output=True, text=True)
    cases.need(told.stderr == "", told.stderr)
    answers_of_shell = re.split(r"^== \d+\n", told.stdout, flags=re.M)[1:]
    for (heading, sql), theirs in zip(questions().items(), answers_of_shell):
        ours = subprocess.run([cases.TRACEBED, "sql", "--csv", "run.tbed", sql], cwd=folder, capture_output=True, text=True)
        plain = [re.sub(r'[\r"]', "", text) for text in (ours.stdout, theirs)]
        same = plain[0] == plain[1] or (plain[1] == "" and ours.stdout.count("\n") == 1)
        cases.need(same, f"{heading}\n{ours.stdout[:500]}\n{theirs[:500]}")
    return f"{len(answers_of_shell)} questions"


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
