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

/* The entry that 'id' addresses. Its content has been checked; its components have not. */
enum tbed_status tbed_string_find(const struct tbed_reader *reader, uint32_t id,
                                  struct tbed_string_entry *entry_ret);

/*
 * The same for a thread that looks up many ids: '*block', zeroed at first, keeps the last block, so that the gateway
 * is only called when the block changes.
 */
enum tbed_status tbed_string_find_near(const struct tbed_reader *reader, uint32_t id,
                                       struct tbed_block *block, struct tbed_string_entry *entry_ret);

#endif
