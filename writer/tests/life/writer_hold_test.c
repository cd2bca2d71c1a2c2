/*
 * A forked child records through its parent's open file, whose lock is shared. Neither may take the lock from the other:
 * a file that is sealed while a process records into it would be damaged by its next event.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that carries out commands, one at a time. */
struct child {
    pid_t pid;
    int orders, reports;
};

static char path[300];

static void child_start(struct child *child, struct tbed_writer *writer)
{
    int orders[2], reports[2];
    char order;
    assert_true(pipe(orders) == 0 && pipe(reports) == 0);
    child->pid = fork();
    if (child->pid == 0) {
        struct tbed_recorder *recorder = NULL; /* opening one stores its name, and so joins the file */
        while (read(orders[0], &order, 1) == 1 && order != 'x') {
            if (order == 'r' && recorder == NULL)
                recorder = tbed_recorder_open(writer, "child");
            if (order == 'r')
                tbed_instant_record(recorder, 7);
            else if (order == 'd')
                for (int fd = 40; fd < 1000; fd++)
                    close(fd);
            else
                tbed_writer_close(writer);
            if (write(reports[1], "", 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    child->orders = orders[1];
    child->reports = reports[0];
}

static void child_does(const struct child *child, char order)
{
    char report;
    assert_int_equal(write(child->orders, &order, 1), 1);
    if (order == 'x')
        assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
    else
        assert_int_equal(read(child->reports, &report, 1), 1);
}

static struct tbed_writer *begin(const char *name)
{
    snprintf(path, sizeof path, "%s", test_path(name));
    struct tbed_writer *writer =
        test_writer_open(path, &(struct tbed_writer_options){.join = true, .no_helper = true});
    tbed_instant_record(tbed_recorder_open(writer, "parent"), 1);
    return writer;
}

static void expect_events(bool shut, size_t wanted)
{
    size_t count;
    struct tbed_reader *reader = test_reader_open(path, shut);
    free(test_events(reader, test_stream_named(reader, "child"), &count));
    assert_int_equal(count, wanted);
    assert_int_equal(test_drop_count(reader), 0);
    tbed_reader_close(reader);
}

static void a_parent_that_closes_leaves_the_file_to_its_child(void **state)
{
    (void)state;
    struct child child;
    struct tbed_writer *writer = begin("left.tbed");
    child_start(&child, writer);
    child_does(&child, 'r');
    tbed_writer_close(writer);
    assert_int_equal(tbed_trace_seal(path, NULL), TBED_ERR_BUSY);
    child_does(&child, 'r');
    expect_events(false, 2);
    child_does(&child, 'c');
    expect_events(true, 2);
    child_does(&child, 'x');
    tbed_writer_free(writer);
}

static void a_child_that_closes_leaves_the_file_to_its_parent(void **state)
{
    (void)state;
    struct child child;
    struct tbed_writer *writer = begin("kept.tbed");
    child_start(&child, writer);
    child_does(&child, 'r');
    child_does(&child, 'c');
    assert_int_equal(tbed_trace_seal(path, NULL), TBED_ERR_BUSY);
    tbed_instant_record(tbed_recorder_open(writer, "later"), 2);
    expect_events(false, 1);
    tbed_writer_close(writer);
    expect_events(true, 1);
    child_does(&child, 'x');
    tbed_writer_free(writer);
}

/* It has the lock, too, but has never used it: the last writer closes the file, and the child joins it again later. */
static void a_child_that_has_not_joined_keeps_nothing_open(void **state)
{
    (void)state;
    struct child child;
    struct tbed_writer *writer = begin("unused.tbed");
    child_start(&child, writer);
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(path, true));
    child_does(&child, 'r');
    assert_int_equal(tbed_trace_seal(path, NULL), TBED_ERR_BUSY);
    expect_events(false, 1);
    child_does(&child, 'c');
    expect_events(true, 1);
    child_does(&child, 'x');
    tbed_writer_free(writer);
}

/* Another writer that leaves in between finds the child's lock. */
static void another_writer_does_not_close_the_childs_file(void **state)
{
    (void)state;
    struct child child;
    struct tbed_writer *writer = begin("other.tbed");
    struct tbed_writer *other = test_writer_open(path, &(struct tbed_writer_options){.join = true});
    child_start(&child, writer);
    child_does(&child, 'r');
    tbed_writer_close(writer);
    tbed_writer_close(other);
    child_does(&child, 'r');
    expect_events(false, 2);
    child_does(&child, 'c');
    expect_events(true, 2);
    child_does(&child, 'x');
    tbed_writer_free(writer);
    tbed_writer_free(other);
}

static void a_child_records_without_a_way_to_the_file(void **state)
{
    (void)state;
    struct child child;
    struct tbed_writer *writer = begin("gone.tbed");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    child_start(&child, writer);
    unlink(path);
    child_does(&child, 'd');
    child_does(&child, 'r');
    child_does(&child, 'x');
    tbed_writer_free(writer);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    expect_events(false, 1);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parent_that_closes_leaves_the_file_to_its_child),
        cmocka_unit_test(a_child_that_closes_leaves_the_file_to_its_parent),
        cmocka_unit_test(a_child_that_has_not_joined_keeps_nothing_open),
        cmocka_unit_test(another_writer_does_not_close_the_childs_file),
        cmocka_unit_test(a_child_records_without_a_way_to_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
