/*
 * One worker's share of a profile: what profile_take.h leaves to functions.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/profile/profile_maker.h"

#include <stdlib.h>
#include <string.h>

/* ---- Room ---- */

bool tbed_profile_grow_cells(struct profile_cells *cells, uint32_t cell)
{
    uint64_t room = cells->room == 0 ? 64 * PROFILE_KIND_COUNT : cells->room;
    while (room <= cell)
        room *= 2;
    struct profile_cell *larger = room <= UINT32_MAX ? realloc(cells->cells, room * sizeof *larger) : NULL;
    if (larger == NULL)
        return false;
    memset(larger + cells->room, 0, (room - cells->room) * sizeof *larger);
    cells->cells = larger;
    cells->room = (uint32_t)room;
    return true;
}

bool tbed_profile_grow_spans(struct profile_part *part)
{
    size_t used = part->spans == NULL ? 0 : (size_t)(part->top - part->spans);
    size_t room = part->spans == NULL ? 8 : (size_t)(part->spans_end - part->spans) * 2;
    struct profile_span *spans = realloc(part->spans, room * sizeof *spans);
    if (spans == NULL)
        return false;
    part->spans = spans;
    part->top = spans + used;
    part->spans_end = spans + room;
    return true;
}

bool tbed_profile_grow_roots(struct profile_part *part)
{
    size_t used = part->roots == NULL ? 0 : (size_t)(part->roots_at - part->roots);
    size_t room = part->roots == NULL ? 16 : (size_t)(part->roots_end - part->roots) * 2;
    struct profile_root *roots = realloc(part->roots, room * sizeof *roots);
    if (roots == NULL)
        return false;
    part->roots = roots;
    part->roots_at = roots + used;
    part->roots_end = roots + room;
    return true;
}

void *tbed_profile_scratch(struct profile_worker *worker, size_t nbytes)
{
    if (nbytes > worker->scratch_nbytes) {
        free(worker->scratch);
        worker->scratch = malloc(nbytes);
        worker->scratch_nbytes = worker->scratch != NULL ? nbytes : 0;
        worker->out_of_memory |= worker->scratch == NULL;
    }
    return worker->scratch;
}

/* ---- Threads of a chunk ---- */

static struct profile_part *add_part(struct profile_result *result, uint64_t thread)
{
    if (result->part_count == result->part_room) {
        size_t room = result->part_room == 0 ? 4 : result->part_room * 2;
        struct profile_part *parts = realloc(result->parts, room * sizeof *parts);
        if (parts == NULL)
            return NULL;
        memset(parts + result->part_room, 0, (room - result->part_room) * sizeof *parts);
        result->parts = parts;
        result->part_room = room;
    }
    struct profile_part *part = &result->parts[result->part_count];
    if ((part->spans == NULL && !tbed_profile_grow_spans(part)) ||
        !tbed_number_map_add(&result->by_thread, thread, (uint32_t)result->part_count))
        return NULL;
    result->part_count++;
    part->thread = thread;
    part->spans[0] = (struct profile_span){.begin = 0, .end = UINT64_MAX};
    part->top = part->spans;
    part->roots_at = part->roots;
    part->hull_begin = UINT64_MAX;
    part->hull_end = 0;
    return part;
}

struct profile_part *tbed_profile_find_part(struct profile_worker *worker, uint64_t thread)
{
    struct profile_result *result = worker->result;
    uint32_t index = tbed_number_map_find(&result->by_thread, thread);
    struct profile_part *part = index != NUMBER_MAP_NONE ? &result->parts[index] : add_part(result, thread);
    worker->out_of_memory |= part == NULL;
    worker->part = part;
    return part;
}

/* ---- Ids ---- */

