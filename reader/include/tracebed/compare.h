/*
 * tracebed/compare.h: profiles side by side, two of them or many.
 *
 * A comparison takes the profiles of several runs of the same work, one after the other, and puts their rows
 * together by label. How much the runs differ is then a matter of arithmetic: tbed_figure_change() for two of
 * them, tbed_spread_make() for many.
 *
 * A run that does not have a label counts as 0 in all of its figures: it spent no time there.
 *
 * Units:     times are nanoseconds, or counts where the profiles' clocks count something else; a comparison
 *            holds one of the two.
 * Ownership: labels are the comparison's, valid until the next run is added or it is closed. It keeps nothing of
 *            the profiles.
 * Threads:   one at a time while runs are added; then any number may look at it.
 * Memory:    labels times runs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_COMPARE_H
#define TRACEBED_COMPARE_H

#include <tracebed/analysis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a row of a profile tells of its label. */
enum tbed_figure {
    TBED_FIGURE_SELF,
    TBED_FIGURE_TIME,
    TBED_FIGURE_INVOCATIONS,
    TBED_FIGURE_MISSES,
    TBED_FIGURE_HITS,
    TBED_FIGURE_BLOCKED,
    TBED_FIGURE_LOAD,
    TBED_FIGURE_HASHING,
};
#define TBED_FIGURE_COUNT 8u

/* True: the figure is a time (or a count of the clock); false: it counts events. */
static inline bool tbed_figure_is_time(enum tbed_figure figure)
{
    return figure < TBED_FIGURE_INVOCATIONS || figure > TBED_FIGURE_HITS;
}

/* The figures of one label in one run; all 0 if the run does not have it. */
struct tbed_figures {
    bool present;
    uint64_t of[TBED_FIGURE_COUNT]; /* by enum tbed_figure */
};

struct tbed_comparison_row {
    const char *label; /* terminated */
    size_t label_nbytes;
    size_t run_count; /* runs that have it */
    /* Of the id that has this label, as tbed_id_resolve() knows them in the first run with it. NULL, 0: not known. */
    const char *function, *file, *module;
    uint32_t line;
};

struct tbed_comparison;

/* Ownership: '*comparison_ret' is the caller's, freed by tbed_comparison_close(). Errors: ERR_MEMORY. */
enum tbed_status tbed_comparison_open(struct tbed_comparison **comparison_ret);
void tbed_comparison_close(struct tbed_comparison *comparison);

/*
 * tbed_comparison_add() adds a run: the profile that was made of 'reader', whose clock converts the ticks. NULL: they
 * are nanoseconds or counts as they stand.
 *
 * Errors: ERR_MEMORY; ERR_ARGUMENT if this profile's ticks count something else than the others' do. The
 *         comparison is as it was before then.
 */
enum tbed_status tbed_comparison_add(struct tbed_comparison *comparison,
                                     const struct tbed_statistics *statistics,
                                     const struct tbed_reader *reader);

/* A run's figures from anywhere. Rows stand in the order of their labels' bytes, each label once. */
struct tbed_comparison_run {
    const struct tbed_span_row *rows; /* their ticks are nanoseconds, or counts */
    size_t row_count;
    const struct tbed_artifact_row *artifacts;
    size_t artifact_count;
    uint64_t total;                   /* 'span_ticks' of struct tbed_statistics_totals */
    const struct tbed_reader *reader; /* that the ids of the rows are of; NULL: they are of none */
};
/* The same for such a run. Errors: ERR_MEMORY; ERR_ARGUMENT if rows are out of order. */
static inline enum tbed_status tbed_comparison_add_run(struct tbed_comparison *comparison,
                                                       const struct tbed_comparison_run *run);

size_t tbed_comparison_run_count(const struct tbed_comparison *comparison);
/* The total of a run. 0 past the last. */
uint64_t tbed_comparison_total(const struct tbed_comparison *comparison, size_t run);

/* The labels of all runs together, in the order of their bytes. False past the last. */
static inline bool tbed_comparison_row(const struct tbed_comparison *comparison, size_t index,
                                       struct tbed_comparison_row *row_ret);
