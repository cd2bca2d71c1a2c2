/*
 * tracebed histogram: how long the calls of a name take, as a distribution, of one trace or of two side by side.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/filter/tool_filter.h"
#include "reader/tools/table/table.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>
#include <tracebed/calls.h>

#define ROWS_DEFAULT 20
#define ROWS_MAX     1000
#define BAR_WIDTH    24
#define TRACES_MAX   2

static const char help[] =
    "usage: tracebed histogram [OPTION]... NAME FILE [FILE]\n"
    "\n"
    "Show how long calls take: how many take how long, and how much of the time they\n"
    "take together. NAME chooses the calls as --name does; '.' chooses all. Two files\n"
    "are shown side by side. One FILE may be '-' for standard input.\n"
    "\n"
    "      --rows=N           show about N ranges of durations (default: 20)\n"
    "      --linear           ranges of equal size; otherwise they grow with their\n"
    "                         durations: 1, 2, 5, 10, ...\n"
    "      --no-symbols       show addresses instead of looking up symbols\n"
    "      --csv              print rows as comma-separated values\n"
    "      --json             print one JSON object on one line\n"
    "  -j, --jobs=N           use N threads (default: one per processor)\n"
    "      --color=WHEN       use color: never, auto or always\n"
    "  -h, --help             print this help\n"
    "\n" TOOL_FILTER_HELP "\n"
    "A range contains the durations from the one in its line up to the one in the\n"
    "next. '%' is the share of all calls, 'time' that of their total time.\n"
    "\n"
    "tracebed-histogram(1) documents the keys of --json.\n"
    "\n"
    "Examples:\n"
    "  tracebed histogram '^parse$' run.tbed\n"
    "  tracebed histogram --inside='handle request' load before.tbed after.tbed\n"
    "\n"
    "Exit status: 0 on success; 1 if a file is damaged (everything intact is used); 2\n"
    "if the usage is wrong, a file cannot be read, or the clocks of the files count\n"
    "different things.\n";

enum { OPTION_ROWS = 2000, OPTION_LINEAR, OPTION_NO_SYMBOLS, OPTION_CSV, OPTION_JSON };

/* One trace, and its calls by duration. Bounds are in nanoseconds, or in units of a clock that does not measure time. */
struct trace {
    const char *path;
    struct tbed_reader *reader;
    struct tool_places places;
    struct tool_filter filter;
    struct tbed_trace_info info;
    uint64_t total; /* calls */
    double least, most;
    uint64_t *counts, *ticks;
    uint64_t all_ticks;
};

struct histogram {
    struct tool_filter filter; /* as asked for */
    struct trace traces[TRACES_MAX];
    size_t trace_count;
    size_t rows;
    unsigned jobs;
    bool is_linear, no_symbols, csv, json;
    double *bounds;
    size_t bound_count;
};

/* ---- The command line ---- */

static const char *take_option(struct histogram *histogram, int option)
{
    uint64_t number;
    if (tool_filter_has_option(option))
        return tool_filter_take_option(&histogram->filter, option, optarg);
    switch (option) {
    case OPTION_ROWS:
        if (!tool_parse_u64(optarg, ROWS_MAX, &number) || number == 0)
            return "--rows takes a number from 1 to 1000";
        histogram->rows = (size_t)number;
        return NULL;
    case OPTION_LINEAR:
        histogram->is_linear = true;
        return NULL;
    case OPTION_NO_SYMBOLS:
        histogram->no_symbols = true;
        return NULL;
    case OPTION_CSV:
        histogram->csv = true;
        return NULL;
    case OPTION_JSON:
        histogram->json = true;
        return NULL;
    default: /* 'j' */
        return tool_parse_jobs(optarg, &histogram->jobs);
    }
}

