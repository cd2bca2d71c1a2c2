#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Imports of folded stacks and of pprof: every path has the value that it has in the file, whatever the order of samples; our own
exports come back with the lines that 'flame --folded' shows of the trace; a file that is cut keeps what is before the cut; other
files are not taken for one of these. A profile that npm's pprof-format encodes has the values that were given to it; that case is
skipped if the package is not in build/npm.

    python3 reader/tests/exchange/imports_stacks_test.py

Check: imports-stacks
Needs: $b/tracebed $b/reader/tests/agreement/agreement_program
"""

import collections
import gzip
import json
import os
import random
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "imports"), os.path.join(HERE, *[os.pardir] * 3, "ninja", "checks")]
import cases
import make_stacks
from cases import need

PROGRAM = cases.BUILD / "reader/tests/agreement/agreement_program"
ENCODER = cases.ROOT / "build/npm/node_modules/pprof-format"
ENCODE = """
const {Profile, StringTable, Function, Location, Line, Sample, ValueType, Label} = require(process.argv[1]);
const table = new StringTable(), text = (string) => table.dedup(string);
const type = (name, unit) => new ValueType({type: text(name), unit: text(unit)});
const sample = (locationId, value, label = []) => new Sample({locationId, value, label});
const location = (id, ...functions) => new Location({id, line: functions.map((functionId) => new Line({functionId, line: 5}))});
process.stdout.write(new Profile({
  sampleType: [type("samples", "count"), type("wall", "nanoseconds")],
  function: ["main", "loop", "inner", "inlined"].map((name, at) =>
    new Function({id: at + 1, name: text(name), systemName: text(name), filename: text("app.js"), startLine: 10 * at})),
  location: [location(1, 1), location(2, 2), location(3, 4, 3)],
  sample: [sample([3, 2, 1], [2, 2000]), sample([2, 1], [1, 500], [new Label({key: text("route"), str: text("/x")})]),
           sample([3, 2, 1], [3, 3000n * 1000000000n])],
  stringTable: table, timeNanos: 1700000000000000000n, durationNanos: 10000,
}).encode());
"""
KINDS = (("given", "whole"), ("counts", "given"), ("given", "deep", "open"))


def tracebed(*words, status=(0,)):
    run = subprocess.run([cases.TRACEBED, *words], capture_output=True)
    need(run.returncode in status, f"{words}: exit status {run.returncode}\n{run.stderr.decode()}")
    return run.stdout.decode()


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return path


def sums(text):
    """The values of paths, without those that are 0."""
    found = collections.Counter()
    for line in text.splitlines():
        path, value = line.rsplit(" ", 1)
        found[path] += int(value)
    return {path: value for path, value in found.items() if value > 0}


def flame(path, **how):
    return sums(tracebed("flame", "--folded", path, **how))


def same(found, wanted, what):
    need(found == wanted, f"{what}: {sorted(set(found.items()) ^ set(wanted.items()))[:6]}")


def random_stacks(seed, count):
    """With recursion, prefixes of one another, and paths that come again."""
    numbers = random.Random(seed)
    names = ["main", "a", "b", "c d", "é", r"x\x3b"]
    return [(["main"] + [numbers.choice(names) for _ in range(numbers.randrange(6))], numbers.randrange(1, 1000)) for _ in range(count)]


def labels_of(stacks):
    """For each label its self and total values; recursion counts once for each span, as in a report."""
    found = collections.defaultdict(lambda: [0, 0])
    for frames, value in stacks:
        found[frames[-1]][0] += value
        for frame in frames:
            found[frame][1] += value
    return {name: tuple(values) for name, values in found.items()}


# ---- Folded stacks ----


def test_folded_paths_and_labels(folder):
    for seed in range(4):
        stacks = random_stacks(seed, 500)
        text = "".join(f"{';'.join(frames)} {value}\n" for frames, value in stacks)
        path = write(folder, "x.folded", text)
        packed = write(folder, "x.folded.gz", gzip.compress(text.encode()))
        same(flame(path), sums(text), "paths")
        same(flame(packed), sums(text), "paths of a file that is compressed")
        rows = json.loads(tracebed("report", "--json", path))["spans"]
        same({row["name"]: (row["self_ticks"], row["total_ticks"]) for row in rows}, labels_of(stacks), "labels")
        tracebed("import", "-f", path, "-o", f"{folder}/x.tbed")
        tracebed("export", "-f", "--to=folded", f"{folder}/x.tbed", "-o", f"{folder}/again.folded")
        with open(f"{folder}/again.folded", encoding="utf-8") as file:
            lines = file.read()
        same(sums(lines), sums(text), "paths of an export")
        same(flame(f"{folder}/again.folded"), sums(text), "paths of an export that is imported again")
        need("unnamed" not in lines, "the process has no name, so it is no frame")


def test_folded_that_is_cut(folder):
    text = "".join(f"main;work;f{i} {i + 100}\n" for i in range(20))
    for cut in range(40, len(text), 7):
        path = write(folder, "x.folded", text[:cut])
        whole = sums(text[:text.rfind("\n", 0, cut) + 1])
        found = flame(path, status=(0, 1))
        need(all(found.get(key, 0) == value for key, value in whole.items()), f"cut at {cut}: {found}")


def test_deep_stack(folder):
    path = write(folder, "x.folded", "main;a 1\n" + ";".join(f"f{i}" for i in range(5000)) + " 7\n")
    info = json.loads(tracebed("info", "--json", path))
    need(info["left_out"]["frames"] == 5000 - 4096, f"{info['left_out']}")
    need(sum(flame(path).values()) == 8, "the value of a stack that is cut stays")


# ---- pprof ----


def profile_of(stacks, unit="nanoseconds", packed=True):
    """Neighbouring frames are inlined in one another now and then."""
    profile, numbers = make_stacks.Profile(packed), random.Random(len(stacks))
    profile.type("samples", "count")
    profile.type("cpu", unit)
    for frames, value in stacks:
        places = []
        for frame in frames:
            line = (frame, "file.c", numbers.randrange(1, 50))
            if places and numbers.randrange(4) == 0:
                places[-1] = places[-1] + [line]
            else:
                places.append([line])
        profile.sample(places, [2, value])
    return profile


def test_pprof_paths_and_labels(folder):
    for seed in range(4):
        stacks = random_stacks(seed, 300)
        wanted = sums("".join(f"{';'.join(frames)} {value}\n" for frames, value in stacks))
        data = profile_of(stacks, packed=seed % 2 == 0).bytes(tables_first=seed < 2)
        path = write(folder, "x.pprof", gzip.compress(data) if seed % 3 == 0 else data)
        same(flame(path), wanted, f"paths of profile {seed}")
        rows = json.loads(tracebed("report", "--json", path))["spans"]
        same({row["name"]: (row["self_ns"], row["total_ns"]) for row in rows}, labels_of(stacks), "labels")
        need(tracebed("dump", path).count(" samples=2") == len(stacks), "each sample has a span of its own, with its other value")


def test_units(folder):
    for unit, scale in (("microseconds", 1000), ("milliseconds", 10 ** 6), ("seconds", 10 ** 9), ("bytes", 1), ("", 1)):
        path = write(folder, "x.pprof", profile_of([(["main", "a"], 3)], unit).bytes())
        same(flame(path), {"main;a": 3 * scale}, unit)
        clock = json.loads(tracebed("report", "--json", path))["tick_unit"]
        need(clock == (None if scale > 1 else unit or "units"), f"{unit!r}: ticks are {clock!r}")


def test_round_trip_of_traces(folder):
    for seed, kind in enumerate(KINDS):
        trace = f"{folder}/{seed}.tbed"
        cases.output_of(folder, PROGRAM, str(seed + 1), trace, *kind)
        wanted = flame(trace)
        need(len(wanted) > 5, f"{kind}: only {len(wanted)} paths")
        for suffix in ("pb.gz", "folded", "folded.gz"):
            name = f"{folder}/{seed}.{suffix}"
            tracebed("export", "--to=pprof" if suffix == "pb.gz" else "--to=folded", trace, "-o", name)
            same(flame(name), wanted, f"{kind}: {suffix}")


def test_profile_that_is_cut(folder):
    stacks = [(["main", f"f{i}"], 10 ** i) for i in range(8)]
    data = profile_of(stacks).bytes(tables_first=True)
    found = []
    for cut in range(len(data) - 140, len(data), 3):
        path = write(folder, "x.pprof", data[:cut])
        run = json.loads(tracebed("info", "--json", path, status=(0, 1)))
        found.append(sum(flame(path, status=(0, 1)).values()) if run["events"] else 0)
    need(found == sorted(found) and found[-1] >= 1111111, f"what is before a cut stays: {found}")
    packed = gzip.compress(data)
    path = write(folder, "x.pb.gz", packed[:-9])
    need("FOREIGN_PACKED" in tracebed("verify", path, status=(1,)), "a cut in gzip is reported")


def test_profile_of_another_encoder(folder):
    if not ENCODER.exists() or shutil.which("node") is None:
        print("skipped: needs node, and pprof-format in build/npm")
        return
    run = subprocess.run(["node", "-e", ENCODE, str(ENCODER)], capture_output=True, check=True)
    path = write(folder, "x.pprof", run.stdout)
    same(flame(path), {"main;loop": 500, "main;loop;inner;inlined": 2000 + 3000 * 10 ** 9}, "paths")
    dump = tracebed("dump", path)
    need('loop  at app.js:10 route="/x" samples=1' in dump and "inlined  at app.js:30 samples=2" in dump, dump)


# ---- What is of another format ----


def test_other_files(folder):
    others = {
        "text": "Once upon a time\nthere were 3\n",
        "program": "int main(void) { int a; int b; return 0; }\n" * 200,
        "one line": "x;" + "var a = 1; " * 2000,
        "numbers": "a 1\nb 2\nc 3\n",
        "no number": "a;b\nc;d\n",
        "binary": b"a;b 1\n\x00\x01",
        "protobuf without types": make_stacks.message(6, b"") + make_stacks.message(6, b"x"),
        "first string": make_stacks.message(1, make_stacks.number(1, 1)) + make_stacks.message(6, b"x") + make_stacks.number(9, 1),
        "wrong field": make_stacks.message(1, make_stacks.number(1, 1)) + make_stacks.message(9, b"x"),
    }
    for name, data in others.items():
        path = write(folder, "other", data)
        run = subprocess.run([cases.TRACEBED, "report", path], capture_output=True)
        need(run.returncode == 2 and b"neither a trace nor in a format" in run.stderr, f"{name}: {run.returncode} {run.stderr}")
    for name, format_name in (("../imports_events/tracks.pftrace", "perfetto"), ("go_cpu.pb.gz", "pprof"), ("stacks.folded", "folded")):
        about = json.loads(tracebed("info", "--json", os.path.join(HERE, "imports", name)))
        need(format_name in json.dumps(about), f"{name}: {about}")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
