/*
 * The loops over the words of a regular block; see regular.h.
 *
 * One branches on what an event is. It is the faster one where the processor can predict that: programs mostly do the same
 * again. The other one does not branch on it, so it takes random trees in the same time as any others.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/trace/regular.h"

/* ---- The spans that ended ---- */

static void flush(struct scan *scan)
{
    struct trace_worker *trace = scan->trace;
    tbed_stat_add_ended(&scan->worker->cells, trace->ended, trace->ended_count);
    trace->ended_count = 0;
}

/* ---- Self time by time ---- */

/* Adds, or takes away, the time for which each open span was the innermost one, up to 'mark'. */
static void add_open_time(const struct scan *scan, bool adds)
{
    uint64_t mark = scan->mark;
    for (struct regular_frame *frame = scan->top; frame > scan->trace->frames; frame--) {
        uint64_t ticks = mark - frame->begin_tick;
        frame->self += adds ? ticks : -ticks;
        mark = frame->begin_tick;
    }
}

static void start_by_time(struct scan *scan)
{
    scan->by_time = true;
    scan->mark = scan->previous;
    add_open_time(scan, true);
}

static void stop_by_time(struct scan *scan)
{
    if (!scan->by_time)
        return;
    scan->by_time = false;
    add_open_time(scan, false);
    for (const struct regular_frame *frame = scan->top; frame > scan->trace->frames; frame--)
        scan_cell(scan, frame)->self += frame->self;
}

void tbed_scan_stop(struct scan *scan)
{
    flush(scan);
    stop_by_time(scan);
}

/* ---- Single spans ---- */

/* The innermost span was so until 'tick'. */
static void pass_time(struct scan *scan, uint64_t tick)
{
    scan->top->self += tick - scan->mark;
    scan->mark = tick;
}

void tbed_scan_begin(struct scan *scan, uint32_t id, uint64_t tick)
{
    uint32_t row = scan_row(scan->worker, id);
    if (scan->by_time)
        pass_time(scan, tick);
    *++scan->top = (struct regular_frame){.begin_tick = tick, .id = id, .row = row};
    scan->worker->totals.begin_count += scan_has_tick(scan, tick);
}

/* Whether the span counts, which is cut to the window. */
static bool cut_to_window(const struct scan *scan, uint64_t *begin_tick, uint64_t *end_tick, bool *is_cut_ret)
{
    *is_cut_ret = false;
    return scan->filter == NULL || tbed_filter_cut(scan->filter, begin_tick, end_tick, is_cut_ret);
}

bool tbed_scan_end(struct scan *scan, uint64_t tick)
{
    struct stat_cells *cells = &scan->worker->cells;
    struct stat_cell *cell = scan_cell(scan, scan->top);
    uint64_t begin_tick = scan->top->begin_tick;
    bool is_cut;
    if (scan->by_time)
        pass_time(scan, tick);
    scan->top--;
    if (!cut_to_window(scan, &begin_tick, &tick, &is_cut))
        return false;
    uint64_t ticks = tbed_ticks_between(cells->resolution, begin_tick, tick);
    stat_cell_end(cells, cell, ticks);
    if (!scan->by_time)
        scan_cell(scan, scan->top)->self -= ticks;
    cell->self += scan->by_time ? scan->top[1].self : ticks;
    scan->worker->totals.span_count++;
    scan->hull_begin = begin_tick < scan->hull_begin ? begin_tick : scan->hull_begin;
    scan->hull_end = tick > scan->hull_end ? tick : scan->hull_end;
    return !is_cut;
}

/* ---- The loop that branches ---- */

/* The row of an id that has been met before, has a text, and has room here. False: any of these may not hold. */
static inline bool known_row(const struct stat_worker *worker, uint32_t id, uint32_t room, uint32_t *row_ret)
{
    const uint32_t *place = stat_row_place(worker, id);
    uint32_t row = place != NULL ? __atomic_load_n(place, __ATOMIC_RELAXED) & ~STAT_LENDS : 0;
    *row_ret = row;
    return row - 1 < room - 1; /* which no unresolved row is */
}

