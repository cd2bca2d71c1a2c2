#!/usr/bin/env python3
"""
Compares sets of runs of a program with 'tracebed diff --with': sets in which one function does 5 % more work, and
equal sets. The first must have a mark on this function and on no other, the second none. bench/README.md describes the
method.

SPDX-License-Identifier: MIT
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ.get("TBED_BUILD", "build/release")
TRACEBED = os.path.realpath(f"{BUILD}/tracebed")
SUBJECT = os.path.realpath(f"{BUILD}/bench/noise/noise_subject")
SLOWER = "search"


def record(folder, options, percent, count):
    """Records 'count' runs of each side in turn, and returns the paths of both. AFTER is slower by 'percent'."""
    sides = ([], [])
    for run in range(count):
        for side in (0, 1) if run % 2 == 0 else (1, 0):
            path = os.path.join(folder, f"{'ba'[side]}{run}.tbed")
            slower = percent if side == 1 else 0
            subprocess.run([SUBJECT, path, str(options.documents), str(slower), options.clock], check=True,
                           stdout=subprocess.DEVNULL)  # fmt: skip
            sides[side].append(path)
    return sides


def compare(sides, extra):
    before, after = sides
    command = [TRACEBED, "diff", "--json", *extra, *before, "--with", *after]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    for path in before + after:
        os.unlink(path)
    return found


def show(what, round_number, found):
    rows = {row["name"]: row for row in found["rows"]}
    row, common = rows[SLOWER], found["common"]
    figure = next(key for key in row if key.endswith("_percent_change")).removesuffix("_percent_change")
    marked = [row["name"] for row in found["rows"] if row["marked"]]
    low, high = row[f"{figure}_percent_interval"]
    change = f"{row[f'{figure}_percent_change']:+.1f} % ({low:+.1f} to {high:+.1f})"
    names = ", ".join(marked) or "none"
    print(f"| {what} {round_number} | {names} | {change} | {row['p_corrected']:.1e} "
          f"| {common['percent_change']:+.1f} % |", flush=True)  # fmt: skip
    return marked


def main():
    parser = argparse.ArgumentParser(description="Compares sets of runs, with and without a slower function.")
    parser.add_argument("--quick", action="store_true", help="two rounds")
    parser.add_argument("--rounds", type=int, help="rounds (10, quick: 2)")
    parser.add_argument("--runs", type=int, default=10, help="runs of each side (10)")
    parser.add_argument("--percent", type=int, default=5, help="how much slower the function is (5)")
    parser.add_argument("--documents", type=int, default=100, help="the work of each run (100: a third of a second)")
    parser.add_argument("--clock", choices=["cpu", "wall"], default="cpu", help="what the spans measure (cpu)")
    parser.add_argument("--path", help="directory for temporary traces")
    options, extra = parser.parse_known_args()  # the rest is for diff
    rounds = options.rounds or (2 if options.quick else 10)
    folder = tempfile.mkdtemp(prefix="noise_bench.", dir=options.path)
    right = {"slower": 0, "equal": 0}
    try:
        print(f"{options.runs} runs of each side, {options.clock} clock, load average {os.getloadavg()[0]:.1f}\n")
        print(f"| Sets | Marked | {SLOWER} | p | All labels |\n|---|---|---|---|---|")
        for turn in range(1, rounds + 1):
            for what, percent in (("slower", options.percent), ("equal", 0)):
                sides = record(folder, options, percent, options.runs)
                marked = show(what, turn, compare(sides, extra))
                right[what] += marked == ([SLOWER] if percent > 0 else [])
    finally:
        shutil.rmtree(folder)
    print(f"\nOnly '{SLOWER}' marked in {right['slower']} of {rounds} pairs of sets in which it is slower by "
          f"{options.percent} %; nothing marked in {right['equal']} of {rounds} equal pairs; "
          f"load average {os.getloadavg()[0]:.1f}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
