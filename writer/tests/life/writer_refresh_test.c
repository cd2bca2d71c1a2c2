/*
 * A reader that refreshes at the moment at which writers leave or join the file.
 *
 * They do so during the reader's fstat(); writer/tests/models/live_model_test.c covers all other moments.
 *
 * Link with: -Wl,--wrap=fstat,--wrap=fstat64
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"
#include "writer/tests/wrapped.h"

#include <sys/stat.h>

int __real_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status);

/* Runs when the reader has just learned the file's size; NULL: nothing. */
static void (*after_size)(void);
static struct tbed_writer *writer;
static const char *path;

int __wrap_fstat(int fd, struct stat *status)
{
    int result = __real_fstat(fd, status);
    void (*act)(void) = after_size;
    after_size = NULL;
    if (act != NULL)
        act();
    return result;
}

static void record(uint32_t count)
{
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    for (uint32_t i = 0; i < count; i++)
        tbed_instant_record(recorder, i);
}

static void leave(void)
{
    tbed_writer_free(writer);
}

/* Joins, claims some pages and leaves, so that the file is shut before and after. */
static void come_and_go(void)
{
    struct tbed_writer_options options = {.size = sizeof options, .join = true, .no_helper = true};
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    record(100000);
    tbed_writer_free(writer);
}

static void refresh_during(struct tbed_reader *reader, void (*act)(void))
{
    struct tbed_damage damage;
    struct tbed_trace_info info;
    after_size = act;
    assert_int_equal(tbed_reader_refresh(reader, NULL), TBED_OK);
    assert_null(after_size);
    if (tbed_damage_get(reader, 0, &damage))
        fail_msg("%s at %llu", tbed_status_name(damage.status), (unsigned long long)damage.offset);
    tbed_reader_info(reader, &info);
    assert_false(info.shut); /* the file changed during the refresh, so it counts as open */
    assert_int_equal(tbed_reader_refresh(reader, NULL), TBED_OK);
    tbed_reader_info(reader, &info);
    assert_true(info.shut);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    tbed_reader_close(reader);
}

static struct tbed_reader *open_file(bool is_shut)
{
    struct tbed_reader *reader;
    path = test_path(is_shut ? "shut.tbed" : "open.tbed");
    writer = test_writer_open(path, NULL);
    record(100);
    if (is_shut)
        tbed_writer_free(writer);
    assert_int_equal(tbed_reader_open(path, NULL, &reader, NULL), TBED_OK);
    return reader;
}

static void file_that_is_shut_during_a_refresh_is_not_damaged(void **state)
{
    (void)state;
    refresh_during(open_file(false), leave);
}

static void file_that_a_writer_joins_and_leaves_during_a_refresh_is_not_damaged(void **state)
{
    (void)state;
    refresh_during(open_file(true), come_and_go);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_that_is_shut_during_a_refresh_is_not_damaged),
        cmocka_unit_test(file_that_a_writer_joins_and_leaves_during_a_refresh_is_not_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
