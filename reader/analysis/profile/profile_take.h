/*
 * One event taken into a profile. Inline: this is what a large trace's time goes into.
 *
 * A worker has a chunk at a time and walks it from its end to its start, each thread in it with a stack that starts
 * out empty. A span that finds its stack empty is a root: who its parent is stands in later chunks, and the one
 * that puts the chunks together finds it (profile_merge.c). What is on the stack at the chunk's start is handed on
 * to the chunks before. So the result is that of one walk over everything, whatever the spans are like.
 *
 * A span's figures are added up when it leaves the stack: only then is it known what its children took.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PROFILE_TAKE_H
#define TRACEBED_PROFILE_TAKE_H

#include "reader/analysis/profile/profile_labels.h"

/* By the text of a category. Each has figures of its own in a row. */
enum profile_kind {
    PROFILE_OTHER,
    PROFILE_QUERY, /* Query, GenericActivity */
    PROFILE_BLOCKED,
    PROFILE_LOAD,
    PROFILE_HASHING,
    PROFILE_HIT,
    PROFILE_HIT_COUNT,
    PROFILE_ARTIFACT,
    PROFILE_KIND_COUNT,
};

/* The sums of one row and kind. Counters: 'total' of their values. */
struct profile_cell {
    uint64_t total;
    uint64_t self; /* signed: less than the children took, it is below 0 */
    uint64_t count;
};

struct profile_cells {
    struct profile_cell *cells; /* row * PROFILE_KIND_COUNT + kind */
    uint32_t room;              /* at least the cells of row 0 */
};

/* A span on a stack. */
struct profile_span {
    uint64_t begin, end;
    uint64_t children; /* ticks of those that it is the parent of */
    uint32_t cell;
};

struct profile_root {
    uint64_t begin, end;
};

/* What a chunk has of one thread. spans[0] stands for whatever is open in later chunks, and contains everything. */
struct profile_part {
    uint64_t thread;
    struct profile_span *spans, *top, *spans_end;
    struct profile_root *roots, *roots_at, *roots_end;
    uint64_t hull_begin, hull_end; /* of the roots, and so of all spans */
};

/* What a chunk comes to. */
struct profile_result {
    struct profile_part *parts; /* each keeps its memory */
    size_t part_count, part_room;
    struct number_map by_thread;
    bool is_ready;
};

/* Where a QueryCacheHit or a QueryCacheHitCount stands: in a stream by order, among streams by tick. */
struct profile_place {
    uint64_t stream, order, tick;
};

/* The last QueryCacheHitCount of a row in a stream, and the highest tick of one. */
struct profile_mark {
    struct profile_place place;
    uint32_t row;
    uint32_t next; /* of the same hash; UINT32_MAX: none */
};

struct profile_marks {
    struct profile_mark *list;
    size_t count, room;
    struct number_map by_row_and_stream;
};

struct profile_counts {
    uint64_t events, spans, instants, counters;
    uint64_t inverted, overlaps, unknown;
    uint64_t open, lost; /* begins without an end, ends without a begin */
};

/*
 * The rows of ids are in a tree of two levels, all of whose leaves are shared: events name ids that stand close
 * together. What it may take of memory is bounded; behind that, and for higher ids, each worker has a small cache.
 */
#define PROFILE_LEAF_BITS 10
#define PROFILE_LEAF_IDS  (1u << PROFILE_LEAF_BITS)
#define PROFILE_LEAF_MAX  6144u /* 24 MiB */
#define PROFILE_TABLE_IDS (UINT64_C(1) << 30)

#define PROFILE_ID_SLOTS   (1u << 14)
#define PROFILE_KIND_SLOTS 64u

struct profile_id_slot {
    uint64_t id;
    uint32_t row; /* 0: empty */
};

struct profile_kind_slot {
    uint64_t id;
    uint32_t kind; /* + 1; 0: empty */
};

struct profile_maker;

struct profile_worker {
    struct profile_maker *maker;
    const void *context; /* the source's */
    struct profile_cells cells;
    uint32_t **id_leaves;             /* shared; rows of the ids below PROFILE_TABLE_IDS */
    struct profile_id_slot *id_slots; /* of the other ids, as far as there is room */
    struct profile_kind_slot kind_slots[PROFILE_KIND_SLOTS];
    struct profile_result *result;
    struct profile_part *part; /* of the event before; NULL at a chunk's start */
    struct profile_counts counts;
    struct profile_marks marks;
    uint64_t *recounts; /* hits by row, in a recount */
    bool chunk_has_hits;
    bool out_of_memory;
    void *scratch; /* the source's, freed with the worker */
    size_t scratch_nbytes;
};

/* The parts that are not for every event. */
uint32_t tbed_profile_find_row(struct profile_worker *worker, uint64_t id);
uint32_t tbed_profile_find_kind(struct profile_worker *worker, uint64_t id);
struct profile_part *tbed_profile_find_part(struct profile_worker *worker, uint64_t thread);
bool tbed_profile_grow_cells(struct profile_cells *cells, uint32_t cell);
bool tbed_profile_grow_spans(struct profile_part *part);
bool tbed_profile_grow_roots(struct profile_part *part);
void tbed_profile_take_instant(struct profile_worker *worker, uint64_t kind, uint64_t id);
void tbed_profile_take_counter(struct profile_worker *worker, uint64_t kind, uint64_t id, uint64_t value,
                               struct profile_place place);
/* In a recount: an instant, whatever its kind. */
void tbed_profile_take_hit(struct profile_worker *worker, uint64_t kind, uint64_t id,
                           struct profile_place place);