/* The place in the tree, made if need be; NULL: there is none to be had. */
static uint32_t *make_place(struct profile_worker *worker, uint64_t id)
{
    struct profile_maker *maker = worker->maker;
    uint32_t *place = profile_row_place(worker, id), *none = NULL;
    if (place != NULL || id >= PROFILE_TABLE_IDS)
        return place;
    if (__atomic_fetch_add(&maker->id_leaf_count, 1, __ATOMIC_RELAXED) >= PROFILE_LEAF_MAX) {
        __atomic_store_n(&maker->id_leaf_count, PROFILE_LEAF_MAX, __ATOMIC_RELAXED);
        return NULL;
    }
    uint32_t *leaf = calloc(PROFILE_LEAF_IDS, sizeof *leaf);
    if (leaf == NULL)
        return NULL;
    if (!__atomic_compare_exchange_n(&maker->id_leaves[id >> PROFILE_LEAF_BITS], &none, leaf, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        free(leaf); /* somebody else was faster */
    return profile_row_place(worker, id);
}

static void keep_row(struct profile_worker *worker, uint64_t id, uint32_t row)
{
    uint32_t *place = make_place(worker, id);
    if (place != NULL)
        __atomic_store_n(place, row, __ATOMIC_RELAXED); /* whoever stores, stores the same */
    else
        worker->id_slots[(id ^ id >> 14) % PROFILE_ID_SLOTS] = (struct profile_id_slot){id, row};
}

static bool find_same(struct profile_worker *worker, uint64_t id, uint64_t *same_ret)
{
    const struct profile_source *source = worker->maker->source;
    if (source->label_of != NULL && source->label_of(worker, id, same_ret))
        return true;
    return tbed_profile_label_same(&worker->maker->labels, id, same_ret);
}

/* The row of the id that this one has its label from; 0: there is none, or a label of its own has to be made. */
static uint32_t borrow_row(struct profile_worker *worker, uint64_t id)
{
    uint64_t same;
    if (!find_same(worker, id, &same))
        return 0;
    uint32_t row = profile_row_known(worker, same);
    if (row == 0) {
        row = tbed_profile_label_find(&worker->maker->labels, same);
        if (row != 0)
            keep_row(worker, same, row);
    }
    return row & PROFILE_LENDS ? row & ~PROFILE_LENDS : 0;
}

uint32_t tbed_profile_find_row(struct profile_worker *worker, uint64_t id)
{
    if (worker->out_of_memory)
        return 0; /* nothing will come of it: what is left of the events is passed quickly */
    uint32_t row = borrow_row(worker, id);
    if (row == 0)
        row = tbed_profile_label_find(&worker->maker->labels, id);
    if (row == 0)
        worker->out_of_memory = true;
    else
        keep_row(worker, id, row);
    return row;
}

static uint32_t kind_of_text(const char *text, size_t nbytes)
{
    static const struct {
        const char *text;
        enum profile_kind kind;
    } kinds[] = {
        {"Query", PROFILE_QUERY},
        {"GenericActivity", PROFILE_QUERY},
        {"QueryBlocked", PROFILE_BLOCKED},
        {"IncrementalLoadResult", PROFILE_LOAD},
        {"IncrementalResultHashing", PROFILE_HASHING},
        {"QueryCacheHit", PROFILE_HIT},
        {"QueryCacheHitCount", PROFILE_HIT_COUNT},
        {"ArtifactSize", PROFILE_ARTIFACT},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].text) == nbytes && memcmp(kinds[i].text, text, nbytes) == 0)
            return kinds[i].kind;
    return PROFILE_OTHER;
}

uint32_t tbed_profile_find_kind(struct profile_worker *worker, uint64_t id)
{
    char text[64];
    size_t nbytes = tbed_profile_text(worker->maker->source, id, text, sizeof text);
    uint32_t kind = nbytes != SIZE_MAX ? kind_of_text(text, nbytes) : PROFILE_OTHER;
    worker->kind_slots[(id ^ id >> 6) % PROFILE_KIND_SLOTS] = (struct profile_kind_slot){id, kind + 1};
    return kind;
}

/* ---- Instants and counters ---- */

/* NULL: no memory. */
static struct profile_cell *find_cell(struct profile_worker *worker, uint32_t row, enum profile_kind kind)
{
    uint32_t cell = (row & PROFILE_ROW_MAX) * PROFILE_KIND_COUNT + kind;
    if (cell >= worker->cells.room && !tbed_profile_grow_cells(&worker->cells, cell)) {
        worker->out_of_memory = true;
        return NULL;
    }
    return &worker->cells.cells[cell];
}

void tbed_profile_take_instant(struct profile_worker *worker, uint64_t kind, uint64_t id)
{
    uint32_t row = profile_row(worker, id);
    worker->counts.unknown += row >> 31;
    worker->counts.instants++;
    if (profile_kind(worker, kind) != PROFILE_HIT)
        return;
    struct profile_cell *cell = find_cell(worker, row, PROFILE_HIT);
    if (cell != NULL)
        cell->count++;
    worker->chunk_has_hits = true;
}

void tbed_profile_take_counter(struct profile_worker *worker, uint64_t kind, uint64_t id, uint64_t value,
                               struct profile_place place)
{
    uint32_t row = profile_row(worker, id);
    uint32_t of_kind = profile_kind(worker, kind);
    worker->counts.unknown += row >> 31;
    worker->counts.counters++;
    if (of_kind != PROFILE_HIT_COUNT && of_kind != PROFILE_ARTIFACT)
        return;
    struct profile_cell *cell = find_cell(worker, row, of_kind);
    if (cell == NULL)
        return;
    cell->total = tbed_profile_sum(cell->total, value);
    cell->count++;
    /* A counter's cell has no use for 'self': it remembers where the mark is. */
    if (of_kind == PROFILE_HIT_COUNT &&
        !tbed_profile_mark(&worker->marks, row & PROFILE_ROW_MAX, place, &cell->self))
        worker->out_of_memory = true;
}

void tbed_profile_take_hit(struct profile_worker *worker, uint64_t kind, uint64_t id,
                           struct profile_place place)
{
    if (profile_kind(worker, kind) != PROFILE_HIT)
        return;
    uint32_t row = profile_row(worker, id) & PROFILE_ROW_MAX;
    if (row < worker->maker->followers.row_count &&
        !tbed_profile_is_followed(&worker->maker->followers, row, place))
        worker->recounts[row]++;
}
