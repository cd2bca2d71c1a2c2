/*
 * The tables of events: all of them, and those of one kind.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/events/events.h"
#include "reader/tables/events/event_tables.h"

#define NONE EVENT_COLUMN_NONE

/* ---- Events ---- */

enum {
    EVENTS_TS,
    EVENTS_TYPE,
    EVENTS_LABEL,
    EVENTS_NAME,
    EVENTS_ARGS,
    EVENTS_CATEGORY,
    EVENTS_THREAD,
    EVENTS_PROCESS,
    EVENTS_VALUE,
    EVENTS_DUR,
    EVENTS_KEY,
    EVENTS_TRACK,
    EVENTS_TID,
    EVENTS_PID,
    EVENTS_ID,
    EVENTS_COUNT
};

static const struct tbed_column events_columns[EVENTS_COUNT] = {
    [EVENTS_TS] = {"ts", TBED_COLUMN_I64, "ns", "when it was recorded", false},
    [EVENTS_TYPE] = {"type", TBED_COLUMN_NAME, NULL, "begin, end, span, instant, counter, message and so on",
                     false},
    [EVENTS_LABEL] = {"label", TBED_COLUMN_NAME, NULL, "its name without arguments", false},
    [EVENTS_NAME] = {"name", TBED_COLUMN_NAME, NULL, "its complete name", false},
    [EVENTS_ARGS] = {"args", TBED_COLUMN_TEXT, NULL, "its arguments as a JSON object", false},
    [EVENTS_CATEGORY] = {"category", TBED_COLUMN_NAME, NULL, "its category", false},
    [EVENTS_THREAD] = {"thread", TBED_COLUMN_NAME, NULL, "the name of its thread", false},
    [EVENTS_PROCESS] = {"process", TBED_COLUMN_NAME, NULL, "the name of its process", false},
    [EVENTS_VALUE] = {"value", TBED_COLUMN_F64, NULL,
                      "of a counter; the size of an allocation; how many events were dropped", false},
    [EVENTS_DUR] = {"dur", TBED_COLUMN_I64, "ns", "of a span that was recorded as one event, at its end",
                    false},
    [EVENTS_KEY] = {"key", TBED_COLUMN_U64, NULL,
                    "what its asynchronous span or flow is known by; an address", false},
    [EVENTS_TRACK] = {"track", TBED_COLUMN_I64, NULL, "the number of its stream", false},
    [EVENTS_TID] = {"tid", TBED_COLUMN_I64, NULL, "the system's number of its thread", false},
    [EVENTS_PID] = {"pid", TBED_COLUMN_I64, NULL, "the system's number of its process", false},
    [EVENTS_ID] = {"id", TBED_COLUMN_I64, NULL, "its number, unique among the events of the trace", false},
};

static const struct event_table events_table = {
    .columns = {.row = {EVENTS_TS, {EVENTS_THREAD, EVENTS_PROCESS, EVENTS_TID, EVENTS_PID, EVENTS_TRACK}},
                .id = EVENTS_ID,
                .label = EVENTS_LABEL,
                .name = EVENTS_NAME,
                .category = EVENTS_CATEGORY,
                .args = EVENTS_ARGS,
                .type = EVENTS_TYPE,
                .dur = EVENTS_DUR,
                .key = EVENTS_KEY,
                .phase = NONE,
                .value = EVENTS_VALUE,
                .integer = NONE,
                .whole = NONE,
                .unit = NONE,
                .text = NONE,
                .severity = NONE,
                .format = NONE,
                .context = NONE},
    .types = UINT32_MAX,
};

static enum tbed_status open_events(struct tbed_scan *scan)
{
    return tbed_event_table_open(scan, &events_table);
}

const struct table_source tbed_table_events = {
    .about = {"events", "every event, in order of time", events_columns, EVENTS_COUNT},
    .row_estimate = tbed_row_estimate,
    .open = open_events,
    .next = tbed_row_scan_next,
    .close = tbed_row_scan_close,
};

/* ---- Instants ---- */

enum {
    INSTANTS_TS,
    INSTANTS_LABEL,
    INSTANTS_NAME,
    INSTANTS_ARGS,
    INSTANTS_CATEGORY,
    INSTANTS_THREAD,
    INSTANTS_PROCESS,
    INSTANTS_TRACK,
    INSTANTS_TID,
    INSTANTS_PID,
    INSTANTS_ID,
    INSTANTS_COUNT
};

