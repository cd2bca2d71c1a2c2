"""
Writes a small trace of CTF 1.8 that the tests import, with every kind of event that has a meaning, and seeds of the fuzz
target for the records of reader/exchange/ctf/ctf.h.

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
    ("tracebed:begin", "string name; string category; uint32_t x;", None),
    ("tracebed:end", "", None),
    ("tracebed:counter", "string name; uint64_t value;", None),
    ("tracebed:message", "string text;", 4),
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
    two += event(190, 9, "tracebed:begin", text(b"span") + text(b"group") + struct.pack("<I", 3)) + event(195, 9, "tracebed:end")
    two += event(200, 9, "tracebed:counter", text(b"heap") + struct.pack("<Q", 2 ** 64 - 1)) + event(205, 9, "tracebed:message", text(b"said"))
    return {"one_0": packet(0, one), "one_1": packet(1, two, 0) + packet(1, event(300, 9, "tracebed:end"), 4)}


def record(kind, content=b""):
    return struct.pack("<IB", len(content) + 1, kind) + content


def sized(content):
    return struct.pack("<I", len(content)) + content


def said(time, tid, name, arguments=b"", flags=7, severity=0):
    return record(2, struct.pack("<BBqII", flags, severity, time, 7, tid) + sized(b"app") + sized(name) + arguments)


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
    content += said(15, 7, b"tracebed:begin", argument(b"s", b"name", b"x")) + said(16, 7, b"tracebed:counter", argument(b"f", b"value", number))
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
        with open(os.path.join(sys.argv[2], "error"), "wb") as out:
            out.write(record(5, sized(b"Failed to index CTF stream file '/x'")))


if __name__ == "__main__":
    main()
