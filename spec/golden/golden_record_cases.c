/*
 * Damaged records: section 12, "Records".
 *
 * SPDX-License-Identifier: MIT
 */
#include "spec/golden/golden_invalid.h"

#define FIELD(at, kind, field, value) .changes = {{IN_RECORD(at, kind, field), 4, value}}
#define HEAD(at, type, nbytes, middle)                                                                       \
    .changes = {{at, 8, (type) | (uint64_t)(nbytes) << 32 | (middle) << 16}}

static struct golden_block reopen_records(struct golden_file *file)
{
    return (struct golden_block){.at = file->bytes + AT_RECORDS,
                                 .nbytes = GOLDEN_CELL_NBYTES,
                                 .used_nbytes = AT_RECORDS_END - AT_RECORDS,
                                 .last_tick = GOLDEN_FIRST_TICK};
}

static void add_unit(struct golden_file *file, uint32_t first_id, uint32_t id_count)
{
    struct golden_block records = reopen_records(file);
    GOLDEN_RECORD(&records, TBED_RECORD_UNIT, first_id, id_count, TBED_UNIT_BYTECODE, 0, 0, 0, 0, 0,
                  GOLDEN_U64(0));
    golden_seal(&records);
}

static void overlap_end(struct golden_file *file)
{
    add_unit(file, 1015, 10);
}

static void overlap_begin(struct golden_file *file)
{
    add_unit(file, 990, 11);
}

static void overlap_inside(struct golden_file *file)
{
    add_unit(file, 1004, 1);
}

static void touch_both_ends(struct golden_file *file)
{
    add_unit(file, 1016, 1);
}

static void add_pair(struct golden_file *file, uint32_t id, uint32_t string_id)
{
    struct golden_block records = reopen_records(file);
    GOLDEN_RECORD(&records, TBED_RECORD_BIND_LIST, 1, 0, id, string_id);
    golden_seal(&records);
}

static void bind_regular_id(struct golden_file *file)
{
    add_pair(file, TBED_ID_INVALID, 42);
}

static void bind_to_no_id(struct golden_file *file)
{
    add_pair(file, 42, TBED_ID_MAX + 1);
}

static void add_stacks(struct golden_file *file, uint32_t first_id, uint32_t count, uint32_t location,
                       uint32_t parent)
{
    struct golden_block records = reopen_records(file);
    GOLDEN_RECORD(&records, TBED_RECORD_STACKS, first_id, count, location, parent);
    golden_seal(&records);
}

static void stack_count_too_high(struct golden_file *file)
{
    add_stacks(file, 100, 2, 1000, TBED_ID_INVALID);
}

static void stack_without_location(struct golden_file *file)
{
    add_stacks(file, 100, 1, TBED_ID_MAX + 1, TBED_ID_INVALID);
}

static void stack_with_wide_parent(struct golden_file *file)
{
    add_stacks(file, 100, 1, 1000, TBED_ID_MAX + 1);
}

static void stack_of_itself(struct golden_file *file)
{
    add_stacks(file, 100, 1, 1000, 100);
}

static void stack_with_regular_parent(struct golden_file *file)
{
    add_stacks(file, 100, 1, 1000, TBED_ID_METADATA);
}

static void stack_past_reserved(struct golden_file *file)
{
    add_stacks(file, TBED_ID_METADATA, 1, 1000, TBED_ID_INVALID);
}

static void stack_in_unit(struct golden_file *file)
{
    add_stacks(file, 1015, 1, 1000, TBED_ID_INVALID);
}

/* The second of two. */
static void stack_twice(struct golden_file *file)
{
    struct golden_block records = reopen_records(file);
    GOLDEN_RECORD(&records, TBED_RECORD_STACKS, 100, 2, 1000, TBED_ID_INVALID, 1001, 100);
    GOLDEN_RECORD(&records, TBED_RECORD_STACKS, 101, 1, 1000, TBED_ID_INVALID);
    golden_seal(&records);
}

