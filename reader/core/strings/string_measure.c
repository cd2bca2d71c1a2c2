/*
 * Measures strings without expanding them: each id is walked once, and its length and hash are remembered.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/strings/string_walk.h"

/* ---- The table ---- */

/* The first slots are part of the measurer: enough for nearly all strings, and not touched for plain ones. */
static enum tbed_status keep(struct tbed_measurer *measurer, uint32_t id, struct tbed_measure measure)
{
    size_t own_count = sizeof measurer->own_slots / sizeof measurer->own_slots[0];
    if (measurer->measures.slots == NULL) {
        memset(measurer->own_slots, 0, sizeof measurer->own_slots);
        TBED_HASHMAP_BORROW(&measurer->measures, measurer->own_slots, own_count);
    }
    measure.key = tbed_hashmap_key32(id);
    struct tbed_measure *slot = TBED_HASHMAP_ADD(&measurer->measures, measure.key);
    if (slot != NULL)
        *slot = measure;
    return slot != NULL ? TBED_OK : TBED_ERR_MEMORY;
}

const struct tbed_measure *tbed_measurer_find(const struct tbed_measurer *measurer, uint32_t id)
{
    return TBED_HASHMAP_FIND(&measurer->measures, tbed_hashmap_key32(id));
}

/* ---- The run ---- */

void tbed_measurer_start(struct tbed_measurer *measurer, const struct tbed_reader *reader,
                         const struct tbed_string_budget *budget, bool by_looks)
{
    tbed_walk_start(&measurer->walk, reader, budget->depth);
    measurer->credit = tbed_text_credit_open(NULL, 0);
    measurer->looks_left = by_looks ? budget->component_count : UINT64_MAX;
    measurer->component_max = by_looks ? UINT64_MAX : budget->component_count;
    measurer->nbytes_max = by_looks ? UINT64_MAX : budget->nbytes;
    measurer->status = TBED_OK;
    measurer->measures.map = (struct tbed_hashmap){0};
}

void tbed_measurer_free(struct tbed_measurer *measurer)
{
    tbed_hashmap_free(&measurer->measures.map);
}

static enum tbed_status add(struct tbed_measurer *measurer, uint64_t nbytes, uint64_t component_count)
{
    measurer->component_count += component_count;
    if (measurer->component_max != UINT64_MAX && measurer->component_count > measurer->component_max)
        return TBED_ERR_STRING_COMPONENTS;
    if (nbytes >= UINT64_MAX - measurer->nbytes) /* UINT64_MAX means that many or more */
        return TBED_ERR_STRING_BYTES;
    measurer->nbytes += nbytes;
    return measurer->nbytes > measurer->nbytes_max ? TBED_ERR_STRING_BYTES : TBED_OK;
}

/* The innermost open id is at least as high as what it contains. */
static void raise_heights(struct tbed_measurer *measurer, uint32_t height, uint32_t bound_height)
{
    struct tbed_measure_frame *frame = &measurer->frames[measurer->walk.depth - 1];
    bool is_bound = tbed_walk_is_bound(&measurer->walk);
    height += !is_bound;
    bound_height += is_bound;
    frame->height = frame->height < height ? height : frame->height;
    frame->bound_height = frame->bound_height < bound_height ? bound_height : frame->bound_height;
}

static enum tbed_status add_stand_in(struct tbed_measurer *measurer, uint32_t id, enum tbed_status status)
{
    char text[TBED_STAND_IN_NBYTES];
    size_t nbytes = tbed_stand_in(text, id, status);
    if (measurer->status == TBED_OK)
        measurer->status = status;
    if (measurer->walk.depth > 0) {
        struct tbed_measure measure = {.height = 1, .nbytes = nbytes};
        if (keep(measurer, id, measure) != TBED_OK)
            return TBED_ERR_MEMORY;
        raise_heights(measurer, 1, 0);
    }
    return add(measurer, nbytes, 0);
}

