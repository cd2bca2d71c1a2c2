"""
Prints what a TBED_SPAN compiles to: the site, and the straight path of the two functions that it calls, without the parts
that compilers move behind it. Fails unless the site is at most 200 bytes and calls nothing else, and each function has one
read of the clock, no call, no lock prefix and no system call.

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
void other(void);
void traced(void)
{
    TBED_SPAN("work");
    work();
}
void other(void)
{
    TBED_SPAN("other");
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


def lines_of(text, function):
    """Returns the lines of a function, which may be a copy for a constant argument, without directives."""
    begin = re.search(rf"^{function}(\.\w+)*:", text, re.M).start()
    end = re.search(r"^\s*\.size", text[begin:], re.M).start() + begin
    lines = text[begin:end].splitlines()
    return [line for line in lines if not re.match(r"\s*(\.(cfi|loc|p2align|type|size|section|text)|#)", line)]


def straight_way(lines):
    """Returns the lines up to the first return."""
    end = next(number for number, line in enumerate(lines) if re.match(r"\s*ret", line))
    return lines[: end + 1]


def code_of(lines):
    return [line.strip() for line in lines if not line.rstrip().endswith(":")]


def problems_of(way):
    code = code_of(way)
    found = [f"not wanted: {line}" for line in code if re.match(r"call|syscall|int\b|lock|xchg.*\(|mfence", line)]
    clocks = sum("rdtsc" in line for line in code)
    return found + ([f"{clocks} reads of the clock"] if clocks != 1 else [])


def site_problems_of(compiler, site):
    calls = [line.split()[1] for line in code_of(site) if re.match(r"call|jmp\s+[a-z]", line)]
    wrong = [call for call in calls if not re.match(r"(work|tbed_begin_default|tbed_end_of)\b", call)]
    nbytes = size_of_site(compiler)
    return [f"the site calls {call}" for call in wrong] + ([f"{nbytes} bytes of code"] if nbytes > 200 else [])


def size_of_site(compiler):
    """Returns how many bytes 'traced' takes."""
    with tempfile.NamedTemporaryFile("w", suffix=".c") as source, tempfile.NamedTemporaryFile(suffix=".o") as made:
        source.write(SOURCE)
        source.flush()
        subprocess.run([compiler, *FLAGS, "-c", "-o", made.name, source.name], check=True)
        symbols = subprocess.run(["nm", "-S", made.name], check=True, stdout=subprocess.PIPE, text=True).stdout
        return int(re.search(r"(\w+) T traced", symbols).group(1), 16)


def show(compiler):
    """Returns the text to print, and the problems that were found."""
    text = assembly(compiler)
    site = lines_of(text, "traced")
    ways = [straight_way(lines_of(text, name)) for name in ("tbed_begin_default", "tbed_end_of")]
    problems = site_problems_of(compiler, site) + [problem for way in ways for problem in problems_of(way)]
    return "\n".join(line.expandtabs(8) for lines in [site, *ways] for line in lines), problems


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
