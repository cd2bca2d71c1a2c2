/*
 * Looks up spans that are open at a block's start. The block stores at most their begin and id; everything else
 * is in the block where they began.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_LOOK_BACK_H
#define TRACEBED_LOOK_BACK_H

#include <tracebed/reader.h>

struct before_span {
    uint64_t begin_tick; /* 0: not known */
    uint32_t id, category;
};

/* The caller sets 'reader' and 'least_depths' and zeros the rest; freed by tbed_look_back_free(). */
struct look_back {
    const struct tbed_reader *reader;
    uint32_t *least_depths; /* by block: the fewest spans open in it, + 1; atomic; 0: not known yet; shared */

    size_t index;            /* the block whose start is looked up */
    struct tbed_block block; /* the block that is searched for begins now */
    size_t block_index;
    struct before_span *spans; /* open at the end of block 'replayed' - 1 */
    size_t span_room, span_count;
    size_t replayed;         /* 0: none */
    uint64_t replayed_depth; /* spans below spans[0] */
};

/* From now on, calls are about the start of block 'index'. */
void tbed_look_back_from(struct look_back *back, const struct tbed_block *block, size_t index);

/*
 * Finds the span that has 'depth' spans around it; 'depth' must be lower than in the previous call for the same
 * block. False if the span is not known: it began too far back or in a missing block, or there was no memory.
 */
bool tbed_look_back(struct look_back *back, uint64_t depth, struct before_span *span_ret);

void tbed_look_back_free(struct look_back *back);

#endif
