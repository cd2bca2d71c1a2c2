/*
 * tracebed info: show the properties of a trace. Reads the directory and records, but no events.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/shared/tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tracebed info [--json] FILE\n"
    "\n"
    "Show the size, clock, start, duration, processes, threads, drops and metadata of\n"
    "a trace. Only the directory and records are read, so the command returns at\n"
    "once, even for large traces. FILE may be '-' for standard input. For a measureme\n"
    "profile or an RTL_LOGFILE log, show its size, format and counts, and any\n"
    "oddities found.\n"
    "\n"
    "      --json          print everything as one JSON object\n"
    "      --color=WHEN    use color: never, auto or always\n"
    "  -h, --help          print this help\n"
    "\n"
    "Examples:\n"
    "  tracebed info run.tbed\n"
    "  tracebed info --json run.tbed | jq .duration_ns\n"
    "\n"
    "Exit status: 0 on success; 1 if the file is damaged (everything intact is\n"
    "shown); 2 if the usage is wrong or the file cannot be read.\n";

enum { OPTION_JSON = 2000 };

struct state {
    struct tbed_reader *reader;
    const char *path;
    struct tbed_trace_info info;
    const struct tbed_import_report *foreign; /* NULL: a native trace */
    bool is_written;                          /* a writer is certainly alive */
};

/* ---- Text ---- */

static void put_field(const char *name)
{
    printf("  %s%-10s%s", tool_dim(), name, tool_plain());
}

static void put_series(const struct tbed_trace_info *info)
{
    char number[32];
    if (info->series_number == 0)
        return;
    put_field("series");
    printf("file %s of %016" PRIx64, tool_format_count(number, info->series_number), info->series_id);
    if (info->previous_file_id != 0)
        printf(", follows %016" PRIx64, info->previous_file_id);
    printf("\n");
    if (info->series_failed_count == 0)
        return;
    put_field("");
    printf("The next file could not be created, at least %s time%s; this one was continued.\n",
           tool_format_count(number, info->series_failed_count), info->series_failed_count == 1 ? "" : "s");
}

static void put_size(const struct state *state)
{
    char size[32], exact[32], pages[32], page[32];
    const struct tbed_trace_info *info = &state->info;
    put_field("size");
    printf("%s (%s bytes), %s pages of %s\n", tool_format_bytes(size, (double)info->file_nbytes),
           tool_format_count(exact, info->file_nbytes), tool_format_count(pages, info->page_count),
           tool_format_bytes(page, info->page_nbytes));
    if (info->packed_nbytes != 0) {
        put_field("packed");
        printf("%s (%s bytes), %.1f%%; 'tracebed unpack' restores it\n",
               tool_format_bytes(size, (double)info->packed_nbytes),
               tool_format_count(exact, info->packed_nbytes),
               100.0 * (double)info->packed_nbytes / (double)info->file_nbytes);
    }
    if (info->ring_page_count != 0) {
        put_field("mode");
        printf("flight recorder: keeps the newest %s of events\n",
               tool_format_bytes(size, (double)info->ring_page_count * info->page_nbytes));
    }
    put_field("file id");
    printf("%016" PRIx64 "\n", info->file_id);
    put_series(info);
}

static void put_shut(bool is_damaged)
{
    put_field("state");
    if (is_damaged)
        printf("%sdamaged%s since it was closed\n", tool_red(), tool_plain());
    else
        printf("%scleanly closed%s\n", tool_green(), tool_plain());
}

static void put_open(const struct state *state, bool is_damaged)
{
    const struct tbed_trace_info *info = &state->info;
    char count[32];
    put_field("state");
    if (state->is_written)
        printf("%sbeing written%s by a running program\n", tool_bold(), tool_plain());
    else
        printf("%snot cleanly closed%s: its program was killed, crashed, or is still running\n", tool_bold(),
               tool_plain());
    put_field("");
    if (is_damaged)
        printf("%sIt is damaged as well%s; everything intact can be read.\n", tool_red(), tool_plain());
    else if (state->is_written)
        printf("Everything recorded so far can be read; more may follow.\n");
    else
        printf("This is not damage. Everything that was recorded can be read; there is nothing to "
               "repair.\n");
    put_field("");
    printf("%s unsealed block%s ha%s no checksum yet.\n",
           tool_format_count(count, info->unsealed_block_count), info->unsealed_block_count == 1 ? "" : "s",
           info->unsealed_block_count == 1 ? "s" : "ve");
}

