/*
 * Follows a trace that is being written; see <tracebed/follow.h>.
 *
 * Each block lists the spans that are open at its start, so a thread's stack is set anew at each block: where a thread is
 * joined, and where events are missing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/core/base/hashmap.h"
#include "reader/core/base/vector.h"
#include "reader/core/file/reader_state.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/follow.h>

struct thread {
    struct tbed_follow_thread public;
    struct tbed_cursor *cursor;
    TBED_VECTOR(struct tbed_follow_span) open;
    uint64_t block_first, block_end; /* offsets of the block that the stack belongs to */
    size_t block_index;              /* where it was among the stream's blocks */
    bool is_joined_late;             /* events of blocks before this one do not count */
    uint64_t counted_tick;           /* up to which time has been counted */
    uint64_t newest[TBED_FOLLOW_NEWEST_MAX];
    size_t newest_count; /* how many ticks were put there, one after the other and round */
};

struct label_slot {
    uint64_t key;
    struct tbed_follow_label label;
};

struct id_slot { /* what an id's label is */
    uint64_t key;
    uint32_t label_id;
};

struct tbed_follow {
    struct tbed_reader *reader;
    TBED_VECTOR(struct thread *) threads;
    TBED_HASHMAP(struct id_slot) ids;
    TBED_HASHMAP(struct label_slot) labels; /* of this update */
    TBED_VECTOR(struct tbed_follow_label) sorted;
    struct tbed_follow_totals totals;
    uint64_t highest_tick; /* of all events so far; given ticks may go back */
    uint64_t begin_tick;   /* nothing before it counts */
    bool has_begin;        /* the time before this update is known */
    bool is_out_of_memory;
};

/* ---- Time ---- */

/* Two names with one label have one row. NULL: no memory. */
static struct tbed_follow_label *label_of(struct tbed_follow *follow, uint32_t id)
{
    struct id_slot *known = TBED_HASHMAP_FIND(&follow->ids, tbed_hashmap_key32(id));
    if (known == NULL) {
        struct tbed_name name = {.id = TBED_ID_INVALID};
        known = TBED_HASHMAP_ADD(&follow->ids, tbed_hashmap_key32(id));
        if (known == NULL)
            return NULL;
        tbed_event_label(follow->reader, id, &name);
        known->label_id = name.id != TBED_ID_INVALID ? name.id : id;
    }
    struct label_slot *slot = TBED_HASHMAP_ADD(&follow->labels, tbed_hashmap_key32(known->label_id));
    if (slot != NULL)
        slot->label.id = known->label_id;
    return slot != NULL ? &slot->label : NULL;
}

static void count(struct tbed_follow *follow, uint32_t id, uint64_t spans, uint64_t ticks)
{
    struct tbed_follow_label *label = label_of(follow, id);
    follow->is_out_of_memory |= label == NULL;
    if (label == NULL)
        return;
    label->count += spans;
    label->self_ticks += ticks;
}

/* Counts the time up to 'tick' for the innermost open span. Ticks that go back count nothing. */
static void advance(struct tbed_follow *follow, struct thread *thread, uint64_t tick)
{
    if (tick <= thread->counted_tick)
        return;
    if (thread->open.count > 0) {
        uint64_t ticks = tick - thread->counted_tick;
        thread->public.busy_ticks += ticks;
        count(follow, thread->open.items[thread->open.count - 1].id, 0, ticks);
    }
    thread->counted_tick = tick;
}

/* ---- A thread's stack ---- */

/* Is the event in the block whose stack is known? */
static bool is_in_block(const struct thread *thread, const struct tbed_event *event)
{
    return event->offset >= thread->block_first && event->offset < thread->block_end;
}

static void stack_set(struct tbed_follow *follow, struct thread *thread, const struct tbed_block *block)
{
    thread->open.count = 0;
    for (uint32_t i = 0; i < block->stored_count; i++) {
        struct tbed_follow_span *span = TBED_VECTOR_PUSH(&thread->open);
        follow->is_out_of_memory |= span == NULL;
        if (span != NULL)
            tbed_block_open_span(block, i, &span->begin_tick, &span->id);
    }
    thread->block_first = block->offset;
    thread->block_end = block->offset + block->nbytes;
}

static bool block_has(const struct tbed_follow *follow, size_t index, uint64_t offset,
                      struct tbed_block *block_ret)
{
    return tbed_event_block_get(follow->reader, index, block_ret) == TBED_OK && offset >= block_ret->offset &&
           offset < block_ret->offset + block_ret->nbytes;
}

