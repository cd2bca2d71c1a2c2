"""
Checks that the build leaves nothing out: it compiles every .c file and runs every test, corpus, benchmark and check,
with every case of each.

Check: sources

SPDX-License-Identifier: MIT
"""

import re
import subprocess
import sys

import tree


def commands():
    """The words of every command that builds 'everything'."""
    run = subprocess.run(["ninja", "-t", "commands", "everything"], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stdout + run.stderr)
    return set(run.stdout.split())


def expected_runs(path):
    """The results that the build must make for a source file."""
    stem = path.removesuffix(".c")
    if path.endswith("_test.c"):
        variants = ["release", "asan"] + (["tsan"] if path.endswith("_threads_test.c") else [])
        return [f"build/{variant}/{stem}.result" for variant in variants]
    if path.endswith("_fuzzer.c"):
        return [f"build/asan/{stem}.result", f"build/fuzz/{stem}"]
    return []


# Built by the check 'consumers', which tries every folder there, and by ninja/musl/musl.py.
APART = ("writer/examples/consumers/", "ninja/musl/")


def check_source(path, words):
    if path not in words and not path.startswith(APART):
        yield f"{path}: in no target; see the tables of ninja/generate.py"
    for result in expected_runs(path):
        if result not in words:
            yield f"{path}: nothing makes {result}; see ninja/generate.py"
    if path.endswith("_test.c") and "/tests/" not in path:
        yield f"{path}: tests belong in a folder 'tests' beside what they test"
    if path.endswith("_bench.c") and "build/release/" + path.removesuffix(".c") not in words:
        yield f"{path}: is not run by 'ninja run-bench'"


def check_script(path, words):
    """A script with several 'Check:' lines has each of its cases in one of them."""
    text = tree.read(path)
    checks = [line.split() for line in re.findall(r"^(?:# )?Check: (.*)$", text, re.M)]
    for name, *_ in checks:
        if f"build/checks/{name}.result" not in words:
            yield f"{path}: nothing runs the check {name}; see ninja/generate.py"
    if not checks and (path.startswith("ninja/checks/check_") or path.endswith("_test.py")):
        yield f"{path}: has no line 'Check: NAME', so nothing runs it"
    named = {word for line in checks for word in line if word.startswith("test_")}
    for case in re.findall(r"^def (test_\w+)", text, re.M):
        if named and case not in named:
            yield f"{path}: {case} is in no 'Check:' line, so nothing runs it"


def main():
    words = commands()
    problems = []
    for path in tree.files(".c"):
        problems += check_source(path, words)
    for path in tree.files(".py", ".sh"):
        if path != "ninja/run_test.py":
            problems += check_script(path, words)
    return tree.report(problems)


if __name__ == "__main__":
    sys.exit(main())
