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
#ifndef TRACEBED_PROFILE_HITS_H
#define TRACEBED_PROFILE_HITS_H

#include "reader/analysis/profile/profile_take.h"

/* Sums that stop at the highest number. */
static inline uint64_t tbed_profile_sum(uint64_t left, uint64_t right)
{
    return right > UINT64_MAX - left ? UINT64_MAX : left + right;
}

/*
 * A QueryCacheHitCount stands there. '*hint' starts out as 0; with one for each row, marks are found faster.
 * False: no memory.
 */
bool tbed_profile_mark(struct profile_marks *marks, uint32_t row, struct profile_place place, uint64_t *hint);

/* Adds all of 'from'. False: no memory. */
bool tbed_profile_marks_add(struct profile_marks *marks, const struct profile_marks *from);
void tbed_profile_marks_free(struct profile_marks *marks);

/* The two latest marks of a row by tick, in two streams. */
struct profile_follower {
    struct profile_place latest, second;
    uint32_t count; /* of those two */
};

struct profile_followers {
    struct profile_marks marks;
    struct profile_follower *by_row;
    uint32_t row_count;
    uint64_t first_order; /* the lowest of all rows' last marks */
};

/* From followers->marks. False: no memory. */
bool tbed_profile_followers_make(struct profile_followers *followers, uint32_t row_count);
bool tbed_profile_is_followed(const struct profile_followers *followers, uint32_t row,
                              struct profile_place place);
void tbed_profile_followers_free(struct profile_followers *followers);

#endif
