/*
 * Packs and unpacks units of packed traces: any blocks come back as they were; any bytes are refused, or are unpacked to
 * blocks that come back.
 *
 * The first byte says what the rest is (bits 0 and 1: a packed unit, blocks, or a number that random blocks are made
 * from), how many blocks there are (bits 2 and 3) and how large they are (bits 4 and 5).
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "fuzz/support/fuzz.h"
#include "reader/tests/pack/unit_case.h"

enum { PACKED, BLOCKS };

/* Blocks that any packed bytes give can be packed again, perhaps otherwise. */
static void unpack(struct unit_case *unit, const uint8_t *packed, size_t nbytes)
{
    if (unit_case_unpack(unit, packed, nbytes) == TBED_OK)
        REQUIRE(unit_case_round(unit));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    if (nbytes == 0)
        return 0;
    uint64_t number = 0;
    uint32_t count = 1 + (data[0] >> 2 & 3), block_nbytes = 4096u << (data[0] >> 4 & 3);
    struct unit_case unit = unit_case_new(count, block_nbytes);
    switch (data[0] & 3) {
    case PACKED:
        unpack(&unit, data + 1, nbytes - 1);
        break;
    case BLOCKS:
        unit_case_fill(&unit, data + 1, nbytes - 1);
        REQUIRE(unit_case_round(&unit));
        break;
    default:
        memcpy(&number, data + 1, nbytes - 1 < sizeof number ? nbytes - 1 : sizeof number);
        unit_case_make(&unit, number);
        REQUIRE(unit_case_round(&unit));
    }
    unit_case_free(&unit);
    return 0;
}
