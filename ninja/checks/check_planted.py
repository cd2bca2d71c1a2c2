#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the bugs of ninja/mutate/planted.txt can be planted: their lines are in the sources, each once.

'./run mutate --planted' tries them.

Check: planted
"""
import glob
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mutate"))
import mutate  # noqa: E402


def main():
    sources = [path for part in ("format", "reader", "writer") for path in glob.glob(part + "/**/*.c", recursive=True)]
    bugs = mutate.planted_bugs(mutate.read_texts(sources))
    print("%d bugs" % len(bugs))
    return 0 if bugs else 1


if __name__ == "__main__":
    sys.exit(main())
