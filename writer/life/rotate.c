/*
 * Rotation: begins the next file of a series and closes the old one, while threads record.
 *
 * The recorders are stopped as for closing, but wait instead of dropping. Then, under 'state_lock', the next file is
 * filled with what it takes over (carry.c), exchanges names with the old one, and is mapped in its place. So every
 * address and every id stays what it was.
 *
 * Source: spec/format.md, section 8.6.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/base/fail.h"
#include "writer/base/memory.h"
#include "writer/base/sandbox_state.h"
#include "writer/base/shared_words.h"
#include "writer/copy/carry.h"
#include "writer/file/file.h"
#include "writer/file/file_guard.h"
#include "writer/file/usable.h"
#include "writer/life/writer.h"
#include "writer/pages/pages.h"
#include "writer/store/entries.h"
#include "writer/store/records.h"

#define PAUSE_WAIT_NS 100000000u  /* for a thread to finish its record */
#define RETRY_NS      1000000000u /* after a failed rotation */

/* ---- Stopping ---- */

/* Waits until all recorders are out of their records, and returns with 'state_lock' taken. */
static bool wait_and_lock(struct tbed_writer *writer)
{
    struct tbed_file *file = tbed_file_of(writer);
    uint64_t deadline = tbed_monotonic_ns() + PAUSE_WAIT_NS;
    for (;;) {
        if (!tbed_state_lock(file))
            return false;
        if (!tbed_recorders_are_busy(&writer->recorders))
            return true;
        tbed_state_unlock(file);
        if (tbed_monotonic_ns() > deadline)
            return false;
        sched_yield();
    }
}

/*
 * Stops the helper, which has blocks to seal; it is started again when it is needed. Releases 'state_lock' in between.
 */
static bool stop_helper(struct tbed_writer *writer)
{
    struct tbed_file *file = tbed_file_of(writer);
    if (writer->rotation.by_helper)
        tbed_seal_queue_run(file);
    if (writer->rotation.by_helper || !__atomic_load_n(&file->helper_link.is_running, __ATOMIC_ACQUIRE))
        return true;
    tbed_state_unlock(file);
    tbed_helper_stop(&writer->helper);
    return wait_and_lock(writer);
}

/* ---- From one file to the next ---- */

struct next {
    int fd;
    ino_t inode;
    uint64_t file_id;
    uint32_t name_number; /* 0: the file has no name yet */
    bool is_named;        /* the old file has that name now */
    struct tbed_carried carried;
    struct tbed_error *error;
};

/* Replaces what the writer knew of the old file with what it knows of the new one. */
static void go_on(struct tbed_writer *writer, const struct next *next)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_store *store = tbed_store_of(writer);
    struct tbed_rotation *rotation = &writer->rotation;
    const struct tbed_carried *carried = &next->carried;
    store->strings = carried->strings;
    store->records = carried->records;
    tbed_cells_set(store, carried->cells_offset, carried->cells_next, carried->cells_sequence);
    rotation->previous_id = file->fields.file_id;
    rotation->failed_count = 0;
    file->fields.file_id = next->file_id;
    __atomic_store_n(&file->growth.retry_ns, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&file->helper_link.populated_pages, carried->page_count, __ATOMIC_RELEASE);
    __atomic_store_n(&rotation->carried_pages, carried->page_count, __ATOMIC_RELAXED);
    rotation->number++;
    rotation->name_number = next->name_number;
    tbed_anchor_append(store);
}

/* Completes the old file, then replaces its map. */
static bool leave_old(struct tbed_writer *writer, const struct next *next)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_store *store = tbed_store_of(writer);
    tbed_recorders_hand_over(&writer->recorders);
    tbed_anchor_append(store);
    tbed_block_writer_finish(store, &store->strings);
    tbed_block_writer_finish(store, &store->records);
    tbed_shared_add(&tbed_shared(file)->writer_count, (uint64_t)-1);
    if (tbed_descriptor_has(next->fd, next->file_id) &&
        tbed_file_switch(file, next->fd, next->carried.backed_pages))
        return true;
    tbed_shared_add(&tbed_shared(file)->writer_count, 1);
    return false;
}

static enum tbed_status name_and_switch(struct tbed_writer *writer, struct next *next)
{
    if (next->name_number == 0)
        next->name_number = tbed_series_name_next(writer, tbed_series_closed_name,
                                                  writer->rotation.name_number + 1, &next->fd);
    if (next->name_number == 0)
        return tbed_fail(next->error, TBED_ERR_OPEN, errno);
    enum tbed_status status = tbed_series_exchange(writer, &next->is_named, next->error);
    if (status != TBED_OK)
        return status;
    if (!leave_old(writer, next)) {
        tbed_series_exchange_back(writer, next->is_named);
        return tbed_fail(next->error, TBED_ERR_MAP, errno);
    }
    go_on(writer, next);
    return TBED_OK;
}

