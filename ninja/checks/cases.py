"""
Parts shared by checks that build and run programs: where things are, commands that must succeed, and named cases.

A script's cases are its functions test_NAME(folder); each runs in an empty folder of its own, which is kept if it
fails. Names on the command line select cases; so does TBED_TEST_CASES, a pattern with '*' and '?', which './run test
NAME CASE' sets. A check whose cases can be selected imports this module.

SPDX-License-Identifier: MIT
"""

import fnmatch
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("TBED_BUILD", "build/release")
TRACEBED = BUILD / "tracebed"
PATTERN = os.environ.get("TBED_TEST_CASES")
os.environ["TRACEBED_OPTIONS"] = "--no-defaults"  # those of whoever runs the tests


class Failure(Exception):
    """A case failed; the text says why."""


def need(holds, text):
    if not holds:
        raise Failure(text)


def includes(*parts):
    """Compiler options for the public headers of these parts of the tree."""
    return [f"-I{ROOT / part}/include" for part in parts]


def output_of(folder, *command, **environment):
    """What a command prints, on either stream; it must succeed."""
    words = [str(word) for word in command]
    run = subprocess.run(words, cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if run.returncode != 0:
        raise Failure(f"{' '.join(words)}: exit status {run.returncode}\n{run.stdout}")
    return run.stdout


def select(names):
    """Those that the command line and the pattern name."""
    unknown = set(sys.argv[1:]) - set(names)
    if unknown:
        sys.exit(f"{sys.argv[0]}: no such case: {', '.join(sorted(unknown))}")
    chosen = [name for name in names if name in (sys.argv[1:] or names)]
    return [name for name in chosen if PATTERN is None or fnmatch.fnmatchcase(name, PATTERN)]


def run_all(namespace, prefix="tracebed-"):
    """Runs the cases among the script's globals; gives its exit status."""
    tests = {name: test for name, test in namespace.items() if name.startswith("test_") and callable(test)}
    chosen, failed = select(list(tests)), 0
    for name in chosen:
        folder = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
        try:
            note = tests[name](folder)
            print(f"{name}: passed{', ' + note if note else ''}")
            shutil.rmtree(folder, ignore_errors=True)
        except (Failure, subprocess.SubprocessError) as problem:
            print(f"{name}: FAILED: {problem}\n{folder} is kept")
            failed += 1
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


def run_unittests():
    unittest.main(argv=[*sys.argv, *(["-k", PATTERN] if PATTERN else [])])
