"""
Checks that programs which were compiled with older or newer headers work with this library, as tracebed/format.h
promises under "ABI".

  - Every public struct is of a kind that may grow, or is listed as one that never changes.
  - No field has moved or gone since the layout was written down in ninja/checks/abi.txt, and no struct that never
    changes has become longer. Fields that were added at the end are written down with --write.
  - A program is compiled with headers in which the structs that may grow lack their last field, and one with headers in
    which they have one more. Each runs with the current library; guards after the structs detect overwrites.

    check_abi.py [--write]

Check: abi
Needs: release

SPDX-License-Identifier: MIT
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import tree

ROOT = pathlib.Path.cwd()
BUILD = ROOT / os.environ.get("TBED_BUILD", "build/release")
LAYOUT = "ninja/checks/abi.txt"
FOLDERS = ["format/include", "writer/include", "writer/capture/include", "reader/include", "reader/exchange/include"]
HEADERS = ["format", "recorder", "trace", "logfile", "reader", "filter", "analysis", "calls", "follow", "compare", "symbols",
           "exchange", "copy", "timeline", "verify", "suppressions", "flows",
           "activity", "window", "tables", "export"]

# Handed out as pointers to const, or to a function of the caller's.
HANDED_OUT = {
    "tbed_span_row", "tbed_instant_row", "tbed_counter_row", "tbed_message_row",
    "tbed_artifact_row", "tbed_stack_row", "tbed_allocation_process", "tbed_allocation_moment",
    "tbed_allocation_site", "tbed_allocation_suppression", "tbed_assembled", "tbed_format", "tbed_difference",
    "tbed_call_difference", "tbed_stack_difference", "tbed_divergence",
    "tbed_follow_thread", "tbed_follow_label",
    "tbed_timeline_row", "tbed_timeline_counter",
    "tbed_flow_row", "tbed_flow_part", "tbed_flow", "tbed_activity_row", "tbed_window_part", "tbed_mark_row",
    "tbed_table", "tbed_column",
}  # fmt: skip
NEVER_CHANGES = {
    # Values.
    "tbed_error", "tbed_argument", "tbed_arguments", "tbed_component", "tbed_frame_names", "tbed_unit",
    "tbed_unit_info", "tbed_frame_info", "tbed_binding_info", "tbed_string_component", "tbed_string_node", "tbed_name",
    "tbed_allocation_sums", "tbed_spread", "tbed_import_damage", "tbed_rtl_part", "tbed_rtl_fields",
    "tbed_symbols_module", "tbed_frame", "tbed_call", "tbed_duration_count", "tbed_durations",
    "tbed_call_durations", "tbed_stack_figures", "tbed_follow_span",
    "tbed_timeline_spans", "tbed_timeline_values", "tbed_mark_values", "tbed_flow_point", "tbed_flow_stretch",
    "tbed_column_values", "tbed_batch", "tbed_constraint",
    # Used by inline functions and macros.
    "tbed_recorder", "tbed_recorder_kept", "tbed_open_span", "tbed_site", "tbed_category", "tbed_track", "tbed_thread",
    "tbed_span", "tbed_scope", "tbed_log", "tbed_id", "tbed_logfile_site", "tbed_logfile_scope", "tbed_payload", "tbed_words", "tbed_one_text",
}  # fmt: skip
CPP_ONLY = {"tbed_span_guard"}


def header_text():
    paths = [path for path in tree.files(".h") if "/include/tracebed/" in path]
    return re.sub(r"/\*.*?\*/", "", "".join(tree.read(path) for path in paths), flags=re.S)


def structs(text):
    """name -> its fields, as text; those with braces of their own in it too."""
    return dict(re.findall(r"^struct (tbed_\w+) \{\n(.*?)^\};", text, re.M | re.S))


def growing(text):
    """Options, and what the functions named ..._sized() take."""
    sized = set()
    for prototype in re.findall(r"\btbed_\w+_sized\(([^;{]*?)\);", text):
        sized |= set(re.findall(r"struct (tbed_\w+) \*\w+", prototype))
    found = structs(text)
    options = {name for name, fields in found.items() if fields.lstrip().startswith("size_t size;")}
    return options, {name for name in sized if name in found and name not in NEVER_CHANGES} - options


def check_kinds(text):
    options, sized = growing(text)
    for name in sorted(structs(text)):
        kinds = [name in kind for kind in (options, sized, HANDED_OUT, NEVER_CHANGES, CPP_ONLY)]
        if sum(kinds) == 0:
            yield (f"struct {name}: may it grow? Begin it with its size, pass its size to a function ..._sized(), or "
                   f"list it in {os.path.relpath(__file__)}; see \"ABI\" in tracebed/format.h")
        elif sum(kinds) > 1 and name not in HANDED_OUT:
            yield f"struct {name}: is of two kinds"


# ---- Layout ----

def layouts(text):
    """name -> [(offset, type and name)] of each struct, as clang lays it out on this machine."""
    names = sorted(set(structs(text)) - CPP_ONLY)
    source = "".join(f"#include <tracebed/{header}.h>\n" for header in HEADERS)
    source += "".join(f"int size_of_{name}[sizeof(struct {name})];\n" for name in names)
    command = ["clang", "-std=gnu17", *(f"-I{folder}" for folder in FOLDERS), "-fsyntax-only", "-Xclang",
               "-fdump-record-layouts-complete", "-x", "c", "-"]
    run = subprocess.run(command, input=source, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    found = {}
    for record in run.stdout.split("*** Dumping AST Record Layout")[1:]:
        head = re.search(r"^\s+0 \| struct (tbed_\w+)$", record, re.M)
        if head is None or head.group(1) not in names:
            continue
        fields = re.findall(r"^\s+(\d+) \|   (\S.*)$", record, re.M)
        found[head.group(1)] = [(int(offset), re.sub(r" at [^)]*\)", ")", field)) for offset, field in fields]
    return found


def write_layouts(found):
    lines = ["# The public structs on a machine with 64 bits. Written by ninja/checks/check_abi.py --write."]
    for name, fields in sorted(found.items()):
        lines += ["", name] + [f"{offset:6} {field}" for offset, field in fields]
    (ROOT / LAYOUT).write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_layouts():
    found = {}
    for line in tree.read(LAYOUT).splitlines():
        if re.match(r"tbed_", line):
            fields = found.setdefault(line, [])
        elif re.match(r" +\d", line):
            offset, field = line.split(None, 1)
            fields.append((int(offset), field))
    return found


def check_layouts(found):
    written = read_layouts()
    for name, fields in sorted(written.items()):
        now = found.get(name)
        if now is None:
            yield f"struct {name}: is gone"
        elif now[: len(fields)] != fields:
            yield f"struct {name}: a field has changed that older programs use"
        elif len(now) > len(fields):
            verb = "has grown, which it may not" if name in NEVER_CHANGES else "has grown"
            yield f"struct {name}: {verb}; --write writes that down"
    for name in sorted(set(found) - set(written)):
        yield f"struct {name}: is new; --write writes that down"


# ---- Older and newer programs ----

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>
#include <tracebed/compare.h>
#include <tracebed/exchange.h>
#include <tracebed/reader.h>
#include <tracebed/symbols.h>
#include <tracebed/recorder.h>

static int failures;
#define EXPECT(truth) (void)((truth) || (failures++, printf("line %d: not %s\n", __LINE__, #truth)))

/* A struct with a guard behind it, all bytes set. */
#define GUARDED(type, name) \
    struct { struct type value; unsigned char guard[512]; } name; memset(&name, 0xA5, sizeof name)
#define EXPECT_GUARD(name) EXPECT(is_untouched(name.guard, sizeof name.guard))
#ifdef NEWER
#define EXPECT_ADDED(name) EXPECT(name.value.added_later == 0)
#else
#define EXPECT_ADDED(name) (void)0
#endif
#define EXPECT_FILLED(name) EXPECT_GUARD(name); EXPECT_ADDED(name)

static bool is_untouched(const unsigned char *bytes, size_t nbytes)
{
    while (nbytes > 0 && bytes[nbytes - 1] == 0xA5)
        nbytes--;
    return nbytes == 0;
}

static void record(void)
{
    struct tbed_writer_options options = {.size = sizeof options, .given_ticks = true,
                                           .given_ticks_per_second = 1000000000};
    struct tbed_writer *writer;
    EXPECT(tbed_writer_open("run.tbed", &options, &writer, NULL) == TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread");
    uint32_t id = tbed_string_intern(writer, "span", 4);
    struct tbed_given_event begin = {.type = TBED_GIVEN_BEGIN, .id = id, .category = TBED_ID_INVALID, .tick = 10};
    struct tbed_given_event end = {.type = TBED_GIVEN_END, .tick = 20};
    tbed_event_record_given(recorder, &begin);
    tbed_event_record_given(recorder, &end);
    uint32_t line_map[] = {0, 7};
    struct tbed_unit_options unit = {.size = sizeof unit, .kind = TBED_UNIT_BYTECODE, .pc_count = 4, .name = "unit",
                                     .file = "unit.rb", .first_line = 7, .lines = line_map};
    uint32_t first_id = tbed_unit_register(writer, &unit);
    EXPECT(first_id != TBED_ID_INVALID);
    tbed_unit_load_record(writer, first_id, 4096, 4);
#ifdef NEWER
    struct tbed_given_event asks = begin;
    asks.added_later = 1;
    tbed_event_record_given(recorder, &asks); /* dropped, counted */
    unit.added_later = 1;
    EXPECT(tbed_unit_register(writer, &unit) == TBED_ID_INVALID);
    options.added_later = 1;
    struct tbed_writer *other;
    EXPECT(tbed_writer_open("other.tbed", &options, &other, NULL) == TBED_ERR_ARGUMENT);
#endif
    tbed_writer_close(writer);
}

static void read_records(struct tbed_reader *reader)
{
    GUARDED(tbed_trace_info, info);
    GUARDED(tbed_process_info, process);
    GUARDED(tbed_stream_info, stream);
    GUARDED(tbed_load_info, load);
    GUARDED(tbed_location, location);
    GUARDED(tbed_damage, damage);
    tbed_reader_info(reader, &info.value);
    EXPECT(info.value.event_block_count == 1 && info.value.last_tick == 20);
    EXPECT_FILLED(info);
    EXPECT(tbed_process_get(reader, 0, &process.value) && process.value.stream == 1);
    EXPECT_FILLED(process);
    EXPECT(tbed_stream_get(reader, 0, &stream.value));
    EXPECT_FILLED(stream);
    EXPECT(tbed_load_get(reader, 0, &load.value) && load.value.address == 4096);
    EXPECT_FILLED(load);
    EXPECT(tbed_location_resolve(reader, load.value.first_id, &location.value));
    EXPECT(location.value.unit.base == 0 && location.value.frame_count == 1);
    EXPECT_FILLED(location);
    EXPECT(!tbed_damage_get(reader, 0, &damage.value));
    EXPECT(is_untouched((unsigned char *)&damage, sizeof damage));
}

static void read_events(struct tbed_reader *reader)
{
    GUARDED(tbed_block, block);
    GUARDED(tbed_event, event);
    struct tbed_cursor *cursor;
    struct tbed_merge *merge;
    size_t first, count;
    EXPECT(tbed_event_block_get(reader, 0, &block.value) == TBED_OK && block.value.kind == TBED_BLOCK_EVENTS);
    EXPECT_FILLED(block);
    tbed_stream_blocks(reader, block.value.stream, &first, &count);
    EXPECT(tbed_cursor_open(reader, block.value.stream, &cursor) == TBED_OK);
    EXPECT(tbed_cursor_next(cursor, &event.value) == TBED_OK && event.value.tick == 10);
    EXPECT_FILLED(event);
    EXPECT(tbed_cursor_next(cursor, &event.value) == TBED_OK && event.value.type == TBED_EVENT_END);
    tbed_cursor_close(cursor);
    memset(&event, 0xA5, sizeof event);
    EXPECT(tbed_merge_open(reader, NULL, 0, &merge) == TBED_OK);
    EXPECT(tbed_merge_next(merge, &event.value) == TBED_OK && event.value.tick == 10);
    EXPECT_FILLED(event);
    tbed_merge_close(merge);
}

static void analyse(struct tbed_reader *reader)
{
    GUARDED(tbed_statistics_totals, statistics_totals);
    GUARDED(tbed_stacks_totals, stacks_totals);
    GUARDED(tbed_comparison_row, row);
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_stacks_options stacks_options = {.size = sizeof stacks_options};
    struct tbed_statistics *statistics;
    struct tbed_stacks *stacks;
    struct tbed_comparison *comparison;
    EXPECT(tbed_statistics_make(reader, &options, &statistics) == TBED_OK);
    tbed_statistics_totals(statistics, &statistics_totals.value);
    EXPECT(statistics_totals.value.event_count == 2);
    EXPECT_FILLED(statistics_totals);
    EXPECT(tbed_stacks_make(reader, &stacks_options, &stacks) == TBED_OK);
    tbed_stacks_totals(stacks, &stacks_totals.value);
    EXPECT_FILLED(stacks_totals);
    tbed_stacks_close(stacks);
    EXPECT(tbed_comparison_open(&comparison) == TBED_OK);
    EXPECT(tbed_comparison_add(comparison, statistics, reader) == TBED_OK);
    EXPECT(tbed_comparison_row(comparison, 0, &row.value) && strcmp(row.value.label, "span") == 0);
    EXPECT_FILLED(row);
    EXPECT(tbed_comparison_figures(comparison, 0, 0).present);
    struct tbed_span_row rows[2] = {{.name = "a", .name_nbytes = 1, .count = 1},
                                    {.name = "b", .name_nbytes = 1, .count = 2}};
    struct tbed_comparison_run run = {.rows = rows, .row_count = 2};
    EXPECT(tbed_comparison_add_run(comparison, &run) == TBED_OK);
    EXPECT(tbed_comparison_row(comparison, 1, &row.value) && strcmp(row.value.label, "b") == 0);
    tbed_comparison_close(comparison);
    tbed_statistics_close(statistics);
#ifdef NEWER
    options.added_later = 1;
    EXPECT(tbed_statistics_make(reader, &options, &statistics) == TBED_ERR_ARGUMENT);
#endif
}

static void exchange(struct tbed_reader *reader)
{
    GUARDED(tbed_export_report, export_report);
    GUARDED(tbed_import_report, import_report);
    GUARDED(tbed_chrome_report, chrome_report);
    GUARDED(tbed_rtl_report, rtl_report);
    struct tbed_profile_export_options profile = {.size = sizeof profile, .version = 9};
    struct tbed_import_options import = {.size = sizeof import};
    struct tbed_chrome_options chrome = {.size = sizeof chrome};
    struct tbed_rtl_options rtl = {.size = sizeof rtl};
    EXPECT(tbed_export_profile(reader, "run.mm_profdata", &profile, &export_report.value, NULL) == TBED_OK);
    EXPECT(export_report.value.event_count == 1);
    EXPECT_FILLED(export_report);
    EXPECT(tbed_import("run.mm_profdata", "back.tbed", &import, &import_report.value, NULL) == TBED_OK);
    EXPECT(import_report.value.interval_count == 1);
    EXPECT_FILLED(import_report);
    EXPECT(tbed_export_chrome(&reader, 1, "run.json", &chrome, &chrome_report.value, NULL) == TBED_OK);
    EXPECT(chrome_report.value.event_count > 0);
    EXPECT_FILLED(chrome_report);
    EXPECT(tbed_export_rtl_log(reader, "run.log", &rtl, &rtl_report.value, NULL) == TBED_OK);
    EXPECT_FILLED(rtl_report);
    EXPECT(tbed_export_chrome(&reader, 1, "again.json", &chrome, NULL, NULL) == TBED_OK);
}

int main(void)
{
    struct tbed_reader_options options = {.size = sizeof options, .copy = true};
    struct tbed_string_budget budget = {.size = sizeof budget, .depth = 3};
    struct tbed_symbols_options symbols_options = {.size = sizeof symbols_options, .no_inlines = true};
    struct tbed_reader *reader;
    uint64_t nbytes;
    record();
    EXPECT(tbed_reader_open("run.tbed", &options, &reader, NULL) == TBED_OK);
    EXPECT(tbed_string_length(reader, TBED_ID_INVALID, &budget, &nbytes) != TBED_ERR_ARGUMENT);
    struct tbed_symbols *symbols = tbed_symbols_open(&symbols_options);
    EXPECT(symbols != NULL);
    tbed_symbols_close(symbols);
    read_records(reader);
    read_events(reader);
    analyse(reader);
    exchange(reader);
    tbed_reader_close(reader);
#ifdef NEWER
    options.added_later = 1;
    EXPECT(tbed_reader_open("run.tbed", &options, &reader, NULL) == TBED_ERR_ARGUMENT);
    symbols_options.added_later = 1;
    EXPECT(tbed_symbols_open(&symbols_options) == NULL);
#endif
    return failures != 0;
}
"""


