/*
 * Allocations by call stack, whose frames are named once, agree with those by the text of whole stacks; also where each
 * allocation of the analysis fails in turn.
 *
 * Link with: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tests/core/failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <tracebed/analysis.h>
#include <tracebed/writer.h>

#define LOCATIONS 40u
#define NAMES     6u /* of these locations */
#define STACKS    400u
#define EVENTS    3000u

static uint32_t first_location;

/* Several locations have one name, and all names have the same length, so that texts and frames sort alike. */
static size_t name_frame(void *reader, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    (void)reader;
    int nbytes = id - first_location < LOCATIONS
                     ? snprintf(buffer, buffer_nbytes, "f%u", (id - first_location) % NAMES)
                     : snprintf(buffer, buffer_nbytes, "id");
    return (size_t)nbytes;
}

/* The innermost frame first, as a report shows them. */
static size_t name_stack(void *reader, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    char text[1024] = "", frame[16];
    uint32_t location, parent;
    for (bool is_stack = true; is_stack; id = parent) {
        is_stack = tbed_stack_get(reader, id, &location, &parent);
        name_frame(NULL, is_stack ? location : id, frame, sizeof frame);
        size_t nbytes = strlen(text);
        snprintf(text + nbytes, sizeof text - nbytes, "%s%s", nbytes > 0 ? "\n" : "", frame);
        is_stack = is_stack && parent != TBED_ID_INVALID;
    }
    return (size_t)snprintf(buffer, buffer_nbytes, "%s", text);
}

static uint32_t random_below(uint32_t bound)
{
    static uint64_t state = 5;
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)((state >> 33) % bound);
}

/* Records allocations with random stacks, of which some are plain locations and one is no stack at all. */
static struct tbed_reader *record(void)
{
    struct tbed_writer_options options = {.size = sizeof options, .no_helper = true};
    struct tbed_writer *writer;
    struct tbed_reader *reader;
    int fd = memfd_create("stacks", MFD_CLOEXEC);
    assert_int_equal(tbed_writer_open_fd(fd, &options, &writer, NULL), TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread");
    struct tbed_unit_options unit = {
        .size = sizeof unit, .kind = TBED_UNIT_NATIVE, .name = "module", .pc_count = LOCATIONS};
    uint32_t stacks[STACKS] = {TBED_ID_INVALID};
    first_location = tbed_unit_register(writer, &unit);
    for (uint32_t i = 1; i < STACKS; i++) {
        uint32_t location = first_location + random_below(LOCATIONS), above = random_below(i);
        bool is_plain = i % 8 == 7, has_parent = above % 8 != 7 && random_below(5) > 0;
        stacks[i] = is_plain
                        ? location
                        : tbed_stack_intern(writer, has_parent ? stacks[above] : TBED_ID_INVALID, location);
    }
    for (uint64_t i = 1; i <= EVENTS; i++)
        tbed_alloc_record(recorder, stacks[random_below(STACKS)], TBED_FUNCTION_MALLOC, 16 * i,
                          random_below(100));
    tbed_writer_close(writer);
    assert_int_equal(tbed_reader_open_fd(fd, NULL, &reader, NULL), TBED_OK);
    close(fd);
    return reader;
}

static void expect_equal(const struct tbed_allocations *a, const struct tbed_allocations *b)
{
    const struct tbed_allocation_site *x, *y;
    size_t count = 0;
    for (; (x = tbed_allocations_site(a, count)) != NULL; count++) {
        y = tbed_allocations_site(b, count);
        assert_non_null(y);
        assert_null(y->name);
        assert_int_equal(x->id, y->id);
        assert_memory_equal(&x->sums, &y->sums, sizeof x->sums);
    }
    assert_null(tbed_allocations_site(b, count));
}

static void stacks_with_equal_frames_are_one_site(void **state)
{
    (void)state;
    struct tbed_reader *reader = record();
    struct tbed_analysis_options whole = {
        .size = sizeof whole, .thread_count = 1, .name = name_stack, .name_context = reader};
    struct tbed_analysis_options frames = {
        .size = sizeof frames, .thread_count = 1, .name = name_frame, .by_stack = true};
    struct tbed_allocations *expected, *found;
    int failed = -1;
    assert_int_equal(tbed_allocations_make(reader, &whole, &expected), TBED_OK);
    assert_non_null(tbed_allocations_site(expected, 50));
    for (bool was_reached = true; was_reached; failed++) {
        calls_left = failed + 1;
        enum tbed_status status = tbed_allocations_make(reader, &frames, &found);
        was_reached = calls_left < 0;
        calls_left = -1;
        assert_int_equal(status, was_reached ? TBED_ERR_MEMORY : TBED_OK);
    }
    assert_true(failed > 20);
    expect_equal(expected, found);
    tbed_allocations_close(expected);
    tbed_allocations_close(found);
    tbed_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_with_equal_frames_are_one_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
