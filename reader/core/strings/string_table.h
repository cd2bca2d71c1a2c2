/*
 * The string table: from an id to its entry.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STRING_TABLE_H
#define TRACEBED_STRING_TABLE_H

#include <tracebed/reader.h>

struct tbed_string_entry {
    const uint8_t *content;
    uint32_t nbytes; /* terminator included */
};

/* The entry that 'id' addresses; its content is checked, its components are not. */
enum tbed_status tbed_string_find(const struct tbed_reader *reader, uint32_t id,
                                  struct tbed_string_entry *entry_ret);

/*
 * The same for one thread that asks for many: '*block', which starts with zeros, is the block asked last, and the
 * gateway is passed only for another one.
 */
enum tbed_status tbed_string_find_near(const struct tbed_reader *reader, uint32_t id,
                                       struct tbed_block *block, struct tbed_string_entry *entry_ret);

#endif
