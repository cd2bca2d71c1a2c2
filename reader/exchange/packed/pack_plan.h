/*
 * Which pages of a trace are packed together.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PACK_PLAN_H
#define TRACEBED_PACK_PLAN_H

#include "reader/core/container/packed_layout.h"
#include "reader/core/file/reader_state.h"

struct planned_unit {
    uint32_t count;
    uint32_t pages[PACK_UNIT_BLOCKS_MAX];
};

struct pack_plan {
    TBED_VECTOR(struct planned_unit) units; /* in the order of the packed file */
};

/* Holes of the file are in no unit. Errors: ERR_MEMORY. */
enum tbed_status tbed_pack_plan_make(const struct tbed_reader *reader, struct pack_plan *plan_ret);
void tbed_pack_plan_free(struct pack_plan *plan);

#endif
