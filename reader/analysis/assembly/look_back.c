/*
 * Where spans began; see look_back.h.
 *
 * A span began in the latest earlier block in which, at some time, no more spans were open than those around it.
 * If two spans end in a block, the second has fewer around it, so the search continues from the current
 * position.
 *
 * A LEAVE may remove a span that has others inside it, whose numbers of spans around them change. Before such an event, a
 * span is found by the tick of its begin.
 *
 * Where events are missing between two blocks, only spans that the second one stores are known to have been open
 * before them: the rule of tbed_open_stack_enter(), which the assembler uses.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/assembly/look_back.h"

#include "format/event.h"
#include "reader/analysis/assembly/neighbours.h"
#include "reader/analysis/assembly/open_stack.h"
#include "reader/core/file/reader_state.h"

#include <stdlib.h>
#include <string.h>

/* In blocks; the begin of a span is not found further back than that. */
#define LOOK_BACK_MAX 65536u

/*
 * A passage: the fewest spans that were open in the block, + 1, whether the next one continues it, and whether a span left
 * the stack before others inside it.
 */
#define PASSAGE_CONTINUES 0x80000000u
#define PASSAGE_CROSSES   0x40000000u
#define PASSAGE_LEAST_MAX 0x3FFFFFFEu

void tbed_look_back_free(struct look_back *back)
{
    free(back->spans);
    tbed_lease_empty(&back->lease);
}

void tbed_look_back_from(struct look_back *back, const struct tbed_block *block, size_t index)
{
    tbed_lease_empty(&back->lease);
    back->block = *block;
    back->block_index = back->index = index;
    back->forgotten_depth = 0;
    back->crosses = false;
    if (back->reader->map.packed != NULL) /* what 'spans' point at may have been given back */
        back->replayed = 0;
}

/* One span for each word and each stored span is enough. */
static bool have_room(struct look_back *back, const struct tbed_block *block)
{
    size_t room = (size_t)block->nbytes / 8 + block->stored_count;
    if (room <= back->span_room)
        return true;
    struct before_span *spans = realloc(back->spans, room * sizeof *spans);
    back->is_out_of_memory |= spans == NULL;
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
    if (tag == TBED_TAG_BEGIN || tbed_extended_begins_span(head->type))
        return 1;
    return tag == TBED_TAG_END || tbed_extended_ends_span(head->type) ? -1 : 0;
}

static void load_stored(struct look_back *back, const struct tbed_block *block)
{
    back->replayed_depth = tbed_block_stored_depth(block);
    back->span_count = block->stored_count;
    for (uint32_t i = 0; i < block->stored_count; i++) {
        back->spans[i] = (struct before_span){.category = TBED_ID_INVALID,
                                              .is_inherited = tbed_block_span_is_inherited(block, i)};
        tbed_block_open_span(block, i, &back->spans[i].begin_tick, &back->spans[i].id);
    }
}

/* A span leaves the stack that has 'inside' others inside it. */
static void remove_span(struct look_back *back, uint32_t inside)
{
    back->replay_crosses |= inside > 0;
    if (inside < back->span_count) {
        struct before_span *place = &back->spans[back->span_count - 1 - inside];
        memmove(place, place + 1, inside * sizeof *place);
        back->span_count--;
    } else if (back->replayed_depth > inside - back->span_count) {
        back->replayed_depth--;
    }
}

/* Fills in the spans that are open at the block's end. Returns the fewest spans that were open in it. */
static uint64_t replay_block(struct look_back *back, const struct tbed_block *block)
{
    back->replay_crosses = false;
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
            back->spans[back->span_count++] = (struct before_span){
                .begin_tick = base + tbed_event_delta(word),
                .id = tbed_event_id(word),
                .category = head.aux == 0 || head.aux > TBED_ID_MAX ? TBED_ID_INVALID : head.aux,
                .nwords = (uint32_t)nwords,
                .at = head.argument_count > 0 ? at : NULL};
        else if (step < 0)
            remove_span(back, head.type == TBED_EXT_LEAVE ? head.aux : 0);
        uint64_t depth = back->replayed_depth + back->span_count;
        least = depth < least ? depth : least;
        at += nwords;
    }
    return least;
}

/* Sets 'spans' to those at the end of the current block. False: no memory. */
static bool replay(struct look_back *back, uint64_t *least_ret)
{
    if (!have_room(back, &back->block))
        return false;
    *least_ret = replay_block(back, &back->block);
    back->replayed = back->block_index + 1;
    return true;
}

static bool is_replayed(struct look_back *back)
{
    uint64_t least;
    return back->replayed == back->block_index + 1 || replay(back, &least);
}

/* That of the current block, the one before 'after'. 0: no memory. */
static uint32_t find_passage(struct look_back *back, const struct tbed_block *after)
{
    uint32_t *place = &back->passages[back->block_index];
    uint32_t passage = __atomic_load_n(place, __ATOMIC_RELAXED);
    uint64_t least;
    if (passage != 0 || !replay(back, &least))
        return passage;
    passage = least < PASSAGE_LEAST_MAX ? (uint32_t)least + 1 : PASSAGE_LEAST_MAX + 1;
    if (after->sequence == back->block.sequence + 1 &&
        after->depth == back->replayed_depth + back->span_count)
        passage |= PASSAGE_CONTINUES;
    passage |= back->replay_crosses ? PASSAGE_CROSSES : 0;
    __atomic_store_n(place, passage, __ATOMIC_RELAXED);
    return passage;
}

