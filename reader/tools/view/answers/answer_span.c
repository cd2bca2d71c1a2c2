/*
 * span: a single span: its arguments, what is around it and in it, and its place among all calls of its label.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/analysis/filter/filter.h"
#include "reader/tools/view/answers/answers.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/calls.h>
#include <tracebed/window.h>

#define FOUND_MAX        4096 /* spans around a tick */
#define CHILDREN_MAX     100
#define CHILD_COLUMNS    16384
#define CHILD_PARTS      50000
#define EVENTS_MAX       1000000 /* looked at for the arguments */
#define ARGUMENTS_MAX    256
#define TEXT_NBYTES      1024
#define QUICK_BLOCKS_MAX 100  /* in the span; of more, a sketch is made */
#define NEAR_PARTS       4096 /* of the trace, where the calls before and after are looked for first */

struct span {
    struct answer *answer;
    uint64_t tick; /* its begin */
    uint32_t stream;
    uint64_t depth, id; /* UINT64_MAX: not given */
    struct tbed_call call;
    struct tbed_call
        *found; /* the spans around the tick; those that contain the span come first, from the outside */
    size_t found_count, parent_count;
};

/* ---- Which one ---- */

static int compare_outside_first(const void *left, const void *right)
{
    const struct tbed_call *a = left, *b = right;
    if (a->begin_tick != b->begin_tick)
        return a->begin_tick < b->begin_tick ? -1 : 1;
    return a->end_tick > b->end_tick ? -1 : a->end_tick < b->end_tick;
}

static size_t count_around(const struct span *span, size_t at)
{
    size_t count = 0;
    for (size_t i = 0; i < at; i++)
        count += span->found[i].end_tick >= span->found[at].end_tick;
    return count;
}

/* How well a span fits what was asked for; 0: not at all. */
static uint64_t fit(const struct span *span, size_t at)
{
    const struct tbed_call *call = &span->found[at];
    if (call->begin_tick != span->tick || (span->id != UINT64_MAX && call->id != span->id))
        return 0;
    uint64_t around = count_around(span, at);
    uint64_t distance = around > span->depth ? around - span->depth : span->depth - around;
    return span->depth == UINT64_MAX ? 1 : UINT64_MAX - distance;
}

/* Reads all of the stream. */
static enum tbed_status find_in_stream(struct span *span)
{
    struct tbed_filter_options which = {.size = sizeof which, .streams = &span->stream, .stream_count = 1};
    struct tbed_filter *filter = NULL;
    struct tbed_calls_options options = {.size = sizeof options,
                                         .thread_count = span->answer->view->jobs,
                                         .order = TBED_CALLS_NEAREST,
                                         .tick = span->tick,
                                         .is_cancelled = span->answer->is_cancelled};
    enum tbed_status status = tbed_filter_make(span->answer->trace->reader, &which, &filter, NULL);
    options.filter = filter;
    if (status == TBED_OK)
        status = tbed_calls_find(span->answer->trace->reader, &options, span->found, FOUND_MAX,
                                 &span->found_count, NULL);
    tbed_filter_close(filter);
    return status;
}

/* False: there is no such span. */
static bool choose(struct span *span)
{
    size_t count = 0, best = 0;
    uint64_t best_fit = 0;
    for (size_t i = 0; i < span->found_count; i++)
        if (span->found[i].begin_tick <= span->tick && span->found[i].end_tick >= span->tick)
            span->found[count++] = span->found[i];
    if (count > 1)
        qsort(span->found, count, sizeof *span->found, compare_outside_first);
    for (size_t i = 0; i < count; i++)
        if (fit(span, i) > best_fit) {
            best = i;
            best_fit = fit(span, i);
        }
    if (best_fit == 0)
        return false;
    span->call = span->found[best];
    for (size_t i = 0; i < best; i++)
        if (span->found[i].end_tick >= span->call.end_tick)
            span->found[span->parent_count++] = span->found[i];
    return true;
}

/* False, and perhaps an error: there is no such span. */
static bool find(struct span *span, bool is_quick, enum tbed_status *status)
{
    bool is_done = is_quick && answer_spans_around(span->answer, span->stream, span->tick, span->found,
                                                   FOUND_MAX, &span->found_count, status);
    if (is_done && choose(span))
        return true;
    if (*status == TBED_OK)
        *status = find_in_stream(span);
    return *status == TBED_OK && choose(span);
}

