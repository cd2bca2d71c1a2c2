/*
 * tracebed histogram: how long the calls of a name take, as a distribution, of one trace or of two side by side.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/analysis/calls/duration_bounds.h"
#include "reader/tools/query/query.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>
#include <tracebed/calls.h>

#define BAR_WIDTH 24
#define SIDES_MAX 2

static const char help[] =
    "usage: tracebed histogram [OPTION]... NAME FILE [FILE]\n"
    "\n"
    "Show how long calls take: how many take how long, and how much of the time they\n"
    "take together. NAME chooses the calls as --name does; '.' chooses all. Two files\n"
    "are shown side by side. One FILE may be '-' for standard input.\n"
    "\n"
    "      --rows=N           show about N ranges of durations (default: 20)\n"
    "      --linear           ranges of equal size; otherwise they grow with their\n"
    "                         durations: 1, 2, 5, 10, ...\n" QUERY_HELP "\n"
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

enum { OPTION_ROWS = 2000, OPTION_LINEAR };

/* The calls of a trace by duration. Bounds are in nanoseconds, or in units of a clock that does not measure time. */
struct side {
    struct query_trace trace;
    uint64_t total; /* calls */
    double least, most;
    bool has_short; /* calls whose time was not measured */
    uint64_t *counts, *ticks;
    uint64_t all_ticks;
};

struct histogram {
    struct query query;
    struct side sides[SIDES_MAX];
    size_t side_count;
    size_t rows;
    bool is_linear;
    struct duration_bounds bounds;
};

/* ---- The command line ---- */

static const char *take_option(struct histogram *histogram, int option)
{
    uint64_t number;
    switch (option) {
    case OPTION_ROWS:
        if (!tool_parse_u64(optarg, DURATION_ROWS_MAX, &number) || number == 0)
            return tool_takes("--rows takes a number from 1 to 1000", optarg);
        histogram->rows = (size_t)number;
        return NULL;
    default: /* OPTION_LINEAR */
        histogram->is_linear = true;
        return NULL;
    }
}

static int parse(int argc, char **argv, struct histogram *histogram)
{
    static const struct option longs[] = {{"rows", required_argument, NULL, OPTION_ROWS},
                                          {"linear", no_argument, NULL, OPTION_LINEAR},
                                          QUERY_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = query_option_next(&histogram->query, argc, argv, QUERY_SHORTS, longs, &exit)) != -1) {
        const char *wrong = take_option(histogram, option);
        if (wrong != NULL)
            return tool_usage(&tool_verb_histogram, wrong);
    }
    if (exit >= 0)
        return exit;
    size_t count = (size_t)(argc - optind);
    if (count < 2)
        return tool_usage(&tool_verb_histogram, count < 1 || query_is_file(argv[optind])
                                                    ? "missing NAME operand"
                                                    : "missing FILE operand");
    if (query_is_file(argv[optind]) && !query_is_file(argv[optind + 1]) && strcmp(argv[optind + 1], "-") != 0)
        return tool_usage(&tool_verb_histogram, "NAME comes before FILE");
    if (count > 1 + SIDES_MAX)
        return tool_usage(&tool_verb_histogram, "too many FILE operands");
    if (count == 3 && strcmp(argv[optind + 1], "-") == 0 && strcmp(argv[optind + 2], "-") == 0)
        return tool_usage(&tool_verb_histogram, "only one FILE can be standard input");
    const char *wrong = tool_filter_take_name(&histogram->query.filter, argv[optind]);
    if (wrong != NULL)
        return tool_usage(&tool_verb_histogram, wrong);
    histogram->side_count = count - 1;
    return -1;
}

/* ---- Units ---- */

static double value_of(const struct side *side, uint64_t ticks)
{
    return tbed_duration_value(side->trace.reader, ticks);
}

/* ---- Ranges ---- */

/* False: no memory. */
static bool choose_bounds(struct histogram *histogram)
{
    double least = 0, most = 0;
    bool has_any = false;
    for (size_t i = 0; i < histogram->side_count; i++) {
        const struct side *side = &histogram->sides[i];
        if (side->total == 0)
            continue;
        least = !has_any || side->least < least ? side->least : least;
        most = side->most > most ? side->most : most;
        has_any = true;
    }
    return tbed_duration_bounds_make(&histogram->bounds, least, most, histogram->rows, histogram->is_linear);
}

/* ---- Counting ---- */

static enum tbed_status find_limits(struct histogram *histogram, struct side *side)
{
    struct tbed_calls_options options = {
        .size = sizeof options, .thread_count = histogram->query.jobs, .filter = side->trace.filter};
    struct tbed_call call = {0};
    tool_progress_begin(side->trace.reader, false);
    enum tbed_status status = tbed_calls_find(side->trace.reader, &options, &call, 1, NULL, &side->total);
    side->most = value_of(side, call.ticks);
    options.order = TBED_CALLS_FASTEST;
    if (status == TBED_OK)
        status = tbed_calls_find(side->trace.reader, &options, &call, 1, NULL, NULL);
    tool_progress_end();
    side->least = value_of(side, call.ticks);
    side->has_short = side->total > 0 && table_is_below_step(&side->trace.clock, call.ticks);
    return status;
}

