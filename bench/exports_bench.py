#!/usr/bin/env python3
"""
Measures exports for viewers: a program that begins and ends spans is recorded, and the trace is exported as each format. It
prints events per second, the memory beyond the map, and the size of the output. bench/README.md describes the method.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "peers"), os.path.join(HERE, "support")]
import peers  # noqa: E402
import processes  # noqa: E402
import readers_bench  # noqa: E402

FORMATS = ["chrome", "perfetto", "firefox", "otlp", "ctf", "mm_profdata"]
OWN_MAX = 64  # MiB


def size_of(path):
    if os.path.isdir(path):
        return sum(size_of(os.path.join(path, name)) for name in os.listdir(path))
    return os.path.getsize(path)


def main():
    parser = argparse.ArgumentParser(description="Measures exports for viewers.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the events")
    parser.add_argument("--events", type=int, help="events of the trace (10 million, quick: 1 million)")
    options = parser.parse_args()
    events = (options.events or (1_000_000 if options.quick else 10_000_000)) // 2 * 2
    folder = tempfile.mkdtemp(prefix="exports-bench-", dir="build")
    try:
        trace = readers_bench.record(peers.Tracebed, folder, events)
        print(f"{events:,} events, load average {os.getloadavg()[0]:.1f}\n")
        print("| Format | CPU, ns/event | Million events/s of CPU | Own memory | Bytes/event |\n|---|---|---|---|---|")
        for name in FORMATS:
            output = os.path.join(folder, f"out.{name}")
            taken = processes.measure([readers_bench.TRACEBED, "export", f"--to={name}", trace, "-f", "-o", output])
            if taken.status != 0:
                sys.exit(f"exports_bench: {name}: exit status {taken.status}")
            mark = "" if taken.own <= OWN_MAX else f" (more than {OWN_MAX})"
            print(f"| {name} | {taken.cpu / events * 1e9:.0f} | {events / taken.cpu / 1e6:.1f} | "
                  f"{taken.own:.0f} MiB{mark} | {size_of(output) / events:.1f} |")
            shutil.rmtree(output) if os.path.isdir(output) else os.unlink(output)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
