/*
 * tracebed diff --calls: finds which labels have calls of other durations.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/compare/diff_calls.h"

#include <math.h>
#include <stdlib.h>

/* How much more or less time as many calls as BEFORE has would take. */
static double size_of(const struct diff_calls_row *row)
{
    const struct tbed_call_durations *before = &row->difference->before, *after = &row->difference->after;
    if (!row->difference->is_tested)
        return (double)before->count * (double)before->p50 + (double)after->count * (double)after->p50;
    return fabs(row->difference->change) * (double)before->count * (double)before->p50;
}

static void collect_rows(struct diff_calls *diff)
{
    struct tbed_comparison_row label;
    double total = (double)tbed_comparison_total(diff->comparison, 0);
    while (tbed_comparison_row(diff->comparison, diff->label_count, &label))
        diff->label_count++;
    diff->rows = tool_realloc(NULL, diff->label_count * sizeof *diff->rows);
    for (size_t i = 0; i < diff->label_count; i++) {
        struct diff_calls_row row = {.index = i,
                                     .difference = tbed_call_differences_row(diff->differences, i)};
        tbed_comparison_row(diff->comparison, i, &row.label);
        row.magnitude = size_of(&row);
        if (row.magnitude * 100 < diff->options->percent * total)
            continue;
        diff->marked_count += row.difference->is_marked;
        diff->rows[diff->row_count++] = row;
    }
    diff_calls_open_table(diff);
    table_fill(&diff->table, diff->rows, sizeof *diff->rows, diff->row_count, &diff->options->sort,
               diff->options->limit);
}

static bool load(struct diff_calls *diff, struct tbed_comparison *comparison)
{
    struct tbed_call_difference_options options = {.size = sizeof options,
                                                   .after_run = 1,
                                                   .alpha = diff->alpha,
                                                   .threshold = diff->threshold,
                                                   .keep_shift = diff->keep_shift};
    diff->options->keep_durations = true;
    for (unsigned i = 0; i < 2; i++)
        if (!compare_load(comparison, diff->paths[i], diff->options, i > 0 ? diff->runs : NULL,
                          &diff->runs[i]))
            return false;
    enum tbed_status status = tbed_call_differences_make(comparison, &options, &diff->differences);
    if (status != TBED_OK)
        tool_complain("%s", tbed_status_text(status));
    return status == TBED_OK;
}

int diff_calls_compare(struct diff_calls *diff, bool wants_exit_code)
{
    struct tbed_comparison *comparison = compare_open();
    int exit = TOOL_TROUBLE;
    diff->comparison = comparison;
    if (load(diff, comparison)) {
        collect_rows(diff);
        if (diff->options->json)
            diff_calls_print_json(diff);
        else if (diff->options->csv)
            compare_print_csv(&diff->table, 1, 1, &diff->options->columns);
        else
            diff_calls_print_text(diff);
        bool damaged = diff->runs[0].damage_count > 0 || diff->runs[1].damage_count > 0;
        exit = damaged || (wants_exit_code && diff->marked_count > 0) ? TOOL_FOUND : TOOL_FINE;
    }
    compare_free_rows(&diff->table, 1);
    free(diff->rows);
    tbed_call_differences_close(diff->differences);
    tbed_comparison_close(comparison);
    return exit;
}
