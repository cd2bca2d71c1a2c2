/*
 * The pass over the events; see flow_pass.h.
 *
 * A point belongs to the innermost span around it. If that is the newest span of the stream whose BEGIN was seen, it
 * is known at once, and only its end is missing: the flow waits in a list of that span, until the span ends or the
 * flow's next point comes. Otherwise the point waits in its stream for the first span that ends around it: a SPAN
 * event, or a span whose BEGIN is not in the window.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/flows/flow_pass.h"

#include "reader/analysis/assembly/neighbours.h"
#include "reader/analysis/filter/filter.h"
#include "reader/core/base/hashmap.h"

struct live_flow {
    struct live_flow *older;                /* with the same name and key */
    struct live_flow *next_all, **all_link; /* the list of all flows */
    struct live_flow *next, **link;         /* the list of the span around the latest point; NULL: in none */
    uint64_t last_tick;                     /* of that span's stream: where it ends if nothing ends it */
    uint64_t key;
    uint32_t name;
    bool has_ended;
    size_t waiting; /* points that wait in their streams */
    TBED_VECTOR(struct flow_point) points;
};

/* A span that has begun. */
struct live_span {
    uint64_t begin_tick;
    size_t depth;
    uint32_t id;
    struct live_flow *flows; /* whose latest point is directly in it */
};

struct waiting_point {
    struct live_flow *flow;
    size_t point;
    uint64_t tick;
    size_t depth; /* of spans around it, without SPAN events */
};

struct track {
    TBED_VECTOR(struct live_span) spans;
    TBED_VECTOR(struct waiting_point) waiting;
    uint64_t last_tick; /* of the stream */
    bool has_whole;
};

/* Found by a hash of name and key; several may have the same one. */
struct flow_slot {
    uint64_t hash;
    struct live_flow *newest;
};

struct pass {
    const struct tbed_flows_options *options;
    struct flow_sums *sums;
    struct track *tracks;
    struct number_map track_of; /* by stream */
    TBED_HASHMAP(struct flow_slot) open;
    struct live_flow *all;
};

/* ---- Open flows ---- */

static uint64_t hash_of(uint32_t name, uint64_t key)
{
    uint64_t hash = (key ^ (uint64_t)name << 40) * 0x9E3779B97F4A7C15u;
    return (hash ^ hash >> 29) | 1;
}

/* NULL: none is open. */
static struct flow_slot *find_open(struct pass *pass, uint32_t name, uint64_t key)
{
    struct flow_slot *slot = TBED_HASHMAP_FIND(&pass->open, hash_of(name, key));
    while (slot != NULL && (slot->newest->name != name || slot->newest->key != key))
        slot = TBED_HASHMAP_FIND_MORE(&pass->open, slot);
    return slot;
}

static struct live_flow *open_flow(struct pass *pass, uint32_t name, uint64_t key)
{
    struct live_flow *flow = calloc(1, sizeof *flow);
    struct flow_slot *slot = find_open(pass, name, key);
    if (flow != NULL && slot == NULL)
        slot = TBED_HASHMAP_INSERT(&pass->open, hash_of(name, key));
    if (flow == NULL || slot == NULL) {
        free(flow);
        return NULL;
    }
    flow->key = key;
    flow->name = name;
    flow->older = slot->newest;
    slot->newest = flow;
    flow->next_all = pass->all;
    flow->all_link = &pass->all;
    if (pass->all != NULL)
        pass->all->all_link = &flow->next_all;
    pass->all = flow;
    return flow;
}

static void close_flow(struct live_flow *flow)
{
    *flow->all_link = flow->next_all;
    if (flow->next_all != NULL)
        flow->next_all->all_link = flow->all_link;
    tbed_vector_free(&flow->points.vector);
    free(flow);
}

/* Counts a flow that has ended, once all its points are known. */
static void settle(struct pass *pass, struct live_flow *flow)
{
    if (!flow->has_ended || flow->waiting > 0)
        return;
    tbed_flow_sums_add(pass->sums, flow->name, flow->key, flow->points.items, flow->points.count);
    close_flow(flow);
}

