"""
Checks that the small virtual machine leaves the trace that README.md shows, and each event where its source says.

Check: toy-vm
Needs: $b/writer/examples/toy_vm $b/tracebed

SPDX-License-Identifier: MIT
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path.cwd()
BUILD = ROOT / os.environ.get("TBED_BUILD", "build/release")

# Tick, type, function, line.
LEAF = [(0, "begin", "leaf", 2), (2, "alloc", "leaf", 2), (5, "free", "leaf", 3), (6, "end", "leaf", 2)]
DUMP = [(0, "begin", "<top>", 14), (2, "begin", "loop", 7)]
for _start in (6, 23, 40):
    DUMP += [(_start + tick, *rest) for tick, *rest in LEAF] + [(_start + 8, "alloc", "loop", 9)]
DUMP += [(56, "end", "loop", 7)] + [(58 + tick, *rest) for tick, *rest in LEAF] + [(65, "end", "<top>", 14)]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def without_pid(report):
    return re.sub(r"toy \(\d+\)", "toy", report)


def main():
    problems = []
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"^\$ tracebed report toy\.tbed\n(.*?)^```", readme, re.M | re.S)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run(BUILD / "writer/examples/toy_vm", "toy.tbed")
        verified = run(BUILD / "tracebed", "verify", "toy.tbed")
        report = run(BUILD / "tracebed", "report", "toy.tbed")
        dump = run(BUILD / "tracebed", "dump", "toy.tbed")
        os.chdir(ROOT)
    found = re.findall(r"^ *(\d+) instructions  main  (\w+) .* (\S+) toy\.src:(\d+)$", dump, re.M)
    if [(int(tick), type, name, int(line)) for tick, type, name, line in found] != DUMP:
        problems.append(dump)
    if "intact: 23 events" not in verified:
        problems.append(verified)
    if shown is None or without_pid(shown.group(1)) != without_pid(report):
        problems.append("README.md does not show this report:\n" + report)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
