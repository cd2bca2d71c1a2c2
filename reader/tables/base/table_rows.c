/*
 * A batch of rows put together, column by column; see table.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/base/table.h"

#define NULL_WORDS (TBED_BATCH_ROWS_MAX / 64)

static size_t element_nbytes(enum tbed_column_type type)
{
    return type == TBED_COLUMN_NAME || type == TBED_COLUMN_TEXT ? sizeof(uint32_t) : sizeof(uint64_t);
}

static void point_to(struct tbed_column_values *values, enum tbed_column_type type, const void *array)
{
    *values = (struct tbed_column_values){0};
    switch (type) {
    case TBED_COLUMN_I64:
        values->i64 = array;
        break;
    case TBED_COLUMN_U64:
        values->u64 = array;
        break;
    case TBED_COLUMN_F64:
        values->f64 = array;
        break;
    case TBED_COLUMN_NAME:
        values->codes = array;
        break;
    case TBED_COLUMN_TEXT:
        values->offsets = array;
        break;
    }
}

static bool open_column(struct table_rows *rows, size_t column)
{
    enum tbed_column_type type = rows->table->columns[column].type;
    rows->arrays[column] = calloc(TBED_BATCH_ROWS_MAX + 1, element_nbytes(type));
    rows->nulls[column] = calloc(NULL_WORDS, sizeof(uint64_t));
    point_to(&rows->values[column], type, rows->arrays[column]);
    return rows->arrays[column] != NULL && rows->nulls[column] != NULL;
}

bool tbed_table_rows_open(struct table_rows *rows, const struct tbed_table *table, uint64_t columns,
                          struct table_names *names)
{
    *rows = (struct table_rows){.table = table, .columns = columns, .names = names};
    for (size_t i = 0; i < table->column_count; i++)
        if (table_rows_wants(rows, (unsigned)i) && !open_column(rows, i))
            return false;
    return true;
}

void tbed_table_rows_free(struct table_rows *rows)
{
    for (size_t i = 0; i < TABLE_COLUMNS_MAX; i++) {
        free(rows->arrays[i]);
        free(rows->nulls[i]);
        free(rows->texts[i].bytes);
    }
    *rows = (struct table_rows){0};
}

void tbed_table_rows_clear(struct table_rows *rows)
{
    for (size_t i = 0; i < rows->table->column_count; i++) {
        if ((rows->null_columns >> i & 1) != 0)
            memset(rows->nulls[i], 0, NULL_WORDS * sizeof(uint64_t));
        rows->texts[i].nbytes = 0;
        rows->values[i].nulls = NULL;
    }
    rows->null_columns = 0;
    rows->count = 0;
}

void tbed_table_put_null(struct table_rows *rows, unsigned column)
{
    if (!table_rows_wants(rows, column))
        return;
    size_t row = rows->count;
    enum tbed_column_type type = rows->table->columns[column].type;
    rows->nulls[column][row / 64] |= UINT64_C(1) << row % 64;
    rows->values[column].nulls = rows->nulls[column];
    rows->null_columns |= UINT64_C(1) << column;
    if (type == TBED_COLUMN_TEXT)
        ((uint32_t *)rows->arrays[column])[row + 1] = (uint32_t)rows->texts[column].nbytes;
    else if (type == TBED_COLUMN_NAME)
        ((uint32_t *)rows->arrays[column])[row] = 0;
    else
        ((uint64_t *)rows->arrays[column])[row] = 0;
}

static void put_name(struct table_rows *rows, unsigned column, const char *text, size_t nbytes)
{
    uint32_t code = 0;
    if (!tbed_table_names_add(rows->names, text, nbytes, &code))
        rows->is_out_of_memory = true;
    table_put_code(rows, column, code);
}

static void put_bytes(struct table_rows *rows, unsigned column, const char *text, size_t nbytes)
{
    struct tbed_text *bytes = &rows->texts[column];
    if (nbytes > UINT32_MAX - bytes->nbytes || !tbed_text_reserve(bytes, nbytes + 1)) {
        rows->is_out_of_memory = true;
        return;
    }
    tbed_text_put(bytes, text, nbytes);
    rows->values[column].text = bytes->bytes;
    ((uint32_t *)rows->arrays[column])[rows->count + 1] = (uint32_t)bytes->nbytes;
}

void tbed_table_put_text(struct table_rows *rows, unsigned column, const char *text, size_t nbytes)
{
    if (!table_rows_wants(rows, column))
        return;
    if (text == NULL)
        tbed_table_put_null(rows, column);
    else if (rows->table->columns[column].type == TBED_COLUMN_NAME)
        put_name(rows, column, text, nbytes);
    else
        put_bytes(rows, column, text, nbytes);
}

void tbed_table_put_string(struct table_rows *rows, unsigned column, const char *text)
{
    tbed_table_put_text(rows, column, text, text != NULL ? strlen(text) : 0);
}

/* For a name that the reader does not keep. */
static void put_long_name(struct table_rows *rows, unsigned column, const struct tbed_reader *reader,
                          uint32_t id)
{
    size_t nbytes = tbed_id_text(reader, id, TBED_NAME_ALL, NULL, 0);
    char *text = malloc(nbytes + 1);
    if (text == NULL) {
        rows->is_out_of_memory = true;
        return;
    }
    size_t made = tbed_id_text(reader, id, TBED_NAME_ALL, text, nbytes + 1);
    tbed_table_put_text(rows, column, text, made < nbytes ? made : nbytes);
    free(text);
}

void tbed_table_put_id(struct table_rows *rows, unsigned column, const struct tbed_reader *reader,
                       uint32_t id)
{
    struct tbed_name name = {0};
    if (!table_rows_wants(rows, column))
        return;
    if (id == TBED_ID_INVALID) {
        tbed_table_put_null(rows, column);
        return;
    }
    enum tbed_status status = tbed_name_get(reader, id, &name);
    if (status == TBED_ERR_MEMORY)
        rows->is_out_of_memory = true;
    else if (status == TBED_ERR_CACHE_FULL)
        put_long_name(rows, column, reader, id);
    else
        tbed_table_put_text(rows, column, name.text, name.nbytes);
}
