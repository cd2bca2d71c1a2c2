/*
 * A cursor: the events of one stream, block after block.
 *
 * A sealed block has its size in its header. An unsealed one ends at its first zero word. The cursor waits there,
 * because the writer may append more events, until a later block shows that it will not. That block must have been
 * found before the zero word was loaded; writer/tests/models/append_model_test.c has a model of this.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/events/cursor.h"
#include "format/base/sized.h"

#include "reader/core/events/decode.h"
#include "reader/core/file/gateway.h"

#include <stdlib.h>

void tbed_cursor_init(struct tbed_cursor *cursor, const struct tbed_reader *reader, uint32_t stream)
{
    *cursor = (struct tbed_cursor){.reader = reader,
                                   .stream = stream,
                                   .is_sealed = true,
                                   .window_last = UINT64_MAX,
                                   .end_sequence = UINT64_MAX};
}

enum tbed_status tbed_cursor_open(struct tbed_reader *reader, uint32_t stream,
                                  struct tbed_cursor **cursor_ret)
{
    struct tbed_cursor *cursor = malloc(sizeof *cursor);
    if (cursor == NULL)
        return TBED_ERR_MEMORY;
    tbed_cursor_init(cursor, reader, stream);
    *cursor_ret = cursor;
    return TBED_OK;
}

void tbed_cursor_release(struct tbed_cursor *cursor)
{
    free(cursor->copy);
    cursor->copy = NULL;
    tbed_lease_empty(&cursor->lease);
}

void tbed_cursor_close(struct tbed_cursor *cursor)
{
    if (cursor != NULL)
        tbed_cursor_release(cursor);
    free(cursor);
}

uint32_t tbed_cursor_depth(const struct tbed_cursor *cursor)
{
    return cursor->depth;
}

/* The stream's first entry whose sequence is not below 'sequence'; NULL: none. */
static struct tbed_indexed *entry_from(const struct tbed_cursor *cursor, uint64_t sequence)
{
    const struct tbed_index *index = &cursor->reader->index;
    struct tbed_stream_range range = tbed_index_stream(index, cursor->stream);
    size_t low = range.first, high = range.first + range.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tbed_index_at(index, TBED_BLOCK_EVENTS, middle)->sequence < sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low < range.first + range.count ? tbed_index_at(index, TBED_BLOCK_EVENTS, low) : NULL;
}

static void enter_block(struct tbed_cursor *cursor, const struct tbed_block *block)
{
    cursor->at = block->words;
    cursor->end = block->words_end;
    cursor->base = block->first_tick;
    cursor->offset_bias = block->offset - (uintptr_t)block->bytes;
    cursor->depth = block->depth; /* replaces any earlier count */
    cursor->cell = block->cell;
    cursor->is_sealed = block->sealed;
    if (cursor->entered != NULL)
        cursor->entered(cursor->entered_context, block);
}

/* In a live ring the block's page may be reused, so events are read from a copy made while the block was intact. */
static enum tbed_status copy_block(struct tbed_cursor *cursor, struct tbed_block *block)
{
    cursor->origin = *block;
    cursor->at = cursor->end; /* the previous copy is overwritten */
    if (cursor->copy == NULL)
        cursor->copy = malloc(cursor->reader->header.page_nbytes);
    if (cursor->copy == NULL)
        return TBED_ERR_MEMORY;
    if (!tbed_block_copy(cursor->reader, block, cursor->copy))
        return TBED_ERR_CHANGED;
    if (block->sealed)
        cursor->origin.bytes = NULL;
    return TBED_OK;
}

/* Fetches what was recorded into a block since it was copied. False: nothing, or the block is gone. */
static bool copy_more(struct tbed_cursor *cursor)
{
    size_t at = (size_t)(cursor->at - cursor->copy);
    if (cursor->origin.bytes == NULL || cursor->at == cursor->end ||
        !tbed_block_has_more(&cursor->origin, at))
        return false;
    if (tbed_block_copy_more(cursor->reader, &cursor->origin, cursor->copy, at))
        return true;
    cursor->origin.bytes = NULL;
    cursor->at = cursor->end;
    return false;
}

