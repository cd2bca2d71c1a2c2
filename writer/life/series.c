/*
 * A series of files: when the next one is due, how files are named, which are kept.
 *
 * Source: spec/format.md, section 8.6.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/base/fail.h"
#include "writer/base/kernel.h"
#include "writer/base/memory.h"
#include "writer/base/shared_words.h"
#include "writer/file/file.h"
#include "writer/file/usable.h"
#include "writer/life/writer.h"
#include "writer/store/records.h"

#define PAGES_MIN 4

bool tbed_rotation_init(struct tbed_writer *writer, const struct tbed_writer_options *options)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_rotation *rotation = &writer->rotation;
    uint32_t page_nbytes = options->page_nbytes != 0 ? options->page_nbytes : TBED_PAGE_NBYTES_DEFAULT;
    uint64_t pages = options->rotate_nbytes / page_nbytes;
    file->is_in_series = true;
    if (options->rotate_nbytes != 0)
        file->growth.full_page_count = pages > PAGES_MIN ? pages : PAGES_MIN;
    rotation->interval_ns = options->rotate_interval_ns;
    rotation->next_ns = tbed_monotonic_ns() + rotation->interval_ns;
    rotation->number = 1;
    rotation->keep = options->rotate_keep;
    if (rotation->keep != 0)
        rotation->closed = tbed_pages_alloc(rotation->keep * sizeof *rotation->closed);
    return rotation->keep == 0 || rotation->closed != NULL;
}

void tbed_rotation_free(struct tbed_writer *writer)
{
    struct tbed_rotation *rotation = &writer->rotation;
    tbed_pages_free(rotation->closed, rotation->keep * sizeof *rotation->closed);
    rotation->closed = NULL;
}

struct tbed_disk_series tbed_series_make(uint64_t series_id, uint64_t previous_file_id, uint32_t number)
{
    return (struct tbed_disk_series){
        .series_id = tbed_le64_make(series_id),
        .previous_file_id = tbed_le64_make(previous_file_id),
        .number = tbed_le32_make(number),
    };
}

void tbed_series_record(struct tbed_writer *writer)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_store *store = tbed_store_of(writer);
    writer->rotation.series_id = file->fields.file_id;
    struct tbed_disk_series record = tbed_series_make(file->fields.file_id, 0, 1);
    tbed_record_append(store, &record, TBED_RECORD_SERIES, sizeof record);
}

/*
 * Notes a failed rotation in the current file: the first, second, fourth and so on, since there may be one a second
 * for days.
 */
void tbed_series_note_failure(struct tbed_writer *writer)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_store *store = tbed_store_of(writer);
    struct tbed_rotation *rotation = &writer->rotation;
    uint32_t count = ++rotation->failed_count;
    if ((count & (count - 1)) != 0 || !tbed_state_lock(file))
        return;
    struct tbed_disk_series record =
        tbed_series_make(rotation->series_id, rotation->previous_id, rotation->number);
    record.failed_count = tbed_le32_make(count);
    tbed_record_append(store, &record, TBED_RECORD_SERIES, sizeof record);
    tbed_state_unlock(file);
}

/* ---- When ---- */

bool tbed_series_is_due(const struct tbed_writer *writer)
{
    const struct tbed_file *file = tbed_file_of(writer);
    const struct tbed_rotation *rotation = &writer->rotation;
    uint64_t page_count = tbed_shared_load(&tbed_shared(file)->page_count);
    uint64_t carried_pages = __atomic_load_n(&rotation->carried_pages, __ATOMIC_RELAXED);
    uint64_t now_ns = tbed_monotonic_ns();
    if (now_ns < __atomic_load_n(&rotation->retry_ns, __ATOMIC_RELAXED))
        return false;
    if (rotation->interval_ns != 0 && now_ns >= __atomic_load_n(&rotation->next_ns, __ATOMIC_RELAXED))
        return true;
    uint64_t full = file->growth.full_page_count;
    return full != 0 && page_count >= full && page_count >= 2 * carried_pages;
}

