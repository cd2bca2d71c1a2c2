/*
 * String entries and the components of their content. Pure functions over bytes.
 *
 * Not here: which block an id names, and what a reference leads to (reader/core/strings).
 *
 * Source: spec/format.md, section 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STRING_H
#define TRACEBED_STRING_H

#include "format/base/bytes.h"
#include "tracebed/format.h"

#define TBED_STRING_HEAD_NBYTES 8
#define TBED_STRING_TERMINATOR  0xFF

/* The budgets of section 12. */
#define TBED_STRING_DEPTH_MAX      64u
#define TBED_STRING_COMPONENTS_MAX ((uint64_t)1 << 20)
#define TBED_STRING_TEXT_MAX       ((uint64_t)1 << 24)

/* The entry's first word. */
static inline uint32_t tbed_string_head_nbytes(uint64_t head)
{
    return (uint32_t)head;
}

static inline uint32_t tbed_string_head_hash(uint64_t head)
{
    return (uint32_t)(head >> 32);
}

/* The size of an entry whose content has 'nbytes'; 64 bits, so that it cannot wrap. */
static inline uint64_t tbed_string_entry_nbytes(uint32_t nbytes)
{
    return tbed_round_up(TBED_STRING_HEAD_NBYTES + (uint64_t)nbytes, 8);
}

/* The id of the entry at 'offset' of the string page 'ordinal'. */
static inline uint32_t tbed_string_id_make(uint32_t ordinal, uint32_t page_nbytes, uint32_t offset)
{
    return TBED_ID_METADATA + (uint32_t)(((uint64_t)ordinal * page_nbytes + offset) / 8);
}

/* The address in the string space; 'id' is above INVALID. */
static inline uint64_t tbed_string_id_address(uint32_t id)
{
    return (uint64_t)(id - TBED_ID_METADATA) * 8;
}

/* Does the head allow an entry in the 'left_nbytes' bytes before the block's end? Errors: STRING_LENGTH. */
enum tbed_status tbed_string_head_check(uint64_t head, uint64_t left_nbytes);

struct tbed_content_component {
    bool is_reference;
    uint32_t id;         /* of a reference */
    const uint8_t *text; /* otherwise */
    uint32_t nbytes;
};

/*
 * Reads the component at '*at' of a content of 'nbytes' bytes, terminator included, and moves '*at' past it.
 *
 * Errors: TBED_END at the terminator; STRING_END, STRING_UTF8.
 */
enum tbed_status tbed_content_next(const uint8_t *content, uint32_t nbytes, uint32_t *at,
                                   struct tbed_content_component *component_ret);

/* Checks all components in turn: STRING_END, STRING_UTF8 or OK. */
enum tbed_status tbed_content_check(const uint8_t *content, uint32_t nbytes);

#endif