/* ---- The span around the latest point ---- */

static void link_flow(struct live_flow *flow, struct live_span *span)
{
    flow->next = span->flows;
    flow->link = &span->flows;
    if (flow->next != NULL)
        flow->next->link = &flow->next;
    span->flows = flow;
}

/* The span of the latest point has ended. */
static void unlink_flow(struct live_flow *flow, uint64_t tick)
{
    flow->points.items[flow->points.count - 1].span_end = tick;
    *flow->link = flow->next;
    if (flow->next != NULL)
        flow->next->link = flow->link;
    flow->link = NULL;
}

/* It may go on, but what happens in it after 'tick' does not matter. */
static void leave_span(struct live_flow *flow, uint64_t tick)
{
    if (flow->link != NULL)
        unlink_flow(flow, tick < flow->last_tick ? tick : flow->last_tick);
}

/* ---- Spans ---- */

/* Ends all spans at this depth and below. */
static void pop_spans(struct track *track, size_t depth, uint64_t tick)
{
    while (track->spans.count > 0 && track->spans.items[track->spans.count - 1].depth >= depth) {
        struct live_span *span = &track->spans.items[--track->spans.count];
        while (span->flows != NULL)
            unlink_flow(span->flows, tick);
    }
}

/* Ends the span at this depth; those inside it stay open. */
static void remove_span(struct track *track, size_t depth, uint64_t tick)
{
    size_t at = track->spans.count;
    struct live_span *spans = track->spans.items;
    for (; at > 0 && spans[at - 1].depth > depth; at--)
        spans[at - 1].depth--;
    for (size_t i = track->waiting.count; i > 0 && track->waiting.items[i - 1].depth > depth + 1; i--)
        track->waiting.items[i - 1].depth--;
    if (at == 0 || spans[at - 1].depth != depth)
        return;
    while (spans[at - 1].flows != NULL)
        unlink_flow(spans[at - 1].flows, tick);
    for (; at < track->spans.count; at++) {
        spans[at - 1] = spans[at];
        if (spans[at].flows != NULL)
            spans[at].flows->link = &spans[at - 1].flows;
    }
    track->spans.count--;
}

static bool is_outer(const struct tbed_step *step)
{
    return step->event != NULL && step->event->type == TBED_EVENT_END && step->event->of.end.inside > 0;
}

/* Spans at this depth and below that were around points that wait have ended; the filter did not take them. */
static void limit_depths(struct track *track, size_t depth)
{
    for (size_t i = track->waiting.count; i > 0 && track->waiting.items[i - 1].depth > depth; i--)
        track->waiting.items[i - 1].depth = depth;
}

static bool push_span(struct track *track, const struct tbed_assembled *begun, size_t depth)
{
    limit_depths(track, depth);
    if (track->has_whole)
        return true;
    pop_spans(track, depth, begun->begin_tick);
    const struct live_span *before = track->spans.items;
    struct live_span *span = TBED_VECTOR_PUSH(&track->spans);
    if (span == NULL)
        return false;
    *span = (struct live_span){.begin_tick = begun->begin_tick, .depth = depth, .id = begun->id};
    for (size_t i = 0; track->spans.items != before && i < track->spans.count; i++)
        if (track->spans.items[i].flows != NULL) /* the spans have moved */
            track->spans.items[i].flows->link = &track->spans.items[i].flows;
    return true;
}

/* Is the point, which waits, in a span that has ended? */
static bool is_in(const struct waiting_point *point, const struct tbed_step *step)
{
    if (!step->span->is_whole)
        return point->depth > step->depth;
    return step->span->begin_tick <= point->tick && point->tick <= step->span->end_tick;
}

