/*
 * A strict reader of Parquet; see strict_parquet.h. Written from Apache's specifications; it shares nothing with the writer.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/strict_parquet.h"

#include "format/base/utf8.h"

#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX  16
#define COLUMNS_MAX 80

enum { PLAIN = 0, RLE = 3, DELTA = 5, DICTIONARY = 8 };
enum { INT64 = 2, DOUBLE = 5, BYTE_ARRAY = 6 };

struct input {
    const uint8_t *at, *end;
    bool is_wrong; /* once set, it stays so, and nothing more is read */
};

static uint64_t fail(struct input *in)
{
    in->is_wrong = true;
    in->at = in->end;
    return 0;
}

static bool require(struct input *in, bool holds)
{
    if (!holds)
        fail(in);
    return !in->is_wrong;
}

static struct input take(struct input *in, uint64_t nbytes)
{
    struct input part = {in->at, in->at, false};
    if (!require(in, nbytes <= (size_t)(in->end - in->at)))
        return part;
    in->at += nbytes;
    part.end = in->at;
    return part;
}

static uint8_t byte(struct input *in)
{
    return in->at < in->end ? *in->at++ : (uint8_t)fail(in);
}

static uint64_t varint(struct input *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t next = byte(in);
        value |= (uint64_t)(next & 0x7F) << shift;
        if (next < 0x80)
            return value;
    }
    return fail(in);
}

static int64_t zigzag(struct input *in)
{
    uint64_t value = varint(in);
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

static uint32_t le32(struct input *in)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < 4; i++)
        value |= (uint32_t)byte(in) << 8 * i;
    return value;
}

/* ---- Thrift: a struct as its fields, of which structs and lists are read when they are needed ---- */

struct field {
    bool is_there;
    int64_t number;     /* integers and booleans */
    struct input bytes; /* of a text, a struct or a list with its head */
};

struct fields {
    struct field at[FIELDS_MAX];
};

static void skip(struct input *in, unsigned type, unsigned depth);

static void skip_struct(struct input *in, unsigned depth)
{
    while (!in->is_wrong) {
        uint8_t head = byte(in);
        if (head == 0)
            return;
        if (head >> 4 == 0)
            zigzag(in);
        skip(in, head & 15, depth + 1);
    }
}

static uint64_t list_head(struct input *in, unsigned *type)
{
    uint8_t head = byte(in);
    *type = head & 15;
    return head >> 4 < 15 ? head >> 4 : varint(in);
}

static void skip(struct input *in, unsigned type, unsigned depth)
{
    unsigned element;
    require(in, depth < 12);
    if (type == 3)
        byte(in);
    else if (type >= 4 && type <= 6)
        zigzag(in);
    else if (type == 8)
        take(in, varint(in));
    else if (type == 12)
        skip_struct(in, depth);
    else if (type == 9)
        for (uint64_t left = list_head(in, &element); left > 0 && !in->is_wrong; left--)
            skip(in, element, depth + 1);
    else
        require(in, type == 1 || type == 2);
}

static void read_field(struct input *in, unsigned type, struct field *field)
{
    field->is_there = true;
    field->bytes = (struct input){in->at, in->at, false};
    if (type == 1 || type == 2) {
        field->number = type == 1;
    } else if (type >= 3 && type <= 6) {
        field->number = type == 3 ? byte(in) : zigzag(in);
    } else if (type == 8) {
        field->bytes = take(in, varint(in));
    } else {
        skip(in, type, 0);
        field->bytes.end = in->at;
    }
}

static struct fields read_struct(struct input *in)
{
    struct fields fields = {0};
    unsigned last = 0;
    while (!in->is_wrong) {
        uint8_t head = byte(in);
        if (head == 0)
            break;
        unsigned number = head >> 4 != 0 ? last + (head >> 4) : (unsigned)zigzag(in);
        if (!require(in, number > last && number < FIELDS_MAX))
            break;
        read_field(in, head & 15, &fields.at[number]);
        last = number;
    }
    return fields;
}

/* Whether a struct has these fields, a bit each, and no others but those that are allowed. */
static bool has_only(const struct fields *fields, unsigned needed, unsigned allowed)
{
    unsigned found = 0;
    for (unsigned i = 0; i < FIELDS_MAX; i++)
        found |= (unsigned)fields->at[i].is_there << i;
    return (found & needed) == needed && (found & ~(needed | allowed)) == 0;
}

