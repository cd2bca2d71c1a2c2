/*
 * One worker's share of the statistics: the slow paths of span_walk.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/statistics/maker.h"

#include <stdlib.h>
#include <string.h>

/* ---- Room ---- */

bool tbed_stat_grow_spans(struct stat_part *part)
{
    size_t used = part->spans == NULL ? 0 : (size_t)(part->top - part->spans);
    size_t room = part->spans == NULL ? 8 : (size_t)(part->spans_end - part->spans) * 2;
    struct stat_span *spans = realloc(part->spans, room * sizeof *spans);
    if (spans == NULL)
        return false;
    part->spans = spans;
    part->top = spans + used;
    part->spans_end = spans + room;
    return true;
}

bool tbed_stat_grow_roots(struct stat_part *part)
{
    size_t used = part->roots == NULL ? 0 : (size_t)(part->roots_at - part->roots);
    size_t room = part->roots == NULL ? 16 : (size_t)(part->roots_end - part->roots) * 2;
    struct stat_root *roots = realloc(part->roots, room * sizeof *roots);
    if (roots == NULL)
        return false;
    part->roots = roots;
    part->roots_at = roots + used;
    part->roots_end = roots + room;
    return true;
}

/* ---- Threads of a chunk ---- */

static struct stat_part *add_part(struct stat_result *result, uint64_t thread)
{
    if (result->part_count == result->part_room) {
        size_t room = result->part_room == 0 ? 4 : result->part_room * 2;
        struct stat_part *parts = realloc(result->parts, room * sizeof *parts);
        if (parts == NULL)
            return NULL;
        memset(parts + result->part_room, 0, (room - result->part_room) * sizeof *parts);
        result->parts = parts;
        result->part_room = room;
    }
    struct stat_part *part = &result->parts[result->part_count];
    if ((part->spans == NULL && !tbed_stat_grow_spans(part)) ||
        !tbed_number_map_add(&result->by_thread, thread, (uint32_t)result->part_count))
        return NULL;
    result->part_count++;
    part->thread = thread;
    part->spans[0] = (struct stat_span){.begin = 0, .end = UINT64_MAX};
    part->top = part->spans;
    part->roots_at = part->roots;
    part->hull_begin = UINT64_MAX;
    part->hull_end = 0;
    return part;
}

struct stat_part *tbed_stat_find_part(struct stat_worker *worker, uint64_t thread)
{
    struct stat_result *result = worker->result;
    uint32_t index = tbed_number_map_find(&result->by_thread, thread);
    struct stat_part *part = index != NUMBER_MAP_NONE ? &result->parts[index] : add_part(result, thread);
    worker->out_of_memory |= part == NULL;
    worker->part = part;
    return part;
}

/* ---- Ids ---- */

/* The slot in the tree, created if needed; NULL: it cannot be had. */
static uint32_t *make_place(struct stat_worker *worker, uint64_t id)
{
    struct stat_ids *ids = &worker->maker->ids;
    uint32_t *place = stat_row_place(worker, id);
    if (place != NULL || id >= STAT_TABLE_IDS)
        return place;
    uint32_t leaf = __atomic_fetch_add(&ids->leaf_count, 1, __ATOMIC_RELAXED) + 1;
    if (leaf > STAT_LEAF_MAX) {
        __atomic_store_n(&ids->leaf_count, STAT_LEAF_MAX, __ATOMIC_RELAXED);
        return NULL;
    }
    uint16_t *begins = &ids->leaves[STAT_LEAF_INDEX * TBED_TAG_BEGIN + (id >> STAT_LEAF_BITS)], none = 0;
    uint16_t *ends = begins + STAT_LEAF_INDEX * (TBED_TAG_END - TBED_TAG_BEGIN);
    /* If another thread was faster, this leaf stays unused. */
    if (__atomic_compare_exchange_n(begins, &none, (uint16_t)leaf, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        __atomic_store_n(ends, (uint16_t)leaf, __ATOMIC_RELAXED);
    return stat_row_place(worker, id);
}

static void keep_row(struct stat_worker *worker, uint64_t id, uint32_t row)
{
    uint32_t *place = make_place(worker, id);
    if (place != NULL)
        __atomic_store_n(place, row, __ATOMIC_RELAXED); /* all threads store the same value */
    else
        worker->id_slots[(id ^ id >> 14) % STAT_ID_SLOTS] = (struct stat_id_slot){id, row};
}

static bool find_same(struct stat_worker *worker, uint64_t id, uint64_t *same_ret)
{
    const struct stat_source *source = worker->maker->source;
    if (source->label_of != NULL && source->label_of(worker, id, same_ret))
        return true;
    return tbed_stat_label_same(&worker->maker->labels, id, same_ret);
}

/* The row of the id from which this one has its label; 0: there is none, or it needs a label of its own. */
static uint32_t borrow_row(struct stat_worker *worker, uint64_t id)
{
    uint64_t same;
    if (!find_same(worker, id, &same))
        return 0;
    uint32_t row = stat_row_known(worker, same);
    if (row == 0) {
        row = tbed_stat_label_find(&worker->maker->labels, same);
        if (row != 0)
            keep_row(worker, same, row);
    }
    return row & STAT_LENDS ? row & ~STAT_LENDS : 0;
}

uint32_t tbed_stat_find_row(struct stat_worker *worker, uint64_t id)
{
    if (worker->out_of_memory)
        return 0; /* the result is lost: the remaining events are skipped quickly */
    uint32_t row = id < STAT_KEY_FIRST ? borrow_row(worker, id) : 0;
    if (row == 0)
        row = tbed_stat_label_find(&worker->maker->labels, id);
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
        enum stat_kind kind;
    } kinds[] = {
        {"Query", STAT_QUERY},
        {"GenericActivity", STAT_QUERY},
        {"QueryBlocked", STAT_BLOCKED},
        {"IncrementalLoadResult", STAT_LOAD},
        {"IncrementalResultHashing", STAT_HASHING},
        {"QueryCacheHit", STAT_HIT},
        {"QueryCacheHitCount", STAT_HIT_COUNT},
        {"ArtifactSize", STAT_ARTIFACT},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].text) == nbytes && memcmp(kinds[i].text, text, nbytes) == 0)
            return kinds[i].kind;
    return STAT_OTHER;
}

