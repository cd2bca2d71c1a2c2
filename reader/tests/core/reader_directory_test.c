/*
 * What a reader makes of the directory: blocks that it names are found without a look at their pages, a page that is
 * gone is reported with what is known of it, and a wrong entry costs nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/file/directory.h"
#include "reader/tests/core/trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE_NBYTES 4096

/* Sealed event blocks of stream 7 in the pages from 1 to 'count', with two events each. */
static struct trace blocks_make(uint32_t count, bool is_shut)
{
    struct trace trace = trace_make(count + 1);
    for (uint32_t i = 0; i < count; i++) {
        struct trace_block block = trace_block_begin(&trace, 1 + i, TBED_BLOCK_EVENTS, 7, i);
        trace_event(&block, TBED_TAG_BEGIN, 42, 10);
        trace_event(&block, TBED_TAG_END, 42, 20 + i);
        trace_seal(&block);
    }
    if (is_shut)
        trace_shut(&trace);
    trace_directory(&trace);
    trace.keeps_directory = true;
    return trace;
}

static uint8_t *page_at(const struct trace *trace, uint32_t page)
{
    return trace->bytes + (size_t)trace_page(trace, page) * PAGE_NBYTES;
}

static struct tbed_disk_entry *entry_at(const struct trace *trace, uint32_t page)
{
    uint64_t offset = tbed_directory_entry_offset(PAGE_NBYTES, trace_page(trace, page));
    return (struct tbed_disk_entry *)(trace->bytes + offset);
}

static struct tbed_damage only_damage(const struct tbed_reader *reader, enum tbed_status status)
{
    struct tbed_damage damage = {.status = TBED_OK};
    assert_int_equal(tbed_damage_count(reader), 1);
    assert_true(tbed_damage_get(reader, 0, &damage));
    assert_string_equal(tbed_status_name(damage.status), tbed_status_name(status));
    return damage;
}

/* ---- Pages are left alone ---- */

