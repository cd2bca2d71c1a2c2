/*
 * The walk over everything an id contains, with an explicit stack.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/strings/string_walk.h"
#include "format/base/sized.h"

#include <stdio.h>
#include <stdlib.h>

bool tbed_string_budget_make(const struct tbed_string_budget *budget, struct tbed_string_budget *budget_ret)
{
    struct tbed_string_budget made;
    if (!tbed_options_take(&made, sizeof made, budget) || made.depth > TBED_STRING_DEPTH_MAX)
        return false;
    if (made.depth == 0)
        made.depth = TBED_STRING_DEPTH_MAX;
    if (made.component_count == 0)
        made.component_count = TBED_STRING_COMPONENTS_MAX;
    if (made.nbytes == 0)
        made.nbytes = TBED_STRING_TEXT_MAX;
    *budget_ret = made;
    return true;
}

/* ---- The stack ---- */

void tbed_walk_start(struct tbed_walk *walk, const struct tbed_reader *reader, uint32_t depth_max)
{
    walk->reader = reader;
    walk->depth = walk->bound_count = 0;
    walk->depth_max = depth_max;
    walk->met_reserved = false;
}

enum tbed_status tbed_walk_enter(struct tbed_walk *walk, uint32_t id)
{
    for (uint32_t i = 0; i < walk->depth; i++)
        if (walk->frames[i].id == id)
            return TBED_ERR_STRING_CYCLE;
    struct tbed_meaning meaning;
    enum tbed_status status = tbed_meaning_find(walk->reader, id, &meaning);
    bool is_bound = status == TBED_OK && meaning.kind == TBED_STRING_IS_BOUND;
    if (is_bound ? walk->bound_count == TBED_STRING_DEPTH_MAX
                 : walk->depth - walk->bound_count == walk->depth_max)
        return TBED_ERR_STRING_DEPTH;
    walk->met_reserved |= id <= TBED_ID_METADATA;
    if (status != TBED_OK)
        return status;
    walk->frames[walk->depth] = (struct tbed_walk_frame){.id = id, .meaning = meaning};
    walk->depth++;
    walk->bound_count += is_bound;
    return TBED_OK;
}

static void put_pc(struct tbed_walk *walk, uint64_t pc, struct tbed_content_component *component_ret)
{
    int nbytes = snprintf(walk->text, sizeof walk->text, "+0x%llx", (unsigned long long)pc);
    *component_ret =
        (struct tbed_content_component){.text = (const uint8_t *)walk->text, .nbytes = (uint32_t)nbytes};
}

enum tbed_status tbed_walk_step(struct tbed_walk *walk, struct tbed_content_component *component_ret)
{
    struct tbed_walk_frame *frame = tbed_walk_top(walk);
    const struct tbed_meaning *meaning = &frame->meaning;
    uint32_t at = frame->at;
    if (meaning->kind == TBED_STRING_IS_ENTRY)
        return tbed_content_next(meaning->entry.content, meaning->entry.nbytes, &frame->at, component_ret);
    if (at > (meaning->kind == TBED_STRING_IS_BOUND ? 0 : 1))
        return TBED_END;
    frame->at++;
    if (at == 0)
        *component_ret = (struct tbed_content_component){.is_reference = true, .id = meaning->id};
    else
        put_pc(walk, meaning->pc, component_ret);
    return TBED_OK;
}

/* ---- Nodes ---- */

static enum tbed_status take(struct tbed_string_walk *walk, uint64_t component_count, uint64_t nbytes)
{
    if (component_count > walk->left.component_count)
        return walk->status = TBED_ERR_STRING_COMPONENTS;
    if (nbytes > walk->left.nbytes)
        return walk->status = TBED_ERR_STRING_BYTES;
    walk->left.component_count -= component_count;
    walk->left.nbytes -= nbytes;
    return TBED_OK;
}

