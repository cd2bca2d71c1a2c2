/*
 * The descriptor of a writer's file, which the program may close at any time, and the locks attached to it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/base/fail.h"
#include "writer/base/kernel.h"
#include "writer/base/sandbox_state.h"
#include "writer/file/file.h"

/*
 * Above the numbers that programs expect for their own files, and below 64: from there on the kernel keeps a table of
 * descriptors in memory of its own, which it copies at each fork.
 */
#define DESCRIPTOR_FLOOR     48
#define BORROWED_FLOOR       500
#define TRIES_MAX            1000 /* attempts at a call that signals interrupt */
#define SHARE_WAIT_MS        3000
#define PROCESS_BYTES_OFFSET ((off_t)1 << 62)
#define MAP_NBYTES_MIN       ((uint64_t)64 << 20)

/* A signal handler without SA_RESTART must not cost us the lock. */
int tbed_descriptor_lock(int fd, int operation)
{
    int result = -1;
    errno = EINTR;
    for (int i = 0; i < TRIES_MAX && result != 0 && errno == EINTR; i++)
        result = flock(fd, operation);
    return result;
}

int tbed_descriptor_share(int fd)
{
    int result = -1;
    errno = EWOULDBLOCK;
    for (int i = 0; i < SHARE_WAIT_MS && result != 0 && errno == EWOULDBLOCK; i++) {
        if (i > 0)
            usleep(1000);
        result = tbed_descriptor_lock(fd, LOCK_SH | LOCK_NB);
    }
    return result;
}

static bool is_file(int fd, const struct tbed_file *file)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_dev == file->device && status.st_ino == file->inode;
}

/* Every use of the descriptor checks first that it is still our file: a daemon may have closed all descriptors. */
bool tbed_descriptor_is_ours(const struct tbed_file *file)
{
    return is_file(file->fd, file);
}

/* If no other descriptor is available, keeps this one. */
int tbed_descriptor_borrow(const struct tbed_file *file)
{
    int number = BORROWED_FLOOR + (int)(tbed_monotonic_ns() / 128 % 400);
    int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, number);
    if (fd < 0)
        return tbed_descriptor_is_ours(file) ? file->fd : -1;
    if (is_file(fd, file))
        return fd;
    close(fd);
    return -1;
}

void tbed_descriptor_return(const struct tbed_file *file, int fd)
{
    if (fd >= 0 && fd != file->fd && is_file(fd, file))
        close(fd);
}

bool tbed_descriptor_has(int fd, uint64_t file_id)
{
    struct stat status;
    tbed_le64 found;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
           pread(fd, &found, sizeof found, offsetof(struct tbed_disk_header, file_id)) == sizeof found &&
           tbed_le64_load(found) == file_id;
}

int tbed_descriptor_copy(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_FLOOR);
    return copy >= 0 ? copy : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static bool are_same_file(int one, int other)
{
    struct stat first, second;
    return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_ino == second.st_ino &&
           first.st_dev == second.st_dev;
}

int tbed_descriptor_raise(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_FLOOR);
    if (high < 0)
        return errno == EBADF ? -1 : fd;
    if (are_same_file(fd, high)) /* otherwise another thread has closed it and opened a file of its own */
        close(fd);
    return high;
}

int tbed_descriptor_duplicate(struct tbed_file *file)
{
    errno = EBUSY;
    /* Without the lock, the descriptor might come to mean another file in between. */
    if (!tbed_lock_take(&file->live->rotate_lock))
        return -1;
    int fd = tbed_descriptor_is_ours(file) ? fcntl(file->fd, F_DUPFD_CLOEXEC, DESCRIPTOR_FLOOR)
                                           : open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    tbed_lock_give(&file->live->rotate_lock);
    return fd;
}

bool tbed_descriptor_reopen(struct tbed_file *file)
{
    char by_descriptor[32];
    snprintf(by_descriptor, sizeof by_descriptor, "/proc/self/fd/%d", file->fd);
    int old_fd = tbed_descriptor_is_ours(file) ? file->fd : -1;
    int fd = old_fd >= 0 ? open(by_descriptor, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        fd = open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    file->fd = tbed_descriptor_raise(fd);
    if (!tbed_descriptor_is_ours(file)) {
        close(file->fd);
        file->fd = -1;
        return false;
    }
    if (old_fd >= 0 && is_file(old_fd, file))
        close(old_fd);
    if (tbed_descriptor_share(file->fd) != 0) {
        close(file->fd);
        file->fd = -1;
        return false;
    }
    struct stat status;
    fstat(file->fd, &status);
    file->growth.backed_pages = (uint64_t)status.st_size >> file->page_shift;
    return true;
}

enum tbed_status tbed_descriptor_remember(struct tbed_file *file, struct tbed_error *error)
{
    struct stat status;
    if (fstat(file->fd, &status) != 0)
        return tbed_fail(error, TBED_ERR_OPEN, errno);
    file->device = status.st_dev;
    file->inode = status.st_ino;
    return TBED_OK;
}

/* ---- Flight recorders: which processes are alive ---- */

/*
 * A lock on a byte far beyond the file's end. It belongs to the open file that the map was made from, so it outlives
 * our descriptor and disappears with a killed process.
 */
static struct flock process_byte(uint32_t process)
{
    return (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = PROCESS_BYTES_OFFSET + process, .l_len = 1};
}

void tbed_process_announce(struct tbed_file *file)
{
    struct flock range = process_byte(file->process.stream);
    for (int i = 0; i < TRIES_MAX; i++)
        if (fcntl(file->fd, F_OFD_SETLK, &range) == 0 || errno != EINTR)
            return;
}

/* When in doubt, the process counts as alive, which only keeps its pages from being reused. */
bool tbed_process_lives(const struct tbed_file *file, uint32_t process)
{
    struct flock range = process_byte(process);
    return tbed_is_sandboxed() || !tbed_descriptor_is_ours(file) ||
           fcntl(file->fd, F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK;
}
