"""
Reads traces for the Ruby extension's tests, with functions of the independent decoder: units with their lines, and
events by stream. Checksums are not verified; 'tracebed verify' does that.

SPDX-License-Identifier: MIT
"""

import bisect
import collections
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "spec"))
import decoder  # noqa: E402

FREE = 7
Unit = collections.namedtuple("Unit", "first_id id_count name path first_line pcs lines")


class RubyTrace:
    def __init__(self, path):
        data = decoder.load(path)
        self.trace = decoder.open_trace(data, lambda *_, **__: None)
        self.trace.shut = False
        self.blocks = list(self.find_blocks())
        self.types = {}  # id -> (location, id of the class's name)
        units, lines = self.read_records()
        for block in self.blocks:
            if block.kind == decoder.STRINGS:
                self.trace.strings.setdefault(block.ordinal, []).append(block)
        self.units = sorted(self.make_unit(unit, lines) for unit in units)
        self.firsts = [unit.first_id for unit in self.units]

    def find_blocks(self):
        data, size = self.trace.data, self.trace.page_size
        for start in range(size, len(data) - size + 1, size):
            page = decoder.Block(data, start, size)
            if page.kind == decoder.CELLS:
                cell_size = 1 << page.shift
                cells = (decoder.Block(data, at, cell_size) for at in range(start + cell_size, start + size, cell_size))
                yield from (cell for cell in cells if cell.kind)
            elif page.kind:
                yield page

    def read_records(self):
        data, units, lines = self.trace.data, [], collections.defaultdict(list)
        for block in self.blocks:
            at = block.content
            while block.kind == decoder.RECORDS and at < block.end and decoder.u64(data, at):
                type, _, nbytes = struct.unpack_from("<HHI", data, at)
                if type == decoder.UNIT:
                    units.append(struct.unpack_from("<7I", data, at + 8))
                elif type == decoder.LINES:
                    first, count = struct.unpack_from("<2I", data, at + 8)
                    numbers = struct.unpack_from(f"<{2 * count}I", data, at + 16)
                    lines[first] += zip(numbers[::2], numbers[1::2])
                elif type in (decoder.BIND, decoder.BIND_LIST):
                    decoder.add_bindings(self.trace, at, type)
                elif type == decoder.TYPES:
                    first, count = struct.unpack_from("<2I", data, at + 8)
                    for i in range(count):
                        self.types[first + i] = struct.unpack_from("<2I", data, at + 16 + 8 * i)
                at += nbytes
        return units, lines

    def make_unit(self, unit, lines):
        first, count, _, _, name, path, first_line = unit
        pairs = lines.get(first, [])
        return Unit(first, count, self.text(name), self.text(path), first_line, [pc for pc, _ in pairs],
                    [line for _, line in pairs])

    def text(self, id):
        return decoder.name_of(self.trace, id)

    def unit_of(self, id):
        id = self.types.get(id, (id, None))[0]
        at = bisect.bisect_right(self.firsts, id) - 1
        return self.units[at] if at >= 0 and id < self.units[at].first_id + self.units[at].id_count else None

    def place(self, id):
        """Returns (path, line), or None if the id is not a location."""
        unit = self.unit_of(id)
        if unit is None:
            return None
        id = self.types.get(id, (id, None))[0]
        at = bisect.bisect_right(unit.pcs, id - unit.first_id) - 1
        return unit.path, unit.lines[at] if at >= 0 else unit.first_line

    def slots(self, at):
        data = self.trace.data
        address, distance, nbytes = decoder.u64(data, at + 16), decoder.u64(data, at + 32), decoder.u64(data, at + 40) >> 8
        bits = int.from_bytes(data[at + 48 : at + 48 + (nbytes & 0xFFFFFF)], "little")
        while bits:
            lowest = bits & -bits
            yield address + distance * (lowest.bit_length() - 1)
            bits ^= lowest

    def inherited(self):
        """stream -> the spans that its first block begins with: a forked child's."""
        data, found = self.trace.data, {}
        for block in self.blocks:
            if block.kind == decoder.EVENTS and block.sequence == 0:
                spans = range(block.start + 64, block.content, 16)
                found[block.stream] = [decoder.u32(data, at + 8) for at in spans]
        return found

    def events(self):
        for *event, _ in self.events_at():
            yield tuple(event)

    def events_at(self):
        """(stream, tag, id, second word or 0, where it is), each stream in order; extended records with their type as
        tag + 100. A FREE of slots comes as a FREE for each."""
        data = self.trace.data
        for block in sorted((block for block in self.blocks if block.kind == decoder.EVENTS),
                            key=lambda block: (block.stream, block.sequence)):
            at, end = block.content, block.end
            while at < end:
                word = decoder.u64(data, at)
                if word == 0:
                    break
                tag, nwords, second = word >> 30 & 7, 1, 0
                if tag in (5, 6):
                    second = decoder.u64(data, at + 8)
                    nwords = 2 if tag == 5 else 1 + (second >> 16 & 0xFFFF)
                    tag = tag if tag == 5 else 100 + (second & 0xFF)
                if tag == 100 + FREE and second >> 8 & 0xFF == 2:
                    for address in self.slots(at):
                        yield block.stream, 5, word & decoder.ID_MAX, 2 << 60 | address, at
                elif tag != 4:
                    yield block.stream, tag, word & decoder.ID_MAX, second, at
                at += 8 * nwords
