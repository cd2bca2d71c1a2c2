/*
 * A full disk costs events, but no system calls for each of them.
 *
 * Link with: -Wl,--wrap=fallocate,--wrap=fallocate64
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "writer/tests/support.h"
#include "writer/tests/wrapped.h"

enum { RECORDER_COUNT = 4, EVENT_COUNT = 20000 };

static bool is_full;
static uint64_t refused_count;

int __real_fallocate(int fd, int mode, off_t from, off_t nbytes);
int __wrap_fallocate(int fd, int mode, off_t from, off_t nbytes);
int __wrap_fallocate(int fd, int mode, off_t from, off_t nbytes)
{
    if (!is_full)
        return __real_fallocate(fd, mode, from, nbytes);
    refused_count++;
    errno = ENOSPC;
    return -1;
}

/* The recorders' first blocks are cells of shared pages, and so would be their next ones. */
static void a_full_disk_is_asked_rarely(void **state)
{
    (void)state;
    struct tbed_writer_options options = {.no_helper = true};
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("rarely"));
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorders[RECORDER_COUNT];
    for (unsigned i = 0; i < RECORDER_COUNT; i++) {
        recorders[i] = tbed_recorder_open(writer, NULL);
        tbed_instant_record(recorders[i], 1);
    }
    is_full = true;
    for (unsigned i = 0; i < RECORDER_COUNT * EVENT_COUNT; i++)
        tbed_instant_record(recorders[i % RECORDER_COUNT], 1);
    is_full = false;
    uint64_t dropped = tbed_writer_drop_count(writer, TBED_DROP_DISK_FULL);
    assert_true(dropped > 0 && dropped < RECORDER_COUNT * EVENT_COUNT);
    assert_in_range(refused_count, 1, 200);
    usleep(100000); /* then it is asked again */
    for (unsigned i = 0; i < RECORDER_COUNT; i++)
        tbed_instant_record(recorders[i], 1);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_DISK_FULL), dropped);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_int_equal(test_drop_count(reader), dropped);
    tbed_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_is_asked_rarely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
