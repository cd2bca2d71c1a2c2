#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The tables of a trace have the figures that the commands print: each table of facts and of results is compared, row by row, with
the JSON of the command that shows the same. The traces are the golden files, whole and damaged, random
programs, and a recorded one.

    python3 reader/tests/tables/tables_agree_test.py

Check: tables-agree
Needs: $b/programs $b/reader/tests/agreement/agreement_program $b/reader/tests/tables/rows_text_program
"""

import codecs
import collections
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

PROGRAM = cases.BUILD / "reader/tests/agreement/agreement_program"
PRINT = cases.BUILD / "reader/tests/tables/rows_text_program"
GOLDEN = cases.ROOT / "spec/golden"
KINDS = ("given whole categories others", "counts given open others", "talks", "forks others", "ring others",
         "killed others", "given back resolution whole")


def traces(folder):
    """Paths of traces: golden ones, and a random program of each kind."""
    yield from sorted((GOLDEN / "valid").glob("*.tbed"))
    for seed, kind in enumerate(KINDS):
        path = folder / f"random{seed}.tbed"
        subprocess.run([PROGRAM, str(seed + 1), path, *kind.split()], stdout=subprocess.DEVNULL)
        yield path
    path = folder / "recorded.tbed"
    subprocess.run([cases.TRACEBED, "record", "-o", path, "--", "sh", "-c", "ls -l / | sort"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield path


def invalid():
    """Damaged traces that can be opened."""
    for path in sorted((GOLDEN / "invalid").glob("*.tbed")):
        if shows(path, "info") is not None:
            yield path


# JSON shows bytes that are not UTF-8 as \xFF.
codecs.register_error("hexadecimal", lambda error: ("".join(f"\\x{byte:02X}" for byte in error.object[error.start:error.end]),
                                                    error.end))


def profiles():
    """Golden profiles of measureme, damaged ones too."""
    for path in sorted((GOLDEN / "measureme").iterdir()):
        if path.suffix in (".mm_profdata", ".events") and shows(path, "info") is not None:
            yield path


def unescaped(text):
    return re.sub(r"\\([0tn\\])", lambda match: {"0": "\0", "t": "\t", "n": "\n", "\\": "\\"}[match[1]], text)


def table(path, name, *constraints):
    """The rows of a table as dictionaries of texts; None for NULL."""
    done = subprocess.run([PRINT, path, name, *constraints], capture_output=True)
    cases.need(done.returncode == 0, f"{path}: {name}: exit status {done.returncode}\n{done.stderr.decode()}")
    lines = done.stdout.decode(errors="hexadecimal").split("\n")[:-1]
    head = lines[0].split("\t")
    return [dict(zip(head, (None if value == "NULL" else unescaped(value) for value in line.split("\t"))))
            for line in lines[1:]]


def shows(path, *words):
    """The JSON of a command; None if it cannot read the file."""
    done = subprocess.run([cases.TRACEBED, *words, "--json", path], capture_output=True)
    return json.loads(done.stdout.decode(errors="replace")) if done.returncode in (0, 1) and done.stdout else None


def rounded(rows):
    """Some commands print times above 2^53 as a double holds them."""
    return [tuple(float(value) if isinstance(value, int) else value for value in row) for row in rows]


def equal(path, what, found, expected):
    """Compares lists of rows, each a tuple."""
    if found == expected:
        return
    differences = [f"{one}\n    {other}" for one, other in zip(found, expected) if one != other]
    differences = differences or [str((found + expected)[min(len(found), len(expected))])]
    cases.need(False, f"{path}: {what}: {len(found)} rows, {len(expected)} expected\n    " + differences[0])


def number(value):
    return 0 if value is None else int(value)


def times(row, *names):
    """The figures of a row of JSON in nanoseconds, or in ticks of a clock that counts something else, up to what 63 bits hold."""
    return tuple(min(row[f"{name}_ns"] if f"{name}_ns" in row else row[f"{name}_ticks"], 2**63 - 1) for name in names)


STAND_IN = re.compile("<(dangling|damaged|unterminated|not UTF-8|cycle|too|no id)")


def text_of(value):
    """A name without text is null in JSON. Tables show why it has none."""
    return None if value is not None and STAND_IN.match(value) else value


def values(rows, *columns):
    return [tuple(text_of(row[column]) if column in ("name", "label", "cause", "check", "kind", "text")
                  else number(row[column]) for column in columns) for row in rows]


# ---- Facts ----

def compare_info(path):
    info = shows(path, "info")
    found = {row["key"]: row["value"] for row in table(path, "info")}
    flat = {}
    for key, value in info.items():
        if key in ("clock", "blocks", "series"):
            flat.update({f"{key}.{inner}": of for inner, of in value.items()})
        elif not isinstance(value, (list, dict)):
            flat[key] = value
    for key in ("file", "being_written", "start"):
        flat.pop(key, None)
    expected = {key: None if value is None else str(int(value)) if not isinstance(value, str) else value
                for key, value in flat.items()}
    equal(path, "info", sorted(found.items(), key=str), sorted(expected.items(), key=str))
    equal(path, "processes", values(table(path, "processes"), "id", "pid", "parent_pid", "name", "forked_from"),
          [(row["process"], row["pid"], row["parent_pid"], row["name"], row["forked_from"]) for row in info["processes"]])
    equal(path, "threads", values(table(path, "threads"), "id", "process_id", "kind", "tid", "name", "forked_from", "blocks"),
          [(row["stream"], row["process"], row["kind"], row["tid"], row["name"], row["forked_from"], row["blocks"])
           for row in info["streams"]])
    equal(path, "drops", values(table(path, "drops"), "cause", "count"), list(info["drops"].items()))
    equal(path, "gaps", values(table(path, "gaps"), "stream", "first_sequence", "blocks"),
          [(row["stream"], row["first_sequence"], row["blocks"]) for row in info["gaps"]])
    equal(path, "losses", values(table(path, "losses"), "kind", "stream", "first_sequence", "blocks", "pages", "bytes"),
          [(row.get("kind"), row.get("stream", 0), row.get("sequence", 0), row.get("blocks", 0), row.get("pages", 0),
            row.get("bytes", 0)) for row in info["lost"]])


def lines_of(*words):
    done = subprocess.run([cases.TRACEBED, *words, "--json"], capture_output=True)
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def compare_strings(path):
    lines = lines_of("strings", path) + lines_of("strings", "--bindings", path)
    rows = [{**row, "text": row["text"] if row["bytes"] is not None else None} for row in table(path, "strings")]
    equal(path, "strings", values(rows, "id", "text"),
          [(line["string"], line["text"]) for line in lines if "bind" not in line])
    equal(path, "bindings", values(table(path, "bindings"), "first_id", "count", "string_id"),
          [(line["bind"], line["count"], line["string"]) for line in lines if "bind" in line])


def compare_damage(path):
    found = values(table(path, "damage"), "check", "text", "offset", "page", "cell", "detail", "kind", "stream", "sequence")
    expected = [(row["check"], row["text"], row.get("offset", 0), row.get("page", 0), row.get("cell", 0), row["detail"],
                 row.get("kind"), row.get("stream", 0), row.get("sequence", 0)) for row in shows(path, "verify")["damage"]]
    equal(path, "damage", found, expected)


def compare_activity(path):
    expected = [(row["stream"], row["span_count"], row["gap_count"],
                 *times(row, "busy", "idle", "p50_gap", "p90_gap", "p99_gap", "longest_gap"))
                for row in shows(path, "threads")["threads"]]
    found = values(table(path, "activity"), "track", "spans", "gaps", "busy", "idle", "p50_gap", "p90_gap", "p99_gap",
                   "longest_gap")
    equal(path, "activity", rounded(sorted(found)), rounded(sorted(expected)))


# ---- Results ----

def compare_spans(path, report):
    columns = ("total", "self", "min", "mean", "p50", "p90", "p99", "p999", "max")
    for name, key in (("label_statistics", "spans"), ("async_statistics", "async_spans")):
        expected = [(row["name"], row["count"], row["never_ended_count"], row["unknown_begin_count"],
                     *times(row, *columns))
                    for row in report[key]]
        found = values(table(path, name), "label", "count", "open", "unknown", *columns)
        equal(path, name, sorted(found), sorted(expected))


def compare_others(path, report):
    equal(path, "instants", sorted(values(table(path, "instant_statistics"), "label", "count")),
          sorted((row["name"], row["count"]) for row in report["instants"]))
    found = sorted((row["label"], row["unit"], int(row["count"]), float(row["last"]), float(row["min"]), float(row["max"]))
                   for row in table(path, "counter_statistics"))
    expected = sorted((row["name"], row.get("unit"), row["count"], float(row["last"]), float(row["min"]), float(row["max"]))
                      for row in report["counters"])
    equal(path, "counters", [str(row) for row in found], [str(row) for row in expected])
    equal(path, "messages", sorted(values([{**row, "text": row["format"]} for row in table(path, "message_statistics")],
                                          "text", "count", "errors", "warnings")),
          sorted((row["name"], row["count"], row["error_count"], row["warning_count"]) for row in report["messages"]))


SUMS = {"count": "count", "bytes": "bytes", "freed": "freed_count", "temporary": "temporary_count",
        "replaced": "replaced_count", "failed": "failed_count", "live": "live_count", "live_bytes": "live_bytes",
        "peak_bytes": "peak_bytes"}


def sums(row):
    return tuple(row[key] for key in SUMS.values())


def compare_memory(path, report):
    blocks = table(path, "allocations")
    totals = (len(blocks), *(sum(int(row[column]) for row in blocks)
                             for column in ("size", "is_temporary", "is_replaced", "is_live", "live_bytes")))
    all_of = report.get("allocations", {key: 0 for key in SUMS.values()})
    equal(path, "allocations", [totals], [tuple(all_of[key] for key in (
        "count", "bytes", "temporary_count", "replaced_count", "live_count", "live_bytes"))])
    by_site = collections.Counter(row["site"] for row in blocks)
    sites = table(path, "sites")
    equal(path, "blocks by site", sorted(by_site.items()), sorted((row["name"], int(row["count"])) for row in sites
                                                                  if row["count"] != "0"))
    equal(path, "sites", sorted(values(sites, "name", *SUMS), key=str),
          sorted(((text_of(row["name"]), *sums(row)) for row in report.get("sites", [])), key=str))
    equal(path, "process_memory", values(table(path, "process_memory"), "process_id", *SUMS),
          sorted((row["process"], *sums(row)) for row in report.get("processes", [])))
    by_size = subprocess.run([cases.TRACEBED, "report", "--by=size", "--json", path], capture_output=True).stdout
    equal(path, "size_classes", values(table(path, "size_classes"), "least_bytes", "most_bytes", *SUMS),
          sorted((row["least_bytes"], row["most_bytes"], *sums(row)) for row in json.loads(by_size).get("sites", []))
          if by_size else [])


def paths(rows, label, parent, figures):
    """Each path of labels with its figures."""
    found = []
    for index, row in enumerate(rows):
        above = parent(row)
        found.append(((found[above][0] if above is not None else ()) + (label(row),), *figures(row)))
    return rounded(sorted(found))


def compare_tree(path):
    for name, words in (("tree", []), ("thread_tree", ["--per-thread"])):
        expected = shows(path, "tree", "--paths", *words)
        rows = expected["rows"]
        equal(path, name,
              paths(table(path, name), lambda row: row["label"],
                    lambda row: None if row["parent_id"] is None else int(row["parent_id"]),
                    lambda row: tuple(int(row[key]) for key in ("depth", "count", "open", "total", "self"))),
              paths(rows, lambda row: row["name"], lambda row: row["parent"],
                    lambda row: (row["depth"], row["count"], row["never_ended_count"], *times(row, "total", "self"))))


def compare_histogram(path, report):
    for span in report["spans"][:2]:
        label = span["name"]
        if label is None or "\x1e" in label or not label.isprintable():
            continue
        pattern = "^" + "".join("\\" + c if c in ".[\\()*+?{|^$" else c for c in label) + "$"
        done = subprocess.run([cases.TRACEBED, "histogram", "--json", "--", pattern, path], capture_output=True)
        expected = json.loads(done.stdout.decode(errors="replace"))["traces"][0]["rows"]
        found = [(float(row["low"]), int(row["count"]), int(row["total"]))
                 for row in table(path, "histogram", f"label={label}")]
        equal(path, f"histogram of {label}", rounded(found),
              rounded((row["from_ns"] if "from_ns" in row else row["from_ticks"], row["count"], *times(row, "total"))
                      for row in expected))


def test_facts_agree(folder):
    for path in [*traces(folder), *invalid()]:
        compare_info(path)
        compare_strings(path)


def test_damage_agrees(folder):
    for path in [*traces(folder), *invalid(), *profiles()]:
        compare_damage(path)


def test_results_agree(folder):
    for path in traces(folder):
        report = shows(path, "report")
        compare_spans(path, report)
        compare_others(path, report)
        compare_memory(path, report)
        compare_histogram(path, report)
        compare_tree(path)
        compare_activity(path)


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
