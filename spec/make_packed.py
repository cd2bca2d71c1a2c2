#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_packed.py TRACEBED FOLDER: writes the golden packed files, made of traces of golden/valid, to FOLDER.

FOLDER/expected.txt lists what each holds. 'tracebed pack' makes the columns; other versions of libzstd may compress them to
other bytes, so that only changes of the format make it necessary to write the files again.
"""
import os
import struct
import subprocess
import sys
import tempfile

from packed_writer import HEAD, HEADER, Parts, frame, header, join_columns, number, plain_unit, split_columns, zstd_unit
from xxh3 import xxh3_64

HERE = os.path.dirname(os.path.abspath(__file__))
VALID = os.path.join(HERE, "golden", "valid")
EXPECTED = """# What a reader makes of each golden packed file; written by make_packed.py, beside the files.
# FILE SOURCE LOST CHECKS
# SOURCE: the plain trace in golden/valid that it holds. LOST: its pages that are lost with damaged units, '-' for none.
# CHECKS: what is wrong with the file besides, '-' for nothing; with SOURCE '-', why it is refused.
"""


class Golden:
    """Writes golden files, and lists them."""

    def __init__(self, tracebed, folder):
        self.tracebed, self.folder, self.lines = tracebed, folder, []

    def parts(self, source):
        with tempfile.TemporaryDirectory() as scratch:
            out = os.path.join(scratch, "out")
            subprocess.run([self.tracebed, "pack", os.path.join(VALID, source + ".tbed"), "-o", out], check=True,
                           stdout=subprocess.DEVNULL)
            with open(out, "rb") as file:
                return Parts(file.read())

    def write(self, name, data, source="-", lost="-", check="-"):
        with open(os.path.join(self.folder, name + ".tbed"), "wb") as file:
            file.write(data)
        self.lines.append("%s %s %s %s\n" % (name, source, lost, check))

    def finish(self):
        with open(os.path.join(self.folder, "expected.txt"), "w", encoding="ascii") as file:
            file.write(EXPECTED + "".join(self.lines))


def pages_of(source, size):
    with open(os.path.join(VALID, source + ".tbed"), "rb") as file:
        data = file.read()
    return [data[at:at + size].ljust(size, b"\0") for at in range(0, len(data), size)]


def is_columnar(packed):
    return packed[0] == 2


def in_columns(parts):
    """The number of the largest unit in columns."""
    return max((i for i, (_, packed) in enumerate(parts.units) if is_columnar(packed)), key=lambda i: len(parts.units[i][1]))


def change_columns(parts, change, in_frames=()):
    """Stores the columns of the units again, after a change."""
    for i, (pages, packed) in enumerate(parts.units):
        if is_columnar(packed):
            step, common, columns = split_columns(packed)
            change(columns)
            parts.units[i] = pages, join_columns(step, common, columns, in_frames)
    return parts


def make_intact(golden):
    for source in ("events", "strings", "records", "recursion", "directory", "killed", "ring", "interrupted"):
        golden.write("packed_" + source, golden.parts(source).whole(), source)
    for name, make in (("plain", plain_unit), ("zstd", zstd_unit)):
        parts = golden.parts("recorded")
        pages = pages_of("recorded", parts.page_size)
        parts.units = [(numbers, make([pages[number] for number in numbers])) for numbers, _ in parts.units]
        golden.write("units_" + name, parts.whole(), "recorded")
    golden.write("columns_stored", change_columns(golden.parts("recorded"), lambda columns: None).whole(), "recorded")
    everything = change_columns(golden.parts("recorded"), lambda columns: None, split_columns(golden.parts("recorded").units[-1][1])[2])
    golden.write("columns_in_frames", everything.whole(), "recorded")
    parts = golden.parts("recorded")
    parts.units.reverse()
    golden.write("units_in_another_order", parts.whole(), "recorded")
    parts = golden.parts("recorded")
    pages = pages_of("recorded", parts.page_size)
    parts.units = [(numbers, plain_unit([pages[number] for number in numbers])) for numbers in ((4, 0, 3), (2, 1))]
    golden.write("pages_in_another_order", parts.whole(), "recorded")


def make_headers(golden):
    parts = golden.parts("strings")
    size, nbytes = parts.page_size, parts.plain_nbytes
    damaged = parts.header[:13] + bytes([parts.header[13] ^ 1]) + parts.header[14:]
    body, index = parts.body(), parts.index()
    golden.write("PACKED_HEADER", parts.whole(damaged + body[HEADER.size:]), "strings", check="PACKED_HEADER")
    golden.write("PACKED_HEADER-and_no_index", damaged + body[HEADER.size:], check="PACKED_HEADER")
    golden.write("PACKED_HEADER-cut", body[:HEADER.size - 1], check="PACKED_HEADER")
    changes = {"PACKED_HEADER-page_size": {"page_size": 3 * size}, "PACKED_HEADER-size": {"plain_nbytes": 0},
               "PACKED_HEADER-large": {"plain_nbytes": (2 ** 32 - 1) * size + 1}, "PACKED_HEADER-zeros": {"zeros": bytes(23) + b"\1"},
               "VERSION": {"version": 2}, "FLAGS": {"flags": 1}}
    for name, change in changes.items():
        bad = header(**{"page_size": size, "plain_nbytes": nbytes, **change})
        golden.write(name, parts.whole(bad + body[HEADER.size:], bad + index[HEADER.size:]), check=name.split("-")[0])


def make_indices(golden):
    parts = golden.parts("strings")
    body, index = parts.body(), parts.index()
    golden.write("PACKED_INDEX", parts.whole()[:-1], "strings", check="PACKED_INDEX")
    golden.write("PACKED_INDEX-none", body, "strings", check="PACKED_INDEX")
    golden.write("PACKED_INDEX-checksum", body + index[:-1] + b"\xFF" + parts.whole()[len(body) + len(index):], "strings",
                 check="PACKED_INDEX")
    pages, packed = parts.units[-1]
    golden.write("PACKED_INDEX-cut_in_a_unit", body[:body.rindex(packed) + len(packed) - 1], "strings",
                 ",".join(map(str, sorted(pages))), "PACKED_INDEX")


def damaged_unit(golden, name, source, change, check="-"):
    """Writes a file in which the packed bytes of one unit are others, and the checksums are right."""
    parts = golden.parts(source)
    i = in_columns(parts)
    pages, packed = parts.units[i]
    parts.units[i] = pages, change(packed, len(pages) * parts.page_size)
    golden.write(name, parts.whole(), source, ",".join(map(str, sorted(pages))), check)


def with_columns(change):
    def changed(packed, _):
        step, common, columns = split_columns(packed)
        change(columns)
        return join_columns(step, common, columns)
    return changed


def longer(name, *more):
    return with_columns(lambda columns: columns[name].extend(more))


def make_units(golden):
    parts = golden.parts("events")
    i = in_columns(parts)
    pages, packed = parts.units[i]
    body = parts.body()
    at = body.index(packed) + len(packed) // 2
    lost = ",".join(map(str, pages))
    golden.write("PACKED_UNIT", parts.whole(body[:at] + bytes([body[at] ^ 1]) + body[at + 1:]), "events", lost)
    at = body.index(packed) - 4 * len(pages) - HEAD.size
    golden.write("PACKED_UNIT-head", parts.whole(body[:at] + b"unit" + body[at + 4:]), "events", lost)
    step, common, columns = split_columns(packed)
    damages = {
        "method": lambda packed, _: b"\3" + packed[1:], "step": lambda packed, _: join_columns(65535, common, columns),
        "large_step": lambda packed, _: join_columns((1 << 48) + 1, common, columns),
        "ten_bytes": lambda packed, _: packed[:1] + b"\x80" * 9 + b"\1" + packed[4:],
        "after_its_end": lambda packed, _: packed + b"\0", "columns_cut": lambda packed, _: packed[:-1],
        "too_many_columns": lambda packed, nbytes: packed[:1] + number(1 << 16) + number(0) + number(2 * 2 * nbytes + 2),
        "plain": lambda packed, nbytes: b"\0" + bytes(nbytes - 1), "frame": lambda packed, nbytes: b"\1" + frame(bytes(nbytes - 1)),
        "two_frames": lambda packed, nbytes: b"\1" + frame(bytes(nbytes)) + frame(b""),
        "no_frame": lambda packed, nbytes: b"\1" + struct.pack("<II", 0x184D2A50, 0) + frame(bytes(nbytes)),
        "column_too_long": longer("text", 0), "bits_too_long": longer("bits", 0), "run_goes_on": with_columns(lambda c: c["run"].__setitem__(-1, 254)),
        "miss": with_columns(lambda c: c["miss"].__setitem__(0, 3)), "token_0": with_columns(lambda c: c["miss"].__setitem__(0, 2)),
        "tag": with_columns(lambda c: c["new_tag"].__setitem__(0, 7)), "class": with_columns(lambda c: c["tick_class"].__setitem__(0, 250)),
    }
    for name, change in damages.items():
        damaged_unit(golden, "PACKED_UNIT-" + name, "events", change)
    parts = golden.parts("events")
    pages, packed = parts.units[0]
    parts.units.append(((0,), packed))
    golden.write("PACKED_UNIT-page_twice", parts.whole(), "events", check="PACKED_UNIT")
    parts.units[-1] = (1000,), packed
    golden.write("PACKED_UNIT-page_beyond", parts.whole(), "events", check="PACKED_UNIT")


def main():
    golden = Golden(*sys.argv[1:3])
    make_intact(golden)
    make_headers(golden)
    make_indices(golden)
    make_units(golden)
    golden.finish()


if __name__ == "__main__":
    main()
