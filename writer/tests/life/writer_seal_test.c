/*
 * Sealing a killed program's trace makes it clean only if nothing is lost: a trace that lacks a page or a directory
 * entry stays open, and its damaged pages are not changed.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/file/directory.h"
#include "writer/tests/support.h"

enum { PAGE_NBYTES = 4096, EVENT_COUNT = 40000 };

struct trace {
    uint8_t *bytes;
    size_t nbytes; /* of the pages that were claimed */
};

static struct trace killed, damaged;
static char path[256];

static void record_and_die(void)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .page_nbytes = PAGE_NBYTES, .no_helper = true};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread");
    for (uint32_t i = 0; i < EVENT_COUNT; i++)
        tbed_instant_record(recorder, i & 0xFFFF);
    for (uint32_t i = 0; i < 1000; i++) {
        char text[32];
        tbed_string_intern(writer, text, (size_t)snprintf(text, sizeof text, "text %u", i));
    }
    raise(SIGKILL);
}

static struct trace trace_read(void)
{
    struct trace trace = {0};
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    trace.nbytes = (size_t)status.st_size;
    trace.bytes = malloc(trace.nbytes);
    assert_non_null(trace.bytes);
    assert_int_equal(read(fd, trace.bytes, trace.nbytes), status.st_size);
    close(fd);
    return trace;
}

static void trace_write(const struct trace *trace, size_t nbytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, trace->bytes, nbytes), nbytes);
    close(fd);
}

static int make_killed(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s", test_path("killed.tbed"));
    pid_t child = fork();
    if (child == 0)
        record_and_die();
    waitpid(child, NULL, 0);
    killed = trace_read();
    uint64_t page_count = tbed_le64_load(((struct tbed_disk_header *)killed.bytes)->page_count);
    assert_true(page_count > 80 && page_count * PAGE_NBYTES <= killed.nbytes);
    killed.nbytes = page_count * PAGE_NBYTES;
    damaged.bytes = malloc(killed.nbytes);
    return damaged.bytes != NULL ? 0 : -1;
}

static int free_killed(void **state)
{
    (void)state;
    free(killed.bytes);
    free(damaged.bytes);
    return 0;
}

static void restore(void)
{
    memcpy(damaged.bytes, killed.bytes, killed.nbytes);
    damaged.nbytes = killed.nbytes;
}

static uint8_t *page_of(uint64_t page)
{
    return damaged.bytes + page * PAGE_NBYTES;
}

static struct tbed_disk_entry *entry_of(uint64_t page)
{
    return (struct tbed_disk_entry *)(void *)(damaged.bytes + tbed_directory_entry_offset(PAGE_NBYTES, page));
}

/* Expects that sealing fails with this status, leaves the file open, and does not change the page. */
static void assert_refused(uint64_t page, enum tbed_status expected)
{
    struct tbed_error error = {0};
    trace_write(&damaged, damaged.nbytes);
    enum tbed_status status = tbed_trace_seal(path, &error);
    if (status != expected)
        fail_msg("page %u, kind %u: %s, should be %s", (unsigned)page, page_of(page)[0],
                 tbed_status_text(status), tbed_status_text(expected));
    struct trace after = trace_read();
    assert_int_equal(after.nbytes, damaged.nbytes);
    assert_int_equal(tbed_le32_load(((struct tbed_disk_header *)after.bytes)->state), TBED_STATE_OPEN);
    assert_memory_equal(after.bytes + page * PAGE_NBYTES, page_of(page), PAGE_NBYTES);
    free(after.bytes);
}

#define EACH_PAGE(page)                                                                                      \
    for (uint64_t page = 1; page < killed.nbytes / PAGE_NBYTES; page++)                                      \
        if (!tbed_directory_has_page(PAGE_NBYTES, page))

static void what_is_whole_is_sealed(void **state)
{
    (void)state;
    size_t count;
    trace_write(&killed, killed.nbytes);
    assert_int_equal(tbed_trace_seal(path, NULL), TBED_OK);
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "thread"), &count);
    assert_int_equal(count, EVENT_COUNT);
    free(events);
    tbed_reader_close(reader);
    struct trace sealed = trace_read();
    for (uint64_t page = 1; page < sealed.nbytes / PAGE_NBYTES; page++)
        if (!tbed_directory_has_page(PAGE_NBYTES, page))
            assert_int_equal(sealed.bytes[tbed_directory_entry_offset(PAGE_NBYTES, page)], TBED_ENTRY_SEALED);
    free(sealed.bytes);
}