static inline bool tbed_comparison_artifact(const struct tbed_comparison *comparison, size_t index,
                                            struct tbed_comparison_row *row_ret);

/* What run 'run', counted from 0, has in that row. Nothing, 'present' false, past the last of either. */
static inline struct tbed_figures tbed_comparison_figures(const struct tbed_comparison *comparison,
                                                          size_t index, size_t run);
/* The same for an artifact: the sum of its sizes. */
uint64_t tbed_comparison_size(const struct tbed_comparison *comparison, size_t index, size_t run);

/* after - before; what 64 bits cannot hold is the most, or the least, that they can. */
static inline int64_t tbed_figure_change(uint64_t before, uint64_t after)
{
    uint64_t size = after >= before ? after - before : before - after;
    if (size > (uint64_t)INT64_MAX)
        return after >= before ? INT64_MAX : INT64_MIN;
    return after >= before ? (int64_t)size : -(int64_t)size;
}

/* ---- The spread of one figure over many runs ---- */

/* With fewer runs nothing is called an outlier: two that differ are no rule and no exception. */
#define TBED_OUTLIER_RUNS_MIN 5u

/*
 * 'variance' is that of a sample, over count - 1; of a single run it is 0. The standard deviation is its square root.
 *
 * An outlier is further from the median than 'outlier_distance', 3.5 robust standard deviations (the modified z-score
 * of Iglewicz and Hoaglin, 1993): the median absolute deviation times 1.4826; where that is 0, because more than half
 * of the runs agree, the mean absolute deviation from the median times 1.2533. INFINITY with fewer runs than
 * TBED_OUTLIER_RUNS_MIN.
 */
struct tbed_spread {
    size_t count;
    uint64_t min, max;
    double mean, median;
    double variance;
    double outlier_distance;
    size_t outlier_count;
};

/*
 * tbed_spread_make() describes 'count' values. 'scratch' has room for as many; what is in it afterwards means nothing.
 * Doubles: values above 2^53 are rounded, but for 'min' and 'max'. All 0 when 'count' is.
 */
void tbed_spread_make(const uint64_t *values, size_t count, double *scratch, struct tbed_spread *spread_ret);

bool tbed_spread_is_outlier(const struct tbed_spread *spread, uint64_t value);

/* ---- Structs that may grow: the size that the caller knows goes along, see "ABI" in format.h ---- */

bool tbed_comparison_row_sized(const struct tbed_comparison *comparison, size_t index,
                               struct tbed_comparison_row *row_ret, size_t row_nbytes);
static inline bool tbed_comparison_row(const struct tbed_comparison *comparison, size_t index,
                                       struct tbed_comparison_row *row_ret)
{
    return tbed_comparison_row_sized(comparison, index, row_ret, sizeof *row_ret);
}

bool tbed_comparison_artifact_sized(const struct tbed_comparison *comparison, size_t index,
                                    struct tbed_comparison_row *row_ret, size_t row_nbytes);
static inline bool tbed_comparison_artifact(const struct tbed_comparison *comparison, size_t index,
                                            struct tbed_comparison_row *row_ret)
{
    return tbed_comparison_artifact_sized(comparison, index, row_ret, sizeof *row_ret);
}

enum tbed_status tbed_comparison_add_run_sized(struct tbed_comparison *comparison,
                                               const struct tbed_comparison_run *run, size_t run_nbytes,
                                               size_t row_nbytes, size_t artifact_nbytes);
static inline enum tbed_status tbed_comparison_add_run(struct tbed_comparison *comparison,
                                                       const struct tbed_comparison_run *run)
{
    return tbed_comparison_add_run_sized(comparison, run, sizeof *run, sizeof *run->rows,
                                         sizeof *run->artifacts);
}

void tbed_comparison_figures_sized(const struct tbed_comparison *comparison, size_t index, size_t run,
                                   struct tbed_figures *figures_ret, size_t figures_nbytes);
static inline struct tbed_figures tbed_comparison_figures(const struct tbed_comparison *comparison,
                                                          size_t index, size_t run)
{
    struct tbed_figures figures;
    tbed_comparison_figures_sized(comparison, index, run, &figures, sizeof figures);
    return figures;
}

#ifdef __cplusplus
}
#endif
#endif
