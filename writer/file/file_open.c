/*
 * Creating or joining the file under a writer.
 *
 * Source: spec/format.md, sections 3 and 11.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/file/directory.h"
#include "writer/base/fail.h"
#include "writer/file/file.h"

#define DEFAULT_MAX_FILE_NBYTES ((uint64_t)64 << 30)

static uint32_t log2_of(uint32_t power_of_two)
{
    return (uint32_t)__builtin_ctz(power_of_two);
}

static void header_fill(struct tbed_file *file, const struct tbed_writer_options *options)
{
    file->fields.file_id = tbed_file_id_make();
    tbed_clock_settle(&file->clock, &file->fields);
    if (file->fields.clock == TBED_CLOCK_USER && options->user_clock_unit != NULL)
        snprintf(file->fields.clock_unit, sizeof file->fields.clock_unit, "%s", options->user_clock_unit);
    tbed_clock_rate(&file->clock, &file->fields);
    tbed_header_make(file->map, &file->fields);
    uint64_t count =
        tbed_directory_pages_below(file->page_nbytes, (uint64_t)file->fields.ring_page_count + 1);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t page = tbed_directory_page(file->page_nbytes, i);
        tbed_directory_page_make(file->map + (page << file->page_shift), file->map, (uint32_t)page);
    }
    tbed_shared(file)->next_reserved_id = tbed_le64_make(options->first_reserved_id);
}

static enum tbed_status create_file(struct tbed_file *file, const struct tbed_writer_options *options,
                                    struct tbed_error *error)
{
    uint32_t page_nbytes = options->page_nbytes != 0 ? options->page_nbytes : TBED_PAGE_NBYTES_DEFAULT;
    file->page_nbytes = file->fields.page_nbytes = page_nbytes;
    file->page_shift = log2_of(page_nbytes);
    uint64_t max_nbytes = options->max_file_nbytes != 0 ? options->max_file_nbytes : DEFAULT_MAX_FILE_NBYTES;
    uint64_t ring_page_count = (options->ring_nbytes + page_nbytes - 1) / page_nbytes;
    if (options->ring_nbytes > UINT64_MAX / 2 || ring_page_count >= UINT32_MAX / 2)
        return tbed_fail(error, TBED_ERR_ARGUMENT, 0);
    file->fields.ring_page_count = (uint32_t)ring_page_count;
    uint64_t least_nbytes = (ring_page_count + 1) * page_nbytes;
    if (max_nbytes < least_nbytes)
        return tbed_fail(error, TBED_ERR_ARGUMENT, 0);
    /* One page of cells is all that a small process needs. */
    uint64_t first_nbytes = least_nbytes + page_nbytes;
    if (max_nbytes < first_nbytes)
        first_nbytes = least_nbytes;
    int result = tbed_file_extend(file->fd, 0, first_nbytes);
    if (result != 0)
        result = tbed_file_extend(file->fd, 0, first_nbytes = least_nbytes);
    if (result != 0)
        return tbed_fail(error, result == ENOSPC || result == EDQUOT ? TBED_ERR_DISK_FULL : TBED_ERR_WRITE,
                         result);
    enum tbed_status status = tbed_file_map(file, max_nbytes, error);
    if (status != TBED_OK)
        return status;
    file->growth.backed_pages = first_nbytes >> file->page_shift;
    header_fill(file, options);
    return TBED_OK;
}

static size_t size_of(const struct stat *status)
{
    return (uint64_t)status->st_size < SIZE_MAX ? (size_t)status->st_size : SIZE_MAX;
}

static enum tbed_status join_file(struct tbed_file *file, const struct tbed_writer_options *options,
                                  struct tbed_error *error)
{
    union {
        struct tbed_disk_header header;
        uint8_t bytes[TBED_PAGE_NBYTES_MIN];
    } first;
    ssize_t nbytes = pread(file->fd, &first, sizeof first, 0);
    if (nbytes < 0)
        return tbed_fail(error, TBED_ERR_READ, errno);
    struct stat status;
    fstat(file->fd, &status);
    /* The check reads 776 bytes and compares the page size with the size of the file that it is given. */
    size_t size_seen = nbytes < (ssize_t)sizeof first ? (size_t)nbytes : size_of(&status);
    enum tbed_status result = tbed_header_check(&first, size_seen, &file->fields, error);
    if (result != TBED_OK)
        return result;
    if (tbed_le64_load(first.header.compatible_flags) != 0) {
        tbed_fail(error, TBED_ERR_FLAGS, 0);
        error->offset = offsetof(struct tbed_disk_header, compatible_flags);
        return TBED_ERR_FLAGS;
    }
    if (tbed_le64_load(first.header.page_count) <= file->fields.ring_page_count) {
        tbed_fail(error, TBED_ERR_PAGE_COUNT, 0);
        error->offset = offsetof(struct tbed_disk_header, page_count);
        return TBED_ERR_PAGE_COUNT;
    }
    file->page_nbytes = file->fields.page_nbytes;
    file->page_shift = log2_of(file->page_nbytes);
    if (!tbed_clock_join(&file->clock, &file->fields))
        return tbed_fail(error, TBED_ERR_CLOCK_DIFFERS, 0);
    uint64_t max_nbytes = options->max_file_nbytes != 0 ? options->max_file_nbytes : DEFAULT_MAX_FILE_NBYTES;
    if (max_nbytes < (uint64_t)status.st_size)
        max_nbytes = (uint64_t)status.st_size;
    file->growth.backed_pages = (uint64_t)status.st_size >> file->page_shift;
    file->growth.found_pages = file->growth.backed_pages + 1; /* + 1: the file may end inside a page */
    return tbed_file_map(file, max_nbytes, error);
}

