#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""packed_test.py TRACEBED [TRACE...]: what is packed is the same trace, and the library and the independent decoder agree about packed files.

- Every golden trace, valid or not, and each TRACE, is packed by the program, and unpacked by both.
- Every golden packed file holds what golden/packed/expected.txt says, for both, and lists as its plain source if nothing is lost.
- Columns are changed at random: both refuse the same units, and agree about the others.
- Packed files are damaged in each unit, cut at each border, and changed in their headers, heads and indices. Both give back the
  same bytes with zeros for what is lost, both list the same events, and the program reports how many pages are lost.

Slow: starts the program more than a thousand times
Check: packed-decoder build/release/tracebed
Needs: $b/tracebed
"""
import contextlib
import glob
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import decoder
import packed_decoder
from mutation_test import first_difference
from packed_decoder import HEAD, HEADER, TRAILER, UNIT_MAGIC, PackedFile, rounded_up
from packed_units import COLUMNAR
from packed_writer import Parts, header, join_columns, plain_unit, split_columns, unit_head

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "golden")
DAMAGED = ("events", "strings", "directory", "ring")
COLUMNAR_SOURCES = ("events", "strings", "records", "recorded", "given", "recursion")
MUTANTS = 300
ODD = (0, 1, 2, 16, 32, 33, 127, 128, 254, 255)
STEPS = (0, 2 ** 16 - 1, 2 ** 16, 2 ** 16 + 1, 26 * 2 ** 16, 2 ** 48, 2 ** 48 + 1)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def expected_files():
    """[(name, source or None, [lost page], check or None)]"""
    with open(os.path.join(GOLDEN, "packed", "expected.txt"), encoding="ascii") as lines:
        for line in lines:
            if not line.startswith("#"):
                name, source, lost, check = (None if item == "-" else item for item in line.split())
                yield name, source, list(map(int, (lost or "").split(","))) if lost else [], check


def in_larger_pages(source):
    """A packed file whose pages are twice as large as those of the trace."""
    parts = Parts(read(os.path.join(GOLDEN, "packed", "packed_" + source + ".tbed")))
    size, nbytes = 2 * parts.page_size, parts.plain_nbytes
    plain = read(os.path.join(GOLDEN, "valid", source + ".tbed"))
    parts.header = header(size, nbytes)
    parts.units = [((at // size,), plain_unit([plain[at:at + size].ljust(size, b"\0")])) for at in range(0, nbytes, size)]
    return parts.whole()


def mutate(unit, numbers):
    """Changes columns of a unit."""
    step, common, columns = split_columns(unit)
    for _ in range(numbers.choice((1, 1, 1, 2, 3))):
        column = numbers.choice([column for column in columns.values() if column])
        at, kind = numbers.randrange(len(column)), numbers.randrange(20)
        if kind < 8:
            column[at] ^= 1 << numbers.randrange(8)
        elif kind < 13:
            column[at] = numbers.choice(ODD)
        elif kind < 15 and len(column) > 1:
            del column[at]
        elif kind < 17:
            column.insert(at, numbers.choice(ODD))
        else:
            step, common = numbers.choice(STEPS), numbers.choice((common, 0, 1, 2 ** 40, 2 ** 63 - 1, 2 ** 64 - 1))
    return join_columns(step, common, columns)


class Test:
    """Runs the program in a folder of its own, and counts failures."""

    def __init__(self, tracebed, folder):
        self.tracebed, self.path, self.out = tracebed, os.path.join(folder, "trace"), os.path.join(folder, "out")
        self.done = self.failed = 0

    def expect(self, is_so, *what):
        self.done += 1
        if not is_so:
            self.failed += 1
            print(*what)

    def run(self, *command):
        return subprocess.run([self.tracebed, *command], capture_output=True, check=False)

    def put(self, data):
        with open(self.path, "wb") as file:
            file.write(data)

    # ---- One packed file ----

    def unpack(self, name, data):
        """Compares both ways to unpack; returns (the plain bytes, [lost page], [other checks]), or (None, [], [why])."""
        self.put(data)
        lost, checks = [], []
        try:
            plain = packed_decoder.unpack(data, lambda check, page=None, cell=None: (
                checks.append(check) if page is None else lost.append(page)))
        except decoder.Damage as refused:
            plain, checks = None, [str(refused)]
        run = self.run("unpack", "--partly", "-f", self.path, "-o", self.out)
        code = 2 if plain is None else 1 if lost or checks else 0
        self.expect(run.returncode == code, name, "unpack exits %d, not %d" % (run.returncode, code), run.stderr.decode())
        if plain is not None and run.returncode < 2:
            self.expect(read(self.out) == plain, name, "both unpack to something else")
            told = run.stderr.decode().split(" is lost")[0].split(" are lost")[0].split(" page")[0].split()[-1:]
            self.expect(not lost or told == [str(len(lost))], name, "%d pages are lost" % len(lost), run.stderr.decode())
        whole = self.run("unpack", "-f", self.path, "-o", self.out)
        self.expect(whole.returncode == (0 if code == 0 else 2), name, "unpack without --partly", whole.stderr.decode())
        return plain, sorted(lost), checks

    def list(self, plain, page_size, is_damaged, by_entries=False):
        """Returns the decoder's exit code and lines."""
        damaged = [is_damaged]
        try:
            packed_decoder.check_page_size(plain, page_size)
            trace = decoder.open_trace(plain, lambda *_, damage=True: damaged.append(damage))
        except decoder.Damage:
            return 2, []
        trace.goes_by_entries = by_entries
        lines = [json.loads(json.dumps(line)) for line in decoder.list_trace(trace)]
        return 1 if any(damaged) else 0, lines

    def compare_listing(self, name, plain, page_size, is_damaged):
        """The program's listing of the file in place and the decoder's of the plain bytes."""
        code, lines = self.list(plain, page_size, is_damaged)
        run = self.run("dump", "--json", "--order=stream", self.path)
        if 2 in (code, run.returncode):
            self.expect(code == run.returncode, name, "decoder exits %d, dump %d" % (code, run.returncode), run.stderr.decode())
            return
        found = [json.loads(line) for line in run.stdout.splitlines()]
        difference = first_difference(lines, found, code)
        if difference and not first_difference(self.list(plain, page_size, is_damaged, True)[1], found, code):
            difference = None
        self.expect(not difference, name, difference)
        verified = self.run("verify", "--json", self.path)
        self.expect(verified.returncode == code, name, "decoder exits %d, verify %d" % (code, verified.returncode))

    def agree(self, name, data):
        plain, lost, checks = self.unpack(name, data)
        if plain is not None:
            self.compare_listing(name, plain, PackedFile(data).page_size, bool(lost or checks))
        return plain, lost, checks

    # ---- All of them ----

    def test_round_trip(self, path):
        name, data = os.path.relpath(path, GOLDEN), read(path)
        run = self.run("pack", "-f", path, "-o", self.out)
        try:
            decoder.open_trace(data, lambda *_, **__: None)
        except decoder.Damage:
            self.expect(run.returncode == 2, name, "pack exits %d, and the decoder refuses it" % run.returncode)
            return
        self.expect(run.returncode == 0, name, "pack exits %d" % run.returncode, run.stderr.decode())
        if run.returncode == 0:
            plain, lost, checks = self.unpack(name, read(self.out))
            self.expect(plain == data and not lost and not checks, name, "is not the same after packing", lost, checks)

    def test_golden_traces(self):
        for path in sorted(glob.glob(os.path.join(GOLDEN, "*valid", "*.tbed"))):
            self.test_round_trip(path)

    def test_examples(self):
        """The page's examples: a file of one page of zeros."""
        with open(os.path.join(HERE, "packed.md"), encoding="utf-8") as page:
            examples = dict(re.findall(r"```hex packed (\w+)\n([^`]*)```", page.read()))
        unit = plain_unit([bytes(4096)])
        self.expect(bytes.fromhex(examples.pop("header")) == header(4096, 4096), "the header of the page differs")
        self.expect(bytes.fromhex(examples.pop("unit")) == unit_head(UNIT_MAGIC, (0,), unit) + unit[:1], "the unit of the page differs")
        self.expect(not examples, "no test for", *examples)

    def test_golden_packed(self):
        for name, source, lost, check in expected_files():
            data = read(os.path.join(GOLDEN, "packed", name + ".tbed"))
            plain, found_lost, checks = self.agree(name, data)
            self.expect(checks == ([check] if check else []), name, "found", checks)
            self.expect(found_lost == lost, name, "lost", found_lost)
            if source is None:
                self.expect(plain is None, name, "is read")
                continue
            original, size = bytearray(read(os.path.join(GOLDEN, "valid", source + ".tbed"))), Parts(data).page_size
            for page in lost:
                original[page * size:(page + 1) * size] = bytes(len(original[page * size:(page + 1) * size]))
            self.expect(plain == original, name, "has other bytes than", source)

    def packed(self, source):
        self.run("pack", "-f", os.path.join(GOLDEN, "valid", source + ".tbed"), "-o", self.out)
        return read(self.out)

    def test_flips(self):
        """A bit of each unit's head, page numbers and packed bytes costs its pages, with the index and without."""
        for source in DAMAGED:
            data = self.packed(source)
            file = PackedFile(data)
            index = file.find_index()
            for unit in file.units:
                starts = unit.offset + HEAD.size + 4 * len(unit.pages)
                for at in (unit.offset, unit.offset + 8, unit.offset + 16, unit.offset + HEAD.size, starts, starts + unit.packed_nbytes - 1):
                    changed = data[:at] + bytes([data[at] ^ 4]) + data[at + 1:]
                    _, lost, _ = self.unpack("%s, byte %d" % (source, at), changed)
                    self.expect(lost == sorted(unit.pages), source, "byte %d: lost %s" % (at, lost))
                    self.unpack("%s, byte %d, without the index" % (source, at), changed[:index[0]])
                self.agree("%s, page %d" % (source, unit.pages[0]), data[:starts] + bytes(8) + data[starts + 8:])

    def test_cuts(self):
        for source in DAMAGED:
            data = self.packed(source)
            file = PackedFile(data)
            borders = {8, 12, HEADER.size, file.find_index()[0], file.find_index()[0] + HEADER.size, len(data) - TRAILER.size, len(data)}
            for unit in file.units:
                starts = unit.offset + HEAD.size + 4 * len(unit.pages)
                borders |= {unit.offset, unit.offset + HEAD.size, starts, rounded_up(starts + unit.packed_nbytes)}
            for border in sorted(borders):
                for end in (border - 1, border, border + 1):
                    if 8 <= end < len(data):
                        _, lost, checks = self.unpack("%s, cut at %d" % (source, end), data[:end])
                        self.expect(checks, source, "cut at %d: not noticed" % end)
            self.agree("%s, cut" % source, data[:file.units[-1].offset])

    def test_sizes_that_lie(self):
        for source in ("events", "strings"):
            parts = Parts(self.packed(source))
            body, index = parts.body(), parts.index()
            for at in (8, 12, 13, 14, 16, 17, 20, 23, 24, 31, 32, 55):
                for place in (body, index):
                    for flip in (1, 128):
                        changed = bytearray(place)
                        changed[at] ^= flip
                        whole = parts.whole(bytes(changed), index) if place is body else parts.whole(body, bytes(changed))
                        self.unpack("%s, header byte %d" % (source, at), whole)
            self.agree("%s, in larger pages" % source, in_larger_pages(source))
            for at in range(HEADER.size, len(index)):
                changed = bytearray(index)
                changed[at] ^= 1 << at % 8
                self.unpack("%s, index byte %d" % (source, at), parts.whole(body, bytes(changed)))

    def test_columns(self):
        """Units whose columns are changed at random, with right checksums."""
        numbers = random.Random(1)
        files = [Parts(self.packed(source)) for source in COLUMNAR_SOURCES]
        for i in range(MUTANTS):
            parts = numbers.choice(files)
            unit = numbers.choice([unit for unit in parts.units if unit[1][0] == COLUMNAR])
            mutant = pages, packed = unit[0], mutate(unit[1], numbers)
            units, parts.units = parts.units, [mutant if each is unit else each for each in parts.units]
            if 0 < len(packed) <= 1 + len(pages) * parts.page_size:
                self.unpack("mutant %d" % i, parts.whole())
            parts.units = units


def main():
    with tempfile.TemporaryDirectory(prefix="tracebed-packed-") as folder, contextlib.redirect_stderr(io.StringIO()):
        test = Test(sys.argv[1], folder)
        for path in sys.argv[2:]:
            test.test_round_trip(path)
        test.test_examples()
        test.test_golden_traces()
        test.test_golden_packed()
        test.test_flips()
        test.test_cuts()
        test.test_sizes_that_lie()
        test.test_columns()
    print("%d passed, %d failed" % (test.done - test.failed, test.failed))
    return 1 if test.failed or not test.done else 0


if __name__ == "__main__":
    sys.exit(main())
