# SPDX-License-Identifier: MIT
"""The independent decoder's part for the header page and the directory: sections 3 and 4.3 of spec/format.md."""
import struct
from collections import namedtuple

from xxh3 import xxh3_64

M32 = 2 ** 32 - 1
RESERVED_END = METADATA = STRING_SPACE = 0x20000000
INVALID = 0x20000001
ID_MAX = 0x3FFFFFFF
HEADER = struct.Struct("<8sIIQQQIIIIIIQQqQ16sIB131s")
Header = namedtuple("Header", "magic version page_size compatible incompatible file_id reserved_max metadata id_max "
                    "ring clock size ticks_per_second anchor_ticks realtime monotonic unit resolution clock_reason zeros")
EVENTS, STRINGS, RECORDS, CELLS, DIRECTORY = 1, 2, 3, 4, 5
BLOCK = struct.Struct("<BBHIQIIIIQIIQQ")
FREE, CLAIMED, BEGUN, ENDED, SEALED = range(5)
NEW, TAKEN, HELD, RELEASED = range(4)
ENTRY = struct.Struct("<BBHIIIIIQQQIIII")
Entry = namedtuple("Entry", "state kind cells sequence generation process stream used first_tick last_tick begin_tick "
                   "depth age checksum check")


class Damage(Exception):
    """A check of section 12 failed; the argument is the check's name."""


def need(holds, name):
    if not holds:
        raise Damage(name)


def u32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def u64(data, at):
    return struct.unpack_from("<Q", data, at)[0]


def is_zero(data, begin, end):
    return data.count(0, begin, end) == max(end - begin, 0)


def read_fixed(data):
    """Reads the fields that never change, of a header page or a copy of its first 448 bytes."""
    h = Header(*HEADER.unpack_from(data))
    need(h.version == 1, "VERSION")
    need(h.incompatible == 0, "FLAGS")
    need(256 <= h.size <= 448 and h.size % 64 == 0, "HEADER_SIZE")
    need(u64(data, h.size - 8) == xxh3_64(data[:h.size - 8]), "HEADER_CHECKSUM")
    need(h.page_size in [1 << shift for shift in range(12, 21)], "PAGE_SIZE")
    need((h.reserved_max, h.metadata, h.id_max) == (RESERVED_END - 1, METADATA, ID_MAX), "ID_SPACE")
    need(1 <= h.clock <= 4, "CLOCK")
    need(h.ticks_per_second == 0 if h.clock == 4 else 1000 <= h.ticks_per_second <= 10 ** 12, "CLOCK")
    need(h.resolution <= (0 if h.clock == 4 else 10 ** 9), "CLOCK")
    need(h.clock_reason <= {3: 4, 4: 0}.get(h.clock, 2), "CLOCK")
    unit = h.unit.rstrip(b"\0")
    need(all(0x20 <= byte <= 0x7E for byte in unit) and (h.clock == 4 or not unit), "CLOCK")
    need(h.file_id != 0, "FILE_ID")
    need(not any(h.zeros), "HEADER_ZERO")
    return h


def read_header(data):
    need(data, "EMPTY")
    need(b"tracebed".startswith(data[:8]), "NOT_A_TRACE")
    need(len(data) >= 776, "HEADER_CUT")
    header = read_fixed(data)
    need(len(data) >= header.page_size, "HEADER_CUT")
    return header


def find_copy(data):
    """Returns the first intact copy of the header page's first 448 bytes, or None."""
    for start in range(4096, len(data) - 511, 4096):
        kind, _, cell, page, file_id, *_, used, _, checksum = BLOCK.unpack_from(data, start)
        seed = xxh3_64(data[start:start + 56])
        if kind in (CELLS, DIRECTORY) and (cell, used) == (0, 512) and \
                data[start + 64:start + 72] == b"tracebed" and checksum == xxh3_64(data[start + 64:start + 512], seed):
            try:
                header = read_fixed(data[start + 64:start + 512])
            except Damage:
                continue
            if header.file_id == file_id and page * header.page_size == start:
                return data[start + 64:start + 512]
    return None


