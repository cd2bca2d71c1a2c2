/*
 * Comparisons of runs and the spread of figures, against obvious implementations; and what differs between the first
 * half of the runs and the rest, and between the calls of the first and the last.
 *
 * The input is a list of runs: for each label of one letter a figure of 8 bytes, in any order, which a byte of zero
 * ends.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>
#include <tracebed/compare.h>

#include "fuzz/support/differences.h"
#include "fuzz/support/fuzz.h"

enum { LABELS = 256, RUNS_MAX = 16 };

static struct {
    bool present[LABELS];
    uint64_t self[LABELS];
} runs[RUNS_MAX];
static size_t run_count;

static void take_runs(const uint8_t *data, size_t nbytes)
{
    memset(runs, 0, sizeof runs);
    run_count = nbytes > 0;
    for (; nbytes > 0 && run_count <= RUNS_MAX; data++, nbytes--) {
        if (*data == 0) {
            run_count++;
            continue;
        }
        uint64_t figure = 0;
        size_t part = nbytes - 1 < sizeof figure ? nbytes - 1 : sizeof figure;
        memcpy(&figure, data + 1, part);
        runs[run_count - 1].present[*data] = true;
        runs[run_count - 1].self[*data] = figure;
        data += part;
        nbytes -= part;
    }
    run_count = run_count < RUNS_MAX ? run_count : RUNS_MAX;
}

/* Each label with an odd figure also gets an artifact of that size. */
static struct tbed_comparison_run make_run(size_t run)
{
    static struct tbed_span_row rows[LABELS];
    static struct tbed_artifact_row artifacts[LABELS];
    static struct tbed_durations durations[LABELS];
    static struct tbed_duration_count counts[LABELS][2];
    static char names[LABELS][2];
    size_t count = 0, artifact_count = 0;
    for (int label = 1; label < LABELS; label++) {
        uint64_t figure = runs[run].self[label];
        names[label][0] = (char)label;
        if (runs[run].present[label]) {
            counts[label][0] = (struct tbed_duration_count){figure >> 8, 1 + figure % 7};
            counts[label][1] = (struct tbed_duration_count){(figure >> 8) + 1 + figure % 11, 1 + figure % 5};
            durations[count] = (struct tbed_durations){counts[label], figure % 3};
        }
        if (runs[run].present[label])
            rows[count++] = (struct tbed_span_row){
                .name = names[label], .name_nbytes = 1, .id = TBED_ID_INVALID, .self_ticks = figure};
        if (figure % 2 == 1)
            artifacts[artifact_count++] =
                (struct tbed_artifact_row){.name = names[label], .name_nbytes = 1, .value = figure};
    }
    return (struct tbed_comparison_run){.rows = rows,
                                        .row_count = count,
                                        .artifacts = artifacts,
                                        .artifact_count = artifact_count,
                                        .total = run,
                                        .durations = durations};
}

static void add_run(struct tbed_comparison *comparison, size_t run)
{
    struct tbed_comparison_run added = make_run(run);
    REQUIRE(tbed_comparison_add_run(comparison, &added) == TBED_OK);
    REQUIRE(tbed_comparison_total(comparison, run) == run);
    REQUIRE(tbed_comparison_total(comparison, run + 1) == 0);
}

/* Runs must be refused if their rows are not sorted, if a label occurs twice, or if a field is of a later version. */
static void add_refused(struct tbed_comparison *comparison, size_t run)
{
    struct {
        struct tbed_comparison_run run;
        uint64_t of_a_later_version;
    } later = {.run = make_run(run), .of_a_later_version = 1};
    struct tbed_comparison_run added = later.run;
    struct tbed_span_row twice[2] = {added.rows[0], added.rows[0]};
    REQUIRE(tbed_comparison_add_run_sized(comparison, &later.run, sizeof later, sizeof(struct tbed_span_row),
                                          sizeof(struct tbed_artifact_row)) == TBED_ERR_ARGUMENT);
    added.rows = twice;
    added.row_count = added.row_count > 0 ? 2 : 0;
    if (added.row_count > 0)
        REQUIRE(tbed_comparison_add_run(comparison, &added) == TBED_ERR_ARGUMENT);
    REQUIRE(tbed_comparison_run_count(comparison) == run_count);
}

