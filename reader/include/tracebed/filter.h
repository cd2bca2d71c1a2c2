/*
 * tracebed/filter.h: a part of a trace.
 *
 * A filter says which spans and events of a trace count. Every analysis and every walk that takes one works as if the
 * writer had recorded nothing else: a span that is left out takes no time from the span around it, whose self time grows,
 * and its children become children of the span around it.
 *
 * Threads: any number of threads may share a filter.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FILTER_H
#define TRACEBED_FILTER_H

#include <tracebed/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Writes the text of an id like snprintf(): at most 'buffer_nbytes' bytes, terminated; returns the full length. An analysis
 * calls it in the thread that requested the analysis, after the events have been read, for each id, and again if the text
 * was longer than the buffer or several processes use the id. A filter calls it while events are read, from any thread,
 * but only from one at a time.
 */
typedef size_t (*tbed_name_function)(void *context, uint32_t id, char *buffer, size_t buffer_nbytes);

struct tbed_filter;

/*
 * What counts. All conditions have to hold; zeros leave a condition out.
 *
 * Time:     an event counts if its tick is in [begin_tick, end_tick). A span counts if it overlaps this window, with the
 *           part of it that lies within; a span without duration counts like an event. If it goes on beyond the end, it is
 *           not open: it ends with the window. Only blocks that reach into the window are read: where events are
 *           missing, a span whose begin is known from its END alone counts only if that is in the window.
 * Streams:  one of 'streams'.
 * Names:    the label, which is the name before the first U+001E, matches one of 'names' and none of 'excluded_names'. These
 *           are extended regular expressions of POSIX, and match anywhere in the label.
 * Category: the text of the category is one of 'categories'.
 * Duration: a span takes at least 'minimum_ticks' within the window. Other events have no duration, and count.
 * Inside:   a span or an event lies, in its stream, within the time of a span that has one of the labels 'inside'. Such a span
 *           itself counts. For a place in code, its function is enough, with or without arguments: "parse" for
 *           "parse(int) /src/parse.cpp:5".
 *
 * Allocations, gaps and flows have no labels: conditions on names and categories do not apply to them, and an analysis of
 * allocations refuses such a filter, and one with a least duration.
 */
struct tbed_filter_options {
    size_t size;             /* sizeof(struct tbed_filter_options) */
    uint64_t begin_tick;     /* 0: from the first event */
    uint64_t end_tick;       /* 0: to the last event */
    const uint32_t *streams; /* NULL: all */
    size_t stream_count;
    const char *const *names; /* terminated */
    size_t name_count;
    const char *const *excluded_names;
    size_t excluded_name_count;
    const char *const *categories;
    size_t category_count;
    uint64_t minimum_ticks;
    const char *const *inside;
    size_t inside_count;
    tbed_name_function name; /* of places in code; NULL: tbed_id_text() */
    void *name_context;
    unsigned thread_count; /* to find the spans of 'inside'; 0: one per processor */
};

/*
 * tbed_filter_make() makes a filter for one reader. With 'inside', it reads the blocks of the window.
 *
 * Ownership: '*filter_ret' is the caller's; free it with tbed_filter_close(), after all that uses it and before the reader
 *            and the name context. The options and what they point to need not outlive the call.
 * Errors:    ERR_MEMORY; ERR_ARGUMENT: a regular expression is invalid, and 'problem', which may be NULL, says what is wrong
 *            with which.
 */
#define TBED_FILTER_PROBLEM_NBYTES 256
enum tbed_status tbed_filter_make(struct tbed_reader *reader, const struct tbed_filter_options *options,
                                  struct tbed_filter **filter_ret, char problem[TBED_FILTER_PROBLEM_NBYTES]);
void tbed_filter_close(struct tbed_filter *filter); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
