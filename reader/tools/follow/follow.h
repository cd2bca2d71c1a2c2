/*
 * Shared by the files of 'tracebed follow': follow_verb.c reads on, follow_text.c and follow_json.c print.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TOOL_FOLLOW_H
#define TRACEBED_TOOL_FOLLOW_H

#include "reader/tools/filter/tool_filter.h"
#include "reader/tools/shared/tool_places.h"

#include <string.h>
#include <tracebed/follow.h>

struct follow {
    const char *path;
    struct tbed_reader *reader;
    struct tool_places places;
    struct tbed_follow *follow;
    struct tbed_trace_info info;
    struct tbed_follow_totals totals;
    uint64_t interval_ns, passed_ns; /* as asked for; as it was. 0: not known, in the first picture */
    bool is_going_on;                /* not the first picture */
    uint64_t grown_nbytes;           /* of the file, meanwhile */
    uint64_t left, limit;            /* pictures still to be shown; rows of each table */
    bool json, no_symbols;
    struct tool_buffer line; /* scratch */
};

void follow_print_text(struct follow *follow);
void follow_print_json(struct follow *follow);

#endif