static enum tbed_status count(struct histogram *histogram, struct side *side)
{
    struct tbed_calls_options options = {
        .size = sizeof options, .thread_count = histogram->query.jobs, .filter = side->trace.filter};
    size_t room = histogram->bounds.count, used = 0;
    uint64_t *bounds = tool_realloc(NULL, room * sizeof *bounds);
    size_t *rows = tool_realloc(NULL, room * sizeof *rows); /* of the bounds: some are the same in ticks */
    uint64_t *counts = tool_realloc(NULL, room * sizeof *counts),
             *ticks = tool_realloc(NULL, room * sizeof *ticks);
    side->counts = calloc(room, sizeof *side->counts);
    side->ticks = calloc(room, sizeof *side->ticks);
    for (size_t i = 0; i < room; i++) {
        uint64_t bound = tbed_duration_ticks(side->trace.reader, histogram->bounds.items[i]);
        used -= used > 0 && bounds[used - 1] == bound; /* the later row has it */
        bounds[used] = bound;
        rows[used++] = i;
    }
    enum tbed_status status = TBED_ERR_MEMORY;
    if (side->counts != NULL && side->ticks != NULL)
        status = tbed_calls_count(side->trace.reader, &options, bounds, used, counts, ticks);
    for (size_t i = 0; status == TBED_OK && i < used; i++) {
        side->counts[rows[i]] = counts[i];
        side->ticks[rows[i]] = ticks[i];
        side->all_ticks += ticks[i];
    }
    free(bounds);
    free(rows);
    free(counts);
    free(ticks);
    return status;
}

/* ---- Text ---- */

static const char *format_value(const struct side *side, char buffer[32], double value)
{
    if (!side->trace.clock.is_time)
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
    for (size_t i = 0; i < histogram->side_count; i++)
        for (size_t k = 0; k < histogram->bounds.count; k++) {
            double part = share(histogram->sides[i].counts[k], histogram->sides[i].total);
            most = part > most ? part : most;
        }
    return most;
}

static bool is_empty(const struct histogram *histogram, size_t row)
{
    for (size_t i = 0; i < histogram->side_count; i++)
        if (histogram->sides[i].counts[row] > 0)
            return false;
    return true;
}

static void put_row(const struct histogram *histogram, size_t row, double most)
{
    char value[32], calls[32];
    size_t width = BAR_WIDTH / histogram->side_count;
    printf("%12s", format_value(&histogram->sides[0], value, histogram->bounds.items[row]));
    for (size_t i = 0; i < histogram->side_count; i++) {
        const struct side *side = &histogram->sides[i];
        double part = share(side->counts[row], side->total);
        printf(" %12s %5.1f %% %5.1f %%", tool_format_count(calls, side->counts[row]), part,
               share(side->ticks[row], side->all_ticks));
        if (histogram->side_count == 1) {
            fputs("  ", stdout);
            table_put_bar(most > 0 ? part / most : 0, width);
        }
    }
    putchar('\n');
}

static void put_head(const struct histogram *histogram)
{
    char least[40], most[32], calls[32];
    for (size_t i = 0; i < histogram->side_count; i++) {
        const struct side *side = &histogram->sides[i];
        const char *path = tool_path(side->trace.path);
        tool_print_text(stdout, path, strlen(path), 0);
        printf(": %s calls", tool_format_count(calls, side->total));
        if (side->total > 0)
            printf(", %s to %s",
                   side->has_short ? table_format_duration(&side->trace.clock, least, 0, 0)
                                   : format_value(side, least, side->least),
                   format_value(side, most, side->most));
        putchar('\n');
        if (side->has_short)
            table_put_step(&side->trace.clock);
    }
}

static void put_text(const struct histogram *histogram)
{
    double most = most_in_a_row(histogram);
    size_t first = 0, end = histogram->bounds.count;
    put_head(histogram);
    while (first < end && is_empty(histogram, first))
        first++;
    while (end > first && is_empty(histogram, end - 1))
        end--;
    if (first == end) {
        tool_filter_tell_no_spans(&histogram->query.filter, histogram->sides[0].trace.path);
        return;
    }
    printf("\n%s%12s", tool_bold(), "from");
    for (size_t i = 0; i < histogram->side_count; i++)
        printf(" %12s %7s %7s", "calls", "%", "time");
    printf("%s\n", tool_plain());
    for (size_t row = first; row < end; row++)
        put_row(histogram, row, most);
}

/* ---- JSON ---- */

static void json_side(struct tbed_json *json, const struct histogram *histogram, const struct side *side)
{
    query_json_open(json, &histogram->query, &side->trace);
    tbed_json_u64(json, "count", side->total);
    tbed_json_array_open(json, "rows");
    for (size_t row = 0; row < histogram->bounds.count; row++) {
        tbed_json_object_open(json, NULL);
        tbed_json_f64(json, side->trace.clock.is_time ? "from_ns" : "from_ticks",
                      histogram->bounds.items[row]);
        tbed_json_u64(json, "count", side->counts[row]);
        query_json_ticks(json, &side->trace, "total", side->ticks[row]);
        tbed_json_object_close(json);
    }
    tbed_json_array_close(json);
    query_json_close(json, &side->trace);
}

