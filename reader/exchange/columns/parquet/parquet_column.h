/*
 * A column of a row group: collected row by row, then written as a column chunk with the encoding that suits it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PARQUET_COLUMN_H
#define TRACEBED_PARQUET_COLUMN_H

#include "reader/exchange/columns/base/block_pack.h"
#include "reader/exchange/columns/base/text_set.h"
#include "reader/exchange/columns/parquet/parquet_encode.h"

#include <tracebed/tables.h>

enum parquet_type {
    PARQUET_I64,
    PARQUET_U64,
    PARQUET_F64,
    PARQUET_TEXT,
    PARQUET_INSTANT /* nanoseconds since 1970 */
};

/* Where the texts of a column of names come from, by code. */
struct parquet_names {
    const struct tbed_scan *scan;
    uint32_t *indexes; /* for parquet_chunk.c: of each code in the dictionary, plus 1 */
    size_t room;
};

struct parquet_column {
    const char *name;
    enum parquet_type type;
    const struct parquet_names *names; /* text by code; NULL: in 'text' */

    /* The row group. There is an element for each row that has a value. */
    uint64_t *values; /* numbers, as they are stored; codes; for text, where each ends */
    size_t count, room;
    struct tbed_text text;
    struct tbed_text nulls; /* a byte for each row: 1 if it has a value; empty: all have one */
    size_t row_count;

    /* Whether it was smaller without a dictionary, and in how many row groups that holds before it is tried again. */
    bool is_direct;
    unsigned trust;
};

/* What a row group needs while it is written; the texts are kept for the next one. */
struct parquet_scratch {
    struct block_packer *packer;
    struct tbed_text page, packed, other, clean;
    uint64_t *indexes; /* of values in the dictionary */
    size_t index_room;
    uint64_t *levels;
    size_t level_room;
    struct text_set texts;
    struct parquet_names *names;
};

/* A column chunk that has been put together: pages in scratch->packed, and what the metadata say. */
struct parquet_chunk {
    enum parquet_encoding encoding; /* of its data page */
    uint64_t raw_nbytes;            /* with page headers, not compressed */
    size_t dictionary_nbytes;       /* the data page begins there; 0: no dictionary */
    uint64_t null_count;
    bool has_range;
    struct tbed_text least, greatest; /* PLAIN, without a length */
};

/* These return false if there is no memory. */
bool tbed_parquet_column_put(struct parquet_column *column, uint64_t value);
bool tbed_parquet_column_put_text(struct parquet_column *column, const char *bytes, size_t nbytes);
bool tbed_parquet_column_put_null(struct parquet_column *column);
void tbed_parquet_column_clear(struct parquet_column *column); /* the next row group */
void tbed_parquet_column_free(struct parquet_column *column);

/* Writes the pages to the emptied scratch->packed. 'chunk_ret' has texts of the caller, which are emptied first. */
bool tbed_parquet_chunk_make(struct parquet_column *column, struct parquet_scratch *scratch,
                             struct parquet_chunk *chunk_ret);
void tbed_parquet_scratch_free(struct parquet_scratch *scratch);

#endif