static enum tbed_status put_trouble(struct tbed_string_walk *walk, uint32_t id, enum tbed_status status,
                                    struct tbed_string_node *node_ret)
{
    size_t nbytes = tbed_stand_in(walk->walk.text, id, status);
    *node_ret = (struct tbed_string_node){.step = TBED_STRING_TROUBLE,
                                          .status = status,
                                          .depth = walk->walk.depth,
                                          .id = id,
                                          .text = walk->walk.text,
                                          .nbytes = nbytes};
    return take(walk, 0, nbytes);
}

static enum tbed_status enter(struct tbed_string_walk *walk, uint32_t id, struct tbed_string_node *node_ret)
{
    enum tbed_status status = tbed_walk_enter(&walk->walk, id);
    if (status != TBED_OK)
        return put_trouble(walk, id, status, node_ret);
    *node_ret = (struct tbed_string_node){.step = TBED_STRING_ENTER,
                                          .meaning = tbed_walk_top(&walk->walk)->meaning.kind,
                                          .depth = walk->walk.depth - 1,
                                          .id = id};
    return TBED_OK;
}

static enum tbed_status leave(struct tbed_string_walk *walk, struct tbed_string_node *node_ret)
{
    const struct tbed_walk_frame *frame = tbed_walk_top(&walk->walk);
    tbed_walk_leave(&walk->walk);
    *node_ret = (struct tbed_string_node){.step = TBED_STRING_LEAVE,
                                          .meaning = frame->meaning.kind,
                                          .depth = walk->walk.depth,
                                          .id = frame->id};
    return TBED_OK;
}

enum tbed_status tbed_string_walk_next(struct tbed_string_walk *walk, struct tbed_string_node *node_ret)
{
    struct tbed_content_component component;
    if (walk->status != TBED_OK)
        return walk->status;
    if (walk->walk.depth == 0) {
        if (walk->has_begun)
            return walk->status = TBED_END;
        walk->has_begun = true;
        return enter(walk, walk->id, node_ret);
    }
    if (tbed_walk_step(&walk->walk, &component) != TBED_OK)
        return leave(walk, node_ret);
    uint64_t cost = component.is_reference ? tbed_walk_reference_cost(&walk->walk) : 1;
    enum tbed_status status = take(walk, cost, component.is_reference ? 0 : component.nbytes);
    if (status != TBED_OK)
        return status;
    if (component.is_reference)
        return enter(walk, component.id, node_ret);
    *node_ret = (struct tbed_string_node){.step = TBED_STRING_TEXT,
                                          .depth = walk->walk.depth,
                                          .id = tbed_walk_top(&walk->walk)->id,
                                          .text = (const char *)component.text,
                                          .nbytes = component.nbytes};
    return TBED_OK;
}

void tbed_string_walk_start(struct tbed_string_walk *walk, const struct tbed_reader *reader, uint32_t id,
                            const struct tbed_string_budget *budget)
{
    tbed_walk_start(&walk->walk, reader, budget->depth);
    walk->left = *budget;
    walk->status = TBED_OK;
    walk->id = id;
    walk->has_begun = false;
}

enum tbed_status tbed_string_walk_open(const struct tbed_reader *reader, uint32_t id,
                                       const struct tbed_string_budget *budget,
                                       struct tbed_string_walk **walk_ret)
{
    struct tbed_string_budget whole;
    if (!tbed_string_budget_make(budget, &whole))
        return TBED_ERR_ARGUMENT;
    struct tbed_string_walk *walk = malloc(sizeof *walk);
    if (walk == NULL)
        return TBED_ERR_MEMORY;
    tbed_string_walk_start(walk, reader, id, &whole);
    *walk_ret = walk;
    return TBED_OK;
}

void tbed_string_walk_skip(struct tbed_string_walk *walk)
{
    if (walk->walk.depth == 0)
        return;
    struct tbed_walk_frame *frame = tbed_walk_top(&walk->walk);
    frame->at = frame->meaning.kind == TBED_STRING_IS_ENTRY ? frame->meaning.entry.nbytes - 1 : 2;
}

void tbed_string_walk_close(struct tbed_string_walk *walk)
{
    free(walk);
}
