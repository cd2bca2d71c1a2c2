#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Units of recorded traces come back, and events take less than three bytes, of 18. The program that this
runs also measures: build/release/reader/tests/pack/pack_units_program FILE prints sizes and speeds.

    python3 reader/tests/pack/pack_units_sizes_test.py

Check: pack-units
Needs: $b/programs $b/reader/tests/pack/pack_units_program
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

PRINT = cases.BUILD / "reader/tests/pack/pack_units_program"
PYTHON = "import json; json.dumps([[str(i), {'a': i}] for i in range(20000)])"


def bytes_an_event(path):
    """Of its event pages, packed; the program fails if a unit does not come back."""
    text = subprocess.run([PRINT, path, "1"], check=True, capture_output=True, text=True).stdout
    return float(re.search(r"([0-9.]+) bytes an event", text).group(1))


def test_units_of_recorded_allocations_come_back_and_are_small(folder):
    path = folder / "recorded.tbed"
    subprocess.run([cases.TRACEBED, "record", "-o", path, "--", sys.executable, "-c", PYTHON], check=True,
                   env={**os.environ, "PYTHONMALLOC": "malloc"}, stderr=subprocess.DEVNULL)
    size = bytes_an_event(path)
    if size >= 3:
        raise cases.Failure(f"{size} bytes an event")


def test_units_of_golden_files_come_back(_folder):
    for path in sorted((cases.ROOT / "spec/golden/valid").glob("*.tbed")):
        subprocess.run([PRINT, path, "1"], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
