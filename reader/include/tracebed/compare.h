/*
 * tracebed/compare.h: compare two or more profiles.
 *
 * A comparison takes the profiles of several runs of the same work and joins their rows by label. tbed_figure_change()
 * then computes the change between two runs, and tbed_spread_make() the distribution over many. In a run that lacks a
 * label, all figures of that label are 0: it spent no time there. tbed_differences_make() says which labels differ
 * between two sets of runs by more than the runs of each set do.
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

TBED_HEADER_BEGIN

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
    TBED_FIGURE_P50, /* the median duration of a span; 0 if the statistics have no percentiles */
};
#define TBED_FIGURE_COUNT 9u

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
    uint64_t total;                         /* 'span_ticks' of struct tbed_statistics_totals */
    const struct tbed_reader *reader;       /* for the ids of the rows; NULL: they are meaningless */
    const struct tbed_durations *durations; /* of the rows; NULL: not known */
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
/* The durations of a row's spans in 'run', if its statistics kept them; otherwise empty. */
struct tbed_durations tbed_comparison_durations(const struct tbed_comparison *comparison, size_t index,
                                                size_t run);
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

/* ---- Two sets of runs ---- */

/*
 * Which labels differ between the first runs of a comparison, BEFORE, and the others, AFTER.
 *
 * Values:   the logarithm of the label's figure in each run, so that changes are ratios and a run twice as long does not
 *           count more. If a label has none of it in some run, the figure itself, in units of its mean.
 * Shift:    a busy machine makes whole runs slower. The shift of a run is the median of its labels' distances from their
 *           own medians over all runs, in which steady labels count more. It is taken out of all values, so labels are
 *           compared with what the run had in common, and the difference of the shifts of both sets is a row of its own:
 *           tbed_differences_common(). Less than five labels that are in all runs have no shift.
 * Test:     Yuen's: Welch's t test without the largest and the smallest fifth of each set, and with all values for sets
 *           of less than eight runs.
 * Many:     probabilities are corrected for the number of labels by Holm's method: if nothing has changed, 'alpha' is the
 *           chance that any label at all is marked.
 * Rounding: the variance of a set is at least that of times rounded to the resolution of the clock, and of a percentile, that
 *           of its accuracy.
 */
struct tbed_difference_options {
    size_t size; /* sizeof(struct tbed_difference_options) */
    size_t before_count;
    enum tbed_figure figure;
    double alpha;      /* 0: 0.01 */
    double threshold;  /* the least change that is marked, as a part of BEFORE; 0: any */
    double resolution; /* of the clock, in the units of the comparison; 0: exact */
    bool keep_shift;   /* compare the figures as they are */
};

/* Changes are parts of BEFORE: 0.05 is 5 % more. They are INFINITY for a label that is only in AFTER. */
struct tbed_difference {
    size_t before_run_count, after_run_count; /* runs that have the label */
    double before_mean, after_mean;           /* of the figure over all runs of the set, with its shifts */
    /* Both sets have at least two runs, and any run has some of the figure. If not, 'p' is 1 and there is no change. */
    bool is_tested;
    bool is_marked;        /* 'p_corrected' is at most alpha, and the change at least the threshold */
    double change;         /* of the trimmed mean */
    double low, high;      /* its confidence interval, of 1 - alpha, for this label alone */
    double effect;         /* the difference in standard deviations of single runs; INFINITY if these are 0 */
    double p, p_corrected; /* the probability of such a difference if nothing has changed */
};

struct tbed_differences;

/*
 * Ownership: '*differences_ret' is the caller's; free it with tbed_differences_close(), before or after the comparison.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT.
 */
enum tbed_status tbed_differences_make(const struct tbed_comparison *comparison,
                                       const struct tbed_difference_options *options,
                                       struct tbed_differences **differences_ret);
void tbed_differences_close(struct tbed_differences *differences); /* NULL is allowed */

