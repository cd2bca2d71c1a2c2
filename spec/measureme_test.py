#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the decoder of profiles with the golden files, and with the output of measureme's own tools for real ones.

    measureme_test.py [FOLDER]

FOLDER has the traces and references; it defaults to ../shared/traces beside the checkout. Without it the second part is
skipped. Compressed traces are included only if FOLDER is given, and need zstd.

Check: measureme-decoder
Slow: decodes every golden profile in Python
"""
import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

import make_measureme
import measureme_decoder as decoder

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "golden", "measureme")
TRACES = os.path.join(HERE, "..", "..", "shared", "traces")
COLUMNS = {"time": "time_ns", "self_time": "self_ns", "number_of_cache_misses": "cache_misses",
           "number_of_cache_hits": "cache_hits", "invocation_count": "invocations", "blocked_time": "blocked_ns",
           "incremental_load_time": "incremental_load_ns", "incremental_hashing_time": "incremental_hashing_ns"}
SHOWN = {"Self time": "self_ns", "Time": "time_ns", "Item count": "invocations", "Cache hits": "cache_hits",
         "Blocked time": "blocked_ns", "Incremental load time": "incremental_load_ns",
         "Incremental result hashing time": "incremental_hashing_ns"}


# ---- The golden files ----


def golden_files_are_what_their_maker_makes():
    make_measureme.whole_files()
    make_measureme.damaged_files()
    kept = {name for name in os.listdir(GOLDEN) if name != "expected.txt"}
    assert kept == set(make_measureme.FILES), kept ^ set(make_measureme.FILES)
    for name, content in make_measureme.FILES.items():
        with open(os.path.join(GOLDEN, name), "rb") as file:
            assert file.read() == content, name


def damages(name):
    try:
        profile = decoder.Profile(os.path.join(GOLDEN, name))
    except decoder.Refused as refused:
        return str(refused)
    for lines in (decoder.listing(profile), decoder.folded(profile), decoder.summary(profile)["rows"]):
        assert all(lines)
    return ",".join(sorted({damage.status for damage in profile.damages})) or "-"


def golden_files_have_the_damages_they_are_named_for():
    seen = set()
    with open(os.path.join(HERE, "..", "format", "include", "tracebed", "format.h"), encoding="ascii") as header:
        statuses = set(re.findall(r"ERR_(PROFILE_\w+), \d", header.read()))
    with open(os.path.join(GOLDEN, "expected.txt"), encoding="ascii") as lines:
        for name, expected in map(str.split, lines):
            assert damages(name) == expected, (name, expected, damages(name))
            named_for = "PROFILE_" + name.split("_")[0]
            assert named_for not in statuses or named_for in expected.split(","), name
            seen.update(expected.split(","))
    assert statuses and statuses <= seen, statuses - seen


def golden(name):
    return decoder.Profile(os.path.join(GOLDEN, name))


def golden_files_mean_what_was_worked_out_by_hand():
    counts = {name: len(golden(name).damages) for name in (
        "INDEX_3.events", "INDEX_8.mm_profdata", "INDEX_9.mm_profdata", "STRING_reference_cut.mm_profdata")}
    # Versions 8 and 9 have three records with ids that an index must not contain.
    assert list(counts.values()) == [4 + 1, 3 + 3 + 1, 3 + 3 + 1, 2], counts
    assert golden("v7_long_interval.mm_profdata").events[0][4:] == (5, 0xFFFFFFFFFFFE)
    hits = {row["name"]: row["cache_hits"] for row in decoder.summary(golden("counting.mm_profdata"))["rows"]}
    assert hits == {"a": 3 + 4 + 1 + 1, "b": 6}, hits
    rows = decoder.summary(golden("odd_times.mm_profdata"))
    assert rows["total_ns"] == 11 + 41 + 110 + 15 + 0xFFFFFFFFFFFD, rows
    assert [row["time_ns"] for row in rows["rows"]] == [8 + 10 + 10 + 0xFFFFFFFFFFFD, 8 + 25 + 8 + 10, 10 + 10 + 4, 51]
    spans = [event[4:] for event in golden("v0_unpaired.events").events if event.type == "span"]
    assert spans == [(22, 23), (20, 30), (10, 40), (21, 1 << 50), (80, 83), (61, 84)], spans
    names = [decoder.Profile.label(golden("odd_names.mm_profdata"), event.id)
             for event in golden("odd_names.mm_profdata").events[:17]]
    assert names[:11] == ["<parse error>"] * 3 + ["a", "semi;colon", "half <unknown>", "known", "known", "QueryQuery!", ' " \\ \u00a0', "<unknown>"]
    deep = [line["name"] for line in decoder.listing(golden("deep.mm_profdata")) if "tick" in line]
    assert [name is None for name in deep] == [False] * 63 + [True] * 2


def every_cut_of_a_file_is_read():
    """Every event before the cut is read, and nothing that is not in the complete file."""
    with open(os.path.join(GOLDEN, "v9_straddle.mm_profdata"), "rb") as file:
        data = file.read()
    whole = decoder.Profile(os.path.join(GOLDEN, "v9_straddle.mm_profdata")).events
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cut.mm_profdata")
        counts = []
        for nbytes in range(8, len(data)):
            with open(path, "wb") as file:
                file.write(data[:nbytes])
            events = decoder.Profile(path).events
            assert events == whole[:len(events)]
            counts.append(len(events))
        assert counts == sorted(counts) and counts[0] == 0 and counts[-1] == len(whole)


def other_components_of_a_cyclic_string_do_not_matter():
    """The second entry refers to the first and to itself, in either order."""
    version, address = struct.pack("<I", 8), 8 + len(b"text\xff")
    references = [b"\xfe" + struct.pack("<I", 100000003 + at) for at in (8, address)]
    page = lambda tag, data: struct.pack("<BI", tag, len(data)) + data
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cycle.mm_profdata")
        for components in (references, references[::-1]):
            with open(path, "wb") as file:
                file.write(b"MMPD" + version + page(0, b"MMES" + version) + page(2, b"MMSI" + version) +
                           page(1, b"MMSD" + version + b"text\xff" + b"".join(components) + b"\xff"))
            profile = decoder.Profile(path)
            assert (profile.text_at(address), profile.text_at(8)) == (None, "text")


# ---- The output of measureme's own tools ----


def nanoseconds(time):
    return time["secs"] * 10**9 + time["nanos"] if isinstance(time, dict) else time


def reference_summary(path):
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    rows = [{"name": row["label"], **{ours: nanoseconds(row[theirs]) for theirs, ours in COLUMNS.items()}}
            for row in found["query_data"]]
    by_label = lambda row: row["name"].encode()
    return {"total_ns": nanoseconds(found["total_time"]), "rows": sorted(rows, key=by_label),
            "artifacts": sorted(({"name": row["label"], "bytes": row["value"]} for row in found["artifact_sizes"]),
                                key=by_label)}


def traces_are_counted_as_the_references_say(folder, with_compressed):
    count = 0
    for reference in sorted(glob.glob(os.path.join(folder, "ref", "*", "summarize.sorted.json"))):
        name = os.path.basename(os.path.dirname(reference))
        path = os.path.join(folder, name + ".mm_profdata")
        with tempfile.TemporaryDirectory() as unpacked:
            if not os.path.exists(path):
                if not with_compressed:
                    continue
                compressed, path = path + ".zst", os.path.join(unpacked, name + ".mm_profdata")
                subprocess.run(["zstd", "-qd", compressed, "-o", path], check=True)
            profile = decoder.Profile(path)
        assert not profile.damages, profile.damages
        assert decoder.summary(profile) == reference_summary(reference), name
        with open(os.path.join(os.path.dirname(reference), "stacks_folded.sorted"), encoding="utf-8") as file:
            assert sorted(decoder.folded(profile)) == sorted(file.read().splitlines()), name
        count += 1
    assert count > 0


def shown(time):
    """A duration as summarize prints it: two decimals, half to even, without carrying to the next unit."""
    unit, one = next((unit, one) for unit, one in (("ns", 1), ("µs", 10**3), ("ms", 10**6), ("s", 10**9))
                     if time < 1000 * one or unit == "s")
    whole, rest = divmod(100 * time, one)
    whole += 2 * rest > one or (2 * rest == one and whole % 2)
    return "%d.%02d%s" % (whole // 100, whole % 100, unit)


def table(lines):
    """Parses a printed table into {label: {heading: text}}."""
    rows, headings = {}, None
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| Item"):
            headings = cells
            if "Artifact Size" in headings:
                return rows
        elif line.startswith("|"):
            rows[re.sub(r" \.+$", "", cells[0])] = dict(zip(headings, cells))
    return rows


# Labels with a ';', which the reference tool prints verbatim, so that one frame becomes two.
WITH_SEMICOLON = {"v_unicode": {"rustc;a;b c 10": "rustc;a\\x3bb c 10"}}


def made_up_traces_are_counted_as_the_references_say(folder):
    count = 0
    for path in sorted(glob.glob(os.path.join(folder, "synth", "*.mm_profdata"))):
        name = os.path.splitext(os.path.basename(path))[0]
        texts = {}
        for what in ("summarize", "stacks"):
            with open(os.path.join(folder, "ref", "synth", name + "." + what), encoding="utf-8") as file:
                texts[what] = file.read()
        if "too new" in texts["summarize"]:
            continue
        profile = decoder.Profile(path)
        stacks = [line for line in texts["stacks"].splitlines() if line.startswith("rustc")]
        escaped = WITH_SEMICOLON.get(name, {})
        assert set(escaped) <= set(stacks), name
        stacks = [escaped.get(line, line) for line in stacks]
        wrapped = [line for line in stacks if int(line.split()[-1]) >= 2**63]
        mine = sorted(decoder.folded(profile))
        if stacks:  # the reference shows a negative sum plus 2^64; the decoder does not
            assert {line.rsplit(" ", 1)[0] for line in wrapped} <= {line.rsplit(" ", 1)[0] for line in mine}, name
            assert set(stacks) - set(wrapped) <= set(mine) and len(stacks) == len(mine), name
        if "panicked" not in texts["summarize"]:
            compare_tables(name, decoder.summary(profile), texts["summarize"])
            count += 1
    assert count > 20, count


def compare_tables(name, mine, text):
    rows = table(text.splitlines())
    assert rows.keys() == {row["name"] for row in mine["rows"]}, name
    for row in mine["rows"]:
        for heading, column in SHOWN.items():
            if heading in rows[row["name"]]:
                value = shown(row[column]) if column.endswith("_ns") else str(row[column])
                assert rows[row["name"]][heading] == value, (name, row, heading)
    assert {(row["name"], "%d bytes" % row["bytes"]) for row in mine["artifacts"]} == \
        set(re.findall(r"\| (\S+) +\| (\d+ bytes) +\|", text)), name


def old_formats_are_read(folder):
    """Programs recorded the same strings with several versions of the crate."""
    composed = "pre_abc_posth\u00e9llo\u2192"
    for name, count in (("w0_4_0.events", 9), ("w0_5_0.events", 12), ("w0_6_0.string_data", 12),
                        ("w0_7_1.string_index", 13), ("w0_8_0.mm_profdata", 13), ("w9_2_0.mm_profdata", 13)):
        profile = decoder.Profile(os.path.join(folder, "old", name))
        names = {profile.name(event.id) for event in profile.events}
        assert not profile.damages and len(profile.events) == count, (name, profile.damages, len(profile.events))
        assert names >= ({"abc", "h\u00e9llo\u2192"} if count == 9 else {"abc", composed}) and None not in names, names


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else TRACES
    tests = [golden_files_are_what_their_maker_makes, golden_files_have_the_damages_they_are_named_for,
             golden_files_mean_what_was_worked_out_by_hand, every_cut_of_a_file_is_read,
             other_components_of_a_cyclic_string_do_not_matter]
    if os.path.isdir(folder):
        tests += [lambda: traces_are_counted_as_the_references_say(folder, len(sys.argv) > 1),
                  lambda: made_up_traces_are_counted_as_the_references_say(folder),
                  lambda: old_formats_are_read(folder)]
    for test in tests:
        test()
    print("%d passed, 0 failed" % len(tests))
    return 0


if __name__ == "__main__":
    sys.exit(main())
