#!/usr/bin/env python3
"""
Measures what recording costs a Ruby program: rdoc over Ruby's installed library, plain, recorded, and with the standard
library's own tool, objspace, in turns. It prints the CPU time of the process, and the median of the ratios of pairs.

    bench/ruby_bench.py [--rounds N] [--quick] [--only NAME]...

--quick takes a part of the library. The order rotates with each round. Dropped events are reported; they invalidate the
result.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "build/release/ruby"
TRACEBED = ROOT / "build/release/tracebed"
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
}
SCRIPT = """
require "rdoc/rdoc"
ObjectSpace.trace_object_allocations_start if ENV["WAY"] == "objspace"
Tracebed.start(ENV["TRACE"], allocations: nil, objects: true) if ENV["WAY"] == "objects"
RDoc::RDoc.new.document(["--ri", "--quiet", "--op", ARGV[0], *ARGV[1..]])
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


def run(way, sources, folder):
    """Returns CPU seconds, peak MiB, objects allocated, and the trace's MiB."""
    command = ["ruby", *WAYS[way], "-e", SCRIPT, f"{folder}/ri", *sources]
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
    elif way not in ("plain", "objspace"):
        sys.exit(f"{way}: no trace was made")
    objects = int(told.split()[-1])
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, objects, nbytes / 2**20


def measure(way, sources):
    with tempfile.TemporaryDirectory(prefix="ruby-bench-") as folder:
        return run(way, sources, folder)


def options():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", choices=[way for way in WAYS if way != "plain"])
    return parser.parse_args()


def show(ways, results, sources):
    plain = [result[0] for result in results["plain"]]
    objects = results["plain"][0][2]
    print(f"\nrdoc over {' '.join(sources)}: {objects / 1e6:.1f} million objects; CPU seconds, medians of "
          f"{len(plain)} rounds; load {os.getloadavg()[0]:.1f}")
    print("\n| Run | CPU | Ratio | Min | Max | Peak memory | Trace | Goal |\n|---|---|---|---|---|---|---|---|")
    for way in ways:
        ratios = [result[0] / base for result, base in zip(results[way], plain)]
        middle, cpu, peak, _, trace = (statistics.median(ratios), *map(statistics.median, zip(*results[way])))
        goal = GOALS.get(way)
        told = "–" if goal is None else f"<= {goal}: " + ("**reached**" if middle <= goal else "missed")
        print(f"| {way} | {cpu:.2f} s | {middle:.3f} | {min(ratios):.3f} | {max(ratios):.3f} | {peak:.0f} MiB | "
              f"{trace:.0f} MiB | {told} |")


def main():
    chosen = options()
    top = ruby('puts RbConfig::CONFIG["rubylibdir"]')
    sources = [f"{top}/{part}" for part in ("net", "optparse", "uri", "csv")] if chosen.quick else [top]
    ways = ["plain"] + (chosen.only or [way for way in WAYS if way != "plain"])
    results = {way: [] for way in ways}
    measure("plain", sources)
    for turn in range(chosen.rounds):
        for way in ways[turn % len(ways):] + ways[: turn % len(ways)]:
            results[way].append(measure(way, sources))
            print(f"{turn} {way}: {results[way][-1]}", file=sys.stderr)
    show(ways, results, sources)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
