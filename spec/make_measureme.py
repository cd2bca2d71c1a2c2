#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the golden profiles in spec/golden/measureme, following measureme.md: make_measureme.py FOLDER

expected.txt has a line for each: the file name, and the statuses of its damage in alphabetical order, without repeats,
or the status with which the file is refused.
"""
import os
import struct
import sys

METADATA, INVALID, FIRST = 100000001, 100000002, 100000003
INSTANT, INTEGER = 0xFFFFFFFFFFFF, 0xFFFFFFFFFFFE
JSON = '{ "start_time": 1700000000000000000, "process_id": 42, "cmd": "%s", "counter": { "name": "%s", "units": [["%s", 1]] } }'
MAGICS = (b"MMES", b"MMSD", b"MMSI")
EXTENSIONS = (".events", ".string_data", ".string_index")


class Ref(int):
    """A component that refers to this id. Other components are texts, or bytes that are written verbatim."""


class Maker:
    def __init__(self, version, command="bin/prog x ", counter="wall-time", unit="ns", metadata=None):
        self.version = version
        self.streams = [bytearray(magic + struct.pack("<I", version)) for magic in MAGICS]
        self.next_id = {0: 0x80000001, 3: 0x20000001}.get(version)
        self.metadata_id = {0: 0x80000000, 3: 0x20000000}.get(version, METADATA)
        text = JSON % (command, counter, unit) if metadata is None else metadata
        self.string(text, id=self.metadata_id)

    def component(self, component):
        if isinstance(component, bytes):
            return component
        if isinstance(component, Ref):
            if self.version <= 6:
                return struct.pack(">I", 0x80000000 | component)
            return struct.pack("<BQ" if self.version == 9 else "<BI", 0xFE, component)
        text = component.encode()
        return struct.pack("<BH", 1, len(text)) + text if self.version == 0 else text

    def string(self, *components, id=None):
        """Adds an entry and returns its id. If 'id' is given, the index binds it to the entry, and it is returned."""
        address = len(self.streams[1])
        self.streams[1] += b"".join(map(self.component, components)) + (b"\0" if self.version == 0 else b"\xff")
        if id is not None:
            self.index(id, address)
        elif self.next_id is not None:
            id, self.next_id = self.next_id, self.next_id + 1
            self.index(id, address)
        return address + FIRST if id is None else id

    def index(self, id, address):
        self.streams[2] += struct.pack("<QQ" if self.version == 9 else "<II", id, address)

    def event(self, kind, id, thread, first, second):
        upper = first >> 32 << 16 | second >> 32
        ids = struct.pack("<QQ" if self.version == 9 else "<II", kind, id)
        self.streams[0] += ids + struct.pack("<IIII", thread, first & 0xFFFFFFFF, second & 0xFFFFFFFF, upper)

    def mark(self, kind, id, thread, time, mark):
        """Adds an event of version 0: 0 start, 1 end, 2 instant."""
        self.streams[0] += struct.pack("<IIQQ", kind, id, thread, time << 2 | mark)

    def paged(self, sizes=(1 << 18, 1 << 18, 1 << 18), order=(0, 1, 2)):
        """Returns pages of these sizes, one of each stream in turn. A stream's first page contains its header."""
        out = bytearray(b"MMPD" + struct.pack("<I", self.version))
        at = [0, 0, 0]
        while any(at[stream] < len(self.streams[stream]) for stream in order):
            for stream in order:
                end = at[stream] + sizes[stream] + (8 if at[stream] == 0 else 0)
                piece = self.streams[stream][at[stream]:end]
                if piece:
                    out += page(stream, piece)
                at[stream] = end
        return bytes(out)


def page(tag, piece, length=None):
    return struct.pack("<BI", tag, len(piece) if length is None else length) + piece


FILES, EXPECTED = {}, {}


def keep(name, content, damages=""):
    """Stores 'content': a paged profile, or a maker whose streams become three files."""
    if isinstance(content, Maker):
        for extension, stream in zip(EXTENSIONS, content.streams):
            FILES[name + extension] = bytes(stream)
        name += EXTENSIONS[0]
    else:
        name += ".mm_profdata"
        FILES[name] = content
    EXPECTED[name] = damages or "-"


def save(name, maker, damages="", **how):
    keep(name, maker.paged(**how) if maker.version >= 6 else maker, damages)