static void a_page_without_its_kind_keeps_its_events(void **state)
{
    (void)state;
    EACH_PAGE(page)
    {
        restore();
        page_of(page)[0] = TBED_BLOCK_NONE;
        assert_refused(page, TBED_ERR_BLOCK_LOST);
        /* As if killed while it was begun, but with too many bytes. */
        entry_of(page)->state = TBED_ENTRY_CLAIMED;
        bool is_full = !tbed_bytes_are_zero(page_of(page) + PAGE_NBYTES / 2, PAGE_NBYTES / 2);
        if (is_full)
            assert_refused(page, TBED_ERR_BLOCK_NOT_ZERO);
    }
}

static void a_page_that_is_gone_is_missed(void **state)
{
    (void)state;
    EACH_PAGE(page)
    {
        restore();
        memset(page_of(page), 0, PAGE_NBYTES);
        assert_refused(page, TBED_ERR_BLOCK_LOST);
    }
}

static void pages_that_changed_places_are_refused(void **state)
{
    (void)state;
    uint64_t before = 0;
    EACH_PAGE(page)
    {
        restore();
        if (before != 0) {
            memcpy(page_of(page), killed.bytes + before * PAGE_NBYTES, PAGE_NBYTES);
            assert_refused(page, TBED_ERR_BLOCK_PAGE);
        }
        before = page;
    }
}

static void an_entry_that_is_gone_or_wrong_is_refused(void **state)
{
    (void)state;
    EACH_PAGE(page)
    {
        restore();
        memset(entry_of(page), 0, TBED_ENTRY_NBYTES);
        assert_refused(page, TBED_ERR_DIRECTORY_ENTRY);
        restore();
        entry_of(page)->sequence = tbed_le32_make(tbed_le32_load(entry_of(page)->sequence) + 1);
        assert_refused(page, TBED_ERR_DIRECTORY_ENTRY);
    }
}

static void a_page_of_the_directory_is_checked(void **state)
{
    (void)state;
    uint64_t count = tbed_directory_pages_below(PAGE_NBYTES, killed.nbytes / PAGE_NBYTES);
    assert_true(count >= 2);
    for (uint64_t i = 0; i < count; i++) {
        restore();
        page_of(tbed_directory_page(PAGE_NBYTES, i))[100] ^= 1;
        assert_refused(tbed_directory_page(PAGE_NBYTES, i), TBED_ERR_DIRECTORY_PAGE);
    }
}

static void a_cell_that_is_gone_is_missed(void **state)
{
    (void)state;
    uint32_t cells_count = 0;
    EACH_PAGE(page)
    {
        restore();
        uint32_t cell_nbytes = 1u << page_of(page)[1];
        if (page_of(page)[0] != TBED_BLOCK_CELLS)
            continue;
        for (uint32_t at = cell_nbytes; at < PAGE_NBYTES && page_of(page)[at] != 0; at += cell_nbytes) {
            cells_count++;
            restore();
            page_of(page)[at] = TBED_BLOCK_NONE;
            assert_refused(page, TBED_ERR_BLOCK_LOST);
            memset(page_of(page) + at, 0, cell_nbytes);
            assert_refused(page, TBED_ERR_BLOCK_LOST);
        }
    }
    assert_true(cells_count >= 3);
}

static void a_cell_that_was_not_counted_is_counted(void **state)
{
    uint64_t cells_page = 1;
    (void)state;
    restore();
    while (page_of(cells_page)[0] != TBED_BLOCK_CELLS)
        cells_page++;
    uint16_t count = tbed_le16_load(entry_of(cells_page)->flags);
    assert_true(count > 1);
    entry_of(cells_page)->flags = tbed_le16_make(count - 1);
    trace_write(&damaged, damaged.nbytes);
    assert_int_equal(tbed_trace_seal(path, NULL), TBED_OK);
    struct trace sealed = trace_read();
    const struct tbed_disk_entry *entry =
        (const void *)(sealed.bytes + tbed_directory_entry_offset(PAGE_NBYTES, cells_page));
    assert_int_equal(tbed_le16_load(entry->flags), count);
    free(sealed.bytes);
}

