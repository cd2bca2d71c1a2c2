/*
 * A column of a row group, collected row by row; see parquet_column.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/columns/parquet/parquet_column.h"

static bool reserve(struct parquet_column *column)
{
    if (column->count < column->room)
        return true;
    size_t room = column->room > 0 ? column->room * 2 : 256;
    uint64_t *values = realloc(column->values, room * sizeof *values);
    if (values == NULL)
        return false;
    column->values = values;
    column->room = room;
    return true;
}

static bool put_level(struct parquet_column *column, char level)
{
    if (column->nulls.nbytes > 0)
        tbed_text_put(&column->nulls, &level, 1);
    column->row_count++;
    return !column->nulls.is_out_of_memory;
}

bool tbed_parquet_column_put(struct parquet_column *column, uint64_t value)
{
    if (!reserve(column))
        return false;
    column->values[column->count++] = value;
    return put_level(column, 1);
}

bool tbed_parquet_column_put_text(struct parquet_column *column, const char *bytes, size_t nbytes)
{
    tbed_text_put(&column->text, bytes, nbytes);
    return !column->text.is_out_of_memory && tbed_parquet_column_put(column, column->text.nbytes);
}

bool tbed_parquet_column_put_null(struct parquet_column *column)
{
    if (column->nulls.nbytes == 0) {
        if (!tbed_text_reserve(&column->nulls, column->row_count + 1))
            return false;
        memset(column->nulls.bytes, 1, column->row_count);
        column->nulls.bytes[column->row_count] = 0;
        column->nulls.nbytes = ++column->row_count;
        return true;
    }
    return put_level(column, 0);
}

void tbed_parquet_column_clear(struct parquet_column *column)
{
    column->count = column->row_count = 0;
    column->text.nbytes = column->nulls.nbytes = 0;
}

void tbed_parquet_column_free(struct parquet_column *column)
{
    free(column->values);
    free(column->text.bytes);
    free(column->nulls.bytes);
}
