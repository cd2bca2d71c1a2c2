/*
 * The event blocks of one stream; see block_out.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/traces/out/block_out.h"

#include <errno.h>

void tbed_block_out_open(struct block_out *out, struct trace_file *file, uint8_t *page, uint32_t stream)
{
    struct tbed_vector stack = out->stack.vector;
    *out = (struct block_out){.file = file, .page = page, .stream = stream};
    out->stack.vector = stack;
    out->stack.count = 0;
}

void tbed_block_out_free(struct block_out *out)
{
    tbed_vector_free(&out->stack.vector);
}

void tbed_block_out_push(struct block_out *out, const struct out_span *span)
{
    struct out_span *place = TBED_VECTOR_PUSH(&out->stack);
    if (place == NULL)
        tbed_trace_file_fail(out->file, TBED_ERR_MEMORY, ENOMEM);
    else
        *place = *span;
}

/* ---- Blocks ---- */

static void end_block(struct block_out *out, uint64_t last_tick)
{
    last_tick = last_tick > out->last_tick ? last_tick : out->last_tick;
    tbed_trace_file_end(out->file, out->page, out->at, last_tick, out->least_begin_tick);
    out->has_block = false;
}

static void begin_block(struct block_out *out, uint64_t tick)
{
    uint32_t depth = (uint32_t)out->stack.count;
    uint32_t stored = tbed_block_stored_count(out->file->page_nbytes, depth);
    struct tbed_block_fields fields = {.kind = TBED_BLOCK_EVENTS,
                                       .stream = out->stream,
                                       .sequence = out->sequence++,
                                       .first_tick = tick,
                                       .depth = depth};
    tbed_trace_file_begin(out->file, out->page, &fields);
    out->at = TBED_BLOCK_HEADER_NBYTES;
    out->entry_depth = depth;
    out->stored_from = depth - stored;
    for (size_t i = out->stored_from; i < depth; i++) {
        const struct out_span *span = &out->stack.items[i];
        struct tbed_disk_open_span disk = {
            .begin_tick = tbed_le64_make(span->begin_tick),
            .id = tbed_le32_make(span->id),
            .flags = tbed_le32_make(span->is_inherited ? TBED_OPEN_SPAN_INHERITED : 0)};
        memcpy(out->page + out->at, &disk, sizeof disk);
        out->at += (uint32_t)sizeof disk;
    }
    out->base = out->last_tick = out->least_begin_tick = tick;
    out->has_block = true;
}

/* ---- Events ---- */

/* By how many times 2^31 the base has to grow, modulo 2^64, for an event at 'tick'. */
static uint64_t advance(const struct block_out *out, uint64_t tick)
{
    return (tick - out->base) >> 31;
}

static size_t time_nwords(uint64_t advance)
{
    return (size_t)((advance + TBED_ID_MAX - 1) / TBED_ID_MAX);
}

static bool has_room(const struct block_out *out, uint64_t tick, size_t nwords)
{
    size_t left = (out->file->page_nbytes - out->at) / 8;
    return nwords <= left && time_nwords(advance(out, tick)) <= left - nwords;
}

static void put_word(struct block_out *out, uint64_t word)
{
    word = tbed_word_order(word);
    memcpy(out->page + out->at, &word, sizeof word);
    out->at += (uint32_t)sizeof word;
}

uint64_t *tbed_block_out_put(struct block_out *out, uint64_t tick, uint32_t tag, uint32_t id, size_t nwords)
{
    if (out->file->status != TBED_OK)
        return NULL;
    if (!out->has_block || !has_room(out, tick, nwords)) {
        if (out->has_block)
            end_block(out, 0);
        begin_block(out, tick);
    }
    if (out->file->status != TBED_OK || !has_room(out, tick, nwords)) {
        out->drop_count += out->file->status == TBED_OK;
        return NULL;
    }
    for (uint64_t left = advance(out, tick); left > 0;) {
        uint32_t by = left < TBED_ID_MAX ? (uint32_t)left : TBED_ID_MAX;
        put_word(out, tbed_event_make(TBED_TAG_TIME, by, 0));
        out->base += (uint64_t)by << 31;
        left -= by;
    }
    uint64_t *words = (uint64_t *)(void *)(out->page + out->at);
    words[0] = tbed_word_order(tbed_event_make(tag, id, tick - out->base));
    out->at += (uint32_t)(nwords * 8);
    out->last_tick = tick > out->last_tick ? tick : out->last_tick;
    out->latest_tick = tick > out->latest_tick ? tick : out->latest_tick;
    out->event_count++;
    return words;
}

void tbed_block_out_note_begin(struct block_out *out, uint64_t begin_tick)
{
    if (begin_tick < out->least_begin_tick)
        out->least_begin_tick = begin_tick;
}

bool tbed_block_out_is_deep(const struct block_out *out)
{
    return out->has_block && out->stack.count <= out->stored_from;
}

void tbed_block_out_end_span(struct block_out *out, uint64_t tick)
{
    struct out_span span = out->stack.items[out->stack.count - 1];
    if (!out->has_block) /* a new block stores the innermost spans */
        begin_block(out, tick);
    bool is_deep = tbed_block_out_is_deep(out);
    size_t nwords = is_deep ? 3 : 1;
    uint64_t *words =
        tbed_block_out_put(out, tick, is_deep ? TBED_TAG_EXTENDED : TBED_TAG_END, span.id, nwords);
    if (words != NULL && nwords == 3) {
        words[1] = tbed_word_order(
            tbed_extended_head_make((struct tbed_extended_head){.type = TBED_EXT_END, .nwords = 2}));
        words[2] = tbed_word_order(span.begin_tick);
    }
    out->stack.count--;
}

void tbed_block_out_close(struct block_out *out, uint64_t last_tick)
{
    if (out->file->status == TBED_OK && !out->has_block && out->stack.count > 0)
        begin_block(out, last_tick);
    if (out->has_block)
        end_block(out, last_tick);
}
