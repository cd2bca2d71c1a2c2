"""
Writes the small files of folded stacks and of pprof that the tests import, and seeds of their fuzz target. Encodes profiles by
profile.proto, as Go's runtime and other programs write them.

    make_stacks.py FOLDER [SEEDS]

SPDX-License-Identifier: MIT
"""

import gzip
import os
import sys


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def numbers(field, values, packed=True):
    return message(field, b"".join(map(varint, values))) if packed else b"".join(number(field, value) for value in values)


class Profile:
    """Collects what samples refer to. A stack is a list of locations, outermost first; a location, a list of functions that are
    inlined in one another, outermost first; a function, (name, file, line)."""

    def __init__(self, packed=True):
        self.strings, self.functions, self.locations, self.packed = [""], {}, {}, packed
        self.samples, self.types, self.tail = b"", b"", b""

    def string(self, text):
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def type(self, name, unit, field=1):
        self.types += message(field, number(1, self.string(name)) + number(2, self.string(unit)))

    def function(self, name, file):
        self.string(name), self.string(file)
        return self.functions.setdefault((name, file), len(self.functions) + 1)

    def location(self, lines):
        for name, file, _ in lines:
            self.function(name, file)
        return self.locations.setdefault(tuple(lines), len(self.locations) + 1)

    def sample(self, stack, values, **labels):
        data = numbers(1, [self.location(lines) for lines in reversed(stack)], self.packed) + numbers(2, values, self.packed)
        for key, value in labels.items():
            data += message(3, number(1, self.string(key))
                            + (number(2, self.string(value)) if isinstance(value, str) else number(3, value)))
        self.samples += message(2, data)

    def locations_bytes(self):
        out = b""
        for lines, place in self.locations.items():
            data = number(1, place) + number(2, 1) + number(3, 0x401000 + place)
            for name, file, line in reversed(lines):
                data += message(4, number(1, self.functions[name, file]) + number(2, line))
            out += message(4, data)
        return out

    def functions_bytes(self):
        return b"".join(message(5, number(1, place) + number(2, self.string(name)) + number(3, self.string(name))
                                + number(4, self.string(file))) for (name, file), place in self.functions.items())

    def strings_bytes(self):
        return b"".join(message(6, text.encode() if isinstance(text, str) else text) for text in self.strings)

    def bytes(self, tables_first=False):
        tables = self.locations_bytes() + self.functions_bytes()
        if tables_first:
            return self.types + self.strings_bytes() + tables + self.samples + self.tail
        return self.types + self.samples + tables + self.tail + self.strings_bytes()


def place(name, file="main.go", line=1):
    return [(name, file, line)]


def go_cpu():
    """As Go's runtime writes it: the time first, period, mapping, labels; strlen is inlined in two others."""
    profile = Profile()
    profile.types = number(9, 1700000000000000000) + number(10, 2000000000)
    profile.type("samples", "count")
    profile.type("cpu", "nanoseconds")
    profile.type("cpu", "nanoseconds", field=11)
    profile.types += number(12, 10000000)
    main, work = place("main.main", "main.go", 10), place("main.work", "main.go", 25)
    inlined = [("main.parse", "parse.go", 7), ("main.trim", "parse.go", 9), ("strlen", "string.go", 3)]
    profile.sample([main, work], [3, 30000000])
    profile.sample([main, work, inlined], [5, 50000000], request="GET /", number=7)
    profile.sample([main, work, place("main.parse", "parse.go", 8)], [1, 10000000])
    profile.sample([main], [1, 10000000])
    profile.tail = message(3, number(1, 1) + number(2, 0x400000) + number(3, 0x500000) + number(5, profile.string("/bin/app"))
                           + number(6, profile.string("abcdef012345")))
    return gzip.compress(profile.bytes(), mtime=0)


def heap():
    """Bytes; numbers that are not packed; a location that has no functions, one that does not exist, a negative value."""
    profile = Profile(packed=False)
    for name, unit in (("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")):
        profile.type(name, unit)
    profile.tail = number(14, profile.string("alloc_space")) + number(13, profile.string("a comment"))
    profile.sample([place("main"), place("load", "load.c", 40)], [4, 4096, 1, 1024])
    profile.sample([place("main"), []], [1, 100, 0, 0])
    profile.sample([place("main"), place("load", "load.c", 44)], [-1, -64, 0, 0])
    profile.samples += message(2, number(1, 99) + number(1, 1) + numbers(2, [1, 7, 0, 0], packed=False))
    profile.sample([place("main"), place("none", "", 0)], [1, 0, 1, 8])
    return profile.bytes()


