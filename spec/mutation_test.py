#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutation_test.py TRACEBED [COUNT [SEED]]: changes golden traces at random, and checks that the library and the independent
decoder agree about each, as corpus_test.py does for the corpora.

Most checksums are recomputed, so that they do not reveal the change. The same SEED (default 1) makes the same changes on
every machine, and a higher COUNT (default 150) continues a lower one. Traces about which the two differ are kept in /tmp.

Check: mutations-decoder build/release/tracebed
Needs: $b/tracebed
"""
import contextlib
import glob
import io
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

import decoder
from decoder_file import BLOCK, CELLS, DIRECTORY, ENTRY, EVENTS, M32, SEALED, STRINGS, directory_page, u32, u64
from xxh3 import xxh3_64

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = ("golden/valid", "../fuzz/reader/corpus", "../fuzz/snapshot/corpus")
NBYTES_MAX = 100000
ODD = (0, 1, 2, 7, 8, 63, 64, 255, 512, 4096, 0x1FFFFFFF, 0x20000000, 0x20000001, 0x3FFFFFFF, 2 ** 31, M32, 2 ** 63, 2 ** 64 - 1)


def put(data, at, layout, *values):
    struct.pack_into(layout, data, at, *values)


class Mutant:
    """A trace and the changes made to it."""

    def __init__(self, content, random_numbers):
        self.data, self.random = bytearray(content), random_numbers
        self.size = u32(content, 12) if len(content) >= 4096 else 0
        self.has_pages = self.size in [1 << shift for shift in range(12, 21)] and len(content) >= 2 * self.size
        self.page_count = len(content) // self.size if self.has_pages else 0

    def pages(self):
        return range(1, self.page_count)

    def blocks(self):
        """Returns (start, size) of every block, according to the headers of the pages."""
        for page in self.pages():
            start = page * self.size
            yield start, self.size
            shift = self.data[start + 1]
            if self.data[start] == CELLS and 9 <= shift <= self.size.bit_length() - 4:
                for at in range(start + (1 << shift), start + self.size, 1 << shift):
                    yield at, 1 << shift

    def entry_at(self, page):
        part = directory_page(self.size, page)
        if part == page:
            return None
        return 1024 + 64 * page if part == 0 else part * self.size + 512 + 64 * (page - part - 1)

    # ---- Changes ----

    def number(self, nbytes):
        """Returns a value that is likely to matter."""
        kind = self.random.randrange(3)
        at = self.random.randrange(0, len(self.data) - 8, 4)
        value = (self.random.choice(ODD), self.random.getrandbits(8 * nbytes), u64(self.data, at))[kind]
        return (value + self.random.randrange(-1, 2)) % (1 << 8 * nbytes)

    def change_number(self, begin, end):
        nbytes = self.random.choice((1, 2, 4, 4, 8))
        at = begin + self.random.randrange(0, end - begin, nbytes)
        if at + nbytes > len(self.data):
            return
        if self.random.randrange(3) == 0:
            self.data[at] ^= 1 << self.random.randrange(8)
        else:
            self.data[at:at + nbytes] = self.number(nbytes).to_bytes(nbytes, "little")

    def change_content(self):
        start, size = self.random.choice([block for block in self.blocks() if self.data[block[0]]] or [(0, 64)])
        used = u32(self.data, start + 44)
        end = used if 64 < used <= size else size
        self.change_number(start + 64, start + max(72, end // self.random.choice((1, 1, 4, 16)) // 8 * 8))

    def change_header(self):
        start, _ = self.random.choice(list(self.blocks()))
        self.change_number(start, start + 56)

    def change_entry(self):
        at = self.entry_at(self.random.choice(self.pages()))
        if at is not None and at + 64 <= len(self.data):
            self.change_number(at, at + 64)

    def change_shared(self):
        at = self.random.choice((512, 576, 584, 592, 608, 616, 640, 700))
        if at == 608:
            self.data[608:612] = self.random.choice((b"open", b"shut", b"open", b"what"))
        else:
            put(self.data, at, "<Q", max(0, u64(self.data, at) + self.random.randrange(-2, 3)) % 2 ** 64)

    def change_fixed(self):
        self.change_number(self.random.choice((12, 24, 44, 48, 52, 56, 64, 72, 80, 88, 96)), 124)
        size = u32(self.data, 60)
        if 256 <= size <= 448 and size % 64 == 0:
            put(self.data, size - 8, "<Q", xxh3_64(bytes(self.data[:size - 8])))

    def move_block(self):
        """Copies a block or a page over another one, and corrects its numbers or not."""
        blocks = list(self.blocks())
        start, size = self.random.choice(blocks)
        to, _ = self.random.choice([block for block in blocks if block[1] == size])
        keeps = self.random.randrange(2)
        place = bytes(self.data[to + 2:to + 8])
        self.data[to:to + size] = self.data[start:start + size]
        if keeps:
            self.data[to + 2:to + 8] = place
        if self.random.randrange(3) == 0:
            put(self.data, to + 20, "<I", self.random.randrange(8))

    def clear(self):
        start, size = self.random.choice(list(self.blocks()))
        begin = self.random.choice((0, 0, 64, 8 * self.random.randrange(size // 8)))
        self.data[start + begin:start + size] = bytes(size - begin)

    def unseal(self):
        start, _ = self.random.choice(list(self.blocks()))
        put(self.data, start + 44, "<I", 0)
        put(self.data, start + 48, "<QQ", 0, 0)
        self.data[608:612] = b"open"

    def cut(self):
        del self.data[self.random.choice((self.random.randrange(len(self.data)),
                                         self.size * self.random.randrange(1, self.page_count + 1))):]

    def change(self):
        changes = (self.change_content,) * 10 + (self.change_header, self.change_entry) * 2 + (
            self.change_shared, self.change_fixed, self.move_block, self.clear, self.unseal)
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            self.random.choice(changes)()
        self.mend()
        if self.random.randrange(20) == 0:
            self.cut()

    # ---- Checksums ----

    def mend_strings(self, start, end):
        at = start + 64
        while at + 8 < end:
            nbytes = u32(self.data, at)
            if not 0 < nbytes <= end - at - 8:
                break
            put(self.data, at + 4, "<I", xxh3_64(bytes(self.data[at + 8:at + 8 + nbytes])) & M32)
            at += (8 + nbytes + 7) // 8 * 8

    def mend_block(self, start, size):
        used = u32(self.data, start + 44)
        is_sealed = 64 <= used <= size
        if self.data[start] == STRINGS:
            self.mend_strings(start, start + (used if is_sealed else size))
        if is_sealed:
            seed = xxh3_64(bytes(self.data[start:start + 56]))
            put(self.data, start + 56, "<Q", xxh3_64(bytes(self.data[start + 64:start + used]), seed))

    def mend_entry(self, page):
        """Recomputes half of the checksum and the check, and sometimes everything that the block's header says."""
        at = self.entry_at(page)
        if at is None or at + 64 > len(self.data) or self.data[at] != SEALED:
            return
        entry, block = ENTRY.unpack_from(self.data, at), BLOCK.unpack_from(self.data, page * self.size)
        state, kind, cells, sequence, mark, process, stream, used, first, last, begin, depth, age, _, check = entry
        if self.random.randrange(4):
            kind, stream, sequence, first, used, last = block[0], block[5], block[6], block[9], block[11], block[12]
            depth = block[8] if kind in (STRINGS, CELLS) else block[10]
        fields = [state, kind, cells, sequence, mark, process, stream, used, first, last, begin, depth, age, block[13] & M32, check]
        bare = list(fields)
        for i in (2, 4, 5, 12):
            bare[i] = 0
        fields[14] = xxh3_64(ENTRY.pack(*bare)[:60]) & M32
        ENTRY.pack_into(self.data, at, *fields)

    def mend(self):
        if self.random.randrange(12) == 0:
            return
        for start, size in self.blocks():
            if self.data[start] != DIRECTORY:
                self.mend_block(start, size)
        for page in self.pages():
            self.mend_entry(page)
        page_count, shared = u64(self.data, 512), bytearray(self.data[512:768])
        shared[96:100] = b"shut"
        checksum = xxh3_64(bytes(self.data[776:self.size]), xxh3_64(bytes(shared)))
        for page in decoder.directory_pages(self.size, min(page_count, self.page_count)):
            checksum = xxh3_64(bytes(self.data[page * self.size + 512:(page + 1) * self.size]), checksum)
        put(self.data, 768, "<Q", checksum)


