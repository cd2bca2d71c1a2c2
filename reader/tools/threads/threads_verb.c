/*
 * tracebed threads: show how busy each thread was, and its gaps.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/query/query.h"

#include <stdlib.h>
#include <tracebed/activity.h>

static const char help[] =
    "usage: tracebed threads [OPTION]... FILE\n"
    "\n"
    "Show how busy each thread was: how long it was in any span, how long in none,\n"
    "and how long such gaps are. FILE may be '-' for standard input.\n"
    "\n"
    "  -s, --sort=KEY[,...]   sort by these columns: figures fall and names rise, or\n"
    "                         as '+' (rise) or '-' (fall) before KEY says\n"
    "      --columns=KEY[,...]\n"
    "                         show these columns: first, last, spans, busy, share,\n"
    "                         idle, gaps, p50, p90, p99, longest, at, stream, thread\n" QUERY_HELP "\n"
    "'first' and 'last' are the first and the last event of the thread, 'at' is where\n"
    "its longest gap begins. Times count from the start of the trace.\n"
    "\n"
    "tracebed-threads(1) documents the keys of --json.\n"
    "\n"
    "Examples:\n"
    "  tracebed threads run.tbed\n"
    "  tracebed threads -b 10% -e 20% run.tbed\n"
    "  tracebed threads --exclude='^main loop$' run.tbed\n"
    "\n"
    "Exit status: 0 on success; 1 if the file is damaged (everything intact is used);\n"
    "2 if the usage is wrong or the file cannot be read.\n";

struct threads {
    struct query query;
    struct query_trace trace;
    struct tbed_activity *activity;
};

/* ---- Columns ---- */

static struct table_value time_of(const struct table *table, uint64_t tick)
{
    return query_when(&((const struct threads *)table->context)->trace, tick);
}

static struct table_value if_gaps(const struct tbed_activity_row *row, struct table_value value)
{
    value.is_unknown = row->gap_count == 0;
    return value;
}

static struct table_value share_of(const struct tbed_activity_row *row)
{
    double all = (double)row->busy_ticks + (double)row->idle_ticks;
    return (struct table_value){.is_unknown = all <= 0,
                                .number = all > 0 ? 100 * (double)row->busy_ticks / all : 0};
}

static struct table_value thread_of(const struct table *table, uint32_t stream)
{
    return query_thread(&((struct threads *)table->context)->trace, "", stream);
}

#define GETTER(getter, value) TABLE_GETTER(getter, tbed_activity_row, value)

GETTER(get_thread, thread_of(table, row->stream))
GETTER(get_stream, table_value_of(row->stream))
GETTER(get_first, time_of(table, row->first_tick))
GETTER(get_last, time_of(table, row->last_tick))
GETTER(get_spans, table_value_of(row->span_count))
GETTER(get_busy, table_value_of(row->busy_ticks))
GETTER(get_share, share_of(row))
GETTER(get_idle, table_value_of(row->idle_ticks))
GETTER(get_gaps, table_value_of(row->gap_count))
GETTER(get_p50, if_gaps(row, table_value_of(row->p50_gap_ticks)))
GETTER(get_p90, if_gaps(row, table_value_of(row->p90_gap_ticks)))
GETTER(get_p99, if_gaps(row, table_value_of(row->p99_gap_ticks)))
GETTER(get_longest, if_gaps(row, table_value_of(row->longest_gap_ticks)))
GETTER(get_at, if_gaps(row, time_of(table, row->longest_gap_tick)))

static const struct table_column columns[] = {
    {.key = "first", .unit = TABLE_TICKS, .get = get_first},
    {.key = "last", .unit = TABLE_TICKS, .get = get_last},
    {.key = "spans", .field = "span_count", .unit = TABLE_COUNT, .get = get_spans},
    {.key = "busy", .unit = TABLE_TICKS, .get = get_busy},
    {.key = "share", .field = "busy", .title = "busy %", .unit = TABLE_PERCENT, .get = get_share},
    {.key = "idle", .unit = TABLE_TICKS, .get = get_idle},
    {.key = "gaps", .field = "gap_count", .unit = TABLE_COUNT, .get = get_gaps},
    {.key = "p50", .field = "p50_gap", .title = "p50 gap", .unit = TABLE_DURATION, .get = get_p50},
    {.key = "p90", .field = "p90_gap", .title = "p90 gap", .unit = TABLE_DURATION, .get = get_p90},
    {.key = "p99", .field = "p99_gap", .title = "p99 gap", .unit = TABLE_DURATION, .get = get_p99},
    {.key = "longest", .field = "longest_gap", .unit = TABLE_DURATION, .get = get_longest},
    {.key = "at", .field = "longest_gap_at", .unit = TABLE_TICKS, .get = get_at},
    {.key = "stream", .unit = TABLE_COUNT, .get = get_stream},
    {.key = "thread", .unit = TABLE_TEXT, .get = get_thread},
};

static const struct table threads_table = {
    .key = "threads",
    .what = "threads",
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .text_columns = "first,last,busy,share,idle,gaps,p50,p90,longest,at,thread",
    .data_columns = "stream,thread,first,last,spans,busy,idle,gaps,p50,p90,p99,longest,at",
};

/* ---- All of it ---- */

static void print(const struct threads *threads)
{
    const struct tbed_activity_row *row;
    struct table table = threads_table;
    table.context = threads;
    table.file = tool_path(threads->trace.path);
    table.clock = &threads->trace.clock;
    for (; (row = tbed_activity_get(threads->activity, table.count)) != NULL; table.shown = ++table.count) {
        table.rows = tool_realloc(table.rows, (table.count + 1) * sizeof *table.rows);
        table.rows[table.count] = row;
    }
    table_sort(&table, &threads->query.sort);
    query_print(&threads->query, &threads->trace, &table);
    free(table.rows);
}

static int make_and_print(struct threads *threads)
{
    struct tbed_activity_options options = {
        .size = sizeof options, .thread_count = threads->query.jobs, .filter = threads->trace.filter};
    tool_progress_begin(threads->trace.reader, false);
    enum tbed_status status = tbed_activity_make(threads->trace.reader, &options, &threads->activity);
    tool_progress_end();
    if (status == TBED_OK)
        print(threads);
    return tool_finish(query_end(&threads->trace, status));
}

static int parse(int argc, char **argv, struct threads *threads)
{
    static const struct option longs[] = {QUERY_OPTIONS, QUERY_TABLE_OPTIONS, {0}};
    int exit;
    query_option_next(&threads->query, argc, argv, QUERY_SHORTS QUERY_TABLE_SHORTS, longs, &exit);
    if (exit >= 0)
        return exit;
    const char *wrong = query_take_keys(&threads->query, &threads_table, 1);
    return wrong != NULL ? tool_usage(&tool_verb_threads, wrong)
                         : query_take_operands(&threads->query, argc, argv, NULL);
}

static int run(int argc, char **argv)
{
    struct threads threads = {.query = {.verb = &tool_verb_threads}};
    int exit = parse(argc, argv, &threads);
    if (exit < 0)
        exit = query_open(&threads.trace, argv[optind], &threads.query);
    if (exit < 0)
        exit = make_and_print(&threads);
    tbed_activity_close(threads.activity);
    query_trace_close(&threads.trace);
    query_close(&threads.query);
    return exit;
}

const struct tool_verb tool_verb_threads = {"threads", "show how busy each thread was", help, run};