/*
 * By its header alone, is nothing in the block inside the window? No tick is later than its last one, and none is
 * earlier than its first, except that given ticks may go back, modulo 2^64.
 */
static bool is_outside(const struct tbed_cursor *cursor, struct tbed_indexed *entry)
{
    bool is_given = cursor->reader->header.anchor_monotonic_ns == 0;
    if (entry->first_tick > cursor->window_last && !is_given)
        return true;
    return cursor->window_first > 0 && tbed_indexed_ends_before(cursor->reader, entry, cursor->window_first);
}

/* What the last block's events point to can still be read when the next block is entered. */
static enum tbed_status next_held(struct tbed_cursor *cursor)
{
    struct tbed_indexed *entry;
    struct tbed_block block;
    while ((entry = entry_from(cursor, cursor->next_sequence)) != NULL) {
        if (entry->sequence >= cursor->end_sequence)
            return TBED_END;
        cursor->next_sequence = (uint64_t)entry->sequence + 1;
        if (is_outside(cursor, entry) ||
            tbed_gateway(cursor->reader, TBED_BLOCK_EVENTS, entry, false, &block) != TBED_OK)
            continue;
        cursor->origin.bytes = NULL;
        enum tbed_status status =
            tbed_reader_is_reused(cursor->reader) ? copy_block(cursor, &block) : TBED_OK;
        if (status == TBED_OK)
            enter_block(cursor, &block);
        if (status == TBED_ERR_MEMORY) /* the block stays the next one */
            cursor->next_sequence = entry->sequence;
        if (status != TBED_ERR_CHANGED)
            return status;
    }
    return TBED_END;
}

/* Moves to the next readable block. END: there is none now, and the cursor stays where it is; ERR_MEMORY. */
static enum tbed_status next_block(struct tbed_cursor *cursor)
{
    struct tbed_lease before = cursor->lease;
    tbed_lease_begin(&cursor->lease, cursor->reader->map.packed);
    enum tbed_status status = next_held(cursor);
    tbed_lease_leave(&cursor->lease);
    if (status != TBED_OK) {
        tbed_lease_empty(&cursor->lease);
        cursor->lease = before;
    } else {
        tbed_lease_empty(&before);
    }
    return status;
}

/* Reports the damage and skips the rest of the block. */
static void skip_damage(struct tbed_cursor *cursor, enum tbed_status status, uint64_t word)
{
    tbed_damage_tell(cursor->reader, status, (uintptr_t)cursor->at + cursor->offset_bias, cursor->cell, word);
    cursor->at = cursor->end;
}

/* Handles a zero word or the block's end. END: there are no more events; ERR_MEMORY. */
static enum tbed_status pass_end(struct tbed_cursor *cursor)
{
    if (cursor->at != cursor->end && cursor->is_sealed)
        skip_damage(cursor, TBED_ERR_EVENT_ZERO, 0);
    return copy_more(cursor) ? TBED_OK : next_block(cursor);
}

static void pass_time(struct tbed_cursor *cursor, uint64_t word)
{
    if (!tbed_event_time_is_allowed(word)) {
        skip_damage(cursor, TBED_ERR_EVENT_TIME, word);
        return;
    }
    cursor->base += tbed_event_time_ticks(word);
    cursor->at++;
}

static void count_depth(struct tbed_cursor *cursor, const struct tbed_event *event)
{
    if (event->type == TBED_EVENT_BEGIN)
        cursor->depth++;
    else if (event->type == TBED_EVENT_END && cursor->depth > event->of.end.inside)
        cursor->depth--;
}

/* Handles everything except BEGIN, END, INSTANT and TIME. False: damage; '*event_ret' is untouched. */
static bool next_long(struct tbed_cursor *cursor, uint64_t word, struct tbed_event *event_ret)
{
    struct tbed_event event = {
        .stream = cursor->stream,
        .id = tbed_event_id(word),
        .tick = cursor->base + tbed_event_delta(word),
        .offset = (uintptr_t)cursor->at + cursor->offset_bias,
    };
    size_t nwords = 0;
    enum tbed_status status = tbed_decode_long(word, cursor->at, cursor->end, &event, &nwords);
    if (status != TBED_OK) {
        skip_damage(cursor, status, word);
        return false;
    }
    cursor->at += nwords;
    count_depth(cursor, &event);
    *event_ret = event;
    return true;
}

