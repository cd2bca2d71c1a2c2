"""
Checks that every .c and .h file is formatted by clang-format.

The result depends on clang-format's version: version 14 decides; with any other this check is skipped.

Check: style

SPDX-License-Identifier: MIT
"""

import re
import shutil
import subprocess
import sys

import tree

VERSION = "14"


def main():
    tool = shutil.which(f"clang-format-{VERSION}") or shutil.which("clang-format")
    if tool is None:
        print("clang-format is missing")
        return 1
    version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    match = re.search(r"version (\d+)", version)
    if match is None or match.group(1) != VERSION:
        print(f"skipped: wants clang-format {VERSION}, found: {version.strip()}")
        return 0
    command = [tool, "--dry-run", "-Werror", *tree.files(".c", ".h")]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode != 0:
        wrong = sorted(set(re.findall(r"^([^:\n]+):\d+:\d+: error: ", run.stdout, re.M)))
        for path in wrong:
            print(f"{path}: not formatted; clang-format -i {path}")
        if not wrong:
            print(run.stdout, end="")
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
