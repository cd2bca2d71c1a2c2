/*
 * A stream that fails like a full disk; see narrow_stream.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* fopencookie() */
#include "fuzz/support/narrow_stream.h"

#include <errno.h>
#include <string.h>

#include "fuzz/support/fuzz.h"

static ssize_t take(void *cookie, const char *bytes, size_t nbytes)
{
    struct narrow_stream *stream = cookie;
    if (nbytes > stream->room - stream->nbytes) {
        stream->room = stream->nbytes; /* smaller writes fail from now on, too */
        errno = stream->write_errno;
        return 0;
    }
    stream->bytes = realloc(stream->bytes, stream->nbytes + nbytes + 1);
    REQUIRE(stream->bytes != NULL);
    memcpy(stream->bytes + stream->nbytes, bytes, nbytes);
    stream->nbytes += nbytes;
    return (ssize_t)nbytes;
}

FILE *narrow_stream_open(struct narrow_stream *stream, bool is_buffered)
{
    static const cookie_io_functions_t functions = {.write = take};
    FILE *out = fopencookie(stream, "w", functions);
    REQUIRE(out != NULL && (is_buffered || setvbuf(out, NULL, _IONBF, 0) == 0));
    stream->bytes = NULL;
    stream->nbytes = 0;
    return out;
}
