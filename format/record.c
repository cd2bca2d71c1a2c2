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
    {FIELD(PROCESS, process, zero), 0, 0},
    {FIELD(STREAM, stream, stream), 1, UINT32_MAX},
    {FIELD(STREAM, stream, process), 1, UINT32_MAX},
    {FIELD(STREAM, stream, kind), TBED_STREAM_THREAD, TBED_STREAM_TRACK},
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
    {FIELD(SERIES, series, number), 1, UINT32_MAX},
    {FIELD(SERIES, series, zero), 0, 0},
};

static uint32_t least_nbytes(uint32_t type)
{
    static const uint8_t nbytes[TBED_RECORD_SERIES + 1] = {
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
        [TBED_RECORD_SERIES] = sizeof(struct tbed_disk_series),
    };
    uint32_t least = type <= TBED_RECORD_SERIES ? nbytes[type] : 0;
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

/* Counted parts take no more than what the record's size leaves for them. */
static enum tbed_status check_count(const uint8_t *record, uint64_t head, uint64_t *detail)
{
    uint32_t nbytes = tbed_record_head_nbytes(head);
    uint64_t needed = 0;
    switch (tbed_record_head_type(head)) {
    case TBED_RECORD_UNIT:
        *detail = load32(record, offsetof(struct tbed_disk_unit, build_id_nbytes));
        needed = sizeof(struct tbed_disk_unit) + *detail;
        break;
    case TBED_RECORD_LINES:
        *detail = load32(record, offsetof(struct tbed_disk_lines, count));
        needed = sizeof(struct tbed_disk_lines) + *detail * sizeof(struct tbed_disk_id_pair);
        break;
    case TBED_RECORD_BIND_LIST:
        *detail = load32(record, offsetof(struct tbed_disk_bind_list, count));
        needed = sizeof(struct tbed_disk_bind_list) + *detail * sizeof(struct tbed_disk_id_pair);
        break;
    default:
        break;
    }
    return needed <= nbytes ? TBED_OK : TBED_ERR_RECORD_LENGTH;
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
    return first <= TBED_ID_MAX_RESERVED && count <= TBED_ID_MAX_RESERVED + 1 - first;
}

static bool range_is_bindable(uint32_t first, uint32_t count)
{
    return range_is_reserved(first, count) || (first == TBED_ID_METADATA && count <= 1);
}

static enum tbed_status check_bind_list(const uint8_t *record, uint64_t *detail)
{
    uint32_t number_count = 2 * load32(record, offsetof(struct tbed_disk_bind_list, count));
    const uint8_t *numbers = record + sizeof(struct tbed_disk_bind_list);
    for (uint32_t i = 0; i < number_count; i++) {
        *detail = load32(numbers, (size_t)i * 4);
        if (*detail > TBED_ID_MAX)
            return TBED_ERR_RECORD_FIELD;
    }
    for (uint32_t i = 0; i < number_count; i += 2) {
        *detail = load32(numbers, (size_t)i * 4);
        if (!range_is_bindable((uint32_t)*detail, 1))
            return TBED_ERR_RECORD_RANGE;
    }
    return TBED_OK;
}

static enum tbed_status check_ranges(const uint8_t *record, uint64_t head, uint64_t *detail)
{
    uint32_t first = load32(record, TBED_RECORD_HEAD_NBYTES);
    switch (tbed_record_head_type(head)) {
    case TBED_RECORD_UNIT:
        *detail = first;
        return range_is_reserved(first, load32(record, offsetof(struct tbed_disk_unit, id_count)))
                   ? TBED_OK
                   : TBED_ERR_RECORD_RANGE;
    case TBED_RECORD_BIND:
        *detail = first;
        return range_is_bindable(first, load32(record, offsetof(struct tbed_disk_bind, id_count)))
                   ? TBED_OK
                   : TBED_ERR_RECORD_RANGE;
    case TBED_RECORD_BIND_LIST:
        return check_bind_list(record, detail);
    default:
        return TBED_OK;
    }
}

enum tbed_status tbed_record_check(const uint8_t *record, uint64_t head, uint64_t *detail_ret)
{
    enum tbed_status status = check_count(record, head, detail_ret);
    if (status == TBED_OK)
        status = check_fields(record, head, detail_ret);
    if (status == TBED_OK && tbed_record_head_nbytes(head) > TBED_RECORD_HEAD_NBYTES)
        status = check_ranges(record, head, detail_ret);
    return status;
}
