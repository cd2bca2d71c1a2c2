/*
 * Sites of allocations that are call stacks: those whose frames have the same names are one. Each frame is named once,
 * and no stack is.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STACK_SITES_H
#define TRACEBED_STACK_SITES_H

#include <tracebed/analysis.h>

/*
 * '*ranks_ret' gets one number for each of the ids: ids with the same frames have the same number, and lower numbers come
 * first in the order of their frames' names, the innermost frame first. It is the caller's to free. Errors: ERR_MEMORY.
 */
enum tbed_status tbed_stack_sites_rank(const struct tbed_reader *reader,
                                       const struct tbed_analysis_options *options, const uint32_t *ids,
                                       size_t count, uint32_t **ranks_ret, size_t *rank_count_ret);

#endif
