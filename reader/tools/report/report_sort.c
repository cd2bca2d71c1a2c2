/*
 * Collects and sorts the rows of a report, and decides which are shown.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/report/report.h"

#include <stdlib.h>

/* Collects the rows that a getter returns. */
#define COLLECT(table, getter, result)                                                                       \
    do {                                                                                                     \
        size_t room = 0;                                                                                     \
        for (const void *row; (row = getter(result, (table)->count)) != NULL;) {                             \
            if ((table)->count == room) {                                                                    \
                room = room == 0 ? 64 : room * 2;                                                            \
                (table)->rows = tool_realloc((table)->rows, room * sizeof *(table)->rows);                   \
            }                                                                                                \
            (table)->rows[(table)->count++] = row;                                                           \
        }                                                                                                    \
    } while (0)

static void sort_table(const struct report *report, struct table *table, size_t limit)
{
    table_sort(table, &report->options->sort);
    table->shown = table->count < limit ? table->count : limit;
}

static void collect_statistics(struct report *report)
{
    const struct table *spans = &report->tables[REPORT_SPANS];
    COLLECT(&report->tables[REPORT_SPANS], tbed_statistics_span, report->statistics);
    COLLECT(&report->tables[REPORT_ASYNCS], tbed_statistics_async, report->statistics);
    COLLECT(&report->tables[REPORT_INSTANTS], tbed_statistics_instant, report->statistics);
    COLLECT(&report->tables[REPORT_COUNTERS], tbed_statistics_counter, report->statistics);
    COLLECT(&report->tables[REPORT_MESSAGES], tbed_statistics_message, report->statistics);
    COLLECT(&report->tables[REPORT_ARTIFACTS], tbed_statistics_artifact, report->statistics);
    sort_table(report, &report->tables[REPORT_ARTIFACTS],
               report->options->artifacts ? report->options->limit : SIZE_MAX);
    for (size_t i = 0; i < spans->count; i++)
        report->self_ticks += ((const struct tbed_span_row *)spans->rows[i])->self_ticks;
    for (unsigned i = REPORT_SPANS; i <= REPORT_MESSAGES; i++)
        sort_table(report, &report->tables[i], report->options->limit);
}

/* Hides labels with a share below --percent-above; if the total is 0, there are no shares. */
static void leave_out_small(const struct report *report, struct table *table, uint64_t total_ticks)
{
    double least = report->options->percent_above / 100 * (double)total_ticks;
    size_t kept = 0;
    for (size_t i = 0; i < table->shown; i++)
        if ((double)((const struct tbed_span_row *)table->rows[i])->self_ticks >= least)
            table->rows[kept++] = table->rows[i];
    table->shown = kept;
}

static void sort_labels(struct report *report)
{
    struct table *labels = &report->tables[REPORT_LABELS];
    COLLECT(labels, tbed_statistics_span, report->statistics);
    sort_table(report, labels, SIZE_MAX);
    leave_out_small(report, labels, report->totals.span_ticks);
    if (labels->shown > report->options->limit)
        labels->shown = report->options->limit;
}

/* --retained: what has nothing of it is no row. */
static void leave_out_others(struct table *sites)
{
    size_t kept = 0;
    for (size_t i = 0; i < sites->count; i++)
        if (((const struct tbed_allocation_site *)sites->rows[i])->retained_count > 0)
            sites->rows[kept++] = sites->rows[i];
    sites->count = kept;
}

static void collect_allocations(struct report *report)
{
    COLLECT(&report->tables[REPORT_PROCESSES], tbed_allocations_process, report->allocations);
    COLLECT(&report->tables[REPORT_SITES], tbed_allocations_site, report->allocations);
    if (report->options->survived_min > 0)
        leave_out_others(&report->tables[REPORT_SITES]);
    sort_table(report, &report->tables[REPORT_PROCESSES], report->options->process_limit);
    sort_table(report, &report->tables[REPORT_SITES], report->options->limit);
}

void report_sort_tables(struct report *report)
{
    report_tables_open(report);
    if (report->allocations != NULL)
        tbed_allocations_totals(report->allocations, &report->sums);
    if (report->is_profile)
        sort_labels(report);
    if (report->statistics != NULL) {
        collect_statistics(report);
        leave_out_small(report, &report->tables[REPORT_SPANS],
                        report->is_profile ? report->totals.span_ticks : report->self_ticks);
    }
    if (report->allocations != NULL && !report->options->leaks)
        collect_allocations(report);
    if (report->allocations != NULL && report->options->leaks)
        report_collect_leaks(report);
    report_collect_moments(report);
}

void report_free_tables(struct report *report)
{
    for (size_t i = 0; i < REPORT_TABLE_COUNT; i++)
        free(report->tables[i].rows);
    free(report->stack.bytes);
    free(report->moments);
}
