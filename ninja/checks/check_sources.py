"""
Checks that nothing is silently left out of the build: every .c file is compiled by it, and every test, corpus and
benchmark is run by it.

SPDX-License-Identifier: MIT
"""

import os
import subprocess
import sys

import tree


def commands():
    """The words of every command that 'everything' takes."""
    run = subprocess.run(["ninja", "-t", "commands", "everything"], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stdout + run.stderr)
    return set(run.stdout.split())


def expected_runs(path):
    """The results that the build has to have for a source file."""
    stem = path.removesuffix(".c")
    if path.endswith("_test.c"):
        variants = ["release", "asan"] + (["tsan"] if path.endswith("_threads_test.c") else [])
        return [f"build/{variant}/{stem}.result" for variant in variants]
    if path.endswith("_fuzzer.c"):
        return [f"build/asan/{stem}.result", f"build/fuzz/{stem}"]
    return []


def main():
    words = commands()
    problems = []
    for path in tree.files(".c"):
        if path not in words:
            problems.append(f"{path}: in no target; see the tables of ninja/generate.py")
        for result in expected_runs(path):
            if result not in words:
                problems.append(f"{path}: nothing makes {result}; see ninja/generate.py")
        if path.endswith("_test.c") and "/tests/" not in path:
            problems.append(f"{path}: tests live in a folder 'tests' beside what they test")
        if path.endswith("_bench.c") and "build/release/" + path.removesuffix(".c") not in words:
            problems.append(f"{path}: is not run by 'ninja run-bench'")
    return tree.report(problems)


if __name__ == "__main__":
    sys.exit(main())
