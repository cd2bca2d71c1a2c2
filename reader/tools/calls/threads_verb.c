/*
 * tracebed threads: show how busy each thread was, and its gaps.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/filter/tool_filter.h"
#include "reader/tools/table/table.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/activity.h>

static const char help[] =
    "usage: tracebed threads [OPTION]... FILE\n"
    "\n"
    "Show how busy each thread was: how long it was in any span, how long in none,\n"
    "and how long such gaps are. FILE may be '-' for standard input.\n"
    "\n"
    "      --csv              print the threads as comma-separated values\n"
    "      --json             print one JSON object on one line\n"
    "  -j, --jobs=N           use N threads (default: one per processor)\n"
    "      --color=WHEN       use color: never, auto or always\n"
    "  -h, --help             print this help\n"
    "\n" TOOL_FILTER_HELP "\n"
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

enum { OPTION_CSV = 2000, OPTION_JSON };

struct threads {
    const char *path;
    struct tbed_reader *reader;
    struct tool_places places;
    struct tool_filter filter;
    struct tbed_activity_options options;
    struct tbed_trace_info info;
    struct tbed_activity *activity;
    bool csv, json;
    struct tool_buffer text; /* the name of a thread */
};

/* ---- The command line ---- */

static int parse(int argc, char **argv, struct threads *threads)
{
    static const struct option longs[] = {{"csv", no_argument, NULL, OPTION_CSV},
                                          {"json", no_argument, NULL, OPTION_JSON},
                                          {"jobs", required_argument, NULL, 'j'},
                                          TOOL_FILTER_OPTIONS,
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = tool_option_next(&tool_verb_threads, argc, argv, "hj:" TOOL_FILTER_SHORTS, longs,
                                      &exit)) != -1) {
        const char *wrong = NULL;
        threads->csv |= option == OPTION_CSV;
        threads->json |= option == OPTION_JSON;
        if (option == 'j')
            wrong = tool_parse_jobs(optarg, &threads->options.thread_count);
        else if (tool_filter_has_option(option))
            wrong = tool_filter_take_option(&threads->filter, option, optarg);
        if (wrong != NULL)
            return tool_usage(&tool_verb_threads, wrong);
    }
    if (exit >= 0)
        return exit;
    if (threads->csv && threads->json)
        return tool_usage(&tool_verb_threads, "--csv cannot be combined with --json");
    if (argc - optind != 1)
        return tool_usage(&tool_verb_threads, optind < argc ? "too many operands" : "missing FILE operand");
    threads->path = argv[optind];
    return -1;
}

/* ---- Columns ---- */

/* Since the start of the trace, if its clock measures time. */
static struct table_value time_of(const struct table *table, uint64_t tick)
{
    uint64_t first = ((const struct threads *)table->context)->info.first_tick;
    return table_value_of(!table->clock->is_time ? tick : tick > first ? tick - first : 0);
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

/* "4711 worker", or the name or number alone. */
static struct table_value thread_of(const struct table *table, uint32_t number)
{
    struct threads *threads = (struct threads *)table->context;
    struct tbed_stream_info stream = {.name_id = TBED_ID_INVALID};
    char text[32];
    size_t i = 0;
    while (tbed_stream_get(threads->reader, i, &stream) && stream.stream != number)
        i++;
    int nbytes = snprintf(text, sizeof text, stream.tid != 0 ? "%u" : "stream %u",
                          stream.tid != 0 ? stream.tid : number);
    threads->text.nbytes = 0;
    tool_append(&threads->text, text, (size_t)nbytes);
    if (stream.name_id != TBED_ID_INVALID) {
        tool_append(&threads->text, " ", 1);
        tool_append_name(&threads->text, threads->reader, stream.name_id);
    }
    return (struct table_value){.text = threads->text.bytes, .nbytes = threads->text.nbytes};
}

#define GETTER(getter, value)                                                                                \
    static struct table_value getter(const struct table *table, const void *of)                              \
    {                                                                                                        \
        const struct tbed_activity_row *row = of;                                                            \
        (void)table;                                                                                         \
        return value;                                                                                        \
    }

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
    {.key = "p50", .field = "p50_gap", .title = "p50 gap", .unit = TABLE_TICKS, .get = get_p50},
    {.key = "p90", .field = "p90_gap", .title = "p90 gap", .unit = TABLE_TICKS, .get = get_p90},
    {.key = "p99", .field = "p99_gap", .title = "p99 gap", .unit = TABLE_TICKS, .get = get_p99},
    {.key = "longest", .field = "longest_gap", .unit = TABLE_TICKS, .get = get_longest},
    {.key = "at", .field = "longest_gap_at", .unit = TABLE_TICKS, .get = get_at},
    {.key = "stream", .unit = TABLE_COUNT, .get = get_stream},
    {.key = "thread", .unit = TABLE_TEXT, .get = get_thread},
};