def top_level_fields(body):
    """The fields of a struct as pieces of its text; braces of unions stay together."""
    pieces, piece, depth = [], "", 0
    for line in body.splitlines(True):
        piece += line
        depth += line.count("{") - line.count("}")
        if depth == 0 and line.rstrip().endswith(";"):
            pieces.append(piece)
            piece = ""
    return pieces


def without_last_field(body):
    pieces = top_level_fields(body)
    last = re.sub(r",\s*\*?\w+(\[\w+\])?;\s*$", ";\n", pieces[-1])  # one of 'a, b, c;'
    pieces[-1] = last if last != pieces[-1] else ""
    return "".join(pieces)


def with_one_more(body):
    return body + "    unsigned long long added_later;\n"


def change_headers(folder, change, names):
    """Copies of all headers, the structs of these names changed."""
    for path in tree.files(".h"):
        if "/include/tracebed/" not in path:
            continue
        text = re.sub(r"/\*.*?\*/", "", tree.read(path), flags=re.S)
        text = re.sub(r"^struct (tbed_\w+) \{\n(.*?)^\};",
                      lambda found: f"struct {found[1]} {{\n{change(found[2]) if found[1] in names else found[2]}}};",
                      text, flags=re.M | re.S)
        target = folder / "tracebed" / pathlib.Path(path).name
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")


def try_program(which, change, names):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        change_headers(folder, change, names)
        (folder / "prog.c").write_text(PROGRAM, encoding="utf-8")
        command = ["gcc", "-std=gnu17", "-g", "-Wall", "-Werror", f"-D{which}", "-I.", "prog.c", "-o", "prog",
                   f"-L{BUILD}", "-ltracebed", "-ltracebed-reader", f"-Wl,-rpath,{BUILD}"]
        for step in (command, ["./prog"]):
            run = subprocess.run(step, cwd=folder, capture_output=True, text=True)
            if run.returncode != 0:
                return [f"a program with {which} headers: {' '.join(step)}\n{run.stdout}{run.stderr}"]
    return []


def main():
    text = header_text()
    found = layouts(text)
    if "--write" in sys.argv:
        write_layouts(found)
    options, sized = growing(text)
    problems = [*check_kinds(text), *check_layouts(found)]
    problems += try_program("PRESENT", lambda body: body, set())
    problems += try_program("OLDER", without_last_field, options | sized | HANDED_OUT)
    problems += try_program("NEWER", with_one_more, options | sized | HANDED_OUT)
    return tree.report(problems)


if __name__ == "__main__":
    sys.exit(main())
