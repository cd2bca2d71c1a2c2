# SPDX-License-Identifier: MIT
"""The independent decoder's part for the units of packed traces, written from spec/packed.md alone.

unpack_unit() gives back the bytes of the blocks, or raises ValueError.
"""
import struct
from itertools import islice

from xxh3 import xxh3_64
from zstd_decoder import decompress_frame, need

M32, M64 = 2 ** 32 - 1, 2 ** 64 - 1
PLAIN, ZSTD, COLUMNAR = range(3)
EVENTS, STRINGS, RECORDS = 1, 2, 3  # kinds of blocks
BLOCKS_MAX, NBYTES_MAX = 16, 1 << 20
HEAD_NBYTES_MAX, TOKENS_MAX, STEP_MIN, STEP_MAX = 9, 65536, 1 << 16, 1 << 48
COLUMNS = ("block rest run miss token_low token_high new_tag new_id new_second tick_class tick_rest span_class span_rest bits wide "
           "size alloc free counter word text begin entry hash content reference record even odd").split()
HEADER = struct.Struct("<IIQIIIIQIIQ8s")
KIND, ORDINAL, FIRST_TICK, DEPTH, USED, LAST_TICK = 0, 6, 7, 8, 9, 10  # fields of the header
BEGIN, END, TIME, PAIR, EXTENDED = 1, 2, 4, 5, 6
EXTENDED_BEGIN, EXTENDED_END, LEAVE, PACKED_BEGIN, PACKED_INSTANT, STACKS = 1, 2, 17, 18, 19, 13
TEXT_TYPES = (16, *range(21, 32))
ALLOCATED, FREED, REALLOCATED, SPAN = 6, 7, 8, 15
FIXED_WORDS = {ALLOCATED: 2, FREED: 1, REALLOCATED: 4, SPAN: 1}
ID_MAX = 2 ** 30 - 1
COMMON_CLASS, WIDE_CLASS = 254, 255
FREED_MAX, CLASS_MAX, RANKS = 16, 2099, 32


def signed(number):
    return number >> 1 ^ -(number & 1)


