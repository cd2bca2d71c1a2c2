/*
 * What the benchmarks share: clocks, medians, options, one table.
 *
 * A row is a thing measured beside its limit: what the machine can do at best at the same moment. Ratios are
 * of pairs measured one right after the other, so that what disturbs both divides out; the middle one counts.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TBED_BENCH_MEASURE_H
#define TBED_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define BENCH_ROUNDS_MAX 101

struct bench_options {
    bool quick;            /* measure less, in fewer rounds: a check that it works, and a rough figure */
    bool cold;             /* do not touch memory beforehand; see bench_memory_warm() */
    unsigned rounds;       /* pairs; odd */
    const char *directory; /* directory for temporary files */
    const char *only;      /* rows whose name starts with this; NULL: all */
};

/* False: the command line is invalid, or asks for help; help has been printed. */
bool bench_options_parse(int argc, char **argv, const char *purpose, struct bench_options *options_ret);
bool bench_is_wanted(const struct bench_options *options, const char *name);

/* The path of a scratch file, in a buffer that the next call overwrites. */
const char *bench_path(const struct bench_options *options, const char *name);

uint64_t bench_ns(clockid_t clock);

/* Pairs of a measurement and its limit, in the same unit. */
struct bench_pairs {
    size_t count;
    double limits[BENCH_ROUNDS_MAX];
    double values[BENCH_ROUNDS_MAX];
};
void bench_pair_add(struct bench_pairs *pairs, double limit, double value);

enum bench_goal_kind {
    BENCH_NO_GOAL,
    BENCH_RATIO_AT_MOST,
    BENCH_RATIO_AT_LEAST,
    BENCH_VALUE_AT_MOST,
};

struct bench_goal {
    enum bench_goal_kind kind;
    double bound;
};

void bench_table_head(const char *title);
void bench_row(const char *name, const char *unit, const struct bench_pairs *pairs, struct bench_goal goal);

/*
 * Touches memory for a file of 'nbytes' and releases it. A virtual machine may have returned free memory to its host. The
 * next program that touches that memory pays for getting it back, several times the cost of a page fault, which is not
 * what these benchmarks measure. The kernel does not hand out again just what was released, so it is three times as
 * much, at most half of the machine's memory, in huge pages as the map of a trace takes them.
 */
void bench_memory_warm(const struct bench_options *options, size_t nbytes);

/* Results are stored here, so that loops are not optimised away. */
extern volatile uint64_t bench_sink;

#endif
