/*
 * Finished statistics.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STATISTICS_ROWS_H
#define TRACEBED_STATISTICS_ROWS_H

#include "reader/analysis/shared/named.h"
#include "reader/analysis/statistics/maker.h"

/* The durations of all rows, one row's after the other's. */
struct stat_durations {
    struct stat_row_durations {
        size_t first, count;
    } * parts; /* by row; NULL: not kept */
    size_t part_count;
    struct tbed_duration_count *counts;
    size_t count, room;
};

struct tbed_statistics {
    struct tbed_statistics_totals totals;
    struct tbed_span_row *spans, *asyncs;
    struct tbed_instant_row *instants;
    struct tbed_counter_row *counters;
    struct tbed_message_row *messages;
    struct tbed_artifact_row *artifacts;
    struct stat_durations durations; /* of the spans */
    size_t span_count, async_count, instant_count, counter_count, message_count, artifact_count;
    struct named_texts texts; /* of all rows except messages */
    struct named_texts message_texts;
    struct tbed_foreign_damage *damages;
    size_t damage_count;
    char unit[17]; /* "": time */
};

/*
 * Makes the rows from the labels and the cells of worker 0, ordered by label. The statistics take over the
 * labels' texts. False: no memory.
 */
bool tbed_stat_make_rows(struct tbed_statistics *statistics, struct stat_maker *maker,
                         struct stat_cells *asyncs);

/*
 * Makes the rows of spans from the cells, which it uses up, in the order of their labels. '*rows_ret' is the caller's, also on
 * failure; so are the durations, which are kept unless 'durations' is NULL. False: no memory.
 */
bool tbed_stat_make_span_rows(struct stat_maker *maker, struct stat_cells *cells, const uint32_t *order,
                              uint32_t order_count, struct tbed_span_row **rows_ret, size_t *count_ret,
                              struct stat_durations *durations);

/* The id that a row shows. */
static inline uint32_t stat_label_id(const struct stat_maker *maker, const struct stat_label *label)
{
    bool is_id = maker->source->reader != NULL && label->id < STAT_KEY_FIRST;
    return is_id ? (uint32_t)label->id : TBED_ID_INVALID;
}

/* The part of time that a row stands for. */
static inline uint64_t stat_label_part(const struct stat_maker *maker, const struct stat_label *label)
{
    return maker->options->by == TBED_BY_TIME && label->id >= STAT_KEY_FIRST ? label->id - STAT_KEY_FIRST : 0;
}

#endif
