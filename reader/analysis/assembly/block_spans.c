/*
 * The spans of one block; see block_spans.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/assembly/block_spans.h"

#include "format/argument.h"
#include "format/event.h"
#include "reader/analysis/assembly/neighbours.h"
#include "reader/core/base/workers.h"
#include "reader/core/events/decode.h"
#include "reader/core/file/gateway.h"

#include <stdlib.h>

/* The position in the block being read. */
struct reading {
    struct block_spans *spans;
    const uint64_t *at, *end;
    uint64_t base, previous; /* tick of delta 0; tick of the event before */
    uint64_t last_tick;      /* the latest */
    size_t index;
    struct tbed_event counter; /* take_plain_counter() sets what differs from one to the next */
};

void tbed_block_spans_free(struct block_spans *spans)
{
    free(spans->items);
    free(spans->plain);
    tbed_stable_block_free(&spans->stable);
    tbed_open_stack_free(&spans->stack);
    tbed_look_back_free(&spans->back);
}

void tbed_stable_block_free(struct stable_block *stable)
{
    free(stable->copy);
    tbed_lease_empty(&stable->lease);
}

enum tbed_status tbed_block_get_stable(const struct tbed_reader *reader, size_t index,
                                       struct stable_block *stable, struct tbed_block *block_ret)
{
    tbed_lease_empty(&stable->lease);
    tbed_lease_enter(&stable->lease, reader->map.packed);
    enum tbed_status status = tbed_event_block_get(reader, index, block_ret);
    tbed_lease_leave(&stable->lease);
    if (status != TBED_OK || !tbed_reader_is_reused(reader))
        return status;
    uint64_t *words = realloc(stable->copy, block_ret->nbytes);
    if (words == NULL)
        return TBED_ERR_MEMORY;
    stable->copy = words;
    return tbed_block_copy(reader, block_ret, words) ? TBED_OK : TBED_ERR_CHANGED;
}

static bool have_items(struct block_spans *spans, size_t count)
{
    if (count <= spans->room)
        return true;
    struct block_span *items = realloc(spans->items, count * sizeof *items);
    if (items == NULL)
        return false;
    spans->items = items;
    spans->room = count;
    return true;
}

static bool have_plain(struct block_spans *spans, size_t count)
{
    if (count <= spans->plain_room)
        return true;
    struct plain_begin *plain = realloc(spans->plain, count * sizeof *plain);
    if (plain == NULL)
        return false;
    spans->plain = plain;
    spans->plain_room = count;
    return true;
}

/* An event takes at least a word, and every span of the stack becomes at most one item. */
static bool have_room(struct block_spans *spans, const struct tbed_block *block)
{
    size_t word_count = (size_t)block->nbytes / 8, room = word_count + block->stored_count;
    spans->stack.count = 0;
    spans->stack.deep = 0;
    spans->plain_count = 0;
    return tbed_open_stack_reserve(&spans->stack, room) && have_plain(spans, word_count) &&
           have_items(spans, room);
}

/* ---- Items ---- */

/* Whether an event that begins or ends a span counts, whatever becomes of the span. */
static inline bool counts(const struct block_spans *spans, uint64_t tick)
{
    return spans->filter == NULL || (!spans->asks_spans && tbed_filter_has_tick(spans->filter, tick));
}

/* What ended a span. */
enum ended_by { BY_END, BY_ITSELF, BY_NOTHING };

static void count_ends(struct block_spans *spans, const struct block_span *span, enum ended_by by)
{
    spans->whole_count += by == BY_ITSELF && tbed_filter_has_tick(spans->filter, span->end_tick);
    spans->end_count += by == BY_END && tbed_filter_has_tick(spans->filter, span->end_tick);
    spans->begin_count += by != BY_ITSELF && span->kind != TBED_STEP_UNKNOWN &&
                          tbed_filter_has_tick(spans->filter, span->begin_tick);
}

