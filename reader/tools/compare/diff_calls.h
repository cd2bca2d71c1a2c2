/*
 * Shared by the files of 'tracebed diff --calls': diff_calls.c collects the rows, calls_print.c prints them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DIFF_CALLS_H
#define TRACEBED_DIFF_CALLS_H

#include "reader/tools/compare/compare_verbs.h"

struct diff_calls_row {
    size_t index; /* in the comparison */
    struct tbed_comparison_row label;
    const struct tbed_call_difference *difference;
    double magnitude; /* how much more or less time as many calls as BEFORE has would take */
};

struct diff_calls {
    struct compare_options *options;
    double alpha, threshold;
    bool keep_shift;
    char **paths; /* two */

    const struct tbed_comparison *comparison;
    struct tbed_call_differences *differences;
    struct compare_run runs[2];
    struct diff_calls_row *rows; /* not hidden by --percent-above, in the order of the comparison */
    size_t row_count;
    struct table table;
    struct table_clock clock;
    size_t label_count;  /* including hidden ones */
    size_t marked_count; /* rows that are marked */
};

/* Returns the exit status; 1 for marks only if 'wants_exit_code'. */
int diff_calls_compare(struct diff_calls *diff, bool wants_exit_code);

/* calls_print.c: what the table consists of. */
extern const struct table diff_calls_columns;
void diff_calls_open_table(struct diff_calls *diff);

void diff_calls_print_text(const struct diff_calls *diff);
void diff_calls_print_json(const struct diff_calls *diff);

#endif
