/*
 * A column of a row group as pages of Parquet; see parquet_column.h.
 *
 * Values are tried as differences and through a dictionary, and texts through a dictionary and plainly. What is smaller after
 * compression is used for the next row groups too, before both are tried again.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/columns/parquet/parquet_column.h"

#include "format/base/utf8.h"
#include "reader/exchange/columns/base/clean_text.h"
#include "reader/exchange/columns/parquet/thrift_put.h"

#include <zlib.h>

#define PAGE_DATA       0
#define PAGE_DICTIONARY 2
#define TRUST           7    /* row groups */
#define SPARSE          4    /* a dictionary of more than a 4th of the values is not tried */
#define LENIENT         1024 /* unless it has fewer */
#define RANGE_NBYTES    64   /* longer texts have no statistics */

/* ---- Pages ---- */

static void put_data_header(struct thrift *thrift, size_t row_count, enum parquet_encoding encoding)
{
    tbed_thrift_begin(thrift, 5);
    tbed_thrift_i32(thrift, 1, (int32_t)row_count);
    tbed_thrift_i32(thrift, 2, encoding);
    tbed_thrift_i32(thrift, 3, PARQUET_RLE);
    tbed_thrift_i32(thrift, 4, PARQUET_RLE);
    tbed_thrift_end(thrift);
}

static void put_dictionary_header(struct thrift *thrift, size_t count)
{
    tbed_thrift_begin(thrift, 7);
    tbed_thrift_i32(thrift, 1, (int32_t)count);
    tbed_thrift_i32(thrift, 2, PARQUET_PLAIN);
    tbed_thrift_end(thrift);
}

/* Compresses scratch->page and appends it to 'to', behind its header. */
static bool put_page(struct parquet_scratch *scratch, int type, size_t count, enum parquet_encoding encoding,
                     struct tbed_text *to, uint64_t *raw_nbytes)
{
    struct tbed_text *page = &scratch->page, *packed = &scratch->other;
    struct thrift thrift = {.to = to};
    packed->nbytes = 0;
    if (page->is_out_of_memory || !tbed_block_pack(scratch->packer, page->bytes, page->nbytes, packed))
        return false;
    size_t start = to->nbytes;
    tbed_thrift_i32(&thrift, 1, type);
    tbed_thrift_i32(&thrift, 2, (int32_t)page->nbytes);
    tbed_thrift_i32(&thrift, 3, (int32_t)packed->nbytes);
    tbed_thrift_i32(&thrift, 4,
                    (int32_t)(uint32_t)crc32(0, (const Bytef *)packed->bytes, (uInt)packed->nbytes));
    if (type == PAGE_DATA)
        put_data_header(&thrift, count, encoding);
    else
        put_dictionary_header(&thrift, count);
    tbed_thrift_end(&thrift);
    *raw_nbytes += to->nbytes - start + page->nbytes;
    tbed_text_put(to, packed->bytes, packed->nbytes);
    return !to->is_out_of_memory;
}

/* Which rows have a value, at the start of a data page. */
static bool put_levels(const struct parquet_column *column, struct parquet_scratch *scratch)
{
    struct tbed_text *page = &scratch->page;
    size_t start = page->nbytes;
    uint64_t levels[512];
    tbed_parquet_put_le32(page, 0);
    if (column->nulls.nbytes == 0) {
        tbed_thrift_varint(page, (uint64_t)column->row_count << 1);
        tbed_text_put(page, "\1", 1);
    }
    for (size_t at = 0; at < column->nulls.nbytes;) {
        size_t count = 0;
        for (; count < 512 && at < column->nulls.nbytes; count++)
            levels[count] = (uint8_t)column->nulls.bytes[at++];
        tbed_parquet_put_hybrid(page, levels, count, 1);
    }
    if (page->is_out_of_memory)
        return false;
    uint32_t nbytes = (uint32_t)(page->nbytes - start - 4);
    for (unsigned i = 0; i < 4; i++)
        page->bytes[start + i] = (char)(uint8_t)(nbytes >> 8 * i);
    return true;
}

/* ---- Dictionaries ---- */

static bool reserve_indexes(struct parquet_scratch *scratch, size_t count)
{
    if (count <= scratch->index_room)
        return true;
    uint64_t *indexes = realloc(scratch->indexes, count * sizeof *indexes);
    if (indexes == NULL)
        return false;
    scratch->indexes = indexes;
    scratch->index_room = count;
    return true;
}

static bool is_sparse(size_t distinct, size_t count)
{
    return distinct > LENIENT && distinct > count / SPARSE;
}

