/*
 * The statistics of one event block; see span_scan.h.
 *
 * Begins, ends and instants are taken by a loop that keeps all it needs in registers; whatever else stands in
 * a block leaves the loop for one event.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/spans/span_scan.h"

#include "format/event.h"
#include "reader/analysis/spans/open_spans.h"
#include "reader/analysis/spans/resolution.h"
#include "reader/core/events/decode.h"
#include "reader/core/file/gateway.h"

#include <stdlib.h>
#include <string.h>

/* Where a scan stands in its block. */
struct scan {
    struct span_scanner *scanner;
    const struct tbed_block *block;
    size_t index;
    const uint64_t *at, *end;
    uint64_t base;
    uint64_t previous; /* tick of the event before */
    uint64_t mark;     /* the time up to here has been given to the spans it belongs to */
    uint64_t deep;     /* open spans below the known ones */
    struct span_frame *top;
};

static inline uint64_t ticks_between(const struct span_scanner *scanner, uint64_t from, uint64_t to)
{
    return tbed_ticks_between(scanner->resolution, from, to);
}

/* Gives the time since 'mark' to the innermost span. */
static inline void pass_time(struct scan *scan, uint64_t resolution, uint64_t tick)
{
    scan->top->slot->self_ticks += tbed_ticks_between(resolution, scan->mark, tick);
    scan->mark = tick;
}

static void mark_block(struct scan *scan, uint8_t mark)
{
    scan->scanner->block_marks[scan->index] |= mark;
}

static void count_unknown_end(struct span_scanner *scanner, struct name_slot *slot)
{
    struct name_extra *extra = tbed_name_table_extra(&scanner->names, slot);
    if (extra != NULL)
        extra->unknown_count++;
}

/* How long it is open is known at the stream's end only. */
static void count_never_ended(struct scan *scan, struct name_slot *slot)
{
    struct name_extra *extra = tbed_name_table_extra(&scan->scanner->names, slot);
    mark_block(scan, SPAN_MARK_SCOPES);
    if (extra != NULL)
        extra->open_count++;
}

/*
 * An END that finds none of the known spans open. The time that has been gathered since they ended is that of
 * the span that ends here, if there was one below.
 */
static void end_below(struct scan *scan, const struct tbed_event *event)
{
    struct span_scanner *scanner = scan->scanner;
    struct name_slot *slot = tbed_name_table_slot(&scanner->names, event->id);
    pass_time(scan, scanner->resolution, event->tick);
    if (scan->deep > 0) {
        slot->self_ticks += scanner->below.self_ticks;
        scan->deep--;
    }
    scanner->below.self_ticks = 0;
    if (event->of.end.begin_tick == 0)
        count_unknown_end(scanner, slot);
    else if (event->of.end.leaves && event->of.end.end_tick == 0)
        count_never_ended(scan, slot);
    else
        tbed_name_slot_end(&scanner->names, slot,
                           ticks_between(scanner, event->of.end.begin_tick, event->of.end.end_tick));
}

static void begin_span(struct scan *scan, uint32_t id, uint64_t tick)
{
    pass_time(scan, scan->scanner->resolution, tick);
    scan->top++;
    *scan->top = (struct span_frame){tick, tbed_name_table_slot(&scan->scanner->names, id)};
    scan->scanner->totals.begin_count++;
}

/* A LEAVE takes the innermost span off the stack, too; it ends at another time, or never. */
static void end_span(struct scan *scan, const struct tbed_event *event)
{
    struct span_scanner *scanner = scan->scanner;
    scanner->totals.end_count++;
    if (scan->top == scanner->frames) {
        end_below(scan, event);
        return;
    }
    pass_time(scan, scanner->resolution, event->tick);
    struct span_frame *span = scan->top--;
    if (event->of.end.leaves && event->of.end.end_tick == 0)
        count_never_ended(scan, span->slot);
    else
        tbed_name_slot_end(&scanner->names, span->slot,
                           ticks_between(scanner, span->begin_tick, event->of.end.end_tick));
}

static double argument_number(const struct tbed_argument *argument)
{
    switch (argument->type) {
    case TBED_ARG_I64:
        return (double)argument->value.i64;
    case TBED_ARG_F64:
        return argument->value.f64;
    default:
        return (double)argument->value.u64;
    }
}

static void count_counter(struct scan *scan, const struct tbed_event *event)
{
    struct span_scanner *scanner = scan->scanner;
    struct name_place place = {event->tick, scan->index, (uint64_t)(scan->at - scan->block->words)};
    scanner->totals.counter_count++;
    tbed_name_slot_counter(&scanner->names, tbed_name_table_slot(&scanner->names, event->id),
                           argument_number(&event->counter_value), place);
}

