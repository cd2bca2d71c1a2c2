#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Decodes the examples and golden files of the specification, and compares the results with what it says.

First come the worked examples in section 13 of spec/format.md, which are compared with the prose around them. An
example without a test here is a failure, and so is a test whose example no longer exists.

Then come the golden files. decoder.py must read every file in spec/golden/valid with exit code 0. For every file in
spec/golden/invalid it must report the check that the file is named after: CHECK.tbed or CHECK-something.tbed. A file
CHECK-not_yet.tbed is just within a limit, and valid.

Check: spec-examples
Slow: decodes every golden file in Python
"""
import glob
import os
import re
import struct
import subprocess
import sys
import tempfile

from decoder import class_of, list_trace, name_of, open_trace, split_components
from decoder_file import BEGUN, BLOCK, CELLS, ENTRY, EVENTS, RECORDS, STRINGS, read_header, u32
from xxh3 import xxh3_64

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE_SIZE, FILE_ID = 65536, 0x0123456789ABCDEF  # as in the example header
ID, INVALID = 0x20000008, 0x20000001

# An id that does not resolve is not damage: the file is read, and null is listed.
UNRESOLVED = ["STRING_" + name for name in ("ID", "UNBOUND", "CYCLE", "DEPTH", "COMPONENTS", "BYTES")]
UNRESOLVED_TOO = ["STRING_LENGTH-between"]  # an id that addresses the middle of an entry


# The worked examples

def read_examples():
    """Returns the page's hex blocks as {name: bytes}."""
    with open(os.path.join(HERE, "format.md"), encoding="utf-8") as page:
        section = page.read().split("\n## 13.")[1].split("\n## ")[0]
    return {name: bytes.fromhex(text) for name, text in re.findall(r"```hex ([^\n]+)\n(.*?)```", section, re.DOTALL)}


EXAMPLES = read_examples()


def block(kind, page, content, shift=16, ordinal=0):
    """Returns a sealed block of stream 1 that starts at tick 0."""
    used = 64 + len(content)
    last_tick = 2 ** 64 - 1 if kind == EVENTS else 0
    head = BLOCK.pack(kind, shift, 0, page, FILE_ID, 1, 0, 0, ordinal, 0, 0, used, last_tick, 0)[:56]
    return head + struct.pack("<Q", xxh3_64(content, xxh3_64(head))) + content


def fail(*problem, **_):
    raise AssertionError(problem)


def entry_of(page):
    """Returns the directory's entry of a page that was begun."""
    kind, _, _, _, _, stream, sequence, generation, ordinal, first_tick, depth, *_ = BLOCK.unpack_from(page)
    return ENTRY.pack(BEGUN, kind, 0, sequence, generation, 0, stream, 0, first_tick, 0, 0, depth or ordinal, 0, 0, 0)


def trace_of(*pages):
    """Returns an open file of the example header and these pages, in which the decoder must find no damage."""
    shared = struct.pack("<Q56xQQQQ4s", 1 + len(pages), 2, 2, 0, 1, b"open")
    header = (EXAMPLES["header"].ljust(512, b"\0") + shared).ljust(1024 + 64, b"\0")
    pages = [header + b"".join(map(entry_of, pages)), *pages]
    data = b"".join(page.ljust(PAGE_SIZE, b"\0") for page in pages)
    return open_trace(data, fail)


def strings():
    """Returns page 1 with the example entry at its start, so that ID is "hi"."""
    return block(STRINGS, 1, EXAMPLES["entry"])


def check_events(content, *expected):
    lines = list(list_trace(trace_of(strings(), block(EVENTS, 2, content))))
    assert lines == [{"string": ID, "text": "hi"}, *({"stream": 1, **event} for event in expected)], lines


def string(content):
    assert split_components(content) == [b"abc", 42, b"def"]


def entry(content):
    trace = trace_of(block(STRINGS, 1, content))
    assert list(list_trace(trace)) == [{"string": ID, "text": "hi"}]
    assert struct.unpack_from("<I", content, 4) == (0xAA9554DB,)


def event_begin(content):
    check_events(content, {"tick": 5, "type": "begin", "id": ID, "name": "hi"})
    assert content == struct.pack("<Q", 5 << 33 | 1 << 30 | ID)


