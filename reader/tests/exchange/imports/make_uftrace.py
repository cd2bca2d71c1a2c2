"""
Writes small data directories of uftrace that the tests import, and the seeds of its fuzz target, which have all files of a
folder in one: for each a byte that says which (NAMES), its length in two bytes, and its content.

    make_uftrace.py FOLDER [SEEDS]

SPDX-License-Identifier: MIT
"""

import os
import struct
import sys

NAMES = ["info", "task.txt", "1.dat", "2.dat", "sid-1.map", "a.sym", "a.dbg", "perf-cpu0.dat"]
BASE = 0x550000000000
ENTRY, EXIT, LOST, EVENT = range(4)


def info(lines, version=4):
    return struct.pack("<8sIHBBQQHHI", b"Ftrace!", version, 40, 1, 2, 0x3e3, 0x1ff, 1024, 0, 0) + "".join(lines).encode()


def record(time, kind, depth, address, payload=b""):
    word = kind | (4 if payload else 0) | 5 << 3 | depth << 6 | address << 16
    return struct.pack("<QQ", time, word) + payload + bytes(-len(payload) % 8)


def text(content):
    return struct.pack("<H", len(content)) + content + bytes(-(len(content) + 2) % 4)


INFO = ["exename:/bin/a\n", "cmdline:uftrace record -a ./a \"x\"\n", "argspec:lines=3\n", "argspec:work@arg1/i32,arg2/s\n",
        "retspec:work@retval/i32\n", "argauto:puts@arg1/s;malloc@arg1/u\n", "auto-args:1\n",
        "record_date:Sat Nov 28 11:32:43 2026\n"]
TASKS = ("SESS timestamp=1.000000000 pid=1 sid=1 exename=\"/bin/a\"\n"
         "TASK timestamp=1.000000001 tid=1 pid=1\nFORK timestamp=1.000000500 pid=2 ppid=1\n")
MAP = f"{BASE:x}-{BASE + 0x10000:x} r-xp 00000000 00:00 0   /bin/a build-id:00ff\n7ffc00000000-7ffc00001000 rw-p 00000000 00:00 0 [stack]\n"
SYMBOLS = ("# symbols: 5\n# path name: /bin/a\n0000000000001000 P puts\n0000000000001010 ? __dynsym_end\n"
           "0000000000001100 T main\n0000000000001200 T work\n0000000000001300 40 T sized\n0000000000001400 T twice\n")
DEBUG = "# path name: /bin/a\nF: 1400 twice\nA: @arg1,fparg1/64\nR: @retval/f64\n"
PUTS, MAIN, WORK, SIZED, TWICE, UNKNOWN = (BASE + at for at in (0x1004, 0x1104, 0x1204, 0x1304, 0x1404, 0x1350))
S = 1000000000


def whole():
    """Arguments from all three sources, an event with values, an unknown function, records that were lost, a fork."""
    one = record(S + 100, ENTRY, 0, MAIN) + record(S + 110, ENTRY, 1, WORK, struct.pack("<i", -7) + text(b"a\xff\"b"))
    one += record(S + 120, ENTRY, 2, PUTS, text(b"hello")) + record(S + 130, EXIT, 2, PUTS)
    one += record(S + 140, EVENT, 2, 100002, struct.pack("<HQQ", 16, 3, 44)) + record(S + 150, EXIT, 1, WORK, struct.pack("<i", 5))
    one += record(S + 160, ENTRY, 1, TWICE, struct.pack("<qd", -2, 1.5)) + record(S + 170, ENTRY, 2, UNKNOWN) + record(S + 175, EXIT, 2, UNKNOWN)
    one += record(S + 180, EXIT, 1, TWICE, struct.pack("<d", 3.0)) + record(S + 190, LOST, 0, 12) + record(S + 200, EXIT, 0, MAIN)
    two = record(S + 600, EXIT, 1, WORK) + record(S + 610, ENTRY, 1, SIZED) + record(S + 620, EXIT, 1, SIZED)
    perf = struct.pack("<IHHQ", 14, 0, 16, 0) * 3
    return {"info": info(INFO), "task.txt": TASKS.encode(), "1.dat": one, "2.dat": two, "sid-1.map": MAP.encode(),
            "a.sym": SYMBOLS.encode(), "a.dbg": DEBUG.encode(), "perf-cpu0.dat": perf}