uint64_t tbed_rotation_left_ns(const struct tbed_writer *writer)
{
    const struct tbed_rotation *rotation = &writer->rotation;
    if (rotation->interval_ns == 0)
        return UINT64_MAX;
    uint64_t next_ns = __atomic_load_n(&rotation->next_ns, __ATOMIC_RELAXED);
    uint64_t retry_ns = __atomic_load_n(&rotation->retry_ns, __ATOMIC_RELAXED);
    uint64_t now_ns = tbed_monotonic_ns(), at_ns = next_ns > retry_ns ? next_ns : retry_ns;
    return at_ns > now_ns ? at_ns - now_ns : 1;
}

/* ---- Names ---- */

/* There is room for it: tbed_path_can_grow(). */
static char *path_end(const struct tbed_file *file, char *name)
{
    size_t nbytes = strlen(file->path);
    memcpy(name, file->path, nbytes);
    return name + nbytes;
}

void tbed_series_closed_name(const struct tbed_file *file, uint32_t number, char *name)
{
    snprintf(path_end(file, name), TBED_NAME_GROWTH_NBYTES, ".%06u", number);
}

/* An earlier process with the same number may have left files of its own. */
void tbed_series_child_name(const struct tbed_file *file, uint32_t number, char *name)
{
    const char *format = number == 1 ? ".%d" : ".%d-%u";
    snprintf(path_end(file, name), TBED_NAME_GROWTH_NBYTES, format, (int)getpid(), number);
}

uint32_t tbed_series_name_next(struct tbed_writer *writer, tbed_series_name *make, uint32_t number, int *fd)
{
    char *name = writer->rotation.name;
    bool has_file = *fd >= 0;
    for (; number != 0; number++) {
        make(tbed_file_of(writer), number, name);
        if (!has_file)
            *fd = tbed_file_create(name);
        if (has_file ? tbed_file_name(*fd, name) : *fd >= 0)
            return number;
        if (errno != EEXIST)
            break;
    }
    return 0;
}

/*
 * The path refers to the current file at every moment. If it was removed, the next file gets the path, and the old
 * file is left without a name.
 */
enum tbed_status tbed_series_exchange(struct tbed_writer *writer, bool *is_named_ret,
                                      struct tbed_error *error)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct stat status;
    *is_named_ret = lstat(file->path, &status) == 0;
    if (*is_named_ret && (status.st_ino != file->inode || status.st_dev != file->device))
        return tbed_fail(error, TBED_ERR_EXISTS, 0);
    unsigned flags = *is_named_ret ? TBED_RENAME_EXCHANGE : TBED_RENAME_NOREPLACE;
    if (tbed_rename(AT_FDCWD, writer->rotation.name, AT_FDCWD, file->path, flags) != 0)
        return tbed_fail(error, TBED_ERR_WRITE, errno);
    return TBED_OK;
}

void tbed_series_exchange_back(const struct tbed_writer *writer, bool is_named)
{
    const struct tbed_file *file = tbed_file_of(writer);
    tbed_rename(AT_FDCWD, file->path, AT_FDCWD, writer->rotation.name,
                is_named ? TBED_RENAME_EXCHANGE : TBED_RENAME_NOREPLACE);
}

static bool is_closed_file(const char *name, dev_t device, const struct tbed_closed_file *closed)
{
    struct stat status;
    tbed_le64 file_id;
    int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is_it =
        fd >= 0 && fstat(fd, &status) == 0 && status.st_ino == closed->inode && status.st_dev == device &&
        pread(fd, &file_id, sizeof file_id, offsetof(struct tbed_disk_header, file_id)) == sizeof file_id &&
        tbed_le64_load(file_id) == closed->file_id;
    if (fd >= 0)
        close(fd);
    return is_it;
}

static void remove_closed(struct tbed_writer *writer, const struct tbed_closed_file *closed)
{
    const struct tbed_file *file = tbed_file_of(writer);
    char *name = writer->rotation.name;
    tbed_series_closed_name(file, closed->name_number, name);
    if (is_closed_file(name, file->device, closed))
        unlink(name);
}

void tbed_series_keep_newest(struct tbed_writer *writer, ino_t inode)
{
    struct tbed_rotation *rotation = &writer->rotation;
    if (rotation->keep == 0)
        return;
    struct tbed_closed_file *closed = &rotation->closed[rotation->closed_count % rotation->keep];
    if (rotation->closed_count >= rotation->keep)
        remove_closed(writer, closed);
    *closed = (struct tbed_closed_file){rotation->name_number, inode, rotation->previous_id};
    rotation->closed_count++;
}