static void put_closed(const struct state *state)
{
    bool is_damaged = tool_damage_count(state->reader) > 0;
    if (state->info.shut)
        put_shut(is_damaged);
    else
        put_open(state, is_damaged);
}

static const char *clock_name(enum tbed_clock clock)
{
    static const char *const names[] = {[TBED_CLOCK_X86_TSC] = "x86 time stamp counter",
                                        [TBED_CLOCK_ARM64_VIRTUAL] = "arm64 virtual counter",
                                        [TBED_CLOCK_MONOTONIC] = "CLOCK_MONOTONIC",
                                        [TBED_CLOCK_USER] = "a counter of the program's own"};
    return clock < sizeof names / sizeof names[0] && names[clock] != NULL ? names[clock] : "unknown";
}

/* That a clock is the default needs no words. */
static void put_clock_reason(enum tbed_clock_reason reason)
{
    static const char *const texts[] = {
        [TBED_CLOCK_ASKED_FOR] = "It was asked for.",
        [TBED_CLOCK_NOT_OFFERED] = "The kernel does not offer the time stamp counter as a clock.",
        [TBED_CLOCK_NOT_STEADY] = "The processor has no steady time stamp counter."};
    if (reason >= sizeof texts / sizeof texts[0] || texts[reason] == NULL)
        return;
    put_field("");
    puts(texts[reason]);
}

static void put_clock(const struct state *state)
{
    const struct tbed_trace_info *info = &state->info;
    char rate[32];
    put_field("clock");
    fputs(clock_name(info->clock), stdout);
    if (info->ticks_per_second != 0)
        printf(", %s ticks per second", tool_format_count(rate, info->ticks_per_second));
    if (info->clock == TBED_CLOCK_USER) {
        fputs(", counts ", stdout);
        tool_print_text(stdout, info->clock_unit, strlen(info->clock_unit), 0);
    }
    putchar('\n');
    put_clock_reason(info->clock_reason);
}

static double duration_ns(const struct state *state)
{
    const struct tbed_trace_info *info = &state->info;
    return (double)tbed_ticks_to_ns(state->reader, info->last_tick) -
           (double)tbed_ticks_to_ns(state->reader, info->first_tick);
}

/* A profile without a start time starts at 0 of its clock, which is not a wall-clock time. */
static bool knows_start(const struct state *state, int64_t *realtime_ns_ret)
{
    return tbed_ticks_to_realtime_ns(state->reader, state->info.first_tick, realtime_ns_ret) == TBED_OK &&
           (state->foreign == NULL || *realtime_ns_ret != 0);
}

static void put_time(const struct state *state)
{
    const struct tbed_trace_info *info = &state->info;
    char wall[48], duration[32];
    int64_t realtime_ns;
    if (info->event_block_count == 0)
        return;
    if (knows_start(state, &realtime_ns)) {
        put_field("start");
        puts(tool_format_wall(wall, realtime_ns));
    }
    put_field("duration");
    if (info->clock != TBED_CLOCK_USER) {
        puts(tool_format_ns(duration, duration_ns(state)));
        return;
    }
    printf("%s ", tool_format_count(duration, info->last_tick - info->first_tick));
    tool_print_text(stdout, info->clock_unit, strlen(info->clock_unit), 0);
    putchar('\n');
}

static void put_counted(const char *before, uint64_t count, const char *what)
{
    char figure[32];
    printf("%s%s %s%s", before, tool_format_count(figure, count), what, count == 1 ? "" : "s");
}

static void put_code(const struct state *state)
{
    const struct tbed_trace_info *info = &state->info;
    if (info->unit_count == 0 && info->stack_count == 0)
        return;
    put_field("code");
    put_counted("", info->unit_count, "unit");
    if (info->stack_count > 0)
        put_counted(", ", info->stack_count, "call stack");
    if (info->described_count > 0)
        put_counted(", ", info->described_count, "place"), fputs(" with functions and lines", stdout);
    if (info->drops[TBED_DROP_IDS_EXHAUSTED] > 0)
        put_counted("; ids were exhausted: ", info->drops[TBED_DROP_IDS_EXHAUSTED], "place"),
            fputs(" not known", stdout);
    putchar('\n');
}

