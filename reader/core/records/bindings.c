/*
 * Bindings: which string an id means. A large trace has a million of them, in lists with ascending ids that share no
 *           id with any other record; these are looked up in place, in the map. All others, whose ranges may overlap,
 *           are turned into disjoint segments in which the last one in file order wins.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/layout.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"

#include <stdlib.h>

/* Ids this far apart go into different runs: METADATA after small ids would make a run that overlaps all others. */
#define RUN_GAP   (UINT32_C(1) << 20)
#define RUN_LEAST 16u /* pairs: a list with fewer ascending ids counts as unordered */

struct start { /* a binding, sorted by its first id */
    uint32_t first;
    uint32_t end;
    size_t position; /* position in file order: the highest wins */
};

struct sweep {
    const struct tbed_binding_info *bindings;
    struct start *starts;
    size_t start_count;
    /* Bindings that have begun, the highest position on top; ended ones are removed when they get there. */
    struct start *heap;
    size_t heap_count;
};

static int compare_starts(const void *a, const void *b)
{
    const struct start *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

static void swap(struct start *a, struct start *b)
{
    struct start kept = *a;
    *a = *b;
    *b = kept;
}

static void heap_push(struct sweep *sweep, struct start start)
{
    struct start *heap = sweep->heap;
    size_t at = sweep->heap_count++;
    heap[at] = start;
    for (; at > 0 && heap[at].position > heap[(at - 1) / 2].position; at = (at - 1) / 2)
        swap(&heap[at], &heap[(at - 1) / 2]);
}

static void heap_pop(struct sweep *sweep)
{
    struct start *heap = sweep->heap;
    size_t count = --sweep->heap_count, at = 0;
    heap[0] = heap[count];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            return;
        if (child + 1 < count && heap[child + 1].position > heap[child].position)
            child++;
        if (heap[child].position <= heap[at].position)
            return;
        swap(&heap[child], &heap[at]);
        at = child;
    }
}

static bool emit(struct tbed_vector *segments, uint32_t first, uint32_t end, uint32_t string_id)
{
    struct tbed_segment *last = segments->items;
    if (segments->count > 0) {
        last += segments->count - 1;
        if (last->end == first && last->string_id == string_id) {
            last->end = end;
            return true;
        }
    }
    struct tbed_segment *segment = tbed_vector_push(segments, sizeof *segment);
    if (segment != NULL)
        *segment = (struct tbed_segment){first, end, string_id};
    return segment != NULL;
}

static bool run(struct sweep *sweep, struct tbed_vector *segments)
{
    size_t next = 0;
    uint32_t at = 0;
    for (;;) {
        while (sweep->heap_count > 0 && sweep->heap[0].end <= at)
            heap_pop(sweep);
        if (sweep->heap_count == 0) {
            if (next == sweep->start_count)
                return true;
            at = sweep->starts[next].first;
        }
        while (next < sweep->start_count && sweep->starts[next].first <= at)
            heap_push(sweep, sweep->starts[next++]);
        const struct start *top = &sweep->heap[0];
        uint32_t end = top->end;
        if (next < sweep->start_count && sweep->starts[next].first < end)
            end = sweep->starts[next].first;
        if (end > at && !emit(segments, at, end, sweep->bindings[top->position].string_id))
            return false;
        at = end > at ? end : at;
    }
}

static bool flatten(const struct tbed_binding_info *bindings, size_t count, struct tbed_vector *segments_ret)
{
    struct sweep sweep = {.bindings = bindings};
    sweep.starts = calloc(count + 1, sizeof *sweep.starts);
    sweep.heap = calloc(count + 1, sizeof *sweep.heap);
    bool is_done = sweep.starts != NULL && sweep.heap != NULL;
    for (size_t i = 0; is_done && i < count; i++)
        if (bindings[i].id_count > 0)
            sweep.starts[sweep.start_count++] =
                (struct start){bindings[i].first_id, bindings[i].first_id + bindings[i].id_count, i};
    if (is_done) {
        qsort(sweep.starts, sweep.start_count, sizeof *sweep.starts, compare_starts);
        is_done = run(&sweep, segments_ret);
    }
    free(sweep.starts);
    free(sweep.heap);
    return is_done;
}

