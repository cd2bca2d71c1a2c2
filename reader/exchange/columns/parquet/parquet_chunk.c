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
#include "reader/exchange/columns/parquet/thrift_put.h"
#include "reader/tables/base/clean_text.h"

#include <zlib.h>

#define PAGE_DATA       0
#define PAGE_DICTIONARY 2
#define TRUST           3    /* row groups */
#define SPARSE          2    /* a dictionary of more than half of the values is not tried */
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

static bool reserve(uint64_t **array, size_t *room, size_t count)
{
    if (count <= *room)
        return true;
    uint64_t *grown = realloc(*array, count * sizeof *grown);
    if (grown == NULL)
        return false;
    *array = grown;
    *room = count;
    return true;
}

static bool put_nulls(const struct tbed_text *nulls, struct parquet_scratch *scratch)
{
    if (!reserve(&scratch->levels, &scratch->level_room, nulls->nbytes))
        return false;
    for (size_t i = 0; i < nulls->nbytes; i++)
        scratch->levels[i] = (uint8_t)nulls->bytes[i];
    tbed_parquet_put_hybrid(&scratch->page, scratch->levels, nulls->nbytes, 1);
    return true;
}

/* Which rows have a value, at the start of a data page. */
static bool put_levels(const struct parquet_column *column, struct parquet_scratch *scratch)
{
    struct tbed_text *page = &scratch->page;
    size_t start = page->nbytes;
    tbed_parquet_put_le32(page, 0);
    if (column->nulls.nbytes > 0) {
        if (!put_nulls(&column->nulls, scratch))
            return false;
    } else {
        tbed_thrift_varint(page, (uint64_t)column->row_count << 1);
        tbed_text_put(page, "\1", 1);
    }
    if (page->is_out_of_memory)
        return false;
    uint32_t nbytes = (uint32_t)(page->nbytes - start - 4);
    for (unsigned i = 0; i < 4; i++)
        page->bytes[start + i] = (char)(uint8_t)(nbytes >> 8 * i);
    return true;
}

/* ---- Dictionaries ---- */

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
        *bytes = column->text.bytes != NULL ? column->text.bytes + start : ""; /* NULL if all are empty */
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

/* Adds the text or number of a row to the dictionary. */
static bool add_row(const struct parquet_column *column, struct parquet_scratch *scratch, size_t row,
                    uint32_t *index)
{
    const char *bytes = (const char *)&column->values[row];
    size_t nbytes = sizeof column->values[row];
    if (column->type == PARQUET_TEXT && !text_of_row(column, scratch, row, &bytes, &nbytes))
        return false;
    return tbed_text_set_add(&scratch->texts, bytes, nbytes, index);
}

/* Names have codes, which save looking at the texts. */
static bool clear_codes(const struct parquet_column *column, struct parquet_names *names)
{
    size_t code_count = tbed_scan_name_count(names->scan);
    if (names->room < code_count) {
        uint32_t *indexes = realloc(names->indexes, code_count * 2 * sizeof *indexes);
        if (indexes == NULL)
            return false;
        names->indexes = indexes;
        names->room = code_count * 2;
    }
    for (size_t i = 0; i < column->count; i++)
        names->indexes[column->values[i]] = 0;
    return true;
}

static bool index_row(const struct parquet_column *column, struct parquet_scratch *scratch, size_t row,
                      uint32_t *index)
{
    bool is_number = column->type != PARQUET_TEXT;
    if (is_number && row > 0 && column->values[row] == column->values[row - 1]) {
        *index = (uint32_t)scratch->indexes[row - 1];
        return true;
    }
    if (column->names == NULL)
        return add_row(column, scratch, row, index);
    uint32_t *known = &scratch->names->indexes[column->values[row]];
    if (*known == 0) {
        if (!add_row(column, scratch, row, index))
            return false;
        *known = *index + 1;
    }
    *index = *known - 1;
    return true;
}

/* Gives each row its index in scratch->texts, unless there are so many that a dictionary is not worth it. */
static bool index_rows(const struct parquet_column *column, struct parquet_scratch *scratch,
                       bool *has_dictionary)
{
    tbed_text_set_clear(&scratch->texts);
    if (!reserve(&scratch->indexes, &scratch->index_room, column->count) ||
        (column->names != NULL && !clear_codes(column, scratch->names)))
        return false;
    for (size_t i = 0; i < column->count; i++) {
        uint32_t index = 0;
        if (!index_row(column, scratch, i, &index))
            return false;
        scratch->indexes[i] = index;
        if (is_sparse(scratch->texts.count, column->count))
            return true;
    }
    *has_dictionary = true;
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

/* What suits values that are not worth a dictionary. */
static bool make_direct(const struct parquet_column *column, struct parquet_scratch *scratch,
                        struct parquet_chunk *chunk)
{
    bool is_plain = column->type == PARQUET_F64 || column->type == PARQUET_TEXT;
    return is_plain ? make_plain(column, scratch, &scratch->packed, chunk)
                    : make_delta(column, scratch, &scratch->packed, chunk);
}

/* Both, and the smaller one. */
static bool make_smallest(struct parquet_column *column, struct parquet_scratch *scratch,
                          struct parquet_chunk *chunk)
{
    struct parquet_chunk direct = *chunk;
    if (!make_direct(column, scratch, &direct))
        return false;
    size_t nbytes = scratch->packed.nbytes;
    if (!make_dictionary(column, scratch, &scratch->packed, chunk))
        return false;
    column->is_direct = nbytes < scratch->packed.nbytes - nbytes;
    if (column->is_direct) {
        *chunk = direct;
        scratch->packed.nbytes = nbytes;
    } else {
        scratch->packed.nbytes -= nbytes;
        memmove(scratch->packed.bytes, scratch->packed.bytes + nbytes, scratch->packed.nbytes);
        chunk->dictionary_nbytes -= nbytes;
    }
    return true;
}

static bool make_best(struct parquet_column *column, struct parquet_scratch *scratch,
                      struct parquet_chunk *chunk)
{
    bool has_dictionary = false;
    if ((column->trust == 0 || !column->is_direct) && !index_rows(column, scratch, &has_dictionary))
        return false;
    if (column->type != PARQUET_TEXT)
        range_of_numbers(column, chunk);
    else if (!range_of_texts(column, scratch, has_dictionary ? &scratch->texts : NULL, chunk))
        return false;
    if (column->trust > 0 && (column->is_direct || has_dictionary)) {
        column->trust--;
        return column->is_direct ? make_direct(column, scratch, chunk)
                                 : make_dictionary(column, scratch, &scratch->packed, chunk);
    }
    column->trust = TRUST;
    column->is_direct = true;
    return has_dictionary ? make_smallest(column, scratch, chunk) : make_direct(column, scratch, chunk);
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
    else
        is_made = make_best(column, scratch, chunk);
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
    free(scratch->levels);
    tbed_text_set_free(&scratch->texts);
    *scratch = (struct parquet_scratch){0};
}