# ---- Intact profiles ----


def basic(version, **metadata):
    """Has text beyond ASCII, references that contain FF, nesting, alternating threads, and all types of event."""
    m = Maker(version, **metadata)
    query, generic = m.string("Query"), m.string("GenericActivity")
    empty = m.string()
    m.string("virtual\u2192", id=0xFF)
    m.string("later, the same", id=0)
    label = m.string("lab\u00e9l")
    composed = m.string("<", Ref(0xFF), Ref(label), "\U0001F980", Ref(0xFF), ">")
    with_arguments = m.string(Ref(composed), "\x1e", Ref(label), "\x1earg")
    m.index(7, m.streams[1].index(b"lab"))
    m.event(query, 0xFF, 3, 40, 60)
    m.event(generic, label, 1, 10, 20)
    m.event(query, with_arguments, 3, 30, 70)
    m.event(query, label, 1, 25, INSTANT)
    m.event(generic, composed, 1, 5, 30)
    m.event(query, 0, 3, 1 << 33, (1 << 47) + 12345)
    m.event(query, 7, 1, 31, INTEGER)
    m.event(query, 7, 1, 32, 40)
    m.event(query, empty, 0xFFFFFFFF, 32, 40)
    return m


def pairs(m):
    query, label = m.string("Query"), m.string("a")
    composed = m.string("p\u00e9", "q", "")
    m.string("virtual", id=0xFF)
    m.mark(query, label, 0, 10, 0)
    m.mark(query, composed, 0, 20, 0)
    m.mark(query, composed, 1 << 40 | 7, 21, 0)
    m.mark(query, label, 0, 22, 0)
    m.mark(query, label, 0, 23, 1)
    m.mark(query, 0xFF, 0, 24, 2)
    m.mark(query, composed, 0, 30, 1)
    m.mark(query, label, 0, 40, 1)
    m.mark(query, composed, 1 << 40 | 7, 1 << 50, 1)
    return m


def whole_files():
    save("v0", pairs(Maker(0)))
    m = pairs(Maker(0))
    query = 0x80000001
    m.mark(query, 0xFF, 0, 50, 1)
    m.mark(query, 0xFF, 0, 60, 0)
    m.mark(query, 0x80000002, 0, 61, 0)
    m.mark(query, 0x80000002, 9, 62, 0)
    m.mark(query, 0x80000002, 0, 70, 2)
    m.mark(query, 0xFF, 0, 80, 0)
    m.mark(query, 0x80000002, 0, 81, 0)
    m.mark(query, 0x80000002, 0, 82, 0)
    m.mark(query, 0xFF, 0, 83, 1)
    m.mark(query, 0x80000002, 0, 84, 1)
    save("v0_unpaired", m)
    for version in range(3, 10):
        save("v%d" % version, basic(version))
    for version in (6, 7, 8, 9):
        save("v%d_straddle" % version, basic(version), sizes=(32 * 3 if version == 9 else 24 * 3, 1, 1), order=(2, 1, 0))
    save("counter", basic(9, counter="instructions:u", unit="instr\u00fcctions"))
    save("counter_named_badly", basic(9, counter="instructions-minus-irqs:u", unit="\u00b5"))
    save("rust_escapes", basic(9, command="prog it\\'s \\u{e9} \\\"q\\\" "))
    save("metadata_is_text", basic(8, metadata="no JSON at all"))
    save("metadata_is_long", basic(9, metadata=JSON % ("p " + "x" * 70000, "wall-time", "ns")))
    save("no_events", Maker(9))
    counting()
    odd_names()
    odd_times()
    bombs()


