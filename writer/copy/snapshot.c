/*
 * Snapshots: the content of a trace at one moment becomes a trace of its own, while threads go on recording.
 *
 * The moment is a tick. Everything with a greater tick is left out, so the pages may be copied one after the other:
 * the strings and records that an event needs were stored before it.
 *
 * Source: spec/format.md, sections 4, 10 and 11.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/base/fail.h"
#include "writer/base/kernel.h"
#include "writer/base/memory.h"
#include "writer/base/shared_words.h"
#include "writer/copy/copy.h"
#include "writer/file/file.h"
#include "writer/file/file_guard.h"
#include "writer/file/usable.h"

#define TRIES_MAX   8
#define NAME_NBYTES 4096

struct snapshot {
    /* the file whose clock is the trace's; NULL: the trace belongs to another program, perhaps on another machine */
    const struct tbed_file *file;
    int source_fd;
    uint64_t nbytes; /* of the source's map */
    struct tbed_copy copy;
    bool was_lapped; /* half of the ring was taken anew meanwhile */
    bool source_is_lost, out_is_lost;
    struct tbed_error *error;
};

static uint64_t tick_now(const struct tbed_header_fields *fields)
{
    if (fields->clock == TBED_CLOCK_MONOTONIC && fields->anchor_monotonic_ns != 0)
        return tbed_monotonic_ns();
    bool is_counter = fields->clock == tbed_clock_of_machine() && fields->clock != TBED_CLOCK_MONOTONIC;
    return is_counter && fields->anchor_monotonic_ns != 0 ? tbed_counter_read() : UINT64_MAX;
}

/* With given ticks, or if no process is recording, nothing is cut. */
static uint64_t cut_tick(const struct snapshot *snapshot)
{
    const struct tbed_file *file = snapshot->file;
    if (file != NULL)
        return file->clock.is_given ? UINT64_MAX : tbed_clock_now(&file->clock);
    bool is_open = tbed_le32_load(tbed_copy_source_header(&snapshot->copy)->state) == TBED_STATE_OPEN;
    return is_open ? tick_now(&snapshot->copy.fields) : UINT64_MAX;
}

/* ---- Files ---- */

/* Within a traced program, the maps are guarded if the writer's own is. */
static void guard_enter(const struct snapshot *snapshot, void *map, uint64_t nbytes, bool *is_lost)
{
    if (snapshot->file != NULL)
        tbed_guard_enter(snapshot->file, map, nbytes, is_lost);
}

static void guard_leave(const struct snapshot *snapshot, const void *map)
{
    if (snapshot->file != NULL)
        tbed_guard_leave(snapshot->file, map);
}

/* Makes room for LOST records, behind everything that was copied. */
static enum tbed_status write_losses(struct snapshot *snapshot, int fd, uint64_t out_nbytes)
{
    uint64_t pages = tbed_copy_loss_pages(&snapshot->copy), start = snapshot->copy.out_page_count;
    uint64_t page_nbytes = snapshot->copy.fields.page_nbytes;
    if (pages == 0)
        return TBED_OK;
    int result = (start + pages) * page_nbytes <= out_nbytes
                     ? tbed_file_extend(fd, start * page_nbytes, (start + pages) * page_nbytes)
                     : EFBIG;
    if (result != 0)
        return tbed_fail(snapshot->error,
                         result == ENOSPC || result == EDQUOT ? TBED_ERR_DISK_FULL : TBED_ERR_WRITE, result);
    tbed_copy_put_losses(&snapshot->copy);
    return TBED_OK;
}

/* Pages are claimed in a file that has them, so those that it does not have after the count was loaded were cut off. */
static bool note_cut(struct snapshot *snapshot)
{
    uint64_t claimed = tbed_shared_load(&tbed_copy_source_header(&snapshot->copy)->page_count);
    struct stat status;
    if (fstat(snapshot->source_fd, &status) != 0)
        return true;
    uint64_t in_file = (uint64_t)status.st_size / snapshot->copy.fields.page_nbytes;
    uint64_t from = in_file > snapshot->copy.page_count ? in_file : snapshot->copy.page_count;
    return tbed_copy_note_cut(&snapshot->copy, from, claimed, snapshot->nbytes);
}

static bool copy_all(struct snapshot *snapshot)
{
    snapshot->copy.out_page_count = 1;
    snapshot->copy.left_out_count = snapshot->copy.unknown_count = snapshot->copy.kept_count = 0;
    return tbed_copy_pages(&snapshot->copy) && note_cut(snapshot);
}