/* ---- Its arguments ---- */

static void put_pair(struct answer *answer, const char *name, size_t name_nbytes, const char *text,
                     size_t nbytes)
{
    tbed_json_array_open(&answer->json, NULL);
    answer_text(answer, NULL, name, name_nbytes);
    tbed_json_text(&answer->json, NULL, text, nbytes);
    tbed_json_array_close(&answer->json);
}

static void put_event_arguments(struct answer *answer, const struct tbed_event *event)
{
    struct tbed_arguments at = event->arguments;
    struct tbed_argument argument;
    char name[256], text[TEXT_NBYTES];
    for (uint32_t i = 0; i < event->argument_count && i < ARGUMENTS_MAX; i++) {
        tbed_argument_next(&at, &argument);
        size_t name_nbytes =
            tbed_id_text(answer->trace->reader, argument.name_id, TBED_NAME_ALL, name, sizeof name);
        size_t nbytes = tbed_argument_text(answer->trace->reader, &argument, text, sizeof text);
        put_pair(answer, name, name_nbytes < sizeof name ? name_nbytes : sizeof name - 1, text,
                 nbytes < sizeof text ? nbytes : sizeof text - 1);
    }
}

/* The parts of the name behind its label. */
static void put_name_arguments(struct answer *answer, uint32_t id)
{
    struct tbed_event_parts *parts;
    struct tbed_name part;
    char name[16];
    if (tbed_event_parts_open(answer->trace->reader, id, NULL, &parts) != TBED_OK)
        return;
    enum tbed_status status = tbed_event_parts_next(parts, &part);
    for (unsigned i = 0; status == TBED_OK && i < ARGUMENTS_MAX; i++) {
        status = tbed_event_parts_next(parts, &part);
        snprintf(name, sizeof name, "arg%u", i);
        if (status == TBED_OK)
            put_pair(answer, name, strlen(name), part.text,
                     part.nbytes < TEXT_NBYTES ? part.nbytes : TEXT_NBYTES);
    }
    tbed_event_parts_close(parts);
}

static bool is_its_event(const struct span *span, const struct tbed_event *event)
{
    if (event->id != span->call.id)
        return false;
    if (event->type == TBED_EVENT_BEGIN)
        return event->tick == span->call.begin_tick;
    return event->type == TBED_EVENT_SPAN && event->of.span.begin_tick == span->call.begin_tick &&
           event->tick == span->call.end_tick;
}

/* The BEGIN is at its begin, a SPAN event at its end. */
static void put_arguments(struct span *span)
{
    struct answer *answer = span->answer;
    const uint64_t ticks[] = {span->call.begin_tick, span->call.end_tick};
    struct tbed_cursor *cursor;
    struct tbed_event event;
    bool is_found = false;
    tbed_json_array_open(&answer->json, "args");
    put_name_arguments(answer, span->call.id);
    for (size_t i = 0; i < 2 && !is_found; i++) {
        if (tbed_cursor_open(answer->trace->reader, span->stream, &cursor) != TBED_OK)
            break;
        tbed_cursor_seek(cursor, ticks[i]);
        for (size_t k = 0; k < EVENTS_MAX && !is_found && tbed_cursor_next(cursor, &event) == TBED_OK; k++) {
            is_found = is_its_event(span, &event);
            if (is_found)
                put_event_arguments(answer, &event);
            if (event.tick > ticks[i] && answer->info.clock != TBED_CLOCK_USER)
                break;
        }
        tbed_cursor_close(cursor);
    }
    tbed_json_array_close(&answer->json);
}

/* ---- Around it and in it ---- */

static void put_call(struct answer *answer, const char *key, const struct tbed_call *call)
{
    tbed_json_object_open(&answer->json, key);
    tbed_json_u64(&answer->json, "s", call->stream);
    answer_tick(answer, "b", call->begin_tick);
    answer_tick(answer, "e", call->end_tick);
    tbed_json_u64(&answer->json, "id", call->id);
    answer_name(answer, "name", call->id);
    tbed_json_null(&answer->json, "depth");
    tbed_json_object_close(&answer->json);
}

