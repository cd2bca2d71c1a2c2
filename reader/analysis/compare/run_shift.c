/*
 * Finds the shifts of whole runs, in two rounds: the first takes all labels alike, and shows how steady each is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/compare/run_shift.h"

#include <math.h>
#include <stdlib.h>

struct finder {
    const double *logs;
    size_t label_count, run_count, before_count;
    double *shifts;
    double *middles;       /* by label: the median of its values */
    double *weights;       /* by label */
    struct weighed *items; /* room for labels or runs */
};

static int compare_items(const void *left, const void *right)
{
    const struct weighed *a = left, *b = right;
    if (a->value < b->value || a->value > b->value)
        return a->value < b->value ? -1 : 1;
    return (a->weight > b->weight) - (a->weight < b->weight);
}

double tbed_weighed_median(struct weighed *items, size_t count)
{
    double all = 0, sum = 0;
    qsort(items, count, sizeof *items, compare_items);
    for (size_t i = 0; i < count; i++)
        all += items[i].weight;
    for (size_t i = 0; i + 1 < count; i++) {
        sum += items[i].weight;
        if (sum > all / 2)
            return items[i].value;
        if (sum >= all / 2)
            return items[i].value / 2 + items[i + 1].value / 2;
    }
    return items[count - 1].value;
}

static double value_at(const struct finder *finder, size_t label, size_t run)
{
    return finder->logs[label * finder->run_count + run];
}

static void find_middles(struct finder *finder)
{
    for (size_t label = 0; label < finder->label_count; label++) {
        for (size_t run = 0; run < finder->run_count; run++)
            finder->items[run] = (struct weighed){value_at(finder, label, run), 1};
        finder->middles[label] = tbed_weighed_median(finder->items, finder->run_count);
    }
}

static void find_shifts(struct finder *finder)
{
    for (size_t run = 0; run < finder->run_count; run++) {
        for (size_t label = 0; label < finder->label_count; label++)
            finder->items[label] = (struct weighed){value_at(finder, label, run) - finder->middles[label],
                                                    finder->weights[label]};
        finder->shifts[run] = tbed_weighed_median(finder->items, finder->label_count);
    }
}

/* The median distance from the median, of the runs [from, to) of a label without their shifts. */
static double deviation_of(struct finder *finder, size_t label, size_t from, size_t to)
{
    size_t count = to - from;
    for (size_t run = from; run < to; run++)
        finder->items[run - from] = (struct weighed){value_at(finder, label, run) - finder->shifts[run], 1};
    double middle = tbed_weighed_median(finder->items, count);
    for (size_t i = 0; i < count; i++)
        finder->items[i].value = fabs(finder->items[i].value - middle);
    return tbed_weighed_median(finder->items, count);
}

double tbed_weight_limit(struct weighed *items, size_t count)
{
    double rest = 0, limit = INFINITY;
    for (size_t i = 0; i < count; i++)
        rest += items[i].value;
    qsort(items, count, sizeof *items, compare_items);
    for (size_t cut = 0; cut < RUN_SHIFT_LABELS_MIN; cut++) {
        double heaviest = items[count - 1 - cut].value;
        limit = rest / (double)(RUN_SHIFT_LABELS_MIN - cut);
        if (heaviest <= limit)
            break;
        rest -= heaviest;
    }
    return limit;
}

static void weigh_labels(struct finder *finder)
{
    for (size_t label = 0; label < finder->label_count; label++) {
        double before = deviation_of(finder, label, 0, finder->before_count);
        double after = deviation_of(finder, label, finder->before_count, finder->run_count);
        finder->weights[label] = 1 / fmax(sqrt(before * before + after * after), 1e-6);
    }
    for (size_t i = 0; i < finder->label_count; i++)
        finder->items[i] = (struct weighed){finder->weights[i], 1};
    double limit = tbed_weight_limit(finder->items, finder->label_count);
    for (size_t i = 0; i < finder->label_count; i++)
        finder->weights[i] = fmin(finder->weights[i], limit);
}

bool tbed_run_shifts_find(const double *logs, size_t label_count, size_t run_count, size_t before_count,
                          double *shifts)
{
    struct finder finder = {logs, label_count, run_count, before_count, .shifts = shifts};
    finder.middles = calloc(label_count + 1, sizeof *finder.middles);
    finder.weights = calloc(label_count + 1, sizeof *finder.weights);
    finder.items = calloc(label_count + run_count, sizeof *finder.items);
    bool fits = finder.middles != NULL && finder.weights != NULL && finder.items != NULL;
    if (fits && label_count >= RUN_SHIFT_LABELS_MIN) {
        find_middles(&finder);
        for (size_t label = 0; label < label_count; label++)
            finder.weights[label] = 1;
        find_shifts(&finder);
        weigh_labels(&finder);
        find_shifts(&finder);
    }
    free(finder.middles);
    free(finder.weights);
    free(finder.items);
    return fits;
}