static enum tbed_status write_mapped(struct snapshot *snapshot, int fd, uint64_t out_nbytes)
{
    uint64_t given = tbed_shared_load(&tbed_copy_source_header(&snapshot->copy)->ring_pages_given);
    if (!copy_all(snapshot))
        return tbed_fail(snapshot->error, TBED_ERR_MEMORY, ENOMEM);
    given = tbed_shared_load(&tbed_copy_source_header(&snapshot->copy)->ring_pages_given) - given;
    snapshot->was_lapped = given > snapshot->copy.fields.ring_page_count / 2;
    tbed_copy_finish_blocks(&snapshot->copy);
    enum tbed_status status = write_losses(snapshot, fd, out_nbytes);
    if (status != TBED_OK)
        return status;
    tbed_copy_finish_header(&snapshot->copy);
    return tbed_file_shut(snapshot->copy.out, out_nbytes, snapshot->copy.fields.page_nbytes, fd)
               ? TBED_OK
               : tbed_fail(snapshot->error, TBED_ERR_WRITE, errno);
}

static enum tbed_status write_to(struct snapshot *snapshot, int fd)
{
    uint64_t copied_nbytes = snapshot->copy.page_count * snapshot->copy.fields.page_nbytes;
    uint64_t out_nbytes = copied_nbytes + (copied_nbytes / 4 & -(uint64_t)snapshot->copy.fields.page_nbytes) +
                          4 * (uint64_t)snapshot->copy.fields.page_nbytes; /* with room for LOST records */
    int result = tbed_file_extend(fd, 0, copied_nbytes);
    if (result != 0)
        return tbed_fail(snapshot->error,
                         result == ENOSPC || result == EDQUOT ? TBED_ERR_DISK_FULL : TBED_ERR_WRITE, result);
    snapshot->copy.out = tbed_shared_map(fd, out_nbytes, PROT_READ | PROT_WRITE);
    if (snapshot->copy.out == NULL)
        return tbed_fail(snapshot->error, TBED_ERR_MAP, errno);
    guard_enter(snapshot, snapshot->copy.out, out_nbytes, &snapshot->out_is_lost);
    enum tbed_status status = write_mapped(snapshot, fd, out_nbytes);
    guard_leave(snapshot, snapshot->copy.out);
    if (snapshot->out_is_lost)
        status = tbed_fail(snapshot->error, TBED_ERR_WRITE, EIO);
    tbed_shared_unmap(snapshot->copy.out, out_nbytes);
    return status;
}

static void close_source(struct snapshot *snapshot)
{
    guard_leave(snapshot, snapshot->copy.map);
    if (snapshot->copy.map != NULL)
        tbed_shared_unmap(snapshot->copy.map, snapshot->nbytes);
    snapshot->copy.map = NULL;
}

static enum tbed_status open_source(struct snapshot *snapshot, int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return tbed_fail(snapshot->error, TBED_ERR_OPEN, errno);
    if (!S_ISREG(status.st_mode))
        return tbed_fail(snapshot->error,
                         S_ISDIR(status.st_mode) ? TBED_ERR_IS_DIRECTORY : TBED_ERR_NOT_REGULAR, 0);
    if (status.st_size == 0)
        return tbed_fail(snapshot->error, TBED_ERR_EMPTY, 0);
    void *map = tbed_shared_map(fd, (uint64_t)status.st_size, PROT_READ);
    if (map == NULL)
        return tbed_fail(snapshot->error, TBED_ERR_MAP, errno);
    snapshot->copy.map = map;
    snapshot->nbytes = (uint64_t)status.st_size;
    guard_enter(snapshot, map, snapshot->nbytes, &snapshot->source_is_lost);
    return tbed_header_check(map, (size_t)snapshot->nbytes, &snapshot->copy.fields, snapshot->error);
}

/* Counts the pages that are both claimed and in the file. */
static enum tbed_status count_pages(struct snapshot *snapshot)
{
    uint64_t in_file = snapshot->nbytes / snapshot->copy.fields.page_nbytes;
    uint64_t claimed = tbed_shared_load(&tbed_copy_source_header(&snapshot->copy)->page_count);
    snapshot->copy.page_count = claimed < in_file ? claimed : in_file;
    if (snapshot->copy.page_count > snapshot->copy.fields.ring_page_count)
        return TBED_OK;
    tbed_fail(snapshot->error, TBED_ERR_PAGE_COUNT, 0);
    snapshot->error->offset = offsetof(struct tbed_disk_header, page_count);
    return TBED_ERR_PAGE_COUNT;
}

/* The moment comes before the count of pages, so the pages include everything recorded before it. */
static enum tbed_status write_moment(struct snapshot *snapshot, int source_fd, int fd)
{
    snapshot->copy.cut_tick = cut_tick(snapshot);
    close_source(snapshot);
    enum tbed_status status = open_source(snapshot, source_fd);
    if (status == TBED_OK)
        status = count_pages(snapshot);
    if (status == TBED_OK)
        status = write_to(snapshot, fd);
    return status == TBED_OK && snapshot->source_is_lost ? tbed_fail(snapshot->error, TBED_ERR_READ, EIO)
                                                         : status;
}

