"""
Checks that no function has more than 70 lines and no file more than 800.

An exception is a line of ninja/checks/sizes.allow, with its reason: PATH:FUNCTION REASON, or PATH REASON.
Functions are found by their braces, which clang-format puts in the first column.

Check: sizes

SPDX-License-Identifier: MIT
"""

import re
import sys

import tree

FUNCTION_MAX = 70
FILE_MAX = 800
ALLOWED = "ninja/checks/sizes.allow"


def functions(lines):
    """Gives (name, first line from 1, number of lines)."""
    start, name, first = None, None, 0
    for index, line in enumerate(lines):
        if line == "{" and index > 0 and lines[index - 1].rstrip().endswith(")"):
            first = index - 1
            while first > 0 and lines[first - 1].strip() and lines[first][:1] in (" ", "\t"):
                first -= 1
            match = re.search(r"(\w+)\s*\(", lines[first])
            start, name = index, match.group(1) if match else "?"
        elif line.startswith("}") and start is not None:
            yield name, first + 1, index - first + 1
            start = None


def allowed():
    found = {}
    for line in tree.read(ALLOWED).splitlines():
        if line.strip() and not line.startswith("#"):
            key, _, reason = line.partition(" ")
            found[key] = reason.strip()
    return found


def main():
    exceptions, used, problems = allowed(), set(), []

    def complain(key, text):
        if key in exceptions:
            used.add(key)
        else:
            problems.append(text)

    for path in tree.files(".c", ".h"):
        lines = tree.read(path).splitlines()
        if len(lines) > FILE_MAX:
            complain(path, f"{path}: {len(lines)} lines, more than {FILE_MAX}")
        for name, first, count in functions(lines):
            if count > FUNCTION_MAX:
                complain(f"{path}:{name}", f"{path}:{first}: {name}() has {count} lines, more than {FUNCTION_MAX}")
    for key, reason in exceptions.items():
        if not reason:
            problems.append(f"{ALLOWED}: {key} has no reason")
        if key not in used:
            problems.append(f"{ALLOWED}: {key} is within the limits or does not exist; remove the line")
    return tree.report(problems)


if __name__ == "__main__":
    sys.exit(main())
