#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Writes the Perfetto traces in this folder, which are also seeds of fuzz/import_perfetto.

    python3 reader/tests/exchange/imports_events/make_perfetto.py
"""

import os
import struct


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """A field of an int, a float (double), bytes or a text; ('fixed', n) for 8 bytes."""
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, tuple):
        return varint(number << 3 | 1) + struct.pack("<Q", value[1])
    return varint(number << 3) + varint(value)


def message(*pairs):
    return b"".join(field(number, value) for number, value in pairs)


def packet(*pairs):
    return field(1, message(*pairs))


def event(time, *pairs, sequence=1, more=()):
    return packet((8, time), (10, sequence), (13, 2), *more, (11, message(*pairs)))


def interned(list_number, iid, name):
    return (12, message((list_number, message((1, iid), (2, name)))))


BEGIN, END, INSTANT, COUNTER = ((9, kind) for kind in (1, 2, 3, 4))
PROCESS, THREAD, TRACK, OTHER, COUNT = 100, 101, 102, 103, 104

NOTES = (
    (4, message((10, "flag"), (2, 1))),
    (4, message((10, "unsigned"), (3, 7))),
    (4, message((10, "signed"), (4, -7))),
    (4, message((10, "double"), (5, 0.5))),
    (4, message((10, "text"), (6, "a\n\u00e9"))),
    (4, message((10, "pointer"), (7, 0xABC))),
    (4, message((1, 5), (17, 6))),
    (4, message((10, "json"), (9, '{"a":1}'))),
    (4, message((10, "dictionary"), (11, message((10, "k"), (3, 1))), (11, message((10, "list"), (12, message((3, 2))), (12, message((6, "x"))))))),
    (4, message((10, "nested"), (8, message((1, 1), (2, "k"), (3, message((5, -3))), (2, "l"), (3, message((1, 2), (4, message((7, 1))))))))),
)

TRACKS = b"".join((
    packet((6, message((1, message((1, 6), (2, 1_000_000))), (1, message((1, 3), (2, 500_000))),
                       (1, message((1, 64), (2, 10), (3, 1), (4, 1000)))) ), (10, 1)),
    packet((10, 1), (13, 1), (87, 1), (59, message((11, message((11, THREAD), (31, COUNT)))))),
    packet((10, 1), (60, message((1, PROCESS), (3, message((1, 10), (6, "server")))))),
    packet((10, 1), (60, message((1, THREAD), (5, PROCESS), (4, message((1, 10), (2, 11), (5, "worker")))))),
    packet((10, 1), (60, message((1, TRACK), (2, "queue"), (5, PROCESS)))),
    packet((10, 1), (60, message((1, COUNT), (2, "memory"), (5, PROCESS), (8, message((3, 3), (4, 2)))))),
    event(1_000_000, BEGIN, (23, "request"), (22, "net"), *NOTES,
          more=(interned(3, 5, "interned"), interned(29, 6, "value"))),
    event(1_000_100, BEGIN, (10, 1), (3, 1), (34, 1), (47, ("fixed", 77)),
          more=((12, message((1, message((1, 1), (2, "io"))), (2, message((1, 1), (2, "parse"))),
                             (4, message((1, 1), (2, "parse.c"), (3, "parse_it"), (4, 42))))),)),
    event(1_000_150, INSTANT, (23, "mark"), (12, 5)),
    event(1_000_200, END, (4, message((10, "ok"), (2, 1)))),
    event(1_000_400, END),
    event(500_300, INSTANT, (23, "monotonic"), more=((58, 3),)),                 # 1,000,300
    event(7, INSTANT, (23, "incremental"), more=((58, 64),)),                    # 10 + 7 us: 1,007,000
    event(1, INSTANT, (23, "incremental"), more=((58, 64),)),                    # 1,008,000
    event((2**63 - 1) // 1000, INSTANT, (23, "too late"), more=((58, 64),)),     # no time; the next one counts from 1,008,000
    event(1, INSTANT, (23, "incremental"), more=((58, 64),)),                    # 1,009,000
    event(5, INSTANT, (23, "unknown clock"), more=((58, 99),)),
    event(1_000_010, COUNTER, (11, COUNT), (30, 9)),
    event(1_000_020, COUNTER, (11, COUNT), (44, 1.5)),
    event(1_000_050, BEGIN, (11, TRACK), (23, "job")),
    event(1_000_250, END, (11, TRACK), (48, ("fixed", 77))),
    event(1_000_060, BEGIN, (11, OTHER), (23, "waiting"), sequence=2),           # before its descriptor
    event(1_000_260, END, (11, OTHER), sequence=2),
    packet((10, 2), (60, message((1, OTHER), (2, "waiting"), (5, PROCESS)))),
    packet((8, 1), (1, b"\x08\x01")),                                            # the kernel's
    packet((8, 1_000_500), (10, 1), (42, 1), (13, 3)),                           # lost packets; all texts are new
    event(1_000_600, BEGIN, (10, 1), (11, THREAD)),                              # has no name any more
    event(1_000_700, END, (11, THREAD)),
))

LEGACY = b"".join((
    packet((10, 3), (41, 1), (44, message((1, 20), (2, 21), (5, "CrBrowserMain"), (6, 1000)))),
    packet((10, 3), (12, message((2, message((1, 9), (2, "task"))), (1, message((1, 4), (2, "toplevel"))))), ),
    packet((10, 3), (11, message((1, 5), (3, 4), (6, message((1, 9), (2, ord("X")), (3, 20)))))),  # at 1,005 us
    packet((10, 3), (11, message((1, 30), (3, 4), (6, message((1, 9), (2, ord("B"))))))),        # at 1,035 us
    packet((10, 3), (11, message((1, 5), (6, message((2, ord("E"))))))),                         # at 1,040 us
    packet((10, 3), (11, message((16, 1050), (6, message((1, 9), (2, ord("b")), (6, 5)))))),
    packet((10, 3), (11, message((16, 1060), (6, message((1, 9), (2, ord("e")), (6, 5)))))),
    packet((10, 3), (11, message((16, 1061), (6, message((1, 9), (2, ord("s")), (11, 6)))))),
    packet((10, 3), (11, message((16, 1062), (6, message((1, 9), (2, ord("f")), (11, 6)))))),
    packet((10, 3), (11, message((16, 1063), (6, message((1, 9), (2, ord("i"))))))),
    packet((10, 3), (11, message((16, 1064), (6, message((1, 9), (2, ord("O"))))))),
    packet((10, 3), (11, message((6, message((1, 9), (2, ord("i"))))))),                         # without a time
))

FILES = {
    "tracks.pftrace": TRACKS,
    "legacy.pftrace": LEGACY,
    "damaged.pftrace": (event(1_000_000, BEGIN, (11, 1), (23, "a")) + field(1, b"\x08\x01\x0a\x7f") + event(1_000_100, END, (11, 1))
                        + b"\xff" * 12 + event(1_000_200, INSTANT, (11, 1), (23, "after")) + event(1_000_300, INSTANT, (11, 1), (23, "cut"))[:-3]),
}

if __name__ == "__main__":
    folder = os.path.dirname(os.path.abspath(__file__))
    for name, content in FILES.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
