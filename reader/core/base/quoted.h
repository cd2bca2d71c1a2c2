/*
 * Texts in quotation marks. One rule for all of them: a quotation mark or a backslash inside has a backslash before it, so
 * that the end is plain. Control bytes are not the concern of this file; see inert.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_QUOTED_H
#define TRACEBED_QUOTED_H

#include "reader/core/base/text.h"

static inline bool tbed_takes_backslash(char byte)
{
    return byte == '"' || byte == '\\';
}

/* How many bytes from 'at', of 'nbytes' > 0, go out together: the first, and those up to the next that takes a backslash. */
static inline size_t tbed_quoted_piece(const char *at, size_t nbytes)
{
    size_t end = 1;
    while (end < nbytes && !tbed_takes_backslash(at[end]))
        end++;
    return end;
}

/* Appends the text in quotation marks. */
static inline void tbed_text_put_quoted(struct tbed_text *text, const char *bytes, size_t nbytes)
{
    tbed_text_put(text, "\"", 1);
    for (size_t i = 0, piece; i < nbytes; i += piece) {
        piece = tbed_quoted_piece(bytes + i, nbytes - i);
        if (tbed_takes_backslash(bytes[i]))
            tbed_text_put(text, "\\", 1);
        tbed_text_put(text, bytes + i, piece);
    }
    tbed_text_put(text, "\"", 1);
}

#endif
