/*
 * How much memory of a process is live, from its allocation events in order of time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_EXPORT_LIVE_H
#define TRACEBED_EXCHANGE_EXPORT_LIVE_H

#include <tracebed/filter.h>

/* Called for each tick at which it has changed. False: stop. */
typedef bool (*export_live_function)(void *context, uint64_t tick, uint64_t live_nbytes);

/*
 * Follows the blocks that the process with this number allocated. What it frees of others, such as those of its parent, changes
 * nothing. Memory grows with the blocks that are live at one time. Errors: ERR_MEMORY.
 */
enum tbed_status tbed_export_live(struct tbed_reader *reader, uint32_t process,
                                  const struct tbed_filter *filter, export_live_function function,
                                  void *context);

#endif
