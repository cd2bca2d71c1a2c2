"""
Writes a small trace of CTF 1.8 that the tests import, with every kind of event that has a meaning, and seeds of the fuzz
target for the records of reader/exchange/ctf/import/ctf_read.h.

    make_ctf.py FOLDER [SEEDS]

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


def main():
    folder = os.path.join(sys.argv[1], "golden.ctf")
    os.makedirs(folder, exist_ok=True)
    for name, content in {"metadata": metadata(), **streams()}.items():
        with open(os.path.join(folder, name), "wb") as out:
            out.write(content)
    if len(sys.argv) > 2:
        with open(os.path.join(sys.argv[2], "all_kinds"), "wb") as out:
            out.write(records())
        with open(os.path.join(sys.argv[2], "own"), "wb") as out:
            out.write(own())
        with open(os.path.join(sys.argv[2], "error"), "wb") as out:
            out.write(record(5, sized(b"Failed to index CTF stream file '/x'")))


if __name__ == "__main__":
    main()
