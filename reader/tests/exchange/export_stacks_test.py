#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What 'tracebed export' writes as folded stacks, pprof, callgrind, speedscope and heaptrack is what 'report', 'tree' and 'flame'
show, to the nanosecond and the byte: for traces of all kinds of events, odd names and extreme times, read by strict readers of
our own and by the tools of these formats, as far as they are installed.

    python3 reader/tests/exchange/export_stacks_test.py

Check: export-stacks
Needs: $b/programs $b/reader/tests/agreement/agreement_program $b/reader/tests/agreement/hostile_names_program $b/reader/tests/exchange/stack_extremes_program
"""

import collections
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "ninja" / "checks")]
import cases
import stack_formats as formats
from cases import need

PROGRAMS = cases.BUILD / "reader/tests"
KINDS = ("given", "given whole", "given whole others arguments categories", "given open back", "given deep open", "given forks open", "counts given")
INT64_MAX = (1 << 63) - 1
GOLDEN = ("events", "empty", "fork", "killed", "recovered", "ring", "taken", "wrap")
NAMES = (b"plain", b"a;b", b"a b 7", b"\"quotes\" and 'others'", b"back\\slash", "ünïcödé 漢字 \U0001f600".encode(), b"line\nbreak",
         b"\x01\x1b[31m", b"\xff\xfe bad", b"(below main)", b" spaces ", b"<b>&amp;", b"", b"long " * 12000, b"x" * (1 << 20),
         b"label\x1eargument")
PROTO = """syntax = "proto3";
message Profile {
  repeated ValueType sample_type = 1; repeated Sample sample = 2; repeated Mapping mapping = 3; repeated Location location = 4;
  repeated Function function = 5; repeated string string_table = 6; int64 time_nanos = 9; int64 duration_nanos = 10;
  int64 default_sample_type = 14;
}
message ValueType { int64 type = 1; int64 unit = 2; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; }
message Mapping {
  uint64 id = 1; uint64 memory_start = 2; uint64 memory_limit = 3; uint64 file_offset = 4; int64 filename = 5; int64 build_id = 6;
  bool has_functions = 7; bool has_filenames = 8; bool has_line_numbers = 9; bool has_inline_frames = 10;
}
message Location { uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3; repeated Line line = 4; }
message Line { uint64 function_id = 1; int64 line = 2; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; }
"""


def tracebed(*words):
    """What a command prints; it may have found damage."""
    run = subprocess.run([cases.TRACEBED, *words], capture_output=True, check=False)
    need(run.returncode in (0, 1), f"{words}: exit status {run.returncode}\n{run.stderr.decode()}")
    return run.stdout


def export(kind, path, *options):
    return tracebed("export", f"--to={kind}", *options, path, "-o", "-")


def json_of(verb, path):
    """With times in ticks under the names of those in nanoseconds."""
    return json.loads(tracebed(verb, "--json", path),
                      object_pairs_hook=lambda pairs: {re.sub("_(?:ticks|units)$", "_ns", key): value for key, value in pairs})


def random_traces(folder):
    for seed, words in enumerate(KINDS):
        path = os.path.join(folder, f"{seed}.given.tbed")
        subprocess.run([PROGRAMS / "agreement/agreement_program", str(seed), path, *words.split()], check=True)
        yield path


def extremes(folder):
    path = os.path.join(folder, "extremes.tbed")
    subprocess.run([PROGRAMS / "exchange/stack_extremes_program", path], check=True)
    return path


def hostile_names(folder):
    path = os.path.join(folder, "names.tbed")
    lines = "".join(name.hex() + "\n" for name in NAMES)
    subprocess.run([PROGRAMS / "agreement/hostile_names_program", path], input=lines.encode(), check=True)
    return path


def memory_trace(folder):
    path = os.path.join(folder, "memory.tbed")
    cases.output_of(folder, cases.TRACEBED, "record", "--stacks", "-o", path, "--", "/bin/ls", "/")
    return path


def traces(folder):
    yield from random_traces(folder)
    yield extremes(folder)
    yield hostile_names(folder)
    yield from (str(cases.ROOT / f"spec/golden/valid/{name}.tbed") for name in GOLDEN)


# ---- What the commands show ----


def tree_of(path):
    """The paths of 'tree', in order: (labels, row)."""
    rows, paths = json_of("tree", path)["rows"], []
    for row in rows:
        above = paths[row["parent"]][0] if row["parent"] is not None else ()
        paths.append(((*above, row["name"]), row))
    return paths


def own_time(row):
    """Paths whose spans overlap without nesting may have less time than the paths in them: these have none of their own."""
    return max(row["self_ns"], 0)


def same(got, wanted):
    """JSON of the commands has times as doubles."""
    return abs(got - wanted) <= wanted / 2**52


# ---- Time ----


def test_folded_stacks_are_those_of_flame_and_tree(folder):
    for path in traces(folder):
        data = export("folded", path)
        need(data == tracebed("flame", "--folded", path), f"{path}: not the lines of 'flame --folded'")
        for (labels, value), (wanted, row) in zip(sorted(formats.read_folded(data)), sorted(tree_of(path), key=lambda pair: pair[0])):
            need(labels == wanted, f"{path}: {labels[-2:]}, not {wanted[-2:]}")
            need(same(value, own_time(row)), f"{path}: {labels[-2:]}: {value} ns, not {row['self_ns']}")


def test_pprof_has_the_stacks_of_folded_and_the_counts_of_tree(folder):
    for path in traces(folder):
        profile = formats.read_pprof(export("pprof", path))
        need(profile.types[0] == ("spans", "count") and profile.types[1][0] == "time", f"{path}: types {profile.types}")
        times, counts = collections.Counter(), collections.Counter()
        for frames, (count, self_ns) in profile.samples:
            labels = tuple(frame[0] for frame in frames)
            times[labels] += self_ns
            counts[labels] += count
        folded = {labels: min(value, INT64_MAX) for labels, value in formats.read_folded(export("folded", path))}
        need(times == collections.Counter(folded), f"{path}: other times")
        wanted = collections.Counter()
        for labels, row in tree_of(path):
            wanted[labels] += row["count"] if row["depth"] > 0 else 0
        need(counts == wanted, f"{path}: {counts - wanted} {wanted - counts}")


def sums_of(found):
    """name -> (own time, count, time with that of calls), of the functions of callgrind."""
    own, total, count = collections.Counter(), collections.Counter(), collections.Counter()
    for (_, name), costs in found.own.items():
        own[name] += costs[0]
        count[name] += costs[1]
    total.update(own)
    for ((_, caller), _), costs in found.inclusive.items():
        total[caller] += costs[0]
    return own, count, total


def test_callgrind_has_the_times_of_report(folder):
    for path in traces(folder):
        rows, spans = tree_of(path), json_of("report", path)["spans"]
        own, count, total = sums_of(formats.read_callgrind(export("callgrind", path)))
        roots = {labels[0] for labels, row in rows if row["depth"] == 0}
        is_cut = any(labels[-1] in ("<deeper>", "<other>") for labels, _ in rows)
        is_nested = all(row["self_ns"] >= 0 for _, row in rows)
        for row in spans:
            name = row["name"]
            if row["count"] == 0 or name in roots or is_cut:
                continue
            need(count[name] == row["count"], f"{path}: {name}: {count[name]} spans, not {row['count']}")
            if is_nested and "given" in path:
                need(own[name] == row["self_ns"] and total[name] == row["total_ns"], f"{path}: {name}: {own[name]} of {total[name]} ns: {row}")


def test_speedscope_has_the_spans_of_report(folder):
    for path in traces(folder):
        timed, _ = formats.read_speedscope(export("speedscope", path))
        spans = json_of("report", path)["spans"]
        found = [span for profile in timed.values() for span in profile]
        is_beside = any(", beside " in name for name in timed)
        count, total, own = collections.Counter(), collections.Counter(), collections.Counter()
        for name, begin, end, self_ns in found:
            count[name] += 1
            total[name] += end - begin
            own[name] += self_ns
        need(count == collections.Counter({row["name"]: row["count"] for row in spans}), f"{path}: other spans")
        for row in spans:
            if "given" in path or path.endswith("extremes.tbed"):
                need(same(total[row["name"]], row["total_ns"]), f"{path}: {row['name']}: {total[row['name']]} ns, not {row['total_ns']}")
            if "given" in path and not is_beside:
                need(own[row["name"]] == row["self_ns"], f"{path}: {row['name']}: {own[row['name']]} ns, not {row['self_ns']}")


def test_odd_names_survive(folder):
    path = hostile_names(folder)
    labels = {labels[-1] for labels, row in tree_of(path) if row["depth"] > 0}
    need("a;b" in labels and "<parse error>" in labels and "<too long>" in labels and len(labels) >= 11, f"{sorted(labels)}")
    need({stack[-1] for stack, _ in formats.read_folded(export("folded", path)) if len(stack) > 1} == labels, "folded")
    need({frames[-1][0] for frames, _ in formats.read_pprof(export("pprof", path)).samples if len(frames) > 1} == labels, "pprof")
    need({name for (_, name) in formats.read_callgrind(export("callgrind", path)).own} >= labels, "callgrind")
    timed, _ = formats.read_speedscope(export("speedscope", path))
    need({span[0] for spans in timed.values() for span in spans} == labels, "speedscope")


def test_several_files_add_up(folder):
    paths = [path for path in random_traces(folder)][:3]
    for kind, read in (("folded", formats.read_folded), ("pprof", lambda data: formats.read_pprof(data).samples)):
        alone = sum((read(export(kind, path)) for path in paths), [])
        need(sorted(read(tracebed("export", f"--to={kind}", *paths, "-o", "-"))) == sorted(alone), kind)
    together = formats.read_callgrind(tracebed("export", "--to=callgrind", *paths, "-o", "-"))
    need(together.totals == [sum(totals) for totals in zip(*(formats.read_callgrind(export("callgrind", path)).totals for path in paths))],
         "callgrind")
    timed, _ = formats.read_speedscope(tracebed("export", "--to=speedscope", *paths, "-o", "-"))
    need(sum(map(len, timed.values())) == sum(row["count"] for path in paths for row in json_of("report", path)["spans"]), "speedscope")


def test_a_part_of_a_trace_is_that_of_tree(folder):
    path = next(random_traces(folder))
    for options in (("--name=label [12]",), ("-b", "30%", "-e", "60%"), ("--minimum-duration=100ns",)):
        need(export("folded", path, *options) == tracebed("flame", "--folded", *options, path), f"{options}")
        timed, _ = formats.read_speedscope(export("speedscope", path, *options))
        rows = json.loads(tracebed("report", "--json", *options, path))["spans"]
        need(sum(map(len, timed.values())) == sum(row["count"] for row in rows), f"{options}: speedscope")


# ---- Memory ----


def totals_of(path):
    processes = json_of("report", path)["processes"]
    return {key: sum(process[key] for process in processes) for key in ("count", "bytes", "live_count", "live_bytes", "peak_bytes")}


def test_memory_leaves_by_every_door(folder):
    path = memory_trace(folder)
    totals = totals_of(path)
    need(len(json_of("report", path)["processes"]) == 1 and totals["count"] > 50, f"{totals}")
    data = export("folded", path, "--memory")
    need(data == tracebed("flame", "--folded", "--weight=bytes", path), "not the lines of 'flame --folded --weight=bytes'")
    need(sum(value for _, value in formats.read_folded(data)) == totals["bytes"], "folded")
    profile = formats.read_pprof(export("pprof", path, "--memory"))
    sums = dict(zip((name for name, _ in profile.types), map(sum, zip(*(values for _, values in profile.samples)))))
    need(sums == {"alloc_objects": totals["count"], "alloc_space": totals["bytes"], "inuse_objects": totals["live_count"],
                  "inuse_space": totals["live_bytes"], "peak_space": totals["peak_bytes"]}, f"pprof: {sums}")
    build_ids = {build_id for name, build_id, _ in profile.mappings.values() if "libc" in name}
    need(any(re.fullmatch("[0-9a-f]{40}", build_id) for build_id in build_ids), f"no build id: {profile.mappings}")
    functions = formats.read_callgrind(export("callgrind", path, "--memory"))
    need(functions.totals == [totals[key] for key in ("bytes", "count", "peak_bytes", "live_bytes")], f"callgrind: {functions.totals}")
    _, sampled = formats.read_speedscope(export("speedscope", path, "--memory"))
    need({name: sum(stacks.values()) for name, stacks in sampled.items()} ==
         {"allocated": totals["bytes"], "live at the peak": totals["peak_bytes"], "never freed": totals["live_bytes"],
          "allocations": totals["count"]}, "speedscope")
    firefox = formats.read_firefox_memory(export("firefox", path, "--memory"))
    need(firefox == {name: {stack: weight for stack, weight in stacks.items() if weight} for name, stacks in sampled.items()}, "firefox")
    heap = formats.read_heaptrack(export("heaptrack", path))
    need(heap == (totals["count"], totals["bytes"], totals["live_bytes"], totals["live_count"], totals["peak_bytes"]), f"heaptrack: {heap}")


def test_a_trace_without_spans_is_summed_up_by_memory_and_that_is_said(folder):
    path = memory_trace(folder)
    for kind in ("folded", "pprof", "callgrind", "speedscope"):
        run = subprocess.run([cases.TRACEBED, "export", f"--to={kind}", path, "-o", "-"], capture_output=True, check=True)
        need(b"memory is summed up instead of time" in run.stderr, f"{kind}: {run.stderr}")
        need(run.stdout == export(kind, path, "--memory"), f"{kind}: not what --memory writes")


def test_memory_is_refused_where_it_does_not_apply(folder):
    path = memory_trace(folder)
    for kind in ("chrome", "heaptrack", "mm_profdata", "rtl-log"):
        run = subprocess.run([cases.TRACEBED, "export", f"--to={kind}", "--memory", path, "-o", "out"], cwd=folder, capture_output=True,
                             check=False)
        need(run.returncode == 2 and b"does not apply" in run.stderr, f"{kind}: {run}")


def test_names_of_outputs_compress(folder):
    path = memory_trace(folder)
    for kind in ("folded", "pprof", "callgrind", "speedscope", "heaptrack"):
        tracebed("export", f"--to={kind}", path, "-o", f"{folder}/{kind}.gz")
        need(gzip.decompress(pathlib.Path(folder, f"{kind}.gz").read_bytes()) == export(kind, path), f"{kind}")


# ---- Tools ----


def consumer(name):
    found = shutil.which(name)
    if found is None:
        print(f"skipped what needs {name}, which is not installed")
    return found


def test_callgrind_annotate_shows_the_times_of_report(folder):
    if consumer("callgrind_annotate") is None:
        return
    path = next(random_traces(folder))
    tracebed("export", "--to=callgrind", path, "-o", f"{folder}/callgrind.out")
    text = cases.output_of(folder, "callgrind_annotate", "--inclusive=yes", "--threshold=100", "callgrind.out")
    found = {name: (int(ns.replace(",", "")), int(count.replace(",", "")))
             for ns, count, name in re.findall(r"^ *([\d,]+) \([^)]*\) +([\d,]+) \([^)]*\) +\?\?\?:(.*)$", text, re.M)}
    for row in json_of("report", path)["spans"]:
        need(found[row["name"]][0] == row["total_ns"], f"{row}: {found[row['name']]}")


def test_heaptrack_print_shows_the_sums_of_report(folder):
    if consumer("heaptrack_print") is None:
        return
    path = memory_trace(folder)
    totals = totals_of(path)
    tracebed("export", "--to=heaptrack", path, "-o", f"{folder}/ls.heaptrack.gz")
    text = cases.output_of(folder, "heaptrack_print", "ls.heaptrack.gz")
    need(f"calls to allocation functions: {totals['count']} " in text, text[-1000:])
    for key, what in (("peak_bytes", "peak heap memory consumption"), ("live_bytes", "total memory leaked")):
        shown = re.search(rf"{what}: ([\d.]+)([KM]?)", text)
        value = float(shown[1]) * {"": 1, "K": 1e3, "M": 1e6}[shown[2]]
        need(abs(value - totals[key]) <= max(totals[key] / 100, 1), f"{what}: {shown[0]}, not {totals[key]}")


def test_protoc_decodes_pprof(folder):
    if consumer("protoc") is None:
        return
    pathlib.Path(folder, "profile.proto").write_text(PROTO, encoding="utf-8")
    for path in (next(random_traces(folder)), hostile_names(folder), extremes(folder), memory_trace(folder)):
        data = export("pprof", path)
        run = subprocess.run(["protoc", "--decode=Profile", "profile.proto"], cwd=folder, input=data, capture_output=True, check=True)
        text = run.stdout.decode()
        need(not re.search(r"^ *\d+[:{ ]", text, re.M), "a field that the description does not have")
        need(len(re.findall(r"^sample \{$", text, re.M)) == len(formats.read_pprof(data).samples), "other samples")


def main():
    return cases.run_all(globals())


if __name__ == "__main__":
    sys.exit(main())
