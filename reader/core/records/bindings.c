/*
 * Bindings: from a list in file order, ranges in it overlapping, to disjoint segments where the last one won.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"

#include <stdlib.h>

struct start { /* a binding by where it begins */
    uint32_t first;
    uint32_t end;
    size_t position; /* in file order: the highest wins */
};

struct sweep {
    const struct tbed_binding_info *bindings;
    struct start *starts;
    size_t start_count;
    struct start *heap; /* of those begun, the highest position on top; ended ones leave when they come up */
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

bool tbed_bindings_flatten(const struct tbed_binding_info *bindings, size_t count,
                           struct tbed_vector *segments_ret)
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

bool tbed_binding_find(const struct tbed_metadata *metadata, uint32_t id, uint32_t *string_id_ret)
{
    const struct tbed_segment *segments = metadata->segments.items;
    size_t low = 0, high = metadata->segments.count;
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

bool tbed_id_binding(const struct tbed_reader *reader, uint32_t id, uint32_t *string_id_ret)
{
    return tbed_binding_find(reader->metadata, id, string_id_ret);
}
