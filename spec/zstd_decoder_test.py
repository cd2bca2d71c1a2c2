#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests zstd_decoder.py: with stored frames, and with what libzstd makes at several levels of many kinds of content, where it is
installed. Frames that are changed at random must give a ValueError, or what libzstd makes of them.

The test fails if the frames lack one of the ways in which a block, its literals or its tables may be stored.

Check: zstd-decoder
"""
import base64
import ctypes
import os
import random
import struct
import sys
from collections import Counter

import zstd_decoder

HERE = os.path.dirname(os.path.abspath(__file__))
LEVELS = (-5, 1, 3, 4, 6, 9, 13, 16, 19)
CHECKSUM, CONTENT_SIZE, WINDOW_LOG = 201, 200, 101  # parameters of ZSTD_CCtx_setParameter()
SIZE_MAX = 1 << 21
MUTANTS = 2000
# libzstd passes over these in some of its ways through a block; RFC 8878 calls them corruption.
ONLY_IN_THE_RFC = ("a bit stream has no end", "another size than its content", "are cut", "a reserved bit is set")
SYMBOLS = b" etaoinshrdlu"
STORED = {  # content: frame
    b"": "KLUv/SQAAQAAmenYUQ==",
    b"tracebed": "KLUv/QRYQQAAdHJhY2ViZWQMgFLi",
    bytes(1000): "KLUv/QRYTQAAEAAAAQDjK4AFWgdEeQ==",
}
EXPECTED_WAYS = {"block 0", "block 1", "block 2", "literals 0", "literals 1", "literals 2", "literals 3", "streams 1", "streams 4",
                 "weights 4 bits", "weights FSE", "table 0", "table 1", "table 2", "table 3", "sizes 0", "sizes 1", "sizes 2",
                 "sizes 3", "repeated 0", "repeated 1", "repeated 2", "repeated 3"}


class Libzstd:
    """The functions of the library that the test needs."""

    def __init__(self):
        self.library = ctypes.CDLL("libzstd.so.1")
        for name in ("ZSTD_compressBound", "ZSTD_compress2", "ZSTD_decompress"):
            getattr(self.library, name).restype = ctypes.c_size_t
        self.library.ZSTD_createCCtx.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.library.ZSTD_createCCtx())

    def compress(self, data, level, **parameters):
        room = ctypes.create_string_buffer(len(data) + len(data) // 128 + 1024)
        self.library.ZSTD_CCtx_reset(self.context, 3)
        for parameter, value in ((100, level), *((globals()[name.upper()], value) for name, value in parameters.items())):
            self.library.ZSTD_CCtx_setParameter(self.context, parameter, value)
        size = self.library.ZSTD_compress2(self.context, room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)))
        assert not self.library.ZSTD_isError(ctypes.c_size_t(size))
        return room.raw[:size]

    def decompress(self, data):
        """Returns the content, or None if the library refuses the data."""
        room = ctypes.create_string_buffer(SIZE_MAX)
        size = self.library.ZSTD_decompress(room, ctypes.c_size_t(SIZE_MAX), data, ctypes.c_size_t(len(data)))
        return None if self.library.ZSTD_isError(ctypes.c_size_t(size)) else room.raw[:size]


def contents():
    """Returns {name: bytes}."""
    numbers = random.Random(1)
    with open(os.path.join(HERE, "format.md"), "rb") as page:
        text = page.read()
    with open(os.path.join(HERE, "golden", "valid", "strings.tbed"), "rb") as file:
        trace = file.read(1 << 17)
    noise = numbers.randbytes(1 << 17)
    words = [numbers.randbytes(numbers.randrange(3, 9)) for _ in range(200)]
    return {
        "empty": b"", "a byte": b"x", "zeros": bytes(140000), "text": text, "few": text[:300], "trace": trace,
        "noise": noise + noise, "skewed": bytes(min(255, int(numbers.expovariate(0.05))) for _ in range(30000)),
        "short codes": bytes(numbers.choice(SYMBOLS) for _ in range(600)),
        "two symbols": bytes(numbers.choice(b"ab") for _ in range(5000)),
        "words": b"".join(numbers.choice(words) for _ in range(20000)),
        "columns": b"".join(struct.pack("<HBBI", 7, i & 3, 0, 1000 * i + numbers.randrange(9)) for i in range(9000)),
        "mixed": text[:900] + numbers.randbytes(9000) + text[300:1200] + bytes(5000) + text[600:900] * 30,
        "far": text[:2000] + numbers.randbytes(200000) + text[:2000] + text[100:300],
        "later": b"".join(bytes(numbers.choice(SYMBOLS) for _ in range(16000)) + numbers.randbytes(40) for _ in range(9)),
        "small numbers": bytes(numbers.choice((0, 0, 0, 1, 1, 2)) for _ in range(900)),
        "one literal": noise + b"z".join(noise[i:i + 50] for i in range(0, 60000, 600)),
    }


def watch(ways):
    """Makes the decoder count the ways in which blocks, literals and tables are stored; returns its own functions."""
    def wrap(name, describe):
        function = getattr(zstd_decoder, name)

        def wrapped(*arguments):
            ways.update(describe(*arguments))
            return function(*arguments)
        setattr(zstd_decoder, name, wrapped)

    def literals(_, source):
        head = source.data[0]
        return ["literals %d" % (head & 3), "sizes %d" % (head >> 2 & 3)]

    functions = dict(vars(zstd_decoder))
    wrap("read_block", lambda _, source: ["block %d" % (source.data[source.at] >> 1 & 3)])
    wrap("read_literals", literals)
    wrap("read_tree", lambda source: ["weights FSE" if source.data[source.at] < 128 else "weights 4 bits"])
    wrap("huffman_streams", lambda _, __, ___, count: ["streams %d" % count])
    wrap("read_table", lambda _, mode, *__: ["table %d" % mode])
    wrap("take_offset", lambda _, value, length: ["repeated %d" % (value - (length != 0))] if value < 4 else [])
    return functions


def mutate(frame, numbers):
    data = bytearray(frame)
    for _ in range(numbers.choice((1, 1, 2, 3))):
        at = min(len(data) - 1, int(numbers.expovariate(0.05))) if numbers.randrange(2) else numbers.randrange(len(data))
        data[at] = data[at] ^ 1 << numbers.randrange(8) if numbers.randrange(2) else numbers.randrange(256)
    if numbers.randrange(10) == 0:
        del data[numbers.randrange(len(data)):]
    return bytes(data)


def decode(data):
    """Returns (content or None, what is wrong)."""
    try:
        return zstd_decoder.decompress(data, SIZE_MAX), ""
    except ValueError as refused:
        return None, str(refused)


def check_stored():
    failed = 0
    for content, text in STORED.items():
        frame = base64.b64decode(text)
        if decode(frame) != (content, "") or decode(frame + frame) != (2 * content, ""):
            failed += 1
            print("a stored frame of %d bytes: %s" % (len(content), decode(frame)[1]))
        for end in range(1, len(frame)):  # also without its checksum, which is its last 4 bytes
            failed += decode(frame[:end])[0] is not None
        failed += decode(frame[:-1] + bytes([frame[-1] ^ 1]))[1] != "the checksum does not match"
    skippable = bytes.fromhex("5a2a4d18 03000000 010203")
    failed += decode(skippable + frame + skippable) != (content, "")
    return failed


def check_levels(library):
    """Returns the number of failures, and small frames to be changed."""
    failed, ways, frames = 0, Counter(), []
    functions = watch(ways)
    for name, content in contents().items():
        for level in LEVELS:
            options = {"checksum": level & 1, "content_size": level % 3 != 0, **({"window_log": 10} if level in (4, 16) else {})}
            frame = library.compress(content, level, **options)
            if len(frame) < 2000 and level in (1, 4, 9, 19):
                frames.append(library.compress(content, level, checksum=0))
            if decode(frame) != (content, ""):
                failed += 1
                print("%s, level %d: %s" % (name, level, decode(frame)[1]))
    vars(zstd_decoder).update(functions)
    for way in sorted(EXPECTED_WAYS ^ set(ways)):
        failed += 1
        print("%s: %s" % (way, "not expected" if ways[way] else "in none of the frames"))
    return failed, frames


def check_mutants(library, frames):
    failed, numbers, read = 0, random.Random(2), 0
    for _ in range(MUTANTS):
        data = mutate(numbers.choice(frames), numbers)
        content, refused = decode(data)
        read += content is not None
        found = library.decompress(data)
        if content != found and not any(reason in refused for reason in ONLY_IN_THE_RFC):
            failed += 1
            print("%s: %s, libzstd %s" % (data.hex(), refused or len(content), "refuses it" if found is None else len(found)))
    print("%d of %d changed frames are read" % (read, MUTANTS))
    return failed


def main():
    failed = check_stored()
    try:
        library = Libzstd()
    except OSError:
        print("without libzstd.so.1: only the stored frames")
        library = None
    if library:
        more, frames = check_levels(library)
        failed += more + check_mutants(library, frames)
    print("%d failed" % failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