static void put_json(const struct histogram *histogram)
{
    struct tbed_json json = {.out = stdout};
    tbed_json_object_open(&json, NULL);
    tbed_json_array_open(&json, "traces");
    for (size_t i = 0; i < histogram->side_count; i++)
        json_side(&json, histogram, &histogram->sides[i]);
    tbed_json_array_close(&json);
    tbed_json_object_close(&json);
    tbed_json_line(&json);
}

/* ---- CSV ---- */

struct range {
    double from;
    uint64_t count, ticks;
};

TABLE_GETTER(range_from, range, ((struct table_value){.number = row->from}))
TABLE_GETTER(range_count, range, table_value_of(row->count))
TABLE_GETTER(range_total, range, table_value_of(row->ticks))

static void put_csv(const struct histogram *histogram)
{
    const struct table_column columns[] = {
        {.key = "from",
         .field = histogram->sides[0].trace.clock.is_time ? "from_ns" : "from_ticks",
         .unit = TABLE_NUMBER,
         .get = range_from},
        {.key = "count", .unit = TABLE_COUNT, .get = range_count},
        {.key = "total", .unit = TABLE_TICKS, .get = range_total},
    };
    const struct table_keys all = {.count = 0};
    struct range *ranges = tool_realloc(NULL, histogram->bounds.count * sizeof *ranges);
    for (size_t i = 0; i < histogram->side_count; i++) {
        const struct side *side = &histogram->sides[i];
        struct table table = {.key = "rows",
                              .columns = columns,
                              .column_count = sizeof columns / sizeof columns[0],
                              .data_columns = "from,count,total",
                              .file = tool_path(side->trace.path),
                              .clock = &side->trace.clock};
        const struct table *tables[] = {&table};
        for (size_t k = 0; k < histogram->bounds.count; k++)
            ranges[k] = (struct range){histogram->bounds.items[k], side->counts[k], side->ticks[k]};
        table_fill(&table, ranges, sizeof *ranges, histogram->bounds.count, &all, SIZE_MAX);
        table_print_csv(tables, 1, &all, i == 0);
        free(table.rows);
    }
    free(ranges);
}

/* ---- All of it ---- */

static int open_side(struct histogram *histogram, struct side *side, const char *path)
{
    int exit = query_open(&side->trace, path, &histogram->query);
    if (exit >= 0)
        return exit;
    enum tbed_status status = find_limits(histogram, side);
    return status == TBED_OK ? -1 : query_end(&side->trace, status);
}

static int show(struct histogram *histogram)
{
    int exit = TOOL_FINE;
    if (!choose_bounds(histogram))
        return query_end(&histogram->sides[0].trace, TBED_ERR_MEMORY);
    for (size_t i = 0; i < histogram->side_count; i++) {
        enum tbed_status status = count(histogram, &histogram->sides[i]);
        if (status != TBED_OK)
            return query_end(&histogram->sides[i].trace, status);
    }
    if (histogram->query.csv)
        put_csv(histogram);
    else if (histogram->query.json)
        put_json(histogram);
    else
        put_text(histogram);
    for (size_t i = 0; i < histogram->side_count; i++) {
        int found = query_end(&histogram->sides[i].trace, TBED_OK);
        exit = found > exit ? found : exit;
    }
    return tool_finish(exit);
}

/* Returns -1, or the exit status after a complaint. */
static int open_sides(struct histogram *histogram, char **paths)
{
    const struct query_trace *first = &histogram->sides[0].trace,
                             *last = &histogram->sides[histogram->side_count - 1].trace;
    int exit = -1;
    for (size_t i = 0; exit < 0 && i < histogram->side_count; i++)
        exit = open_side(histogram, &histogram->sides[i], paths[i]);
    if (exit < 0 && (first->clock.is_time != last->clock.is_time ||
                     strcmp(first->info.clock_unit, last->info.clock_unit) != 0)) {
        tool_complain("%s and %s count different things: cannot compare them", tool_path(first->path),
                      tool_path(last->path));
        return TOOL_TROUBLE;
    }
    return exit;
}

static int run(int argc, char **argv)
{
    struct histogram histogram = {.query = {.verb = &tool_verb_histogram}, .rows = DURATION_ROWS_DEFAULT};
    int exit = parse(argc, argv, &histogram);
    if (exit < 0)
        exit = open_sides(&histogram, argv + optind + 1);
    if (exit < 0)
        exit = show(&histogram);
    for (size_t i = 0; i < SIDES_MAX; i++) {
        free(histogram.sides[i].counts);
        free(histogram.sides[i].ticks);
        query_trace_close(&histogram.sides[i].trace);
    }
    query_close(&histogram.query);
    tbed_duration_bounds_free(&histogram.bounds);
    return exit;
}

const struct tool_verb tool_verb_histogram = {"histogram", "show the distribution of the durations of calls",
                                              help, run};
