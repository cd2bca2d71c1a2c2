/*
 * Records: their sizes and fields checked, by a table that says what section 8 says.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/record.h"

/* A 32-bit field with its least and highest value. */
struct field_range {
    uint8_t type;
    uint8_t offset;
    uint32_t least;
    uint32_t most;
};

#define FIELD(type, record, name) TBED_RECORD_##type, offsetof(struct tbed_disk_##record, name)

static const struct field_range field_ranges[] = {
    {FIELD(PROCESS, process, stream), 1, UINT32_MAX},
    {FIELD(PROCESS, process, name_id), 0, TBED_ID_MAX},
    {FIELD(PROCESS, process, instants), TBED_INSTANTS_ANY, TBED_INSTANTS_ALLOCATIONS},
    {FIELD(STREAM, stream, stream), 1, UINT32_MAX},
    {FIELD(STREAM, stream, process), 1, UINT32_MAX},
    {FIELD(STREAM, stream, kind), TBED_STREAM_THREAD, TBED_STREAM_OFF_CPU},
    {FIELD(STREAM, stream, name_id), 0, TBED_ID_MAX},
    {FIELD(NAME, name, stream), 1, UINT32_MAX},
    {FIELD(NAME, name, name_id), 0, TBED_ID_MAX},
    {FIELD(UNIT, unit, first_id), 0, TBED_ID_MAX},
    {FIELD(UNIT, unit, kind), TBED_UNIT_NATIVE, TBED_UNIT_BYTECODE},
    {FIELD(UNIT, unit, pc_shift), 0, 31},
    {FIELD(UNIT, unit, name_id), 0, TBED_ID_MAX},
    {FIELD(UNIT, unit, file_id), 0, TBED_ID_MAX},
    {FIELD(UNIT, unit, build_id_nbytes), 0, TBED_BUILD_ID_MAX_NBYTES},
    {FIELD(LOAD, load, process), 1, UINT32_MAX},
    {FIELD(LOAD, load, first_id), 0, TBED_ID_MAX},
    {FIELD(UNLOAD, unload, process), 1, UINT32_MAX},
    {FIELD(UNLOAD, unload, first_id), 0, TBED_ID_MAX},
    {FIELD(LINES, lines, first_id), 0, TBED_ID_MAX},
    {FIELD(BIND, bind, first_id), 0, TBED_ID_MAX},
    {FIELD(BIND, bind, string_id), 0, TBED_ID_MAX},
    {FIELD(BIND, bind, zero), 0, 0},
    {FIELD(BIND_LIST, bind_list, zero), 0, 0},
    {FIELD(COUNTER, counter, id), 0, TBED_ID_MAX},
    {FIELD(COUNTER, counter, unit_id), 0, TBED_ID_MAX},
    {FIELD(COUNTER, counter, flags), 0, 0},
    {FIELD(COUNTER, counter, flags) + 4, 0, 0},
    {FIELD(END, end, stream), 1, UINT32_MAX},
    {FIELD(END, end, zero), 0, 0},
    {FIELD(STACKS, stacks, first_id), 0, TBED_ID_MAX},
    {FIELD(FRAMES, frames, location_id), 0, TBED_ID_MAX},
    {FIELD(SERIES, series, number), 1, UINT32_MAX},
    {FIELD(LOST, lost, kind), 0, TBED_BLOCK_CELLS},
    {FIELD(TYPES, types, first_id), 0, TBED_ID_MAX},
};

static uint32_t least_nbytes(uint32_t type)
{
    static const uint8_t nbytes[TBED_RECORD_TYPES + 1] = {
        [TBED_RECORD_PROCESS] = sizeof(struct tbed_disk_process),
        [TBED_RECORD_STREAM] = sizeof(struct tbed_disk_stream),
        [TBED_RECORD_NAME] = sizeof(struct tbed_disk_name),
        [TBED_RECORD_UNIT] = sizeof(struct tbed_disk_unit),
        [TBED_RECORD_LOAD] = sizeof(struct tbed_disk_load),
        [TBED_RECORD_UNLOAD] = sizeof(struct tbed_disk_unload),
        [TBED_RECORD_LINES] = sizeof(struct tbed_disk_lines),
        [TBED_RECORD_BIND] = sizeof(struct tbed_disk_bind),
        [TBED_RECORD_BIND_LIST] = sizeof(struct tbed_disk_bind_list),
        [TBED_RECORD_ANCHOR] = sizeof(struct tbed_disk_anchor),
        [TBED_RECORD_COUNTER] = sizeof(struct tbed_disk_counter),
        [TBED_RECORD_END] = sizeof(struct tbed_disk_end),
        [TBED_RECORD_STACKS] = sizeof(struct tbed_disk_stacks),
        [TBED_RECORD_FRAMES] = sizeof(struct tbed_disk_frames),
        [TBED_RECORD_SERIES] = sizeof(struct tbed_disk_series),
        [TBED_RECORD_LOST] = sizeof(struct tbed_disk_lost),
        [TBED_RECORD_TYPES] = sizeof(struct tbed_disk_types),
    };
    uint32_t least = type <= TBED_RECORD_TYPES ? nbytes[type] : 0;
    return least > TBED_RECORD_HEAD_NBYTES ? least : TBED_RECORD_HEAD_NBYTES;
}