static void count_whole_span(struct span_scanner *scanner, const struct tbed_event *event)
{
    tbed_name_slot_end(&scanner->names, tbed_name_table_slot(&scanner->names, event->id),
                       ticks_between(scanner, event->of.span.begin_tick, event->tick));
    scanner->totals.whole_span_count++;
}

static void count_message(struct scan *scan, const struct tbed_event *event)
{
    struct span_scanner *scanner = scan->scanner;
    struct name_slot *slot = tbed_name_table_slot(&scanner->names, event->id);
    struct name_extra *extra = tbed_name_table_extra(&scanner->names, slot);
    uint32_t severity = event->of.message.severity;
    scanner->totals.message_count++;
    if (extra != NULL)
        extra->severity_counts[severity <= TBED_SEVERITY_DEBUG ? severity : TBED_SEVERITY_NONE]++;
    if (tbed_scope_message(&scanner->formats, scanner->reader, event) != SCOPE_MESSAGE_OTHER)
        mark_block(scan, SPAN_MARK_SCOPES);
}

static void count_gap(struct span_scanner *scanner, const struct tbed_event *event)
{
    uint32_t cause = event->of.gap.cause;
    scanner->totals.gap_count++;
    /* A cause that nobody defined is still a drop: the last place is free for it. */
    scanner->totals.gap_drops[cause < TBED_DROP_CAUSE_COUNT ? cause : TBED_DROP_CAUSE_COUNT - 1] +=
        event->of.gap.count;
}

static void count_other(struct scan *scan, const struct tbed_event *event)
{
    struct tbed_statistics_totals *totals = &scan->scanner->totals;
    switch (event->type) {
    case TBED_EVENT_COUNTER:
        count_counter(scan, event);
        break;
    case TBED_EVENT_SPAN:
        count_whole_span(scan->scanner, event);
        break;
    case TBED_EVENT_MESSAGE:
        count_message(scan, event);
        break;
    case TBED_EVENT_GAP:
        count_gap(scan->scanner, event);
        break;
    case TBED_EVENT_ALLOC:
    case TBED_EVENT_FREE:
    case TBED_EVENT_REALLOC:
        totals->allocation_event_count++;
        break;
    case TBED_EVENT_ASYNC_BEGIN:
    case TBED_EVENT_ASYNC_END:
        totals->async_event_count++;
        mark_block(scan, SPAN_MARK_ASYNC);
        break;
    case TBED_EVENT_FLOW_BEGIN:
    case TBED_EVENT_FLOW_STEP:
    case TBED_EVENT_FLOW_END:
        totals->flow_event_count++;
        break;
    default:
        totals->unknown_count++;
    }
}

static void take_event(struct scan *scan, const struct tbed_event *event)
{
    struct tbed_statistics_totals *totals = &scan->scanner->totals;
    totals->decrease_count += event->tick < scan->previous;
    switch (event->type) {
    case TBED_EVENT_BEGIN:
        begin_span(scan, event->id, event->tick);
        break;
    case TBED_EVENT_END:
        end_span(scan, event);
        break;
    case TBED_EVENT_INSTANT:
        tbed_name_table_slot(&scan->scanner->names, event->id)->instant_count++;
        totals->instant_count++;
        break;
    default:
        count_other(scan, event);
    }
    totals->event_count++;
    scan->previous = event->tick;
}

/* What cannot be read ends the block's reading, and is told. */
static bool stop_at(struct scan *scan, enum tbed_status status, uint64_t word)
{
    const struct tbed_block *block = scan->block;
    uint64_t offset = block->offset + (uint64_t)((const uint8_t *)scan->at - block->bytes);
    tbed_damage_tell(scan->scanner->reader, status, offset, block->cell, word);
    scan->scanner->totals.damaged_block_count++;
    return false;
}

static bool take_long(struct scan *scan, uint64_t word)
{
    struct tbed_event event = {.type = TBED_EVENT_UNKNOWN, .stream = scan->block->stream};
    size_t nwords;
    event.id = tbed_event_id(word);
    event.tick = scan->base + tbed_event_delta(word);
    enum tbed_status status = tbed_decode_long(word, scan->at, scan->end, &event, &nwords);
    if (status != TBED_OK)
        return stop_at(scan, status, word);
    take_event(scan, &event);
    scan->at += nwords;
    return true;
}

/* An END that the tight loop could not take: none of the known spans is open. */
static bool take_end(struct scan *scan, uint64_t word)
{
    struct tbed_event event = {.type = TBED_EVENT_END, .id = tbed_event_id(word)};
    event.tick = event.of.end.end_tick = scan->base + tbed_event_delta(word);
    take_event(scan, &event);
    scan->at++;
    return true;
}

