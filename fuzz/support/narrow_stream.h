/*
 * A stream that refuses a write beyond its room, and every one after it, as a full disk does.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_NARROW_STREAM_H
#define TRACEBED_FUZZ_NARROW_STREAM_H

#include <stdbool.h>
#include <stdio.h>

struct narrow_stream {
    char *bytes; /* what it has taken; the caller frees it */
    size_t nbytes, room;
    int write_errno; /* of a refusal; 0: it says nothing */
};

/* Opens it; 'bytes' and 'nbytes' are empty. Unbuffered, each write reaches it at once. */
FILE *narrow_stream_open(struct narrow_stream *stream, bool is_buffered);

#endif
