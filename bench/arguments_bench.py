#!/usr/bin/env python3
"""
Measures what arguments add to a recorded call, and what a recorded call of a library function costs, beside 'uftrace
record' of the same programs. bench/README.md has results.

    python3 bench/arguments_bench.py [CALLS]

SPDX-License-Identifier: MIT
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile

TRACEBED = os.path.realpath("build/release/tracebed")
ROUNDS = 5

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define KEPT __attribute__((noinline, noipa))
KEPT int number(int a) { return a + 1; }
KEPT int text(const char *a) { return a[0]; }
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
int main(int argc, char **argv)
{
    int calls = atoi(argv[1]), sum = argc;
    double start = now();
    for (int i = 0; i < calls; i++) sum += number(i);
    double numbers = now();
    for (int i = 0; i < calls; i++) sum += text("hello world");
    double texts = now();
    for (int i = 0; i < calls; i++) sum += abs(rand());
    double library = now();
    printf("%f %f %f\n", (numbers - start) / calls, (texts - numbers) / calls, (library - texts) / calls);
    return sum == 1;
}
"""


def ways(folder):
    trace, data = os.path.join(folder, "t.tbed"), os.path.join(folder, "data")
    record = [TRACEBED, "record", "-f", "-o", trace]
    found = [("plain", [], "plain"), ("record --functions", [*record, "--functions"], "entries"),
             ("record --functions --args", [*record, "--functions", "--args"], "entries"),
             ("record --libcalls", [*record, "--libcalls"], "plain")]
    if shutil.which("uftrace"):
        uftrace = ["uftrace", "record", "-d", data]
        found += [("uftrace", [*uftrace, "--no-libcall"], "entries"), ("uftrace -a", [*uftrace, "-a"], "entries"),
                  ("uftrace, library functions", [*uftrace, "--force"], "plain")]
    return found


def main():
    calls = sys.argv[1] if len(sys.argv) > 1 else "100000"
    with tempfile.TemporaryDirectory(prefix="tracebed-bench-") as folder:
        source = os.path.join(folder, "program.c")
        with open(source, "w") as file:
            file.write(PROGRAM)
        for name, flags in (("plain", []), ("entries", ["-pg", "-mfentry"])):
            subprocess.run(["gcc", "-O2", "-g", *flags, source, "-o", os.path.join(folder, name)], check=True)
        print("%-30s %10s %10s %10s" % ("ns per call", "number", "text", "rand"))
        results = {name: [] for name, _, _ in ways(folder)}
        for _ in range(ROUNDS):
            for name, command, program in ways(folder):
                run = subprocess.run([*command, os.path.join(folder, program), calls], stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True, check=True)
                results[name].append([float(word) for word in run.stdout.split()])
        for name, rows in results.items():
            print("%-30s %10.1f %10.1f %10.1f" % (name, *[statistics.median(column) for column in zip(*rows)]))


if __name__ == "__main__":
    main()