/* Takes what the tight loop left at 'at'. False: the block ends here. */
static bool take_other(struct scan *scan, uint64_t word)
{
    if (word == 0)
        return scan->block->sealed ? stop_at(scan, TBED_ERR_EVENT_ZERO, word) : false;
    switch (tbed_event_tag(word)) {
    case TBED_TAG_TIME:
        if (!tbed_event_time_is_allowed(word))
            return stop_at(scan, TBED_ERR_EVENT_TIME, word);
        scan->base += tbed_event_time_ticks(word);
        scan->at++;
        return true;
    case TBED_TAG_END:
        return take_end(scan, word);
    default:
        return take_long(scan, word);
    }
}

/* An allocation or a free in two words, whole: nothing of it but its number matters here. */
static inline bool is_allocation(const struct scan *scan, uint32_t tag, int order)
{
    if (tag != TBED_TAG_PAIR || scan->end - scan->at < 2)
        return false;
    uint32_t subtype = tbed_pair_subtype(__atomic_load_n(scan->at + 1, order));
    return subtype == TBED_PAIR_ALLOC || subtype == TBED_PAIR_FREE;
}

/*
 * The tight loop: begins, ends of known spans, instants, and allocations, up to the block's end or the first
 * other word, which it returns with 'at' standing on it; 0 at the block's end. 'live' blocks may be growing:
 * their words are loaded with acquire order. 'coarse' times are cut to the resolution. Every word is loaded once.
 */
static inline __attribute__((always_inline)) uint64_t run_regular(struct scan *scan, const bool live,
                                                                  const bool coarse)
{
    const uint64_t resolution = coarse ? scan->scanner->resolution : 1;
    const int order = live ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
    struct scan s = *scan; /* in registers */
    struct span_scanner *scanner = s.scanner;
    struct name_table *names = &scanner->names;
    struct span_frame *bottom = scanner->frames;
    const uint64_t *start = s.at;
    uint64_t begins = 0, instants = 0, allocations = 0, decreases = 0, word = 0;
    for (; s.at < s.end; s.at++) {
        word = __atomic_load_n(s.at, order);
        uint32_t tag = tbed_event_tag(word);
        uint64_t tick = s.base + tbed_event_delta(word);
        if (tag == TBED_TAG_BEGIN) {
            pass_time(&s, resolution, tick);
            s.top++;
            s.top->begin_tick = tick;
            s.top->slot = tbed_name_table_slot(names, tbed_event_id(word));
            begins++;
        } else if (tag == TBED_TAG_END && s.top != bottom) {
            pass_time(&s, resolution, tick);
            tbed_name_slot_end(names, s.top->slot, tbed_ticks_between(resolution, s.top->begin_tick, tick));
            s.top--;
        } else if (tag == TBED_TAG_INSTANT) {
            tbed_name_table_slot(names, tbed_event_id(word))->instant_count++;
            instants++;
        } else if (is_allocation(&s, tag, order)) {
            s.at++;
            allocations++;
        } else {
            break;
        }
        decreases += tick < s.previous;
        s.previous = tick;
    }
    uint64_t events = (uint64_t)(s.at - start) - allocations;
    scanner->totals.event_count += events;
    scanner->totals.begin_count += begins;
    scanner->totals.instant_count += instants;
    scanner->totals.allocation_event_count += allocations;
    scanner->totals.end_count += events - begins - instants - allocations;
    scanner->totals.decrease_count += decreases;
    *scan = s;
    return s.at < s.end ? word : 0;
}

static uint64_t run_sealed(struct scan *scan)
{
    return run_regular(scan, false, false);
}

static uint64_t run_live(struct scan *scan)
{
    return run_regular(scan, true, false);
}

static uint64_t run_coarse(struct scan *scan)
{
    return run_regular(scan, true, true);
}

static void scan_words(struct scan *scan)
{
    bool sealed = scan->block->sealed, coarse = scan->scanner->resolution > 1;
    while (scan->at < scan->end) {
        uint64_t word = coarse ? run_coarse(scan) : sealed ? run_sealed(scan) : run_live(scan);
        if (scan->at == scan->end || !take_other(scan, word))
            return;
    }
}

/* The spans open at the block's start. */
static void load_stack(struct scan *scan)
{
    const struct tbed_block *block = scan->block;
    struct span_scanner *scanner = scan->scanner;
    memset(&scanner->below, 0, sizeof scanner->below);
    scan->top = scanner->frames;
    scan->top->slot = &scanner->below;
    for (uint32_t i = 0; i < block->stored_count; i++) {
        uint32_t id;
        scan->top++;
        tbed_block_open_span(block, i, &scan->top->begin_tick, &id);
        scan->top->slot = tbed_name_table_slot(&scanner->names, id);
    }
    scan->deep = block->depth - block->stored_count;
}