/* Whether the filter takes the span, which is cut to its window. */
static bool is_taken(struct block_spans *spans, struct block_span *span, enum ended_by by)
{
    struct block_span whole = *span;
    bool is_cut = false;
    if (span->kind == TBED_STEP_UNKNOWN
            ? !tbed_filter_takes_unknown(spans->filter, spans->block.stream, span->id, span->end_tick)
            : !tbed_filter_takes_span(spans->filter, spans->block.stream, span->id, span->category,
                                      &span->begin_tick, &span->end_tick, &is_cut))
        return false;
    if (is_cut)
        span->kind = TBED_STEP_END;
    if (spans->asks_spans)
        count_ends(spans, &whole, by);
    return true;
}

static inline void add_item(struct block_spans *spans, struct block_span item, enum ended_by by)
{
    if (spans->filter == NULL || is_taken(spans, &item, by))
        spans->items[spans->count++] = item;
}

/* The span has been removed from the stack and began before the block. */
static void find_begin(struct block_spans *spans, struct tbed_assembled *span)
{
    uint64_t depth = spans->stack.deep + spans->stack.count;
    const struct before_span *before = NULL;
    if (spans->has_categories && !tbed_reader_is_reused(spans->reader))
        before = tbed_look_back_begin(&spans->back, depth, span->begin_tick, span->id);
    if (before == NULL)
        return;
    span->category = before->category;
    if (before->at != NULL && (spans->number_arguments != NULL || spans->describe != NULL)) {
        struct tbed_event begin = {.type = TBED_EVENT_BEGIN};
        size_t nwords;
        tbed_map_keep(&spans->reader->map, &spans->stable.lease, before->at);
        /* It was checked when it was found. */
        tbed_decode_long(tbed_word_load(before->at), before->at, before->at + before->nwords, &begin,
                         &nwords);
        span->arguments = begin.arguments;
        span->argument_count = begin.argument_count;
    }
}

static inline void add_ended(struct block_spans *spans, struct tbed_assembled *span, enum tbed_step_kind kind,
                             enum ended_by by)
{
    uint32_t arguments = 0;
    if (!span->was_begun)
        find_begin(spans, span);
    if (spans->describe != NULL) {
        if (span->argument_count > 0 || spans->ending != NULL)
            arguments = spans->describe(spans->other_context, span, spans->ending);
    } else if (span->argument_count > 0 && spans->number_arguments != NULL)
        arguments = spans->number_arguments(spans->other_context, &span->arguments, span->argument_count);
    add_item(spans,
             (struct block_span){span->begin_tick, span->end_tick, span->id, span->category, kind, arguments},
             by);
}

/* ---- Plain spans ---- */

/* Puts the plain spans on the stack, where everything is known of them. */
static void settle(struct block_spans *spans)
{
    struct open_stack *stack = &spans->stack;
    for (size_t i = 0; i < spans->plain_count; i++) {
        struct tbed_assembled span = {.begin_tick = spans->plain[i].tick,
                                      .stream = spans->block.stream,
                                      .id = spans->plain[i].id,
                                      .category = TBED_ID_INVALID,
                                      .was_begun = true};
        stack->items[stack->count++] = (struct open_span){.span = span, .is_known = true};
    }
    spans->plain_count = 0;
}

static inline void begin_plain(struct block_spans *spans, uint64_t word, uint64_t tick)
{
    spans->begin_count += counts(spans, tick);
    spans->plain[spans->plain_count++] = (struct plain_begin){tick, tbed_event_id(word)};
}

static inline void end_plain(struct block_spans *spans, uint64_t tick)
{
    const struct plain_begin *begin = &spans->plain[--spans->plain_count];
    spans->end_count += counts(spans, tick);
    add_item(spans, (struct block_span){begin->tick, tick, begin->id, TBED_ID_INVALID, TBED_STEP_END, 0},
             BY_END);
}

/* ---- Events ---- */

static void take_other(struct reading *reading, const struct tbed_event *event)
{
    struct block_spans *spans = reading->spans;
    if (spans->other != NULL && tbed_filter_takes_event(spans->filter, event))
        spans->other(spans->other_context, spans, event, (size_t)(reading->at - spans->block.words));
}

