#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The tables of 'tracebed report', 'aggregate' and 'diff': --columns, --sort, --csv and --json show the same figures, in the order that
was asked for, on a terminal as wide as it is.

The rows of --json are the oracle for CSV and for the order: Python reads the CSV with its own reader and sorts the rows with
its own sort.

    python3 reader/tests/tools/tables_test.py

Check: tables
Needs: $b/tracebed $b/reader/tests/agreement/agreement_program
"""

import csv
import fcntl
import io
import json
import os
import random
import struct
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

TABLES = ("spans", "async_spans", "instants", "counters", "messages", "processes", "sites", "leaks", "suppressions")
PROGRAM = cases.BUILD / "reader/tests/agreement/agreement_program"
TRACES = ("given", "given open", "counts given", "given whole categories others", "counts given others", "talks")


def output(*words):
    """What a command prints, as it is, ends of lines included."""
    done = subprocess.run([cases.TRACEBED, *map(str, words)], capture_output=True)
    cases.need(done.returncode == 0, f"{words}: exit status {done.returncode}\n{done.stderr.decode()}")
    return done.stdout.decode()


def report(*words):
    return output("report", *words)


def refused(*words, command="report"):
    done = subprocess.run([cases.TRACEBED, command, *map(str, words)], capture_output=True, text=True)
    cases.need(done.returncode == 2 and done.stdout == "", f"{command} {words}: exit status {done.returncode}\n{done.stdout}")
    return done.stderr


def read_csv(text):
    """The rows, which have to be as RFC 4180 says."""
    cases.need(text.endswith("\r\n"), "the last line has no CRLF")
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    cases.need(all(len(row) == len(rows[0]) for row in rows), "rows of different lengths")
    cases.need(len(set(rows[0])) == len(rows[0]), f"a field twice: {rows[0]}")
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def traces(folder):
    for seed, words in enumerate(TRACES):
        path = os.path.join(folder, f"{seed}.tbed")
        subprocess.run([PROGRAM, str(seed), path, *words.split()], check=True)
        yield path
    path = os.path.join(folder, "allocations.tbed")
    cases.output_of(folder, cases.TRACEBED, "record", "-o", path, "--", "/bin/sh", "-c", "ls; ls")
    yield path


def write_log(folder, *names):
    """A log with a scope of each name, one after the other."""
    path = os.path.join(folder, "names.log")
    with open(path, "w", encoding="utf-8") as file:
        for i, name in enumerate(names):
            file.write(f"{i * 10:06d} 1 {{ {name}\n{i * 10 + 7:06d} 1 }} {name}\n")
    return path


# ---- CSV ----

def expected_cell(value):
    if isinstance(value, str):  # control bytes are escaped
        return "".join(f"\\x{ord(c):02x}" if c < " " and c != "\n" else c for c in value)
    return "" if value is None else json.dumps(value)


def choices(folder):
    """(path, further options)"""
    for path in traces(folder):
        yield path, []
        yield path, ["--leaks"]
        if path.endswith("allocations.tbed"):
            yield path, ["--by=size", "--lifetimes"]


def test_csv_has_the_figures_of_json(folder):
    for path, more in choices(folder):
        data, rows = json.loads(report("--json", *more, path)), read_csv(report("--csv", *more, path))
        for table in TABLES:
            found = [row for row in rows if row["table"] == table]
            wanted = data.get(table, [])
            cases.need(len(found) == len(wanted), f"{path}: {len(found)} rows of {table} instead of {len(wanted)}")
            for row, fields in zip(found, wanted):
                for field in fields.keys() & row.keys():
                    is_unknown = row[field] == "" and fields[field] in (0, "", None)  # such as the minimum of no span
                    cases.need(is_unknown or row[field] == expected_cell(fields[field]),
                               f"{path}: {table}, {field}: {row[field]} instead of {fields[field]}")
                missing = fields.keys() - row.keys() - {"function", "file", "line", "module"}
                cases.need(not missing, f"{path}: {table}: no field {missing}")


def test_csv_quotes_what_needs_it(folder):
    names = ["a, b", 'say "no"', '"', "plain", "ends in ,", "=1+1", "ünï"]
    rows = read_csv(report("--csv", "--sort=-name", "--columns=name,count", write_log(folder, *names)))
    cases.need([row["name"] for row in rows] == sorted(names, key=str.encode, reverse=True), str(rows))


def test_csv_of_several_files_has_one_header(folder):
    path = write_log(folder, "a", "b")
    rows = read_csv(report("--csv", path, path))
    cases.need([(row["trace"], row["name"]) for row in rows] == [(path, name) for name in "abab"], str(rows))
    counts = next(path for path in traces(folder) if path.endswith("2.tbed"))
    cases.need("another unit" in refused_after_header(path, counts), "files with other units")


def refused_after_header(*words):
    done = subprocess.run([cases.TRACEBED, "report", "--csv", *words], capture_output=True, text=True)
    cases.need(done.returncode == 2, str(done))
    return done.stderr


def test_csv_of_calls_and_durations_has_the_figures_of_json(folder):
    for path in traces(folder):
        for command, rows_of in ((["slowest", "-l50"], lambda data: data["calls"]),
                                 (["threads"], lambda data: data["threads"]),
                                 (["flows"], lambda data: data["flows"]),
                                 (["flows", "--path"], lambda data: data["path"]),
                                 (["histogram", "."], lambda data: data["traces"][0]["rows"])):
            run = lambda form: subprocess.run([cases.TRACEBED, *command, form, path], capture_output=True)
            cases.need(run("--csv").returncode == 0, f"{command} {path}: {run('--csv').stderr.decode()}")
            rows, wanted = read_csv(run("--csv").stdout.decode()), rows_of(json.loads(run("--json").stdout))
            cases.need(len(rows) == len(wanted), f"{command} {path}: {len(rows)} rows")
            for row, fields in zip(rows, wanted):
                for field in row.keys() & fields.keys():
                    text = str(int(fields[field])) if isinstance(fields[field], bool) else expected_cell(fields[field])
                    is_unknown = row[field] == "" and fields[field] in (0, "", None)  # such as the mean of no flow
                    cases.need(is_unknown or row[field] == text, f"{command} {path}: {field}: {row} instead of {fields}")
                cases.need(row["trace"] == path and len(row.keys() & fields.keys()) >= 3, str(row))


QUESTIONS = {  # a command, its table in JSON, and the fields of keys
    ("slowest", "-l50"): ("calls", {"duration": "duration_{}", "begin": "begin_{}", "name": "name", "stream": "stream",
                                    "never_ended": "never_ended"}),
    ("threads",): ("threads", {"busy": "busy_{}", "spans": "span_count", "at": "longest_gap_at_{}", "thread": "thread",
                               "p50": "p50_gap_{}", "last": "last_{}"}),
    ("flows",): ("flows", {"name": "name", "kind": "kind", "max": "max_{}", "count": "count", "open": "open_count"}),
}


def ordered(rows, keys, signs, field_of):
    """Rows that are equal by all keys stay as they were."""
    for key, sign in reversed(list(zip(keys, signs))):
        rows = sorted(rows, key=lambda row: row[field_of(key)].encode() if isinstance(row[field_of(key)], str) else row[field_of(key)],
                      reverse=sign == "-" or (sign == "" and not isinstance(rows[0][field_of(key)], str)))
    return rows


def test_calls_flows_and_threads_are_in_the_order_asked_for(folder):
    chance, sorted_count = random.Random(21), 0
    for path in traces(folder):
        for command, (table, fields) in QUESTIONS.items():
            data = json.loads(output(*command, "--json", path))
            unit = "ns" if data["tick_unit"] is None else "ticks"
            field_of = lambda key: fields[key].format(unit)
            for _ in range(4 if len(data[table]) > 1 else 0):
                keys = chance.sample(sorted(fields), chance.randint(1, 3))
                signs = [chance.choice(("", "-", "+")) for _ in keys]
                words = "--sort=" + ",".join(sign + key for key, sign in zip(keys, signs))
                wanted = ordered(data[table], keys, signs, field_of)
                cases.need(json.loads(output(*command, "--json", words, path))[table] == wanted, f"{command} {words} {path}")
                rows = read_csv(output(*command, "--csv", words, "--columns=trace," + ",".join(keys), path))
                cases.need([list(row) for row in rows] == [["trace", *map(field_of, keys)]] * len(wanted), f"{command} {words}")
                sorted_count += wanted != data[table]
    cases.need(sorted_count > 20, f"only {sorted_count} tables in another order")


def test_columns_of_calls_flows_and_threads(folder):
    path = os.path.join(folder, "others.tbed")
    subprocess.run([PROGRAM, "3", path, "given", "whole", "categories", "others"], check=True)
    for command, columns, more in (("slowest", "thread,time,begin", "name"), ("threads", "stream,p99", "thread"),
                                   ("flows", "max,lost", "name")):
        lines = output(command, f"--columns={more},{columns}", path).splitlines()
        titles = {"p99": "p99 gap", "lost": "no begin"}
        heading = [titles.get(key, key) for key in (more, *columns.split(","))]
        cases.need(any(line.split() == " ".join(heading).split() for line in lines), f"{command}: {lines}")
    data = json.loads(output("slowest", "-l1", "--json", "--columns=time,stream,name,others", path))
    cases.need([list(row) for row in data["calls"]] == [["time", "stream", "name", "others"]], str(data))
    data = json.loads(output("flows", "--json", "--path", "--columns=span", path))
    cases.need("flows" not in data and {tuple(row) for row in data["path"]} == {("span",)}, str(data))
    text = output("flows", "--path", "--columns=max,name", path)
    cases.need("waiting" not in text and "(async)" not in text, text)


def test_paths_are_sorted_within_each_name(folder):
    path = os.path.join(folder, "flows.tbed")
    subprocess.run([PROGRAM, "3", path, "given", "whole", "categories", "others"], check=True)
    usual = json.loads(output("flows", "--json", "--path", path))["path"]
    for sort, key in (("+total", "total_ns"), ("span", "span")):
        wanted = sorted(usual, key=lambda row: (row[key] or "") if key == "span" else row[key])
        wanted.sort(key=lambda row: row["name"])
        cases.need(json.loads(output("flows", "--json", "--path", "--sort=" + sort, path))["path"] == wanted, sort)
        rows = read_csv(output("flows", "--csv", "--path", "--sort=" + sort, path))
        cases.need([row["total_ns"] for row in rows] == [str(row["total_ns"]) for row in wanted], sort)
    cases.need(len(wanted) > 10 and wanted != usual, str(len(wanted)))


def test_strings_are_a_table(folder):
    path = os.path.join(folder, "strings.tbed")
    subprocess.run([PROGRAM, "3", path, "given", "whole", "categories", "others"], check=True)
    lines = [json.loads(line) for line in output("strings", "--json", path).splitlines()]
    wanted = [{"string": str(line["string"]), "text_bytes": str(len(line["text"].encode())), "text": expected_cell(line["text"])}
              for line in lines if "string" in line]
    rows = read_csv(output("strings", "--csv", path))
    cases.need(len(rows) > 5 and rows == [{"trace": path, "table": "strings", **row} for row in wanted], str(rows))
    rows = read_csv(output("strings", "--csv", "--columns=text,string,bytes", "--sort=bytes,-text", path))
    wanted.sort(key=lambda row: row["text"].encode(), reverse=True)
    wanted.sort(key=lambda row: int(row["text_bytes"]), reverse=True)
    cases.need(rows == wanted and list(rows[0]) == ["text", "string", "text_bytes"], str(rows))
    text = output("strings", "--columns=text,string", "--sort=string", path).splitlines()
    cases.need(text[1].split() == ["text", "string"] and text[2].endswith("  " + str(lines[0]["string"])), str(text))
    part = read_csv(output("strings", "--csv", "--name=label 1", path))
    cases.need(0 < len(part) < len(wanted) and "label 1" in [row["text"] for row in part], str(part))
    path = cases.ROOT / "spec/golden/valid/strings.tbed"
    lines = [json.loads(line) for line in output("strings", "--bindings", "--json", path).splitlines()]
    lines = [{key: str(line[key]) for key in ("bind", "count", "string")} for line in lines if "bind" in line]
    rows = read_csv(output("strings", "--bindings", "--csv", "--columns=bind,count,string", "--sort=count", path))
    cases.need(len(rows) > 1 and rows == sorted(lines, key=lambda row: -int(row["count"])), str(rows))


def test_columns_that_do_not_apply_are_refused(folder):
    path = write_log(folder, "a")
    for command, words, text in (("slowest", ["--columns=nam"], "--columns: unknown column 'nam'; did you mean 'name'?"),
                                 ("slowest", ["--sort=begin,p50"], "--sort: unknown key 'p50' (expected duration, begin, "),
                                 ("threads", ["--columns=name"], "--columns: unknown column 'name'"),
                                 ("flows", ["--columns=span"], "--columns: unknown column 'span'"),
                                 ("flows", ["--slowest", "--sort=begin"], "--sort: unknown key 'begin'"),
                                 ("flows", ["--path", "--csv", "--columns=max"], "--columns: unknown column 'max'"),
                                 ("strings", ["--raw", "--csv"], "cannot be combined with --raw, --tree and --unresolved"),
                                 ("strings", ["--json", "--sort=text"], "--columns and --sort apply to text and --csv"),
                                 ("strings", ["--sort=bind"], "--sort: unknown key 'bind'"),
                                 ("histogram", ["--columns=count", "a"], "unrecognized option '--columns=count'")):
        found = refused(*words, path, command=command)
        cases.need(text in found, f"{command} {words}: {found}")


# ---- Columns ----

def test_columns_are_those_asked_for_in_this_order(folder):
    path = write_log(folder, "a", "b")
    cases.need(report("--columns=count,name,max", "--csv", "--spans", path).startswith("count,name,max_ns,max\r\n"), "header")
    text = report("--columns=count,name,max", path).splitlines()
    cases.need(text[2].split() == ["count", "span", "max"] and text[3].split() == ["1", "a", "7", "ms"], "\n".join(text))
    data = json.loads(report("--columns=max,name", "--json", path))
    cases.need([list(row) for row in data["spans"]] == [["max_ns", "name"]] * 2, str(data["spans"]))


def test_tables_without_the_columns_are_left_out(folder):
    path = os.path.join(folder, "others.tbed")
    subprocess.run([PROGRAM, "3", path, "given", "others"], check=True)
    tables = {row["table"] for row in read_csv(report("--csv", "--columns=table,name,last", path))}
    cases.need(tables == {"counters"}, str(tables))
    cases.need("instant\n" not in report("--columns=name,last", path), "instants have no 'last'")
    cases.need("instant\n" in report("--columns=name", path), "all tables have a name")


def test_columns_of_a_profile(folder):
    path = cases.ROOT / "spec/golden/measureme/v9.mm_profdata"
    wanted = json.loads(report("--json", path))["rows"]
    rows = read_csv(report("--csv", "--columns=name,self,time,invocations,misses,hits,blocked,load,hashing", path))
    keys = {"self_ns": "self_ns", "time_ns": "time_ns", "invocations": "invocations", "cache_misses": "cache_misses",
            "cache_hits": "cache_hits", "blocked_ns": "blocked_ns", "incremental_load_ns": "incremental_load_ns",
            "incremental_hashing_ns": "incremental_hashing_ns"}
    cases.need(bool(wanted) and [{key: row[key] for key in ("name", *keys)} for row in rows] ==
               [{"name": row["name"], **{key: str(row[of]) for key, of in keys.items()}} for row in wanted], str(rows))


# ---- The order ----

def test_rows_are_in_the_order_asked_for(folder):
    chance = random.Random(5)
    fields = {"name": "name", "count": "count", "total": "total_{}", "self": "self_{}", "min": "min_{}", "max": "max_{}",
              "p50": "p50_{}", "open": "never_ended_count"}
    for path in traces(folder):
        data = json.loads(report("--json", "--sort=name", path))
        unit = "ns" if data["tick_unit"] is None else "ticks"
        for _ in range(12 if data["spans"] else 0):
            keys = chance.sample(sorted(fields), chance.randint(1, 3))
            signs = [chance.choice(("", "-", "+")) for _ in keys]
            rows = sorted(data["spans"], key=lambda row: row["name"].encode())
            for key, sign in reversed(list(zip(keys, signs))):
                field = fields[key].format(unit)
                rows.sort(key=lambda row: row[field].encode() if key == "name" else row[field],
                          reverse=sign == "-" or (sign == "" and key != "name"))
            words = "--sort=" + ",".join(sign + key for key, sign in zip(keys, signs))
            found = json.loads(report("--json", words, path))["spans"]
            cases.need(found == rows, f"{path} {words}: {[row['name'] for row in found]}, not {[row['name'] for row in rows]}")


def test_stacks_are_sorted_by_their_names(folder):
    path = os.path.join(folder, "stacks.tbed")
    cases.output_of(folder, cases.TRACEBED, "record", "--stacks=3", "-o", path, "--", "/bin/ls")
    rising, falling = ([row["name"] for row in json.loads(report("--json", "--by=stack", "--sort=" + sign + "name", path))["sites"]]
                       for sign in "+-")
    cases.need(len(rising) > 1 and rising == sorted(rising, key=str.encode) == falling[::-1], str(rising))


def test_mistakes_are_named(folder):
    path = write_log(folder, "a")
    for words, text in ((["--sort=count,tota"], "--sort: unknown key 'tota'; did you mean 'total'? (expected self, total, "),
                        (["--sort="], "--sort: unknown key ''"), (["--sort=--count"], "unknown key '-count'"),
                        (["--columns=name,,count"], "--columns: unknown column ''"),
                        (["--columns=nam"], "--columns: unknown column 'nam'; did you mean 'name'? (expected self, "),
                        (["--columns=-name"], "unknown column '-name'"),
                        (["--csv", "--json"], "--csv cannot be combined with --json"),
                        (["--sort=-bytes,count"], "--sort=-bytes,count does not apply to")):
        found = refused(*words, path)
        cases.need(text in found, f"{words}: {found}")


# ---- What rows stand for ----

def test_rows_stand_for_places(folder):
    source = os.path.join(folder, "two.c")
    with open(source, "w", encoding="ascii") as file:
        file.write("__attribute__((noinline)) void leaf(int n)\n{\n    for (volatile int i = 0; i < n; i++)\n        ;\n}\n"
                   "int main(void)\n{\n    for (int i = 0; i < 5; i++)\n        leaf(i);\n}\n")
    cases.output_of(folder, "cc", "-g", "-finstrument-functions", source, "-o", "two")
    cases.output_of(folder, cases.TRACEBED, "record", "--functions", "-o", "two.tbed", "--", "./two")
    path = os.path.join(folder, "two.tbed")
    rows = lambda key: {row["name"]: row["count"] for row in json.loads(report("--json", "--by=" + key, path))["spans"]}
    cases.need(rows("file") == {source: 6}, str(rows("file")))
    cases.need(rows("location") == rows("label") and sorted(rows("label").values()) == [1, 5], str(rows("location")))
    cases.need(rows("module") == {"two": 6}, str(rows("module")))
    cases.need(list(rows("process")) and next(iter(rows("process"))).startswith("two ("), str(rows("process")))
    inside = lambda name: sum(row["count"] for row in json.loads(report("--json", "--inside=" + name, path))["spans"])
    cases.need([inside(name) for name in ("leaf", f"leaf {source}:2", "main")] == [5, 5, 6], "a function's name is enough")
    run = subprocess.run([cases.TRACEBED, "report", "--inside=laef", path], capture_output=True, text=True)
    cases.need("--inside: no span has the name 'laef'; did you mean 'leaf'?" in run.stderr, run.stderr)


def test_rows_stand_for_arguments_of_a_profile(folder):
    path = cases.ROOT / "spec/golden/measureme/v9.mm_profdata"
    rows = {row["name"]: row["count"] for row in json.loads(report("--json", "--by=argument", path))["spans"]}
    cases.need(any(' arg0="' in name for name in rows), str(rows))
    labels = {row["name"]: row["count"] for row in json.loads(report("--json", path))["spans"]}
    found = {}
    for name, count in rows.items():
        found[name.split(' arg0="')[0]] = found.get(name.split(' arg0="')[0], 0) + count
    cases.need(sum(found.values()) == sum(labels.values()) and len(rows) >= len(labels), f"{found} {labels}")


def test_rows_stand_for_times_in_order(folder):
    path = write_log(folder, *(str(i) for i in range(40)))  # one of 7 ms every 10 ms
    rows = json.loads(report("--json", "--by=100ms", path))["spans"]
    cases.need([(row["name"], row["start_ns"], row["count"], row["total_ns"]) for row in rows] ==
               [(f"0.{i} s", i * 100000000, 10, 70000000) for i in range(4)], str(rows))
    seconds = json.loads(report("--json", "--by=second", path))["spans"]
    cases.need([(row["name"], row["count"]) for row in seconds] == [("0 s", 40)], str(seconds))
    text = report("--by=100ms", path).splitlines()
    cases.need([line.split("  ")[-1] for line in text[2:]] == ["begins at", "0.0 s", "0.1 s", "0.2 s", "0.3 s"], str(text))
    for words, what in ((["--by=0ms"], "a duration above 0 is expected"), (["--by=3x"], "a duration above 0 is expected"),
                        (["--by=100ns", "--by=seconds"], "did you mean 'second'?"),
                        (["--by=10ms", "--include-from=/dev/null"], "apply to labels")):
        cases.need(what in refused(*words, path), str(words))
    cases.need("--by: the trace would have more than a million parts" in refused("--by=100ns", path), "390 ms of 100 ns")


# ---- Over time ----

def test_time_is_divided_into_lines_of_bars(folder):
    """In the first half one thread is in a span, in the last quarter another one."""
    path = os.path.join(folder, "halves.log")
    with open(path, "w", encoding="ascii") as file:
        file.write("000000 1 { first\n000400 1 } first\n000600 2 { last\n000800 2 } last\n")
    for locale, bar, levels in (("C", "#" * 40, ("@@@@    ", "      @@")), ("C.UTF-8", "█" * 40, ("████    ", "      ██"))):
        text = cases.output_of(folder, cases.TRACEBED, "report", "--over-time=8", path, LC_ALL=locale)
        lines = [line for line in text.splitlines() if line.endswith(bar) or line.endswith("       0.00  ")]
        cases.need([line.split()[-2] for line in lines if line.endswith(bar)] == ["1.00"] * 6 and len(lines) == 8, text)
        for name, level in zip(("first", "last"), levels):
            cases.need(any(line.endswith(f"  {level}  {name}") for line in text.splitlines()), text)
    cases.need("apply to labels" in refused("--over-time", "--by=thread", path) or
               "--over-time applies to" in refused("--over-time", "--by=thread", path), "keys and times")
    cases.need("a number up to" in refused("--over-time=0", path), "no parts")


def test_levels_of_many_parts_share_columns(folder):
    path = write_log(folder, *"abcdefgh")
    text = cases.output_of(folder, cases.TRACEBED, "report", "--over-time=1000", path, LC_ALL="C")
    wide = [line for line in text.splitlines() if line.endswith("  a")]
    cases.need(any(len(line) == 22 + 2 + 60 + 3 and "@" in line for line in wide), text)


# ---- Many runs ----

FIGURES = {"self": "self_ns", "time": "time_ns", "count": "invocations", "misses": "cache_misses", "blocked": "blocked_ns",
           "p50": "p50_ns"}


def runs(folder, count, seed=0, words="given whole categories others"):
    """Traces of random programs, in which figures of all labels differ."""
    paths = []
    for i in range(count):
        paths.append(os.path.join(folder, f"run{seed + i}.tbed"))
        if not os.path.exists(paths[-1]):
            subprocess.run([PROGRAM, str(seed + i), paths[-1], *words.split()], check=True)
    return paths


def profile(name):
    return cases.ROOT / f"spec/golden/measureme/{name}.mm_profdata"


def need_cells(row, wanted, what):
    """A row of CSV has these values."""
    for field, value in wanted.items():
        text = str(int(value)) if isinstance(value, bool) else expected_cell(value)
        cases.need(row[field] == text, f"{what}: {field}: {row[field]} instead of {text}")


def percent(part):
    return None if part is None else 100 * part


def spread_of(of, unit):
    """The cells of a statistic in JSON."""
    outliers = of["outlier_runs"]
    return {"mean" + unit: of["mean"], "median" + unit: of["median"], "standard_deviation" + unit: of["standard_deviation"],
            "variance": of["variance"], "cv_percent": percent(of["coefficient_of_variation"]), "min" + unit: of["min"],
            "max" + unit: of["max"], "outlier_count": None if outliers is None else len(outliers)}


def test_csv_of_many_runs_has_the_figures_of_json(folder):
    for paths in (runs(folder, 6), runs(folder, 1), [profile("v9")] * 2, [profile("counting")] * 2):
        for figure, key in FIGURES.items():
            words = ["aggregate", "--of=" + figure, *paths]
            data, rows = json.loads(output(*words, "--json")), read_csv(output(*words, "--csv"))
            key = key if data["runs"][0]["tick_unit"] is None else key.replace("_ns", "_ticks")
            unit = key[key.rindex("_"):] if key.endswith(("_ns", "_ticks")) else ""
            labels, artifacts = ([row for row in rows if row["table"] == table] for table in ("rows", "artifacts"))
            cases.need(len(labels) == len(data["rows"]) > 0 and len(artifacts) == len(data["artifacts"]), str(words))
            for row, fields in zip(labels, data["rows"]):
                need_cells(row, {**{field: fields[field] for field in ("name", "run_count", "counts_differ")},
                                 **spread_of(fields[key], unit)}, words)
            for row, fields in zip(artifacts, data["artifacts"]):
                need_cells(row, {"name": fields["name"], "run_count": fields["run_count"],
                                 **spread_of(fields["bytes"], "_bytes")}, words)
    cases.need(len(artifacts) > 0, "the profile has artifacts")


def test_labels_of_many_runs_are_in_the_order_asked_for(folder):
    chance, paths = random.Random(9), runs(folder, 6)
    values = {"variance": lambda row: row["self_ns"]["variance"], "mean": lambda row: row["self_ns"]["mean"],
              "cv": lambda row: row["self_ns"]["coefficient_of_variation"], "median": lambda row: row["self_ns"]["median"],
              "stddev": lambda row: row["self_ns"]["standard_deviation"], "min": lambda row: row["self_ns"]["min"],
              "max": lambda row: row["self_ns"]["max"], "outliers": lambda row: len(row["self_ns"]["outlier_runs"]),
              "runs": lambda row: row["run_count"], "differ": lambda row: row["counts_differ"],
              "name": lambda row: row["name"].encode()}
    rows = json.loads(output("aggregate", "--json", *paths))["rows"]
    for _ in range(30):
        need_order(chance, values, {"name", "runs"}, ("mean",), rows, "rows", ["aggregate", "--json", *paths])


def need_order(chance, values, rising, ties, rows, table, words):
    """Some keys give the rows in an order; 'ties' is what decides among rows that are equal by them."""
    keys = chance.sample(sorted(values), chance.randint(1, 3))
    signs = [chance.choice(("", "-", "+")) for _ in keys]
    rows = sorted(rows, key=lambda row: row["name"].encode()) if "name" in values else list(rows)
    for key, sign in reversed([*zip(keys, signs), *((tie, "-") for tie in ties)]):
        rows.sort(key=values[key], reverse=sign == "-" or (sign == "" and key not in rising))
    sort = "--sort=" + ",".join(sign + key for key, sign in zip(keys, signs))
    found = json.loads(output(*words, sort))[table]
    cases.need(found == rows, f"{words} {sort}")


def test_columns_of_many_runs(folder):
    paths = runs(folder, 3)
    text = output("aggregate", "--columns=max,name,runs", *paths).splitlines()
    cases.need("        max  label, by self time  " in "\n".join(text) and "file" not in "\n".join(text), "\n".join(text))
    rows = read_csv(output("aggregate", "--csv", "--columns=run,total,name", *paths))
    cases.need([(row["run"], row["name"]) for row in rows] == [(str(i + 1), path) for i, path in enumerate(paths)], str(rows))
    lines = on_terminal(70, *paths, "--columns=name,mean", command="aggregate")
    cases.need(max(len(line) for line in lines if line.startswith("  label")) <= 70, str(lines))
    for words, what in ((["--json", "--columns=mean"], "--columns applies to text and --csv"),
                        (["--json", "--csv"], "--csv cannot be combined with --json"),
                        (["--columns=trace"], "unknown column 'trace'"), (["--sort=total"], "--sort: unknown key 'total'"),
                        (["--sort=mean,size"], "unknown key 'size' (expected variance, ")):
        cases.need(what in refused(*words, *paths, command="aggregate"), str(words))


def interval_of(fields):
    points = [fields[end] and fields[end]["name"] + {"begin": " begins", "end": " ends"}.get(fields[end]["type"], "")
              for end in ("from", "to")]
    return " to ".join(point or "the end" for point in points)


def test_csv_of_positions_has_the_figures_of_json(folder):
    for paths in (runs(folder, 1) * 2, runs(folder, 1), [profile("v9")] * 2):
        words = ["aggregate", "--positions", *paths]
        data, rows = json.loads(output(*words, "--json"))["rows"], read_csv(output(*words, "--csv"))
        cases.need(len(rows) == len(data) > 0, str(words))
        for row, fields in zip(rows, data):
            deviation = fields["standard_deviation_ns"] if len(paths) > 1 else None
            need_cells(row, {field: fields[field] for field in ("thread", "position", "inside", "mean_ns", "min_ns", "max_ns")}
                       | {"standard_deviation_ns": deviation}, words)
            cases.need(row["interval"] == expected_cell(interval_of(fields)), str(row))


def test_positions_are_in_the_order_asked_for(folder):
    log = write_log(folder, *(str(i % 7) for i in range(30)))
    with open(log, encoding="utf-8") as file:
        text = file.read()
    slower = os.path.join(folder, "slower.log")
    with open(slower, "w", encoding="utf-8") as file:
        file.write(text.replace("7 1 }", "9 1 }"))
    values = {"mean": lambda row: row["mean_ns"], "stddev": lambda row: row["standard_deviation_ns"],
              "min": lambda row: row["min_ns"], "max": lambda row: row["max_ns"], "thread": lambda row: row["thread"],
              "position": lambda row: row["position"], "interval": interval_of, "inside": lambda row: row["inside"] or "",
              "variance": lambda row: row["standard_deviation_ns"] ** 2}
    chance, words = random.Random(4), ["aggregate", "--positions", "--json", log, slower]
    rows = json.loads(output(*words, "--sort=thread,position"))["rows"]
    for _ in range(20):
        need_order(chance, values, {"thread", "position", "interval", "inside"}, (), rows, "rows", words)


# ---- Changes ----

def pair(fields, key, name=None):
    """The two fields of a pair in JSON."""
    return {f"{name or key}_{side}": value for side, value in zip(("before", "after"), fields[key])}


def test_csv_of_changes_has_the_figures_of_json(folder):
    counting = profile("counting")
    for before, after in (runs(folder, 2), (runs(folder, 1)[0], write_log(folder, "a", "label 1")),
                          runs(folder, 2, 20, "counts given"), (counting, counting), (profile("v9"), profile("v8"))):
        words = ["diff", before, after]
        data, rows = json.loads(output(*words, "--json")), read_csv(output(*words, "--csv"))
        unit = "ns" if data["before"]["tick_unit"] is None else "ticks"
        labels, artifacts = ([row for row in rows if row["table"] == table] for table in ("rows", "artifacts"))
        cases.need(len(labels) == len(data["rows"]) > 0 and len(artifacts) == len(data["artifacts"]), str(words))
        for row, fields in zip(labels, data["rows"]):
            changes = {key: value for key, value in fields.items() if key.endswith("_change") or key in ("name", "state")}
            cases.need(len(changes) == 12, str(fields))
            need_cells(row, {**changes, **pair(fields, f"self_{unit}"), **pair(fields, f"time_{unit}"),
                             **pair(fields, "invocations")}, words)
        for row, fields in zip(artifacts, data["artifacts"]):
            need_cells(row, {"name": fields["name"], "bytes_change": fields["bytes_change"], **pair(fields, "bytes")}, words)


def growth(before, after):
    """In percent; what there was nothing of before has grown beyond any percentage."""
    if before == 0:
        return float("inf") if after > 0 else 0
    return 100 * float(after - before) / before


def test_changes_are_in_the_order_asked_for(folder):
    chance = random.Random(12)
    values = {"self": lambda row: row["self_ns_change"], "total": lambda row: row["time_ns_change"],
              "self_percent": lambda row: growth(*row["self_ns"]), "total_percent": lambda row: growth(*row["time_ns"]),
              "count": lambda row: row["invocations_change"], "hits": lambda row: row["cache_hits_change"],
              "blocked": lambda row: row["blocked_ns_change"], "self_before": lambda row: row["self_ns"][0],
              "count_after": lambda row: row["invocations"][1], "state": lambda row: row["state"],
              "magnitude": lambda row: abs(row["self_ns_change"]), "name": lambda row: row["name"].encode()}
    for before, after in (runs(folder, 2), (runs(folder, 1)[0], write_log(folder, "a", "label 1", "label 3"))):
        rows = json.loads(output("diff", "--json", before, after))["rows"]
        cases.need([abs(row["self_ns_change"]) for row in rows] ==
                   sorted((abs(row["self_ns_change"]) for row in rows), reverse=True), "largest change first")
        for _ in range(25):
            need_order(chance, values, {"name", "state"}, (), rows, "rows", ["diff", "--json", before, after])


def test_columns_of_changes(folder):
    before, after = runs(folder, 2)
    lines = output("diff", "--columns=name,self_after,self", before, after).splitlines()
    start = next(i for i, line in enumerate(lines) if line.split() == ["label", "self_after", "self"])
    cases.need(lines[start + 1].startswith("  label") and lines[start + 1].split()[-2][0] in "+-", str(lines))
    same = output("diff", before, before)
    cases.need(" self %      total    total %  label\n" in same and "count" not in same, same)
    cases.need(" hits" in output("diff", "--columns=hits,name", before, before), "a column that is asked for")
    colored = output("diff", "--color=always", "--columns=self,name", before, after).splitlines()
    signs = {line[:5]: line.split()[1][0] for line in colored if "  label " in line}
    cases.need(signs == {"\x1b[31m": "+", "\x1b[32m": "-"}, str(colored))
    lines = on_terminal(60, "--columns=name,self,total", before, after, command="diff")
    cases.need(max(len(line) for line in lines if line.startswith("  label")) <= 60, str(lines))


def sets(folder):
    """Two sets of runs, whose labels are in some or all of them."""
    first, second = runs(folder, 3), runs(folder, 3, 30)
    other = write_log(folder, "a", "label 1", "label 3")
    return (first + ["--with"] + second, first + ["--with", other, other], [first[0]] * 3 + ["--with"] + [second[0]] * 3,
            runs(folder, 2, 20, "counts given") + ["--with"] + runs(folder, 2, 25, "counts given"))


def test_csv_of_sets_has_the_figures_of_json(folder):
    marked = 0
    for paths in sets(folder):
        for figure, key in FIGURES.items():
            words = ["diff", "--of=" + figure, *paths]
            data, rows = json.loads(output(*words, "--json")), read_csv(output(*words, "--csv"))
            name = key.removesuffix("_ns")
            unit = "" if key == name else "_ns" if data["before"]["runs"][0]["tick_unit"] is None else "_ticks"
            cases.need(len(rows) == len(data["rows"]) > 0, str(words))
            for row, fields in zip(rows, data["rows"]):
                low, high = fields[name + "_percent_interval"]
                need_cells(row, {**{field: fields[field] for field in ("name", "state", "marked", "effect_deviations", "p",
                                                                       "p_corrected")},
                                 "percent_change": fields[name + "_percent_change"], "percent_low": low, "percent_high": high,
                                 **pair(fields, "run_counts", "run_count"), **pair(fields, f"{name}{unit}_mean", "mean" + unit)},
                           words)
                marked += fields["marked"]
    cases.need(marked > 0, "nothing is marked")


def test_csv_of_calls_has_the_figures_of_json(folder):
    marked = 0
    for before, after in (runs(folder, 2), (runs(folder, 1)[0], write_log(folder, "a", "label 1", *["label 3"] * 30)),
                          runs(folder, 2, 20, "counts given")):
        words = ["diff", "--calls", before, after]
        data, rows = json.loads(output(*words, "--json")), read_csv(output(*words, "--csv"))
        unit = "ns" if data["before"]["tick_unit"] is None else "ticks"
        cases.need(len(rows) == len(data["rows"]) > 0, str(words))
        for row, fields in zip(rows, data["rows"]):
            durations = {}
            for key in ("p50", "p90", "p99"):
                for side, count in zip(("before", "after"), fields["count"]):
                    durations[f"{key}_{unit}_{side}"] = pair(fields, f"{key}_{unit}")[f"{key}_{unit}_{side}"] if count else None
            need_cells(row, {**{field: fields[field] for field in ("name", "state", "marked", "percent_change", "effect", "p",
                                                                   "p_corrected")}, **pair(fields, "count"), **durations}, words)
            marked += fields["marked"]
    cases.need(marked > 0, "nothing is marked")


def test_differences_are_in_the_order_asked_for(folder):
    def result(key):  # null: infinite, or not tested
        return lambda row: row[key] if row[key] is not None else 0 if row["p"] is None else float("inf")
    chance = random.Random(14)
    both = {"marked": lambda row: row["marked"], "p": result("p_corrected"), "name": lambda row: row["name"].encode(),
            "state": lambda row: row["state"]}
    calls = {**both, "change": result("percent_change"), "effect": result("effect"),
             "count_before": lambda row: row["count"][0], "p50_after": lambda row: row["p50_ns"][1]}
    of_sets = {**both, "change": result("self_percent_change"), "before": lambda row: row["self_ns_mean"][0],
               "after": lambda row: row["self_ns_mean"][1], "runs_before": lambda row: row["run_counts"][0]}
    for values, words in ((calls, ["--calls", *runs(folder, 2)]), (of_sets, sets(folder)[0]), (of_sets, sets(folder)[1])):
        words = ["diff", "--json", *words]
        rows = json.loads(output(*words))["rows"]
        cases.need([row["marked"] for row in rows] == sorted((row["marked"] for row in rows), reverse=True), "marked ones first")
        for _ in range(15):
            need_order(chance, values, {"name", "state"}, (), rows, "rows", words)


def test_marks_are_before_the_name(folder):
    words = ["diff", "--columns=change,name,p", *sets(folder)[2]]
    lines = [line for line in output(*words).splitlines() if "  label" in line or " *label" in line]
    marked = [row["name"] for row in json.loads(output("diff", "--json", *sets(folder)[2]))["rows"] if row["marked"]]
    cases.need(marked and [line.split("*")[1].rsplit(None, 1)[0].strip() for line in lines if "*" in line] == marked, str(lines))


# ---- A terminal ----

def on_terminal(width, *words, command="report"):
    """The lines that a terminal gets which has this many columns."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [cases.TRACEBED, "--no-pager", command, "--color=never", *words]
    with subprocess.Popen(command, stdout=theirs, env=environment) as process:
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 65536):
                text += part
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    return text.decode().replace("\r\n", "\n").splitlines()


