"""
Checks the example for CPython against the interpreter: the calls of every thread are those that sys.setprofile() sees, under
exceptions, generators and coroutines, and the live memory of every line is what tracemalloc says. Where the system's Python
is another one, or has no headers, nothing is checked, and that is said.

Check: example-cpython writer/examples/cpython/tracebed_cpython.c
Needs: $b/programs $b/libtracebed.a $b/tracebed

SPDX-License-Identifier: MIT
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path.cwd()
BUILD = ROOT / os.environ.get("TBED_BUILD", "build/release")
HERE = ROOT / "writer/examples/cpython"
PYTHON = "/usr/bin/python3"
HEADERS = pathlib.Path("/usr/include/python3.11")
PROGRAM = str(HERE / "program.py")


def run(*command, **options):
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True, timeout=60, **options).stdout


class CPython(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="tracebed-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        run("cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread",
            HERE / "tracebed_cpython.c", "-o", self.folder / "tracebed_cpython.so", f"-isystem{HEADERS}",
            f"-I{ROOT}/writer/include", f"-I{ROOT}/format/include", "-Wl,--exclude-libs,ALL", BUILD / "libtracebed.a")

    def python(self, how, what):
        """What run.py prints, and the events of the trace."""
        trace = self.folder / "run.tbed"
        environment = dict(os.environ, PYTHONPATH=str(self.folder), PYTHONDONTWRITEBYTECODE="1")
        out = run(PYTHON, HERE / "run.py", how, what, trace, env=environment)
        if how == "watch":
            return json.loads(out), None
        run(BUILD / "tracebed", "verify", trace)
        dumped = [json.loads(line) for line in run(BUILD / "tracebed", "dump", "--json", trace).splitlines()]
        return json.loads(out or "null"), [event for event in dumped if "tick" in event]

    def test_calls_are_those_that_the_profiler_sees(self):
        watched = lives((thread, step, name) for thread, step, name in self.python("watch", "calls")[0])
        events = self.python("trace", "calls")[1]
        traced = lives((event["stream"], 1 if event["type"] == "begin" else -1, name_of(event)) for event in events
                       if event["type"] in ("begin", "end"))
        self.assertEqual(len(traced), 4)
        self.assertGreater(len(traced[0]), 700)
        self.assertEqual([life[:60] for life in traced], [life[:60] for life in watched])
        self.assertEqual(traced, watched)

    def test_live_memory_of_each_line_is_what_tracemalloc_says(self):
        lines, events = self.python("trace", "allocations")
        watched = {name: nbytes for name, nbytes in lines.items() if name.startswith(PROGRAM)}
        traced = {name: nbytes for name, nbytes in live_memory(events).items() if name.startswith(PROGRAM)}
        self.assertGreater(len(traced), 8)
        self.assertEqual(traced, watched)


def name_of(event):
    return f"{event['file']}:{event['line']}" if "file" in event else event["name"]


def lives(steps):
    """Of each thread, the program's functions and the functions in C that they call: +1 where one begins, -1 where it ends."""
    threads, stacks = {}, collections.defaultdict(list)
    for thread, step, name in steps:
        stack = stacks[thread]
        if step < 0 and not stack:
            continue  # it began before
        caller = stack[-1] if step > 0 and stack else stack[-2] if step < 0 and len(stack) > 1 else ""
        if step > 0:
            stack.append(name)
        else:
            name = stack.pop()
        is_ours = name.startswith(PROGRAM) or (caller.startswith(PROGRAM) and ":" not in name)
        if is_ours:
            threads.setdefault(thread, []).append((step, name))
    return list(threads.values())


def live_memory(events):
    blocks, lines = {}, collections.Counter()
    for event in sorted(events, key=lambda event: event["tick"]):
        if event["type"] in ("free", "realloc"):
            blocks.pop(event["address"] if event["type"] == "free" else event["old_address"], None)
        if event["type"] in ("alloc", "realloc"):
            blocks[event["address"]] = (name_of(event), event["size"])
    for name, nbytes in blocks.values():
        lines[name] += nbytes
    return lines


def main():
    version = subprocess.run([PYTHON, "--version"], capture_output=True, encoding="utf-8").stdout
    if not (HEADERS / "internal/pycore_frame.h").exists() or not version.startswith("Python 3.11."):
        print("nothing checked: python3-dev of CPython 3.11 is not installed")
        return 0
    return 0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
