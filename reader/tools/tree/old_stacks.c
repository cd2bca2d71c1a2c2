/*
 * Opens the older trace of a comparison by path.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/tree/old_stacks.h"
#include "reader/tools/shared/tool.h"

#include <string.h>

static const char *unit_of(const struct tbed_trace_info *info)
{
    return info->clock == TBED_CLOCK_USER ? info->clock_unit : "time";
}

static bool go_together(const struct old_stacks *old, const char *new_path,
                        const struct tbed_trace_info *info)
{
    struct tbed_trace_info own;
    tbed_reader_info(old->reader, &own);
    bool counts = info->clock == TBED_CLOCK_USER;
    if ((own.clock == TBED_CLOCK_USER) == counts &&
        (!counts || strcmp(own.clock_unit, info->clock_unit) == 0))
        return true;
    tool_complain("%s counts %s, and %s counts %s: cannot compare them", tool_path(old->path), unit_of(&own),
                  tool_path(new_path), unit_of(info));
    return false;
}

int old_stacks_open(struct old_stacks *old, struct tool_filter *filter, struct tbed_stacks_options options,
                    const char *new_path, const struct tbed_trace_info *info)
{
    struct tool_filter_window window = filter->window;
    old->reader = tool_open(old->path);
    if (old->reader == NULL || !go_together(old, new_path, info))
        return TOOL_TROUBLE;
    tool_places_open(&old->places, old->reader, TBED_NAME_ALL);
    int exit = tool_filter_open(filter, old->path, old->reader, &old->places, 0);
    options.filter = filter->filter;
    if (options.name != NULL)
        options.name_context = &old->places;
    enum tbed_status status = TBED_OK;
    if (exit < 0) {
        tool_progress_begin(old->reader, false);
        status = tbed_stacks_make(old->reader, &options, &old->stacks);
        tool_progress_end();
    }
    tool_filter_end(filter);
    old->window = filter->window;
    filter->window = window;
    if (status != TBED_OK) {
        tool_complain("%s: %s", tool_path(old->path), tbed_status_text(status));
        exit = TOOL_TROUBLE;
    }
    if (exit < 0)
        tbed_stacks_totals(old->stacks, &old->totals);
    return exit;
}

void old_stacks_close(struct old_stacks *old)
{
    tool_places_close(&old->places);
    tbed_stacks_close(old->stacks);
    tbed_reader_close(old->reader);
}