def counting():
    m = Maker(9)
    kinds = {text: m.string(text) for text in (
        "Query", "GenericActivity", "QueryBlocked", "IncrementalLoadResult", "IncrementalResultHashing", "QueryCacheHit",
        "QueryCacheHitCount", "ArtifactSize", "Other")}
    a, b, c = m.string("a"), m.string("b"), m.string("a\x1eargument")
    for thread in (0, 5):
        m.event(kinds["QueryCacheHit"], a, thread, 1, INSTANT)
        m.event(kinds["QueryCacheHit"], b, thread, 1, INSTANT)
    for number, kind in enumerate(kinds.values()):
        at = 100 * number
        m.event(kinds["IncrementalResultHashing"], b, 0, at + 30, at + 40)
        m.event(kinds["IncrementalLoadResult"], c, 0, at + 20, at + 50)
        m.event(kind, a, 0, at + 10, at + 60)
        m.event(kinds["Query"], a, 0, at, at + 70)
        m.event(kind, b, 0, number, INTEGER)
    m.event(kinds["QueryCacheHitCount"], a, 0, 3, INTEGER)
    m.event(kinds["QueryCacheHitCount"], c, 0, 4, INTEGER)
    m.event(kinds["QueryCacheHit"], c, 0, 900, INSTANT)
    m.event(kinds["QueryCacheHit"], c, 5, 900, INSTANT)
    m.event(kinds["ArtifactSize"], a, 0, 10, INTEGER)
    m.event(kinds["ArtifactSize"], c, 5, (1 << 48) - 1, INTEGER)
    m.event(kinds["Other"], a, 5, 901, 909)
    save("counting", m)


def odd_names():
    m = Maker(9)
    query = m.string("Query")
    dangling = m.string("half ", Ref(77), "\x1e", Ref(78))
    argument = m.string("known\x1e", Ref(78))
    names = [m.string("\x1ea"), m.string("a\x1b"), m.string("a\x7f"), m.string("a\x1e\x1b"), m.string("semi;colon"), dangling,
             argument, m.string(Ref(argument), Ref(query)), m.string(Ref(query), Ref(query), "!"), m.string(" \" \\ \u00a0"), 77, 1 << 40, METADATA, INVALID, query + 1, FIRST, 0]
    for number, name in enumerate(names):
        m.event(query, name, 0, 10 * number, 10 * number + 5)
    for number, kind in enumerate((0, 77, INVALID, METADATA, dangling, 1 << 63)):
        m.event(kind, query, 1, 10 * number, 10 * number + 5)
        m.event(kind, query, 1, 10 * number + 5, INSTANT)
        m.event(kind, query, 1, number, INTEGER)
    save("odd_names", m)
    m = Maker(9)
    query, long_text = m.string("Query"), m.string("0123456789abcdef" * 5000)
    m.event(query, long_text, 0, 1, 2)
    save("long_string", m)
    m = Maker(8)
    query, name = m.string("Query"), m.string("abcdefgh")
    m.index(5, name - FIRST)
    m.index(5, 9)
    m.index(6, name - FIRST + 3)
    m.index(5, name - FIRST + 4)
    m.event(query, 5, 0, 1, 2)
    m.event(query, 6, 0, 3, 4)
    save("index_twice", m)


def odd_times():
    m = Maker(9)
    query = m.string("Query")
    a, b, c, d = (m.string(text) for text in "abcd")
    for name, thread, begin, end in (
            (a, 0, 1, 9), (b, 0, 2, 10), (c, 0, 0, 10), (d, 0, 11, 11), (d, 0, 11, 11),  # overlap; equal, empty
            (a, 1, 20, 10), (b, 1, 5, 30), (c, 1, 40, 35), (d, 1, 0, 41),  # inverted
            (a, 2, 0, 10), (b, 2, 1, 9), (c, 2, 100, 110), (d, 2, 50, 60),  # parents first, unordered
            (a, 3, 5, 15), (b, 3, 0, 10), (c, 3, 0, 4),  # outlives its parent
            (a, 4, 0, INTEGER - 1), (b, 5, INSTANT, 0)):
        m.event(query, name, thread, begin, end)
    m.event(query, a, 6, 5, INTEGER)
    m.event(query, a, 6, 90, INSTANT)
    m.event(query, a, 6, 50, INSTANT)
    m.event(query, a, 6, 6, INTEGER)
    save("odd_times", m)
    m = Maker(7)
    query, a = m.string("Query"), m.string("a")
    m.event(query, a, 0, 5, INTEGER)
    save("v7_long_interval", m)


