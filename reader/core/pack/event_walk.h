/*
 * The walk over the blocks of events of a unit, which takes them apart into columns or puts them together.
 *
 * Any bytes can be packed: what is not a regular event, and everything behind it in its block, goes into COLUMN_REST.
 *
 * Source: spec/packed.md, "Events".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_CORE_EVENT_WALK_H
#define TRACEBED_CORE_EVENT_WALK_H

#include "reader/core/pack/event_addresses.h"
#include "reader/core/pack/event_clock.h"

#define WALK_TOKENS       65536u
#define WALK_SLOTS_BITS   17
#define WALK_SLOTS        (1u << WALK_SLOTS_BITS)
#define WALK_CONTEXT_BITS 15 /* at most */
#define WALK_VALUES       6
#define WALK_SPANS        (PACK_UNIT_NBYTES_MAX / 8 + PACK_UNIT_NBYTES_MAX / 64) /* begun, and stored by blocks */

/* What events have in common: tag and id, and the second word's subtype or the whole second word. */
struct walk_token {
    uint64_t first; /* the low 33 bits of the first word */
    uint64_t second;
    uint64_t size;                /* of its last allocation */
    uint64_t values[WALK_VALUES]; /* of its last words */
};

struct walk_expected {
    uint32_t next, other; /* tokens: the last one, and the one before that differed */
};

struct walk_span {
    uint64_t tick, id; /* the id with the flags, as a block stores them */
};

struct event_walk {
    struct columns columns;
    struct event_clock clock;
    uint32_t block_nbytes;
    uint64_t header[12];   /* fields of the last block */
    uint64_t now;          /* the tick of the last event */
    uint32_t run;          /* tokens as expected; for unpacking, those left, and one */
    uint32_t last, before; /* what happened last, for WALK_CONTEXT */
    uint32_t context_bits;
    uint32_t token_count, span_count;
    uint64_t last_id[8], last_second; /* of new tokens */
    struct walk_expected expected[1u << WALK_CONTEXT_BITS];
    struct walk_token tokens[WALK_TOKENS];
    struct walk_span spans[WALK_SPANS];
    struct addresses addresses;
    uint32_t slots[WALK_SLOTS]; /* for packing: the tokens by their hashes; 0 none */
    uint32_t slot_of[WALK_TOKENS];
};

/* Once, in zeroed memory. */
void tbed_event_walk_init(struct event_walk *walk);

/* Takes the blocks of a unit apart; the columns and the clock are then filled. */
void tbed_event_walk_pack(struct event_walk *walk, const struct pack_unit *unit);

/* Puts them together; the columns and the clock are given. False: they are damaged. */
bool tbed_event_walk_unpack(struct event_walk *walk, const struct pack_unit *unit);

#endif