static void take_event(struct reading *reading, const struct tbed_event *event)
{
    struct block_spans *spans = reading->spans;
    struct tbed_assembled span;
    if (event->type == TBED_EVENT_BEGIN || event->type == TBED_EVENT_END)
        settle(spans);
    spans->back.crosses |= event->type == TBED_EVENT_END && event->of.end.inside > 0;
    enum tbed_step_kind kind = tbed_open_stack_take(&spans->stack, event, &span);
    if (counts(spans, event->tick)) {
        spans->begin_count += kind == TBED_STEP_BEGIN;
        spans->whole_count += event->type == TBED_EVENT_SPAN;
        spans->end_count += event->type == TBED_EVENT_END;
    }
    if (kind == TBED_STEP_OPEN)
        span.end_tick = tbed_stream_last_tick(spans->reader, spans->block.stream, event->tick);
    if (kind == TBED_STEP_UNKNOWN)
        span.end_tick = event->tick;
    if (kind == TBED_STEP_EVENT)
        take_other(reading, event);
    else if (kind != TBED_STEP_BEGIN) {
        spans->ending = event->type == TBED_EVENT_END && event->argument_count > 0 ? event : NULL;
        add_ended(spans, &span, kind, event->type == TBED_EVENT_SPAN ? BY_ITSELF : BY_END);
        spans->ending = NULL;
    }
}

static inline void pass_tick(struct reading *reading, uint64_t tick)
{
    reading->spans->decrease_count += tick < reading->previous;
    reading->previous = tick;
    reading->last_tick = tick > reading->last_tick ? tick : reading->last_tick;
}

static bool stop_at(struct reading *reading, enum tbed_status status, uint64_t word)
{
    const struct tbed_block *block = &reading->spans->block;
    uint64_t offset = block->offset + (uint64_t)((const uint8_t *)reading->at - block->bytes);
    tbed_damage_tell(reading->spans->reader, status, offset, block->cell, word);
    reading->spans->is_damaged = true;
    return false;
}

static bool take_time(struct reading *reading, uint64_t word)
{
    if (!tbed_event_time_is_allowed(word))
        return stop_at(reading, TBED_ERR_EVENT_TIME, word);
    reading->base += tbed_event_time_ticks(word);
    reading->at++;
    return true;
}

static inline uint32_t category_of(uint32_t aux)
{
    return aux == 0 || aux > TBED_ID_MAX ? TBED_ID_INVALID : aux;
}

/* A SPAN without arguments, the most frequent event in an import, is taken without decoding it in full. */
static inline void take_plain_span(struct reading *reading, uint64_t word, uint32_t aux)
{
    struct block_spans *spans = reading->spans;
    uint64_t tick = reading->base + tbed_event_delta(word);
    struct block_span span = {
        tbed_word_load(reading->at + 2), tick, tbed_event_id(word), category_of(aux), TBED_STEP_END, 0};
    spans->whole_count += counts(spans, tick);
    if (spans->filter == NULL || is_taken(spans, &span, BY_ITSELF))
        spans->items[spans->count++] = span;
    pass_tick(reading, tick);
    reading->at += 3;
}

/* Most other events of an import: a COUNTER with its value and nothing else. False: the value is not a number. */
static inline bool take_plain_counter(struct reading *reading, uint64_t word, uint32_t aux)
{
    struct tbed_argument_head head = tbed_argument_head_load(tbed_word_load(reading->at + 2));
    struct tbed_event *counter = &reading->counter;
    if (!tbed_argument_is_number(head.type) || head.nbytes != 8 || head.name_id > TBED_ID_MAX)
        return false;
    counter->id = tbed_event_id(word);
    counter->category = category_of(aux);
    counter->tick = reading->base + tbed_event_delta(word);
    counter->counter_value.type = head.type;
    counter->counter_value.name_id = head.name_id;
    counter->counter_value.value.u64 = tbed_word_load(reading->at + 3);
    pass_tick(reading, counter->tick);
    take_other(reading, counter);
    reading->at += 4;
    return true;
}

