/*
 * A file that appears complete or not at all: it has no name until it is complete.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/shared/new_file.h"

#include "reader/core/file/reader_state.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NAME_TRIES 100

enum tbed_status tbed_exchange_fail(struct tbed_error *error, enum tbed_status status)
{
    if (error != NULL)
        *error = (struct tbed_error){.status = status, .system_errno = errno, .offset = UINT64_MAX};
    return status;
}

static enum tbed_status fail_plainly(struct tbed_error *error, enum tbed_status status)
{
    errno = 0;
    return tbed_exchange_fail(error, status);
}

/* ---- Permissions ---- */

/* The bits of the group that a new file will have, which need not be the group of the other file. */
static unsigned mode_of(const struct stat *status)
{
    unsigned others = status->st_mode & 07, group = status->st_mode >> 3 & 07;
    if (status->st_gid != getegid())
        group &= others;
    return (group << 3 | others) & 066;
}

unsigned tbed_new_file_mode(const int *fds, size_t count)
{
    unsigned mode = 066;
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        mode &= fds[i] >= 0 && fstat(fds[i], &status) == 0 ? mode_of(&status) : 0;
    }
    return mode | 0600;
}

unsigned tbed_new_file_mode_of_readers(struct tbed_reader *const *readers, size_t count)
{
    unsigned mode = 0666;
    for (size_t i = 0; i < count; i++)
        mode &= tbed_new_file_mode(&readers[i]->map.fd, 1);
    return mode;
}

/* In some folders new files get the folder's group. */
static void restrict_group(int fd, unsigned mode)
{
    struct stat status;
    unsigned others = mode & 07;
    if (fstat(fd, &status) == 0 && status.st_gid != getegid() && (mode >> 3 & 07) != others)
        fchmod(fd, status.st_mode & (0600 | others << 3 | others));
}

/* ---- Temporary names ---- */

#define NAMED_MAX 8 /* at one time, by all threads; names beyond that survive a signal */

static _Atomic(const struct new_file *) named[NAMED_MAX];

static void replace_named(const struct new_file *from, const struct new_file *to)
{
    for (size_t i = 0; i < NAMED_MAX; i++) {
        const struct new_file *expected = from;
        if (atomic_compare_exchange_strong(&named[i], &expected, to))
            return;
    }
}

void tbed_new_files_remove(void)
{
    for (size_t i = 0; i < NAMED_MAX; i++) {
        const struct new_file *file = atomic_load(&named[i]);
        if (file != NULL)
            unlink(file->work);
    }
}

static void set_named(struct new_file *file, bool has_name)
{
    if (file->has_name != has_name)
        replace_named(has_name ? NULL : file, has_name ? file : NULL);
    file->has_name = has_name;
}

/* ---- Opening ---- */

static enum tbed_status check_place(const char *path, bool overwrite, struct tbed_error *error)
{
    struct stat status;
    if (strlen(path) + 16 > NEW_FILE_PATH_NBYTES) {
        errno = ENAMETOOLONG;
        return tbed_exchange_fail(error, TBED_ERR_OPEN);
    }
    if (lstat(path, &status) != 0)
        return TBED_OK; /* any other problem is reported when the file is created */
    if (S_ISDIR(status.st_mode))
        return fail_plainly(error, TBED_ERR_IS_DIRECTORY);
    if (!overwrite)
        return fail_plainly(error, TBED_ERR_EXISTS);
    return S_ISREG(status.st_mode) ? TBED_OK : fail_plainly(error, TBED_ERR_NOT_REGULAR);
}

/* The folder of 'path', in 'folder'. */
static void folder_of(const char *path, char folder[NEW_FILE_PATH_NBYTES])
{
    const char *slash = strrchr(path, '/');
    size_t nbytes = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    memcpy(folder, path, nbytes);
    memcpy(folder + nbytes, nbytes == 0 ? "." : "", nbytes == 0 ? 2 : 1);
}

