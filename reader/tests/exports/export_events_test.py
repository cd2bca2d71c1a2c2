#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What 'tracebed export' writes for viewers of events, opened by other programs: counts and durations of spans are those of
'tracebed report', and every other event is there, or counted.

    python3 reader/tests/exports/export_events_test.py

Perfetto's protobuf is decoded by protoc, CTF by babeltrace2, JSON by Python. Without protoc or babeltrace2, that part is
skipped. The Firefox Profiler itself is in export_consumers_test.py.

Check: export-events
Needs: $b/programs $b/reader/tests/agreement/agreement_program $b/reader/tests/exports/kinds_program
"""

import collections
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases
import perfetto

AGREEMENT = cases.BUILD / "reader/tests/agreement/agreement_program"
KINDS = cases.BUILD / "reader/tests/exports/kinds_program"
GOLDEN = cases.ROOT / "spec/golden"
DEEPEST = 512  # of Perfetto


def export(folder, to, *paths, more=(), name=None):
    """(path of the output, {explanation: count})"""
    out = folder / (name or f"out.{to}")
    text = cases.output_of(folder, cases.TRACEBED, "export", f"--to={to}", "-f", *more, *paths, "-o", out)
    notes = {}
    for line in text.splitlines()[1:]:
        count, explanation = line.split(maxsplit=1)
        notes[explanation] = int(count.replace(",", ""))
    return out, notes


def note(notes, words):
    return sum(count for explanation, count in notes.items() if words in explanation)


def report_of(folder, *paths):
    """{label: (count, nanoseconds)}"""
    sums = collections.defaultdict(lambda: [0, 0])
    for path in paths:
        run = subprocess.run([cases.TRACEBED, "report", "--json", "--spans", path], capture_output=True, check=False)
        for row in json.loads(run.stdout)["spans"]:
            sums[row["name"]][0] += row["count"]
            sums[row["name"]][1] += row["total_ns"] if "total_ns" in row else row["total_ticks"]
    return {name: tuple(values) for name, values in sums.items() if values[0] > 0}


def sum_up(spans):
    """The same for (label, nanoseconds)."""
    sums = collections.defaultdict(lambda: [0, 0])
    for label, ns in spans:
        sums[label][0] += 1
        sums[label][1] += ns
    return {name: tuple(values) for name, values in sums.items()}


def compare(what, found, wanted, except_for=()):
    """Each span may be a nanosecond longer or shorter: 'report' converts sums of ticks, exports times."""
    for label in sorted(set(found) | set(wanted)):
        ours, theirs = found.get(label, (0, 0)), wanted.get(label, (0, 0))
        if label not in except_for and (ours[0] != theirs[0] or abs(ours[1] - theirs[1]) > theirs[0]):
            raise cases.Failure(f"{what}: {label[:60]!r}: {ours} instead of {theirs}")


# ---- Consumers: spans as (label, nanoseconds) ----

def perfetto_spans(path):
    opened = perfetto.Opened(path)
    return [(label, ns) for label, _, ns, _, is_of_thread in opened.slices if is_of_thread], opened


def chrome_spans(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    spans = [(event["name"], round(event["dur"] * 1000)) for event in events if event["ph"] == "X"]
    begins = {}
    for event in events:
        if event["ph"] == "b" and event.get("id", "").startswith("beside "):
            begins[event["id"]] = event["ts"]
        elif event["ph"] == "e" and event.get("id", "") in begins:
            spans.append((event["name"], round((event["ts"] - begins[event["id"]]) * 1000)))
    return spans, events


def firefox_spans(path):
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    spans = []
    for thread in profile["threads"]:
        markers = thread["markers"]
        count = markers["length"]
        cases.need(all(len(column) == count for name, column in markers.items() if name != "length"), "columns differ")
        cases.need(all(index < len(profile["meta"]["categories"]) for index in markers["category"]), "no such category")
        schemas = {schema["name"] for schema in profile["meta"]["markerSchema"]}
        for i in range(count):
            cases.need(markers["data"][i]["type"] in schemas, "no such schema")
            name = thread["stringArray"][markers["name"][i]]
            if markers["phase"][i] == 1:
                spans.append((name, round((markers["endTime"][i] - markers["startTime"][i]) * 1e6)))
    return spans, profile


VALUES = {"stringValue": str, "intValue": str, "doubleValue": (float, int, str), "boolValue": bool, "bytesValue": str}
OTLP = {"resourceSpans": ("scopeSpans", "spans"), "resourceLogs": ("scopeLogs", "logRecords"),
        "resourceMetrics": ("scopeMetrics", "metrics")}
OTLP_FIELDS = {"spans": {"traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes"},
               "logRecords": {"traceId", "spanId", "timeUnixNano", "body", "attributes", "severityNumber", "severityText", "eventName"},
               "metrics": {"name", "unit", "gauge"}}


def check_attributes(attributes):
    for attribute in attributes:
        cases.need(set(attribute) == {"key", "value"}, f"an attribute has {set(attribute)}")
        (kind, value), = attribute["value"].items()
        cases.need(isinstance(value, VALUES[kind]), f"{kind}: {value!r}")
        cases.need(kind != "intValue" or -2**63 <= int(value) < 2**63, f"{value} has more than 64 bits")


def check_time(text):
    cases.need(isinstance(text, str) and 0 <= int(text) < 2**64, f"time {text!r}")
    return int(text)


def check_otlp(kind, item):
    cases.need(set(item) <= OTLP_FIELDS[kind], f"{kind}: unknown fields {set(item) - OTLP_FIELDS[kind]}")
    for name, length in (("traceId", 32), ("spanId", 16), ("parentSpanId", 16)):
        cases.need(name not in item or re.fullmatch("[0-9a-f]{%d}" % length, item[name]), f"{name}: {item.get(name)}")
    check_attributes(item.get("attributes", []))
    for point in item.get("gauge", {}).get("dataPoints", []):
        check_attributes(point["attributes"])
        check_time(point["timeUnixNano"])
        cases.need(("asInt" in point) != ("asDouble" in point), "a point has one value")


def otlp_spans(path):
    """Strictly by the JSON of OTLP's protobuf."""
    spans, found = [], collections.defaultdict(list)
    times, parents = {}, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            (resources, items), = json.loads(line).items()
            for resource in items:
                cases.need(set(resource) == {"resource", OTLP[resources][0]}, "a resource has other fields")
                check_attributes(resource["resource"]["attributes"])
                for scope in resource[OTLP[resources][0]]:
                    check_attributes(scope["scope"].get("attributes", []))
                    kind = OTLP[resources][1]
                    for item in scope[kind]:
                        check_otlp(kind, item)
                        found[kind].append(item)
                        if kind != "spans":
                            continue
                        begin, end = check_time(item["startTimeUnixNano"]), check_time(item["endTimeUnixNano"])
                        cases.need(begin <= end and item["spanId"] not in times, "a span ends early, or twice")
                        times[item["spanId"]] = (begin, end)
                        parents.append((item.get("parentSpanId"), begin))
                        if scope["scope"].get("attributes"):  # asynchronous spans are of no thread
                            spans.append((item["name"], end - begin))
    for parent, begin in parents:
        cases.need(parent is None or parent in times, f"parent {parent} is missing")
    return spans, found


