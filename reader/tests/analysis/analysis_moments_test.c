/*
 * The moments of allocations: equal parts of a trace's time, wherever it begins and ends.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/tests/core/trace_builder.h"

#include <cmocka.h>

#include <sys/mman.h>
#include <tracebed/analysis.h>
#include <tracebed/writer.h>
#include <unistd.h>

#define MOMENTS 16u

/* A block of 100 bytes that is allocated at the trace's first tick, 0, and freed at the last. */
static struct tbed_reader *one_block(uint64_t last_tick)
{
    struct tbed_writer_options options = {.size = sizeof options, .given_ticks = true};
    struct tbed_given_event event = {.type = TBED_GIVEN_INSTANT, .id = 1, .category = TBED_ID_INVALID};
    struct tbed_writer *writer;
    struct tbed_reader *reader;
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_int_equal(tbed_writer_open_fd(fd, &options, &writer, NULL), TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open_given(writer, NULL, 1);
    tbed_event_record_given(recorder, &event);
    tbed_alloc_record(recorder, 1, TBED_FUNCTION_MALLOC, 4096, 100);
    event.tick = last_tick;
    tbed_event_record_given(recorder, &event);
    tbed_free_record(recorder, 1, TBED_FUNCTION_MALLOC, 4096);
    tbed_writer_close(writer);
    assert_int_equal(tbed_reader_open_fd(fd, NULL, &reader, NULL), TBED_OK);
    close(fd);
    return reader;
}

static void check_moments(struct tbed_reader *reader, uint32_t count, uint64_t peak_nbytes)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1, .moment_count = count};
    struct tbed_allocations *allocations;
    const struct tbed_allocation_moment *moment;
    uint64_t before = 0;
    uint32_t found = 0;
    assert_int_equal(tbed_allocations_make(reader, &options, &allocations), TBED_OK);
    for (; (moment = tbed_allocations_moment(allocations, found)) != NULL; found++) {
        assert_true(moment->tick >= before);
        assert_int_equal(moment->count, found == 0 && peak_nbytes > 0);
        assert_int_equal(moment->peak_nbytes, peak_nbytes);
        before = moment->tick;
    }
    assert_int_equal(found, count);
    assert_int_equal(tbed_allocations_moment(allocations, count - 1)->live_nbytes, 0);
    tbed_allocations_close(allocations);
    tbed_reader_close(reader);
}

static void moments_divide_the_time_of_a_trace(void **state)
{
    (void)state;
    check_moments(one_block(159), 16, 100);
    check_moments(one_block(1000000), 7, 100);
    check_moments(one_block(UINT64_MAX), 16, 100);
}

static void moments_behind_the_last_possible_tick_stay_in_order(void **state)
{
    (void)state;
    struct trace trace = trace_make(2);
    struct trace_block block = trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 1, 0);
    trace_block_header(&block)->first_tick = tbed_le64_make(UINT64_MAX - 3);
    block.last_tick = UINT64_MAX;
    trace_seal(&block);
    check_moments(trace_open(&trace), 16, 0);
    trace_free(&trace);
}

static void one_moment_covers_all_possible_ticks(void **state)
{
    (void)state;
    check_moments(one_block(UINT64_MAX), 1, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_divide_the_time_of_a_trace),
        cmocka_unit_test(moments_behind_the_last_possible_tick_stay_in_order),
        cmocka_unit_test(one_moment_covers_all_possible_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
