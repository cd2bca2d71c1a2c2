#!/usr/bin/env python3
"""
Exports a trace of ten million events as folded stacks, pprof, callgrind and speedscope, and a trace of as many allocations and
frees as heaptrack and pprof, and prints the speed and the memory beyond the map of the trace. bench/README.md describes the
method.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "support"))
import processes  # noqa: E402

BUILD = os.environ.get("TBED_BUILD", "build/release")
TRACEBED = os.path.realpath(f"{BUILD}/tracebed")
SUBJECT = os.path.realpath(f"{BUILD}/bench/verbs/verbs_subject")
MEMORY_MIB_MAX = 64
SUMS = ("folded", "pprof", "callgrind", "speedscope")
ALLOCATES = "for i in range({}): bytearray(64)"  # two blocks each


def record_spans(path, count, names):
    subprocess.run([SUBJECT, path, str(count), "4", str(names)], check=True)


def record_allocations(path, count):
    subprocess.run([TRACEBED, "record", "--stacks", "-f", "-o", path, "--", "python3", "-c", ALLOCATES.format(count // 4)],
                   check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONMALLOC": "malloc"})  # fmt: skip


def put(what, kind, trace, out, count):
    taken = processes.measure([TRACEBED, "export", f"--to={kind}", "-f", trace, "-o", out])
    if taken.status != 0:
        raise SystemExit(f"export --to={kind}: exit status {taken.status}")
    goal = "**reached**" if taken.own <= MEMORY_MIB_MAX else "**missed**"
    print(f"| {what} | {kind} | {taken.elapsed:.2f} | {taken.cpu:.2f} | {count / taken.elapsed / 1e6:.1f} | {taken.own:.0f} | "
          f"{os.stat(out).st_size / 1e6:.1f} | {goal} |", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the events")
    parser.add_argument("--path", default=None, help="folder for the files")
    options = parser.parse_args()
    count = 1_000_000 if options.quick else 10_000_000
    print("| Trace | Format | s | CPU s | Mevents/s | MiB beyond the map | MB written | <= 64 MiB |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=options.path) as folder:
        trace, out = os.path.join(folder, "trace.tbed"), os.path.join(folder, "out")
        for what, names in (("spans, stacks that repeat", 1), ("spans, each stack its own", 300)):
            record_spans(trace, count, names)
            for kind in SUMS:
                put(what, kind, trace, out, count)
            os.unlink(trace)
        record_allocations(trace, count)
        for kind in (*SUMS, "heaptrack"):
            put("allocations", kind, trace, out, count)


if __name__ == "__main__":
    main()
