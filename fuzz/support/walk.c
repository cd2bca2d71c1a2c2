/*
 * Walks everything in a trace through the public API, and checks what the API promises.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <time.h>
#include <tracebed/analysis.h>

#include "fuzz/support/fuzz.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"

#define TEXT_NBYTES_MAX ((size_t)1 << 24) /* the budget of section 12 */

static uint64_t file_nbytes(const struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    return info.file_nbytes;
}

/* ---- Strings ---- */

/* One string may cost as much as the budgets allow, some milliseconds; an input with many of them shows nothing new. */
static bool has_time_left(bool start_again)
{
    static clock_t begin;
    if (start_again)
        begin = clock();
    return clock() - begin < CLOCKS_PER_SEC / 5;
}

/* Whatever the buffer's size, the length and the beginning are the same, and there is a terminator. */
static void resolve(const struct tbed_reader *reader, uint32_t id)
{
    if (!has_time_left(false))
        return;
    char large[300], small[9];
    size_t large_nbytes, small_nbytes, nbytes;
    enum tbed_status status = tbed_string_resolve(reader, id, large, sizeof large, &large_nbytes);
    REQUIRE(tbed_string_resolve(reader, id, small, sizeof small, &small_nbytes) == status);
    REQUIRE(tbed_string_resolve(reader, id, NULL, 0, &nbytes) == status);
    REQUIRE(nbytes == large_nbytes && nbytes == small_nbytes);
    REQUIRE(nbytes <= TEXT_NBYTES_MAX + 64);
    size_t shown = nbytes < sizeof small - 1 ? nbytes : sizeof small - 1;
    REQUIRE(memcmp(large, small, shown) == 0 && small[shown] == 0);
    REQUIRE(large[nbytes < sizeof large - 1 ? nbytes : sizeof large - 1] == 0);
}

/* The reader's cached text, and the length found without expanding, agree with the resolved text. */
static void compare_kept(const struct tbed_reader *reader, uint32_t id)
{
    char text[300];
    size_t nbytes;
    uint64_t length;
    bool equal;
    struct tbed_name name;
    if (!has_time_left(false))
        return;
    enum tbed_status status = tbed_string_resolve(reader, id, text, sizeof text, &nbytes);
    enum tbed_status kept = tbed_name_get(reader, id, &name);
    if (kept != TBED_ERR_CACHE_FULL) {
        REQUIRE(kept == status && name.nbytes == nbytes && name.text[nbytes] == 0);
        REQUIRE(memcmp(name.text, text, nbytes < sizeof text ? nbytes : sizeof text - 1) == 0);
    }
    if (status != TBED_OK)
        return;
    REQUIRE(tbed_string_length(reader, id, NULL, &length) == TBED_OK && length == nbytes);
    REQUIRE(tbed_string_equals(reader, id, id, NULL, &equal) == TBED_OK && equal);
    kept = tbed_event_label(reader, id, &name);
    REQUIRE(kept == TBED_OK ? name.nbytes <= nbytes
                            : kept == TBED_ERR_CACHE_FULL || kept == TBED_ERR_STRING_COMPONENTS ||
                                  kept == TBED_ERR_STRING_BYTES);
}

/* A string that consists of one text equals its resolved text. */
static void compare_text(const struct tbed_reader *reader, uint32_t id)
{
    char text[300];
    const char *direct;
    size_t nbytes, direct_nbytes;
    if (!has_time_left(false) || tbed_string_text(reader, id, &direct, &direct_nbytes) != TBED_OK)
        return;
    REQUIRE(tbed_string_resolve(reader, id, text, sizeof text, &nbytes) == TBED_OK);
    REQUIRE(nbytes == direct_nbytes);
    REQUIRE(memcmp(text, direct, nbytes < sizeof text ? nbytes : sizeof text - 1) == 0);
}

static void walk_components(struct tbed_reader *reader, uint32_t id)
{
    struct tbed_string_component component;
    uint32_t at = 0, sum = 0;
    while (tbed_string_component_next(reader, id, &at, &component) == TBED_OK) {
        REQUIRE(component.is_reference || component.nbytes > 0);
        if (component.is_reference)
            REQUIRE(component.id <= TBED_ID_MAX);
        for (uint32_t i = 0; !component.is_reference && i < component.nbytes; i++)
            sum += (uint8_t)component.text[i];
    }
    REQUIRE(at <= file_nbytes(reader) && sum <= file_nbytes(reader) * 255);
}

