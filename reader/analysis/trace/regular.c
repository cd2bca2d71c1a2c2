/*
 * Blocks of regular streams. In these, the stack gives the same result as containment: the parent of a span is the one
 * around it on the stack when it ends. So a block is read forward, and blocks in any order.
 *
 * Most events are taken by the loops of regular_loops.c; any other event leaves them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/trace/regular.h"
#include "reader/analysis/assembly/neighbours.h"
#include "reader/core/events/decode.h"
#include "reader/core/file/damage.h"

#include <stdlib.h>

#define LOOK_WORDS 256u /* in a stream's first block, to guess whether the stream is regular */

bool tbed_stat_looks_regular(const struct tbed_block *block)
{
    const uint64_t *end = block->words_end;
    if (end - block->words > LOOK_WORDS)
        end = block->words + LOOK_WORDS;
    for (const uint64_t *at = block->words; at < end;) {
        uint64_t word = tbed_word_load(at);
        size_t nwords;
        if (word == 0 || tbed_event_check(word, at, block->words_end, &nwords) != TBED_OK)
            break;
        if (tbed_event_tag(word) == TBED_TAG_EXTENDED &&
            tbed_extended_head_load(tbed_word_load(at + 1)).type == TBED_EXT_SPAN)
            return false;
        at += nwords;
    }
    return block->depth == block->stored_count;
}

/* ---- Spans ---- */

/* When the span of a frame began, which may be before the window. */
static uint64_t begin_of(const struct scan *scan, const struct regular_frame *frame)
{
    size_t index = (size_t)(frame - scan->trace->frames) - 1;
    uint64_t begin_tick = frame->begin_tick;
    uint32_t id;
    if (begin_tick <= scan->cut_tick &&
        index < scan->block->stored_count) /* what begins in the block is later */
        tbed_block_open_span(scan->block, (uint32_t)index, &begin_tick, &id);
    return begin_tick;
}

static void end_span(struct scan *scan, const struct tbed_event *event)
{
    scan->worker->totals.end_count += scan_has_tick(scan, event->tick);
    bool is_in_stack = scan->top > scan->trace->frames;
    if (event->of.end.leaves || (is_in_stack && event->of.end.begin_tick != 0 &&
                                 event->of.end.begin_tick != begin_of(scan, scan->top)))
        scan->is_irregular = true; /* the latter contradicts the stack */
    else if (is_in_stack)
        tbed_scan_end(scan, event->tick);
    else if (!scan_has_tick(scan, event->tick))
        return;
    else if (event->of.end.begin_tick == 0)
        tbed_stat_take_unknown(scan->worker, event->id);
    else
        scan->is_irregular = true; /* spans that ended before it may be its children */
}

/* ---- Events that leave the tight loop ---- */

static void take_event(struct scan *scan, const struct tbed_event *event)
{
    struct stat_worker *worker = scan->worker;
    uint32_t kind = STAT_OTHER;
    switch (event->type) {
    case TBED_EVENT_BEGIN:
        if (event->category != TBED_ID_INVALID)
            kind = stat_kind(worker, event->category);
        scan->is_irregular |= kind != STAT_OTHER;
        tbed_scan_begin(scan, event->id, event->tick);
        worker->totals.event_count += scan_has_tick(scan, event->tick);
        break;
    case TBED_EVENT_END:
        end_span(scan, event);
        worker->totals.event_count += scan_has_tick(scan, event->tick);
        break;
    case TBED_EVENT_SPAN:
        scan->is_irregular = true;
        break;
    default:
        if (tbed_filter_takes_event(scan->filter, event))
            tbed_stat_take_other(scan->trace, event, scan->block->stream,
                                 (size_t)(scan->at - scan->block->words));
    }
    scan->is_irregular |= event->tick < scan->previous;
    scan->previous = event->tick;
}

