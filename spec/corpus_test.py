#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corpus_test.py TRACEBED FOLDER...: checks that for every file the library and the independent decoder list the same
events or both refuse it, and that both find it damaged or both find it intact.

Check: corpora-decoder build/release/tracebed fuzz/reader/corpus fuzz/unchecked/corpus fuzz/snapshot/corpus
Needs: $b/tracebed
"""
import json
import os
import subprocess
import sys

# Files of which a reader that believes the directory may list fewer events than the decoder, which reads every header.
MAY_LOSE = {"intact_block_with_a_wrong_entry"}  # section 12, DIRECTORY_ENTRY: the entry contradicts the block

DECODER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "decoder.py")


def listing(*command):
    """Returns (exit code, parsed lines)."""
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return run.returncode, [json.loads(line) for line in run.stdout.splitlines()]


def compare(tracebed, path):
    """Returns a description of the first difference, or None."""
    code, lines = listing(sys.executable, DECODER, path)
    refused = code == 2
    found_code, found = listing(tracebed, "dump", "--json", "--order=stream", path)
    if refused or found_code == 2:
        return None if refused and found_code == 2 else "decoder exits %d, tracebed %d" % (code, found_code)
    if os.path.basename(path) in MAY_LOSE:
        lines = [line for line in lines if line in found]
    for at, (one, other) in enumerate(zip(lines, found)):
        if one != other:
            return "line %d: decoder %s, tracebed %s" % (at + 1, one, other)
    if len(lines) != len(found):
        return "decoder has %d lines, tracebed %d" % (len(lines), len(found))
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
