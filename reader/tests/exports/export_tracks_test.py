#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Signal handlers and times off the processor in every view and every format. Handlers are spans of the program in a row of their
own below their thread. Times off the processor are a row of their own, too, but no spans of the program: no sum counts them.

    python3 reader/tests/exports/export_tracks_test.py

Check: export-tracks
Needs: $b/programs $b/reader/tests/exports/tracks_program
"""

import collections
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases
import perfetto

PROGRAM = cases.BUILD / "reader/tests/exports/tracks_program"
SPANS = {"run": (2, 16000), "load": (2, 4000), "on_fault": (2, 80), "count": (2, 20)}
SELF = {"run": 12000, "load": 4000, "on_fault": 60, "count": 20}
OFF = {"off CPU: waiting": (2, 2000), "off CPU: preempted": (2, 1000)}
ROWS = ["worker", "worker: signal handlers", "worker: off CPU", None, "signal handlers", None, "queue"]
WITHIN = {"worker: signal handlers": "worker", "worker: off CPU": "worker"}


def trace(folder):
    path = folder / "tracks.tbed"
    if not path.exists():
        subprocess.run([PROGRAM, path], check=True)
    return path


def tracebed(folder, *words):
    return cases.output_of(folder, cases.TRACEBED, *words)


def expect(found, wanted, what):
    cases.need(found == wanted, f"{what}: {found} instead of {wanted}")


def sums(spans):
    found = collections.defaultdict(lambda: (0, 0))
    for name, ns in spans:
        found[name] = (found[name][0] + 1, found[name][1] + ns)
    return dict(found)


def export(folder, to, *more):
    out = folder / f"out.{to}"
    text = tracebed(folder, "export", f"--to={to}", "-f", *more, trace(folder), "-o", out)
    return out, text


# ---- Sums of the program's time ----

def rows_of(folder, verb, *more):
    return json.loads(tracebed(folder, verb, "--json", *more, trace(folder)))


def test_no_sum_counts_times_off_the_processor(folder):
    for more in ((), ("--on-cpu",), ("-t", "7"), ("-p", "tracks_program"), ("-b", "0"), ("-n", ".")):
        spans = rows_of(folder, "report", *more)["spans"]
        expect({row["name"] for row in spans}, set(SPANS), f"report {more}")
    expect({row["name"]: (row["count"], row["total_ns"]) for row in rows_of(folder, "report")["spans"]}, SPANS, "report")
    expect({row["name"]: row["off_cpu_ns"] for row in rows_of(folder, "report")["spans"]},
           {"run": 3000, "load": 1000, "on_fault": 0, "count": 0}, "the column")
    calls = rows_of(folder, "slowest", "-l", "0")
    expect(calls["total_count"], sum(count for count, _ in SPANS.values()), "slowest")
    expect(len(json.loads(tracebed(folder, "threads", "--json", trace(folder)))["threads"]), 5, "threads")
    text = tracebed(folder, "tree", trace(folder))
    cases.need("off CPU" not in text and "on_fault" in text, text)
    tracebed(folder, "flame", "-f", "-o", folder / "flame.svg", trace(folder))
    text = (folder / "flame.svg").read_text()
    cases.need("off CPU" not in text and "on_fault" in text, "flame")
    text = tracebed(folder, "diff", trace(folder), trace(folder))
    cases.need("off CPU" not in text and "8 spans" in text, text)


def test_they_are_shown_if_nothing_else_is_asked_for(folder):
    for more in (("-t", "worker: off CPU"), ("--stream=4",)):
        spans = rows_of(folder, "report", *more)["spans"]
        expect({row["name"]: (row["count"], row["total_ns"]) for row in spans},
               {name: (1, ns // 2) for name, (_, ns) in OFF.items()}, f"report {more}")


def test_slowest_calls_say_why_they_waited(folder):
    call = rows_of(folder, "slowest", "-l", "1")["calls"][0]
    expect({part["name"]: part["self_ns"] for part in call["off_cpu"]},
           {"off CPU: waiting": 1000, "off CPU: preempted": 500}, "off the processor")
    expect({part["name"] for part in call["others"]}, {"on_fault", "count"}, "others")


def test_tables_of_results_are_as_the_verbs(folder):
    def ask(statement):
        return list(csv.reader(io.StringIO(tracebed(folder, "sql", "--csv", trace(folder), statement))))[1:]
    rows = ask("SELECT label, count, total FROM label_statistics")
    expect({row[0]: (int(row[1]), int(row[2])) for row in rows}, SPANS, "label_statistics")
    expect(ask("SELECT count(*) FROM tree WHERE label LIKE 'off CPU%'"), [["0"]], "tree")
    expect(ask("SELECT count(*) FROM activity"), [["5"]], "activity")
    rows = ask("SELECT s.label, count(*), sum(s.dur), max(of.name), max(of.tid) FROM spans s JOIN threads t ON t.id = s.track "
               "JOIN threads of ON of.id = t.of_thread WHERE t.kind = 'off CPU' AND of.tid = 7 GROUP BY 1 ORDER BY 1")
    expect(rows, [["off CPU: preempted", "1", "500", "worker", "7"], ["off CPU: waiting", "1", "1000", "worker", "7"]],
           "the question of the page")


# ---- Formats that are sums ----

def test_formats_of_sums_count_and_leave_out(folder):
    for to in ("folded", "pprof", "callgrind"):
        out, text = export(folder, to)
        cases.need("4 times off the processor omitted" in text, f"{to}: {text}")
        cases.need(b"off CPU" not in out.read_bytes(), to)
    found = dict(line.rsplit(" ", 1) for line in export(folder, "folded")[0].read_text().splitlines())
    expect({stack.split(";")[-1]: int(ns) for stack, ns in found.items() if ";" in stack}, SELF, "folded")
    for to in ("mm_profdata", "rtl-log"):
        out, text = export(folder, to)
        cases.need("4 events omitted" in text, f"{to}: {text}")
        cases.need("off CPU: waiting" not in tracebed(folder, "import", "-f", out, "-o", folder / "back.tbed") and
                   "off CPU" not in tracebed(folder, "dump", folder / "back.tbed"), to)


def test_a_log_nests(folder):
    depth = collections.Counter()
    for line in export(folder, "rtl-log", "--tid=native")[0].read_text().splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "{}":
            depth[words[1]] += 1 if words[2] == "{" else -1
            cases.need(depth[words[1]] >= 0, line)
    expect(set(depth.values()), {0}, "ends")


# ---- Formats with a row for each ----

def test_chrome_rows(folder):
    events = json.loads(export(folder, "chrome")[0].read_text())["traceEvents"]
    expect(sums((e["name"], round(e["dur"] * 1000)) for e in events if e["ph"] == "X"), {**SPANS, **OFF}, "spans")
    places = {e["tid"]: e["args"]["sort_index"] for e in events if e["name"] == "thread_sort_index"}
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    expect([names.get(tid) for tid in sorted(places, key=places.get)], ROWS, "rows")
    for event in events:
        if event["ph"] == "X":
            row = names.get(event["tid"], "")
            expect("handlers" in row, event["name"] in ("on_fault", "count"), str(event))
            expect(event["name"] in ("run", "load"), event["tid"] in (7, 8), str(event))


def test_collapsed_rows_are_of_one_kind(folder):
    events = json.loads(export(folder, "chrome", "--collapse-threads")[0].read_text())["traceEvents"]
    rows = collections.defaultdict(set)
    for event in events:
        if event["ph"] == "X":
            rows[event["tid"]].add(event["name"])
    expect(sorted(sorted(names) for names in rows.values()),
           [["count", "on_fault"], ["load", "run"], ["off CPU: preempted", "off CPU: waiting"]], "collapsed")


def test_perfetto_rows(folder):
    if not shutil.which("protoc"):
        print("skipped: protoc is not installed")
        return
    opened = perfetto.Opened(export(folder, "perfetto")[0])
    expect(sums((label, ns) for label, _, ns, _, _ in opened.slices), {**SPANS, **OFF}, "spans")
    named = {}
    for uuid, track in opened.tracks.items():
        thread = track.get("thread")
        named[uuid] = thread[0]["thread_name"][0] if thread and "thread_name" in thread[0] else \
            track["name"][0] if track.get("name") else None
    found = {named[uuid]: named[track["parent_uuid"][0]] for uuid, track in opened.tracks.items()
             if track.get("parent_uuid") and named[track["parent_uuid"][0]] is not None}
    expect(found, WITHIN, "tracks below threads")
    expect(sorted(thread["tid"][0] for thread in opened.threads.values())[:2], [7, 8], "threads")
    expect(len(opened.threads), 3, "threads, and the track")


def test_firefox_rows(folder):
    threads = json.loads(export(folder, "firefox")[0].read_text())["threads"]
    names = [thread["name"] for thread in threads]
    expect(names, [name or "thread" for name in ROWS], "rows")
    expect(len({thread["tid"] for thread in threads}), len(threads), "ids")


def test_otlp_scopes(folder):
    found = collections.defaultdict(set)
    for line in export(folder, "otlp")[0].read_text().splitlines():
        for resource in json.loads(line).get("resourceSpans", []):
            for scope in resource["scopeSpans"]:
                own = {a["key"]: list(a["value"].values())[0] for a in scope["scope"]["attributes"]}
                for span in scope["spans"]:
                    found[own.get("thread.name", ""), own["thread.id"]].add((span["name"], "parentSpanId" in span))
    expect(found["worker", "7"], {("run", False), ("load", True)}, "the thread")
    expect(found["worker: signal handlers", "7"], {("on_fault", False), ("count", True)}, "its handlers")
    expect(found["worker: off CPU", "7"], {(name, False) for name in OFF}, "its times")


def test_ctf_rows(folder):
    if not shutil.which("babeltrace2"):
        print("skipped: babeltrace2 is not installed")
        return
    out, _ = export(folder, "ctf")
    text = subprocess.run(["babeltrace2", out], capture_output=True, text=True, check=True).stdout
    rows = set(re.findall(r' tid = (\d+), .*thread_name = "(worker[^"]*)"', text))
    expect((len(rows), {name for _, name in rows}), (3, set(ROWS[:3])), "rows")
    expect(text.count("span_end"), 12, "spans")


def test_speedscope_profiles(folder):
    profiles = json.loads(export(folder, "speedscope")[0].read_text())["profiles"]
    found = [profile["name"].split(" ", 2)[2] for profile in profiles]
    expect(found, ["worker (7)", "worker: signal handlers (7)", "worker: off CPU (7)", "thread (8)", "signal handlers (8)",
                   "off CPU (8)"], "profiles")


# ---- Traces from traces ----

def test_copies_keep_what_belongs_to_a_thread(folder):
    def streams(path):
        rows = json.loads(tracebed(folder, "info", "--json", path))["streams"]
        name = {row["stream"]: row["tid"] for row in rows}
        return [(row["kind"], row["tid"], row["name"], name.get(row["of_thread"])) for row in rows]
    wanted = streams(trace(folder))
    expect([row[0] for row in wanted], ["thread", "handlers", "off CPU"] * 2 + ["track"], "kinds")
    tracebed(folder, "cut", "-f", trace(folder), "-o", folder / "cut.tbed")
    tracebed(folder, "pack", "-f", trace(folder), "-o", folder / "packed.tbed")
    tracebed(folder, "unpack", "-f", folder / "packed.tbed", "-o", folder / "unpacked.tbed")
    tracebed(folder, "snapshot", "-f", trace(folder), "-o", folder / "snapshot.tbed")
    cases.need((folder / "unpacked.tbed").read_bytes() == trace(folder).read_bytes(), "unpacked differs")
    for name in ("cut", "packed", "snapshot"):
        expect(streams(folder / f"{name}.tbed"), wanted, name)
    subprocess.run([PROGRAM, folder / "second.tbed"], check=True)
    tracebed(folder, "merge", "-f", "--same-clock", trace(folder), folder / "second.tbed", "-o", folder / "merged.tbed")
    expect(sorted(map(str, streams(folder / "merged.tbed"))), sorted(map(str, wanted * 2)), "merged")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