/* The text of a row, as valid UTF-8. False: no memory. */
static bool text_of_row(const struct parquet_column *column, struct parquet_scratch *scratch, size_t row,
                        const char **bytes, size_t *nbytes)
{
    if (column->names == NULL) {
        size_t start = row > 0 ? column->values[row - 1] : 0;
        *bytes = column->text.bytes + start;
        *nbytes = column->values[row] - start;
        return true;
    }
    tbed_scan_name(column->names->scan, (uint32_t)column->values[row], bytes, nbytes);
    if (tbed_utf8_valid_nbytes((const uint8_t *)*bytes, *nbytes) == *nbytes)
        return true;
    scratch->clean.nbytes = 0;
    tbed_text_put_clean(&scratch->clean, *bytes, *nbytes);
    *bytes = scratch->clean.bytes;
    *nbytes = scratch->clean.nbytes;
    return !scratch->clean.is_out_of_memory;
}

/* Gives each row its index in scratch->texts. 'is_sparse_ret': there are so many that it is not worth it. */
static bool index_rows(const struct parquet_column *column, struct parquet_scratch *scratch,
                       bool *is_sparse_ret)
{
    *is_sparse_ret = false;
    tbed_text_set_clear(&scratch->texts);
    if (!reserve_indexes(scratch, column->count))
        return false;
    for (size_t i = 0; i < column->count; i++) {
        const char *bytes;
        size_t nbytes;
        uint32_t index;
        if (i > 0 && column->type != PARQUET_TEXT && column->values[i] == column->values[i - 1]) {
            scratch->indexes[i] = scratch->indexes[i - 1];
            continue;
        }
        if (column->type == PARQUET_TEXT) {
            text_of_row(column, scratch, i, &bytes, &nbytes);
        } else {
            bytes = (const char *)&column->values[i];
            nbytes = sizeof column->values[i];
        }
        if (!tbed_text_set_add(&scratch->texts, bytes, nbytes, &index))
            return false;
        scratch->indexes[i] = index;
        if ((*is_sparse_ret = is_sparse(scratch->texts.count, column->count)))
            return true;
    }
    return true;
}

/* The same for names, whose codes save looking at the texts. */
static bool index_names(const struct parquet_column *column, struct parquet_scratch *scratch)
{
    struct parquet_names *names = scratch->names;
    size_t code_count = tbed_scan_name_count(names->scan);
    tbed_text_set_clear(&scratch->texts);
    if (!reserve_indexes(scratch, column->count))
        return false;
    if (names->room < code_count) {
        uint32_t *indexes = realloc(names->indexes, code_count * 2 * sizeof *indexes);
        if (indexes == NULL)
            return false;
        names->indexes = indexes;
        names->room = code_count * 2;
    }
    for (size_t i = 0; i < column->count; i++)
        names->indexes[column->values[i]] = 0;
    for (size_t i = 0; i < column->count; i++) {
        uint32_t *index = &names->indexes[column->values[i]], added;
        if (*index == 0) {
            const char *bytes;
            size_t nbytes;
            if (!text_of_row(column, scratch, i, &bytes, &nbytes) ||
                !tbed_text_set_add(&scratch->texts, bytes, nbytes, &added))
                return false;
            *index = added + 1;
        }
        scratch->indexes[i] = *index - 1;
    }
    return true;
}

static void put_dictionary(const struct parquet_column *column, struct parquet_scratch *scratch)
{
    const struct text_set *texts = &scratch->texts;
    scratch->page.nbytes = 0;
    for (uint32_t i = 0; i < texts->count; i++) {
        const char *bytes;
        size_t nbytes;
        uint64_t value;
        tbed_text_set_get(texts, i, &bytes, &nbytes);
        if (column->type == PARQUET_TEXT) {
            tbed_parquet_put_bytes(&scratch->page, bytes, nbytes);
        } else {
            memcpy(&value, bytes, sizeof value);
            tbed_parquet_put_le64(&scratch->page, &value, 1);
        }
    }
}

/* ---- Statistics ---- */

