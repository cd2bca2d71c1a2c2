/*
 * What is intact in a damaged trace is recovered, whatever else is gone: each event of each undamaged page is in the new
 * trace, which is clean, says what it lacks, and is its own recovery.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/event.h"
#include "format/file/directory.h"
#include "writer/tests/support.h"

enum { PAGE_NBYTES = 4096, EVENT_COUNT = 20000, FIRST_ID = 1000 };

struct trace {
    uint8_t *bytes;
    size_t nbytes;
};

static struct trace original, damaged;
static bool is_expected[EVENT_COUNT]; /* event 'i' has the id FIRST_ID + i */

static struct trace fd_read(int fd)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    struct trace trace = {malloc((size_t)status.st_size + 1), (size_t)status.st_size};
    assert_non_null(trace.bytes);
    assert_int_equal(pread(fd, trace.bytes, trace.nbytes, 0), trace.nbytes);
    return trace;
}

static int fd_with(const struct trace *trace)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, trace->bytes, trace->nbytes, 0), trace->nbytes);
    return fd;
}

static int make_original(void **state)
{
    (void)state;
    const char *path = test_path("original.tbed");
    struct tbed_writer_options options = {
        .size = sizeof options, .page_nbytes = PAGE_NBYTES, .no_helper = true};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread");
    for (uint32_t i = 0; i < EVENT_COUNT; i++)
        tbed_instant_record(recorder, FIRST_ID + i);
    for (uint32_t i = 0; i < 1000; i++) {
        char text[32];
        tbed_string_intern(writer, text, (size_t)snprintf(text, sizeof text, "text %u", i));
    }
    tbed_writer_free(writer);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    original = fd_read(fd);
    close(fd);
    damaged.bytes = malloc(2 * original.nbytes);
    return damaged.bytes != NULL ? 0 : -1;
}

static int free_original(void **state)
{
    (void)state;
    free(original.bytes);
    free(damaged.bytes);
    return 0;
}

static void restore(void)
{
    memcpy(damaged.bytes, original.bytes, original.nbytes);
    damaged.nbytes = original.nbytes;
    memset(is_expected, true, sizeof is_expected);
}

static uint8_t *page_of(uint64_t page)
{
    return damaged.bytes + page * PAGE_NBYTES;
}

static uint64_t page_count(void)
{
    return original.nbytes / PAGE_NBYTES;
}

/* The events of the page are lost. */
static void expect_loss(uint64_t page)
{
    const uint8_t *bytes = original.bytes + page * PAGE_NBYTES;
    struct tbed_block_fields fields = tbed_block_load(bytes);
    if (fields.kind != TBED_BLOCK_EVENTS)
        return;
    for (uint32_t at = TBED_BLOCK_HEADER_NBYTES; at < fields.used_nbytes; at += 8) {
        uint64_t word = tbed_word_load(bytes + at);
        if (tbed_event_tag(word) == TBED_TAG_INSTANT)
            is_expected[tbed_event_id(word) - FIRST_ID] = false;
    }
}

static int recover(const struct trace *trace, enum tbed_status expected, struct tbed_recovery *recovery)
{
    int from = fd_with(trace), to = memfd_create("recovered", MFD_CLOEXEC);
    struct tbed_error error;
    enum tbed_status status = tbed_trace_recover(from, to, recovery, &error);
    assert_int_equal(status, expected);
    close(from);
    return to;
}

static void check_events(struct tbed_reader *reader)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    size_t at = 0;
    assert_int_equal(tbed_cursor_open(reader, test_stream_named(reader, "thread"), &cursor), TBED_OK);
    while (tbed_cursor_next(cursor, &event) == TBED_OK) {
        while (at < EVENT_COUNT && !is_expected[at])
            at++;
        assert_true(at < EVENT_COUNT);
        assert_int_equal(event.id, FIRST_ID + at++);
    }
    while (at < EVENT_COUNT && !is_expected[at])
        at++;
    assert_int_equal(at, EVENT_COUNT);
    tbed_cursor_close(cursor);
}

