/*
 * tracebed report --calls: the scopes of each thread one by one, indented, with time and duration.
 *
 * Scopes are spans, and pairs of messages "{ text" and "} text" of one context: the innermost open one of the same text,
 * else of a text that the closing one is the start of. A scope that was never closed ends with its thread's last event.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_BACK_MAX 1000 /* open scopes that a closing message is compared with */
#define INDENT_MAX    60   /* levels that are shown by indentation */

struct call {
    char *name;
    size_t nbytes;
    size_t context_nbytes; /* of a pair of messages: what stands before " : " */
    uint64_t begin_tick, end_tick;
    size_t depth;
    bool is_logical, is_unclosed, is_orphan;
};

/* Indexes of calls, outermost first. */
struct open_calls {
    size_t *items;
    size_t count, room;
};

struct calls {
    struct tbed_reader *reader;
    struct call *items;
    size_t count, room;
    struct open_calls spans, pairs;
    uint64_t last_tick;
};

/* ---- One thread ---- */

static struct call *add(struct calls *calls, const struct tbed_event *event, struct tool_text context,
                        struct tool_text text, bool is_logical)
{
    if (calls->count == calls->room) {
        calls->room = calls->room * 2 + 64;
        calls->items = tool_realloc(calls->items, calls->room * sizeof *calls->items);
    }
    struct tool_buffer name = {0};
    tool_append(&name, context.text, context.nbytes);
    tool_append(&name, " : ", is_logical && context.nbytes > 0 ? 3 : 0);
    tool_append(&name, text.text, text.nbytes);
    struct call *call = &calls->items[calls->count++];
    *call = (struct call){.name = name.bytes,
                          .nbytes = name.nbytes,
                          .context_nbytes = name.nbytes - text.nbytes,
                          .begin_tick = event->tick,
                          .end_tick = event->tick,
                          .depth = calls->spans.count + calls->pairs.count,
                          .is_logical = is_logical};
    return call;
}

static void open_last(struct calls *calls, struct open_calls *open)
{
    if (open->count == open->room) {
        open->room = open->room * 2 + 64;
        open->items = tool_realloc(open->items, open->room * sizeof *open->items);
    }
    open->items[open->count++] = calls->count - 1;
}

static struct call *take_out(struct calls *calls, struct open_calls *open, size_t at)
{
    struct call *call = &calls->items[open->items[at]];
    memmove(&open->items[at], &open->items[at + 1], (open->count - at - 1) * sizeof *open->items);
    open->count--;
    return call;
}

/* An END that no line of the log said: an outer scope ended. */
static bool is_supplied(const struct calls *calls, const struct tbed_event *event)
{
    struct tbed_arguments at = event->arguments;
    struct tbed_argument argument;
    if (event->argument_count != 1)
        return false;
    tbed_argument_next(&at, &argument);
    if (argument.type != TBED_ARG_BOOL || argument.name_id == TBED_ID_INVALID)
        return false;
    return strcmp(tool_name(calls->reader, argument.name_id), "unsaid") == 0;
}

static void close_span(struct calls *calls, const struct tbed_event *event)
{
    if (calls->spans.count == 0)
        return; /* of a begin that is not in the trace */
    struct call *call = take_out(calls, &calls->spans, calls->spans.count - 1);
    call->end_tick = event->tick;
    call->is_unclosed = is_supplied(calls, event);
}

/* Whether 'text', said by 'context', closes the call: as a whole, or as a start of its text. */
static bool closes(const struct call *call, struct tool_text context, struct tool_text text, bool is_whole)
{
    size_t before = context.nbytes > 0 ? context.nbytes + 3 : 0, nbytes = call->nbytes - call->context_nbytes;
    return call->context_nbytes == before &&
           (is_whole ? nbytes == text.nbytes : nbytes > text.nbytes && text.nbytes > 0) &&
           (before == 0 || memcmp(call->name, context.text, context.nbytes) == 0) &&
           (text.nbytes == 0 || memcmp(call->name + before, text.text, text.nbytes) == 0);
}

static void close_logical(struct calls *calls, const struct tbed_event *event, struct tool_text context,
                          struct tool_text text)
{
    struct open_calls *open = &calls->pairs;
    size_t lowest = open->count > LOOK_BACK_MAX ? open->count - LOOK_BACK_MAX : 0;
    for (int is_whole = 1; is_whole >= 0; is_whole--)
        for (size_t at = open->count; at-- > lowest;)
            if (closes(&calls->items[open->items[at]], context, text, is_whole)) {
                take_out(calls, open, at)->end_tick = event->tick;
                return;
            }
    add(calls, event, context, text, true)->is_orphan = true;
}

static void take_message(struct calls *calls, const struct tbed_event *event)
{
    struct tool_text text = tool_message_body(calls->reader, event), context = {.text = ""};
    if (text.nbytes == 0 || (text.text[0] != '{' && text.text[0] != '}'))
        return;
    if (event->id != TBED_ID_INVALID) {
        struct tool_text format = tool_name_text(calls->reader, event->id);
        const char *unit = memchr(format.text, '\x1e', format.nbytes);
        if (unit != NULL)
            context = (struct tool_text){.text = format.text, .nbytes = (size_t)(unit - format.text)};
    }
    bool begins = text.text[0] == '{';
    do {
        text.text++;
        text.nbytes--;
    } while (text.nbytes > 0 && text.text[0] == ' ');
    if (!begins) {
        close_logical(calls, event, context, text);
        return;
    }
    add(calls, event, context, text, true);
    open_last(calls, &calls->pairs);
}