/* True for an allocation or a free of two words, both of which are in the block; the loop need only count it. */
static inline bool is_allocation(const struct scan *scan, uint32_t tag, int order)
{
    if (tag != TBED_TAG_PAIR || scan->end - scan->at < 2)
        return false;
    uint32_t subtype =
        tbed_pair_subtype(tbed_word_order(__atomic_load_n((const tbed_aligned_word *)scan->at + 1, order)));
    return subtype == TBED_PAIR_ALLOC || subtype == TBED_PAIR_FREE;
}

static void count_events(struct stat_worker *worker, uint64_t begins, uint64_t ends, uint64_t instants,
                         uint64_t allocations)
{
    struct tbed_statistics_totals *totals = &worker->totals;
    totals->event_count += begins + ends + instants + allocations;
    totals->begin_count += begins;
    totals->end_count += ends;
    totals->span_count += ends;
    totals->instant_count += instants;
    totals->allocation_event_count += allocations;
}

/*
 * 'live' blocks may be growing: their words are loaded with acquire order. 'coarse' times are rounded down to the
 * resolution. Every word is loaded once.
 */
static inline __attribute__((always_inline)) uint64_t run_branching(struct scan *scan, const bool live,
                                                                    const bool coarse)
{
    struct scan s = *scan; /* in registers */
    struct stat_worker *worker = s.worker;
    struct stat_cells *cells = &worker->cells;
    struct stat_cell *base = cells->of_kind[STAT_OTHER]; /* moves when a new row is created */
    const uint64_t resolution = coarse ? cells->resolution : 1;
    const int order = live ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
    const struct regular_frame *bottom = s.trace->frames;
    struct stat_ended *ended = s.trace->ended + s.trace->ended_count;
    const struct stat_ended *ended_end = s.trace->ended + STAT_ENDED_MAX;
    uint64_t begins = 0, ends = 0, instants = 0, allocations = 0, word = 0;
    uint32_t room = cells->rooms[STAT_OTHER], row;
    bool decreases = false;
    for (; s.at < s.end; s.at++) {
        word = tbed_word_order(__atomic_load_n((const tbed_aligned_word *)s.at, order));
        uint32_t tag = tbed_event_tag(word);
        uint64_t tick = s.base + tbed_event_delta(word);
        if (tag == TBED_TAG_BEGIN || tag == TBED_TAG_INSTANT) {
            uint32_t id = tbed_event_id(word);
            if (__builtin_expect(!known_row(worker, id, room, &row), 0)) {
                row = scan_row(worker, id);
                base = cells->of_kind[STAT_OTHER];
                room = cells->rooms[STAT_OTHER];
            }
            if (tag == TBED_TAG_BEGIN) {
                *++s.top = (struct regular_frame){.begin_tick = tick, .id = id, .row = row};
                begins++;
            } else {
                base[row].instant_count++;
                instants++;
            }
        } else if (tag == TBED_TAG_END && s.top != bottom) {
            uint64_t begin = s.top->begin_tick, ticks = tbed_ticks_between(resolution, begin, tick);
            row = s.top--->row;
            *ended++ = (struct stat_ended){ticks, ticks, row};
            base[s.top->row].self -= ticks;
            ends++;
            if (s.top == bottom) { /* its contents need not be looked at */
                s.hull_begin = begin < s.hull_begin ? begin : s.hull_begin;
                s.hull_end = tick;
            }
            if (__builtin_expect(ended == ended_end, 0)) {
                tbed_stat_add_ended(cells, s.trace->ended, STAT_ENDED_MAX);
                ended = s.trace->ended;
            }
        } else if (is_allocation(&s, tag, order)) {
            s.at++;
            allocations++;
        } else {
            break;
        }
        decreases |= tick < s.previous;
        s.previous = tick;
    }
    s.trace->ended_count = (size_t)(ended - s.trace->ended);
    count_events(worker, begins, ends, instants, allocations);
    s.is_irregular |= decreases;
    *scan = s;
    return s.at < s.end ? word : 0;
}

