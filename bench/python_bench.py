#!/usr/bin/env python3
"""
Reads a trace of recorded spans with Python's module, as rows and as columns, and prints how many rows a second it gives. The
goal is two million. bench/README.md describes the method.

    bench/python_bench.py [--spans N] [--rounds N]

SPDX-License-Identifier: MIT
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
BUILD = os.environ.get("TBED_BUILD", "build/release")
PYTHON = "/usr/bin/python3"
SUBJECT = os.path.realpath(f"{BUILD}/bench/verbs/verbs_subject")
COLUMNS = ["ts", "dur", "label"]


def drain(rows):
    for _ in rows:
        pass


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(trace, count, rounds):
    ways = [
        ("rows, in order of time", lambda: drain(trace.rows("spans", COLUMNS))),
        ("rows, in any order", lambda: drain(trace.rows("spans", COLUMNS, any_order=True))),
        ("columns, in order of time", lambda: trace.columns("spans", COLUMNS)),
        ("columns, in any order", lambda: trace.columns("spans", COLUMNS, any_order=True)),
    ]
    print("| Three columns of each span | Million rows/s | Goal |\n|---|---|---|")
    for name, call in ways:
        speed = count / statistics.median(seconds(call) for _ in range(rounds)) / 1e6
        print(f"| {name} | {speed:.1f} | >= 2: **{'reached' if speed >= 2 else 'missed'}** |", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Measures Python's module on a recorded trace.")
    parser.add_argument("--spans", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3, help="of which the median counts (3)")
    options = parser.parse_args()
    if not os.path.exists(f"{BUILD}/python/tracebed/_native.abi3.so"):
        print("skipped: the module is not built (python3-dev)")
        return 0
    sys.path.insert(0, f"{BUILD}/python")
    import tracebed  # pylint: disable=import-outside-toplevel

    folder = tempfile.mkdtemp(prefix="python_bench.", dir=BUILD)
    try:
        path = f"{folder}/run.tbed"
        subprocess.run([SUBJECT, path, str(2 * options.spans), "8", "200"], check=True)
        print(f"{options.spans:,} spans of 8 threads; load average {os.getloadavg()[0]:.1f}\n")
        with tracebed.open(path) as trace:
            measure(trace, options.spans, options.rounds)
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    if sys.executable != PYTHON and os.path.exists(PYTHON):
        os.execv(PYTHON, [PYTHON, *sys.argv])
    sys.exit(main())
