/*
 * Whole scans; see table_sums.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tables/table_sums.h"

#include <string.h>

static uint64_t mix(uint64_t hash, const void *bytes, size_t nbytes)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < nbytes; i++)
        hash = (hash ^ at[i]) * 0x100000001B3u;
    return (hash ^ hash >> 29) * 0xD6E8FEB86659FD93u;
}

bool table_is_null(const struct tbed_batch *batch, uint32_t column, size_t row)
{
    const uint64_t *nulls = batch->columns[column].nulls;
    return nulls != NULL && (nulls[row / 64] >> row % 64 & 1) != 0;
}

static uint64_t mix_value(uint64_t hash, const struct tbed_scan *scan,
                          const struct tbed_column_values *values, size_t row)
{
    const char *text;
    size_t nbytes;
    if (values->i64 != NULL)
        return mix(hash, &values->i64[row], 8);
    if (values->u64 != NULL)
        return mix(hash, &values->u64[row], 8);
    if (values->f64 != NULL)
        return mix(hash, &values->f64[row], 8);
    if (values->codes != NULL) {
        tbed_scan_name(scan, values->codes[row], &text, &nbytes);
        return mix(hash, text, nbytes);
    }
    uint32_t begin = values->offsets[row], end = values->offsets[row + 1];
    return end > begin ? mix(hash, values->text + begin, end - begin) : mix(hash, NULL, 0);
}

uint64_t table_row_hash(const struct tbed_scan *scan, const struct tbed_table *table,
                        const struct tbed_batch *batch, size_t row)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const struct tbed_column_values *values = &batch->columns[i];
        bool is_asked = values->i64 != NULL || values->u64 != NULL || values->f64 != NULL ||
                        values->codes != NULL || values->offsets != NULL;
        if (!is_asked)
            continue;
        hash = table_is_null(batch, i, row) ? mix(hash, "null", 4) : mix_value(hash, scan, values, row);
    }
    return hash;
}

enum tbed_status table_sum(struct tbed_tables *tables, const struct tbed_table *table,
                           const struct tbed_scan_options *options, struct table_sum *sum_ret)
{
    struct tbed_scan *scan;
    struct tbed_batch batch;
    *sum_ret = (struct table_sum){0};
    enum tbed_status status = tbed_scan_open(tables, table, options, &scan, NULL);
    if (status != TBED_OK)
        return status;
    while ((status = tbed_scan_next(scan, &batch)) == TBED_OK) {
        sum_ret->rows += batch.row_count;
        for (size_t row = 0; row < batch.row_count; row++)
            sum_ret->hash += table_row_hash(scan, table, &batch, row);
    }
    tbed_scan_close(scan);
    return status == TBED_END ? TBED_OK : status;
}

uint32_t table_column(const struct tbed_table *table, const char *name)
{
    uint32_t i = 0;
    while (i < table->column_count && strcmp(table->columns[i].name, name) != 0)
        i++;
    return i;
}

uint64_t table_columns(const struct tbed_table *table, const char *names)
{
    uint64_t columns = 0;
    for (uint32_t i = 0; i < table->column_count; i++) {
        size_t nbytes = strlen(table->columns[i].name);
        for (const char *at = names; (at = strstr(at, table->columns[i].name)) != NULL; at += nbytes)
            if ((at == names || at[-1] == ',') && (at[nbytes] == ',' || at[nbytes] == '\0'))
                columns |= UINT64_C(1) << i;
    }
    return columns;
}
