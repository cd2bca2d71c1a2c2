/*
 * Batches that are made here, of rows that were kept; see sql_inside.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/sql/sql_inside.h"

#ifdef SQL_IS_BUILT

static void point_to(struct tbed_column_values *values, enum tbed_column_type type, void *array)
{
    values->i64 = type == TBED_COLUMN_I64 ? array : NULL;
    values->u64 = type == TBED_COLUMN_U64 ? array : NULL;
    values->f64 = type == TBED_COLUMN_F64 ? array : NULL;
    values->codes = type == TBED_COLUMN_NAME ? array : NULL;
    values->offsets = type == TBED_COLUMN_TEXT ? array : NULL;
}

bool sql_rows_open(struct sql_rows *rows, const struct tbed_table *table, uint64_t columns)
{
    *rows = (struct sql_rows){0};
    for (unsigned i = 0; i < table->column_count; i++) {
        if ((columns >> i & 1) == 0)
            continue;
        rows->arrays[i] = calloc(SQL_BATCH_ROWS + 1, sizeof(uint64_t));
        rows->nulls[i] = calloc(SQL_BATCH_ROWS / 64, sizeof(uint64_t));
        if (rows->arrays[i] == NULL || rows->nulls[i] == NULL)
            return false;
        point_to(&rows->values[i], table->columns[i].type, rows->arrays[i]);
    }
    return true;
}

void sql_rows_free(struct sql_rows *rows)
{
    for (unsigned i = 0; i < 64; i++) {
        free(rows->arrays[i]);
        free(rows->nulls[i]);
        free(rows->texts[i]);
    }
    *rows = (struct sql_rows){0};
}

void sql_rows_clear(struct sql_rows *rows)
{
    for (unsigned i = 0; i < 64; i++) {
        if (rows->values[i].nulls != NULL)
            memset(rows->nulls[i], 0, SQL_BATCH_ROWS / 64 * sizeof(uint64_t));
        rows->values[i].nulls = NULL;
        rows->text_nbytes[i] = 0;
    }
    rows->count = 0;
}

void sql_rows_bits(struct sql_rows *rows, unsigned column, enum tbed_column_type type, uint64_t bits)
{
    if (type == TBED_COLUMN_NAME)
        ((uint32_t *)rows->arrays[column])[rows->count] = (uint32_t)bits;
    else
        ((uint64_t *)rows->arrays[column])[rows->count] = bits;
}

void sql_rows_null(struct sql_rows *rows, unsigned column, enum tbed_column_type type)
{
    rows->nulls[column][rows->count / 64] |= UINT64_C(1) << rows->count % 64;
    rows->values[column].nulls = rows->nulls[column];
    if (type == TBED_COLUMN_TEXT)
        sql_rows_text(rows, column, NULL, 0);
    else
        sql_rows_bits(rows, column, type, 0);
}

bool sql_rows_text(struct sql_rows *rows, unsigned column, const char *text, size_t nbytes)
{
    size_t used = rows->text_nbytes[column];
    if (nbytes > UINT32_MAX - used)
        return false;
    if (nbytes > rows->text_rooms[column] - used) {
        size_t room = 2 * (used + nbytes);
        char *grown = realloc(rows->texts[column], room);
        if (grown == NULL)
            return false;
        rows->texts[column] = grown;
        rows->text_rooms[column] = room;
    }
    if (nbytes > 0)
        memcpy(rows->texts[column] + used, text, nbytes);
    rows->text_nbytes[column] = used + nbytes;
    rows->values[column].text = rows->texts[column];
    ((uint32_t *)rows->arrays[column])[rows->count + 1] = (uint32_t)(used + nbytes);
    return true;
}

#endif