/* Recovering the result again changes nothing. */
static void check_again(int fd)
{
    struct trace once = fd_read(fd);
    struct tbed_recovery recovery;
    int again = recover(&once, TBED_OK, &recovery);
    assert_int_equal(recovery.loss_count, 0);
    assert_int_equal(recovery.header, TBED_RECOVERED_HEADER_INTACT);
    assert_false(recovery.counters_are_lost);
    struct trace twice = fd_read(again);
    assert_int_equal(twice.nbytes, once.nbytes);
    assert_memory_equal(twice.bytes, once.bytes, once.nbytes);
    free(once.bytes);
    free(twice.bytes);
    close(again);
}

static struct tbed_recovery expect_recovery(void)
{
    struct tbed_recovery recovery;
    struct tbed_reader *reader;
    struct tbed_lost_info lost;
    int fd = recover(&damaged, TBED_OK, &recovery);
    assert_int_equal(tbed_reader_open_fd(fd, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    check_events(reader);
    assert_int_equal(tbed_lost_get(reader, 0, &lost), recovery.loss_count > 0);
    tbed_reader_close(reader);
    check_again(fd);
    close(fd);
    return recovery;
}

/* ---- Tests ---- */

static void intact_trace_is_recovered_without_loss(void **state)
{
    (void)state;
    restore();
    struct tbed_recovery recovery = expect_recovery();
    assert_int_equal(recovery.loss_count, 0);
    assert_int_equal(recovery.moved_count, 0);
    assert_int_equal(recovery.header, TBED_RECOVERED_HEADER_INTACT);
}

static void trace_without_its_header_page_is_recovered(void **state)
{
    (void)state;
    restore();
    memset(page_of(0), 0, PAGE_NBYTES);
    struct tbed_recovery recovery = expect_recovery();
    assert_int_equal(recovery.loss_count, 0);
    assert_int_equal(recovery.header, TBED_RECOVERED_HEADER_COPY);
    assert_true(recovery.counters_are_lost);
}

static void flipped_bit_in_the_header_costs_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < 256; i++) {
        restore();
        damaged.bytes[i] ^= 4;
        struct tbed_recovery recovery = expect_recovery();
        assert_int_equal(recovery.loss_count, 0);
    }
}

static void each_zeroed_page_is_lost_alone_and_said_to_be(void **state)
{
    (void)state;
    for (uint64_t page = 1; page < page_count(); page++) {
        restore();
        memset(page_of(page), 0, PAGE_NBYTES);
        bool is_of_directory = tbed_directory_has_page(PAGE_NBYTES, page);
        uint32_t kind = original.bytes[page * PAGE_NBYTES];
        expect_loss(page);
        if (kind != TBED_BLOCK_EVENTS && !is_of_directory) /* the thread's name is there too */
            continue;
        assert_int_equal(expect_recovery().loss_count, !is_of_directory);
    }
}

/* What is left of the header says that the page begins the block that a later page has, and has nothing yet. */
static void an_empty_block_takes_no_number_from_a_sealed_one(void **state)
{
    (void)state;
    unsigned tried = 0;
    for (uint64_t page = 1; page + 7 < page_count(); page++) {
        restore();
        struct tbed_disk_block *header = (struct tbed_disk_block *)(void *)page_of(page);
        struct tbed_block_fields here = tbed_block_load(page_of(page)),
                                 later = tbed_block_load(page_of(page + 7));
        if (here.kind != TBED_BLOCK_EVENTS || later.kind != TBED_BLOCK_EVENTS || here.stream != later.stream)
            continue;
        memset(page_of(page) + offsetof(struct tbed_disk_block, sequence), 0,
               PAGE_NBYTES - offsetof(struct tbed_disk_block, sequence));
        header->sequence = tbed_le32_make(later.sequence);
        expect_loss(page);
        assert_int_equal(expect_recovery().loss_count, 1);
        tried++;
    }
    assert_true(tried > 0);
}

static void swapped_pages_return_to_their_places(void **state)
{
    (void)state;
    for (uint64_t page = 1; page + 7 < page_count(); page++) {
        restore();
        memcpy(page_of(page), original.bytes + (page + 7) * PAGE_NBYTES, PAGE_NBYTES);
        memcpy(page_of(page + 7), original.bytes + page * PAGE_NBYTES, PAGE_NBYTES);
        assert_int_equal(expect_recovery().loss_count, 0);
    }
}

static void inserted_bytes_cost_only_the_page_they_are_in(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 8, 100, 4096};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        restore();
        size_t at = 5 * PAGE_NBYTES + 1000;
        memmove(damaged.bytes + at + counts[i], damaged.bytes + at, damaged.nbytes - at);
        memset(damaged.bytes + at, 0xA5, counts[i]);
        damaged.nbytes += counts[i];
        expect_loss(5);
        assert_int_equal(expect_recovery().loss_count, 1);
    }
}

