/*
 * A scan of any table: its options, its constraints and its batches.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/tables/base/table.h"

static enum tbed_status fail(struct tbed_error *error, enum tbed_status status)
{
    if (error != NULL)
        *error = (struct tbed_error){.status = status, .offset = UINT64_MAX};
    return status;
}

/* NULL: a foreign file that has not been imported. */
static struct tbed_reader *reader_of(const struct tbed_tables *tables)
{
    return __atomic_load_n(&tables->reader, __ATOMIC_ACQUIRE);
}

/* ---- Constraints ---- */

const struct tbed_constraint *tbed_scan_equal(const struct tbed_scan *scan, uint32_t column)
{
    for (size_t i = 0; i < scan->options.constraint_count; i++) {
        const struct tbed_constraint *constraint = &scan->options.constraints[i];
        if (constraint->column == column && constraint->compare == TBED_EQUAL)
            return constraint;
    }
    return NULL;
}

/* The numbers that one constraint allows. */
static void range_of(const struct tbed_constraint *constraint, int64_t *least, int64_t *greatest)
{
    int64_t number = constraint->number;
    switch (constraint->compare) {
    case TBED_EQUAL:
        *least = *greatest = number;
        break;
    case TBED_LESS:
        *greatest = number > INT64_MIN ? number - 1 : INT64_MIN;
        break;
    case TBED_LESS_EQUAL:
        *greatest = number;
        break;
    case TBED_GREATER:
        *least = number < INT64_MAX ? number + 1 : INT64_MAX;
        break;
    case TBED_GREATER_EQUAL:
        *least = number;
        break;
    }
}

void tbed_scan_range(const struct tbed_scan *scan, uint32_t column, int64_t *least_ret, int64_t *greatest_ret)
{
    *least_ret = INT64_MIN;
    *greatest_ret = INT64_MAX;
    for (size_t i = 0; i < scan->options.constraint_count; i++) {
        const struct tbed_constraint *constraint = &scan->options.constraints[i];
        int64_t least = INT64_MIN, greatest = INT64_MAX;
        if (constraint->column != column || constraint->is_text)
            continue;
        range_of(constraint, &least, &greatest);
        *least_ret = least > *least_ret ? least : *least_ret;
        *greatest_ret = greatest < *greatest_ret ? greatest : *greatest_ret;
    }
}

static bool has_parameters(const struct tbed_scan *scan)
{
    const struct tbed_table *table = &scan->source->about;
    for (uint32_t i = 0; i < table->column_count; i++)
        if (table->columns[i].is_parameter && tbed_scan_equal(scan, i) == NULL)
            return false;
    return true;
}

/* ---- Opening ---- */

static bool copy_constraints(struct tbed_scan *scan)
{
    size_t nbytes = scan->options.constraint_count * sizeof *scan->options.constraints;
    struct tbed_constraint *copy = malloc(nbytes + 1);
    if (copy != NULL && nbytes > 0)
        memcpy(copy, scan->options.constraints, nbytes);
    scan->options.constraints = copy;
    return copy != NULL;
}

static uint64_t all_columns(const struct tbed_table *table)
{
    return table->column_count < 64 ? (UINT64_C(1) << table->column_count) - 1 : UINT64_MAX;
}

static bool needs_reader(const struct tbed_scan *scan)
{
    bool is_foreign = reader_of(scan->tables) == NULL;
    return !scan->is_in_place &&
           !(is_foreign && scan->source->needs_statistics && scan->options.filter == NULL);
}

static enum tbed_status open_source(struct tbed_scan *scan, struct tbed_error *error)
{
    const struct tbed_table *table = &scan->source->about;
    if (!has_parameters(scan))
        return fail(error, TBED_ERR_ARGUMENT);
    scan->is_in_place = reader_of(scan->tables) == NULL && scan->tables->foreign_calls->reads(scan);
    if (needs_reader(scan)) {
        scan->reader = tbed_tables_reader(scan->tables, error);
        if (scan->reader == NULL)
            return error->status;
    }
    if (!tbed_table_rows_open(&scan->rows, table, scan->options.columns, &scan->names))
        return fail(error, TBED_ERR_MEMORY);
    enum tbed_status status = TBED_OK;
    if (scan->is_in_place)
        status = scan->tables->foreign_calls->scan_open(scan);
    else if (scan->source->open != NULL)
        status = scan->source->open(scan);
    return status == TBED_OK ? TBED_OK : fail(error, status);
}