/* Takes the events that imports mostly consist of. False: it is another event. */
static inline bool take_plain(struct reading *reading, uint64_t word)
{
    size_t left = (size_t)(reading->end - reading->at);
    if (left < 3)
        return false;
    struct tbed_extended_head head = tbed_extended_head_load(tbed_word_load(reading->at + 1));
    if (head.type == TBED_EXT_SPAN && head.nwords == 2 && head.argument_count == 0) {
        take_plain_span(reading, word, head.aux);
        return true;
    }
    return head.type == TBED_EXT_COUNTER && head.nwords == 3 && head.argument_count == 1 && left >= 4 &&
           take_plain_counter(reading, word, head.aux);
}

/* Most events of a recorded program: a span begins or ends. */
static inline void take_plain_word(struct reading *reading, uint64_t word, uint32_t tag)
{
    uint64_t tick = reading->base + tbed_event_delta(word);
    if (tag == TBED_TAG_BEGIN)
        begin_plain(reading->spans, word, tick);
    else
        end_plain(reading->spans, tick);
    pass_tick(reading, tick);
    reading->at++;
}

/* Takes the event at 'at'. False: the block ends here. */
static inline bool take_word(struct reading *reading, uint64_t word)
{
    uint32_t tag = tbed_event_tag(word);
    size_t nwords = 1;
    if (tag == TBED_TAG_BEGIN || (tag == TBED_TAG_END && reading->spans->plain_count > 0)) {
        take_plain_word(reading, word, tag);
        return true;
    }
    if (tag == TBED_TAG_EXTENDED && take_plain(reading, word))
        return true;
    if (tag == TBED_TAG_TIME)
        return take_time(reading, word);
    struct tbed_event event = {.stream = reading->spans->block.stream,
                               .category = TBED_ID_INVALID,
                               .id = tbed_event_id(word),
                               .tick = reading->base + tbed_event_delta(word)};
    if (tag >= TBED_TAG_BEGIN && tag <= TBED_TAG_INSTANT) {
        event.type = (enum tbed_event_type)(tag - TBED_TAG_BEGIN + TBED_EVENT_BEGIN);
    } else {
        enum tbed_status status = tbed_decode_long(word, reading->at, reading->end, &event, &nwords);
        if (status != TBED_OK)
            return stop_at(reading, status, word);
    }
    pass_tick(reading, event.tick);
    take_event(reading, &event);
    reading->at += nwords;
    return true;
}

static void read_words(struct reading *reading)
{
    while (reading->at < reading->end) {
        uint64_t word = tbed_word_load(reading->at);
        if (word == 0) {
            if (reading->spans->block.sealed)
                stop_at(reading, TBED_ERR_EVENT_ZERO, word);
            return;
        }
        if (!take_word(reading, word))
            return;
    }
}

/* ---- Spans that the block leaves open ---- */

static void reverse(struct open_span *items, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct open_span other = items[i];
        items[i] = items[count - 1 - i];
        items[count - 1 - i] = other;
    }
}

/*
 * Puts the spans that are deeper than the block stores at the bottom of the stack, as far out as they are known and
 * down to 'deep'. They are found from the inside out, so they are first added at the top in reverse order.
 */
static bool find_deep(struct reading *reading, uint64_t deep)
{
    struct block_spans *spans = reading->spans;
    struct open_stack *stack = &spans->stack;
    size_t inner_count = stack->count, count;
    const struct before_span *before;
    tbed_look_back_from(&spans->back, &spans->block, reading->index);
    while (stack->deep > deep && tbed_look_back_deeper(&spans->back, stack->deep, &before, &count)) {
        if (!tbed_open_stack_reserve(stack, count))
            return false;
        for (stack->deep -= count; count-- > 0;) {
            struct tbed_assembled span = {.begin_tick = before[count].begin_tick,
                                          .stream = spans->block.stream,
                                          .id = before[count].id,
                                          .category = TBED_ID_INVALID,
                                          .is_inherited = before[count].is_inherited};
            stack->items[stack->count++] = (struct open_span){.span = span, .is_known = span.begin_tick != 0};
        }
    }
    reverse(stack->items, stack->count);
    reverse(stack->items + (stack->count - inner_count), inner_count);
    tbed_look_back_from(&spans->back, &spans->block, reading->index); /* for categories */
    return true;
}

