"""
Prints how many lines of each source file the tests ran: 'ninja check-cov', then 'python3 ninja/checks/coverage.py'.

SPDX-License-Identifier: MIT
"""

import json
import os
import subprocess
import sys

import tree

BUILD = "build/cov"


def lines_of(path):
    """Which lines of a source file ran, by gcov: line -> ran, in any of the functions it was compiled into."""
    data = os.path.join(BUILD, path.removesuffix(".c") + ".gcda")
    if not os.path.exists(data):
        return {}
    run = subprocess.run(["gcov", "--json-format", "--stdout", data], capture_output=True, text=True)
    ran = {}
    for part in map(json.loads, run.stdout.splitlines()):
        for file in part["files"]:
            if os.path.normpath(file["file"]) == path:
                for line in file["lines"]:
                    number = line["line_number"]
                    ran[number] = ran.get(number, False) or line["count"] > 0
    return ran


def main():
    total = total_ran = 0
    for path in tree.files(".c"):
        if "/tests/" in path or not path.startswith(("format/", "writer/", "reader/")):
            continue
        ran = lines_of(path)
        if not ran:
            print(f"{path:44} not run")
            continue
        total += len(ran)
        total_ran += sum(ran.values())
        print(f"{path:44} {100 * sum(ran.values()) / len(ran):6.1f} % of {len(ran)} lines")
    if total == 0:
        print("nothing was measured; run 'ninja check-cov' first")
        return 1
    print(f"{'all':44} {100 * total_ran / total:6.1f} % of {total} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
