/*
 * Units to be packed and unpacked in tests; see unit_case.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/pack/unit_case.h"

#include <stdlib.h>
#include <string.h>

static void *need(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

struct unit_case unit_case_new(uint32_t count, uint32_t block_nbytes)
{
    struct unit_case made = {.bytes = need(calloc(count, block_nbytes))};
    for (uint32_t i = 0; i < count; i++)
        made.blocks[i] = made.bytes + (size_t)i * block_nbytes;
    made.unit = (struct pack_unit){.count = count, .block_nbytes = block_nbytes};
    return made;
}

void unit_case_free(struct unit_case *unit)
{
    free(unit->bytes);
}

void unit_case_fill(struct unit_case *unit, const uint8_t *bytes, size_t nbytes)
{
    size_t room = (size_t)unit->unit.count * unit->unit.block_nbytes;
    memcpy(unit->bytes, bytes, nbytes < room ? nbytes : room);
}

/* One of each for all cases: both keep nothing from one unit to the next, which is a part of the test. */
static struct tbed_packer *packer(void)
{
    static struct tbed_packer *kept;
    if (kept == NULL && tbed_packer_new(&kept) != TBED_OK)
        abort();
    return kept;
}

static struct tbed_unpacker *unpacker(void)
{
    static struct tbed_unpacker *kept;
    if (kept == NULL && tbed_unpacker_new(&kept) != TBED_OK)
        abort();
    return kept;
}

uint8_t *unit_case_pack(const struct unit_case *unit, size_t *nbytes_ret)
{
    struct pack_unit packs = unit->unit;
    packs.blocks = unit->blocks;
    uint8_t *packed = need(malloc(tbed_unit_bound(&packs)));
    *nbytes_ret = tbed_unit_pack(packer(), &packs, packed);
    return need(realloc(packed, *nbytes_ret));
}

enum tbed_status unit_case_unpack(struct unit_case *unit, const uint8_t *packed, size_t nbytes)
{
    uint8_t *exact = need(malloc(nbytes + (nbytes == 0))); /* so that a read beyond its end is seen */
    struct pack_unit unpacks = unit->unit;
    unpacks.blocks = unit->blocks;
    memcpy(exact, packed, nbytes);
    memset(unit->bytes, 0xA5, (size_t)unit->unit.count * unit->unit.block_nbytes);
    enum tbed_status status = tbed_unit_unpack(unpacker(), exact, nbytes, &unpacks);
    free(exact);
    return status;
}

bool unit_case_is(const struct unit_case *unit, const uint8_t *packed, size_t nbytes,
                  enum tbed_status *status_ret)
{
    struct unit_case found = unit_case_new(unit->unit.count, unit->unit.block_nbytes);
    *status_ret = unit_case_unpack(&found, packed, nbytes);
    bool is_same = *status_ret == TBED_OK &&
                   memcmp(found.bytes, unit->bytes, (size_t)unit->unit.count * unit->unit.block_nbytes) == 0;
    unit_case_free(&found);
    return is_same;
}

bool unit_case_round(const struct unit_case *unit)
{
    size_t nbytes;
    enum tbed_status status;
    uint8_t *packed = unit_case_pack(unit, &nbytes);
    bool is_same = unit_case_is(unit, packed, nbytes, &status);
    free(packed);
    return is_same;
}

uint64_t unit_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}
