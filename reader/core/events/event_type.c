/*
 * The names of the types of events, the same in every command and table.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/reader.h>

const char *tbed_event_type_name(enum tbed_event_type type)
{
    static const char *const names[] = {
        [TBED_EVENT_BEGIN] = "begin",
        [TBED_EVENT_END] = "end",
        [TBED_EVENT_INSTANT] = "instant",
        [TBED_EVENT_COUNTER] = "counter",
        [TBED_EVENT_MESSAGE] = "message",
        [TBED_EVENT_ALLOC] = "alloc",
        [TBED_EVENT_FREE] = "free",
        [TBED_EVENT_REALLOC] = "realloc",
        [TBED_EVENT_ASYNC_BEGIN] = "async_begin",
        [TBED_EVENT_ASYNC_END] = "async_end",
        [TBED_EVENT_FLOW_BEGIN] = "flow_begin",
        [TBED_EVENT_FLOW_STEP] = "flow_step",
        [TBED_EVENT_FLOW_END] = "flow_end",
        [TBED_EVENT_GAP] = "gap",
        [TBED_EVENT_SPAN] = "span",
        [TBED_EVENT_RESIZE] = "resize",
        [TBED_EVENT_UNKNOWN] = "unknown",
    };
    return type < sizeof names / sizeof names[0] ? names[type] : "unknown";
}
