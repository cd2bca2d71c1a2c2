/*
 * The bytes after the last complete page of a trace choose what a target does with it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_CHOICES_H
#define TRACEBED_FUZZ_CHOICES_H

#include <stddef.h>
#include <stdint.h>

#include "format/layout.h"

/* Returns byte 'index' of these bytes, or 0 past the last. */
static inline unsigned choice_at(const uint8_t *data, size_t nbytes, size_t index)
{
    size_t count = nbytes % TBED_PAGE_NBYTES_MIN;
    return index < count ? data[nbytes - count + index] : 0;
}

#endif
