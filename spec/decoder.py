#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The independent decoder: lists a trace file as specified in section 14 of spec/format.md.

It is written from that page alone, to show that the page suffices and to have something to compare the library with. It
reads complete files that no process is writing to, also packed ones. It is not fast, and is not meant as a tool.

Exit codes: 0 everything was read; 1 part of the file is damaged and left out (standard error names the checks of
section 12); 2 the file was refused. An interrupted record is reported, but is not damage.
"""
import bisect
import codecs
import json
import math
import re
import struct
import sys
from collections import namedtuple

from decoder_file import (BLOCK, CELLS, ENDED, EVENTS, ID_MAX, INVALID, METADATA, RECORDS, RESERVED_END, STRINGS,
                          STRING_SPACE, Damage, check_directory, directory_page, directory_pages, entry_agrees,
                          entry_is_valid, entry_means, entry_of_page, find_copy, is_being_taken, is_begun, is_zero, need,
                          read_fixed, read_header, u32, u64)
from packed_decoder import load
from xxh3 import xxh3_64

M32, M64 = 2 ** 32 - 1, 2 ** 64 - 1
DEPTH_MAX, COMPONENTS_MAX, TEXT_MAX = 64, 2 ** 20, 2 ** 24

Unit = namedtuple("Unit", "first kind shift name file line base")

# EXTENDED type: TYPE in the listing, the fixed words, the meaning of aux. For PAIR see decode_pair().
EXTENDED = {1: ("begin", "", "category"), 2: ("end", "begin_tick", ""), 3: ("instant", "", "category"),
            4: ("counter", "", "category"), 15: ("span", "begin_tick", "category"),
            5: ("message", "", "severity"), 6: ("alloc", "address size", "allocator"),
            7: ("free", "address", "allocator"), 8: ("realloc", "old_address address size begin_tick", ""),
            9: ("async_begin", "key", ""), 10: ("async_end", "key", ""), 11: ("flow_begin", "key", ""),
            12: ("flow_step", "key", ""), 13: ("flow_end", "key", ""), 14: ("gap", "count", "cause"),
            16: ("message", "", "packed"), 17: ("end", "begin_tick end_tick", "inside"),
            18: ("begin", "types_names", "category"), 19: ("instant", "types_names", "category"),
            20: ("resize", "address size", "")}

# Record type: the meaning of each u32 from offset 8 on, as letters of FIELD_RANGES.
UNIT, LINES, BIND, BIND_LIST, ANCHOR, STACKS, FRAMES, LOST, TYPES = 4, 7, 8, 9, 10, 13, 14, 16, 17
RECORD_FIELDS = {1: "s..i...a", 2: "sst.i...", 3: "si..", UNIT: "i.kpii.b..", 5: "si......", 6: "si..", LINES: "i.",
                 BIND: "i.i0", BIND_LIST: ".0", ANCHOR: "......", 11: "ii00", 12: "s0..", STACKS: "i.",
                 FRAMES: "i.", 15: "....s.", LOST: ".n........", TYPES: "i."}
FIELD_RANGES = {".": (0, M32), "0": (0, 0), "s": (1, M32), "i": (0, ID_MAX), "k": (1, 2), "t": (1, 4), "p": (0, 31), "b": (0, 64), "n": (0, 4), "a": (0, 1)}
# Where the count is, the size of a counted item and, if an item consists of fields, their letters.
COUNTED = {UNIT: (36, 1, ""), LINES: (12, 8, ".."), BIND_LIST: (8, 8, "ii"), STACKS: (12, 8, "ii"),
           FRAMES: (12, 16, "ii.0"), TYPES: (12, 8, "ii")}


def padded(nbytes):
    return (nbytes + 7) // 8 * 8


# The handler "replace" would turn several bytes into one U+FFFD.
codecs.register_error("each_byte", lambda error: ("\uFFFD" * (error.end - error.start), error.end))


class RangeMap:
    """Maps ranges of ids to their meaning. An id has the value of the last start that is not above it."""

    def __init__(self):
        self.starts, self.values = [0], [None]

    def get(self, id):
        return self.values[bisect.bisect_right(self.starts, id) - 1]

    def is_free(self, first, end):
        inside = slice(bisect.bisect_right(self.starts, first) - 1, bisect.bisect_left(self.starts, end))
        return not any(self.values[inside])

    def set(self, first, end, value):
        if first < end:
            replaced = slice(bisect.bisect_left(self.starts, first), bisect.bisect_right(self.starts, end))
            self.values[replaced] = [value, self.get(end)]
            self.starts[replaced] = [first, end]


class Trace:
    """A file with a valid header, or a copy of it, and everything that has been found in it."""

    def __init__(self, data, fixed, is_copy, tell):
        self.data, self.header, self.tell = data, read_fixed(fixed), tell
        self.page_size, self.fixed = self.header.page_size, fixed[:self.header.size]
        self.shut = data[608:612] == b"shut"
        self.has_counters = data[608:612] in (b"open", b"shut") or not is_copy
        self.next_stream, self.next_ordinal = (u64(data, 576), u64(data, 584)) if self.has_counters else (M64, M64)
        self.lost = []  # (stream, kind, first sequence, count) of LOST records
        self.seen, self.good = set(), {}  # (kind, stream, sequence) of all blocks; of valid ones, with page and cell
        self.bad_parts = set()  # directory pages that are damaged
        self.strings = {}  # ordinal of a string page -> its string blocks
        self.bindings, self.units = RangeMap(), RangeMap()  # the units, the stacks and the types
        self.lines, self.frames = {}, {}  # by unit; by id
        self.resolved = {}
        self.anchors = [(self.header.anchor_ticks, self.header.monotonic, self.header.realtime)]
        self.first_tick = None  # of the event blocks
        self.goes_by_entries = False  # a block whose entry means another is lost (section 12.3)


# The file (section 3)

def open_trace(data, tell):
    try:
        read_header(data)
        return Trace(data, data, False, tell)
    except Damage as damage:
        copy = find_copy(data)
        if not copy:
            raise
        tell(damage)
        return Trace(data, copy, True, tell)


def closing_checksum(trace, page_count):
    data, size = trace.data, trace.page_size
    checksum = xxh3_64(data[776:size], xxh3_64(data[512:768]))
    for page in directory_pages(size, min(page_count, len(data) // size)):
        checksum = xxh3_64(data[page * size + 512:(page + 1) * size], checksum)
    return checksum


def check_shared(trace):
    """Reports damage in the region that all writers share, and returns how many pages to read."""
    data, size, claimed = trace.data, trace.page_size, u64(trace.data, 512)
    page_count = claimed
    if data[608:612] not in (b"open", b"shut"):
        trace.tell("STATE")
    if not trace.has_counters:
        page_count = -(-len(data) // size)
        check_directory(trace, page_count)
        return page_count
    zeros = ((trace.header.size, 512), (528, 576), (612, 616), (624, 640), (712, 768), (776, 1024))
    if not all(is_zero(data, begin, end) for begin, end in zeros):
        trace.tell("SHARED_ZERO")
    if not trace.header.ring + 1 <= claimed <= M32:
        trace.tell("PAGE_COUNT")
        page_count = -(-len(data) // size)
    check_directory(trace, page_count)
    if trace.shut and not trace.bad_parts and u64(data, 768) != closing_checksum(trace, claimed):
        trace.tell("CLOSING_CHECKSUM")
    if trace.shut and len(data) != claimed * size:
        trace.tell("FILE_SIZE")
    return page_count


# Blocks (section 4)

class Block:
    """A block header, and where the block's content begins and ends."""

    def __init__(self, data, start, size):
        (self.kind, self.shift, self.cell, self.page, self.file_id, self.stream, self.sequence, self.generation,
         self.ordinal, self.first_tick, self.depth, self.used, self.last_tick,
         self.checksum) = BLOCK.unpack_from(data, start)
        self.start, self.size = start, size
        self.is_begun = self.kind != 0
        self.content = start + 64 + 16 * min(self.depth, size // 64)  # after the stored stack
        self.end = start + (self.used or size)
        self.base = self.first_tick  # deltas are added to it; TIME words raise it


def check_block(trace, block, page, cell, parent):
    data, kind, used = trace.data, block.kind, block.used
    need(kind <= (RECORDS if parent else CELLS), "BLOCK_KIND")
    if kind == CELLS:
        need(512 <= 1 << block.shift <= block.size // 8, "BLOCK_SHIFT")
    else:
        need(1 << block.shift == block.size, "BLOCK_SHIFT")
    need(block.cell == cell, "BLOCK_CELL")
    need(block.page == page, "BLOCK_PAGE")
    need(block.file_id == trace.header.file_id, "BLOCK_FILE")
    need(0 < block.stream < trace.next_stream, "BLOCK_STREAM")
    need(kind == EVENTS or block.depth == 0, "BLOCK_DEPTH")
    if kind == CELLS:
        need(used == 512, "BLOCK_USED")
    elif used:
        need(used % 8 == 0 and block.content <= block.end <= block.start + block.size, "BLOCK_USED")
    need(not used or block.last_tick >= block.first_tick, "BLOCK_TICKS")
    need(ordinal_is_good(trace, block, parent), "BLOCK_ORDINAL")
    if used:
        seed = xxh3_64(data[block.start:block.start + 56])
        need(block.checksum == xxh3_64(data[block.start + 64:block.start + used], seed), "BLOCK_CHECKSUM")
        need(kind == CELLS or is_zero(data, block.end, block.start + block.size), "BLOCK_TAIL")


def ordinal_is_good(trace, block, parent):
    if block.kind in (EVENTS, RECORDS):
        return block.ordinal == 0
    if parent:
        return block.ordinal == parent.ordinal
    in_space = block.ordinal * trace.page_size <= M32
    return in_space and block.ordinal < trace.next_ordinal and block.ordinal not in trace.strings


def claim_by_entry(trace, entry, page, cell):
    """A reader that finds blocks by their entries has what an entry means, whatever is in the page."""
    key, has_ordinal = (entry.kind, entry.stream, entry.sequence), entry.kind in (STRINGS, CELLS)
    if key in trace.good or has_ordinal and entry.depth in trace.strings:
        return
    trace.good[key] = page, cell
    if has_ordinal:
        trace.strings[entry.depth] = []


def take_block(trace, page, cell=0, parent=None):
    """Returns the block of a page or a cell, or None if there is none or it fails a check."""
    size = 1 << parent.shift if parent else trace.page_size
    start = page * trace.page_size + cell * size
    block = Block(trace.data, start, size)
    key = (block.kind, block.stream, block.sequence)
    entry = None if cell else entry_of_page(trace, page)
    if entry and not entry_is_valid(entry):
        trace.tell("DIRECTORY_ENTRY", page, cell)
    try:
        if is_begun(entry):
            trace.seen.add((entry.kind, entry.stream, entry.sequence))
        if not block.is_begun or not cell and is_being_taken(trace, page):
            need(not is_begun(entry), "BLOCK_LOST")
            need(not trace.shut or is_zero(trace.data, start, start + size), "BLOCK_NOT_ZERO")
            return None
        if not is_begun(entry):
            trace.seen.add(key)  # a damaged block is not reported as missing too
        check_block(trace, block, page, cell, parent)
        need(key not in trace.good, "BLOCK_TWICE")
    except Damage as damage:
        trace.tell(damage, page, cell)
        if trace.goes_by_entries and entry and is_begun(entry) and entry_is_valid(entry):
            claim_by_entry(trace, entry, page, cell)
        return None
    if block.kind == CELLS and not is_zero(trace.data, block.end, start + (1 << block.shift)):
        trace.tell("BLOCK_TAIL", page, cell)  # the header is valid, so its cells are still read
    if trace.shut and not block.used:
        trace.tell("BLOCK_UNSEALED", page, cell)
    if entry and entry_is_valid(entry) and not entry_agrees(trace, entry, block):
        trace.tell("DIRECTORY_ENTRY", page, cell)
        if trace.goes_by_entries and not entry_means(entry, block):
            claim_by_entry(trace, entry, page, cell)
            return None
    if block.kind in (STRINGS, CELLS):
        trace.strings.setdefault(block.ordinal, []).extend([block] if block.kind == STRINGS else [])
    trace.good[key] = page, cell
    return block


def take_cells(trace, page, parent):
    count = trace.page_size >> parent.shift
    entry = entry_of_page(trace, page)
    starts = [page * trace.page_size + (cell << parent.shift) for cell in range(1, count)]
    begun = [cell for cell, start in enumerate(starts, 1) if Block(trace.data, start, 1 << parent.shift).is_begun]
    if is_begun(entry) and len(begun) < min(entry.cells, count - 1):
        trace.tell("BLOCK_LOST", page, min(set(range(1, count)) - set(begun)))
    yield from filter(None, (take_block(trace, page, cell, parent) for cell in range(1, count)))


def tell_cut(trace, page_count):
    """Reports the pages beyond the end of the file."""
    size, cut = trace.page_size, len(trace.data) // trace.page_size
    for page in range(cut, page_count if cut < page_count else 0):
        part = directory_page(size, page)
        if part and (part >= cut or part in trace.bad_parts):
            entry = None
        else:
            entry = entry_of_page(trace, page)
        if is_begun(entry):
            trace.seen.add((entry.kind, entry.stream, entry.sequence))
        if is_begun(entry) or page == cut and (trace.shut or len(trace.data) % size):
            trace.tell("BLOCK_CUT", page, 0)


def find_blocks(trace, page_count):
    """Yields the readable blocks, except cells pages, in file order."""
    size = trace.page_size
    for page in range(1, min(page_count, len(trace.data) // size)):
        if directory_page(size, page) == page:
            continue
        block = take_block(trace, page)
        if block and block.kind == CELLS:
            yield from take_cells(trace, page, block)
        elif block:
            yield block
    tell_cut(trace, page_count)


def tell_missing(trace):
    """Reports a gap at the valid block that follows it; that block is read nevertheless."""
    for kind, stream, sequence in sorted(trace.good):
        reused = trace.header.ring and kind == EVENTS
        explained = any((stream, kind) == lost[:2] and 0 <= sequence - 1 - lost[2] < lost[3] for lost in trace.lost)
        if sequence and not reused and not explained and (kind, stream, sequence - 1) not in trace.seen:
            trace.tell("BLOCK_MISSING", *trace.good[kind, stream, sequence])


def ends_well(trace, block, at):
    """Whether the content of an unsealed block may end at its first zero word."""
    entry = None if block.cell else entry_of_page(trace, block.page)
    if is_begun(entry) and entry.state == ENDED:
        return at == block.start + entry.used and is_zero(trace.data, at, block.end)
    if block.kind != EVENTS or is_zero(trace.data, at + 16, block.end):
        return True
    end = at + 8 + 8 * struct.unpack_from("<H", trace.data, at + 10)[0]
    return end <= block.end and is_zero(trace.data, end, block.end)


def walk(trace, blocks, read, zero_name):
    """Yields the lines for the content of blocks. 'read' returns the lines and the size of one word, entry or record,
    and raises the damage that ends its block."""
    data = trace.data
    for block in blocks:
        at = block.content
        try:
            for span in range(block.start + 64, at, 16):
                need(u32(data, span + 8) <= ID_MAX and u32(data, span + 12) <= 1, "EVENT_STACK")
            while at < block.end and u64(data, at):
                lines, nbytes = read(trace, block, at)
                yield from lines
                at += nbytes
            need(at == block.end if block.used else ends_well(trace, block, at), zero_name)
            if not is_zero(data, at, block.end):
                trace.tell("interrupted record", block.page, block.cell, damage=False)
        except Damage as damage:
            trace.tell(damage, block.page, block.cell)


# Strings (sections 5 and 7)

# One or more code points (RFC 3629, section 4).
TEXT = re.compile(rb"""(?x: [\x00-\x7F] | [\xC2-\xDF][\x80-\xBF]
    | \xE0[\xA0-\xBF][\x80-\xBF] | [\xE1-\xEC\xEE\xEF][\x80-\xBF]{2} | \xED[\x80-\x9F][\x80-\xBF]
    | \xF0[\x90-\xBF][\x80-\xBF]{2} | [\xF1-\xF3][\x80-\xBF]{3} | \xF4[\x80-\x8F][\x80-\xBF]{2} )+""")


def code_point_nbytes(first_byte):
    """Returns a code point's size from its first byte; 1 if the byte starts none, which more bytes would not change."""
    return 1 if not 0xC0 <= first_byte < 0xF8 else 2 if first_byte < 0xE0 else 3 if first_byte < 0xF0 else 4


def split_components(content):
    """Splits a string's content into components: bytes for text, an integer for a reference."""
    parts, at, last = [], 0, len(content) - 1
    while at != last or content[at] != 0xFF:
        need(at <= last and content[at] != 0xFF, "STRING_END")
        if 0x80 <= content[at] <= 0xBF:
            need(at + 4 <= last, "STRING_END")
            parts.append(int.from_bytes(content[at:at + 4], "big") & ID_MAX)
            at += 4
        else:
            text = TEXT.match(content, at)
            need(text or at + code_point_nbytes(content[at]) <= last, "STRING_END")
            need(text, "STRING_UTF8")
            parts.append(text.group())
            at = text.end()
    return parts


def read_entry(trace, block, at):
    nbytes, low = struct.unpack_from("<II", trace.data, at)
    need(1 <= nbytes <= block.end - at - 8, "STRING_LENGTH")
    content = trace.data[at + 8:at + 8 + nbytes]
    need(xxh3_64(content) & M32 == low, "STRING_HASH")
    return content


def read_string(trace, block, at):
    content = read_entry(trace, block, at)
    try:
        split_components(content)
    except Damage as damage:  # the length and hash are valid, so only this entry is lost
        trace.tell(damage, block.page, block.cell)
    id = STRING_SPACE + (block.ordinal * trace.page_size + at % trace.page_size) // 8
    return [{"string": id, "text": name_of(trace, id)}], 8 + padded(len(content))


def entry_of(trace, id):
    """Returns the content of the entry that a regular id addresses."""
    ordinal, offset = divmod((id - STRING_SPACE) * 8, trace.page_size)
    for block in trace.strings.get(ordinal, ()):
        at = block.page * trace.page_size + offset
        if block.content <= at < block.end:
            return read_entry(trace, block, at)
    raise Damage("STRING_ID")


def meaning(trace, id):
    """Returns (parts, components among them). A part is bytes for text, or an integer for the id of a text."""
    if id > METADATA:
        parts = split_components(entry_of(trace, id))
        return parts, len(parts)
    bound = trace.bindings.get(id)
    if bound is not None:
        return [bound], 0
    unit = trace.units.get(id)
    need(unit, "STRING_UNBOUND")
    if not isinstance(unit, Unit):  # stacks or types
        return [unit[1][id - unit[0]]], 0
    return [unit.name, b"+0x%x" % pc_of(unit, id)], 2


def resolve(trace, id, above=()):
    """Returns (text, depth, bindings open at once, components) of an id, cached so that no text is composed twice."""
    if id in trace.resolved:
        return trace.resolved[id]
    need(id not in above, "STRING_CYCLE")
    need(len(above) < 2 * DEPTH_MAX, "STRING_DEPTH")
    parts, components = meaning(trace, id)
    is_bound = id <= METADATA and components == 0  # or a stack
    texts, nbytes, depth, bound = [], 0, 0, 0
    for part in parts:
        text, below, bound_below, more = \
            resolve(trace, part, above + (id,)) if isinstance(part, int) else (part, 0, 0, 0)
        texts.append(text)
        nbytes, components = nbytes + len(text), components + more
        depth, bound = max(depth, below), max(bound, bound_below)
        need(nbytes <= TEXT_MAX, "STRING_BYTES")
        need(components <= COMPONENTS_MAX, "STRING_COMPONENTS")
    depth, bound = depth + (not is_bound), bound + is_bound
    need(depth <= DEPTH_MAX and bound <= DEPTH_MAX, "STRING_DEPTH")
    trace.resolved[id] = b"".join(texts), depth, bound, components
    return trace.resolved[id]


def text_of(trace, id):
    try:
        return resolve(trace, id)[0].decode()
    except Damage:
        return None  # an id that does not resolve is not damage


# Names (section 8.7)

def pc_of(unit, id):
    return unit.base + (id - unit.first << unit.shift) & M64


def follow(trace, id):
    """Follows bindings, stacks and types from an id."""
    seen = set()
    while id <= METADATA and id not in seen and len(seen) <= DEPTH_MAX:
        seen.add(id)
        unit = trace.units.get(id)
        if trace.bindings.get(id) is not None:
            id = trace.bindings.get(id)
        elif unit is not None and not isinstance(unit, Unit):  # stacks or types
            id = unit[1][id - unit[0]]
    return id


def known(trace, id):
    """Returns the text of a string that a record names."""
    id = follow(trace, id)
    text = text_of(trace, id) if id > METADATA else None
    return text and text.split("\0")[0] or None


def line_of(trace, unit, pc):
    lines = sorted(trace.lines.get(unit.first, ()), key=lambda pair: pair[0])  # keeps file order at one pc
    return next((line for at, line in reversed(lines) if at <= pc), 0) or unit.line


def describe(trace, id):
    """Returns (name, the fields with further details) of an id."""
    end = follow(trace, id)
    unit = trace.units.get(end) if end < RESERVED_END else None
    unit = unit if isinstance(unit, Unit) else None
    frames = trace.frames.get(id) or end < RESERVED_END and trace.frames.get(end) or ()
    if not frames and unit is not None and unit.kind == 2:
        frames = [(unit.name, unit.file, line_of(trace, unit, pc_of(unit, end)))]
    fields = {}
    if frames and id != INVALID:
        function, file, line = frames[0]
        fields = {"function": known(trace, function), "file": known(trace, file), "line": line or None}
    if unit is not None and unit.kind == 1:
        path = known(trace, unit.name) or known(trace, unit.file)
        fields["module"] = path and (path.rpartition("/")[2] or path)
    is_place = id < RESERVED_END and (unit is not None or frames and end <= METADATA)
    name = spell(fields, unit, end) if is_place else text_of(trace, id)
    return name, {key: value for key, value in fields.items() if value is not None}


def spell(fields, unit, id):
    function, file, line = map(fields.get, ("function", "file", "line"))
    offset = "+0x%x" % pc_of(unit, id) if unit is not None else ""
    if unit is not None and unit.kind == 1 and (function is None or file is None):
        module = fields["module"] or "<unknown>"
        return module + ("!" + function if function is not None else offset)
    place = " " + file if file is not None else ""
    if line:
        place += ":%d" % line
    elif unit is not None and unit.kind == 2 and offset != "+0x0":
        place += offset
    return (function or "<unknown>") + place


def name_of(trace, id):
    return describe(trace, id)[0]


# Records (section 8)

def read_record(trace, block, at):
    """Gives ids their meanings; the lines list the bindings."""
    type, zero, nbytes = struct.unpack_from("<HHI", trace.data, at)
    fields, lines = RECORD_FIELDS.get(type, ""), []
    least = 8 + 4 * len(fields)
    need(nbytes % 8 == 0 and least <= nbytes <= block.end - at, "RECORD_LENGTH")
    if type in COUNTED:
        count_offset, item_nbytes, item_fields = COUNTED[type]
        count = u32(trace.data, at + count_offset)
        need(count * item_nbytes <= nbytes - least, "RECORD_LENGTH")
        fields += item_fields * count
    try:
        need(zero == 0, "RECORD_FIELD")
        for i, field in enumerate(fields):
            low, high = FIELD_RANGES[field]
            need(low <= u32(trace.data, at + 8 + 4 * i) <= high, "RECORD_FIELD")
        if type == UNIT:
            add_unit(trace, at)
        elif type == STACKS:
            add_stacks(trace, at)
        elif type == TYPES:
            add_types(trace, at)
        elif type == LOST:
            trace.lost.append(struct.unpack_from("<IIII", trace.data, at + 8))
        elif type == ANCHOR:
            ticks, realtime, monotonic = struct.unpack_from("<QqQ", trace.data, at + 8)
            trace.anchors.append((ticks, monotonic, realtime))
        elif type in (BIND, BIND_LIST):
            lines = add_bindings(trace, at, type)
        elif type == LINES:
            numbers = struct.unpack_from("<%dI" % (2 * u32(trace.data, at + 12)), trace.data, at + 16)
            trace.lines.setdefault(u32(trace.data, at + 8), []).extend(zip(numbers[::2], numbers[1::2]))
        elif type == FRAMES:
            numbers = struct.unpack_from("<%dI" % (4 * u32(trace.data, at + 12)), trace.data, at + 16)
            trace.frames[u32(trace.data, at + 8)] = list(zip(numbers[::4], numbers[1::4], numbers[2::4]))
    except Damage as damage:  # the length is valid, so only this record is lost
        trace.tell(damage, block.page, block.cell)
    return lines, nbytes


def add_bindings(trace, at, type):
    """Applies all bindings of a BIND or a BIND_LIST, or none."""
    if type == BIND:
        bindings = [struct.unpack_from("<III", trace.data, at + 8)]
    else:
        numbers = struct.unpack_from("<%dI" % (2 * u32(trace.data, at + 8)), trace.data, at + 16)
        bindings = [(id, 1, string) for id, string in zip(numbers[::2], numbers[1::2])]
    for first, count, _ in bindings:
        need(first + count <= RESERVED_END or (first, count) == (METADATA, 1), "RECORD_RANGE")
    for first, count, string in bindings:
        trace.bindings.set(first, first + count, string)
    return [{"bind": first, "count": count, "string": string} for first, count, string in bindings]


def add_unit(trace, at):
    first, count, kind, shift, name, file, line = struct.unpack_from("<7I", trace.data, at + 8)
    set_range(trace, first, count, Unit(first, kind, shift, name, file, line, u64(trace.data, at + 40)))


def add_stacks(trace, at):
    first, count = struct.unpack_from("<2I", trace.data, at + 8)
    numbers = struct.unpack_from("<%dI" % (2 * count), trace.data, at + 16)
    for i, parent in enumerate(numbers[1::2]):
        need(parent < first + i or parent == INVALID, "RECORD_RANGE")
    set_range(trace, first, count, (first, numbers[::2]))


def add_types(trace, at):
    first, count = struct.unpack_from("<2I", trace.data, at + 8)
    numbers = struct.unpack_from("<%dI" % (2 * count), trace.data, at + 16)
    for i, location in enumerate(numbers[::2]):
        need(location < first + i or location >= RESERVED_END, "RECORD_RANGE")
    set_range(trace, first, count, (first, numbers[::2], numbers[1::2]))


def class_of(trace, id):
    """Returns the field with the type of what is allocated, if the id has one."""
    unit = trace.units.get(id) if id < RESERVED_END else None
    is_typed = unit is not None and not isinstance(unit, Unit) and len(unit) == 3
    type = unit[2][id - unit[0]] if is_typed else INVALID
    return {"class": name_of(trace, type)} if type != INVALID else {}


def set_range(trace, first, count, value):
    is_apart = count == 0 or trace.units.is_free(first, first + count)
    need(first + count <= RESERVED_END and is_apart, "RECORD_RANGE")
    trace.units.set(first, first + count, value)


# Events (section 6)

def read_arguments(trace, at, end, count):
    """Decodes the arguments in [at, end) into their form in the listing."""
    arguments = []
    for _ in range(count):
        need(end - at >= 8, "EVENT_ARGUMENT")
        header = u64(trace.data, at)
        type, nbytes, name = header & 0xFF, header >> 8 & 0xFFFFFF, header >> 32
        need(nbytes <= end - at - 8 and name <= ID_MAX, "EVENT_ARGUMENT")
        need(nbytes == 8 or not 1 <= type <= 6, "EVENT_ARGUMENT")
        value = show_value(trace, type, trace.data[at + 8:at + 8 + nbytes])
        arguments.append({"name": name_of(trace, name), "type": type, "value": value})
        at += 8 + padded(nbytes)
    need(at == end, "EVENT_ARGUMENT")
    return arguments


def read_packed(trace, at, end, count, types, name=INVALID):
    """Decodes the packed arguments in [at, end) into their form in the listing. 'name' is the first one's."""
    need(types >> 4 * count == 0, "EVENT_ARGUMENT")
    arguments = []
    for i in range(count):
        type = types >> 4 * i & 15
        need(type not in (0, 8) and type <= 10, "EVENT_ARGUMENT")
        nbytes = 4 if type >= 7 else 8
        need(nbytes <= end - at, "EVENT_ARGUMENT")
        if type == 7:
            nbytes, at = u32(trace.data, at), at + 4
            need(nbytes <= end - at, "EVENT_ARGUMENT")
        value = show_value(trace, type & 7, trace.data[at:at + nbytes])
        arguments.append({"name": name_of(trace, name), "type": type & 7, "value": value})
        name = name + 1 if name + 1 < RESERVED_END else INVALID
        at += nbytes
    need(end - at < 8, "EVENT_ARGUMENT")
    return arguments


def show_value(trace, type, value):
    number = int.from_bytes(value, "little", signed=type == 2)
    if type in (1, 2, 4):
        return number
    if type == 3:
        double = struct.unpack("<d", value)[0]
        if math.isfinite(double):
            return double
        return "NaN" if math.isnan(double) else "Infinity" if double > 0 else "-Infinity"
    if type == 5:
        return number != 0
    if type == 6:
        return {"id": number, "text": name_of(trace, number)}
    return value.decode("utf-8", "each_byte") if type == 7 else value.hex()


def decode_pair(second):
    """Returns (TYPE, fields) of a two-word form."""
    subtype, payload = second >> 60, second & 2 ** 60 - 1
    if subtype == 1:
        return "alloc", {"address": (payload & 2 ** 45 - 1) * 8, "size": payload >> 45}
    if subtype == 2:
        return "free", {"address": payload}
    if subtype == 3:
        return "counter", {"value": payload - (payload >> 59 << 60)}
    return "unknown", {"tag": subtype * 256 + 5, "nwords": 2}


def show_category(trace, id):
    return {} if id in (0, INVALID) or id > ID_MAX else {"category": id, "category_name": name_of(trace, id)}


def decode_extended(trace, at, end):
    """Returns (total words, TYPE, fields) of the counted form; 'at' is its second word."""
    type, argument_count, nwords, aux = struct.unpack_from("<BBHI", trace.data, at)
    need(1 <= nwords <= (end - at) // 8, "EVENT_LENGTH")
    if type not in EXTENDED:
        return 1 + nwords, "unknown", {"tag": type * 256 + 6, "nwords": 1 + nwords}
    name, fixed, aux_name = EXTENDED[type]
    fixed = fixed.split()
    need(nwords > len(fixed), "EVENT_ARGUMENT")
    fields = {field: u64(trace.data, at + 8 + 8 * i) for i, field in enumerate(fixed)}
    if aux_name == "packed":
        arguments = read_packed(trace, at + 8, at + 8 * nwords, argument_count, aux >> 4)
        aux_name, aux = "severity", aux & 15
    elif fixed == ["types_names"]:
        names, types = divmod(fields.pop("types_names"), 2 ** 32)
        need(names <= ID_MAX, "EVENT_ARGUMENT")
        arguments = read_packed(trace, at + 16, at + 8 * nwords, argument_count, types, names)
    else:
        arguments = read_arguments(trace, at + 8 + 8 * len(fixed), at + 8 * nwords, argument_count)
    if name == "counter":
        need(arguments and arguments[0]["type"] in (1, 2, 3), "EVENT_ARGUMENT")
        fields["value"] = arguments.pop(0)["value"]
    if aux_name == "severity":
        fields["has_context"], aux = bool(aux & 8), aux & ~8
    if aux_name == "category":
        fields.update(show_category(trace, aux))
    elif aux_name and (aux_name != "inside" or aux != 0):
        fields[aux_name] = aux
    if arguments:
        fields["args"] = arguments
    return 1 + nwords, name, fields


def read_event(trace, block, at):
    word, left = u64(trace.data, at), block.end - at
    delta, tag, id = word >> 33, word >> 30 & 7, word & ID_MAX
    need(tag != 0, "EVENT_TAG")
    if tag == 4:
        need(delta == 0 and id != 0, "EVENT_TIME")
        block.base += id << 31
        return [], 8
    need(tag not in (5, 6) or left >= 16, "EVENT_LENGTH")
    if tag == 6:
        nwords, type, fields = decode_extended(trace, at + 8, block.end)
    elif tag == 5:
        nwords, (type, fields) = 2, decode_pair(u64(trace.data, at + 8))
    elif tag == 7:
        nwords, type, fields = 1, "unknown", {"tag": 7, "nwords": 1}
    else:
        nwords, type, fields = 1, ("begin", "end", "instant")[tag - 1], {}
    tick, (name, more) = block.base + delta & M64, describe(trace, id)
    if block.used and tick > block.last_tick:
        trace.tell("EVENT_TICK", block.page, block.cell)
        block.last_tick = M64  # reported once
    if fields.pop("has_context", False) and "\x1e" in (name or ""):
        fields["context"] = name.split("\x1e")[0]
    if type in ("alloc", "free", "realloc"):
        more.update(class_of(trace, id))
    event = {"stream": block.stream, "tick": tick, "type": type, "id": id, "name": name, **more, **fields}
    return [event], 8 * nwords


# Ticks and time (section 8.3)

def used_anchors(trace):
    """Returns (ticks, ns of CLOCK_MONOTONIC, ns of CLOCK_REALTIME) in rising order, of the anchors that make the map."""
    valid = []
    for anchor in sorted(trace.anchors):
        if not valid or (anchor[0] > valid[-1][0] and anchor[1] >= valid[-1][1]):
            valid.append(anchor)
    first, last = valid[0], valid[-1]
    if last[1] - first[1] < 10 ** 6:
        return [first]
    used = [first]
    for anchor in valid[1:-1]:
        if min(anchor[1] - used[-1][1], last[1] - anchor[1]) >= 10 ** 8:
            used.append(anchor)
    return used + [last]


def time_of(trace, tick, clock):
    """Converts a tick to nanoseconds; 'clock' is the index of that clock's time in an anchor."""
    anchors = used_anchors(trace)
    at = max(bisect.bisect_right([anchor[0] for anchor in anchors], tick) - 1, 0)
    near, first = anchors[at], min(at, max(len(anchors) - 2, 0))
    rise, run = 10 ** 9, trace.header.ticks_per_second
    if len(anchors) > 1:
        one, other = anchors[first:first + 2]
        rise, run = other[clock] - one[clock], other[0] - one[0]
    return near[clock] + (tick - near[0]) * rise // run


def cut(ns):
    return min(max(ns, -2 ** 63), 2 ** 63 - 1)


def list_times(trace):
    """Yields (stream, tick, ns since the start, ns of CLOCK_REALTIME) for each event."""
    events = [line for line in list_trace(trace) if "tick" in line]
    header, start = trace.header, trace.first_tick
    if header.monotonic == 0 and start is not None:
        start = min(start, header.anchor_ticks)
    for event in events:
        since = time_of(trace, event["tick"], 1) - time_of(trace, start, 1)
        yield event["stream"], event["tick"], cut(since), cut(time_of(trace, event["tick"], 2))


# The listing (section 14)

def list_gaps(trace, events):
    """Yields what is missing between event blocks of a flight recorder, which are in order."""
    for before, after in zip(events, events[1:]) if trace.header.ring else ():
        numbers = range(before.sequence + 1, after.sequence if after.stream == before.stream else 0)
        missing = len(numbers) - sum(kind == EVENTS and stream == before.stream and number in numbers
                                     for kind, stream, number in trace.seen)
        if missing:
            yield {"missing": missing, "stream": before.stream, "first_sequence": before.sequence + 1,
                   "first_tick": before.last_tick if before.used else before.first_tick, "last_tick": after.first_tick}


def list_trace(trace):
    blocks = list(find_blocks(trace, check_shared(trace)))
    records = [block for block in blocks if block.kind == RECORDS]
    strings = [block for ordinal in sorted(trace.strings) for block in trace.strings[ordinal]]
    events = [block for block in blocks if block.kind == EVENTS]
    events.sort(key=lambda block: (block.stream, block.sequence))
    trace.first_tick = min((block.first_tick for block in events), default=None)
    bindings = list(walk(trace, records, read_record, "RECORD_LENGTH"))  # first, because strings may need them
    if trace.shut:
        tell_missing(trace)
    yield from walk(trace, strings, read_string, "STRING_LENGTH")
    yield from bindings
    yield from list_gaps(trace, events)
    yield from walk(trace, events, read_event, "EVENT_ZERO")


def main():
    option = sys.argv[1] if len(sys.argv) == 3 else ""
    if len(sys.argv) not in (2, 3) or option not in ("", "--times", "--by-entries"):
        print("usage: decoder.py [--times | --by-entries] FILE", file=sys.stderr)
        return 2
    path, damaged = sys.argv[-1], []

    def tell(name, page=None, cell=None, damage=True):
        where = "" if page is None else " page %d cell %d:" % (page, cell)
        print("decoder: %s:%s %s" % (path, where, name), file=sys.stderr)
        damaged.append(damage)

    try:
        data = load(path, tell)
        trace = open_trace(data, tell)
        trace.goes_by_entries = option == "--by-entries"
    except (Damage, OSError) as refused:
        tell(getattr(refused, "strerror", None) or refused)
        return 2
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    for times in list_times(trace) if option == "--times" else ():
        print(*times)
    for line in () if option == "--times" else list_trace(trace):
        print(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
    return 1 if any(damaged) else 0


if __name__ == "__main__":
    sys.exit(main())