static enum tbed_status switch_files(struct tbed_writer *writer, struct next *next)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_store *store = tbed_store_of(writer);
    struct tbed_rotation *rotation = &writer->rotation;
    struct tbed_disk_series series =
        tbed_series_make(rotation->series_id, file->fields.file_id, rotation->number + 1);
    enum tbed_status status =
        tbed_carry(store, next->fd, next->file_id, &series, true, &next->carried, next->error);
    if (status != TBED_OK)
        return status;
    status = name_and_switch(writer, next);
    tbed_pages_free(next->carried.moved, next->carried.moved_nbytes);
    return status;
}

/* Runs while all recorders wait. */
static enum tbed_status rotate_paused(struct tbed_writer *writer, struct next *next)
{
    struct tbed_file *file = tbed_file_of(writer);
    if (!tbed_recorders_pause(&writer->recorders) || !wait_and_lock(writer) || !stop_helper(writer))
        return tbed_fail(next->error, TBED_ERR_BUSY, 0);
    enum tbed_status status = switch_files(writer, next);
    tbed_state_unlock(file);
    return status;
}

static enum tbed_status pause_and_rotate(struct tbed_writer *writer, struct next *next)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_live *live = file->live;
    if (!tbed_lock_take(&live->pause_lock))
        return tbed_fail(next->error, TBED_ERR_BUSY, 0);
    __atomic_store_n(&live->is_rotating, true, __ATOMIC_SEQ_CST);
    enum tbed_status status = rotate_paused(writer, next);
    __atomic_store_n(&live->is_rotating, false, __ATOMIC_SEQ_CST);
    tbed_lock_give(&live->pause_lock);
    return status;
}

static bool next_is_at(const struct next *next)
{
    struct stat status;
    return fstat(next->fd, &status) == 0 && status.st_ino == next->inode;
}

static bool next_remember(struct next *next)
{
    struct stat status;
    if (fstat(next->fd, &status) != 0)
        return false;
    next->inode = status.st_ino;
    return true;
}

static bool next_make(struct tbed_writer *writer, struct next *next)
{
    struct tbed_file *file = tbed_file_of(writer);
    next->file_id = tbed_file_id_make();
    next->fd = tbed_file_create_unnamed(file->path, writer->rotation.name);
    if (next->fd < 0)
        next->name_number = tbed_series_name_next(writer, tbed_series_closed_name,
                                                  writer->rotation.name_number + 1, &next->fd);
    return next_remember(next);
}

static void next_undo(struct tbed_writer *writer, const struct next *next)
{
    if (next->name_number != 0)
        unlink(writer->rotation.name);
    if (next_is_at(next)) /* or the program has closed it meanwhile */
        close(next->fd);
}

/* The caller holds 'rotate_lock'. */
static enum tbed_status rotate(struct tbed_writer *writer, struct tbed_error *error)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_store *store = tbed_store_of(writer);
    struct tbed_rotation *rotation = &writer->rotation;
    struct next next = {.fd = -1, .error = error};
    enum tbed_status status = TBED_OK;
    if (!tbed_descriptor_is_ours(file) && !tbed_descriptor_reopen(file))
        status = tbed_fail(error, TBED_ERR_OPEN, EBADF);
    else if (!next_make(writer, &next))
        status =
            tbed_fail(error, errno == ENOSPC || errno == EDQUOT ? TBED_ERR_DISK_FULL : TBED_ERR_OPEN, errno);
    else
        status = tbed_carry_prepare(store, next.fd, &next.carried, error);
    int old_fd = file->fd;
    ino_t old_inode = file->inode;
    if (status == TBED_OK)
        status = pause_and_rotate(writer, &next);
    tbed_carry_release(store, &next.carried);
    uint64_t now_ns = tbed_monotonic_ns();
    if (status != TBED_OK) {
        next_undo(writer, &next);
        __atomic_store_n(&rotation->retry_ns, now_ns + RETRY_NS, __ATOMIC_RELAXED);
        tbed_series_note_failure(writer);
        return status;
    }
    __atomic_store_n(&rotation->next_ns, now_ns + rotation->interval_ns, __ATOMIC_RELAXED);
    int sync_fd = writer->syncing.is_used ? tbed_descriptor_copy(old_fd) : -1;
    tbed_file_leave(file, old_fd, rotation->previous_id);
    tbed_sync_closed_file(writer, sync_fd);
    if (next.is_named)
        tbed_series_keep_newest(writer, old_inode);
    return TBED_OK;
}

