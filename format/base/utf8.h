/*
 * UTF-8, as strict as RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. Pure functions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_UTF8_H
#define TRACEBED_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Size of the code point at 'at', 1 to 4; 0 if the first 'nbytes' bytes do not begin with a complete one. */
size_t tbed_utf8_step(const uint8_t *at, size_t nbytes);

/* The length of the longest prefix of complete code points; 'nbytes' if all are complete. */
size_t tbed_utf8_valid_nbytes(const uint8_t *text, size_t nbytes);

/* 'nbytes', or less if that would cut a code point: for truncating text. */
size_t tbed_utf8_cut_nbytes(const uint8_t *text, size_t nbytes);

/* ---- Byte by byte, for text in pieces ---- */

/* An incomplete code point of more than one byte. All zeros: none has begun. */
struct tbed_utf8 {
    uint8_t taken;           /* bytes so far; 0 once it is complete */
    uint8_t left;            /* bytes to come */
    uint8_t lowest, highest; /* of the next byte */
};

/* Accepts the first byte, which is not ASCII. False: no code point begins with it. */
static inline bool tbed_utf8_begin(struct tbed_utf8 *point, uint8_t byte)
{
    if (byte < 0xC2 || byte > 0xF4)
        return false;
    point->taken = 1;
    point->left = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    point->lowest = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80; /* otherwise overlong */
    point->highest = byte == 0xED   ? 0x9F
                     : byte == 0xF4 ? 0x8F
                                    : 0xBF; /* otherwise a surrogate, or above U+10FFFF */
    return true;
}

/* Accepts a further byte, while one is expected. False: it does not continue the code point. */
static inline bool tbed_utf8_continue(struct tbed_utf8 *point, uint8_t byte)
{
    if (byte < point->lowest || byte > point->highest)
        return false;
    point->left--;
    point->taken = point->left > 0 ? (uint8_t)(point->taken + 1) : 0;
    point->lowest = 0x80;
    point->highest = 0xBF;
    return true;
}

#endif