uint32_t tbed_stat_find_kind(struct stat_worker *worker, uint64_t id)
{
    char text[64];
    size_t nbytes = tbed_stat_text(worker->maker->source, id, text, sizeof text);
    uint32_t kind = nbytes != SIZE_MAX ? kind_of_text(text, nbytes) : STAT_OTHER;
    worker->kind_slots[(id ^ id >> 6) % STAT_KIND_SLOTS] = (struct stat_kind_slot){id, kind + 1};
    return kind;
}

/* ---- Instants, counters, and spans without time ---- */

/* NULL: no memory. */
static struct stat_extra *extra_of(struct stat_worker *worker, uint32_t row)
{
    worker->totals.unnamed_count += row >> 31;
    return tbed_stat_extra(&worker->cells, row & STAT_ROW_MAX);
}

/* Cache hits belong to what is asked for: a label, or a label and its arguments. */
static bool counts_hits(const struct stat_worker *worker)
{
    enum tbed_row_key by = worker->maker->options->by;
    return by == TBED_BY_LABEL || by == TBED_BY_ARGUMENTS;
}

void tbed_stat_take_instant(struct stat_worker *worker, uint64_t kind, uint64_t id)
{
    uint32_t row = stat_row(worker, id), cell = stat_cell_index(row & STAT_ROW_MAX, STAT_OTHER);
    worker->totals.unnamed_count += row >> 31;
    worker->totals.instant_count++;
    if (!tbed_stat_grow_cells(&worker->cells, cell))
        return;
    stat_cell(&worker->cells, cell)->instant_count++;
    if (!counts_hits(worker) || stat_kind(worker, kind) != STAT_HIT)
        return;
    struct stat_extra *extra = tbed_stat_extra(&worker->cells, row & STAT_ROW_MAX);
    if (extra != NULL)
        extra->hit_count++;
    worker->chunk_marks |= STAT_CHUNK_HAS_HITS;
}

static void mark_hits(struct stat_worker *worker, uint32_t row, uint64_t value, struct stat_place place)
{
    struct stat_extra *extra = tbed_stat_extra(&worker->cells, row);
    if (extra == NULL)
        return;
    extra->counted_hits = stat_sum(extra->counted_hits, value);
    extra->hit_marks++;
    if (!tbed_stat_mark(&worker->marks, row, place, &extra->mark_hint))
        worker->out_of_memory = true;
}

void tbed_stat_take_counter(struct stat_worker *worker, uint64_t kind, uint64_t id, uint64_t key,
                            const struct stat_value *value, struct stat_place place)
{
    uint32_t row = stat_row(worker, id);
    struct stat_extra *extra = extra_of(worker, row);
    worker->totals.counter_count++;
    if (extra == NULL)
        return;
    tbed_stat_add_counter(extra, value->number, place);
    uint32_t of_kind = stat_kind(worker, kind);
    if (of_kind == STAT_HIT_COUNT && counts_hits(worker)) {
        mark_hits(worker, stat_row(worker, key) & STAT_ROW_MAX, value->whole, place);
    } else if (of_kind == STAT_ARTIFACT) {
        extra->artifact_value = stat_sum(extra->artifact_value, value->whole);
        extra->artifact_count++;
    }
}

void tbed_stat_take_unknown(struct stat_worker *worker, uint64_t id)
{
    struct stat_extra *extra = extra_of(worker, stat_row(worker, id));
    worker->totals.unknown_begin_count++;
    if (extra != NULL)
        extra->unknown_count++;
}

void tbed_stat_count_open(struct stat_worker *worker, uint64_t id)
{
    struct stat_extra *extra = tbed_stat_extra(&worker->cells, stat_row(worker, id) & STAT_ROW_MAX);
    worker->totals.open_span_count++;
    if (extra != NULL)
        extra->open_count++;
}

void tbed_stat_take_hit(struct stat_worker *worker, uint64_t kind, uint64_t id, struct stat_place place)
{
    if (stat_kind(worker, kind) != STAT_HIT)
        return;
    uint32_t row = stat_row(worker, id) & STAT_ROW_MAX;
    if (row < worker->maker->followers.row_count &&
        !tbed_stat_is_followed(&worker->maker->followers, row, place))
        worker->recounts[row]++;
}
