/*
 * The spans that end in one event block: whole ones, and begins with their ends. A block knows the spans that were
 * begun before it, so it is read by itself.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/stacks/stacks_parts.h"

#include "format/event.h"
#include "format/layout.h"
#include "reader/core/events/decode.h"
#include "reader/core/file/gateway.h"

#include <stdlib.h>

/* Where the reading stands. */
struct reading {
    struct stack_spans *spans;
    const struct tbed_reader *reader;
    struct stack_open *top; /* behind the innermost open span that is known */
    uint64_t deep;          /* open below those */
    uint64_t base;
};

void tbed_stack_spans_free(struct stack_spans *spans)
{
    free(spans->items);
    free(spans->open);
    free(spans->copy);
    tbed_scope_formats_free(&spans->formats);
}

/* An event takes a word or more, so this is enough for any block of that size. */
static bool have_room(struct stack_spans *spans, const struct tbed_block *block)
{
    size_t room = (size_t)block->nbytes / 8, open_room = room + block->stored_count;
    if (room > spans->room) {
        struct stack_span *items = realloc(spans->items, room * sizeof *items);
        if (items == NULL)
            return false;
        spans->items = items;
        spans->room = room;
    }
    if (open_room > spans->open_room) {
        struct stack_open *open = realloc(spans->open, open_room * sizeof *open);
        if (open == NULL)
            return false;
        spans->open = open;
        spans->open_room = open_room;
    }
    return true;
}

/* A live ring gives pages to others while they are read: what counts is what stood there as one. */
static enum tbed_status copy_block(struct stack_spans *spans, struct tbed_block *block)
{
    uint64_t *copy = realloc(spans->copy, block->nbytes);
    if (copy == NULL)
        return TBED_ERR_MEMORY;
    spans->copy = copy;
    return tbed_block_copy(block, copy) ? TBED_OK : TBED_ERR_CHANGED;
}

static void add_span(struct stack_spans *spans, uint32_t id, uint64_t begin_tick, uint64_t end_tick)
{
    spans->items[spans->count++] = (struct stack_span){begin_tick, end_tick, id};
}

static void begin_span(struct reading *reading, uint64_t tick)
{
    *reading->top++ = (struct stack_open){tick, true};
}

/* 'begin_tick' is what the event itself says; 0: nothing. */
static void end_span(struct reading *reading, uint32_t id, uint64_t begin_tick, uint64_t tick)
{
    struct stack_open open = {begin_tick, begin_tick != 0};
    if (reading->top > reading->spans->open) {
        reading->top--;
        open = reading->top->is_known ? *reading->top : open;
    } else if (reading->deep > 0)
        reading->deep--;
    if (open.is_known)
        add_span(reading->spans, id, open.begin_tick, tick);
    else
        reading->spans->unknown_count++;
}

static void take_event(struct reading *reading, const struct tbed_event *event)
{
    switch (event->type) {
    case TBED_EVENT_BEGIN:
        begin_span(reading, event->tick);
        break;
    case TBED_EVENT_END:
        reading->spans->has_scopes |= event->of.end.leaves;
        end_span(reading, event->id, event->of.end.begin_tick, event->tick);
        break;
    case TBED_EVENT_MESSAGE:
        reading->spans->has_scopes |=
            tbed_scope_message(&reading->spans->formats, reading->reader, event) != SCOPE_MESSAGE_OTHER;
        reading->spans->other_count++;
        break;
    case TBED_EVENT_SPAN:
        add_span(reading->spans, event->id, event->of.span.begin_tick, event->tick);
        break;
    default:
        reading->spans->other_count++;
    }
}

/* Takes the event at 'at' and gives its words; 0 where it is damaged. */
static size_t take_word(struct reading *reading, uint64_t word, const uint64_t *at, const uint64_t *end,
                        enum tbed_status *status)
{
    uint64_t tick = reading->base + tbed_event_delta(word);
    struct tbed_event event = {.id = tbed_event_id(word), .tick = tick};
    size_t nwords = 1;
    switch (tbed_event_tag(word)) {
    case TBED_TAG_BEGIN:
        begin_span(reading, tick);
        return 1;
    case TBED_TAG_END:
        end_span(reading, event.id, 0, tick);
        return 1;
    case TBED_TAG_INSTANT:
        reading->spans->other_count++;
        return 1;
    case TBED_TAG_TIME:
        *status = tbed_event_time_is_allowed(word) ? TBED_OK : TBED_ERR_EVENT_TIME;
        reading->base += tbed_event_time_ticks(word);
        return *status == TBED_OK ? 1 : 0;
    default:
        *status = tbed_decode_long(word, at, end, &event, &nwords);
        if (*status != TBED_OK)
            return 0;
        take_event(reading, &event);
        return nwords;
    }
}

static void read_words(struct reading *reading, struct tbed_reader *reader, const struct tbed_block *block)
{
    enum tbed_status status = TBED_OK;
    size_t nwords;
    for (const uint64_t *at = block->words; at < block->words_end; at += nwords) {
        uint64_t word = tbed_word_load(at);
        if (word == 0 && !block->sealed)
            return;
        nwords = 0;
        status = TBED_ERR_EVENT_ZERO;
        if (word != 0)
            nwords = take_word(reading, word, at, block->words_end, &status);
        if (nwords == 0) {
            uint64_t offset = block->offset + (uint64_t)((const uint8_t *)at - block->bytes);
            tbed_damage_tell(reader, status, offset, block->cell, word);
            reading->spans->is_damaged = true;
            return;
        }
    }
}

enum tbed_status tbed_stack_spans_read(struct stack_spans *spans, struct tbed_reader *reader, size_t index,
                                       bool is_reused)
{
    struct tbed_block block;
    spans->count = 0;
    spans->unknown_count = spans->open_count = spans->other_count = 0;
    spans->is_damaged = spans->has_scopes = false;
    enum tbed_status status = tbed_event_block_get(reader, index, &block);
    if (status == TBED_OK && is_reused)
        status = copy_block(spans, &block);
    if (status == TBED_OK && !have_room(spans, &block))
        status = TBED_ERR_MEMORY;
    if (status != TBED_OK)
        return status;
    struct reading reading = {.spans = spans, .reader = reader, .top = spans->open, .base = block.first_tick};
    reading.deep = block.depth - block.stored_count;
    for (uint32_t i = 0; i < block.stored_count; i++, reading.top++) {
        uint32_t id;
        tbed_block_open_span(&block, i, &reading.top->begin_tick, &id);
        reading.top->is_known = reading.top->begin_tick != 0;
    }
    read_words(&reading, reader, &block);
    spans->open_count = reading.deep + (uint64_t)(reading.top - spans->open);
    return spans->formats.is_out_of_memory ? TBED_ERR_MEMORY : TBED_OK;
}
