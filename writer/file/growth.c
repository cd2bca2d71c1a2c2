/*
 * Disk space for a file, allocated ahead of use, so that no store into the map can fail.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/base/sandbox_state.h"
#include "writer/base/shared_words.h"
#include "writer/file/file.h"
#include "writer/file/file_guard.h"
#include "writer/file/usable.h"

#define TRIES_MAX       20 /* attempts at a call that signals interrupt */
#define GROW_NBYTES_MAX ((uint64_t)64 << 20)

/* For file systems without fallocate(): writes zeros beyond the end, where no page has been claimed yet. */
static int extend_by_writing(int fd, uint64_t end)
{
    static const uint8_t zeros[4096];
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    int result = EINTR;
    for (int i = 0; i < TRIES_MAX && result == EINTR; i++)
        result = fcntl(fd, F_SETLKW, &range) == 0 ? 0 : errno;
    if (result != 0)
        return result;
    struct stat status;
    result = fstat(fd, &status) != 0 ? errno : 0;
    uint64_t at = (uint64_t)status.st_size;
    for (int tries = 0; result == 0 && at < end;) {
        size_t nbytes = end - at < sizeof zeros ? (size_t)(end - at) : sizeof zeros;
        ssize_t written = pwrite(fd, zeros, nbytes, (off_t)at);
        if (written < 0 && errno == EINTR && ++tries < TRIES_MAX)
            continue;
        if (written <= 0)
            result = written < 0 ? errno : ENOSPC;
        else
            at += (uint64_t)written;
    }
    range.l_type = F_UNLCK;
    fcntl(fd, F_SETLK, &range);
    return result;
}

/* Growing past RLIMIT_FSIZE would raise SIGXFSZ. */
static bool is_past_resource_limit(uint64_t end)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

int tbed_file_extend(int fd, uint64_t start, uint64_t end)
{
    if (is_past_resource_limit(end))
        return EFBIG;
    /* Some file systems give up at any signal and start over, perhaps never to finish. */
    int result = EINTR;
    for (int i = 0; i < TRIES_MAX && result == EINTR; i++)
        result = fallocate(fd, 0, (off_t)start, (off_t)(end - start)) == 0 ? 0 : errno;
    return result == EOPNOTSUPP || result == ENOSYS ? extend_by_writing(fd, end) : result;
}

static enum tbed_drop_cause cause_of(int system_errno)
{
    switch (system_errno) {
    case ENOSPC:
    case EDQUOT:
        return TBED_DROP_DISK_FULL;
    case EFBIG:
        return TBED_DROP_SIZE_LIMIT;
    default:
        return TBED_DROP_IO_ERROR;
    }
}

/*
 * No page is claimed before the file has it, so a file that is shorter than its claimed pages was truncated, or its
 * header overwritten. Growing it again would fill a damaged file, perhaps up to a page number that is garbage. Nothing
 * follows from a descriptor that the program has just closed or reused for another file.
 */
static bool is_cut(const struct tbed_file *file, int fd)
{
    struct stat status;
    uint64_t claimed = tbed_shared_load(&tbed_shared(file)->page_count);
    return fstat(fd, &status) == 0 && status.st_ino == file->inode && status.st_dev == file->device &&
           (uint64_t)status.st_size >> file->page_shift < claimed;
}

/* Grows the file to '*end' if possible, otherwise to 'needed'. */
static int extend(struct tbed_file *file, int fd, uint64_t start, uint64_t needed, uint64_t *end)
{
    if (is_cut(file, fd)) {
        tbed_file_lose(file);
        return EIO;
    }
    int result = tbed_file_extend(fd, start, *end);
    if (result != 0 && *end != needed)
        result = tbed_file_extend(fd, start, *end = needed);
    return result;
}

/*
 * Grows in proportion to the file, or by a single page if that is too much. The first time, it grows by a single page
 * as well, because most processes that join a trace need only one.
 */
static int grow_locked(struct tbed_file *file, uint64_t page)
{
    uint64_t start = file->growth.backed_pages << file->page_shift;
    uint64_t needed = (page + 1) << file->page_shift;
    uint64_t end = needed + file->growth.step_nbytes;
    if (end > file->map_nbytes)
        end = file->map_nbytes;
    int fd = tbed_descriptor_borrow(file);
    if (fd < 0 && (!tbed_descriptor_reopen(file) || (fd = tbed_descriptor_borrow(file)) < 0))
        return EIO;
    int result = extend(file, fd, start, needed, &end);
    bool is_ours = fd == file->fd ? tbed_descriptor_is_ours(file) : true;
    tbed_descriptor_return(file, fd);
    if (result != 0 || !is_ours)
        return result != 0 ? result : EIO;
    __atomic_store_n(&file->growth.backed_pages, end >> file->page_shift, __ATOMIC_RELEASE);
    if (file->growth.step_nbytes == 0) {
        file->growth.step_nbytes = TBED_GROW_NBYTES_MIN;
        return 0;
    }
    tbed_file_advise_many(file);
    if (end > needed && file->growth.step_nbytes < GROW_NBYTES_MAX && end / 4 > file->growth.step_nbytes)
        file->growth.step_nbytes *= 2;
    return 0;
}

bool tbed_file_back(struct tbed_file *file, uint64_t page, enum tbed_drop_cause *cause_ret)
{
    *cause_ret = TBED_DROP_IO_ERROR;
    if (tbed_is_lost(file))
        return false;
    /* Before the next test: a process with a higher limit may have made the file longer than our map. */
    if (page >= UINT32_MAX || (page + 1) << file->page_shift > file->map_nbytes) {
        *cause_ret = TBED_DROP_SIZE_LIMIT;
        return false;
    }
    if (page < __atomic_load_n(&file->growth.backed_pages, __ATOMIC_ACQUIRE))
        return true;
    *cause_ret = TBED_DROP_SANDBOX;
    if (tbed_is_sandboxed())
        return false;
    if (!tbed_lock_take(&file->live->grow_lock)) {
        *cause_ret = TBED_DROP_INTERRUPTED;
        return false;
    }
    int kept_errno = errno, cancel_state = tbed_cancel_disable();
    int result = page < file->growth.backed_pages ? 0 : grow_locked(file, page);
    tbed_cancel_restore(cancel_state);
    errno = kept_errno;
    tbed_lock_give(&file->live->grow_lock);
    *cause_ret = cause_of(result);
    return result == 0;
}
