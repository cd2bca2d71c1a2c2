/*
 * What every table has to keep, over the golden files: names and columns, batches, columns that are not asked for,
 * constraints that are advice, parameters.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tables/rows_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const traces[] = {"recorded", "events", "records", "strings", "lost", "ring", "fork"};
#define TRACE_COUNT (sizeof traces / sizeof traces[0])

static struct tbed_tables *open_golden(size_t index)
{
    struct tbed_tables *tables;
    char path[64];
    snprintf(path, sizeof path, "spec/golden/valid/%s.tbed", traces[index]);
    assert_int_equal(tbed_tables_open(path, &tables, NULL), TBED_OK);
    return tables;
}

static bool has_parameter(const struct tbed_table *table)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].is_parameter)
            return true;
    return false;
}

/* ---- Descriptions ---- */

static void expect_column(const struct tbed_table *table, size_t index)
{
    const struct tbed_column *column = &table->columns[index];
    assert_true(column->name != NULL && column->name[0] != '\0');
    assert_true(column->summary != NULL && column->summary[0] != '\0');
    for (size_t i = 0; i < index; i++)
        assert_string_not_equal(table->columns[i].name, column->name);
}

static void tables_and_their_columns_have_names_of_their_own(void **state)
{
    const struct tbed_table *table;
    (void)state;
    for (size_t i = 0; (table = tbed_table_get(i)) != NULL; i++) {
        assert_ptr_equal(tbed_table_find(table->name), table);
        assert_true(table->column_count > 0 && table->column_count <= 64);
        for (size_t k = 0; k < table->column_count; k++)
            expect_column(table, k);
    }
    assert_null(tbed_table_find("no such table"));
    assert_null(tbed_table_find(""));
}

/* ---- Columns ---- */

/* The column of a text of all columns, a line for each row; the caller frees it. */
static char *cut_column(const char *all, size_t column)
{
    char *cut = malloc(strlen(all) + 1), *at = cut;
    size_t now = 0;
    assert_non_null(cut);
    for (; *all != '\0'; all++) {
        bool ends_line = *all == '\n';
        if (now == column && *all != '\t' && !ends_line)
            *at++ = *all;
        if (ends_line)
            *at++ = '\n';
        now = ends_line ? 0 : now + (*all == '\t');
    }
    *at = '\0';
    return cut;
}

/* Each column by itself has the same values. */
static void expect_columns(struct tbed_tables *tables, const struct tbed_table *table)
{
    char *all = rows_text_of(tables, table->name, NULL);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tbed_scan_options options = {
            .size = sizeof options, .columns = UINT64_C(1) << i, .thread_count = 1};
        char *alone = rows_text_of(tables, table->name, &options), *cut = cut_column(all, i);
        assert_string_equal(alone, cut);
        free(alone);
        free(cut);
    }
    free(all);
}

static void a_column_has_the_same_values_alone(void **state)
{
    const struct tbed_table *table;
    (void)state;
    for (size_t k = 0; k < TRACE_COUNT; k++) {
        struct tbed_tables *tables = open_golden(k);
        for (size_t i = 0; (table = tbed_table_get(i)) != NULL; i++)
            if (!has_parameter(table))
                expect_columns(tables, table);
        tbed_tables_close(tables);
    }
}

/* ---- Constraints ---- */

static bool is_null(const struct tbed_column_values *values, size_t row)
{
    return values->nulls != NULL && (values->nulls[row / 64] >> row % 64 & 1) != 0;
}

