#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the program's results for measureme profiles with the independent decoder's.

    compare_profiles.py TRACEBED [--only=COMPARISON,…] [FILE…]

COMPARISON is one of
    damage    the damage found (section 8 of measureme.md)
    listing   the listing after import (section 9)
    report    the report (section 10)
    arguments the report by label and arguments (section 10, rule 10)
    folded    the folded stacks (section 10)
    export    the profiles of versions 8 and 9 that it is exported to (section 11)
Without FILE, all golden profiles are compared, and those of ../shared/traces if it exists. A file that one of the two
refuses must be refused by both.

Check: measureme-program build/release/tracebed
Needs: $b/tracebed
Slow: decodes every golden profile twice in Python
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
from itertools import zip_longest

import measureme_decoder as decoder

HERE = os.path.dirname(os.path.abspath(__file__))
TRACES = os.path.join(HERE, "..", "..", "shared", "traces")
SECONDS = 60
LINES_SHOWN = 3
DAMAGES_LISTED = 100
FIELDS = ("tick", "type", "name", "category_name", "begin_tick", "value", "args")
END_MAX = 0xFFFFFFFFFFFD
LONG = 60000  # a string of this length may need several entries in a trace
FREE = 2048  # bytes of a text that no limit on all text of a command leaves out


def default_files():
    golden = os.path.join(HERE, "golden", "measureme")
    with open(os.path.join(golden, "expected.txt"), encoding="ascii") as lines:
        files = [os.path.join(golden, line.split()[0]) for line in lines]
    for pattern in ("*.mm_profdata", "old/*.mm_profdata", "old/*.events", "synth/*.mm_profdata"):
        files += sorted(glob.glob(os.path.join(TRACES, pattern)))
    return files


class Program:
    def __init__(self, path):
        self.path = path
        self.left_out = False  # did the last run say so of any text?

    def run(self, *arguments):
        """Returns the program's output, or None if it refuses the file."""
        run = subprocess.run([self.path, *arguments], capture_output=True, timeout=SECONDS, check=False)
        if run.returncode < 0 or b"Sanitizer" in run.stderr or b"runtime error" in run.stderr:
            sys.stderr.write(run.stderr.decode(errors="replace")[:2000])
            raise AssertionError("%s: crashed" % " ".join(arguments))
        self.left_out = b"left out" in run.stderr
        return None if run.returncode == 2 else run.stdout.decode()


def first_differences(expected, found, what):
    pairs = enumerate(zip_longest(expected, found), 1)
    wrong = ("%s, line %d:\n  decoder %s\n  program %s" % (what, number, *map(json.dumps, pair))
             for number, pair in pairs if pair[0] != pair[1])
    return [text for text, _ in zip(wrong, range(LINES_SHOWN))]


def is_subsequence(texts, all_texts):
    rest = iter(all_texts)
    return all(text in rest for text in texts)


def compare_listing(program, path, profile):
    text = program.run("dump", "--json", "--order=stream", path)
    if text is None:
        return ["dump: refused by the program only"]
    found = [json.loads(line) for line in text.splitlines()]
    strings = [line["text"] for line in found if "string" in line and "text" in line]
    expected = list(decoder.listing(profile))
    wrong = []
    texts = [line["text"] for line in expected if "text" in line]
    if program.left_out:
        texts = [text for text in texts if text is not None and len(text) <= FREE]
    if not is_subsequence(texts, strings):
        wrong.append("listing: the strings are not all there, in their order")
    events = [[line["stream"]] + [line.get(field) for field in FIELDS] for line in found if "tick" in line]
    numbers = {number: index for index, number in enumerate(sorted({event[0] for event in events}))}
    for event in events:
        event[0] = numbers[event[0]]
    return wrong + first_differences(
        [[line["stream"]] + [line.get(field) for field in FIELDS] for line in expected if "tick" in line], events,
        "listing")


def by_decoders_keys(row):
    """If the clock counts something else than time, keys of the program end in _ticks."""
    return {re.sub("_ticks$", "_ns", key): value for key, value in row.items()}


def compare_report(program, path, profile):
    return compare_reports(program.run("report", "--json", path), decoder.summary(profile))


def compare_arguments(program, path, profile):
    ids = {event.id for event in profile.events}
    if any(profile.name(id_) is None and profile.label(id_) not in ("<unknown>", "<id %d>" % id_) for id_ in ids):
        return []  # a name whose arguments cannot be read is spelled as far as it can be
    if not profile.has_strings() or program.left_out:
        return []
    expected = decoder.summary(profile, decoder.key)
    expected["artifacts"] = decoder.summary(profile)["artifacts"]
    return compare_reports(program.run("report", "--by=argument", "--json", path), expected)


def compare_reports(text, expected):
    if text is None:
        return ["report: refused by the program only"]
    found = by_decoders_keys(json.loads(text))
    wrong = []
    if found.get("total_ns") != expected["total_ns"]:
        wrong.append("report: total: decoder %s, program %s" % (expected["total_ns"], found.get("total_ns")))
    for part in ("rows", "artifacts"):
        mine = expected[part]
        theirs = [by_decoders_keys(row) for row in found.get(part, [])]
        theirs = [{key: row.get(key) for key in mine[0]} if mine else row for row in theirs]
        by_label = lambda row: row["name"]
        wrong += first_differences(sorted(mine, key=by_label), sorted(theirs, key=by_label), "report, " + part)
    return wrong