static int parse(int argc, char **argv, struct histogram *histogram)
{
    static const struct option longs[] = {{"rows", required_argument, NULL, OPTION_ROWS},
                                          {"linear", no_argument, NULL, OPTION_LINEAR},
                                          {"no-symbols", no_argument, NULL, OPTION_NO_SYMBOLS},
                                          {"csv", no_argument, NULL, OPTION_CSV},
                                          {"json", no_argument, NULL, OPTION_JSON},
                                          {"jobs", required_argument, NULL, 'j'},
                                          TOOL_FILTER_OPTIONS,
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = tool_option_next(&tool_verb_histogram, argc, argv, "hj:" TOOL_FILTER_SHORTS, longs,
                                      &exit)) != -1) {
        const char *wrong = take_option(histogram, option);
        if (wrong != NULL)
            return tool_usage(&tool_verb_histogram, wrong);
    }
    if (exit >= 0)
        return exit;
    if (histogram->csv && histogram->json)
        return tool_usage(&tool_verb_histogram, "--csv cannot be combined with --json");
    size_t count = (size_t)(argc - optind);
    if (count < 2)
        return tool_usage(&tool_verb_histogram, count < 1 ? "missing NAME operand" : "missing FILE operand");
    if (count > 1 + TRACES_MAX)
        return tool_usage(&tool_verb_histogram, "too many FILE operands");
    if (count == 3 && strcmp(argv[optind + 1], "-") == 0 && strcmp(argv[optind + 2], "-") == 0)
        return tool_usage(&tool_verb_histogram, "only one FILE can be standard input");
    tool_filter_take_option(&histogram->filter, 'n', argv[optind]);
    histogram->trace_count = count - 1;
    for (size_t i = 0; i < histogram->trace_count; i++)
        histogram->traces[i].path = argv[optind + 1 + (int)i];
    return -1;
}

/* ---- Units ---- */

static bool is_time(const struct trace *trace)
{
    return trace->info.clock != TBED_CLOCK_USER;
}

static double value_of(const struct trace *trace, uint64_t ticks)
{
    return is_time(trace) ? tbed_tick_span_to_ns(trace->reader, ticks) : (double)ticks;
}

