#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
A hundred traces of different processes, hosts and boots as one data set: DuckDB and ClickHouse give the same answers to the
twenty questions of docs/fleet.md, with the sums that 'tracebed report' prints for each trace.

    python3 reader/tests/exchange/columns/fleet_test.py

Slow: starts the program a hundred times, and ClickHouse takes a second to start
Check: fleet
Needs: $b/programs $b/reader/tests/exchange/columns/fleet_program

SPDX-License-Identifier: MIT
"""

import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 4, "ninja", "checks"))
import cases
import engines
import parquet_file
from cases import TRACEBED, need, output_of

PAGE = cases.ROOT / "docs/fleet.md"
FLEET = cases.BUILD / "reader/tests/exchange/columns/fleet_program"
TRACES, HOSTS, REQUESTS = 100, 20, 60
ENGINES = {"duckdb": "DuckDB", "clickhouse": "ClickHouse"}


# ---- The page ----

def blocks():
    """Title -> SQL."""
    return dict(re.findall(r"^#{2,3} ([^\n]*)\n+```sql\n(.*?)```", PAGE.read_text(), re.M | re.S))


def statements_of(text):
    return [statement.strip() for statement in text.split(";\n") if statement.strip()]


def plain(value):
    """The same text for the same value: engines write instants and whole numbers in ways of their own."""
    if value is None:
        return None
    value = re.sub(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.0+)?(\+00)?$", r"\1", value)
    return re.sub(r"^(-?\d+)\.0$", r"\1", value)


# ---- The data set ----

def export_all(folder):
    (folder / "traces").mkdir()
    subprocess.run([FLEET, folder / "traces", "0", str(TRACES), str(REQUESTS)], check=True)
    for host in range(HOSTS):
        traces = sorted(folder.glob(f"traces/h{host:02}-*.tbed"))
        output_of(folder, TRACEBED, "export", "--to=parquet", f"--host=h{host:02}", *traces, "-o", "fleet")
    traces = sorted(folder.glob("traces/*.tbed"))
    need(len(traces) == len(list(folder.glob("fleet/spans/*.parquet"))) == TRACES, "a file for each trace")
    return traces


def reports_of(traces):
    return [json.loads(output_of(".", TRACEBED, "report", "--json", trace)) for trace in traces]


# ---- Answers ----

def check_against_reports(reports, answers):
    """What the reports of all traces add up to."""
    spans, cut = {}, set()  # the report counts a span that never ended up to its thread's end; its dur is NULL
    for report in reports:
        for row in report["spans"]:
            count, own, total = spans.get(row["name"], (0, 0, 0))
            spans[row["name"]] = (count + row["count"], own + row["self_ns"], total + row["total_ns"])
            cut.update([row["name"]] if row["never_ended_count"] else [])
    found = {row[0]: tuple(map(int, row[1:])) for row in answers["13. Where does the fleet spend its time?"]}
    need({name: row[:2] for name, row in found.items()} == {name: row[:2] for name, row in spans.items()}
         and all(found[name] == row or name in cut and found[name][2] < row[2] for name, row in spans.items()),
         f"spans: {found}, but the reports have {spans}")
    live = sum(report["allocations"]["live_bytes"] for report in reports)
    found = sum(int(row[3]) for row in answers["11. What is the memory that was never freed?"])
    need(found == live > 0, f"live memory: {found}, but the reports have {live}")
    dropped = sum(sum(report["drops"].values()) for report in reports)
    found = sum(int(row[2]) for row in answers["7. Which hosts lost events?"])
    need(found == dropped > 0, f"drops: {found}, but the reports have {dropped}")


def test_questions(folder):
    traces = export_all(folder)
    page = blocks()
    questions = {title: text for title, text in page.items() if title[0].isdigit()}
    need(len(questions) == 20, f"{len(questions)} questions")
    used, missing = engines.there()
    for line in missing:
        print(f"without {line}")
    answers = {}
    for engine in used:
        setup = statements_of(page[ENGINES[engine]])
        found = engines.ask(engine, setup + [text.strip() for text in questions.values()], folder / "fleet")[len(setup):]
        answers[engine] = {title: [[plain(value) for value in row] for row in rows] for title, (_, rows, _) in zip(questions, found)}
        times[engine] = {title: ms for title, (_, _, ms) in zip(questions, found)}
        for title, rows in answers[engine].items():
            need(rows, f"{engine}: no rows: {title}")
    if not used:
        return "neither engine is there"
    check_against_reports(reports_of(traces), answers[used[0]])
    for title in questions if len(used) == 2 else ():
        ours, theirs = (answers[engine][title] for engine in used)
        need(ours == theirs, f"{title}\n{used[0]}: {ours[:5]}\n{used[1]}: {theirs[:5]}")
    for title in questions:
        print(f"{title:62}" + "".join(f"{engine:>12} {times[engine][title]:6.0f} ms" for engine in used))
    return f"{len(questions)} questions, {len(used)} engines"


def test_data_set_is_whole(folder):
    """Without an engine too: each file can be read, and its keys are those of its trace."""
    export_all(folder)
    hosts, boots, ids = set(), set(), set()
    for path in sorted(folder.glob("fleet/spans/*.parquet")):
        spans = parquet_file.read(path, None, {"host", "boot", "file_id", "process"})
        hosts.update(spans["host"])
        boots.update(zip(spans["host"], spans["boot"]))
        ids.update(spans["file_id"])
        need(set(spans["file_id"]) == {path.stem}, "a file has the name of its trace")
    need(len(ids) == TRACES and len(hosts) == HOSTS and len(boots) > HOSTS, f"{len(ids)} {len(hosts)} {len(boots)}")


times = {}

if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