static void put_blocks(const struct state *state)
{
    const struct tbed_trace_info *info = &state->info;
    char events[32], strings[32], records[32], unwritten[32];
    put_field("blocks");
    printf("%s of events, %s of strings, %s of records", tool_format_count(events, info->event_block_count),
           tool_format_count(strings, info->string_block_count),
           tool_format_count(records, info->record_block_count));
    if (info->unwritten_page_count != 0)
        printf("; %s pages claimed ahead and unused",
               tool_format_count(unwritten, info->unwritten_page_count));
    putchar('\n');
    put_code(state);
}

static void put_drops(const struct state *state)
{
    const uint64_t *drops = state->info.drops;
    char total[32];
    if (tool_drops_total(drops) == 0)
        return;
    put_field("");
    printf("%s%sRECORDS ARE MISSING%s: %s dropped: ", tool_bold(), tool_red(), tool_plain(),
           tool_format_count(total, tool_drops_total(drops)));
    tool_print_drops(stdout, drops);
    putchar('\n');
    for (unsigned cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++)
        if (drops[cause] != 0 && tool_drop_reason(cause) != NULL) {
            put_field("");
            printf("%s: %s\n", tbed_drop_cause_text(cause), tool_drop_reason(cause));
        }
}

static void put_losses(const struct state *state)
{
    struct tbed_lost_info lost;
    if (!tbed_lost_get(state->reader, 0, &lost))
        return;
    put_field("lost");
    printf("%s%sblocks%s, before the trace was recovered:\n", tool_bold(), tool_red(), tool_plain());
    tool_print_losses(stdout, state->reader, "            ");
}

/* A ring keeps the newest blocks of each thread, so older ones of a quiet thread outlive newer ones of another. */
static void put_gaps(const struct state *state)
{
    uint64_t count = tool_count_gone(state->reader);
    if (count == 0)
        return;
    put_field("gaps");
    put_counted("", count, "block");
    printf(" %s missing between others; the flight recorder has no room for all:\n",
           count == 1 ? "is" : "are");
    tool_print_gaps(stdout, state->reader, &state->info, "            ");
}

static void put_name(const struct state *state, uint32_t id)
{
    if (id == TBED_ID_INVALID)
        putchar('-');
    else
        tool_print_name(stdout, state->reader, id, 0);
}

static void put_processes(const struct state *state)
{
    struct tbed_process_info process;
    if (!tbed_process_get(state->reader, 0, &process))
        return;
    printf("\n%s%10s %10s %10s  %s%s\n", tool_bold(), "process", "pid", "parent", "name", tool_plain());
    for (size_t i = 0; tbed_process_get(state->reader, i, &process); i++) {
        printf("%10u %10u %10u  ", process.stream, process.pid, process.parent_pid);
        put_name(state, process.name_id);
        putchar('\n');
    }
}

