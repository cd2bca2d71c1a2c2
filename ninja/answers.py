"""
What another build of the program answers about each golden file, beside this machine's own, build/release/tracebed: both
must print the same bytes and end with the same status. For platforms.py and musl/musl.py.

SPDX-License-Identifier: MIT
"""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
NATIVE = ["build/release/tracebed"]
QUESTIONS = ["verify", "info --json", "dump --json", "report --json", "tree --json", "strings",
             "export --to=chrome -o -", "export --to=perfetto -o -"]


def golden_files():
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "spec/golden").rglob("*")
                  if path.suffix in (".tbed", ".mm_profdata"))


def answer(program, question, path):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TRACEBED_OPTIONS": "--no-defaults"}
    run = subprocess.run([*program, *question.split(), path], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                         capture_output=True)
    return run.returncode, run.stdout, run.stderr


def differing(program, path):
    """The questions about the file that 'program', words of a command, answers otherwise."""
    return [question for question in QUESTIONS if answer(program, question, path) != answer(NATIVE, question, path)]
