#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corpus_test.py TRACEBED FOLDER...: checks that for every file the library and the independent decoder list the same
events or both refuse it, and that both find it damaged or both find it intact. The library may list what a reader has that
finds blocks by their directory entries (section 12.3).

Check: corpora-decoder build/release/tracebed fuzz/reader/corpus fuzz/unchecked/corpus fuzz/snapshot/corpus
Needs: $b/tracebed
"""
import json
import os
import subprocess
import sys

DECODER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "decoder.py")


def listing(*command):
    """Returns (exit code, parsed lines)."""
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return run.returncode, [json.loads(line) for line in run.stdout.splitlines()]


def first_difference(lines, found):
    """Returns a description of the first line that differs, or None."""
    for at, (one, other) in enumerate(zip(lines, found)):
        if one != other:
            return "line %d: decoder %s, tracebed %s" % (at + 1, one, other)
    if len(lines) != len(found):
        return "decoder has %d lines, tracebed %d" % (len(lines), len(found))
    return None


def compare(tracebed, path):
    """Returns a description of the first difference, or None."""
    code, lines = listing(sys.executable, DECODER, path)
    refused = code == 2
    found_code, found = listing(tracebed, "dump", "--json", "--order=stream", path)
    if refused or found_code == 2:
        return None if refused and found_code == 2 else "decoder exits %d, tracebed %d" % (code, found_code)
    difference = first_difference(lines, found)
    if difference and first_difference(listing(sys.executable, DECODER, "--by-entries", path)[1], found):
        return difference
    verified, _ = listing(tracebed, "verify", "--json", path)
    return None if code == verified else "decoder exits %d, tracebed verify %d" % (code, verified)


def main():
    tracebed, folders = sys.argv[1], sys.argv[2:]
    paths = [os.path.join(folder, name) for folder in folders for name in sorted(os.listdir(folder))]
    failed = 0
    for path in paths:
        difference = compare(tracebed, path)
        if difference:
            failed += 1
            print("%s: %s" % (path, difference))
    print("%d agree, %d differ" % (len(paths) - failed, failed))
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