def bombs():
    m = Maker(9)
    query, inner = m.string("Query"), m.string("x")
    for _ in range(40):
        inner = m.string(Ref(inner), Ref(inner))
    m.event(query, inner, 0, 1, 2)
    save("bomb", m)
    m = Maker(9)
    query, inner = m.string("Query"), m.string("x")
    for depth in range(2, 67):
        inner = m.string("y", Ref(inner))
        m.event(query, inner, 0, 10 * depth, 10 * depth + 1)
    save("deep", m)
    m = Maker(9)
    query, chain = m.string("Query"), m.string("x")
    for _ in range(3000):
        chain = m.string(Ref(chain))
    m.event(query, chain, 0, 1, 2)
    m.event(query, chain - 10 * 2950, 0, 3, 4)
    save("deeper", m)
    m = Maker(9)
    query, one = m.string("Query"), m.string("a", Ref(5))
    m.string("b", Ref(one), id=5)
    for name in (one, 5, m.string("outside ", Ref(5)), m.string("own ", Ref(6), id=6)):
        m.event(query, name, 0, 1, 2)
    save("cycle", m)


# ---- Damaged profiles ----


def damaged_files():
    keep("VERSION_10", Maker(10).paged(), "PROFILE_VERSION")
    keep("VERSION_5_paged", Maker(5).paged(), "PROFILE_VERSION")
    keep("VERSION_1", Maker(1), "PROFILE_VERSION")
    keep("VERSION_6_in_three", Maker(6), "PROFILE_VERSION")
    keep("EMPTY", b"", "EMPTY")
    keep("NOT_A_TRACE", b"MMPE\x09\0\0\0\0\0\0\0\0", "NOT_A_TRACE")
    keep("CUT_at_once", b"MMPD\x09\0\0", "PROFILE_CUT")
    damaged_containers()
    damaged_strings()
    damaged_indexes()
    damaged_events()


