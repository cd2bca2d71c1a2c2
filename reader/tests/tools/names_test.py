"""
One name for an id: the same function has the same name, function, file, line and module in the JSON of every verb, and
in the reader's functions; in a trace whose program is present, in a symbolized trace, and with only the latter
present.

A program is recorded twice, its calls and its allocations. Then its functions must be where its source has them,
whichever verb is asked. The same for a language implementation, whose units are in the trace.

    python3 reader/tests/tools/names_test.py

Check: names
Needs: $b/programs $b/writer/examples/toy_vm

SPDX-License-Identifier: MIT
"""

import ctypes
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "ninja", "checks"))
import cases

SOURCE = """#include <stdlib.h>
void *volatile keep;
static inline __attribute__((always_inline, no_instrument_function)) void *make(int n)
{
    return malloc((size_t)n);
}
__attribute__((noinline)) void leaf(int n)
{
    keep = make(n);
    free(keep);
}
__attribute__((noinline)) void outer(int n)
{
    for (int i = 1; i <= n; i++)
        leaf(i);
}
int main(void)
{
    outer(5);
    return 0;
}
"""
ENTRIES = {"main": 18, "outer": 13, "leaf": 8}  # function: its line
SITES = {"make": 5}
KEYS = ("name", "function", "file", "line", "module")


def tracebed(folder, *words):
    run = subprocess.run([cases.TRACEBED, *words], cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise cases.Failure(f"{' '.join(words)}: exit status {run.returncode}\n{run.stderr}")
    return run.stdout


def fields_of(row):
    """What a row of JSON says of its id, in the order of KEYS."""
    return tuple(row.get(key) for key in KEYS)


# ---- What each verb says ----

def from_dump(folder, trace):
    for line in tracebed(folder, "dump", "--json", trace).splitlines():
        event = json.loads(line)
        if event["type"] in ("begin", "end", "alloc"):
            yield event


def from_report(folder, trace):
    report = json.loads(tracebed(folder, "report", "--json", trace))
    yield from report["spans"]
    yield from report.get("sites", ())


def from_tree(folder, trace):
    yield from json.loads(tracebed(folder, "tree", "--json", trace))["rows"]


def from_calls(folder, trace):
    for thread in json.loads(tracebed(folder, "tree", "--calls", "--json", trace))["threads"]:
        yield from thread["calls"]


def from_chrome(folder, trace):
    for event in json.loads(tracebed(folder, "export", "--to=chrome", "-o", "-", trace))["traceEvents"]:
        if event["ph"] != "M":
            yield {**event.get("args", {}), "name": event["name"]}


def from_diff(folder, trace):
    yield from json.loads(tracebed(folder, "diff", "--json", "--limit=0", trace, trace))["rows"]


def from_aggregate(folder, trace):
    yield from json.loads(tracebed(folder, "aggregate", "--json", trace, trace))["rows"]


class IdInfo(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("id", ctypes.c_uint32), ("function", ctypes.c_char_p),
                ("file", ctypes.c_char_p), ("line", ctypes.c_uint32), ("module", ctypes.c_char_p),
                ("pc", ctypes.c_uint64), ("frame_count", ctypes.c_size_t)]  # fmt: skip


class Name(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char_p), ("nbytes", ctypes.c_size_t), ("id", ctypes.c_uint32)]


def from_library(folder, trace):
    """The ids that dump found, as the reading library resolves them: by what is in the file."""
    library = ctypes.CDLL(str(cases.BUILD / "libtracebed-reader.so"))
    reader, info, name = ctypes.c_void_p(), IdInfo(), Name()
    path = os.path.join(folder, trace).encode()
    assert library.tbed_reader_open(path, None, ctypes.byref(reader), None) == 0
    for event in from_dump(folder, trace):
        assert library.tbed_id_resolve_sized(reader, event["id"], ctypes.byref(info), ctypes.c_size_t(ctypes.sizeof(info)))
        assert library.tbed_name_get(reader, event["id"], ctypes.byref(name)) == 0
        yield {"name": name.text.decode(), "line": info.line or None,
               **{key: (getattr(info, key) or b"").decode() or None for key in ("function", "file", "module")}}  # fmt: skip
    library.tbed_reader_close(reader)


VERBS = {"dump": from_dump, "report": from_report, "tree": from_tree, "tree --calls": from_calls, "export": from_chrome,
         "diff": from_diff, "aggregate": from_aggregate}
TEXTS = {"dump": [], "report": [], "tree": [], "tree --calls": [], "flame": ["--folded", "-o", "-"], "aggregate": []}


# ---- What they should say ----

def check(folder, trace, expected, verbs):
    """Each verb has all of these ids, and says the same of each; and says it in words."""
    for verb, read in verbs.items():
        found = {fields[1]: fields for fields in map(fields_of, read(folder, trace)) if fields[1] in expected}
        if found != expected:
            raise cases.Failure(f"{verb} {trace}: {found}, not {expected}")


