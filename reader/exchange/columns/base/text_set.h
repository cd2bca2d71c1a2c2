/*
 * Different texts, numbered in the order in which they were added: the dictionary of a column.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_COLUMNS_TEXT_SET_H
#define TRACEBED_COLUMNS_TEXT_SET_H

#include "reader/core/base/text.h"

struct text_set { /* zeroed: empty */
    struct tbed_text bytes;
    size_t *ends; /* text i ends there, and begins where the previous one ends */
    uint32_t count, room;
    uint32_t *slots; /* open addressing by hash; index + 1, 0: free */
    size_t slot_count;
};

/* The index of a text, which is added if it is not there. False: no memory. */
bool tbed_text_set_add(struct text_set *set, const char *bytes, size_t nbytes, uint32_t *index_ret);
void tbed_text_set_get(const struct text_set *set, uint32_t index, const char **bytes_ret,
                       size_t *nbytes_ret);
void tbed_text_set_clear(struct text_set *set);
void tbed_text_set_free(struct text_set *set);

#endif
