/*
 * What a program may find at the path of its trace: an old trace, one in use, or another file. Also the units of
 * counters and pointers in messages.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/session/start_file.h"
#include "writer/tests/support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[256];
static struct tbed_error error;

static enum tbed_status start_as(bool rotates, bool joins, struct tbed_writer **writer_ret)
{
    struct tbed_writer_options options = {.size = sizeof options, .no_helper = true, .rotate = rotates};
    *writer_ret = NULL;
    return tbed_start_file(path, &options, joins, writer_ret, &error);
}

static enum tbed_status start_and_end(bool rotates, bool joins)
{
    struct tbed_writer *writer;
    enum tbed_status status = start_as(rotates, joins, &writer);
    tbed_writer_free(writer);
    return status;
}

static void set_path(const char *name)
{
    snprintf(path, sizeof path, "%s", test_path(name));
}

static ino_t inode_of(const char *name)
{
    struct stat status;
    return stat(name, &status) == 0 ? status.st_ino : 0;
}

static void an_old_trace_is_replaced(void **state)
{
    (void)state;
    set_path("old.tbed");
    assert_int_equal(start_and_end(false, false), TBED_OK);
    int kept = open(path, O_RDONLY | O_CLOEXEC); /* keeps the inode number from being reused */
    ino_t old = inode_of(path);
    assert_int_equal(start_and_end(false, false), TBED_OK);
    assert_int_not_equal(inode_of(path), old);
    close(kept);
}

static void a_trace_in_use_is_joined_unless_it_would_be_a_series(void **state)
{
    (void)state;
    struct tbed_writer *first, *second;
    set_path("shared.tbed");
    assert_int_equal(start_as(false, false, &first), TBED_OK);
    ino_t inode = inode_of(path);
    assert_int_equal(start_as(false, false, &second), TBED_OK);
    tbed_writer_free(second);
    assert_int_equal(start_and_end(false, true), TBED_OK);
    assert_int_equal(start_and_end(true, false), TBED_ERR_BUSY);
    assert_int_equal(error.status, TBED_ERR_BUSY);
    assert_int_equal(error.system_errno, 0);
    assert_int_equal(inode_of(path), inode);
    tbed_writer_free(first);
}

/* A program that a traced program starts has a series of its own. */
static void a_series_that_must_not_replace_a_file_takes_the_next_name(void **state)
{
    (void)state;
    char second[300], third[300];
    set_path("series.tbed");
    snprintf(second, sizeof second, "%s-2", path);
    snprintf(third, sizeof third, "%s-3", path);
    assert_int_equal(start_and_end(true, true), TBED_OK);
    ino_t inode = inode_of(path);
    assert_int_equal(start_and_end(true, true), TBED_OK);
    assert_int_equal(start_and_end(true, true), TBED_OK);
    assert_int_equal(inode_of(path), inode);
    tbed_reader_close(test_reader_open(second, true));
    tbed_reader_close(test_reader_open(third, true));
    unlink(second);
    unlink(third);
}

static void a_file_that_is_not_a_trace_is_left_alone(void **state)
{
    (void)state;
    set_path("text");
    FILE *file = fopen(path, "w");
    assert_true(file != NULL && fputs("a text, and no trace\n", file) >= 0 && fclose(file) == 0);
    assert_int_equal(start_and_end(false, false), TBED_ERR_NOT_A_TRACE);
    assert_int_equal(error.system_errno, 0);
    char link[256];
    snprintf(link, sizeof link, "%s", path);
    set_path("link");
    assert_int_equal(symlink(link, path), 0);
    assert_int_equal(start_and_end(false, false), TBED_ERR_NOT_REGULAR);
    struct stat status;
    assert_true(stat(link, &status) == 0 && status.st_size == 21);
    unlink(path);
}

static void counters_have_units_and_messages_store_pointers(void **state)
{
    (void)state;
    set_path("values.tbed");
    static const char text[] = "not to be read";
    size_t count, counters = 0;
    uint64_t pointer = 0;
    assert_int_equal(tbed_start(path, NULL), TBED_OK);
    TBED_COUNTER_UNIT("heap", "bytes");
    TBED_COUNTER("heap", 5);
    TBED_LOG("at %p", text);
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_event *events = test_events(reader, test_stream_named(reader, NULL), &count);
    for (size_t i = 0; i < count; i++)
        if (events[i].type == TBED_EVENT_COUNTER) {
            assert_text(reader, tbed_counter_unit(reader, events[i].id), "bytes");
            counters++;
        } else if (events[i].type == TBED_EVENT_MESSAGE) {
            struct tbed_arguments at = events[i].arguments;
            struct tbed_argument argument;
            assert_int_equal(events[i].argument_count, 1);
            tbed_argument_next(&at, &argument);
            assert_int_equal(argument.type, TBED_ARG_POINTER);
            pointer = argument.value.u64;
        }
    assert_int_equal(counters, 1);
    assert_int_equal(pointer, (uint64_t)(uintptr_t)text);
    free(events);
    tbed_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_trace_is_replaced),
        cmocka_unit_test(a_trace_in_use_is_joined_unless_it_would_be_a_series),
        cmocka_unit_test(a_series_that_must_not_replace_a_file_takes_the_next_name),
        cmocka_unit_test(a_file_that_is_not_a_trace_is_left_alone),
        cmocka_unit_test(counters_have_units_and_messages_store_pointers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