static int compare_longest_first(const void *left, const void *right)
{
    const struct tbed_window_part *a = *(const struct tbed_window_part *const *)left;
    const struct tbed_window_part *b = *(const struct tbed_window_part *const *)right;
    if (a->longest_ticks != b->longest_ticks)
        return a->longest_ticks > b->longest_ticks ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void put_child(struct answer *answer, const struct tbed_window_part *part)
{
    tbed_json_object_open(&answer->json, NULL);
    answer_tick(answer, "b", part->begin_tick);
    answer_tick(answer, "e", part->end_tick);
    tbed_json_u64(&answer->json, "id", part->id);
    answer_name(answer, "name", part->id);
    tbed_json_u64(&answer->json, "count", part->count);
    tbed_json_u64(&answer->json, "total", part->ticks);
    tbed_json_object_close(&answer->json);
}

/* The depth of the span in a window of its own time. UINT32_MAX: it is not there. */
static uint32_t depth_in(const struct span *span, const struct tbed_window *window)
{
    const struct tbed_window_part *part;
    struct tbed_window_info info;
    tbed_window_info(window, &info);
    uint64_t early = info.is_exact ? 0 : info.column_ticks; /* ends of sketches */
    uint32_t depth = UINT32_MAX;
    for (size_t i = 0; (part = tbed_window_part(window, i)) != NULL; i++)
        if (part->count == 1 && part->id == span->call.id && part->begin_tick == span->call.begin_tick &&
            span->call.end_tick - part->end_tick <= early && part->depth >= span->parent_count &&
            depth == UINT32_MAX)
            depth = part->depth;
    return depth;
}

/* The longest first; many short ones may be joined. */
static enum tbed_status put_children(struct span *span, const struct tbed_window *window)
{
    struct tbed_window_info info;
    struct answer *answer = span->answer;
    TBED_VECTOR(const struct tbed_window_part *) children = {0};
    const struct tbed_window_part *part;
    uint32_t depth = depth_in(span, window);
    uint64_t inside = 0;
    bool fine = true;
    tbed_window_info(window, &info);
    for (size_t i = 0; depth != UINT32_MAX && (part = tbed_window_part(window, i)) != NULL; i++) {
        if (part->depth != depth + 1)
            continue;
        const struct tbed_window_part **added = TBED_VECTOR_PUSH(&children);
        fine &= added != NULL;
        if (added != NULL)
            *added = part;
        inside += part->ticks;
    }
    if (children.count > 1)
        qsort(children.items, children.count, sizeof *children.items, compare_longest_first);
    if (info.is_exact)
        tbed_json_u64(&answer->json, "self", span->call.ticks > inside ? span->call.ticks - inside : 0);
    else
        tbed_json_null(&answer->json, "self");
    tbed_json_array_open(&answer->json, "children");
    for (size_t i = 0; i < children.count && i < CHILDREN_MAX; i++)
        put_child(answer, children.items[i]);
    tbed_json_array_close(&answer->json);
    tbed_vector_free(&children.vector);
    return fine ? TBED_OK : TBED_ERR_MEMORY;
}

static enum tbed_status put_inside(struct span *span, bool is_quick)
{
    struct answer *answer = span->answer;
    struct tbed_filter_options which = {.size = sizeof which,
                                        .begin_tick = span->call.begin_tick,
                                        .end_tick = span->call.end_tick > span->call.begin_tick
                                                        ? span->call.end_tick
                                                        : span->call.begin_tick + 1,
                                        .streams = &span->stream,
                                        .stream_count = 1};
    struct tbed_filter *filter = NULL;
    struct tbed_window *window = NULL;
    struct tbed_window_options options = {.size = sizeof options,
                                          .thread_count = answer->view->jobs,
                                          .column_count = CHILD_COLUMNS,
                                          .part_max = CHILD_PARTS,
                                          .exact_block_max = is_quick ? QUICK_BLOCKS_MAX : 0,
                                          .is_cancelled = answer->is_cancelled};
    enum tbed_status status = tbed_filter_make(answer->trace->reader, &which, &filter, NULL);
    options.filter = filter;
    if (status == TBED_OK)
        status = tbed_window_make(answer->trace->reader, &options, &window);
    if (status == TBED_OK)
        status = put_children(span, window);
    tbed_window_close(window);
    tbed_filter_close(filter);
    return status;
}

static void put_parents(struct span *span)
{
    tbed_json_array_open(&span->answer->json, "parents");
    for (size_t i = 0; i < span->parent_count; i++)
        put_call(span->answer, NULL, &span->found[i]);
    tbed_json_array_close(&span->answer->json);
}

/* ---- All calls of its label ---- */

struct others {
    struct span *span;
    const char *pattern;
};

/* Those that begin in [begin, end), or all if 'end' is 0. */
static enum tbed_status open_filter(const struct others *others, uint64_t begin_tick, uint64_t end_tick,
                                    struct tbed_filter **filter_ret)
{
    struct view_trace *trace = others->span->answer->trace;
    const struct span *span = others->span;
    /* When other threads were off their processors does not count beside this. */
    bool is_off_cpu = tbed_filter_is_off_cpu(trace->reader, span->stream);
    struct tbed_filter_options which = {.size = sizeof which,
                                        .begin_tick = begin_tick,
                                        .end_tick = end_tick,
                                        .streams = is_off_cpu ? &span->stream : trace->streams,
                                        .stream_count = is_off_cpu ? 1 : trace->stream_count,
                                        .names = &others->pattern,
                                        .name_count = 1,
                                        .name = tool_places_name,
                                        .name_context = &trace->places};
    return tbed_filter_make(trace->reader, &which, filter_ret, NULL);
}

static enum tbed_status find_first(const struct others *others, const struct tbed_filter *filter,
                                   enum tbed_calls_order order, uint64_t tick, struct tbed_call *call,
                                   bool *is_found)
{
    struct tbed_calls_options options = {.size = sizeof options,
                                         .thread_count = others->span->answer->view->jobs,
                                         .filter = filter,
                                         .order = order,
                                         .tick = tick,
                                         .is_cancelled = others->span->answer->is_cancelled};
    size_t count = 0;
    enum tbed_status status =
        tbed_calls_find(others->span->answer->trace->reader, &options, call, 1, &count, NULL);
    *is_found = status == TBED_OK && count > 0;
    return status;
}

/*
 * The call before or after, looked for close by first. A call that a window cuts seems to begin or end with it. So a window for
 * what begins later begins with the span itself, and what seems to begin with a window for earlier ones, or to end with any,
 * does not count.
 */
static enum tbed_status find_neighbour(const struct others *others, bool is_after, struct tbed_call *call,
                                       bool *is_found)
{
    const struct answer *answer = others->span->answer;
    uint64_t tick = others->span->call.begin_tick;
    uint64_t first = answer->info.first_tick, near = (answer->end_tick - first) / NEAR_PARTS + 1;
    enum tbed_status status = TBED_OK;
    bool is_all = false;
    for (*is_found = false; status == TBED_OK && !*is_found && !is_all;
         near = near > UINT64_MAX / 16 ? UINT64_MAX : near * 16) {
        uint64_t begin = is_after ? tick : tick - first > near ? tick - near : 0;
        uint64_t end = answer->end_tick - tick > near ? tick + near : 0;
        struct tbed_filter *filter = NULL;
        is_all = end == 0 && (is_after || begin == 0);
        status = open_filter(others, begin, end, &filter);
        if (status == TBED_OK)
            status = find_first(others, filter, is_after ? TBED_CALLS_AFTER : TBED_CALLS_BEFORE,
                                is_after ? tick + 1 : tick, call, is_found);
        *is_found = *is_found && (is_after || begin == 0 || call->begin_tick > begin) &&
                    (end == 0 || call->end_tick < end);
        tbed_filter_close(filter);
    }
    return status;
}

static enum tbed_status put_neighbour(const struct others *others, bool is_after)
{
    struct tbed_call call;
    bool is_found = false;
    const char *key = is_after ? "next" : "previous";
    enum tbed_status status = find_neighbour(others, is_after, &call, &is_found);
    if (is_found)
        put_call(others->span->answer, key, &call);
    else
        tbed_json_null(&others->span->answer->json, key);
    return status;
}

static void put_rank(struct answer *answer, const uint64_t counts[3])
{
    uint64_t calls = counts[0] + counts[1] + counts[2];
    tbed_json_u64(&answer->json, "calls", calls);
    tbed_json_u64(&answer->json, "rank_slowest", counts[2] + 1);
    tbed_json_f64(&answer->json, "percentile",
                  calls > 0 ? 100.0 * (double)(counts[0] + counts[1]) / (double)calls : 100.0);
}

/* How many are shorter, as long, and longer. */
static enum tbed_status count_calls(const struct others *others, const struct tbed_filter *filter)
{
    struct answer *answer = others->span->answer;
    struct tbed_calls_options options = {.size = sizeof options,
                                         .thread_count = answer->view->jobs,
                                         .filter = filter,
                                         .is_cancelled = answer->is_cancelled};
    uint64_t ticks = others->span->call.ticks, found[3], counts[3] = {0};
    uint64_t bounds[] = {0, ticks, ticks + 1};
    bool has_shorter = ticks > 0;
    enum tbed_status status = tbed_calls_count(answer->trace->reader, &options, bounds + !has_shorter,
                                               2 + has_shorter, found, NULL);
    for (unsigned i = 0; status == TBED_OK && i < 2u + has_shorter; i++)
        counts[i + !has_shorter] = found[i];
    if (status == TBED_OK)
        put_rank(answer, counts);
    return status;
}

static enum tbed_status put_others(struct span *span, const char *pattern)
{
    struct others others = {span, pattern};
    struct tbed_filter *filter = NULL;
    struct tbed_call slowest;
    bool is_found = false;
    enum tbed_status status = open_filter(&others, 0, 0, &filter);
    if (status == TBED_OK)
        status = count_calls(&others, filter);
    if (status == TBED_OK)
        status = find_first(&others, filter, TBED_CALLS_SLOWEST, 0, &slowest, &is_found);
    tbed_filter_close(filter);
    if (is_found)
        put_call(span->answer, "slowest", &slowest);
    if (status == TBED_OK)
        status = put_neighbour(&others, false);
    if (status == TBED_OK)
        status = put_neighbour(&others, true);
    return status;
}

/* ---- All of it ---- */

static enum tbed_status put(struct span *span, bool is_quick)
{
    struct answer *answer = span->answer;
    struct tbed_json *json = &answer->json;
    size_t nbytes = 0;
    char *label = answer_label(answer, span->call.id, &nbytes);
    char *pattern = label != NULL ? answer_pattern(label, nbytes, false) : NULL;
    tbed_json_u64(json, "s", span->stream);
    answer_tick(answer, "b", span->call.begin_tick);
    answer_tick(answer, "e", span->call.end_tick);
    tbed_json_u64(json, "duration", span->call.ticks);
    tbed_json_u64(json, "id", span->call.id);
    answer_name(answer, "name", span->call.id);
    answer_text(answer, "label", label != NULL ? label : "", nbytes);
    answer_name(answer, "category", span->call.category);
    tbed_json_bool(json, "open", span->call.is_open);
    answer_place(answer, span->call.id);
    put_arguments(span);
    put_parents(span);
    enum tbed_status status = pattern != NULL ? put_inside(span, is_quick) : TBED_ERR_MEMORY;
    if (status == TBED_OK && !is_quick)
        status = put_others(span, pattern);
    free(label);
    free(pattern);
    return status;
}

static bool take(struct span *span, size_t *is_quick)
{
    struct request *request = span->answer->request;
    uint64_t stream, begin;
    if (!request_need_number(request, "s", UINT32_MAX, &stream) ||
        !request_need_number(request, "b", UINT64_MAX, &begin) ||
        !request_number(request, "depth", 0, UINT32_MAX, &span->depth) ||
        !request_number(request, "id", 0, TBED_ID_MAX, &span->id) ||
        !request_word(request, "quick", "0 1", is_quick))
        return false;
    span->stream = (uint32_t)stream;
    if (__builtin_add_overflow(span->answer->info.first_tick, begin, &span->tick))
        span->tick = UINT64_MAX;
    return true;
}

enum answer_status answer_span(struct answer *answer)
{
    struct span span = {.answer = answer, .depth = UINT64_MAX, .id = UINT64_MAX};
    size_t is_quick = 0;
    enum answer_status answer_status = ANSWER_OK;
    if (!take(&span, &is_quick))
        return ANSWER_BAD;
    span.found = calloc(FOUND_MAX, sizeof *span.found);
    enum tbed_status status = span.found != NULL ? TBED_OK : TBED_ERR_MEMORY;
    if (status == TBED_OK && !find(&span, is_quick, &status) && status == TBED_OK) {
        answer_status = answer_refuse(answer, ANSWER_NONE, "no span of this stream begins there");
    } else {
        tbed_json_object_open(&answer->json, NULL);
        if (status == TBED_OK)
            status = put(&span, is_quick);
        tbed_json_object_close(&answer->json);
        answer_status = status == TBED_OK ? ANSWER_OK : answer_fail(answer, status);
    }
    free(span.found);
    return answer_status;
}
