/*
 * What blocks and their entries say about the ticks of their events: bounds that sealing need not look for, and that are
 * never too narrow.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include "format/block.h"
#include "format/file/directory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL  4096u
#define EVENTS 20000u

static struct tbed_block block_of(struct tbed_reader *reader, size_t index)
{
    struct tbed_block block;
    assert_int_equal(tbed_event_block_get(reader, index, &block), TBED_OK);
    assert_true(block.sealed);
    return block;
}

static uint64_t latest_tick(const struct tbed_block *block)
{
    return tbed_block_ticks(block->bytes, block->used_nbytes).last;
}

static uint64_t duration_end(struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    return info.last_tick;
}

/* ---- The machine's clock ---- */

static void record(const char *path, bool no_helper, uint64_t ring_nbytes)
{
    struct tbed_writer_options options = {
        .page_nbytes = SMALL, .no_helper = no_helper, .ring_nbytes = ring_nbytes};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "one");
    for (uint32_t i = 0; i < EVENTS; i++)
        tbed_instant_record(recorder, 16 + i % 100);
    tbed_writer_close(writer);
}

/* The highest bound is a tick that was recorded, because the last block's is. */
static void assert_bounds_are_the_next_first_ticks(const char *path)
{
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count = tbed_event_block_count(reader);
    assert_true(count > 10);
    for (size_t i = 0; i + 1 < count; i++) {
        struct tbed_block block = block_of(reader, i), next = block_of(reader, i + 1);
        if (next.sequence == block.sequence + 1) /* in a ring the one between may be gone */
            assert_int_equal(block.last_tick, next.first_tick);
        assert_true(block.last_tick <= next.first_tick);
    }
    struct tbed_block last = block_of(reader, count - 1);
    assert_int_equal(last.last_tick, latest_tick(&last));
    assert_int_equal(duration_end(reader), last.last_tick);
    tbed_reader_close(reader);
}

static void assert_bounds(const char *name, bool no_helper, uint64_t ring_nbytes)
{
    const char *path = test_path(name);
    record(path, no_helper, ring_nbytes);
    assert_bounds_are_the_next_first_ticks(path);
}

static void full_block_ends_where_the_next_one_begins(void **state)
{
    (void)state;
    assert_bounds("helper.tbed", false, 0);
    assert_bounds("alone.tbed", true, 0);
}

static void full_block_of_a_ring_ends_where_the_next_one_begins(void **state)
{
    (void)state;
    assert_bounds("ring.tbed", false, 16 * SMALL);
    assert_bounds("ring_alone.tbed", true, 16 * SMALL);
}

/* ---- Clocks that go back ---- */

static uint64_t sawtooth(void)
{
    static uint64_t count;
    count++;
    return 1000000 + count - 700 * (count % 300 / 299);
}

static void assert_ticks_are_exact(const char *path)
{
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_true(tbed_event_block_count(reader) > 10);
    for (size_t i = 0; i < tbed_event_block_count(reader); i++) {
        struct tbed_block block = block_of(reader, i);
        assert_int_equal(block.last_tick, latest_tick(&block));
    }
    tbed_reader_close(reader);
}

static void clock_of_the_program_may_go_back(void **state)
{
    const char *path = test_path("sawtooth.tbed");
    struct tbed_writer_options options = {
        .page_nbytes = SMALL, .clock = TBED_CLOCK_USER, .user_clock = sawtooth, .user_clock_unit = "steps"};
    (void)state;
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "one");
    for (uint32_t i = 0; i < EVENTS; i++)
        tbed_instant_record(recorder, 16);
    tbed_writer_close(writer);
    assert_ticks_are_exact(path);
}

static void give(struct tbed_recorder *recorder, uint64_t begin_tick, uint64_t tick)
{
    struct tbed_given_event event = {.type = begin_tick == UINT64_MAX ? TBED_GIVEN_INSTANT : TBED_GIVEN_SPAN,
                                     .id = 16,
                                     .category = TBED_ID_INVALID,
                                     .tick = tick,
                                     .begin_tick = begin_tick};
    tbed_event_record_given(recorder, &event);
}

static void given_ticks_may_go_back(void **state)
{
    const char *path = test_path("given_back.tbed");
    struct tbed_writer_options options = {.page_nbytes = SMALL, .given_ticks = true};
    (void)state;
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "one");
    for (uint32_t i = 0; i < EVENTS; i++)
        give(recorder, UINT64_MAX, 1000000 + i - 30 * (i % 20 / 19));
    tbed_writer_close(writer);
    assert_ticks_are_exact(path);
}

/* ---- Spans that begin before their block ---- */

static void assert_least_begins_are_exact(const char *path)
{
    int fd = open(path, O_RDONLY);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    size_t nbytes = (size_t)status.st_size, count = 0;
    const uint8_t *map = mmap(NULL, nbytes, PROT_READ, MAP_SHARED, fd, 0);
    for (uint64_t page = 1; page < nbytes / SMALL; page++) {
        struct tbed_block_fields block = tbed_block_load(map + page * SMALL);
        if (block.kind != TBED_BLOCK_EVENTS)
            continue;
        struct tbed_entry_fields entry = tbed_entry_load(map + tbed_directory_entry_offset(SMALL, page));
        struct tbed_block_ticks ticks = tbed_block_ticks(map + page * SMALL, block.used_nbytes);
        assert_int_equal(entry.least_begin_tick, ticks.least_begin);
        assert_true(entry.last_tick >= ticks.last);
        count++;
    }
    assert_true(count > 10);
    munmap((void *)(uintptr_t)map, nbytes);
    close(fd);
}

static void least_begin_tick_is_kept_as_spans_are_given(void **state)
{
    const char *path = test_path("spans.tbed");
    struct tbed_writer_options options = {.page_nbytes = SMALL, .given_ticks = true};
    (void)state;
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "one");
    for (uint64_t i = 0; i < EVENTS; i++)
        give(recorder, 1000000 + i - i * 7919 % 5000, 1000000 + i);
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(path, true));
    assert_least_begins_are_exact(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_block_ends_where_the_next_one_begins),
        cmocka_unit_test(full_block_of_a_ring_ends_where_the_next_one_begins),
        cmocka_unit_test(clock_of_the_program_may_go_back),
        cmocka_unit_test(given_ticks_may_go_back),
        cmocka_unit_test(least_begin_tick_is_kept_as_spans_are_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