# ---- The two readers ----

def decode(data, by_entries):
    """Returns the decoder's exit code and its lines."""
    damaged = []
    try:
        trace = decoder.open_trace(data, lambda *_, damage=True: damaged.append(damage))
    except decoder.Damage:
        return 2, []
    trace.goes_by_entries = by_entries
    lines = [json.loads(json.dumps(line)) for line in decoder.list_trace(trace)]
    return 1 if any(damaged) else 0, lines


def read(tracebed, command, path):
    run = subprocess.run([tracebed, *command, path], capture_output=True, check=False)
    return run.returncode, run.stdout


def first_difference(lines, found, code):
    """Returns a description of it, or None."""
    if code == 1:  # a reader may end a gap at a damaged block: section 14
        lines, found = ([line for line in each if "missing" not in line] for each in (lines, found))
    for at, (one, other) in enumerate(zip(lines, found)):
        if one != other:
            return "line %d: decoder %s, tracebed %s" % (at + 1, one, other)
    return None if len(lines) == len(found) else "decoder has %d lines, tracebed %d" % (len(lines), len(found))


def compare(tracebed, path, data):
    """Returns a description of the first difference, or None."""
    code, lines = decode(data, False)
    found_code, text = read(tracebed, ["dump", "--json", "--order=stream"], path)
    found = [json.loads(line) for line in text.splitlines()]
    if 2 in (code, found_code):
        return None if code == found_code else "decoder exits %d, tracebed %d" % (code, found_code)
    difference = first_difference(lines, found, code)
    if difference and first_difference(decode(data, True)[1], found, code):  # section 12.3: a reader may find blocks by their entries
        return difference
    verified, _ = read(tracebed, ["verify", "--json"], path)
    return None if code == verified else "decoder exits %d, tracebed verify %d" % (code, verified)