def damaged_profile():
    """A sample whose list of numbers is cut, one without values, a function without an id; then the file ends in a sample."""
    profile = Profile()
    profile.type("wall", "milliseconds")
    profile.sample([place("main"), place("before")], [5])
    profile.samples += message(2, message(1, b"\x01") + message(2, b"\x80")) + message(2, message(1, b"\x01"))
    profile.sample([place("main"), place("after")], [6])
    profile.tail = message(5, number(2, 1)) + message(2, message(1, b"\x01") + message(2, b"\x05"))
    return profile.bytes(tables_first=True)[:-2]


def folded():
    return "\n".join(("main;a;b 5", "main;a 3", "main 2", "main;a;b 7", "main;;x 0", r"other;a\x3b;b é 9", "# a comment", "",
                      "main;a;b;c with spaces 1\r", "diff;gone -4", "big 99999999999999999999", "no end 4")).encode()


def damaged_folded():
    """Two lines that are none, and a last one that is cut, among enough that are fine."""
    fine = b"".join(b"main;f%d %d\n" % (i % 3, i) for i in range(11))
    return fine + b"this is no stack\nmain;c\nmain;\xff\xfe 3\nmain;d;e"


FILES = {
    "go_cpu.pb.gz": go_cpu,
    "heap.pprof": heap,
    "damaged.pprof": damaged_profile,
    "stacks.folded": folded,
    "damaged.folded": damaged_folded,
}


# ---- Seeds only ----

def odd_profile():
    """A line of a function, more lines and mappings than are kept, odd numbers, fields of the wrong kind, comments in a list."""
    profile = Profile()
    profile.type("wall", "seconds")
    profile.type("nothing", "minutes \xff")
    for i in range(300):
        profile.sample([place("main"), place(f"f{i % 9}")], [i, 1])
    profile.sample([place("main"), [(f"inlined{i}", "a.c", i) for i in range(300)]], [5, 1])
    profile.sample([place("", "a.c", 0), place("late", "", 3)], [-3, 1 << 62], big=-1, text="a\\tb")
    profile.samples += message(2, number(1, 1 << 40) + numbers(2, [1, 1])) + message(4, number(1, 0)) + number(2, 7) + number(6, 1)
    profile.tail = message(13, varint(1) + varint(99) + b"\x80") + number(13, 2) + b"".join(message(3, number(1, i) + number(5, 1)) for i in range(70))
    profile.tail += message(5, number(1, 900) + number(2, 1) + number(5, 17)) + message(5, number(1, 901) + number(2, 99999)) + message(4, number(1, 902) + number(3, 64))
    profile.tail += number(9, -5) + number(14, 999) + b"".join(number(13, 1) for _ in range(70)) + message(77, b"x") + varint(78 << 3 | 5) + b"four" + varint(79 << 3 | 1) + b"eightbytes"[:8]
    return profile.bytes()


def only(*fields):
    return lambda: b"".join(fields)


def long_lines():
    return b";".join(b"f%d" % i for i in range(3000)) + b" 5\n" + b"main;a 3\n" * 3


def signed_folded():
    return b"main;a -18446744073709551616\nmain;b -7\n  main;c 5  \t\r\n\n# x\nmain;d 18446744073709551616\n;; 3\nmain;e 0x4\n"


# The start of a file is looked at strictly, so what is odd comes after that.
HEAD = message(1, number(1, 1) + number(2, 2)) + message(6, b"") + message(6, b"a") + message(6, b"count") + message(6, b"x" * 5000)
SEEDS = {
    "odd.pprof": odd_profile, "odd_packed.pprof.gz": lambda: gzip.compress(odd_profile(), mtime=0),
    "cut.pprof.gz": lambda: gzip.compress(heap(), mtime=0)[:-20], "twice.pprof.gz": lambda: gzip.compress(heap()[:90], mtime=0) + gzip.compress(heap()[90:], mtime=0),
    "wrong_tag.pprof": only(HEAD, b"\x03\x00"), "field_0.pprof": only(HEAD, b"\x00\x00"), "large_tag.pprof": only(HEAD, b"\xf8" + b"\xff" * 8 + b"\x01\x00"),
    "long_varint.pprof": only(HEAD, b"\x48" + b"\xff" * 11), "cut_length.pprof": only(HEAD, b"\x32\xff\xff\x7f", b"x"), "cut_tag.pprof": only(HEAD, b"\x80"),
    "strings_twice.pprof": only(HEAD, message(6, b""), message(2, b"\x0a")), "first_string.pprof": only(message(1, number(1, 1)), message(6, b"not empty"), message(6, b"b")),
    "long_lines.folded": long_lines, "signed.folded": signed_folded,
}


def main():
    for name, make in SEEDS.items() if len(sys.argv) > 2 else ():
        with open(os.path.join(sys.argv[2], name), "wb") as file:
            file.write(make())
    for name, make in FILES.items():
        with open(os.path.join(sys.argv[1], name), "wb") as file:
            file.write(make())


if __name__ == "__main__":
    main()
