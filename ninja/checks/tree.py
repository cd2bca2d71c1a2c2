"""
The source files of the tree, for the checks.

SPDX-License-Identifier: MIT
"""

import os

SKIPPED = {"build", ".git", "__pycache__"}


def files(*endings):
    """Paths relative to the root, sorted."""
    found = []
    for folder, folders, names in os.walk("."):
        folders[:] = [name for name in folders if name not in SKIPPED]
        found += [os.path.normpath(os.path.join(folder, name)) for name in names if name.endswith(endings)]
    return sorted(found)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def report(problems, hint=None):
    """Prints the problems and returns the exit status."""
    for problem in problems:
        print(problem)
    if problems and hint:
        print(hint)
    return 1 if problems else 0
