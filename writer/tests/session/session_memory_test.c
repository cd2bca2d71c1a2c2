/*
 * A process without memory for a session: every call is harmless, nothing is started, and all works as soon as there is
 * memory. And an old trace that cannot be replaced, or that another process replaces at the same time.
 *
 * Link with: -Wl,--wrap=mmap,--wrap=mmap64,--wrap=madvise,--wrap=unlink,--wrap=lstat,--wrap=lstat64
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "writer/session/start_file.h"
#include "writer/tests/support.h"
#include "writer/tests/wrapped.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool lacks_memory, lacks_advice;

void *__real_mmap(void *at, size_t nbytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t nbytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t nbytes, int protection, int flags, int fd, off_t offset)
{
    if (!lacks_memory)
        return __real_mmap(at, nbytes, protection, flags, fd, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

/* Older kernels do not know MADV_WIPEONFORK. */
int __real_madvise(void *at, size_t nbytes, int advice);
int __wrap_madvise(void *at, size_t nbytes, int advice);
int __wrap_madvise(void *at, size_t nbytes, int advice)
{
    if (!lacks_advice)
        return __real_madvise(at, nbytes, advice);
    errno = EINVAL;
    return -1;
}

static int unlinks_failing, lstats_failing; /* how many more calls */

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
    if (unlinks_failing == 0)
        return __real_unlink(path);
    unlinks_failing--;
    errno = EPERM;
    return -1;
}

int __real_lstat(const char *path, struct stat *status);
int __wrap_lstat(const char *path, struct stat *status);
int __wrap_lstat(const char *path, struct stat *status)
{
    if (lstats_failing == 0)
        return __real_lstat(path, status);
    lstats_failing--;
    errno = ENOENT;
    return -1;
}

static struct tbed_category category = {.site = {.text = "late"}};

/* Comes first: once a process has the memory, it keeps it. */
static void calls_without_a_session_do_nothing(void **state)
{
    struct tbed_track track = {.name = "track"};
    const char *path = test_path("none.tbed");
    lacks_memory = *(const bool *)*state;
    lacks_advice = !lacks_memory;
    errno = 5;
    assert_int_equal(tbed_start(path, NULL), TBED_ERR_BUSY);
    assert_false(tbed_category_enable("*", false));
    assert_false(tbed_category_list("net,-gui"));
    tbed_category_add(&category);
    assert_int_equal(category.is_added, 0);
    tbed_category_remove(&category);
    tbed_track_close(&track);
    TBED_INSTANT("unrecorded");
    tbed_stop();
    assert_int_equal(errno, 5);
    lacks_memory = lacks_advice = false;
    assert_int_not_equal(access(path, F_OK), 0);
}

static void all_works_once_there_is_memory(void **state)
{
    (void)state;
    size_t count;
    const char *path = test_path("later.tbed");
    assert_int_equal(tbed_start(path, NULL), TBED_OK);
    tbed_category_add(&category);
    tbed_category_add(&category); /* by a second copy of the constructor */
    assert_int_equal(category.is_added, 1);
    TBED_INSTANT("recorded");
    tbed_category_remove(&category);
    tbed_category_remove(&category);
    assert_int_equal(category.is_added, 0);
    tbed_stop();
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_event *events = test_events(reader, test_stream_named(reader, NULL), &count);
    assert_int_equal(count, 1);
    assert_text(reader, events[0].id, "recorded");
    free(events);
    tbed_reader_close(reader);
}

/* ---- An old trace ---- */

static enum tbed_status start_over(const char *path, struct tbed_error *error)
{
    struct tbed_writer_options options = {.size = sizeof options, .no_helper = true};
    struct tbed_writer *writer = NULL;
    enum tbed_status status = tbed_start_file(path, &options, false, &writer, error);
    tbed_writer_free(writer);
    return status;
}

static void an_old_trace_that_cannot_be_removed_is_kept(void **state)
{
    (void)state;
    struct tbed_error error;
    const char *path = test_path("kept.tbed");
    assert_int_equal(start_over(path, &error), TBED_OK);
    unlinks_failing = 1;
    assert_int_equal(start_over(path, &error), TBED_ERR_OPEN);
    assert_int_equal(error.status, TBED_ERR_OPEN);
    assert_int_equal(error.system_errno, EPERM);
    assert_int_equal(unlinks_failing, 0);
    tbed_reader_close(test_reader_open(path, true));
}

static void an_old_trace_that_is_being_replaced_is_looked_at_again(void **state)
{
    (void)state;
    struct tbed_error error;
    const char *path = test_path("replaced.tbed");
    assert_int_equal(start_over(path, &error), TBED_OK);
    lstats_failing = 2;
    assert_int_equal(start_over(path, &error), TBED_OK);
    assert_int_equal(lstats_failing, 0);
    tbed_reader_close(test_reader_open(path, true));
}

int main(void)
{
    static bool is_true = true, is_false = false;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(calls_without_a_session_do_nothing, &is_true),
        cmocka_unit_test_prestate(calls_without_a_session_do_nothing, &is_false),
        cmocka_unit_test(all_works_once_there_is_memory),
        cmocka_unit_test(an_old_trace_that_cannot_be_removed_is_kept),
        cmocka_unit_test(an_old_trace_that_is_being_replaced_is_looked_at_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
