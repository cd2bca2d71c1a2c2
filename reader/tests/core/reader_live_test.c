/*
 * Files that are being written: everything stored is visible, nothing unfinished counts as damage, and pointers
 * handed out earlier stay valid.
 *
 * The test itself acts as the writer, with the order of stores required by section 4, and stops between any two of
 * them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/file/directory.h"
#include "format/file/mark.h"
#include "reader/core/file/gateway.h"
#include "reader/core/strings/string_table.h"
#include "reader/tests/core/trace_builder.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static void refresh(struct tbed_reader *reader)
{
    struct tbed_error error;
    assert_int_equal(tbed_reader_refresh(reader, &error), TBED_OK);
}

static void claim(struct trace *trace, uint32_t page_count)
{
    trace_header(trace)->page_count = tbed_le64_make(page_count);
}

static void cursor_goes_on_where_a_block_ended(void **state)
{
    struct trace trace = trace_make(3);
    struct tbed_cursor *cursor;
    struct tbed_event event;
    (void)state;
    claim(&trace, 2);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_cursor_open(reader, 1, &cursor), TBED_OK);
    assert_int_equal(tbed_cursor_next(cursor, &event), TBED_END); /* claimed, not begun */
    struct trace_block first = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 1, 0);
    assert_int_equal(tbed_cursor_next(cursor, &event), TBED_END); /* not examined again */
    refresh(reader);
    assert_int_equal(tbed_cursor_next(cursor, &event), TBED_END); /* begun, empty */
    trace_event(&first, TBED_TAG_INSTANT, 11, 1);
    assert_int_equal(tbed_cursor_next(cursor, &event), TBED_OK);
    assert_int_equal(event.id, 11);
    assert_int_equal(tbed_cursor_next(cursor, &event), TBED_END);
    /* one more event, seal, next block: all before the reader looks again */
    trace_event(&first, TBED_TAG_INSTANT, 12, 2);
    trace_seal(&first);
    claim(&trace, 3);
    struct trace_block second = trace_block_begin(&trace, 2, TBED_BLOCK_EVENTS, 1, 1);
    trace_event(&second, TBED_TAG_INSTANT, 13, 3);
    refresh(reader);
    assert_int_equal(tbed_cursor_next(cursor, &event), TBED_OK);
    assert_int_equal(event.id, 12);
    assert_int_equal(tbed_cursor_next(cursor, &event), TBED_OK);
    assert_int_equal(event.id, 13);
    assert_int_equal(tbed_cursor_next(cursor, &event), TBED_END);
    assert_int_equal(tbed_damage_count(reader), 0);
    tbed_cursor_close(cursor);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void merge_takes_new_events_and_new_streams(void **state)
{
    struct trace trace = trace_make(3);
    struct tbed_merge *merge;
    struct tbed_event event;
    (void)state;
    struct trace_block old = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 5, 0);
    trace_event(&old, TBED_TAG_INSTANT, 1, 1);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    assert_int_equal(tbed_merge_next(merge, &event), TBED_OK);
    assert_int_equal(tbed_merge_next(merge, &event), TBED_END);
    trace_event(&old, TBED_TAG_INSTANT, 2, 20);
    struct trace_block new = trace_block_begin(&trace, 2, TBED_BLOCK_EVENTS, 3, 0);
    trace_event(&new, TBED_TAG_INSTANT, 3, 10);
    trace_event(&new, TBED_TAG_INSTANT, 4, 20);
    refresh(reader);
    static const uint32_t ids[] = {3, 4, 2}; /* at the tie of 20 the lower stream first */
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(tbed_merge_next(merge, &event), TBED_OK);
        assert_int_equal(event.id, ids[i]);
    }
    assert_int_equal(tbed_merge_next(merge, &event), TBED_END);
    tbed_merge_close(merge);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void new_strings_and_bindings_are_seen_after_a_refresh(void **state)
{
    struct trace trace = trace_make(3);
    struct trace_block strings = trace_block_begin(&trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    struct trace_block records = trace_block_begin(&trace, 2, TBED_BLOCK_RECORDS, 1, 0);
    char buffer[32];
    (void)state;
    struct tbed_reader *reader = trace_open(&trace);
    uint32_t id = trace_string(&strings, "late");
    trace_bind(&records, 5, 1, id);
    assert_int_equal(tbed_string_resolve(reader, id, buffer, sizeof buffer, NULL),
                     TBED_OK); /* the map shows it */
    assert_int_equal(tbed_string_resolve(reader, 5, buffer, sizeof buffer, NULL), TBED_ERR_STRING_UNBOUND);
    refresh(reader);
    assert_int_equal(tbed_string_resolve(reader, 5, buffer, sizeof buffer, NULL), TBED_OK);
    assert_string_equal(buffer, "late");
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* Whoever keeps a block between two strings sees the damage all the same. */
static void block_of_strings_that_is_sealed_meanwhile_is_checked(void **state)
{
    struct trace trace = trace_make(2);
    struct trace_block strings = trace_block_begin(&trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    struct tbed_block block = {0};
    struct tbed_string_entry entry;
    (void)state;
    uint32_t first = trace_string(&strings, "first"), second = trace_string(&strings, "second");
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_string_find_near(reader, first, &block, &entry), TBED_OK);
    assert_false(block.sealed);
    trace_seal(&strings);
    strings.bytes[tbed_string_id_address(first) % 4096 + 8] ^= 1;
    assert_int_equal(tbed_string_find_near(reader, second, &block, &entry), TBED_ERR_STRING_ID);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void cells_that_are_begun_later_are_found(void **state)
{
    struct trace trace = trace_make(2);
    struct tbed_trace_info info;
    (void)state;
    trace_cells_page(&trace, 1, 9, 0, 0);
    struct tbed_reader *reader = trace_open(&trace);
    for (uint32_t cell = 7; cell > 0; cell--) {
        struct trace_block block = trace_cell_begin(&trace, 1, cell, TBED_BLOCK_EVENTS, cell, 0);
        trace_event(&block, TBED_TAG_INSTANT, cell, 1);
        if (cell % 2 == 0)
            trace_seal(&block);
        refresh(reader);
        assert_int_equal(trace_events(reader, 0, NULL, 0), 8 - cell);
    }
    tbed_reader_info(reader, &info);
    assert_int_equal(info.unwritten_page_count, 0);
    assert_int_equal(info.unsealed_block_count, 4);
    assert_int_equal(info.stream_count, 7);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* Begins a block in page 1 + 'in_ring' of a ring, which was taken 'generation' times. */
static struct trace_block ring_block_begin(struct trace *trace, uint32_t in_ring, uint32_t sequence,
                                           uint32_t generation)
{
    struct trace_block block = trace_block_begin(trace, 1 + in_ring, TBED_BLOCK_EVENTS, 1, sequence);
    trace_block_header(&block)->generation = tbed_le32_make(generation);
    trace_event(&block, TBED_TAG_INSTANT, sequence, sequence);
    return block;
}

/* Makes a ring of three pages whose writer is still recording. */
static struct trace ring_make(void)
{
    struct trace trace = trace_make(4);
    trace_header(&trace)->ring_page_count = tbed_le32_make(3);
    trace_header_mend(&trace);
    for (uint32_t i = 0; i < 3; i++) {
        struct trace_block built = ring_block_begin(&trace, i, i, 1);
        trace_seal(&built);
    }
    trace_directory(&trace);
    return trace;
}

static void mark_set(struct trace *trace, enum tbed_mark_state state, uint32_t count)
{
    uint8_t *entry = trace->bytes + tbed_directory_entry_offset(4096, 1);
    tbed_word_store(tbed_mark_at(entry), tbed_mark_word((struct tbed_mark){state, count, 7}));
}

static void page_of_a_ring_that_was_reused_is_gone(void **state)
{
    struct trace trace = ring_make();
    struct tbed_block block;
    (void)state;
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_event_block_get(reader, 0, &block), TBED_OK);
    mark_set(&trace, TBED_MARK_TAKEN, 2);
    assert_int_equal(tbed_event_block_get(reader, 0, &block), TBED_ERR_CHANGED); /* not begun again */
    ring_block_begin(&trace, 0, 3, 2);
    trace_directory(&trace);
    assert_int_equal(tbed_event_block_get(reader, 0, &block), TBED_ERR_CHANGED);
    assert_int_equal(trace_events(reader, 1, NULL, 0), 2);
    refresh(reader);
    assert_int_equal(trace_events(reader, 1, NULL, 0), 3);
    assert_int_equal(tbed_event_block_get(reader, 2, &block), TBED_OK);
    assert_int_equal(block.generation, 2);
    assert_int_equal(tbed_damage_count(reader), 0);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void block_of_a_ring_with_a_generation_other_than_its_entry_s_is_reported(void **state)
{
    struct trace trace = ring_make();
    (void)state;
    trace.keeps_directory = true;
    mark_set(&trace, TBED_MARK_RELEASED, 5);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(trace_events(reader, 1, NULL, 0), 3);
    assert_int_equal(tbed_reader_verify(reader), TBED_ERR_DIRECTORY_ENTRY);
    assert_int_equal(tbed_damage_count(reader), 1);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/*
 * While a reader copies the page, it is taken, given back, and taken again by a third process, whose block has the same
 * header as the first.
 */
static void page_of_a_ring_that_was_given_back_meanwhile_is_gone(void **state)
{
    struct trace trace = ring_make();
    struct tbed_block block;
    uint64_t copy[4096 / 8];
    (void)state;
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_event_block_get(reader, 0, &block), TBED_OK);
    mark_set(&trace, TBED_MARK_TAKEN, 2);
    mark_set(&trace, TBED_MARK_RELEASED, 2);
    mark_set(&trace, TBED_MARK_TAKEN, 3);
    mark_set(&trace, TBED_MARK_HELD, 3);
    assert_false(tbed_block_copy(reader, &block, copy));
    trace_header(&trace)->ring_page_count = tbed_le32_make(0); /* changed after the header was checked */
    assert_false(tbed_block_copy(reader, &block, copy));
    assert_int_equal(tbed_damage_count(reader), 0);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void file_that_is_closed_while_it_is_read_becomes_shut(void **state)
{
    struct trace trace = trace_make(2);
    struct trace_block block = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 1, 0);
    struct tbed_trace_info info;
    (void)state;
    trace_event(&block, TBED_TAG_INSTANT, 1, 5);
    struct tbed_reader *reader = trace_open(&trace);
    tbed_reader_info(reader, &info);
    assert_int_equal(info.unsealed_block_count, 1);
    assert_int_equal(info.last_tick, 1005);
    trace_event(&block, TBED_TAG_INSTANT, 1, 9);
    trace_seal(&block);
    trace_shut(&trace);
    refresh(reader);
    tbed_reader_info(reader, &info);
    assert_true(info.shut);
    assert_int_equal(info.unsealed_block_count, 0);
    assert_int_equal(info.first_tick, 1000);
    assert_int_equal(info.last_tick, 1009);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    tbed_reader_close(reader);
    trace_free(&trace);
}

/* Stops the writer after each 8-byte store of a block's life; the file must always read without damage. */
static void file_is_readable_after_every_store(void **state)
{
    struct trace whole = trace_make(2), half = trace_make(2);
    static const struct tbed_extended_head head = {TBED_EXT_REALLOC, 0, 5, 0};
    static const uint64_t words[] = {1, 2, 3, 4};
    (void)state;
    struct trace_block block = trace_block_begin(&whole, 1, TBED_BLOCK_EVENTS, 1, 0);
    trace_event(&block, TBED_TAG_BEGIN, 1, 1);
    trace_extended(&block, 2, 2, head, words);
    trace_event(&block, TBED_TAG_END, 1, 3);
    trace_seal(&block);
    /* header fields, first word; a word; payload, then its first word; a word; last tick, checksum, used */
    static const uint32_t order[] = {8, 16, 24, 32, 0, 64, 80, 88, 96, 104, 112, 72, 120, 48, 56, 40};
    static const uint32_t events[] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        memcpy(half.bytes + 4096 + order[i], whole.bytes + 4096 + order[i], 8);
        struct tbed_reader *reader = trace_open(&half);
        assert_int_equal(trace_events(reader, 1, NULL, 0), events[i]);
        assert_int_equal(tbed_reader_verify(reader), TBED_OK);
        tbed_reader_close(reader);
    }
    assert_memory_equal(whole.bytes + 4096, half.bytes + 4096, 4096);
    trace_free(&whole);
    trace_free(&half);
}

static void pointers_stay_valid_when_the_file_outgrows_its_map(void **state)
{
    enum { PAGES = 1100, PAGE_NBYTES = 1 << 20 }; /* 1.1 GiB of holes, past the room that the first map has */
    char path[] = "/tmp/tracebed-live-XXXXXX";
    struct trace trace = trace_make_paged(2, PAGE_NBYTES);
    struct trace_block block = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 1, 0);
    struct tbed_reader *reader;
    struct tbed_error error;
    struct tbed_block before;
    const tbed_le64 page_count = tbed_le64_make(PAGES);
    (void)state;
    trace_event(&block, TBED_TAG_INSTANT, 7, 1);
    trace_seal(&block);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* or all the holes are read ahead */
    assert_int_equal(write(fd, trace.bytes, trace.nbytes), trace.nbytes);
    assert_int_equal(tbed_reader_open_fd(fd, NULL, &reader, &error), TBED_OK);
    assert_int_equal(tbed_event_block_get(reader, 0, &before), TBED_OK);
    uint64_t word = tbed_word_load(before.words);
    /* a second block at the far end; the pages between are claimed and not begun */
    struct tbed_disk_block far_header = *trace_block_header(&block);
    far_header.page = tbed_le32_make(PAGES - 1);
    far_header.sequence = tbed_le32_make(1);
    far_header.used_nbytes = tbed_le32_make(0);
    assert_int_equal(ftruncate(fd, (off_t)PAGES * PAGE_NBYTES), 0);
    assert_int_equal(pwrite(fd, &far_header, sizeof far_header, (off_t)(PAGES - 1) * PAGE_NBYTES),
                     sizeof far_header);
    assert_int_equal(pwrite(fd, &page_count, sizeof page_count, 512), 8);
    struct tbed_trace_info info;
    refresh(reader);
    tbed_reader_info(reader, &info);
    assert_int_equal(info.event_block_count, 2);
    assert_int_equal(info.unwritten_page_count, PAGES - 3);
    assert_int_equal(tbed_word_load(before.words), word);
    assert_int_equal(trace_events(reader, 1, NULL, 0), 1);
    tbed_reader_close(reader);
    close(fd);
    trace_free(&trace);
}

/* Whatever the header's field holds. */
static void block_that_is_not_sealed_has_no_last_tick(void **state)
{
    struct trace trace = trace_make(2);
    struct trace_block built = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 7, 0);
    struct tbed_block block;
    (void)state;
    trace_event(&built, TBED_TAG_INSTANT, 1, 5);
    trace_block_header(&built)->last_tick = tbed_le64_make(1005);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_event_block_get(reader, 0, &block), TBED_OK);
    assert_false(block.sealed);
    assert_int_equal(block.last_tick, 0);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static uint64_t last_tick_of(const struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    return info.last_tick;
}

/* A reader that has not looked at the file since then checks the block as it checks all others. */
static void block_sealed_meanwhile_is_checked(void **state)
{
    enum { INTACT, DAMAGED, DAMAGED_UNCHECKED, CASES };
    static const uint64_t expected[] = {[INTACT] = 1009, [DAMAGED] = 0, [DAMAGED_UNCHECKED] = 1009};
    (void)state;
    for (int i = 0; i < CASES; i++) {
        struct tbed_reader_options options = {.size = sizeof options, .skip_hashes = i == DAMAGED_UNCHECKED};
        struct trace trace = trace_make(2);
        struct trace_block built = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 7, 0);
        struct tbed_reader *reader;
        struct tbed_error error;
        trace_event(&built, TBED_TAG_INSTANT, 1, 5);
        trace_directory(&trace);
        assert_int_equal(tbed_reader_open_memory(trace.bytes, trace.nbytes, &options, &reader, &error),
                         TBED_OK);
        assert_int_equal(last_tick_of(reader), 1005);
        trace_event(&built, TBED_TAG_INSTANT, 2, 9);
        trace_seal(&built);
        built.bytes[built.at - 8] ^= i != INTACT;
        assert_int_equal(last_tick_of(reader), expected[i]);
        tbed_reader_close(reader);
        trace_free(&trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cursor_goes_on_where_a_block_ended),
        cmocka_unit_test(merge_takes_new_events_and_new_streams),
        cmocka_unit_test(new_strings_and_bindings_are_seen_after_a_refresh),
        cmocka_unit_test(block_of_strings_that_is_sealed_meanwhile_is_checked),
        cmocka_unit_test(cells_that_are_begun_later_are_found),
        cmocka_unit_test(page_of_a_ring_that_was_reused_is_gone),
        cmocka_unit_test(block_of_a_ring_with_a_generation_other_than_its_entry_s_is_reported),
        cmocka_unit_test(page_of_a_ring_that_was_given_back_meanwhile_is_gone),
        cmocka_unit_test(file_that_is_closed_while_it_is_read_becomes_shut),
        cmocka_unit_test(file_is_readable_after_every_store),
        cmocka_unit_test(pointers_stay_valid_when_the_file_outgrows_its_map),
        cmocka_unit_test(block_that_is_not_sealed_has_no_last_tick),
        cmocka_unit_test(block_sealed_meanwhile_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
