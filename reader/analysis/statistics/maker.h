/*
 * Statistics in the making: the state that the workers share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STAT_MAKER_H
#define TRACEBED_STAT_MAKER_H

#include "reader/analysis/statistics/cache_hits.h"
#include "reader/analysis/statistics/walk_merge.h"

struct stat_maker {
    const struct stat_source *source;
    const struct tbed_analysis_options *options;
    struct stat_labels labels;
    struct stat_ids ids;
    struct stat_worker *workers;
    unsigned worker_count;

    /*
     * Finished chunks wait here for the chunks after them to be merged; indexed by chunk number modulo 'window'.
     */
    pthread_mutex_t lock;
    pthread_cond_t moved; /* 'merged_count' grew */
    struct stat_result *results;
    size_t window;
    size_t merged_count; /* chunks, counted from the last */
    struct stat_merge merge;

    uint8_t *chunk_marks; /* by chunk; each is written by the worker that takes the chunk */
    struct stat_followers followers;
    bool is_cancelled; /* atomic: some chunks were not taken */
};

#endif
