#!/usr/bin/env python3
"""
Measures what each way of entry costs per call: compiled and not recorded, recorded, recorded with a filter that chooses
one of a hundred functions, and under 'uftrace record'. The program is the same, compiled without any way. A function
does about 12 ns of work. bench/README.md describes the method.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import shutil
import statistics
import subprocess
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
"""
FUNCTION = """__attribute__((noinline)) unsigned long f%d(unsigned long n)
{ for (int i = 0; i < 12; i++) { n = n * 6364136223846793005u + %d; __asm__ volatile("" : "+r"(n)); } return n; }
"""
TAIL = r"""
PLAIN int main(int argc, char **argv)
{
    long rounds = atol(argv[argc - 1]);
    unsigned long n = 1;
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (long i = 0; i < rounds; i++) { CALLS }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    double ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
    printf("%.4f %d\n", ns / (double)rounds / COUNT, n == 0);
    return 0;
}
"""
WAYS = {
    "-finstrument-functions": "gcc",
    "-pg -mfentry": "gcc",
    "-pg": "gcc",
    "-fpatchable-function-entry=5": "gcc",
    "-fxray-instrument -fxray-instruction-threshold=1": "clang",
}


def compile_program(folder, name, compiler, flags):
    calls = " ".join(f"n = f{i}(n);" for i in range(FUNCTIONS))
    text = HEAD + "".join(FUNCTION % (i, i + 1) for i in range(FUNCTIONS))
    text += TAIL.replace("CALLS", calls).replace("COUNT", str(FUNCTIONS))
    path = os.path.join(folder, name)
    command = [compiler, "-O2", "-w", *flags, "-xc", "-", "-o", path]
    subprocess.run(command, input=text, text=True, check=True)
    return path


def run(command, folder, calls):
    output = os.path.join(folder, "output")
    command = [word.replace("OUTPUT", output) for word in command]
    rounds = str(calls // FUNCTIONS)
    text = subprocess.run([*command, rounds], capture_output=True, text=True, check=True, cwd=folder).stdout
    for path in (output, output + ".old"):
        shutil.rmtree(path) if os.path.isdir(path) else os.path.exists(path) and os.unlink(path)
    return float(text.split()[-2])


def kinds_of(folder, number, compiler, flags):
    program = compile_program(folder, f"way{number}", compiler, flags.split())
    record = [TRACEBED, "record", "--functions", "-o", "OUTPUT"]
    kinds = {
        "plain": [compile_program(folder, f"plain{number}", compiler, [])],
        "compiled": [program],
        "recorded": [*record, program],
        "1 %": [*record, "--filter", "f7", program],
    }
    if shutil.which("uftrace") is not None:
        uftrace = ["uftrace", "record", "--no-libcall", "--no-event", "--no-sched", "-b", "4m", "-d", "OUTPUT"]
        uftrace += ["-P", "."] if "patchable" in flags or "xray" in flags else []
        kinds["uftrace"] = [*uftrace, program]
    return kinds


def main():
    parser = argparse.ArgumentParser(description="Measures the cost of each way of entry.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=2_000_000)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="entries_bench.")
    try:
        print(f"{options.calls:,} calls, {options.rounds} rounds, load average {os.getloadavg()[0]:.1f}\n")
        print("| Way | plain, ns/call | compiled | recorded | 1 % recorded | uftrace | 1 % / plain |")
        print("|---|---|---|---|---|---|---|")
        ways = [(name, kinds_of(folder, i, WAYS[name], name)) for i, name in enumerate(WAYS) if shutil.which(WAYS[name])]
        for name, kinds in ways:
            measured = {kind: [] for kind in kinds}
            for _ in range(options.rounds):
                for kind, command in kinds.items():
                    measured[kind].append(run(command, folder, options.calls))
            found = {kind: statistics.median(times) for kind, times in measured.items()}
            ratio = statistics.median(one / plain for one, plain in zip(measured["1 %"], measured["plain"]))
            print(
                f"| {WAYS[name]} {name} | {found['plain']:.1f} | {found['compiled']:.1f} | {found['recorded']:.1f} "
                f"| {found['1 %']:.1f} | {found.get('uftrace', 0):.1f} | {ratio:.2f} |", flush=True
            )  # fmt: skip
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
