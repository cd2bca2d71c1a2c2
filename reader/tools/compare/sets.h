/*
 * Shared by the files of 'tracebed diff --with', which compares two sets of runs: diff_sets.c collects the rows,
 * sets_print.c prints them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SETS_H
#define TRACEBED_SETS_H

#include "reader/tools/compare/compare_verbs.h"

struct sets_row {
    size_t index; /* in the comparison */
    struct tbed_comparison_row label;
    const struct tbed_difference *difference;
    double magnitude; /* the size of the change of the mean, without the shifts of the runs */
};

struct sets {
    struct compare_options *options;
    double alpha, threshold;
    bool keep_shift;
    char **paths; /* of BEFORE, then of AFTER */
    size_t before_count, run_count;

    const struct tbed_comparison *comparison;
    struct tbed_differences *differences;
    struct compare_run *runs;
    struct tbed_spread totals[2]; /* of BEFORE and of AFTER */
    struct sets_row *rows;        /* not hidden by --percent-above, in the order of the comparison */
    size_t row_count;
    struct table table;
    struct table_clock clock;
    size_t label_count;  /* including hidden ones */
    size_t marked_count; /* rows that are marked */
};

/* Returns the exit status; 1 for marks only if 'wants_exit_code'. */
int sets_compare(struct sets *sets, bool wants_exit_code);

/* sets_print.c: what the table consists of. */
extern const struct table sets_columns;
void sets_open_table(struct sets *sets);

void sets_print_text(const struct sets *sets);
void sets_print_json(const struct sets *sets);

#endif
