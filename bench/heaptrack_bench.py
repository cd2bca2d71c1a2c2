#!/usr/bin/env python3
"""
Compares what tracebed and heaptrack record of the same run, call by call: both libraries are preloaded, so both see the
same addresses. It prints the totals of both, and the calls that only one of them has, by the function that made them.

heaptrack allocates itself, in functions of the program if that exports operator new. It does not record this, and
tracebed does, with the stack. What has a function of heaptrack's library in its stack is counted apart.

Needs heaptrack 1.4 and the programs of allocations_bench.py; what is missing is skipped, with a note.

SPDX-License-Identifier: MIT
"""

import argparse
import collections
import csv
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


class Stacks:
    """The names of a trace's stacks, and which of them are heaptrack's own work: it only passes dlopen() on."""

    def __init__(self, path):
        self.names, self.own = {}, set()
        command = [programs.TRACEBED, "export", "--to=csv", "--table=stacks", path, "-o", "-"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
            for row in csv.DictReader(child.stdout):
                self.names[int(row["id"])] = row["name"]
                is_own = row["module"] == os.path.basename(HEAPTRACK) and row["function"] not in ("dlopen", "dlclose")
                if is_own or (row["parent_id"] and int(row["parent_id"]) in self.own):
                    self.own.add(int(row["id"]))


def read_tracebed(path, name):
    """Returns the program's heap and heaptrack's own."""
    stacks, heap, own = Stacks(path), Heap(), Heap()
    command = [programs.TRACEBED, "dump", "--json", "--no-symbols", "-p", name, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            event = json.loads(line)
            kind, id = event.get("type"), event.get("id")
            caller = stacks.names.get(id, event.get("name"))
            whose, other = (own, heap) if id in stacks.own else (heap, own)
            if kind == "free":
                (own if event["address"] in own.live else heap).take("-", event["address"], 0, caller)
            elif kind == "realloc" and event["old_address"] and (event["address"] or event["size"] == 0):
                whose.take("-", event["old_address"], 0, caller)
            if kind in ("alloc", "realloc") and event["address"]:
                other.in_use -= other.live.pop(event["address"], 0)
                whose.take("+", event["address"], event["size"], caller)
    return heap, own


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


def record(folder, command, environment):
    """Runs the program with both libraries, behind one another; addresses are the same in each run."""
    front = [programs.TRACEBED, "record", "-f", "-o", f"{folder}/run.tbed", "--stacks=128", "--"]
    preload = ["env", f"LD_PRELOAD={PRELOAD}:{HEAPTRACK}", f"DUMP_HEAPTRACK_OUTPUT={folder}/run.raw"]
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


def compare(folder, program, command, environment):
    if os.path.exists(f"{folder}/run.raw"):  # heaptrack would leave the end of a longer one
        os.remove(f"{folder}/run.raw")
    record(folder, command, environment)
    ours, own = read_tracebed(f"{folder}/run.tbed", os.path.basename(command[0]))
    theirs = read_heaptrack(f"{folder}/run.raw")
    print(f"{program}\n  tracebed:  {ours}\n  heaptrack: {theirs}\n  heaptrack itself, as tracebed has it: {own}")
    put_calls("tracebed", only_in(ours, theirs))
    put_calls("heaptrack", only_in(theirs, ours))
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
