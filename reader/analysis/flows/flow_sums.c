/*
 * The sums of all flows; see flow_sums.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/flows/flow_sums.h"

bool tbed_flow_sums_open(struct flow_sums *sums, size_t wanted, uint64_t resolution)
{
    sums->wanted = wanted;
    sums->resolution = resolution > 0 ? resolution : 1;
    sums->cells.resolution = resolution;
    sums->cells.has_histograms = true;
    sums->slowest = calloc(wanted + 1, sizeof *sums->slowest);
    sums->order = calloc(wanted + 1, sizeof *sums->order);
    return sums->slowest != NULL && sums->order != NULL;
}

static void free_lists(const struct tbed_flow *flow)
{
    free((void *)flow->stretches);
    free((void *)flow->points);
}

void tbed_flow_sums_close(struct flow_sums *sums)
{
    for (size_t i = 0; i < sums->slowest_count; i++)
        free_lists(&sums->slowest[i]);
    free(sums->slowest);
    free(sums->order);
    tbed_vector_free(&sums->names.vector);
    tbed_vector_free(&sums->shares.vector);
    tbed_vector_free(&sums->stretches.vector);
    tbed_number_map_free(&sums->name_of);
    tbed_number_map_free(&sums->span_of);
    tbed_number_map_free(&sums->share_of);
    tbed_stat_cells_free(&sums->cells);
}

/* The number of a key, which is 'next' if it is new; UINT32_MAX: no memory. */
static uint32_t number(struct number_map *map, uint64_t key, size_t next)
{
    uint32_t found = tbed_number_map_find(map, key);
    if (found != NUMBER_MAP_NONE)
        return found;
    return next < INT32_MAX && tbed_number_map_add(map, key, (uint32_t)next) ? (uint32_t)next : UINT32_MAX;
}

uint32_t tbed_flow_name(struct flow_sums *sums, uint32_t id, bool is_async)
{
    uint32_t found = number(&sums->name_of, (uint64_t)id << 1 | is_async, sums->names.count);
    if (found < sums->names.count)
        return found;
    struct flow_name *name = found == UINT32_MAX ? NULL : TBED_VECTOR_PUSH(&sums->names);
    if (name == NULL || !tbed_stat_grow_cells(&sums->cells, found)) {
        sums->is_out_of_memory = true;
        return UINT32_MAX;
    }
    *name = (struct flow_name){.id = id, .is_async = is_async};
    return found;
}

/* ---- Stretches ---- */

static uint64_t limit(uint64_t tick, uint64_t least, uint64_t most)
{
    return tick < least ? least : tick > most ? most : tick;
}

/* From where the last stretch ends, to 'to'. */
static void add_stretch(struct flow_sums *sums, bool is_waiting, const struct flow_point *point,
                        uint64_t *from, uint64_t to)
{
    size_t count = sums->stretches.count;
    struct tbed_flow_stretch *last = count > 0 ? &sums->stretches.items[count - 1] : NULL;
    uint64_t ticks = to - *from;
    if (ticks == 0)
        return;
    if (last != NULL && last->is_waiting == is_waiting && last->id == point->id &&
        last->stream == point->stream) {
        last->ticks += ticks;
    } else {
        last = TBED_VECTOR_PUSH(&sums->stretches);
        sums->is_out_of_memory |= last == NULL;
        if (last != NULL)
            *last = (struct tbed_flow_stretch){is_waiting, point->id, point->stream, *from, ticks};
    }
    *from = to;
}

/* Divides the time of a flow. */
static void divide(struct flow_sums *sums, const struct flow_point *points, size_t count)
{
    uint64_t each = sums->resolution, now = points[0].tick - points[0].tick % each;
    sums->stretches.count = 0;
    for (size_t i = 1; i < count; i++) {
        const struct flow_point *from = &points[i - 1], *to = &points[i];
        uint64_t tick = to->tick - to->tick % each, end = tick > now ? tick : now;
        uint64_t left = limit(from->span_end - from->span_end % each, now, end);
        uint64_t entered = limit(to->span_begin - to->span_begin % each, left, end);
        if (from->id != TBED_ID_INVALID)
            add_stretch(sums, false, from, &now, left);
        if (to->id == TBED_ID_INVALID)
            entered = end;
        add_stretch(sums, true, to, &now, entered);
        add_stretch(sums, false, to, &now, end);
    }
}

