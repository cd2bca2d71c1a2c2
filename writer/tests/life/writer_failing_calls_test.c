/*
 * Fails each system call and each allocation of an operation in turn. The operation must either succeed without it, or
 * return an error and leave nothing half done. Everything recorded before and afterwards must be readable.
 *
 * Link with: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=mmap,--wrap=open,--wrap=fstat,--wrap=ftruncate
 * Link with: -Wl,--wrap=fallocate,--wrap=flock,--wrap=linkat,--wrap=pread,--wrap=madvise,--wrap=msync
 * Link with: -Wl,--wrap=fcntl,--wrap=fcntl64,--wrap=mmap64,--wrap=open64,--wrap=fstat64,--wrap=ftruncate64
 * Link with: -Wl,--wrap=fallocate64,--wrap=pread64
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/block.h"
#include "writer/tests/support.h"
#include "writer/tests/wrapped.h"

/* ---- Injected failures ---- */

static int calls, fails_at; /* fails the call with this number; 0: none */

static bool fails(int system_errno)
{
    if (fails_at == 0 || ++calls != fails_at)
        return false;
    errno = system_errno;
    return true;
}

#define FAILING(type, name, parameters, arguments, failed, number)                                           \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters                                                                            \
    {                                                                                                        \
        return fails(number) ? failed : __real_##name arguments;                                             \
    }

FAILING(void *, malloc, (size_t nbytes), (nbytes), NULL, ENOMEM)
FAILING(void *, calloc, (size_t count, size_t nbytes), (count, nbytes), NULL, ENOMEM)
FAILING(void *, realloc, (void *old, size_t nbytes), (old, nbytes), NULL, ENOMEM)
FAILING(void *, mmap, (void *at, size_t nbytes, int protection, int flags, int fd, off_t offset),
        (at, nbytes, protection, flags, fd, offset), MAP_FAILED, ENOMEM)
FAILING(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode), -1, EMFILE)
FAILING(int, fstat, (int fd, struct stat *status), (fd, status), -1, EIO)
FAILING(int, ftruncate, (int fd, off_t nbytes), (fd, nbytes), -1, EIO)
FAILING(int, flock, (int fd, int operation), (fd, operation), -1, EIO)
FAILING(int, linkat, (int from, const char *old, int to, const char *new, int flags),
        (from, old, to, new, flags), -1, EACCES)
FAILING(ssize_t, pread, (int fd, void *to, size_t nbytes, off_t offset), (fd, to, nbytes, offset), -1, EIO)
FAILING(int, madvise, (void *at, size_t nbytes, int advice), (at, nbytes, advice), -1, EINVAL)
FAILING(int, msync, (void *at, size_t nbytes, int flags), (at, nbytes, flags), -1, EIO)
FAILING(int, fcntl, (int fd, int command, void *argument), (fd, command, argument), -1, EMFILE)

/* If 'steals' is set, the program closes the descriptor meanwhile, and uses its number for another file. */
static bool steals;
static int stolen = -1;

int __real_fallocate(int fd, int mode, off_t from, off_t nbytes);
int __wrap_fallocate(int fd, int mode, off_t from, off_t nbytes);
int __wrap_fallocate(int fd, int mode, off_t from, off_t nbytes)
{
    if (!fails(ENOSPC))
        return __real_fallocate(fd, mode, from, nbytes);
    if (steals) {
        int null = __real_open("/dev/null", O_RDONLY | O_CLOEXEC, 0);
        stolen = dup2(null, fd);
        close(null);
        errno = ENOSPC;
    }
    return -1;
}

/* ---- Support ---- */

enum { PAGE_NBYTES = 4096, CALLS_MAX = 3000 };

static char path[256], other[256], killed[256];
static struct tbed_writer *writer;
static struct tbed_recorder *recorder;
static uint64_t event_count;

static void record(int count)
{
    char text[32];
    for (int i = 0; i < count; i++)
        tbed_instant_record(recorder, 1);
    event_count += (uint64_t)count;
    tbed_string_intern(writer, text, (size_t)snprintf(text, sizeof text, "text %d", (int)event_count));
}

