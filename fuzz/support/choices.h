/*
 * Bytes that choose what a target does with a trace: those behind its last whole page.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_CHOICES_H
#define TRACEBED_FUZZ_CHOICES_H

#include <stddef.h>
#include <stdint.h>

#include "format/layout.h"

/* Byte 'index' of them; 0 past the last. */
static inline unsigned choice_at(const uint8_t *data, size_t nbytes, size_t index)
{
    size_t count = nbytes % TBED_PAGE_NBYTES_MIN;
    return index < count ? data[nbytes - count + index] : 0;
}

#endif