static void a_file_that_was_cut_is_refused(void **state)
{
    (void)state;
    struct tbed_error error;
    for (size_t nbytes = PAGE_NBYTES; nbytes < killed.nbytes; nbytes += PAGE_NBYTES) {
        trace_write(&killed, nbytes);
        assert_int_equal(tbed_trace_seal(path, &error), TBED_ERR_BLOCK_CUT);
        assert_int_equal(error.offset, nbytes);
    }
}

/* A kill can leave a page with a part of its header and its stack, claimed or not. */
static void a_page_that_was_about_to_begin_is_cleared(void **state)
{
    (void)state;
    uint64_t last = killed.nbytes / PAGE_NBYTES - 1;
    restore();
    while (page_of(last)[0] != TBED_BLOCK_STRINGS && page_of(last)[0] != TBED_BLOCK_EVENTS)
        last--;
    for (int is_claimed = 0; is_claimed < 2; is_claimed++) {
        page_of(last)[0] = TBED_BLOCK_NONE;
        memset(page_of(last) + 64 + PAGE_NBYTES / 4, 0, PAGE_NBYTES - PAGE_NBYTES / 4 - 64);
        entry_of(last)->state = is_claimed ? TBED_ENTRY_CLAIMED : TBED_ENTRY_FREE;
        trace_write(&damaged, damaged.nbytes);
        assert_int_equal(tbed_trace_seal(path, NULL), TBED_OK);
        struct trace after = trace_read();
        assert_true(tbed_bytes_are_zero(after.bytes + last * PAGE_NBYTES, PAGE_NBYTES));
        free(after.bytes);
    }
}

/* ---- Within a block that was not sealed ---- */

static struct tbed_disk_block *block_of(uint64_t page)
{
    return (struct tbed_disk_block *)(void *)page_of(page);
}

/* The last block of events, which the writer was filling. */
static uint64_t last_page_of_events(void)
{
    uint64_t last = killed.nbytes / PAGE_NBYTES - 1;
    restore();
    while (page_of(last)[0] != TBED_BLOCK_EVENTS)
        last--;
    assert_int_equal(tbed_le32_load(block_of(last)->used_nbytes), 0);
    return last;
}

static uint64_t *words_end(uint64_t page)
{
    uint64_t *at = (uint64_t *)(void *)(page_of(page) + TBED_BLOCK_HEADER_NBYTES);
    while (*at != 0)
        at++;
    return at;
}

static void an_event_that_is_gone_does_not_cost_those_behind_it(void **state)
{
    (void)state;
    uint64_t page = last_page_of_events();
    ptrdiff_t count = words_end(page) - (uint64_t *)(void *)(page_of(page) + TBED_BLOCK_HEADER_NBYTES);
    assert_true(count > 10);
    for (ptrdiff_t i = 0; i < count - 2; i++) {
        restore();
        words_end(page)[i - count] = 0;
        assert_refused(page, TBED_ERR_EVENT_ZERO);
    }
}

static uint64_t seal_and_count_interrupted(void)
{
    trace_write(&damaged, damaged.nbytes);
    assert_int_equal(tbed_trace_seal(path, NULL), TBED_OK);
    tbed_reader_close(test_reader_open(path, true));
    struct trace after = trace_read();
    uint64_t count = tbed_le64_load(((struct tbed_disk_header *)after.bytes)->drops[TBED_DROP_INTERRUPTED]);
    free(after.bytes);
    return count;
}

static void one_interrupted_record_is_cleared(void **state)
{
    (void)state;
    uint64_t page = last_page_of_events();
    assert_int_equal(seal_and_count_interrupted(), 0);
    words_end(page)[1] = UINT64_MAX; /* a PAIR */
    assert_int_equal(seal_and_count_interrupted(), 1);
    words_end(page)[1] = TBED_EXT_END | 5 << 16;
    words_end(page)[5] = 7;
    assert_int_equal(seal_and_count_interrupted(), 1);
    words_end(page)[6] = 7; /* after the interrupted record */
    assert_refused(page, TBED_ERR_EVENT_ZERO);
    words_end(page)[1] = TBED_EXT_END | UINT64_C(0xFFFF) << 16; /* it would not fit */
    assert_refused(page, TBED_ERR_EVENT_ZERO);
    words_end(page)[1] = 0;
    assert_refused(page, TBED_ERR_EVENT_ZERO);
}

