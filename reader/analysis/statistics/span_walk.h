/*
 * Adds one span to the statistics in the general way: its stream is walked from the end to the start. Inline,
 * because this is where the time goes for a large trace.
 *
 * A worker takes one chunk at a time and walks it from its end to its start; each thread in the chunk has a
 * stack, which starts out empty. A span that finds its stack empty is a root: its parent is in a later chunk,
 * and is found when the chunks are merged (walk_merge.c). The spans left on the stack at the chunk's start are
 * handed on to the chunks before. So the result equals that of one walk over everything, in whatever way the
 * spans nest or overlap.
 *
 * A span's figures are added up when it leaves the stack, because only then are its children's times known.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SPAN_WALK_H
#define TRACEBED_SPAN_WALK_H

#include "reader/analysis/statistics/row_labels.h"
#include "reader/analysis/sums/cells.h"
#include "reader/analysis/sums/messages.h"

/* A span on a stack. */
struct stat_span {
    uint64_t begin, end;
    uint64_t children; /* ticks of its children */
    uint32_t cell;
};

struct stat_root {
    uint64_t begin, end;
};

/*
 * One thread's share of a chunk. spans[0] stands for everything that is open in later chunks, and contains every
 * span.
 */
struct stat_part {
    uint64_t thread;
    struct stat_span *spans, *top, *spans_end;
    struct stat_root *roots, *roots_at, *roots_end;
    uint64_t hull_begin, hull_end; /* of the roots, and so of all spans */
};

/* The result of a chunk. */
struct stat_result {
    struct stat_part *parts; /* each keeps its memory for the next chunk */
    size_t part_count, part_room;
    struct number_map by_thread;
    bool is_ready;
};

/* A row's last QueryCacheHitCount in a stream, and the highest tick of one. */
struct stat_mark {
    struct stat_place place;
    uint32_t row;
    uint32_t next; /* of the same hash; UINT32_MAX: none */
};

struct stat_marks {
    struct stat_mark *list;
    size_t count, room;
    struct number_map by_row_and_stream;
};

/*
 * The rows of ids are kept in a tree of two levels that all workers share, because the ids in events are close together.
 * Its memory is bounded; for other ids, each worker has a small cache.
 *
 * The upper level is indexed by an event's tag and the upper bits of its id, so that one look-up tells whether a word begins
 * or ends a span with a known id. All leaves are one array, in which leaf 0 is empty.
 */
#define STAT_LEAF_BITS  10
#define STAT_LEAF_IDS   (1u << STAT_LEAF_BITS)
#define STAT_LEAF_MAX   6144u /* 24 MiB */
#define STAT_TABLE_IDS  (UINT64_C(1) << TBED_ID_BITS)
#define STAT_LEAF_INDEX (STAT_TABLE_IDS >> STAT_LEAF_BITS) /* leaves for each tag */

struct stat_ids {
    uint16_t *leaves; /* numbers; atomic */
    uint32_t *rows;   /* atomic */
    uint32_t leaf_count;
};

#define STAT_ID_SLOTS   (1u << 14)
#define STAT_KIND_SLOTS 64u

struct stat_id_slot {
    uint64_t id;
    uint32_t row; /* 0: empty */
};

struct stat_kind_slot {
    uint64_t id;
    uint32_t kind; /* + 1; 0: empty */
};

struct stat_maker;

/* Parts of a chunk that must be read again. */
#define STAT_CHUNK_HAS_HITS   1u
#define STAT_CHUNK_HAS_ASYNCS 2u

struct stat_worker {
    struct stat_maker *maker;
    const void *context; /* the source's */
    struct stat_cells cells;
    struct stat_ids ids;           /* a copy; the arrays are shared. Rows of the ids below STAT_TABLE_IDS */
    struct stat_id_slot *id_slots; /* of the other ids, as far as they fit */
    struct stat_kind_slot kind_slots[STAT_KIND_SLOTS];
    struct stat_result *result;
    struct stat_part *part; /* that of the previous event; NULL at a chunk's start */
    struct tbed_statistics_totals totals;
    struct stat_messages messages;
    struct stat_marks marks;
    uint64_t *recounts; /* hits by row, in a recount */
    uint8_t chunk_marks;
    bool out_of_memory;
    void *scratch; /* the source's */
    void (*free_scratch)(void *scratch);
};

/* A counter's value: as an integer for categories, and unchanged. */
struct stat_value {
    uint64_t whole;
    double number;
};

/* Slow paths, which most events do not take. */
uint32_t tbed_stat_find_row(struct stat_worker *worker, uint64_t id);
uint32_t tbed_stat_find_kind(struct stat_worker *worker, uint64_t id);
struct stat_part *tbed_stat_find_part(struct stat_worker *worker, uint64_t thread);
bool tbed_stat_grow_spans(struct stat_part *part);
bool tbed_stat_grow_roots(struct stat_part *part);
void tbed_stat_take_instant(struct stat_worker *worker, uint64_t kind, uint64_t id);
/* 'key' is the row that has the cache hits; everything else belongs to the label of 'id'. */
void tbed_stat_take_counter(struct stat_worker *worker, uint64_t kind, uint64_t id, uint64_t key,
                            const struct stat_value *value, struct stat_place place);