static void settle_points(struct pass *pass, struct track *track, const struct tbed_step *step)
{
    bool is_known = step->kind != TBED_STEP_UNKNOWN;
    while (track->waiting.count > 0 && is_in(&track->waiting.items[track->waiting.count - 1], step)) {
        struct waiting_point waiting = track->waiting.items[--track->waiting.count];
        struct flow_point *point = &waiting.flow->points.items[waiting.point];
        point->id = step->span->id;
        point->span_begin = is_known ? step->span->begin_tick : point->tick;
        point->span_end = is_known              ? step->span->end_tick
                          : step->event != NULL ? step->event->tick
                                                : point->tick;
        waiting.flow->waiting--;
        settle(pass, waiting.flow);
    }
}

/* ---- Points ---- */

static bool add_point(struct track *track, struct live_flow *flow, const struct tbed_step *step)
{
    const struct tbed_event *event = step->event;
    struct live_span *top = track->spans.count > 0 ? &track->spans.items[track->spans.count - 1] : NULL;
    leave_span(flow, event->tick);
    struct flow_point *point = TBED_VECTOR_PUSH(&flow->points);
    if (point == NULL)
        return false;
    *point = (struct flow_point){event->tick, event->tick, event->tick, event->stream, TBED_ID_INVALID};
    if (!track->has_whole && step->depth == 0)
        return true;
    if (!track->has_whole && top != NULL && top->depth + 1 == step->depth) {
        point->id = top->id;
        point->span_begin = top->begin_tick;
        link_flow(flow, top);
        flow->last_tick = track->last_tick;
        return true;
    }
    limit_depths(track, step->depth);
    struct waiting_point *waiting = TBED_VECTOR_PUSH(&track->waiting);
    if (waiting == NULL)
        return false;
    *waiting = (struct waiting_point){flow, flow->points.count - 1, event->tick, step->depth};
    flow->waiting++;
    return true;
}

static bool take_flow(const struct pass *pass, const struct tbed_event *event)
{
    const struct tbed_filter *names = pass->options->names;
    if (pass->options->key != NULL && event->of.async.key != *pass->options->key)
        return false;
    return names == NULL || names->names.count + names->excluded.count == 0 ||
           tbed_filter_ask(names, FILTER_NAME, event->id);
}

static void end_flow(struct pass *pass, struct flow_slot *slot, uint64_t tick)
{
    struct live_flow *flow = slot->newest;
    slot->newest = flow->older;
    if (flow->older == NULL)
        TBED_HASHMAP_REMOVE(&pass->open, slot);
    leave_span(flow, tick);
    flow->has_ended = true;
    settle(pass, flow);
}

static bool take_point(struct pass *pass, struct track *track, const struct tbed_step *step)
{
    const struct tbed_event *event = step->event;
    enum tbed_event_type type = event->type;
    bool is_async = type == TBED_EVENT_ASYNC_BEGIN || type == TBED_EVENT_ASYNC_END;
    bool is_end = type == TBED_EVENT_ASYNC_END || type == TBED_EVENT_FLOW_END;
    bool is_begin = type == TBED_EVENT_ASYNC_BEGIN || type == TBED_EVENT_FLOW_BEGIN;
    uint64_t key = event->of.async.key;
    if (!take_flow(pass, event))
        return true;
    uint32_t number = tbed_flow_name(pass->sums, event->id, is_async);
    if (number == UINT32_MAX)
        return false;
    struct flow_name *name = &pass->sums->names.items[number];
    struct flow_slot *slot = is_begin ? NULL : find_open(pass, number, key);
    struct live_flow *flow = is_begin ? open_flow(pass, number, key) : slot != NULL ? slot->newest : NULL;
    if (is_begin && flow == NULL)
        return false;
    if (flow == NULL) {
        *(is_end ? &name->lost_end_count : &name->lost_step_count) += 1;
        return true;
    }
    if (flow->points.count > 0 && event->tick < flow->points.items[flow->points.count - 1].tick)
        name->decrease_count++;
    if (!add_point(track, flow, step))
        return false;
    if (is_end)
        end_flow(pass, slot, event->tick);
    return true;
}

