/*
 * Which sites of allocations a suppression matches.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LEAKS_H
#define TRACEBED_LEAKS_H

#include "reader/analysis/memory/heap.h"

/* Sets 'suppression' of sites that have live blocks. Errors: ERR_MEMORY. */
enum tbed_status tbed_leaks_judge(const struct tbed_reader *reader,
                                  const struct tbed_analysis_options *options, struct heap_site *const *sites,
                                  size_t count);

#endif
