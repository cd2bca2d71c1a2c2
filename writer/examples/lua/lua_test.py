"""
Checks the example for Lua against Lua's own hooks: the calls of every coroutine, under errors, tail calls and coroutines, and
the memory of every line. Without Lua's headers nothing is checked, and that is said.

Check: example-lua writer/examples/lua/tracebed_lua.c
Needs: $b/programs $b/libtracebed.a $b/tracebed

SPDX-License-Identifier: MIT
"""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path.cwd()
BUILD = ROOT / os.environ.get("TBED_BUILD", "build/release")
HERE = ROOT / "writer/examples/lua"
HEADERS = pathlib.Path("/usr/include/lua5.4")


def run(*command, **options):
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True, timeout=60, **options).stdout


def is_own(name):
    return "run.lua" in name


class Lua(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="tracebed-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        run("cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread",
            HERE / "tracebed_lua.c", "-o", self.folder / "tracebed_lua.so", f"-I{HEADERS}", f"-I{ROOT}/writer/include",
            f"-I{ROOT}/format/include", "-Wl,--exclude-libs,ALL", BUILD / "libtracebed.a")

    def lua(self, how, what):
        trace = self.folder / "run.tbed"
        environment = dict(os.environ, LUA_CPATH=f"{self.folder}/?.so")
        out = run("lua5.4", HERE / "run.lua", how, what, trace, env=environment, cwd=HERE)
        if how == "watch":
            return out.splitlines()
        run(BUILD / "tracebed", "verify", trace)
        dumped = [json.loads(line) for line in run(BUILD / "tracebed", "dump", "--json", trace).splitlines()]
        return float(out), [event for event in dumped if "tick" in event]

    def test_calls_are_those_that_hooks_see(self):
        watched, (_, events) = watched_calls(self.lua("watch", "calls")), self.lua("trace", "calls")
        traced = traced_calls(events)
        self.assertGreater(len(watched), 10)
        self.assertEqual([life[:40] for life in traced], [life[:40] for life in watched])
        self.assertEqual(traced, watched)

    def test_memory_of_each_line_is_what_the_counter_says(self):
        lines = dict(line.split("\t") for line in self.lua("watch", "allocations"))
        watched = {name: int(nbytes) for name, nbytes in lines.items() if name and not is_own(name) and int(nbytes)}
        risen, events = self.lua("trace", "allocations")
        traced = memory_by_line(events)
        self.assertEqual(sum(traced.values()), risen)
        own = {name: nbytes for name, nbytes in traced.items() if not is_own(name) and nbytes}
        self.assertGreater(len(own), 12)
        self.assertEqual(own, watched)

    def test_memory_is_what_the_counter_says_while_the_collector_runs(self):
        risen, events = self.lua("trace", "garbage")
        counts = collections.Counter(event["type"] for event in events)
        self.assertGreater(counts["free"], 5000)
        self.assertEqual(sum(memory_by_line(events).values()), risen)  # KeyError: what was freed was not allocated

    def test_objects_have_their_types(self):
        _, events = self.lua("trace", "allocations")
        classes = collections.Counter(event["class"] for event in events if event["type"] == "alloc")
        self.assertEqual(classes["thread"], 1)
        self.assertEqual(classes["table"], 50 + 3)
        self.assertEqual(classes["function"], 5)
        self.assertGreaterEqual(classes["string"], 50 + 10)


def watched_calls(lines):
    """The life of each coroutine as (+1, function) and (-1, function), in the order in which they began."""
    lives, open_calls, waiting = {}, {}, set()
    for line in lines:
        number, event, depth, name = line.split("\t")
        if event == "waits":
            waiting.add(number)
            continue
        life, calls = lives.setdefault(number, []), open_calls.setdefault(number, [])
        while calls and calls[-1][0] >= int(depth):
            life.append((-1, calls.pop()[1]))
        if event != "return":
            calls.append((int(depth), name))
            life.append((1, name))
    for number, life in lives.items():
        if number not in waiting:
            life.extend((-1, name) for _, name in reversed(open_calls[number]))
    return [without_own(life) for life in lives.values()]


def without_own(life):
    return [call for call in life if not is_own(call[1])]


def traced_calls(events):
    """The same of a trace. A track has one coroutine after the other, with a mark where each begins."""
    lives, current = [], {}
    for event in sorted(events, key=lambda event: event["tick"]):
        if event["stream"] not in current or event["type"] == "instant":
            current[event["stream"]] = []
            lives.append(current[event["stream"]])
        if event["type"] in ("begin", "end"):
            name = f"{event['file']}:{event['line']}" if "file" in event else event["name"]
            current[event["stream"]].append((1 if event["type"] == "begin" else -1, name))
    return [[call for call in life if call[1] != "stop"] for life in map(without_own, lives) if life]


def memory_by_line(events):
    """What each line allocated minus what it freed."""
    sizes, lines = {}, collections.Counter()
    for event in events:
        place = f"{event.get('file')}:{event.get('line')}"
        if event["type"] in ("free", "realloc"):
            address = event["address"] if event["type"] == "free" else event["old_address"]
            lines[place] -= sizes.pop(address)
        if event["type"] in ("alloc", "realloc"):
            sizes[event["address"]] = event["size"]
            lines[place] += event["size"]
    return lines


def main():
    if not HEADERS.exists() or shutil.which("lua5.4") is None:
        print("nothing checked: liblua5.4-dev and lua5.4 are not installed")
        return 0
    return 0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