static enum tbed_status write_new(struct snapshot *snapshot, int source_fd, int fd)
{
    enum tbed_status status;
    int tries = 0;
    do { /* a small ring may be overwritten before it is copied */
        status = ftruncate(fd, 0) == 0 ? write_moment(snapshot, source_fd, fd)
                                       : tbed_fail(snapshot->error, TBED_ERR_WRITE, errno);
    } while (status == TBED_OK && snapshot->was_lapped && ++tries < TRIES_MAX);
    return status;
}

static enum tbed_status snapshot_fd(const struct tbed_file *file, int source_fd, int fd,
                                    uint64_t *left_out_ret, struct tbed_error *error)
{
    struct snapshot snapshot = {.file = file,
                                .source_fd = source_fd,
                                .error = error,
                                .copy.file_id = tbed_file_id_make(),
                                .copy.tells_losses = true};
    enum tbed_status status = open_source(&snapshot, source_fd);
    if (status == TBED_OK)
        status = write_new(&snapshot, source_fd, fd);
    tbed_copy_free(&snapshot.copy);
    close_source(&snapshot);
    if (left_out_ret != NULL)
        *left_out_ret = snapshot.copy.left_out_count;
    return status;
}

enum tbed_status tbed_trace_snapshot(int trace_fd, int fd, uint64_t *left_out_ret,
                                     struct tbed_error *error_ret)
{
    struct tbed_error ignored;
    return snapshot_fd(NULL, trace_fd, fd, left_out_ret, error_ret != NULL ? error_ret : &ignored);
}

/* ---- New files: they have their name once they are complete ---- */

struct new_file {
    int fd;
    const char *path;
    char work[NAME_NBYTES]; /* a temporary name; "": it has none */
};

static enum tbed_status new_file_open(const char *path, struct new_file *file_ret, struct tbed_error *error)
{
    char folder[NAME_NBYTES];
    const char *slash = strrchr(path, '/');
    size_t nbytes = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    *file_ret = (struct new_file){.fd = -1, .path = path};
    if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return tbed_fail(error, TBED_ERR_EXISTS, 0);
    if (strlen(path) + sizeof ".snapshot" > sizeof folder)
        return tbed_fail(error, TBED_ERR_OPEN, ENAMETOOLONG);
    snprintf(folder, sizeof folder, "%.*s", (int)nbytes, path);
    if (access("/proc/self/fd", X_OK) == 0)
        file_ret->fd = open(nbytes > 0 ? folder : ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (file_ret->fd < 0) {
        snprintf(file_ret->work, sizeof file_ret->work, "%s.%08x", path, (unsigned)tbed_file_id_make());
        file_ret->fd = open(file_ret->work, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
    return file_ret->fd >= 0 ? TBED_OK : tbed_fail(error, TBED_ERR_OPEN, errno);
}

/* Closes the file, which gets its name if it is complete and else disappears. */
static enum tbed_status new_file_close(struct new_file *file, enum tbed_status status,
                                       struct tbed_error *error)
{
    bool has_work = file->work[0] != 0;
    if (status == TBED_OK) {
        bool is_named =
            has_work ? tbed_rename(AT_FDCWD, file->work, AT_FDCWD, file->path, TBED_RENAME_NOREPLACE) == 0
                     : tbed_file_name(file->fd, file->path);
        if (!is_named)
            status = tbed_fail(error, errno == EEXIST ? TBED_ERR_EXISTS : TBED_ERR_WRITE,
                               errno == EEXIST ? 0 : errno);
    }
    if (has_work && status != TBED_OK)
        unlink(file->work);
    close(file->fd);
    return status;
}

static enum tbed_status snapshot_to(const struct tbed_file *file, int source_fd, const char *path,
                                    struct tbed_error *error)
{
    struct new_file new;
    enum tbed_status status = new_file_open(path, &new, error);
    if (status != TBED_OK)
        return status;
    status = snapshot_fd(file, source_fd, new.fd, NULL, error);
    return new_file_close(&new, status, error);
}

enum tbed_status tbed_snapshot(struct tbed_writer *writer, const char *path, struct tbed_error *error_ret)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_error ignored, *error = error_ret != NULL ? error_ret : &ignored;
    if (!tbed_is_usable(file) || path == NULL)
        return tbed_fail(error, TBED_ERR_ARGUMENT, 0);
    int cancel_state = tbed_cancel_disable();
    int fd = tbed_descriptor_duplicate(file);
    enum tbed_status status =
        fd >= 0 ? snapshot_to(file, fd, path, error) : tbed_fail(error, TBED_ERR_OPEN, errno);
    if (fd >= 0)
        close(fd);
    tbed_cancel_restore(cancel_state);
    return status;
}