static enum tbed_status enter(struct tbed_measurer *measurer, uint32_t id)
{
    enum tbed_status status = tbed_walk_enter(&measurer->walk, id);
    if (status == TBED_ERR_STRING_CYCLE || status == TBED_ERR_STRING_DEPTH)
        return status;
    if (status != TBED_OK)
        return add_stand_in(measurer, id, status);
    bool is_bound = tbed_walk_is_bound(&measurer->walk);
    measurer->frames[measurer->walk.depth - 1] =
        (struct tbed_measure_frame){!is_bound, is_bound, measurer->nbytes, measurer->component_count};
    return TBED_OK;
}

static enum tbed_status refer(struct tbed_measurer *measurer, uint32_t id)
{
    enum tbed_status status = add(measurer, 0, tbed_walk_reference_cost(&measurer->walk));
    const struct tbed_measure *known = tbed_measurer_find(measurer, id);
    if (status != TBED_OK)
        return status;
    if (known == NULL)
        return enter(measurer, id);
    const struct tbed_walk *walk = &measurer->walk;
    if (known->height > walk->depth_max - (walk->depth - walk->bound_count) ||
        known->bound_height > TBED_STRING_DEPTH_MAX - walk->bound_count)
        return TBED_ERR_STRING_DEPTH;
    raise_heights(measurer, known->height, known->bound_height);
    return add(measurer, known->nbytes, known->component_count);
}

static enum tbed_status leave(struct tbed_measurer *measurer)
{
    uint32_t id = tbed_walk_top(&measurer->walk)->id;
    const struct tbed_measure_frame *frame = &measurer->frames[measurer->walk.depth - 1];
    tbed_walk_leave(&measurer->walk);
    if (measurer->walk.depth == 0)
        return TBED_OK;
    raise_heights(measurer, frame->height, frame->bound_height);
    return keep(measurer, id,
                (struct tbed_measure){
                    .height = frame->height,
                    .bound_height = frame->bound_height,
                    .nbytes = measurer->nbytes - frame->nbytes_before,
                    .component_count = measurer->component_count - frame->component_count_before,
                });
}

static enum tbed_status step(struct tbed_measurer *measurer)
{
    struct tbed_content_component component;
    if (tbed_walk_step(&measurer->walk, &component) != TBED_OK)
        return leave(measurer);
    if (measurer->looks_left == 0)
        return TBED_ERR_STRING_COMPONENTS;
    measurer->looks_left--;
    if (!tbed_text_spend(&measurer->credit, TBED_TEXT_COMPONENT_COST))
        return TBED_ERR_STRING_BYTES;
    return component.is_reference ? refer(measurer, component.id) : add(measurer, component.nbytes, 1);
}

enum tbed_status tbed_measurer_run(struct tbed_measurer *measurer, uint32_t id, uint64_t *nbytes_ret)
{
    measurer->walk.depth = measurer->walk.bound_count = 0;
    measurer->nbytes = measurer->component_count = 0;
    enum tbed_status status = enter(measurer, id);
    while (status == TBED_OK && measurer->walk.depth > 0)
        status = step(measurer);
    *nbytes_ret = measurer->nbytes;
    return status;
}

/* ---- Length ---- */

enum tbed_status tbed_string_length(const struct tbed_reader *reader, uint32_t id,
                                    const struct tbed_string_budget *budget, uint64_t *nbytes_ret)
{
    struct tbed_string_budget whole;
    struct tbed_measurer measurer;
    if (!tbed_string_budget_make(budget, &whole))
        return TBED_ERR_ARGUMENT;
    tbed_measurer_start(&measurer, reader, &whole, true);
    enum tbed_status status = tbed_measurer_run(&measurer, id, nbytes_ret);
    tbed_measurer_free(&measurer);
    if (status == TBED_OK)
        return measurer.status;
    bool has_stand_in = status == TBED_ERR_STRING_CYCLE || status == TBED_ERR_STRING_DEPTH;
    *nbytes_ret = has_stand_in ? strlen(tbed_refusal_text(status)) : UINT64_MAX;
    return status;
}
