/*
 * Event words: taken apart, measured, checked. Pure functions over words that are in the caller's bounds.
 *
 * Not here: what an event means to a reader of traces (reader/core/events/decode.h).
 *
 * Source: spec/format.md, section 6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EVENT_H
#define TRACEBED_EVENT_H

#include "format/base/bytes.h"
#include "tracebed/format.h"

static inline uint32_t tbed_event_tag(uint64_t word)
{
    return (uint32_t)(word >> TBED_ID_BITS) & 7;
}

static inline uint32_t tbed_event_id(uint64_t word)
{
    return (uint32_t)word & TBED_ID_MAX;
}

/* Ticks since the base, 31 bits. */
static inline uint64_t tbed_event_delta(uint64_t word)
{
    return word >> 33;
}

static inline uint64_t tbed_event_make(uint32_t tag, uint32_t id, uint64_t delta)
{
    return delta << 33 | (uint64_t)tag << TBED_ID_BITS | id;
}

/* A TIME word is allowed if its delta is 0 and its id is not. */
static inline bool tbed_event_time_is_allowed(uint64_t word)
{
    return tbed_event_delta(word) == 0 && tbed_event_id(word) != 0;
}

/* The ticks by which a TIME word advances the base. */
static inline uint64_t tbed_event_time_ticks(uint64_t word)
{
    return (uint64_t)tbed_event_id(word) << 31;
}

/* The second word of a PAIR. */
static inline uint32_t tbed_pair_subtype(uint64_t second)
{
    return (uint32_t)(second >> 60);
}

static inline uint64_t tbed_pair_payload(uint64_t second)
{
    return second & 0x0FFFFFFFFFFFFFFFu;
}

static inline uint64_t tbed_pair_alloc_address(uint64_t second)
{
    return (second & 0x1FFFFFFFFFFFu) << 3;
}

static inline uint64_t tbed_pair_alloc_nbytes(uint64_t second)
{
    return tbed_pair_payload(second) >> 45;
}

/* 60 bits, two's complement: the sign is carried up without shifting a negative number. */
static inline int64_t tbed_pair_counter_value(uint64_t second)
{
    uint64_t sign = UINT64_C(1) << 59;
    return (int64_t)((tbed_pair_payload(second) ^ sign) - sign);
}

/* The second word of an EXTENDED record. */
struct tbed_extended_head {
    uint32_t type;
    uint32_t argument_count;
    uint32_t nwords; /* from the second word on */
    uint32_t aux;
};

static inline struct tbed_extended_head tbed_extended_head_load(uint64_t second)
{
    return (struct tbed_extended_head){
        .type = (uint32_t)second & 0xFF,
        .argument_count = (uint32_t)(second >> 8) & 0xFF,
        .nwords = (uint32_t)(second >> 16) & 0xFFFF,
        .aux = (uint32_t)(second >> 32),
    };
}

static inline uint64_t tbed_extended_head_make(struct tbed_extended_head head)
{
    return (uint64_t)head.type | (uint64_t)head.argument_count << 8 | (uint64_t)head.nwords << 16 |
           (uint64_t)head.aux << 32;
}

/* Types whose content this version knows; all others are skipped by their word count. */
static inline bool tbed_extended_is_known(uint32_t type)
{
    return type >= TBED_EXT_BEGIN && type <= TBED_EXT_RESIZE;
}

static inline bool tbed_extended_begins_span(uint32_t type)
{
    return type == TBED_EXT_BEGIN || type == TBED_EXT_PACKED_BEGIN;
}

/* Takes the innermost span off the stack. */
static inline bool tbed_extended_ends_span(uint32_t type)
{
    return type == TBED_EXT_END || type == TBED_EXT_LEAVE;
}

/* 'aux' of a MESSAGE; a PACKED_MESSAGE stores its types above these 4 bits. */
static inline uint32_t tbed_message_severity(uint32_t aux)
{
    return aux & ~TBED_MESSAGE_CONTEXT;
}

static inline bool tbed_message_has_context(uint32_t aux)
{
    return (aux & TBED_MESSAGE_CONTEXT) != 0;
}

static inline uint32_t tbed_packed_low_bits(uint32_t aux)
{
    return aux & 15;
}

static inline uint32_t tbed_packed_types(uint32_t aux)
{
    return aux >> 4;
}

/* The arguments are packed, with their types in 'aux' or, for spans and instants, in the fixed word. */
static inline bool tbed_extended_is_packed(uint32_t type)
{
    return type == TBED_EXT_PACKED_MESSAGE || type == TBED_EXT_PACKED_BEGIN ||
           type == TBED_EXT_PACKED_INSTANT;
}

/* The fixed word of a PACKED_BEGIN or PACKED_INSTANT: the types, and the id of the first argument's name. */
static inline uint32_t tbed_packed_fixed_types(uint64_t fixed)
{
    return (uint32_t)fixed;
}

static inline uint32_t tbed_packed_fixed_names(uint64_t fixed)
{
    return (uint32_t)(fixed >> 32);
}

/* The fixed words of a known type. */
uint32_t tbed_extended_fixed_nwords(uint32_t type);

/*
 * Checks an EXTENDED record whose second word is 'head'. 'payload' follows that word; 'left_nwords' words remain before
 * the block's end.
 *
 * Errors: EVENT_LENGTH, EVENT_ARGUMENT. Unknown types only have to fit.
 */
enum tbed_status tbed_extended_check(struct tbed_extended_head head, const uint64_t *payload,
                                     size_t left_nwords);

/*
 * Checks the event at 'at' < 'end', whose first word is 'word' and not zero, and returns its size in words.
 *
 * Errors: EVENT_TAG, EVENT_TIME, EVENT_LENGTH, EVENT_ARGUMENT.
 */
enum tbed_status tbed_event_check(uint64_t word, const uint64_t *at, const uint64_t *end, size_t *nwords_ret);

#endif