/* As if killed between the end of a block and its sealing. */
static uint32_t unseal(uint64_t page)
{
    uint32_t used = tbed_le32_load(block_of(page)->used_nbytes);
    entry_of(page)->state = TBED_ENTRY_ENDED;
    block_of(page)->used_nbytes = tbed_le32_make(0);
    block_of(page)->checksum = tbed_le64_make(0);
    return used;
}

static void a_block_that_has_ended_is_complete(void **state)
{
    (void)state;
    EACH_PAGE(page)
    {
        restore();
        if (page_of(page)[0] != TBED_BLOCK_EVENTS || tbed_le32_load(block_of(page)->used_nbytes) == 0)
            continue;
        uint32_t used = unseal(page);
        assert_int_equal(seal_and_count_interrupted(), 0);
        memset(page_of(page) + used - 8, 0, 8);
        assert_refused(page, TBED_ERR_EVENT_ZERO);
        restore();
        entry_of(page)->state = TBED_ENTRY_ENDED;
        entry_of(page)->used_nbytes = tbed_le32_make(used - 8);
        assert_refused(page, TBED_ERR_DIRECTORY_ENTRY);
    }
}

/* Readers of the open trace ignore such a page, but would find its block once the trace is shut. */
static void a_block_in_a_page_of_a_ring_that_was_never_taken_is_refused(void **state)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .page_nbytes = PAGE_NBYTES,
                                          .no_helper = true,
                                          .ring_nbytes = 16 * PAGE_NBYTES};
    struct tbed_error error;
    uint64_t page = 1;
    (void)state;
    snprintf(path, sizeof path, "%s", test_path("ring.tbed"));
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread");
    for (int i = 0; i < 200; i++) /* enough to leave the cell, too few to seal the block */
        tbed_instant_record(recorder, 1);
    struct trace left = trace_read();
    tbed_writer_free(writer);
    while (left.bytes[page * PAGE_NBYTES] != TBED_BLOCK_EVENTS)
        page++;
    struct tbed_disk_block *block = (struct tbed_disk_block *)(void *)(left.bytes + page * PAGE_NBYTES);
    trace_write(&left, left.nbytes);
    assert_int_equal(tbed_trace_seal(path, NULL), TBED_OK);
    memset(left.bytes + tbed_directory_entry_offset(PAGE_NBYTES, page) + 8, 0, 8); /* its mark */
    block->generation = block->string_page = tbed_le32_make(0);
    trace_write(&left, left.nbytes);
    assert_int_equal(tbed_trace_seal(path, &error), TBED_ERR_BLOCK_NOT_ZERO);
    assert_int_equal(error.offset, page * PAGE_NBYTES);
    free(left.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_whole_is_sealed),
        cmocka_unit_test(a_page_without_its_kind_keeps_its_events),
        cmocka_unit_test(a_page_that_is_gone_is_missed),
        cmocka_unit_test(pages_that_changed_places_are_refused),
        cmocka_unit_test(an_entry_that_is_gone_or_wrong_is_refused),
        cmocka_unit_test(a_page_of_the_directory_is_checked),
        cmocka_unit_test(a_cell_that_is_gone_is_missed),
        cmocka_unit_test(a_cell_that_was_not_counted_is_counted),
        cmocka_unit_test(a_file_that_was_cut_is_refused),
        cmocka_unit_test(a_page_that_was_about_to_begin_is_cleared),
        cmocka_unit_test(an_event_that_is_gone_does_not_cost_those_behind_it),
        cmocka_unit_test(one_interrupted_record_is_cleared),
        cmocka_unit_test(a_block_that_has_ended_is_complete),
        cmocka_unit_test(a_block_in_a_page_of_a_ring_that_was_never_taken_is_refused),
    };
    return cmocka_run_group_tests(tests, make_killed, free_killed);
}
