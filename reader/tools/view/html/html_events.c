/*
 * The events of a trace that are not spans, and the arguments of spans, for a page.
 *
 *     marks       stream, time, id or -1, kind, text or 0
 *     counters    stream, time, id, value
 *     arguments   stream, begin of the span, its id, [[name, value], …]
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/html/html.h"

#include "reader/analysis/filter/filter.h"

#include <stdlib.h>
#include <tracebed/window.h>

#define BLOCKS_MAX    ((uint64_t)65536) /* more are not read */
#define TEXT_NBYTES   4096
#define NAME_NBYTES   256
#define ARGUMENTS_MAX 256

#define RECENT_COUNT 1024u

struct reading {
    struct html_trace *trace;
    struct html_events *events;
    uint64_t room;
    struct html_category recent[RECENT_COUNT]; /* those that were noted last, by id */
};

void html_events_free(struct html_events *events)
{
    free(events->marks.text.bytes);
    free(events->counters.text.bytes);
    free(events->arguments.text.bytes);
}

/* Starts an entry of a list, which will be written with the answer's JSON. False: there is no room. */
static bool begin_entry(const struct reading *reading, struct html_list *list, uint32_t stream, uint64_t tick)
{
    struct answer *answer = &reading->trace->answer;
    if (list->text.nbytes > reading->room)
        list->is_cut = true;
    list->count++;
    if (list->is_cut) {
        free(list->text.bytes);
        list->text = (struct tbed_text){0};
        return false;
    }
    answer->json = (struct tbed_json){.text = &list->text, .needs_comma = list->text.nbytes > 0};
    tbed_json_u64(&answer->json, NULL, stream);
    answer_tick(answer, NULL, tick);
    return true;
}

static void put_id(const struct reading *reading, uint32_t id)
{
    if (id == TBED_ID_INVALID) {
        tbed_json_i64(&reading->trace->answer.json, NULL, -1);
        return;
    }
    tbed_json_u64(&reading->trace->answer.json, NULL, id);
    html_trace_note(reading->trace, id);
}

static size_t shown(size_t nbytes, size_t room)
{
    return nbytes < room ? nbytes : room - 1;
}

/* ---- Marks ---- */

static enum tbed_mark_kind kind_of(const struct tbed_event *event)
{
    if (event->type == TBED_EVENT_INSTANT)
        return TBED_MARK_INSTANT;
    return event->of.message.severity == TBED_SEVERITY_ERROR     ? TBED_MARK_ERROR
           : event->of.message.severity == TBED_SEVERITY_WARNING ? TBED_MARK_WARNING
                                                                 : TBED_MARK_MESSAGE;
}

static void take_mark(const struct reading *reading, const struct tbed_event *event)
{
    const struct tbed_reader *reader = reading->trace->answer.trace->reader;
    struct tbed_json *json = &reading->trace->answer.json;
    char text[TEXT_NBYTES];
    if (!begin_entry(reading, &reading->events->marks, event->stream, event->tick))
        return;
    put_id(reading, event->id);
    tbed_json_u64(json, NULL, kind_of(event));
    size_t nbytes =
        event->type == TBED_EVENT_MESSAGE
            ? tbed_message_text(reader, event, TBED_MESSAGE_ALL, text, sizeof text)
            : tbed_arguments_text(reader, &event->arguments, event->argument_count, text, sizeof text);
    if (nbytes > 0)
        tbed_json_text(json, NULL, text, shown(nbytes, sizeof text));
    else
        tbed_json_u64(json, NULL, 0);
}

/* ---- Counters ---- */

static void take_counter(const struct reading *reading, const struct tbed_event *event)
{
    const struct tbed_argument *value = &event->counter_value;
    if (!begin_entry(reading, &reading->events->counters, event->stream, event->tick))
        return;
    put_id(reading, event->id);
    tbed_json_f64(&reading->trace->answer.json, NULL,
                  value->type == TBED_ARG_F64   ? value->value.f64
                  : value->type == TBED_ARG_I64 ? (double)value->value.i64
                                                : (double)value->value.u64);
}

/* ---- Arguments ---- */

static void take_arguments(const struct reading *reading, const struct tbed_event *event)
{
    struct tbed_reader *reader = reading->trace->answer.trace->reader;
    struct tbed_json *json = &reading->trace->answer.json;
    uint64_t begin = event->type == TBED_EVENT_SPAN ? event->of.span.begin_tick : event->tick;
    struct tbed_arguments at = event->arguments;
    struct tbed_argument argument;
    char name[NAME_NBYTES], text[TEXT_NBYTES];
    if (!begin_entry(reading, &reading->events->arguments, event->stream,
                     begin < event->tick ? begin : event->tick))
        return;
    put_id(reading, event->id);
    tbed_json_array_open(json, NULL);
    for (uint32_t i = 0; i < event->argument_count && i < ARGUMENTS_MAX; i++) {
        tbed_argument_next(&at, &argument);
        size_t name_nbytes = tbed_id_text(reader, argument.name_id, TBED_NAME_ALL, name, sizeof name);
        size_t nbytes = tbed_argument_text(reader, &argument, text, sizeof text);
        tbed_json_array_open(json, NULL);
        tbed_json_text(json, NULL, name, shown(name_nbytes, sizeof name));
        tbed_json_text(json, NULL, text, shown(nbytes, sizeof text));
        tbed_json_array_close(json);
    }
    tbed_json_array_close(json);
}

