/*
 * The event blocks of one stream of a new trace, with the stack of open spans that each block starts with.
 *
 * Source: spec/format.md, sections 4.2 and 6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_BLOCK_OUT_H
#define TRACEBED_BLOCK_OUT_H

#include "format/event.h"
#include "reader/exchange/traces/out/trace_file.h"

struct out_span {
    uint64_t begin_tick;
    uint32_t id;
    bool is_inherited;
    bool was_open; /* at the stream's start */
    size_t depth;  /* in the stream that is copied */
};

struct block_out {
    struct trace_file *file;
    uint8_t *page;
    uint32_t stream, sequence, at;
    bool has_block;
    uint64_t base, last_tick, least_begin_tick; /* of the block */
    size_t entry_depth, stored_from; /* spans of the stack at its start; the first that it stores */
    TBED_VECTOR(struct out_span) stack;
    uint64_t latest_tick;             /* of the stream's events */
    uint64_t event_count, drop_count; /* dropped: too large for a page */
};

/* 'page' is of the file's page size, and the caller's. */
void tbed_block_out_open(struct block_out *out, struct trace_file *file, uint8_t *page, uint32_t stream);

/* Adds a span to the stack, without an event. */
void tbed_block_out_push(struct block_out *out, const struct out_span *span);

/*
 * Appends an event of 'nwords' words, whose first is made here. Returns the place of its words, all but the first still
 * zero; NULL: it was dropped, or the file has failed.
 */
uint64_t *tbed_block_out_put(struct block_out *out, uint64_t tick, uint32_t tag, uint32_t id, size_t nwords);

/* A span that may begin before its block; for a SPAN that was just appended. */
void tbed_block_out_note_begin(struct block_out *out, uint64_t begin_tick);

/* Whether an END of the innermost span has to carry its begin. */
bool tbed_block_out_is_deep(const struct block_out *out);

/* Ends the innermost span at 'tick'. */
void tbed_block_out_end_span(struct block_out *out, uint64_t tick);

/* Stores the last block, and makes sure that there is one if spans are open. The stream lasts at least until 'last_tick'. */
void tbed_block_out_close(struct block_out *out, uint64_t last_tick);

void tbed_block_out_free(struct block_out *out);

#endif
