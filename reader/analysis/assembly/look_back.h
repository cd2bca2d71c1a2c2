/*
 * Spans that are open at a block's start, of which the block stores the begin and the id at most: what else is known of
 * them is in the block where they began.
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

/* Starts with 'reader' and 'least_depths', and zeros; freed by tbed_look_back_free(). */
struct look_back {
    const struct tbed_reader *reader;
    uint32_t *
        least_depths; /* by block: the fewest spans that were open in it, + 1; atomic; 0: not known yet; shared */

    size_t index;            /* the block whose start is meant */
    struct tbed_block block; /* where begins are looked for now */
    size_t block_index;
    struct before_span *spans; /* open at the end of block 'replayed' - 1 */
    size_t span_room, span_count;
    size_t replayed;         /* 0: none */
    uint64_t replayed_depth; /* spans below spans[0] */
};

/* From now on it is about the start of block 'index'. */
void tbed_look_back_from(struct look_back *back, const struct tbed_block *block, size_t index);

/*
 * The span that has 'depth' spans around it, fewer than in the call before for the same block. False: it is not known,
 * because it began too far back, in a block that is missing, or there was no memory.
 */
bool tbed_look_back(struct look_back *back, uint64_t depth, struct before_span *span_ret);

void tbed_look_back_free(struct look_back *back);

#endif
