/*
 * The spans of a single event block: an instance of the assembler for analyses that read blocks in any order and
 * on all cores. A block stores the spans that are open at its start; the next block shows which spans it leaves
 * open.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_BLOCK_SPANS_H
#define TRACEBED_BLOCK_SPANS_H

#include "reader/analysis/assembly/look_back.h"
#include "reader/analysis/assembly/open_stack.h"
#include "reader/analysis/filter/filter.h"
#include "reader/core/container/packed_pages.h"

/* END, OPEN or UNKNOWN. */
struct block_span {
    uint64_t begin_tick, end_tick;
    uint32_t id, category;
    enum tbed_step_kind kind;
    uint32_t arguments; /* what 'number_arguments' returned; 0: none, or not asked */
};

/* A span that a BEGIN without arguments began in the block. */
struct plain_begin {
    uint64_t tick;
    uint32_t id;
};

/* Holds the block that is being read, so that its memory stays valid. Initialize with zeros. */
struct stable_block {
    uint64_t *copy;          /* of a block that may be reused meanwhile */
    struct tbed_lease lease; /* of one that was unpacked */
};

struct block_spans {
    struct block_span *items; /* in the assembler's order */
    size_t count, room;
    uint64_t begin_count, end_count,
        whole_count; /* events; with a filter, those in its window, and if it 'asks_spans', of spans that it takes */
    uint64_t decrease_count; /* events with a tick below the one before */
    uint64_t unnamed_count;  /* spans left open that no block identifies; not among the items */
    struct tbed_block block;
    bool is_damaged; /* part of the block could not be read */

    /* The caller's, before the first block. */
    const struct tbed_reader *reader;
    const struct tbed_filter *filter; /* may be NULL */
    const bool *is_cancelled;         /* see tbed_is_cancelled() */
    bool has_categories;              /* also wanted for spans that began before the block */
    /*
     * Called for every event that neither begins nor ends a span and that the filter takes; may be NULL. 'word' is its
     * position in the block.
     */
    void (*other)(void *context, const struct block_spans *spans, const struct tbed_event *event,
                  size_t word);
    /*
     * Called for the arguments of each span that has some and of which the begin is found; its result becomes
     * 'arguments' of the item. May be NULL.
     */
    uint32_t (*number_arguments)(void *context, const struct tbed_arguments *arguments, uint32_t count);
    /*
     * The same for callers that want the arguments of the span's END too: 'end' is that event, or NULL. Called if either has
     * some, instead of the above.
     */
    uint32_t (*describe)(void *context, const struct tbed_assembled *span, const struct tbed_event *end);
    void *other_context;             /* of all three */
    const struct tbed_event *ending; /* the END of the span that is being added; NULL: none with arguments */

    bool asks_spans;       /* the filter looks at more of a span than at its time */
    struct look_back back; /* the caller sets 'reader' and 'passages' */
    struct open_stack stack;
    /* The innermost open spans, above those of the stack: most spans end before anything asks for more of them. */
    struct plain_begin *plain;
    size_t plain_count, plain_room;
    struct stable_block stable; /* holds 'block' */
};

/*
 * Reads event block 'index'. Nothing is kept of the previous block.
 * Errors: the block's ERR_BLOCK_…, ERR_CHANGED, ERR_MEMORY, ERR_CANCELLED.
 */
enum tbed_status tbed_block_spans_read(struct block_spans *spans, size_t index);
void tbed_block_spans_free(struct block_spans *spans);

/* Gets event block 'index', which is valid until the next call with the same 'stable'. Errors: as above. */
enum tbed_status tbed_block_get_stable(const struct tbed_reader *reader, size_t index,
                                       struct stable_block *stable, struct tbed_block *block_ret);
void tbed_stable_block_free(struct stable_block *stable);

#endif