static void add_share(struct flow_sums *sums, uint32_t name, const struct tbed_flow_stretch *stretch)
{
    uint64_t of = (uint64_t)stretch->stream << 32 | stretch->id;
    uint32_t span = number(&sums->span_of, of, sums->span_of.count);
    uint64_t key = (uint64_t)name << 33 | (uint64_t)span << 1 | stretch->is_waiting;
    uint32_t found = span != UINT32_MAX ? number(&sums->share_of, key, sums->shares.count) : UINT32_MAX;
    struct flow_share *share = NULL;
    if (found < sums->shares.count) {
        share = &sums->shares.items[found];
    } else if (found != UINT32_MAX && (share = TBED_VECTOR_PUSH(&sums->shares)) != NULL) {
        *share = (struct flow_share){
            .name = name, .stream = stretch->stream, .id = stretch->id, .is_waiting = stretch->is_waiting};
    }
    sums->is_out_of_memory |= share == NULL;
    if (share == NULL)
        return;
    share->count++;
    share->ticks = stat_sum(share->ticks, stretch->ticks);
    struct flow_name *all = &sums->names.items[name];
    uint64_t *sum = stretch->is_waiting ? &all->waiting : &all->running;
    *sum = stat_sum(*sum, stretch->ticks);
}

/* ---- The slowest flows ---- */

/* Does the flow come before the one at 'index'? */
static bool is_before(const struct flow_sums *sums, const struct tbed_flow *flow, uint64_t order,
                      size_t index)
{
    const struct tbed_flow *other = &sums->slowest[index];
    if (flow->ticks != other->ticks)
        return flow->ticks > other->ticks;
    if (flow->begin_tick != other->begin_tick)
        return flow->begin_tick < other->begin_tick;
    return order < sums->order[index];
}

/* Puts a flow on top of the first 'count' of the heap. */
static void sift_down(struct flow_sums *sums, struct tbed_flow flow, uint64_t order, size_t count)
{
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_before(sums, &sums->slowest[child], sums->order[child], child + 1))
            child++;
        if (!is_before(sums, &flow, order, child))
            break;
        sums->slowest[at] = sums->slowest[child];
        sums->order[at] = sums->order[child];
    }
    sums->slowest[at] = flow;
    sums->order[at] = order;
}

static void push(struct flow_sums *sums, struct tbed_flow flow, uint64_t order)
{
    size_t at = sums->slowest_count++;
    for (; at > 0 && !is_before(sums, &flow, order, (at - 1) / 2); at = (at - 1) / 2) {
        sums->slowest[at] = sums->slowest[(at - 1) / 2];
        sums->order[at] = sums->order[(at - 1) / 2];
    }
    sums->slowest[at] = flow;
    sums->order[at] = order;
}

/* Gives the flow its own stretches and points. False: no memory. */
static bool copy_lists(const struct flow_sums *sums, const struct flow_point *points, struct tbed_flow *flow)
{
    size_t count = sums->stretches.count;
    struct tbed_flow_stretch *stretches = malloc((count + 1) * sizeof *stretches);
    struct tbed_flow_point *copies = malloc((flow->point_count + 1) * sizeof *copies);
    flow->stretches = stretches;
    flow->points = copies;
    if (stretches == NULL || copies == NULL) {
        free_lists(flow);
        return false;
    }
    if (count > 0)
        memcpy(stretches, sums->stretches.items, count * sizeof *stretches);
    for (size_t i = 0; i < flow->point_count; i++)
        copies[i] = (struct tbed_flow_point){points[i].tick, points[i].stream};
    flow->stretch_count = count;
    return true;
}

static void keep(struct flow_sums *sums, struct tbed_flow flow, const struct flow_point *points)
{
    uint64_t order = sums->ended_count++;
    bool is_full = sums->slowest_count == sums->wanted;
    if (sums->wanted == 0 || (is_full && !is_before(sums, &flow, order, 0)))
        return;
    if (!copy_lists(sums, points, &flow)) {
        sums->is_out_of_memory = true;
        return;
    }
    if (is_full) {
        free_lists(&sums->slowest[0]);
        sift_down(sums, flow, order, sums->slowest_count);
    } else {
        push(sums, flow, order);
    }
}

void tbed_flow_sums_sort(struct flow_sums *sums)
{
    for (size_t count = sums->slowest_count; count > 1;) {
        struct tbed_flow last = sums->slowest[0];
        uint64_t order = sums->order[0];
        count--;
        sift_down(sums, sums->slowest[count], sums->order[count], count);
        sums->slowest[count] = last;
        sums->order[count] = order;
    }
}

void tbed_flow_sums_add(struct flow_sums *sums, uint32_t name, uint64_t key, const struct flow_point *points,
                        size_t count)
{
    uint64_t ticks = 0;
    divide(sums, points, count);
    for (size_t i = 0; i < sums->stretches.count && !sums->is_out_of_memory; i++) {
        ticks += sums->stretches.items[i].ticks;
        add_share(sums, name, &sums->stretches.items[i]);
    }
    stat_cell_end(&sums->cells, stat_cell(&sums->cells, name), ticks);
    keep(sums,
         (struct tbed_flow){.id = sums->names.items[name].id,
                            .is_async = sums->names.items[name].is_async,
                            .key = key,
                            .begin_tick = points[0].tick,
                            .ticks = ticks,
                            .begin_stream = points[0].stream,
                            .end_stream = points[count - 1].stream,
                            .point_count = count},
         points);
    sums->is_out_of_memory |= sums->cells.is_out_of_memory;
}