void tbed_stat_take_unknown(struct stat_worker *worker, uint64_t id); /* a span with no known begin */
void tbed_stat_count_open(struct stat_worker *worker, uint64_t id);   /* for a span that is also taken */
/* In a recount: takes an instant of any kind. */
void tbed_stat_take_hit(struct stat_worker *worker, uint64_t kind, uint64_t id, struct stat_place place);
/* In a recount of a source that is one stream: instants of a lower order can be skipped. */
uint64_t tbed_stat_first_count(const struct stat_worker *worker);
/* The slot of the id's row in the tree; NULL: it is not in the tree. */
static inline uint32_t *stat_row_place(const struct stat_worker *worker, uint64_t id)
{
    if (id >= STAT_TABLE_IDS)
        return NULL;
    size_t index = STAT_LEAF_INDEX * TBED_TAG_BEGIN + (id >> STAT_LEAF_BITS);
    size_t leaf = __atomic_load_n(&worker->ids.leaves[index], __ATOMIC_RELAXED);
    return leaf != 0 ? &worker->ids.rows[leaf * STAT_LEAF_IDS + id % STAT_LEAF_IDS] : NULL;
}

/* The cached row of an id; 0: none. */
static inline uint32_t stat_row_known(const struct stat_worker *worker, uint64_t id)
{
    const uint32_t *place = stat_row_place(worker, id);
    if (__builtin_expect(place != NULL, 1))
        return __atomic_load_n(place, __ATOMIC_RELAXED);
    const struct stat_id_slot *slot = &worker->id_slots[(id ^ id >> 14) % STAT_ID_SLOTS];
    return slot->id == id ? slot->row : 0;
}

/* The id's row, STAT_UNRESOLVED among its bits; 0: no memory. */
static inline uint32_t stat_row(struct stat_worker *worker, uint64_t id)
{
    uint32_t row = stat_row_known(worker, id);
    return __builtin_expect(row != 0, 1) ? row : tbed_stat_find_row(worker, id);
}

static inline void stat_row_prefetch(const struct stat_worker *worker, uint64_t id)
{
    const uint32_t *place = stat_row_place(worker, id);
    if (place != NULL)
        __builtin_prefetch(place);
}

static inline uint32_t stat_kind(struct stat_worker *worker, uint64_t id)
{
    const struct stat_kind_slot *slot = &worker->kind_slots[(id ^ id >> 6) % STAT_KIND_SLOTS];
    if (__builtin_expect(slot->id == id && slot->kind != 0, 1))
        return slot->kind - 1;
    return tbed_stat_find_kind(worker, id);
}

static inline bool stat_contains(const struct stat_span *outer, uint64_t begin, uint64_t end)
{
    return outer->begin <= begin && end <= outer->end;
}

/* Removes a span from its stack because it does not contain the span being taken. */
static inline void stat_pop(struct stat_cells *cells, const struct stat_span *span)
{
    struct stat_cell *cell = stat_cell(cells, span->cell);
    uint64_t ticks = tbed_ticks_between(cells->resolution, span->begin, span->end);
    cell->self += ticks - span->children;
    stat_cell_end(cells, cell, ticks);
}

/* Do they overlap, neither containing the other? 'outer' is known not to contain the other. */
static inline bool stat_overlaps(const struct stat_span *span, uint64_t begin, uint64_t end)
{
    return span->begin < end && begin < span->end && !(begin <= span->begin && span->end <= end);
}

static inline void stat_push(struct stat_worker *worker, struct stat_part *part, uint64_t begin, uint64_t end,
                             uint32_t cell)
{
    if (__builtin_expect(part->top + 1 == part->spans_end, 0) && !tbed_stat_grow_spans(part)) {
        worker->out_of_memory = true;
        return;
    }
    *++part->top = (struct stat_span){begin, end, 0, cell};
}

static inline void stat_root_add(struct stat_worker *worker, struct stat_part *part, uint64_t begin,
                                 uint64_t end)
{
    if (__builtin_expect(part->roots_at == part->roots_end, 0) && !tbed_stat_grow_roots(part)) {
        worker->out_of_memory = true;
        return;
    }
    *part->roots_at++ = (struct stat_root){begin, end};
    part->hull_begin = begin < part->hull_begin ? begin : part->hull_begin;
    part->hull_end = end > part->hull_end ? end : part->hull_end;
}

/* The thread's part of the chunk; NULL: no memory. */
static inline struct stat_part *stat_part_of(struct stat_worker *worker, uint64_t thread)
{
    struct stat_part *part = worker->part;
    if (__builtin_expect(part == NULL || part->thread != thread, 0))
        part = tbed_stat_find_part(worker, thread);
    return part;
}

/* Takes a span of the chunk. Events are taken in order from the last to the first. */
static inline __attribute__((always_inline)) void stat_take_span(struct stat_worker *worker, uint64_t thread,
                                                                 uint64_t kind, uint64_t id, uint64_t begin,
                                                                 uint64_t end)
{
    struct stat_part *part = stat_part_of(worker, thread);
    if (part == NULL)
        return;
    uint32_t row = stat_row(worker, id);
    uint32_t of_kind = stat_kind(worker, kind);
    of_kind = of_kind < STAT_SPAN_KINDS ? of_kind : STAT_OTHER;
    worker->totals.unnamed_count += row >> 31;
    worker->totals.span_count++;
    worker->totals.inverted_count += end < begin;
    begin = end < begin ? end : begin;
    uint32_t cell = stat_cell_index(row & STAT_ROW_MAX, of_kind);
    if (__builtin_expect(!stat_cell_exists(&worker->cells, cell), 0) &&
        !tbed_stat_grow_cells(&worker->cells, cell))
        return;
    struct stat_span *top = part->top;
    while (!stat_contains(top, begin, end)) { /* spans[0] contains everything */
        worker->totals.overlap_count += stat_overlaps(top, begin, end);
        stat_pop(&worker->cells, top--);
    }
    part->top = top;
    top->children += tbed_ticks_between(worker->cells.resolution, begin, end);
    if (top == part->spans)
        stat_root_add(worker, part, begin, end);
    stat_push(worker, part, begin, end, cell);
}

#endif
