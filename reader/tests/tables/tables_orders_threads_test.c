/*
 * Every table of every golden trace and profile has the same rows in order and in any order, with one thread and with several;
 * so has a profile that is read in place and its import. The table of events has the events of the merge.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tables/table_sums.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <tracebed/exchange.h>

#include <cmocka.h>

static bool has_parameter(const struct tbed_table *table)
{
    bool has = false;
    for (size_t i = 0; i < table->column_count; i++)
        has = has || table->columns[i].is_parameter;
    return has;
}

static struct table_sum sum_of(struct tbed_tables *tables, const struct tbed_table *table, uint64_t columns,
                               bool any_order, unsigned threads)
{
    struct tbed_scan_options options = {
        .size = sizeof options, .columns = columns, .any_order = any_order, .thread_count = threads};
    struct table_sum sum;
    assert_int_equal(table_sum(tables, table, &options, &sum), TBED_OK);
    return sum;
}

static void expect_equal(const char *path, const char *table, struct table_sum a, struct table_sum b)
{
    if (a.rows != b.rows || a.hash != b.hash)
        fail_msg("%s: %s differs (%llu and %llu rows)", path, table, (unsigned long long)a.rows,
                 (unsigned long long)b.rows);
}

static void expect_tables(const char *path, struct tbed_tables *tables)
{
    const struct tbed_table *table;
    for (size_t i = 0; (table = tbed_table_get(i)) != NULL; i++) {
        if (has_parameter(table))
            continue;
        struct table_sum ordered = sum_of(tables, table, 0, false, 1);
        expect_equal(path, table->name, ordered, sum_of(tables, table, 0, true, 1));
        expect_equal(path, table->name, ordered, sum_of(tables, table, 0, true, 3));
        assert_true(tbed_table_row_estimate(tables, table) > 0);
        assert_ptr_equal(tbed_table_find(table->name), table);
        /* A column is the same if it is the only one. */
        for (uint32_t column = 0; column < table->column_count; column++)
            expect_equal(path, table->columns[column].name,
                         sum_of(tables, table, UINT64_C(1) << column, false, 1),
                         sum_of(tables, table, UINT64_C(1) << column, true, 1));
    }
}

static void expect_events(const char *path, struct tbed_tables *tables)
{
    struct tbed_reader *reader = tbed_tables_reader(tables, NULL);
    const struct tbed_table *table = tbed_table_find("events");
    struct tbed_scan_options options = {.size = sizeof options,
                                        .columns = table_columns(table, "ts,track,id")};
    struct tbed_merge *merge;
    struct tbed_event event;
    struct tbed_scan *scan;
    struct tbed_batch batch;
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    assert_int_equal(tbed_scan_open(tables, table, &options, &scan, NULL), TBED_OK);
    while (tbed_scan_next(scan, &batch) == TBED_OK)
        for (size_t row = 0; row < batch.row_count; row++) {
            assert_int_equal(tbed_merge_next(merge, &event), TBED_OK);
            if (batch.columns[table_column(table, "id")].i64[row] != (int64_t)(event.offset / 8))
                fail_msg("%s: row %zu is another event", path, row);
            assert_int_equal(batch.columns[table_column(table, "ts")].i64[row],
                             tbed_ticks_to_ns(reader, event.tick));
            assert_int_equal(batch.columns[table_column(table, "track")].i64[row], event.stream);
        }
    assert_int_equal(tbed_merge_next(merge, &event), TBED_END);
    tbed_scan_close(scan);
    tbed_merge_close(merge);
}

static void expect_file(const char *path)
{
    struct tbed_tables *tables;
    if (tbed_tables_open(path, &tables, NULL) != TBED_OK)
        return;
    expect_tables(path, tables);
    expect_events(path, tables);
    tbed_tables_close(tables);
}

static size_t each_file(const char *folder, void (*expect)(const char *path))
{
    DIR *files = opendir(folder);
    struct dirent *file;
    char path[512];
    size_t count = 0;
    assert_non_null(files);
    while ((file = readdir(files)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
        if (file->d_name[0] == '.')
            continue;
        expect(path);
        count++;
    }
    closedir(files);
    return count;
}

static void golden_traces_have_the_same_rows_in_any_order(void **state)
{
    (void)state;
    assert_true(each_file("spec/golden/valid", expect_file) > 10);
}

/* ---- Profiles ---- */

static const struct {
    const char *table, *columns;
} in_place[] = {
    {"spans", "ts,dur,label,name,args,category,thread,process,tid,pid,function,file,line,end_ts,is_open"},
    {"spans", "label,dur"},
    {"instants", "ts,label,name,args,category,thread,process,tid,pid"},
    {"events", "type,label,name,args,category,value,dur,key,thread,process"},
};

static void expect_profile(const char *path)
{
    struct tbed_tables *profile, *import;
    struct tbed_reader *reader;
    if (tbed_format_of_file(path) == NULL || tbed_tables_open(path, &profile, NULL) != TBED_OK)
        return;
    assert_int_equal(tbed_import_open(path, &reader, NULL, NULL), TBED_OK);
    assert_int_equal(tbed_tables_of_reader(reader, &import), TBED_OK);
    for (size_t i = 0; i < sizeof in_place / sizeof in_place[0]; i++) {
        const struct tbed_table *table = tbed_table_find(in_place[i].table);
        /* An import gives high ids new numbers, by which undefined ones are called. */
        if (strstr(path, "odd_names") != NULL && strstr(in_place[i].columns, "name") != NULL)
            continue;
        uint64_t columns = table_columns(table, in_place[i].columns);
        expect_equal(path, table->name, sum_of(profile, table, columns, true, 2),
                     sum_of(import, table, columns, true, 1));
    }
    tbed_tables_close(import);
    tbed_reader_close(reader);
    tbed_tables_close(profile);
}

static void profiles_in_place_have_the_rows_of_their_imports(void **state)
{
    (void)state;
    assert_true(each_file("spec/golden/measureme", expect_profile) > 0);
}

static void tables_of_profiles_have_the_same_rows_in_any_order(void **state)
{
    (void)state;
    expect_file("spec/golden/measureme/CUT_in_the_middle.mm_profdata");
    expect_file("spec/golden/measureme/CUT_index.mm_profdata");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_traces_have_the_same_rows_in_any_order),
        cmocka_unit_test(profiles_in_place_have_the_rows_of_their_imports),
        cmocka_unit_test(tables_of_profiles_have_the_same_rows_in_any_order),
    };
    return cmocka_run_group_tests_name("tables_orders", tests, NULL, NULL);
}
