#!/usr/bin/env python3
"""
Measures what recording a function call costs with 'tracebed record --functions' and with 'uftrace record' in the same
program, compared with reading the clock twice. bench/README.md describes the method.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

TRACEBED = os.path.realpath("build/release/tracebed")

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define PLAIN __attribute__((no_instrument_function))
__attribute__((noinline)) long leaf(long n) { __asm__ volatile(""); return n + 1; }
__attribute__((noinline)) long middle(long n) { return leaf(n) + leaf(n + 1) + leaf(n + 2); }
PLAIN static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
PLAIN static unsigned long clock_read(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    unsigned long ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}
PLAIN int main(int argc, char **argv)
{
    long calls = atol(argv[argc - 1]);
    unsigned long sum = 0;
    double begin = now();
    for (long i = 0; i < 2 * calls; i++) sum += clock_read();
    double middle_time = now();
    for (long i = 0; i < calls / 4; i++) sum += (unsigned long)middle(i);
    double end = now();
    printf("%.4f %.4f %d\n", (middle_time - begin) / (double)calls, (end - middle_time) / (double)calls, sum == 1);
    return 0;
}
"""


def nbytes_of(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def run(command, folder, calls):
    """Returns (clock, call) in CPU nanoseconds per call, and bytes per call."""
    output = os.path.join(folder, "output")
    command = [word.replace("OUTPUT", output) for word in command]
    text = subprocess.run([*command, str(calls)], capture_output=True, text=True, check=True, cwd=folder).stdout
    clock, call, _ = map(float, text.split()[-3:])
    nbytes = nbytes_of(output) / calls if os.path.exists(output) else 0
    for path in (output, output + ".old"):
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.unlink(path)
    return clock, call, nbytes


def kinds(folder):
    prog = os.path.join(folder, "prog")
    subprocess.run(["gcc", "-O2", "-finstrument-functions", "-xc", "-", "-o", prog], input=PROGRAM, text=True, check=True)
    found = {
        "not recorded": [prog],
        "tracebed record --functions": [TRACEBED, "record", "--functions", "-o", "OUTPUT", prog],
        "the same, --ring 64M": [TRACEBED, "record", "--functions", "--ring", "64M", "-o", "OUTPUT", prog],
        "the same, --filter middle": [TRACEBED, "record", "--functions", "--filter", "middle", "-o", "OUTPUT", prog],
    }
    if shutil.which("uftrace") is not None:
        options = ["--no-libcall", "--no-event", "--no-sched", "-b", "4m", "-d", "OUTPUT"]
        found["uftrace record"] = ["uftrace", "record", *options, prog]
    else:
        print("uftrace is not installed (apt package uftrace): skipped", file=sys.stderr)
    return found


def main():
    parser = argparse.ArgumentParser(description="Measures the cost of recording a function call.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the calls, and fewer rounds")
    parser.add_argument("--rounds", type=int, help="rounds (9, quick: 3)")
    parser.add_argument("--calls", type=int, help="calls per run (10 million, quick: 1 million)")
    parser.add_argument("--path", help="directory for temporary traces")
    options = parser.parse_args()
    rounds = options.rounds or (3 if options.quick else 9)
    calls = options.calls or (1_000_000 if options.quick else 10_000_000)
    folder = tempfile.mkdtemp(prefix="functions_bench.", dir=options.path)
    try:
        commands = kinds(folder)
        measured = {name: [] for name in commands}
        for turn in range(rounds):
            names = list(commands) if turn % 2 == 0 else list(commands)[::-1]
            for name in names:
                measured[name].append(run(commands[name], folder, calls))
    finally:
        shutil.rmtree(folder)
    print(f"{calls:,} calls, {rounds} rounds, load average {os.getloadavg()[0]:.1f}\n")
    print("| What | ns/call | of two clock reads | Min | Max | bytes/call |\n|---|---|---|---|---|---|")
    for name, rows in measured.items():
        ratios = [call / clock for clock, call, _ in rows]
        print(
            f"| {name} | {statistics.median(call for _, call, _ in rows):.1f} | {statistics.median(ratios):.2f} "
            f"| {min(ratios):.2f} | {max(ratios):.2f} | {statistics.median(size for _, _, size in rows):.2f} |"
        )


if __name__ == "__main__":
    main()
