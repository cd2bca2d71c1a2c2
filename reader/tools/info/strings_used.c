/*
 * The ids that events use, and what these refer to.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/info/strings_ids.h"

#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>

/* ---- What events name ---- */

static void count_id(struct used_ids *used, uint32_t id)
{
    if (id != TBED_ID_INVALID) /* says itself that it means nothing */
        used_ids_add(used, id);
}

static void count_arguments(struct used_ids *used, struct tbed_arguments at, uint32_t argument_count)
{
    for (uint32_t i = 0; i < argument_count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&at, &argument);
        count_id(used, argument.name_id);
        if (argument.type == TBED_ARG_ID && argument.value.u64 <= UINT32_MAX)
            count_id(used, argument.value.id);
    }
}

static void count_event(struct used_ids *used, const struct tbed_event *event)
{
    if (event->type != TBED_EVENT_UNKNOWN && event->type != TBED_EVENT_GAP)
        count_id(used, event->id);
    count_id(used, event->category);
    count_arguments(used, event->arguments, event->argument_count);
}

/* A span whose begin is not among the events counts where it ends. */
static void count_step(struct used_ids *used, const struct tbed_step *step)
{
    if (step->event != NULL)
        count_event(used, step->event);
    if (step->span == NULL || step->span->was_begun || step->kind == TBED_STEP_BEGIN)
        return;
    count_id(used, step->span->id);
    count_id(used, step->span->category);
    count_arguments(used, step->span->arguments, step->span->argument_count);
}

static void count_stream(struct tbed_reader *reader, uint32_t stream, struct used_ids *used)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    if (tbed_cursor_open(reader, stream, &cursor) != TBED_OK)
        return;
    while (tbed_cursor_next(cursor, &event) == TBED_OK)
        count_event(used, &event);
    tbed_cursor_close(cursor);
}

static void count_steps(struct tbed_reader *reader, uint32_t stream, const struct tbed_filter *filter,
                        struct used_ids *used)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    if (tbed_assembler_open_filtered(reader, &stream, 1, filter, &assembler) != TBED_OK)
        return;
    while (tbed_assembler_next(assembler, &step) == TBED_OK)
        count_step(used, &step);
    tbed_assembler_close(assembler);
}

void strings_used_count(struct tbed_reader *reader, const struct tbed_filter *filter, struct used_ids *used)
{
    struct tbed_stream_info stream;
    tool_progress_begin(reader, false);
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++)
        if (filter != NULL)
            count_steps(reader, stream.stream, filter, used);
        else
            count_stream(reader, stream.stream, used);
    tool_progress_end();
}

/* ---- What they refer to ---- */

static int compare_ids(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* 'ids' are all that were found, of which the references of the last ones are yet to be followed. */
struct follow {
    const struct tbed_reader *reader;
    struct used_ids seen;
    uint32_t *ids;
    size_t count;
};

static void find(struct follow *follow, uint32_t id)
{
    if (id == TBED_ID_INVALID || used_ids_add(&follow->seen, id) > 1)
        return;
    if ((follow->count & (follow->count + 1)) == 0) /* full at 0, 1, 3, 7, … */
        follow->ids = tool_realloc(follow->ids, (follow->count * 2 + 1) * sizeof *follow->ids);
    follow->ids[follow->count++] = id;
}

static void follow_entry(struct follow *follow, uint32_t id)
{
    struct tbed_string_component component;
    uint32_t at = 0, bound;
    while (tbed_string_component_next(follow->reader, id, &at, &component) == TBED_OK)
        if (component.is_reference)
            find(follow, component.id);
    if (tbed_id_binding(follow->reader, id, &bound))
        find(follow, bound);
    find(follow, tbed_counter_unit(follow->reader, id));
}

static void follow_place(struct follow *follow, uint32_t id)
{
    struct tbed_location place;
    struct tbed_frame_info frame;
    uint32_t location, caller, type;
    if (tbed_typed_get(follow->reader, id, &location, &type)) {
        find(follow, location);
        find(follow, type);
    } else if (tbed_stack_get(follow->reader, id, &location, &caller)) {
        find(follow, location);
        find(follow, caller);
    }
    if (!tbed_location_resolve(follow->reader, id, &place))
        return;
    if (place.has_unit) {
        find(follow, place.unit.name_id);
        find(follow, place.unit.file_id);
    }
    for (size_t i = 0; tbed_location_frame(&place, i, &frame); i++) {
        find(follow, frame.function_id);
        find(follow, frame.file_id);
    }
}

struct strings_shown strings_used_follow(const struct tbed_reader *reader, const struct used_ids *used)
{
    struct follow follow = {.reader = reader};
    size_t slot_count = tbed_hashmap_capacity(&used->ids.map);
    for (size_t i = 0; i < slot_count; i++)
        if (used->ids.slots[i].key != 0)
            find(&follow, (uint32_t)used->ids.slots[i].key);
    for (size_t i = 0; i < follow.count; i++) {
        uint32_t id = follow.ids[i];
        follow_entry(&follow, id);
        follow_place(&follow, id);
    }
    used_ids_free(&follow.seen);
    if (follow.count > 1)
        qsort(follow.ids, follow.count, sizeof *follow.ids, compare_ids);
    return (struct strings_shown){.is_part = true, .ids = follow.ids, .count = follow.count};
}

bool strings_shown_has(const struct strings_shown *shown, uint32_t first_id, uint32_t id_count)
{
    size_t low = 0, high = shown->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (shown->ids[middle] < first_id)
            low = middle + 1;
        else
            high = middle;
    }
    return !shown->is_part || (low < shown->count && shown->ids[low] - first_id < id_count);
}