static const char *kind_name(uint32_t kind)
{
    static const char *const names[] = {"-", "thread", "track", "handlers", "off CPU"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : "-";
}

static void put_streams(const struct state *state)
{
    struct tbed_stream_info stream;
    if (!tbed_stream_get(state->reader, 0, &stream))
        return;
    const char *blocks = state->foreign == NULL ? "blocks" : "";
    printf("\n%s%10s %10s %10s %10s  %-8s  %s%s\n", tool_bold(), "stream", "process", "tid", blocks, "kind",
           "name", tool_plain());
    for (size_t i = 0; tbed_stream_get(state->reader, i, &stream); i++) {
        char count[16] = "";
        if (state->foreign == NULL)
            snprintf(count, sizeof count, "%u", stream.block_count);
        printf("%10u %10u %10u %10s  %-8s  ", stream.stream, stream.process, stream.tid, count,
               kind_name(stream.kind));
        put_name(state, stream.name_id);
        putchar('\n');
    }
}

/* The text may have several lines. Each is marked, so that none can be taken for one of ours. */
static void put_metadata(const struct state *state)
{
    struct tool_buffer text = {0};
    if (tool_append_whole_name(&text, state->reader, TBED_ID_METADATA) == TBED_OK)
        printf("\n%smetadata%s\n", tool_bold(), tool_plain());
    else
        text.nbytes = 0;
    for (const char *at = text.bytes, *end = at + text.nbytes; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        fputs("  | ", stdout);
        tool_print_text(stdout, at, (size_t)(stop - at), 0);
        putchar('\n');
        at = stop + 1;
    }
    free(text.bytes);
}

/* ---- A foreign file: the imported trace is not shown ---- */

static const char *container_name(const struct tbed_import_report *foreign)
{
    return tool_profile_part(foreign, 0) != NULL ? "three files" : "one file";
}

static void put_foreign_clock(const struct state *state)
{
    put_field("clock");
    fputs("counts ", stdout);
    if (state->info.clock == TBED_CLOCK_USER)
        tool_print_text(stdout, state->info.clock_unit, strlen(state->info.clock_unit), 0);
    else
        fputs("nanoseconds", stdout);
    putchar('\n');
}

static void put_foreign_events(const struct tbed_import_report *foreign)
{
    put_field("events");
    put_counted("", foreign->event_count, "event");
    put_counted(" in ", foreign->thread_count, "thread");
    put_counted(": ", foreign->interval_count, "interval");
    put_counted(", ", foreign->instant_count, "instant");
    put_counted(", ", foreign->integer_count, "integer");
    putchar('\n');
    put_field("strings");
    put_counted("", foreign->string_count, "string");
    putchar('\n');
}

static void put_log(const struct state *state)
{
    const struct tbed_import_report *foreign = state->foreign;
    char size[32], exact[32];
    put_field("size");
    printf("%s (%s bytes)\n", tool_format_bytes(size, (double)foreign->file_nbytes),
           tool_format_count(exact, foreign->file_nbytes));
    put_field("format");
    puts("log of OpenOffice's RTL_LOGFILE");
    put_time(state);
    put_field("lines");
    put_counted("", foreign->line_count, "line");
    put_counted(" of ", foreign->thread_count, "thread");
    put_counted(": ", foreign->interval_count, "scope");
    put_counted(", ", foreign->message_count, "message");
    putchar('\n');
    tool_print_odd(foreign, "  odd       ");
    if (foreign->drop_count > 0)
        put_field("dropped"), put_counted("", foreign->drop_count, "record"), putchar('\n');
}

static const struct tbed_format *format_of(const struct tbed_import_report *foreign)
{
    const struct tbed_format *format;
    for (size_t i = 0; (format = tbed_format_get(i)) != NULL; i++)
        if (format->kind == foreign->kind)
            break;
    return format;
}

static void put_format(const struct tbed_import_report *foreign)
{
    put_field("format");
    if (foreign->kind == TBED_FOREIGN_PROFILE) {
        printf("profile of measureme, version %u, in %s\n", foreign->version, container_name(foreign));
        return;
    }
    fputs(format_of(foreign)->summary, stdout);
    if (foreign->version != 0)
        printf(", version %u", foreign->version);
    putchar('\n');
}

static void put_foreign(const struct state *state)
{
    const struct tbed_import_report *foreign = state->foreign;
    char size[32], exact[32];
    if (foreign->kind == TBED_FOREIGN_RTL_LOG) {
        put_log(state);
        return;
    }
    put_field("size");
    printf("%s (%s bytes)\n", tool_format_bytes(size, (double)foreign->file_nbytes),
           tool_format_count(exact, foreign->file_nbytes));
    put_format(foreign);
    put_field("state");
    if (foreign->damage_count == 0)
        printf("%sintact%s", tool_green(), tool_plain());
    else
        printf("%sdamaged%s", tool_red(), tool_plain()), put_counted(" in ", foreign->damage_count, "place");
    putchar('\n');
    put_foreign_clock(state);
    put_time(state);
    put_foreign_events(foreign);
    tool_print_notes(foreign, "  left out  ");
    if (foreign->drop_count > 0)
        put_field("dropped"), put_counted("", foreign->drop_count, "record"), putchar('\n');
}

static void put_ours(const struct state *state)
{
    put_size(state);
    put_closed(state);
    put_clock(state);
    put_time(state);
    put_blocks(state);
    put_gaps(state);
    put_drops(state);
    put_losses(state);
}

static void put_text(const struct state *state)
{
    const char *path = tool_path(state->path);
    fputs(tool_bold(), stdout);
    tool_print_text(stdout, path, strlen(path), 0);
    printf("%s\n", tool_plain());
    (state->foreign != NULL ? put_foreign : put_ours)(state);
    put_processes(state);
    put_streams(state);
    put_metadata(state);
}

/* ---- JSON ---- */

static void json_clock(struct tbed_json *out, const struct state *state)
{
    static const char *const kinds[] = {"auto", "x86_tsc", "arm64_virtual", "monotonic", "user"};
    static const char *const reasons[] = {NULL, "default", "asked_for", "counter_not_offered",
                                          "counter_not_steady"};
    const struct tbed_trace_info *info = &state->info;
    tbed_json_object_open(out, "clock");
    tbed_json_string(out, "kind", info->clock <= TBED_CLOCK_USER ? kinds[info->clock] : NULL);
    tbed_json_u64(out, "ticks_per_second", info->ticks_per_second);
    tbed_json_string(out, "unit", info->clock == TBED_CLOCK_USER ? info->clock_unit : NULL);
    tbed_json_string(out, "reason", reasons[info->clock_reason]);
    tbed_json_object_close(out);
}

static void json_time(struct tbed_json *out, const struct state *state)
{
    const struct tbed_trace_info *info = &state->info;
    char wall[48];
    int64_t start_ns;
    bool has_start = info->event_block_count > 0 && knows_start(state, &start_ns);
    tbed_json_u64(out, "first_tick", info->first_tick);
    tbed_json_u64(out, "last_tick", info->last_tick);
    tbed_json_string(out, "start", has_start ? tool_format_wall(wall, start_ns) : NULL);
    if (has_start)
        tbed_json_i64(out, "start_realtime_ns", start_ns);
    if (info->event_block_count == 0 || info->clock == TBED_CLOCK_USER)
        return;
    tbed_json_i64(out, "duration_ns",
                  tbed_ticks_to_ns(state->reader, info->last_tick) -
                      tbed_ticks_to_ns(state->reader, info->first_tick));
}

static void json_blocks(struct tbed_json *out, const struct state *state)
{
    const struct tbed_trace_info *info = &state->info;
    tbed_json_object_open(out, "blocks");
    tbed_json_u64(out, "events", info->event_block_count);
    tbed_json_u64(out, "strings", info->string_block_count);
    tbed_json_u64(out, "records", info->record_block_count);
    tbed_json_u64(out, "unsealed", info->unsealed_block_count);
    tbed_json_object_close(out);
    tbed_json_u64(out, "unwritten_pages", info->unwritten_page_count);
    tbed_json_u64(out, "units", state->info.unit_count);
    tbed_json_u64(out, "call_stacks", state->info.stack_count);
    tbed_json_u64(out, "described_places", state->info.described_count);
}

static void json_processes(struct tbed_json *out, const struct state *state)
{
    struct tbed_process_info process;
    tbed_json_array_open(out, "processes");
    for (size_t i = 0; tbed_process_get(state->reader, i, &process); i++) {
        tbed_json_object_open(out, NULL);
        tbed_json_u64(out, "process", process.stream);
        tbed_json_u64(out, "pid", process.pid);
        tbed_json_u64(out, "parent_pid", process.parent_pid);
        tool_json_name(out, "name", state->reader, process.name_id);
        tbed_json_u64(out, "forked_from", process.forked_from);
        tbed_json_u64(out, "tick", process.tick);
        tbed_json_u64(out, "end_tick", process.end_tick);
        tbed_json_object_close(out);
    }
    tbed_json_array_close(out);
}

static void json_streams(struct tbed_json *out, const struct state *state)
{
    struct tbed_stream_info stream;
    tbed_json_array_open(out, "streams");
    for (size_t i = 0; tbed_stream_get(state->reader, i, &stream); i++) {
        tbed_json_object_open(out, NULL);
        tbed_json_u64(out, "stream", stream.stream);
        tbed_json_u64(out, "process", stream.process);
        tbed_json_string(out, "kind", stream.kind != 0 ? kind_name(stream.kind) : NULL);
        tbed_json_u64(out, "tid", stream.tid);
        tool_json_name(out, "name", state->reader, stream.name_id);
        tbed_json_u64(out, "forked_from", stream.forked_from);
        tbed_json_u64(out, "of_thread", stream.of_thread);
        tbed_json_u64(out, "tick", stream.tick);
        tbed_json_u64(out, "end_tick", stream.end_tick);
        if (state->foreign == NULL)
            tbed_json_u64(out, "blocks", stream.block_count);
        tbed_json_object_close(out);
    }
    tbed_json_array_close(out);
}

static void json_series(struct tbed_json *out, const struct tbed_trace_info *info)
{
    char id[24];
    if (info->series_number == 0)
        return;
    tbed_json_object_open(out, "series");
    snprintf(id, sizeof id, "%016" PRIx64, info->series_id);
    tbed_json_string(out, "id", id);
    tbed_json_u64(out, "number", info->series_number);
    if (info->series_failed_count != 0)
        tbed_json_u64(out, "failed_rotations", info->series_failed_count);
    snprintf(id, sizeof id, "%016" PRIx64, info->previous_file_id);
    if (info->previous_file_id != 0)
        tbed_json_string(out, "follows", id);
    tbed_json_object_close(out);
}

static void json_file(struct tbed_json *out, const struct state *state)
{
    const struct tbed_trace_info *info = &state->info;
    char file_id[24];
    snprintf(file_id, sizeof file_id, "%016" PRIx64,
             info->file_id); /* JSON numbers cannot hold 64 bits safely */
    tbed_json_string(out, "file", tool_path(state->path));
    tbed_json_u64(out, "size", info->file_nbytes);
    tbed_json_u64(out, "page_size", info->page_nbytes);
    if (info->packed_nbytes != 0)
        tbed_json_u64(out, "packed_bytes", info->packed_nbytes);
    tbed_json_u64(out, "pages", info->page_count);
    tbed_json_u64(out, "ring_pages", info->ring_page_count);
    tbed_json_string(out, "file_id", file_id);
    json_series(out, info);
    tbed_json_bool(out, "cleanly_closed", info->shut && tool_damage_count(state->reader) == 0);
    tbed_json_bool(out, "being_written", state->is_written);
    tbed_json_u64(out, "writers", info->writer_count);
}

static void json_foreign_damage(struct tbed_json *out, const struct tbed_import_report *foreign)
{
    tbed_json_array_open(out, "damages");
    for (size_t i = 0; i < foreign->damage_count && i < TBED_IMPORT_DAMAGE_KEPT; i++) {
        const struct tbed_import_damage *damage = &foreign->damages[i];
        tbed_json_object_open(out, NULL);
        tbed_json_string(out, "check", tbed_status_name(damage->status));
        if (tool_profile_part(foreign, damage->file) != NULL)
            tbed_json_string(out, "part", tool_profile_part(foreign, damage->file));
        if (damage->offset != UINT64_MAX)
            tbed_json_u64(out, "offset", damage->offset);
        tbed_json_u64(out, "detail", damage->detail);
        tbed_json_object_close(out);
    }
    tbed_json_array_close(out);
}

static void json_log(struct tbed_json *out, const struct state *state)
{
    const struct tbed_import_report *foreign = state->foreign;
    tbed_json_string(out, "file", tool_path(state->path));
    tbed_json_u64(out, "size", foreign->file_nbytes);
    tbed_json_string(out, "format", "rtl-log");
    json_clock(out, state);
    json_time(out, state);
    tbed_json_u64(out, "lines", foreign->line_count);
    tbed_json_u64(out, "scopes", foreign->interval_count);
    tbed_json_u64(out, "messages", foreign->message_count);
    tbed_json_u64(out, "threads", foreign->thread_count);
    tbed_json_u64(out, "dropped", foreign->drop_count);
    tbed_json_object_open(out, "odd");
    for (unsigned odd = 0; odd < TBED_RTL_ODD_COUNT; odd++)
        tbed_json_u64(out, tbed_rtl_odd_key(odd), foreign->odd_counts[odd]);
    tbed_json_object_close(out);
}

static void json_notes(struct tbed_json *out, const struct tbed_import_report *foreign)
{
    tbed_json_u64(out, "messages", foreign->message_count);
    tbed_json_object_open(out, "left_out");
    for (unsigned note = 0; note < TBED_IMPORT_NOTE_COUNT; note++)
        tbed_json_u64(out, tbed_import_note_key(note), foreign->notes[note]);
    tbed_json_object_close(out);
}

static void json_foreign(struct tbed_json *out, const struct state *state)
{
    const struct tbed_import_report *foreign = state->foreign;
    if (foreign->kind == TBED_FOREIGN_RTL_LOG) {
        json_log(out, state);
        return;
    }
    tbed_json_string(out, "file", tool_path(state->path));
    tbed_json_u64(out, "size", foreign->file_nbytes);
    bool is_profile = foreign->kind == TBED_FOREIGN_PROFILE;
    tbed_json_string(out, "format", is_profile ? "measureme" : format_of(foreign)->name);
    tbed_json_u64(out, "version", foreign->version);
    if (is_profile)
        tbed_json_string(out, "container", container_name(foreign));
    json_clock(out, state);
    json_time(out, state);
    tbed_json_u64(out, "events", foreign->event_count);
    tbed_json_u64(out, "intervals", foreign->interval_count);
    tbed_json_u64(out, "instants", foreign->instant_count);
    tbed_json_u64(out, "integers", foreign->integer_count);
    tbed_json_u64(out, "strings", foreign->string_count);
    tbed_json_u64(out, "threads", foreign->thread_count);
    tbed_json_u64(out, "inverted", foreign->inverted_count);
    tbed_json_u64(out, "unordered", foreign->unordered_count);
    tbed_json_u64(out, "unpaired", foreign->unpaired_count);
    if (!is_profile)
        json_notes(out, foreign);
    tbed_json_u64(out, "dropped", foreign->drop_count);
    json_foreign_damage(out, foreign);
}

static void json_ours(struct tbed_json *out, const struct state *state)
{
    json_file(out, state);
    json_clock(out, state);
    json_time(out, state);
    json_blocks(out, state);
    tool_json_gaps(out, state->reader);
    tool_json_drops(out, "drops", state->info.drops);
    tool_json_losses(out, state->reader);
}

static void put_json(const struct state *state)
{
    struct tbed_json out = {.out = stdout};
    tbed_json_object_open(&out, NULL);
    (state->foreign != NULL ? json_foreign : json_ours)(&out, state);
    tbed_json_u64(&out, "damage", tool_damage_count(state->reader));
    json_processes(&out, state);
    json_streams(&out, state);
    tool_json_name(&out, "metadata", state->reader, TBED_ID_METADATA);
    tbed_json_object_close(&out);
    tbed_json_line(&out);
}

/* ---- The verb ---- */

static int show(const char *path, bool json)
{
    struct state state = {.reader = tool_open(path), .path = path};
    if (state.reader == NULL)
        return TOOL_TROUBLE;
    tbed_reader_info(state.reader, &state.info);
    state.foreign = tool_foreign_report(state.reader);
    state.is_written = !state.info.shut && tool_is_written(path);
    (json ? put_json : put_text)(&state);
    int exit = tool_damage_count(state.reader) > 0 ? TOOL_FOUND : TOOL_FINE;
    tool_tell_damage(path, state.reader);
    tbed_reader_close(state.reader);
    return tool_finish(exit);
}

static int run(int argc, char **argv)
{
    static const struct option longs[] = {{"json", no_argument, NULL, OPTION_JSON}, TOOL_COMMON_OPTIONS, {0}};
    int option, exit;
    bool json = false;
    while ((option = tool_option_next(&tool_verb_info, argc, argv, "h", longs, &exit)) != -1)
        json = true;
    if (exit >= 0)
        return exit;
    if (optind != argc - 1)
        return tool_usage(&tool_verb_info, optind < argc ? "too many FILE operands" : "missing FILE operand");
    return show(argv[optind], json);
}

const struct tool_verb tool_verb_info = {"info", "show the properties of a trace", help, run};
