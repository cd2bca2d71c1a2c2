/*
 * Numbered texts for formats that store each text once.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TEXT_TABLE_H
#define TRACEBED_TEXT_TABLE_H

#include "reader/core/base/hashmap.h"
#include "reader/core/base/text.h"
#include "reader/core/base/vector.h"

struct text_slot {
    uint64_t key; /* the hash */
    uint32_t number;
};

struct text_table { /* zeroed: empty */
    struct tbed_text bytes;
    TBED_VECTOR(size_t) ends; /* of each text in 'bytes' */
    TBED_HASHMAP(struct text_slot) slots;
    uint64_t replaced_count; /* texts with bytes that are not UTF-8, each of which became U+FFFD */
};

#define TEXT_TABLE_NONE UINT32_MAX

/* The number of a text, which is added if it is not there: 0, 1, 2 and so on. NONE: no memory. */
uint32_t tbed_text_table_add(struct text_table *table, const char *text, size_t nbytes);

/* The text of a number, valid until the next addition. */
const char *tbed_text_table_get(const struct text_table *table, uint32_t number, size_t *nbytes_ret);

void tbed_text_table_free(struct text_table *table);

#endif
