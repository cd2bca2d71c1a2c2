/*
 * The condition 'inside' of a filter: the time of certain spans in each stream.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FILTER_INSIDE_H
#define TRACEBED_FILTER_INSIDE_H

#include "reader/analysis/filter/filter.h"

/* Reads all blocks of the window. Errors: ERR_MEMORY. */
enum tbed_status tbed_filter_find_inside(struct tbed_filter *filter, unsigned thread_count);
void tbed_filter_free_inside(struct tbed_filter *filter);

#endif