/* The first duration in ticks that is not below the value. */
static uint64_t ticks_from(const struct trace *trace, double value)
{
    uint64_t low = 0, high = INT64_MAX;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (value_of(trace, middle) < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- Ranges ---- */

/* Preferred numbers: how many a factor of 10 is divided into. */
static const double one[] = {1}, three[] = {1, 2, 5}, five[] = {1, 1.6, 2.5, 4, 6.3},
                    ten[] = {1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8};
static const struct series {
    const double *items;
    size_t count;
} all_series[] = {{ten, 10}, {five, 5}, {three, 3}, {one, 1}};
#define SERIES_COUNT (sizeof all_series / sizeof all_series[0])

/* The largest power of 10 that is not above the value, which is above 0. */
static double decade_of(double value)
{
    double decade = 1;
    while (decade > value)
        decade /= 10;
    while (decade * 10 <= value)
        decade *= 10;
    return decade;
}

static void add_bound(struct histogram *histogram, double bound)
{
    histogram->bounds =
        tool_realloc(histogram->bounds, (histogram->bound_count + 1) * sizeof *histogram->bounds);
    histogram->bounds[histogram->bound_count++] = bound;
}

/* The bounds of a series from the last that is not above 'least' up to 'most'. */
static void add_series(struct histogram *histogram, const struct series *series, double least, double most)
{
    histogram->bound_count = 0;
    for (double decade = decade_of(least); decade <= most; decade *= 10)
        for (size_t i = 0; i < series->count && decade * series->items[i] <= most; i++) {
            double bound = decade * series->items[i];
            if (bound <= least)
                histogram->bound_count = 0;
            add_bound(histogram, bound);
        }
}

/* 1, 2 or 5 times a power of 10, and not below the value. */
static double step_from(double value)
{
    double decade = decade_of(value);
    for (size_t i = 0; i < 3; i++)
        if (decade * three[i] >= value)
            return decade * three[i];
    return decade * 10;
}

static void add_steps(struct histogram *histogram, double least, double most)
{
    double step = most > least ? step_from((most - least) / (double)histogram->rows) : 1;
    double bound = (double)(uint64_t)(least / step) * step;
    do
        add_bound(histogram, bound);
    while ((bound += step) <= most && histogram->bound_count <= ROWS_MAX + 1);
}

static void choose_bounds(struct histogram *histogram)
{
    double least = 0, most = 0;
    bool has_any = false;
    for (size_t i = 0; i < histogram->trace_count; i++) {
        const struct trace *trace = &histogram->traces[i];
        if (trace->total == 0)
            continue;
        least = !has_any || trace->least < least ? trace->least : least;
        most = trace->most > most ? trace->most : most;
        has_any = true;
    }
    if (histogram->is_linear || most < 4 * least || most <= 0) {
        add_steps(histogram, least, most);
        return;
    }
    double first = least > 0 ? least : most / 1e6 > 1 ? 1 : most / 1e6;
    size_t best = 0, best_distance = SIZE_MAX;
    for (size_t i = 0; i < SERIES_COUNT; i++) {
        add_series(histogram, &all_series[i], first, most);
        size_t count = histogram->bound_count;
        size_t distance = count > histogram->rows ? count - histogram->rows : histogram->rows - count;
        best = distance < best_distance ? i : best;
        best_distance = distance < best_distance ? distance : best_distance;
    }
    add_series(histogram, &all_series[best], first, most);
    if (least < histogram->bounds[0])
        histogram->bounds[0] = 0;
}

/* ---- Counting ---- */

static enum tbed_status find_limits(struct histogram *histogram, struct trace *trace)
{
    struct tbed_calls_options options = {
        .size = sizeof options, .thread_count = histogram->jobs, .filter = trace->filter.filter};
    struct tbed_call call = {0};
    enum tbed_status status = tbed_calls_find(trace->reader, &options, &call, 1, NULL, &trace->total);
    trace->most = value_of(trace, call.ticks);
    options.order = TBED_CALLS_FASTEST;
    if (status == TBED_OK)
        status = tbed_calls_find(trace->reader, &options, &call, 1, NULL, NULL);
    trace->least = value_of(trace, call.ticks);
    return status;
}

static enum tbed_status count(struct histogram *histogram, struct trace *trace)
{
    struct tbed_calls_options options = {
        .size = sizeof options, .thread_count = histogram->jobs, .filter = trace->filter.filter};
    size_t room = histogram->bound_count, used = 0;
    uint64_t *bounds = tool_realloc(NULL, room * sizeof *bounds);
    size_t *rows = tool_realloc(NULL, room * sizeof *rows); /* of the bounds: some are the same in ticks */
    uint64_t *counts = tool_realloc(NULL, room * sizeof *counts),
             *ticks = tool_realloc(NULL, room * sizeof *ticks);
    trace->counts = calloc(room, sizeof *trace->counts);
    trace->ticks = calloc(room, sizeof *trace->ticks);
    for (size_t i = 0; i < room; i++) {
        uint64_t bound = ticks_from(trace, histogram->bounds[i]);
        used -= used > 0 && bounds[used - 1] == bound; /* the later row has it */
        bounds[used] = bound;
        rows[used++] = i;
    }
    enum tbed_status status = TBED_ERR_MEMORY;
    if (trace->counts != NULL && trace->ticks != NULL)
        status = tbed_calls_count(trace->reader, &options, bounds, used, counts, ticks);
    for (size_t i = 0; status == TBED_OK && i < used; i++) {
        trace->counts[rows[i]] = counts[i];
        trace->ticks[rows[i]] = ticks[i];
        trace->all_ticks += ticks[i];
    }
    free(bounds);
    free(rows);
    free(counts);
    free(ticks);
    return status;
}

/* ---- Text ---- */

static const char *format_value(const struct trace *trace, char buffer[32], double value)
{
    if (!is_time(trace))
        return tool_format_count(buffer, (uint64_t)(value + 0.5));
    return tool_format_ns(buffer, value);
}

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static double most_in_a_row(const struct histogram *histogram)
{
    double most = 0;
    for (size_t i = 0; i < histogram->trace_count; i++)
        for (size_t k = 0; k < histogram->bound_count; k++) {
            double part = share(histogram->traces[i].counts[k], histogram->traces[i].total);
            most = part > most ? part : most;
        }
    return most;
}

static bool is_empty(const struct histogram *histogram, size_t row)
{
    for (size_t i = 0; i < histogram->trace_count; i++)
        if (histogram->traces[i].counts[row] > 0)
            return false;
    return true;
}

static void put_row(const struct histogram *histogram, size_t row, double most)
{
    char value[32], calls[32];
    size_t width = BAR_WIDTH / histogram->trace_count;
    printf("%12s", format_value(&histogram->traces[0], value, histogram->bounds[row]));
    for (size_t i = 0; i < histogram->trace_count; i++) {
        const struct trace *trace = &histogram->traces[i];
        double part = share(trace->counts[row], trace->total);
        printf(" %12s %5.1f %% %5.1f %%", tool_format_count(calls, trace->counts[row]), part,
               share(trace->ticks[row], trace->all_ticks));
        if (histogram->trace_count == 1) {
            fputs("  ", stdout);
            table_put_bar(most > 0 ? part / most : 0, width);
        }
    }
    putchar('\n');
}

static void put_head(const struct histogram *histogram)
{
    char least[32], most[32], calls[32];
    for (size_t i = 0; i < histogram->trace_count; i++) {
        const struct trace *trace = &histogram->traces[i];
        const char *path = tool_path(trace->path);
        tool_print_text(stdout, path, strlen(path), 0);
        printf(": %s calls", tool_format_count(calls, trace->total));
        if (trace->total > 0)
            printf(", %s to %s", format_value(trace, least, trace->least),
                   format_value(trace, most, trace->most));
        putchar('\n');
    }
}

static void put_text(const struct histogram *histogram)
{
    double most = most_in_a_row(histogram);
    size_t first = 0, end = histogram->bound_count;
    put_head(histogram);
    while (first < end && is_empty(histogram, first))
        first++;
    while (end > first && is_empty(histogram, end - 1))
        end--;
    if (first == end)
        return;
    printf("\n%s%12s", tool_bold(), "from");
    for (size_t i = 0; i < histogram->trace_count; i++)
        printf(" %12s %7s %7s", "calls", "%", "time");
    printf("%s\n", tool_plain());
    for (size_t row = first; row < end; row++)
        put_row(histogram, row, most);
}

/* ---- JSON ---- */

static void json_trace(struct tbed_json *json, const struct histogram *histogram, const struct trace *trace)
{
    const char *unit = is_time(trace) ? "ns" : "ticks";
    char key[32];
    tbed_json_object_open(json, NULL);
    tool_json_file(json, trace->path, trace->reader);
    tbed_json_u64(json, "count", trace->total);
    tbed_json_array_open(json, "rows");
    for (size_t row = 0; row < histogram->bound_count; row++) {
        tbed_json_object_open(json, NULL);
        snprintf(key, sizeof key, "from_%s", unit);
        tbed_json_f64(json, key, histogram->bounds[row]);
        tbed_json_u64(json, "count", trace->counts[row]);
        snprintf(key, sizeof key, "total_%s", unit);
        tbed_json_u64(json, key, tbed_round_u64(value_of(trace, trace->ticks[row])));
        tbed_json_object_close(json);
    }
    tbed_json_array_close(json);
    tbed_json_u64(json, "damage_count", tool_damage_count(trace->reader));
    tbed_json_object_close(json);
}

static void put_json(const struct histogram *histogram)
{
    struct tbed_json json = {.out = stdout};
    tbed_json_object_open(&json, NULL);
    tbed_json_array_open(&json, "traces");
    for (size_t i = 0; i < histogram->trace_count; i++)
        json_trace(&json, histogram, &histogram->traces[i]);
    tbed_json_array_close(&json);
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}

/* ---- CSV ---- */

struct range {
    double from;
    uint64_t count, ticks;
};

static struct table_value range_from(const struct table *table, const void *row)
{
    (void)table;
    return (struct table_value){.number = ((const struct range *)row)->from};
}

static struct table_value range_count(const struct table *table, const void *row)
{
    (void)table;
    return table_value_of(((const struct range *)row)->count);
}

static struct table_value range_total(const struct table *table, const void *row)
{
    (void)table;
    return table_value_of(((const struct range *)row)->ticks);
}

static void put_csv(const struct histogram *histogram)
{
    const struct table_column columns[] = {
        {.key = "from",
         .field = is_time(&histogram->traces[0]) ? "from_ns" : "from_ticks",
         .unit = TABLE_NUMBER,
         .get = range_from},
        {.key = "count", .unit = TABLE_COUNT, .get = range_count},
        {.key = "total", .unit = TABLE_TICKS, .get = range_total},
    };
    const struct table_keys all = {.count = 0};
    struct range *ranges = tool_realloc(NULL, histogram->bound_count * sizeof *ranges);
    const void **rows = tool_realloc(NULL, histogram->bound_count * sizeof *rows);
    for (size_t i = 0; i < histogram->trace_count; i++) {
        const struct trace *trace = &histogram->traces[i];
        struct table_clock clock = {.reader = trace->reader, .is_time = is_time(trace)};
        struct table table = {.key = "rows",
                              .columns = columns,
                              .column_count = sizeof columns / sizeof columns[0],
                              .data_columns = "from,count,total",
                              .file = tool_path(trace->path),
                              .clock = &clock,
                              .rows = rows,
                              .count = histogram->bound_count,
                              .shown = histogram->bound_count};
        const struct table *tables[] = {&table};
        for (size_t k = 0; k < histogram->bound_count; k++) {
            ranges[k] = (struct range){histogram->bounds[k], trace->counts[k], trace->ticks[k]};
            rows[k] = &ranges[k];
        }
        table_print_csv(tables, 1, &all, i == 0);
    }
    free(ranges);
    free(rows);
}

/* ---- All of it ---- */

/* The options are the same for both traces; what they mean in each is not. */
static int open_trace(struct histogram *histogram, struct trace *trace)
{
    trace->reader = tool_open(trace->path);
    if (trace->reader == NULL)
        return TOOL_TROUBLE;
    tbed_reader_info(trace->reader, &trace->info);
    trace->places = (struct tool_places){.reader = trace->reader, .part = TBED_NAME_ALL};
    if (!histogram->no_symbols)
        tool_places_open(&trace->places, trace->reader, TBED_NAME_ALL);
    int exit =
        tool_filter_open(&histogram->filter, trace->path, trace->reader, &trace->places, histogram->jobs);
    trace->filter.filter = histogram->filter.filter; /* the trace's own from now on */
    histogram->filter.filter = NULL;
    if (exit >= 0)
        return exit;
    enum tbed_status status = find_limits(histogram, trace);
    if (status == TBED_OK)
        return -1;
    tool_complain("%s: %s", tool_path(trace->path), tbed_status_text(status));
    return TOOL_TROUBLE;
}

static int show(struct histogram *histogram)
{
    int exit = TOOL_FINE;
    const struct trace *first = &histogram->traces[0], *last = &histogram->traces[histogram->trace_count - 1];
    if (is_time(first) != is_time(last) || strcmp(first->info.clock_unit, last->info.clock_unit) != 0) {
        tool_complain("%s and %s count different things: cannot compare them", tool_path(first->path),
                      tool_path(last->path));
        return TOOL_TROUBLE;
    }
    choose_bounds(histogram);
    for (size_t i = 0; i < histogram->trace_count; i++) {
        struct trace *trace = &histogram->traces[i];
        enum tbed_status status = count(histogram, trace);
        if (status != TBED_OK) {
            tool_complain("%s: %s", tool_path(trace->path), tbed_status_text(status));
            return TOOL_TROUBLE;
        }
    }
    if (histogram->csv)
        put_csv(histogram);
    else if (histogram->json)
        put_json(histogram);
    else
        put_text(histogram);
    for (size_t i = 0; i < histogram->trace_count; i++) {
        tool_tell_damage(histogram->traces[i].path, histogram->traces[i].reader);
        exit = tool_damage_count(histogram->traces[i].reader) > 0 ? TOOL_FOUND : exit;
    }
    return tool_finish(exit);
}

static int run(int argc, char **argv)
{
    struct histogram histogram = {.rows = ROWS_DEFAULT};
    int exit = parse(argc, argv, &histogram);
    for (size_t i = 0; exit < 0 && i < histogram.trace_count; i++)
        exit = open_trace(&histogram, &histogram.traces[i]);
    if (exit < 0)
        exit = show(&histogram);
    for (size_t i = 0; i < TRACES_MAX; i++) {
        struct trace *trace = &histogram.traces[i];
        free(trace->counts);
        free(trace->ticks);
        tool_filter_close(&trace->filter);
        tool_places_close(&trace->places);
        tbed_reader_close(trace->reader);
    }
    tool_filter_close(&histogram.filter);
    free(histogram.bounds);
    return exit;
}

const struct tool_verb tool_verb_histogram = {"histogram", "show the distribution of the durations of calls",
                                              help, run};
