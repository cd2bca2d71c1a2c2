"""
Prints what a TBED_SPAN compiles to: the straight path from the start of a function to its return, without the parts
that compilers move behind it. Fails unless that path has two reads of the clock, no call except the function's own, no
lock prefix and no system call.

    python3 bench/span_assembly.py [COMPILER]     # gcc
    python3 bench/span_assembly.py --check        # gcc and clang, and that bench/README.md shows what gcc 12 makes

Check: span-assembly --check

SPDX-License-Identifier: MIT
"""

import pathlib
import platform
import re
import subprocess
import sys
import tempfile

SOURCE = """
#include <tracebed/writer.h>
void work(void);
void traced(void);
void traced(void)
{
    TBED_SPAN("work");
    work();
}
"""
FLAGS = ["-std=c17", "-O2", "-fno-asynchronous-unwind-tables", "-Iformat/include", "-Iwriter/include"]


def assembly(compiler):
    with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
        source.write(SOURCE)
        source.flush()
        command = [compiler, *FLAGS, "-S", "-o", "-", source.name]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def straight_way(text):
    """Returns the lines from 'traced:' to the first return, without directives."""
    lines = text[text.index("\ntraced:") + 1 :].splitlines()
    kept = [line for line in lines if not re.match(r"\s*(\.(cfi|loc|p2align|type|size)|#)", line)]
    end = next(number for number, line in enumerate(kept) if re.match(r"\s*ret", line))
    return kept[: end + 1]


def problems_of(way):
    code = [line.strip() for line in way if not line.rstrip().endswith(":")]
    calls = [line for line in code if re.match(r"call|syscall|int\b", line) and not re.search(r"\bwork\b", line)]
    locks = [line for line in code if re.match(r"lock|xchg.*\(|mfence", line)]
    found = [f"not wanted: {line}" for line in calls + locks]
    clocks = sum("rdtsc" in line for line in code)
    return found + ([f"{clocks} reads of the clock"] if clocks != 2 else [])


def show(compiler):
    """Returns the text to print, and the problems that were found."""
    way = straight_way(assembly(compiler))
    return "\n".join(line.expandtabs(8) for line in way), problems_of(way)


def check():
    problems = []
    for compiler in ("gcc", "clang"):
        text, found = show(compiler)
        problems += [f"{compiler}: {problem}" for problem in found]
        version = subprocess.run([compiler, "-dumpversion"], stdout=subprocess.PIPE, text=True).stdout
        page = pathlib.Path("bench/README.md").read_text(encoding="utf-8")
        if compiler == "gcc" and version.startswith("12") and text not in page:
            problems.append("bench/README.md and bench/span_assembly.py show different assembly")
    return problems


def main():
    if platform.machine() != "x86_64":
        print("only for x86-64")
        return 0
    if sys.argv[1:] == ["--check"]:
        problems = check()
    else:
        text, problems = show(sys.argv[1] if len(sys.argv) > 1 else "gcc")
        print(text)
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
