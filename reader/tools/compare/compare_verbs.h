/*
 * Shared by 'tracebed diff' and 'tracebed aggregate': loading runs, options, formatting figures, and tables.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_COMPARE_VERBS_H
#define TRACEBED_COMPARE_VERBS_H

#include "reader/tools/filter/tool_filter.h"
#include "reader/tools/report/group.h"
#include "reader/tools/table/table.h"

#include <getopt.h>
#include <tracebed/compare.h>

/* ---- Options ---- */

struct compare_options {
    bool json, csv;
    const char *sort_text,
        *columns_text; /* the arguments of --sort and --columns, parsed when the tables are known */
    struct table_keys sort, columns;
    size_t limit;   /* rows of a table; 0 until the option or the default is set */
    double percent; /* of the total; rows below are hidden */
    struct tool_filter filter;
    unsigned jobs;
    bool by_scope; /* compare the grouped scopes of 'report' instead of labels */
    struct group group;
    bool keep_durations; /* of the calls of each label */
    enum tbed_figure figure;
    bool has_figure; /* asked for */
};

enum {
    COMPARE_OPTION_JSON = 2000,
    COMPARE_OPTION_CSV,
    COMPARE_OPTION_COLUMNS,
    COMPARE_OPTION_BY,
    COMPARE_OPTION_OF,
    COMPARE_OPTION_PERCENT,
    COMPARE_OPTION_LAST
};

#define COMPARE_SHORT_OPTIONS "hl:j:s:" TOOL_FILTER_SHORTS
#define COMPARE_OPTIONS                                                                                      \
    {"limit", required_argument, NULL, 'l'},                                                                 \
        {"percent-above", required_argument, NULL, COMPARE_OPTION_PERCENT},                                  \
        {"jobs", required_argument, NULL, 'j'}, TOOL_FILTER_OPTIONS,                                         \
        {"json", no_argument, NULL, COMPARE_OPTION_JSON}, {"csv", no_argument, NULL, COMPARE_OPTION_CSV},    \
        {"columns", required_argument, NULL, COMPARE_OPTION_COLUMNS},                                        \
        {"sort", required_argument, NULL, 's'}, {"of", required_argument, NULL, COMPARE_OPTION_OF},          \
        {"by", required_argument, NULL, COMPARE_OPTION_BY}, GROUP_OPTIONS, TOOL_COMMON_OPTIONS

/* Returns NULL, or what is wrong with the option. */
const char *compare_take_option(struct compare_options *options, int option, const char *argument);
/*
 * Parses --sort and --columns, of these tables; --sort is about the first 'sorted_count' of them. Returns NULL, or what is
 * wrong.
 */
const char *compare_parse_keys(struct compare_options *options, const struct table *tables, size_t count,
                               size_t sorted_count);
void compare_free_options(struct compare_options *options);

/* ---- Runs ---- */

/* Facts about a file besides its rows. */
struct compare_run {
    const char *path;
    struct tbed_statistics_totals totals;
    char unit[17]; /* the unit of a clock that counts; "" if the clock measures time */
    uint64_t drop_count, damage_count, texts_left_out;
    struct tool_filter_window window; /* of the options in this file */
    double resolution_ns;             /* digits below this are not shown */
    double step_ns;                   /* of the clock; shorter calls were not measured */
};

/* Creates a comparison without runs; exits with status 2 if there is no memory. */
struct tbed_comparison *compare_open(void);

/* False, with a complaint, if standard input is named twice. */
bool compare_check_paths(const struct tool_verb *verb, char **paths, size_t count);

/*
 * Adds the run in 'path' to the comparison and reports damage. 'first' is the first run, whose clock it must match, or
 * NULL for the first run itself. False after a complaint.
 */
bool compare_load(struct tbed_comparison *comparison, const char *path, struct compare_options *options,
                  const struct compare_run *first, struct compare_run *run_ret);

/* Prints what is missing from the figures of a run, one line each. */
void compare_put_warnings(const struct compare_run *run);

/* ---- Figures ---- */

/* "1.24 ms", or "12,345" if the figure or the clock counts; P50 below the step of the clock is "<26.0 ns". */
const char *compare_format(char buffer[32], const struct compare_run *run, enum tbed_figure figure,
                           double value);
/* The same with its sign, "+1.24 ms"; "0" for none. */
const char *compare_format_change(char buffer[32], const struct compare_run *run, enum tbed_figure figure,
                                  int64_t change);
/* "+38.8 %" */
const char *compare_format_percent(char buffer[32], double percent);

/* "0.034", or "1.2e-05" */
const char *compare_format_probability(char buffer[32], double p);

/* "self", "p50" */
const char *compare_figure_name(enum tbed_figure figure);
/* "label, by self time" */
const char *compare_figure_heading(enum tbed_figure figure);

/* "self" becomes "self_ns" or "self_ticks"; counts have no unit. */
const char *compare_key(char buffer[48], const struct compare_run *run, enum tbed_figure figure,
                        const char *suffix);

/* The standard deviation; and the coefficient of variation, which is 0 if the mean is. */
double compare_deviation(const struct tbed_spread *spread);
double compare_variation(const struct tbed_spread *spread);

/* The object that describes a run and what is missing from it. 'key' is NULL in an array. */
void compare_json_run(struct tbed_json *json, const char *key, const struct compare_options *options,
                      const struct compare_run *run, uint64_t total);

/* The name of a row, with its other known fields unless scopes were grouped by something else. */
void compare_json_name(struct tbed_json *json, const struct compare_options *options,
                       const struct tbed_comparison_row *row);

/* The array "rows" of a table; and "left_out", the last field of the object that a command prints. */
void compare_json_rows(struct tbed_json *json, const struct table *table,
                       void (*put)(struct tbed_json *json, const struct table *table, const void *row));
void compare_json_end(struct tbed_json *json, const struct table *rows);

/* More is worse. */
static inline const char *compare_color(double change)
{
    return change > 0 ? tool_red() : change < 0 ? tool_green() : "";
}

/* ---- Tables ---- */

/* A figure with a fraction, if it is known. */
static inline struct table_value compare_number(bool is_known, double number)
{
    return (struct table_value){.is_unknown = !is_known, .number = is_known ? number : 0};
}

/* A whole change, for a column with a sign. */
static inline struct table_value compare_change(int64_t change)
{
    return (struct table_value){.number = (double)change, .whole = (uint64_t)change};
}

/* Appends the text of a cell or a remark. */
void compare_append(struct tool_buffer *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Frees what table_fill() has made. */
void compare_free_rows(struct table *tables, size_t count);

/* Prints the first 'default_count' tables, or those that have any of the columns that were asked for. */
void compare_print_csv(const struct table *tables, size_t count, size_t default_count,
                       const struct table_keys *columns);

#endif
