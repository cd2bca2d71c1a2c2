"""
Malicious ELF files and debug information: a request for symbols must still be answered, and never with a name that
the program does not have.

A program without a build-id is recorded, so that any file at its path is read, and is then replaced by one hostile
file after another. Sections are truncated, and have wrong sizes and links, one at a time. Debug information is
written by hand: cycles of origins, inlined functions nested as deep as the file is long, line tables of millions of
rows, compressed sections that claim to be larger than any memory.

    python3 reader/tests/symbols/hostile_debug_test.py

Check: hostile-debug
Needs: $b/programs
Slow: some 15 s for some 100 files

SPDX-License-Identifier: MIT
"""

import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

TRACEBED = str(cases.TRACEBED)
SECONDS = 150  # two minutes of processor time are what two questions may take

SOURCE = """#include <stdlib.h>
volatile void *keep;
static inline __attribute__((always_inline)) void *inner(int n) { return malloc(n); }
__attribute__((noinline)) void outer(int n) { keep = inner(n); }
int main(int argc, char **argv) { for (int i = 1; i < 50; i++) outer(i * argc); return 0; }
"""
NAMES = {"main", "inner", "outer"}

# A unit with the function 'outer', and what %s makes of it.
DWARF = """
.section .debug_abbrev,"",@progbits
abbreviations:
.uleb128 1; .uleb128 0x11; .byte 1
.uleb128 0x11; .uleb128 0x01; .uleb128 0x12; .uleb128 0x07; .uleb128 0x10; .uleb128 0x17; .uleb128 0; .uleb128 0
.uleb128 2; .uleb128 0x2e; .byte 1
.uleb128 0x11; .uleb128 0x01; .uleb128 0x12; .uleb128 0x07; .uleb128 0x31; .uleb128 0x13; .uleb128 0; .uleb128 0
.uleb128 3; .uleb128 0x1d; .byte 1
.uleb128 0x11; .uleb128 0x01; .uleb128 0x12; .uleb128 0x07; .uleb128 0x31; .uleb128 0x13; .uleb128 0; .uleb128 0
.uleb128 4; .uleb128 0x2e; .byte 0
.uleb128 0x31; .uleb128 0x13; .uleb128 0; .uleb128 0
.uleb128 5; .uleb128 0x2e; .byte 0
.uleb128 0x03; .uleb128 0x08; .uleb128 0; .uleb128 0
.byte 0
.section .debug_info,"",@progbits
unit: .long end - begin
begin: .value 4
.long abbreviations
.byte 8
.uleb128 1; .quad outer, 0x1000; .long lines
%(entries)s
.byte 0
end:
.section .debug_line,"",@progbits
lines: .long lines_end - lines_begin
lines_begin: .value 4
.long program - header
header: .byte 1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
.byte 0
.asciz "hostile.c"
.byte 0, 0, 0, 0
program: .byte 0, 9, 2
.quad outer
.byte 1
%(rows)s
.byte 2
.uleb128 0x1000
.byte 0, 1, 1
lines_end:
"""
FUNCTION = ".uleb128 2; .quad outer, 0x1000; .long origin%s - unit\n"
INLINED = ".uleb128 3; .quad outer, 0x1000; .long origin%s - unit\n"


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, **options)


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="tracebed-hostile-")
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = cls.scratch.name
        cls.program = os.path.join(cls.folder, "subject")
        cls.trace = os.path.join(cls.folder, "run.tbed")
        with open(cls.program + ".c", "w", encoding="utf-8") as file:
            file.write(SOURCE)

    def build(self, *flags, record=True):
        command = ["gcc", "-w", "-O2", "-no-pie", "-Wl,--build-id=none", *flags, "subject.c", "-o", "subject"]
        built = run(*command, cwd=self.folder)
        self.assertEqual(built.returncode, 0, built.stderr)
        if record:
            done = run(TRACEBED, "record", "-f", "-o", self.trace, "--", self.program)
            self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.program, "rb") as file:
            return bytearray(file.read())

    def ask(self, content, names=frozenset(NAMES)):
        """The report with this in place of the program. Its sites in the program have these names, or none."""
        if content is not None:
            os.unlink(self.program)
            with open(self.program, "wb") as file:
                file.write(content)
        begin = time.monotonic()
        told = run(TRACEBED, "report", "--allocations", "--limit=0", self.trace, timeout=4 * SECONDS)
        self.assertEqual(told.returncode, 0, told.stderr[-3000:])
        self.assertNotIn("Sanitizer", told.stderr)
        self.assertLess(time.monotonic() - begin, 2 * SECONDS)
        sites = re.findall(r"(?:subject!(\w+)|(\w+) \S*(?:subject|hostile)\.c)", told.stdout)
        found = {symbol or function for symbol, function in sites}
        self.assertLessEqual(found, names, told.stdout)
        self.assertTrue(found or "subject+0x" in told.stdout or "subject!" in told.stdout, told.stdout)
        return told.stdout, found

    def sections(self, content):
        """Offset of the header, and the header, of each section."""
        (table,) = struct.unpack_from("<Q", content, 0x28)
        size, count = struct.unpack_from("<HH", content, 0x3A)
        return [(table + i * size, struct.unpack_from("<IIQQQQIIQQ", content, table + i * size)) for i in range(count)]

    def test_cut_at_each_section(self):
        whole = self.build("-g")
        self.assertEqual(self.ask(whole)[1], {"inner"})
        cuts = {0, 1, 15, 16, 63, 64, len(whole) - 1}
        for at, header in self.sections(whole):
            cuts |= {at, at + 1, at + 32, header[4], header[4] + 1, header[4] + header[5] // 2, header[4] + header[5]}
        for cut in sorted(cuts):
            if cut <= len(whole):
                with self.subTest(cut=cut):
                    self.ask(whole[:cut])

    def test_fields_of_each_section(self):
        whole = self.build("-g")
        offsets = {4: "<I", 8: "<Q", 16: "<Q", 24: "<Q", 32: "<Q", 40: "<I", 44: "<I", 56: "<Q"}
        values = (0, 1, 7, 0x7FFFFFFF, 0x800, len(whole) - 1, 2**63 - 1, 2**64 - 1, 2**64 - 64)
        wrong = [(at + offset, code, value) for at, _ in self.sections(whole) for offset, code in offsets.items()
                 for value in values if value < 2 ** (8 * struct.calcsize(code))]  # fmt: skip
        for number, (at, code, value) in enumerate(wrong):
            if number % 7:  # a seventh of all; which, is settled
                continue
            content = bytearray(whole)
            struct.pack_into(code, content, at, value)
            with self.subTest(at=at, value=value):
                # Which strings and symbols are looked at may be anything now.
                begin = time.monotonic()
                os.unlink(self.program)
                with open(self.program, "wb") as file:
                    file.write(content)
                told = run(TRACEBED, "report", "--allocations", self.trace, timeout=4 * SECONDS)
                self.assertEqual(told.returncode, 0, told.stderr[-3000:])
                self.assertNotIn("Sanitizer", told.stderr)
                self.assertLess(time.monotonic() - begin, SECONDS)

    def with_dwarf(self, entries, rows=""):
        with open(os.path.join(self.folder, "dwarf.s"), "w", encoding="utf-8") as file:
            file.write(DWARF % {"entries": entries, "rows": rows})
        self.build("dwarf.s")
        return self.ask(None, NAMES | {"origin"})

    def test_by_hand(self):
        """The frame of the tests below is sound."""
        plain = FUNCTION % "" + INLINED % "" + ".byte 0, 0\norigin: .uleb128 5; .asciz \"origin\"\n"
        text, found = self.with_dwarf(plain)
        self.assertIn("origin", found, text)
        self.assertIn("hostile.c", text)

    def test_circles_of_origins(self):
        circle = "origin: .uleb128 4; .long origin_2 - unit\norigin_2: .uleb128 4; .long origin - unit\n"
        circle += "origin_3: .uleb128 4; .long origin_3 - unit\n"
        self.with_dwarf(FUNCTION % "" + INLINED % "_3" + ".byte 0, 0\n" + circle)
        outside = "origin = unit + 0x7fffff00\n"
        self.with_dwarf(outside + FUNCTION % "" + INLINED % "" + ".byte 0, 0\n")

    def test_inlined_as_deep_as_can_be(self):
        for depth in (60, 70, 300, 300000):
            text = FUNCTION % "" + f".rept {depth}\n" + INLINED % "" + f".endr\n.rept {depth + 1}\n.byte 0\n.endr\n"
            text, found = self.with_dwarf(text + 'origin: .uleb128 5; .asciz "origin"\n')
            self.assertTrue(found, text)

    def test_a_line_table_of_millions(self):
        end = "origin: .uleb128 5; .asciz \"origin\"\n"
        entries = FUNCTION % "" + ".byte 0\n" + end
        self.with_dwarf(entries, ".fill 4000000, 1, 0x0f\n")
        self.with_dwarf(entries, ".byte 3\n.sleb128 0x7fffffffffff\n.byte 1, 2\n.uleb128 -1\n")

    def compress(self, content, claimed, data):
        """.debug_info, and whatever else has debug information, as compressed sections that hold 'data'."""
        content = bytearray(content)
        for at, header in self.sections(content):
            name_table = self.sections(content)[struct.unpack_from("<H", content, 0x3E)[0]][1]
            start = name_table[4] + header[0]
            if not content[start:].startswith((b".debug_info", b".debug_abbrev", b".debug_line\0", b".symtab")):
                continue
            packed = struct.pack("<IIQQ", 1, 0, claimed, 1) + data
            struct.pack_into("<Q", content, at + 8, header[2] | 0x800)
            struct.pack_into("<QQ", content, at + 24, len(content), len(packed))
            content += packed
        return content

    def test_compressed_sections_that_lie(self):
        whole = self.build("-g")
        zeros = zlib.compress(bytes(64 << 20), 9)
        for claimed, data in (
            (64 << 20, zeros), (2**64 - 1, zeros), (2**40, zeros), (0, zeros), (1, zeros), (64 << 20, zeros[:1000]),
            (64 << 20, b""), (2**33, b"x" * 100), (16, zlib.compress(b"y" * 16)),
        ):  # fmt: skip
            with self.subTest(claimed=claimed, nbytes=len(data)):
                self.ask(self.compress(whole, claimed, data))


if __name__ == "__main__":
    cases.run_unittests()