CTF_SPAN = re.compile(r'\) span(?:_end)?: \{.*?\}, \{ name = ("(?:[^"\\]|\\.)*"), .*?duration = (\d+), never_ended')


def ctf_spans(path):
    done = subprocess.run(["babeltrace2", path], capture_output=True, check=False)
    cases.need(done.returncode == 0, f"babeltrace2: {done.stderr.decode(errors='replace')[-500:]}")
    lines = done.stdout.decode(errors="replace").splitlines()
    return [(unescape_c(match.group(1)), int(match.group(2))) for match in map(CTF_SPAN.search, lines) if match], lines


def unescape_c(text):
    letters = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
    return re.sub(r"\\(x[0-9a-fA-F]{2}|.)", lambda m: letters.get(m.group(1)) or chr(int(m.group(1)[1:], 16)), text[1:-1])


FORMATS = {"chrome": chrome_spans, "firefox": firefox_spans, "otlp": otlp_spans}
if shutil.which("protoc"):
    FORMATS["perfetto"] = perfetto_spans
if shutil.which("babeltrace2"):
    FORMATS["ctf"] = ctf_spans
for tool, format in (("protoc", "perfetto"), ("babeltrace2", "ctf")):
    if format not in FORMATS:
        print(f"{format}: skipped, {tool} is not installed")


# ---- Cases ----

def check_all(folder, *paths, except_for=()):
    wanted = report_of(folder, *paths)
    for to, spans_of in FORMATS.items():
        out, _ = export(folder, to, *paths)
        compare(f"{to} of {paths[0]}", sum_up(spans_of(out)[0]), wanted, except_for)


def test_random_programs(folder):
    options = ("given", "given whole", "given back whole", "others arguments given categories", "ring", "forks open",
               "given open whole", "deep", "pairs", "ring open deep")
    for seed, words in enumerate(options):
        path = folder / f"{seed}.tbed"
        subprocess.run([AGREEMENT, str(seed), path, *words.split()], check=True)
        check_all(folder, path)


def test_profile_of_rustc(folder):
    check_all(folder, GOLDEN / "measureme/v9.mm_profdata")


def test_several_traces_have_processes_of_their_own(folder):
    paths = [folder / "a.tbed", folder / "b.tbed"]
    for seed, path in enumerate(paths):
        subprocess.run([AGREEMENT, str(seed), path], check=True)
    check_all(folder, *paths, paths[0])


def kinds(folder):
    path = folder / "kinds.tbed"
    subprocess.run([KINDS, path], check=True)
    return path


def test_odd_names(folder):
    path = kinds(folder)
    wanted = report_of(folder, path)
    cases.need("deep" in wanted and wanted["deep"][0] == 600, "the program records 600 deep spans")
    for to, spans_of in FORMATS.items():
        out, notes = export(folder, to, path)
        compare(to, sum_up(spans_of(out)[0]), wanted, ("deep",) if to == "perfetto" else ())
        cases.need(note(notes, "that never ended") >= 1, f"{to}: open spans are not counted")