/* By the index of tbed_comparison_row(); NULL past the last. */
const struct tbed_difference *tbed_differences_row(const struct tbed_differences *differences, size_t index);
/* What all labels have in common: the shifts, whose means are 0; NULL if they were not taken out. */
const struct tbed_difference *tbed_differences_common(const struct tbed_differences *differences);
/* How much longer a run took than the others, as a part: 0.05 is 5 %. 0 past the last. */
double tbed_differences_shift(const struct tbed_differences *differences, size_t run);
/* How many labels were tested. */
size_t tbed_differences_tested_count(const struct tbed_differences *differences);

/* ---- The calls of two runs ---- */

/*
 * Which labels have calls of other durations in run AFTER of a comparison than in BEFORE. Both runs need durations; see
 * tbed_comparison_durations(). They include the time of nested calls.
 *
 * Change:   the median of the ratios of all pairs of calls, one of each run (Hodges and Lehmann). Durations are accurate
 *           to 1 %, and so is the change.
 * Effect:   how many more of these pairs have the longer call in AFTER than in BEFORE, as a part of all (Cliff's delta):
 *           from -1 to 1. Calls that differ by less than the accuracy are equal.
 * Test:     Mann and Whitney's, corrected for the number of labels by Holm's method.
 * Shift:    the median of the changes, in which labels count more that have many calls and little time in nested ones, but
 *           none for more than a fifth. It is taken out of the changes and the tests. With less than five labels it is 0.
 *
 * The test is about calls, not about runs: from one run of each it cannot be said how much runs differ anyway, and with
 * very many calls any difference is significant. Choose a threshold above the differences of equal runs, or compare sets
 * of runs by tbed_differences_make().
 */
struct tbed_call_difference_options {
    size_t size; /* sizeof(struct tbed_call_difference_options) */
    size_t before_run, after_run;
    double alpha;     /* 0: 0.01 */
    double threshold; /* the least change that is marked, as a part of BEFORE; 0: any */
    bool keep_shift;  /* compare the durations as they are */
};

/* In the units of the comparison. */
struct tbed_call_durations {
    uint64_t count; /* of calls */
    uint64_t p50, p90, p99;
};

struct tbed_call_difference {
    struct tbed_call_durations before, after;
    bool is_tested; /* both runs have calls */
    bool is_marked; /* 'p_corrected' is at most alpha, and the change at least the threshold */
    double change;  /* 0.05 is 5 % longer */
    double effect;
    double p, p_corrected; /* the probability of such a difference between calls of the same distribution */
};

struct tbed_call_differences;

/*
 * Ownership: '*differences_ret' is the caller's; free it with tbed_call_differences_close(), before or after the
 *            comparison.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT.
 */
enum tbed_status tbed_call_differences_make(const struct tbed_comparison *comparison,
                                            const struct tbed_call_difference_options *options,
                                            struct tbed_call_differences **differences_ret);
void tbed_call_differences_close(struct tbed_call_differences *differences); /* NULL is allowed */

/* By the index of tbed_comparison_row(); NULL past the last. */
const struct tbed_call_difference *tbed_call_differences_row(const struct tbed_call_differences *differences,
                                                             size_t index);
double tbed_call_differences_shift(const struct tbed_call_differences *differences);
/* How many labels were tested. */
size_t tbed_call_differences_tested_count(const struct tbed_call_differences *differences);

/* ---- The stacks of two traces ---- */

/* Of a path in one of the traces, like those of struct tbed_stack_row; all 0 if it has no such path. */
struct tbed_stack_figures {
    bool present;
    uint64_t count;
    uint64_t self, total; /* nanoseconds, or ticks of a clock that does not measure time */
};

struct tbed_stack_difference {
    const char *label; /* terminated */
    size_t label_nbytes;
    size_t parent;  /* the index of its row; SIZE_MAX: none */
    uint32_t depth; /* 0: a root */
    struct tbed_stack_figures before, after;
};

struct tbed_stack_differences;

