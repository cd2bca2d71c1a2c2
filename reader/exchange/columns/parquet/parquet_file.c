/*
 * A Parquet file that is being written; see parquet_file.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/columns/parquet/parquet_file.h"

#include "reader/exchange/columns/parquet/thrift_put.h"

#define MAGIC "PAR1"

/* Numbers of parquet.thrift. */
enum { TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6 };
enum { CODEC_NONE = 0, CODEC_GZIP = 2, CODEC_ZSTD = 6 };
enum { REPETITION_OPTIONAL = 1 };
enum { CONVERTED_UTF8 = 0, CONVERTED_UINT_64 = 14 };
enum { LOGICAL_STRING = 1, LOGICAL_TIMESTAMP = 8, LOGICAL_INTEGER = 10 };
enum { UNIT_NANOS = 3 };

static int physical_type(enum parquet_type type)
{
    return type == PARQUET_TEXT ? TYPE_BYTE_ARRAY : type == PARQUET_F64 ? TYPE_DOUBLE : TYPE_INT64;
}

static int codec_of(enum tbed_compression compression)
{
    return compression == TBED_COMPRESSION_ZSTD   ? CODEC_ZSTD
           : compression == TBED_COMPRESSION_GZIP ? CODEC_GZIP
                                                  : CODEC_NONE;
}

static uint64_t offset_of(const struct parquet_file *file)
{
    return file->out->nbytes + file->out->text.nbytes;
}

/* ---- Row groups ---- */

static void put_statistics(struct thrift *thrift, const struct parquet_chunk *chunk)
{
    tbed_thrift_begin(thrift, 12);
    tbed_thrift_i64(thrift, 3, (int64_t)chunk->null_count);
    if (chunk->has_range) {
        tbed_thrift_binary(thrift, 5, chunk->greatest.bytes, chunk->greatest.nbytes);
        tbed_thrift_binary(thrift, 6, chunk->least.bytes, chunk->least.nbytes);
    }
    tbed_thrift_end(thrift);
}

static void put_encodings(struct thrift *thrift, const struct parquet_chunk *chunk)
{
    bool is_plain = chunk->encoding == PARQUET_PLAIN, has_dictionary = chunk->dictionary_nbytes > 0;
    tbed_thrift_list(thrift, 2, THRIFT_I32, 2u + has_dictionary);
    if (has_dictionary)
        tbed_thrift_zigzag(thrift->to, PARQUET_PLAIN);
    tbed_thrift_zigzag(thrift->to, PARQUET_RLE);
    tbed_thrift_zigzag(thrift->to, is_plain ? PARQUET_PLAIN : chunk->encoding);
}

static void put_chunk_metadata(struct parquet_file *file, struct thrift *thrift,
                               const struct parquet_column *column, uint64_t offset)
{
    const struct parquet_chunk *chunk = &file->chunk;
    tbed_thrift_begin(thrift, 0);
    tbed_thrift_i64(thrift, 2, (int64_t)offset);
    tbed_thrift_begin(thrift, 3);
    tbed_thrift_i32(thrift, 1, physical_type(column->type));
    put_encodings(thrift, chunk);
    tbed_thrift_list(thrift, 3, THRIFT_BINARY, 1);
    tbed_thrift_string(thrift, 0, column->name);
    tbed_thrift_i32(thrift, 4, codec_of(file->compression));
    tbed_thrift_i64(thrift, 5, (int64_t)column->row_count);
    tbed_thrift_i64(thrift, 6, (int64_t)chunk->raw_nbytes);
    tbed_thrift_i64(thrift, 7, (int64_t)file->scratch.packed.nbytes);
    tbed_thrift_i64(thrift, 9, (int64_t)(offset + chunk->dictionary_nbytes));
    if (chunk->dictionary_nbytes > 0)
        tbed_thrift_i64(thrift, 11, (int64_t)offset);
    put_statistics(thrift, chunk);
    tbed_thrift_end(thrift);
    tbed_thrift_end(thrift);
}

static bool put_chunks(struct parquet_file *file, struct thrift *thrift, uint64_t *raw_nbytes)
{
    for (size_t i = 0; i < file->column_count; i++) {
        struct parquet_column *column = &file->columns[i];
        uint64_t offset = offset_of(file);
        if (!tbed_parquet_chunk_make(column, &file->scratch, &file->chunk))
            return false;
        put_chunk_metadata(file, thrift, column, offset);
        tbed_text_put(&file->out->text, file->scratch.packed.bytes, file->scratch.packed.nbytes);
        if (!tbed_export_out_spill(file->out))
            return false;
        *raw_nbytes += file->chunk.raw_nbytes;
        tbed_parquet_column_clear(column);
    }
    return true;
}

static void put_magic(struct parquet_file *file)
{
    if (offset_of(file) == 0)
        tbed_text_puts(&file->out->text, MAGIC);
}

