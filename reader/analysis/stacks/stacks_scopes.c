/*
 * A stream read forward for the stack analysis: spans and pairs of messages, in the order that they began.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/spans/resolution.h"
#include "reader/analysis/stacks/stacks_parts.h"

#include <stdlib.h>
#include <string.h>

/* The tag of a scope: the node that it counts in, + 1, and whether its time is counted already, or with one around it. */
#define TAG_HAS_TIME 1u
#define TAG_SHIFT    1

static uint32_t node_of(const struct stack_scopes *walk, const struct tbed_scope *scope)
{
    return scope != NULL && scope->tag != 0 ? (uint32_t)(scope->tag >> TAG_SHIFT) - 1 : walk->root;
}

/* "context : text" */
static enum tbed_status pair_label(struct stack_scopes *walk, const struct tbed_scope *scope,
                                   uint32_t *label_ret)
{
    const char *unit = memchr(scope->name, SCOPE_UNIT, scope->name_nbytes);
    if (unit == NULL)
        return tbed_stack_label_intern(walk->labels, scope->name, scope->name_nbytes, label_ret);
    size_t context = (size_t)(unit - scope->name), nbytes = scope->name_nbytes + 2;
    char *label = malloc(nbytes);
    if (label == NULL)
        return TBED_ERR_MEMORY;
    memcpy(label, scope->name, context);
    memcpy(label + context, " : ", 3);
    memcpy(label + context + 3, unit + 1, scope->name_nbytes - context - 1);
    enum tbed_status status = tbed_stack_label_intern(walk->labels, label, nbytes, label_ret);
    free(label);
    return status;
}

static enum tbed_status place(struct stack_scopes *walk, struct tbed_scope *scope,
                              const struct tbed_scope *parent)
{
    uint32_t label, node, outer = node_of(walk, parent);
    bool is_inside;
    enum tbed_status status = scope->is_pair
                                  ? pair_label(walk, scope, &label)
                                  : tbed_stack_id_label(walk->ids, walk->labels, scope->id, &label);
    if (status == TBED_OK)
        status = tbed_stack_tree_place(walk->tree, walk->root, outer, label, walk->deeper_label, &node,
                                       &is_inside);
    if (status != TBED_OK)
        return status;
    walk->totals->deep_count += tbed_stack_tree_is_deep(walk->tree, walk->root, outer);
    scope->tag = ((uint64_t)node + 1) << TAG_SHIFT | (is_inside ? TAG_HAS_TIME : 0);
    return TBED_OK;
}

/* The time until then is the node's, if that of the scope is not counted already. */
static void count_time(struct stack_scopes *walk, struct tbed_scope *scope, uint64_t end_tick)
{
    uint64_t begin_tick = scope->begin_tick < end_tick ? scope->begin_tick : end_tick;
    if ((scope->tag & TAG_HAS_TIME) != 0)
        return;
    scope->tag |= TAG_HAS_TIME;
    tbed_stack_node_add(&walk->tree->nodes[node_of(walk, scope)], 0,
                        tbed_ticks_between(walk->resolution, begin_tick, end_tick));
    if (!walk->has_spans || begin_tick < walk->first_tick)
        walk->first_tick = begin_tick;
    if (!walk->has_spans || end_tick > walk->last_tick)
        walk->last_tick = end_tick;
    walk->has_spans = true;
}

static void count(struct stack_scopes *walk, struct tbed_scope *scope, uint64_t end_tick, bool is_open)
{
    struct stack_node *node = &walk->tree->nodes[node_of(walk, scope)];
    count_time(walk, scope, end_tick);
    walk->totals->inverted_count += scope->begin_tick > end_tick;
    walk->totals->span_count++;
    walk->totals->open_count += is_open;
    node->count++;
    node->open_count += is_open;
}

static void take_step(void *context, const struct tbed_scope_step *step)
{
    struct stack_scopes *walk = context;
    if (walk->status != TBED_OK)
        return;
    switch (step->change) {
    case TBED_SCOPE_BEGIN:
        walk->status = place(walk, step->scope, step->parent);
        break;
    case TBED_SCOPE_LEFT:
        count_time(walk, step->scope, step->end_tick);
        break;
    case TBED_SCOPE_END:
        if (!step->was_begun)
            walk->status = place(walk, step->scope, tbed_scopes_innermost(walk->scopes));
        if (walk->status == TBED_OK)
            count(walk, step->scope, step->end_tick, false);
        break;
    case TBED_SCOPE_OPEN:
        count(walk, step->scope, step->end_tick, true);
        break;
    case TBED_SCOPE_UNKNOWN:
        walk->totals->unknown_count++;
        break;
    case TBED_SCOPE_ORPHAN:
        break;
    }
}

static void take_whole(struct stack_scopes *walk, const struct tbed_event *event)
{
    struct tbed_scope scope = {.begin_tick = event->of.span.begin_tick, .id = event->id};
    walk->status = place(walk, &scope, tbed_scopes_innermost(walk->scopes));
    if (walk->status == TBED_OK)
        count(walk, &scope, event->tick, false);
}

static enum tbed_status read_events(struct stack_scopes *walk, struct tbed_cursor *cursor)
{
    struct tbed_event event;
    enum tbed_status status = TBED_OK;
    while (status == TBED_OK && walk->status == TBED_OK && tbed_cursor_next(cursor, &event) == TBED_OK) {
        status = tbed_scopes_take(walk->scopes, &event, tbed_cursor_depth(cursor));
        if (event.type == TBED_EVENT_SPAN)
            take_whole(walk, &event);
        else
            walk->totals->other_count += event.type != TBED_EVENT_BEGIN && event.type != TBED_EVENT_END;
    }
    tbed_scopes_finish(walk->scopes);
    return status == TBED_OK ? walk->status : status;
}

enum tbed_status tbed_stack_scopes_read(struct stack_scopes *walk, uint32_t stream)
{
    const struct tbed_scopes_options options = {
        .size = sizeof options, .step = take_step, .step_context = walk};
    struct tbed_cursor *cursor;
    enum tbed_status status = tbed_scopes_open(walk->reader, &options, &walk->scopes);
    if (status == TBED_OK)
        status = tbed_cursor_open(walk->reader, stream, &cursor);
    if (status == TBED_OK) {
        status = read_events(walk, cursor);
        tbed_cursor_close(cursor);
    }
    tbed_scopes_close(walk->scopes);
    return status;
}
