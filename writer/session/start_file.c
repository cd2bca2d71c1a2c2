/*
 * The file of a start without options. It replaces an old trace, but never any other file, and never a trace that a
 * process is recording into.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/session/start_file.h"

#define TRIES_MAX 100 /* several processes may start at the same time */

enum old_file {
    OLD_GONE,
    OLD_IN_USE,
    OLD_NO_TRACE,
    OLD_UNKNOWN, /* cannot be examined */
};

static bool is_trace(int fd, const struct stat *status)
{
    static const char magic[8] = "tracebed";
    char bytes[8];
    return S_ISREG(status->st_mode) && pread(fd, bytes, 8, 0) == 8 && memcmp(bytes, magic, 8) == 0;
}

/*
 * Removes the trace at 'path' if no writer has it locked. A process may remove it only while it holds the lock itself and
 * the path still names this file: of two processes that try at the same time, the second finds a new file.
 */
static enum old_file remove_old(const char *path, int fd)
{
    struct stat open_status, status;
    if (fstat(fd, &open_status) != 0)
        return OLD_UNKNOWN;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? OLD_IN_USE : OLD_UNKNOWN;
    if (!is_trace(fd, &open_status))
        return OLD_NO_TRACE;
    if (lstat(path, &status) != 0 || status.st_ino != open_status.st_ino ||
        status.st_dev != open_status.st_dev)
        return OLD_GONE;
    return unlink(path) == 0 || errno == ENOENT ? OLD_GONE : OLD_UNKNOWN;
}

static enum old_file look_at_old(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? OLD_GONE : OLD_UNKNOWN;
    enum old_file old = remove_old(path, fd);
    int kept_errno = errno;
    close(fd);
    errno = kept_errno;
    return old;
}

static enum tbed_status fail(struct tbed_error *error, enum tbed_status status)
{
    *error = (struct tbed_error){.status = status, .offset = UINT64_MAX, .system_errno = errno};
    return status;
}

/* Programs that this one starts or executes must not touch what it has recorded. */
static enum tbed_status start_beside(const char *path, const struct tbed_writer_options *options,
                                     struct tbed_writer **writer_ret, struct tbed_error *error)
{
    char name[4096];
    enum tbed_status status = tbed_writer_open(path, options, writer_ret, error);
    for (int number = 2; status == TBED_ERR_EXISTS && number <= TRIES_MAX; number++) {
        int nbytes = snprintf(name, sizeof name, "%s-%d", path, number);
        if (nbytes >= (int)sizeof name)
            break;
        status = tbed_writer_open(name, options, writer_ret, error);
    }
    return status;
}

enum tbed_status tbed_start_file(const char *path, const struct tbed_writer_options *given, bool joins,
                                 struct tbed_writer **writer_ret, struct tbed_error *error)
{
    struct tbed_writer_options options = *given;
    bool is_series = options.rotate || options.rotate_nbytes != 0 || options.rotate_interval_ns != 0;
    if (is_series && joins)
        return start_beside(path, &options, writer_ret, error);
    options.join = joins;
    enum tbed_status status = tbed_writer_open(path, &options, writer_ret, error);
    for (int tries = 0; status == TBED_ERR_EXISTS && tries < TRIES_MAX; tries++) {
        switch (look_at_old(path)) {
        case OLD_GONE:
            options.join = false;
            break;
        case OLD_IN_USE:
            errno = 0;
            if (is_series)
                return fail(error, TBED_ERR_BUSY);
            options.join = true;
            break;
        case OLD_NO_TRACE:
            errno = 0;
            return fail(error, TBED_ERR_NOT_A_TRACE);
        case OLD_UNKNOWN:
            return fail(error, TBED_ERR_OPEN);
        }
        status = tbed_writer_open(path, &options, writer_ret, error);
    }
    return status;
}
