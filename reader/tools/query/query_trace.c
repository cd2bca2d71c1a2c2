/*
 * A trace that a command asks a question: opened with its filter, and the parts of what is printed about it.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/query/query.h"

#include <stdlib.h>
#include <tracebed/analysis.h>

int query_open(struct query_trace *trace, const char *path, struct query *query)
{
    struct tool_filter *filter = &query->filter;
    trace->path = path;
    if ((trace->reader = tool_open(path)) == NULL)
        return TOOL_TROUBLE;
    tbed_reader_info(trace->reader, &trace->info);
    trace->clock = (struct table_clock){.reader = trace->reader,
                                        .is_time = trace->info.clock != TBED_CLOCK_USER,
                                        .resolution_ns =
                                            tbed_tick_span_to_ns(trace->reader, trace->info.resolution_ticks),
                                        .step_ticks = tbed_clock_step(trace->reader)};
    trace->places = (struct tool_places){.reader = trace->reader, .part = TBED_NAME_ALL};
    if (!query->no_symbols)
        tool_places_open(&trace->places, trace->reader, TBED_NAME_ALL);
    int exit = tool_filter_open(filter, path, trace->reader, &trace->places, query->jobs);
    trace->filter = filter->filter; /* the trace's own from now on */
    trace->window = filter->window;
    filter->filter = NULL;
    return exit;
}

int query_end(const struct query_trace *trace, enum tbed_status status)
{
    tool_tell_damage(trace->path, trace->reader);
    if (status == TBED_OK)
        return tool_damage_count(trace->reader) > 0 ? TOOL_FOUND : TOOL_FINE;
    tool_complain("%s: %s", tool_path(trace->path), tbed_status_text(status));
    return TOOL_TROUBLE;
}

void query_trace_close(struct query_trace *trace)
{
    free(trace->texts[0].bytes);
    free(trace->texts[1].bytes);
    tool_filter_tell_missed(trace->filter, trace->path);
    tbed_filter_close(trace->filter);
    tool_places_close(&trace->places);
    tbed_reader_close(trace->reader);
}

/* ---- Values ---- */

static struct tool_buffer *begin_text(struct query_trace *trace)
{
    struct tool_buffer before = trace->texts[0];
    trace->texts[0] = trace->texts[1];
    trace->texts[1] = before;
    trace->texts[0].nbytes = 0;
    return &trace->texts[0];
}

struct table_value query_thread(struct query_trace *trace, const char *before, uint32_t stream)
{
    struct tool_buffer *text = begin_text(trace);
    struct tbed_stream_info info;
    for (size_t i = 0; tbed_stream_get(trace->reader, i, &info); i++)
        if (info.stream == stream)
            tool_append_thread(text, trace->reader, &info, before);
    return table_text_of(text->bytes, text->nbytes);
}

struct table_value query_text(struct query_trace *trace, const char *text, size_t nbytes)
{
    struct tool_buffer *copy = begin_text(trace);
    tool_append(copy, text, nbytes);
    return table_text_of(copy->bytes, copy->nbytes);
}

struct table_value query_label(struct query_trace *trace, uint32_t id)
{
    char name[512];
    size_t nbytes = tool_places_name(&trace->places, id, name, sizeof name);
    nbytes = nbytes < sizeof name ? nbytes : sizeof name - 1;
    return query_text(trace, name, tool_label_nbytes(name, nbytes));
}

struct table_value query_when(const struct query_trace *trace, uint64_t tick)
{
    uint64_t first = trace->clock.is_time ? trace->info.first_tick : 0;
    return table_value_of(tick > first ? tick - first : 0);
}

void query_put_when(const struct query_trace *trace, uint64_t tick)
{
    char text[32];
    if (trace->clock.is_time)
        printf("at %.9f s", (double)tbed_ticks_to_ns(trace->reader, tick) / 1e9);
    else
        printf("at %s", tool_format_count(text, tick));
}

/* ---- Printing ---- */

void query_print(const struct query *query, const struct query_trace *trace, const struct table *table)
{
    struct tbed_json json = {.out = stdout};
    if (query->csv) {
        table_print_csv(&table, 1, &query->columns, true);
    } else if (!query->json) {
        table_print_text(table, &query->columns);
    } else {
        query_json_open(&json, query, trace);
        table_print_json(&json, table, &query->columns);
        query_json_close(&json, trace);
        tbed_json_line(&json);
    }
}

void query_json_open(struct tbed_json *json, const struct query *query, const struct query_trace *trace)
{
    tbed_json_object_open(json, NULL);
    tool_json_file(json, trace->path, trace->reader);
    tool_filter_json(json, &query->filter, &trace->window);
}

void query_json_close(struct tbed_json *json, const struct query_trace *trace)
{
    if (trace->clock.is_time)
        tbed_json_f64(json, "clock_step_ns", tbed_tick_span_to_ns(trace->reader, trace->clock.step_ticks));
    tbed_json_u64(json, "damage_count", tool_damage_count(trace->reader));
    tbed_json_object_close(json);
}

void query_json_begin(struct tbed_json *json, const struct query_trace *trace, uint64_t tick)
{
    if (trace->clock.is_time)
        tbed_json_i64(json, "begin_ns", tbed_ticks_to_ns(trace->reader, tick));
    else
        tbed_json_u64(json, "begin_ticks", tick);
}

void query_json_ticks(struct tbed_json *json, const struct query_trace *trace, const char *what,
                      uint64_t ticks)
{
    char key[48];
    bool is_time = trace->clock.is_time;
    snprintf(key, sizeof key, "%s_%s", what, is_time ? "ns" : "ticks");
    tbed_json_u64(json, key, is_time ? tbed_round_u64(tbed_tick_span_to_ns(trace->reader, ticks)) : ticks);
}