def check_texts(folder, trace, expected, verbs):
    for verb in verbs:
        text = tracebed(folder, *verb.split(), *TEXTS[verb], trace)
        for name, *_ in expected.values():
            if name not in text:
                raise cases.Failure(f"{verb} {trace}: no '{name}' in:\n{text}")


def build(folder, *flags):
    path = os.path.join(folder, "prog.c")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    cases.output_of(folder, "gcc", *flags, "-O1", "-finstrument-functions", "-Wl,--build-id=sha1", "-o", "prog", path)
    tracebed(folder, "record", "-f", "--functions", "-o", "calls.tbed", "--", "./prog")
    tracebed(folder, "record", "-f", "--stacks", "-o", "heap.tbed", "--", "./prog")
    return path


def check_all(folder, calls, sites, with_library):
    verbs = {**VERBS, "the library": from_library} if with_library else VERBS
    check(folder, "calls.tbed", calls, verbs)
    check_texts(folder, "calls.tbed", calls, TEXTS)
    of_sites = {verb: read for verb, read in verbs.items() if verb in ("dump", "report", "the library")}
    check(folder, "heap.tbed", sites, of_sites)
    check_texts(folder, "heap.tbed", sites, ["dump", "report"])


def check_states(folder, calls, sites):
    check_all(folder, calls, sites, False)
    for trace in ("calls.tbed", "heap.tbed"):
        tracebed(folder, "symbolize", trace)
    check_all(folder, calls, sites, True)
    os.unlink(os.path.join(folder, "prog"))
    check_all(folder, calls, sites, True)


def test_functions_with_lines(folder):
    path = build(folder, "-g")
    rows = lambda lines: {name: (f"{name} {path}:{line}", name, path, line, "prog") for name, line in lines.items()}
    check_states(folder, rows(ENTRIES), rows(SITES))


def test_functions_without_lines(folder):
    build(folder)
    rows = lambda names: {name: (f"prog!{name}", name, None, None, "prog") for name in names}
    check_states(folder, rows(ENTRIES), rows(["leaf"]))  # make() was inlined


def test_units_of_a_language_implementation(folder):
    cases.output_of(folder, cases.BUILD / "writer/examples/toy_vm", "toy.tbed")
    lines = {"<top>": 14, "loop": 7, "leaf": 2}
    expected = {name: (f"{name} toy.src:{line}", name, "toy.src", line, None) for name, line in lines.items()}
    is_begin = lambda row: row.get("type") in (None, "begin") and "bytes" not in row  # not a site
    begins = lambda read: lambda *where: filter(is_begin, read(*where))
    check(folder, "toy.tbed", expected, {verb: begins(read) for verb, read in VERBS.items()})
    check_texts(folder, "toy.tbed", expected, TEXTS)


LABELS = """#include <tracebed/writer.h>
int main(void)
{
    struct tbed_writer_options options = {.size = sizeof options};
    struct tbed_writer *writer;
    if (tbed_writer_open("labels.tbed", &options, &writer, NULL) != TBED_OK)
        return 1;
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    uint32_t label = tbed_string_intern(writer, "query", 5);
    for (char c = 'a'; c <= 'c'; c++) {
        struct tbed_component parts[] = {{.id = label}, {.text = "\\x1E", .nbytes = 1}, {.text = &c, .nbytes = 1}};
        uint32_t id = tbed_string_alloc(writer, parts, 3);
        tbed_span_begin(recorder, id);
        tbed_instant_record(recorder, id);
        tbed_span_end(recorder);
    }
    tbed_recorder_close(recorder);
    tbed_writer_close(writer);
    return 0;
}
"""


def test_spans_are_one_row_by_their_label(folder):
    with open(os.path.join(folder, "labels.c"), "w", encoding="utf-8") as file:
        file.write(LABELS)
    cases.output_of(folder, "gcc", *cases.includes("format", "writer"), "labels.c", cases.BUILD / "libtracebed.a",
                    "-lpthread", "-lm", "-o", "labels")  # fmt: skip
    cases.output_of(folder, "./labels")
    for verb in ("report", "tree", "diff", "aggregate"):
        rows = [row for row in VERBS[verb](folder, "labels.tbed") if row["name"].startswith("query")]
        if [(row["name"], row.get("count", 3)) for row in rows] != [("query", 3)]:
            raise cases.Failure(f"{verb}: {rows}")
    for verb in ("dump", "tree --calls", "export"):  # each event is itself, and has its argument
        rows = [row for row in VERBS[verb](folder, "labels.tbed") if row["name"].startswith("query")]
        if len(rows) < 3 or not all(any(c in json.dumps(row).replace("query", "") for c in "abc") for row in rows):
            raise cases.Failure(f"{verb}: {rows}")


def test_a_symbol_file_that_is_another_build_names_nothing(folder):
    build(folder, "-g")
    cases.output_of(folder, "gcc", "-g", "-O0", "-Wl,--build-id=sha1", "-o", "prog", "prog.c")
    for verb, read in VERBS.items():
        for row in read(folder, "calls.tbed"):
            if row.get("function") is not None:
                raise cases.Failure(f"{verb}: {row}")


if __name__ == "__main__":
    sys.exit(cases.run_all(globals()))