def event_end(content):
    check_events(content, {"tick": 7, "type": "end", "id": ID, "name": "hi"})


def event_time(content):
    check_events(content)
    begin = {"tick": 3 * 2 ** 31 + 5, "type": "begin", "id": ID, "name": "hi"}
    check_events(content + EXAMPLES["event begin"], begin)


def event_alloc(content):
    check_events(content, {"tick": 9, "type": "alloc", "id": 1000, "name": None, "address": 0x555555559300, "size": 24})
    assert len(content) == 16


def event_instant(content):
    arguments = [{"name": None, "type": 1, "value": 7}]
    check_events(content, {"tick": 1, "type": "instant", "id": 16, "name": None, "args": arguments})
    assert struct.unpack_from("<I", content, 20) == (INVALID,)


def event_counter(content):
    check_events(content, {"tick": 11, "type": "counter", "id": 16, "name": None, "value": -1})
    assert len(content) == 16


def event_extended_end(content):
    check_events(content, {"tick": 20, "type": "end", "id": ID, "name": "hi", "begin_tick": 5})


def event_packed_message(content):
    arguments = [{"name": None, "type": 2, "value": value} for value in (-1, 7)]
    check_events(content, {"tick": 4, "type": "message", "id": ID, "name": "hi", "severity": 3, "args": arguments})
    assert u32(content, 12) == 0xAA3


def event_packed_text(content):
    arguments = [{"name": None, "type": 1, "value": 7}, {"name": None, "type": 7, "value": "hello"}]
    check_events(content, {"tick": 5, "type": "message", "id": ID, "name": "hi", "severity": 3, "args": arguments})


def event_packed_begin(content):
    arguments = [{"name": None, "type": 2, "value": -1}, {"name": None, "type": 7, "value": "hi"}]
    check_events(content, {"tick": 6, "type": "begin", "id": ID, "name": "hi", "args": arguments})
    assert (u32(content, 16), u32(content, 20)) == (0x7A, 16)


def event_leave(content):
    check_events(content, {"tick": 20, "type": "end", "id": ID, "name": "hi", "begin_tick": 5, "end_tick": 30})


def event_leave_outer(content):
    check_events(content, {"tick": 20, "type": "end", "id": ID, "name": "hi", "begin_tick": 5, "end_tick": 20,
                           "inside": 2})


def event_span(content):
    check_events(content, {"tick": 20, "type": "span", "id": ID, "name": "hi", "begin_tick": 3, "category": ID,
                           "category_name": "hi"})


def header(content):
    h = read_header(content + bytes(PAGE_SIZE - 256))
    assert (h.page_size, h.compatible, h.file_id, h.ring) == (65536, 0, FILE_ID, 0)
    assert (h.clock, h.ticks_per_second, h.anchor_ticks) == (1, 2500000000, 1000000)
    assert (h.realtime, h.monotonic) == (1795000000 * 10 ** 9, 86400 * 10 ** 9)
    assert int.from_bytes(content[248:], "little") == xxh3_64(content[:248]) == 0x60A727B931B20638


def record_cell(content):
    cells_page = block(CELLS, 1, EXAMPLES["header"].ljust(448, b"\0"), shift=9, ordinal=1).ljust(512, b"\0") + content
    trace = trace_of(cells_page, block(STRINGS, 2, EXAMPLES["entry"]))
    assert list(list_trace(trace)) == [{"string": ID, "text": "hi"}, {"bind": 16, "count": 1, "string": ID}]
    assert name_of(trace, 16) == "hi"
    assert BLOCK.unpack_from(content) == (RECORDS, 9, 1, 1, FILE_ID, 1, 0, 0, 0, 1000500, 0, 88, 1000500,
                                          0xDE86A2690A9C1278)
    assert xxh3_64(content[:56]) == 0x841A45DD5CB706EB


def unit(content):
    trace = trace_of(strings(), block(RECORDS, 2, content))
    assert list(list_trace(trace)) == [{"string": ID, "text": "hi"}]
    assert name_of(trace, 1010) == "hi+0x10a0"
    assert name_of(trace, 1255) == "hi+0x1ff0"
    assert name_of(trace, 999) is None and name_of(trace, 1256) is None


