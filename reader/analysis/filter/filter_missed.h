/*
 * Which categories and labels a filter was asked for that nothing had, and what there is instead.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FILTER_MISSED_H
#define TRACEBED_FILTER_MISSED_H

#include "reader/analysis/filter/filter.h"

struct filter_missed {
    bool is_category; /* false: a label of 'inside' */
    const char *text;
    const char *const *there; /* the first FILTER_SEEN_MAX of what there is; the filter's */
    size_t there_count;
};

/* Call this after all that the filter was used for. Returns false past the last. */
bool tbed_filter_missed_get(const struct tbed_filter *filter, size_t index, struct filter_missed *missed_ret);

/* For filter_ids.c, which holds the lock: a label that was compared. */
void tbed_filter_see(struct filter_texts *texts, const char *label, size_t nbytes);

#endif
