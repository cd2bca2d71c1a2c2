# SPDX-License-Identifier: MIT
"""Puts packed traces together, for tests and golden files: also such as 'tracebed pack' never writes.

Nothing is compressed here. Units come from packed files, and are stored again as they are or in another way.
"""
import struct

from packed_decoder import ENTRY_MAGIC, HEAD, HEADER, MAGIC, TRAILER, TRAILER_MAGIC, UNIT_MAGIC, PackedFile
from packed_units import COLUMNAR, COLUMNS, HEAD_NBYTES_MAX, PLAIN, ZSTD, Column, decompress_frame
from xxh3 import xxh3_64
from zstd_decoder import BLOCK_MAX


def number(value):
    """LEB128."""
    content = b""
    while value > 127:
        content, value = content + bytes([value & 127 | 128]), value >> 7
    return content + bytes([value])


# ---- Units ----

def plain_unit(pages):
    return bytes([PLAIN]) + b"".join(pages)


def frame(content):
    """A frame of Zstandard, of one segment, with its size in four bytes. Its blocks are stored; zeros at its end are one byte."""
    stored = content.rstrip(b"\0")
    parts = [stored[at:at + BLOCK_MAX] for at in range(0, len(stored), BLOCK_MAX)]
    blocks = [(len(part) << 3).to_bytes(3, "little") + part for part in parts]
    for left in range(len(content) - len(stored), 0, -BLOCK_MAX):
        blocks.append((2 | min(left, BLOCK_MAX) << 3).to_bytes(3, "little") + b"\0")
    return struct.pack("<IBI", 0xFD2FB528, 0xA0, len(content)) + b"".join(blocks) + b"\1\0\0"


def zstd_unit(pages):
    return bytes([ZSTD]) + frame(b"".join(pages))


def split_columns(packed):
    """Returns (step, common, {name: the column, unpacked}) of a unit."""
    source, columns = Column(packed[1:]), {}
    step, common = source.number(HEAD_NBYTES_MAX), source.number(HEAD_NBYTES_MAX)
    for name in COLUMNS:
        head = source.number()
        data = source.take(source.number()) if head & 1 else source.take(head // 2)
        columns[name] = bytearray(decompress_frame(data, head // 2) if head & 1 else data)
    return step, common, columns


def join_columns(step, common, columns, in_frames=()):
    """A unit, with some of the columns in frames."""
    content = bytes([COLUMNAR]) + number(step) + number(common)
    for name, column in columns.items():
        column = bytes(column)
        is_framed = name in in_frames
        packed = frame(column) if is_framed else column
        content += number(2 * len(column) + is_framed) + (number(len(packed)) if is_framed else b"") + packed
    return content


# ---- Files ----

def header(page_size, plain_nbytes, version=1, flags=0, zeros=bytes(24), magic=MAGIC):
    fields = HEADER.pack(magic, version, page_size, plain_nbytes, flags, zeros, 0)[:-8]
    return fields + struct.pack("<Q", xxh3_64(fields))


def unit_checksum(pages, packed):
    head = HEAD.pack(UNIT_MAGIC, len(pages), len(packed), 0, 0)[:-8]
    return xxh3_64(packed, xxh3_64(struct.pack("<%dI" % len(pages), *pages), xxh3_64(head)))


def unit_head(magic, pages, packed):
    return HEAD.pack(magic, len(pages), len(packed), 0, unit_checksum(pages, packed)) + struct.pack("<%dI" % len(pages), *pages)


def trailer(start, index):
    fields = TRAILER.pack(TRAILER_MAGIC, start, len(index), xxh3_64(index), 0)[:-8]
    return fields + struct.pack("<Q", xxh3_64(fields))


class Parts:
    """What a packed file consists of: a header, units as [(pages, packed bytes)], and an index of the same units."""

    def __init__(self, data):
        file = PackedFile(data)
        self.page_size, self.plain_nbytes = file.page_size, file.plain_nbytes
        self.header = header(self.page_size, self.plain_nbytes)
        self.units = [(unit.pages, file.packed_bytes(unit)) for unit in file.units]

    def body(self):
        """The file up to the index."""
        content = self.header
        for pages, packed in self.units:
            content += unit_head(UNIT_MAGIC, pages, packed) + packed
            content += bytes(-len(content) % 8)
        return content

    def index(self):
        return self.header + b"".join(unit_head(ENTRY_MAGIC, pages, packed) for pages, packed in self.units)

    def whole(self, body=None, index=None):
        body, index = body or self.body(), index or self.index()
        return body + index + trailer(len(body), index)
