#!/usr/bin/env python3
"""
Measures what a program costs of whose functions one in a hundred is recorded, for each way in which tracebed is called, and
with uftrace beside it. Plain is the same program, compiled without that way. bench/README.md describes the method.

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
FUNCTIONS = 100

HEAD = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined(__clang__)
#define PLAIN __attribute__((no_instrument_function, patchable_function_entry(0, 0), xray_never_instrument))
#else
#define PLAIN __attribute__((no_instrument_function, patchable_function_entry(0, 0)))
#endif
PLAIN static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
"""
FUNCTION = """__attribute__((noinline)) static long f{number}(long n)
{{
    for (int i = 0; i < {rounds}; i++) {{ n = n * {factor} + (n >> 7); __asm__ volatile("" : "+r"(n)); }}
    return n;
}}
"""
MAIN = """PLAIN int main(int argc, char **argv)
{{
    long calls = atol(argv[argc - 1]), sum = 1;
    double begin = now();
    for (long i = 0; i < calls / {functions}; i++) {{ {body} }}
    printf("%.4f %d\\n", (now() - begin) / (double)calls, sum == 3);
    return 0;
}}
"""

WAYS = {
    "-finstrument-functions": "gcc",
    "-pg -mfentry": "gcc",
    "-fpatchable-function-entry=5": "gcc",
    "-fxray-instrument -fxray-instruction-threshold=1": "clang",
}


def program(folder, name, rounds, compiler, flags):
    text = HEAD + "".join(FUNCTION.format(number=i, rounds=rounds, factor=2 * i + 31) for i in range(FUNCTIONS))
    text += MAIN.format(functions=FUNCTIONS, body=" ".join(f"sum = f{i}(sum);" for i in range(FUNCTIONS)))
    path = os.path.join(folder, name)
    subprocess.run([compiler, "-O2", "-w", *flags, "-xc", "-", "-o", path], input=text, text=True, check=True)
    return path


def kinds(folder, rounds):
    """Yields (way, what, command): the first of each way is what the others are compared with."""
    record = [TRACEBED, "record", "-f", "-o", os.path.join(folder, "output"), "--functions"]
    for number, (way, compiler) in enumerate(WAYS.items()):
        if shutil.which(compiler) is None:
            print(f"{compiler} is not installed: {way} is skipped", file=sys.stderr)
            continue
        plain = program(folder, f"plain{rounds}_{compiler}", rounds, compiler, [])
        path = program(folder, f"prog{rounds}_{number}", rounds, compiler, way.split())
        yield way, "plain", [plain]
        yield way, "compiled, not recorded", [path]
        yield way, "--filter: 1 of 100 functions", [*record, "--filter=f7", path]
        yield way, "--minimum-duration=1ms: no call", [*record, "--minimum-duration=1ms", path]
        yield way, "all functions", [*record, path]
    if shutil.which("uftrace") is not None:
        options = ["--no-libcall", "--no-event", "--no-sched", "-d", os.path.join(folder, "uftrace")]
        path = os.path.join(folder, f"prog{rounds}_0")
        yield "-finstrument-functions", "uftrace -F f7", ["uftrace", "record", *options, "-F", "f7", path]
        yield "-finstrument-functions", "uftrace -t 1ms", ["uftrace", "record", *options, "-t", "1ms", path]
    else:
        print("uftrace is not installed (apt package uftrace): skipped", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description="Measures the cost of functions that are not recorded.")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (5)")
    parser.add_argument("--calls", type=int, default=3_000_000, help="calls per run (3 million)")
    parser.add_argument("--size", type=int, default=20, help="steps of work in a function, 1 ns each (20)")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="filters_bench.")
    measured = {}
    try:
        commands = list(kinds(folder, options.size))
        for _ in range(options.rounds):
            for way, what, command in commands:
                run = subprocess.run([*command, str(options.calls)], capture_output=True, text=True, check=True, cwd=folder)
                measured.setdefault((way, what), []).append(float(run.stdout.split()[0]))
    finally:
        shutil.rmtree(folder)
    print(f"{options.calls:,} calls, {options.rounds} rounds, load average {os.getloadavg()[0]:.1f}\n")
    print("| Compiled with | What | ns/call | of plain | Min | Max |\n|---|---|---|---|---|---|")
    for (way, what), times in measured.items():
        ratios = [time / plain for time, plain in zip(times, measured[way, "plain"])]
        print(f"| `{way}` | {what} | {statistics.median(times):.1f} | {statistics.median(ratios):.2f} "
              f"| {min(ratios):.2f} | {max(ratios):.2f} |")


if __name__ == "__main__":
    main()
