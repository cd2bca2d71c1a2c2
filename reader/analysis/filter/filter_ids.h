/*
 * What a filter knows of ids; see tbed_filter_ask().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FILTER_IDS_H
#define TRACEBED_FILTER_IDS_H

#include "reader/analysis/filter/filter.h"

/* False: no memory. */
bool tbed_filter_ids_open(struct tbed_filter *filter);
void tbed_filter_ids_close(struct tbed_filter *filter);

#endif