/* In a recount, of a source that is one stream: instants of a lower order need not be taken. */
uint64_t tbed_profile_first_count(const struct profile_worker *worker);
/* Memory of the worker's own for the source, at least that much; NULL: none. What was in it may be lost. */
void *tbed_profile_scratch(struct profile_worker *worker, size_t nbytes);

/* Where the id's row is kept in the tree; NULL: not there. */
static inline uint32_t *profile_row_place(const struct profile_worker *worker, uint64_t id)
{
    if (id >= PROFILE_TABLE_IDS)
        return NULL;
    uint32_t *leaf = __atomic_load_n(&worker->id_leaves[id >> PROFILE_LEAF_BITS], __ATOMIC_ACQUIRE);
    return leaf != NULL ? &leaf[id % PROFILE_LEAF_IDS] : NULL;
}

/* The row that is known of an id; 0: none. */
static inline uint32_t profile_row_known(const struct profile_worker *worker, uint64_t id)
{
    const uint32_t *place = profile_row_place(worker, id);
    if (__builtin_expect(place != NULL, 1))
        return __atomic_load_n(place, __ATOMIC_RELAXED);
    const struct profile_id_slot *slot = &worker->id_slots[(id ^ id >> 14) % PROFILE_ID_SLOTS];
    return slot->id == id ? slot->row : 0;
}

/* The id's row, PROFILE_UNRESOLVED among its bits; 0: no memory. */
static inline uint32_t profile_row(struct profile_worker *worker, uint64_t id)
{
    uint32_t row = profile_row_known(worker, id);
    return __builtin_expect(row != 0, 1) ? row : tbed_profile_find_row(worker, id);
}

static inline void profile_row_prefetch(const struct profile_worker *worker, uint64_t id)
{
    const uint32_t *place = profile_row_place(worker, id);
    if (place != NULL)
        __builtin_prefetch(place);
}

static inline uint32_t profile_kind(struct profile_worker *worker, uint64_t id)
{
    const struct profile_kind_slot *slot = &worker->kind_slots[(id ^ id >> 6) % PROFILE_KIND_SLOTS];
    if (__builtin_expect(slot->id == id && slot->kind != 0, 1))
        return slot->kind - 1;
    return tbed_profile_find_kind(worker, id);
}

static inline bool profile_contains(const struct profile_span *outer, uint64_t begin, uint64_t end)
{
    return outer->begin <= begin && end <= outer->end;
}

/* A span leaves its stack because of one that it does not contain. */
static inline void profile_pop(struct profile_cells *cells, const struct profile_span *span)
{
    struct profile_cell *cell = &cells->cells[span->cell];
    uint64_t ticks = span->end - span->begin;
    cell->total += ticks;
    cell->self += ticks - span->children;
    cell->count++;
}

/* Do they overlap, neither containing the other? 'outer' is known not to contain the other. */
static inline bool profile_overlaps(const struct profile_span *span, uint64_t begin, uint64_t end)
{
    return span->begin < end && begin < span->end && !(begin <= span->begin && span->end <= end);
}

static inline void profile_push(struct profile_worker *worker, struct profile_part *part, uint64_t begin,
                                uint64_t end, uint32_t cell)
{
    if (__builtin_expect(part->top + 1 == part->spans_end, 0) && !tbed_profile_grow_spans(part)) {
        worker->out_of_memory = true;
        return;
    }
    *++part->top = (struct profile_span){begin, end, 0, cell};
}

static inline void profile_root_add(struct profile_worker *worker, struct profile_part *part, uint64_t begin,
                                    uint64_t end)
{
    if (__builtin_expect(part->roots_at == part->roots_end, 0) && !tbed_profile_grow_roots(part)) {
        worker->out_of_memory = true;
        return;
    }
    *part->roots_at++ = (struct profile_root){begin, end};
    part->hull_begin = begin < part->hull_begin ? begin : part->hull_begin;
    part->hull_end = end > part->hull_end ? end : part->hull_end;
}

/* Takes a span of the chunk; its events come the last first. */
static inline __attribute__((always_inline)) void profile_take_span(struct profile_worker *worker,
                                                                    uint64_t thread, uint64_t kind,
                                                                    uint64_t id, uint64_t begin, uint64_t end)
{
    struct profile_part *part = worker->part;
    if (__builtin_expect(part == NULL || part->thread != thread, 0)) {
        part = tbed_profile_find_part(worker, thread);
        if (part == NULL)
            return;
    }
    uint32_t row = profile_row(worker, id);
    uint32_t of_kind = profile_kind(worker, kind);
    of_kind = of_kind < PROFILE_HIT ? of_kind : PROFILE_OTHER;
    worker->counts.unknown += row >> 31;
    worker->counts.spans++;
    worker->counts.inverted += end < begin;
    begin = end < begin ? end : begin;
    uint32_t cell = (row & PROFILE_ROW_MAX) * PROFILE_KIND_COUNT + of_kind;
    if (__builtin_expect(cell >= worker->cells.room, 0) && !tbed_profile_grow_cells(&worker->cells, cell)) {
        worker->out_of_memory = true;
        return;
    }
    struct profile_span *top = part->top;
    while (!profile_contains(top, begin, end)) { /* spans[0] contains everything */
        worker->counts.overlaps += profile_overlaps(top, begin, end);
        profile_pop(&worker->cells, top--);
    }
    part->top = top;
    top->children += end - begin;
    if (top == part->spans)
        profile_root_add(worker, part, begin, end);
    profile_push(worker, part, begin, end, cell);
}

#endif