/* The spans that the next block goes on with, beyond the filter's window: they end with the window. */
static void cut_off(struct block_spans *spans, struct open_span *open)
{
    open->span.end_tick = UINT64_MAX;
    if (open->is_known)
        add_ended(spans, &open->span, TBED_STEP_END, BY_NOTHING);
}

/* Spans deeper than the block stores are compared as well: a hostile block may store others than the blocks before. */
static bool leave_open(struct reading *reading)
{
    struct block_spans *spans = reading->spans;
    struct open_stack *stack = &spans->stack;
    struct tbed_block next;
    settle(spans);
    bool has_next = tbed_block_after(spans->reader, &spans->block, reading->index, &next);
    if (!has_next)
        next = (struct tbed_block){.depth = 0};
    bool is_last = has_next && tbed_filter_is_last(spans->filter, spans->reader, reading->index, &next);
    uint32_t stored = is_last ? 0 : tbed_block_stored_depth(&next);
    bool is_sure = stack->deep <= stored || tbed_reader_is_reused(spans->reader);
    if (!is_sure && !find_deep(reading, stored))
        return false;
    if (!have_items(spans, spans->count + stack->count))
        return false;
    while (stack->count > 0) {
        struct open_span *open = &stack->items[--stack->count];
        if (tbed_open_stack_is_left(stack, stack->count, &next)) {
            open->span.end_tick = reading->last_tick;
            add_ended(spans, &open->span, tbed_open_span_left(open), BY_NOTHING);
        } else if (is_last) {
            cut_off(spans, open);
        }
    }
    if (stack->deep > next.depth)
        spans->unnamed_count += stack->deep - next.depth;
    return true;
}

/*
 * Of the events before the block; the last tick of the block before serves, without a look at its events, as long as
 * ticks do not go back.
 */
static uint64_t tick_before(const struct block_spans *spans, size_t index)
{
    struct tbed_block before;
    uint64_t first_tick = spans->block.first_tick;
    if (index == 0 || !tbed_block_before(spans->reader, &spans->block, index - 1, &before))
        return first_tick;
    uint64_t last_tick = tbed_block_last_tick(&before);
    return last_tick <= first_tick ? last_tick : tbed_block_latest_tick(&before);
}

static enum tbed_status read_block(struct block_spans *spans, size_t index)
{
    struct tbed_block *block = &spans->block;
    spans->count = 0;
    spans->begin_count = spans->end_count = spans->whole_count = 0;
    spans->decrease_count = spans->unnamed_count = 0;
    spans->is_damaged = false;
    spans->asks_spans = spans->filter != NULL && !tbed_filter_is_window(spans->filter);
    if (tbed_is_cancelled(spans->is_cancelled))
        return TBED_ERR_CANCELLED;
    enum tbed_status status = tbed_block_get_stable(spans->reader, index, &spans->stable, block);
    if (status == TBED_OK && !have_room(spans, block))
        status = TBED_ERR_MEMORY;
    if (status != TBED_OK)
        return status;
    struct reading reading = {.spans = spans,
                              .at = block->words,
                              .end = block->words_end,
                              .base = block->first_tick,
                              .previous = tick_before(spans, index),
                              .last_tick = block->first_tick,
                              .index = index,
                              .counter = {.type = TBED_EVENT_COUNTER,
                                          .stream = block->stream,
                                          .extended = true,
                                          .counter_value.nbytes = 8}};
    tbed_look_back_from(&spans->back, block, index);
    if (!tbed_open_stack_enter(&spans->stack, block, false))
        return TBED_ERR_MEMORY;
    read_words(&reading);
    return leave_open(&reading) && !spans->back.is_out_of_memory ? TBED_OK : TBED_ERR_MEMORY;
}

/* Blocks before it, which are looked at for it, are not held thereafter, unless a span's arguments lie there. */
enum tbed_status tbed_block_spans_read(struct block_spans *spans, size_t index)
{
    struct tbed_lease others;
    tbed_lease_begin(&others, spans->reader->map.packed);
    enum tbed_status status = read_block(spans, index);
    tbed_lease_end(&others);
    return status;
}