def main():
    tracebed, count, seed = sys.argv[1], int((sys.argv[2:3] or [150])[0]), int((sys.argv[3:4] or [1])[0])
    paths = [path for folder in FOLDERS for path in sorted(glob.glob(os.path.join(HERE, folder, "*")))
             if os.path.getsize(path) <= NBYTES_MAX]
    random_numbers, failed, done = random.Random(seed), 0, 0
    with tempfile.TemporaryDirectory(prefix="tracebed-mutations-") as folder:
        while done < count:
            source = random_numbers.choice(paths)
            with open(source, "rb") as file:
                mutant = Mutant(file.read(), random.Random(random_numbers.getrandbits(64)))
            if not mutant.has_pages:
                continue
            mutant.change()
            done += 1
            path = os.path.join(folder, "trace")
            with open(path, "wb") as file:
                file.write(mutant.data)
            with contextlib.redirect_stderr(io.StringIO()):
                difference = compare(tracebed, path, bytes(mutant.data))
            if difference:
                failed += 1
                kept = os.path.join(tempfile.gettempdir(), "tracebed-mutation-%d-%d" % (seed, done))
                os.replace(path, kept)
                print("%s, from %s: %s" % (kept, os.path.relpath(source), difference[:400]))
    print("%d agree, %d differ" % (done - failed, failed))
    return 1 if failed or not done else 0


if __name__ == "__main__":
    sys.exit(main())