bool tbed_parquet_file_flush(struct parquet_file *file)
{
    if (file->row_count == 0)
        return true;
    put_magic(file);
    struct thrift thrift = {.to = &file->group};
    uint64_t start = offset_of(file), raw_nbytes = 0;
    file->group.nbytes = 0;
    tbed_thrift_list(&thrift, 1, THRIFT_STRUCT, file->column_count);
    if (!put_chunks(file, &thrift, &raw_nbytes))
        return false;
    tbed_thrift_i64(&thrift, 2, (int64_t)raw_nbytes);
    tbed_thrift_i64(&thrift, 3, (int64_t)file->row_count);
    tbed_thrift_i64(&thrift, 5, (int64_t)start);
    tbed_thrift_i64(&thrift, 6, (int64_t)(offset_of(file) - start));
    tbed_thrift_end(&thrift);
    tbed_text_put(&file->groups, file->group.bytes, file->group.nbytes);
    file->group_count++;
    file->all_row_count += file->row_count;
    file->row_count = 0;
    return !file->group.is_out_of_memory && !file->groups.is_out_of_memory;
}

/* ---- Metadata ---- */

static void put_logical_type(struct thrift *thrift, enum parquet_type type)
{
    if (type == PARQUET_TEXT) {
        tbed_thrift_empty(thrift, LOGICAL_STRING);
    } else if (type == PARQUET_INSTANT) {
        tbed_thrift_begin(thrift, LOGICAL_TIMESTAMP);
        tbed_thrift_bool(thrift, 1, true);
        tbed_thrift_begin(thrift, 2);
        tbed_thrift_empty(thrift, UNIT_NANOS);
        tbed_thrift_end(thrift);
        tbed_thrift_end(thrift);
    } else {
        tbed_thrift_begin(thrift, LOGICAL_INTEGER);
        tbed_thrift_byte(thrift, 1, 64);
        tbed_thrift_bool(thrift, 2, type == PARQUET_I64);
        tbed_thrift_end(thrift);
    }
}

static void put_column_schema(struct thrift *thrift, const struct parquet_column *column)
{
    tbed_thrift_begin(thrift, 0);
    tbed_thrift_i32(thrift, 1, physical_type(column->type));
    tbed_thrift_i32(thrift, 3, REPETITION_OPTIONAL);
    tbed_thrift_string(thrift, 4, column->name);
    if (column->type == PARQUET_TEXT)
        tbed_thrift_i32(thrift, 6, CONVERTED_UTF8);
    if (column->type == PARQUET_U64)
        tbed_thrift_i32(thrift, 6, CONVERTED_UINT_64);
    if (column->type != PARQUET_F64) {
        tbed_thrift_begin(thrift, 10);
        put_logical_type(thrift, column->type);
        tbed_thrift_end(thrift);
    }
    tbed_thrift_end(thrift);
}

static void put_schema(struct parquet_file *file, struct thrift *thrift)
{
    tbed_thrift_list(thrift, 2, THRIFT_STRUCT, file->column_count + 1);
    tbed_thrift_begin(thrift, 0);
    tbed_thrift_string(thrift, 4, "schema");
    tbed_thrift_i32(thrift, 5, (int32_t)file->column_count);
    tbed_thrift_end(thrift);
    for (size_t i = 0; i < file->column_count; i++)
        put_column_schema(thrift, &file->columns[i]);
}

static void put_pairs(struct thrift *thrift, const char *const (*pairs)[2])
{
    size_t count = 0;
    while (pairs[count][0] != NULL)
        count++;
    tbed_thrift_list(thrift, 5, THRIFT_STRUCT, count);
    for (size_t i = 0; i < count; i++) {
        tbed_thrift_begin(thrift, 0);
        tbed_thrift_string(thrift, 1, pairs[i][0]);
        tbed_thrift_string(thrift, 2, pairs[i][1]);
        tbed_thrift_end(thrift);
    }
}

/* Each column is ordered as its type is, which makes readers trust the statistics. */
static void put_orders(struct thrift *thrift, size_t count)
{
    tbed_thrift_list(thrift, 7, THRIFT_STRUCT, count);
    for (size_t i = 0; i < count; i++) {
        tbed_thrift_begin(thrift, 0);
        tbed_thrift_empty(thrift, 1);
        tbed_thrift_end(thrift);
    }
}

bool tbed_parquet_file_end(struct parquet_file *file, const char *const (*pairs)[2])
{
    if (!tbed_parquet_file_flush(file))
        return false;
    put_magic(file);
    struct tbed_text *text = &file->out->text;
    struct thrift thrift = {.to = text};
    uint64_t start = offset_of(file);
    tbed_thrift_i32(&thrift, 1, 2);
    put_schema(file, &thrift);
    tbed_thrift_i64(&thrift, 3, (int64_t)file->all_row_count);
    tbed_thrift_list(&thrift, 4, THRIFT_STRUCT, file->group_count);
    tbed_text_put(text, file->groups.bytes, file->groups.nbytes);
    put_pairs(&thrift, pairs);
    tbed_thrift_string(&thrift, 6, "tracebed version 1");
    put_orders(&thrift, file->column_count);
    tbed_thrift_end(&thrift);
    tbed_parquet_put_le32(text, (uint32_t)(offset_of(file) - start));
    tbed_text_puts(text, MAGIC);
    return tbed_export_out_spill(file->out);
}

void tbed_parquet_file_free(struct parquet_file *file)
{
    for (size_t i = 0; i < file->column_count; i++)
        tbed_parquet_column_free(&file->columns[i]);
    tbed_parquet_scratch_free(&file->scratch);
    free(file->chunk.least.bytes);
    free(file->chunk.greatest.bytes);
    free(file->groups.bytes);
    free(file->group.bytes);
}