def damaged():
    """Arguments without a specification, lost ends, a cut record, a damaged one, no map."""
    one = record(S, ENTRY, 0, MAIN) + record(S + 10, ENTRY, 1, WORK, bytes(24)) + record(S + 20, ENTRY, 2, SIZED)
    one += record(S + 30, EXIT, 0, MAIN) + record(S + 40, ENTRY, 0, MAIN)[:-3]
    two = record(S + 50, ENTRY, 0, MAIN) + record(S + 45, EXIT, 0, MAIN) + b"\xff" * 32
    return {"info": info(["exename:/bin/a\n"]), "task.txt": (TASKS + "what is this\n").encode(), "1.dat": one, "2.dat": two}


# ---- Seeds only ----

FORMATS = ("argspec:work@arg1/u32,arg2/x64,arg3/p,arg4/c,arg5/f32,fparg1/64,arg7/f80,arg8/t10,arg9,arg10/s,arg11/i8%rdi,arg12/d64,"
           "nonsense/i32,arg13%stack1,arg14/s,arg15/u16\n")


def formats(is_32_bit=False, lines=()):
    """A value of each format; a library that was loaded late; two sessions of one process."""
    values = struct.pack("<IQQ", 5, 0x1234, 0x5678) + b"c\0\0\0" + struct.pack("<fd", 1.5, -2.5)
    values += struct.pack("<QH", 1 << 63, 16383) + b"\0\0" + b"ten bytes!\0\0" + struct.pack("<q", 0xfffffffe) + text(b"name")
    values += b"\xfe\0\0\0" + struct.pack("<qq", -9, 12) + struct.pack("<H", 4) + b"\xff" * 4 + b"\0\0" + struct.pack("<I", 7)
    one = record(S + 100, ENTRY, 0, MAIN) + record(S + 110, ENTRY, 1, WORK, values) + record(S + 120, EXIT, 1, WORK, struct.pack("<QH", 0, 0x7fff) + bytes(6))
    one += record(S + 130, ENTRY, 1, 0x7f0000001234) + record(S + 140, EXIT, 1, 0x7f0000001234) + record(S + 150, ENTRY, 1, TWICE, struct.pack("<QH", 1 << 62, 0xffff) + bytes(6))
    one += record(S + 160, EVENT, 2, 100001, struct.pack("<HI", 4, 9) + bytes(2)) + record(S + 165, EVENT, 2, 999999, struct.pack("<H", 4) + b"abcd") + record(S + 200, EXIT, 0, MAIN)
    tasks = TASKS + ("SESS timestamp=1.000000190 pid=1 sid=2 exename=\"/bin/b\"\nDLOP timestamp=1.000000101 tid=1 sid=1 base=7f0000000000 libname=\"/lib/a\"\n"
                     "DLOP timestamp=1.000000101 tid=1 sid=1 base=7f1000000000 libname=\"\"\nDLOP timestamp=x tid=1 sid=9 base=0 libname=\"/lib/b\"\n")
    maps = MAP + f"{BASE + 0x20000:x}-{BASE + 0x30000:x} r-xp 00000000 00:00 0   /bin/a\n{BASE + 0x40000:x}-{BASE + 0x50000:x} r-xp 00000000 00:00 0   /\n"
    symbols = SYMBOLS.replace("__dynsym_end", "__sym_end") + "0000000000001500 T __func_end\n0000000000001500 T __dynsym_end\nnot a symbol\n0000000000001500 xT a\n12\n"
    debug = DEBUG + "F: 1200 work\nA: @arg1/u8\nR: @retval/f80\nX: 5\nno colon\n"
    content = info(["exename:/bin/a\n", FORMATS, "retspec:work@retval/f80\n", "argspec:twice@arg1/f80\n", *lines])
    header = content[:13] + bytes([1]) + content[14:] if is_32_bit else content
    return {"info": header, "task.txt": tasks.encode(), "1.dat": one, "sid-1.map": maps.encode(), "a.sym": symbols.encode(), "a.dbg": debug.encode()}


SEEDS = {"formats.uftrace": formats, "formats_of_32_bits.uftrace": lambda: formats(True),
         "formats_of_many.uftrace": lambda: formats(lines=["argspec:main@" + ",".join(f"arg{i}/i8" for i in range(40)) + "\n"])}
FOLDERS = {"whole.uftrace": whole, "damaged.uftrace": damaged}


def main():
    for name, make in FOLDERS.items():
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        files = make()
        for file, content in files.items():
            with open(os.path.join(folder, file), "wb") as out:
                out.write(content)
    for name, make in {**FOLDERS, **SEEDS}.items() if len(sys.argv) > 2 else ():
        with open(os.path.join(sys.argv[2], name), "wb") as out:
            for file, content in make().items():
                out.write(struct.pack("<BH", NAMES.index(file), len(content)) + content)


if __name__ == "__main__":
    main()