/* An event of another block: takes over the stack that the block begins with. Blocks mostly come one after the other. */
static void enter_held(struct tbed_follow *follow, struct thread *thread, const struct tbed_event *event)
{
    struct tbed_block block, again;
    size_t first, block_count, at;
    tbed_stream_blocks(follow->reader, thread->public.stream, &first, &block_count);
    for (size_t i = 0; i < block_count; i++) {
        at = (thread->block_index + 1 + i) % block_count;
        if (!block_has(follow, first + at, event->offset, &block))
            continue;
        advance(follow, thread, block.first_tick);
        stack_set(follow, thread, &block);
        if (!block_has(follow, first + at, event->offset,
                       &again)) /* reused meanwhile, in a flight recorder */
            thread->open.count = 0;
        thread->block_index = at;
        return;
    }
    thread->open.count = 0; /* it is gone already */
    thread->block_first = event->offset;
    thread->block_end = event->offset + 1;
}

static void enter_block(struct tbed_follow *follow, struct thread *thread, const struct tbed_event *event)
{
    struct tbed_lease lease;
    tbed_lease_begin(&lease, follow->reader->map.packed);
    enter_held(follow, thread, event);
    tbed_lease_end(&lease);
}

static void push(struct tbed_follow *follow, struct thread *thread, const struct tbed_event *event)
{
    struct tbed_follow_span *span = TBED_VECTOR_PUSH(&thread->open);
    follow->is_out_of_memory |= span == NULL;
    if (span != NULL)
        *span = (struct tbed_follow_span){.id = event->id, .begin_tick = event->tick};
}

/* The span that has 'inside' others inside it. */
static void pop(struct tbed_follow *follow, struct thread *thread, uint32_t inside, bool counts)
{
    thread->public.span_count += counts;
    if (thread->open.count <= inside)
        return;
    struct tbed_follow_span *place = &thread->open.items[thread->open.count - 1 - inside];
    if (counts)
        count(follow, place->id, 1, 0);
    memmove(place, place + 1, inside * sizeof *place);
    thread->open.count--;
}

static void take_whole(struct tbed_follow *follow, struct thread *thread, const struct tbed_event *event)
{
    uint64_t begin = event->of.span.begin_tick, since = follow->totals.now_tick;
    thread->public.span_count++;
    begin = begin < since && since < event->tick ? since : begin;
    count(follow, event->id, 1, begin < event->tick ? event->tick - begin : 0);
}

static void take(struct tbed_follow *follow, struct thread *thread, const struct tbed_event *event)
{
    bool counts = event->tick >= follow->begin_tick;
    if (!is_in_block(thread, event))
        enter_block(follow, thread, event);
    advance(follow, thread, event->tick);
    if (event->type == TBED_EVENT_BEGIN)
        push(follow, thread, event);
    else if (event->type == TBED_EVENT_END)
        pop(follow, thread, event->of.end.inside, counts);
    else if (event->type == TBED_EVENT_SPAN && counts)
        take_whole(follow, thread, event);
    thread->public.event_count += counts;
    thread->public.last_tick = event->tick;
    if (event->tick > follow->highest_tick)
        follow->highest_tick = event->tick;
    thread->newest[thread->newest_count++ % TBED_FOLLOW_NEWEST_MAX] = event->tick;
}

/* ---- Threads ---- */

/* The block where the thread was at 'begin_tick', or its first one that is there; -1: none is. */
static int64_t find_block(const struct tbed_follow *follow, size_t first, size_t block_count,
                          struct tbed_block *block_ret)
{
    int64_t found = -1;
    struct tbed_block block;
    for (size_t at = block_count; at > 0; at--) {
        if (tbed_event_block_get(follow->reader, first + at - 1, &block) != TBED_OK)
            break;
        *block_ret = block;
        found = (int64_t)at - 1;
        if (!follow->has_begin || block.first_tick <= follow->begin_tick)
            break;
    }
    return found;
}

/* Starts at the newest block, whose events count, so there is something to show at once; or where the figures begin. */
static void join(struct tbed_follow *follow, struct thread *thread)
{
    struct tbed_block block;
    size_t first, block_count;
    tbed_stream_blocks(follow->reader, thread->public.stream, &first, &block_count);
    struct tbed_lease lease;
    tbed_lease_begin(&lease, follow->reader->map.packed);
    int64_t at = find_block(follow, first, block_count, &block);
    if (at >= 0)
        stack_set(follow, thread, &block);
    tbed_lease_end(&lease);
    if (at < 0)
        return;
    thread->block_index = (size_t)at;
    thread->is_joined_late = true;
    thread->counted_tick = block.first_tick > follow->begin_tick ? block.first_tick : follow->begin_tick;
    tbed_cursor_seek(thread->cursor, block.first_tick);
}

