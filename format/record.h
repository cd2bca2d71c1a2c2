/*
 * Records: their sizes and fields checked. Pure functions over bytes.
 *
 * Not here: what the records mean together (reader/core/records/metadata.h).
 *
 * Source: spec/format.md, section 8.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RECORD_H
#define TRACEBED_RECORD_H

#include "format/layout.h"

#define TBED_RECORD_HEAD_NBYTES 8

/* The record's first word. */
static inline uint32_t tbed_record_head_type(uint64_t head)
{
    return (uint32_t)head & 0xFFFF;
}

static inline uint32_t tbed_record_head_nbytes(uint64_t head)
{
    return (uint32_t)(head >> 32);
}

static inline uint64_t tbed_record_head_make(uint32_t type, uint32_t nbytes)
{
    return (uint64_t)nbytes << 32 | type;
}

/*
 * Does the head allow a record in the 'left_nbytes' before the block's end? A multiple of 8, at least 8 and
 * the type's size. Errors: RECORD_LENGTH.
 */
enum tbed_status tbed_record_head_check(uint64_t head, uint64_t left_nbytes);

/*
 * Checks the fields of a record whose head has passed: counts that fit (RECORD_LENGTH), fields in range
 * (RECORD_FIELD), id ranges among the reserved ids or METADATA (RECORD_RANGE). Unknown types pass.
 * '*detail_ret' is the value found when it fails.
 */
enum tbed_status tbed_record_check(const uint8_t *record, uint64_t head, uint64_t *detail_ret);

#endif
