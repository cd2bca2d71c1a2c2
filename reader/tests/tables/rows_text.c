/*
 * A table as text; see rows_text.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tests/tables/rows_text.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Text ---- */

static void print_text(FILE *out, const char *text, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        switch (text[i]) {
        case '\0':
            fputs("\\0", out);
            break;
        case '\t':
            fputs("\\t", out);
            break;
        case '\n':
            fputs("\\n", out);
            break;
        case '\\':
            fputs("\\\\", out);
            break;
        default:
            putc(text[i], out);
        }
}

static void print_value(FILE *out, const struct tbed_scan *scan, const struct tbed_column *column,
                        const struct tbed_column_values *values, size_t row)
{
    const char *text = NULL;
    size_t nbytes = 0;
    if (values->nulls != NULL && (values->nulls[row / 64] >> row % 64 & 1) != 0) {
        fputs("NULL", out);
        return;
    }
    switch (column->type) {
    case TBED_COLUMN_I64:
        fprintf(out, "%" PRId64, values->i64[row]);
        return;
    case TBED_COLUMN_U64:
        fprintf(out, "%" PRIu64, values->u64[row]);
        return;
    case TBED_COLUMN_F64:
        fprintf(out, "%.17g", values->f64[row]);
        return;
    case TBED_COLUMN_NAME:
        tbed_scan_name(scan, values->codes[row], &text, &nbytes);
        break;
    case TBED_COLUMN_TEXT:
        text = values->text + values->offsets[row];
        nbytes = values->offsets[row + 1] - values->offsets[row];
        break;
    }
    print_text(out, text, nbytes);
}

static bool has_values(const struct tbed_column_values *values)
{
    return values->i64 != NULL || values->u64 != NULL || values->f64 != NULL || values->codes != NULL ||
           values->offsets != NULL;
}

void rows_text_row(FILE *out, const struct tbed_scan *scan, const struct tbed_table *table,
                   const struct tbed_batch *batch, size_t row)
{
    const char *separator = "";
    for (size_t i = 0; i < table->column_count; i++) {
        if (!has_values(&batch->columns[i]))
            continue;
        fputs(separator, out);
        print_value(out, scan, &table->columns[i], &batch->columns[i], row);
        separator = "\t";
    }
    putc('\n', out);
}

static void print_head(FILE *out, const struct tbed_table *table, uint64_t columns)
{
    const char *separator = "";
    for (size_t i = 0; i < table->column_count; i++)
        if (columns == 0 || (columns >> i & 1) != 0) {
            fprintf(out, "%s%s", separator, table->columns[i].name);
            separator = "\t";
        }
    putc('\n', out);
}

enum tbed_status rows_text_print(FILE *out, struct tbed_tables *tables, const struct tbed_table *table,
                                 const struct tbed_scan_options *options)
{
    struct tbed_batch batch;
    struct tbed_scan *scan;
    uint64_t columns = options != NULL ? options->columns : 0;
    enum tbed_status status = tbed_scan_open(tables, table, options, &scan, NULL);
    if (status != TBED_OK)
        return status;
    print_head(out, table, columns);
    while ((status = tbed_scan_next(scan, &batch)) == TBED_OK) {
        const char *broken = rows_text_broken(scan, table, &batch, columns);
        if (broken != NULL) {
            fprintf(stderr, "%s: %s\n", table->name, broken);
            abort();
        }
        for (size_t row = 0; row < batch.row_count; row++)
            rows_text_row(out, scan, table, &batch, row);
    }
    tbed_scan_close(scan);
    return status;
}

char *rows_text_of(struct tbed_tables *tables, const char *name, const struct tbed_scan_options *options)
{
    char *text = NULL;
    size_t nbytes = 0;
    FILE *out = open_memstream(&text, &nbytes);
    const struct tbed_table *table = tbed_table_find(name);
    enum tbed_status status =
        out == NULL || table == NULL ? TBED_ERR_MEMORY : rows_text_print(out, tables, table, options);
    if (status != TBED_END || fclose(out) != 0) {
        fprintf(stderr, "%s: %s\n", name, tbed_status_name(status));
        abort();
    }
    return text;
}

/* ---- Rules ---- */

static const void *array_of(const struct tbed_column_values *values, enum tbed_column_type type)
{
    switch (type) {
    case TBED_COLUMN_I64:
        return values->i64;
    case TBED_COLUMN_U64:
        return values->u64;
    case TBED_COLUMN_F64:
        return values->f64;
    case TBED_COLUMN_NAME:
        return values->codes;
    case TBED_COLUMN_TEXT:
        return values->offsets;
    }
    return NULL;
}

static bool is_zero(const struct tbed_column_values *values, enum tbed_column_type type, size_t row)
{
    switch (type) {
    case TBED_COLUMN_I64:
        return values->i64[row] == 0;
    case TBED_COLUMN_U64:
        return values->u64[row] == 0;
    case TBED_COLUMN_F64:
        return values->f64[row] == 0;
    case TBED_COLUMN_NAME:
        return values->codes[row] == 0;
    case TBED_COLUMN_TEXT:
        return values->offsets[row] == values->offsets[row + 1];
    }
    return false;
}

static const char *broken_column(const struct tbed_scan *scan, enum tbed_column_type type,
                                 const struct tbed_column_values *values, size_t row_count)
{
    uint32_t name_count = tbed_scan_name_count(scan);
    if (type == TBED_COLUMN_TEXT && values->offsets[0] != 0)
        return "the first text does not begin at 0";
    for (size_t row = 0; row < row_count; row++) {
        bool is_null = values->nulls != NULL && (values->nulls[row / 64] >> row % 64 & 1) != 0;
        if (is_null && !is_zero(values, type, row))
            return "a null has a value";
        if (type == TBED_COLUMN_NAME && !is_null && values->codes[row] >= name_count)
            return "a code has no name";
        if (type == TBED_COLUMN_TEXT && values->offsets[row] > values->offsets[row + 1])
            return "offsets fall";
        if (type == TBED_COLUMN_TEXT && values->offsets[row + 1] > 0 && values->text == NULL)
            return "a text is not there";
    }
    return NULL;
}

const char *rows_text_broken(const struct tbed_scan *scan, const struct tbed_table *table,
                             const struct tbed_batch *batch, uint64_t columns)
{
    if (batch->row_count == 0 || batch->row_count > TBED_BATCH_ROWS_MAX)
        return "a batch has no rows, or too many";
    for (size_t i = 0; i < table->column_count; i++) {
        enum tbed_column_type type = table->columns[i].type;
        const struct tbed_column_values *values = &batch->columns[i];
        if (columns != 0 && (columns >> i & 1) == 0) {
            if (has_values(values))
                return "a column that was not asked for has values";
            continue;
        }
        if (array_of(values, type) == NULL)
            return "a column has no values";
        const char *broken = broken_column(scan, type, values, batch->row_count);
        if (broken != NULL)
            return broken;
    }
    return NULL;
}