static struct thread *thread_add(struct tbed_follow *follow, uint32_t stream)
{
    struct thread *thread = calloc(1, sizeof *thread);
    struct thread **slot = thread != NULL ? TBED_VECTOR_PUSH(&follow->threads) : NULL;
    if (slot == NULL || tbed_cursor_open(follow->reader, stream, &thread->cursor) != TBED_OK) {
        follow->threads.count -= slot != NULL;
        free(thread);
        return NULL;
    }
    thread->public.stream = stream;
    thread->block_index = SIZE_MAX; /* the next one is the first */
    return *slot = thread;
}

static int compare_threads(const void *left, const void *right)
{
    uint32_t a = (*(struct thread *const *)left)->public.stream,
             b = (*(struct thread *const *)right)->public.stream;
    return a < b ? -1 : a > b;
}

/* Adds the streams that are new; 'joins': at their newest blocks. They are in order of their numbers. False: no memory. */
static bool find_threads(struct tbed_follow *follow, bool joins)
{
    struct tbed_stream_info info;
    size_t known = follow->threads.count;
    for (size_t i = 0; tbed_stream_get(follow->reader, i, &info); i++) {
        struct thread wanted = {.public.stream = info.stream}, *key = &wanted, **found;
        found = known == 0 ? NULL : bsearch(&key, follow->threads.items, known, sizeof key, compare_threads);
        struct thread *thread = found != NULL ? *found : thread_add(follow, info.stream);
        if (thread == NULL)
            return false;
        thread->public.has_ended = info.end_tick != 0;
        if (found == NULL && joins)
            join(follow, thread);
    }
    if (follow->threads.count > 1)
        qsort(follow->threads.items, follow->threads.count, sizeof *follow->threads.items, compare_threads);
    return true;
}

/* ---- Updates ---- */

static enum tbed_status read_on(struct tbed_follow *follow, struct thread *thread)
{
    struct tbed_event event;
    enum tbed_status status;
    while ((status = tbed_cursor_next(thread->cursor, &event)) == TBED_OK) {
        thread->is_joined_late &= !is_in_block(thread, &event);
        if (!thread->is_joined_late)
            take(follow, thread, &event);
    }
    thread->is_joined_late = false;
    return status == TBED_END ? TBED_OK : status;
}