static const struct tbed_column instants_columns[INSTANTS_COUNT] = {
    [INSTANTS_TS] = {"ts", TBED_COLUMN_I64, "ns", "when it was recorded", false},
    [INSTANTS_LABEL] = {"label", TBED_COLUMN_NAME, NULL, "its name without arguments", false},
    [INSTANTS_NAME] = {"name", TBED_COLUMN_NAME, NULL, "its complete name", false},
    [INSTANTS_ARGS] = {"args", TBED_COLUMN_TEXT, NULL, "its arguments as a JSON object", false},
    [INSTANTS_CATEGORY] = {"category", TBED_COLUMN_NAME, NULL, "its category", false},
    [INSTANTS_THREAD] = {"thread", TBED_COLUMN_NAME, NULL, "the name of its thread", false},
    [INSTANTS_PROCESS] = {"process", TBED_COLUMN_NAME, NULL, "the name of its process", false},
    [INSTANTS_TRACK] = {"track", TBED_COLUMN_I64, NULL, "the number of its stream", false},
    [INSTANTS_TID] = {"tid", TBED_COLUMN_I64, NULL, "the system's number of its thread", false},
    [INSTANTS_PID] = {"pid", TBED_COLUMN_I64, NULL, "the system's number of its process", false},
    [INSTANTS_ID] = {"id", TBED_COLUMN_I64, NULL, "its number, unique among the events of the trace", false},
};

static const struct event_table instants_table = {
    .columns = {.row = {INSTANTS_TS,
                        {INSTANTS_THREAD, INSTANTS_PROCESS, INSTANTS_TID, INSTANTS_PID, INSTANTS_TRACK}},
                .id = INSTANTS_ID,
                .label = INSTANTS_LABEL,
                .name = INSTANTS_NAME,
                .category = INSTANTS_CATEGORY,
                .args = INSTANTS_ARGS,
                .type = NONE,
                .dur = NONE,
                .key = NONE,
                .phase = NONE,
                .value = NONE,
                .integer = NONE,
                .whole = NONE,
                .unit = NONE,
                .text = NONE,
                .severity = NONE,
                .format = NONE,
                .context = NONE},
    .types = 1u << TBED_EVENT_INSTANT,
};

static enum tbed_status open_instants(struct tbed_scan *scan)
{
    return tbed_event_table_open(scan, &instants_table);
}

const struct table_source tbed_table_instants = {
    .about = {"instants", "instants, in order of time", instants_columns, INSTANTS_COUNT},
    .row_estimate = tbed_row_estimate,
    .open = open_instants,
    .next = tbed_row_scan_next,
    .close = tbed_row_scan_close,
};

/* ---- Counters ---- */

enum {
    COUNTERS_TS,
    COUNTERS_NAME,
    COUNTERS_VALUE,
    COUNTERS_UNIT,
    COUNTERS_LABEL,
    COUNTERS_ARGS,
    COUNTERS_CATEGORY,
    COUNTERS_THREAD,
    COUNTERS_PROCESS,
    COUNTERS_INTEGER,
    COUNTERS_UNSIGNED,
    COUNTERS_TRACK,
    COUNTERS_TID,
    COUNTERS_PID,
    COUNTERS_ID,
    COUNTERS_COUNT
};

static const struct tbed_column counters_columns[COUNTERS_COUNT] = {
    [COUNTERS_TS] = {"ts", TBED_COLUMN_I64, "ns", "when it was recorded", false},
    [COUNTERS_NAME] = {"name", TBED_COLUMN_NAME, NULL, "its complete name", false},
    [COUNTERS_VALUE] = {"value", TBED_COLUMN_F64, NULL, "the value", false},
    [COUNTERS_UNIT] = {"unit", TBED_COLUMN_NAME, NULL, "the unit of the counter", false},
    [COUNTERS_LABEL] = {"label", TBED_COLUMN_NAME, NULL, "its name without arguments", false},
    [COUNTERS_ARGS] = {"args", TBED_COLUMN_TEXT, NULL, "its arguments as a JSON object", false},
    [COUNTERS_CATEGORY] = {"category", TBED_COLUMN_NAME, NULL, "its category", false},
    [COUNTERS_THREAD] = {"thread", TBED_COLUMN_NAME, NULL, "the name of its thread", false},
    [COUNTERS_PROCESS] = {"process", TBED_COLUMN_NAME, NULL, "the name of its process", false},
    [COUNTERS_INTEGER] = {"integer", TBED_COLUMN_I64, NULL,
                          "the exact value, if it is an integer of this type", false},
    [COUNTERS_UNSIGNED] = {"unsigned", TBED_COLUMN_U64, NULL,
                           "the exact value, if it is an integer of this type", false},
    [COUNTERS_TRACK] = {"track", TBED_COLUMN_I64, NULL, "the number of its stream", false},
    [COUNTERS_TID] = {"tid", TBED_COLUMN_I64, NULL, "the system's number of its thread", false},
    [COUNTERS_PID] = {"pid", TBED_COLUMN_I64, NULL, "the system's number of its process", false},
    [COUNTERS_ID] = {"id", TBED_COLUMN_I64, NULL, "its number, unique among the events of the trace", false},
};