/* ---- Records ---- */

static uint32_t pair_id(const uint8_t *pairs, size_t index)
{
    const struct tbed_disk_id_pair *pair = (const struct tbed_disk_id_pair *)pairs;
    return tbed_le32_load(pair[index].first);
}

static uint32_t pair_string(const uint8_t *pairs, size_t index)
{
    const struct tbed_disk_id_pair *pair = (const struct tbed_disk_id_pair *)pairs;
    return tbed_le32_load(pair[index].second);
}

static bool add_run(struct tbed_metadata *metadata, struct tbed_binding_run added)
{
    const struct tbed_binding_run *last = metadata->bindings.items;
    if (metadata->bindings.count > 0)
        added.index = last[metadata->bindings.count - 1].index + last[metadata->bindings.count - 1].count;
    struct tbed_binding_run *new_run = tbed_vector_push(&metadata->bindings, sizeof *new_run);
    if (new_run != NULL)
        *new_run = added;
    return new_run != NULL;
}

bool tbed_bindings_add(struct tbed_metadata *metadata, uint32_t first_id, uint32_t id_count,
                       uint32_t string_id)
{
    return add_run(metadata,
                   (struct tbed_binding_run){
                       .count = 1, .first = first_id, .end = first_id + id_count, .string_id = string_id});
}

/* How many pairs from 'from' on form a run: ascending ids that are not far apart. */
static uint32_t rising_count(const uint8_t *pairs, uint32_t from, uint32_t count)
{
    uint32_t last = pair_id(pairs, from), id, end = from + 1;
    for (; end < count && (id = pair_id(pairs, end)) > last && id - last < RUN_GAP; end++)
        last = id;
    return end - from;
}

/* How many pairs from 'from' on go into one unordered run: those up to the first id that is not small. */
static uint32_t small_count(const uint8_t *pairs, uint32_t from, uint32_t count)
{
    uint32_t end = from;
    while (end < count && pair_id(pairs, end) <= TBED_ID_MAX_RESERVED)
        end++;
    return end - from;
}

static bool add_pairs(struct tbed_metadata *metadata, const uint8_t *pairs, uint32_t count, bool is_sorted)
{
    struct tbed_binding_run added = {
        .pairs = pairs, .count = count, .first = UINT32_MAX, .is_sorted = is_sorted};
    for (uint32_t i = 0; i < count; i += is_sorted && i == 0 && count > 1 ? count - 1 : 1) {
        uint32_t id = pair_id(pairs, i);
        added.first = id < added.first ? id : added.first;
        added.end = id >= added.end ? id + 1 : added.end;
    }
    return add_run(metadata, added);
}

bool tbed_bindings_add_list(struct tbed_metadata *metadata, const uint8_t *pairs, uint32_t count)
{
    for (uint32_t i = 0, taken; i < count; i += taken) {
        taken = rising_count(pairs, i, count);
        uint32_t small = taken < RUN_LEAST && taken < count - i ? small_count(pairs, i, count) : 0;
        bool is_sorted = small <= taken;
        taken = is_sorted ? taken : small;
        if (!add_pairs(metadata, pairs + i * sizeof(struct tbed_disk_id_pair), taken, is_sorted))
            return false;
    }
    return true;
}

static struct tbed_binding_info info_of(const struct tbed_binding_run *in, size_t index)
{
    if (in->pairs == NULL)
        return (struct tbed_binding_info){in->first, in->end - in->first, in->string_id};
    return (struct tbed_binding_info){pair_id(in->pairs, index), 1, pair_string(in->pairs, index)};
}

bool tbed_binding_get(const struct tbed_reader *reader, size_t index, struct tbed_binding_info *info_ret)
{
    const struct tbed_binding_run *runs = reader->metadata->bindings.items;
    size_t low = 0, high = reader->metadata->bindings.count;
    while (low < high) { /* the first one that ends after the index */
        size_t middle = low + (high - low) / 2;
        if (runs[middle].index + runs[middle].count <= index)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == reader->metadata->bindings.count)
        return false;
    *info_ret = info_of(&runs[low], index - runs[low].index);
    return true;
}