enum tbed_status tbed_rotate(struct tbed_writer *writer, struct tbed_error *error_ret)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_error ignored, *error = error_ret != NULL ? error_ret : &ignored;
    if (!tbed_is_usable(file) || !file->is_in_series)
        return tbed_fail(error, TBED_ERR_ARGUMENT, 0);
    if (tbed_is_lost(file) || tbed_is_sandboxed())
        return tbed_fail(error, TBED_ERR_WRITE, tbed_is_lost(file) ? EIO : EPERM);
    if (!tbed_lock_take(&file->live->rotate_lock))
        return tbed_fail(error, TBED_ERR_BUSY, 0);
    int kept_errno = errno, cancel_state = tbed_cancel_disable();
    writer->rotation.by_helper = false;
    /* The writer may have been closed while we waited for the lock. */
    bool is_closed = __atomic_load_n(&file->is_closing, __ATOMIC_ACQUIRE);
    enum tbed_status status = is_closed ? tbed_fail(error, TBED_ERR_ARGUMENT, 0) : rotate(writer, error);
    if (!is_closed)
        tbed_helper_start(&writer->helper); /* the rotation stopped it */
    tbed_lock_give(&file->live->rotate_lock);
    tbed_cancel_restore(cancel_state);
    errno = kept_errno;
    return status;
}

/* ---- By itself ---- */

/* Not in a signal handler that interrupted its thread at one of these locks. */
static bool may_rotate(struct tbed_live *live)
{
    return !tbed_lock_is_mine(&live->state_lock) && !tbed_lock_is_mine(&live->grow_lock) &&
           tbed_lock_try(&live->rotate_lock);
}

/* The recorder that rotates marks that it stays off the pages, or it would wait for itself. */
void tbed_rotate_if_due(struct tbed_writer *writer, struct tbed_recorder *recorder)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_error error;
    if (!file->is_in_series || tbed_is_lost(file) || tbed_is_sandboxed())
        return;
    bool is_others = recorder != NULL && tbed_helper_is_busy(file);
    if (is_others || !tbed_series_is_due(writer) || !may_rotate(file->live))
        return;
    int cancel_state = tbed_cancel_disable();
    writer->rotation.by_helper = recorder == NULL;
    if (recorder != NULL)
        __atomic_store_n(&recorder->saw_close, 1, __ATOMIC_SEQ_CST);
    if (tbed_series_is_due(writer)) /* still due: another thread may just have rotated */
        rotate(writer, &error);
    if (recorder != NULL)
        __atomic_store_n(&recorder->saw_close, 0, __ATOMIC_SEQ_CST);
    tbed_lock_give(&file->live->rotate_lock);
    tbed_cancel_restore(cancel_state);
}

/* ---- A forked child ---- */

static bool child_file_make(struct tbed_writer *writer, struct next *next)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_store *store = tbed_store_of(writer);
    struct tbed_disk_series series = tbed_series_make(next->file_id, 0, 1);
    next->fd = -1;
    if (!tbed_path_can_grow(file))
        return false;
    next->fd = tbed_file_create_unnamed(file->path, writer->rotation.name);
    if (next->fd < 0)
        next->name_number = tbed_series_name_next(writer, tbed_series_child_name, 1, &next->fd);
    if (!next_remember(next) ||
        tbed_carry(store, next->fd, next->file_id, &series, false, &next->carried, next->error) != TBED_OK)
        return false;
    tbed_pages_free(next->carried.moved, next->carried.moved_nbytes);
    if (next->name_number == 0)
        next->name_number = tbed_series_name_next(writer, tbed_series_child_name, 1, &next->fd);
    return next->name_number != 0;
}

static void series_begin(struct tbed_writer *writer, const struct next *next)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_rotation *rotation = &writer->rotation;
    memcpy(file->path, rotation->name, sizeof file->path);
    file->fields.file_id = rotation->series_id = next->file_id;
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
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_error error;
    struct next next = {.file_id = tbed_file_id_make(), .error = &error};
    int old_fd = tbed_descriptor_is_ours(file) ? file->fd : -1;
    bool is_made = child_file_make(writer, &next) && tbed_descriptor_has(next.fd, next.file_id) &&
                   tbed_file_switch(file, next.fd, next.carried.backed_pages);
    if (is_made) {
        series_begin(writer, &next);
        if (old_fd >= 0)
            close(old_fd);
        return true;
    }
    next_undo(writer, &next);
    return false;
}
