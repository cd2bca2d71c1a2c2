#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Tables leave as Parquet, CSV and NDJSON and arrive as they were: with every kind of event, hostile names, extremes of 64 bits
and NULL. A strict reader of Parquet (parquet_file.py), Python's readers of CSV and JSON, and DuckDB if it is there, find the
same rows in all of them, and the counts and sums of 'tracebed report'.

    python3 reader/tests/exchange/columns/parquet_test.py [CASE...]

Slow: starts the program some hundred times
Check: parquet
Needs: $b/programs $b/reader/tests/agreement/agreement_program $b/reader/tests/exchange/columns/extremes_program $b/reader/tests/exchange/columns/fleet_program

SPDX-License-Identifier: MIT
"""

import csv
import gzip
import io
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 4, "ninja", "checks"))
import cases
import engines
import parquet_file
from cases import TRACEBED, need, output_of

csv.field_size_limit(1 << 30)
PROGRAMS = cases.BUILD / "reader/tests"
AGREEMENT = PROGRAMS / "agreement/agreement_program"
EXTREMES = PROGRAMS / "exchange/columns/extremes_program"
FLEET = PROGRAMS / "exchange/columns/fleet_program"
OMITTED = {"spans": {"name", "end_ts"}}
KEYS = {"host", "boot", "file_id", "start_ns", "second"}
TEXTS = [b"", b"a,b", b"say \"hi\"", b"two\nlines", b"cr\r\nlf", b";", b"\x00\x01\x1b[31m", b"\xff\xfe bad", b"\xc3", b"NULL", b"null",
         b" spaces ", b"\xe2\x80\xa8 separator", "\u202e bidi \U0001f600".encode(), b"'", b"x" * 500_000, b"\t", b"-1", b"1e999"]


# ---- What is exported ----

def agreement(folder, seed, *options):
    path = folder / f"agreement-{seed}.tbed"
    subprocess.run([AGREEMENT, str(seed), path, *options], check=True)
    return path


def extremes(folder):
    path = folder / "extremes.tbed"
    subprocess.run([EXTREMES, path], input=b"".join(text.hex().encode() + b"\n" for text in TEXTS), check=True)
    return path


def fleet(folder, first=0, count=1, requests=60):
    subprocess.run([FLEET, folder, str(first), str(count), str(requests)], check=True)
    return sorted(folder.glob("h*.tbed"))


def parquet_of(folder, *paths, options=()):
    out = pathlib.Path(tempfile.mkdtemp(dir=folder))
    output_of(folder, TRACEBED, "export", "--to=parquet", "-f", *options, *paths, "-o", out)
    return {table.name: sorted(table.iterdir()) for table in out.iterdir()}


def stream_of(path, form, table):
    run = subprocess.run([TRACEBED, "export", f"--to={form}", f"--table={table}", path, "-o", "-"], capture_output=True)
    need(run.returncode in (0, 1), f"{form} {table}: {run.stderr}")
    return run.stdout


def ndjson_of(path, table):
    """name -> values, from NDJSON."""
    rows = [json.loads(line) for line in stream_of(path, "ndjson", table).decode().split("\n")[:-1]]
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


def csv_fields(text):
    """Rows of RFC 4180; None for an empty field without quotes, which Python's reader cannot tell from one with."""
    at, rows, row = 0, [], []
    while at < len(text):
        if text[at] == '"':
            field, at = io.StringIO(), at + 1
            while True:
                quote = text.index('"', at)
                field.write(text[at:quote])
                at = quote + 1
                if text[at] != '"':
                    break
                field.write('"')
                at += 1
            row.append(field.getvalue())
        else:
            end = min(place for place in (text.find(",", at), text.find("\n", at)) if place >= 0)
            need(not set(text[at:end]) & set('"\r'), f"a field without quotes has some: {text[at:end][:50]!r}")
            row.append(text[at:end] or None)
            at = end
        need(text[at] in ",\n", f"{text[at]!r} after a field")
        if text[at] == "\n":
            rows.append(row)
            row = []
        at += 1
    need(not row, "an incomplete row")
    return rows


# ---- What is compared ----

def same(a, b):
    if isinstance(a, float) and isinstance(b, str):
        return b == {math.inf: "Infinity", -math.inf: "-Infinity"}.get(a, "NaN")
    return a == b and (a is None) == (b is None)