static void copy_file(const char *from, const char *to)
{
    uint8_t buffer[65536];
    ssize_t nbytes;
    int in = open(from, O_RDONLY | O_CLOEXEC, 0),
        out = open(to, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(in >= 0 && out >= 0);
    while ((nbytes = read(in, buffer, sizeof buffer)) > 0)
        assert_int_equal(write(out, buffer, (size_t)nbytes), nbytes);
    close(in);
    close(out);
}

static void expect_events(const char *name, uint64_t least)
{
    struct tbed_reader *reader = test_reader_open(name, true);
    size_t count;
    free(test_events(reader, test_stream_named(reader, "main"), &count));
    assert_true(count >= least);
    tbed_reader_close(reader);
}

/* Runs the operation once, with one of its calls failing. */
typedef enum tbed_status attempt(struct tbed_error *error);

static void try_each_call(attempt *operation, void (*check)(enum tbed_status status))
{
    enum tbed_status status = TBED_ERR_MEMORY;
    bool is_over = false;
    int number = 1;
    for (; !is_over && number < CALLS_MAX; number++) {
        struct tbed_error error = {.status = TBED_OK};
        calls = 0;
        fails_at = number;
        status = operation(&error);
        is_over = calls < number;
        fails_at = 0;
        if (status != TBED_OK)
            assert_int_equal(error.status, status);
        check(status);
    }
    assert_true(number > 5 && number < CALLS_MAX);
    assert_int_equal(status, TBED_OK); /* the last attempt makes fewer calls, so none fails */
}

static int begin(void **state)
{
    struct tbed_writer_options options = {.page_nbytes = PAGE_NBYTES,
                                          .no_helper = true,
                                          .rotate = *state != NULL,
                                          .rotate_keep = *state != NULL ? 2 : 0};
    snprintf(path, sizeof path, "%s", test_path("trace.tbed"));
    snprintf(other, sizeof other, "%s", test_path("other.tbed"));
    snprintf(killed, sizeof killed, "%s", test_path("killed.tbed"));
    event_count = 0;
    writer = test_writer_open(path, &options);
    recorder = tbed_recorder_open(writer, "main");
    record(3000);
    copy_file(path, killed);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tbed_writer_free(writer);
    unlink(other);
    return 0;
}

/* ---- Copies ---- */

static enum tbed_status make_snapshot(struct tbed_error *error)
{
    unlink(other);
    return tbed_snapshot(writer, other, error);
}

static void check_snapshot(enum tbed_status status)
{
    if (status == TBED_OK)
        expect_events(other, event_count);
    else
        assert_int_not_equal(access(other, F_OK), 0);
}

static void snapshot_fails_or_is_complete(void **state)
{
    (void)state;
    try_each_call(make_snapshot, check_snapshot);
}

static enum tbed_status from_killed(struct tbed_error *error,
                                    enum tbed_status (*copy)(int from, int to, struct tbed_error *error))
{
    int kept = fails_at;
    fails_at = 0;
    int from = open(killed, O_RDWR | O_CLOEXEC, 0),
        to = open(other, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fails_at = kept;
    enum tbed_status status = copy(from, to, error);
    close(from);
    close(to);
    return status;
}

static enum tbed_status recover_one(int from, int to, struct tbed_error *error)
{
    return tbed_trace_recover(from, to, NULL, error);
}

static enum tbed_status recover_killed(struct tbed_error *error)
{
    return from_killed(error, recover_one);
}

static enum tbed_status snapshot_one(int from, int to, struct tbed_error *error)
{
    uint64_t left_out;
    return tbed_trace_snapshot(from, to, &left_out, error);
}

static enum tbed_status snapshot_killed(struct tbed_error *error)
{
    return from_killed(error, snapshot_one);
}

static void check_copy(enum tbed_status status)
{
    if (status == TBED_OK)
        expect_events(other, event_count);
}

static void recovery_fails_or_is_complete(void **state)
{
    (void)state;
    try_each_call(recover_killed, check_copy);
}

static char *file_read(const char *name, size_t *nbytes_ret)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC, 0);
    struct stat status;
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    char *bytes = malloc((size_t)status.st_size);
    *nbytes_ret = (size_t)status.st_size;
    assert_int_equal(pread(fd, bytes, *nbytes_ret, 0), *nbytes_ret);
    close(fd);
    return bytes;
}

