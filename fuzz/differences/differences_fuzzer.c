/*
 * Two sets of runs: whatever the figures, what is said of a label agrees with itself; sets that are equal have no mark; and
 * swapping the sets turns changes around.
 *
 * The input: how many runs are in each set, less one, in 4 bits each; then for each label, of one letter, a figure of two
 * bytes for each run.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <tracebed/compare.h>

#include "fuzz/support/fuzz.h"

enum { LABELS_MAX = 20, SET_MAX = 16 };

static uint64_t figures[2 * SET_MAX][LABELS_MAX]; /* by run */
static size_t label_count;

static void add_run(struct tbed_comparison *comparison, size_t run)
{
    static struct tbed_span_row rows[LABELS_MAX];
    static char names[LABELS_MAX][2];
    uint64_t total = 0;
    for (size_t i = 0; i < label_count; i++) {
        names[i][0] = (char)('a' + i);
        rows[i] = (struct tbed_span_row){
            .name = names[i], .name_nbytes = 1, .id = TBED_ID_INVALID, .self_ticks = figures[run][i]};
        total += figures[run][i];
    }
    struct tbed_comparison_run added = {.rows = rows, .row_count = label_count, .total = total};
    REQUIRE(tbed_comparison_add_run(comparison, &added) == TBED_OK);
}

/* The differences between runs first[0] ... and second[0] ... */
static struct tbed_differences *differ(const size_t *runs, size_t before_count, size_t count, bool keep_shift)
{
    struct tbed_difference_options options = {.size = sizeof options,
                                              .before_count = before_count,
                                              .threshold = 0.02,
                                              .resolution = 1,
                                              .keep_shift = keep_shift};
    struct tbed_comparison *comparison;
    struct tbed_differences *differences;
    REQUIRE(tbed_comparison_open(&comparison) == TBED_OK);
    for (size_t i = 0; i < count; i++)
        add_run(comparison, runs[i]);
    REQUIRE(tbed_differences_make(comparison, &options, &differences) == TBED_OK);
    tbed_comparison_close(comparison);
    return differences;
}

static void check_row(const struct tbed_difference *row)
{
    REQUIRE(row->p >= 0 && row->p <= 1 && row->p_corrected >= row->p && row->p_corrected <= 1);
    REQUIRE(row->is_tested || (!row->is_marked && row->p == 1));
    REQUIRE(!row->is_marked || row->p_corrected <= 0.01);
    REQUIRE(!row->is_tested || !isnan(row->change));
    REQUIRE(!row->is_tested || isinf(row->change) || (row->low <= row->change && row->change <= row->high));
}

static void check_all(const struct tbed_differences *differences, bool are_equal)
{
    const struct tbed_difference *row;
    size_t tested = 0;
    for (size_t i = 0; (row = tbed_differences_row(differences, i)) != NULL; i++) {
        check_row(row);
        REQUIRE(!are_equal || !row->is_marked);
        tested += row->is_tested;
    }
    REQUIRE(tested == tbed_differences_tested_count(differences));
    if ((row = tbed_differences_common(differences)) != NULL)
        check_row(row);
}

static void check_swapped(const struct tbed_differences *differences, const struct tbed_differences *swapped)
{
    const struct tbed_difference *a, *b;
    for (size_t i = 0; (a = tbed_differences_row(differences, i)) != NULL; i++) {
        b = tbed_differences_row(swapped, i);
        REQUIRE(b != NULL && a->is_tested == b->is_tested && a->before_run_count == b->after_run_count);
        if (a->is_tested && isfinite(a->change) && isfinite(b->change) && a->p < 0.5)
            REQUIRE((a->change > 0) == (b->change < 0) || a->change == 0 || b->change == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    size_t runs[2 * SET_MAX], twice[2 * SET_MAX], swapped_runs[2 * SET_MAX];
    if (nbytes == 0)
        return 0;
    size_t before = 1 + data[0] % 16, after = 1 + data[0] / 16, count = before + after;
    label_count = (nbytes - 1) / 2 / count < LABELS_MAX ? (nbytes - 1) / 2 / count : LABELS_MAX;
    for (size_t label = 0; label < label_count; label++)
        for (size_t run = 0; run < count; run++) {
            const uint8_t *at = data + 1 + 2 * (label * count + run);
            figures[run][label] = (uint64_t)at[0] << (at[1] % 56);
        }
    for (size_t i = 0; i < count; i++) {
        runs[i] = i;
        swapped_runs[i] = (i + before) % count;
    }
    for (size_t i = 0; i < 2 * before; i++)
        twice[i] = i % before;
    for (int keep_shift = 0; keep_shift < 2; keep_shift++) {
        struct tbed_differences *differences = differ(runs, before, count, keep_shift != 0);
        struct tbed_differences *equal = differ(twice, before, 2 * before, keep_shift != 0);
        struct tbed_differences *swapped = differ(swapped_runs, after, count, keep_shift != 0);
        check_all(differences, false);
        check_all(equal, true);
        check_swapped(differences, swapped);
        tbed_differences_close(differences);
        tbed_differences_close(equal);
        tbed_differences_close(swapped);
    }
    return 0;
}
