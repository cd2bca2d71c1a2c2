"""
Compiles and runs the program that docs/vm.md is made of, and checks what its trace shows.

Check: vm-guide
Needs: $b/programs $b/libtracebed.a $b/tracebed

SPDX-License-Identifier: MIT
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path.cwd()
BUILD = ROOT / os.environ.get("TBED_BUILD", "build/release")
SPANS = {"outer program.src:10": 1, "Class#inner program.src:20": 2, "prompt stdin:1": 1, "prompt stdin:2": 1}
CLASSES = "String,250,2"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    problems = []
    guide = (ROOT / "docs/vm.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="tracebed-") as folder:
        source, program, trace = (f"{folder}/{name}" for name in ("vm.c", "vm", "vm.tbed"))
        pathlib.Path(source).write_text("\n".join(re.findall(r"^```c\n(.*?)^```", guide, re.M | re.S)), encoding="utf-8")
        run("cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", source, "-o", program, f"-I{ROOT}/writer/include",
            f"-I{ROOT}/format/include", BUILD / "libtracebed.a", "-pthread")
        run(program, trace)
        run(BUILD / "tracebed", "verify", trace)
        report = json.loads(run(BUILD / "tracebed", "report", "--json", trace))
        classes = run(BUILD / "tracebed", "report", "--allocations", "--by=class", "--csv", "--columns=name,bytes,count", trace)
        dump = run(BUILD / "tracebed", "dump", trace)
    spans = {span["name"]: span["count"] for span in report["spans"]}
    if spans != SPANS:
        problems.append(f"spans: {report['spans']}")
    if CLASSES not in classes:
        problems.append(classes)
    if "inner program.src:21 (String)" not in dump:
        problems.append(dump)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
