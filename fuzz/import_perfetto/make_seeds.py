"""
Writes seeds with the fields of Perfetto's protobuf that no export of tracebed and no trace of the corpus has.

    make_seeds.py CORPUS

SPDX-License-Identifier: MIT
"""

import gzip
import os
import struct
import sys


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def f64(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


def sized(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def packet(*parts, time=None, sequence=1):
    fields = number(10, sequence) + (number(8, time) if time is not None else b"")
    return sized(1, fields + b"".join(parts))


def event(kind, *parts, track=1):
    return sized(11, number(9, kind) + number(11, track) + b"".join(parts))


BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
PROCESS = packet(sized(60, number(1, 1) + sized(3, number(1, 7) + sized(6, "process"))))
THREAD = packet(sized(60, number(1, 2) + sized(4, number(1, 7) + number(2, 8) + sized(5, "thread")) + number(5, 1)))
COUNTERS = packet(sized(60, number(1, 3) + sized(2, "sum") + sized(8, number(5, 1) + number(4, 1000) + sized(6, "items"))),
                  sequence=1) + packet(sized(60, number(1, 4) + sized(2, "plain") + sized(8, number(3, 3)) + number(5, 1)))
HEAD = packet(number(13, 1)) + PROCESS + THREAD + COUNTERS


def note(name, *value):
    return sized(4, sized(10, name) + b"".join(value))


def notes():
    inner = sized(2, "a") + sized(3, number(5, -4)) + sized(2, "b") + sized(3, f64(6, 0.5)) + sized(2, "c") + sized(3, number(7, 1))
    inner += sized(2, "d") + sized(3, sized(8, 'text "')) + sized(2, "e") + sized(3, sized(4, number(5, 1)) + sized(4, number(7, 0)))
    values = [note("bool", number(2, 1)), note("u64", number(3, 5)), note("i64", number(4, -5)), note("f64", f64(5, 1.5)),
              note("text", sized(6, "x")), note("pointer", number(7, 4096)), note("nested", sized(8, inner)), note("json", sized(9, '{"a":1}')),
              note("known", number(17, 1)), note("unknown", number(17, 9)), note("empty"), note("long", sized(6, "y" * 9000)),
              note("dictionary", sized(11, sized(10, "p") + number(2, 0)) + sized(11, sized(10, "q") + f64(5, -1)) +
                   sized(11, sized(10, "r") + number(4, -9)) + sized(11, sized(10, "s") + number(17, 1)) +
                   sized(11, sized(10, "t") + number(17, 99)) + sized(11, sized(10, "u") + sized(9, "[1]")) +
                   sized(11, sized(10, "v") + number(7, 16)) + sized(11, sized(10, "w") + sized(8, inner))),
              note("array", sized(12, number(2, 1)) + sized(12, sized(6, "z")) + sized(12, number(3, 3)))]
    interned = sized(12, sized(29, number(1, 1) + sized(2, "interned")))
    return HEAD + packet(interned, event(INSTANT, sized(23, "values"), *values, track=2), time=100)


def counters():
    content = packet(event(COUNTER, number(30, 5), track=3), time=10) + packet(event(COUNTER, number(30, -2), track=3), time=20)
    content += packet(event(COUNTER, f64(44, 2.5), track=4), time=30)
    lists = number(31, 3) + number(31, 4) + number(12, 7) + number(12, 8) + number(45, 4) + f64(46, 0.5)
    content += packet(event(BEGIN, sized(23, "with counters"), lists, track=2), time=40)
    packed = sized(31, varint(3) + varint(4)) + sized(12, varint(1) + varint(2)) + sized(45, varint(4)) + sized(46, struct.pack("<dd", 1, 2))
    content += packet(event(END, packed, track=2), time=50)
    defaults = sized(59, sized(11, number(11, 2) + number(31, 3) + number(45, 4)))
    content += packet(defaults) + packet(sized(11, number(9, INSTANT) + sized(23, "by default") + number(12, 3) + f64(46, 4)), time=60)
    lists = sized(31, varint(3) + varint(4) + b"\x80") + sized(45, varint(4)) + sized(31, varint(3) * 40) + f64(45, 1)
    content += packet(sized(59, sized(11, number(11, 2) + lists))) + packet(sized(11, number(9, INSTANT) + sized(12, varint(9) * 40)), time=70)
    content += packet(sized(60, number(1, 9) + sized(8, number(3, 9) + number(4, -5) + number(5, 0) + sized(6, "u" * 300)) + number(5, 2)))
    content += packet(event(COUNTER, number(30, 1 << 62), track=9), time=80) + packet(event(COUNTER, f64(44, 1e300), track=3), time=81)
    return HEAD + content


def legacy():
    def old(phase, *parts):
        return sized(6, number(2, ord(phase)) + b"".join(parts))
    content = b""
    for at, phase in enumerate("BXEiInRTpbneSTFstfCOND(MP"):
        content += packet(sized(11, sized(23, "old " + phase) + sized(22, "cat") + number(11, 2) + old(phase, number(3, 5), number(6, at), sized(7, "scope"))), time=100 + at)
    content += packet(sized(11, sized(23, "long") + number(11, 2) + old("X", number(3, 1 << 62))), time=200)
    content += packet(sized(11, sized(23, "local") + number(11, 2) + old("b", number(10, 3))), time=210)
    content += packet(sized(11, number(1, 5) + sized(23, "delta") + number(9, INSTANT) + number(11, 2)))
    content += packet(sized(11, number(16, 300) + sized(23, "absolute") + number(9, INSTANT) + number(11, 2)))
    return HEAD + content


def marks():
    gap = note("count", number(3, 5))
    content = packet(event(INSTANT, sized(22, "gap"), sized(23, "lost"), gap, track=2), time=10)
    for at, severity in enumerate(["none", "error", "warning", "information", "debug", "odd"]):
        content += packet(event(INSTANT, sized(22, "message"), sized(23, "a text"), note("severity", sized(6, severity)), track=2), time=20 + at)
    content += packet(event(BEGIN, sized(23, "open"), note("never ended", number(2, 1)), track=2), time=40)
    content += packet(event(END, note("never ended", number(2, 1)), track=2), time=50)
    beside = packet(sized(60, number(1, 5) + sized(2, "beside") + number(5, 2)))
    content += beside + packet(event(BEGIN, sized(23, "beside"), note("a", number(3, 1)), track=5), time=60) + packet(event(END, track=5), time=70)
    content += packet(event(BEGIN, sized(23, "beside"), track=5), time=80) + packet(event(BEGIN, sized(23, "beside"), track=5), time=82)
    content += packet(event(END, note("never ended", number(2, 1)), track=5), time=90) + packet(event(END, track=5), time=91)
    content += packet(event(BEGIN, sized(23, "place"), sized(33, sized(2, "a.c") + sized(3, "f") + number(4, 9)), track=2), time=95)
    return HEAD + content


def clocks():
    def clock(number_, time, *more):
        return sized(1, number(1, number_) + number(2, time) + b"".join(more))
    content = packet(sized(6, clock(6, 1000) + clock(1, 1700000000000000000) + clock(64, 5, number(3, 1), number(4, 1000))))
    content += packet(number(58, 64), event(INSTANT, sized(23, "incremental"), track=2), time=3)
    content += packet(number(58, 64), event(INSTANT, sized(23, "again"), track=2), time=4)
    content += packet(number(58, 1), event(INSTANT, sized(23, "real"), track=2), time=1700000000000005000)
    content += packet(number(58, 99), event(INSTANT, sized(23, "unknown clock"), track=2), time=5)
    content += packet(sized(59, number(58, 64))) + packet(event(INSTANT, sized(23, "default clock"), track=2), time=1)
    content += packet(sized(6, clock(6, 1 << 63) + clock(64, 1 << 63)))
    content += packet(number(42, 1)) + packet(number(41, 1), number(87, 1))
    return HEAD + content


def odd_notes():
    """Values of other kinds than their fields have, and what nests too deeply or is cut."""
    def deep(field, content, count):
        for _ in range(count):
            content = sized(field, content)
        return content
    nested = number(5, 1) + number(5, 2) + f64(6, 3) + number(7, 1) + sized(8, "z") + number(8, 4)
    values = [sized(4, number(10, 5) + number(3, 1)), note("text", number(6, 5)), note("json", number(9, 5)), note("never endeX", number(2, 1)),
              note("never ended", number(2, 0)), note("never ended", number(3, 1)), note("nested", sized(8, nested)), note("nested", sized(8, number(8, 4))),
              note("nested", sized(8, f64(6, 1) + f64(6, 2))), note("nested", sized(8, sized(8, "t") + sized(8, "u") + number(7, 1))),
              note("long", sized(12, sized(6, "y" * 9000))), note("array", sized(12, b"") + sized(12, number(17, 9)) + number(12, 1) + sized(12, number(6, 1))),
              note("escapes", sized(12, sized(6, "\x01" * 1200))), note("names", sized(11, number(10, 5) + number(3, 1)) + sized(11, number(1, 9) + number(3, 1)) + sized(11, number(3, 1)))]
    content = packet(event(INSTANT, sized(23, "odd"), number(4, 1), *values, track=2), time=100)
    for bad in (note("dictionary", deep(11, b"", 40)), note("array", deep(12, b"", 40)), note("nested", sized(8, deep(4, b"", 40))),
                note("cut", sized(12, sized(12, b"\x0a\x09"))), note("cut", sized(11, b"\x52")), note("cut", sized(8, b"\x28")), sized(4, b"\x52\x09a")):
        content += packet(event(INSTANT, sized(23, "bad"), bad, track=2), time=110)
    return HEAD + content + b"\x0a" + b"\xff" * 12


def odd_clocks():
    def clock(number_, time, *more):
        return sized(1, number(1, number_) + number(2, time) + b"".join(more))
    def at(clock_, time):
        return packet(number(58, clock_), event(INSTANT, sized(23, "at"), track=2), time=time)
    content = packet(sized(6, clock(3, 1000) + clock(200, 5, number(4, 0)) + clock(65, 5, number(4, 1 << 62)) + clock(66, 5, number(3, 1), number(4, 1 << 40)) + sized(1, sized(1, "x") + f64(2, 1))))
    content += packet(sized(6, clock(3, 2000) + number(1, 5))) + at(3, 3000) + at(200, 50) + at(65, 5) + at(66, 1 << 22) + at(66, 1 << 22)
    content += packet(sized(6, b"".join(clock(70 + i, i) for i in range(40)))) + at(70, 1 << 63)
    content += packet(sized(6, clock(6, (1 << 63) - 1) + clock(67, 0))) + at(67, 5) + at(67, (1 << 63) - 1)
    content += packet(sized(6, clock(6, 5) + clock(68, (1 << 63) - 1))) + at(68, 0)
    content += packet(sized(6, clock(4, 1 << 63))) + packet(sized(6, sized(1, b"\x08")))
    defaults = sized(59, sized(58, "x") + number(11, 1) + sized(11, sized(11, "x") + number(12, 1)))
    return HEAD + content + packet(defaults) + packet(sized(59, sized(11, b"\x58"))) + packet(sized(59, b"\x58"))


def odd_tracks():
    def track(*parts):
        return packet(sized(60, b"".join(parts)))
    content = track(sized(1, "x"), sized(5, "x"), number(2, 1), number(3, 1), number(4, 1), number(8, 1)) + track(number(1, 20), sized(10, "static")) + track(number(1, 21), sized(13, "atrace"))
    content += track(number(1, 22), sized(3, sized(1, "x") + number(6, 1)), sized(8, sized(3, "x") + number(3, 4) + number(3, 1) + number(3, 3) + number(4, 0) + sized(4, "x") + sized(5, "x") + number(6, 1) + sized(6, "u" * 64)))
    content += track(number(1, 23), sized(3, number(1, 5)), sized(4, number(1, 5) + number(2, 6) + sized(6, "x") + number(5, 1) + sized(1, "x") + sized(2, "x")))
    content += track(number(1, 24), sized(3, b"\x08"), sized(8, b"\x18")) + track(number(1, 25), sized(4, b"\x08")) + track(b"\x08")
    content += track(number(1, 50), sized(4, number(1, 7) + number(2, 51)), sized(8, b"")) + packet(event(COUNTER, number(30, 5), track=50), time=4) + track(number(1, 51), sized(3, b"\x08"), sized(8, b""))
    content += track(number(1, 30), number(5, 31), sized(2, "loop")) + track(number(1, 31), number(5, 30)) + packet(event(BEGIN, sized(23, "loop"), track=30), time=5)
    content += packet(event(BEGIN, sized(23, "early"), track=40), time=6) + track(number(1, 40), sized(4, number(1, 7) + number(2, 9) + sized(5, "late")))
    content += track(number(1, 41), number(5, 2), sized(8, b""), sized(2, "of the thread")) + packet(event(COUNTER, number(30, 5), track=41), time=7) + packet(event(COUNTER, number(30, 5), track=42), time=8)
    content += packet(event(COUNTER, number(30, 5), track=2), time=9) + packet(event(COUNTER, track=2), time=9)
    content += packet(sized(44, number(1, 7) + number(2, 9) + number(6, 1 << 61))) + packet(sized(11, number(1, 5) + number(9, INSTANT)))
    return HEAD + content + packet(sized(44, number(1, 7) + number(2, 9) + number(6, (1 << 63) // 1000))) + packet(sized(11, number(1, 1 << 40) + number(9, INSTANT))) + packet(sized(11, number(1, 1 << 62) + number(9, INSTANT)))


def odd_events():
    def old(phase, *parts):
        return sized(6, number(2, ord(phase)) + b"".join(parts))
    content = packet(sized(12, sized(3, number(1, 1) + sized(2, "note")) + sized(4, number(1, 1) + sized(4, "x") + sized(2, "a.c") + number(3, 1)) +
                           sized(4, number(1, 2) + sized(3, "f") + number(4, 1 << 40)) + sized(4, sized(1, "x")) + number(4, 1)))
    flows = b"".join(number(36, i) for i in range(12)) + sized(47, struct.pack("<12Q", *range(12))) + number(42, 3)
    counters = b"".join(number(31, 3) + number(12, i) for i in range(20)) + b"".join(number(45, 4) + f64(46, i) for i in range(20))
    content += packet(event(INSTANT, sized(22, "a"), sized(22, "b"), sized(23, "many"), flows, counters, track=2), time=10)
    defaults = b"".join(number(31, 3) + number(45, 4) for _ in range(20))
    content += packet(event(INSTANT, sized(12, varint(1) + b"\x80"), sized(23, "cut"), track=2), time=11)
    content += packet(sized(59, sized(11, defaults + sized(45, b"\x80"))))
    content += packet(event(INSTANT, sized(22, "massage"), sized(23, "no message"), track=2), time=20) + packet(event(INSTANT, sized(22, "message"), number(10, 1), track=2), time=21)
    content += packet(event(INSTANT, sized(22, "message"), sized(23, "m" * 9000), track=2), time=22) + packet(event(INSTANT, sized(22, "message"), sized(23, "m"), note("severity", number(3, 1)), track=2), time=23)
    content += packet(event(INSTANT, sized(22, "message"), sized(23, "m"), note("a", number(3, 1)), note("b", number(3, 1)), track=2), time=24)
    content += packet(event(INSTANT, sized(22, "gap"), note("count", f64(5, 1)), track=2), time=25) + packet(event(INSTANT, sized(22, "gaq"), track=2), time=25)
    content += packet(sized(11, sized(23, "long") + number(11, 2) + old("X", number(3, (1 << 62) // 1000))), time=(1 << 63) - 5000)
    content += packet(sized(11, number(16, 1 << 62) + sized(23, "absolute") + number(9, INSTANT) + number(11, 2))) + packet(sized(11, number(9, INSTANT)))
    content += packet(sized(11, b"\x48"), time=30) + packet(event(INSTANT, sized(6, b"\x10"), track=2), time=30)
    beside = packet(sized(60, number(1, 5) + sized(2, "beside") + number(5, 2))) + packet(sized(60, number(1, 6) + sized(2, "beside") + number(5, 2)))
    content += beside + packet(event(BEGIN, sized(23, "beside"), track=5), time=60) + packet(event(END, track=6), time=61) + packet(event(BEGIN, sized(23, "beside"), track=5), time=62)
    return HEAD + content + packet(event(END, track=2), time=63) + b"\x0a"


def main():
    seeds = {"odd_notes": odd_notes(), "odd_clocks": odd_clocks(), "odd_tracks": odd_tracks(), "odd_events": odd_events(), "values_of_notes": notes(), "lists_of_counters": counters(), "legacy_phases": legacy(), "marks_of_tracebed": marks(), "clocks": clocks()}
    for name, content in seeds.items():
        with open(os.path.join(sys.argv[1], name), "wb") as out:
            out.write(content)
    with open(os.path.join(sys.argv[1], "cut.gz"), "wb") as out:
        out.write(gzip.compress(legacy(), mtime=0)[:-40])


if __name__ == "__main__":
    main()
