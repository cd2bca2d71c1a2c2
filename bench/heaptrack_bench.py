#!/usr/bin/env python3
"""
Compares what tracebed and heaptrack record of the same run, call by call: both libraries are preloaded, so both see the
same addresses. It prints the totals of both, and the calls that only one of them has, by the function that made them.
heaptrack's own allocations, which tracebed records too, are left out: their caller is in its library.

A program that exports operator new has heaptrack use it, and its allocations cannot be told from the program's own. Such
a program, cc1plus, runs once under each, with addresses that are not random, and the sizes are compared.

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
PROGRAMS = ("python3", "sqlite3", "cc1plus -O1", "redis")
LIBRARIES = ("/usr/lib/heaptrack/libheaptrack_preload.so", "/usr/lib64/heaptrack/libheaptrack_preload.so")
HEAPTRACK = next((path for path in LIBRARIES if os.path.exists(path)), None)


class Heap:
    """Counts as heaptrack does: what is allocated and freed, in the order of the log."""

    def __init__(self):
        self.live, self.calls, self.callers = {}, collections.Counter(), {}
        self.count = self.nbytes = self.temporary = self.in_use = self.peak = 0
        self.newest = None

    def take(self, kind, address, nbytes, caller=None):
        self.calls[kind, address, nbytes] += 1
        self.callers[kind, address, nbytes] = caller
        self.temporary += kind == "-" and self.newest == address
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
    heap = Heap()
    command = [programs.TRACEBED, "dump", "--json", "-p", name, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            event = json.loads(line)
            kind, caller = event.get("type"), event.get("name")
            if event.get("module") == os.path.basename(HEAPTRACK):
                continue
            old = event.get("address") if kind == "free" else event.get("old_address", 0)
            if old and (kind == "free" or (kind == "realloc" and (event["address"] or event["size"] == 0))):
                heap.take("-", old, 0, caller)
            if kind in ("alloc", "realloc") and event["address"]:
                heap.take("+", event["address"], event["size"], caller)
    return heap


def read_heaptrack(path):
    heap = Heap()
    with open(path, errors="replace") as file:
        for line in file:
            words = line.split()
            if line.startswith("+ "):
                heap.take("+", int(words[3], 16), int(words[1], 16))
            elif line.startswith("- "):
                heap.take("-", int(words[1], 16), 0)
    return heap


def record(folder, command, environment, libraries, is_recorded):
    """Runs the program with these libraries, behind one another; addresses are the same in each run."""
    front = [programs.TRACEBED, "record", "-f", "-o", f"{folder}/run.tbed", "--stacks", "--"] if is_recorded else []
    preload = ["env", f"LD_PRELOAD={':'.join(libraries)}", f"DUMP_HEAPTRACK_OUTPUT={folder}/run.raw"]
    programs.run(["setarch", "-R", *front, *preload, *command], {"PYTHONHASHSEED": "0", **environment})


def put_calls(who, sums):
    print(f"  only {who}: {sum(sums.values()):,} calls")
    for what, count in sums.most_common(12):
        print(f"    {count:,} {what}")


def only_in(more, less):
    sums = collections.Counter()
    for call, count in (more.calls - less.calls).items():
        caller = more.callers[call]
        what = "allocated" if call[0] == "+" else "freed"
        sums[f"{what} by {caller}" if caller else f"{what}, {call[2]} bytes"] += count
    return sums


def sizes_in(more, less):
    sums = [collections.Counter(), collections.Counter()]
    for side, heap in enumerate((more, less)):
        for (kind, _, nbytes), count in heap.calls.items():
            sums[side][f"{nbytes} bytes"] += count if kind == "+" else 0
    return sums[0] - sums[1]


def compare(folder, program, command, environment):
    is_apart = program.startswith("cc1plus")
    record(folder, command, environment, [PRELOAD] if is_apart else [PRELOAD, HEAPTRACK], True)
    ours = read_tracebed(f"{folder}/run.tbed", os.path.basename(command[0]))
    if is_apart:
        record(folder, command, environment, [HEAPTRACK], False)
    theirs = read_heaptrack(f"{folder}/run.raw")
    differences = sizes_in if is_apart else only_in
    print(f"{program}, {'two runs' if is_apart else 'one run'}\n  tracebed:  {ours}\n  heaptrack: {theirs}")
    put_calls("tracebed", differences(ours, theirs))
    put_calls("heaptrack", differences(theirs, ours))
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
            is_wanted = program in PROGRAMS and options.only in program
            if is_wanted and shutil.which(command[0]):
                compare(os.path.abspath(folder), program, command, environment)


if __name__ == "__main__":
    main(sys.argv[1:])