/* Tries unused names in the file's folder; true once 'use' has taken one. */
static bool take_name(struct new_file *file, unsigned mode, bool (*use)(struct new_file *file, unsigned mode))
{
    for (unsigned i = 0; i < NAME_TRIES; i++) {
        snprintf(file->work, sizeof file->work, "%.*s.%08x", NEW_FILE_PATH_NBYTES - 16, file->path,
                 (unsigned)getpid() * 2654435761u + i);
        if (use(file, mode))
            return true;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

/* The same, and keeps the name. No signal comes between the two, or its handler would not know the name. */
static bool take_and_keep_name(struct new_file *file, unsigned mode,
                               bool (*use)(struct new_file *file, unsigned mode))
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    bool is_taken = take_name(file, mode, use);
    if (is_taken)
        set_named(file, true);
    int system_errno = errno;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = system_errno;
    return is_taken;
}

static bool create(struct new_file *file, unsigned mode)
{
    file->fd = open(file->work, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    return file->fd >= 0;
}

static bool link_to(const struct new_file *file, const char *path)
{
    char number[64];
    snprintf(number, sizeof number, "/proc/self/fd/%d", file->fd);
    return linkat(AT_FDCWD, number, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

static bool link_work(struct new_file *file, unsigned mode)
{
    (void)mode;
    return link_to(file, file->work);
}

/* Whether it is /dev/null, by any name. */
static bool is_null_device(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
}

static enum tbed_status open_discarded(struct new_file *file, struct tbed_error *error)
{
    file->is_discarded = true;
    file->fd = tbed_nameless_file();
    return file->fd >= 0 ? TBED_OK : tbed_exchange_fail(error, TBED_ERR_OPEN);
}

enum tbed_status tbed_new_file_open(const char *path, bool overwrite, unsigned mode,
                                    struct new_file *file_ret, struct tbed_error *error_ret)
{
    struct new_file *file = file_ret;
    *file = (struct new_file){.overwrite = overwrite};
    if (is_null_device(path))
        return open_discarded(file, error_ret);
    enum tbed_status status = check_place(path, overwrite, error_ret);
    if (status != TBED_OK)
        return status;
    char folder[NEW_FILE_PATH_NBYTES];
    memcpy(file->path, path, strlen(path) + 1);
    folder_of(path, folder);
    /* Without /proc the file could not be given a name later. */
    bool has_proc = access("/proc/self/fd", X_OK) == 0;
    file->fd = has_proc ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode) : -1;
    if (file->fd < 0 && !take_and_keep_name(file, mode, create))
        return tbed_exchange_fail(error_ret, TBED_ERR_OPEN);
    restrict_group(file->fd, mode);
    return TBED_OK;
}

bool tbed_new_file_name(struct new_file *file)
{
    errno = EINVAL;
    return !file->is_discarded && (file->has_name || take_and_keep_name(file, 0, link_work));
}

/* ---- Closing ---- */

#ifndef RENAME_NOREPLACE /* musl has neither the constants nor the function */
#define RENAME_NOREPLACE 1u
#define RENAME_EXCHANGE  2u
static int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}
#endif

bool tbed_new_file_exchange(struct new_file *file)
{
    return renameat2(AT_FDCWD, file->work, AT_FDCWD, file->path, RENAME_EXCHANGE) == 0;
}

static bool appear(struct new_file *file)
{
    if (!file->overwrite && file->has_name)
        return renameat2(AT_FDCWD, file->work, AT_FDCWD, file->path, RENAME_NOREPLACE) == 0;
    if (!file->has_name && link_to(file, file->path))
        return true; /* in one step, so that not even SIGKILL leaves a file of another name */
    if (!file->overwrite)
        return false;
    return tbed_new_file_name(file) && rename(file->work, file->path) == 0;
}

enum tbed_status tbed_new_file_commit(struct new_file *file, struct tbed_error *error_ret)
{
    if (!file->is_discarded && !appear(file)) {
        enum tbed_status status = errno == EEXIST ? TBED_ERR_EXISTS : TBED_ERR_WRITE;
        tbed_exchange_fail(error_ret, status);
        tbed_new_file_abandon(file);
        return status;
    }
    set_named(file, false);
    close(file->fd);
    return TBED_OK;
}

void tbed_new_file_abandon(struct new_file *file)
{
    if (file->has_name)
        unlink(file->work);
    set_named(file, false);
    close(file->fd);
}

int tbed_nameless_file(void)
{
    const char *places[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int fd = places[i] != NULL ? open(places[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
        if (fd >= 0)
            return fd;
    }
    return memfd_create("tracebed", MFD_CLOEXEC);
}
