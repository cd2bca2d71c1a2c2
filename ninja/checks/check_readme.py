"""
Checks README.md as a new user would: runs every command of its blocks word by word and in order, in an empty folder,
with tracebed installed; and compiles and runs its programs with several compilers.

pages.py says how a page is run.

Check: readme
Needs: release
Slow: runs some 40 commands and compiles each program with five compilers

SPDX-License-Identifier: MIT
"""

import sys

import cases
import pages
from cases import ROOT, Failure

README = (ROOT / "README.md").read_text(encoding="utf-8")
# Its programs, and those of these pages, are C and C++ at once.
PROGRAMS = README + (ROOT / "docs/openoffice.md").read_text(encoding="utf-8")
COMPILERS = [("gcc", "c11"), ("gcc", "c17"), ("clang", "c17"), ("g++", "c++17"), ("clang++", "c++17")]


def test_commands(folder):
    environment, work = pages.install(folder), folder / "work"
    work.mkdir()
    count = pages.run_page("README.md", README, work, environment)
    traces = pages.verify_traces(work, environment)
    if (work / "again.log").read_bytes() != (work / "soffice_4711.log").read_bytes():
        raise Failure("again.log differs from soffice_4711.log")
    return f"{count} commands, {traces} traces"


def run(command, folder, environment):
    return cases.output_of(folder, "bash", "-c", command, **environment)


def test_programs(folder):
    environment, work = pages.install(folder), folder / "work"
    work.mkdir()
    programs = {pages.name_of(block.lines): block.lines for block in pages.blocks(PROGRAMS) if block.language == "c"}
    for name, lines in programs.items():
        (work / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        for compiler, standard in COMPILERS:
            language = "c++" if standard.startswith("c++") else "c"
            run(f"{compiler} -std={standard} -Wall -Wextra -Werror -x {language} {name} -x none -ltracebed -o prog",
                work, environment)
            run("rm -f *.tbed && ./prog", work, environment)
            pages.verify_traces(work, environment)
    return f"{len(programs)} programs"


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
