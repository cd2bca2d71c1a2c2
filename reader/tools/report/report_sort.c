/*
 * Sorts the rows of a report: largest first, names from A to Z, ties by name.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/report/report.h"

#include <stdlib.h>
#include <string.h>

const char *report_sort_parse(const char *text, enum report_sort *sort_ret)
{
    static const char *const names[] = {"self", "total", "count",     "min", "mean",  "p50",
                                        "p90",  "p99",   "p999",      "max", "bytes", "peak",
                                        "live", "freed", "temporary", "name"};
    size_t at;
    const char *problem =
        tool_word_choose("--sort: unknown key", names, sizeof names / sizeof names[0], text, &at);
    if (problem == NULL)
        *sort_ret = (enum report_sort)(REPORT_SORT_SELF + at);
    return problem;
}

typedef double (*key_function)(const void *row, enum report_sort sort);

static double span_key(const void *of, enum report_sort sort)
{
    const struct tbed_span_row *row = of;
    switch (sort) {
    case REPORT_SORT_COUNT:
        return (double)row->count;
    case REPORT_SORT_TOTAL:
        return (double)row->total_ticks;
    case REPORT_SORT_MIN:
        return (double)row->min_ticks;
    case REPORT_SORT_MEAN:
        return row->count == 0 ? 0 : (double)row->total_ticks / (double)row->count;
    case REPORT_SORT_P50:
        return (double)row->p50_ticks;
    case REPORT_SORT_P90:
        return (double)row->p90_ticks;
    case REPORT_SORT_P99:
        return (double)row->p99_ticks;
    case REPORT_SORT_P999:
        return (double)row->p999_ticks;
    case REPORT_SORT_MAX:
        return (double)row->max_ticks;
    default:
        return (double)row->self_ticks;
    }
}

/* Asynchronous spans have no time of their own. */
static double async_key(const void *of, enum report_sort sort)
{
    return span_key(of, sort == REPORT_SORT_DEFAULT || sort == REPORT_SORT_SELF ? REPORT_SORT_TOTAL : sort);
}

static double sums_key(const struct tbed_allocation_sums *sums, enum report_sort sort)
{
    switch (sort) {
    case REPORT_SORT_COUNT:
        return (double)sums->count;
    case REPORT_SORT_LIVE:
        return (double)sums->live_nbytes;
    case REPORT_SORT_PEAK:
        return (double)sums->peak_nbytes;
    case REPORT_SORT_FREED:
        return (double)sums->freed_count;
    case REPORT_SORT_TEMPORARY:
        return (double)sums->temporary_count;
    default:
        return (double)sums->nbytes;
    }
}

static double site_key(const void *row, enum report_sort sort)
{
    return sums_key(&((const struct tbed_allocation_site *)row)->sums, sort);
}

/* Processes are sorted by peak unless the key is one of their columns; by name, they are in order of number. */
static double process_key(const void *row, enum report_sort sort)
{
    const struct tbed_allocation_process *process = row;
    return sums_key(&process->sums,
                    sort < REPORT_SORT_BYTES && sort != REPORT_SORT_COUNT ? REPORT_SORT_PEAK : sort);
}

/* The columns of a profile. */
static double label_key(const void *of, enum report_sort sort)
{
    const struct tbed_span_row *row = of;
    if (sort == REPORT_SORT_COUNT)
        return (double)row->invocation_count;
    return sort == REPORT_SORT_TOTAL ? (double)row->time_ticks : span_key(row, sort);
}

static double instant_key(const void *row, enum report_sort sort)
{
    (void)sort;
    return (double)((const struct tbed_instant_row *)row)->count;
}

static double message_key(const void *row, enum report_sort sort)
{
    (void)sort;
    return (double)((const struct tbed_message_row *)row)->count;
}

/* Counters are sorted by name unless the key is their count. */
static double counter_key(const void *row, enum report_sort sort)
{
    return sort == REPORT_SORT_COUNT ? (double)((const struct tbed_counter_row *)row)->count : 0;
}

struct order {
    key_function key;
    enum report_sort sort;
};

/* The library returns rows in order of name, and in memory in the same order, so addresses break ties. */
static int compare_rows(const void *left, const void *right, void *context)
{
    const char *a = *(const void *const *)left, *b = *(const void *const *)right;
    const struct order *order = context;
    if (order->sort != REPORT_SORT_NAME) {
        double x = order->key(a, order->sort), y = order->key(b, order->sort);
        if (x != y)
            return x > y ? -1 : 1;
    }
    return a < b ? -1 : a > b;
}

static void sort_table(const struct report *report, struct report_table *table, key_function key,
                       size_t limit)
{
    struct order order = {key, report->options->sort};
    if (table->count > 1)
        qsort_r(table->rows, table->count, sizeof *table->rows, compare_rows, &order);
    table->shown = table->count < limit ? table->count : limit;
}

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

static void sort_statistics(struct report *report)
{
    size_t limit = report->options->limit;
    COLLECT(&report->spans, tbed_statistics_span, report->statistics);
    COLLECT(&report->asyncs, tbed_statistics_async, report->statistics);
    COLLECT(&report->instants, tbed_statistics_instant, report->statistics);
    COLLECT(&report->counters, tbed_statistics_counter, report->statistics);
    COLLECT(&report->messages, tbed_statistics_message, report->statistics);
    for (size_t i = 0; i < report->spans.count; i++)
        report->self_ticks += ((const struct tbed_span_row *)report->spans.rows[i])->self_ticks;
    sort_table(report, &report->spans, span_key, limit);
    sort_table(report, &report->asyncs, async_key, limit);
    sort_table(report, &report->instants, instant_key, limit);
    sort_table(report, &report->counters, counter_key, limit);
    sort_table(report, &report->messages, message_key, limit);
}

/* Hides labels with a share below --percent-above; if the total is 0, there are no shares. */
static void leave_out_small(const struct report *report, struct report_table *table, uint64_t total_ticks)
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
    COLLECT(&report->labels, tbed_statistics_span, report->statistics);
    sort_table(report, &report->labels, label_key, SIZE_MAX);
    leave_out_small(report, &report->labels, report->totals.span_ticks);
    if (report->labels.shown > report->options->limit)
        report->labels.shown = report->options->limit;
}

void report_sort_tables(struct report *report)
{
    if (report->is_profile)
        sort_labels(report);
    if (report->statistics != NULL)
        sort_statistics(report);
    if (report->statistics != NULL)
        leave_out_small(report, &report->spans,
                        report->is_profile ? report->totals.span_ticks : report->self_ticks);
    if (report->allocations == NULL)
        return;
    tbed_allocations_totals(report->allocations, &report->sums);
    COLLECT(&report->processes, tbed_allocations_process, report->allocations);
    COLLECT(&report->sites, tbed_allocations_site, report->allocations);
    sort_table(report, &report->processes, process_key, report->options->process_limit);
    sort_table(report, &report->sites, site_key, report->options->limit);
}

void report_free_tables(struct report *report)
{
    free(report->spans.rows);
    free(report->asyncs.rows);
    free(report->instants.rows);
    free(report->counters.rows);
    free(report->messages.rows);
    free(report->processes.rows);
    free(report->sites.rows);
    free(report->labels.rows);
}