def test_long_names_are_shortened_on_a_terminal(folder):
    name = "first_" + "x" * 100 + "_last"
    path = write_log(folder, name, "short")
    cases.need(name in report("--spans", path), "shortened without a terminal")
    for width in (130, 121, 150):
        lines = on_terminal(width, path)[3:]
        cases.need(max(map(len, lines)) == width, f"{width}: {[len(line) for line in lines]}")
        cases.need(any("first_x" in line and "…" in line and line.endswith("x_last") for line in lines), str(lines))
    cases.need(name in "\n".join(on_terminal(300, path)), "shortened although it fits")
    narrow = on_terminal(40, path)[3:]
    cases.need(any(line.endswith("x_last") and len(line) == 40 for line in narrow), str([len(line) for line in narrow]))


def test_figures_give_way_to_names_on_a_terminal(folder):
    name = "first_" + "x" * 300 + "_last"
    path = write_log(folder, name, "short")
    for width, count in ((20, 1), (50, 1), (56, 2), (80, 4), (100, 6), (133, 9)):
        lines = on_terminal(width, "--spans", path)
        heading = next(line for line in lines if line.endswith("span")).split("  ")
        shown = [title for title in heading if title.strip()][:-1]
        named = [line for line in lines if "x_last" in line]
        cases.need(len(shown) == count, f"{width}: {shown}")
        cases.need(named and all(len(line) <= max(width, 11 + 2 + 16) for line in named), f"{width}: {named}")
        rest = [line for line in lines if "see --columns" in line]
        cases.need(len(rest) == (count < 9), f"{width}: {rest}")
        if rest:
            keys = rest[0].split(": ")[1].split(";")[0].split(",")
            cases.need(len(keys) == 9 - count and rest[0].split()[0] == str(9 - count), f"{width}: {rest}")
            every = on_terminal(width, "--spans", "--columns=self,share,total,count,min,mean,p50,p99,max,name", path)
            cases.need(all("see --columns" not in line for line in every) and "p99" in "".join(every), str(every))


