/*
 * Units, line maps, call stacks, frames and bindings that overlap, wrap and conflict: the reader's results are compared
 * with those of a slow and obvious implementation.
 *
 * The input is a program that writes records, in four bytes each, so that most inputs get far. There are few ids, so
 * that they collide.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/record.h"
#include "fuzz/support/fuzz.h"

#include <string.h>
#include <tracebed/analysis.h>

enum { IDS = 64, RECORDS_MAX = 100, LINES_MAX = 200 };

struct input {
    const uint8_t *at, *end;
};

static uint8_t take(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

/* There are few values, including those at the limits. */
static uint32_t take_id(struct input *input)
{
    static const uint32_t limits[] = {TBED_ID_MAX_RESERVED,
                                      TBED_ID_METADATA,
                                      TBED_ID_INVALID,
                                      TBED_ID_MAX,
                                      TBED_ID_MAX + 1,
                                      UINT32_MAX,
                                      0,
                                      IDS - 1};
    uint8_t byte = take(input);
    return byte < 0xF8 ? byte % IDS : limits[byte - 0xF8];
}

static uint32_t take_count(struct input *input)
{
    static const uint32_t limits[] = {UINT32_MAX, 0x20000000, 0x1FFFFFFF, 0x10000001};
    uint8_t byte = take(input);
    return byte < 0xFC ? byte % 16 : limits[byte - 0xFC];
}

/* ---- The model: what was written, and what a reader must make of it ---- */

struct range {
    uint32_t first, count;
    bool is_unit, has_types;
    uint32_t kind, shift;
    uint64_t base;
    uint32_t pairs[16][2]; /* of stacks and types */
};

static struct model {
    uint64_t words[ONE_BLOCK_ROOM / 8];
    uint32_t used; /* in words */
    bool is_full;
    struct range kept[RECORDS_MAX];
    uint32_t kept_count;
    uint32_t lines[LINES_MAX][3]; /* unit, pc, line */
    uint32_t line_count;
    uint32_t frame_counts[IDS];
    bool is_bound[IDS];
    uint32_t damage_count;
} model;

static void put_record(uint32_t type, const uint32_t *fields, uint32_t count)
{
    uint32_t words = 1 + (count + 1) / 2;
    if (words > sizeof model.words / 8 - model.used) {
        model.is_full = true;
        return;
    }
    uint64_t *at = &model.words[model.used];
    memset(at, 0, words * sizeof *at);
    at[0] = tbed_record_head_make(type, words * 8);
    memcpy(at + 1, fields, count * sizeof *fields);
    model.used += words;
}

static bool is_reserved(uint32_t first, uint32_t count)
{
    return (uint64_t)first + count <= (uint64_t)TBED_ID_MAX_RESERVED + 1;
}

/* Takes the records one by one in file order, and compares each with all that were kept. */
static void keep_range(const struct range *range)
{
    for (uint32_t i = 0; i < model.kept_count && range->count > 0; i++) {
        const struct range *other = &model.kept[i];
        if (range->first < other->first + other->count && other->first < range->first + range->count) {
            model.damage_count++;
            return;
        }
    }
    if (range->count > 0 && model.kept_count < RECORDS_MAX)
        model.kept[model.kept_count++] = *range;
}

/* A refused record counts as damage, and the model skips it. */
static bool is_refused(bool refused)
{
    model.damage_count += refused;
    return refused;
}

static void put_unit(struct input *input)
{
    struct range range = {.is_unit = true};
    range.first = take_id(input);
    range.count = take_count(input);
    uint8_t choice = take(input);
    range.kind = choice % 4;
    range.shift = choice / 4 % 64;
    range.base = choice > 200 ? UINT64_MAX - 3 : (uint64_t)choice * 16;
    uint32_t name = take_id(input);
    uint32_t fields[10] = {range.first, range.count, range.kind, range.shift, name, 1, 7, 0};
    memcpy(&fields[8], &range.base, 8);
    put_record(TBED_RECORD_UNIT, fields, 10);
    if (model.is_full)
        return;
    bool bad = range.kind < 1 || range.kind > 2 || range.shift > 31 || name > TBED_ID_MAX ||
               !is_reserved(range.first, range.count);
    if (!is_refused(bad))
        keep_range(&range);
}

static void put_lines(struct input *input)
{
    uint32_t fields[2 + 4] = {take_id(input), 2, take(input), take(input), take(input), take(input)};
    put_record(TBED_RECORD_LINES, fields, 6);
    if (model.is_full || is_refused(fields[0] > TBED_ID_MAX))
        return;
    for (uint32_t i = 0; i < 2 && model.line_count < LINES_MAX; i++) {
        uint32_t *line = model.lines[model.line_count++];
        line[0] = fields[0];
        line[1] = fields[2 + 2 * i];
        line[2] = fields[3 + 2 * i];
    }
}

/* Stacks, or types: what is first in a pair of these must be lower, as the parent of a stack. */
static void put_stacks(struct input *input)
{
    uint32_t first = take_id(input);
    uint8_t choice = take(input);
    struct range range = {.first = first, .count = choice % 4, .has_types = choice >= 128};
    uint32_t fields[2 + 6] = {range.first, range.count};
    bool bad = range.first > TBED_ID_MAX || !is_reserved(range.first, range.count);
    for (uint32_t i = 0; i < range.count; i++) {
        uint32_t one = take_id(input), other = take_id(input);
        bad |= one > TBED_ID_MAX || other > TBED_ID_MAX;
        bad |= range.has_types ? one >= range.first + i && one <= TBED_ID_MAX_RESERVED
                               : other >= range.first + i && other != TBED_ID_INVALID;
        range.pairs[i][0] = fields[2 + 2 * i] = one;
        range.pairs[i][1] = fields[3 + 2 * i] = other;
    }
    put_record(range.has_types ? TBED_RECORD_TYPES : TBED_RECORD_STACKS, fields, 2 + 2 * range.count);
    if (!model.is_full && !is_refused(bad))
        keep_range(&range);
}

