/*
 * Files are looked at before they are opened. Paths come from traces, so a file of any kind may be at one of them;
 * inotify reports whether it was opened.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/system/regular_file.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/regular_file_test.XXXXXX", path[64], link_path[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(link_path, sizeof link_path, "%s/link", folder);
    return symlink("file", link_path);
}

static int remove_file(void **state)
{
    (void)state;
    return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(link_path);
    return rmdir(folder);
}

/* The file at 'path' is refused, by its name and by a link's, and nobody opens it. */
static void expect_refused(enum tbed_status expected)
{
    char event[512];
    int fd = -1, watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(watch >= 0 && inotify_add_watch(watch, path, IN_OPEN) >= 0);
    assert_int_equal(tbed_regular_open(path, &fd), expected);
    assert_int_equal(tbed_regular_open(link_path, &fd), expected);
    assert_int_equal(fd, -1);
    assert_int_equal(read(watch, event, sizeof event), -1);
    close(watch);
}

static void regular_file_is_opened_for_reading(void **state)
{
    char byte = 0;
    (void)state;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tbed_regular_open(i == 0 ? path : link_path, &fd), TBED_OK);
        assert_int_equal(read(fd, &byte, 1), 1);
        assert_int_equal(byte, 'x');
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
        close(fd);
    }
}

static void fifo_is_not_opened(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refused(TBED_ERR_NOT_REGULAR);
}

static void directory_is_not_opened(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    expect_refused(TBED_ERR_IS_DIRECTORY);
}

static void socket_is_not_opened(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)state;
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    expect_refused(TBED_ERR_NOT_REGULAR);
    close(fd);
}

static void devices_are_refused(void **state)
{
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx"};
    int fd = -1;
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        if (access(devices[i], F_OK) == 0)
            assert_int_equal(tbed_regular_open(devices[i], &fd), TBED_ERR_NOT_REGULAR);
    assert_int_equal(fd, -1);
}

/* These claim to be regular. Reading /proc/kmsg, for example, takes messages away from the system's log. */
static void files_of_the_kernel_are_refused(void **state)
{
    static const char *const files[] = {"/proc/self/maps", "/proc/self/mem", "/proc/kmsg",
                                        "/sys/kernel/profiling", "/sys/fs/cgroup/cgroup.procs"};
    int fd = -1;
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (access(files[i], F_OK) == 0)
            assert_int_equal(tbed_regular_open(files[i], &fd), TBED_ERR_NOT_REGULAR);
    assert_int_equal(fd, -1);
}

static void link_to_itself_is_an_error_with_errno(void **state)
{
    int fd = -1;
    (void)state;
    assert_int_equal(symlink("link", path), 0);
    errno = 0;
    assert_int_equal(tbed_regular_open(path, &fd), TBED_ERR_OPEN);
    assert_int_equal(errno, ELOOP);
}

static void missing_file_is_an_error_with_errno(void **state)
{
    int fd = -1;
    (void)state;
    errno = 0;
    assert_int_equal(tbed_regular_open(path, &fd), TBED_ERR_OPEN);
    assert_int_equal(errno, ENOENT);
}

/* A user may pass "/dev/fd/N" or "/proc/self/fd/N", which lead to the file itself. */
static void file_of_a_descriptor_is_opened(void **state)
{
    char name[32];
    int again = -1, fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    (void)state;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    assert_int_equal(tbed_regular_open(name, &again), TBED_OK);
    close(again);
    close(fd);
}

/* As in a chroot. In a child, which has its own mounts if it may. */
static int open_without_proc(void)
{
    char byte = 0;
    int fd = -1;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 && unshare(CLONE_NEWNS) != 0)
        return 77;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/proc", "tmpfs", 0, NULL) != 0)
        return 77;
    if (tbed_regular_open(path, &fd) != TBED_OK || read(fd, &byte, 1) != 1 || byte != 'x')
        return 1;
    if (fcntl(fd, F_GETFD) != FD_CLOEXEC || (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
        return 2;
    if (open("/dev/null", O_RDONLY) != fd - 1) /* the other descriptor was closed */
        return 3;
    if (tbed_regular_open(folder, &fd) != TBED_ERR_IS_DIRECTORY)
        return 4;
    return 0;
}

static void a_file_is_opened_where_proc_is_not_mounted(void **state)
{
    int status, fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    (void)state;
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    pid_t child = fork();
    if (child == 0)
        _exit(open_without_proc());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); /* nothing may be mounted */
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A program without standard input may be given its number. In a child, whose input is closed. */
static int open_without_input(void)
{
    char byte = 0;
    int fd = -1;
    close(0);
    if (tbed_regular_open(path, &fd) != TBED_OK || read(fd, &byte, 1) != 1 || byte != 'x')
        return 1;
    if (fcntl(0, F_GETFD) >= 0 && fd != 0) /* what was looked at is closed */
        return 2;
    if (open("/dev/null", O_RDONLY) != 0)
        return 3;
    close(fd);
    return 0;
}

static void a_file_may_have_the_number_of_standard_input(void **state)
{
    int status, fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    (void)state;
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    pid_t child = fork();
    if (child == 0)
        _exit(open_without_input());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(regular_file_is_opened_for_reading, remove_file),
        cmocka_unit_test_teardown(fifo_is_not_opened, remove_file),
        cmocka_unit_test_teardown(directory_is_not_opened, remove_file),
        cmocka_unit_test_teardown(socket_is_not_opened, remove_file),
        cmocka_unit_test(devices_are_refused),
        cmocka_unit_test(files_of_the_kernel_are_refused),
        cmocka_unit_test_teardown(link_to_itself_is_an_error_with_errno, remove_file),
        cmocka_unit_test(missing_file_is_an_error_with_errno),
        cmocka_unit_test_teardown(file_of_a_descriptor_is_opened, remove_file),
        cmocka_unit_test_teardown(a_file_is_opened_where_proc_is_not_mounted, remove_file),
        cmocka_unit_test_teardown(a_file_may_have_the_number_of_standard_input, remove_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
