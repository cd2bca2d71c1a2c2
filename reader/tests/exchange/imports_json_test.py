#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Imports of Chrome trace events and of Perfetto's protobuf. Small files with every feature give the expected listings
(imports/*.expected); files that other programs have written (clang, Node) have the spans, times and self times of a slow oracle
over their JSON; a file cut anywhere keeps every event before the cut; our own exports, imported again, give the same report.

    python3 reader/tests/exchange/imports_json_test.py           --write writes the expected listings

Check: imports-json
Needs: $b/tracebed $b/reader/tests/agreement/agreement_program
"""

import collections
import decimal
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

FOLDER = cases.ROOT / "reader/tests/exchange/imports_events"
GOLDEN = ("phases.json", "odd.json", "cut.json", "damaged.json", "tracks.pftrace", "legacy.pftrace", "damaged.pftrace")
PROGRAM = cases.BUILD / "reader/tests/agreement/agreement_program"
# What a round trip keeps; asynchronous spans and the last values of counters depend on which thread has them.
COMPARED = {"spans", "instants", "counters", "flows"}
KINDS = (("given",), ("given", "open"), ("given", "whole", "others"), ("deep", "given"))


def run(*words):
    return subprocess.run([cases.TRACEBED, *words], capture_output=True)


def report(path):
    done = run("report", "--json", path)
    cases.need(done.returncode in (0, 1), f"report of {path}: {done.stderr.decode()}")
    return json.loads(done.stdout)


# ---- Golden files ----

def listing(path, folder):
    trace = os.path.join(folder, "golden.tbed")
    imported = run("import", "-f", path, "-o", trace)
    verified = run("verify", trace)
    cases.need(verified.returncode == 0, f"{path}: the imported trace is damaged: {verified.stdout.decode()}")
    told = imported.stdout.decode().replace(trace, "OUT") + imported.stderr.decode().replace(str(path), "FILE")
    return told + run("dump", trace).stdout.decode()


def check_golden(folder, is_writing):
    for name in GOLDEN:
        text = listing(FOLDER / name, folder)
        expected = FOLDER / (name + ".expected")
        if is_writing:
            expected.write_text(text)
        cases.need(text == expected.read_text(), f"{name}: not as expected:\n{text}")
        packed = os.path.join(folder, name + ".gz")
        with gzip.open(packed, "wb") as file:
            file.write((FOLDER / name).read_bytes())
        unpacked = listing(packed, folder).splitlines()[1:]
        cases.need([line for line in unpacked if "tracebed:" not in line] ==
                   [line for line in text.splitlines()[1:] if "tracebed:" not in line], f"{name}.gz differs")


# ---- The oracle ----

def ns_of(number):
    return int((decimal.Decimal(str(number)) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def spans_of(events):
    """(track, begin, end, name) of each span: X, and B with its E."""
    stacks = collections.defaultdict(list)
    begun = []
    for place, event in enumerate(events):
        phase, track = event.get("ph"), (event.get("pid", 0), event.get("tid", 0))
        if phase == "X":
            begin = ns_of(event["ts"])
            yield track, begin, begin + ns_of(event.get("dur", 0)), event["name"], place
        elif phase in "BE":
            begun.append((ns_of(event["ts"]), place, phase, track, event.get("name")))
    for time, place, phase, track, name in sorted(begun, key=lambda row: row[:2]):
        if phase == "B":
            stacks[track].append((time, name, place))
        elif stacks[track]:
            begin, name, first = stacks[track].pop()
            yield track, begin, time, name, first


def sums_of(events, is_by_ends):
    """
    name: [count, total, self]; the parent of a span is the innermost one that contains it. Of two with the same bounds, a list by
    ends has the inner one first, and a list by begins the outer one.
    """
    sums = collections.defaultdict(lambda: [0, 0, 0])
    tracks = collections.defaultdict(list)
    for track, begin, end, name, place in spans_of(events):
        tracks[track].append((begin, -end, -place if is_by_ends else place, name))
    for spans in tracks.values():
        stack = []
        for begin, end, _, name in sorted(spans):
            while stack and stack[-1][0] < -end:
                stack.pop()
            row = sums[name]
            row[0] += 1
            row[1] += -end - begin
            row[2] += -end - begin
            if stack:
                sums[stack[-1][1]][2] -= -end - begin
            stack.append((-end, name))
    return dict(sums)


def load(path):
    with open(path) as file:
        document = json.load(file, parse_float=decimal.Decimal)
    return document if isinstance(document, list) else document["traceEvents"]


def check_foreign(path, what, is_by_ends):
    expected = sums_of(load(path), is_by_ends)
    rows = report(path)["spans"]
    found = {row["name"]: [row["count"], row["total_ns"], row["self_ns"]] for row in rows}
    cases.need({name: row[:2] for name, row in found.items()} == {name: row[:2] for name, row in expected.items()},
               f"{what}: counts or times differ: {set(map(str, found.items())) ^ set(map(str, expected.items()))}")
    cases.need(sum(row[0] for row in found.values()) > 0, f"{what}: no spans")
    odd = [name for name in found if found[name][2] != max(expected[name][2], 0)]
    cases.need(odd == [], f"{what}: self times differ: {[(name, found[name], expected[name]) for name in odd[:5]]}")


def clang_trace(folder):
    source = os.path.join(folder, "x.c")
    with open(source, "w") as file:
        file.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <pthread.h>\n")
        file.write("".join(f"int f{i}(int a) {{ int s = 0; for (int i = 0; i < a; i++) s += i * {i}; return s; }}\n" for i in range(200)))
    done = subprocess.run(["clang", "-O2", "-ftime-trace", "-ftime-trace-granularity=10", "-c", source, "-o", os.path.join(folder, "x.o")])
    return os.path.join(folder, "x.json") if done.returncode == 0 else None


def node_trace(folder):
    program = "for (let i = 0; i < 300; i++) { JSON.parse(JSON.stringify({ a: [i] })); } setTimeout(() => {}, 20)"
    pattern = os.path.join(folder, "node.json")
    done = subprocess.run(["node", "--trace-event-categories", "v8,node,node.async_hooks", "--trace-event-file-pattern", pattern, "-e", program])
    return pattern if done.returncode == 0 and os.path.exists(pattern) else None


def check_programs(folder):
    for program, make in (("clang", clang_trace), ("node", node_trace)):
        path = make(folder) if shutil.which(program) else None
        if path is None:
            print(f"imports-json: {program} is not installed, or writes no trace: skipped")
        else:
            check_foreign(path, program, is_by_ends=program == "clang")


def check_orders(folder):
    """The same spans, listed by their begins, by their ends and at random, have the same sums."""
    spans = [{"name": f"s{i % 7}", "ph": "X", "ts": begin, "dur": length, "pid": 1, "tid": 1}
             for i, (begin, length) in enumerate((a * 100 + b * 10, {0: 100, 1: 9.5}.get(b, 8.25)) for a in range(200) for b in (0, 1, 2, 3))]
    orders = {"begin": spans, "end": sorted(spans, key=lambda span: (span["ts"] + span["dur"], -span["ts"])),
              "mixed": spans[::2] + spans[1::2]}
    for name, order in orders.items():
        path = os.path.join(folder, "order.json")
        with open(path, "w") as file:
            json.dump(order, file)
        check_foreign(path, f"spans in the order '{name}'", is_by_ends=name == "end")


# ---- Cut files ----

def check_cuts(folder):
    lines = (FOLDER / "phases.json").read_bytes().splitlines(keepends=True)
    content, path = b"".join(lines), os.path.join(folder, "part.json")
    for end in range(len(lines[0]) + len(lines[1]), len(content), 211):
        with open(path, "wb") as file:
            file.write(content[:end])
        done = run("verify", path)
        cases.need(done.returncode in (0, 1), f"cut at {end}: exit {done.returncode}")
        cases.need((done.returncode == 1) == (b"FOREIGN_CUT" in done.stdout + done.stderr), f"cut at {end}: {done.stdout}{done.stderr}")
    packets = (FOLDER / "tracks.pftrace").read_bytes()
    path = os.path.join(folder, "part.pftrace")
    for end in range(100, len(packets), 157):
        with open(path, "wb") as file:
            file.write(packets[:end])
        done = run("verify", path)
        cases.need(done.returncode in (0, 1), f"pftrace cut at {end}: exit {done.returncode}")


# ---- Round trips ----

def comparable(data):
    kept = {key: value for key, value in data.items() if key in COMPARED}
    kept["spans"] = {row["name"]: row for row in kept["spans"]}
    for row in kept.get("counters", []):
        row.pop("last")
    return kept


def check_round_trips(folder):
    for seed, words in enumerate(KINDS):
        trace = os.path.join(folder, f"round{seed}.tbed")
        subprocess.run([PROGRAM, str(seed), trace, *words], check=True)
        expected = comparable(report(trace))
        for form, ending in (("chrome", "json"), ("chrome", "json.gz"), ("perfetto", "pftrace")):
            if form == "perfetto" and "whole" in words:
                continue  # spans that cross get tracks of their own there
            path = os.path.join(folder, f"round.{ending}")
            done = run("export", "-f", "--to=" + form, trace, "-o", path)
            cases.need(done.returncode == 0, f"export: {done.stderr.decode()}")
            found = comparable(report(path))
            found["counters"] = expected.get("counters") if form == "perfetto" else found.get("counters")
            for key, value in expected.items():
                cases.need(found.get(key) == value, f"{form} of {' '.join(words)}: {key} is\n{found.get(key)}, not\n{value}")


def main():
    with tempfile.TemporaryDirectory(prefix="tracebed-imports-") as folder:
        check_golden(folder, "--write" in sys.argv)
        check_orders(folder)
        check_programs(folder)
        check_cuts(folder)
        check_round_trips(folder)
    print("imports-json: fine")


if __name__ == "__main__":
    main()