def compare_csv(path, table, expected):
    text = stream_of(path, "csv", table).decode()
    head, *rows = csv_fields(text)
    need(not expected or head == list(expected), f"{table}: CSV has the columns {head}")
    need(all(len(row) == len(head) for row in rows), f"{table}: rows of CSV differ in length")
    python = list(csv.reader(io.StringIO(text, newline="")))
    need(python[1:] == [[field or "" for field in row] for row in rows], f"{table}: Python reads other CSV")
    for i, name in enumerate(head if expected else ()):
        for row, value in zip(rows, expected[name]):
            found = row[i] if isinstance(value, str) or row[i] is None else type(value)(row[i])
            need(same(found, value) or same(value, row[i]), f"{table}.{name}: CSV has {row[i]!r}, NDJSON {value!r}"[:300])
    need(not expected or len(rows) == len(expected[head[0]]), f"{table}: CSV has {len(rows)} rows")


def compare_table(path, table, parquet):
    """Returns the number of rows."""
    expected = ndjson_of(path, table)
    columns = parquet_file.read(parquet)
    count = len(columns["file_id"])
    if not expected:
        need(count == 0, f"{table}: Parquet has {count} rows, NDJSON none")
        return 0
    need(set(columns) - KEYS == set(expected) - OMITTED.get(table, set()), f"{table}: columns {sorted(columns)}")
    for name in set(columns) - KEYS:
        need(len(columns[name]) == len(expected[name]), f"{table}.{name}: {len(columns[name])} rows")
        for ours, value in zip(columns[name], expected[name]):
            need(same(ours, value), f"{table}.{name}: Parquet has {ours!r}, NDJSON {value!r}"[:300])
    compare_csv(path, table, expected)
    return count


def check_trace(folder, path, with_duckdb=True):
    files = parquet_of(folder, path)
    rows = sum(compare_table(path, table, paths[0]) for table, paths in files.items())
    if with_duckdb:
        compare_duckdb(folder, files)
    return files, rows


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def compare_duckdb(folder, files):
    """DuckDB reads the same: counts, sums, the lengths and the order of texts."""
    if "duckdb" not in engines.there()[0]:
        return
    statements, expected = [], []
    for table, paths in sorted(files.items()):
        columns = parquet_file.read(paths[0])
        for name, values in sorted(columns.items()):
            values = [value for value in values if value is not None]
            source = f"FROM read_parquet({literal(str(paths[0]))}) WHERE \"{name}\" IS NOT NULL"
            if name in ("second", "boot"):
                statements.append(f"SELECT count(*), coalesce(sum(epoch_ns(\"{name}\")), 0) {source}")
                expected.append([len(values), sum(values)])
            elif values and isinstance(values[0], str):
                statements.append(f"SELECT count(*), count(DISTINCT \"{name}\"), sum(strlen(\"{name}\")), md5(string_agg(\"{name}\", '|' ORDER BY \"{name}\")) {source}")
                expected.append([len(values), len(set(values)), sum(len(value.encode()) for value in values), md5(values)])
            elif not values or isinstance(values[0], int):
                statements.append(f"SELECT count(*), coalesce(sum(\"{name}\"::HUGEINT), 0) {source}" if values else f"SELECT count(*) {source}")
                expected.append([len(values), sum(values)] if values else [0])
    for statement, wanted, (_, rows, _) in zip(statements, expected, engines.ask("duckdb", statements, folder)):
        need(rows[0] == [str(value) for value in wanted], f"DuckDB: {rows[0]} is not {wanted}: {statement}"[:600])


def md5(values):
    import hashlib
    return hashlib.md5("|".join(sorted(values, key=str.encode)).encode()).hexdigest()


# ---- Cases ----

def test_every_kind_of_event(folder):
    rows = 0
    for seed, options in enumerate((["given", "whole", "others", "arguments", "categories", "open"], ["given", "counts", "others"],
                                    ["given", "pairs", "others", "back"], ["others", "deep", "forks"])):
        rows += check_trace(folder, agreement(folder, seed, *options))[1]
    return f"{rows:,} rows"


def test_extremes(folder):
    path = extremes(folder)
    files, rows = check_trace(folder, path)
    messages = parquet_file.read(files["messages"][0])["text"]
    replaced = [text.decode(errors="surrogateescape") for text in TEXTS]
    replaced = ["".join("\ufffd" if "\udc80" <= letter <= "\udcff" else letter for letter in text) for text in replaced]
    need(sorted(messages) == sorted(replaced), "texts of messages differ")
    counters = parquet_file.read(files["counters"][0])
    need({0, 2**64 - 1, 2**63, 2**53 + 1} <= set(counters["unsigned"]), f"{counters['unsigned']}")
    need({-2**63, 2**63 - 1, -1} <= set(counters["integer"]), f"{counters['integer']}")
    need(any(value != value for value in counters["value"]), "no NaN")
    told = output_of(folder, TRACEBED, "export", "--to=parquet", "-f", path, "-o", folder / "out")
    need("not UTF-8, replaced by U+FFFD" in told, told)
    return f"{rows:,} rows"