enum tbed_status tbed_scan_open(struct tbed_tables *tables, const struct tbed_table *table,
                                const struct tbed_scan_options *given, struct tbed_scan **scan_ret,
                                struct tbed_error *error_ret)
{
    struct tbed_error error;
    struct tbed_scan *scan = calloc(1, sizeof *scan);
    if (scan == NULL)
        return fail(error_ret, TBED_ERR_MEMORY);
    tbed_table_names_open(&scan->names);
    scan->tables = tables;
    scan->source = (const struct table_source *)table; /* 'about' is its first member */
    if (!tbed_options_take(&scan->options, sizeof scan->options, given)) {
        tbed_table_names_free(&scan->names);
        free(scan);
        return fail(error_ret, TBED_ERR_ARGUMENT);
    }
    uint64_t all = all_columns(table);
    scan->options.columns = scan->options.columns != 0 ? scan->options.columns & all : all;
    enum tbed_status status =
        copy_constraints(scan) ? open_source(scan, &error) : fail(&error, TBED_ERR_MEMORY);
    if (status == TBED_OK) {
        *scan_ret = scan;
        return TBED_OK;
    }
    tbed_scan_close(scan);
    if (error_ret != NULL)
        *error_ret = error;
    return status;
}

void tbed_scan_close(struct tbed_scan *scan)
{
    if (scan == NULL)
        return;
    if (scan->is_in_place && scan->rows.table != NULL)
        scan->tables->foreign_calls->scan_close(scan);
    else if (scan->source->close != NULL && scan->rows.table != NULL)
        scan->source->close(scan);
    tbed_table_rows_free(&scan->rows);
    tbed_table_names_free(&scan->names);
    free((void *)(uintptr_t)scan->options.constraints);
    free(scan);
}

/* ---- Batches ---- */

static bool is_cancelled(const struct tbed_scan *scan)
{
    return scan->options.is_cancelled != NULL &&
           __atomic_load_n(scan->options.is_cancelled, __ATOMIC_RELAXED);
}

static enum tbed_status fill(struct tbed_scan *scan, struct tbed_batch *batch)
{
    tbed_table_rows_clear(&scan->rows);
    enum tbed_status status = scan->source->fill(scan);
    if (scan->rows.is_out_of_memory)
        return TBED_ERR_MEMORY;
    if (status != TBED_OK && status != TBED_END)
        return status;
    *batch = (struct tbed_batch){.row_count = scan->rows.count, .columns = scan->rows.values};
    return scan->rows.count > 0 ? TBED_OK : TBED_END;
}

enum tbed_status tbed_scan_next(struct tbed_scan *scan, struct tbed_batch *batch_ret)
{
    if (is_cancelled(scan))
        return TBED_ERR_CANCELLED;
    if (scan->is_in_place)
        return scan->tables->foreign_calls->scan_next(scan, batch_ret);
    return scan->source->next != NULL ? scan->source->next(scan, batch_ret) : fill(scan, batch_ret);
}

void tbed_scan_name(const struct tbed_scan *scan, uint32_t code, const char **text_ret, size_t *nbytes_ret)
{
    tbed_table_names_get(&scan->names, code, text_ret, nbytes_ret);
}

uint32_t tbed_scan_name_count(const struct tbed_scan *scan)
{
    return __atomic_load_n(&scan->names.count, __ATOMIC_ACQUIRE);
}

/* ---- Tables ---- */

enum tbed_status tbed_tables_of_reader(struct tbed_reader *reader, struct tbed_tables **tables_ret)
{
    struct tbed_tables *tables = calloc(1, sizeof *tables);
    if (tables == NULL)
        return TBED_ERR_MEMORY;
    tables->reader = reader;
    pthread_mutex_init(&tables->lock, NULL);
    *tables_ret = tables;
    return TBED_OK;
}

void tbed_tables_close(struct tbed_tables *tables)
{
    if (tables == NULL)
        return;
    if (tables->nesting != NULL)
        tables->free_nesting(tables->nesting);
    pthread_mutex_destroy(&tables->lock);
    if (tables->foreign != NULL)
        tables->foreign_calls->close(tables);
    if (tables->owns_reader)
        tbed_reader_close(tables->reader);
    free(tables->foreign_damages);
    free(tables);
}

struct tbed_reader *tbed_tables_reader(struct tbed_tables *tables, struct tbed_error *error_ret)
{
    if (reader_of(tables) != NULL)
        return tables->reader;
    pthread_mutex_lock(&tables->lock);
    struct tbed_reader *reader = tables->reader;
    if (reader == NULL)
        reader = tables->foreign_calls->import(tables, error_ret);
    tables->owns_reader = true;
    __atomic_store_n(&tables->reader, reader, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&tables->lock);
    return reader;
}

uint64_t tbed_tables_damage_count(const struct tbed_tables *tables)
{
    struct tbed_reader *reader = reader_of(tables);
    return reader != NULL ? tables->foreign_damage_count + tbed_damage_count(reader)
                          : tables->foreign_calls->damage_count(tables);
}

uint64_t tbed_table_row_estimate(struct tbed_tables *tables, const struct tbed_table *table)
{
    const struct table_source *source = (const struct table_source *)table;
    uint64_t count = source->row_estimate != NULL ? source->row_estimate(tables) : 0;
    return count > 0 ? count : 1;
}
