/*
 * Shared by the files of 'tracebed tree': tree_verb.c combines the calls of each path, tree_calls.c prints single calls,
 * tree_diff.c compares two traces.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TREE_H
#define TRACEBED_TREE_H

#include "reader/tools/filter/tool_filter.h"
#include "reader/tools/report/group.h"
#include "reader/tools/shared/tool_places.h"
#include "reader/tools/tree/old_stacks.h"
#include "reader/tools/tree/row_links.h"

#include <string.h>
#include <tracebed/analysis.h>

struct tree {
    const char *path;
    bool json, has_jobs;
    bool calls, paths; /* requested; neither: depends on the trace */
    uint64_t depth_max;
    double minimum; /* of the root */
    struct group group;
    struct tool_filter filter;
    struct tbed_reader *reader;
    struct tbed_trace_info info;
    struct tbed_stacks_options options;
    struct tbed_stacks *stacks;
    struct tool_places places;
    struct old_stacks old;  /* of --diff */
    struct row_links links; /* longest first */
};

/* Formats ticks as a time or as a count. */
static inline const char *tree_format_ticks(const struct tree *tree, char buffer[32], uint64_t ticks)
{
    return tool_format_ticks(buffer, tree->reader, &tree->info, ticks);
}

/* Says that only a part of the trace is shown: a line of text, or an object. */
static inline void tree_put_part(const struct tree *tree, struct tbed_json *json)
{
    if (json != NULL) {
        tool_filter_json(json, &tree->filter, &tree->filter.window);
    } else if (tool_filter_is_given(&tree->filter)) {
        const char *path = tool_path(tree->path);
        tool_print_text(stdout, path, strlen(path), 0);
        fputs(": ", stdout);
        tool_filter_put_time(&tree->filter, tree->reader, &tree->info);
        fputs(", ", stdout);
        tool_filter_put_streams(&tree->filter, &tree->info);
        fputs(" (only a part)\n", stdout);
    }
}

/* Prints all calls, thread by thread. Errors: ERR_MEMORY. */
enum tbed_status tree_calls(struct tree *tree);

/* Prints the changes since the old trace. Errors: ERR_MEMORY. */
enum tbed_status tree_diff(struct tree *tree);

#endif