/* How many rows have the number in a column. */
static size_t count_rows(struct tbed_tables *tables, const struct tbed_table *table, uint32_t column,
                         const struct tbed_constraint *constraint, int64_t number)
{
    struct tbed_scan_options options = {.size = sizeof options,
                                        .columns = UINT64_C(1) << column,
                                        .constraints = constraint,
                                        .constraint_count = constraint != NULL,
                                        .thread_count = 1};
    struct tbed_batch batch;
    struct tbed_scan *scan;
    enum tbed_status status;
    size_t count = 0;
    assert_int_equal(tbed_scan_open(tables, table, &options, &scan, NULL), TBED_OK);
    while ((status = tbed_scan_next(scan, &batch)) == TBED_OK)
        for (size_t row = 0; row < batch.row_count; row++)
            count += !is_null(&batch.columns[column], row) && batch.columns[column].i64[row] == number;
    assert_int_equal(status, TBED_END);
    tbed_scan_close(scan);
    return count;
}

/* A value of a column of integers. False: there is none. */
static bool some_value(struct tbed_tables *tables, const struct tbed_table *table, uint32_t column,
                       int64_t *number_ret)
{
    const struct tbed_scan_options options = {.size = sizeof options, .columns = UINT64_C(1) << column};
    struct tbed_batch batch;
    struct tbed_scan *scan;
    assert_int_equal(tbed_scan_open(tables, table, &options, &scan, NULL), TBED_OK);
    bool has_any = tbed_scan_next(scan, &batch) == TBED_OK;
    has_any = has_any && !is_null(&batch.columns[column], batch.row_count / 2);
    if (has_any)
        *number_ret = batch.columns[column].i64[batch.row_count / 2];
    tbed_scan_close(scan);
    return has_any;
}

static void a_constraint_loses_no_row_for_which_it_holds(void **state)
{
    const struct tbed_table *table;
    (void)state;
    for (size_t k = 0; k < TRACE_COUNT; k++) {
        struct tbed_tables *tables = open_golden(k);
        for (size_t i = 0; (table = tbed_table_get(i)) != NULL; i++)
            for (uint32_t column = 0; column < table->column_count && !has_parameter(table); column++) {
                struct tbed_constraint constraint = {.column = column, .compare = TBED_EQUAL};
                if (table->columns[column].type != TBED_COLUMN_I64 ||
                    !some_value(tables, table, column, &constraint.number))
                    continue;
                size_t expected = count_rows(tables, table, column, NULL, constraint.number);
                for (unsigned way = TBED_EQUAL; way <= TBED_GREATER_EQUAL; way++) {
                    constraint.compare = (enum tbed_compare)way;
                    if (way != TBED_LESS && way != TBED_GREATER)
                        assert_int_equal(count_rows(tables, table, column, &constraint, constraint.number),
                                         expected);
                }
            }
        tbed_tables_close(tables);
    }
}

static void a_table_that_is_a_function_needs_its_parameter(void **state)
{
    const struct tbed_table *table = tbed_table_find("histogram");
    struct tbed_tables *tables = open_golden(0);
    struct tbed_constraint label = {.is_text = true, .text = "a\0b", .nbytes = 3};
    struct tbed_scan_options options = {.size = sizeof options};
    struct tbed_scan *scan;
    (void)state;
    assert_int_equal(tbed_scan_open(tables, table, &options, &scan, NULL), TBED_ERR_ARGUMENT);
    options.constraints = &label;
    options.constraint_count = 1;
    assert_int_equal(tbed_scan_open(tables, table, &options, &scan, NULL), TBED_ERR_ARGUMENT);
    label.compare = TBED_LESS;
    assert_int_equal(tbed_scan_open(tables, table, &options, &scan, NULL), TBED_ERR_ARGUMENT);
    label = (struct tbed_constraint){.number = 1};
    assert_int_equal(tbed_scan_open(tables, table, &options, &scan, NULL), TBED_ERR_ARGUMENT);
    tbed_tables_close(tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_and_their_columns_have_names_of_their_own),
        cmocka_unit_test(a_column_has_the_same_values_alone),
        cmocka_unit_test(a_constraint_loses_no_row_for_which_it_holds),
        cmocka_unit_test(a_table_that_is_a_function_needs_its_parameter),
    };
    return cmocka_run_group_tests_name("tables_rules", tests, NULL, NULL);
}
