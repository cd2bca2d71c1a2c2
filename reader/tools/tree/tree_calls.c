/*
 * tracebed tree --calls: the scopes of each thread one by one, indented, with time and duration.
 *
 * A call is printed where it began, with what is known when it ended: a thread's calls are kept until the thread ends.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/tree/tree.h"

#include <stdlib.h>
#include <string.h>

#define UNIT       '\x1e' /* between a context and what is said in it */
#define INDENT_MAX 60     /* levels that are shown by indentation */
#define NS_PER_S   INT64_C(1000000000)

struct call {
    uint64_t begin_tick, end_tick;
    const char *name; /* of a pair; an orphan's is its own */
    size_t name_nbytes;
    size_t depth;
    uint32_t id;
    bool is_pair, is_open, is_orphan;
};

struct calls {
    struct tree *tree;
    struct tbed_scopes *scopes;
    struct call *items;
    size_t count, room;
    struct tool_buffer name, shown; /* of the call at hand */
};

/* ---- One thread ---- */

static void add(struct calls *calls, const struct tbed_scope_step *step)
{
    const struct tbed_scope *scope = step->scope;
    if (calls->count == calls->room) {
        calls->room = calls->room * 2 + 64;
        calls->items = tool_realloc(calls->items, calls->room * sizeof *calls->items);
    }
    calls->items[calls->count] = (struct call){.begin_tick = scope->begin_tick,
                                               .end_tick = scope->begin_tick,
                                               .name = scope->name,
                                               .name_nbytes = scope->name_nbytes,
                                               .depth = step->depth,
                                               .id = scope->id,
                                               .is_pair = scope->is_pair,
                                               .is_orphan = step->change == TBED_SCOPE_ORPHAN};
    step->scope->tag = calls->count++;
}

static void take_step(void *context, const struct tbed_scope_step *step)
{
    struct calls *calls = context;
    if (step->change == TBED_SCOPE_UNKNOWN || step->change == TBED_SCOPE_LEFT)
        return; /* of a begin that is not in the trace; of no interest here */
    if (step->change == TBED_SCOPE_BEGIN || step->change == TBED_SCOPE_ORPHAN || !step->was_begun)
        add(calls, step);
    struct call *call = &calls->items[step->scope->tag];
    if (call->is_orphan) {
        char *name = tool_realloc(NULL, call->name_nbytes + 1);
        memcpy(name, call->name, call->name_nbytes);
        call->name = name;
    }
    if (step->change == TBED_SCOPE_END || step->change == TBED_SCOPE_OPEN)
        call->end_tick = step->end_tick;
    call->is_open = step->change == TBED_SCOPE_OPEN;
}

static enum tbed_status take_stream(struct calls *calls, uint32_t stream)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    enum tbed_status status = tbed_cursor_open(calls->tree->reader, stream, &cursor);
    if (status != TBED_OK)
        return status;
    while (status == TBED_OK && tbed_cursor_next(cursor, &event) == TBED_OK)
        status = tbed_scopes_take(calls->scopes, &event, tbed_cursor_depth(cursor));
    tbed_cursor_close(cursor);
    tbed_scopes_finish(calls->scopes);
    return status;
}

static void forget(struct calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        if (calls->items[i].is_orphan)
            free((void *)calls->items[i].name);
    calls->count = 0;
}

/* ---- Names ---- */

static void name_call(struct calls *calls, const struct call *call)
{
    struct tool_buffer *name = &calls->name;
    name->nbytes = 0;
    if (!call->is_pair) {
        tool_append_name(name, calls->tree->reader, call->id);
    } else {
        const char *unit = memchr(call->name, UNIT, call->name_nbytes);
        size_t context = unit != NULL ? (size_t)(unit - call->name) : 0, rest = context + (unit != NULL);
        tool_append(name, call->name, context);
        tool_append(name, " : ", unit != NULL ? 3 : 0);
        tool_append(name, call->name + rest, call->name_nbytes - rest);
    }
}

/* Whether it is to be shown; its name is made then. */
static bool takes(struct calls *calls, const struct call *call)
{
    const struct tree *tree = calls->tree;
    if (call->depth >= tree->depth_max)
        return false;
    name_call(calls, call);
    return group_takes(&tree->filter, calls->name.bytes,
                       tool_label_nbytes(calls->name.bytes, calls->name.nbytes));
}

/* ---- Printing ---- */

static uint64_t cut(const struct tree *tree, uint64_t tick)
{
    return tick - tick % tree->info.resolution_ticks;
}

static uint64_t ticks_of(const struct tree *tree, const struct call *call)
{
    uint64_t begin = cut(tree, call->begin_tick), end = cut(tree, call->end_tick);
    return end > begin ? end - begin : 0;
}

static void put_begin(const struct tree *tree, uint64_t tick)
{
    char count[32];
    bool is_coarse = tbed_tick_span_to_ns(tree->reader, tree->info.resolution_ticks) >= 1e6;
    if (tree->info.clock == TBED_CLOCK_USER)
        printf("%16s", tool_format_count(count, tick));
    else
        printf("%14.*f s", is_coarse ? 3 : 6,
               (double)tbed_ticks_to_ns(tree->reader, cut(tree, tick)) / (double)NS_PER_S);
}

