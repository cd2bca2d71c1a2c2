/*
 * tracebed slowest: show single calls, the slowest first: when, where, what they did, and what else ran.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/query/query.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>
#include <tracebed/calls.h>

#define LIMIT_DEFAULT 10
#define LIMIT_MAX     1000000
#define PARTS_MAX     4 /* labels shown of what happened during a call */

static const char help[] =
    "usage: tracebed slowest [OPTION]... FILE [NAME]\n"
    "\n"
    "Show the slowest calls one by one: when each was, in which thread, with which\n"
    "arguments, where its time went, and what the other threads did meanwhile. NAME\n"
    "chooses the calls as --name does. FILE may be '-' for standard input.\n"
    "\n"
    "      --fastest          the fastest calls instead\n"
    "      --around=T         the calls at time T, or nearest to it, instead\n"
    "  -l, --limit=N          show N calls (default: 10)\n"
    "  -s, --sort=KEY[,...]   show these calls in the order of these columns: figures\n"
    "                         fall and names rise, or as '+' (rise) or '-' (fall)\n"
    "                         before KEY says\n"
    "      --columns=KEY[,...]\n"
    "                         show a table of these columns: duration, begin, name,\n"
    "                         arguments, thread, stream, never_ended, time, others\n" QUERY_HELP "\n"
    "'time' lists where the time of the call went, by self time, the call's own\n"
    "included; 'others' the same for all other threads. A call that -b or -e cuts\n"
    "counts with the part that is left.\n"
    "\n"
    "tracebed-slowest(1) documents the keys of --json.\n"
    "\n"
    "Examples:\n"
    "  tracebed slowest run.tbed parse\n"
    "  tracebed slowest --inside='handle request' -l 3 run.tbed\n"
    "  tracebed slowest --around=1.25 run.tbed '^load$'\n"
    "\n"
    "Exit status: 0 on success; 1 if the file is damaged (everything intact is used);\n"
    "2 if the usage is wrong or the file cannot be read.\n";

enum { OPTION_FASTEST = 2000, OPTION_AROUND };

struct slowest {
    struct query query;
    struct query_trace trace;
    struct filter_time around;
    struct tbed_calls_options options;
    struct tbed_call *calls;
    size_t limit, count;
    uint64_t total;
    enum tbed_status status;      /* of what columns look up */
    struct tool_buffer arguments; /* of the current call */
    size_t own_nbytes;            /* of them, those in its name */
    char name[512];
    size_t label_nbytes; /* the name up to its arguments */
};

/* ---- What happened during a call ---- */

/* The labels of a part of the trace with the most self time. */
struct parts {
    struct tbed_statistics *statistics;
    const struct tbed_span_row *rows[PARTS_MAX];
    size_t count;
};

static void add_part(struct parts *parts, const struct tbed_span_row *row)
{
    size_t at = parts->count < PARTS_MAX ? parts->count++ : PARTS_MAX;
    if (at == PARTS_MAX && parts->rows[--at]->self_ticks >= row->self_ticks)
        return;
    for (; at > 0 && parts->rows[at - 1]->self_ticks < row->self_ticks; at--)
        parts->rows[at] = parts->rows[at - 1];
    parts->rows[at] = row;
}

/* Where they are from: the call's own stream, all others, or what says when its thread was off its processor. */
enum parts_from { PARTS_OWN, PARTS_OTHERS, PARTS_OFF_CPU };

static bool is_from(const struct tbed_stream_info *stream, uint32_t own, enum parts_from from)
{
    bool is_off_cpu = stream->kind == TBED_STREAM_OFF_CPU;
    switch (from) {
    case PARTS_OWN:
        return stream->stream == own;
    case PARTS_OTHERS:
        return stream->stream != own && !is_off_cpu;
    case PARTS_OFF_CPU:
    default:
        return is_off_cpu && stream->of_thread == own;
    }
}

