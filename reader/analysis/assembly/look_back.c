/*
 * Where spans began; see look_back.h.
 *
 * A span began in the latest earlier block in which, at some time, no more spans were open than those around it.
 * If two spans end in a block, the second has fewer around it, so the search continues from the current
 * position.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/assembly/look_back.h"

#include "format/event.h"
#include "reader/analysis/assembly/neighbours.h"

#include <stdlib.h>

/* In blocks; the begin of a span is not found further back than that. */
#define LOOK_BACK_MAX 65536u

void tbed_look_back_free(struct look_back *back)
{
    free(back->spans);
}

void tbed_look_back_from(struct look_back *back, const struct tbed_block *block, size_t index)
{
    back->block = *block;
    back->block_index = back->index = index;
}

/* One span for each word and each stored span is enough. */
static bool have_room(struct look_back *back, const struct tbed_block *block)
{
    size_t room = (size_t)block->nbytes / 8 + block->stored_count;
    if (room <= back->span_room)
        return true;
    struct before_span *spans = realloc(back->spans, room * sizeof *spans);
    if (spans == NULL)
        return false;
    back->spans = spans;
    back->span_room = room;
    return true;
}

/* By how much an event changes the number of open spans: 1, -1 or 0. A begin's category is stored in '*head'. */
static int step_of(uint64_t word, const uint64_t *at, struct tbed_extended_head *head)
{
    uint32_t tag = tbed_event_tag(word);
    *head = (struct tbed_extended_head){0};
    if (tag == TBED_TAG_EXTENDED)
        *head = tbed_extended_head_load(tbed_word_load(at + 1));
    if (tag == TBED_TAG_BEGIN || head->type == TBED_EXT_BEGIN)
        return 1;
    return tag == TBED_TAG_END || tbed_extended_ends_span(head->type) ? -1 : 0;
}

static void load_stored(struct look_back *back, const struct tbed_block *block)
{
    back->replayed_depth = block->depth - block->stored_count;
    back->span_count = block->stored_count;
    for (uint32_t i = 0; i < block->stored_count; i++) {
        back->spans[i].category = TBED_ID_INVALID;
        tbed_block_open_span(block, i, &back->spans[i].begin_tick, &back->spans[i].id);
    }
}

/* Fills in the spans that are open at the block's end. Returns the fewest spans that were open in it. */
static uint64_t replay_block(struct look_back *back, const struct tbed_block *block)
{
    uint64_t least = block->depth, base = block->first_tick;
    load_stored(back, block);
    for (const uint64_t *at = block->words; at < block->words_end;) {
        uint64_t word = tbed_word_load(at);
        struct tbed_extended_head head;
        size_t nwords;
        if (word == 0 || tbed_event_check(word, at, block->words_end, &nwords) != TBED_OK)
            break;
        int step = step_of(word, at, &head);
        if (tbed_event_tag(word) == TBED_TAG_TIME)
            base += tbed_event_time_ticks(word);
        else if (step > 0)
            back->spans[back->span_count++] =
                (struct before_span){base + tbed_event_delta(word), tbed_event_id(word),
                                     head.aux == 0 || head.aux > TBED_ID_MAX ? TBED_ID_INVALID : head.aux};
        else if (step < 0 && back->span_count > 0)
            back->span_count--;
        else if (step < 0 && back->replayed_depth > 0)
            back->replayed_depth--;
        uint64_t depth = back->replayed_depth + back->span_count;
        least = depth < least ? depth : least;
        at += nwords;
    }
    return least;
}

/* False: no memory. */
static bool replay(struct look_back *back, uint64_t *least_ret)
{
    if (!have_room(back, &back->block))
        return false;
    *least_ret = replay_block(back, &back->block);
    uint32_t kept = *least_ret < UINT32_MAX ? (uint32_t)*least_ret + 1 : UINT32_MAX;
    __atomic_store_n(&back->least_depths[back->block_index], kept, __ATOMIC_RELAXED);
    back->replayed = back->block_index + 1;
    return true;
}

/* True if the span began before the current block. */
static bool is_too_deep(struct look_back *back, uint64_t depth)
{
    uint64_t least = 0;
    if (back->block_index == back->index)
        return true;
    uint32_t known = __atomic_load_n(&back->least_depths[back->block_index], __ATOMIC_RELAXED);
    if (known != 0)
        return known - 1 > depth;
    return replay(back, &least) && least > depth;
}

/*
 * Blocks are missing between the current one and 'after': is the span at that depth one that was open before
 * them? The rule is that of tbed_open_stack_kept(), which the assembler uses.
 */
static bool outlasts_gap(struct look_back *back, const struct tbed_block *after, uint64_t depth)
{
    uint64_t least, begin_tick, stored_depth = after->depth - after->stored_count;
    uint32_t id;
    if (back->replayed != back->block_index + 1 && !replay(back, &least))
        return false;
    uint64_t open_count = back->replayed_depth + back->span_count;
    if (depth >= open_count || open_count < stored_depth)
        return false;
    if (depth < stored_depth || depth < back->replayed_depth)
        return true;
    const struct before_span *span = &back->spans[depth - back->replayed_depth];
    tbed_block_open_span(after, (uint32_t)(depth - stored_depth), &begin_tick, &id);
    return begin_tick == span->begin_tick && id == span->id;
}

/*
 * Moves back one block of the stream. False: earlier blocks have no information on the span; the current block
 * stays.
 */
static bool go_back(struct look_back *back, uint64_t depth)
{
    struct tbed_block after = back->block;
    size_t after_index = back->block_index;
    if (!tbed_block_previous(back->reader, &back->block, &back->block_index))
        return false;
    bool is_next = back->block.sequence + 1 == after.sequence;
    if (back->index - back->block_index <= LOOK_BACK_MAX && (is_next || outlasts_gap(back, &after, depth)))
        return true;
    back->block = after;
    back->block_index = after_index;
    return false;
}

bool tbed_look_back(struct look_back *back, uint64_t depth, struct before_span *span_ret)
{
    uint64_t least;
    while (is_too_deep(back, depth))
        if (!go_back(back, depth))
            return false;
    if (back->replayed != back->block_index + 1 && !replay(back, &least))
        return false;
    uint64_t place = depth - back->replayed_depth;
    if (depth < back->replayed_depth || place >= back->span_count)
        return false;
    *span_ret = back->spans[place];
    return true;
}
