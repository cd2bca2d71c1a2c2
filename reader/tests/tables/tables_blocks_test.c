/*
 * The table of blocks of memory, of traces made by hand: when each was freed, and what is live.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/analysis_fixture.h"
#include "reader/tests/tables/rows_text.h"

#define BIT(column) (UINT64_C(1) << (column))

/* By their places in the table. */
enum { TS, ADDRESS, SIZE, FREED_TS, LIFETIME, IS_LIVE, LIVE_BYTES, IS_REPLACED, IS_TEMPORARY, KIND };
#define USUAL                                                                                                \
    (BIT(TS) | BIT(ADDRESS) | BIT(SIZE) | BIT(FREED_TS) | BIT(LIVE_BYTES) | BIT(IS_REPLACED) |               \
     BIT(IS_TEMPORARY) | BIT(KIND))
#define HEAD "ts\taddress\tsize\tfreed_ts\tlive_bytes\tis_replaced\tis_temporary\tkind\n"

/* Times count from the first event. Closes the fixture. */
static void expect(struct fixture *f, const struct tbed_scan_options *given, const char *expected)
{
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_scan_options options = given != NULL ? *given : (struct tbed_scan_options){.columns = USUAL};
    struct tbed_tables *tables;
    options.size = sizeof options;
    assert_int_equal(tbed_tables_of_reader(reader, &tables), TBED_OK);
    char *found = rows_text_of(tables, "allocations", &options);
    assert_string_equal(found, expected);
    free(found);
    tbed_tables_close(tables);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void map(struct fixture *f, uint64_t tick, uint64_t address)
{
    uint64_t fixed[2] = {address, 0x3000};
    fixture_extended(f, 1, tick, 1, TBED_EXT_ALLOC, TBED_FUNCTION_MMAP, fixed, 2);
}

/* Section 6.2: a FREE of mmap with one argument. */
static void unmap(struct fixture *f, uint64_t tick, uint64_t address, uint64_t nbytes)
{
    uint64_t words[] = {
        tbed_extended_head_make((struct tbed_extended_head){
            .type = TBED_EXT_FREE, .aux = TBED_FUNCTION_MMAP, .nwords = 4, .argument_count = 1}),
        address, TBED_ARG_U64 | 8 << 8 | (uint64_t)TBED_ID_INVALID << 32, nbytes};
    fixture_event(f, 1, tick, TBED_TAG_EXTENDED, 0, words, 4);
}

static void blocks_come_when_they_end_and_live_ones_last(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_alloc(f, 1, 100, 1, 0x1000, 10);
    fixture_alloc(f, 1, 110, 1, 0x2000, 20);
    fixture_alloc(f, 1, 120, 1, 0x3000, 30);
    fixture_release(f, 1, 125, 0x3000);
    fixture_release(f, 2, 140, 0x1000);
    expect(f, NULL,
           HEAD "120\t12288\t30\t125\t0\t0\t1\theap\n"
                "100\t4096\t10\t140\t0\t0\t0\theap\n"
                "110\t8192\t20\tNULL\t20\t0\t0\theap\n");
}

static void a_moved_block_is_two(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_alloc(f, 1, 100, 1, 0x1000, 10);
    fixture_realloc(f, 1, 110, 111, 1, 0x1000, 0x2000, 40);
    fixture_release(f, 1, 120, 0x2000);
    expect(f, NULL,
           HEAD "100\t4096\t10\t111\t0\t0\t1\theap\n"
                "111\t8192\t40\t120\t0\t0\t1\theap\n");
}

static void a_block_whose_free_is_missing_ends_when_its_address_is_used_again(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    fixture_alloc(f, 1, 100, 1, 0x1000, 10);
    fixture_alloc(f, 1, 130, 1, 0x1000, 20);
    fixture_release(f, 1, 140, 0x9000); /* of nothing */
    fixture_alloc(f, 1, 150, 1, 0, 70); /* failed */
    expect(f, NULL,
           HEAD "100\t4096\t10\t130\t0\t1\t0\theap\n"
                "130\t4096\t20\tNULL\t20\t0\t0\theap\n");
}

static void a_mapping_is_one_block_whatever_was_cut_from_it(void **state)
{
    struct fixture *f = fixture_new(4096);
    (void)state;
    map(f, 100, 0x10000);
    map(f, 110, 0x20000);
    unmap(f, 120, 0x11000, 0x1000); /* in the middle: two pieces are left */
    unmap(f, 130, 0x20000, 0x1000);
    unmap(f, 140, 0x21000, 0x2000); /* the rest */
    expect(f, NULL,
           HEAD "110\t131072\t12288\t140\t0\t0\t0\tmapping\n"
                "100\t65536\t12288\tNULL\t8192\t0\t0\tmapping\n");
}

static void one_event_may_end_more_blocks_than_a_batch_has(void **state)
{
    struct fixture *f = fixture_new(65536);
    struct tbed_tables *tables;
    enum { MAPPINGS = 20000 };
    (void)state;
    for (uint64_t i = 0; i < MAPPINGS; i++)
        map(f, 100 + i, (i + 1) << 14);
    unmap(f, 100000, 1 << 14, UINT64_C(1) << 40);
    struct tbed_reader *reader = fixture_open(f);
    assert_int_equal(tbed_tables_of_reader(reader, &tables), TBED_OK);
    const struct tbed_scan_options options = {.size = sizeof options, .columns = BIT(FREED_TS)};
    char *found = rows_text_of(tables, "allocations", &options);
    size_t lines = 0;
    for (const char *at = found; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(lines, 1 + MAPPINGS);
    assert_null(strstr(found, "NULL"));
    free(found);
    tbed_tables_close(tables);
    tbed_reader_close(reader);
    fixture_free(f);
}

/* Streams 1 and 2 are threads of processes 8 and 9, which use the same address. */
static struct fixture *two_processes(void)
{
    struct fixture *f = fixture_new(4096);
    for (uint32_t stream = 1; stream <= 2; stream++) {
        fixture_stream_record(f, stream, 7 + stream);
        fixture_process(f, 7 + stream, 99 + stream);
        fixture_alloc(f, stream, 100 + stream, 1, 0x1000, 10 * stream);
    }
    return f;
}

static void processes_follow_each_other_and_do_not_share_addresses(void **state)
{
    (void)state;
    expect(two_processes(), NULL,
           HEAD "101\t4096\t10\tNULL\t10\t0\t0\theap\n"
                "102\t4096\t20\tNULL\t20\t0\t0\theap\n");
}

static void a_condition_on_the_process_leaves_the_others_out(void **state)
{
    const struct tbed_table *table = tbed_table_find("allocations");
    struct tbed_constraint constraint = {.compare = TBED_EQUAL, .number = 9};
    const struct tbed_scan_options options = {
        .columns = BIT(SIZE), .constraints = &constraint, .constraint_count = 1};
    (void)state;
    while (strcmp(table->columns[constraint.column].name, "process_id") != 0)
        constraint.column++;
    expect(two_processes(), &options, "size\n20\n");
}

static void a_cancelled_scan_ends(void **state)
{
    struct tbed_batch batch;
    struct tbed_scan *scan;
    struct tbed_tables *tables;
    bool is_cancelled = true;
    const struct tbed_scan_options options = {.size = sizeof options, .is_cancelled = &is_cancelled};
    (void)state;
    struct fixture *f = two_processes();
    struct tbed_reader *reader = fixture_open(f);
    assert_int_equal(tbed_tables_of_reader(reader, &tables), TBED_OK);
    assert_int_equal(tbed_scan_open(tables, tbed_table_find("allocations"), &options, &scan, NULL), TBED_OK);
    assert_int_equal(tbed_scan_next(scan, &batch), TBED_ERR_CANCELLED);
    tbed_scan_close(scan);
    tbed_tables_close(tables);
    tbed_reader_close(reader);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_come_when_they_end_and_live_ones_last),
        cmocka_unit_test(a_moved_block_is_two),
        cmocka_unit_test(a_block_whose_free_is_missing_ends_when_its_address_is_used_again),
        cmocka_unit_test(a_mapping_is_one_block_whatever_was_cut_from_it),
        cmocka_unit_test(one_event_may_end_more_blocks_than_a_batch_has),
        cmocka_unit_test(processes_follow_each_other_and_do_not_share_addresses),
        cmocka_unit_test(a_condition_on_the_process_leaves_the_others_out),
        cmocka_unit_test(a_cancelled_scan_ends),
    };
    return cmocka_run_group_tests_name("tables_blocks", tests, NULL, NULL);
}
