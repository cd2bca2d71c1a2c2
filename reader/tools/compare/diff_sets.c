/*
 * tracebed diff --with: show which labels differ between two sets of runs by more than noise.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/compare/sets.h"

#include <math.h>
#include <stdlib.h>

/* The change of the mean without the shifts of the runs; a label that is only in AFTER has nothing to be a part of. */
static double size_of(const struct sets_row *row)
{
    const struct tbed_difference *difference = row->difference;
    double change = difference->before_mean * difference->change;
    if (!difference->is_tested || !isfinite(change))
        change = difference->after_mean - difference->before_mean;
    return fabs(change);
}

static void collect_rows(struct sets *sets)
{
    struct tbed_comparison_row label;
    while (tbed_comparison_row(sets->comparison, sets->label_count, &label))
        sets->label_count++;
    sets->rows = tool_realloc(NULL, sets->label_count * sizeof *sets->rows);
    for (size_t i = 0; i < sets->label_count; i++) {
        struct sets_row row = {.index = i, .difference = tbed_differences_row(sets->differences, i)};
        tbed_comparison_row(sets->comparison, i, &row.label);
        row.magnitude = size_of(&row);
        if (row.magnitude * 100 < sets->options->percent * sets->totals[0].mean)
            continue;
        sets->marked_count += row.difference->is_marked;
        sets->rows[sets->row_count++] = row;
    }
    sets_open_table(sets);
    table_fill(&sets->table, sets->rows, sizeof *sets->rows, sets->row_count, &sets->options->sort,
               sets->options->limit);
}

static void spread_totals(struct sets *sets)
{
    uint64_t *values = tool_realloc(NULL, sets->run_count * sizeof *values);
    double *scratch = tool_realloc(NULL, sets->run_count * sizeof *scratch);
    for (size_t run = 0; run < sets->run_count; run++)
        values[run] = tbed_comparison_total(sets->comparison, run);
    tbed_spread_make(values, sets->before_count, scratch, &sets->totals[0]);
    tbed_spread_make(values + sets->before_count, sets->run_count - sets->before_count, scratch,
                     &sets->totals[1]);
    free(values);
    free(scratch);
}

static bool load(struct sets *sets, struct tbed_comparison *comparison)
{
    struct tbed_difference_options options = {.size = sizeof options,
                                              .before_count = sets->before_count,
                                              .figure = sets->options->figure,
                                              .alpha = sets->alpha,
                                              .threshold = sets->threshold,
                                              .keep_shift = sets->keep_shift};
    for (size_t i = 0; i < sets->run_count; i++) {
        if (!compare_load(comparison, sets->paths[i], sets->options, i > 0 ? sets->runs : NULL,
                          &sets->runs[i]))
            return false;
        options.resolution = fmax(options.resolution, sets->runs[i].resolution_ns);
    }
    if (sets->runs[0].unit[0] != '\0')
        options.resolution = 0;
    enum tbed_status status = tbed_differences_make(comparison, &options, &sets->differences);
    if (status != TBED_OK)
        tool_complain("%s", tbed_status_text(status));
    return status == TBED_OK;
}

static int exit_code(const struct sets *sets, bool wants_exit_code)
{
    const struct tbed_difference *common = tbed_differences_common(sets->differences);
    bool differ = sets->marked_count > 0 || (common != NULL && common->is_marked);
    for (size_t i = 0; i < sets->run_count; i++)
        if (sets->runs[i].damage_count > 0)
            return TOOL_FOUND;
    return wants_exit_code && differ ? TOOL_FOUND : TOOL_FINE;
}

int sets_compare(struct sets *sets, bool wants_exit_code)
{
    struct tbed_comparison *comparison = compare_open();
    int exit = TOOL_TROUBLE;
    sets->comparison = comparison;
    sets->runs = tool_realloc(NULL, sets->run_count * sizeof *sets->runs);
    if (load(sets, comparison)) {
        spread_totals(sets);
        collect_rows(sets);
        if (sets->options->json)
            sets_print_json(sets);
        else if (sets->options->csv)
            compare_print_csv(&sets->table, 1, 1, &sets->options->columns);
        else
            sets_print_text(sets);
        exit = exit_code(sets, wants_exit_code);
    }
    compare_free_rows(&sets->table, 1);
    free(sets->rows);
    free(sets->runs);
    tbed_differences_close(sets->differences);
    tbed_comparison_close(comparison);
    return exit;
}