static const struct event_table counters_table = {
    .columns = {.row = {COUNTERS_TS,
                        {COUNTERS_THREAD, COUNTERS_PROCESS, COUNTERS_TID, COUNTERS_PID, COUNTERS_TRACK}},
                .id = COUNTERS_ID,
                .label = COUNTERS_LABEL,
                .name = COUNTERS_NAME,
                .category = COUNTERS_CATEGORY,
                .args = COUNTERS_ARGS,
                .type = NONE,
                .dur = NONE,
                .key = NONE,
                .phase = NONE,
                .value = COUNTERS_VALUE,
                .integer = COUNTERS_INTEGER,
                .whole = COUNTERS_UNSIGNED,
                .unit = COUNTERS_UNIT,
                .text = NONE,
                .severity = NONE,
                .format = NONE,
                .context = NONE},
    .types = 1u << TBED_EVENT_COUNTER,
};

static enum tbed_status open_counters(struct tbed_scan *scan)
{
    return tbed_event_table_open(scan, &counters_table);
}

const struct table_source tbed_table_counters = {
    .about = {"counters", "values of counters, in order of time", counters_columns, COUNTERS_COUNT},
    .row_estimate = tbed_row_estimate,
    .open = open_counters,
    .next = tbed_row_scan_next,
    .close = tbed_row_scan_close,
};

/* ---- Messages ---- */

enum {
    MESSAGES_TS,
    MESSAGES_TEXT,
    MESSAGES_SEVERITY,
    MESSAGES_FORMAT,
    MESSAGES_CONTEXT,
    MESSAGES_THREAD,
    MESSAGES_PROCESS,
    MESSAGES_TRACK,
    MESSAGES_TID,
    MESSAGES_PID,
    MESSAGES_ID,
    MESSAGES_COUNT
};

static const struct tbed_column messages_columns[MESSAGES_COUNT] = {
    [MESSAGES_TS] = {"ts", TBED_COLUMN_I64, "ns", "when it was recorded", false},
    [MESSAGES_TEXT] = {"text", TBED_COLUMN_TEXT, NULL, "the formatted message, without its context", false},
    [MESSAGES_SEVERITY] = {"severity", TBED_COLUMN_NAME, NULL, "error, warning, information, debug, none",
                           false},
    [MESSAGES_FORMAT] = {"format", TBED_COLUMN_NAME, NULL, "the format string", false},
    [MESSAGES_CONTEXT] = {"context", TBED_COLUMN_NAME, NULL, "the context, if it has one", false},
    [MESSAGES_THREAD] = {"thread", TBED_COLUMN_NAME, NULL, "the name of its thread", false},
    [MESSAGES_PROCESS] = {"process", TBED_COLUMN_NAME, NULL, "the name of its process", false},
    [MESSAGES_TRACK] = {"track", TBED_COLUMN_I64, NULL, "the number of its stream", false},
    [MESSAGES_TID] = {"tid", TBED_COLUMN_I64, NULL, "the system's number of its thread", false},
    [MESSAGES_PID] = {"pid", TBED_COLUMN_I64, NULL, "the system's number of its process", false},
    [MESSAGES_ID] = {"id", TBED_COLUMN_I64, NULL, "its number, unique among the events of the trace", false},
};

