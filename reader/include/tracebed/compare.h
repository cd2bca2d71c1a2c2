/*
 * tracebed/compare.h: compare two or more profiles.
 *
 * A comparison takes the profiles of several runs of the same work and joins their rows by label. tbed_figure_change()
 * then computes the change between two runs, and tbed_spread_make() the distribution over many. In a run that lacks a
 * label, all figures of that label are 0: it spent no time there.
 *
 * Units:     times are nanoseconds, or counts if the profiles' clocks count something else. A comparison holds either.
 * Ownership: labels belong to the comparison and are valid until the next run is added or it is closed. The comparison
 *            keeps no pointer into the profiles.
 * Threads:   one at a time while runs are added; any number afterwards.
 * Memory:    proportional to labels times runs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_COMPARE_H
#define TRACEBED_COMPARE_H

#include <tracebed/analysis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The figures of a label in a profile. */
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

/* Whether the figure is a time (or a count of the clock), rather than a number of events. */
static inline bool tbed_figure_is_time(enum tbed_figure figure)
{
    return figure < TBED_FIGURE_INVOCATIONS || figure > TBED_FIGURE_HITS;
}

/* The figures of one label in one run; all 0 if the run lacks the label. */
struct tbed_figures {
    bool present;
    uint64_t of[TBED_FIGURE_COUNT]; /* by enum tbed_figure */
};

struct tbed_comparison_row {
    const char *label; /* terminated */
    size_t label_nbytes;
    size_t run_count; /* the number of runs that have it */
    /* What tbed_id_resolve() returns for the id with this label in the first run that has it. NULL, 0: unknown. */
    const char *function, *file, *module;
    uint32_t line;
};

struct tbed_comparison;

/* Ownership: '*comparison_ret' is the caller's; free it with tbed_comparison_close(). Errors: ERR_MEMORY. */
enum tbed_status tbed_comparison_open(struct tbed_comparison **comparison_ret);
void tbed_comparison_close(struct tbed_comparison *comparison);

/*
 * tbed_comparison_add() adds a run. 'reader' is the reader that the profile was made from; its clock converts the ticks.
 * If it is NULL, ticks are taken as nanoseconds or counts.
 *
 * Errors: ERR_MEMORY; ERR_ARGUMENT if the ticks of this profile count something else than those of the others. The
 *         comparison is unchanged then.
 */
enum tbed_status tbed_comparison_add(struct tbed_comparison *comparison,
                                     const struct tbed_statistics *statistics,
                                     const struct tbed_reader *reader);

/* The figures of a run from any source. Rows must be sorted by the bytes of their labels, each label once. */
struct tbed_comparison_run {
    const struct tbed_span_row *rows; /* their ticks are nanoseconds or counts */
    size_t row_count;
    const struct tbed_artifact_row *artifacts;
    size_t artifact_count;
    uint64_t total;                   /* 'span_ticks' of struct tbed_statistics_totals */
    const struct tbed_reader *reader; /* for the ids of the rows; NULL: they are meaningless */
};
/* Adds such a run. Errors: ERR_MEMORY; ERR_ARGUMENT if rows are out of order. */
static inline enum tbed_status tbed_comparison_add_run(struct tbed_comparison *comparison,
                                                       const struct tbed_comparison_run *run);

size_t tbed_comparison_run_count(const struct tbed_comparison *comparison);
/* The total of a run. 0 past the last. */
uint64_t tbed_comparison_total(const struct tbed_comparison *comparison, size_t run);

/* The labels of all runs, in the order of their bytes. Returns false past the last. */
static inline bool tbed_comparison_row(const struct tbed_comparison *comparison, size_t index,
                                       struct tbed_comparison_row *row_ret);
static inline bool tbed_comparison_artifact(const struct tbed_comparison *comparison, size_t index,
                                            struct tbed_comparison_row *row_ret);

/* The figures of a row in 'run', which counts from 0. All 0, and not 'present', past the last row or run. */
static inline struct tbed_figures tbed_comparison_figures(const struct tbed_comparison *comparison,
                                                          size_t index, size_t run);
/* For an artifact: the sum of its sizes. */
uint64_t tbed_comparison_size(const struct tbed_comparison *comparison, size_t index, size_t run);

/* after - before, limited to what 64 bits can hold. */
static inline int64_t tbed_figure_change(uint64_t before, uint64_t after)
{
    uint64_t size = after >= before ? after - before : before - after;
    if (size > (uint64_t)INT64_MAX)
        return after >= before ? INT64_MAX : INT64_MIN;
    return after >= before ? (int64_t)size : -(int64_t)size;
}

/* ---- The spread of one figure over many runs ---- */

/* With fewer runs, none is an outlier: two runs that differ do not say which one is unusual. */
#define TBED_OUTLIER_RUNS_MIN 5u

/*
 * 'variance' is the sample variance, with the divisor count - 1; for a single run it is 0. The standard deviation is its
 * square root.
 *
 * A run is an outlier if it is further from the median than 'outlier_distance', which is 3.5 robust standard deviations
 * (the modified z-score of Iglewicz and Hoaglin, 1993). The robust standard deviation is 1.4826 times the median absolute
 * deviation; if that is 0 because more than half of the runs agree, it is 1.2533 times the mean absolute deviation from
 * the median. With fewer runs than TBED_OUTLIER_RUNS_MIN, the distance is INFINITY.
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
 * tbed_spread_make() describes the distribution of 'count' values. 'scratch' needs room for as many; its contents are
 * undefined afterwards. Values above 2^53 are rounded, except in 'min' and 'max'. If 'count' is 0, so is every field.
 */
void tbed_spread_make(const uint64_t *values, size_t count, double *scratch, struct tbed_spread *spread_ret);

bool tbed_spread_is_outlier(const struct tbed_spread *spread, uint64_t value);

/* ---- Structs that may grow: these calls pass the caller's size on, see "ABI" in format.h ---- */

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