/*
 * tbed_stack_differences_make() has a row for each path of labels that is in one of the two. Paths of the same labels share
 * a row, and if each of the two has a single root, these do so under any name. The readers, which may be NULL, are those
 * that the stacks were made from; their clocks convert the ticks. It is up to the caller that both count the same.
 *
 * Ownership: '*differences_ret' is the caller's; free it with tbed_stack_differences_close(). The labels are those of the
 *            stacks, which have to live as long. The readers need not.
 * Errors:    ERR_MEMORY.
 */
enum tbed_status tbed_stack_differences_make(const struct tbed_stacks *before,
                                             const struct tbed_reader *before_reader,
                                             const struct tbed_stacks *after,
                                             const struct tbed_reader *after_reader,
                                             struct tbed_stack_differences **differences_ret);
void tbed_stack_differences_close(struct tbed_stack_differences *differences); /* NULL is allowed */

/* NULL past the last. Each row is followed by its children, which are sorted by the bytes of their labels. */
const struct tbed_stack_difference *
tbed_stack_differences_row(const struct tbed_stack_differences *differences, size_t index);

/* ---- Positions in runs that do the same ---- */

/*
 * A deterministic program begins and ends the same spans in the same order in every run. So the n-th interval between two
 * such points of a thread, or instants, is the same work in all runs, and its time should be the same too. Positions show
 * where it is not, even if a label takes as long in total.
 *
 * Threads are the streams that have an interval, in order of their numbers; that of one run is compared with that of the
 * same rank in the others. Spans nest as in statistics. If a run differs from the first one, the positions of that thread
 * count only up to there.
 *
 * Memory: proportional to the points of a run.
 */
struct tbed_positions;

enum tbed_point_kind {
    TBED_POINT_NONE, /* the end */
    TBED_POINT_BEGIN,
    TBED_POINT_END,
    TBED_POINT_INSTANT,
};

/* Times are nanoseconds, or ticks of a clock that does not measure time. */
struct tbed_position {
    enum tbed_point_kind from, to; /* the points around the interval */
    const char *from_label, *to_label;
    const char *inside; /* the label of the innermost span around it; NULL: none */
    uint64_t min, max;
    double mean, variance; /* with the divisor count - 1; 0 for a single run */
};

/* Where a run differs from the first one: the point that was expected, and the one that was found. */
struct tbed_divergence {
    bool differs;
    size_t thread, number; /* of the position; they count from 0 */
    enum tbed_point_kind expected, found;
    const char *expected_label, *found_label; /* NULL: the end */
};

/*
 * tbed_positions_add() adds a run. Of the options, only the names and the filter are used. It is up to the caller that the
 * clocks of all runs count the same.
 *
 * Ownership: '*positions_ret' is the caller's; free it with tbed_positions_close(). Labels belong to it.
 * Errors:    ERR_MEMORY, ERR_ARGUMENT. After an error it can only be closed.
 */
enum tbed_status tbed_positions_open(struct tbed_positions **positions_ret);
enum tbed_status tbed_positions_add(struct tbed_positions *positions, struct tbed_reader *reader,
                                    const struct tbed_stacks_options *options);
void tbed_positions_close(struct tbed_positions *positions); /* NULL is allowed */

/* The threads of the first run, and how many of their positions are the same in all runs. */
size_t tbed_positions_thread_count(const struct tbed_positions *positions);
size_t tbed_positions_count(const struct tbed_positions *positions, size_t thread);
/* A position; they are in order of time. Returns false past the last. */
static inline bool tbed_positions_get(const struct tbed_positions *positions, size_t thread, size_t number,
                                      struct tbed_position *position_ret);
/* NULL past the last run. */
const struct tbed_divergence *tbed_positions_divergence(const struct tbed_positions *positions, size_t run);

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

bool tbed_positions_get_sized(const struct tbed_positions *positions, size_t thread, size_t number,
                              struct tbed_position *position_ret, size_t position_nbytes);
static inline bool tbed_positions_get(const struct tbed_positions *positions, size_t thread, size_t number,
                                      struct tbed_position *position_ret)
{
    return tbed_positions_get_sized(positions, thread, number, position_ret, sizeof *position_ret);
}

#ifdef __cplusplus
}
#endif

TBED_HEADER_END

#endif
