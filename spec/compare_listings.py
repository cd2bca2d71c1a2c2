#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the program's listing of traces with the independent decoder's; section 14 of format.md defines both.

    compare_listings.py TRACEBED FILE...

Lines are compared in order, as parsed JSON. A file that one of them refuses must be refused by both.
"""
import json
import math
import subprocess
import sys
from itertools import zip_longest

import decoder

LINES_SHOWN = 3


def listed_by_decoder(path):
    """Returns the lines as objects, or None if the file is refused."""
    try:
        data = decoder.load(path)
        trace = decoder.open_trace(data, lambda *where, **more: None)
    except (decoder.Damage, OSError):
        return None
    return list(decoder.list_trace(trace))


def listed_by_program(program, path):
    run = subprocess.run([program, "dump", "--json", "--order=stream", "--no-symbols", path], capture_output=True)
    if run.returncode < 0 or b"Sanitizer" in run.stderr:
        sys.stderr.write(run.stderr.decode(errors="replace"))
        raise AssertionError("the program crashed")
    if run.returncode == 2:
        return None
    return [json.loads(line) for line in run.stdout.decode().splitlines()]


def same(one, other):
    """Are they equal, with equal types? 1, 1.0 and true are different, and so are 0.0 and -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return one == other


def differences(program, path):
    expected, found = listed_by_decoder(path), listed_by_program(program, path)
    if expected is None or found is None:
        if expected is not found:
            yield "refused by " + ("the decoder" if expected is None else "the program") + " only"
        return
    for number, (line, other) in enumerate(zip_longest(expected, found), 1):
        if not same(line, other):
            yield "line %d:\n  decoder %s\n  program %s" % (number, json.dumps(line), json.dumps(other))


def main():
    program, *paths = sys.argv[1:]
    failed = 0
    for path in paths:
        wrong = list(differences(program, path))
        failed += bool(wrong)
        for text in wrong[:LINES_SHOWN]:
            print("%s: %s" % (path, text))
    print("%d passed, %d failed" % (len(paths) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
