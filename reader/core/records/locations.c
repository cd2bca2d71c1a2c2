/*
 * What the file itself records about a location: its unit and line, stored frames, call stacks, types.
 *
 * Debug information is read by tracebed/symbols.h.
 *
 * Source: spec/format.md, sections 8.2, 8.5 and 8.8.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/records/locations.h"
#include "format/base/sized.h"

#include "format/string.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"

#include <tracebed/analysis.h>

/* ---- Call stacks and types ---- */

/* A pair of a STACKS or TYPES record. */
struct pair {
    uint32_t id, first, second;
    bool has_type;
};

static bool pair_find(const struct tbed_reader *reader, uint32_t id, struct pair *pair_ret)
{
    const struct tbed_keyed_stacks *stacks = reader->metadata->stacks.items;
    size_t count = tbed_keyed_count_up_to(&reader->metadata->stacks, sizeof *stacks, id);
    if (count == 0 || id - stacks[count - 1].keyed.key >= stacks[count - 1].count)
        return false;
    stacks += count - 1;
    const struct tbed_disk_id_pair *pair =
        (const struct tbed_disk_id_pair *)stacks->pairs + (id - stacks->keyed.key);
    *pair_ret =
        (struct pair){id, tbed_le32_load(pair->first), tbed_le32_load(pair->second), stacks->has_types};
    if (stacks->has_types && pair_ret->first >= id && pair_ret->first <= TBED_ID_MAX_RESERVED)
        pair_ret->first = TBED_ID_INVALID;
    if (!stacks->has_types && pair_ret->second >= id)
        pair_ret->second = TBED_ID_INVALID;
    return true;
}

bool tbed_stack_get(const struct tbed_reader *reader, uint32_t id, uint32_t *location_ret,
                    uint32_t *parent_ret)
{
    struct pair pair, stack;
    if (!pair_find(reader, id, &pair))
        return false;
    if (pair.has_type && pair_find(reader, pair.first, &stack) && !stack.has_type)
        pair = stack;
    *location_ret = pair.first;
    *parent_ret = pair.has_type ? TBED_ID_INVALID : pair.second;
    return true;
}

bool tbed_typed_get(const struct tbed_reader *reader, uint32_t id, uint32_t *location_ret, uint32_t *type_ret)
{
    struct pair pair;
    if (!pair_find(reader, id, &pair) || !pair.has_type)
        return false;
    *location_ret = pair.first;
    *type_ret = pair.second;
    return true;
}

size_t tbed_stack_locations(const struct tbed_reader *reader, uint32_t id, uint32_t *locations,
                            size_t capacity)
{
    size_t count = 0;
    while (count < capacity && tbed_stack_get(reader, id, &locations[count], &id))
        count++;
    return count;
}

bool tbed_id_follow(const struct tbed_reader *reader, uint32_t id, uint32_t *next_ret)
{
    struct pair pair;
    if (tbed_binding_find(reader->metadata, id, next_ret))
        return true;
    bool is_found = pair_find(reader, id, &pair);
    if (is_found)
        *next_ret = pair.first;
    return is_found;
}

/* A binding may refer to another binding, up to the same limit as in a walk. A stack refers to its location, and so does an id with a type. */
enum tbed_status tbed_bindings_follow(const struct tbed_reader *reader, uint32_t *id)
{
    uint32_t seen[TBED_STRING_DEPTH_MAX];
    for (uint32_t depth = 0; *id <= TBED_ID_METADATA; depth++) {
        for (uint32_t i = 0; i < depth; i++)
            if (seen[i] == *id)
                return TBED_ERR_STRING_CYCLE;
        uint32_t bound = *id;
        if (!tbed_id_follow(reader, *id, id))
            return TBED_ERR_STRING_UNBOUND;
        if (depth == TBED_STRING_DEPTH_MAX)
            return TBED_ERR_STRING_DEPTH;
        seen[depth] = bound;
    }
    return TBED_OK;
}

