/*
 * Numbered texts; see text_table.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/stacks/text_table.h"

#include "reader/core/base/inert.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Appends the text with U+FFFD for each byte that is not UTF-8. */
static void put_valid(struct text_table *table, const char *text, size_t nbytes)
{
    bool is_replaced = false;
    uint32_t code;
    for (size_t i = 0; i < nbytes;) {
        const uint8_t *at = (const uint8_t *)text + i;
        size_t plain = tbed_printable_nbytes(at, nbytes - i);
        size_t size = plain > 0 ? plain : tbed_code_point(at, nbytes - i, &code);
        if (size > 0)
            tbed_text_put(&table->bytes, text + i, size);
        else
            tbed_text_puts(&table->bytes, "\xEF\xBF\xBD");
        is_replaced |= size == 0;
        i += size > 0 ? size : 1;
    }
    table->replaced_count += is_replaced;
}

const char *tbed_text_table_get(const struct text_table *table, uint32_t number, size_t *nbytes_ret)
{
    size_t start = number > 0 ? table->ends.items[number - 1] : 0;
    *nbytes_ret = table->ends.items[number] - start;
    return *nbytes_ret > 0 ? table->bytes.bytes + start : "";
}

/* The text is the last in 'bytes', and not yet one of the table. NONE: no other is like it. */
static uint32_t find(const struct text_table *table, uint64_t key, size_t start)
{
    size_t nbytes = table->bytes.nbytes - start, other_nbytes;
    for (struct text_slot *slot = TBED_HASHMAP_FIND(&table->slots, key); slot != NULL;
         slot = TBED_HASHMAP_FIND_MORE(&table->slots, slot)) {
        const char *other = tbed_text_table_get(table, slot->number, &other_nbytes);
        if (other_nbytes == nbytes && (nbytes == 0 || memcmp(other, table->bytes.bytes + start, nbytes) == 0))
            return slot->number;
    }
    return TEXT_TABLE_NONE;
}

static uint32_t add_last(struct text_table *table, uint64_t key)
{
    size_t *end = table->ends.count < TEXT_TABLE_NONE ? TBED_VECTOR_PUSH(&table->ends) : NULL;
    struct text_slot *slot = end != NULL ? TBED_HASHMAP_INSERT(&table->slots, key) : NULL;
    if (slot == NULL)
        return TEXT_TABLE_NONE;
    *end = table->bytes.nbytes;
    slot->number = (uint32_t)table->ends.count - 1;
    return slot->number;
}

uint32_t tbed_text_table_add(struct text_table *table, const char *text, size_t nbytes)
{
    size_t start = table->bytes.nbytes;
    uint64_t replaced = table->replaced_count;
    put_valid(table, text, nbytes);
    if (table->bytes.is_out_of_memory)
        return TEXT_TABLE_NONE;
    size_t valid_nbytes = table->bytes.nbytes - start;
    uint64_t key = valid_nbytes > 0 ? XXH3_64bits(table->bytes.bytes + start, valid_nbytes) | 1 : 1;
    uint32_t number = find(table, key, start);
    if (number == TEXT_TABLE_NONE)
        return add_last(table, key);
    table->bytes.nbytes = start;
    table->replaced_count = replaced;
    return number;
}

void tbed_text_table_free(struct text_table *table)
{
    free(table->bytes.bytes);
    tbed_vector_free(&table->ends.vector);
    tbed_hashmap_free(&table->slots.map);
    *table = (struct text_table){0};
}