static uint64_t run_sealed(struct scan *scan)
{
    return run_branching(scan, false, false);
}

static uint64_t run_live(struct scan *scan)
{
    return run_branching(scan, true, false);
}

static uint64_t run_coarse(struct scan *scan)
{
    return run_branching(scan, true, true);
}

/* ---- The loop that does not ---- */

/*
 * Takes begins and ends of spans with known ids. False: another word is next; true: it is the block's end, or too much has been
 * collected.
 *
 * Without branches, a begin and an end do the same, except that the stack pointer goes up or down, and that what is written
 * above it and behind 'ended' stays there or not.
 */
static inline __attribute__((always_inline)) bool run_spans(struct scan *scan, const bool branches)
{
    struct trace_worker *trace = scan->trace;
    const struct stat_ids ids = scan->worker->ids;
    const uint32_t room = scan->worker->cells.rooms[STAT_OTHER];
    struct stat_ended *ended = trace->ended + trace->ended_count;
    const struct regular_frame *bottom = trace->frames;
    struct regular_frame *top = scan->top;
    const uint64_t *at = scan->at, *end = scan->end, *start = at;
    uint64_t tick_base = scan->base, mark = scan->mark, decreases = 0, tick, elapsed;
    if (end - at > (ptrdiff_t)(STAT_ENDED_MAX - trace->ended_count))
        end = at + (STAT_ENDED_MAX - trace->ended_count);
    for (; at < end; at++) {
        uint64_t word = tbed_word_load(at), ends = word >> 31 & 1;
        size_t leaf = __atomic_load_n(&ids.leaves[(word & 0x1FFFFFFFF) >> STAT_LEAF_BITS], __ATOMIC_RELAXED);
        uint32_t row =
            __atomic_load_n(&ids.rows[leaf * STAT_LEAF_IDS + word % STAT_LEAF_IDS], __ATOMIC_RELAXED) &
            ~STAT_LENDS;
        if (__builtin_expect(row - 1 >= room - 1, 0))
            break;
        tick = tick_base + tbed_event_delta(word);
        elapsed = tick - mark;
        decreases |= elapsed;
        mark = tick;
        top->self += elapsed;
        if (branches && !ends) {
            *++top = (struct regular_frame){tick, 0, tbed_event_id(word), row};
            continue;
        }
        ended->ticks = tick - top->begin_tick;
        ended->self = top->self;
        ended->row = top->row;
        if (branches) {
            ended++;
            top--;
        } else {
            top[1].begin_tick = tick;
            top[1].self = 0;
            top[1].id = tbed_event_id(word);
            top[1].row = row;
            ended += ends;
            top += 1 - 2 * (ptrdiff_t)ends;
        }
        if (__builtin_expect(top <= bottom, 0)) {
            if (top < bottom) { /* the span that ends is not known */
                top++;
                ended--;
                break;
            }
            scan->hull_begin = top[1].begin_tick < scan->hull_begin ? top[1].begin_tick : scan->hull_begin;
            scan->hull_end = tick;
        }
    }
    uint64_t end_count = (uint64_t)(ended - trace->ended) - trace->ended_count;
    count_events(scan->worker, (uint64_t)(at - start) - end_count, end_count, 0, 0);
    trace->ended_count = (size_t)(ended - trace->ended);
    scan->is_irregular |= decreases >> 63 != 0;
    scan->previous = mark > scan->previous ? mark : scan->previous;
    scan->mark = mark;
    scan->top = top;
    scan->at = at;
    return at == end;
}