void walk_strings(struct tbed_reader *reader)
{
    uint32_t id = 0, before = 0;
    has_time_left(true);
    while (tbed_string_next(reader, &id)) {
        REQUIRE(id > before && id > TBED_ID_INVALID && id <= TBED_ID_MAX);
        before = id;
        resolve(reader, id);
        compare_text(reader, id);
        compare_kept(reader, id);
        walk_components(reader, id);
    }
    resolve(reader, TBED_ID_METADATA);
    resolve(reader, TBED_ID_INVALID);
    resolve(reader, UINT32_MAX);
}

/* ---- Records ---- */

/* Walks a location, if the id is one. */
static void walk_location(const struct tbed_reader *reader, uint32_t id)
{
    struct tbed_location location;
    struct tbed_frame_info frame;
    size_t count = 0;
    if (!tbed_location_resolve(reader, id, &location))
        return;
    REQUIRE(location.has_unit || location.source == TBED_FRAMES_GIVEN);
    while (tbed_location_frame(&location, count, &frame)) {
        count++;
        REQUIRE(frame.function_id <= TBED_ID_MAX && frame.file_id <= TBED_ID_MAX);
        resolve(reader, frame.function_id);
        resolve(reader, frame.file_id);
    }
    REQUIRE(count == location.frame_count && (location.source != TBED_FRAMES_NONE) == (count > 0));
}

/* Every parent has a lower id, so walking a stack terminates. */
static void walk_stack(const struct tbed_reader *reader, uint32_t id)
{
    uint32_t locations[64], location, parent, type, count = 0;
    size_t few = tbed_stack_locations(reader, id, locations, 64);
    for (uint32_t at = id; tbed_stack_get(reader, at, &location, &parent); at = parent) {
        REQUIRE(count >= 64 || (count < few && locations[count] == location));
        REQUIRE(location <= TBED_ID_MAX && (parent < at || parent == TBED_ID_INVALID));
        count++;
    }
    REQUIRE(few == (count < 64 ? count : 64));
    if (tbed_typed_get(reader, id, &location, &type)) {
        REQUIRE(count > 0 && (location < id || location > TBED_ID_MAX_RESERVED));
        resolve(reader, type);
    }
    if (count > 0) {
        resolve(reader, id);
        walk_location(reader, id);
    }
}

/* Stacks cannot be listed, so this walks the ids near those that an input is likely to use. */
static void walk_stacks(const struct tbed_reader *reader)
{
    static const uint32_t starts[] = {0, 1000, TBED_ID_MAX_RESERVED - 15, TBED_ID_METADATA};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        for (uint32_t id = starts[i]; id < starts[i] + 16; id++)
            walk_stack(reader, id);
}

static void walk_unit(const struct tbed_reader *reader, const struct tbed_unit_info *unit)
{
    struct tbed_unit_info found;
    uint64_t pc, sum = 0;
    REQUIRE(unit->first_id <= TBED_ID_MAX_RESERVED && unit->pc_shift < 32 && unit->build_id_nbytes <= 64);
    for (uint32_t i = 0; i < unit->build_id_nbytes; i++)
        sum += unit->build_id[i];
    REQUIRE(sum <= 64 * 255);
    resolve(reader, unit->name_id);
    resolve(reader, unit->file_id);
    if (unit->id_count == 0)
        return;
    uint32_t last = unit->first_id + unit->id_count - 1;
    REQUIRE(tbed_location_find(reader, last, &found, &pc));
    REQUIRE(found.first_id == unit->first_id && found.id_count == unit->id_count);
    REQUIRE(pc == unit->base + ((uint64_t)(unit->id_count - 1) << unit->pc_shift));
    tbed_location_line(reader, unit, pc);
    resolve(reader, last);
    walk_location(reader, last);
}

static void walk_processes_and_streams(const struct tbed_reader *reader)
{
    struct tbed_process_info process;
    struct tbed_stream_info stream;
    uint32_t before = 0;
    for (size_t i = 0; tbed_process_get(reader, i, &process); i++) {
        REQUIRE(process.stream > before);
        before = process.stream;
        resolve(reader, process.name_id);
    }
    before = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        size_t first, count;
        REQUIRE(stream.stream > before);
        before = stream.stream;
        tbed_stream_blocks(reader, stream.stream, &first, &count);
        REQUIRE(count == stream.block_count && first + count <= tbed_event_block_count(reader));
        resolve(reader, stream.name_id);
    }
}

