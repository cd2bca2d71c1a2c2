#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""packed_decoder.py FILE [OUT]: the independent decoder of packed traces: gives back the plain bytes of FILE.

It is written from spec/packed.md; units are unpacked by packed_units.py. Pages that are lost with a damaged unit are zeros.
decoder.py lists packed files as it lists plain ones.

Exit codes: 0 everything was read; 1 part of the file is damaged and left out; 2 the file was refused.
"""
import os
import stat
import struct
import sys
from collections import namedtuple

from decoder_file import Damage, find_copy, is_zero, need, read_fixed, read_header
from packed_units import BLOCKS_MAX, NBYTES_MAX, unpack_unit
from xxh3 import xxh3_64

MAGIC, UNIT_MAGIC, ENTRY_MAGIC, TRAILER_MAGIC = b"tbedpack", b"UNIT", b"ENTR", b"packends"
HEADER = struct.Struct("<8sIIQQ24sQ")
HEAD = struct.Struct("<4sIIIQ")
TRAILER = struct.Struct("<8sQQQQ")
EVENTS = 1

Unit = namedtuple("Unit", "offset pages packed_nbytes checksum")


def is_packed(data):
    return data[:8] == MAGIC


def rounded_up(nbytes):
    return (nbytes + 7) // 8 * 8


class PackedFile:
    """The header and the units of a packed file. 'problem' names the check that the file as a whole failed, or is None."""

    def __init__(self, data):
        self.data, self.units, self.owners, self.problem = data, [], {}, None
        index = self.find_index()
        self.read_header(index)
        self.page_count = -(-self.plain_nbytes // self.page_size)
        if index:
            self.take_index(*index)
        else:
            self.note("PACKED_INDEX")
            self.search()

    def note(self, check):
        self.problem = self.problem or check

    # ---- The header, and its copy in the index ----

    def check_header(self, data, at):
        need(len(data) >= at + HEADER.size, "PACKED_HEADER")
        magic, version, page_size, plain_nbytes, flags, zeros, checksum = HEADER.unpack_from(data, at)
        need(version == 1, "VERSION")
        need(checksum == xxh3_64(data[at:at + HEADER.size - 8]), "PACKED_HEADER")
        need(flags == 0, "FLAGS")
        need(page_size in [1 << shift for shift in range(12, 21)], "PACKED_HEADER")
        need(plain_nbytes and (plain_nbytes - 1) // page_size < 2 ** 32 - 1, "PACKED_HEADER")
        need(not any(zeros), "PACKED_HEADER")
        self.page_size, self.plain_nbytes = page_size, plain_nbytes

    def read_header(self, index):
        try:
            self.check_header(self.data, 0)
        except Damage as damage:
            if not index:
                raise
            try:
                self.check_header(self.data, index[0])
            except Damage:
                raise damage from None
            self.note("PACKED_HEADER")

    # ---- Units ----

    def read_head(self, at, end, magic):
        """Returns (the unit, where its head ends) or None, if there is no such head. The unit has no offset yet."""
        if end - at < HEAD.size:
            return None
        found, count, packed_nbytes, zero, checksum = HEAD.unpack_from(self.data, at)
        count_max = min(BLOCKS_MAX, NBYTES_MAX // self.page_size)
        if found != magic or zero or not 1 <= count <= count_max or end - at < HEAD.size + 4 * count:
            return None
        if not 1 <= packed_nbytes <= 1 + count * self.page_size:
            return None
        pages = struct.unpack_from("<%dI" % count, self.data, at + HEAD.size)
        return Unit(None, pages, packed_nbytes, checksum), at + HEAD.size + 4 * count

    def packed_bytes(self, unit):
        """Returns the packed bytes of a unit, or None if it is damaged."""
        head = self.read_head(unit.offset, len(self.data), UNIT_MAGIC)
        if not head or head[0] != unit._replace(offset=None) or head[1] + unit.packed_nbytes > len(self.data):
            return None
        at, start = unit.offset, head[1]
        packed = self.data[start:start + unit.packed_nbytes]
        checksum = xxh3_64(self.data[at:at + HEAD.size - 8])
        checksum = xxh3_64(packed, xxh3_64(self.data[at + HEAD.size:start], checksum))
        return packed if checksum == unit.checksum else None

    def are_free(self, unit):
        return len(set(unit.pages)) == len(unit.pages) and all(
            page < self.page_count and page not in self.owners for page in unit.pages)

    def add(self, unit):
        if not self.are_free(unit):
            self.note("PACKED_UNIT")
            return
        self.units.append(unit)
        self.owners.update(dict.fromkeys(unit.pages, unit))

    # ---- With the index, and without ----

    def find_index(self):
        """Returns (start, end) of the index, or None."""
        end = len(self.data) - TRAILER.size
        if end < HEADER.size:
            return None
        magic, start, nbytes, index_checksum, checksum = TRAILER.unpack_from(self.data, end)
        if magic != TRAILER_MAGIC or checksum != xxh3_64(self.data[end:end + TRAILER.size - 8]):
            return None
        if start > end or nbytes != end - start or nbytes < HEADER.size or index_checksum != xxh3_64(self.data[start:end]):
            return None
        return start, end

    def take_index(self, start, end):
        at, offset = start + HEADER.size, HEADER.size
        while at < end:
            head = self.read_head(at, end, ENTRY_MAGIC)
            nbytes = head and rounded_up(head[1] - at + head[0].packed_nbytes)
            if not head or nbytes > start - offset:
                self.note("PACKED_INDEX")
                break
            self.add(head[0]._replace(offset=offset))
            offset, at = offset + nbytes, head[1]

    def search(self):
        """Finds the units by their heads; those that are damaged get the pages that no other one has."""
        damaged, at = [], HEADER.size
        while at < len(self.data):
            head = self.read_head(at, len(self.data), UNIT_MAGIC)
            unit = head and head[0]._replace(offset=at)
            if unit and self.packed_bytes(unit):
                self.add(unit)
                at += rounded_up(head[1] - at + unit.packed_nbytes)
            else:
                damaged += [unit] if unit else []
                at += 8
        for unit in filter(self.are_free, damaged):
            self.add(unit)

    # ---- Pages ----

    def pages_of(self, unit):
        """Returns {page: its bytes}, or None if the unit is damaged."""
        packed = self.packed_bytes(unit)
        try:
            plain = packed and unpack_unit(packed, len(unit.pages), self.page_size)
        except ValueError:
            plain = None
        if not plain:
            return None
        pages = {page: plain[i * self.page_size:(i + 1) * self.page_size] for i, page in enumerate(unit.pages)}
        last = pages.get(self.page_count - 1)
        left = self.plain_nbytes - (self.page_count - 1) * self.page_size
        return pages if last is None or is_zero(last, left, self.page_size) else None

    def unpack(self, tell):
        """Returns the plain bytes; calls 'tell' for each page that is lost."""
        plain = bytearray(self.plain_nbytes)
        if self.problem:
            tell(self.problem)
        for unit in self.units:
            pages = self.pages_of(unit)
            for page in unit.pages:
                start = page * self.page_size
                if pages:
                    nbytes = min(self.page_size, self.plain_nbytes - start)
                    plain[start:start + nbytes] = pages[page][:nbytes]
                else:
                    tell("PACKED_UNIT", page, 0)
        return bytes(plain)


def unpack(data, tell):
    """Returns the plain bytes of a packed file; 'tell' is called as by decoder.py. Raises Damage if it cannot be read."""
    return PackedFile(data).unpack(tell)


def check_page_size(plain, page_size):
    """The pages of a packed file must be those of the trace in it, if that has an intact header."""
    try:
        header = read_header(plain)
    except Damage:
        copy = find_copy(plain)
        if not copy:
            return
        header = read_fixed(copy)
    need(header.page_size == page_size, "PACKED_HEADER")


def load(path, tell=lambda *_, **__: None):
    """Returns the bytes of a trace, and the plain bytes of a packed one; 'tell' is called for what these have lost."""
    mode = os.stat(path).st_mode
    need(not stat.S_ISDIR(mode), "IS_DIRECTORY")
    need(stat.S_ISREG(mode), "NOT_REGULAR")
    with open(path, "rb") as file:
        data = file.read()
    if not is_packed(data):
        return data
    file = PackedFile(data)
    plain = file.unpack(tell)
    check_page_size(plain, file.page_size)
    return plain


def event_sizes(packed, plain):
    """Returns the bytes of all pages with event blocks, plain and packed. The pages of a unit are of one kind."""
    file = PackedFile(packed)
    units = [unit for unit in file.units if plain[unit.pages[0] * file.page_size] == EVENTS and unit.pages[0] > 0]
    return sum(len(unit.pages) for unit in units) * file.page_size, sum(unit.packed_nbytes for unit in units)


def main():
    if len(sys.argv) not in (2, 3):
        print("usage: packed_decoder.py FILE [OUT]", file=sys.stderr)
        return 2
    damaged = []

    def tell(name, page=None, cell=None):
        print("packed_decoder: %s%s" % ("" if page is None else "page %d: " % page, name), file=sys.stderr)
        damaged.append(name)

    try:
        with open(sys.argv[1], "rb") as file:
            data = file.read()
        need(is_packed(data), "NOT_PACKED")
        plain = unpack(data, tell)
    except (Damage, OSError) as refused:
        tell(getattr(refused, "strerror", None) or refused)
        return 2
    with open(sys.argv[2], "wb") if len(sys.argv) == 3 else sys.stdout.buffer as out:
        out.write(plain)
    return 1 if damaged else 0


if __name__ == "__main__":
    sys.exit(main())
