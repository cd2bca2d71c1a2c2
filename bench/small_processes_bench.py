#!/usr/bin/env python3
"""
Measures what `tracebed record` costs programs that consist of many small processes, in pairs of runs without and with it:
a shell script of 1,200 processes, programs of a millisecond one after the other, a configure script, and `make -j2`.
Prints the medians of wall-clock time and of the CPU time of all processes, their ratios, and the size of the trace. The
last two come from an unpacked source package (--source), in a copy that is configured and cleaned before each run.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("TBED_BUILD", "build/release")
TRACEBED = os.path.abspath(os.path.join(BUILD, "tracebed"))
SCRIPT = "i=0; while [ $i -lt 300 ]; do x=$(echo $i | sed 's/1/2/'); i=$((i+1)); done; echo $x"
MILLISECOND = """
#include <stdlib.h>
#include <time.h>
static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}
int main(void)
{
    long end = now() + 1000000;
    while (now() < end)
        free(malloc(100));
    return 0;
}
"""
REPEAT = "i=0; while [ $i -lt 200 ]; do {0}; i=$((i+1)); done"


def parse():
    parser = argparse.ArgumentParser(description="Measures the cost of recording many small processes.")
    parser.add_argument("--rounds", type=int, default=5, help="pairs to measure (5)")
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--source", help="an unpacked source package with a configure script")
    return parser.parse_args()


def run(command, folder):
    """Wall-clock and CPU seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def programs(options, folder):
    """(name, command, command that prepares a run or None, folder)."""
    program = os.path.join(folder, "millisecond")
    with open(program + ".c", "w", encoding="ascii") as file:
        file.write(MILLISECOND)
    subprocess.run(["cc", "-O2", "-o", program, program + ".c"], check=True)
    yield "sh, 1,200 processes", ["sh", "-c", SCRIPT], None, folder
    yield "200 programs of 1 ms", ["sh", "-c", REPEAT.format(program)], None, folder
    if options.source:
        copy = os.path.join(folder, "source")
        shutil.copytree(options.source, copy, symlinks=True)
        yield "configure", ["sh", "./configure"], ["sh", "-c", "make distclean || :"], copy
        yield "make -j2", ["make", "-j2"], ["sh", "-c", "test -e Makefile || ./configure; make clean"], copy


def measure(options, folder, name, command, prepare, place):
    trace = os.path.join(folder, "trace.tbed")
    pairs = []
    for _ in range(options.rounds):
        pair = []
        for used in (command, [TRACEBED, "record", "-f", "-o", trace, "--", *command]):
            if prepare:
                run(prepare, place)
            pair.append(run(used, place))
        pairs.append(pair)
    cells = [name]
    for kind in range(2):
        ratios = sorted(recorded[kind] / plain[kind] for plain, recorded in pairs)
        plain, recorded = (statistics.median(pair[i][kind] for pair in pairs) for i in range(2))
        cells += [f"{plain:.3f} s", f"{recorded:.3f} s", f"**{statistics.median(ratios):.2f}** ({ratios[0]:.2f}–{ratios[-1]:.2f})"]
    print("| " + " | ".join(cells) + f" | {os.path.getsize(trace) / 1e6:.1f} MB |", flush=True)


def main():
    options = parse()
    if not os.path.exists(TRACEBED):
        sys.exit(f"{TRACEBED} is missing: run ninja first")
    print("| Program | Wall, plain | Recorded | Ratio | CPU, plain | Recorded | Ratio | Trace |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="tracebed-small-processes-") as folder:
        for name, *rest in programs(options, folder):
            if options.only in name:
                measure(options, folder, name, *rest)


main()
