"""
Checks README.md as a new user would: runs every command of its blocks word by word and in order, in an empty folder,
with tracebed installed; and compiles and runs its programs with several compilers.

A block of code is saved under the name in its first line. What the user is expected to have, GIVEN below, comes from
the tree. /usr/local is replaced by the folder that this check installs into. Lines of sample output without a digit,
such as the heads of tables, must appear in the real output.

Check: readme
Needs: release
Slow: runs some 40 commands and compiles each program with five compilers

SPDX-License-Identifier: MIT
"""

import os
import re
import shutil
import subprocess
import sys

import cases
from cases import ROOT, Failure

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMPILERS = [("gcc", "c11"), ("gcc", "c17"), ("clang", "c17"), ("g++", "c++17"), ("clang++", "c++17")]
PROFILES = "spec/golden/measureme/"
IMPORTS = "reader/tests/exchange/imports"
GIVEN = {
    "quick_xml.mm_profdata": PROFILES + "v9.mm_profdata",
    "before.mm_profdata": PROFILES + "v8.mm_profdata",
    "after.mm_profdata": PROFILES + "v9.mm_profdata",
    "run1.mm_profdata": PROFILES + "v9.mm_profdata",
    "run2.mm_profdata": PROFILES + "v9.mm_profdata",
    "soffice_4711.log": "reader/tests/logs/canonical.log",
    "chrome.json": IMPORTS + "_events/phases.json",
    "app.pftrace": IMPORTS + "_events/tracks.pftrace",
    "uftrace.data": IMPORTS + "/whole.uftrace",
}


def blocks():
    """(language, lines) of each fenced block."""
    return [(language, text.splitlines()) for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", README, re.M | re.S)]


def name_of(lines):
    match = re.fullmatch(r"(?:/\*|//|#) (\S+\.\w+)(?: \*/)?", lines[0])
    return match.group(1) if match else None


def install(folder):
    """Gives the environment of a user who has run './run install'."""
    prefix, home = folder / "prefix", folder / "home"
    cases.output_of(ROOT, "sh", "ninja/install.sh", prefix=str(prefix))
    home.mkdir()
    (home / "tracebed").symlink_to(ROOT)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TRACEBED", "RTL_"))}
    include, library = str(prefix / "include"), str(prefix / "lib")
    environment.update(HOME=str(home), PATH=f"{prefix}/bin:{os.environ['PATH']}", C_INCLUDE_PATH=include,
                       CPLUS_INCLUDE_PATH=include, LIBRARY_PATH=library, LD_LIBRARY_PATH=library)
    return environment


def reason_to_skip(command, environment):
    if command.startswith("./run "):
        return "it builds the tree that this check is part of"
    if command.startswith("tracebed tui "):
        return "it needs a terminal, in which its own test runs it"
    has_ruby = shutil.which("ruby") and os.path.isdir(f"{environment['HOME']}/../prefix/lib/tracebed/ruby")
    if "ruby" in command and not has_ruby:
        return "Ruby or its headers are not installed"
    return None


def run(command, folder, environment):
    line = command.replace("/usr/local", f"{environment['HOME']}/../prefix")
    result = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if result.returncode != 0:
        raise Failure(f"$ {command}\n{result.stdout}exit status {result.returncode}")
    return result.stdout


def words(line):
    return " ".join(line.split())


def compare(command, shown, output):
    """The sample output that README.md shows has the heads and words of the real one."""
    real = {words(line) for line in output.splitlines()}
    for line in shown:
        if re.search("[a-z]", line) and not re.search(r"\d", line) and words(line) not in real:
            raise Failure(f"$ {command}\nREADME.md shows the line '{line.strip()}', which is not in the output:\n{output}")


def run_session(lines, folder, environment):
    """Runs the commands of a block; gives how many it ran."""
    count = 0
    starts = [number for number, line in enumerate(lines) if line.startswith(("$ ", "./"))]
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        command = lines[start].removeprefix("$ ")
        reason = reason_to_skip(command, environment)
        if reason is not None:
            print(f"skipped, as {reason}: {command}")
            continue
        compare(command, lines[start + 1 : end], run(command, folder, environment))
        count += 1
    return count


def test_commands(folder):
    environment, work, count = install(folder), folder / "work", 0
    work.mkdir()
    for name, source in GIVEN.items():
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
        copy(ROOT / source, work / name)
    for language, lines in blocks():
        if language == "":
            count += run_session(lines, work, environment)
        elif name_of(lines) is None:
            raise Failure(f"a block of {language} does not start with a comment with its file's name: {lines[0]}")
        else:
            (work / name_of(lines)).write_text("\n".join(lines) + "\n", encoding="utf-8")
    traces = sorted(path.name for path in work.iterdir() if re.search(r"\.tbed(\.\d+)?$", path.name))
    for trace in traces:
        run(f"tracebed verify {trace}", work, environment)
    if (work / "again.log").read_bytes() != (work / "soffice_4711.log").read_bytes():
        raise Failure("again.log differs from soffice_4711.log")
    return f"{count} commands, {len(traces)} traces"


def test_programs(folder):
    environment, work = install(folder), folder / "work"
    work.mkdir()
    programs = {name_of(lines): lines for language, lines in blocks() if language == "c"}
    for name, lines in programs.items():
        (work / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        for compiler, standard in COMPILERS:
            language = "c++" if standard.startswith("c++") else "c"
            run(f"{compiler} -std={standard} -Wall -Wextra -Werror -x {language} {name} -x none -ltracebed -o prog",
                work, environment)
            run("rm -f *.tbed && ./prog", work, environment)
            for trace in work.glob("*.tbed"):
                run(f"tracebed verify {trace}", work, environment)
    return f"{len(programs)} programs"


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
