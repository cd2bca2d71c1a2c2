/*
 * The arguments of extended records, each with a header or packed. Pure functions over words.
 *
 * Source: spec/format.md, sections 6.3 and 6.4.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ARGUMENT_H
#define TRACEBED_ARGUMENT_H

#include "format/base/bytes.h"
#include "tracebed/format.h"

struct tbed_argument_head {
    uint32_t type;
    uint32_t nbytes;  /* size of the value, without padding */
    uint32_t name_id; /* all 32 bits, so that the two top ones are checked too */
};

static inline struct tbed_argument_head tbed_argument_head_load(uint64_t word)
{
    return (struct tbed_argument_head){
        .type = (uint32_t)word & 0xFF,
        .nbytes = (uint32_t)(word >> 8) & 0xFFFFFF,
        .name_id = (uint32_t)(word >> 32),
    };
}

static inline uint64_t tbed_argument_head_make(struct tbed_argument_head head)
{
    return (uint64_t)head.type | (uint64_t)head.nbytes << 8 | (uint64_t)head.name_id << 32;
}

/* The number of words that a value takes. */
static inline uint32_t tbed_argument_value_nwords(uint32_t nbytes)
{
    return (nbytes + 7) / 8;
}

/* Does the type always take one word? */
static inline bool tbed_argument_is_scalar(uint32_t type)
{
    return type >= TBED_ARG_U64 && type <= TBED_ARG_ID;
}

/* What a COUNTER may count with. */
static inline bool tbed_argument_is_number(uint32_t type)
{
    return type >= TBED_ARG_U64 && type <= TBED_ARG_F64;
}

/* Checks that 'argument_count' arguments fill 'nwords' words exactly. Errors: EVENT_ARGUMENT. */
enum tbed_status tbed_arguments_check(const uint64_t *at, size_t nwords, uint32_t argument_count);

/* Reads one argument, which must have been checked; returns the start of the next one. */
const uint64_t *tbed_argument_take(const uint64_t *at, struct tbed_argument *argument_ret);

/*
 * Checks that 'argument_count' packed values of these types, 4 bits each, fill 'nbytes' bytes except for less than a
 * word. Errors: EVENT_ARGUMENT.
 */
enum tbed_status tbed_packed_check(const uint8_t *at, size_t nbytes, uint32_t argument_count, uint32_t types);

/* The names of packed arguments are consecutive reserved ids; any other id names only one argument. */
static inline uint32_t tbed_packed_names_next(uint32_t names)
{
    return names < TBED_ID_MAX_RESERVED ? names + 1 : TBED_ID_INVALID;
}

/* Reads one packed value, which must have been checked; returns the start of the next one. */
const uint8_t *tbed_packed_take(const uint8_t *at, uint32_t type, struct tbed_argument *argument_ret);

#endif
