/*
 * Units to be packed and unpacked in tests: blocks of a file, random blocks, and what must hold for any unit.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_UNIT_CASE_H
#define TRACEBED_UNIT_CASE_H

#include <stdbool.h>

#include "reader/core/pack/pack_unit.h"

struct unit_case {
    struct pack_unit unit;
    uint8_t *blocks[PACK_UNIT_BLOCKS_MAX];
    uint8_t *bytes; /* of all blocks, one after the other */
};

/* Blocks of zeros. Aborts without memory, as everything here does. */
struct unit_case unit_case_new(uint32_t count, uint32_t block_nbytes);
void unit_case_free(struct unit_case *unit);

/* Fills the first bytes of all blocks of a case. */
void unit_case_fill(struct unit_case *unit, const uint8_t *bytes, size_t nbytes);

/* Random blocks of events, strings or records, mostly possible ones; the same for the same seed. */
void unit_case_make(struct unit_case *unit, uint64_t seed);

/* Packs it; the caller frees what is returned, which has exactly '*nbytes_ret' bytes. */
uint8_t *unit_case_pack(const struct unit_case *unit, size_t *nbytes_ret);

/* Fills the blocks with what is packed. */
enum tbed_status unit_case_unpack(struct unit_case *unit, const uint8_t *packed, size_t nbytes);

/* Unpacks into new memory, and compares. '*status_ret' says whether it could be unpacked. */
bool unit_case_is(const struct unit_case *unit, const uint8_t *packed, size_t nbytes,
                  enum tbed_status *status_ret);

/* Packs it, unpacks it, compares. */
bool unit_case_round(const struct unit_case *unit);

/* A pseudorandom number; 'state' is any number. */
uint64_t unit_random(uint64_t *state);

#endif
