#!/usr/bin/env python3
"""
Measures what recording costs a Ruby program: rdoc over Ruby's installed library, recorded, with the standard library's
own tool, objspace, and with memory_profiler. Each run is paired with a plain one, which comes before it in one round and
after it in the next. It prints the CPU time of the process, the median of the ratios of pairs, and the ratio of the
fastest runs, on which other programs have the least effect. If it is terminated, it shows the pairs that it has.

    bench/ruby_bench.py [--rounds N] [--quick] [--only NAME]...

--quick takes a part of the library, about a seventh. rdoc's own output goes to memory (/dev/shm): where thousands of files
were just removed, ext4 looks for new ones slowly, which would be charged to whatever runs next. Dropped events are
reported; they invalidate the result.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import pathlib
import resource
import signal
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "build/release/ruby"
TRACEBED = ROOT / "build/release/tracebed"
PARTS = ("net", "optparse", "uri", "csv", "psych", "reline", "irb", "fiddle", "json", "racc", "rexml")
GOALS = {"light": 1.12, "full": 1.20, "stacks": 1.60}
# A way to run it -> the options that load what it needs.
WAYS = {
    "plain": [],
    "light": ["-rtracebed/auto"],
    "full": ["-rtracebed/auto"],
    "stacks": ["-rtracebed/auto"],
    "calls": ["-rtracebed/auto"],
    "objects": ["-rtracebed"],
    "objspace": ["-robjspace"],
    "memory_profiler": ["-rmemory_profiler"], # it collects no garbage: the entire library takes some 10 GB
}
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
SCRIPT = """
require "rdoc/rdoc"
ObjectSpace.trace_object_allocations_start if ENV["WAY"] == "objspace"
Tracebed.start(ENV["TRACE"], allocations: nil, objects: true) if ENV["WAY"] == "objects"
MemoryProfiler.start if ENV["WAY"] == "memory_profiler"
RDoc::RDoc.new.document(["--ri", "--quiet", "--op", ARGV[0], *ARGV[1..]])
MemoryProfiler.stop if ENV["WAY"] == "memory_profiler"
STDERR.puts GC.stat(:total_allocated_objects)
"""


def ruby(code):
    return subprocess.run(["ruby", "-e", code], capture_output=True, text=True, check=True).stdout.strip()


def environment(way, folder):
    env = dict(os.environ, RUBYLIB=str(LIBRARY), WAY=way, TRACE=f"{folder}/run.tbed", LANG="C.UTF-8")
    if way in ("light", "full"):
        env.update(TRACEBED_RUBY_FILE=env["TRACE"], TRACEBED_RUBY_ALLOCATIONS=way)
    if way == "stacks":
        env.update(TRACEBED_RUBY_FILE=env["TRACE"], TRACEBED_RUBY_ALLOCATIONS="full", TRACEBED_RUBY_STACKS="32")
    if way == "calls":
        env.update(TRACEBED_RUBY_FILE=env["TRACE"], TRACEBED_RUBY_ALLOCATIONS="none", TRACEBED_RUBY_CALLS="1")
    return env


def run(way, sources, folder, output):
    """Returns CPU seconds, peak MiB, objects allocated, and the trace's MiB."""
    command = ["ruby", *WAYS[way], "-e", SCRIPT, f"{output}/ri", *sources]
    child = subprocess.Popen(command, env=environment(way, folder), cwd=folder, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
    told = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    if status != 0:
        sys.exit(f"{' '.join(command)}\n{told}")
    trace, nbytes = pathlib.Path(folder, "run.tbed"), 0
    if trace.exists():
        info = subprocess.run([TRACEBED, "info", trace], capture_output=True, text=True, check=True).stdout
        if "dropped" in info:
            print(f"{way}: {info}")
        nbytes = trace.stat().st_size
    elif way not in ("plain", "objspace", "memory_profiler"):
        sys.exit(f"{way}: no trace was made")
    objects = int(told.split()[-1])
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, objects, nbytes / 2**20


def measure(way, sources):
    with tempfile.TemporaryDirectory(prefix="ruby-bench-") as folder:
        with tempfile.TemporaryDirectory(prefix="ruby-bench-", dir=MEMORY) as output:
            return run(way, sources, folder, output)


def options():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", choices=[way for way in WAYS if way != "plain"])
    return parser.parse_args()


def show(results, sources):
    """'results' has pairs by way: of a plain run, and of one that way."""
    everything = [plain for pairs in results.values() for plain, _ in pairs]
    objects = everything[0][2]
    print(f"\nrdoc over {' '.join(sources)}: {objects / 1e6:.1f} million objects; CPU seconds, medians of "
          f"{min(map(len, results.values()))} pairs or more; load {os.getloadavg()[0]:.1f}")
    print("\n| Run | CPU | Ratio | Min | Max | Of the fastest | Peak memory | Trace | Goal |\n|---|---|---|---|---|---|---|---|---|")
    for way, pairs in {"plain": [(plain, plain) for plain in everything], **results}.items():
        ratios = [result[0] / plain[0] for plain, result in pairs]
        cpu, peak, _, trace = map(statistics.median, zip(*(result for _, result in pairs)))
        fastest = min(result[0] for _, result in pairs) / min(plain[0] for plain in everything)
        goal, middle = GOALS.get(way), statistics.median(ratios)
        told = "–" if goal is None else f"<= {goal}: " + ("**reached**" if middle <= goal else "missed")
        print(f"| {way} | {cpu:.2f} s | {middle:.3f} | {min(ratios):.3f} | {max(ratios):.3f} | {fastest:.3f} | {peak:.0f} MiB | "
              f"{trace:.0f} MiB | {told} |")


def can_load(way):
    """Only what comes with Ruby and with the tree is there in any case."""
    if way != "memory_profiler" or subprocess.run(["ruby", *WAYS[way], "-e", ""], stderr=subprocess.DEVNULL).returncode == 0:
        return True
    print("memory_profiler is left out: it is not installed (Debian: ruby-memory-profiler)")
    return False


def measure_pair(way, sources, turn):
    order = ("plain", way) if turn % 2 == 0 else (way, "plain")
    pair = {each: measure(each, sources) for each in order}
    print(f"{turn} {way}: {pair[way][0] / pair['plain'][0]:.3f}, plain {pair['plain'][0]:.2f} s", file=sys.stderr)
    return pair["plain"], pair[way]


def main():
    chosen = options()
    top = ruby('puts RbConfig::CONFIG["rubylibdir"]')
    sources = [f"{top}/{part}" for part in PARTS if os.path.exists(f"{top}/{part}")] if chosen.quick else [top]
    ways = [way for way in chosen.only or WAYS if way != "plain" and can_load(way)]
    results = {way: [] for way in ways}
    measure("plain", [f"{top}/net"]) # the disk is read once
    try:
        for turn in range(chosen.rounds):
            for way in ways:
                results[way].append(measure_pair(way, sources, turn))
    except KeyboardInterrupt:
        results = {way: pairs for way, pairs in results.items() if pairs}
    if results:
        show(results, sources)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    main()