def test_long_names_of_single_calls_are_shortened_on_a_terminal(folder):
    name = "first_" + "x" * 300 + "_last"
    path = write_log(folder, name, "short")
    for width in (80, 20):
        lines = [line for line in on_terminal(width, path, command="slowest") if "x_last" in line]
        cases.need(lines and all("…" in line and len(line) == max(width, 30) for line in lines), f"{width}: {lines}")
    cases.need(name in cases.output_of(folder, cases.TRACEBED, "slowest", path), "shortened without a terminal")


def test_trees_fit_into_a_terminal(folder):
    name = "first_" + "x" * 300 + "_last"
    path = write_log(folder, name, "short")
    for words in ((), ("--calls",), ("--diff", path)):
        lines = [line for line in on_terminal(100, *words, path, command="tree") if "x_last" in line]
        cases.need(lines and all("…" in line and len(line) == 100 for line in lines), f"{words}: {lines}")
        cases.need(name in cases.output_of(folder, cases.TRACEBED, "tree", *words, path), f"{words}: shortened without a terminal")


def test_two_columns_of_names_share_the_terminal(folder):
    path = write_log(folder, "a" * 90, "b" * 60)
    lines = on_terminal(80, "--columns=name,trace,count", path)[2:]
    cases.need(max(map(len, lines)) <= 80 and len({line.rindex(" ") for line in lines}) <= 2, str(lines))


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
