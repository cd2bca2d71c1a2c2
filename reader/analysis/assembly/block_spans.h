/*
 * The spans of one event block, by themselves: an instance of the assembler for analyses that read blocks in any order,
 * and on all cores. A block stores the spans that are open at its start; what it leaves open shows in the next one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_BLOCK_SPANS_H
#define TRACEBED_BLOCK_SPANS_H

#include "reader/analysis/assembly/look_back.h"
#include "reader/analysis/assembly/open_stack.h"

/* END, OPEN or UNKNOWN. */
struct block_span {
    uint64_t begin_tick, end_tick;
    uint32_t id, category;
    enum tbed_step_kind kind;
};

struct block_spans {
    struct block_span *items; /* in the assembler's order */
    size_t count, room;
    uint64_t begin_count, end_count, whole_count; /* events */
    uint64_t decrease_count;                      /* events with a tick below the one before */
    uint64_t unnamed_count; /* spans left open that no block names: they are not among the items */
    struct tbed_block block;
    bool is_damaged; /* not all of the block could be read */

    /* The caller's, before the first block. */
    const struct tbed_reader *reader;
    bool has_categories; /* wanted also of spans that began before the block */
    /* Called for every event that neither begins nor ends a span; NULL: nobody asks. 'word' is its place in the block. */
    void (*other)(void *context, const struct block_spans *spans, const struct tbed_event *event,
                  size_t word);
    void *other_context;

    struct look_back back; /* with 'reader' and 'least_depths' from the caller */
    struct open_stack stack;
    uint64_t *copy; /* of a block that may be reused meanwhile */
};

/*
 * Reads event block 'index'. Nothing of the block before stays.
 * Errors: the block's ERR_BLOCK_…, ERR_CHANGED, ERR_MEMORY.
 */
enum tbed_status tbed_block_spans_read(struct block_spans *spans, size_t index);
void tbed_block_spans_free(struct block_spans *spans);

/* Gets event block 'index'; where blocks may be reused while they are read, a copy of it in '*copy'. Errors: as above. */
enum tbed_status tbed_block_get_stable(const struct tbed_reader *reader, size_t index, uint64_t **copy,
                                       struct tbed_block *block_ret);

#endif