void walk_records(struct tbed_reader *reader)
{
    struct tbed_unit_info unit;
    struct tbed_load_info load;
    struct tbed_binding_info binding;
    uint64_t unit_end = 0;
    walk_processes_and_streams(reader);
    for (size_t i = 0; tbed_unit_get(reader, i, &unit); i++) {
        REQUIRE(unit.id_count == 0 || unit.first_id >= unit_end);
        if (unit.id_count > 0)
            unit_end = (uint64_t)unit.first_id + unit.id_count;
        walk_unit(reader, &unit);
    }
    walk_stacks(reader);
    for (size_t i = 0; tbed_load_get(reader, i, &load); i++)
        tbed_ticks_to_ns(reader, load.tick);
    for (size_t i = 0; tbed_binding_get(reader, i, &binding); i++) {
        resolve(reader, binding.first_id);
        resolve(reader, binding.first_id + binding.id_count - 1);
        tbed_counter_unit(reader, binding.string_id);
    }
}

/* ---- Events ---- */

struct totals {
    uint64_t count, hash;
};

static void walk_arguments(const struct tbed_reader *reader, const struct tbed_event *event)
{
    struct tbed_arguments at = event->arguments;
    uint64_t sum = 0, nbytes = 0;
    for (uint32_t i = 0; i < event->argument_count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&at, &argument);
        resolve(reader, argument.name_id);
        if (argument.type == TBED_ARG_ID)
            resolve(reader, argument.value.id);
        bool has_bytes = argument.type < TBED_ARG_U64 || argument.type > TBED_ARG_ID;
        for (uint32_t j = 0; has_bytes && j < argument.nbytes; j++)
            sum += (uint8_t)argument.value.text[j];
        nbytes += argument.nbytes;
    }
    REQUIRE(sum <= nbytes * 255 && nbytes <= file_nbytes(reader));
}

/* The same events have the same sum in any order of streams. */
static void add(struct totals *totals, const struct tbed_event *event)
{
    uint64_t hash = event->tick * 0x9E3779B97F4A7C15u ^ event->offset * 0xC2B2AE3D27D4EB4Fu ^
                    ((uint64_t)event->stream << 32 | event->id) * 0x165667B19E3779F9u ^ (uint64_t)event->type;
    totals->count++;
    totals->hash += hash ^ hash >> 29;
}

static void walk_stream(struct tbed_reader *reader, uint32_t stream, struct totals *totals)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    uint64_t nbytes = file_nbytes(reader);
    REQUIRE(tbed_cursor_open(reader, stream, &cursor) == TBED_OK);
    while (tbed_cursor_next(cursor, &event) == TBED_OK) {
        REQUIRE(event.stream == stream && event.id <= TBED_ID_MAX);
        REQUIRE(event.offset % 8 == 0 && event.offset < nbytes && nbytes - event.offset >= 8);
        walk_arguments(reader, &event);
        if (event.type == TBED_EVENT_COUNTER)
            REQUIRE(event.counter_value.type >= TBED_ARG_U64 && event.counter_value.type <= TBED_ARG_F64);
        tbed_ticks_to_ns(reader, event.tick);
        tbed_cursor_depth(cursor);
        add(totals, &event);
    }
    REQUIRE(tbed_cursor_next(cursor, &event) == TBED_END);
    tbed_cursor_close(cursor);
}

static void walk_after_seek(struct tbed_reader *reader, uint64_t tick, uint64_t count_max)
{
    struct tbed_merge *merge;
    struct tbed_event event;
    uint64_t count = 0;
    REQUIRE(tbed_merge_open(reader, NULL, 0, &merge) == TBED_OK);
    tbed_merge_seek(merge, tick);
    while (tbed_merge_next(merge, &event) == TBED_OK)
        count++;
    REQUIRE(count <= count_max);
    tbed_merge_close(merge);
}

