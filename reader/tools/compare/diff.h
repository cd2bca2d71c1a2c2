/*
 * Shared by the files of 'tracebed diff': diff_verb.c sorts the rows, diff_print.c prints them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DIFF_H
#define TRACEBED_DIFF_H

#include "reader/tools/compare/compare_verbs.h"

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
    struct diff_row *rows; /* not hidden by --percent-above, in the order in which they are shown */
    size_t row_count, row_shown;
    struct diff_artifact *artifacts;
    size_t artifact_count, artifact_shown;
    bool artifacts_differ;
    size_t label_count;   /* including hidden ones */
    size_t changed_count; /* rows in which any figure differs */
};

void diff_print_text(const struct diff *diff);
void diff_print_json(const struct diff *diff);

#endif
