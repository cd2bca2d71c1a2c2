/*
 * tracebed tree --calls: print the spans of each thread one by one, indented, with time and duration.
 *
 * Spans arrive when they end and are printed in order of their begins, so the spans of a thread are kept until its end.
 * They nest by the rule in tracebed/analysis.h, as in all other views.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/tree/tree.h"

#include <stdlib.h>
#include <string.h>

#define INDENT_MAX 60 /* levels shown by indentation */
#define NS_PER_S   INT64_C(1000000000)

struct call {
    uint64_t begin_tick, end_tick;
    size_t end_index; /* the number of spans of its thread that ended before it */
    size_t parent;    /* its 'end_index'; SIZE_MAX: none */
    size_t depth;
    uint32_t id;
    bool is_open;
};

struct calls {
    struct tree *tree;
    struct call *items;
    size_t count, room;
    uint64_t unknown_count;         /* spans without a known begin */
    struct tool_buffer name, shown; /* of the current call */
};

/* ---- One thread ---- */

static void add(struct calls *calls, const struct tbed_step *step)
{
    const struct tbed_assembled *span = step->span;
    if (calls->count == calls->room) {
        calls->room = calls->room * 2 + 64;
        calls->items = tool_realloc(calls->items, calls->room * sizeof *calls->items);
    }
    bool is_inverted = span->begin_tick > span->end_tick; /* no time, at its end */
    calls->items[calls->count] = (struct call){.begin_tick = is_inverted ? span->end_tick : span->begin_tick,
                                               .end_tick = span->end_tick,
                                               .end_index = calls->count,
                                               .parent = SIZE_MAX,
                                               .id = span->id,
                                               .is_open = step->kind == TBED_STEP_OPEN};
    calls->count++;
}

static enum tbed_status take_stream(struct calls *calls, uint32_t stream)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    enum tbed_status status =
        tbed_assembler_open_filtered(calls->tree->reader, &stream, 1, calls->tree->filter.filter, &assembler);
    calls->count = 0;
    if (status != TBED_OK)
        return status;
    while ((status = tbed_assembler_next(assembler, &step)) == TBED_OK) {
        if (step.kind == TBED_STEP_END || step.kind == TBED_STEP_OPEN)
            add(calls, &step);
        calls->unknown_count += step.kind == TBED_STEP_UNKNOWN;
    }
    tbed_assembler_close(assembler);
    return status == TBED_END ? TBED_OK : status;
}

static bool contains(const struct call *outer, const struct call *inner)
{
    return outer->begin_tick <= inner->begin_tick && inner->end_tick <= outer->end_tick;
}

/* Backward: a span that does not contain this one does not contain any that ended earlier either. */
static void nest(struct calls *calls)
{
    size_t top = SIZE_MAX;
    for (size_t i = calls->count; i-- > 0; top = i) {
        while (top != SIZE_MAX && !contains(&calls->items[top], &calls->items[i]))
            top = calls->items[top].parent;
        calls->items[i].parent = top;
        calls->items[i].depth = top != SIZE_MAX ? calls->items[top].depth + 1 : 0;
    }
}

/* By begin; of spans that began together, the outer one ended later. */
static int compare_calls(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->begin_tick != b->begin_tick)
        return a->begin_tick < b->begin_tick ? -1 : 1;
    return a->end_index > b->end_index ? -1 : a->end_index < b->end_index;
}

static enum tbed_status read_thread(struct calls *calls, uint32_t stream)
{
    enum tbed_status status = take_stream(calls, stream);
    nest(calls);
    if (calls->count > 1)
        qsort(calls->items, calls->count, sizeof *calls->items, compare_calls);
    return status;
}

/* Returns whether the span is shown; makes its name. */
static bool takes(struct calls *calls, const struct call *call)
{
    const struct tree *tree = calls->tree;
    if (call->depth >= tree->depth_max)
        return false;
    calls->name.nbytes = 0;
    tool_append_name(&calls->name, tree->reader, call->id);
    return group_takes(&tree->group, calls->name.bytes,
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

#define FIGURES_WIDTH 31 /* columns before a name */

static void put_call(struct calls *calls, const struct call *call)
{
    const struct tree *tree = calls->tree;
    char duration[32];
    int indent = (int)(call->depth < INDENT_MAX ? call->depth : INDENT_MAX);
    put_begin(tree, call->begin_tick);
    printf(" %12s  %*s", tree_format_ticks(tree, duration, ticks_of(tree, call)), indent * 2, "");
    calls->shown.nbytes = 0;
    tool_append_event_name(&calls->shown, calls->name.bytes, calls->name.nbytes);
    tool_print_middle(stdout, calls->shown.bytes, calls->shown.nbytes,
                      tool_name_width(FIGURES_WIDTH + (size_t)indent * 2));
    fputs(call->is_open ? "  [never ended]" : "", stdout);
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
    tool_json_event_name(json, tree->reader, call->id, calls->name.bytes, calls->name.nbytes);
    if (is_time) {
        tbed_json_i64(json, "begin_ns", tbed_ticks_to_ns(tree->reader, begin));
        tbed_json_u64(json, "duration_ns", tbed_round_u64(tbed_tick_span_to_ns(tree->reader, ticks)));
    } else {
        tbed_json_u64(json, "begin_ticks", begin);
        tbed_json_u64(json, "duration_ticks", ticks);
    }
    tbed_json_u64(json, "depth", call->depth);
    tbed_json_bool(json, "never_ended", call->is_open);
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
        status = read_thread(calls, stream.stream);
        shown += calls->count;
        if (json != NULL)
            json_thread(json, calls, &stream);
        else if (calls->count > 0)
            put_thread(calls, &stream);
    }
    if (shown == 0 && json == NULL)
        tool_filter_tell_no_spans(&calls->tree->filter, calls->tree->path);
    if (calls->unknown_count > 0 && json == NULL)
        tool_hint("%llu spans without a known begin are omitted.", (unsigned long long)calls->unknown_count);
    return status;
}

enum tbed_status tree_calls(struct tree *tree)
{
    struct calls calls = {.tree = tree};
    struct tbed_json json = {.out = stdout};
    if (tree->json) {
        tbed_json_object_open(&json, NULL);
        tool_json_file(&json, tree->path, tree->reader);
        tree_put_part(tree, &json);
        tbed_json_array_open(&json, "threads");
    } else {
        tree_put_part(tree, NULL);
    }
    tool_places_prepare_all(&tree->places);
    enum tbed_status status = put_all(&calls, tree->json ? &json : NULL);
    if (tree->json) {
        tbed_json_array_close(&json);
        tbed_json_u64(&json, "unknown_begin_count", calls.unknown_count);
        tbed_json_u64(&json, "damage_count", tool_damage_count(tree->reader));
        tbed_json_object_close(&json);
        tbed_json_line(&json);
    }
    free(calls.items);
    free(calls.name.bytes);
    free(calls.shown.bytes);
    return status;
}