static char *complete;
static size_t complete_nbytes;

static void check_equal(enum tbed_status status)
{
    size_t nbytes;
    if (status != TBED_OK)
        return;
    char *bytes = file_read(other, &nbytes);
    assert_int_equal(nbytes, complete_nbytes);
    assert_memory_equal(bytes, complete, nbytes);
    free(bytes);
}

static void each_recovery_fails_or_is_the_same(void)
{
    struct tbed_error error;
    assert_int_equal(recover_killed(&error), TBED_OK);
    complete = file_read(other, &complete_nbytes);
    try_each_call(recover_killed, check_equal);
    free(complete);
}

/* Of this page, the directory shows that it is lost. */
static void zero_page_of_killed(uint64_t page)
{
    static const uint8_t zeros[PAGE_NBYTES];
    int fd = open(killed, O_RDWR | O_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, zeros, sizeof zeros, (off_t)page * PAGE_NBYTES), sizeof zeros);
    close(fd);
}

static void recovery_of_a_damaged_trace_fails_or_is_complete(void **state)
{
    (void)state;
    zero_page_of_killed(4);
    each_recovery_fails_or_is_the_same();
}

/* An event block is cut where a word in it is damaged. */
static void recovery_of_a_cut_block_fails_or_is_complete(void **state)
{
    (void)state;
    uint64_t page = 0;
    size_t nbytes;
    char *bytes = file_read(killed, &nbytes);
    for (size_t i = 1; i < nbytes / PAGE_NBYTES; i++) {
        const struct tbed_disk_block *block = (const void *)(bytes + i * PAGE_NBYTES);
        if (block->kind == TBED_BLOCK_EVENTS && tbed_le32_load(block->used_nbytes) == 0)
            page = i;
    }
    free(bytes);
    assert_int_not_equal(page, 0);
    int fd = open(killed, O_RDWR | O_CLOEXEC, 0);
    assert_int_equal(pwrite(fd, "\1\1\1\1\1\1\1\1", 8, (off_t)page * PAGE_NBYTES + 128), 8);
    close(fd);
    each_recovery_fails_or_is_the_same();
}

/* The blocks of a ring are numbered anew. */
static void recovery_of_a_ring_fails_or_is_complete(void **state)
{
    struct tbed_writer_options options = {
        .page_nbytes = PAGE_NBYTES, .no_helper = true, .ring_nbytes = 16 * PAGE_NBYTES};
    (void)state;
    tbed_writer_free(writer);
    unlink(path);
    writer = test_writer_open(path, &options);
    recorder = tbed_recorder_open(writer, "main");
    record(20000);
    copy_file(path, killed);
    each_recovery_fails_or_is_the_same();
}

static void snapshot_of_a_killed_trace_fails_or_is_complete(void **state)
{
    (void)state;
    try_each_call(snapshot_killed, check_copy);
}

static enum tbed_status seal_killed(struct tbed_error *error)
{
    int kept = fails_at;
    fails_at = 0;
    copy_file(killed, other);
    fails_at = kept;
    return tbed_trace_seal(other, error);
}

/* A failed seal can be repeated. */
static void check_seal(enum tbed_status status)
{
    if (status != TBED_OK)
        assert_int_equal(tbed_trace_seal(other, NULL), TBED_OK);
    expect_events(other, event_count);
}

static void sealing_fails_or_is_complete(void **state)
{
    (void)state;
    try_each_call(seal_killed, check_seal);
}

/* ---- A writer ---- */

static enum tbed_status rotate(struct tbed_error *error)
{
    return tbed_rotate(writer, error);
}

/* Recording continues whether or not the rotation succeeded. */
static void check_rotation(enum tbed_status status)
{
    (void)status;
    record(100);
    assert_int_equal(tbed_snapshot(writer, other, NULL), TBED_OK);
    expect_events(other, 100);
    unlink(other);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_IO_ERROR), 0);
}