static void check_artifacts(const struct tbed_comparison *comparison)
{
    struct tbed_comparison_row row;
    for (size_t i = 0; tbed_comparison_artifact(comparison, i, &row); i++)
        for (size_t run = 0; run < run_count; run++) {
            uint64_t figure = runs[run].self[(uint8_t)row.label[0]];
            REQUIRE(tbed_comparison_size(comparison, i, run) == (figure % 2 == 1 ? figure : 0));
        }
    REQUIRE(!tbed_comparison_figures(comparison, LABELS, 0).present);
}

static void check_row(const struct tbed_comparison *comparison, size_t index, uint8_t label)
{
    size_t having = 0;
    for (size_t run = 0; run < run_count; run++) {
        struct tbed_figures figures = tbed_comparison_figures(comparison, index, run);
        REQUIRE(figures.present == runs[run].present[label]);
        REQUIRE(figures.of[TBED_FIGURE_SELF] == runs[run].self[label]);
        having += figures.present;
    }
    struct tbed_comparison_row row;
    REQUIRE(tbed_comparison_row(comparison, index, &row) && row.run_count == having && having > 0);
    REQUIRE(!tbed_comparison_figures(comparison, index, run_count).present);
}

static void check_spread(uint8_t label)
{
    uint64_t values[RUNS_MAX], min = UINT64_MAX, max = 0;
    double scratch[RUNS_MAX];
    struct tbed_spread spread;
    size_t outliers = 0;
    for (size_t run = 0; run < run_count; run++) {
        values[run] = runs[run].self[label];
        min = values[run] < min ? values[run] : min;
        max = values[run] > max ? values[run] : max;
    }
    tbed_spread_make(values, run_count, scratch, &spread);
    REQUIRE(spread.count == run_count && spread.min == min && spread.max == max);
    REQUIRE(spread.median >= (double)min && spread.median <= (double)max);
    REQUIRE(spread.mean >= (double)min * (1 - 1e-9) && spread.mean <= (double)max * (1 + 1e-9));
    REQUIRE(spread.variance >= 0 && isfinite(spread.variance));
    for (size_t run = 0; run < run_count; run++)
        outliers += tbed_spread_is_outlier(&spread, values[run]);
    REQUIRE(outliers == spread.outlier_count);
    REQUIRE(run_count >= TBED_OUTLIER_RUNS_MIN || outliers == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_comparison *comparison;
    struct tbed_comparison_row row;
    take_runs(data, nbytes);
    REQUIRE(tbed_comparison_open(&comparison) == TBED_OK);
    for (size_t run = 0; run < run_count; run++)
        add_run(comparison, run);
    REQUIRE(tbed_comparison_run_count(comparison) == run_count);
    if (run_count > 0)
        add_refused(comparison, 0);
    check_artifacts(comparison);
    uint8_t before = 0;
    for (size_t i = 0; tbed_comparison_row(comparison, i, &row); i++) {
        uint8_t label = (uint8_t)row.label[0];
        REQUIRE(row.label_nbytes == 1 && label > before);
        before = label;
        check_row(comparison, i, label);
        check_spread(label);
    }
    check_differences(comparison, run_count / 2, TBED_FIGURE_SELF, (unsigned)nbytes);
    check_call_differences(comparison, 0, run_count, (unsigned)nbytes, false);
    if (run_count > 0) {
        check_call_differences(comparison, 0, run_count - 1, (unsigned)nbytes, false);
        check_call_differences(comparison, 0, 0, (unsigned)nbytes, true);
    }
    tbed_comparison_close(comparison);
    tbed_comparison_close(NULL);
    struct tbed_spread spread;
    tbed_spread_make(NULL, 0, NULL, &spread);
    REQUIRE(spread.count == 0 && spread.outlier_count == 0);
    return 0;
}
