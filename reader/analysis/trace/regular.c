/*
 * The fast loop, for blocks of regular streams. In these, the stack gives the same result as containment: the
 * parent of a span is the one around it on the stack when it ends. So a block is read forward, and blocks in any
 * order.
 *
 * Begins, ends and instants are taken by a loop that keeps all its state in registers; any other event leaves
 * the loop.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/event.h"
#include "reader/analysis/assembly/neighbours.h"
#include "reader/analysis/trace/trace_worker.h"
#include "reader/core/events/decode.h"
#include "reader/core/file/damage.h"

#include <stdlib.h>

#define LOOK_WORDS 256u /* in a stream's first block, to guess whether the stream is regular */

/* The position of the scan in its block. */
struct scan {
    struct trace_worker *trace;
    struct stat_worker *worker;
    const struct tbed_block *block;
    const uint64_t *at, *end;
    uint64_t base;
    uint64_t previous; /* tick of the previous event */
    uint64_t hull_begin, hull_end;
    struct regular_frame *top;
    const struct tbed_filter *filter; /* a window; NULL: none */
    bool is_irregular;
};

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

/* Makes room for the id's cell and returns its index. If there is no memory, row 0, which is never read. */
static uint32_t cell_of(struct stat_worker *worker, uint32_t id)
{
    uint32_t row = stat_row(worker, id), cell = stat_cell_index(row & STAT_ROW_MAX, STAT_OTHER);
    worker->totals.unnamed_count += row >> 31;
    return tbed_stat_grow_cells(&worker->cells, cell) ? cell : 0;
}

/* The same if the id has been met before, has a text, and has room here. False: any of these may not hold. */
static inline bool known_cell(const struct stat_worker *worker, uint32_t id, uint32_t room,
                              uint32_t *cell_ret)
{
    const uint32_t *place = stat_row_place(worker, id);
    uint32_t row = place != NULL ? __atomic_load_n(place, __ATOMIC_RELAXED) : 0;
    *cell_ret = stat_cell_index(row & STAT_ROW_MAX, STAT_OTHER);
    return row - 1 < STAT_UNRESOLVED - 1 && *cell_ret < room;
}

/* Whether the tick counts. */
static inline bool is_in_window(const struct scan *scan, uint64_t tick)
{
    return scan->filter == NULL || tbed_filter_has_tick(scan->filter, tick);
}

/* Whether the span counts, which is cut to the window. */
static inline bool cut_to_window(const struct scan *scan, uint64_t *begin_tick, uint64_t *end_tick,
                                 bool *is_cut_ret)
{
    *is_cut_ret = false;
    return scan->filter == NULL || tbed_filter_cut(scan->filter, begin_tick, end_tick, is_cut_ret);
}

static void begin_span(struct scan *scan, uint32_t id, uint64_t tick)
{
    *++scan->top = (struct regular_frame){tick, id, cell_of(scan->worker, id)};
    scan->worker->totals.begin_count += is_in_window(scan, tick);
}

/* Ends the innermost span. Returns whether it counts and does not go on beyond the window. */
static bool end_known(struct scan *scan, uint64_t tick)
{
    struct stat_cells *cells = &scan->worker->cells;
    struct regular_frame *frame = scan->top--;
    uint64_t begin_tick = frame->begin_tick;
    bool is_cut;
    if (!cut_to_window(scan, &begin_tick, &tick, &is_cut))
        return false;
    uint64_t ticks = tbed_ticks_between(cells->resolution, begin_tick, tick);
    stat_cell_end(cells, stat_cell(cells, frame->cell), ticks);
    stat_cell(cells, frame->cell)->self += ticks;
    stat_cell(cells, scan->top->cell)->self -= ticks;
    scan->worker->totals.span_count++;
    scan->hull_begin = begin_tick < scan->hull_begin ? begin_tick : scan->hull_begin;
    scan->hull_end = tick > scan->hull_end ? tick : scan->hull_end;
    return !is_cut;
}