static int compare_labels(const void *left, const void *right)
{
    const struct tbed_follow_label *a = left, *b = right;
    if (a->self_ticks != b->self_ticks)
        return a->self_ticks > b->self_ticks ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static bool sort_labels(struct tbed_follow *follow)
{
    follow->sorted.count = 0;
    for (struct label_slot *slot = NULL; (slot = TBED_HASHMAP_NEXT(&follow->labels, slot)) != NULL;) {
        struct tbed_follow_label *label = TBED_VECTOR_PUSH(&follow->sorted);
        if (label == NULL)
            return false;
        *label = slot->label;
    }
    if (follow->sorted.count > 1)
        qsort(follow->sorted.items, follow->sorted.count, sizeof *follow->sorted.items, compare_labels);
    return true;
}

/* Spans that are open take time up to now. */
static void close_update(struct tbed_follow *follow)
{
    uint64_t before = follow->totals.now_tick, now = follow->highest_tick;
    for (size_t i = 0; i < follow->threads.count; i++) {
        const struct tbed_follow_thread *thread = &follow->threads.items[i]->public;
        follow->totals.event_count += thread->event_count;
        follow->totals.span_count += thread->span_count;
    }
    for (size_t i = 0; i < follow->threads.count; i++) {
        struct thread *thread = follow->threads.items[i];
        if (!thread->public.has_ended && thread->open.count > 0)
            advance(follow, thread, now);
        thread->public.open = thread->open.items;
        thread->public.open_count = thread->open.count;
    }
    follow->totals.now_tick = now;
    follow->totals.ticks = follow->has_begin ? now - before : 0;
    follow->has_begin = true;
}

static enum tbed_status update(struct tbed_follow *follow)
{
    enum tbed_status status = TBED_OK;
    TBED_HASHMAP_CLEAR(&follow->labels);
    follow->totals.event_count = follow->totals.span_count = 0;
    for (size_t i = 0; i < follow->threads.count && status == TBED_OK; i++) {
        struct thread *thread = follow->threads.items[i];
        thread->public.event_count = thread->public.span_count = thread->public.busy_ticks = 0;
        status = read_on(follow, thread);
    }
    close_update(follow);
    if (status == TBED_OK && (follow->is_out_of_memory || !sort_labels(follow)))
        status = TBED_ERR_MEMORY;
    return status;
}

static enum tbed_status open_follow(struct tbed_reader *reader, bool has_begin, uint64_t begin_tick,
                                    struct tbed_follow **follow_ret)
{
    struct tbed_follow *follow = calloc(1, sizeof *follow);
    if (follow == NULL)
        return TBED_ERR_MEMORY;
    follow->reader = reader;
    follow->has_begin = has_begin;
    follow->begin_tick = follow->highest_tick = follow->totals.now_tick = begin_tick;
    enum tbed_status status = find_threads(follow, true) ? update(follow) : TBED_ERR_MEMORY;
    if (status == TBED_OK)
        *follow_ret = follow;
    else
        tbed_follow_close(follow);
    return status;
}

enum tbed_status tbed_follow_open(struct tbed_reader *reader, struct tbed_follow **follow_ret)
{
    return open_follow(reader, false, 0, follow_ret);
}

enum tbed_status tbed_follow_open_at(struct tbed_reader *reader, uint64_t begin_tick,
                                     struct tbed_follow **follow_ret)
{
    return open_follow(reader, true, begin_tick, follow_ret);
}

enum tbed_status tbed_follow_update(struct tbed_follow *follow, struct tbed_error *error_ret)
{
    struct tbed_error ignored, *error = error_ret != NULL ? error_ret : &ignored;
    enum tbed_status status = tbed_reader_refresh(follow->reader, error);
    if (status != TBED_OK)
        return status;
    status = find_threads(follow, false) ? update(follow) : TBED_ERR_MEMORY;
    if (status != TBED_OK)
        *error = (struct tbed_error){.status = status};
    return status;
}

void tbed_follow_close(struct tbed_follow *follow)
{
    if (follow == NULL)
        return;
    for (size_t i = 0; i < follow->threads.count; i++) {
        tbed_cursor_close(follow->threads.items[i]->cursor);
        tbed_vector_free(&follow->threads.items[i]->open.vector);
        free(follow->threads.items[i]);
    }
    tbed_vector_free(&follow->threads.vector);
    tbed_vector_free(&follow->sorted.vector);
    tbed_hashmap_free(&follow->ids.map);
    tbed_hashmap_free(&follow->labels.map);
    free(follow);
}

/* ---- Results ---- */

void tbed_follow_totals_sized(const struct tbed_follow *follow, struct tbed_follow_totals *totals_ret,
                              size_t totals_nbytes)
{
    tbed_sized_give(totals_ret, totals_nbytes, &follow->totals, sizeof follow->totals);
}

const struct tbed_follow_thread *tbed_follow_thread(const struct tbed_follow *follow, size_t index)
{
    return index < follow->threads.count ? &follow->threads.items[index]->public : NULL;
}

const struct tbed_follow_label *tbed_follow_label(const struct tbed_follow *follow, size_t index)
{
    return index < follow->sorted.count ? &follow->sorted.items[index] : NULL;
}

/* Lowers the highest 'count' ticks of 'newest' by one that is higher than the least of them. */
static void keep_highest(uint64_t *newest, size_t count, uint64_t tick)
{
    size_t least = 0;
    for (size_t i = 1; i < count; i++)
        least = newest[i] < newest[least] ? i : least;
    if (tick > newest[least])
        newest[least] = tick;
}

uint64_t tbed_follow_newest_tick(const struct tbed_follow *follow, size_t count)
{
    uint64_t newest[TBED_FOLLOW_NEWEST_MAX] = {0};
    count = count == 0 ? 1 : count > TBED_FOLLOW_NEWEST_MAX ? TBED_FOLLOW_NEWEST_MAX : count;
    for (size_t i = 0; i < follow->threads.count; i++) {
        const struct thread *thread = follow->threads.items[i];
        for (size_t j = 0; j < thread->newest_count && j < TBED_FOLLOW_NEWEST_MAX; j++)
            keep_highest(newest, count, thread->newest[j]);
    }
    uint64_t least = newest[0];
    for (size_t i = 1; i < count; i++)
        least = newest[i] < least ? newest[i] : least;
    return least;
}