static void half_of_a_trace_is_recovered(void **state)
{
    (void)state;
    restore();
    damaged.nbytes = page_count() / 2 * PAGE_NBYTES;
    for (uint64_t page = page_count() / 2; page < page_count(); page++)
        expect_loss(page);
    assert_true(expect_recovery().loss_count > 0);
}

static void pages_alone_are_recovered_without_any_copy_of_the_header(void **state)
{
    (void)state;
    restore();
    for (uint64_t page = 0; page < page_count(); page++) {
        uint32_t kind = original.bytes[page * PAGE_NBYTES];
        if (kind == TBED_BLOCK_CELLS || kind == TBED_BLOCK_DIRECTORY || page == 0)
            memset(page_of(page), 0, PAGE_NBYTES);
    }
    struct tbed_recovery recovery;
    struct tbed_reader *reader;
    int fd = recover(&damaged, TBED_OK, &recovery);
    assert_int_equal(recovery.header, TBED_RECOVERED_HEADER_MADE_UP);
    assert_int_equal(tbed_reader_open_fd(fd, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    tbed_reader_close(reader);
    check_again(fd);
    close(fd);
}

static void nothing_is_recovered_from_anything_else(void **state)
{
    (void)state;
    restore();
    memset(damaged.bytes, 0, damaged.nbytes);
    close(recover(&damaged, TBED_ERR_NOT_A_TRACE, NULL));
    damaged.nbytes = 0;
    close(recover(&damaged, TBED_ERR_EMPTY, NULL));
}

static void snapshot_of_a_damaged_trace_says_what_it_lacks(void **state)
{
    (void)state;
    for (uint64_t page = 1; page < page_count(); page++) {
        uint32_t kind = original.bytes[page * PAGE_NBYTES];
        uint64_t left_out;
        struct tbed_reader *reader;
        struct tbed_lost_info lost;
        if (kind != TBED_BLOCK_EVENTS)
            continue;
        for (unsigned way = 0; way < 3; way++) {
            restore();
            way == 0 ? (void)memset(page_of(page), 0, PAGE_NBYTES)
                     : (void)(page_of(page)[way == 1 ? 0 : 80] ^= 64);
            expect_loss(page);
            int from = fd_with(&damaged), to = memfd_create("snapshot", MFD_CLOEXEC);
            assert_int_equal(tbed_trace_snapshot(from, to, &left_out, NULL), TBED_OK);
            assert_int_equal(left_out, 1);
            assert_int_equal(tbed_reader_open_fd(to, NULL, &reader, NULL), TBED_OK);
            assert_int_equal(tbed_reader_verify(reader), TBED_OK);
            check_events(reader);
            assert_true(tbed_lost_get(reader, 0, &lost));
            struct tbed_block_fields fields = tbed_block_load(original.bytes + page * PAGE_NBYTES);
            assert_int_equal(lost.stream, fields.stream);
            assert_int_equal(lost.first_sequence, fields.sequence);
            assert_int_equal(lost.count, 1);
            assert_int_equal(lost.first_tick, fields.first_tick);
            assert_false(tbed_lost_get(reader, 1, &lost));
            tbed_reader_close(reader);
            close(from);
            close(to);
        }
    }
}

/* What was damaged is left out, and the snapshot is intact. */
static void expect_snapshot_with_losses(void)
{
    uint64_t left_out;
    struct tbed_reader *reader;
    struct tbed_lost_info lost;
    int from = fd_with(&damaged), to = memfd_create("snapshot", MFD_CLOEXEC);
    assert_int_equal(tbed_trace_snapshot(from, to, &left_out, NULL), TBED_OK);
    assert_true(left_out > 0);
    assert_int_equal(tbed_reader_open_fd(to, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    assert_true(tbed_lost_get(reader, 0, &lost));
    tbed_reader_close(reader);
    close(from);
    close(to);
}

static void snapshot_of_a_cut_trace_says_what_it_lacks(void **state)
{
    (void)state;
    restore();
    damaged.nbytes = page_count() / 2 * PAGE_NBYTES;
    expect_snapshot_with_losses();
}

/* With none, not one of the blocks has a stream that was handed out. */
static void snapshot_of_a_trace_with_any_count_of_streams_is_intact(void **state)
{
    (void)state;
    static const uint64_t counts[] = {0, 1, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        restore();
        ((struct tbed_disk_header *)(void *)damaged.bytes)->next_stream = tbed_le64_make(counts[i]);
        memset(page_of(2), 0, PAGE_NBYTES);
        expect_snapshot_with_losses();
    }
}

/* A flight recorder of two threads, of which the first one's oldest blocks are gone. */
static struct trace ring_make(void)
{
    const char *path = test_path("ring.tbed");
    struct tbed_writer_options options = {
        .page_nbytes = PAGE_NBYTES, .no_helper = true, .ring_nbytes = 16 * PAGE_NBYTES};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorders[] = {tbed_recorder_open(writer, "a"), tbed_recorder_open(writer, "b")};
    for (uint32_t i = 0; i < 40 * PAGE_NBYTES / 8; i++)
        tbed_instant_record(recorders[i / 512 % 2], i);
    tbed_writer_free(writer);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct trace ring = fd_read(fd);
    close(fd);
    return ring;
}

/* What is left is numbered from 0, and a block that was damaged has its number between the blocks around it. */
static void a_lost_block_of_a_flight_recorder_keeps_its_place(void **state)
{
    (void)state;
    struct trace ring = ring_make();
    unsigned tried = 0;
    for (uint64_t page = 1; page <= 16; page++) {
        struct tbed_block_fields lost = tbed_block_load(ring.bytes + page * PAGE_NBYTES);
        uint32_t before = 0, after = 0;
        if (lost.kind != TBED_BLOCK_EVENTS)
            continue;
        for (uint64_t other = 1; other < ring.nbytes / PAGE_NBYTES; other++) {
            struct tbed_block_fields fields = tbed_block_load(ring.bytes + other * PAGE_NBYTES);
            bool is_same = fields.kind == TBED_BLOCK_EVENTS && fields.stream == lost.stream;
            before += is_same && fields.sequence < lost.sequence;
            after += is_same && fields.sequence > lost.sequence;
        }
        if (before == 0 || after == 0)
            continue;
        struct trace copy = {malloc(ring.nbytes), ring.nbytes};
        struct tbed_recovery recovery;
        struct tbed_reader *reader;
        struct tbed_lost_info info;
        memcpy(copy.bytes, ring.bytes, ring.nbytes);
        memset(copy.bytes + page * PAGE_NBYTES, 0, PAGE_NBYTES);
        int fd = recover(&copy, TBED_OK, &recovery);
        assert_int_equal(tbed_reader_open_fd(fd, NULL, &reader, NULL), TBED_OK);
        assert_int_equal(tbed_reader_verify(reader), TBED_OK);
        assert_true(tbed_lost_get(reader, 0, &info));
        assert_int_equal(info.stream, lost.stream);
        assert_int_equal(info.first_sequence, before);
        assert_int_equal(info.count, 1);
        tbed_reader_close(reader);
        close(fd);
        free(copy.bytes);
        tried++;
    }
    assert_true(tried > 3);
    free(ring.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intact_trace_is_recovered_without_loss),
        cmocka_unit_test(trace_without_its_header_page_is_recovered),
        cmocka_unit_test(flipped_bit_in_the_header_costs_nothing),
        cmocka_unit_test(each_zeroed_page_is_lost_alone_and_said_to_be),
        cmocka_unit_test(an_empty_block_takes_no_number_from_a_sealed_one),
        cmocka_unit_test(swapped_pages_return_to_their_places),
        cmocka_unit_test(inserted_bytes_cost_only_the_page_they_are_in),
        cmocka_unit_test(half_of_a_trace_is_recovered),
        cmocka_unit_test(pages_alone_are_recovered_without_any_copy_of_the_header),
        cmocka_unit_test(nothing_is_recovered_from_anything_else),
        cmocka_unit_test(snapshot_of_a_damaged_trace_says_what_it_lacks),
        cmocka_unit_test(snapshot_of_a_cut_trace_says_what_it_lacks),
        cmocka_unit_test(snapshot_of_a_trace_with_any_count_of_streams_is_intact),
        cmocka_unit_test(a_lost_block_of_a_flight_recorder_keeps_its_place),
    };
    return cmocka_run_group_tests(tests, make_original, free_original);
}
