#!/usr/bin/env python3
"""
Compares what tracebed and heaptrack record of the same run, call by call: both libraries are preloaded, so both see the
same addresses. It prints the totals of the calls that both have and of all that heaptrack has, and the calls that only one
of them has, by the function that made them; heaptrack's own allocations, which tracebed records too, are among these.

Needs heaptrack 1.4 and the programs of allocations_bench.py; what is missing is skipped, with a note.

SPDX-License-Identifier: MIT
"""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

import allocations_bench as programs

PRELOAD = os.path.abspath(os.path.join(programs.BUILD, "libtracebed-preload.so"))
LIBRARIES = ("/usr/lib/heaptrack/libheaptrack_preload.so", "/usr/lib64/heaptrack/libheaptrack_preload.so")
HEAPTRACK = next((path for path in LIBRARIES if os.path.exists(path)), None)


class Heap:
    """Counts as heaptrack does: what is allocated and freed, in the order of the log."""

    def __init__(self):
        self.live = {}
        self.count = self.nbytes = self.temporary = self.in_use = self.peak = 0
        self.newest = None

    def take(self, kind, address, nbytes):
        is_temporary = kind == "-" and self.newest == address
        self.temporary += is_temporary
        self.in_use -= self.live.pop(address, 0)
        self.newest = address if kind == "+" else None
        if kind == "-":
            return
        self.live[address] = nbytes
        self.count, self.nbytes, self.in_use = self.count + 1, self.nbytes + nbytes, self.in_use + nbytes
        self.peak = max(self.peak, self.in_use)

    def __str__(self):
        return (
            f"{self.count:,} allocations, {self.nbytes:,} bytes, peak {self.peak:,} bytes, leaked {self.in_use:,} bytes "
            f"in {len(self.live):,} blocks, {self.temporary:,} temporary"
        )


def read_tracebed(path, name):
    """Yields (kind, address, size, caller) of each call."""
    command = [programs.TRACEBED, "dump", "--json", "-p", name, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            event = json.loads(line)
            kind, caller = event.get("type"), event.get("name")
            old = event.get("address") if kind == "free" else event.get("old_address", 0)
            if old and (kind == "free" or (kind == "realloc" and (event["address"] or event["size"] == 0))):
                yield "-", old, 0, caller
            if kind in ("alloc", "realloc") and event["address"]:
                yield "+", event["address"], event["size"], caller


def read_heaptrack(path):
    with open(path, errors="replace") as file:
        for line in file:
            words = line.split()
            if line.startswith("+ "):
                yield "+", int(words[3], 16), int(words[1], 16)
            elif line.startswith("- "):
                yield "-", int(words[1], 16), 0


class Pairing:
    """Goes through both logs side by side. A call that the other log does not have within WINDOW calls is only in one."""

    WINDOW = 64

    def __init__(self, theirs):
        self.theirs, self.ahead = theirs, collections.deque()
        self.matched, self.heaptrack = Heap(), Heap()
        self.only_ours, self.only_theirs = collections.Counter(), collections.Counter()

    def fill(self):
        while len(self.ahead) < self.WINDOW:
            call = next(self.theirs, None)
            if call is None:
                return
            self.heaptrack.take(*call)
            self.ahead.append(call)

    def skip(self, count):
        for _ in range(count):
            call = self.ahead.popleft()
            self.only_theirs["allocated" if call[0] == "+" else "freed", f"{call[2]} bytes"] += 1

    def take(self, kind, address, nbytes, caller):
        self.fill()
        call = (kind, address, nbytes)
        if call in self.ahead:
            self.skip(self.ahead.index(call))
            self.ahead.popleft()
            self.matched.take(*call)
        else:
            self.only_ours["allocated" if kind == "+" else "freed", caller] += 1

    def finish(self):
        while self.ahead:
            self.skip(len(self.ahead))
            self.fill()


def record(folder, command, environment):
    front = [programs.TRACEBED, "record", "-f", "-o", f"{folder}/both.tbed", "--stacks", "--"]
    preload = ["env", f"LD_PRELOAD={PRELOAD}:{HEAPTRACK}", f"DUMP_HEAPTRACK_OUTPUT={folder}/both.raw"]
    programs.run([*front, *preload, *command], environment)


def put_calls(who, sums):
    print(f"  only {who}: {sum(sums.values()):,} calls")
    for (what, caller), count in sums.most_common(12):
        print(f"    {count:,} {what} by {caller}" if who == "tracebed" else f"    {count:,} {what}, {caller}")


def compare(folder, program, command, environment):
    record(folder, command, environment)
    pairing = Pairing(read_heaptrack(f"{folder}/both.raw"))
    for call in read_tracebed(f"{folder}/both.tbed", os.path.basename(command[0])):
        pairing.take(*call)
    pairing.finish()
    print(f"{program}\n  both:      {pairing.matched}\n  heaptrack: {pairing.heaptrack}")
    put_calls("tracebed", pairing.only_ours)
    put_calls("heaptrack", pairing.only_theirs)
    sys.stdout.flush()


def main(arguments):
    parser = argparse.ArgumentParser(description="Compares tracebed with heaptrack in one run.")
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--path", help="directory for temporary traces (build/release)")
    options = parser.parse_args(arguments)
    if HEAPTRACK is None:
        print("heaptrack is not installed: skipped", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory(prefix="heaptrack_bench.", dir=options.path or programs.BUILD) as folder:
        for program, command, environment in programs.programs(os.path.abspath(folder)):
            if options.only in program and shutil.which(command[0]):
                compare(os.path.abspath(folder), program, command, environment)


if __name__ == "__main__":
    main(sys.argv[1:])