/* The caller frees them. */
static uint32_t *list_streams(const struct slowest *slowest, uint32_t own, enum parts_from from,
                              size_t *count_ret)
{
    struct tbed_stream_info stream;
    size_t room = 1, count = 0;
    while (tbed_stream_get(slowest->trace.reader, room - 1, &stream))
        room++;
    uint32_t *streams = tool_realloc(NULL, room * sizeof *streams);
    for (size_t i = 0; tbed_stream_get(slowest->trace.reader, i, &stream); i++)
        if (is_from(&stream, own, from))
            streams[count++] = stream.stream;
    *count_ret = count;
    return streams;
}

static enum tbed_status find_parts(struct slowest *slowest, const struct tbed_call *call,
                                   enum parts_from from, struct parts *parts)
{
    size_t count;
    uint32_t *streams = list_streams(slowest, call->stream, from, &count);
    struct tbed_filter_options which = {.size = sizeof which,
                                        .begin_tick = call->begin_tick,
                                        .end_tick = call->end_tick > 0 ? call->end_tick : 1,
                                        .streams = streams,
                                        .stream_count = count};
    struct tbed_filter *filter = NULL;
    struct tbed_analysis_options options = {.size = sizeof options,
                                            .thread_count = 1,
                                            .name = tool_places_name,
                                            .name_context = &slowest->trace.places,
                                            .prepare = tool_places_prepare,
                                            .skip_percentiles = true};
    const struct tbed_span_row *row;
    enum tbed_status status = tbed_filter_make(slowest->trace.reader, &which, &filter, NULL);
    options.filter = filter;
    if (status == TBED_OK)
        status = tbed_statistics_make(slowest->trace.reader, &options, &parts->statistics);
    for (size_t i = 0; status == TBED_OK && (row = tbed_statistics_span(parts->statistics, i)) != NULL; i++)
        if (row->self_ticks > 0)
            add_part(parts, row);
    tbed_filter_close(filter);
    free(streams);
    return status;
}

/* The step that has the arguments of the call, its BEGIN or its SPAN. */
static bool has_arguments(const struct tbed_call *call, const struct tbed_step *step)
{
    if (step->event == NULL || step->span == NULL || step->span->id != call->id)
        return false;
    if (step->kind == TBED_STEP_BEGIN)
        return step->span->begin_tick == call->begin_tick;
    return step->event->type == TBED_EVENT_SPAN && step->span->begin_tick == call->begin_tick &&
           step->span->end_tick == call->end_tick;
}

/* Names the call; the parts behind its label are arguments. */
static void name_call(struct slowest *slowest, const struct tbed_call *call)
{
    struct tool_buffer *arguments = &slowest->arguments;
    size_t nbytes = tool_places_name(&slowest->trace.places, call->id, slowest->name, sizeof slowest->name);
    nbytes = nbytes < sizeof slowest->name ? nbytes : sizeof slowest->name - 1;
    slowest->label_nbytes = tool_label_nbytes(slowest->name, nbytes);
    arguments->nbytes = 0;
    tool_append_event_name(arguments, slowest->name, nbytes);
    slowest->own_nbytes = arguments->nbytes - slowest->label_nbytes;
    if (slowest->own_nbytes > 0)
        memmove(arguments->bytes, arguments->bytes + slowest->label_nbytes, slowest->own_nbytes);
    arguments->nbytes = slowest->own_nbytes;
}

