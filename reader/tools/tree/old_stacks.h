/*
 * The older trace of a comparison by path, for 'tracebed tree --diff' and 'tracebed flame --diff'.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_OLD_STACKS_H
#define TRACEBED_OLD_STACKS_H

#include "reader/tools/filter/tool_filter.h"

#include <tracebed/compare.h>

struct old_stacks {
    const char *path; /* NULL: nothing is compared */
    struct tbed_reader *reader;
    struct tool_places places;
    struct tool_filter_window window; /* of the options in this trace */
    struct tbed_stacks *stacks;
    struct tbed_stacks_totals totals;
};

/*
 * Opens the trace in 'path' and makes its stacks by these options, except for the filter, which
 * is opened for it and closed again, and the places of its names. 'new_path' has the clock of 'info', which it must match. Returns -1, or the exit status
 * after a complaint.
 */
int old_stacks_open(struct old_stacks *old, struct tool_filter *filter, struct tbed_stacks_options options,
                    const char *new_path, const struct tbed_trace_info *info);

void old_stacks_close(struct old_stacks *old);

#endif