def test_golden_traces(folder):
    rows = 0
    for golden in sorted((cases.ROOT / "spec/golden/valid").glob("*.tbed"))[::12]:
        rows += check_trace(folder, golden, False)[1]
    return f"{rows:,} rows"


def test_memory(folder):
    path = folder / "memory.tbed"
    output_of(folder, TRACEBED, "record", "-o", path, "--", "/bin/ls", "/")
    files, rows = check_trace(folder, path)
    allocations = parquet_file.read(files["allocations"][0])
    need(len(allocations["size"]) > 10 and None in allocations["freed_ts"], "no allocations, or none that are live")
    return f"{rows:,} rows"


def test_report_agrees(folder):
    for path in fleet(folder, 0, 2):
        spans = parquet_file.read(parquet_of(folder, path)["spans"][-1])
        run = json.loads(output_of(folder, TRACEBED, "report", "--json", path))
        wanted = {row["name"]: (row["count"], row["total_ns"], row["self_ns"]) for row in run["spans"]}
        found = {label: (0, 0, 0) for label in spans["label"]}
        for label, dur, own in zip(spans["label"], spans["dur"], spans["self"]):
            count, total, own_total = found[label]
            found[label] = (count + 1, total + dur, own_total + own)
        need(found == wanted, f"{found} is not {wanted}")


def test_row_groups(folder):
    path, = fleet(folder, 0, 1, 40000)
    about = {}
    spans = parquet_file.read(parquet_of(folder, path, options=["--table=spans"])["spans"][0], about, {"ts", "dur", "label"})
    need(about["groups"] == [131072, 160000 - 131072], f"{about}")
    ends = [ts + dur for ts, dur in zip(spans["ts"], spans["dur"])]
    need(len(ends) == 160000 and ends == sorted(ends), "rows in order")
    need(about["tracebed.schema"] == "1" and about["tracebed.table"] == "spans", f"{about}")


def test_data_set(folder):
    """A trace has a file in each table; other traces stay; -f replaces; host and boot are columns."""
    first, second = fleet(folder, 0, 2)
    export = [TRACEBED, "export", "--to=parquet", "--host=h\"1'"]
    output_of(folder, *export, first, second, "-o", "data")
    before = {path: path.stat().st_ino for path in folder.glob("data/*/*")}
    need(len(before) == 2 * len(list(folder.glob("data/*"))), "two files in each table")
    run = subprocess.run([*export, first, "-o", "data"], cwd=folder, capture_output=True, text=True)
    need(run.returncode == 2 and f"data: has the trace {first} already" in run.stderr, f"{run.returncode} {run.stderr}")
    third = fleet(folder, 7, 1)[-1]
    run = subprocess.run([*export, third, second, "-o", "data"], cwd=folder, capture_output=True, text=True)
    need(run.returncode == 2 and f"data: has the trace {second} already" in run.stderr, f"{run.returncode} {run.stderr}")
    for path in set(folder.glob("data/*/*")) - set(before):
        path.unlink()
    need(before == {path: path.stat().st_ino for path in folder.glob("data/*/*")}, "a file changed")
    output_of(folder, *export, "-f", first, "-o", "data")
    changed = [path for path, inode in before.items() if path.stat().st_ino != inode]
    need(len(changed) * 2 == len(before), f"{len(changed)} of {len(before)} replaced")
    spans = parquet_file.read(next(folder.glob("data/spans/*")))
    need(set(spans["host"]) == {"h\"1'"} and len(set(spans["boot"])) == 1, "host and boot")
    start, = set(spans["start_ns"])
    need([(start + ts) // 10**9 * 10**9 for ts in spans["ts"]] == spans["second"], "second")


def test_compression_by_name(folder):
    path, = fleet(folder)
    plain = stream_of(path, "csv", "spans")
    output_of(folder, TRACEBED, "export", "--to=csv", path, "-o", "out.csv.gz")
    need(gzip.decompress((folder / "out.csv.gz").read_bytes()) == plain, "gzip")


def test_options_that_do_not_apply(folder):
    path, = fleet(folder)
    for words in (["--to=chrome", "--table=spans"], ["--to=csv", "--host=a"], ["--to=csv", "--table=histogram"], ["--to=parquet", "--table=nothing"]):
        run = subprocess.run([TRACEBED, "export", *words, path, "-o", "out"], cwd=folder, capture_output=True, text=True)
        need(run.returncode == 2 and not (folder / "out").exists(), f"{words}: {run.stderr}")
    run = subprocess.run([TRACEBED, "export", "--to=parquet", path, "-o", "-"], cwd=folder, capture_output=True, text=True)
    need(run.returncode == 2 and "standard output" in run.stderr, run.stderr)


if __name__ == "__main__":
    for line in engines.there()[1]:
        print(f"without {line}")
    sys.exit(cases.run_all(globals()))