void walk_events(struct tbed_reader *reader)
{
    struct totals by_cursor = {0, 0}, by_merge = {0, 0};
    struct tbed_stream_info stream;
    struct tbed_merge *merge;
    struct tbed_event event;
    uint64_t middle = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++)
        walk_stream(reader, stream.stream, &by_cursor);
    REQUIRE(tbed_merge_open(reader, NULL, 0, &merge) == TBED_OK);
    while (tbed_merge_next(merge, &event) == TBED_OK) {
        add(&by_merge, &event);
        if (by_merge.count == by_cursor.count / 2)
            middle = event.tick;
    }
    tbed_merge_close(merge);
    REQUIRE(by_cursor.count == by_merge.count && by_cursor.hash == by_merge.hash);
    walk_after_seek(reader, middle, by_cursor.count);
}

/* ---- Everything ---- */

/* At each anchor, a time of CLOCK_MONOTONIC is the anchor's tick. */
static void walk_anchors(const struct tbed_reader *reader)
{
    const struct tbed_anchor *anchors = reader->metadata->anchors.items;
    REQUIRE(reader->metadata->anchors.count > 0);
    for (size_t i = 0; i < reader->metadata->anchors.count; i++)
        REQUIRE(tbed_monotonic_tick(reader, anchors[i].monotonic_ns) == anchors[i].ticks);
    tbed_monotonic_tick(reader, 0);
    tbed_monotonic_tick(reader, UINT64_MAX);
}

static void walk_time(struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    int64_t ns;
    tbed_reader_info(reader, &info);
    if (info.clock != TBED_CLOCK_USER)
        walk_anchors(reader);
    const uint64_t ticks[] = {0, info.first_tick, info.last_tick, UINT64_MAX};
    for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++) {
        tbed_ticks_to_ns(reader, ticks[i]);
        tbed_tick_span_to_ns(reader, ticks[i]);
        enum tbed_status status = tbed_ticks_to_realtime_ns(reader, ticks[i], &ns);
        REQUIRE(status == (info.clock == TBED_CLOCK_USER ? TBED_ERR_NO_TIME : TBED_OK));
    }
}

/* What verifying counts is what cursors find. */
static void check_counts(struct tbed_reader *reader)
{
    struct tbed_stream_info stream;
    struct tbed_trace_info info;
    struct tbed_event event;
    uint64_t events = 0, unknown = 0, decreases = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++) {
        struct tbed_cursor *cursor;
        uint64_t last_tick = 0;
        if (tbed_cursor_open(reader, stream.stream, &cursor) != TBED_OK)
            return;
        for (; tbed_cursor_next(cursor, &event) == TBED_OK; last_tick = event.tick) {
            events++;
            unknown += event.type == TBED_EVENT_UNKNOWN;
            decreases += event.tick < last_tick;
        }
        tbed_cursor_close(cursor);
    }
    tbed_reader_info(reader, &info);
    REQUIRE(info.event_count == events && info.tick_decrease_count == decreases);
    REQUIRE(info.unknown_event_count + info.application_event_count == unknown);
}

/* What is wrong with a packed file as a whole lies in the packed file. */
static bool is_inside(const struct tbed_reader *reader, const struct tbed_damage *damage)
{
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    bool is_packed = damage->page == UINT64_MAX &&
                     (damage->status == TBED_ERR_PACKED_HEADER || damage->status == TBED_ERR_PACKED_INDEX ||
                      damage->status == TBED_ERR_PACKED_UNIT);
    return damage->offset <= (is_packed ? info.packed_nbytes : info.file_nbytes);
}

void walk_everything(struct tbed_reader *reader)
{
    struct tbed_damage damage;
    walk_strings(reader);
    walk_records(reader);
    walk_events(reader);
    walk_time(reader);
    enum tbed_status status = tbed_reader_verify(reader);
    uint64_t count = tbed_damage_count(reader);
    REQUIRE((status == TBED_OK) == (count == 0));
    for (size_t i = 0; tbed_damage_get(reader, i, &damage); i++)
        REQUIRE(damage.status >= 64 && (is_inside(reader, &damage) || damage.status == TBED_ERR_BLOCK_CUT ||
                                        damage.status == TBED_ERR_DIRECTORY_PAGE));
    REQUIRE(tbed_reader_verify(reader) == status); /* a second look finds nothing new */
    REQUIRE(tbed_damage_count(reader) == count);
    check_counts(reader);
}

bool is_off_cpu_stream(const struct tbed_reader *reader, uint32_t number)
{
    struct tbed_stream_info stream;
    bool found = false;
    for (size_t i = 0; !found && tbed_stream_get(reader, i, &stream); i++)
        found = stream.stream == number && stream.kind == TBED_STREAM_OFF_CPU;
    return found;
}
