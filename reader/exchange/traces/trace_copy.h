/*
 * Makes one trace from others.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TRACE_COPY_H
#define TRACEBED_TRACE_COPY_H

#include "reader/exchange/traces/stream_copy.h"

#include <tracebed/copy.h>

/* What is to be made. */
struct trace_copy {
    struct copy_source *sources;
    size_t source_count;
    struct tbed_header_fields
        fields; /* the page size is chosen, and the file id made, by tbed_trace_copy() */
    struct trace_counters counters;
    const char *metadata; /* NULL: that of the first source that has any */
};

/*
 * Prepares a source: nothing is added to its ids and streams. The counters, which are zero, become those of what it has.
 * Errors: ERR_BUSY; ERR_WRITE with EFBIG: more streams or ids than a trace can have.
 */
enum tbed_status tbed_trace_copy_add(struct trace_copy *copy, struct copy_source *source,
                                     struct tbed_reader *reader, const struct tbed_filter *filter);

/* Frees what tbed_trace_copy_add() made. */
void tbed_copy_source_free(struct copy_source *source);

/* Where ticks stay: the new header needs an anchor that readers use, or one that changes nothing. */
void tbed_trace_copy_choose_anchor(const struct tbed_reader *reader, struct tbed_header_fields *fields);

/* Writes it to 'fd', a new file, whose content is replaced. */
enum tbed_status tbed_trace_copy(struct trace_copy *copy, int fd, struct tbed_copy_report *report,
                                 struct tbed_error *error);

/* The same, to a path. */
enum tbed_status tbed_trace_copy_to(struct trace_copy *copy, const char *path, bool overwrite,
                                    struct tbed_copy_report *report, struct tbed_error *error);

#endif