/* For a caller compiled with other headers; a function of its own, so that the usual case needs no stack space. */
static __attribute__((noinline)) enum tbed_status
next_resized(struct tbed_cursor *cursor, struct tbed_event *event_ret, size_t event_nbytes)
{
    struct tbed_event event;
    enum tbed_status status = tbed_cursor_next_sized(cursor, &event, sizeof event);
    if (status == TBED_OK)
        tbed_sized_give(event_ret, event_nbytes, &event, sizeof event);
    return status;
}

enum tbed_status tbed_cursor_next_sized(struct tbed_cursor *cursor, struct tbed_event *event_ret,
                                        size_t event_nbytes)
{
    if (event_nbytes != sizeof *event_ret)
        return next_resized(cursor, event_ret, event_nbytes);
    for (;;) {
        uint64_t word = cursor->at == cursor->end ? 0 : tbed_word_load(cursor->at);
        if (word == 0) {
            enum tbed_status status = pass_end(cursor);
            if (status != TBED_OK)
                return status;
            continue;
        }
        uint32_t tag = tbed_event_tag(word);
        if (tag == TBED_TAG_TIME) {
            pass_time(cursor, word);
            continue;
        }
        if (tag < TBED_TAG_BEGIN || tag > TBED_TAG_INSTANT) {
            if (next_long(cursor, word, event_ret))
                return TBED_OK;
            continue;
        }
        event_ret->type = (enum tbed_event_type)(tag - TBED_TAG_BEGIN + TBED_EVENT_BEGIN);
        event_ret->stream = cursor->stream;
        event_ret->id = tbed_event_id(word);
        event_ret->tick = cursor->base + tbed_event_delta(word);
        event_ret->extended = false;
        event_ret->category = TBED_ID_INVALID;
        event_ret->of.end.begin_tick = 0;
        event_ret->of.end.end_tick = event_ret->tick;
        event_ret->of.end.leaves = false;
        event_ret->of.end.inside = 0;
        event_ret->arguments = (struct tbed_arguments){NULL, 0, 0};
        event_ret->argument_count = 0;
        event_ret->offset = (uintptr_t)cursor->at + cursor->offset_bias;
        cursor->at++;
        count_depth(cursor, event_ret);
        return TBED_OK;
    }
}
_Static_assert(TBED_EVENT_END - TBED_EVENT_BEGIN == TBED_TAG_END - TBED_TAG_BEGIN, "types follow the tags");
_Static_assert(TBED_EVENT_INSTANT - TBED_EVENT_BEGIN == TBED_TAG_INSTANT - TBED_TAG_BEGIN,
               "types follow the tags");

void tbed_cursor_limit(struct tbed_cursor *cursor, uint64_t first_tick, uint64_t last_tick)
{
    cursor->window_first = first_tick;
    cursor->window_last = last_tick;
}

void tbed_cursor_seek(struct tbed_cursor *cursor, uint64_t tick)
{
    const struct tbed_index *index = &cursor->reader->index;
    struct tbed_stream_range range = tbed_index_stream(index, cursor->stream);
    size_t low = range.first, high = range.first + range.count;
    while (low < high) { /* the first block that begins at or after the tick */
        size_t middle = low + (high - low) / 2;
        if (tbed_index_at(index, TBED_BLOCK_EVENTS, middle)->first_tick < tick)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > range.first) /* the block before it may extend to the tick, and so may others before that */
        low--;
    while (low > range.first &&
           !tbed_indexed_ends_before(cursor->reader, tbed_index_at(index, TBED_BLOCK_EVENTS, low - 1), tick))
        low--;
    struct tbed_cursor old = *cursor;
    tbed_cursor_init(cursor, old.reader, old.stream);
    tbed_cursor_limit(cursor, old.window_first, old.window_last);
    cursor->copy = old.copy;
    cursor->lease = old.lease;
    cursor->entered = old.entered;
    cursor->entered_context = old.entered_context;
    if (range.count > 0)
        cursor->next_sequence = tbed_index_at(index, TBED_BLOCK_EVENTS, low)->sequence;
}
