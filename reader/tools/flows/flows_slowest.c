/*
 * tracebed flows --slowest: single flows, with what they did from their begin to their end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/flows/flows_verb.h"

#include <stdlib.h>

static bool is_time(const struct flows_verb *verb)
{
    return verb->info.clock != TBED_CLOCK_USER;
}

/* ---- Text ---- */

static void put_label(struct flows_verb *verb, uint32_t id, size_t width)
{
    const struct tool_buffer *text = flows_label(verb, id);
    tool_print_text(stdout, text->bytes, text->nbytes, width);
}

static void put_thread(struct flows_verb *verb, uint32_t stream)
{
    const struct tool_buffer *text = flows_thread(verb, stream);
    tool_print_text(stdout, text->bytes, text->nbytes, 0);
}

static void put_stretch(struct flows_verb *verb, const struct tbed_flow_stretch *stretch)
{
    char ticks[32];
    printf("              %12s  %s", tool_format_ticks(ticks, verb->reader, &verb->info, stretch->ticks),
           stretch->is_waiting ? "waiting for " : "running in ");
    put_label(verb, stretch->id, 60);
    fputs(", ", stdout);
    put_thread(verb, stretch->stream);
    putchar('\n');
}

static void put_flow(struct flows_verb *verb, const struct tbed_flow *flow)
{
    char ticks[32], begin[32];
    printf("\n%s%12s%s  ", tool_bold(), tool_format_ticks(ticks, verb->reader, &verb->info, flow->ticks),
           tool_plain());
    put_label(verb, flow->id, 0);
    printf(" %llu\n              ", (unsigned long long)flow->key);
    if (is_time(verb))
        printf("at %.9f s", (double)tbed_ticks_to_ns(verb->reader, flow->begin_tick) / 1e9);
    else
        printf("at %s", tool_format_count(begin, flow->begin_tick));
    fputs(", from ", stdout);
    put_thread(verb, flow->begin_stream);
    fputs(" to ", stdout);
    put_thread(verb, flow->end_stream);
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

static void json_begin(const struct flows_verb *verb, struct tbed_json *json, uint64_t tick)
{
    if (is_time(verb))
        tbed_json_i64(json, "begin_ns", tbed_ticks_to_ns(verb->reader, tick));
    else
        tbed_json_u64(json, "begin_ticks", tick);
}

static void json_duration(const struct flows_verb *verb, struct tbed_json *json, uint64_t ticks)
{
    if (is_time(verb))
        tbed_json_u64(json, "duration_ns", tbed_round_u64(tbed_tick_span_to_ns(verb->reader, ticks)));
    else
        tbed_json_u64(json, "duration_ticks", ticks);
}

static void json_stretch(struct flows_verb *verb, struct tbed_json *json,
                         const struct tbed_flow_stretch *stretch)
{
    tbed_json_object_open(json, NULL);
    tbed_json_string(json, "what", stretch->is_waiting ? "waiting" : "running");
    if (stretch->id == TBED_ID_INVALID) {
        tbed_json_null(json, "span");
    } else {
        const struct tool_buffer *text = flows_label(verb, stretch->id);
        tbed_json_text(json, "span", text->bytes, text->nbytes);
    }
    tbed_json_u64(json, "stream", stretch->stream);
    json_begin(verb, json, stretch->begin_tick);
    json_duration(verb, json, stretch->ticks);
    tbed_json_object_close(json);
}

static void json_flow(struct flows_verb *verb, struct tbed_json *json, const struct tbed_flow *flow)
{
    const struct tool_buffer *text = flows_label(verb, flow->id);
    tbed_json_object_open(json, NULL);
    tool_json_row_name(json, verb->reader, flow->id, TBED_NAME_ALL, text->bytes, text->nbytes);
    tbed_json_string(json, "kind", flows_kind(flow->is_async));
    tbed_json_u64(json, "key", flow->key);
    json_begin(verb, json, flow->begin_tick);
    json_duration(verb, json, flow->ticks);
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

#define GETTER(getter, value)                                                                                \
    static struct table_value getter(const struct table *table, const void *of)                              \
    {                                                                                                        \
        const struct flows_stretch *line = of;                                                               \
        (void)table;                                                                                         \
        return value;                                                                                        \
    }

static struct table_value text_of(const struct tool_buffer *text)
{
    return (struct table_value){.text = text->bytes, .nbytes = text->nbytes};
}

static struct table_value span_of(const struct table *table, uint32_t id)
{
    if (id == TBED_ID_INVALID)
        return (struct table_value){.is_unknown = true};
    return text_of(flows_label((struct flows_verb *)table->context, id));
}

/* Since the start of the trace, if its clock measures time. */
static struct table_value begin_of(const struct table *table, uint64_t tick)
{
    const struct flows_verb *verb = table->context;
    uint64_t first = verb->info.first_tick;
    return table_value_of(!table->clock->is_time ? tick : tick > first ? tick - first : 0);
}

static struct table_value what_of(const struct tbed_flow_stretch *stretch)
{
    return (struct table_value){.text = stretch->is_waiting ? "waiting" : "running", .nbytes = 7};
}

GETTER(get_number, table_value_of(line->number))
GETTER(get_name, span_of(table, line->flow->id))
GETTER(get_key, table_value_of(line->flow->key))
GETTER(get_what, what_of(line->stretch))
GETTER(get_stream, table_value_of(line->stretch->stream))
GETTER(get_span, span_of(table, line->stretch->id))
GETTER(get_begin, begin_of(table, line->stretch->begin_tick))
GETTER(get_duration, table_value_of(line->stretch->ticks))

static const struct table_column columns[] = {
    {.key = "flow", .unit = TABLE_COUNT, .get = get_number},
    {.key = "name", .unit = TABLE_TEXT, .get = get_name},
    {.key = "key", .unit = TABLE_COUNT, .get = get_key},
    {.key = "what", .unit = TABLE_TEXT, .get = get_what},
    {.key = "stream", .unit = TABLE_COUNT, .get = get_stream},
    {.key = "span", .unit = TABLE_TEXT, .get = get_span},
    {.key = "begin", .unit = TABLE_TICKS, .get = get_begin},
    {.key = "duration", .unit = TABLE_TICKS, .get = get_duration},
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
    const struct table_keys all = {.count = 0};
    struct table_clock clock = {.reader = verb->reader, .is_time = is_time(verb)};
    size_t count;
    struct flows_stretch *lines = list_stretches(verb, &count);
    const void **rows = tool_realloc(NULL, (count + 1) * sizeof *rows);
    for (size_t i = 0; i < count; i++)
        rows[i] = &lines[i];
    struct table table = {.key = "slowest",
                          .columns = columns,
                          .column_count = sizeof columns / sizeof columns[0],
                          .data_columns = "flow,name,key,what,stream,span,begin,duration",
                          .context = verb,
                          .file = tool_path(verb->path),
                          .clock = &clock,
                          .rows = rows,
                          .count = count,
                          .shown = count};
    const struct table *tables[] = {&table};
    table_print_csv(tables, 1, &all, true);
    free(rows);
    free(lines);
}