static enum tbed_status open_errno(struct tbed_error *error)
{
    return tbed_fail(error, errno == ENOSPC || errno == EDQUOT ? TBED_ERR_DISK_FULL : TBED_ERR_OPEN, errno);
}

/* The creator holds the file exclusively until its header is complete; processes that join wait for that. */
static enum tbed_status open_new(struct tbed_file *file, const char *path, struct tbed_error *error)
{
    file->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file->fd < 0)
        return errno == EEXIST ? tbed_fail(error, TBED_ERR_EXISTS, 0) : open_errno(error);
    tbed_descriptor_lock(file->fd, LOCK_EX);
    return TBED_OK;
}

static enum tbed_status open_existing(struct tbed_file *file, const char *path, struct tbed_error *error)
{
    struct stat status;
    file->fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0)
        return open_errno(error);
    for (int tries = 0;; tries++) {
        if (tbed_descriptor_share(file->fd) != 0)
            return tbed_fail(error, TBED_ERR_BUSY, errno);
        if (fstat(file->fd, &status) != 0)
            return tbed_fail(error, TBED_ERR_OPEN, errno);
        if (!S_ISREG(status.st_mode))
            return tbed_fail(error, TBED_ERR_NOT_REGULAR, 0);
        if (status.st_size != 0 || tries == 1000)
            return TBED_OK;
        tbed_descriptor_lock(file->fd, LOCK_UN); /* its creator has not reached the lock yet */
        usleep(1000);
    }
}

static enum tbed_status refuse_what_is_no_file(const char *path, struct tbed_error *error)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return TBED_OK;
    if (S_ISDIR(status.st_mode))
        return tbed_fail(error, TBED_ERR_IS_DIRECTORY, 0);
    return S_ISREG(status.st_mode) ? TBED_OK : tbed_fail(error, TBED_ERR_NOT_REGULAR, 0);
}

static void remember_path(struct tbed_file *file, const char *path)
{
    size_t nbytes = strlen(path);
    size_t prefix = 0;
    if (path[0] != '/') {
        if (getcwd(file->path, sizeof file->path) == NULL)
            return; /* the file cannot be reopened by name then, which is rarely needed */
        prefix = strlen(file->path);
        file->path[prefix++] = '/';
    }
    if (nbytes >= sizeof file->path - prefix)
        file->path[0] = 0;
    else
        memcpy(file->path + prefix, path, nbytes + 1);
}

enum tbed_status tbed_file_open(struct tbed_file *file, const char *path,
                                const struct tbed_writer_options *options, struct tbed_error *error)
{
    file->fd = -1;
    enum tbed_status status = refuse_what_is_no_file(path, error);
    if (status != TBED_OK)
        return status;
    if (options->overwrite && !options->join && unlink(path) != 0 && errno != ENOENT)
        return open_errno(error);
    status = open_new(file, path, error);
    bool is_new = status == TBED_OK;
    if (status == TBED_ERR_EXISTS && options->join)
        status = open_existing(file, path, error);
    if (status == TBED_OK) {
        file->fd = tbed_descriptor_raise(file->fd);
        remember_path(file, path);
        status = tbed_descriptor_remember(file, error);
    }
    if (status == TBED_OK && file->is_in_series && !tbed_path_can_grow(file))
        status = tbed_fail(error, TBED_ERR_ARGUMENT, 0);
    if (status == TBED_OK)
        status = is_new ? create_file(file, options, error) : join_file(file, options, error);
    if (status != TBED_OK) {
        if (is_new)
            unlink(path);
        if (file->fd >= 0)
            close(file->fd);
        return status;
    }
    tbed_file_attach(file);
    tbed_hold_begin(file);
    if (is_new)
        tbed_descriptor_lock(file->fd, LOCK_SH);
    return TBED_OK;
}

static enum tbed_status take_empty(struct tbed_file *file, struct tbed_error *error)
{
    struct stat status;
    if (fstat(file->fd, &status) != 0)
        return tbed_fail(error, TBED_ERR_OPEN, errno);
    if (S_ISDIR(status.st_mode))
        return tbed_fail(error, TBED_ERR_IS_DIRECTORY, 0);
    if (!S_ISREG(status.st_mode))
        return tbed_fail(error, TBED_ERR_NOT_REGULAR, 0);
    if (tbed_descriptor_lock(file->fd, LOCK_EX | LOCK_NB) != 0)
        return tbed_fail(error, TBED_ERR_BUSY, errno);
    if (status.st_size != 0)
        return tbed_fail(error, TBED_ERR_EXISTS, 0);
    return tbed_descriptor_remember(file, error);
}

/* The duplicate refers to the same open file, and so to the same lock. */
enum tbed_status tbed_file_open_fd(struct tbed_file *file, int fd, const struct tbed_writer_options *options,
                                   struct tbed_error *error)
{
    file->fd = tbed_descriptor_copy(fd);
    if (file->fd < 0)
        return open_errno(error);
    enum tbed_status status = take_empty(file, error);
    if (status == TBED_OK) {
        status = create_file(file, options, error);
        if (status != TBED_OK && ftruncate(file->fd, 0) != 0)
            error->system_errno = errno;
    }
    if (status != TBED_OK) {
        if (status != TBED_ERR_BUSY)
            tbed_descriptor_lock(file->fd, LOCK_UN);
        close(file->fd);
        return status;
    }
    tbed_file_attach(file);
    tbed_hold_begin(file);
    tbed_descriptor_lock(file->fd, LOCK_SH);
    return TBED_OK;
}
