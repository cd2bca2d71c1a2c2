#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads all golden files with the independent decoder, and compares the results with golden/expected.txt and the times
of events with golden/times.txt.

Check: golden-decoder
"""
import os
import sys

import decoder

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")


def expected_files():
    """[(file, [check], (strings, bindings, events))]"""
    with open(os.path.join(GOLDEN, "expected.txt"), encoding="ascii") as lines:
        for line in lines:
            if not line.startswith("#"):
                name, damages, strings, bindings, events, *_ = line.split()
                checks = [item.split("@")[0] for item in damages.split(",") if item != "-"]
                yield name, checks, (int(strings), int(bindings), int(events))


def read(name):
    """Returns what the decoder finds: the failed checks, and the numbers of strings, bindings and events."""
    checks = []

    def tell(check, page=None, cell=None, damage=True):
        if damage:
            checks.append(str(check))

    try:
        data = decoder.load(os.path.join(GOLDEN, name + ".tbed"))
        trace = decoder.open_trace(data, tell)
    except decoder.Damage as refused:
        return [str(refused)], (0, 0, 0)
    lines = list(decoder.list_trace(trace))
    bindings = sum("bind" in line for line in lines)
    events = sum("tick" in line for line in lines)
    gaps = sum("missing" in line for line in lines)
    return checks, (len(lines) - bindings - events - gaps, bindings, events)


def expected_times():
    """{file: [(stream, tick, ns, ns of CLOCK_REALTIME)]}"""
    times = {}
    with open(os.path.join(GOLDEN, "times.txt"), encoding="ascii") as lines:
        for line in lines:
            if not line.startswith("#"):
                name, *numbers = line.split()
                times.setdefault(name, []).append(tuple(map(int, numbers)))
    return times


def read_times(name):
    data = decoder.load(os.path.join(GOLDEN, name + ".tbed"))
    return list(decoder.list_times(decoder.open_trace(data, lambda *_, **__: None)))


def main():
    failed = 0
    for name, times in expected_times().items():
        if read_times(name) != times:
            failed += 1
            print("%s: times: %s" % (name, sorted(set(times) ^ set(read_times(name)))[:4]))
    files = list(expected_files())
    for name, checks, counts in files:
        found_checks, found_counts = read(name)
        if sorted(found_checks) != sorted(checks) or found_counts != counts:
            failed += 1
            print("%s: expected %s %s, found %s %s" % (name, checks, counts, found_checks, found_counts))
    print("%d passed, %d failed" % (len(files) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
