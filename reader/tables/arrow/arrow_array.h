/*
 * Arrays of Arrow that own what they point to. Not for users of the library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ARROW_ARRAY_H
#define TRACEBED_ARROW_ARRAY_H

#include "reader/core/base/text.h"

#include <tracebed/arrow.h>

/* Texts that several arrays share: the dictionary of names so far. */
struct arrow_texts {
    unsigned users; /* atomic */
    uint32_t count;
    int32_t *offsets;
    char *bytes;
};

/* The names that a scan has met. NULL, with errno ENOMEM or EOVERFLOW. */
struct arrow_texts *tbed_arrow_texts_make(const struct tbed_scan *scan);
void tbed_arrow_texts_release(struct arrow_texts *texts); /* NULL is allowed */

/* A column of a batch; 'names' is for NAME. Returns 0, ENOMEM or EOVERFLOW; on failure nothing is left to release. */
int tbed_arrow_column_make(const struct tbed_column *column, const struct tbed_column_values *values,
                           size_t row_count, struct arrow_texts *names, struct ArrowArray *array_ret);

#endif