static void stacks_side_by_side(struct golden_file *file)
{
    struct golden_block records = reopen_records(file);
    GOLDEN_RECORD(&records, TBED_RECORD_STACKS, 1016, 1, 1000,
                  1015); /* after the unit; the parent is not a stack */
    GOLDEN_RECORD(&records, TBED_RECORD_STACKS, TBED_ID_MAX_RESERVED, 1, TBED_ID_MAX,
                  TBED_ID_MAX_RESERVED - 1);
    GOLDEN_RECORD(&records, TBED_RECORD_STACKS, TBED_ID_METADATA, 0); /* empty, at the very end */
    golden_seal(&records);
}

static void add_types(struct golden_file *file, uint32_t first_id, uint32_t count, uint32_t location,
                      uint32_t type)
{
    struct golden_block records = reopen_records(file);
    GOLDEN_RECORD(&records, TBED_RECORD_TYPES, first_id, count, location, type);
    golden_seal(&records);
}

static void type_count_too_high(struct golden_file *file)
{
    add_types(file, 100, 2, 1000, 42);
}

static void type_of_no_location(struct golden_file *file)
{
    add_types(file, 100, 1, TBED_ID_MAX + 1, 42);
}

static void type_with_wide_name(struct golden_file *file)
{
    add_types(file, 100, 1, 1000, TBED_ID_MAX + 1);
}

static void types_of_wide_id(struct golden_file *file)
{
    add_types(file, TBED_ID_MAX + 1, 0, 0, 0);
}

static void type_in_itself(struct golden_file *file)
{
    add_types(file, 2000, 1, 2000, 42);
}

static void type_past_reserved(struct golden_file *file)
{
    add_types(file, TBED_ID_METADATA, 1, TBED_ID_INVALID, 42);
}

static void type_in_unit(struct golden_file *file)
{
    add_types(file, 1015, 1, 1000, 42);
}

/* The second of two. */
static void type_in_stacks(struct golden_file *file)
{
    struct golden_block records = reopen_records(file);
    GOLDEN_RECORD(&records, TBED_RECORD_STACKS, 2000, 2, 1000, TBED_ID_INVALID, 1001, 2000);
    GOLDEN_RECORD(&records, TBED_RECORD_TYPES, 2001, 1, 2000, 42);
    golden_seal(&records);
}

static void types_side_by_side(struct golden_file *file)
{
    struct golden_block records = reopen_records(file);
    GOLDEN_RECORD(&records, TBED_RECORD_TYPES, 1016, 1, 1015, TBED_ID_MAX); /* after the unit */
    GOLDEN_RECORD(&records, TBED_RECORD_TYPES, TBED_ID_MAX_RESERVED, 1, TBED_ID_METADATA, 42);
    golden_seal(&records);
}

static void add_frame(struct golden_file *file, uint32_t count, uint32_t function_id, uint32_t file_id,
                      uint32_t zero)
{
    struct golden_block records = reopen_records(file);
    GOLDEN_RECORD(&records, TBED_RECORD_FRAMES, 1000, count, function_id, file_id, 12, zero);
    golden_seal(&records);
}

static void frame_count_too_high(struct golden_file *file)
{
    add_frame(file, 0x10000001, 42, 42, 0);
}

static void frame_with_wide_function(struct golden_file *file)
{
    add_frame(file, 1, TBED_ID_MAX + 1, 42, 0);
}

static void frame_with_wide_file(struct golden_file *file)
{
    add_frame(file, 1, 42, TBED_ID_MAX + 1, 0);
}

static void frame_with_more(struct golden_file *file)
{
    add_frame(file, 1, 42, 42, 1);
}

static void frames_of_wide_id(struct golden_file *file)
{
    struct golden_block records = reopen_records(file);
    GOLDEN_RECORD(&records, TBED_RECORD_FRAMES, TBED_ID_MAX + 1, 0);
    golden_seal(&records);
}

/* Replaces everything after the unit with a longer unit, whose build id is too long. */
static void have_long_build_id(struct golden_file *file)
{
    uint32_t nbytes = AT_RECORDS_END - AT_UNIT;
    memset(file->bytes + AT_UNIT + 56, 0, nbytes - 56);
    memcpy(file->bytes + AT_UNIT + 4, &nbytes, 4);
    file->bytes[IN_RECORD(AT_UNIT, unit, build_id_nbytes)] = 65;
}

