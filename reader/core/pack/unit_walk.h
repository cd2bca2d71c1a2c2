/*
 * The walk over the blocks of a unit, which takes them apart into columns or puts them together.
 *
 * Any bytes can be packed: what is not a regular event, string entry or record, and everything behind it in its block,
 * goes into COLUMN_REST.
 *
 * Source: spec/packed.md, "Blocks".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_CORE_UNIT_WALK_H
#define TRACEBED_CORE_UNIT_WALK_H

#include "reader/core/pack/event_addresses.h"
#include "reader/core/pack/event_clock.h"

#define WALK_TOKENS       65536u
#define TOKEN_NEW         0 /* no token has this number */
#define TOKEN_END         1 /* END of the innermost span */
#define TOKEN_FIRST       2
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

#define WALK_REFERENCES 4

/* Of strings and records. */
struct walk_before {
    uint32_t entry;                       /* the id of the last string entry */
    uint32_t references[WALK_REFERENCES]; /* the last ones, by their place in the entry */
    uint32_t words[3][2]; /* the first two words of the last record, and the last of the others */
};

struct unit_walk {
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
    struct walk_before content;
    struct walk_expected expected[1u << WALK_CONTEXT_BITS];
    struct walk_token tokens[WALK_TOKENS];
    struct walk_span spans[WALK_SPANS];
    struct addresses addresses;
    uint32_t slots[WALK_SLOTS]; /* for packing: the tokens by their hashes; 0 none */
    uint32_t slot_of[WALK_TOKENS];
};

static inline uint64_t walk_load(const uint8_t *at)
{
    return tbed_le64_load(*(const tbed_le64 *)at);
}

static inline void walk_store(uint8_t *at, uint64_t word)
{
    *(tbed_le64 *)at = tbed_le64_make(word);
}

/*
 * Take [at, end) of a block apart, up to the first zero word or what is not regular, and return where that is. The tick of
 * the last event and the stack are those at the start of the block. 'first_id' is the id of the string entry at 'at'.
 */
uint8_t *tbed_events_pack(struct unit_walk *walk, uint8_t *at, uint8_t *end);
uint8_t *tbed_strings_pack(struct unit_walk *walk, uint8_t *at, uint8_t *end, uint32_t first_id);
uint8_t *tbed_records_pack(struct unit_walk *walk, uint8_t *at, uint8_t *end);

/* Put [at, end) together. False: the columns are damaged. */
bool tbed_events_unpack(struct unit_walk *walk, uint8_t *at, uint8_t *end);
bool tbed_strings_unpack(struct unit_walk *walk, uint8_t *at, uint8_t *end, uint32_t first_id);
bool tbed_records_unpack(struct unit_walk *walk, uint8_t *at, uint8_t *end);

/* At the end of a unit. */
void tbed_events_pack_end(struct unit_walk *walk);
bool tbed_events_are_unpacked(struct unit_walk *walk);

/*
 * The number of bytes of the event at 'at' < 'end', or 0 if it is not regular: an event that the columns cannot express.
 * '*second_ret' is what its token has of the second word.
 */
uint32_t tbed_event_regular_nbytes(const uint8_t *at, const uint8_t *end, uint64_t word,
                                   uint64_t *second_ret);

/* Once, in zeroed memory. */
void tbed_unit_walk_init(struct unit_walk *walk);

/* Takes the blocks of a unit apart; the columns and the clock are then filled. */
void tbed_unit_walk_pack(struct unit_walk *walk, const struct pack_unit *unit);

/* Puts them together; the columns and the clock are given. False: they are damaged. */
bool tbed_unit_walk_unpack(struct unit_walk *walk, const struct pack_unit *unit);

#endif
