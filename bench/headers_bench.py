#!/usr/bin/env python3
"""
Measures what including each public header costs: the compiler's CPU time for a file that includes only the header,
minus its time for an empty file, compiled in turns. It covers C and C++, gcc and clang, and the header of the
amalgamated library. bench/README.md describes the method.

    python3 bench/headers_bench.py [--quick] [--rounds N]

SPDX-License-Identifier: MIT
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["format/include", "writer/include", "writer/capture/include", "reader/include", "reader/exchange/include"]
LANGUAGES = {
    "gcc": ["-std=c11", "-x", "c"],
    "clang": ["-std=c11", "-x", "c"],
    "g++": ["-std=c++17", "-x", "c++"],
    "clang++": ["-std=c++17", "-x", "c++"],
}
GOAL_MS = 30  # in C


def headers():
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder / "tracebed").iterdir()):
            if not path.name.endswith("_inline.h"):
                found.append(f"tracebed/{path.name}")
    return found


def cpu_ms(command, source):
    """Returns the CPU time of a command and its children."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    process.stdin.write(source.encode())
    process.stdin.close()
    errors = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{errors}")
    return 1000 * (usage.ru_utime + usage.ru_stime)


def cost(compiler, includes, folders, rounds):
    """Returns the median, minimum and maximum of the differences."""
    flags = [f"-I{folder}" for folder in folders]
    command = [compiler, *LANGUAGES[compiler], "-O2", *flags, "-c", "-", "-o", "/dev/null"]
    source = "".join(f"#include <{name}>\n" for name in includes)
    differences = []
    for number in range(rounds):
        pair = [("", -1), (source, 1)]
        differences.append(sum(sign * cpu_ms(command, text) for text, sign in (pair if number % 2 else pair[::-1])))
    return statistics.median(differences), min(differences), max(differences)


def rows(names, folders, rounds):
    for name, includes in names.items():
        figures = {}
        for compiler in LANGUAGES:
            is_cpp = compiler.endswith("++")
            if shutil.which(compiler) and (is_cpp or not any(include.endswith(".hpp") for include in includes)):
                figures[compiler] = cost(compiler, includes, folders, rounds)
        yield name, figures


def show(name, figures):
    cells = [f"{figures[compiler][0]:.0f} ({figures[compiler][1]:.0f} to {figures[compiler][2]:.0f})"
             if compiler in figures else "–" for compiler in LANGUAGES]
    in_c = [figures[compiler][0] for compiler in ("gcc", "clang") if compiler in figures]
    goal = "–" if not in_c else "**reached**" if max(in_c) <= GOAL_MS else "**missed**"
    print(f"| {name} | {' | '.join(cells)} | {goal} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description="the time to compile each public header")
    parser.add_argument("--quick", action="store_true", help="three pairs each")
    parser.add_argument("--rounds", type=int, default=15, help="pairs per header (15)")
    arguments = parser.parse_args()
    rounds = 3 if arguments.quick else arguments.rounds
    names = {f"`{name}`": [name] for name in headers()}
    names["all that C has"] = [name for name in headers() if name.endswith(".h")]
    print(f"CPU time in ms, median of {rounds} pairs; goal: at most {GOAL_MS} ms in C\n")
    print(f"| Header | {' | '.join(f'{compiler}, {LANGUAGES[compiler][0][5:].upper()}' for compiler in LANGUAGES)} "
          "| Goal |\n|---|---|---|---|---|---|")
    for name, figures in rows(names, [ROOT / folder for folder in FOLDERS], rounds):
        show(name, figures)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "ninja/amalgamate.py", folder], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        for name, figures in rows({"the amalgamated `tracebed.h`": ["tracebed.h"]}, [folder], rounds):
            show(name, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
