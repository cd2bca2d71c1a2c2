#!/usr/bin/env python3
"""
Asks each command of tracebed about damaged traces, and prints the most time and memory that it took for the size of the file. The
damage is that of spec/mutation_test.py: numbers that matter are changed and most checksums mended, blocks moved, cleared or cut
off. bench/README.md describes the method.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
for part in ("support", "../spec"):
    sys.path.insert(0, os.path.join(HERE, part))
import mutation_test  # noqa: E402
import processes  # noqa: E402

BUILD = os.environ.get("TBED_BUILD", "build/release")
TRACEBED = os.path.realpath(f"{BUILD}/tracebed")
SUBJECT = os.path.realpath(f"{BUILD}/bench/verbs/verbs_subject")
ODD = os.path.realpath(f"{BUILD}/reader/tests/agreement/agreement_program")
ODD_WORDS = ("given", "given others open", "given whole categories others", "counts whole given", "given deep", "given back",
             "given deep arguments categories")  # fmt: skip
SECONDS_PER_MB_MAX = 1.0
MEMORY_FACTOR_MAX, MEMORY_MIB_MAX = 8, 64
COMMANDS = [
    "info TRACE", "verify TRACE", "report TRACE", "report --by=thread TRACE", "report --over-time TRACE", "tree TRACE",
    "tree --calls TRACE", "flame TRACE -f -o OUT", "slowest TRACE", "slowest --fastest TRACE f", "histogram . TRACE", "flows TRACE",
    "threads TRACE", "strings TRACE", "diff TRACE TRACE", "diff --calls TRACE TRACE", "aggregate TRACE TRACE", "dump --json TRACE",
    "export --to=chrome TRACE -f -o OUT", "export --to=mm_profdata TRACE -f -o OUT", "export --to=rtl-log TRACE -f -o OUT",
    "cut -b 10% -e 60% TRACE -f -o OUT", "recover TRACE -f -o OUT", "snapshot TRACE -f -o OUT", "view --html OUT -f TRACE",
    "view --png OUT -f TRACE",
]  # fmt: skip


class Worst:
    """The most that a command took."""

    def __init__(self):
        self.per_mb, self.seconds, self.memory, self.above, self.statuses = 0, 0, 0, -MEMORY_MIB_MAX, set()

    def add(self, taken, nbytes):
        self.per_mb = max(self.per_mb, taken.cpu / max(1, nbytes / 1e6))
        self.seconds = max(self.seconds, taken.cpu)
        self.memory = max(self.memory, taken.total)
        self.above = max(self.above, taken.total - MEMORY_FACTOR_MAX * nbytes / 2**20 - MEMORY_MIB_MAX)
        self.statuses.add(taken.status)

    def goal(self):
        if self.statuses - {0, 1, 2}:
            return f"**exit status {sorted(self.statuses)}**"
        return "**reached**" if self.per_mb <= SECONDS_PER_MB_MAX and self.above <= 0 else "**missed**"


def make_trace(folder, number):
    """One of 4 KiB to 1 MB, with spans of many threads or with everything there is."""
    path = f"{folder}/whole{number}.tbed"
    if number % 2 == 0:
        subprocess.run([SUBJECT, path, str(10_000 << number % 5), "4", "300"], check=True)
    else:
        subprocess.run([ODD, str(number), path, *ODD_WORDS[number // 2 % len(ODD_WORDS)].split()], check=True)
    with open(path, "rb") as file:
        data = file.read()
    os.unlink(path)
    return data


def words(command, trace, out):
    return [TRACEBED, *({"TRACE": trace, "OUT": out}.get(word, word) for word in command.split())]


def try_intact(folder):
    """A command that is refused for its words would take no time."""
    trace = f"{folder}/intact.tbed"
    subprocess.run([SUBJECT, trace, "1000", "1", "10"], check=True)
    for command in COMMANDS:
        taken = processes.measure(words(command, trace, f"{folder}/out"))
        if taken.status != 0:
            raise SystemExit(f"hostile_bench.py: {command}: exit status {taken.status} for an intact trace")


def main():
    parser = argparse.ArgumentParser(description="Measures every command on damaged traces.")
    parser.add_argument("--quick", action="store_true", help="10 traces instead of 200")
    parser.add_argument("--traces", type=int, help="how many (200, quick: 10)")
    parser.add_argument("--seed", type=int, default=1, help="of the damage (1)")
    parser.add_argument("--path", default=BUILD, help=f"directory for the files ({BUILD})")
    options = parser.parse_args()
    count = options.traces or (10 if options.quick else 200)
    folder, worst, total = tempfile.mkdtemp(prefix="hostile_bench.", dir=options.path), {name: Worst() for name in COMMANDS}, 0
    try:
        try_intact(folder)
        for number in range(count):
            mutant = mutation_test.Mutant(make_trace(folder, number), random.Random(options.seed * 100_000 + number))
            mutant.change()
            trace = f"{folder}/trace.tbed"
            with open(trace, "wb") as file:
                file.write(mutant.data)
            total += len(mutant.data)
            for command in COMMANDS:
                worst[command].add(processes.measure(words(command, trace, f"{folder}/out")), len(mutant.data))
    finally:
        shutil.rmtree(folder)
    print(f"{count} traces, {total / 1e6:.1f} MB; load average {os.getloadavg()[0]:.1f}\n")
    print("| Command | CPU, s per MB | CPU, s | Memory, MiB | Goal |\n|---|---|---|---|---|")
    for command, most in worst.items():
        print(f"| `{command}` | {most.per_mb:.3f} | {most.seconds:.3f} | {most.memory:.1f} | {most.goal()} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
