/*
 * Shared by the files of 'tracebed diff': diff_verb.c collects the rows, diff_print.c prints them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DIFF_H
#define TRACEBED_DIFF_H

#include "reader/tools/compare/compare_verbs.h"

enum diff_table { DIFF_LABELS, DIFF_ARTIFACTS, DIFF_TABLE_COUNT };

struct diff_row {
    size_t index; /* in the comparison */
    struct tbed_comparison_row label;
    struct tbed_figures before, after;
};

struct diff_artifact {
    size_t index;
    struct tbed_comparison_row label;
    uint64_t before, after;
};

struct diff {
    struct compare_options *options;
    const struct tbed_comparison *comparison;
    struct compare_run runs[2];
    struct diff_row *rows; /* not hidden by --percent-above, in the order of the comparison */
    size_t row_count;
    struct diff_artifact *artifacts;
    size_t artifact_count;
    struct table tables[DIFF_TABLE_COUNT];
    struct table_clock clock;
    char text_columns[128]; /* of labels */
    bool artifacts_differ;
    size_t label_count;   /* including hidden ones */
    size_t changed_count; /* rows in which any figure differs */
};

/* diff_print.c: the tables' columns. */
extern const struct table diff_tables[DIFF_TABLE_COUNT];
void diff_open_tables(struct diff *diff);
/* Chooses the columns for text, of those with changes in the rows that are shown. */
void diff_choose_columns(struct diff *diff);

void diff_print_text(const struct diff *diff);
void diff_print_json(const struct diff *diff);

#endif
