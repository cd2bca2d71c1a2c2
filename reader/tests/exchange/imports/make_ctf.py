"""
Writes a small trace of CTF 1.8 that the tests import, with every kind of event that has a meaning, and seeds of the fuzz
targets for the records of reader/exchange/ctf/import/ctf_read.h and for folders.

    make_ctf.py FOLDER [SEEDS_OF_IMPORT_CTF SEEDS_OF_IMPORT_CTF_FOLDER]

SPDX-License-Identifier: MIT
"""

import os
import struct
import sys

METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := pointer_t;
trace { major = 1; minor = 8; byte_order = le;
    packet.header := struct { uint32_t magic; uint32_t stream_id; }; };
env { hostname = "golden"; tracer_name = "make_ctf"; };
clock { name = "c"; freq = 1000000000; offset_s = 1700000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := time_t;
stream { id = 0;
    packet.context := struct { uint64_t content_size; uint64_t packet_size; uint64_t events_discarded; uint32_t cpu_id; };
    event.header := struct { uint16_t id; time_t timestamp; };
    event.context := struct { int32_t vpid; int32_t vtid; }; };
"""
EVENTS = [
    ("lttng_ust_cyg_profile:func_entry", "pointer_t addr; pointer_t call_site;", None),
    ("lttng_ust_cyg_profile:func_exit", "pointer_t addr; pointer_t call_site;", None),
    ("lttng_ust_tracef:event", "uint32_t _msg_length; string msg;", 14),
    ("lttng_ust_tracelog:TRACE_ERR", "int32_t line; string file; string msg;", 3),
    ("app:frame_begin", "uint32_t number; string what;", None),
    ("app:frame_end", "int32_t result;", None),
    ("app:lonely_start", "uint32_t a;", None),
    ("app:point", "struct { uint8_t x; uint8_t y; } at; uint32_t many[3];", None),
    ("lttng_ust_statedump:bin_info", "pointer_t baddr; uint64_t memsz; string path;", None),
]
ID = {name: number for number, (name, _, _) in enumerate(EVENTS)}


def metadata():
    text = METADATA
    for number, (name, fields, level) in enumerate(EVENTS):
        loglevel = f" loglevel = {level};" if level is not None else ""
        text += f'event {{ name = "{name}"; id = {number}; stream_id = 0;{loglevel} fields := struct {{ {fields} }}; }};\n'
    return text.encode()


def event(time, tid, name, payload=b"", pid=7):
    return struct.pack("<HQii", ID[name], time, pid, tid) + payload


def text(content):
    return content + b"\0"


def packet(cpu, events, discarded=0):
    nbytes = 8 + 28 + len(events)
    return struct.pack("<IIQQQI", 0xC1FC1FC1, 0, 8 * nbytes, 8 * nbytes, discarded, cpu) + events


def addresses(address):
    return struct.pack("<QQ", address, 1)


def streams():
    one = event(100, 7, "lttng_ust_statedump:bin_info", struct.pack("<QQ", 0x1000, 0x500) + text(b"/bin/app"))
    one += event(110, 7, "lttng_ust_cyg_profile:func_entry", addresses(0x1010))
    one += event(120, 7, "app:frame_begin", struct.pack("<I", 1) + text(b"quote \" and \xc3\xa9"))
    one += event(130, 8, "lttng_ust_cyg_profile:func_entry", addresses(0x9999))
    one += event(140, 7, "lttng_ust_tracef:event", struct.pack("<I", 6) + text(b"hello"))
    one += event(150, 7, "app:frame_end", struct.pack("<i", -1)) + event(155, 7, "app:frame_end", struct.pack("<i", -2))
    two = event(160, 7, "lttng_ust_cyg_profile:func_exit", addresses(0x1010))
    two += event(170, 7, "lttng_ust_tracelog:TRACE_ERR", struct.pack("<i", 12) + text(b"a.c") + text(b"bad"))
    two += event(175, 7, "app:lonely_start", struct.pack("<I", 5)) + event(180, 7, "app:point", struct.pack("<BBIII", 1, 2, 3, 4, 5))
    return {"one_0": packet(0, one), "one_1": packet(1, two, 0) + packet(1, event(300, 9, "app:lonely_start", struct.pack("<I", 6)), 4)}


def record(kind, content=b""):
    return struct.pack("<IB", len(content) + 1, kind) + content


def sized(content):
    return struct.pack("<I", len(content)) + content


def own():
    """As tracebed exports."""
    content = record(4, sized(b"tracer_name") + sized(b"tracebed"))
    line = argument(b"s", b"file", b"") + argument(b"u", b"line", bytes(8)) + argument(b"u", b"argument_count", bytes(8))
    content += said(5, 7, b"span_begin", argument(b"s", b"name", b"x") + argument(b"s", b"category", b"c") + line, flags=5)
    content += said(9, 7, b"span", argument(b"s", b"name", b"y") + argument(b"u", b"duration", struct.pack("<Q", 3)) + line, flags=5)
    content += said(10, 7, b"counter_f64", argument(b"s", b"name", b"z") + argument(b"f", b"value", bytes(8)), flags=5)
    content += said(11, 7, b"message", argument(b"s", b"severity", b"warning") + argument(b"s", b"text", b"said"), flags=5)
    content += said(12, 7, b"span_end", argument(b"s", b"name", b"x"), flags=5) + said(13, 7, b"span_end", flags=5)
    return content + said(14, 7, b"records_dropped", argument(b"u", b"count", struct.pack("<Q", 3)), flags=5) + record(6)


def said(time, tid, name, arguments=b"", flags=7, severity=0):
    return record(2, struct.pack("<BBqII", flags, severity, time, 7, tid) + sized(b"app") + sized(b"thread") + sized(name) + arguments)


def argument(kind, name, value):
    return kind + sized(name) + (sized(value) if kind == b"s" else value)


def records():
    number = struct.pack("<Q", 0x1010)
    content = b"".join(record(1, sized(name.encode())) for name, _, _ in EVENTS) + record(4, sized(b"hostname") + sized(b"h"))
    content += said(5, 7, b"lttng_ust_statedump:bin_info", argument(b"p", b"baddr", struct.pack("<Q", 0x1000)) +
                    argument(b"u", b"memsz", struct.pack("<Q", 256)) + argument(b"s", b"path", b"/bin/app"))
    content += said(10, 7, b"lttng_ust_cyg_profile:func_entry", argument(b"p", b"addr", number))
    content += said(11, 7, b"app:frame_begin", argument(b"i", b"n", number)) + said(12, 7, b"lttng_ust_cyg_profile:func_exit")
    content += said(13, 7, b"app:frame_end") + said(9, 8, b"syscall_entry_read", flags=1) + said(0, 8, b"odd", flags=0)
    content += said(14, 7, b"lttng_ust_tracef:event", argument(b"s", b"msg", b"hello"), severity=2)
    return content + record(3, struct.pack("<Q", 12)) + record(6)


# ---- Seeds of whole folders: see fuzz/import_ctf_folder ----

FILES = ["metadata", "one_0", "one_1", "index/one_0.idx", "ust/uid/metadata", "ust/uid/one_0", "ust/uid/index/one_0.idx", ".hidden"]

TYPES = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { uint32_t magic; }; };
env { vpid = 7; tracer_name = "types"; };
stream {
    packet.context := struct { uint64_t content_size; uint64_t packet_size; uint32_t tid; string thread_name; string process_name; };
    event.header := struct { uint8_t id; };
    event.context := struct { string procname; uint32_t depth; };
};
event { id = 0; name = "types"; loglevel = 6; fields := struct {
    floating_point { exp_dig = 8; mant_dig = 24; byte_order = le; align = 8; } single;
    floating_point { exp_dig = 11; mant_dig = 53; byte_order = le; align = 8; } twice;
    enum : uint8_t { TEXT, NUMBER } tag;
    variant <tag> { string TEXT; int32_t NUMBER; } chosen;
    uint8_t _many_length; int32_t many[_many_length];
    struct { string name; uint32_t value; } named[2];
    struct { uint8_t x; struct { uint8_t y; } deep; } nameless[2];
    uint8_t grid[4]; uint8_t lengthy[70]; string texts[2];
    floating_point { exp_dig = 8; mant_dig = 24; byte_order = le; align = 8; } reals[1]; }; };
event { id = 1; name = "own context"; loglevel = 4; context := struct { string procname; int32_t vtid; uint32_t pid; };
    fields := struct { integer { size = 64; align = 8; signed = false; base = 16; } at; }; };
event { id = 2; name = "error"; loglevel = 3; fields := struct { uint8_t a; }; };
event { id = 3; name = "debug"; loglevel = 14; };
"""


def types():
    fields = struct.pack("<fdB", 1.5, -2.5, 0) + text(b"chosen") + struct.pack("<Bii", 2, -1, 7)
    fields += text(b"one") + struct.pack("<I", 1) + text(b"two") + struct.pack("<I", 2) + bytes(range(4))
    fields += b"grid" + bytes(range(70)) + text(b"a") + text(b"") + struct.pack("<f", 0.25)
    number = struct.pack("<fdBi", 1, 2, 1, -5) + struct.pack("<B", 0) + text(b"") + struct.pack("<I", 1) + text(b"n") + struct.pack("<I", 2)
    number += bytes(4) + b"grid" + bytes(70) + text(b"b") + text(b"c") + struct.pack("<f", 0.5)
    context = text(b"program") + struct.pack("<I", 3)
    events = b"\x00" + context + fields + b"\x01" + context + text(b"other") + struct.pack("<iIQ", 9, 8, 0x1234)
    events += b"\x02" + context + b"\x05" + b"\x03" + context + b"\x00" + context + number
    inner = struct.pack("<I", 12) + text(b"thread") + text(b"process")
    nbytes = 4 + 16 + len(inner) + len(events)
    return struct.pack("<IQQ", 0xC1FC1FC1, 8 * nbytes, 8 * nbytes) + inner + events


def index(sizes, magic=0xC1F1DCC1, entry_nbytes=16, start=0):
    content = struct.pack(">IIII", magic, 1, 0, entry_nbytes)
    for size in sizes:
        content += struct.pack(">QQ", start, 8 * size) + bytes(max(0, entry_nbytes - 16))
        start += size
    return content


def seed(files):
    return b"".join(struct.pack("<BH", FILES.index(name), len(content)) + content for name, content in files.items())


def folder_seeds():
    whole = {"metadata": metadata(), **streams()}
    first = packet(0, event(10, 7, "app:point", struct.pack("<BBIII", 1, 2, 3, 4, 5)))
    cut = first + whole["one_0"][:-30]
    in_session = {f"ust/uid/{name}": content for name, content in whole.items() if name != "one_1"}
    return {
        "whole": whole,
        "types": {"metadata": TYPES.encode(), "one_0": types(), ".hidden": b"x"},
        "session": {**in_session, "ust/uid/index/one_0.idx": index([len(whole["one_0"])])},
        "cut": {**whole, "one_0": cut, "index/one_0.idx": index([len(first), len(whole["one_0"])])},
        "cut_with_large_entries": {**whole, "one_0": cut, "index/one_0.idx": index([len(first), 5000], entry_nbytes=64)},
        "cut_without_index": {**whole, "one_0": cut},
        "cut_in_a_session": {**in_session, "ust/uid/one_0": cut, "ust/uid/index/one_0.idx": index([len(first)])},
        "cut_twice": {**whole, "one_0": cut, "one_1": whole["one_1"][:-9], "index/one_0.idx": index([len(first)])},
        "index_of_another_kind": {**whole, "one_0": cut, "index/one_0.idx": index([len(first)], magic=1)},
        "index_with_small_entries": {**whole, "one_0": cut, "index/one_0.idx": index([], entry_nbytes=8) + bytes(64)},
        "index_with_a_gap": {**whole, "one_0": cut, "index/one_0.idx": index([len(first)], start=9)},
        "wrong_metadata": {"metadata": metadata()[:300] + b"struct {", "one_0": first},
        "no_metadata": {"one_0": first},
        "binary_metadata": {"metadata": struct.pack("<I", 0x75D11D57) + bytes(40)},
        "damaged_event": {**whole, "one_1": packet(1, struct.pack("<HQ", 999, 5))},
        "empty_stream": {"metadata": metadata(), "one_0": b""},
    }


def write(folder, name, content):
    with open(os.path.join(folder, name), "wb") as out:
        out.write(content)


def main():
    folder = os.path.join(sys.argv[1], "golden.ctf")
    os.makedirs(folder, exist_ok=True)
    for name, content in {"metadata": metadata(), **streams()}.items():
        write(folder, name, content)
    if len(sys.argv) > 2:
        write(sys.argv[2], "all_kinds", records())
        write(sys.argv[2], "own", own())
        write(sys.argv[2], "error", record(5, sized(b"Failed to index CTF stream file '/x'")))
    if len(sys.argv) > 3:
        for name, files in folder_seeds().items():
            write(sys.argv[3], name, seed(files))


if __name__ == "__main__":
    main()