static void put_number(struct tbed_text *to, uint64_t value)
{
    to->nbytes = 0;
    tbed_parquet_put_le64(to, &value, 1);
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool is_less(enum parquet_type type, uint64_t a, uint64_t b)
{
    if (type == PARQUET_F64)
        return double_of(a) < double_of(b);
    return type == PARQUET_U64 ? a < b : (int64_t)a < (int64_t)b;
}

static void range_of_numbers(const struct parquet_column *column, struct parquet_chunk *chunk)
{
    uint64_t least = column->values[0], greatest = least;
    bool has_nan = false;
    for (size_t i = 0; i < column->count; i++) {
        uint64_t value = column->values[i];
        double number = column->type == PARQUET_F64 ? double_of(value) : 0;
        has_nan |= number != number;
        least = is_less(column->type, value, least) ? value : least;
        greatest = is_less(column->type, greatest, value) ? value : greatest;
    }
    /* Both zeros are equal, so that a range that ends with one includes both. */
    if (column->type == PARQUET_F64 && double_of(least) == 0)
        least = UINT64_C(1) << 63;
    if (column->type == PARQUET_F64 && double_of(greatest) == 0)
        greatest = 0;
    chunk->has_range = !has_nan;
    put_number(&chunk->least, least);
    put_number(&chunk->greatest, greatest);
}

static int compare(const struct tbed_text *text, const char *bytes, size_t nbytes)
{
    size_t shorter = text->nbytes < nbytes ? text->nbytes : nbytes;
    int order = shorter > 0 ? memcmp(text->bytes, bytes, shorter) : 0;
    return order != 0 ? order : (text->nbytes > nbytes) - (text->nbytes < nbytes);
}

static void set_text(struct tbed_text *text, const char *bytes, size_t nbytes)
{
    text->nbytes = 0;
    tbed_text_put(text, bytes, nbytes);
}

/* Of the texts in the dictionary, or of all rows. */
static bool range_of_texts(const struct parquet_column *column, struct parquet_scratch *scratch,
                           const struct text_set *texts, struct parquet_chunk *chunk)
{
    size_t count = texts != NULL ? texts->count : column->count;
    chunk->has_range = true;
    for (size_t i = 0; i < count && chunk->has_range; i++) {
        const char *bytes;
        size_t nbytes;
        if (texts != NULL)
            tbed_text_set_get(texts, (uint32_t)i, &bytes, &nbytes);
        else if (!text_of_row(column, scratch, i, &bytes, &nbytes))
            return false;
        chunk->has_range = nbytes <= RANGE_NBYTES;
        if (i == 0 || compare(&chunk->least, bytes, nbytes) > 0)
            set_text(&chunk->least, bytes, nbytes);
        if (i == 0 || compare(&chunk->greatest, bytes, nbytes) < 0)
            set_text(&chunk->greatest, bytes, nbytes);
    }
    return true;
}

/* ---- A chunk in each encoding ---- */

static bool make_plain(const struct parquet_column *column, struct parquet_scratch *scratch,
                       struct tbed_text *to, struct parquet_chunk *chunk)
{
    scratch->page.nbytes = 0;
    if (!put_levels(column, scratch))
        return false;
    for (size_t i = 0; i < column->count && column->type == PARQUET_TEXT; i++) {
        const char *bytes;
        size_t nbytes;
        if (!text_of_row(column, scratch, i, &bytes, &nbytes))
            return false;
        tbed_parquet_put_bytes(&scratch->page, bytes, nbytes);
    }
    if (column->type != PARQUET_TEXT)
        tbed_parquet_put_le64(&scratch->page, column->values, column->count);
    chunk->encoding = PARQUET_PLAIN;
    chunk->raw_nbytes = chunk->dictionary_nbytes = 0;
    return put_page(scratch, PAGE_DATA, column->row_count, PARQUET_PLAIN, to, &chunk->raw_nbytes);
}

static bool make_delta(const struct parquet_column *column, struct parquet_scratch *scratch,
                       struct tbed_text *to, struct parquet_chunk *chunk)
{
    scratch->page.nbytes = 0;
    if (!put_levels(column, scratch))
        return false;
    tbed_parquet_put_delta(&scratch->page, column->values, column->count);
    chunk->encoding = PARQUET_DELTA;
    chunk->raw_nbytes = chunk->dictionary_nbytes = 0;
    return put_page(scratch, PAGE_DATA, column->row_count, PARQUET_DELTA, to, &chunk->raw_nbytes);
}

static bool make_dictionary(const struct parquet_column *column, struct parquet_scratch *scratch,
                            struct tbed_text *to, struct parquet_chunk *chunk)
{
    chunk->encoding = PARQUET_DICTIONARY;
    chunk->raw_nbytes = 0;
    put_dictionary(column, scratch);
    if (!put_page(scratch, PAGE_DICTIONARY, scratch->texts.count, PARQUET_PLAIN, to, &chunk->raw_nbytes))
        return false;
    chunk->dictionary_nbytes = to->nbytes;
    scratch->page.nbytes = 0;
    if (!put_levels(column, scratch))
        return false;
    unsigned width = tbed_parquet_width(scratch->texts.count - 1);
    char byte = (char)width;
    tbed_text_put(&scratch->page, &byte, 1);
    tbed_parquet_put_hybrid(&scratch->page, scratch->indexes, column->count, width);
    return put_page(scratch, PAGE_DATA, column->row_count, PARQUET_DICTIONARY, to, &chunk->raw_nbytes);
}

/* ---- The smallest ---- */

static bool make_texts(struct parquet_column *column, struct parquet_scratch *scratch,
                       struct parquet_chunk *chunk)
{
    bool is_sparse_text = false;
    bool has_indexes =
        column->names != NULL ? index_names(column, scratch) : index_rows(column, scratch, &is_sparse_text);
    if (!has_indexes)
        return false;
    is_sparse_text |= scratch->texts.count > column->count / 2 + LENIENT;
    if (!range_of_texts(column, scratch, is_sparse_text ? NULL : &scratch->texts, chunk))
        return false;
    return is_sparse_text ? make_plain(column, scratch, &scratch->packed, chunk)
                          : make_dictionary(column, scratch, &scratch->packed, chunk);
}

static bool make_differences(const struct parquet_column *column, struct parquet_scratch *scratch,
                             struct parquet_chunk *chunk)
{
    return column->type == PARQUET_F64 ? make_plain(column, scratch, &scratch->packed, chunk)
                                       : make_delta(column, scratch, &scratch->packed, chunk);
}

/* Both encodings, and the smaller one. */
static bool make_smallest(struct parquet_column *column, struct parquet_scratch *scratch,
                          struct parquet_chunk *chunk)
{
    struct parquet_chunk first = *chunk;
    if (!make_differences(column, scratch, &first))
        return false;
    size_t nbytes = scratch->packed.nbytes;
    if (!make_dictionary(column, scratch, &scratch->packed, chunk))
        return false;
    bool is_first = nbytes <= scratch->packed.nbytes - nbytes;
    if (is_first) {
        *chunk = first;
        scratch->packed.nbytes = nbytes;
    } else {
        scratch->packed.nbytes -= nbytes;
        memmove(scratch->packed.bytes, scratch->packed.bytes + nbytes, scratch->packed.nbytes);
        chunk->dictionary_nbytes -= nbytes;
    }
    column->best = is_first ? PARQUET_DELTA : PARQUET_DICTIONARY;
    column->trust = TRUST;
    return true;
}

static bool make_numbers(struct parquet_column *column, struct parquet_scratch *scratch,
                         struct parquet_chunk *chunk)
{
    bool is_sparse_number;
    range_of_numbers(column, chunk);
    if (column->trust > 0 && column->best == PARQUET_DELTA) {
        column->trust--;
        return make_differences(column, scratch, chunk);
    }
    if (!index_rows(column, scratch, &is_sparse_number))
        return false;
    if (is_sparse_number) {
        column->best = PARQUET_DELTA;
        column->trust = TRUST;
        return make_differences(column, scratch, chunk);
    }
    if (column->trust > 0) {
        column->trust--;
        return make_dictionary(column, scratch, &scratch->packed, chunk);
    }
    return make_smallest(column, scratch, chunk);
}

bool tbed_parquet_chunk_make(struct parquet_column *column, struct parquet_scratch *scratch,
                             struct parquet_chunk *chunk)
{
    struct parquet_chunk made = {.least = chunk->least, .greatest = chunk->greatest};
    *chunk = made;
    chunk->least.nbytes = chunk->greatest.nbytes = 0;
    chunk->null_count = column->row_count - column->count;
    scratch->packed.nbytes = 0;
    bool is_made;
    if (column->count == 0)
        is_made = make_plain(column, scratch, &scratch->packed, chunk);
    else if (column->type == PARQUET_TEXT)
        is_made = make_texts(column, scratch, chunk);
    else
        is_made = make_numbers(column, scratch, chunk);
    return is_made && !chunk->least.is_out_of_memory && !chunk->greatest.is_out_of_memory;
}

void tbed_parquet_scratch_free(struct parquet_scratch *scratch)
{
    tbed_block_packer_close(scratch->packer);
    free(scratch->page.bytes);
    free(scratch->packed.bytes);
    free(scratch->other.bytes);
    free(scratch->clean.bytes);
    free(scratch->indexes);
    tbed_text_set_free(&scratch->texts);
    *scratch = (struct parquet_scratch){0};
}
