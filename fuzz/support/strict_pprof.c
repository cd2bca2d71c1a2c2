/*
 * A strict reader of pprof's profiles: one pass counts what is there, another one checks what refers to it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/utf8.h"
#include "fuzz/support/strict_stacks.h"

struct bytes {
    const uint8_t *at, *end;
};

struct field {
    uint32_t number;
    bool is_bytes;
    uint64_t value;
    struct bytes bytes;
};

/* How many there are of each kind, from field 2 to 6, and the types of values. */
struct counts {
    uint64_t of[7];
};

static bool take_varint(struct bytes *bytes, uint64_t *value_ret)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
        uint8_t byte = *bytes->at++;
        if (shift == 63 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *value_ret = value;
            return shift == 0 || byte != 0; /* as short as possible */
        }
    }
    return false;
}

static bool take_field(struct bytes *bytes, struct field *field)
{
    uint64_t tag;
    if (!take_varint(bytes, &tag) || tag >> 3 == 0 || tag >> 3 > 15)
        return false;
    *field = (struct field){.number = (uint32_t)(tag >> 3), .is_bytes = (tag & 7) == 2};
    if (((tag & 7) != 0 && !field->is_bytes) || !take_varint(bytes, &field->value))
        return false;
    if (!field->is_bytes)
        return true;
    if (field->value > (uint64_t)(bytes->end - bytes->at))
        return false;
    field->bytes = (struct bytes){bytes->at, bytes->at + field->value};
    bytes->at += field->value;
    return true;
}

/* The numbers of a packed field: 'count' of them, each from 'least' to 'most'. */
static bool is_packed(struct bytes bytes, uint64_t count, uint64_t least, uint64_t most)
{
    uint64_t value, found = 0;
    for (; bytes.at < bytes.end; found++)
        if (!take_varint(&bytes, &value) || value < least || value > most)
            return false;
    return count == 0 ? found > 0 : found == count;
}

/* Fields that are numbers, below these limits; 0: not a field. */
static bool is_message(struct bytes bytes, const uint64_t *limits, uint32_t limit_count)
{
    struct field field;
    while (bytes.at < bytes.end)
        if (!take_field(&bytes, &field) || field.is_bytes || field.number >= limit_count ||
            field.value >= limits[field.number])
            return false;
    return true;
}

static bool is_sample(struct bytes bytes, const struct counts *counts)
{
    struct field locations, values;
    return take_field(&bytes, &locations) && take_field(&bytes, &values) && bytes.at == bytes.end &&
           locations.number == 1 && values.number == 2 && locations.is_bytes && values.is_bytes &&
           is_packed(locations.bytes, 0, 1, counts->of[4]) &&
           is_packed(values.bytes, counts->of[1], 0, INT64_MAX);
}

static bool is_location(struct bytes bytes, const struct counts *counts)
{
    const uint64_t limits[] = {0, counts->of[4] + 1, counts->of[3] + 1, UINT64_MAX};
    const uint64_t line_limits[] = {0, counts->of[5] + 1, UINT64_C(1) << 32};
    struct field field;
    uint64_t line_count = 0;
    while (bytes.at < bytes.end) {
        if (!take_field(&bytes, &field))
            return false;
        line_count += field.number == 4;
        if (field.number == 4 ? !field.is_bytes || !is_message(field.bytes, line_limits, 3)
                              : field.is_bytes || field.number > 3 || field.value >= limits[field.number])
            return false;
    }
    return line_count > 0;
}

static bool is_part(const struct field *field, const struct counts *counts)
{
    uint64_t texts = counts->of[6], any = UINT64_MAX;
    const uint64_t of_type[] = {0, texts, texts}, of_function[] = {0, any, texts, texts, texts},
                   of_mapping[] = {0, any, 1, any, 0, texts, texts, 2, 2, 2, 2};
    switch (field->number) {
    case 1:
        return is_message(field->bytes, of_type, 3);
    case 2:
        return is_sample(field->bytes, counts);
    case 3:
        return is_message(field->bytes, of_mapping, 11);
    case 4:
        return is_location(field->bytes, counts);
    case 5:
        return is_message(field->bytes, of_function, 5);
    case 6:
        return tbed_utf8_valid_nbytes(field->bytes.at, (size_t)field->value) == field->value;
    default:
        return false;
    }
}

bool is_pprof(const uint8_t *bytes, size_t nbytes, uint64_t *sample_count_ret)
{
    struct counts counts = {0};
    struct field field;
    for (struct bytes at = {bytes, bytes + nbytes}; at.at < at.end;) {
        if (!take_field(&at, &field))
            return false;
        if (field.is_bytes && field.number < 7)
            counts.of[field.number]++;
    }
    for (struct bytes at = {bytes, bytes + nbytes}; at.at < at.end;) {
        if (!take_field(&at, &field))
            return false;
        bool is_time = field.number == 9 || field.number == 10;
        if (field.is_bytes ? !is_part(&field, &counts)
                           : !is_time && (field.number != 14 || field.value >= counts.of[6]))
            return false;
    }
    *sample_count_ret = counts.of[2];
    return counts.of[6] > 0;
}
