/*
 * What commands that answer a question about a trace, such as `tracebed slowest`, have in common: options, opening, and
 * the parts of what they print.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_QUERY_H
#define TRACEBED_QUERY_H

#include "reader/tools/filter/tool_filter.h"
#include "reader/tools/table/table.h"

/* ---- Options ---- */

/* What was asked for. Starts with 'verb' set and zeros. */
struct query {
    const struct tool_verb *verb;
    struct tool_filter filter;
    unsigned jobs;
    bool no_symbols, csv, json;
    const char *columns_text, *sort_text; /* parsed by query_take_keys() */
    struct table_keys columns, sort;
};

enum {
    QUERY_OPTION_NO_SYMBOLS = 1200,
    QUERY_OPTION_CSV,
    QUERY_OPTION_JSON,
    QUERY_OPTION_COLUMNS,
};

#define QUERY_SHORTS "hj:" TOOL_FILTER_SHORTS
#define QUERY_OPTIONS                                                                                        \
    {"no-symbols", no_argument, NULL, QUERY_OPTION_NO_SYMBOLS},                                              \
        {"csv", no_argument, NULL, QUERY_OPTION_CSV}, {"json", no_argument, NULL, QUERY_OPTION_JSON},        \
        {"jobs", required_argument, NULL, 'j'}, TOOL_FILTER_OPTIONS, TOOL_COMMON_OPTIONS

/* Of commands that print a table. */
#define QUERY_TABLE_SHORTS "s:"
#define QUERY_TABLE_OPTIONS                                                                                  \
    {"sort", required_argument, NULL, 's'},                                                                  \
    {                                                                                                        \
        "columns", required_argument, NULL, QUERY_OPTION_COLUMNS                                             \
    }

/* The part of a command's help text that is about the former. */
#define QUERY_HELP                                                                                           \
    "      --no-symbols       show addresses instead of looking up symbols\n"                                \
    "      --csv              print rows as comma-separated values\n"                                        \
    "      --json             print one JSON object on one line\n"                                           \
    "  -j, --jobs=N           use N threads (default: one per processor)\n"                                  \
    "      --color=WHEN       use color: never, auto or always\n"                                            \
    "  -h, --help             print this help\n"                                                             \
    "\n" TOOL_FILTER_HELP

/* As tool_option_next(), for the other options. */
int query_option_next(struct query *query, int argc, char **argv, const char *shorts,
                      const struct option *longs, int *exit_ret);

bool query_is_file(const char *operand); /* there is one of this name */

/*
 * Takes the operands FILE [NAME]: FILE is 'argv[optind]', NAME chooses among 'names'; NULL: there is none. Returns -1, or
 * the exit status after a complaint.
 */
int query_take_operands(const struct query *query, int argc, char **argv, struct tool_filter *names);

/* Parses the arguments of --columns and --sort, of these tables. Returns NULL, or what is wrong. */
const char *query_take_keys(struct query *query, const struct table *tables, size_t count);

void query_close(struct query *query);

/* ---- A trace ---- */

/* All zeros: none, which may be closed. */
struct query_trace {
    const char *path;
    struct tbed_reader *reader;
    struct tool_places places;
    struct tbed_trace_info info;
    struct table_clock clock;
    struct tbed_filter *filter;       /* NULL: everything */
    struct tool_filter_window window; /* of the filter */
    struct tool_buffer texts[2];      /* of the current value, and of the one before */
};

/* Returns -1, or the exit status after a complaint. */
int query_open(struct query_trace *trace, const char *path, struct query *query);

/* Reports the damage on standard error, or what has failed. Returns the exit status, for tool_finish(). */
int query_end(const struct query_trace *trace, enum tbed_status status);

void query_trace_close(struct query_trace *trace);

/* ---- Values: a text is valid until the second one after it, as in a table ---- */

/* "4711 worker", after 'before'; see tool_append_thread(). */
struct table_value query_thread(struct query_trace *trace, const char *before, uint32_t stream);

/* A text that is overwritten sooner; and the name of a span up to its arguments. */
struct table_value query_text(struct query_trace *trace, const char *text, size_t nbytes);
struct table_value query_label(struct query_trace *trace, uint32_t id);

/* A point in time, for a column of ticks: since the start of the trace, if its clock measures time. */
struct table_value query_when(const struct query_trace *trace, uint64_t tick);

/* Prints the same: "at 0.000001000 s", or "at 1,000". */
void query_put_when(const struct query_trace *trace, uint64_t tick);

/* ---- JSON ---- */

/* Opens the object about a trace, and ends it. */
void query_json_open(struct tbed_json *json, const struct query *query, const struct query_trace *trace);
void query_json_close(struct tbed_json *json, const struct query_trace *trace);

/* Prints what consists of one table, as it was asked for. */
void query_print(const struct query *query, const struct query_trace *trace, const struct table *table);

/* The field "begin_ns", or "begin_ticks"; and "duration_ns", or "duration_ticks". */
void query_json_begin(struct tbed_json *json, const struct query_trace *trace, uint64_t tick);
void query_json_ticks(struct tbed_json *json, const struct query_trace *trace, const char *what,
                      uint64_t ticks);

#endif
