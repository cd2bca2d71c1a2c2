#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the program's figures for recorded allocations with a slow, obvious count over the independent decoder's
listing.

    compare_allocations.py TRACEBED [SEED]

Programs that allocate at random are recorded with their stacks. The reports by site, by stack and over time, and the
flame graphs of each weight, must equal the sums of the events.

Check: allocations-decoder build/release/tracebed
Needs: $b/tracebed $b/programs
Slow: records and decodes 30 random programs
"""
import collections
import heapq
import json
import os
import struct
import subprocess
import sys
import tempfile

import decoder

GOLDEN = "spec/golden/valid/recorded.tbed"
PROGRAMS = "build/preload"
MOMENTS = 7
PAGE, MMAP = 4096, 6
FIGURES = ("count", "bytes", "freed_count", "temporary_count", "replaced_count", "failed_count", "live_count",
           "live_bytes", "peak_bytes")
WEIGHTS = {"bytes": "bytes", "count": "count", "peak": "peak_bytes", "leaked": "live_bytes"}


class Trace:
    """The allocations that the decoder lists, and the parents of stacks, which it does not list."""

    def __init__(self, path):
        self.parents = {}
        add_stacks, decoder.add_stacks = decoder.add_stacks, self.add_stacks
        self.add = add_stacks
        data = decoder.load(path)
        self.trace = decoder.open_trace(data, self.tell)
        lines = list(decoder.list_trace(self.trace))
        decoder.add_stacks = add_stacks
        self.events = [line for line in lines if line.get("type") in ("alloc", "free", "realloc", "resize", "instant")]
        blocks = [block for block in decoder.find_blocks(decoder.open_trace(data, self.tell),
                                                         len(data) // self.trace.page_size)
                  if block.kind == decoder.EVENTS]
        self.first = min((block.first_tick for block in blocks), default=0)
        self.last = max((block.last_tick for block in blocks), default=0)

    def tell(self, *what):
        sys.exit(f"damaged: {what}")

    def add_stacks(self, trace, at):
        first, count = struct.unpack_from("<2I", trace.data, at + 8)
        for i in range(count):
            self.parents[first + i] = struct.unpack_from("<2I", trace.data, at + 16 + 8 * i)
        self.add(trace, at)

    def site(self, id):
        name = decoder.name_of(self.trace, id)
        return "<unknown>" if name is None else name

    def stack(self, id):
        frames = []
        while id in self.parents:
            location, id = self.parents[id]
            frames.append(self.site(location))
        return "\n".join(frames or [self.site(id)])


class Heap:
    """Counts the figures of a report, in one row per name of an event's id."""

    def __init__(self, trace, name):
        self.trace, self.name = trace, name
        self.names, self.live, self.newest = {}, {}, {}
        self.pages = {}  # mapped pages: page number -> the event that mapped it
        self.rows = collections.defaultdict(lambda: dict.fromkeys(FIGURES, 0))
        self.now = self.peak = 0
        self.each = (trace.last - trace.first) // MOMENTS + 1
        self.moments = [None] * MOMENTS
        streams = collections.defaultdict(list)
        for event in trace.events:
            if event["type"] != "instant":
                streams[event["stream"]].append(event)
        order = lambda event: (event["tick"], event["stream"])
        for event in heapq.merge(*streams.values(), key=order):
            self.take(event)
            self.note(event)
        for row in self.rows.values():
            row["peak_bytes"] = row.pop("at_peak", 0)

    def row(self, id):
        if id not in self.names:
            self.names[id] = self.name(id)
        return self.rows[self.names[id]]

    def end(self, address):
        block = self.live.pop(address)
        row = self.row(block["id"])
        row["live_count"] -= 1
        row["live_bytes"] -= block["size"]
        self.now -= block["size"]
        return row

    def free(self, event, address):
        block = self.live[address]
        row = self.end(address)
        row["freed_count"] += 1
        row["temporary_count"] += block["stream"] == event["stream"] and self.newest.get(event["stream"]) == address

    def unmap(self, start, nbytes, figure):
        """Unmaps page by page; a mapping ends with its last page."""
        for page in range(start // PAGE, (start + nbytes) // PAGE):
            mapping = self.pages.pop(page, None)
            if mapping is None:
                continue
            row = self.row(mapping["id"])
            row["live_bytes"] -= PAGE
            self.now -= PAGE
            mapping["pages"] -= 1
            if mapping["pages"] == 0:
                row["live_count"] -= 1
                row[figure] += 1

    def map(self, event):
        self.unmap(event["address"], event["size"], "replaced_count")
        event["pages"] = event["size"] // PAGE
        self.pages.update(dict.fromkeys(range(event["address"] // PAGE, (event["address"] + event["size"]) // PAGE), event))
        self.grow(event)

    def alloc(self, event):
        row, address, size = self.row(event["id"]), event["address"], event["size"]
        if address == 0:
            row["failed_count"] += 1
            return
        if address in self.live:
            self.end(address)["replaced_count"] += 1
        self.live[address] = event
        self.grow(event)

    def grow(self, event):
        row, size = self.row(event["id"]), event["size"]
        for figure, value in (("count", 1), ("bytes", size), ("live_count", 1), ("live_bytes", size)):
            row[figure] += value
        self.add(size)

    def resize(self, event):
        block = self.live.get(event["address"])
        if block is None:
            return
        row, difference = self.row(block["id"]), event["size"] - block["size"]
        block["size"] = event["size"]
        row["bytes"] += max(difference, 0)
        row["live_bytes"] += difference
        self.add(difference)

    def add(self, nbytes):
        self.now += nbytes
        if self.now > self.peak:
            self.peak = self.now
            for other in self.rows.values():
                other["at_peak"] = other["live_bytes"]

    def take(self, event):
        self.before, self.count = self.now, int(event["type"] not in ("free", "resize") and event["address"] != 0)
        if event["type"] == "resize":
            self.resize(event)
            return
        if event["type"] == "free" and event.get("allocator") != MMAP:
            for address in self.freed(event):
                if address in self.live:
                    self.free(event, address)
                if address != 0:
                    self.newest[event["stream"]] = 0
            return
        if "args" in event or event.get("allocator") == MMAP:
            self.newest[event["stream"]] = 0
            self.take_mapping(event)
            return
        failed = event["type"] == "realloc" and event["address"] == 0 and event["size"] != 0
        old = self.live.get(event.get("old_address"))
        if old is not None and not failed and old["tick"] <= event["begin_tick"]:
            self.free(event, event["old_address"])
        if event["type"] == "alloc" or event["address"] != 0 or failed:
            self.alloc(event)
        # Calls that fail come between no two others.
        if event["address"] != 0 or (event["type"] == "realloc" and event["size"] == 0 and event["old_address"] != 0):
            self.newest[event["stream"]] = event["address"]

    def freed(self, event):
        """Returns the freed addresses in order; see Slots in section 6.2."""
        if "args" not in event:
            return [event["address"]]
        each, bits = event["args"][0]["value"], bytes.fromhex(event["args"][1]["value"])
        return [(event["address"] + i * each) % 2 ** 64 for i in range(8 * len(bits)) if bits[i // 8] >> i % 8 & 1]

    def take_mapping(self, event):
        if event["type"] == "alloc":
            self.map(event)
            return
        start, nbytes = event.get("old_address", event["address"]), event["args"][0]["value"]
        is_known = any(page in self.pages for page in range(start // PAGE, (start + nbytes) // PAGE))
        self.unmap(start, nbytes, "freed_count")
        if event["type"] == "realloc":
            self.count = int(is_known)
            if is_known:
                self.map(event)

    def note(self, event):
        at = min((event["tick"] - self.trace.first) // self.each, MOMENTS - 1)
        while any(self.moments) and self.moments[at] is None:
            last = max(i for i in range(MOMENTS) if self.moments[i])
            self.moments[last + 1] = {"live_bytes": self.before, "peak_bytes": self.before, "count": 0}
        moment = self.moments[at] = self.moments[at] or {"live_bytes": 0, "peak_bytes": 0, "count": 0}
        moment["count"] += self.count
        moment["live_bytes"] = self.now
        moment["peak_bytes"] = max(moment["peak_bytes"], self.now)


def differ(what, wanted, found):
    if wanted == found:
        return
    keys = sorted(set(wanted) | set(found), key=str)
    lines = [f"  {key!r}: {wanted.get(key)} wanted, {found.get(key)} found" for key in keys
             if wanted.get(key) != found.get(key)]
    sys.exit("\n".join([f"{what}:", *lines[:5]]))


def run(*command, output=subprocess.PIPE):
    return subprocess.run(command, stdout=output, check=True, text=True).stdout


def compare_report(tracebed, trace, path, by, name):
    heap = Heap(trace, name)
    report = json.loads(run(tracebed, "report", "--json", "--no-symbols", f"--by={by}", f"--over-time={MOMENTS}", path))
    found = {row["name"]: {figure: row[figure] for figure in FIGURES} for row in report["sites"]}
    differ(f"{path} by {by}", {key: row for key, row in heap.rows.items()}, found)
    differ("in all", {"peak_bytes": heap.peak, "live_bytes": heap.now},
           {key: report["allocations"][key] for key in ("peak_bytes", "live_bytes")})
    none = {"live_bytes": 0, "peak_bytes": 0, "count": 0}
    differ("over time", dict(enumerate(moment or none for moment in heap.moments)),
           {i: {key: moment[key] for key in none} for i, moment in enumerate(report["moments"])})
    return heap


def compare_flames(tracebed, path, heap):
    for weight, figure in WEIGHTS.items():
        lines = run(tracebed, "flame", "--folded", f"--weight={weight}", path).splitlines()
        total = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
        differ(f"flame of {weight}", {"all": sum(row[figure] for row in heap.rows.values())}, {"all": total})
        paths = [line.rsplit(" ", 1)[0] for line in lines]
        if len(set(paths)) != len(paths):
            sys.exit(f"flame of {weight}: a path is there twice")


def compare_light(tracebed, trace, path):
    wanted = collections.Counter(trace.site(event["id"]) for event in trace.events)
    report = json.loads(run(tracebed, "report", "--json", "--no-symbols", path))
    differ(f"{path}, light", dict(wanted), {row["name"]: row["count"] for row in report["instants"]})


def main():
    tracebed = sys.argv[1]
    trace = Trace(GOLDEN)
    compare_report(tracebed, trace, GOLDEN, "module", lambda id: "fib.rb")
    compared = len(trace.events)
    with tempfile.TemporaryDirectory() as folder:
        path, log = os.path.join(folder, "run.tbed"), os.path.join(folder, "log")
        for command in (["preload_stacks_helper", log], ["preload_stacks_helper", log, "mappings"],
                        ["preload_calls_helper", "each", log], ["preload_calls_helper", "threads", log],
                        ["preload_calls_helper", "late", log]):
            program = [os.path.join(PROGRAMS, command[0]), *command[1:]]
            with open(os.devnull, "w", encoding="ascii") as nothing:
                run(tracebed, "record", "-f", "-o", path, "--stacks=8", "--mmap", "--", *program, output=nothing)
                trace = Trace(path)
                compare_report(tracebed, trace, path, "site", trace.site)
                heap = compare_report(tracebed, trace, path, "stack", trace.stack)
                compare_flames(tracebed, path, heap)
                compared += len(trace.events)
                if "threads" not in command:
                    run(tracebed, "record", "-f", "-o", path, "--light", "--", *program, output=nothing)
                    compare_light(tracebed, Trace(path), path)
    print(f"{compared} events of 5 programs and a golden file")


if __name__ == "__main__":
    main()