enum tbed_status tbed_record_head_check(uint64_t head, uint64_t left_nbytes)
{
    uint32_t nbytes = tbed_record_head_nbytes(head);
    if (nbytes % 8 != 0 || nbytes < least_nbytes(tbed_record_head_type(head)) || nbytes > left_nbytes)
        return TBED_ERR_RECORD_LENGTH;
    return TBED_OK;
}

static uint32_t load32(const uint8_t *record, size_t offset)
{
    tbed_le32 value;
    memcpy(&value, record + offset, sizeof value);
    return tbed_le32_load(value);
}

/* The counted items after a record's fixed part. */
struct counted {
    uint8_t type;
    uint8_t count_offset;
    uint8_t fixed_nbytes;
    uint8_t item_nbytes;
    uint8_t ids;   /* a bit for each 32-bit field of an item that must be an id */
    uint8_t zeros; /* the same for fields that must be zero */
};

#define COUNTED(type, record, count)                                                                         \
    TBED_RECORD_##type, offsetof(struct tbed_disk_##record, count), sizeof(struct tbed_disk_##record)

static const struct counted counted_parts[] = {
    {COUNTED(UNIT, unit, build_id_nbytes), 1, 0, 0},
    {COUNTED(LINES, lines, count), sizeof(struct tbed_disk_id_pair), 0, 0},
    {COUNTED(BIND_LIST, bind_list, count), sizeof(struct tbed_disk_id_pair), 3, 0},
    {COUNTED(STACKS, stacks, count), sizeof(struct tbed_disk_id_pair), 3, 0},
    {COUNTED(TYPES, types, count), sizeof(struct tbed_disk_id_pair), 3, 0},
    {COUNTED(FRAMES, frames, count), sizeof(struct tbed_disk_frame), 3, 8},
};

/* NULL: the record has no counted part. */
static const struct counted *counted_find(uint64_t head)
{
    for (size_t i = 0; i < sizeof counted_parts / sizeof counted_parts[0]; i++)
        if (counted_parts[i].type == tbed_record_head_type(head))
            return &counted_parts[i];
    return NULL;
}

/* A counted part must fit in the space that the record's size leaves. */
static enum tbed_status check_count(const uint8_t *record, uint64_t head, uint64_t *detail)
{
    const struct counted *part = counted_find(head);
    *detail = 0;
    if (part == NULL)
        return TBED_OK;
    *detail = load32(record, part->count_offset);
    return *detail <= (tbed_record_head_nbytes(head) - part->fixed_nbytes) / part->item_nbytes
               ? TBED_OK
               : TBED_ERR_RECORD_LENGTH;
}

static enum tbed_status check_item(const struct counted *part, const uint8_t *item, uint64_t *detail)
{
    for (size_t i = 0; i < 4; i++) {
        bool is_id = part->ids >> i & 1, is_zero = part->zeros >> i & 1;
        if (!is_id && !is_zero)
            continue;
        *detail = load32(item, 4 * i);
        if (*detail > (is_id ? TBED_ID_MAX : 0))
            return TBED_ERR_RECORD_FIELD;
    }
    return TBED_OK;
}

/* 'count' must have been checked. */
static enum tbed_status check_items(const uint8_t *record, uint64_t head, uint32_t count, uint64_t *detail)
{
    const struct counted *part = counted_find(head);
    enum tbed_status status = TBED_OK;
    for (uint32_t i = 0; part != NULL && status == TBED_OK && i < count; i++)
        status = check_item(part, record + part->fixed_nbytes + (size_t)i * part->item_nbytes, detail);
    return status;
}