/* The time since the last event of the block before belongs to whoever is open here. */
static void start_time(struct scan *scan)
{
    const struct tbed_block *block = scan->block;
    struct tbed_block before;
    uint64_t mark = block->first_tick;
    if (scan->index > 0 && tbed_block_before(scan->scanner->reader, block, scan->index - 1, &before))
        mark = tbed_block_last_tick(&before);
    scan->mark = scan->previous = mark;
}

/* Gives the time gathered for the innermost of the spans below to it. */
static bool give_time_below(void *context, uint32_t id)
{
    struct span_scanner *scanner = context;
    tbed_name_table_slot(&scanner->names, id)->self_ticks += scanner->below.self_ticks;
    return false;
}

static bool count_open_below(void *context, uint32_t id)
{
    struct span_scanner *scanner = context;
    struct name_extra *extra =
        tbed_name_table_extra(&scanner->names, tbed_name_table_slot(&scanner->names, id));
    if (extra != NULL)
        extra->open_count++;
    return true;
}

/* The stream's end: what is open stays open. */
static void count_open(struct scan *scan)
{
    struct span_scanner *scanner = scan->scanner;
    if (scanner->count_open && (scan->top > scanner->frames || scan->deep > 0))
        mark_block(scan, SPAN_MARK_SCOPES);
    for (struct span_frame *frame = scan->top; frame > scanner->frames; frame--) {
        struct name_extra *extra = tbed_name_table_extra(&scanner->names, frame->slot);
        if (extra != NULL)
            extra->open_count++;
    }
    scanner->totals.unnamed_open_count +=
        tbed_open_spans_below(scanner->reader, scan->index, scan->deep, count_open_below, scanner);
}

static void finish_block(struct scan *scan)
{
    struct span_scanner *scanner = scan->scanner;
    size_t first, count;
    pass_time(scan, scanner->resolution, scan->previous);
    if (scan->deep > 0 && scanner->below.self_ticks > 0)
        tbed_open_spans_below(scanner->reader, scan->index, scan->deep, give_time_below, scanner);
    tbed_stream_blocks(scanner->reader, scan->block->stream, &first, &count);
    if (scan->index + 1 == first + count)
        count_open(scan);
}

/* A frame for each word and each stored span, and the one at the bottom. */
static bool have_frames(struct span_scanner *scanner, const struct tbed_block *block)
{
    size_t room = (size_t)block->nbytes / 8 + block->stored_count + 1;
    if (room <= scanner->frame_room)
        return true;
    struct span_frame *frames = realloc(scanner->frames, room * sizeof *frames);
    if (frames == NULL)
        return false;
    scanner->frames = frames;
    scanner->frame_room = room;
    return true;
}

static bool copy_block(struct span_scanner *scanner, struct tbed_block *block)
{
    uint64_t *copy = realloc(scanner->copy, block->nbytes);
    if (copy == NULL) {
        scanner->names.out_of_memory = true;
        return false;
    }
    scanner->copy = copy;
    return tbed_block_copy(block, copy);
}

void tbed_span_scan_block(struct span_scanner *scanner, size_t index)
{
    struct tbed_block block;
    if (tbed_event_block_get(scanner->reader, index, &block) != TBED_OK ||
        (scanner->reused && !copy_block(scanner, &block))) {
        scanner->totals.bad_block_count++;
        return;
    }
    if (!have_frames(scanner, &block)) {
        scanner->names.out_of_memory = true;
        return;
    }
    struct scan scan = {.scanner = scanner, .block = &block, .index = index};
    scan.at = block.words;
    scan.end = block.words_end;
    scan.base = block.first_tick;
    load_stack(&scan);
    start_time(&scan);
    scan_words(&scan);
    finish_block(&scan);
    scanner->totals.block_count++;
}

enum tbed_status tbed_span_scanner_open(struct span_scanner *scanner, struct tbed_reader *reader,
                                        bool count_open, uint8_t *block_marks)
{
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    memset(scanner, 0, sizeof *scanner);
    scanner->reader = reader;
    scanner->block_marks = block_marks;
    scanner->count_open = count_open;
    scanner->resolution = info.resolution_ticks;
    scanner->reused = info.ring_page_count != 0 && !info.shut;
    return tbed_name_table_open(&scanner->names);
}

void tbed_span_scanner_close(struct span_scanner *scanner)
{
    tbed_name_table_close(&scanner->names);
    tbed_scope_formats_free(&scanner->formats);
    free(scanner->frames);
    free(scanner->copy);
}