/* Unreadable data ends the reading of the block, and is reported. */
static bool stop_at(struct scan *scan, enum tbed_status status, uint64_t word)
{
    const struct tbed_block *block = scan->block;
    uint64_t offset = block->offset + (uint64_t)((const uint8_t *)scan->at - block->bytes);
    tbed_damage_tell(scan->trace->source->reader, status, offset, block->cell, word);
    scan->worker->totals.damaged_block_count++;
    return false;
}

/* Takes the event at 'at', where the tight loop stopped. False: the block ends here. */
static bool take_other(struct scan *scan, uint64_t word)
{
    struct tbed_event event = {.type = TBED_EVENT_END,
                               .stream = scan->block->stream,
                               .category = TBED_ID_INVALID,
                               .id = tbed_event_id(word),
                               .tick = scan->base + tbed_event_delta(word)};
    uint32_t tag = tbed_event_tag(word);
    size_t nwords = 1;
    if (word == 0)
        return scan->block->sealed ? stop_at(scan, TBED_ERR_EVENT_ZERO, word) : false;
    if (tag == TBED_TAG_TIME) {
        if (!tbed_event_time_is_allowed(word))
            return stop_at(scan, TBED_ERR_EVENT_TIME, word);
        scan->base += tbed_event_time_ticks(word);
        scan->at++;
        return true;
    }
    if (tag != TBED_TAG_END) {
        enum tbed_status status = tbed_decode_long(word, scan->at, scan->end, &event, &nwords);
        if (status != TBED_OK)
            return stop_at(scan, status, word);
    }
    take_event(scan, &event);
    scan->at += nwords;
    return !scan->is_irregular;
}

static void scan_words(struct scan *scan)
{
    tbed_scan_start(scan);
    while (scan->at < scan->end && !scan->is_irregular) {
        uint64_t word = tbed_scan_run(scan);
        if (scan->at == scan->end || !take_other(scan, word))
            break;
    }
    tbed_scan_stop(scan);
}

/* ---- The block's borders ---- */

/* One frame for each word and each stored span, one at the bottom, and one above, which a loop may write. */
static bool have_frames(struct trace_worker *trace, const struct tbed_block *block)
{
    size_t room = (size_t)block->nbytes / 8 + block->stored_count + 2;
    if (room <= trace->frame_room)
        return true;
    struct regular_frame *frames = realloc(trace->frames, room * sizeof *frames);
    trace->worker->out_of_memory |= frames == NULL;
    if (frames == NULL)
        return false;
    trace->frames = frames;
    trace->frame_room = room;
    return true;
}

/* Loads the spans that are open at the block's start. In a regular stream their begins do not decrease. */
static void load_stack(struct scan *scan)
{
    const struct tbed_block *block = scan->block;
    uint64_t begin_tick = 1; /* 0: not known */
    scan->top = scan->trace->frames;
    *scan->top = (struct regular_frame){.row = 0};
    scan->is_irregular = block->depth != block->stored_count;
    for (uint32_t i = 0; i < block->stored_count; i++) {
        uint64_t before = begin_tick;
        uint32_t id;
        tbed_block_open_span(block, i, &begin_tick, &id);
        scan->is_irregular |= begin_tick < before;
        uint64_t cut_tick = begin_tick > scan->cut_tick ? begin_tick : scan->cut_tick;
        *++scan->top = (struct regular_frame){cut_tick, 0, id, scan_row(scan->worker, id)};
    }
    scan->is_irregular |= begin_tick > block->first_tick && block->stored_count > 0;
}

/* How many of the frames are still open in the next block. */
static size_t kept_frames(const struct scan *scan, const struct tbed_block *next)
{
    const struct regular_frame *frames = scan->trace->frames;
    size_t count = (size_t)(scan->top - frames), kept = 0;
    while (kept < count && kept < next->stored_count) {
        uint64_t begin_tick;
        uint32_t id;
        tbed_block_open_span(next, (uint32_t)kept, &begin_tick, &id);
        if (begin_tick != begin_of(scan, &frames[kept + 1]) || id != frames[kept + 1].id)
            break;
        kept++;
    }
    return kept;
}