def test_perfetto_has_every_kind(folder):
    if "perfetto" not in FORMATS:
        return
    out, notes = export(folder, "perfetto", kinds(folder))
    opened = perfetto.Opened(out)
    cases.need(opened.deepest == DEEPEST and note(notes, "too deep") == 600 - DEEPEST,
               f"{opened.deepest} deep, {notes}")
    cases.need({name: values[0][1] for name, values in opened.counters.items() if name != "live memory"} == {
        "huge": float(2**64 - 1), "low": -2**63, "ratio": 0.5, "bytes (eth0)": 10, "bytes (lo)": 20}, str(opened.counters))
    cases.need([value for _, value, _ in opened.counters["live memory"]] == [100, 1100, 1000], "live memory")
    cases.need(note(notes, "beyond the format's range") == 1, "the value above 63 bits is counted")
    (_, _, _, arguments, _), = [slice for slice in opened.slices if slice[0] == "with arguments"]
    cases.need(arguments["most"] == 2**64 - 1 and arguments["least"] == -2**63 and arguments["arg0"] == "own" and
               arguments['quo"te'] is True and arguments["at"] == 2**64 - 1, str(arguments))
    cases.need(opened.flows[2**64 - 1] == 3, "flows")
    cases.need(("say \"hi\"\n\ufffd;", "error") in {(name, arguments.get("severity")) for name, _, arguments in opened.instants},
               "messages")
    cases.need(set(opened.clocks) == {1, 6}, "clocks")


def test_chrome_counters_have_tracks_and_absolute_spans_nest(folder):
    path = kinds(folder)
    _, events = chrome_spans(export(folder, "chrome", path)[0])
    tracks = {(event["name"], event.get("id")) for event in events if event["ph"] == "C"}
    cases.need({("bytes", "eth0"), ("bytes", "lo"), ("live memory", None)} <= tracks, str(tracks))
    _, events = chrome_spans(export(folder, "chrome", path, more=["--absolute"])[0])
    open_spans = collections.defaultdict(list)
    for event in sorted((event for event in events if event["ph"] == "X"), key=lambda e: (e["ts"], -e["dur"])):
        stack = open_spans[(event["pid"], event["tid"])]
        while stack and stack[-1] <= event["ts"]:
            stack.pop()
        cases.need(not stack or event["ts"] + event["dur"] <= stack[-1], f"{event} overlaps")
        stack.append(event["ts"] + event["dur"])


def test_otlp_has_every_kind(folder):
    _, found = otlp_spans(export(folder, "otlp", kinds(folder))[0])
    severities = [record["severityNumber"] for record in found["logRecords"] if "severityNumber" in record]
    cases.need(severities == [0, 17, 13, 9, 5], str(severities))
    cases.need(sum(span["name"] == "request" for span in found["spans"]) == 1, "the asynchronous span")
    live = [metric["gauge"]["dataPoints"][0]["asInt"] for metric in found["metrics"] if metric["name"] == "live memory"]
    cases.need(live == ["100", "1100", "1000"], str(live))


def test_ctf_has_every_kind(folder):
    if "ctf" not in FORMATS:
        return
    _, lines = ctf_spans(export(folder, "ctf", kinds(folder))[0])
    found = collections.Counter(re.search(r"\) (\w+): \{", line).group(1) for line in lines)
    for name, count in (("alloc", 2), ("free", 1), ("message", 5), ("async_begin", 1), ("flow_step", 1),
                        ("counter_f64", 1), ("instant", 11)):
        cases.need(found[name] == count, f"{found[name]} {name}")


def test_profile_keeps_arguments(folder):
    out, notes = export(folder, "mm_profdata", kinds(folder))
    text = cases.output_of(folder, cases.TRACEBED, "report", "--by=argument", "--json", out)
    names = {row["name"] for row in json.loads(text)["spans"]}
    cases.need(any(name.startswith("with arguments") and "most=18446744073709551615" in name for name in names),
               str(sorted(name[:80] for name in names)))


def test_output_is_the_same_each_time_and_compressed_by_name(folder):
    path = kinds(folder)
    for to in ("chrome", "perfetto", "firefox", "otlp"):
        first = export(folder, to, path, name="first")[0].read_bytes()
        piped = subprocess.run([cases.TRACEBED, "export", f"--to={to}", path, "-o", "-"], capture_output=True, check=True).stdout
        packed = export(folder, to, path, name="packed.gz")[0]
        unpacked = subprocess.run(["gzip", "-dc", packed], capture_output=True, check=True).stdout
        cases.need(first == piped == unpacked, f"{to} differs")


def test_instants_and_counters_are_left_out_if_asked(folder):
    path = kinds(folder)
    for to, spans_of in FORMATS.items():
        out, notes = export(folder, to, path, more=["--no-instants", "--no-counters"])
        cases.need(note(notes, "as asked for") > 0, f"{to}: {notes}")
        compare(to, sum_up(spans_of(out)[0]), report_of(folder, path), ("deep",) if to == "perfetto" else ())


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
