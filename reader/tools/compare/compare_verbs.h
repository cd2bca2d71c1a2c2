/*
 * What 'tracebed diff' and 'tracebed aggregate' share: how they load runs, their options, how figures are printed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_COMPARE_VERBS_H
#define TRACEBED_COMPARE_VERBS_H

#include "reader/tools/report/group.h"

#include <getopt.h>
#include <tracebed/compare.h>

/* ---- Options ---- */

struct compare_options {
    bool json;
    size_t limit;          /* rows of a table; 0 until it was given or a default was put in */
    double percent;        /* of the total: rows below are left out */
    const char **excludes; /* labels, or patterns of them */
    size_t exclude_count;
    unsigned jobs;
    bool by_scope; /* scopes as 'report' has them, grouped, instead of labels */
    struct group group;
};

enum { COMPARE_OPTION_JSON = 2000, COMPARE_OPTION_BY, COMPARE_OPTION_LAST };

#define COMPARE_SHORT_OPTIONS "he:n:p:j:"
#define COMPARE_OPTIONS                                                                                      \
    {"exclude", required_argument, NULL, 'e'}, {"limit", required_argument, NULL, 'n'},                      \
        {"percent-above", required_argument, NULL, 'p'}, {"jobs", required_argument, NULL, 'j'},             \
        {"json", no_argument, NULL, COMPARE_OPTION_JSON},                                                    \
        {"by", required_argument, NULL, COMPARE_OPTION_BY}, GROUP_OPTIONS, TOOL_COMMON_OPTIONS

/* NULL if it was understood, else what is wrong. */
const char *compare_take_option(struct compare_options *options, int option, const char *argument);
void compare_free_options(struct compare_options *options);

/* True: --exclude names this label. */
bool compare_is_excluded(const struct compare_options *options, const struct tbed_comparison_row *row);

/* ---- Runs ---- */

/* What a file was, besides its rows. */
struct compare_run {
    const char *path;
    struct tbed_statistics_totals totals;
    char unit[17]; /* of a clock that counts; "": it measures time */
    uint64_t drop_count, damage_count;
    double resolution_ns; /* what is below it is not shown */
};

/* A comparison without runs; out of memory is exit 2. */
struct tbed_comparison *compare_open(void);

/* False: complained; standard input cannot be read twice. */
bool compare_check_paths(const struct tool_verb *verb, char **paths, size_t count);

/*
 * Adds the run that is in 'path' to the comparison and tells of damage. 'first' is the run that it has to go together
 * with, NULL for the first itself. False: complained.
 */
bool compare_load(struct tbed_comparison *comparison, const char *path, const struct compare_options *options,
                  const struct compare_run *first, struct compare_run *run_ret);

/* What is missing from the figures of a run, a line each. */
void compare_put_warnings(const struct compare_run *run);

/* ---- Figures ---- */

/* "1.24 ms"; "12,345" where the figure counts or the clock does. */
const char *compare_format(char buffer[32], const struct compare_run *run, enum tbed_figure figure,
                           double value);
/* The same with its sign, "+1.24 ms"; "0" for none. */
const char *compare_format_change(char buffer[32], const struct compare_run *run, enum tbed_figure figure,
                                  int64_t change);
/* "+38.8 %" */
const char *compare_format_percent(char buffer[32], double percent);

/* "self" becomes "self_ns" or "self_ticks"; counts have no unit. */
const char *compare_key(char buffer[48], const struct compare_run *run, enum tbed_figure figure,
                        const char *suffix);

/* The standard deviation, and the coefficient of variation: 0 where the mean is. */
double compare_deviation(const struct tbed_spread *spread);
double compare_variation(const struct tbed_spread *spread);

/* A run's object: what it is and what it lacks. 'key' is NULL in an array. */
void compare_json_run(struct tbed_json *json, const char *key, const struct compare_run *run, uint64_t total);

/* The name of a row, and what is known of it unless scopes were grouped by something else. */
void compare_json_name(struct tbed_json *json, const struct compare_options *options,
                       const struct tbed_comparison_row *row);

/* A column of a table: right-aligned. Under a colour, if that is not "". */
#define COMPARE_COLUMN_WIDTH 11
void compare_put_column(const char *color, const char *text);
/* The last one. */
void compare_put_label(const char *text, size_t nbytes);
/* "12 more labels; --limit=42 shows all" */
void compare_put_rest(size_t shown, size_t count, const char *what);

#endif