/* ---- Runs that share no id with any other ---- */

struct id_string {
    uint32_t id, string_id;
};

static int compare_runs(const void *a, const void *b)
{
    const struct tbed_binding_run *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int compare_by_index(const void *a, const void *b)
{
    const struct tbed_binding_run *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

/*
 * Takes all runs by ascending first id. Those that share no id stay in 'runs', in their order; the rest is moved to
 * 'shared'.
 */
static bool part_runs(struct tbed_vector *runs, struct tbed_vector *shared)
{
    struct tbed_binding_run *items = runs->items;
    size_t kept = 0;
    uint32_t end = 0; /* of those before */
    for (size_t i = 0; i < runs->count; i++) {
        bool is_alone = (items[i].is_sorted || items[i].pairs == NULL) && items[i].first >= end &&
                        (i + 1 == runs->count || items[i + 1].first >= items[i].end);
        end = items[i].end > end ? items[i].end : end;
        if (is_alone) {
            items[kept++] = items[i];
            continue;
        }
        struct tbed_binding_run *moved = tbed_vector_push(shared, sizeof *moved);
        if (moved == NULL)
            return false;
        *moved = items[i];
    }
    runs->count = kept;
    return true;
}

/* Copies the bindings of the runs to 'pairs' in file order, one id each. False if one of them has more ids. */
static bool list_pairs(const struct tbed_vector *shared, struct id_string *pairs)
{
    const struct tbed_binding_run *runs = shared->items;
    size_t count = 0;
    for (size_t i = 0; i < shared->count; i++) {
        if (runs[i].pairs == NULL && runs[i].end - runs[i].first != 1)
            return false;
        for (uint32_t k = 0; k < runs[i].count; k++)
            pairs[count++] = runs[i].pairs == NULL ? (struct id_string){runs[i].first, runs[i].string_id}
                                                   : (struct id_string){pair_id(runs[i].pairs, k),
                                                                        pair_string(runs[i].pairs, k)};
    }
    return true;
}

#define DIGIT_BITS  10
#define DIGIT_COUNT (1u << DIGIT_BITS)

/* One pass of a stable radix sort by id, into the other array. */
static void sort_by_digit(const struct id_string *from, struct id_string *into, size_t count, unsigned shift)
{
    size_t places[DIGIT_COUNT] = {0}, place = 0;
    for (size_t i = 0; i < count; i++)
        places[from[i].id >> shift & (DIGIT_COUNT - 1)]++;
    for (unsigned digit = 0; digit < DIGIT_COUNT; digit++) {
        size_t here = places[digit];
        places[digit] = place;
        place += here;
    }
    for (size_t i = 0; i < count; i++)
        into[places[from[i].id >> shift & (DIGIT_COUNT - 1)]++] = from[i];
}

/* Turns 'count' bindings of one id each into segments; the last one of an id counts. 'other' has room for as many. */
static bool settle_pairs(struct id_string *pairs, struct id_string *other, size_t count,
                         struct tbed_vector *segments)
{
    sort_by_digit(pairs, other, count, 0);
    sort_by_digit(other, pairs, count, DIGIT_BITS);
    sort_by_digit(pairs, other, count, 2 * DIGIT_BITS);
    sort_by_digit(other, pairs, count, 3 * DIGIT_BITS);
    bool is_done = true;
    for (size_t i = 0; i < count && is_done; i++)
        if (i + 1 == count || pairs[i + 1].id != pairs[i].id)
            is_done = emit(segments, pairs[i].id, pairs[i].id + 1, pairs[i].string_id);
    return is_done;
}

/* The general case, in which some bindings have many ids. */
static bool flatten_ranges(const struct tbed_vector *shared, size_t count, struct tbed_vector *segments)
{
    const struct tbed_binding_run *runs = shared->items;
    struct tbed_binding_info *bindings = malloc(count * sizeof *bindings);
    size_t at = 0;
    for (size_t i = 0; bindings != NULL && i < shared->count; i++)
        for (uint32_t k = 0; k < runs[i].count; k++)
            bindings[at++] = info_of(&runs[i], k);
    bool is_done = bindings != NULL && flatten(bindings, count, segments);
    free(bindings);
    return is_done;
}

/* Turns the bindings of the runs, in file order, into segments. */
static bool flatten_runs(struct tbed_vector *shared, struct tbed_vector *segments)
{
    const struct tbed_binding_run *runs = shared->items;
    size_t count = 0;
    if (shared->count == 0)
        return true;
    qsort(shared->items, shared->count, sizeof *runs, compare_by_index);
    for (size_t i = 0; i < shared->count; i++)
        count += runs[i].count;
    struct id_string *pairs = malloc(count * 2 * sizeof *pairs);
    bool is_done = pairs != NULL;
    if (is_done)
        is_done = list_pairs(shared, pairs) ? settle_pairs(pairs, pairs + count, count, segments)
                                            : flatten_ranges(shared, count, segments);
    free(pairs);
    return is_done;
}

bool tbed_bindings_arrange(struct tbed_metadata *metadata)
{
    const struct tbed_binding_run *runs = metadata->bindings.items;
    struct tbed_vector shared = {0};
    bool is_done = true;
    for (size_t i = 0; i < metadata->bindings.count && is_done; i++) {
        struct tbed_binding_run *copy = tbed_vector_push(&metadata->runs, sizeof *copy);
        is_done = copy != NULL;
        if (is_done)
            *copy = runs[i];
    }
    if (metadata->runs.count > 1)
        qsort(metadata->runs.items, metadata->runs.count, sizeof *runs, compare_runs);
    is_done = is_done && part_runs(&metadata->runs, &shared) && flatten_runs(&shared, &metadata->segments);
    tbed_vector_free(&shared);
    return is_done;
}

/* ---- Looking up ---- */

static bool find_pair(const struct tbed_binding_run *in, uint32_t id, uint32_t *string_id_ret)
{
    size_t low = 0, high = in->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pair_id(in->pairs, middle) < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == in->count || pair_id(in->pairs, low) != id)
        return false;
    *string_id_ret = pair_string(in->pairs, low);
    return true;
}

/* Successive lookups are usually for nearby ids, so each thread first tries where it found the last one. */
static _Thread_local size_t last_run;

static bool find_run(const struct tbed_vector *vector, uint32_t id, uint32_t *string_id_ret)
{
    const struct tbed_binding_run *runs = vector->items;
    size_t low = 0, high = vector->count, hint = last_run;
    if (hint < high && id >= runs[hint].first && id < runs[hint].end)
        low = high = hint;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (id >= runs[middle].end)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == vector->count || id < runs[low].first)
        return false;
    last_run = low;
    if (runs[low].pairs != NULL)
        return find_pair(&runs[low], id, string_id_ret);
    *string_id_ret = runs[low].string_id;
    return true;
}

static bool find_segment(const struct tbed_vector *vector, uint32_t id, uint32_t *string_id_ret)
{
    const struct tbed_segment *segments = vector->items;
    size_t low = 0, high = vector->count;
    /* Ids are often bound consecutively, each to its own string; then this guess is right. */
    size_t guess = high > 0 && id >= segments[0].first ? id - segments[0].first : high;
    if (guess < high && id >= segments[guess].first && id < segments[guess].end) {
        *string_id_ret = segments[guess].string_id;
        return true;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (id >= segments[middle].end) {
            low = middle + 1;
        } else if (id < segments[middle].first) {
            high = middle;
        } else {
            *string_id_ret = segments[middle].string_id;
            return true;
        }
    }
    return false;
}

bool tbed_binding_find(const struct tbed_metadata *metadata, uint32_t id, uint32_t *string_id_ret)
{
    return find_run(&metadata->runs, id, string_id_ret) ||
           find_segment(&metadata->segments, id, string_id_ret);
}

bool tbed_id_binding(const struct tbed_reader *reader, uint32_t id, uint32_t *string_id_ret)
{
    return tbed_binding_find(reader->metadata, id, string_id_ret);
}