static void put_call(struct calls *calls, const struct call *call)
{
    const struct tree *tree = calls->tree;
    char duration[32];
    int indent = (int)(call->depth < INDENT_MAX ? call->depth : INDENT_MAX);
    put_begin(tree, call->begin_tick);
    printf(" %12s  %*s", call->is_orphan ? "" : tree_format_ticks(tree, duration, ticks_of(tree, call)),
           indent * 2, "");
    calls->shown.nbytes = 0;
    tool_append_event_name(&calls->shown, calls->name.bytes, calls->name.nbytes);
    tool_print_text(stdout, calls->shown.bytes, calls->shown.nbytes, 0);
    fputs(call->is_orphan ? "  [never begun]" : call->is_open ? "  [never ended]" : "", stdout);
    putchar('\n');
}

static void put_thread(struct calls *calls, const struct tbed_stream_info *stream)
{
    printf("%sthread %u", tool_bold(), stream->tid);
    if (stream->name_id != TBED_ID_INVALID) {
        putchar(' ');
        tool_print_name(stdout, calls->tree->reader, stream->name_id, 0);
    }
    printf("%s\n", tool_plain());
    for (size_t i = 0; i < calls->count && !tool_output_failed(); i++)
        if (takes(calls, &calls->items[i]))
            put_call(calls, &calls->items[i]);
}

static void json_call(struct tbed_json *json, const struct calls *calls, const struct call *call)
{
    const struct tree *tree = calls->tree;
    bool is_time = tree->info.clock != TBED_CLOCK_USER;
    uint64_t begin = cut(tree, call->begin_tick), ticks = ticks_of(tree, call);
    tbed_json_object_open(json, NULL);
    tool_json_event_name(json, tree->reader, call->is_pair ? TBED_ID_INVALID : call->id, calls->name.bytes,
                         calls->name.nbytes);
    if (is_time) {
        tbed_json_i64(json, "begin_ns", tbed_ticks_to_ns(tree->reader, begin));
        tbed_json_i64(json, "duration_ns", (int64_t)(tbed_tick_span_to_ns(tree->reader, ticks) + 0.5));
    } else {
        tbed_json_u64(json, "begin_ticks", begin);
        tbed_json_u64(json, "duration_ticks", ticks);
    }
    tbed_json_u64(json, "depth", call->depth);
    tbed_json_bool(json, "of_messages", call->is_pair);
    tbed_json_bool(json, "never_ended", call->is_open);
    tbed_json_bool(json, "never_begun", call->is_orphan);
    tbed_json_object_close(json);
}

static void json_thread(struct tbed_json *json, struct calls *calls, const struct tbed_stream_info *stream)
{
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, "stream", stream->stream);
    tbed_json_u64(json, "tid", stream->tid);
    tool_json_name(json, "name", calls->tree->reader, stream->name_id);
    tbed_json_array_open(json, "calls");
    for (size_t i = 0; i < calls->count && !tool_output_failed(); i++)
        if (takes(calls, &calls->items[i]))
            json_call(json, calls, &calls->items[i]);
    tbed_json_array_close(json);
    tbed_json_object_close(json);
}

static enum tbed_status put_all(struct calls *calls, struct tbed_json *json)
{
    struct tbed_stream_info stream;
    enum tbed_status status = TBED_OK;
    size_t shown = 0;
    for (size_t i = 0;
         status == TBED_OK && !tool_output_failed() && tbed_stream_get(calls->tree->reader, i, &stream);
         i++) {
        status = take_stream(calls, stream.stream);
        shown += calls->count;
        if (json != NULL)
            json_thread(json, calls, &stream);
        else if (calls->count > 0)
            put_thread(calls, &stream);
        forget(calls);
    }
    if (shown == 0 && json == NULL)
        tool_hint("It has no spans; run 'tracebed report' to see its contents.");
    return status;
}

enum tbed_status tree_calls(struct tree *tree)
{
    struct calls calls = {.tree = tree};
    struct tbed_json json = {.out = stdout};
    struct tbed_scopes_options options = {.size = sizeof options, .step = take_step, .step_context = &calls};
    enum tbed_status status = tbed_scopes_open(tree->reader, &options, &calls.scopes);
    if (status != TBED_OK)
        return status;
    if (tree->json) {
        tbed_json_object_open(&json, NULL);
        tbed_json_string(&json, "file", tree->path);
        tbed_json_array_open(&json, "threads");
    }
    tool_places_prepare_all(&tree->places);
    status = put_all(&calls, tree->json ? &json : NULL);
    if (tree->json) {
        tbed_json_array_close(&json);
        tbed_json_object_close(&json);
        tbed_json_line(&json);
    }
    tbed_scopes_close(calls.scopes);
    free(calls.items);
    free(calls.name.bytes);
    free(calls.shown.bytes);
    return status;
}