/* ---- Units ---- */

bool tbed_location_find(const struct tbed_reader *reader, uint32_t id, struct tbed_unit_info *unit_ret,
                        uint64_t *pc_ret)
{
    const struct tbed_keyed_unit *units = reader->metadata->units.items;
    size_t count = tbed_keyed_count_up_to(&reader->metadata->units, sizeof *units, id);
    if (count == 0)
        return false;
    const struct tbed_unit_info *unit = &units[count - 1].info;
    if (id - unit->first_id >= unit->id_count)
        return false;
    *unit_ret = *unit;
    *pc_ret = unit->base + ((uint64_t)(id - unit->first_id) << unit->pc_shift);
    return true;
}

uint32_t tbed_location_line(const struct tbed_reader *reader, const struct tbed_unit_info *unit, uint64_t pc)
{
    const struct tbed_line *lines = reader->metadata->lines.items;
    size_t low = 0, high = reader->metadata->lines.count; /* the first pair beyond it is in [low, high] */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct tbed_line *line = &lines[middle];
        if (line->first_id < unit->first_id || (line->first_id == unit->first_id && line->pc <= pc))
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && lines[low - 1].first_id == unit->first_id ? lines[low - 1].line : 0;
}

/* ---- Frames ---- */

static bool frames_find(const struct tbed_reader *reader, uint32_t id, struct tbed_location *location)
{
    const struct tbed_keyed_frames *frames = reader->metadata->frames.items;
    size_t count = tbed_keyed_count_up_to(&reader->metadata->frames, sizeof *frames, id);
    if (count == 0 || frames[count - 1].keyed.key != id || frames[count - 1].count == 0)
        return false;
    location->source = TBED_FRAMES_GIVEN;
    location->frame_count = frames[count - 1].count;
    location->frames = frames[count - 1].frames;
    return true;
}

/* A bytecode unit is one function, hence one frame; its line is looked up. */
static void frame_from_unit(const struct tbed_reader *reader, struct tbed_location *location)
{
    const struct tbed_unit_info *unit = &location->unit;
    uint32_t line = tbed_location_line(reader, unit, location->pc);
    location->source = TBED_FRAMES_OF_LINES;
    location->frame_count = 1;
    location->frame =
        (struct tbed_frame_info){unit->name_id, unit->file_id, line != 0 ? line : unit->first_line};
}

bool tbed_location_resolve_sized(const struct tbed_reader *reader, uint32_t id,
                                 struct tbed_location *location_ret, size_t location_nbytes)
{
    struct tbed_location location = {.id = id};
    bool is_given = frames_find(reader, id, &location);
    /* Strings and cycles have no unit; an id that is not bound may have one. */
    location.has_unit = tbed_bindings_follow(reader, &location.id) == TBED_ERR_STRING_UNBOUND &&
                        tbed_location_find(reader, location.id, &location.unit, &location.pc);
    /* Frames of a string describe the string, not the ids bound to it. */
    if (!is_given && location.id <= TBED_ID_MAX_RESERVED)
        is_given = frames_find(reader, location.id, &location);
    if (!is_given && location.has_unit && location.unit.kind == TBED_UNIT_BYTECODE)
        frame_from_unit(reader, &location);
    if (is_given || location.has_unit)
        tbed_sized_give(location_ret, location_nbytes, &location, sizeof location);
    return is_given || location.has_unit;
}

bool tbed_location_frame(const struct tbed_location *location, size_t index,
                         struct tbed_frame_info *frame_ret)
{
    if (index >= location->frame_count)
        return false;
    if (location->source == TBED_FRAMES_OF_LINES) {
        *frame_ret = location->frame;
        return true;
    }
    const struct tbed_disk_frame *frame = (const struct tbed_disk_frame *)location->frames + index;
    *frame_ret = (struct tbed_frame_info){tbed_le32_load(frame->function_id), tbed_le32_load(frame->file_id),
                                          tbed_le32_load(frame->line)};
    return true;
}