static void take_event(struct calls *calls, const struct tbed_event *event)
{
    calls->last_tick = event->tick > calls->last_tick ? event->tick : calls->last_tick;
    if (event->type == TBED_EVENT_BEGIN) {
        add(calls, event, (struct tool_text){.text = ""}, tool_name_text(calls->reader, event->id), false);
        open_last(calls, &calls->spans);
    } else if (event->type == TBED_EVENT_END) {
        close_span(calls, event);
    } else if (event->type == TBED_EVENT_MESSAGE) {
        take_message(calls, event);
    }
}

static void leave_open(struct calls *calls, struct open_calls *open)
{
    while (open->count > 0) {
        struct call *call = take_out(calls, open, open->count - 1);
        call->is_unclosed = true;
        call->end_tick = calls->last_tick;
    }
}

static void take_stream(struct calls *calls, uint32_t stream)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    calls->last_tick = 0;
    if (tbed_cursor_open(calls->reader, stream, &cursor) != TBED_OK)
        return;
    while (tbed_cursor_next(cursor, &event) == TBED_OK)
        take_event(calls, &event);
    tbed_cursor_close(cursor);
    leave_open(calls, &calls->spans);
    leave_open(calls, &calls->pairs);
}

static void forget(struct calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        free(calls->items[i].name);
    calls->count = 0;
}

/* ---- Printing ---- */

static int64_t duration_ns(const struct calls *calls, const struct call *call)
{
    return tbed_ticks_to_ns(calls->reader, call->end_tick) -
           tbed_ticks_to_ns(calls->reader, call->begin_tick);
}

static void put_call(const struct calls *calls, const struct call *call)
{
    char duration[32];
    int indent = (int)(call->depth < INDENT_MAX ? call->depth : INDENT_MAX);
    printf("%14.6f s %12s  %*s", (double)tbed_ticks_to_ns(calls->reader, call->begin_tick) / 1e9,
           call->is_orphan ? "" : tool_format_ns(duration, (double)duration_ns(calls, call)), indent * 2, "");
    tool_print_text(stdout, call->name, call->nbytes, 0);
    fputs(call->is_orphan ? "  [never begun]" : call->is_unclosed ? "  [never ended]" : "", stdout);
    putchar('\n');
}

static void put_thread(const struct report *report, const struct calls *calls,
                       const struct tbed_stream_info *stream)
{
    printf("%sthread %u", tool_bold(), stream->tid);
    if (stream->name_id != TBED_ID_INVALID) {
        struct tool_text name = tool_name_text(report->reader, stream->name_id);
        putchar(' ');
        tool_print_text(stdout, name.text, name.nbytes, 0);
    }
    printf("%s\n", tool_plain());
    for (size_t i = 0; i < calls->count && !tool_output_failed(); i++)
        if (report_filter_takes(report->options, calls->items[i].name))
            put_call(calls, &calls->items[i]);
}

static void json_call(struct tool_json *json, const struct calls *calls, const struct call *call)
{
    tool_json_object_open(json, NULL);
    tool_json_text(json, "name", call->name, call->nbytes);
    tool_json_i64(json, "begin_ns", tbed_ticks_to_ns(calls->reader, call->begin_tick));
    tool_json_i64(json, "duration_ns", duration_ns(calls, call));
    tool_json_u64(json, "depth", call->depth);
    tool_json_bool(json, "logical", call->is_logical);
    tool_json_bool(json, "never_ended", call->is_unclosed);
    tool_json_bool(json, "never_begun", call->is_orphan);
    tool_json_object_close(json);
}

static void json_thread(struct tool_json *json, const struct report *report, const struct calls *calls,
                        const struct tbed_stream_info *stream)
{
    tool_json_object_open(json, NULL);
    tool_json_u64(json, "stream", stream->stream);
    tool_json_u64(json, "tid", stream->tid);
    tool_json_name(json, "name", report->reader, stream->name_id);
    tool_json_array_open(json, "calls");
    for (size_t i = 0; i < calls->count && !tool_output_failed(); i++)
        if (report_filter_takes(report->options, calls->items[i].name))
            json_call(json, calls, &calls->items[i]);
    tool_json_array_close(json);
    tool_json_object_close(json);
}

void report_calls(const struct report *report)
{
    struct calls calls = {.reader = report->reader};
    struct tool_json json = {.out = stdout};
    struct tbed_stream_info stream;
    if (report->options->json) {
        tool_json_object_open(&json, NULL);
        tool_json_string(&json, "file", report->path);
        tool_json_array_open(&json, "threads");
    }
    for (size_t i = 0; tbed_stream_get(report->reader, i, &stream) && !tool_output_failed(); i++) {
        take_stream(&calls, stream.stream);
        if (report->options->json)
            json_thread(&json, report, &calls, &stream);
        else if (calls.count > 0)
            put_thread(report, &calls, &stream);
        forget(&calls);
    }
    if (report->options->json) {
        tool_json_array_close(&json);
        tool_json_object_close(&json);
        tool_json_line(&json);
    }
    free(calls.items);
    free(calls.spans.items);
    free(calls.pairs.items);
}