const struct golden_case golden_record_cases[] = {
    {"RECORD_LENGTH", "RECORD_LENGTH@5344", 0, 1, 0, HEAD(AT_BIND, TBED_RECORD_BIND, 23, 0)},
    {"RECORD_LENGTH-short", "RECORD_LENGTH@5344", 0, 1, 0, HEAD(AT_BIND, TBED_RECORD_BIND, 16, 0)},
    {"RECORD_LENGTH-long", "RECORD_LENGTH@5344", 0, 1, 0, HEAD(AT_BIND, TBED_RECORD_BIND, 232, 0)},
    {"RECORD_LENGTH-most", "RECORD_LENGTH@5344", 0, 1, 0, HEAD(AT_BIND, TBED_RECORD_BIND, 0xFFFFFFF8, 0)},
    {"RECORD_LENGTH-unknown", "RECORD_LENGTH@5344", 0, 1, 0, HEAD(AT_BIND, 99, 0, 0)},
    {"RECORD_LENGTH-zero", "RECORD_LENGTH@5344", 0, 1, 0, .changes = {{AT_BIND, 8, 0}}},
    {"RECORD_LENGTH-build_id", "RECORD_LENGTH@5368", FIELD(AT_UNIT, unit, build_id_nbytes, 9)},
    {"RECORD_LENGTH-lines", "RECORD_LENGTH@5424",
     .changes = {{AT_LOAD, 8, TBED_RECORD_LINES | UINT64_C(40) << 32},
                 {AT_LOAD + 8, 8, UINT64_C(4) << 32 | 1000}}},
    {"RECORD_LENGTH-list", "RECORD_LENGTH@5424",
     .changes = {{AT_LOAD, 8, TBED_RECORD_BIND_LIST | UINT64_C(40) << 32}, {AT_LOAD + 8, 4, 0x20000000}}},
    {"RECORD_LENGTH-stacks", "RECORD_LENGTH@5568", .edit = stack_count_too_high},
    {"RECORD_LENGTH-types", "RECORD_LENGTH@5568", .edit = type_count_too_high},
    {"RECORD_LENGTH-frames", "RECORD_LENGTH@5568", .edit = frame_count_too_high},
    {"RECORD_FIELD", "RECORD_FIELD@5344", 0, 1, 0, FIELD(AT_BIND, bind, zero, 1)},
    {"RECORD_FIELD-head", "RECORD_FIELD@5344", 0, 1, 0, HEAD(AT_BIND, TBED_RECORD_BIND, 24, 1)},
    {"RECORD_FIELD-id", "RECORD_FIELD@5344", 0, 1, 0, FIELD(AT_BIND, bind, string_id, 0x40000000)},
    {"RECORD_FIELD-list_id", "RECORD_FIELD@5568", .edit = bind_to_no_id},
    {"RECORD_FIELD-kind", "RECORD_FIELD@5224", FIELD(AT_STREAM, stream, kind, 5)},
    {"RECORD_FIELD-no_kind", "RECORD_FIELD@5224", FIELD(AT_STREAM, stream, kind, 0)},
    {"RECORD_FIELD-stream", "RECORD_FIELD@5224", FIELD(AT_STREAM, stream, stream, 0)},
    {"RECORD_FIELD-process", "RECORD_FIELD@5184", FIELD(AT_PROCESS, process, stream, 0)},
    {"RECORD_FIELD-process_instants", "RECORD_FIELD@5184", FIELD(AT_PROCESS, process, instants, 2)},
    {"RECORD_FIELD-unit_kind", "RECORD_FIELD@5368", FIELD(AT_UNIT, unit, kind, 3)},
    {"RECORD_FIELD-shift", "RECORD_FIELD@5368", FIELD(AT_UNIT, unit, pc_shift, 32)},
    {"RECORD_FIELD-build_id", "RECORD_FIELD@5368", .edit = have_long_build_id},
    {"RECORD_FIELD-load", "RECORD_FIELD@5424", FIELD(AT_LOAD, load, process, 0)},
    {"RECORD_FIELD-name", "RECORD_FIELD@5464", FIELD(AT_NAME, name, stream, 0)},
    {"RECORD_FIELD-counter", "RECORD_FIELD@5488",
     .changes = {{IN_RECORD(AT_COUNTER, counter, flags) + 7, 1, 1}}},
    {"RECORD_FIELD-end", "RECORD_FIELD@5544", FIELD(AT_END, end, zero, 1)},
    {"RECORD_FIELD-stack", "RECORD_FIELD@5568", .edit = stack_without_location},
    {"RECORD_FIELD-parent", "RECORD_FIELD@5568", .edit = stack_with_wide_parent},
    {"RECORD_FIELD-types", "RECORD_FIELD@5568", .edit = types_of_wide_id},
    {"RECORD_FIELD-type_location", "RECORD_FIELD@5568", .edit = type_of_no_location},
    {"RECORD_FIELD-type", "RECORD_FIELD@5568", .edit = type_with_wide_name},
    {"RECORD_FIELD-frames", "RECORD_FIELD@5568", .edit = frames_of_wide_id},
    {"RECORD_FIELD-frame_function", "RECORD_FIELD@5568", .edit = frame_with_wide_function},
    {"RECORD_FIELD-frame_file", "RECORD_FIELD@5568", .edit = frame_with_wide_file},
    {"RECORD_FIELD-frame_zero", "RECORD_FIELD@5568", .edit = frame_with_more},
    {"RECORD_RANGE", "RECORD_RANGE@5344", 0, 1, 0,
     .changes = {{IN_RECORD(AT_BIND, bind, first_id), 8, UINT64_C(2) << 32 | TBED_ID_MAX_RESERVED}}},
    {"RECORD_RANGE-metadata", "RECORD_RANGE@5344", 0, 1, 0,
     .changes = {{IN_RECORD(AT_BIND, bind, first_id), 8, UINT64_C(2) << 32 | TBED_ID_METADATA}}},
    {"RECORD_RANGE-list", "RECORD_RANGE@5568", .edit = bind_regular_id},
    {"RECORD_RANGE-unit", "RECORD_RANGE@5368",
     .changes = {{IN_RECORD(AT_UNIT, unit, first_id), 4, TBED_ID_MAX_RESERVED - 14}}},
    {"RECORD_RANGE-overlap", "RECORD_RANGE@5568", .edit = overlap_inside},
    {"RECORD_RANGE-overlap_end", "RECORD_RANGE@5568", .edit = overlap_end},
    {"RECORD_RANGE-overlap_begin", "RECORD_RANGE@5568", .edit = overlap_begin},
    {"RECORD_RANGE-not_yet", "-", .edit = touch_both_ends},
    {"RECORD_RANGE-stacks", "RECORD_RANGE@5568", .edit = stack_past_reserved},
    {"RECORD_RANGE-stack_in_unit", "RECORD_RANGE@5568", .edit = stack_in_unit},
    {"RECORD_RANGE-stack_twice", "RECORD_RANGE@5600", .edit = stack_twice},
    {"RECORD_RANGE-parent", "RECORD_RANGE@5568", .edit = stack_of_itself},
    {"RECORD_RANGE-regular_parent", "RECORD_RANGE@5568", .edit = stack_with_regular_parent},
    {"RECORD_RANGE-stacks-not_yet", "-", .edit = stacks_side_by_side},
    {"RECORD_RANGE-types", "RECORD_RANGE@5568", .edit = type_past_reserved},
    {"RECORD_RANGE-type_location", "RECORD_RANGE@5568", .edit = type_in_itself},
    {"RECORD_RANGE-type_in_unit", "RECORD_RANGE@5568", .edit = type_in_unit},
    {"RECORD_RANGE-type_in_stacks", "RECORD_RANGE@5600", .edit = type_in_stacks},
    {"RECORD_RANGE-types-not_yet", "-", .edit = types_side_by_side},
    {.name = NULL},
};