def damaged_containers():
    m = basic(9)
    save("STREAM_no_data", m, "PROFILE_INDEX,PROFILE_STREAM", order=(0, 2))
    save("STREAM_no_index", m, "PROFILE_STREAM", order=(0, 1))
    save("STREAM_no_events", m, "PROFILE_STREAM", order=(1, 2))
    save("STREAM_events_alone", m, "PROFILE_STREAM", order=(0,))
    keep("STREAM_nothing", m.paged()[:8], "PROFILE_STREAM")
    m.streams[2][4] = 8
    save("STREAM_index_version", m, "PROFILE_STREAM")
    m.streams[1][0] = 8
    save("STREAM_magics", m, "PROFILE_STREAM")
    del m.streams[0][:8]
    keep("STREAM_events_no_header", m.paged(order=())[:8] + b"".join(page(i, m.streams[i]) for i in range(3)),
         "PROFILE_STREAM")
    m = basic(9)
    m.streams[0][3] ^= 1
    save("STREAM_events_magic", m, "PROFILE_STREAM")
    m = basic(8)
    keep("split_headers", m.paged(order=())[:8] + b"".join(
        page(i, m.streams[i][:i + 2]) + page(i, m.streams[i][i + 2:9]) + page(i, m.streams[i][9:]) for i in range(3)))
    keep("CUT_in_headers", m.paged(order=())[:8] + b"".join(page(i, m.streams[i][:7]) for i in range(3)), "PROFILE_CUT")
    keep("empty_pages_first", m.paged(order=())[:8] + page(0, b"") + page(1, b"") + page(2, b"") + m.paged()[8:])
    m = basic(4)
    m.streams[1][4] = 5
    save("STREAM_three_versions", m, "PROFILE_INDEX,PROFILE_STREAM")
    save("STREAM_three_missing", basic(5), "PROFILE_STREAM")
    del FILES["STREAM_three_missing.string_index"]
    m = basic(9)
    keep("PAGE_tag", m.paged(order=(0,)) + page(3, b"what\xff") + m.paged(order=(1, 2))[8:], "PROFILE_PAGE")
    keep("PAGE_tag_past_end", m.paged() + page(7, b"what", 5), "PROFILE_PAGE")
    keep("CUT_page_length", m.paged(order=(1, 2)) + page(0, m.streams[0], 0xFFFFFFFF), "PROFILE_CUT")
    padded = m.string("x" * 300000)
    m.event(m.string("Query"), padded, 0, 1, 2)
    keep("long_page", m.paged(sizes=(1 << 20, 1 << 20, 1 << 20)))
    m = basic(9)
    cut = m.paged(order=(1, 2, 0), sizes=(96, 50, 50))
    keep("CUT_page_header", cut + b"\0\0", "PROFILE_CUT")
    keep("CUT_event", m.paged(order=(1, 2, 0))[:-40], "PROFILE_CUT")
    keep("CUT_between_events", m.paged(order=(1, 2, 0))[:-36], "PROFILE_CUT")
    keep("CUT_string", m.paged(order=(0, 2, 1))[:-8], "PROFILE_CUT,PROFILE_STRING")
    keep("CUT_index", m.paged()[:-1], "PROFILE_CUT")
    keep("CUT_in_the_middle", cut[:len(cut) // 2 - 3], "PROFILE_CUT,PROFILE_INDEX,PROFILE_STRING")
    m = basic(3)
    m.streams[0] += b"\1" * 23
    m.streams[2] += b"\1" * 7
    save("CUT_three", m, "PROFILE_CUT")


def damaged_strings():
    for name, version, bad in (
            ("utf8", 9, b"bad \xc3("), ("utf8_cut_by_end", 9, b"bad \xe2\x82"), ("overlong", 8, b"\xc0\x80"),
            ("surrogate", 8, b"\xed\xa0\x80"), ("no_start", 9, b"\x80abc"), ("high", 6, b"\xf4\x90\x80\x80"),
            ("fe_in_6", 6, b"\xfe\0\0\0\0"), ("tag_in_0", 0, b"\3"), ("length_in_0", 0, b"\1\xf0\xff"),
            ("utf8_in_0", 0, b"\1\1\0\xff")):
        m = Maker(version)
        query = m.string("Query")
        damaged, whole = m.string("a", bad), m.string("whole")
        outer = m.string("with ", Ref(damaged)) if version else whole
        for number, name_id in enumerate((damaged, whole, outer)):
            if version == 0:
                m.mark(query, name_id, 0, number, 2)
            else:
                m.event(query, name_id, 0, 10 * number, 10 * number + 5)
        save("STRING_" + name, m, "PROFILE_STRING")
    for name, version, end in (("unterminated", 9, b"no end"), ("reference_cut", 9, b"\xfe\1\0\xff\0\0\0\0"),
                               ("reference_cut_5", 5, b"a\x85\xf5\xff"), ("unterminated_in_0", 0, b"\1\1\0a")):
        m = Maker(version)
        query, whole = m.string("Query"), m.string("whole")
        last = m.string(end)
        m.streams[1].pop()
        if version:
            m.event(query, whole, 0, 1, 2)
            m.event(query, last, 0, 3, 4)
        save("STRING_" + name, m, "PROFILE_STRING")


def damaged_indexes():
    for version in (3, 8, 9):
        m = Maker(version)
        query, good = m.string("Query"), m.string("good", id=5)
        bad = m.string("a\xe9".encode("latin-1"))
        there = m.streams[1].index(b"Query")
        for id, address in ((5, 7), (6, len(m.streams[1])), (7, 0xFFFFFFFF), (0xFFFFFFFF, there), (9, bad - FIRST),
                            (10, m.streams[1].index(b"a\xe9") + 1), (11, m.streams[1].index(b"a\xe9") + 2)):
            m.index(id, address)
        if version > 3:
            m.index(INVALID, there)
            m.index(query, there + 1)
        for id in (5, 6, 7, 9, 10, 11, INVALID, query):
            m.event(query, id, 0, 10 * id, 10 * id + 5)
        save("INDEX_%d" % version, m, "PROFILE_INDEX,PROFILE_STRING")


def damaged_events():
    m = pairs(Maker(0))
    m.mark(0x80000001, 0xFF, 0, 41, 3)
    m.mark(0x80000001, 0xFF, 0, 42, 2)
    save("EVENT_mark", m, "PROFILE_EVENT")
    m = basic(9)
    events = m.streams[0]
    keep("CUT_straddling_events", m.paged(order=(1, 2)) + page(0, events[:8 + 32 * 2 + 5]) + page(9, b"") +
         page(0, events[8 + 32 * 2 + 5:-1]), "PROFILE_CUT,PROFILE_PAGE")


def main():
    whole_files()
    damaged_files()
    folder = sys.argv[1]
    for name, content in FILES.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    with open(os.path.join(folder, "expected.txt"), "w", encoding="ascii") as file:
        for name, damages in sorted(EXPECTED.items()):
            file.write("%s %s\n" % (name, damages))


if __name__ == "__main__":
    main()