/* The block before it, which the lease then holds. */
static bool go_to_previous(struct look_back *back)
{
    tbed_lease_begin(&back->lease, back->reader->map.packed);
    bool is_there = tbed_block_previous(back->reader, &back->block, &back->block_index);
    tbed_lease_leave(&back->lease);
    return is_there;
}

/*
 * Moves back one block of the stream. False: what earlier blocks say about a span at that depth does not apply; the
 * current block stays.
 */
static bool go_back(struct look_back *back, uint64_t depth)
{
    struct tbed_block after = back->block;
    size_t after_index = back->block_index;
    struct tbed_lease lease = back->lease;
    bool is_there = go_to_previous(back);
    uint32_t passage = is_there ? find_passage(back, &after) : 0;
    uint64_t forgotten = passage & PASSAGE_CONTINUES ? 0 : tbed_block_stored_depth(&after);
    if (passage != 0 && depth >= forgotten && back->index - back->block_index <= LOOK_BACK_MAX) {
        if (forgotten > back->forgotten_depth)
            back->forgotten_depth = forgotten;
        tbed_lease_empty(&lease);
        back->crosses |= (passage & PASSAGE_CROSSES) != 0;
        return true;
    }
    tbed_lease_empty(&back->lease);
    back->lease = lease;
    back->block = after;
    back->block_index = after_index;
    return false;
}

/* The fewest spans that were open in the current block, which go_back() found. */
static uint64_t least_of(const struct look_back *back)
{
    uint32_t passage = __atomic_load_n(&back->passages[back->block_index], __ATOMIC_RELAXED);
    return (passage & ~(PASSAGE_CONTINUES | PASSAGE_CROSSES)) - 1;
}

/* ---- By tick ---- */

/* The last block before the one whose start is looked up that begins at that tick or earlier. False: there is none. */
static bool block_at(const struct look_back *back, uint64_t tick, size_t *index_ret)
{
    size_t first, count;
    tbed_stream_blocks(back->reader, back->block.stream, &first, &count);
    if (back->index < first || back->index - first > count)
        return false;
    size_t low = first, high = back->index;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tbed_index_at(&back->reader->index, TBED_BLOCK_EVENTS, middle)->first_tick <= tick)
            low = middle + 1;
        else
            high = middle;
    }
    *index_ret = low - 1;
    return low > first;
}

static bool go_to(struct look_back *back, size_t index)
{
    struct tbed_block block;
    tbed_lease_empty(&back->lease);
    tbed_lease_begin(&back->lease, back->reader->map.packed);
    bool is_there =
        tbed_event_block_get(back->reader, index, &block) == TBED_OK && block.stream == back->block.stream;
    tbed_lease_leave(&back->lease);
    if (!is_there)
        return false;
    back->block = block;
    back->block_index = index;
    return is_replayed(back);
}

static const struct before_span *find_by_tick(struct look_back *back, uint64_t begin_tick, uint32_t id)
{
    size_t index;
    bool is_there = block_at(back, begin_tick, &index);
    for (unsigned i = 0; is_there && i < 2; i++) { /* a block may begin at the last tick of the one before */
        if (!go_to(back, index))
            return NULL;
        for (size_t at = back->span_count; at-- > 0;)
            if (back->spans[at].begin_tick == begin_tick && back->spans[at].id == id)
                return &back->spans[at];
        is_there = back->block.first_tick == begin_tick && index-- > 0;
    }
    return NULL;
}

/* ---- By depth ---- */

const struct before_span *tbed_look_back_begin(struct look_back *back, uint64_t depth, uint64_t begin_tick,
                                               uint32_t id)
{
    if (back->crosses)
        return find_by_tick(back, begin_tick, id);
    if (depth < back->forgotten_depth)
        return NULL;
    while (back->block_index == back->index || least_of(back) > depth) {
        if (!go_back(back, depth))
            return NULL;
        if (back->crosses)
            return find_by_tick(back, begin_tick, id);
    }
    if (!is_replayed(back) || depth < back->replayed_depth ||
        depth - back->replayed_depth >= back->span_count)
        return NULL;
    const struct before_span *span = &back->spans[depth - back->replayed_depth];
    return span->begin_tick == begin_tick && span->id == id ? span : NULL;
}

bool tbed_look_back_deeper(struct look_back *back, uint64_t depth, const struct before_span **spans_ret,
                           size_t *count_ret)
{
    do
        if (!go_back(back, depth - 1) || back->crosses)
            return false;
    while (tbed_block_stored_depth(&back->block) >= depth && least_of(back) >= depth);
    if (!is_replayed(back) || back->replayed_depth >= depth ||
        depth - back->replayed_depth > back->span_count)
        return false;
    *spans_ret = back->spans;
    *count_ret = (size_t)(depth - back->replayed_depth);
    return true;
}
