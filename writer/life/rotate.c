/*
 * Series of files: the next one is begun, the old one closed, while threads record.
 *
 * The recorders are stopped as closing stops them, but wait instead of dropping. Then, under 'lock', the next file is
 * filled with what it carries on (carry.c), changes names with the old one, and is mapped in its place. So every address
 * and every id stays what it was.
 *
 * Source: spec/format.md, section 8.6.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/file/private.h"

#define PAUSE_WAIT_NS 100000000u  /* for a thread to come out of its record */
#define RETRY_NS      1000000000u /* after a rotation that failed */
#define PAGES_MIN     4

static enum tbed_status fail(struct tbed_error *error, enum tbed_status status, int system_errno)
{
    *error = (struct tbed_error){.status = status, .system_errno = system_errno, .offset = UINT64_MAX};
    return status;
}

/* ---- A series ---- */

bool tbed_rotation_init(struct tbed_writer *writer, const struct tbed_writer_options *options)
{
    struct tbed_rotation *rotation = &writer->rotation;
    uint32_t page_nbytes = options->page_nbytes != 0 ? options->page_nbytes : TBED_PAGE_NBYTES_DEFAULT;
    uint64_t pages = options->rotate_nbytes / page_nbytes;
    rotation->is_wanted = true;
    rotation->page_limit = pages > PAGES_MIN ? pages : PAGES_MIN;
    if (options->rotate_nbytes == 0)
        rotation->page_limit = UINT64_MAX;
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

static struct tbed_disk_series series_record(uint64_t series_id, uint64_t previous_file_id, uint32_t number)
{
    return (struct tbed_disk_series){
        .series_id = tbed_le64_make(series_id),
        .previous_file_id = tbed_le64_make(previous_file_id),
        .number = tbed_le32_make(number),
    };
}

/* Told in the file that goes on; not each time, there may be one a second for days. */
static void note_failure(struct tbed_writer *writer)
{
    struct tbed_rotation *rotation = &writer->rotation;
    uint32_t count = ++rotation->failed_count;
    if ((count & (count - 1)) != 0 || !tbed_writer_lock(writer))
        return;
    struct tbed_disk_series record =
        series_record(rotation->series_id, rotation->previous_id, rotation->number);
    record.failed_count = tbed_le32_make(count);
    tbed_record_append(writer, &record, TBED_RECORD_SERIES, sizeof record);
    tbed_writer_unlock(writer);
}

void tbed_series_record(struct tbed_writer *writer)
{
    writer->rotation.series_id = writer->fields.file_id;
    struct tbed_disk_series record = series_record(writer->fields.file_id, 0, 1);
    tbed_record_append(writer, &record, TBED_RECORD_SERIES, sizeof record);
}

/* ---- Waiting, in a record ---- */

/*
 * A handler that came in between must not wait for the thread that it interrupted. The last load comes after the mark
 * is taken back: whoever begins the next rotation meanwhile sees that, or is seen.
 */
bool tbed_rotation_wait(struct tbed_writer *writer, struct tbed_recorder *recorder,
                        enum tbed_drop_cause *cause_ret)
{
    struct tbed_writer_live *live = writer->live;
    while (__atomic_load_n(&live->is_rotating, __ATOMIC_SEQ_CST)) {
        *cause_ret = TBED_DROP_INTERRUPTED;
        if (tbed_lock_is_mine(&live->lock))
            return false;
        __atomic_store_n(&recorder->saw_close, 1, __ATOMIC_SEQ_CST);
        bool has_waited = tbed_lock_take(&live->pause_lock);
        if (has_waited)
            tbed_lock_give(&live->pause_lock);
        *cause_ret = TBED_DROP_CLOSED;
        if (__atomic_load_n(&writer->is_closing, __ATOMIC_SEQ_CST))
            return false;
        __atomic_store_n(&recorder->saw_close, 0, __ATOMIC_SEQ_CST);
        *cause_ret = TBED_DROP_INTERRUPTED;
        if (!has_waited)
            return false;
    }
    return true;
}

/* ---- Stopping ---- */

/* With 'lock' taken when all are out of their records. */
static bool wait_and_lock(struct tbed_writer *writer)
{
    uint64_t deadline = tbed_monotonic_ns() + PAUSE_WAIT_NS;
    for (;;) {
        if (!tbed_writer_lock(writer))
            return false;
        if (!tbed_recorders_are_busy(writer))
            return true;
        tbed_writer_unlock(writer);
        if (tbed_monotonic_ns() > deadline)
            return false;
        sched_yield();
    }
}

/* The helper has blocks to seal; whoever needs it starts it again. 'lock' is held, and is again. */
static bool stop_helper(struct tbed_writer *writer)
{
    if (writer->rotation.by_helper)
        tbed_helper_seal_all(writer);
    if (writer->rotation.by_helper || !__atomic_load_n(&writer->helper.is_running, __ATOMIC_ACQUIRE))
        return true;
    tbed_writer_unlock(writer);
    tbed_helper_stop(writer);
    return wait_and_lock(writer);
}

/* ---- Names ---- */

typedef void make_name(const struct tbed_writer *writer, uint32_t number, char *name);

/* There was room for it when the series began. */
static char *path_end(const struct tbed_writer *writer, char *name)
{
    size_t nbytes = strlen(writer->path);
    memcpy(name, writer->path, nbytes);
    return name + nbytes;
}

static void closed_name(const struct tbed_writer *writer, uint32_t number, char *name)
{
    snprintf(path_end(writer, name), TBED_NAME_GROWTH_NBYTES, ".%06u", number);
}

/* An earlier process with that number may have left its own. */
static void child_name(const struct tbed_writer *writer, uint32_t number, char *name)
{
    const char *format = number == 1 ? ".%d" : ".%d-%u";
    snprintf(path_end(writer, name), TBED_NAME_GROWTH_NBYTES, format, (int)getpid(), number);
}

/*
 * The first number from 'number' on whose name is free; 0: none, with errno. The file is made under it if it is not
 * there yet.
 */
static uint32_t name_next(struct tbed_writer *writer, make_name *make, uint32_t number, int *fd)
{
    char *name = writer->rotation.name;
    bool has_file = *fd >= 0;
    for (; number != 0; number++) {
        make(writer, number, name);
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
 * The path names the running file at every moment. Where it was removed the next file gets it, and the old one has no
 * name any more.
 */
static enum tbed_status exchange(struct tbed_writer *writer, bool *is_named_ret, struct tbed_error *error)
{
    struct stat status;
    *is_named_ret = lstat(writer->path, &status) == 0;
    if (*is_named_ret && (status.st_ino != writer->inode || status.st_dev != writer->device))
        return fail(error, TBED_ERR_EXISTS, 0);
    unsigned flags = *is_named_ret ? RENAME_EXCHANGE : RENAME_NOREPLACE;
    if (renameat2(AT_FDCWD, writer->rotation.name, AT_FDCWD, writer->path, flags) != 0)
        return fail(error, TBED_ERR_WRITE, errno);
    return TBED_OK;
}

static void exchange_back(const struct tbed_writer *writer, bool is_named)
{
    renameat2(AT_FDCWD, writer->path, AT_FDCWD, writer->rotation.name,
              is_named ? RENAME_EXCHANGE : RENAME_NOREPLACE);
}

static bool is_closed_file(const struct tbed_writer *writer, const char *name,
                           const struct tbed_closed_file *file)
{
    struct stat status;
    tbed_le64 file_id;
    int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is_it =
        fd >= 0 && fstat(fd, &status) == 0 && status.st_ino == file->inode &&
        status.st_dev == writer->device &&
        pread(fd, &file_id, sizeof file_id, offsetof(struct tbed_disk_header, file_id)) == sizeof file_id &&
        tbed_le64_load(file_id) == file->file_id;
    if (fd >= 0)
        close(fd);
    return is_it;
}

static void remove_closed(struct tbed_writer *writer, const struct tbed_closed_file *file)
{
    char *name = writer->rotation.name;
    closed_name(writer, file->name_number, name);
    if (is_closed_file(writer, name, file))
        unlink(name);
}

static void keep_newest(struct tbed_writer *writer, ino_t inode)
{
    struct tbed_rotation *rotation = &writer->rotation;
    if (rotation->keep == 0)
        return;
    struct tbed_closed_file *file = &rotation->closed[rotation->closed_count % rotation->keep];
    if (rotation->closed_count >= rotation->keep)
        remove_closed(writer, file);
    *file = (struct tbed_closed_file){rotation->name_number, inode, rotation->previous_id};
    rotation->closed_count++;
}

/* ---- From one file to the next ---- */

struct next {
    int fd;
    uint64_t file_id;
    uint32_t name_number; /* 0: it has no name yet */
    bool is_named;        /* the old file has it now */
    struct tbed_carried carried;
    struct tbed_error *error;
};

/* What the writer knew of the old file becomes what it knows of the new one. */
static void go_on(struct tbed_writer *writer, const struct next *next)
{
    struct tbed_rotation *rotation = &writer->rotation;
    const struct tbed_carried *carried = &next->carried;
    writer->strings = carried->strings;
    writer->records = carried->records;
    writer->cells = carried->cells_offset != 0 ? writer->map + carried->cells_offset : NULL;
    writer->cells_next = carried->cells_next;
    writer->cells_sequence = carried->cells_sequence;
    rotation->previous_id = writer->fields.file_id;
    rotation->failed_count = 0;
    writer->fields.file_id = next->file_id;
    __atomic_store_n(&writer->retry_ns, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&writer->helper.populated_pages, carried->page_count, __ATOMIC_RELEASE);
    __atomic_store_n(&rotation->carried_pages, carried->page_count, __ATOMIC_RELAXED);
    rotation->number++;
    rotation->name_number = next->name_number;
    tbed_anchor_append(writer);
}

/* The last words of the old file; then its map goes. */
static bool leave_old(struct tbed_writer *writer, const struct next *next)
{
    tbed_recorders_hand_over(writer);
    tbed_anchor_append(writer);
    tbed_block_writer_finish(writer, &writer->strings);
    tbed_block_writer_finish(writer, &writer->records);
    tbed_shared_add(&tbed_shared(writer)->writer_count, (uint64_t)-1);
    if (tbed_file_switch(writer, next->fd, next->carried.backed_pages))
        return true;
    tbed_shared_add(&tbed_shared(writer)->writer_count, 1);
    return false;
}

static enum tbed_status name_and_switch(struct tbed_writer *writer, struct next *next)
{
    if (next->name_number == 0)
        next->name_number = name_next(writer, closed_name, writer->rotation.name_number + 1, &next->fd);
    if (next->name_number == 0)
        return fail(next->error, TBED_ERR_OPEN, errno);
    enum tbed_status status = exchange(writer, &next->is_named, next->error);
    if (status != TBED_OK)
        return status;
    if (!leave_old(writer, next)) {
        exchange_back(writer, next->is_named);
        return fail(next->error, TBED_ERR_MAP, errno);
    }
    go_on(writer, next);
    return TBED_OK;
}

static enum tbed_status switch_files(struct tbed_writer *writer, struct next *next)
{
    struct tbed_rotation *rotation = &writer->rotation;
    struct tbed_disk_series series =
        series_record(rotation->series_id, writer->fields.file_id, rotation->number + 1);
    enum tbed_status status =
        tbed_carry(writer, next->fd, next->file_id, &series, true, &next->carried, next->error);
    if (status != TBED_OK)
        return status;
    status = name_and_switch(writer, next);
    tbed_pages_free(next->carried.moved, next->carried.moved_nbytes);
    return status;
}

/* While all recorders wait. */
static enum tbed_status rotate_paused(struct tbed_writer *writer, struct next *next)
{
    if (!tbed_recorders_pause(writer) || !wait_and_lock(writer) || !stop_helper(writer))
        return fail(next->error, TBED_ERR_BUSY, 0);
    enum tbed_status status = switch_files(writer, next);
    tbed_writer_unlock(writer);
    return status;
}

static enum tbed_status pause_and_rotate(struct tbed_writer *writer, struct next *next)
{
    struct tbed_writer_live *live = writer->live;
    if (!tbed_lock_take(&live->pause_lock))
        return fail(next->error, TBED_ERR_BUSY, 0);
    __atomic_store_n(&live->is_rotating, true, __ATOMIC_SEQ_CST);
    enum tbed_status status = rotate_paused(writer, next);
    __atomic_store_n(&live->is_rotating, false, __ATOMIC_SEQ_CST);
    tbed_lock_give(&live->pause_lock);
    return status;
}

static bool next_make(struct tbed_writer *writer, struct next *next)
{
    next->file_id = tbed_file_id_make();
    next->fd = tbed_file_create_unnamed(writer->path);
    if (next->fd < 0)
        next->name_number = name_next(writer, closed_name, writer->rotation.name_number + 1, &next->fd);
    return next->fd >= 0;
}

static void next_undo(struct tbed_writer *writer, const struct next *next)
{
    if (next->name_number != 0)
        unlink(writer->rotation.name);
    if (next->fd >= 0)
        close(next->fd);
}

/* The caller has 'rotate_lock'. */
static enum tbed_status rotate(struct tbed_writer *writer, struct tbed_error *error)
{
    struct tbed_rotation *rotation = &writer->rotation;
    struct next next = {.fd = -1, .error = error};
    enum tbed_status status = TBED_OK;
    if (!tbed_file_descriptor_is_ours(writer) && !tbed_file_reopen(writer))
        status = fail(error, TBED_ERR_OPEN, EBADF);
    else if (!next_make(writer, &next))
        status = fail(error, errno == ENOSPC || errno == EDQUOT ? TBED_ERR_DISK_FULL : TBED_ERR_OPEN, errno);
    else
        status = tbed_carry_prepare(writer, next.fd, &next.carried, error);
    int old_fd = writer->fd;
    ino_t old_inode = writer->inode;
    if (status == TBED_OK)
        status = pause_and_rotate(writer, &next);
    tbed_carry_release(&next.carried);
    uint64_t now_ns = tbed_monotonic_ns();
    if (status != TBED_OK) {
        next_undo(writer, &next);
        __atomic_store_n(&rotation->retry_ns, now_ns + RETRY_NS, __ATOMIC_RELAXED);
        note_failure(writer);
        return status;
    }
    __atomic_store_n(&rotation->next_ns, now_ns + rotation->interval_ns, __ATOMIC_RELAXED);
    tbed_file_leave(old_fd, writer->page_nbytes);
    if (next.is_named)
        keep_newest(writer, old_inode);
    return TBED_OK;
}

enum tbed_status tbed_rotate(struct tbed_writer *writer, struct tbed_error *error_ret)
{
    struct tbed_error ignored, *error = error_ret != NULL ? error_ret : &ignored;
    if (!tbed_writer_is_usable(writer) || !writer->rotation.is_wanted)
        return fail(error, TBED_ERR_ARGUMENT, 0);
    if (!tbed_lock_take(&writer->live->rotate_lock))
        return fail(error, TBED_ERR_BUSY, 0);
    int kept_errno = errno, cancel_state = tbed_cancel_disable();
    writer->rotation.by_helper = false;
    bool is_closed =
        __atomic_load_n(&writer->is_closing, __ATOMIC_ACQUIRE); /* while it waited for the lock */
    enum tbed_status status = is_closed ? fail(error, TBED_ERR_ARGUMENT, 0) : rotate(writer, error);
    if (!is_closed)
        tbed_helper_start(writer); /* it was stopped */
    tbed_lock_give(&writer->live->rotate_lock);
    tbed_cancel_restore(cancel_state);
    errno = kept_errno;
    return status;
}

/* ---- By itself ---- */

static bool is_due(const struct tbed_writer *writer)
{
    const struct tbed_rotation *rotation = &writer->rotation;
    uint64_t page_count = tbed_shared_load(&tbed_shared(writer)->page_count);
    uint64_t carried_pages = __atomic_load_n(&rotation->carried_pages, __ATOMIC_RELAXED);
    uint64_t now_ns = tbed_monotonic_ns();
    if (now_ns < __atomic_load_n(&rotation->retry_ns, __ATOMIC_RELAXED))
        return false;
    if (rotation->interval_ns != 0 && now_ns >= __atomic_load_n(&rotation->next_ns, __ATOMIC_RELAXED))
        return true;
    return page_count >= rotation->page_limit && page_count >= 2 * carried_pages;
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

/* Not in a handler that came in while its thread had one of these. */
static bool may_rotate(struct tbed_writer_live *live)
{
    return !tbed_lock_is_mine(&live->lock) && !tbed_lock_is_mine(&live->grow_lock) &&
           tbed_lock_try(&live->rotate_lock);
}

/* A recorder marks that it keeps off the pages: the rotation is its own. */
void tbed_rotate_if_due(struct tbed_writer *writer, struct tbed_recorder *recorder)
{
    struct tbed_error error;
    if (!writer->rotation.is_wanted)
        return;
    bool is_others = recorder != NULL && tbed_helper_is_busy(writer);
    if (is_others || !is_due(writer) || !may_rotate(writer->live))
        return;
    int cancel_state = tbed_cancel_disable();
    writer->rotation.by_helper = recorder == NULL;
    if (recorder != NULL)
        __atomic_store_n(&recorder->saw_close, 1, __ATOMIC_SEQ_CST);
    if (is_due(writer)) /* still: another one may just have rotated */
        rotate(writer, &error);
    if (recorder != NULL)
        __atomic_store_n(&recorder->saw_close, 0, __ATOMIC_SEQ_CST);
    tbed_lock_give(&writer->live->rotate_lock);
    tbed_cancel_restore(cancel_state);
}

/* ---- A forked child ---- */

static bool child_file_make(struct tbed_writer *writer, struct next *next)
{
    struct tbed_disk_series series = series_record(next->file_id, 0, 1);
    next->fd = -1;
    if (!tbed_path_can_grow(writer))
        return false;
    next->fd = tbed_file_create_unnamed(writer->path);
    if (next->fd < 0)
        next->name_number = name_next(writer, child_name, 1, &next->fd);
    if (next->fd < 0 ||
        tbed_carry(writer, next->fd, next->file_id, &series, false, &next->carried, next->error) != TBED_OK)
        return false;
    tbed_pages_free(next->carried.moved, next->carried.moved_nbytes);
    if (next->name_number == 0)
        next->name_number = name_next(writer, child_name, 1, &next->fd);
    return next->name_number != 0;
}

static void series_begin(struct tbed_writer *writer, const struct next *next)
{
    struct tbed_rotation *rotation = &writer->rotation;
    memcpy(writer->path, rotation->name, sizeof writer->path);
    writer->fields.file_id = rotation->series_id = next->file_id;
    rotation->previous_id = 0;
    rotation->failed_count = 0;
    rotation->number = 1;
    rotation->name_number = 0;
    rotation->closed_count = 0;
    rotation->retry_ns = 0;
    rotation->next_ns = tbed_monotonic_ns() + rotation->interval_ns;
    rotation->carried_pages = next->carried.page_count;
}

bool tbed_rotation_fork(struct tbed_writer *writer)
{
    struct tbed_error error;
    struct next next = {.file_id = tbed_file_id_make(), .error = &error};
    int old_fd = tbed_file_descriptor_is_ours(writer) ? writer->fd : -1;
    bool is_made =
        child_file_make(writer, &next) && tbed_file_switch(writer, next.fd, next.carried.backed_pages);
    if (is_made) {
        series_begin(writer, &next);
        if (old_fd >= 0)
            close(old_fd);
        return true;
    }
    next_undo(writer, &next);
    return false;
}
