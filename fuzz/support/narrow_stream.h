/*
 * A stream that fails like a full disk: the first write that does not fit fails, and so does every later one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_NARROW_STREAM_H
#define TRACEBED_FUZZ_NARROW_STREAM_H

#include <stdbool.h>
#include <stdio.h>

struct narrow_stream {
    char *bytes; /* what was written; the caller frees it */
    size_t nbytes, room;
    int write_errno; /* set by a failed write; 0: errno is left alone */
};

/* Opens the stream; the caller sets 'room' and 'write_errno' first. Without a buffer, each write reaches it at once. */
FILE *narrow_stream_open(struct narrow_stream *stream, bool is_buffered);

#endif
