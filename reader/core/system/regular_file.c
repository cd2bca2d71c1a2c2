/*
 * Looks at a file before opening it; see regular_file.h.
 *
 * On Linux, O_PATH gives a descriptor of the file without opening it. The file is then opened through that descriptor,
 * so nobody can put another one in its place in between. On other systems it is opened, without waiting for anything, and
 * opened a second time.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/system/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/magic.h>
#include <sys/vfs.h>
#endif

/* The last two only matter if the file is not opened through a descriptor. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

#ifdef __linux__
#define LOOK_FLAGS (O_PATH | O_CLOEXEC)

/* File systems whose files are calls of the kernel, whatever type they claim to have. */
static bool stores_data(int fd)
{
    static const uint32_t calls[] = {
        PROC_SUPER_MAGIC,    SYSFS_MAGIC,    DEBUGFS_MAGIC,        TRACEFS_MAGIC,
        SECURITYFS_MAGIC,    SELINUX_MAGIC,  SMACK_MAGIC,          CGROUP_SUPER_MAGIC,
        CGROUP2_SUPER_MAGIC, PSTOREFS_MAGIC, EFIVARFS_MAGIC,       BPF_FS_MAGIC,
        BINFMTFS_MAGIC,      NSFS_MAGIC,     RDTGROUP_SUPER_MAGIC, DEVPTS_SUPER_MAGIC,
    };
    struct statfs system;
    if (fstatfs(fd, &system) != 0)
        return true; /* not all file systems can say */
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if ((uint32_t)system.f_type == calls[i])
            return false;
    return true;
}
#else
#define LOOK_FLAGS OPEN_FLAGS

static bool stores_data(int fd)
{
    (void)fd;
    return true;
}
#endif

static enum tbed_status check(int fd, struct stat *status_ret)
{
    if (fstat(fd, status_ret) != 0)
        return TBED_ERR_OPEN;
    if (S_ISDIR(status_ret->st_mode))
        return TBED_ERR_IS_DIRECTORY;
    return S_ISREG(status_ret->st_mode) && stores_data(fd) ? TBED_OK : TBED_ERR_NOT_REGULAR;
}

/* Where /proc is not mounted, the path is used again, and the file must still be the one that was looked at. */
static int open_again(const char *path, int seen_fd, const struct stat *seen)
{
    char by_descriptor[32];
    struct stat status;
    snprintf(by_descriptor, sizeof by_descriptor, "/proc/self/fd/%d", seen_fd);
    int fd = open(by_descriptor, OPEN_FLAGS);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    fd = open(path, OPEN_FLAGS);
    if (fd >= 0 &&
        (fstat(fd, &status) != 0 || status.st_dev != seen->st_dev || status.st_ino != seen->st_ino)) {
        close(fd);
        errno = ESTALE;
        return -1;
    }
    return fd;
}

enum tbed_status tbed_regular_open(const char *path, int *fd_ret)
{
    struct stat status;
    int seen = open(path, LOOK_FLAGS);
    if (seen < 0)
        return TBED_ERR_OPEN;
    enum tbed_status result = check(seen, &status);
    if (result == TBED_OK) {
        *fd_ret = open_again(path, seen, &status);
        result = *fd_ret >= 0 ? TBED_OK : TBED_ERR_OPEN;
    }
    int system_errno = errno;
    close(seen);
    errno = system_errno;
    return result;
}
