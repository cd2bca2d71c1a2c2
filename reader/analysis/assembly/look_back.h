/*
 * Looks up spans that are open at a block's start. The block stores at most their begin and id, and only of the
 * innermost; everything else is in earlier blocks. What is found is what the assembler knows at that point.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LOOK_BACK_H
#define TRACEBED_LOOK_BACK_H

#include "reader/core/container/packed_pages.h"

#include <tracebed/reader.h>

struct before_span {
    uint64_t begin_tick; /* 0: not known */
    uint32_t id, category;
    uint32_t nwords;    /* of its BEGIN */
    const uint64_t *at; /* a BEGIN with arguments; NULL: none that is known */
    bool is_inherited;
};

/* The caller sets 'reader' and 'passages' and zeros the rest; freed by tbed_look_back_free(). */
struct look_back {
    const struct tbed_reader *reader;
    uint32_t *passages; /* what is known of each block, shared and atomic; 0: nothing; see look_back.c */

    size_t index;            /* the block whose start is looked up */
    struct tbed_block block; /* the block that is searched now */
    size_t block_index;
    struct tbed_lease lease;   /* of the block, unless its start is looked up */
    uint64_t forgotten_depth;  /* events are missing in between: nothing is known of spans below this depth */
    struct before_span *spans; /* open at the end of block 'replayed' - 1 */
    size_t span_room, span_count;
    size_t replayed;         /* 0: none */
    uint64_t replayed_depth; /* spans below spans[0] */
    bool is_out_of_memory;   /* something could not be examined */
    bool crosses; /* depths say nothing: a span left the stack, since then, before others inside it */
    bool replay_crosses;
};

/* From now on, calls are about the start of block 'index'. */
void tbed_look_back_from(struct look_back *back, const struct tbed_block *block, size_t index);

/*
 * Finds a span that has 'depth' spans around it; 'depth' must be lower than in the previous call for the same block, unless
 * 'crosses' is set.
 * Returns NULL if nothing is known of it because it began too far back or in a missing block, or because memory ran out,
 * which sets 'is_out_of_memory'. What is returned is valid until the next call; its category may be INVALID.
 */
const struct before_span *tbed_look_back_begin(struct look_back *back, uint64_t depth, uint64_t begin_tick,
                                               uint32_t id);

/*
 * Finds spans with less than 'depth' spans around them, 'depth' being at most that of the block's outermost stored
 * span and at most that of all spans found before. '*count_ret' of them are found, the innermost of which has
 * 'depth' - 1 around it; '*spans_ret' is valid until the next call. False: no more are known.
 */
bool tbed_look_back_deeper(struct look_back *back, uint64_t depth, const struct before_span **spans_ret,
                           size_t *count_ret);

void tbed_look_back_free(struct look_back *back);

#endif