def compare_folded(program, path, profile):
    text = program.run("flame", "--folded", path)
    if text is None:
        return ["flame: refused by the program only"]
    expected, found = list(decoder.folded(profile)), text.split("\n")[:-1]
    metadata = profile.name(profile.metadata)
    if metadata is None or '"cmd"' not in metadata:  # then the root is the process
        expected, found = ([line.partition(";")[2] for line in lines if ";" in line] for lines in (expected, found))
    return first_differences(sorted(expected), sorted(found), "flame")


def by_thread(profile):
    """Returns what import and export must preserve: {thread: [event]}, with texts in place of ids."""
    threads = {}
    for event in profile.events:
        end = 0 if event.type == "counter" else event.end
        end = min(end, END_MAX) if event.type == "span" else min(end, decoder.INSTANT)
        threads.setdefault(event.thread & 0xFFFFFFFF, []).append(
            [event.type, min(event.begin, decoder.INSTANT), end, profile.name(event.kind), profile.name(event.id)])
    return threads


def without_stand_ins(expected, found):
    """Compares events; a name without a text may have been given a stand-in."""
    for one, other in zip(expected, found):
        for field in (3, 4):
            if one[field] is None and other[field] is not None and "<" in other[field]:
                other[field] = None


def compare_export(program, path, profile):
    with tempfile.TemporaryDirectory() as folder:
        bed = os.path.join(folder, "bed.tbed")
        program.run("import", path, "-o", bed)
        if not os.path.exists(bed):
            return ["import: no bed"]
        wrong = []
        for version in (8, 9):
            out = os.path.join(folder, "out%d.mm_profdata" % version)
            program.run("export", "--to=mm_profdata", "--format-version=%d" % version, bed, "-o", out)
            if not os.path.exists(out):
                wrong.append("export to %d: no file" % version)
                continue
            wrong += ["to %d: %s" % (version, text) for text in compare_exported(profile, decoder.Profile(out))]
        return wrong


def is_whole(profile, id_):
    """Does the export keep this id? It keeps ids of entries and ids without a meaning, and replaces others."""
    address = profile.address(id_)
    return id_ < 100000003 or address is None or address in profile.sequence


def compare_exported(profile, exported):
    wrong = ["%s at %s in %s" % (damage.status, damage.offset, damage.file) for damage in exported.damages]
    expected, found = by_thread(profile), by_thread(exported)
    if expected.keys() != found.keys():
        wrong.append("threads %s became %s" % (sorted(expected)[:9], sorted(found)[:9]))
    for thread in expected.keys() & found.keys():
        without_stand_ins(expected[thread], found[thread])
        wrong += first_differences(expected[thread], found[thread], "thread %d after export" % thread)
    has_texts = all(line["text"] is not None for line in decoder.listing(profile) if "text" in line)
    is_plain = not profile.damages and has_texts and all(  # an export writes no circle

        len(part) < LONG if isinstance(part, str) else is_whole(profile, part)
        for address in profile.sequence for part in profile.entries[address])
    if profile.version == exported.version == 9 and is_plain and \
            exported.data[:len(profile.data)] != profile.data:
        wrong.append("string data did not come back byte for byte")
    return wrong


def compare_damage(program, path, profile):
    lines = re.findall(r"^  (?:offset \w+ \((\d+)\), )?the (\S*) ?file: (PROFILE_\w+)", program.run("verify", path), re.M)
    files = {".string_data": 1, ".string_index": 2}
    found = sorted((status, files.get(file, 0), int(offset or -1)) for offset, file, status in lines)
    expected = sorted((damage.status, 0 if profile.paged else damage.file, -1 if damage.offset is None else damage.offset)
                      for damage in profile.damages)
    return first_differences(expected[:DAMAGES_LISTED], found[:DAMAGES_LISTED], "damage")


COMPARISONS = {"damage": compare_damage, "listing": compare_listing, "report": compare_report, "arguments": compare_arguments,
               "folded": compare_folded, "export": compare_export}


def differences(program, path, only):
    try:
        profile = decoder.Profile(path)
    except decoder.Refused as refused:
        return [] if program.run("dump", "--json", "--order=stream", path) is None else \
            ["refused by the decoder only: %s" % refused]
    wrong = []
    for compare in [COMPARISONS[name] for name in only]:
        try:
            wrong += compare(program, path, profile)
        except (AssertionError, ValueError, KeyError, subprocess.TimeoutExpired) as failure:
            wrong.append("%s: %s" % (compare.__name__, str(failure)[:300]))
    return wrong


def main():
    program, arguments, only = Program(sys.argv[1]), sys.argv[2:], list(COMPARISONS)
    if arguments and arguments[0].startswith("--only="):
        only = arguments.pop(0)[len("--only="):].split(",")
    files = arguments or default_files()
    failed = 0
    for path in files:
        wrong = differences(program, path, only)
        failed += bool(wrong)
        for text in wrong[:3 * LINES_SHOWN]:
            print("%s: %s" % (path, text))
    print("%d passed, %d failed" % (len(files) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
