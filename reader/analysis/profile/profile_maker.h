/*
 * A profile in the making: what its workers share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PROFILE_MAKER_H
#define TRACEBED_PROFILE_MAKER_H

#include "reader/analysis/profile/profile_hits.h"
#include "reader/analysis/profile/profile_merge.h"

struct profile_maker {
    const struct profile_source *source;
    struct profile_labels labels;
    uint32_t **id_leaves;   /* atomic, as is what they hold */
    uint64_t id_leaf_count; /* atomic */
    struct profile_worker *workers;
    unsigned worker_count;

    /* Chunks that are done wait here for those after them; by chunk number modulo 'window'. */
    pthread_mutex_t lock;
    pthread_cond_t moved; /* 'merged_count' grew */
    struct profile_result *results;
    size_t window;
    size_t merged_count; /* chunks, from the last on */
    struct profile_merge merge;

    uint8_t *chunk_has_hits; /* by chunk; each written by whoever takes the chunk */
    struct profile_followers followers;
};

#endif