static void expect_untouched(struct trace *trace, uint32_t count)
{
    struct tbed_trace_info info;
    for (uint32_t page = 1; page <= count; page++)
        assert_int_equal(mprotect(page_at(trace, page), PAGE_NBYTES, PROT_NONE), 0);
    struct tbed_reader *reader = trace_open(trace);
    tbed_reader_info(reader, &info);
    assert_int_equal(info.event_block_count, count);
    assert_int_equal(info.first_tick, 1000);
    assert_int_equal(info.last_tick, 1020 + count - 1);
    assert_int_equal(tbed_damage_count(reader), 0);
    for (uint32_t page = 1; page <= count; page++)
        assert_int_equal(mprotect(page_at(trace, page), PAGE_NBYTES, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(trace_events(reader, 7, NULL, 0), 2 * (size_t)count);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    tbed_reader_close(reader);
    trace_free(trace);
}

static void opening_a_closed_trace_touches_no_block(void **state)
{
    struct trace trace = blocks_make(80, true);
    (void)state;
    expect_untouched(&trace, 80);
}

static void opening_a_killed_trace_touches_no_sealed_block(void **state)
{
    struct trace trace = blocks_make(80, false);
    (void)state;
    expect_untouched(&trace, 80);
}

static void blocks_before_a_window_are_not_touched(void **state)
{
    struct trace trace = blocks_make(10, true);
    struct tbed_cursor *cursor;
    struct tbed_event event;
    size_t count = 0;
    (void)state;
    for (uint32_t page = 1; page <= 5; page++)
        assert_int_equal(mprotect(page_at(&trace, page), PAGE_NBYTES, PROT_NONE), 0);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_cursor_open(reader, 7, &cursor), TBED_OK);
    tbed_cursor_limit(cursor, 1025, UINT64_MAX); /* the last event of block 5 */
    while (tbed_cursor_next(cursor, &event) == TBED_OK)
        count++;
    assert_int_equal(count, 10);
    tbed_cursor_close(cursor);
    tbed_reader_close(reader);
    for (uint32_t page = 1; page <= 5; page++)
        assert_int_equal(mprotect(page_at(&trace, page), PAGE_NBYTES, PROT_READ | PROT_WRITE), 0);
    trace_free(&trace);
}

static void blocks_without_entries_are_read_from_the_one_that_ends_in_the_window(void **state)
{
    struct trace trace = blocks_make(10, false);
    struct tbed_cursor *cursor;
    struct tbed_event event;
    size_t count = 0;
    (void)state;
    for (uint32_t page = 1; page <= 10; page++)
        memset(entry_at(&trace, page), 0, TBED_ENTRY_NBYTES);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_cursor_open(reader, 7, &cursor), TBED_OK);
    tbed_cursor_limit(cursor, 1025, UINT64_MAX); /* the last event of block 5 */
    while (tbed_cursor_next(cursor, &event) == TBED_OK)
        count++;
    assert_int_equal(count, 10);
    tbed_cursor_close(cursor);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* ---- Pages that are gone ---- */

static void expect_lost(struct trace *trace, enum tbed_status status)
{
    struct tbed_reader *reader = trace_open(trace);
    assert_int_equal(trace_events(reader, 7, NULL, 0), 4);
    struct tbed_damage damage = only_damage(reader, status); /* reading the events reports it */
    assert_int_equal(damage.page, 2);
    assert_int_equal(damage.kind, TBED_BLOCK_EVENTS);
    assert_int_equal(damage.stream, 7);
    assert_int_equal(damage.sequence, 1);
    assert_int_equal(damage.first_tick, 1000);
    assert_int_equal(damage.last_tick, 1021);
    assert_int_equal(tbed_reader_verify(reader), status);
    only_damage(reader, status);
    tbed_reader_close(reader);
    trace_free(trace);
}

static void zeroed_page_of_a_closed_trace_is_lost(void **state)
{
    struct trace trace = blocks_make(3, true);
    (void)state;
    memset(page_at(&trace, 2), 0, PAGE_NBYTES);
    expect_lost(&trace, TBED_ERR_BLOCK_LOST);
}

static void zeroed_page_of_a_killed_trace_is_lost(void **state)
{
    struct trace trace = blocks_make(3, false);
    (void)state;
    memset(page_at(&trace, 2), 0, PAGE_NBYTES);
    expect_lost(&trace, TBED_ERR_BLOCK_LOST);
}

static void page_that_was_replaced_by_another_is_reported_as_what_it_was(void **state)
{
    struct trace trace = blocks_make(3, false);
    (void)state;
    memcpy(page_at(&trace, 2), page_at(&trace, 3), PAGE_NBYTES);
    expect_lost(&trace, TBED_ERR_BLOCK_PAGE);
}

static void page_of_another_file_is_reported_as_what_it_was(void **state)
{
    struct trace trace = blocks_make(3, true);
    (void)state;
    ((struct tbed_disk_block *)page_at(&trace, 2))->file_id = tbed_le64_make(5);
    expect_lost(&trace, TBED_ERR_BLOCK_FILE);
}

static void unsealed_block_whose_page_is_gone_is_lost(void **state)
{
    struct trace trace = trace_make(3);
    (void)state;
    struct trace_block block = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 7, 0);
    trace_event(&block, TBED_TAG_BEGIN, 42, 10);
    trace.keeps_directory = true;
    memset(page_at(&trace, 1), 0, PAGE_NBYTES);
    struct tbed_reader *reader = trace_open(&trace);
    struct tbed_damage damage = only_damage(reader, TBED_ERR_BLOCK_LOST);
    assert_int_equal(damage.stream, 7);
    assert_int_equal(damage.first_tick, 1000);
    assert_int_equal(damage.last_tick, 1000); /* the end is not known */
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void each_begun_page_that_a_killed_trace_lacks_is_cut(void **state)
{
    struct trace trace = blocks_make(6, false);
    struct tbed_trace_info info;
    struct tbed_damage damage;
    (void)state;
    trace_header(&trace)->page_count = tbed_le64_make(9);
    trace.nbytes = 4 * PAGE_NBYTES;
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_damage_count(reader), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(tbed_damage_get(reader, i, &damage));
        assert_int_equal(damage.status, TBED_ERR_BLOCK_CUT);
        assert_int_equal(damage.page, 4 + i);
        assert_int_equal(damage.stream, 7);
        assert_int_equal(damage.sequence, 3 + i);
        assert_int_equal(damage.last_tick, 1023 + i);
    }
    tbed_reader_info(reader, &info);
    assert_int_equal(info.unwritten_page_count, 2);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void cell_that_is_gone_is_missed_by_its_page(void **state)
{
    struct trace trace = trace_make(2);
    (void)state;
    trace_cells_page(&trace, 1, 9, 0, 0);
    for (uint32_t cell = 1; cell <= 4; cell++) {
        struct trace_block block = trace_cell_begin(&trace, 1, cell, TBED_BLOCK_EVENTS, cell, 0);
        trace_event(&block, TBED_TAG_INSTANT, 42, 1);
        block.trace = NULL;
        trace_seal(&block);
    }
    trace_shut(&trace);
    trace.keeps_directory = true;
    memset(page_at(&trace, 1) + 2 * 512, 0, 512);
    struct tbed_reader *reader = trace_open(&trace);
    struct tbed_damage damage = only_damage(reader, TBED_ERR_BLOCK_LOST);
    assert_int_equal(damage.page, 1);
    assert_int_equal(damage.cell, 2);
    assert_int_equal(damage.detail, 1);
    assert_int_equal(trace_events(reader, 0, NULL, 0), 3);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* ---- A wrong directory ---- */

static void wrong_entry_costs_nothing(void **state)
{
    struct trace trace = blocks_make(3, false);
    (void)state;
    entry_at(&trace, 2)->sequence = tbed_le32_make(77);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(trace_events(reader, 7, NULL, 0), 6);
    struct tbed_damage damage = only_damage(reader, TBED_ERR_DIRECTORY_ENTRY);
    assert_int_equal(damage.page, 2);
    assert_int_equal(damage.offset, tbed_directory_entry_offset(PAGE_NBYTES, 2));
    assert_int_equal(damage.stream, 7);
    assert_int_equal(damage.sequence, 1);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* Two entries that were swapped are valid each for itself. */
static void swapped_entries_of_a_closed_trace_cost_nothing(void **state)
{
    struct trace trace = blocks_make(3, true);
    struct tbed_disk_entry one = *entry_at(&trace, 1);
    (void)state;
    *entry_at(&trace, 1) = *entry_at(&trace, 3);
    *entry_at(&trace, 3) = one;
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(trace_events(reader, 7, NULL, 0), 6);
    assert_int_equal(tbed_reader_verify(reader), TBED_ERR_CLOSING_CHECKSUM);
    assert_int_equal(tbed_damage_count(reader), 3);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void swapped_entries_of_a_killed_trace_are_reported(void **state)
{
    struct trace trace = blocks_make(3, false);
    struct tbed_disk_entry one = *entry_at(&trace, 1);
    (void)state;
    *entry_at(&trace, 1) = *entry_at(&trace, 3);
    *entry_at(&trace, 3) = one;
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(trace_events(reader, 7, NULL, 0), 2);
    assert_int_equal(tbed_damage_count(reader), 2);
    assert_int_equal(tbed_reader_verify(reader), TBED_ERR_DIRECTORY_ENTRY);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void directory_page_that_is_gone_costs_no_block(void **state)
{
    struct trace trace = blocks_make(40, true);
    (void)state;
    memset(trace.bytes + 16 * PAGE_NBYTES, 0, PAGE_NBYTES);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_reader_verify(reader), TBED_ERR_DIRECTORY_PAGE);
    struct tbed_damage damage = only_damage(reader, TBED_ERR_DIRECTORY_PAGE);
    assert_int_equal(damage.page, 16);
    assert_int_equal(damage.page_count, trace.nbytes / PAGE_NBYTES - 16);
    assert_int_equal(trace_events(reader, 7, NULL, 0), 80);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void directory_page_of_another_place_is_not_believed(void **state)
{
    struct trace trace = blocks_make(100, false);
    (void)state;
    memcpy(trace.bytes + 16 * PAGE_NBYTES, trace.bytes + (16 + 57) * PAGE_NBYTES, PAGE_NBYTES);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(only_damage(reader, TBED_ERR_DIRECTORY_PAGE).page_count, 57);
    assert_int_equal(trace_events(reader, 7, NULL, 0), 200);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* ---- The header page ---- */

/* A cells page, which has a copy of the header, and events. */
static struct trace copied_make(bool is_shut)
{
    struct trace trace = trace_make(3);
    trace_cells_page(&trace, 1, 9, 0, 0);
    struct trace_block block = trace_block_begin(&trace, 2, TBED_BLOCK_EVENTS, 7, 0);
    trace_event(&block, TBED_TAG_INSTANT, 42, 10);
    trace_seal(&block);
    if (is_shut)
        trace_shut(&trace);
    trace.keeps_directory = true;
    return trace;
}

static void any_bit_of_the_header_may_be_wrong(void **state)
{
    struct trace trace = copied_make(true);
    (void)state;
    for (size_t bit = 0; bit < 8 * TBED_HEADER_FIXED_NBYTES; bit++) {
        trace.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        struct tbed_reader *reader = trace_open(&trace);
        tbed_reader_verify(reader);
        assert_int_equal(tbed_damage_count(reader), 1);
        assert_int_equal(trace_events(reader, 7, NULL, 0), 1);
        tbed_reader_close(reader);
        trace.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    trace_free(&trace);
}

static void expect_without_header(struct trace *trace, size_t event_count)
{
    struct tbed_trace_info info;
    struct tbed_damage damage;
    struct tbed_reader *reader = NULL;
    struct tbed_error error = {.status = TBED_OK};
    memset(trace->bytes, 0, PAGE_NBYTES);
    assert_int_equal(tbed_reader_open_memory(trace->bytes, trace->nbytes, NULL, &reader, &error), TBED_OK);
    assert_int_equal(error.status, TBED_OK); /* only failures fill it */
    tbed_reader_verify(reader);
    assert_int_equal(tbed_damage_count(reader), 2);
    assert_true(tbed_damage_get(reader, 0, &damage));
    assert_int_equal(damage.status, TBED_ERR_NOT_A_TRACE);
    assert_true(tbed_damage_get(reader, 1, &damage));
    assert_int_equal(damage.status, TBED_ERR_STATE);
    tbed_reader_info(reader, &info);
    assert_int_equal(info.page_count, trace->nbytes / PAGE_NBYTES);
    assert_int_equal(trace_events(reader, 7, NULL, 0), event_count);
    tbed_reader_close(reader);
    trace_free(trace);
}

static void trace_without_a_header_page_is_read_by_a_cells_page(void **state)
{
    struct trace trace = copied_make(true);
    (void)state;
    expect_without_header(&trace, 1);
}

static void trace_without_a_header_page_is_read_by_a_directory_page(void **state)
{
    struct trace trace = blocks_make(40, false);
    (void)state;
    expect_without_header(&trace, 80);
}

static void header_that_has_no_copy_is_refused(void **state)
{
    struct trace trace = copied_make(true);
    (void)state;
    page_at(&trace, 1)[100] ^= 1; /* in the copy */
    trace.bytes[70] ^= 1;
    assert_int_equal(trace_open_status(trace.bytes, trace.nbytes), TBED_ERR_HEADER_CHECKSUM);
    trace_free(&trace);
}

static void damaged_blocks_are_not_counted_in_the_gaps_of_a_ring(void **state)
{
    struct trace trace = blocks_make(6, false);
    struct tbed_ring_gap gap;
    size_t position = 0;
    (void)state;
    trace_header(&trace)->ring_page_count = tbed_le32_make(1);
    trace_header_mend(&trace);
    for (uint32_t page = 3; page <= 5; page++)
        memset(entry_at(&trace, page), 0, TBED_ENTRY_NBYTES);
    ((struct tbed_disk_block *)(void *)page_at(&trace, 3))->shift = 99;
    memset(page_at(&trace, 4), 0, 2 * PAGE_NBYTES);
    struct tbed_reader *reader = trace_open(&trace);
    assert_true(tbed_ring_gap_next(reader, &position, &gap));
    assert_int_equal(gap.first_sequence, 2);
    assert_int_equal(gap.block_count, 2); /* 3 and 4 */
    assert_false(tbed_ring_gap_next(reader, &position, &gap));
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void impossible_entry_of_an_intact_block_is_reported_once(void **state)
{
    struct trace trace = blocks_make(2, false);
    (void)state;
    entry_at(&trace, 1)->stream = tbed_le32_make(8);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(trace_events(reader, 7, NULL, 0), 4);
    only_damage(reader, TBED_ERR_DIRECTORY_ENTRY);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* The block cannot be put in order by its entry. */
static void block_of_another_string_page_than_its_entry_is_lost(void **state)
{
    struct trace trace = trace_make(3);
    struct trace_block first = trace_block_begin(&trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    struct trace_block second = trace_block_begin(&trace, 2, TBED_BLOCK_STRINGS, 1, 1);
    uint32_t id = trace_string(&first, "first"), other = trace_string(&second, "second");
    (void)state;
    trace_seal(&first);
    trace_seal(&second);
    trace_directory(&trace);
    trace.keeps_directory = true;
    struct tbed_disk_entry *entry = entry_at(&trace, 2);
    entry->depth = tbed_le32_make(2); /* its string page */
    entry->check = tbed_le32_make(tbed_entry_check_make(entry));
    struct tbed_reader *reader = trace_open(&trace);
    uint32_t by_entry = other + (other - id); /* at the same place of string page 2 */
    size_t nbytes;
    assert_int_equal(tbed_string_resolve(reader, id, NULL, 0, &nbytes), TBED_OK);
    assert_int_not_equal(tbed_string_resolve(reader, other, NULL, 0, &nbytes), TBED_OK);
    assert_int_not_equal(tbed_string_resolve(reader, by_entry, NULL, 0, &nbytes), TBED_OK);
    only_damage(reader, TBED_ERR_DIRECTORY_ENTRY);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void damaged_block_says_nothing_about_its_entry(void **state)
{
    struct trace trace = blocks_make(2, false);
    (void)state;
    memset(entry_at(&trace, 1), 0, TBED_ENTRY_NBYTES);
    page_at(&trace, 1)[TBED_BLOCK_HEADER_NBYTES] ^= 1;
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(trace_events(reader, 7, NULL, 0), 2);
    only_damage(reader, TBED_ERR_BLOCK_CHECKSUM);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* ---- Sparse files ---- */

/*
 * The trace at the start of a file of 1 TiB, all of which was claimed; it must be on disk only where it has data. A page
 * of zeros is on disk as well, just behind a directory page that is not.
 */
static struct tbed_reader *open_sparse(struct trace *trace)
{
    uint64_t nbytes = UINT64_C(1) << 40;
    struct tbed_reader *reader = NULL;
    FILE *file = tmpfile();
    assert_non_null(file);
    trace_header(trace)->page_count = tbed_le64_make(nbytes / PAGE_NBYTES);
    assert_int_equal(write(fileno(file), trace->bytes, trace->nbytes), trace->nbytes);
    if (ftruncate(fileno(file), (off_t)nbytes) != 0) { /* there is a limit */
        fclose(file);
        skip();
    }
    static const uint8_t zeros[PAGE_NBYTES];
    off_t behind = (off_t)(tbed_directory_page(PAGE_NBYTES, 5) + 1) * PAGE_NBYTES;
    assert_int_equal(pwrite(fileno(file), zeros, sizeof zeros, behind), sizeof zeros);
    assert_int_equal(tbed_reader_open_fd(fileno(file), NULL, &reader, NULL), TBED_OK);
    fclose(file);
    return reader;
}

static void expect_sparse(struct trace *trace)
{
    struct tbed_trace_info info;
    struct tbed_reader *reader = open_sparse(trace);
    tbed_reader_verify(reader);
    struct tbed_damage damage = only_damage(reader, TBED_ERR_DIRECTORY_PAGE);
    assert_int_equal(damage.page, 73); /* the first that is missing */
    tbed_reader_info(reader, &info);
    assert_int_equal(info.event_block_count, 30);
    assert_int_equal(info.unwritten_page_count,
                     info.page_count - 1 - 30 - tbed_directory_pages_below(PAGE_NBYTES, info.page_count));
    assert_int_equal(trace_events(reader, 7, NULL, 0), 60);
    tbed_reader_close(reader);
    trace_free(trace);
}

static void killed_trace_is_read_where_it_has_data(void **state)
{
    struct trace trace = blocks_make(30, false);
    (void)state;
    expect_sparse(&trace);
}

static void closed_trace_is_read_where_it_has_data(void **state)
{
    struct trace trace = blocks_make(30, true);
    (void)state;
    expect_sparse(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_a_closed_trace_touches_no_block),
        cmocka_unit_test(opening_a_killed_trace_touches_no_sealed_block),
        cmocka_unit_test(blocks_before_a_window_are_not_touched),
        cmocka_unit_test(blocks_without_entries_are_read_from_the_one_that_ends_in_the_window),
        cmocka_unit_test(zeroed_page_of_a_closed_trace_is_lost),
        cmocka_unit_test(zeroed_page_of_a_killed_trace_is_lost),
        cmocka_unit_test(page_that_was_replaced_by_another_is_reported_as_what_it_was),
        cmocka_unit_test(page_of_another_file_is_reported_as_what_it_was),
        cmocka_unit_test(unsealed_block_whose_page_is_gone_is_lost),
        cmocka_unit_test(each_begun_page_that_a_killed_trace_lacks_is_cut),
        cmocka_unit_test(cell_that_is_gone_is_missed_by_its_page),
        cmocka_unit_test(wrong_entry_costs_nothing),
        cmocka_unit_test(swapped_entries_of_a_closed_trace_cost_nothing),
        cmocka_unit_test(swapped_entries_of_a_killed_trace_are_reported),
        cmocka_unit_test(directory_page_that_is_gone_costs_no_block),
        cmocka_unit_test(directory_page_of_another_place_is_not_believed),
        cmocka_unit_test(any_bit_of_the_header_may_be_wrong),
        cmocka_unit_test(trace_without_a_header_page_is_read_by_a_cells_page),
        cmocka_unit_test(trace_without_a_header_page_is_read_by_a_directory_page),
        cmocka_unit_test(header_that_has_no_copy_is_refused),
        cmocka_unit_test(damaged_blocks_are_not_counted_in_the_gaps_of_a_ring),
        cmocka_unit_test(impossible_entry_of_an_intact_block_is_reported_once),
        cmocka_unit_test(block_of_another_string_page_than_its_entry_is_lost),
        cmocka_unit_test(damaged_block_says_nothing_about_its_entry),
        cmocka_unit_test(killed_trace_is_read_where_it_has_data),
        cmocka_unit_test(closed_trace_is_read_where_it_has_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