static void end_span(struct scan *scan, const struct tbed_event *event)
{
    scan->worker->totals.end_count += is_in_window(scan, event->tick);
    if (event->of.end.leaves)
        scan->is_irregular = true;
    else if (scan->top > scan->trace->frames)
        end_known(scan, event->tick);
    else if (!is_in_window(scan, event->tick))
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
        begin_span(scan, event->id, event->tick);
        worker->totals.event_count += is_in_window(scan, event->tick);
        break;
    case TBED_EVENT_END:
        end_span(scan, event);
        worker->totals.event_count += is_in_window(scan, event->tick);
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

/* ---- The tight loop ---- */

/* True for an allocation or a free of two words, both of which are in the block; the loop need only count it. */
static inline bool is_allocation(const struct scan *scan, uint32_t tag, int order)
{
    if (tag != TBED_TAG_PAIR || scan->end - scan->at < 2)
        return false;
    uint32_t subtype = tbed_pair_subtype(__atomic_load_n((const tbed_aligned_word *)scan->at + 1, order));
    return subtype == TBED_PAIR_ALLOC || subtype == TBED_PAIR_FREE;
}

/*
 * Takes begins, ends of known spans, instants and allocations, up to the block's end or the first other word.
 * Returns that word, with 'at' pointing to it, or 0 at the block's end. 'live' blocks may be growing: their
 * words are loaded with acquire order. 'coarse' times are rounded down to the resolution. Every word is loaded
 * once.
 */
static inline __attribute__((always_inline)) uint64_t run_regular(struct scan *scan, const bool live,
                                                                  const bool coarse)
{
    struct scan s = *scan; /* in registers */
    struct stat_worker *worker = s.worker;
    struct stat_cells *cells = &worker->cells;
    struct stat_cell *base = cells->of_kind[STAT_OTHER]; /* moves when a new row is created */
    const uint64_t resolution = coarse ? cells->resolution : 1;
    const int order = live ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
    const struct regular_frame *bottom = s.trace->frames;
    const uint64_t *start = s.at;
    uint64_t begins = 0, instants = 0, allocations = 0, word = 0;
    uint32_t room = cells->rooms[STAT_OTHER], cell;
    const bool has_histograms = cells->has_histograms;
    bool decreases = false;
    for (; s.at < s.end; s.at++) {
        word = __atomic_load_n((const tbed_aligned_word *)s.at, order);
        uint32_t tag = tbed_event_tag(word);
        uint64_t tick = s.base + tbed_event_delta(word);
        if (tag == TBED_TAG_BEGIN) {
            uint32_t id = tbed_event_id(word);
            if (__builtin_expect(!known_cell(worker, id, room, &cell), 0)) {
                cell = cell_of(worker, id);
                base = cells->of_kind[STAT_OTHER];
                room = cells->rooms[STAT_OTHER];
            }
            *++s.top = (struct regular_frame){tick, id, cell};
            begins++;
        } else if (tag == TBED_TAG_END && s.top != bottom) {
            uint64_t begin = s.top->begin_tick, ticks = tbed_ticks_between(resolution, begin, tick);
            stat_cell_add(cells, &base[s.top->cell], ticks, has_histograms);
            base[s.top->cell].self += ticks;
            s.top--;
            base[s.top->cell].self -= ticks;
            if (s.top == bottom) { /* its contents need not be looked at */
                s.hull_begin = begin < s.hull_begin ? begin : s.hull_begin;
                s.hull_end = tick;
            }
        } else if (tag == TBED_TAG_INSTANT) {
            if (__builtin_expect(!known_cell(worker, tbed_event_id(word), room, &cell), 0)) {
                cell = cell_of(worker, tbed_event_id(word));
                base = cells->of_kind[STAT_OTHER];
                room = cells->rooms[STAT_OTHER];
            }
            base[cell].instant_count++;
            instants++;
        } else if (is_allocation(&s, tag, order)) {
            s.at++;
            allocations++;
        } else {
            break;
        }
        decreases |= tick < s.previous;
        s.previous = tick;
    }
    uint64_t events = (uint64_t)(s.at - start) - allocations, ends = events - begins - instants - allocations;
    worker->totals.event_count += events;
    worker->totals.begin_count += begins;
    worker->totals.instant_count += instants;
    worker->totals.allocation_event_count += allocations;
    worker->totals.end_count += ends;
    worker->totals.span_count += ends;
    s.is_irregular |= decreases;
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

/*
 * The same for blocks of which the filter takes a part. Only the spans that overlap the window count, with their part in
 * it; of the other events, those in it.
 */
static uint64_t run_window(struct scan *scan)
{
    struct tbed_statistics_totals *totals = &scan->worker->totals;
    struct stat_cells *cells = &scan->worker->cells;
    for (; scan->at < scan->end; scan->at++) {
        uint64_t word = tbed_word_load(scan->at), tick = scan->base + tbed_event_delta(word);
        uint32_t tag = tbed_event_tag(word), id = tbed_event_id(word);
        bool is_taken = is_in_window(scan, tick);
        if (tag == TBED_TAG_BEGIN) {
            begin_span(scan, id, tick);
            totals->event_count += is_taken;
        } else if (tag == TBED_TAG_END && scan->top != scan->trace->frames) {
            end_known(scan, tick);
            totals->end_count += is_taken;
            totals->event_count += is_taken;
        } else if (tag == TBED_TAG_INSTANT) {
            uint32_t cell = is_taken ? cell_of(scan->worker, id) : 0;
            stat_cell(cells, cell)->instant_count += is_taken;
            totals->instant_count += is_taken;
            totals->event_count += is_taken;
        } else {
            return word;
        }
        scan->is_irregular |= tick < scan->previous;
        scan->previous = tick;
    }
    return 0;
}

static void scan_words(struct scan *scan)
{
    bool sealed = scan->block->sealed, coarse = scan->worker->cells.resolution > 1;
    while (scan->at < scan->end && !scan->is_irregular) {
        uint64_t word = scan->filter != NULL ? run_window(scan)
                        : coarse             ? run_coarse(scan)
                        : sealed             ? run_sealed(scan)
                                             : run_live(scan);
        if (scan->at == scan->end || !take_other(scan, word))
            return;
    }
}

/* ---- The block's borders ---- */

/* One frame for each word and each stored span, and one at the bottom. */
static bool have_frames(struct trace_worker *trace, const struct tbed_block *block)
{
    size_t room = (size_t)block->nbytes / 8 + block->stored_count + 1;
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
    *scan->top = (struct regular_frame){.cell = 0};
    scan->is_irregular = block->depth != block->stored_count;
    for (uint32_t i = 0; i < block->stored_count; i++) {
        uint64_t before = begin_tick;
        uint32_t id;
        tbed_block_open_span(block, i, &begin_tick, &id);
        scan->is_irregular |= begin_tick < before;
        *++scan->top = (struct regular_frame){begin_tick, id, cell_of(scan->worker, id)};
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
        if (begin_tick != frames[kept + 1].begin_tick || id != frames[kept + 1].id)
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
    return begin_tick == frame->begin_tick && id == frame->id;
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
        if (kept < next.stored_count) {
            tbed_block_open_span(&next, (uint32_t)kept, &begin_tick, &id);
            scan->is_irregular |= begin_tick <= scan->previous;
        }
    }
    while (scan->top > scan->trace->frames + kept && !scan->is_irregular) {
        uint32_t id = scan->top->id;
        bool ends = is_inherited(scan);
        if (end_known(scan, scan->previous) && !ends)
            tbed_stat_count_open(scan->worker, id);
    }
    while (is_last && scan->top > scan->trace->frames && !scan->is_irregular)
        end_known(scan, UINT64_MAX); /* the window ends it */
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

bool tbed_stat_take_regular(struct trace_worker *trace, size_t index)
{
    struct stat_worker *worker = trace->worker;
    struct tbed_block block;
    enum tbed_status status = tbed_block_get_stable(trace->source->reader, index, &trace->copy, &block);
    if (status != TBED_OK || !have_frames(trace, &block)) {
        worker->totals.bad_block_count++;
        worker->out_of_memory |= status == TBED_ERR_MEMORY;
        return true;
    }
    struct scan scan = {.trace = trace,
                        .worker = worker,
                        .block = &block,
                        .at = block.words,
                        .end = block.words_end,
                        .base = block.first_tick,
                        .previous = block.first_tick,
                        .filter = trace->source->options.filter,
                        .hull_begin = UINT64_MAX};
    trace->index = index;
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