/* Looks for the arguments at one tick of the call's stream. */
static enum tbed_status find_arguments(struct slowest *slowest, const struct tbed_call *call, uint64_t tick)
{
    struct tbed_filter_options which = {.size = sizeof which,
                                        .begin_tick = tick,
                                        .end_tick = tick + 1,
                                        .streams = &call->stream,
                                        .stream_count = 1};
    struct tbed_filter *filter = NULL;
    struct tbed_assembler *assembler = NULL;
    struct tbed_step step;
    enum tbed_status status = tbed_filter_make(slowest->trace.reader, &which, &filter, NULL);
    if (status == TBED_OK)
        status = tbed_assembler_open_filtered(slowest->trace.reader, NULL, 0, filter, &assembler);
    while (status == TBED_OK && (status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        if (has_arguments(call, &step)) {
            slowest->arguments.nbytes = slowest->own_nbytes;
            tool_append_arguments(&slowest->arguments, slowest->trace.reader, step.event);
            break;
        }
    tbed_assembler_close(assembler);
    tbed_filter_close(filter);
    return status == TBED_END ? TBED_OK : status;
}

/* The name and the arguments of a call, which the first or the last event of it has. */
static enum tbed_status describe(struct slowest *slowest, const struct tbed_call *call)
{
    name_call(slowest, call);
    enum tbed_status status = find_arguments(slowest, call, call->begin_tick);
    if (status == TBED_OK && slowest->arguments.nbytes == slowest->own_nbytes)
        status = find_arguments(slowest, call, call->end_tick);
    return status;
}

/* ---- Text ---- */

#define NAME_INDENT 14 /* columns before a name */

static const char *format_ticks(const struct slowest *slowest, char buffer[40], uint64_t ticks)
{
    return table_format_duration(&slowest->trace.clock, buffer, ticks, (double)ticks);
}

static void put_parts(const struct slowest *slowest, const char *title, const struct parts *parts)
{
    char ticks[40];
    if (parts->count == 0)
        return;
    printf("              %s%-7s%s", tool_dim(), title, tool_plain());
    for (size_t i = 0; i < parts->count; i++) {
        printf("%s%s ", i > 0 ? ", " : "", format_ticks(slowest, ticks, parts->rows[i]->self_ticks));
        tool_print_text(stdout, parts->rows[i]->name, parts->rows[i]->name_nbytes, 40);
    }
    putchar('\n');
}

static void put_head(struct slowest *slowest, const struct tbed_call *call)
{
    char ticks[40];
    printf("%s%12s%s  ", tool_bold(), format_ticks(slowest, ticks, call->ticks), tool_plain());
    tool_print_middle(stdout, slowest->name, slowest->label_nbytes, tool_name_width(NAME_INDENT));
    tool_print_text(stdout, slowest->arguments.bytes, slowest->arguments.nbytes, 0);
    printf("%s\n              ", call->is_open ? "  [never ended]" : "");
    query_put_when(&slowest->trace, call->begin_tick);
    fputs(", ", stdout);
    struct table_value thread = query_thread(&slowest->trace, "thread ", call->stream);
    tool_print_text(stdout, thread.text, thread.nbytes, 0);
    putchar('\n');
}

static enum tbed_status put_call(struct slowest *slowest, const struct tbed_call *call)
{
    struct parts inside = {0}, others = {0}, off_cpu = {0};
    enum tbed_status status = describe(slowest, call);
    if (status == TBED_OK)
        status = find_parts(slowest, call, PARTS_OWN, &inside);
    if (status == TBED_OK)
        status = find_parts(slowest, call, PARTS_OTHERS, &others);
    if (status == TBED_OK)
        status = find_parts(slowest, call, PARTS_OFF_CPU, &off_cpu);
    if (status == TBED_OK) {
        put_head(slowest, call);
        put_parts(slowest, "time", &inside);
        put_parts(slowest, "off", &off_cpu);
        put_parts(slowest, "others", &others);
    }
    tbed_statistics_close(inside.statistics);
    tbed_statistics_close(others.statistics);
    tbed_statistics_close(off_cpu.statistics);
    return status;
}

/* ---- Columns ---- */

static struct slowest *slowest_of(const struct table *table)
{
    return (struct slowest *)table->context;
}

static struct table_value describe_value(const struct table *table, const struct tbed_call *call)
{
    struct slowest *slowest = slowest_of(table);
    struct tool_buffer *arguments = &slowest->arguments;
    enum tbed_status status = describe(slowest, call);
    slowest->status = slowest->status == TBED_OK ? status : slowest->status;
    if (arguments->nbytes == 0)
        return (struct table_value){.is_unknown = true, .text = ""};
    return query_text(&slowest->trace, arguments->bytes + 1, arguments->nbytes - 1); /* without the space */
}

static void find_parts_of(const struct table *table, const void *call, enum parts_from from,
                          struct parts *parts)
{
    struct slowest *slowest = slowest_of(table);
    enum tbed_status status = find_parts(slowest, call, from, parts);
    slowest->status = slowest->status == TBED_OK ? status : slowest->status;
}

/* "5.00 us parse, 3.00 us lex" */
static struct table_value parts_value(const struct table *table, const void *call, enum parts_from from)
{
    struct slowest *slowest = slowest_of(table);
    struct tool_buffer text = {0};
    struct parts parts = {0};
    char ticks[40];
    find_parts_of(table, call, from, &parts);
    for (size_t i = 0; i < parts.count; i++) {
        tool_append(&text, ", ", i > 0 ? 2 : 0);
        format_ticks(slowest, ticks, parts.rows[i]->self_ticks);
        tool_append(&text, ticks, strlen(ticks));
        tool_append(&text, " ", 1);
        tool_append(&text, parts.rows[i]->name, parts.rows[i]->name_nbytes);
    }
    struct table_value value = query_text(&slowest->trace, text.bytes, text.nbytes);
    value.is_unknown = parts.count == 0;
    tbed_statistics_close(parts.statistics);
    free(text.bytes);
    return value;
}

TABLE_GETTER(call_name, tbed_call, query_label(&slowest_of(table)->trace, row->id))
TABLE_GETTER(call_begin, tbed_call, query_when(&slowest_of(table)->trace, row->begin_tick))
TABLE_GETTER(call_duration, tbed_call, table_value_of(row->ticks))
TABLE_GETTER(call_thread, tbed_call, query_thread(&slowest_of(table)->trace, "", row->stream))
TABLE_GETTER(call_stream, tbed_call, table_value_of(row->stream))
TABLE_GETTER(call_is_open, tbed_call, table_value_of(row->is_open))
TABLE_GETTER(call_arguments, tbed_call, describe_value(table, row))
TABLE_GETTER(call_time, tbed_call, parts_value(table, row, PARTS_OWN))
TABLE_GETTER(call_others, tbed_call, parts_value(table, row, PARTS_OTHERS))
TABLE_GETTER(call_off_cpu, tbed_call, parts_value(table, row, PARTS_OFF_CPU))

static void json_name(struct tbed_json *json, const struct table *table, const void *of)
{
    const struct tbed_call *call = of;
    struct table_value name = call_name(table, of);
    tool_json_row_name(json, slowest_of(table)->trace.reader, call->id, TBED_NAME_ALL, name.text,
                       name.nbytes);
}

static void json_begin(struct tbed_json *json, const struct table *table, const void *of)
{
    query_json_begin(json, &slowest_of(table)->trace, ((const struct tbed_call *)of)->begin_tick);
}

static void json_is_open(struct tbed_json *json, const struct table *table, const void *of)
{
    (void)table;
    tbed_json_bool(json, "never_ended", ((const struct tbed_call *)of)->is_open);
}

static void json_arguments(struct tbed_json *json, const struct table *table, const void *of)
{
    struct table_value arguments = call_arguments(table, of);
    tbed_json_text(json, "arguments", arguments.text, arguments.nbytes);
}

static void json_parts(struct tbed_json *json, const struct table *table, const void *call,
                       enum parts_from from)
{
    static const char *const keys[] = {"time", "others", "off_cpu"};
    const struct query_trace *trace = &slowest_of(table)->trace;
    struct parts parts = {0};
    find_parts_of(table, call, from, &parts);
    tbed_json_array_open(json, keys[from]);
    for (size_t i = 0; i < parts.count; i++) {
        const struct tbed_span_row *row = parts.rows[i];
        tbed_json_object_open(json, NULL);
        tool_json_row_name(json, trace->reader, row->id, TBED_NAME_ALL, row->name, row->name_nbytes);
        tbed_json_u64(json, "count", row->count);
        query_json_ticks(json, trace, "self", row->self_ticks);
        tbed_json_object_close(json);
    }
    tbed_json_array_close(json);
    tbed_statistics_close(parts.statistics);
}

static void json_time(struct tbed_json *json, const struct table *table, const void *call)
{
    json_parts(json, table, call, PARTS_OWN);
}

static void json_others(struct tbed_json *json, const struct table *table, const void *call)
{
    json_parts(json, table, call, PARTS_OTHERS);
}

static void json_off_cpu(struct tbed_json *json, const struct table *table, const void *call)
{
    json_parts(json, table, call, PARTS_OFF_CPU);
}

static const struct table_column columns[] = {
    {.key = "duration", .unit = TABLE_DURATION, .get = call_duration},
    {.key = "begin", .unit = TABLE_TICKS, .get = call_begin, .json = json_begin},
    {.key = "name", .unit = TABLE_TEXT, .get = call_name, .json = json_name},
    {.key = "arguments", .unit = TABLE_TEXT, .get = call_arguments, .json = json_arguments},
    {.key = "thread", .unit = TABLE_TEXT, .get = call_thread},
    {.key = "stream", .unit = TABLE_COUNT, .get = call_stream},
    {.key = "never_ended", .unit = TABLE_COUNT, .width = 13, .get = call_is_open, .json = json_is_open},
    {.key = "time", .unit = TABLE_TEXT, .get = call_time, .json = json_time},
    {.key = "others", .unit = TABLE_TEXT, .get = call_others, .json = json_others},
    {.key = "off_cpu", .unit = TABLE_TEXT, .get = call_off_cpu, .json = json_off_cpu},
};

static const struct table calls_table = {
    .key = "calls",
    .what = "calls",
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .data_columns = "name,begin,duration,stream,never_ended,arguments",
};
#define JSON_COLUMNS "name,begin,duration,stream,never_ended,arguments,time,others,off_cpu"

/* ---- Printing ---- */

static const char *title_of(enum tbed_calls_order order)
{
    return order == TBED_CALLS_NEAREST ? "nearest" : order == TBED_CALLS_FASTEST ? "fastest" : "slowest";
}

static void print_json(const struct slowest *slowest, const struct table *table)
{
    struct tbed_json json = {.out = stdout};
    query_json_open(&json, &slowest->query, &slowest->trace);
    tbed_json_string(&json, "order", title_of(slowest->options.order));
    tbed_json_u64(&json, "total_count", slowest->total);
    table_print_json(&json, table, &slowest->query.columns);
    query_json_close(&json, &slowest->trace);
    tbed_json_line(&json);
}

/* Says so if the clock is coarser than some of the calls. */
static void put_step(const struct slowest *slowest)
{
    bool is_needed = false;
    for (size_t i = 0; i < slowest->count; i++)
        is_needed |= table_is_below_step(&slowest->trace.clock, slowest->calls[i].ticks);
    if (is_needed)
        table_put_step(&slowest->trace.clock);
}

static void print_text(struct slowest *slowest, const struct table *table)
{
    const char *path = tool_path(slowest->trace.path);
    char shown[32], total[32];
    tool_print_text(stdout, path, strlen(path), 0);
    printf(": the %s%s%s of %s call%s\n", slowest->count == 1 ? "" : tool_format_count(shown, slowest->count),
           slowest->count == 1 ? "" : " ", title_of(slowest->options.order),
           tool_format_count(total, slowest->total), slowest->total == 1 ? "" : "s");
    put_step(slowest);
    if (slowest->total == 0)
        tool_filter_tell_no_spans(&slowest->query.filter, path);
    if (slowest->query.columns.count > 0) {
        table_print_text(table, &slowest->query.columns);
        return;
    }
    putchar('\n');
    for (size_t i = 0; slowest->status == TBED_OK && i < table->count && !tool_output_failed(); i++)
        slowest->status = put_call(slowest, table->rows[i]);
}

static void print(struct slowest *slowest)
{
    struct table table = calls_table;
    const struct table *tables[] = {&table};
    table.context = slowest;
    table.clock = &slowest->trace.clock;
    table.data_columns = slowest->query.json ? JSON_COLUMNS : table.data_columns;
    table.file = tool_path(slowest->trace.path);
    table_fill(&table, slowest->calls, sizeof *slowest->calls, slowest->count, &slowest->query.sort,
               SIZE_MAX);
    if (slowest->query.csv)
        table_print_csv(tables, 1, &slowest->query.columns, true);
    else if (slowest->query.json)
        print_json(slowest, &table);
    else
        print_text(slowest, &table);
    free(table.rows);
}

/* ---- The command line ---- */

static const char *take_option(struct slowest *slowest, int option)
{
    uint64_t limit;
    switch (option) {
    case OPTION_FASTEST:
        slowest->options.order = TBED_CALLS_FASTEST;
        return NULL;
    case OPTION_AROUND:
        slowest->options.order = TBED_CALLS_NEAREST;
        return tool_filter_explain("--around", filter_time_parse(optarg, &slowest->around));
    default: /* 'l' */
        if (!tool_parse_u64(optarg, LIMIT_MAX, &limit))
            return tool_takes("--limit takes a number of calls up to 1000000", optarg);
        slowest->limit = (size_t)limit;
        return NULL;
    }
}

static int parse(int argc, char **argv, struct slowest *slowest)
{
    static const struct option longs[] = {{"fastest", no_argument, NULL, OPTION_FASTEST},
                                          {"around", required_argument, NULL, OPTION_AROUND},
                                          {"limit", required_argument, NULL, 'l'},
                                          QUERY_OPTIONS,
                                          QUERY_TABLE_OPTIONS,
                                          {0}};
    int option, exit;
    bool has_fastest = false;
    while ((option = query_option_next(&slowest->query, argc, argv, "l:" QUERY_SHORTS QUERY_TABLE_SHORTS,
                                       longs, &exit)) != -1) {
        const char *wrong = take_option(slowest, option);
        has_fastest |= option == OPTION_FASTEST;
        if (wrong != NULL)
            return tool_usage(&tool_verb_slowest, wrong);
    }
    if (exit >= 0)
        return exit;
    if (has_fastest && slowest->around.kind != FILTER_TIME_NONE)
        return tool_usage(&tool_verb_slowest, "--fastest cannot be combined with --around");
    const char *wrong = query_take_keys(&slowest->query, &calls_table, 1);
    if (wrong != NULL)
        return tool_usage(&tool_verb_slowest, wrong);
    return query_take_operands(&slowest->query, argc, argv, &slowest->query.filter);
}

/* ---- All of it ---- */

static int find_and_show(struct slowest *slowest)
{
    const char *problem = NULL;
    if (slowest->around.kind != FILTER_TIME_NONE &&
        !filter_time_tick(&slowest->around, slowest->trace.reader, &slowest->options.tick, &problem))
        slowest->options.tick = UINT64_MAX;
    if (problem != NULL) {
        tool_complain("%s: %s", tool_path(slowest->trace.path), problem);
        return TOOL_TROUBLE;
    }
    slowest->options.filter = slowest->trace.filter;
    slowest->options.thread_count = slowest->query.jobs;
    slowest->calls = tool_realloc(NULL, (slowest->limit + 1) * sizeof *slowest->calls);
    tool_progress_begin(slowest->trace.reader, false);
    enum tbed_status status = tbed_calls_find(slowest->trace.reader, &slowest->options, slowest->calls,
                                              slowest->limit, &slowest->count, &slowest->total);
    tool_progress_end();
    if (status == TBED_OK)
        print(slowest);
    status = status == TBED_OK ? slowest->status : status;
    return tool_finish(query_end(&slowest->trace, status));
}

static int run(int argc, char **argv)
{
    struct slowest slowest = {.query = {.verb = &tool_verb_slowest},
                              .limit = LIMIT_DEFAULT,
                              .options = {.size = sizeof slowest.options}};
    int exit = parse(argc, argv, &slowest);
    if (exit < 0)
        exit = query_open(&slowest.trace, argv[optind], &slowest.query);
    if (exit < 0)
        exit = find_and_show(&slowest);
    free(slowest.calls);
    free(slowest.arguments.bytes);
    query_trace_close(&slowest.trace);
    query_close(&slowest.query);
    return exit;
}

const struct tool_verb tool_verb_slowest = {"slowest", "show the slowest calls one by one", help, run};
