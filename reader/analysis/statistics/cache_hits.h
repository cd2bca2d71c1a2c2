/*
 * Cache hits that are told one by one, and in numbers: an instant of a label counts unless a QueryCacheHitCount of
 * the label follows it.
 *
 * Follows: stands later in the same stream; or in another stream at a later tick, the higher stream being the
 * later at a tie. A foreign file counts as one stream: its order is that of the file.
 *
 * Which instants count is not known before all counts have been seen. So all are counted, and where a label has
 * both, its instants are counted again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STAT_HITS_H
#define TRACEBED_STAT_HITS_H

#include "reader/analysis/statistics/span_walk.h"

/*
 * A QueryCacheHitCount stands there. '*hint' starts out as 0; with one for each row, marks are found faster.
 * False: no memory.
 */
bool tbed_stat_mark(struct stat_marks *marks, uint32_t row, struct stat_place place, uint64_t *hint);

/* Adds all of 'from'. False: no memory. */
bool tbed_stat_marks_add(struct stat_marks *marks, const struct stat_marks *from);
void tbed_stat_marks_free(struct stat_marks *marks);

/* The two latest marks of a row by tick, in two streams. */
struct stat_follower {
    struct stat_place latest, second;
    uint32_t count; /* of those two */
};

struct stat_followers {
    struct stat_marks marks;
    struct stat_follower *by_row;
    uint32_t row_count;
    uint64_t first_order; /* the lowest of all rows' last marks */
};

/* From followers->marks. False: no memory. */
bool tbed_stat_followers_make(struct stat_followers *followers, uint32_t row_count);
bool tbed_stat_is_followed(const struct stat_followers *followers, uint32_t row, struct stat_place place);
void tbed_stat_followers_free(struct stat_followers *followers);

#endif