/* ---- Categories ---- */

static int compare_categories(const void *left, const void *right)
{
    const struct html_category *a = left, *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Sorts them by id, and leaves one of each. */
static void join_categories(struct html_trace *trace)
{
    struct html_category *items = trace->categories.items;
    size_t count = 0;
    if (trace->categories.count > 1)
        qsort(items, trace->categories.count, sizeof *items, compare_categories);
    for (size_t i = 0; i < trace->categories.count; i++)
        if (count == 0 || items[i].id != items[count - 1].id)
            items[count++] = items[i];
    trace->categories.count = count;
}

/* Ids that take each other's place among the recent ones come again; from time to time, these are joined. */
static void take_category(struct reading *reading, const struct tbed_event *event)
{
    struct html_trace *trace = reading->trace;
    struct html_category *recent = &reading->recent[event->id % RECENT_COUNT];
    if (event->category == TBED_ID_INVALID || (recent->id == event->id && recent->category != 0))
        return;
    *recent = (struct html_category){event->id, event->category};
    if (trace->categories.count == trace->categories.capacity)
        join_categories(trace);
    struct html_category *added = TBED_VECTOR_PUSH(&trace->categories);
    if (added != NULL)
        *added = *recent;
}

/* ---- All of them ---- */

static void note_flow(struct html_events *events, uint32_t id)
{
    for (size_t i = 0; i < events->flow_count; i++)
        if (events->flows[i] == id)
            return;
    if (events->flow_count < sizeof events->flows / sizeof events->flows[0])
        events->flows[events->flow_count++] = id;
}

static void take_event(struct reading *reading, const struct tbed_event *event)
{
    switch (event->type) {
    case TBED_EVENT_INSTANT:
    case TBED_EVENT_MESSAGE:
        take_mark(reading, event);
        break;
    case TBED_EVENT_COUNTER:
        take_counter(reading, event);
        break;
    case TBED_EVENT_BEGIN:
    case TBED_EVENT_SPAN:
        take_category(reading, event);
        if (event->argument_count > 0)
            take_arguments(reading, event);
        break;
    case TBED_EVENT_FLOW_BEGIN:
    case TBED_EVENT_ASYNC_BEGIN:
        note_flow(reading->events, event->id);
        break;
    default:
        break;
    }
}

static uint64_t count_blocks(const struct html_trace *trace)
{
    struct tbed_stream_info stream;
    uint64_t sum = 0;
    size_t first, count;
    for (size_t i = 0; tbed_stream_get(trace->answer.trace->reader, i, &stream); i++) {
        tbed_filter_blocks(trace->part.filter, trace->answer.trace->reader, stream.stream, &first, &count);
        sum += count;
    }
    return sum;
}

static enum tbed_status read_all(struct reading *reading)
{
    struct html_trace *trace = reading->trace;
    const struct view_trace *of = trace->answer.trace;
    const struct tbed_filter *filter = trace->part.filter;
    struct tbed_merge *merge;
    struct tbed_event event;
    if (of->streams != NULL && of->stream_count == 0)
        return TBED_OK;
    enum tbed_status status = tbed_merge_open(of->reader, of->streams, of->stream_count, &merge);
    if (status != TBED_OK)
        return status;
    tbed_merge_limit(merge, trace->part.begin_tick, trace->part.end_tick - 1);
    while ((status = tbed_merge_next(merge, &event)) == TBED_OK)
        if (filter == NULL || tbed_filter_takes_event(filter, &event))
            take_event(reading, &event);
    tbed_merge_close(merge);
    join_categories(trace);
    return status == TBED_END ? TBED_OK : status;
}

static bool is_out_of_memory(const struct html_events *events)
{
    return events->marks.text.is_out_of_memory || events->counters.text.is_out_of_memory ||
           events->arguments.text.is_out_of_memory;
}

enum tbed_status html_events_read(struct html_trace *trace, uint64_t room, struct html_events *events_ret)
{
    struct reading reading = {.trace = trace, .events = events_ret, .room = room};
    *events_ret = (struct html_events){0};
    events_ret->is_too_large = count_blocks(trace) > BLOCKS_MAX;
    enum tbed_status status = events_ret->is_too_large ? TBED_OK : read_all(&reading);
    return status == TBED_OK && is_out_of_memory(events_ret) ? TBED_ERR_MEMORY : status;
}