class Column:
    """Bytes that are read from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, nbytes):
        start, self.at = self.at, self.at + nbytes
        need(self.at <= len(self.data), "a column ends too early")
        return self.data[start:self.at]

    def byte(self):
        return self.take(1)[0]

    def number(self, nbytes_max=10):
        value = 0
        for shift in range(0, 7 * nbytes_max, 7):
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                need(value <= M64, "a number is too large")
                return value
        raise ValueError("a number has no end")

    def change(self, expected):
        return expected + signed(self.number()) & M64

    def change32(self, expected):
        return expected + signed(self.number()) & M32

    def is_over(self):
        return self.at == len(self.data)


class Bits:
    """A column of bits, the lowest first."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        start, self.at = self.at, self.at + count
        need(self.at <= 8 * len(self.data), "a column ends too early")
        return int.from_bytes(self.data[start // 8:start // 8 + 9], "little") >> start % 8 & (1 << count) - 1

    def is_over(self):
        return (self.at + 7) // 8 == len(self.data)


class Token:
    """What events have in common, and what was last stored for it."""

    def __init__(self, tag, id, second):
        self.tag, self.id, self.second = tag, id, second
        self.size, self.words = 0, [0] * 6


class Addresses:
    """The allocations of a unit."""

    def __init__(self, columns):
        self.allocs, self.frees = columns["alloc"], columns["free"]
        self.list, self.live, self.freed = [], {}, {}  # live: an ordered set of indices
        self.last, self.last_nbytes, self.last_freed = 0, 0, 0

    @staticmethod
    def near(column, number, other):
        if number == 1:
            return column.number()
        distance = signed(number // 2)
        return other + (distance if number & 1 else 16 * distance) & M64

    def push(self, kind, address):
        freed = self.freed.setdefault(kind, [])
        freed.append(address)
        del freed[:-FREED_MAX]

    def take_freed(self, kind, rank):
        freed = self.freed.get(kind, [])
        need(rank < len(freed), "there is no such freed block")
        return freed.pop(len(freed) - 1 - rank)

    def alloc(self, size):
        kind = min(max((size + 23) // 16, 2), CLASS_MAX)
        number = self.allocs.number()
        if number < 2 * FREED_MAX:
            address = self.take_freed(kind if number < FREED_MAX else 0, number % FREED_MAX)
        else:
            address = self.near(self.allocs, number - 2 * FREED_MAX, self.last + self.last_nbytes)
        self.last, self.last_nbytes = address, 16 * kind
        self.live[len(self.list)] = True
        self.list.append((address, kind))
        return address

    def free(self):
        number = self.frees.number()
        if number == 0:
            self.last_freed = self.near(self.frees, self.frees.number(), self.last_freed)
            self.push(0, self.last_freed)
            return self.last_freed
        if number <= RANKS:
            index = next(islice(reversed(self.live), number - 1, None), None)
        else:
            index = len(self.list) - (number - RANKS)
        need(index in self.live, "there is no such allocation")
        del self.live[index]
        address, kind = self.list[index]
        self.push(kind, address)
        return address


class Clock:
    """Ticks in steps of the clock."""

    def __init__(self, step, common, columns):
        self.step, self.common, self.phase = step, common, 0
        self.bits, self.wide = columns["bits"], columns["wide"]

    def read_steps(self, kind):
        if kind == COMMON_CLASS:
            return self.common
        need(kind < 248, "there is no such class")
        if kind < 16:
            return kind
        count = kind // 8 - 1
        return (kind % 8 + 8 << count) + self.bits.take(count)

    def read(self, classes, rests, is_span):
        kind = classes.byte()
        if kind == WIDE_CLASS:
            return signed(self.wide.number()) & M64
        steps = self.read_steps(kind)
        if self.step == STEP_MIN:
            return steps
        product = steps * self.step
        ticks = (product + 65535 - self.phase if is_span else product + self.phase) & M64
        rest = rests.byte()
        rest = signed(self.wide.number() if rest == 255 else rest)
        if not is_span:
            self.phase = ticks & 65535 if rest == 0 else 65535 if rest < 0 else 0
        return (ticks >> 16) + rest & M64


class Strings:
    """The entries of string blocks."""

    def __init__(self, columns):
        self.entry, self.hash, self.content, self.reference = (columns[name] for name in ("entry", "hash", "content", "reference"))
        self.last, self.recent = 0, [0] * 4

    def read_reference(self, ordinal):
        number, ordinal = self.reference.number(), min(ordinal, 3)
        id = self.recent[ordinal] + signed(number - 1) if number else self.last
        need(0 <= id <= ID_MAX, "a reference is too large")
        self.recent[ordinal] = id
        return struct.pack(">I", 0x80000000 | id)

    def read_content(self, nbytes):
        content, references = b"", 0
        while len(content) < nbytes:
            left, byte = nbytes - len(content), self.content.byte()
            if 0x80 <= byte <= 0xBF and left >= 4:
                content += self.read_reference(references)
                references += 1
            else:
                more = 0 if not 0xC0 <= byte <= 0xF7 else 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
                content += bytes([byte]) + self.content.take(min(more, left - 1))
        return content

    def read(self, left, offset):
        """Returns the bytes of one entry of at most 'left'; 'offset' is its place in the string space."""
        head = self.entry.number()
        nbytes = head // 2
        padded = (8 + nbytes + 7) // 8 * 8
        need(nbytes and padded <= left, "an entry does not fit")
        content = self.read_content(nbytes)
        hash = self.hash.take(4) if head & 1 else struct.pack("<I", xxh3_64(content) & M32)
        self.last = 0x20000000 + offset // 8 & ID_MAX
        return (struct.pack("<I", nbytes) + hash + content).ljust(padded, b"\0")


class Records:
    """The records of record blocks; words are pairs of halves."""

    def __init__(self, columns):
        self.record, self.even, self.odd = (columns[name] for name in ("record", "even", "odd"))
        self.first, self.second, self.last = [0, 0], [0, 0], [0, 0]

    def read(self, left):
        """Returns the bytes of one record of at most 'left'."""
        self.first = [self.record.change32(half) for half in self.first]
        type, nbytes = self.first
        need(nbytes % 8 == 0 and 8 <= nbytes <= left, "a record does not fit")
        halves = list(self.first)
        if nbytes > 8:
            self.second = [self.record.change32(half) for half in self.second]
            halves += self.second
        for i in range(nbytes // 8 - 2):
            expected = self.second[0] + i - 1 if type == STACKS else self.last[1]
            self.last = [self.even.change32(self.last[0]), self.odd.change32(expected)]
            halves += self.last
        return struct.pack("<%dI" % len(halves), *halves)


class Walk:
    """The state of a unit, which goes on from block to block."""

    def __init__(self, step, common, columns, count, size):
        self.block_nbytes = size
        for name, column in columns.items():
            setattr(self, name, column)
        self.clock, self.addresses = Clock(step, common, columns), Addresses(columns)
        self.table_log = min((count * size // 16).bit_length() - 1, 15)
        self.expected = [(0, 0)] * (1 << self.table_log)
        self.tokens, self.run_left = [None, None], -1
        self.last_ids, self.last_second = [0] * 8, 0
        self.fields, self.stack = [0] * 11, []
        self.last, self.before, self.tick, self.base = 0, 0, 0, 0
        self.strings, self.records = Strings(columns), Records(columns)

    # ---- Tokens ----

    def top_id(self):
        return self.stack[-1][1] & ID_MAX if self.stack else 0

    def new_token(self):
        need(len(self.tokens) < TOKENS_MAX, "there are too many tokens")
        tag = self.new_tag.byte() & 7
        need(1 <= tag <= 6, "there is no such tag")
        id, second = self.new_id.change(self.last_ids[tag]), 0
        need(id <= ID_MAX, "an id is too large")
        self.last_ids[tag] = id
        if tag in (PAIR, EXTENDED):
            self.last_second = second = self.new_second.change(self.last_second)
            need(second < 16 if tag == PAIR else second >> 16 & 0xFFFF, "a token has no meaning")
        self.tokens.append(Token(tag, id, second))
        return len(self.tokens) - 1

    def missed_token(self, other):
        how = self.miss.byte()
        if how == 0:
            return self.new_token()
        if how == 1:
            return self.token_low.byte() + (256 * self.token_high.byte() if len(self.tokens) > 256 else 0)
        need(how == 2, "a token is given in an unknown way")
        return other

    def next_token(self):
        """Returns its number."""
        key = self.last ^ self.top_id() * 0x85EBCA6B & M32 ^ self.before * 0xC2B2AE35 & M32
        index = (key * 0x9E3779B1 & M32) >> (32 - self.table_log)
        expected, other = self.expected[index]
        if self.run_left < 0:
            self.run_left = part = self.run.byte()
            while part == 255:
                part = self.run.byte()
                self.run_left += part
        self.run_left -= 1
        number = expected if self.run_left >= 0 else self.missed_token(other)
        need(0 < number < len(self.tokens), "there is no such token")
        if number != expected:
            self.expected[index] = number, expected
        return number

    # ---- Payloads ----

    def read_size(self, token):
        number = self.size.number()
        if number:
            token.size = number - 1
        return token.size

    def read_pair(self, token):
        if token.second == 1:
            size = self.read_size(token)
            address = self.addresses.alloc(size)
            need(size < 2 ** 15 and address % 8 == 0 and address < 2 ** 48, "an allocation does not fit")
            payload = size << 45 | address // 8
        elif token.second == 2:
            payload = self.addresses.free()
        else:
            payload = token.words[0] = self.counter.change(token.words[0])
        need(payload < 2 ** 60, "a payload is too large")
        return struct.pack("<Q", token.second << 60 | payload)

    def read_fixed(self, token, type):
        if type == SPAN:
            return [self.tick - self.clock.read(self.span_class, self.span_rest, True)]
        if type == FREED:
            return [self.addresses.free()]
        size = self.read_size(token)
        old = [self.addresses.free()] if type == REALLOCATED else []
        new = self.addresses.alloc(size)
        return old + [new, size] + ([self.tick - self.begin.number()] if type == REALLOCATED else [])

    def read_words(self, token, count):
        """The other words of a record."""
        content, left, at, is_second = b"", 8 * count, 1, False
        while left:
            word = token.words[at] = self.word.change(token.words[at])
            content, left, at = content + struct.pack("<Q", word), left - 8, (at + 1) % 6
            nbytes = word >> 8 & 0xFFFFFF
            padded = (nbytes + 7) // 8 * 8
            if token.second >> 8 & 255 and not is_second and padded <= left:
                if word & 255 in (7, 8):
                    content, left = content + self.text.take(padded), left - padded
                else:
                    is_second = nbytes == 8
                    continue
            is_second = False
        return content

    def read_extended(self, token):
        type, count, fixed = token.second & 255, (token.second >> 16 & 0xFFFF) - 1, []
        second = struct.pack("<Q", token.second)
        if type in TEXT_TYPES:
            return second + self.text.take(8 * count)
        if type in (PACKED_BEGIN, PACKED_INSTANT):
            token.words[1] = self.word.change(token.words[1]) if count else token.words[1]
            return second + (struct.pack("<Q", token.words[1]) + self.text.take(8 * count - 8) if count else b"")
        if FIXED_WORDS.get(type, M32) <= count:
            fixed = [word & M64 for word in self.read_fixed(token, type)]
        return second + struct.pack("<%dQ" % len(fixed), *fixed) + self.read_words(token, count - len(fixed))

    # ---- Events ----

    def follow_stack(self, token, id):
        type = token.second & 255 if token and token.tag == EXTENDED else 0
        tag = token.tag if token else END
        if tag == BEGIN or type in (EXTENDED_BEGIN, PACKED_BEGIN):
            self.stack.append((self.tick, id))
        elif (tag == END or type in (EXTENDED_END, LEAVE)) and self.stack:
            self.stack.pop()

    def read_event(self, left):
        """Returns the bytes of one event of at most 'left'."""
        number = self.next_token()
        token = self.tokens[number]
        tag, id, second = (token.tag, token.id, token.second) if token else (END, self.top_id(), 0)
        nbytes = {PAIR: 16, EXTENDED: 8 + 8 * (second >> 16 & 0xFFFF)}.get(tag, 8)
        need(nbytes <= left, "an event crosses the end")
        if tag == TIME:
            self.base = self.base + (id << 31) & M64
            return struct.pack("<Q", TIME << 30 | id)
        self.before = 0 if tag == END else self.last
        self.last = 2 * id if tag == BEGIN else 2 * id + 1 if tag == END else 2 * number
        self.tick = self.tick + self.clock.read(self.tick_class, self.tick_rest, False) & M64
        delta = self.tick - self.base & M64
        need(delta < 2 ** 31, "an event is too far from the base")
        first = struct.pack("<Q", delta << 33 | tag << 30 | id)
        payload = self.read_pair(token) if tag == PAIR else self.read_extended(token) if tag == EXTENDED else b""
        self.follow_stack(token, id)
        return first + payload

    # ---- Blocks ----

    def read_fields(self):
        """Returns the fields of a block's header; the last tick is still a difference."""
        fields = []
        for i, size in enumerate((4, 4, 8, 4, 4, 4, 4, 8, 4, 4, 8)):
            expected = self.tick if i == FIRST_TICK else 0 if i == LAST_TICK else self.fields[i]
            fields.append(self.block.change(expected))
            need(size == 8 or fields[i] <= M32, "a field is too large")
        self.fields = fields
        return fields

    def read_stack(self, count, tick):
        how = self.block.byte()
        need(how <= 1, "a stack is given in an unknown way")
        if how == 1:
            need(len(self.stack) >= count, "the stack has not as many spans")
            return self.stack[len(self.stack) - count:]
        self.stack = []
        for _ in range(count):
            tick = self.block.change(tick)
            self.stack.append((tick, self.block.number()))
        return self.stack

    def read_content(self, start, end):
        kind, at, parts = self.fields[KIND] & 255, start, []
        need(at == end or EVENTS <= kind <= RECORDS, "a block of this kind has content")
        while at < end:
            if kind == EVENTS:
                part = self.read_event(end - at)
            elif kind == STRINGS:
                part = self.strings.read(end - at, self.fields[ORDINAL] * self.block_nbytes + at)
            else:
                part = self.records.read(end - at)
            parts.append(part)
            at += len(part)
        return b"".join(parts)

    def read_block(self):
        fields, size = self.read_fields(), self.block_nbytes
        checksum = self.block.take(8)
        count, used = min(fields[DEPTH], size // 64), fields[USED]
        start = 64 + 16 * count
        limit = used if used % 8 == 0 and start <= used <= size else size
        end = limit - 8 * self.block.number()
        need(end >= start, "the content ends before it starts")
        rest = self.block.number()
        need(rest <= size - end, "the rest of a block is too large")
        self.tick = self.base = fields[FIRST_TICK]
        self.clock.phase = 0
        content = b"".join(struct.pack("<QQ", *span) for span in self.read_stack(count, fields[FIRST_TICK]))
        parts = [content, self.read_content(start, end)]
        fields[LAST_TICK] = fields[LAST_TICK] + self.tick & M64
        parts.append(self.rest.take(rest))
        return (HEADER.pack(*fields, checksum) + b"".join(parts)).ljust(size, b"\0")


def read_columns(source, nbytes_max):
    columns, left = {}, nbytes_max
    for name in COLUMNS:
        head = source.number(HEAD_NBYTES_MAX)
        size = head // 2
        need(size <= left, "the columns are too large")
        left -= size
        data = decompress_frame(source.take(source.number(HEAD_NBYTES_MAX)), size) if head & 1 else source.take(size)
        columns[name] = Bits(data) if name == "bits" else Column(data)
    need(source.is_over(), "a unit has bytes after its end")
    return columns


def unpack_columns(data, count, size):
    source = Column(data)
    step, common = source.number(HEAD_NBYTES_MAX), source.number(HEAD_NBYTES_MAX)
    need(STEP_MIN <= step <= STEP_MAX, "the step is out of range")
    columns = read_columns(source, 2 * count * size)
    walk = Walk(step, common, columns, count, size)
    content = b"".join(walk.read_block() for _ in range(count))
    need(walk.run_left <= 0, "a run goes on after the end")
    need(all(column.is_over() for column in columns.values()), "a column has bytes after its end")
    return content


def unpack_unit(data, count, size):
    """Returns the bytes of 'count' blocks of 'size' bytes."""
    need(1 <= count <= BLOCKS_MAX and 4096 <= size <= NBYTES_MAX and size & size - 1 == 0 and count * size <= NBYTES_MAX,
         "a unit has an impossible size")
    need(data, "a unit is empty")
    method, data = data[0], data[1:]
    if method == PLAIN:
        need(len(data) == count * size, "a plain unit has another size than its blocks")
        return data
    if method == ZSTD:
        return decompress_frame(data, count * size)
    need(method == COLUMNAR, "a unit has an unknown method")
    return unpack_columns(data, count, size)