static const struct event_table messages_table = {
    .columns = {.row = {MESSAGES_TS,
                        {MESSAGES_THREAD, MESSAGES_PROCESS, MESSAGES_TID, MESSAGES_PID, MESSAGES_TRACK}},
                .id = MESSAGES_ID,
                .label = NONE,
                .name = NONE,
                .category = NONE,
                .args = NONE,
                .type = NONE,
                .dur = NONE,
                .key = NONE,
                .phase = NONE,
                .value = NONE,
                .integer = NONE,
                .whole = NONE,
                .unit = NONE,
                .text = MESSAGES_TEXT,
                .severity = MESSAGES_SEVERITY,
                .format = MESSAGES_FORMAT,
                .context = MESSAGES_CONTEXT},
    .types = 1u << TBED_EVENT_MESSAGE,
};

static enum tbed_status open_messages(struct tbed_scan *scan)
{
    return tbed_event_table_open(scan, &messages_table);
}

const struct table_source tbed_table_messages = {
    .about = {"messages", "log messages, in order of time", messages_columns, MESSAGES_COUNT},
    .row_estimate = tbed_row_estimate,
    .open = open_messages,
    .next = tbed_row_scan_next,
    .close = tbed_row_scan_close,
};

/* ---- Flows ---- */

enum {
    FLOWS_TS,
    FLOWS_KEY,
    FLOWS_PHASE,
    FLOWS_LABEL,
    FLOWS_NAME,
    FLOWS_ARGS,
    FLOWS_THREAD,
    FLOWS_PROCESS,
    FLOWS_TRACK,
    FLOWS_TID,
    FLOWS_PID,
    FLOWS_ID,
    FLOWS_COUNT
};

static const struct tbed_column flows_columns[FLOWS_COUNT] = {
    [FLOWS_TS] = {"ts", TBED_COLUMN_I64, "ns", "when it was recorded", false},
    [FLOWS_KEY] = {"key", TBED_COLUMN_U64, NULL, "the flow that it belongs to", false},
    [FLOWS_PHASE] = {"phase", TBED_COLUMN_NAME, NULL, "begin, step or end", false},
    [FLOWS_LABEL] = {"label", TBED_COLUMN_NAME, NULL, "its name without arguments", false},
    [FLOWS_NAME] = {"name", TBED_COLUMN_NAME, NULL, "its complete name", false},
    [FLOWS_ARGS] = {"args", TBED_COLUMN_TEXT, NULL, "its arguments as a JSON object", false},
    [FLOWS_THREAD] = {"thread", TBED_COLUMN_NAME, NULL, "the name of its thread", false},
    [FLOWS_PROCESS] = {"process", TBED_COLUMN_NAME, NULL, "the name of its process", false},
    [FLOWS_TRACK] = {"track", TBED_COLUMN_I64, NULL, "the number of its stream", false},
    [FLOWS_TID] = {"tid", TBED_COLUMN_I64, NULL, "the system's number of its thread", false},
    [FLOWS_PID] = {"pid", TBED_COLUMN_I64, NULL, "the system's number of its process", false},
    [FLOWS_ID] = {"id", TBED_COLUMN_I64, NULL, "its number, unique among the events of the trace", false},
};

static const struct event_table flows_table = {
    .columns = {.row = {FLOWS_TS, {FLOWS_THREAD, FLOWS_PROCESS, FLOWS_TID, FLOWS_PID, FLOWS_TRACK}},
                .id = FLOWS_ID,
                .label = FLOWS_LABEL,
                .name = FLOWS_NAME,
                .category = NONE,
                .args = FLOWS_ARGS,
                .type = NONE,
                .dur = NONE,
                .key = FLOWS_KEY,
                .phase = FLOWS_PHASE,
                .value = NONE,
                .integer = NONE,
                .whole = NONE,
                .unit = NONE,
                .text = NONE,
                .severity = NONE,
                .format = NONE,
                .context = NONE},
    .types = 1u << TBED_EVENT_FLOW_BEGIN | 1u << TBED_EVENT_FLOW_STEP | 1u << TBED_EVENT_FLOW_END,
};

static enum tbed_status open_flows(struct tbed_scan *scan)
{
    return tbed_event_table_open(scan, &flows_table);
}

const struct table_source tbed_table_flows = {
    .about = {"flows", "the events of flows, in order of time", flows_columns, FLOWS_COUNT},
    .row_estimate = tbed_row_estimate,
    .open = open_flows,
    .next = tbed_row_scan_next,
    .close = tbed_row_scan_close,
};