def stacks(content):
    trace = trace_of(strings(), block(RECORDS, 2, EXAMPLES["unit"] + content))
    assert list(list_trace(trace)) == [{"string": ID, "text": "hi"}]
    assert name_of(trace, 2000) == name_of(trace, 1010) == "hi+0x10a0"
    assert name_of(trace, 2001) == name_of(trace, 1000) == "hi+0x1000"
    assert name_of(trace, 1999) is None and name_of(trace, 2002) is None
    assert struct.unpack_from("<4I", content, 16) == (1010, INVALID, 1000, 2000)


def frames(content):
    trace = trace_of(strings(), block(RECORDS, 2, EXAMPLES["unit"] + content))
    assert list(list_trace(trace)) == [{"string": ID, "text": "hi"}]
    assert name_of(trace, 1010) == "hi!hi"
    assert struct.unpack_from("<6I", content, 8) == (1010, 1, ID, INVALID, 7, 0)


def types(content):
    trace = trace_of(strings(), block(RECORDS, 2, EXAMPLES["unit"] + EXAMPLES["stacks"] + content))
    assert list(list_trace(trace)) == [{"string": ID, "text": "hi"}]
    assert name_of(trace, 2002) == name_of(trace, 2001) == "hi+0x1000"
    assert class_of(trace, 2002) == {"class": "hi"} and class_of(trace, 2001) == {}
    assert struct.unpack_from("<4I", content, 8) == (2002, 1, 2001, ID)


EXAMPLE_TESTS = [string, entry, event_begin, event_end, event_time, event_alloc, event_instant, event_counter,
                 event_extended_end, event_leave, event_leave_outer, event_span, event_packed_message, event_packed_text, event_packed_begin, header,
                 record_cell, unit, stacks, frames, types]


def check_example(name, test):
    assert test, "an example that has no test"
    assert name in EXAMPLES, "no such example"
    test(EXAMPLES[name])


# The golden files

def decode(path):
    return subprocess.run([sys.executable, os.path.join(HERE, "decoder.py"), path], capture_output=True,
                          encoding="utf-8")


def check_valid(path):
    run = decode(path)
    assert run.returncode == 0, run.stderr


def check_unresolved(path):
    run = decode(path)
    assert run.returncode == 0, run.stderr
    assert re.search(r'"(text|name)":null', run.stdout), "all resolves"


def check_invalid(path, name):
    run = decode(path)
    assert run.returncode in (1, 2), run.returncode
    assert any(line.endswith(" " + name) for line in run.stderr.splitlines()), run.stderr


def golden(folder):
    return sorted(glob.glob(os.path.join(HERE, "golden", folder, "*.tbed")))


def tests(temporary):
    """Yields (name, function, arguments)."""
    by_name = {test.__name__.replace("_", " "): test for test in EXAMPLE_TESTS}
    for name in sorted({*EXAMPLES, *by_name}):
        yield "example " + name, check_example, (name, by_name.get(name))
    for path in golden("valid"):
        yield "valid " + os.path.basename(path).removesuffix(".tbed"), check_valid, (path,)
    for path in golden("invalid"):
        stem = os.path.basename(path).removesuffix(".tbed")
        name = stem.split("-")[0]
        if stem.endswith("-not_yet"):
            yield "invalid " + stem, check_valid, (path,)
        elif name in UNRESOLVED or stem in UNRESOLVED_TOO:
            yield "invalid " + stem, check_unresolved, (path,)
        else:
            yield "invalid " + stem, check_invalid, (path, name)
    pipe = os.path.join(temporary, "pipe")  # a repository cannot contain one
    os.mkfifo(pipe)
    yield "invalid pipe", check_invalid, (pipe, "NOT_REGULAR")
    yield "invalid directory", check_invalid, (temporary, "IS_DIRECTORY")


def main():
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        for name, test, arguments in tests(temporary):
            try:
                test(*arguments)
                passed += 1
                print("ok %s" % name)
            except Exception as error:  # including Damage
                failed += 1
                print("FAIL %s: %r" % (name, error))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
