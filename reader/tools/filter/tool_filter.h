/*
 * The options that choose a part of a trace, the same for every command that reads events.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TOOL_FILTER_H
#define TRACEBED_TOOL_FILTER_H

#include "reader/tools/filter/filter_time.h"
#include "reader/tools/filter/streams.h"
#include "reader/tools/shared/tool_places.h"

#include <tracebed/filter.h>

enum {
    TOOL_FILTER_STREAM = 1100,
    TOOL_FILTER_EXCLUDE,
    TOOL_FILTER_CATEGORY,
    TOOL_FILTER_MINIMUM,
    TOOL_FILTER_INSIDE,
};

#define TOOL_FILTER_SHORTS "b:e:t:p:n:"
#define TOOL_FILTER_OPTIONS                                                                                  \
    {"begin", required_argument, NULL, 'b'}, {"end", required_argument, NULL, 'e'},                          \
        {"stream", required_argument, NULL, TOOL_FILTER_STREAM}, {"thread", required_argument, NULL, 't'},   \
        {"process", required_argument, NULL, 'p'}, {"name", required_argument, NULL, 'n'},                   \
        {"exclude", required_argument, NULL, TOOL_FILTER_EXCLUDE},                                           \
        {"category", required_argument, NULL, TOOL_FILTER_CATEGORY},                                         \
        {"minimum-duration", required_argument, NULL, TOOL_FILTER_MINIMUM},                                  \
    {                                                                                                        \
        "inside", required_argument, NULL, TOOL_FILTER_INSIDE                                                \
    }

/* The part of a command's help text that is about them. */
#define TOOL_FILTER_HELP                                                                                     \
    "Which part of the trace (as if nothing else had been recorded):\n"                                      \
    "  -b, --begin=T          only from T on; spans that began before are cut\n"                             \
    "  -e, --end=T            only up to T\n"                                                                \
    "                         T is 1.5 (seconds from the start), 20ms, 300us, 10%,\n"                        \
    "                         @1795342500.5 or 2026-11-22T10:15:00\n"                                        \
    "  -t, --thread=WHICH     only threads with this id or name\n"                                           \
    "  -p, --process=WHICH    only processes with this id or name\n"                                         \
    "      --stream=N         only stream N ('tracebed info' lists them)\n"                                  \
    "  -n, --name=REGEX       only names that match, a POSIX extended expression\n"                          \
    "      --exclude=REGEX    no names that match\n"                                                         \
    "      --category=NAME    only spans and events of this category\n"                                      \
    "      --minimum-duration=T\n"                                                                           \
    "                         only spans that take at least T\n"                                             \
    "      --inside=NAME      only what happens within spans of this name\n"                                 \
    "                         All but -b, -e and --minimum-duration may be repeated.\n"

struct tool_filter_list {
    const char **items;
    size_t count;
};

/* Appends; returns NULL. */
const char *tool_filter_list_add(struct tool_filter_list *list, const char *item);

/* What the times are in one trace, as in struct tbed_filter_options. */
struct tool_filter_window {
    uint64_t begin_tick, end_tick, minimum_ticks;
};

/* All zeros: everything. */
struct tool_filter {
    struct filter_time begin, end, minimum;
    struct streams streams;
    struct tool_filter_list names, excluded, categories, inside;
    struct tool_filter_window window; /* set by tool_filter_open() */
    struct tbed_filter *filter;       /* made by tool_filter_open(); NULL: nothing was asked for */
    const char *path;                 /* of the trace that it is for */
};

bool tool_filter_has_option(int option);

/* Returns NULL, or what is wrong with the argument. */
const char *tool_filter_take_option(struct tool_filter *filter, int option, const char *argument);

/* The same for the operand NAME, which means what --name does. */
const char *tool_filter_take_name(struct tool_filter *filter, const char *argument);

/* "--begin: a time is expected": an option, and what is wrong with it; NULL if nothing is. Valid until the next call. */
const char *tool_filter_explain(const char *option, const char *problem);

/* Were conditions asked for that do not apply to allocations? */
bool tool_filter_asks_for_labels(const struct tool_filter *filter);

bool tool_filter_is_given(const struct tool_filter *filter);

/* Says, on standard error, why there is no span to show. */
void tool_filter_tell_no_spans(const struct tool_filter *filter, const char *path);

/*
 * Makes the filter for a trace, which replaces that for another. 'places' names code; it is prepared if names matter.
 * Returns -1, or the exit status after a complaint.
 */
int tool_filter_open(struct tool_filter *filter, const char *path, struct tbed_reader *reader,
                     struct tool_places *places, unsigned jobs);

/* Prints "2.96 ms of 296 ms", or "296 ms" if the options say nothing of time. */
void tool_filter_put_time(const struct tool_filter *filter, const struct tbed_reader *reader,
                          const struct tbed_trace_info *info);
/* Prints "1 of 3 streams", or "3 streams" if none were asked for. */
void tool_filter_put_streams(const struct tool_filter *filter, const struct tbed_trace_info *info);

/* The object "filter" with what was asked for; nothing if no option was given. */
void tool_filter_json(struct tbed_json *json, const struct tool_filter *filter,
                      const struct tool_filter_window *window);

/* Says so if nothing had a category or name that was asked for; 'filter' may be NULL. */
void tool_filter_tell_missed(const struct tbed_filter *filter, const char *path);

struct filter_missed;
void tool_filter_tell_one(const char *path, const struct filter_missed *missed); /* one of them */

/* Says so as well, and closes the filter for a trace, before its reader is closed. */
void tool_filter_end(struct tool_filter *filter);

/* Frees everything. */
void tool_filter_close(struct tool_filter *filter);

#endif