static enum tbed_status check_fields(const uint8_t *record, uint64_t head, uint64_t *detail)
{
    *detail = head >> 16 & 0xFFFF;
    if (*detail != 0)
        return TBED_ERR_RECORD_FIELD;
    for (size_t i = 0; i < sizeof field_ranges / sizeof field_ranges[0]; i++) {
        const struct field_range *range = &field_ranges[i];
        if (range->type != tbed_record_head_type(head))
            continue;
        *detail = load32(record, range->offset);
        if (*detail < range->least || *detail > range->most)
            return TBED_ERR_RECORD_FIELD;
    }
    return TBED_OK;
}

static bool range_is_reserved(uint32_t first, uint32_t count)
{
    return first <= TBED_ID_MAX_RESERVED + 1 && count <= TBED_ID_MAX_RESERVED + 1 - first;
}

static bool range_is_bindable(uint32_t first, uint32_t count)
{
    return range_is_reserved(first, count) || (first == TBED_ID_METADATA && count <= 1);
}

static enum tbed_status check_bind_list(const uint8_t *record, uint32_t count, uint64_t *detail)
{
    for (uint32_t i = 0; i < count; i++) {
        *detail = load32(record, sizeof(struct tbed_disk_bind_list) + (size_t)i * 8);
        if (!range_is_bindable((uint32_t)*detail, 1))
            return TBED_ERR_RECORD_RANGE;
    }
    return TBED_OK;
}

/* A stack's parent has a lower id than the stack, so there are no cycles. */
static enum tbed_status check_stacks(const uint8_t *record, uint32_t first, uint32_t count, uint64_t *detail)
{
    *detail = first;
    if (!range_is_reserved(first, count))
        return TBED_ERR_RECORD_RANGE;
    for (uint32_t i = 0; i < count; i++) {
        *detail = load32(record, sizeof(struct tbed_disk_stacks) + (size_t)i * 8 + 4);
        if (*detail >= first + i && *detail != TBED_ID_INVALID)
            return TBED_ERR_RECORD_RANGE;
    }
    return TBED_OK;
}

/* What has a type is not behind it, so nothing leads back to itself. */
static enum tbed_status check_types(const uint8_t *record, uint32_t first, uint32_t count, uint64_t *detail)
{
    *detail = first;
    if (!range_is_reserved(first, count))
        return TBED_ERR_RECORD_RANGE;
    for (uint32_t i = 0; i < count; i++) {
        *detail = load32(record, sizeof(struct tbed_disk_types) + (size_t)i * 8);
        if (*detail >= first + i && *detail <= TBED_ID_MAX_RESERVED)
            return TBED_ERR_RECORD_RANGE;
    }
    return TBED_OK;
}

static enum tbed_status check_range(uint32_t first, uint32_t count, bool is_binding, uint64_t *detail)
{
    *detail = first;
    return (is_binding ? range_is_bindable : range_is_reserved)(first, count) ? TBED_OK
                                                                              : TBED_ERR_RECORD_RANGE;
}

/* 'count' belongs to the counted part, and must have been checked. */
static enum tbed_status check_ranges(const uint8_t *record, uint64_t head, uint32_t count, uint64_t *detail)
{
    uint32_t first = load32(record, TBED_RECORD_HEAD_NBYTES);
    switch (tbed_record_head_type(head)) {
    case TBED_RECORD_UNIT:
        return check_range(first, load32(record, offsetof(struct tbed_disk_unit, id_count)), false, detail);
    case TBED_RECORD_BIND:
        return check_range(first, load32(record, offsetof(struct tbed_disk_bind, id_count)), true, detail);
    case TBED_RECORD_BIND_LIST:
        return check_bind_list(record, count, detail);
    case TBED_RECORD_STACKS:
        return check_stacks(record, first, count, detail);
    case TBED_RECORD_TYPES:
        return check_types(record, first, count, detail);
    default:
        return TBED_OK;
    }
}

enum tbed_status tbed_record_check(const uint8_t *record, uint64_t head, uint64_t *detail_ret)
{
    enum tbed_status status = check_count(record, head, detail_ret);
    uint32_t count = (uint32_t)*detail_ret;
    if (status == TBED_OK)
        status = check_fields(record, head, detail_ret);
    if (status == TBED_OK)
        status = check_items(record, head, count, detail_ret);
    if (status == TBED_OK && tbed_record_head_nbytes(head) > TBED_RECORD_HEAD_NBYTES)
        status = check_ranges(record, head, count, detail_ret);
    return status;
}
