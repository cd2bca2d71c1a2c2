#!/usr/bin/env python3
"""
tinyxml2 (Debian's source, --fetch) with a program that makes, prints, parses, visits, changes and clones documents and
throws errors, recorded in each way of entry. First compares call trees: at -O0 with a log that the program itself keeps, at
-O2 with uftrace's for the same executable. Then measures what a call costs, with uftrace beside it, and what a run costs
that records 1 % of the functions. bench/README.md describes the method.

SPDX-License-Identifier: MIT
"""

import argparse
import collections
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import real_programs_bench  # noqa: E402

ROOT, BUILD, TRACEBED = real_programs_bench.ROOT, real_programs_bench.BUILD, real_programs_bench.TRACEBED
HOOKS = ["-finstrument-functions"]
WAYS = [
    ("g++", HOOKS),
    ("g++", ["-pg", "-mfentry"]),
    ("g++", ["-pg", "-mfentry", "-mnop-mcount", "-mrecord-mcount", "-fno-pie", "-no-pie"]),
    ("g++", ["-fpatchable-function-entry=5"]),
    ("clang++", ["-fxray-instrument", "-fxray-instruction-threshold=1"]),
]
UFTRACE = ["uftrace", "record", "--no-libcall", "--no-event", "--no-sched", "--no-pager", "-b", "4m", "-d", "OUTPUT"]


def compile_program(options, name, compiler, flags):
    """All in one source: several do not link with g++'s -fpatchable-function-entry."""
    command = [compiler, "-g", "-w", f"-I{options.source}", *flags, "-include", f"{options.source}/tinyxml2.cpp"]
    subprocess.run([*command, f"{ROOT}/bench/tinyxml2/work.cpp", "-o", name], cwd=options.folder, check=True)
    return f"{options.folder}/{name}"


def run(options, command, *arguments, **more):
    output = f"{options.folder}/output"
    for path in (output, output + ".old"):
        shutil.rmtree(path) if os.path.isdir(path) else os.path.exists(path) and os.unlink(path)
    command = [word.replace("OUTPUT", output) for word in command]
    found = subprocess.run([*command, *arguments], cwd=options.folder, capture_output=True, text=True, check=True, **more)
    return float(re.search(r"^ns (\d+)$", found.stderr, re.M).group(1)), found.stdout


# ---- Call trees: stacks of names, and how often each was entered ----


def plain_name(name):
    return re.sub(r" ?\[(clone |abi:)[^]]*\]|^work::\(anonymous namespace\)::", "", name)


def fold(events):
    """events: (True, name) for an entry, (False, None) for an exit."""
    counts, stack = collections.Counter(), []
    for is_entry, name in events:
        if is_entry:
            stack.append(name)
            counts[";".join(stack)] += 1
        else:
            stack.pop()
    return counts


def traced_tree(path):
    dump = subprocess.run([TRACEBED, "dump", "--json", path], capture_output=True, text=True, check=True).stdout
    events = [json.loads(line) for line in dump.splitlines() if '"type":"begin"' in line or '"type":"end"' in line]
    return fold((event["type"] == "begin", plain_name(event["function"])) for event in events)


def logged_tree(options, program):
    log = f"{options.folder}/log"
    run(options, [program], "1", "3", env={**os.environ, "LOG_TO": log})
    symbols = subprocess.run(["nm", "-C", program], capture_output=True, text=True, check=True).stdout
    names = {int(line.split()[0], 16): line.split(maxsplit=2)[2] for line in symbols.splitlines() if line[0] != " "}
    counts, stack = collections.Counter(), []
    with open(log, encoding="ascii") as file:
        for line in file:
            function, frame = (int(word, 16) for word in line[1:].split())
            while stack and stack[-1][1] < frame + (line[0] != "="):  # it has ended, perhaps by an exception
                stack.pop()
            if line[0] == "+":
                stack.append((plain_name(names[function]), frame))
                counts[";".join(name for name, _ in stack)] += 1
    return counts