/* ---- Printing ---- */

static void print_json(const struct threads *threads, const struct table *table, const struct table_keys *all)
{
    struct tbed_json json = {.out = stdout};
    tbed_json_object_open(&json, NULL);
    tool_json_file(&json, threads->path, threads->reader);
    tool_filter_json(&json, &threads->filter, &threads->filter.window);
    table_print_json(&json, table, all);
    tbed_json_u64(&json, "damage_count", tool_damage_count(threads->reader));
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}

static void print(struct threads *threads)
{
    const struct table_keys all = {.count = 0};
    bool is_time = threads->info.clock != TBED_CLOCK_USER;
    double resolution = is_time ? tbed_tick_span_to_ns(threads->reader, threads->info.resolution_ticks) : 0;
    struct table_clock clock = {
        .reader = is_time ? threads->reader : NULL, .is_time = is_time, .resolution_ns = resolution};
    size_t count = 0;
    while (tbed_activity_get(threads->activity, count) != NULL)
        count++;
    const void **rows = tool_realloc(NULL, (count + 1) * sizeof *rows);
    for (size_t i = 0; i < count; i++)
        rows[i] = tbed_activity_get(threads->activity, i);
    struct table table = {.key = "threads",
                          .columns = columns,
                          .column_count = sizeof columns / sizeof columns[0],
                          .text_columns = "first,last,busy,share,idle,gaps,p50,p90,longest,at,thread",
                          .data_columns =
                              "stream,thread,first,last,spans,busy,idle,gaps,p50,p90,p99,longest,at",
                          .context = threads,
                          .file = tool_path(threads->path),
                          .clock = &clock,
                          .rows = rows,
                          .count = count,
                          .shown = count};
    const struct table *tables[] = {&table};
    if (threads->json)
        print_json(threads, &table, &all);
    else if (threads->csv)
        table_print_csv(tables, 1, &all, true);
    else
        table_print_text(&table, &all);
    free(rows);
}

static int make_and_print(struct threads *threads)
{
    threads->options.filter = threads->filter.filter;
    enum tbed_status status = tbed_activity_make(threads->reader, &threads->options, &threads->activity);
    if (status == TBED_OK)
        print(threads);
    tool_tell_damage(threads->path, threads->reader);
    if (status != TBED_OK) {
        tool_complain("%s: %s", tool_path(threads->path), tbed_status_text(status));
        return TOOL_TROUBLE;
    }
    return tool_finish(tool_damage_count(threads->reader) > 0 ? TOOL_FOUND : TOOL_FINE);
}

static int run(int argc, char **argv)
{
    struct threads threads = {.options = {.size = sizeof threads.options}};
    int exit = parse(argc, argv, &threads);
    if (exit < 0 && (threads.reader = tool_open(threads.path)) == NULL)
        exit = TOOL_TROUBLE;
    if (exit < 0) {
        tbed_reader_info(threads.reader, &threads.info);
        threads.places = (struct tool_places){.reader = threads.reader, .part = TBED_NAME_ALL};
        tool_places_open(&threads.places, threads.reader, TBED_NAME_ALL);
        exit = tool_filter_open(&threads.filter, threads.path, threads.reader, &threads.places,
                                threads.options.thread_count);
    }
    if (exit < 0)
        exit = make_and_print(&threads);
    tbed_activity_close(threads.activity);
    free(threads.text.bytes);
    tool_filter_close(&threads.filter);
    tool_places_close(&threads.places);
    tbed_reader_close(threads.reader);
    return exit;
}

const struct tool_verb tool_verb_threads = {"threads", "show how busy each thread was", help, run};
