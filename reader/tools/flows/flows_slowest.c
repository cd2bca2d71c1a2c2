/*
 * tracebed flows --slowest: single flows, with what they did from their begin to their end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/flows/flows_verb.h"

#include <stdlib.h>

/* ---- Text ---- */

static void put_text(struct table_value text, size_t width)
{
    tool_print_text(stdout, text.text, text.nbytes, width);
}

static void put_stretch(struct flows_verb *verb, const struct tbed_flow_stretch *stretch)
{
    char ticks[40];
    printf("              %12s  %s",
           table_format_duration(&verb->trace.clock, ticks, stretch->ticks, (double)stretch->ticks),
           stretch->is_waiting ? "waiting for " : "running in ");
    if (stretch->id == TBED_ID_INVALID)
        fputs(FLOWS_OUTSIDE, stdout);
    else
        put_text(query_label(&verb->trace, stretch->id), 60);
    fputs(", ", stdout);
    put_text(query_thread(&verb->trace, "thread ", stretch->stream), 0);
    putchar('\n');
}

static void put_flow(struct flows_verb *verb, const struct tbed_flow *flow)
{
    char ticks[40];
    printf("\n%s%12s%s  ", tool_bold(),
           table_format_duration(&verb->trace.clock, ticks, flow->ticks, (double)flow->ticks), tool_plain());
    put_text(query_label(&verb->trace, flow->id), 0);
    printf(" %llu\n              ", (unsigned long long)flow->key);
    query_put_when(&verb->trace, flow->begin_tick);
    fputs(", from ", stdout);
    put_text(query_thread(&verb->trace, "thread ", flow->begin_stream), 0);
    fputs(" to ", stdout);
    put_text(query_thread(&verb->trace, "thread ", flow->end_stream), 0);
    putchar('\n');
    for (size_t i = 0; i < flow->stretch_count; i++)
        put_stretch(verb, &flow->stretches[i]);
}

void flows_put_slowest(struct flows_verb *verb)
{
    const struct tbed_flow *flow;
    for (size_t i = 0; (flow = tbed_flows_slowest(verb->flows, i)) != NULL && !tool_output_failed(); i++)
        put_flow(verb, flow);
}

/* ---- JSON ---- */

static void json_stretch(struct flows_verb *verb, struct tbed_json *json,
                         const struct tbed_flow_stretch *stretch)
{
    tbed_json_object_open(json, NULL);
    tbed_json_string(json, "what", stretch->is_waiting ? "waiting" : "running");
    if (stretch->id == TBED_ID_INVALID) {
        tbed_json_null(json, "span");
    } else {
        struct table_value span = query_label(&verb->trace, stretch->id);
        tbed_json_text(json, "span", span.text, span.nbytes);
    }
    tbed_json_u64(json, "stream", stretch->stream);
    query_json_begin(json, &verb->trace, stretch->begin_tick);
    query_json_ticks(json, &verb->trace, "duration", stretch->ticks);
    tbed_json_object_close(json);
}

static void json_flow(struct flows_verb *verb, struct tbed_json *json, const struct tbed_flow *flow)
{
    struct table_value name = query_label(&verb->trace, flow->id);
    tbed_json_object_open(json, NULL);
    tool_json_row_name(json, verb->trace.reader, flow->id, TBED_NAME_ALL, name.text, name.nbytes);
    tbed_json_string(json, "kind", flows_kind(flow->is_async));
    tbed_json_u64(json, "key", flow->key);
    query_json_begin(json, &verb->trace, flow->begin_tick);
    query_json_ticks(json, &verb->trace, "duration", flow->ticks);
    tbed_json_u64(json, "begin_stream", flow->begin_stream);
    tbed_json_u64(json, "end_stream", flow->end_stream);
    tbed_json_u64(json, "point_count", flow->point_count);
    tbed_json_array_open(json, "stretches");
    for (size_t i = 0; i < flow->stretch_count; i++)
        json_stretch(verb, json, &flow->stretches[i]);
    tbed_json_array_close(json);
    tbed_json_object_close(json);
}

void flows_json_slowest(struct flows_verb *verb, struct tbed_json *json)
{
    const struct tbed_flow *flow;
    tbed_json_array_open(json, "slowest");
    for (size_t i = 0; (flow = tbed_flows_slowest(verb->flows, i)) != NULL; i++)
        json_flow(verb, json, flow);
    tbed_json_array_close(json);
}

/* ---- CSV: a row for each stretch ---- */

#define GETTER(getter, value) TABLE_GETTER(getter, flows_stretch, value)

static struct table_value span_of(const struct table *table, uint32_t id)
{
    if (id == TBED_ID_INVALID)
        return (struct table_value){.is_unknown = true};
    return query_label(&((struct flows_verb *)table->context)->trace, id);
}

static struct table_value when(const struct table *table, uint64_t tick)
{
    return query_when(&((const struct flows_verb *)table->context)->trace, tick);
}

GETTER(get_number, table_value_of(row->number))
GETTER(get_name, span_of(table, row->flow->id))
GETTER(get_key, table_value_of(row->flow->key))
GETTER(get_what, flows_what(row->stretch->is_waiting))
GETTER(get_stream, table_value_of(row->stretch->stream))
GETTER(get_span, span_of(table, row->stretch->id))
GETTER(get_begin, when(table, row->stretch->begin_tick))
GETTER(get_duration, table_value_of(row->stretch->ticks))

static const struct table_column columns[] = {
    {.key = "flow", .unit = TABLE_COUNT, .get = get_number},
    {.key = "name", .unit = TABLE_TEXT, .get = get_name},
    {.key = "key", .unit = TABLE_COUNT, .get = get_key},
    {.key = "what", .unit = TABLE_TEXT, .get = get_what},
    {.key = "stream", .unit = TABLE_COUNT, .get = get_stream},
    {.key = "span", .unit = TABLE_TEXT, .get = get_span},
    {.key = "begin", .unit = TABLE_TICKS, .get = get_begin},
    {.key = "duration", .unit = TABLE_DURATION, .get = get_duration},
};

const struct table flows_stretches = {
    .key = "slowest",
    .what = "stretches",
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .data_columns = "flow,name,key,what,stream,span,begin,duration",
};

static struct flows_stretch *list_stretches(const struct flows_verb *verb, size_t *count_ret)
{
    const struct tbed_flow *flow;
    struct flows_stretch *lines = NULL;
    size_t count = 0;
    for (size_t i = 0; (flow = tbed_flows_slowest(verb->flows, i)) != NULL; i++) {
        lines = tool_realloc(lines, (count + flow->stretch_count + 1) * sizeof *lines);
        for (size_t k = 0; k < flow->stretch_count; k++)
            lines[count++] = (struct flows_stretch){flow, &flow->stretches[k], i + 1};
    }
    *count_ret = count;
    return lines;
}

void flows_csv_slowest(struct flows_verb *verb)
{
    size_t count;
    struct flows_stretch *lines = list_stretches(verb, &count);
    struct table table = flows_stretches;
    const struct table *tables[] = {&table};
    table.context = verb;
    table.file = tool_path(verb->trace.path);
    table.clock = &verb->trace.clock;
    table_fill(&table, lines, sizeof *lines, count, &verb->query.sort, SIZE_MAX);
    table_print_csv(tables, 1, &verb->query.columns, true);
    free(table.rows);
    free(lines);
}