def uftrace_tree(options):
    command = ["uftrace", "replay", "-f", "none", "--no-comment", "--no-pager", "-d", f"{options.folder}/output"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    events = []
    for line in text.splitlines():
        name, _, rest = line.strip().rpartition("()")
        if name:
            events.append((True, name))
        if line.strip() == "}" or rest == ";":
            events.append((False, None))
    return fold(events)


def without_arguments(tree):
    """As uftrace names functions."""
    counts = collections.Counter()
    for stack, count in tree.items():
        counts[";".join(short_name(name) for name in stack.split(";"))] += count
    return counts


def short_name(name):
    """Without arguments of functions and of templates, and without the type of a result."""
    name, before = name.removesuffix(" const"), ""
    while name != before:
        before, name = name, re.sub(r"\([^()]*\)|(?<=[\w ])<[^<>]*>|( const)?(?=::)", "", name).strip()
    return re.sub(r"^[\w ]* (?=\w+::)", "", name) if "operator" in name else name.rpartition(" ")[2]


def differences(one, other):
    paths = [path for path in one.keys() | other.keys() if one[path] != other[path]]
    return "equal" if not paths else f"{len(paths)} differ: " + "; ".join(
        f"{path} {one[path]} and {other[path]}" for path in sorted(paths, key=len)[:3])


def below_main(tree):
    """Without what runs before main(), and main() itself, which uftrace shows and a log within it does not."""
    return collections.Counter({path: count for path, count in tree.items() if not path.startswith(("_GLOBAL_", "__"))})


def compare_uftrace(options, command, ours):
    if not shutil.which("uftrace"):
        return "it is not installed"
    try:
        run(options, command, "1", "3")
    except subprocess.CalledProcessError:
        return "it crashes the program"
    return differences(without_arguments(ours), below_main(without_arguments(uftrace_tree(options))))


def compare(options):
    print("| Way | calls at -O0 | stacks | the program's log | calls at -O2 | stacks | uftrace |\n|---|---|---|---|---|---|---|")
    for number, (compiler, flags) in enumerate(options.ways):
        log = compile_program(options, f"log{number}", compiler, ["-O0", *HOOKS, "-DLOG", "-fno-pie", "-no-pie"])
        cells = []
        for level in ("-O0", "-O2"):
            program = compile_program(options, f"tree{number}", compiler, [level, *flags])
            patch = ["-P", "."] if "patchable" in flags[0] or "xray" in flags[0] or "-mnop-mcount" in flags else []
            run(options, [TRACEBED, "record", "-f", "-o", "OUTPUT", "--functions", program], "1", "3")
            ours = below_main(traced_tree(f"{options.folder}/output"))
            if level == "-O0":
                told = differences(ours, below_main(logged_tree(options, log)))
            else:
                told = compare_uftrace(options, [*UFTRACE, *patch, program], ours)
            cells += [f"{sum(ours.values()):,}", f"{len(ours):,}", told]
        print(f"| {compiler} {' '.join(flags)} | {' | '.join(cells)} |", flush=True)


# ---- Costs ----


def chosen_of(options, program):
    """1 % of the functions, whose calls are together closest to 1 % of all: two neighbours in the order of counts."""
    run(options, [TRACEBED, "record", "-f", "-o", "OUTPUT", "--functions", program], "1", str(options.breadth))
    counts = collections.Counter()
    for stack, count in traced_tree(f"{options.folder}/output").items():
        counts[short_name(stack.rpartition(";")[2])] += count
    total, wanted = sum(counts.values()), max(1, round(len(counts) / 100))
    ranked = [name for name, _ in counts.most_common() if re.fullmatch(r"[\w:~]+", name)]
    groups = [ranked[at:at + wanted] for at in range(len(ranked) - wanted + 1)]
    group = min(groups, key=lambda names: abs(sum(counts[name] for name in names) - total / 100))
    return group, len(counts), total, sum(counts[name] for name in group)


def measure(options):
    print("\n| Way | functions | calls a run | plain, ns/call | compiled | recorded | uftrace | 1 % recorded | of calls | / plain "
          "| / compiled |\n|---|---|---|---|---|---|---|---|---|---|---|")
    arguments = str(options.repeat), str(options.breadth)
    for number, (compiler, flags) in enumerate(options.ways):
        plain = compile_program(options, f"plain{number}", compiler, ["-O2"])
        program = compile_program(options, f"way{number}", compiler, ["-O2", *flags])
        patch = ["-P", "."] if "patchable" in flags[0] or "xray" in flags[0] or "-mnop-mcount" in flags else []
        group, functions, calls, some = chosen_of(options, program)
        record = [TRACEBED, "record", "-f", "-o", "OUTPUT", "--functions"]
        kinds = {"plain": [plain], "compiled": [program], "recorded": [*record, program],
                 "1 %": [*record, *[f"--filter={name}" for name in group], program]}
        if shutil.which("uftrace") and "xray" not in flags[0]:  # which it crashes
            kinds["uftrace"] = [*UFTRACE, *patch, program]
        measured = collections.defaultdict(list)
        for _ in range(options.rounds):
            for kind, command in kinds.items():
                measured[kind].append(run(options, command, *arguments)[0] / options.repeat / calls)
        found = collections.defaultdict(float, {kind: statistics.median(times) for kind, times in measured.items()})
        ratio = {kind: statistics.median(one / other for one, other in zip(measured["1 %"], measured[kind]))
                 for kind in ("plain", "compiled")}
        print(f"| {compiler} {' '.join(flags)} | {len(group)} of {functions} | {calls:,} | {found['plain']:.1f} "
              f"| {found['compiled']:.1f} | {found['recorded']:.1f} | {found['uftrace']:.1f} | {found['1 %']:.1f} "
              f"| {some / calls * 100:.1f} % | {ratio['plain']:.2f} | {ratio['compiled']:.2f} |", flush=True)
        print(f"{' '.join(group)}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description="Compares and measures recordings of tinyxml2 in each way of entry.")
    parser.add_argument("--sources", default=f"{BUILD}/real_programs", help="the folder of unpacked sources")
    parser.add_argument("--fetch", action="store_true", help="get the source with 'apt-get source'")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=8, help="documents in a run (8)")
    parser.add_argument("--breadth", type=int, default=6, help="children of an element (6)")
    parser.add_argument("--only", default="", help="only the ways whose compiler or flags contain this")
    parser.add_argument("--trees", action="store_true", help="only compare the call trees")
    parser.add_argument("--costs", action="store_true", help="only measure")
    options = parser.parse_args()
    options.sources = os.path.abspath(options.sources)
    os.makedirs(options.sources, exist_ok=True)
    if options.fetch and not any(name.startswith("tinyxml2-") for name in os.listdir(options.sources)):
        real_programs_bench.fetch("tinyxml2", options.sources)
    found = [name for name in sorted(os.listdir(options.sources)) if os.path.exists(f"{options.sources}/{name}/tinyxml2.cpp")]
    if not found:
        sys.exit("the source of tinyxml2 is missing: --fetch gets it with 'apt-get source'")
    options.source = f"{options.sources}/{found[0]}"
    options.ways = [way for way in WAYS if shutil.which(way[0]) and options.only in " ".join([way[0], *way[1]])]
    options.folder = tempfile.mkdtemp(prefix="tinyxml2_bench.")
    try:
        if not options.costs:
            compare(options)
        if not options.trees:
            measure(options)
    finally:
        shutil.rmtree(options.folder)


if __name__ == "__main__":
    main()