/* ---- Encodings ---- */

static uint64_t packed_at(const uint8_t *bytes, size_t nbytes, size_t index, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        size_t bit = index * width + i;
        if (bit / 8 < nbytes)
            value |= (uint64_t)(bytes[bit / 8] >> bit % 8 & 1) << i;
    }
    return value;
}

/* Reads exactly 'count' values below 'bound'; 'values' may be NULL. Returns how many of them are 1. */
static size_t hybrid(struct input *in, size_t count, unsigned width, uint64_t bound)
{
    size_t done = 0, ones = 0;
    while (done < count && !in->is_wrong) {
        uint64_t head = varint(in), length = head & 1 ? (head >> 1) * 8 : head >> 1;
        struct input bytes = take(in, head & 1 ? (head >> 1) * width : (width + 7) / 8);
        require(in, length > 0 && (head & 1 ? length - (count - done) < 8 || length <= count - done
                                            : length <= count - done));
        for (uint64_t i = 0; i < length && !in->is_wrong; i++) {
            size_t index = head & 1 ? (size_t)i : 0;
            uint64_t value = packed_at(bytes.at, (size_t)(bytes.end - bytes.at), index, width);
            require(in, done < count ? value < bound : value == 0);
            ones += done < count && value == 1;
            done += done < count;
        }
    }
    return ones;
}

static void delta(struct input *in, size_t count)
{
    require(in, varint(in) == 128 && varint(in) == 4 && varint(in) == count);
    zigzag(in);
    for (size_t done = 1; done < count && !in->is_wrong;) {
        zigzag(in);
        struct input widths = take(in, 4);
        for (unsigned i = 0; i < 4 && !in->is_wrong; i++) {
            require(in, widths.at[i] <= 64 && (done < count || widths.at[i] == 0));
            take(in, (uint64_t)widths.at[i] * 4);
            done = count - done < 32 ? count : done + 32;
        }
    }
}

static void plain(struct input *in, size_t count, int64_t type)
{
    for (size_t i = 0; i < count && !in->is_wrong; i++) {
        struct input value = take(in, type == BYTE_ARRAY ? le32(in) : 8);
        size_t nbytes = (size_t)(value.end - value.at);
        require(in, type != BYTE_ARRAY || tbed_utf8_valid_nbytes(value.at, nbytes) == nbytes);
    }
}

/* ---- Pages ---- */

struct page {
    struct input data;
    struct fields head, inner;
};

static struct page read_page(struct input *file, int64_t type, unsigned inner_field)
{
    struct page page = {.head = read_struct(file)};
    require(file, has_only(&page.head, 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << inner_field, 0) &&
                      page.head.at[1].number == type && page.head.at[2].number == page.head.at[3].number);
    if (file->is_wrong)
        return page;
    page.inner = read_struct(&page.head.at[inner_field].bytes);
    page.data = take(file, (uint64_t)page.head.at[3].number);
    return page;
}

static void read_values(struct input *data, const struct fields *inner, int64_t type, size_t row_count,
                        uint64_t dictionary_count)
{
    struct input levels = take(data, le32(data));
    size_t count = hybrid(&levels, row_count, 1, 2);
    require(data, !levels.is_wrong && levels.at == levels.end);
    if (inner->at[2].number == PLAIN) {
        plain(data, count, type);
    } else if (inner->at[2].number == DELTA) {
        delta(data, count);
    } else if (require(data, inner->at[2].number == DICTIONARY && dictionary_count > 0)) {
        unsigned width = byte(data);
        if (require(data, width <= 32))
            hybrid(data, count, width, dictionary_count);
    }
    require(data, data->at == data->end);
}