/* ---- Steps ---- */

/* False: no memory. */
static bool take_step(struct pass *pass, const struct tbed_step *step)
{
    uint32_t stream = step->span != NULL ? step->span->stream : step->event->stream;
    uint32_t number = tbed_number_map_find(&pass->track_of, stream);
    if (number == NUMBER_MAP_NONE)
        return true;
    struct track *track = &pass->tracks[number];
    switch (step->kind) {
    case TBED_STEP_BEGIN:
        return push_span(track, step->span, step->depth);
    case TBED_STEP_EVENT:
        return step->event->type < TBED_EVENT_ASYNC_BEGIN || step->event->type > TBED_EVENT_FLOW_END ||
               take_point(pass, track, step);
    default:
        if (is_outer(step)) {
            remove_span(track, step->depth, step->span->end_tick);
            return true;
        }
        if (!step->span->is_whole)
            pop_spans(track, step->depth,
                      step->kind == TBED_STEP_UNKNOWN && step->event != NULL ? step->event->tick
                                                                             : step->span->end_tick);
        settle_points(pass, track, step);
        return true;
    }
}

/* What still waits is outside of all spans. */
static void settle_rest(struct pass *pass, size_t track_count)
{
    for (size_t i = 0; i < track_count; i++) {
        struct track *track = &pass->tracks[i];
        while (track->waiting.count > 0) {
            struct live_flow *flow = track->waiting.items[--track->waiting.count].flow;
            flow->waiting--;
            settle(pass, flow);
        }
    }
    for (const struct live_flow *flow = pass->all; flow != NULL; flow = flow->next_all)
        pass->sums->names.items[flow->name].open_count++;
}

static enum tbed_status walk(struct pass *pass, struct tbed_reader *reader,
                             const struct flow_streams *streams)
{
    struct tbed_assembler *assembler = NULL;
    struct tbed_step step;
    enum tbed_status status = tbed_assembler_open_filtered(reader, streams->items, streams->count,
                                                           pass->options->filter, &assembler);
    while (status == TBED_OK && (status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        if (!take_step(pass, &step) || pass->sums->is_out_of_memory)
            status = TBED_ERR_MEMORY;
    tbed_assembler_close(assembler);
    if (status != TBED_END)
        return status;
    settle_rest(pass, streams->count);
    return pass->sums->is_out_of_memory ? TBED_ERR_MEMORY : TBED_OK;
}

static void free_pass(struct pass *pass, size_t track_count)
{
    while (pass->all != NULL)
        close_flow(pass->all);
    for (size_t i = 0; pass->tracks != NULL && i < track_count; i++) {
        tbed_vector_free(&pass->tracks[i].spans.vector);
        tbed_vector_free(&pass->tracks[i].waiting.vector);
    }
    free(pass->tracks);
    tbed_number_map_free(&pass->track_of);
    tbed_hashmap_free(&pass->open.map);
}

enum tbed_status tbed_flow_pass(struct tbed_reader *reader, const struct tbed_flows_options *options,
                                const struct flow_streams *streams, struct flow_sums *sums)
{
    struct pass pass = {.options = options, .sums = sums};
    pass.tracks = calloc(streams->count + 1, sizeof *pass.tracks);
    bool fine = pass.tracks != NULL;
    for (size_t i = 0; fine && i < streams->count; i++) {
        pass.tracks[i].has_whole = streams->have_whole[i];
        pass.tracks[i].last_tick = tbed_stream_last_tick(reader, streams->items[i], UINT64_MAX);
        fine = tbed_number_map_add(&pass.track_of, streams->items[i], (uint32_t)i);
    }
    enum tbed_status status = !fine                 ? TBED_ERR_MEMORY
                              : streams->count == 0 ? TBED_OK
                                                    : walk(&pass, reader, streams);
    free_pass(&pass, streams->count);
    return status;
}
