"""
Writes the small files of spall that the tests import, and seeds of its fuzz target: the layout is that of
reader/exchange/spall/spall_walk.h.

    make_spall.py FOLDER

SPDX-License-Identifier: MIT
"""

import os
import struct
import sys


def header(version, unit):
    return struct.pack("<QQdQ", 0x0BADF00D, version, unit, 0)


def begin(ticks, name, args=b""):
    return struct.pack("<BQBB", 3, ticks, len(name), len(args)) + name + args


def end(ticks):
    return struct.pack("<BQ", 4, ticks)


def name_of(kind, name):
    return struct.pack("<BB", kind, len(name)) + name


def pad(nbytes):
    return struct.pack("<BI", 7, nbytes) + bytes(nbytes)


def unit(value):
    return struct.pack("<Bd", 6, value)


def buffer(pid, tid, records, first=0):
    return struct.pack("<IIIQ", len(records), tid, pid, first) + records


def begin1(pid, tid, time, name, args=b""):
    return struct.pack("<BBIIdBB", 3, 0, pid, tid, time, len(name), len(args)) + name + args


def end1(pid, tid, time):
    return struct.pack("<BIId", 4, pid, tid, time)


def threads():
    """Two processes, three threads, arguments, names, a pad, spans that stay open, an end without a begin."""
    main = name_of(8, b"game") + name_of(9, b"main") + begin(1000, b"frame", b'{"n": 1}') + begin(1500, b"draw") + pad(3)
    main += end(2500) + begin(3000, b"draw") + end(3001) + end(5000) + end(6000)
    worker = begin(1200, b"job \xff;\"") + end(1200) + begin(7000, b"never ends")
    other = name_of(8, b"server") + begin(2 ** 63 + 5, b"late") + end(2 ** 63 + 7)
    return header(3, 0.5) + buffer(10, 11, main, 1000) + buffer(10, 12, worker) + buffer(20, 21, other)


def version_1():
    return header(1, 1.0) + begin1(1, 2, 10.25, b"outer", b"x=1") + begin1(1, 2, 11.0, b"inner") \
        + begin1(1, 3, 10.5, b"elsewhere") + end1(1, 2, 12.5) + end1(1, 3, 13.0) + end1(1, 2, 20.0)


def replaced_unit():
    return header(3, 1.0) + buffer(1, 1, begin(100, b"work") + end(200) + unit(0.001))


def damaged():
    """A custom record takes the rest of its buffer; the next buffer is longer than the file."""
    lost = begin(10, b"kept") + end(20) + b"\x01\xee\xee" + begin(30, b"lost")
    return header(3, 1.0) + buffer(1, 1, lost) + buffer(1, 2, begin(40, b"too") + end(50) + begin(60, b"cut off"))[:-3]


FILES = {
    "threads.spall": threads,
    "version_1.spall": version_1,
    "replaced_unit.spall": replaced_unit,
    "damaged.spall": damaged,
}


def main():
    for name, make in FILES.items():
        with open(os.path.join(sys.argv[1], name), "wb") as file:
            file.write(make())


if __name__ == "__main__":
    main()
