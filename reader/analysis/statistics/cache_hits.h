/*
 * Cache hits are recorded either one by one or as counts: an instant of a label counts unless a
 * QueryCacheHitCount of the label follows it.
 *
 * "Follows" means: comes later in the same stream; or is in another stream at a later tick, where the higher
 * stream is the later one in a tie. A foreign file counts as one stream, in the order of the file.
 *
 * Which instants count is not known until all counts have been seen. So all instants are counted first, and for
 * labels that have both, they are counted again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STAT_HITS_H
#define TRACEBED_STAT_HITS_H

#include "reader/analysis/statistics/span_walk.h"

/*
 * Records that there is a QueryCacheHitCount at 'place'. '*hint' starts as 0; keeping one for each row makes the
 * search faster. False: no memory.
 */
bool tbed_stat_mark(struct stat_marks *marks, uint32_t row, struct stat_place place, uint64_t *hint);

/* Adds all of 'from'. False: no memory. */
bool tbed_stat_marks_add(struct stat_marks *marks, const struct stat_marks *from);
void tbed_stat_marks_free(struct stat_marks *marks);

/* The two latest marks of a row by tick, in two streams. */
struct stat_follower {
    struct stat_place latest, second;
    uint32_t count; /* of 'latest' and 'second', how many are set */
};

struct stat_followers {
    struct stat_marks marks;
    struct stat_follower *by_row;
    uint32_t row_count;
    uint64_t first_order; /* the lowest of all rows' last marks */
};

/* Made from followers->marks. False: no memory. */
bool tbed_stat_followers_make(struct stat_followers *followers, uint32_t row_count);
bool tbed_stat_is_followed(const struct stat_followers *followers, uint32_t row, struct stat_place place);
void tbed_stat_followers_free(struct stat_followers *followers);

#endif