static void put_frames(struct input *input)
{
    uint32_t location = take_id(input), count = take(input) % 4;
    uint32_t fields[2 + 12] = {location, count};
    bool bad = location > TBED_ID_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *frame = &fields[2 + 4 * i];
        frame[0] = take_id(input);
        frame[1] = take_id(input);
        frame[2] = take(input);
        frame[3] = take(input) == 0xFF;
        bad |= frame[0] > TBED_ID_MAX || frame[1] > TBED_ID_MAX || frame[3] != 0;
    }
    put_record(TBED_RECORD_FRAMES, fields, 2 + 4 * count);
    if (!model.is_full && !is_refused(bad) && location < IDS)
        model.frame_counts[location] = count;
}

static void put_binding(struct input *input)
{
    uint32_t fields[4] = {take_id(input) % IDS, 1, take_id(input), 0};
    put_record(TBED_RECORD_BIND, fields, 4);
    if (!model.is_full && !is_refused(fields[2] > TBED_ID_MAX))
        model.is_bound[fields[0]] = true;
}

/* ---- The comparison ---- */

static const struct range *find_range(uint32_t id)
{
    for (uint32_t i = 0; i < model.kept_count; i++)
        if (id >= model.kept[i].first && id - model.kept[i].first < model.kept[i].count)
            return &model.kept[i];
    return NULL;
}

static void compare_pair(const struct tbed_reader *reader, uint32_t id, const struct range *range)
{
    uint32_t location = 0, other = 0;
    const uint32_t *pair = range->pairs[id - range->first];
    REQUIRE(tbed_typed_get(reader, id, &location, &other) == range->has_types);
    if (range->has_types) {
        REQUIRE(location == pair[0] && other == pair[1]);
        const struct range *stack = find_range(pair[0]);
        pair = stack != NULL && !stack->is_unit && !stack->has_types ? stack->pairs[pair[0] - stack->first]
                                                                     : (uint32_t[]){pair[0], TBED_ID_INVALID};
    }
    REQUIRE(tbed_stack_get(reader, id, &location, &other));
    REQUIRE(location == pair[0] && other == pair[1]);
}

static uint32_t find_line(uint32_t unit, uint64_t pc)
{
    uint32_t best_pc = 0, line = 0;
    for (uint32_t i = 0; i < model.line_count; i++)
        if (model.lines[i][0] == unit && model.lines[i][1] <= pc && model.lines[i][1] >= best_pc) {
            best_pc = model.lines[i][1];
            line = model.lines[i][2];
        }
    return line;
}

static void compare_id(const struct tbed_reader *reader, uint32_t id)
{
    struct tbed_unit_info unit;
    struct tbed_location location;
    struct tbed_frame_info frame;
    uint64_t pc;
    uint32_t direct, other;
    const struct range *range = find_range(id);
    bool is_unit = range != NULL && range->is_unit, is_stack = range != NULL && !range->is_unit;
    REQUIRE(tbed_location_find(reader, id, &unit, &pc) == is_unit);
    REQUIRE(tbed_stack_get(reader, id, &direct, &other) == is_stack);
    REQUIRE(is_stack || !tbed_typed_get(reader, id, &direct, &other));
    if (is_unit) {
        REQUIRE(unit.first_id == range->first && unit.id_count == range->count);
        REQUIRE(pc == range->base + ((uint64_t)(id - range->first) << range->shift));
        REQUIRE(tbed_location_line(reader, &unit, pc) == find_line(range->first, pc));
    }
    if (is_stack)
        compare_pair(reader, id, range);
    bool is_there = tbed_location_resolve(reader, id, &location);
    if (model.frame_counts[id] > 0)
        REQUIRE(is_there && location.source == TBED_FRAMES_GIVEN &&
                location.frame_count == model.frame_counts[id]);
    else if (is_unit && !model.is_bound[id])
        REQUIRE(is_there && location.id == id &&
                location.frame_count == (range->kind == TBED_UNIT_BYTECODE ? 1 : 0));
    if (is_there && !model.is_bound[id] && is_unit && model.frame_counts[id] == 0 &&
        tbed_location_frame(&location, 0, &frame)) {
        uint32_t line = find_line(range->first, pc);
        REQUIRE(frame.line == (line != 0 ? line : 7));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct input input = {data, data + nbytes};
    struct tbed_reader *reader;
    static void (*const writers[])(struct input *) = {put_unit, put_lines, put_stacks, put_frames,
                                                      put_binding};
    memset(&model, 0, sizeof model);
    bool is_sealed = take(&input) % 2 == 0;
    for (uint32_t i = 0; i < RECORDS_MAX && input.at < input.end && !model.is_full; i++)
        writers[take(&input) % 5](&input);
    uint8_t *file =
        one_block_file(TBED_BLOCK_RECORDS, is_sealed, (const uint8_t *)model.words, (size_t)model.used * 8);
    REQUIRE(tbed_reader_open_memory(file, ONE_BLOCK_FILE_NBYTES, NULL, &reader, NULL) == TBED_OK);
    REQUIRE(tbed_damage_count(reader) == model.damage_count);
    for (uint32_t id = 0; id < IDS; id++)
        compare_id(reader, id);
    tbed_reader_close(reader);
    return 0;
}
