"""
Rounds the ticks of a trace, as a clock that goes in larger steps would have given them.

SPDX-License-Identifier: MIT
"""

import array
import struct

EVENTS, END_OF_EVENTS, TIME, PAIR, EXTENDED = 1, 0, 4, 5, 6
HAS_BEGIN_TICK = (2, 15, 17)  # types of extended records: END, SPAN, LEAVE


def round_words(words, at, base, step, new_base):
    """Rounds the ticks of events in place."""
    while at < len(words):
        word = words[at]
        tag = word >> 30 & 7
        if tag == END_OF_EVENTS:
            break
        if tag == TIME:
            more = (word & 0x3FFFFFFF) << 31
            base, new_base, at = base + more, new_base + more, at + 1
            continue
        delta = (base + (word >> 33)) // step * step - new_base
        if 0 <= delta < 1 << 31:
            words[at] = delta << 33 | word & 0x1FFFFFFFF
        nwords = words[at + 1] >> 16 & 0xFFFF if tag == EXTENDED else 0
        if nwords > 1 and words[at + 1] & 255 in HAS_BEGIN_TICK:
            words[at + 2] = words[at + 2] // step * step
        at += 2 if tag == PAIR else 1 + nwords


def round_block(block, step):
    first, depth, used, last = struct.unpack_from("<QIIQ", block, 32)
    struct.pack_into("<Q", block, 32, first // step * step)
    struct.pack_into("<Q", block, 48, last // step * step)
    start = 64 + 16 * min(depth, len(block) // 64)
    for at in range(64, start, 16):
        struct.pack_into("<Q", block, at, struct.unpack_from("<Q", block, at)[0] // step * step)
    end = used if start <= used <= len(block) else len(block)
    words = array.array("Q", bytes(block[:end // 8 * 8]))
    round_words(words, start // 8, first, step, first // step * step)
    block[:8 * len(words)] = words.tobytes()


def coarsen(data, ns):
    """Returns the trace with ticks that are multiples of so many nanoseconds; the checksums of its blocks do not match."""
    data = bytearray(data)
    size, rate = int.from_bytes(data[12:16], "little"), int.from_bytes(data[64:72], "little")
    step = max(1, round(rate * ns / 1e9))
    for start in range(size, len(data), size):
        if data[start] == EVENTS and start + size <= len(data):
            block = data[start:start + size]
            round_block(block, step)
            data[start:start + size] = block
    return bytes(data)