/* The innermost frame, which no event has ended, was inherited: it was there, and so, when the block began. */
static bool is_inherited(const struct scan *scan)
{
    const struct regular_frame *frame = scan->top;
    size_t index = (size_t)(frame - scan->trace->frames) - 1;
    uint64_t begin_tick;
    uint32_t id;
    if (index >= scan->block->stored_count || !tbed_block_span_is_inherited(scan->block, (uint32_t)index))
        return false;
    tbed_block_open_span(scan->block, (uint32_t)index, &begin_tick, &id);
    return begin_tick == begin_of(scan, frame) && id == frame->id;
}

/*
 * Spans that the next block does not store as open were left open here; one that is open only there began in
 * between.
 */
static void leave_open(struct scan *scan)
{
    struct tbed_block next = {.depth = 0};
    size_t kept = 0;
    bool is_last = false;
    if (tbed_block_after(scan->trace->source->reader, scan->block, scan->trace->index, &next)) {
        uint64_t begin_tick;
        uint32_t id;
        kept = kept_frames(scan, &next);
        is_last = tbed_filter_is_last(scan->filter, scan->trace->source->reader, scan->trace->index, &next);
        scan->is_irregular |= next.depth != next.stored_count || next.first_tick < scan->previous;
        for (size_t i = kept; i < next.stored_count; i++) { /* in a damaged block, begins may decrease */
            tbed_block_open_span(&next, (uint32_t)i, &begin_tick, &id);
            scan->is_irregular |= begin_tick <= scan->previous;
        }
    }
    while (scan->top > scan->trace->frames + kept && !scan->is_irregular) {
        uint32_t id = scan->top->id;
        bool ends = is_inherited(scan);
        if (tbed_scan_end(scan, scan->previous) && !ends)
            tbed_stat_count_open(scan->worker, id);
    }
    while (is_last && scan->top > scan->trace->frames && !scan->is_irregular)
        tbed_scan_end(scan, UINT64_MAX); /* the window ends it */
}

/* The stream's spans take no part in the merge, but their extent in time does. */
static void tell_hull(struct scan *scan)
{
    struct stat_part *part = NULL;
    if (scan->hull_begin <= scan->hull_end)
        part = stat_part_of(scan->worker, scan->block->stream);
    if (part == NULL)
        return;
    part->hull_begin = scan->hull_begin;
    part->hull_end = scan->hull_end;
}

/* All ticks of the block are within the window, and after its begin, if none goes back. */
static bool is_in_window(const struct trace_worker *trace, const struct tbed_block *block)
{
    const struct tbed_filter *filter = trace->source->options.filter;
    struct tbed_block next;
    return filter == NULL || (block->first_tick > filter->begin &&
                              tbed_block_after(trace->source->reader, block, trace->index, &next) &&
                              tbed_filter_has_tick(filter, next.first_tick));
}

bool tbed_stat_take_regular(struct trace_worker *trace, size_t index)
{
    struct stat_worker *worker = trace->worker;
    struct tbed_block block;
    enum tbed_status status = tbed_block_get_stable(trace->source->reader, index, &trace->stable, &block);
    if (status != TBED_OK || !have_frames(trace, &block)) {
        worker->totals.bad_block_count++;
        worker->out_of_memory |= status == TBED_ERR_MEMORY;
        return true;
    }
    trace->index = index;
    const struct tbed_filter *filter = trace->source->options.filter;
    bool is_whole = is_in_window(trace, &block);
    struct scan scan = {.trace = trace,
                        .worker = worker,
                        .block = &block,
                        .at = block.words,
                        .end = block.words_end,
                        .base = block.first_tick,
                        .previous = block.first_tick,
                        .filter = is_whole ? NULL : filter,
                        .cut_tick = is_whole && filter != NULL ? filter->begin : 0,
                        .hull_begin = UINT64_MAX};
    load_stack(&scan);
    scan_words(&scan);
    if (!scan.is_irregular)
        leave_open(&scan);
    if (!scan.is_irregular)
        tell_hull(&scan);
    worker->totals.block_count++;
    worker->totals.inherited_count += trace_inherited_count(&block);
    return !scan.is_irregular;
}