def entry_counts(size):
    """How many pages have their entries in the header page, and how many in a directory page."""
    return (size // 2 - 1024) // 64, (size - 512) // 64


def directory_page(size, page):
    """Returns the number of the directory page that has the entry of a page, or is that page; 0: the header page."""
    first, following = entry_counts(size)
    return 0 if page < first else page - (page - first) % (following + 1)


def directory_pages(size, page_count):
    first, following = entry_counts(size)
    return range(first, page_count, following + 1)


def is_intact(trace, page):
    """Whether a directory page is in the file and starts as it must."""
    size, start = trace.page_size, page * trace.page_size
    first, following = entry_counts(size)
    fixed = trace.fixed.ljust(448, b"\0")
    header = BLOCK.pack(DIRECTORY, size.bit_length() - 1, 0, page, trace.header.file_id, 0, (page - first) // (following + 1),
                        0, 0, 0, 0, 512, 0, 0)
    checksum = xxh3_64(fixed, xxh3_64(header[:56]))
    return start + size <= len(trace.data) and trace.data[start:start + 512] == header[:56] + struct.pack("<Q", checksum) + fixed


def check_directory(trace, page_count):
    """Reports damaged directory pages, once for those that follow each other."""
    pages = directory_pages(trace.page_size, page_count)
    trace.bad_parts = {page for page in pages if not is_intact(trace, page)}
    for page in pages:
        if page in trace.bad_parts and page - pages.step not in trace.bad_parts:
            trace.tell("DIRECTORY_PAGE", page, 0)


def load_entry(trace, page):
    part = directory_page(trace.page_size, page)
    start = 1024 + 64 * page if part == 0 else part * trace.page_size + 512 + 64 * (page - part - 1)
    return Entry(*ENTRY.unpack_from(trace.data, start))


def is_being_taken(trace, page):
    """Whether the mark of a page says that it has no block, or none yet (section 10)."""
    in_live_ring = page <= trace.header.ring and not trace.shut and trace.has_counters
    return in_live_ring and load_entry(trace, page).generation % 4 not in (HELD, RELEASED)


def entry_of_page(trace, page):
    """Returns the entry of a page, or None if it has none, or if the part of the directory with it is damaged."""
    part = directory_page(trace.page_size, page)
    is_lost = part in trace.bad_parts or part == 0 and not trace.has_counters
    if part == page or is_lost or is_being_taken(trace, page):
        return None
    return load_entry(trace, page)


def entry_is_valid(entry):
    if entry.state == FREE:
        return True
    without = entry._replace(cells=0, generation=0, process=0, age=0, check=0)
    check = xxh3_64(ENTRY.pack(*without)[:60]) & M32
    return EVENTS <= entry.kind <= CELLS and (entry.state < SEALED or entry.state == SEALED and entry.check == check)


def entry_means(entry, block):
    """Whether an entry means the block in its page: free entries mean none, so that readers look at the page."""
    is_same = (entry.kind, entry.stream, entry.sequence) == (block.kind, block.stream, block.sequence)
    return entry.state == FREE or is_same and (block.kind not in (STRINGS, CELLS) or entry.depth == block.ordinal)


def entry_agrees(trace, entry, block):
    """Whether an entry says the same as the valid header of a block that fills a page."""
    extra = block.ordinal if block.kind in (STRINGS, CELLS) else block.depth
    if entry.state == FREE or (entry.kind, entry.stream, entry.sequence, entry.generation // 4, entry.first_tick,
                               entry.depth) != (block.kind, block.stream, block.sequence, block.generation,
                                                block.first_tick, extra):
        return False
    if entry.state < SEALED and trace.shut and block.used:
        return False
    if entry.state < ENDED or entry.state == ENDED and not block.used:
        return True
    is_same_half = entry.state == ENDED or entry.checksum == block.checksum & M32
    return (entry.used, entry.last_tick) == (block.used, block.last_tick) and is_same_half


def is_begun(entry):
    return entry is not None and entry_is_valid(entry) and entry.state >= BEGUN