/* Takes a begin, an end of a known span, or an instant. False: it is another word. */
static bool take_one(struct scan *scan, uint64_t word)
{
    struct tbed_statistics_totals *totals = &scan->worker->totals;
    uint64_t tick = scan->base + tbed_event_delta(word);
    uint32_t tag = tbed_event_tag(word), id = tbed_event_id(word);
    bool is_taken = scan_has_tick(scan, tick);
    if (tag == TBED_TAG_BEGIN) {
        tbed_scan_begin(scan, id, tick);
    } else if (tag == TBED_TAG_END && scan->top != scan->trace->frames) {
        tbed_scan_end(scan, tick);
        totals->end_count += is_taken;
    } else if (tag == TBED_TAG_INSTANT) {
        uint32_t row = is_taken ? scan_row(scan->worker, id) : 0;
        scan->worker->cells.of_kind[STAT_OTHER][row].instant_count += is_taken;
        totals->instant_count += is_taken;
    } else {
        return false;
    }
    totals->event_count += is_taken;
    scan->is_irregular |= tick < scan->previous;
    scan->previous = tick;
    scan->at++;
    return true;
}

/*
 * For blocks of which the filter takes a part. Only the spans that overlap the window count, with their part in it; of the
 * other events, those in it.
 */
static uint64_t run_window(struct scan *scan)
{
    while (scan->at < scan->end) {
        uint64_t word = tbed_word_load(scan->at);
        if (!take_one(scan, word))
            return word;
    }
    return 0;
}

#define STOPS_MIN   64u
#define STOP_EVENTS 16u /* if there are fewer from one stop of run_spans() to the next, it does not pay */

static uint64_t run_by_time(struct scan *scan)
{
    while (scan->at < scan->end) {
        if (scan->trace->ended_count > STAT_ENDED_MAX / 2)
            flush(scan);
        if (scan->trace->is_predictable ? run_spans(scan, true) : run_spans(scan, false))
            continue;
        uint64_t word = tbed_word_load(scan->at);
        if (++scan->stop_count > STOPS_MIN + (size_t)(scan->at - scan->block->words) / STOP_EVENTS) {
            stop_by_time(scan);
            return run_sealed(scan);
        }
        if (!take_one(scan, word))
            return word;
    }
    return 0;
}

/* ---- The choice ---- */

#define LOOK_EVENTS  256u
#define LOOK_HISTORY 4096u /* of the last 12 events */
#define LOOK_PERIOD  8u    /* blocks of one stream */

/*
 * Looks at a block's first words: can it be foreseen from the events before whether a span begins or ends? What followed
 * them the last time is remembered, as the processor does.
 */
static bool is_predictable(struct trace_worker *trace, const struct tbed_block *block)
{
    size_t nwords = (size_t)(block->words_end - block->words), event_count = 0, wrong_count = 0;
    uint32_t history = 0;
    for (size_t i = 0; i < nwords && event_count < LOOK_EVENTS; i++) {
        uint32_t tag = tbed_event_tag(tbed_word_load(block->words + i));
        if (tag != TBED_TAG_BEGIN && tag != TBED_TAG_END)
            continue;
        wrong_count += trace->next_tags[history] != tag;
        trace->next_tags[history] = (uint8_t)tag;
        history = (history << 1 | (tag == TBED_TAG_END)) % LOOK_HISTORY;
        event_count++;
    }
    return wrong_count < event_count / 8;
}

void tbed_scan_start(struct scan *scan)
{
    struct trace_worker *trace = scan->trace;
    if (scan->filter != NULL || scan->worker->cells.resolution > 1 || !scan->block->sealed)
        return;
    if (trace->look_stream != scan->block->stream || trace->look_count++ % LOOK_PERIOD == 0) {
        trace->is_predictable = is_predictable(trace, scan->block);
        trace->look_stream = scan->block->stream;
    }
    start_by_time(scan);
}

uint64_t tbed_scan_run(struct scan *scan)
{
    if (scan->filter != NULL)
        return run_window(scan);
    if (scan->worker->cells.resolution > 1)
        return run_coarse(scan);
    if (!scan->block->sealed)
        return run_live(scan);
    return scan->by_time ? run_by_time(scan) : run_sealed(scan);
}
