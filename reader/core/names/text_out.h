/*
 * Text that is written into a buffer as snprintf() writes: as much as fits, terminated, and the length of all. Not for
 * users of the library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TEXT_OUT_H
#define TRACEBED_TEXT_OUT_H

#include <stddef.h>
#include <string.h>

struct text_out {
    char *buffer; /* NULL if there is no room */
    size_t room;
    size_t nbytes;      /* goes on counting when the room is used up */
    bool has_no_memory; /* for the text of an id */
};

/* Room for what comes next, the terminator included. */
static inline size_t tbed_out_left(const struct text_out *out)
{
    return out->nbytes < out->room ? out->room - out->nbytes : 0;
}

static inline void tbed_out_put(struct text_out *out, const char *text, size_t nbytes)
{
    size_t left = tbed_out_left(out);
    if (left > 1 && nbytes > 0)
        memcpy(out->buffer + out->nbytes, text, nbytes < left ? nbytes : left - 1);
    out->nbytes += nbytes;
}

static inline void tbed_out_puts(struct text_out *out, const char *text)
{
    tbed_out_put(out, text, strlen(text));
}

static inline void tbed_out_end(struct text_out *out)
{
    if (out->room > 0)
        out->buffer[out->nbytes < out->room ? out->nbytes : out->room - 1] = '\0';
}

#endif
