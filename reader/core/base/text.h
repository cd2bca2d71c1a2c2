/*
 * A text that grows.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TEXT_H
#define TRACEBED_TEXT_H

#include "reader/core/base/number_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct tbed_text { /* zeroed: empty; the caller frees 'bytes' */
    char *bytes;   /* not terminated */
    size_t nbytes, room;
    bool is_out_of_memory; /* once set, nothing more is added */
};

static inline bool tbed_text_reserve(struct tbed_text *text, size_t more)
{
    if (text->is_out_of_memory)
        return false;
    if (more <= text->room - text->nbytes)
        return true;
    char *grown = NULL;
    size_t room = 0;
    if (more <= SIZE_MAX / 4 && text->nbytes <= SIZE_MAX / 4) {
        room = (text->nbytes + more) * 2 + 256;
        grown = realloc(text->bytes, room);
    }
    text->is_out_of_memory = grown == NULL;
    if (grown == NULL)
        return false;
    text->bytes = grown;
    text->room = room;
    return true;
}

static inline void tbed_text_put(struct tbed_text *text, const char *bytes, size_t nbytes)
{
    if (nbytes == 0 || !tbed_text_reserve(text, nbytes))
        return;
    memcpy(text->bytes + text->nbytes, bytes, nbytes);
    text->nbytes += nbytes;
}

static inline void tbed_text_puts(struct tbed_text *text, const char *string)
{
    tbed_text_put(text, string, strlen(string));
}

static inline void tbed_text_u64(struct tbed_text *text, uint64_t value)
{
    char digits[20];
    tbed_text_put(text, digits, tbed_format_u64(digits, value));
}

static inline void tbed_text_i64(struct tbed_text *text, int64_t value)
{
    char digits[20];
    tbed_text_put(text, digits, tbed_format_i64(digits, value));
}

#endif