/* The metadata of a column chunk say where its pages are, which follow one another. */
static void read_chunk(struct input *list, struct input *file, const uint8_t *start, int64_t type,
                       uint64_t row_count)
{
    struct fields chunk = read_struct(list), about = {0};
    if (require(list, has_only(&chunk, 1u << 2 | 1u << 3, 0)))
        about = read_struct(&chunk.at[3].bytes);
    if (list->is_wrong || !require(file, has_only(&about, 0x12FE, 1u << 11)))
        return;
    const uint8_t *begin = file->at;
    uint64_t dictionary_count = 0, offset = (uint64_t)(begin - start);
    require(file, about.at[1].number == type && about.at[4].number == 0 &&
                      (uint64_t)about.at[5].number == row_count && (uint64_t)chunk.at[2].number == offset);
    if (about.at[11].is_there) {
        struct page page = read_page(file, 2, 7);
        dictionary_count = (uint64_t)page.inner.at[1].number;
        require(file, (uint64_t)about.at[11].number == offset && page.inner.at[2].number == PLAIN);
        if (file->is_wrong)
            return;
        plain(&page.data, dictionary_count, type);
        require(file, !page.data.is_wrong && page.data.at == page.data.end);
    }
    require(file, about.at[9].number == file->at - start);
    struct page page = read_page(file, 0, 5);
    if (file->is_wrong)
        return;
    require(file, (uint64_t)page.inner.at[1].number == row_count && page.inner.at[3].number == RLE);
    read_values(&page.data, &page.inner, type, row_count, dictionary_count);
    require(file, !page.data.is_wrong && about.at[7].number == file->at - begin &&
                      about.at[6].number == about.at[7].number);
}

/* ---- The metadata ---- */

static size_t read_schema(struct input *list, int64_t types[COLUMNS_MAX])
{
    unsigned type;
    uint64_t count = list_head(list, &type);
    require(list, type == 12 && count >= 2 && count <= COLUMNS_MAX);
    struct fields root = read_struct(list);
    require(list, (uint64_t)root.at[5].number + 1 == count);
    for (uint64_t i = 0; i + 1 < count && !list->is_wrong; i++) {
        struct fields column = read_struct(list);
        types[i] = column.at[1].number;
        require(list, has_only(&column, 1u << 1 | 1u << 3 | 1u << 4, 1u << 6 | 1u << 10) &&
                          column.at[3].number == 1 &&
                          (types[i] == INT64 || types[i] == DOUBLE || types[i] == BYTE_ARRAY));
    }
    return list->is_wrong ? 0 : (size_t)count - 1;
}

static uint64_t read_group(struct input *list, struct input *file, const uint8_t *start,
                           const int64_t types[COLUMNS_MAX], size_t column_count)
{
    unsigned type;
    struct fields group = read_struct(list);
    const uint8_t *begin = file->at;
    if (!require(list, has_only(&group, 1u << 1 | 1u << 2 | 1u << 3 | 1u << 5 | 1u << 6, 0)))
        return 0;
    struct input chunks = group.at[1].bytes;
    require(list, list_head(&chunks, &type) == column_count && type == 12);
    uint64_t row_count = (uint64_t)group.at[3].number;
    for (size_t i = 0; i < column_count && !file->is_wrong; i++)
        read_chunk(&chunks, file, start, types[i], row_count);
    require(list, !chunks.is_wrong && chunks.at == chunks.end && row_count > 0 &&
                      group.at[6].number == file->at - begin);
    return row_count;
}

static bool is_metadata(struct input *footer, struct input *file, const uint8_t *start,
                        uint64_t *row_count_ret)
{
    int64_t types[COLUMNS_MAX];
    unsigned type;
    uint64_t row_count = 0;
    struct fields metadata = read_struct(footer);
    if (footer->at != footer->end || footer->is_wrong || !has_only(&metadata, 0xFE, 0))
        return false;
    size_t column_count = read_schema(&metadata.at[2].bytes, types);
    struct input groups = metadata.at[4].bytes;
    for (uint64_t left = list_head(&groups, &type); left > 0 && !groups.is_wrong && !file->is_wrong; left--)
        row_count += read_group(&groups, file, start, types, column_count);
    *row_count_ret = (uint64_t)metadata.at[3].number;
    return column_count > 0 && !groups.is_wrong && !file->is_wrong && groups.at == groups.end &&
           file->at == file->end && row_count == *row_count_ret;
}

bool is_parquet(const uint8_t *bytes, size_t nbytes, uint64_t *row_count_ret)
{
    if (nbytes < 12 || memcmp(bytes, "PAR1", 4) != 0 || memcmp(bytes + nbytes - 4, "PAR1", 4) != 0)
        return false;
    struct input tail = {bytes + nbytes - 8, bytes + nbytes - 4, false};
    size_t footer_nbytes = le32(&tail);
    if (footer_nbytes > nbytes - 12)
        return false;
    const uint8_t *footer_start = bytes + nbytes - 8 - footer_nbytes;
    struct input footer = {footer_start, bytes + nbytes - 8, false}, file = {bytes + 4, footer_start, false};
    return is_metadata(&footer, &file, bytes, row_count_ret);
}
