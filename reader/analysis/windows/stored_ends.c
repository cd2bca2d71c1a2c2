/*
 * The ends of stored spans; see stored_ends.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/windows/stored_ends.h"

#include "format/event.h"
#include "reader/analysis/assembly/block_spans.h"
#include "reader/core/events/decode.h"

#include <stdlib.h>

/* The position in the block. */
struct search {
    const struct tbed_block *block;
    struct stored_end *spans;
    uint32_t open_count;  /* stored spans that have not ended */
    uint64_t begun_count; /* spans that began in the block and are open */
    uint64_t base, last_tick;
};

void tbed_stored_ends_free(struct stored_ends *ends)
{
    tbed_vector_free(&ends->spans.vector);
    tbed_stable_block_free(&ends->stable);
}

static inline void end_one(struct search *search, uint64_t tick, bool never_ended)
{
    if (search->begun_count > 0)
        search->begun_count--;
    else if (search->open_count > 0)
        search->spans[--search->open_count] =
            (struct stored_end){.tick = tick, .never_ended = never_ended, .has_ended = true};
    while (search->open_count > 0 && search->spans[search->open_count - 1].has_ended)
        search->open_count--;
}

/* Ends the span that has 'inside' open ones inside it. */
static void end_outer(struct search *search, uint64_t tick, bool never_ended, uint64_t inside)
{
    uint32_t at = search->open_count;
    if (inside == 0) {
        end_one(search, tick, never_ended);
        return;
    }
    if (inside < search->begun_count) {
        search->begun_count--;
        return;
    }
    for (inside -= search->begun_count; at > 0; at--)
        if (!search->spans[at - 1].has_ended && inside-- == 0)
            break;
    if (at == 0)
        return;
    search->spans[at - 1] = (struct stored_end){.tick = tick, .never_ended = never_ended, .has_ended = true};
    while (search->open_count > 0 && search->spans[search->open_count - 1].has_ended)
        search->open_count--;
}

/* Takes an event with more than a word. 0: it is damaged. */
static size_t take_long(struct search *search, uint64_t word, const uint64_t *at)
{
    struct tbed_event event = {.tick = search->base + tbed_event_delta(word)};
    size_t nwords;
    if (tbed_decode_long(word, at, search->block->words_end, &event, &nwords) != TBED_OK)
        return 0;
    search->last_tick = event.tick > search->last_tick ? event.tick : search->last_tick;
    search->begun_count += event.type == TBED_EVENT_BEGIN;
    if (event.type == TBED_EVENT_END && event.of.end.leaves)
        end_outer(search, event.of.end.end_tick, event.of.end.end_tick == 0, event.of.end.inside);
    else if (event.type == TBED_EVENT_END)
        end_one(search, event.tick, false);
    return nwords;
}

/* Takes the event at 'at' and returns how many words it has. 0: the block ends here. */
static inline size_t take_word(struct search *search, uint64_t word, const uint64_t *at)
{
    uint32_t tag = tbed_event_tag(word);
    if (tag >= TBED_TAG_BEGIN && tag <= TBED_TAG_INSTANT) {
        uint64_t tick = search->base + tbed_event_delta(word);
        search->last_tick = tick > search->last_tick ? tick : search->last_tick;
        search->begun_count += tag == TBED_TAG_BEGIN;
        if (tag == TBED_TAG_END)
            end_one(search, tick, false);
        return 1;
    }
    if (tag != TBED_TAG_TIME)
        return take_long(search, word, at);
    search->base += tbed_event_time_ticks(word);
    return tbed_event_time_is_allowed(word) ? 1 : 0;
}

enum tbed_status tbed_stored_ends_find(struct stored_ends *ends, const struct tbed_reader *reader,
                                       size_t index, uint32_t kept_count)
{
    struct tbed_block block;
    enum tbed_status status = tbed_block_get_stable(reader, index, &ends->stable, &block);
    ends->spans.count = 0;
    if (status != TBED_OK)
        return status;
    if (block.stored_count > 0 && TBED_VECTOR_EXTEND(&ends->spans, block.stored_count) == NULL)
        return TBED_ERR_MEMORY;
    for (uint32_t i = 0; i < block.stored_count; i++)
        ends->spans.items[i] = (struct stored_end){.tick = 0};
    struct search search = {.block = &block,
                            .spans = ends->spans.items,
                            .open_count = block.stored_count,
                            .base = block.first_tick,
                            .last_tick = block.first_tick};
    for (const uint64_t *at = block.words; at < block.words_end && search.open_count > kept_count;) {
        uint64_t word = tbed_word_load(at);
        size_t nwords = word != 0 ? take_word(&search, word, at) : 0;
        if (nwords == 0)
            break;
        at += nwords;
    }
    for (uint32_t i = 0; i < search.open_count; i++)
        if (!ends->spans.items[i].has_ended)
            ends->spans.items[i] = (struct stored_end){.tick = search.last_tick, .is_left = true};
    return TBED_OK;
}