static void rotation_fails_or_is_complete(void **state)
{
    (void)state;
    try_each_call(rotate, check_rotation);
}

static void check_stolen(enum tbed_status status)
{
    if (stolen < 0)
        return;
    assert_int_equal(status, TBED_ERR_DISK_FULL);
    assert_true(fcntl(stolen, F_GETFD, NULL) >= 0);
    close(stolen);
    stolen = -1;
    steals = false; /* once is enough: what follows fails in other ways */
}

static void a_failed_rotation_closes_no_file_of_the_program(void **state)
{
    (void)state;
    steals = true;
    try_each_call(rotate, check_stolen);
    assert_false(steals);
}

static struct tbed_writer *opened;

static enum tbed_status open_other(struct tbed_error *error)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .no_helper = true, .guard = true, .rotate = true};
    unlink(other);
    return tbed_writer_open(other, &options, &opened, error);
}

static enum tbed_status open_ring(struct tbed_error *error)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .no_helper = true, .page_nbytes = PAGE_NBYTES, .ring_nbytes = 65536};
    unlink(other);
    return tbed_writer_open(other, &options, &opened, error);
}

static enum tbed_status join(struct tbed_error *error)
{
    struct tbed_writer_options options = {.size = sizeof options, .no_helper = true, .join = true};
    return tbed_writer_open(path, &options, &opened, error);
}

static enum tbed_status open_fd(struct tbed_error *error)
{
    struct tbed_writer_options options = {.size = sizeof options, .no_helper = true};
    int fd = memfd_create("opened", MFD_CLOEXEC);
    enum tbed_status status = tbed_writer_open_fd(fd, &options, &opened, error);
    struct stat info;
    int kept = fails_at;
    fails_at = 0;
    assert_int_equal(fstat(fd, &info), 0);
    fails_at = kept;
    close(fd);
    return status;
}

static void check_opened(enum tbed_status status)
{
    if (status == TBED_OK) {
        tbed_instant_record(tbed_recorder_open(opened, "opened"), 1);
        tbed_writer_free(opened);
    } else {
        assert_null(opened);
    }
}

static void check_new(enum tbed_status status)
{
    check_opened(status);
    if (status != TBED_OK)
        assert_int_not_equal(access(other, F_OK), 0);
}

static void a_new_trace_is_opened_or_is_not_there(void **state)
{
    (void)state;
    try_each_call(open_other, check_new);
    try_each_call(open_ring, check_new);
    try_each_call(open_fd, check_opened);
}

static void joining_fails_or_is_complete(void **state)
{
    (void)state;
    try_each_call(join, check_opened);
    record(10);
    tbed_writer_close(writer);
    expect_events(path, event_count);
}

int main(void)
{
    static bool rotates = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(snapshot_fails_or_is_complete, begin, end),
        cmocka_unit_test_setup_teardown(recovery_fails_or_is_complete, begin, end),
        cmocka_unit_test_setup_teardown(recovery_of_a_damaged_trace_fails_or_is_complete, begin, end),
        cmocka_unit_test_setup_teardown(recovery_of_a_cut_block_fails_or_is_complete, begin, end),
        cmocka_unit_test_setup_teardown(recovery_of_a_ring_fails_or_is_complete, begin, end),
        cmocka_unit_test_setup_teardown(snapshot_of_a_killed_trace_fails_or_is_complete, begin, end),
        cmocka_unit_test_setup_teardown(sealing_fails_or_is_complete, begin, end),
        cmocka_unit_test_prestate_setup_teardown(rotation_fails_or_is_complete, begin, end, &rotates),
        cmocka_unit_test_prestate_setup_teardown(a_failed_rotation_closes_no_file_of_the_program, begin, end,
                                                 &rotates),
        cmocka_unit_test_setup_teardown(a_new_trace_is_opened_or_is_not_there, begin, end),
        cmocka_unit_test_setup_teardown(joining_fails_or_is_complete, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
