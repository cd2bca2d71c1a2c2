/*
 * Making what was recorded survive a power cut.
 *
 * The system writes the pages of a map in any order, so of a block that changes after a sync the disk may get the seal and
 * not what it covers; a reader would then refuse all of the block. Therefore nothing is stored in a synced block any more,
 * except its seal: before the file is written, all recorders are sent to new blocks. Nobody waits for that: a recorder
 * finds out at its next event. See spec/format.md, section 11.1.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/base/fail.h"
#include "writer/base/sandbox_state.h"
#include "writer/base/shared_words.h"
#include "writer/file/file.h"
#include "writer/file/file_guard.h"
#include "writer/file/usable.h"
#include "writer/life/writer.h"
#include "writer/store/entries.h"

#define LEAVE_WAIT_NS 100000000u /* for a thread to finish its record */
#define TRIES_MAX     8          /* of a call that a signal interrupts */

/* ---- New blocks ---- */

/* False: a thread stays inside a record. */
static bool wait_for_records(struct tbed_writer *writer)
{
    struct tbed_file *file = tbed_file_of(writer);
    uint64_t deadline = tbed_monotonic_ns() + LEAVE_WAIT_NS;
    while (tbed_state_lock(file)) {
        bool is_waiting = tbed_recorders_are_in_old_blocks(&writer->recorders);
        tbed_state_unlock(file);
        if (!is_waiting)
            return true;
        if (tbed_monotonic_ns() > deadline)
            return false;
        sched_yield();
    }
    return false;
}

/* After this nothing changes any more in the blocks that have what was recorded before. '*is_new_ret': there is any. */
static bool leave_blocks(struct tbed_writer *writer, bool *is_new_ret)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_store *store = tbed_store_of(writer);
    if (!tbed_state_lock(file))
        return false;
    size_t count = tbed_recorders_leave_blocks(&writer->recorders);
    count += tbed_block_writer_cut(store, &store->strings);
    count += tbed_block_writer_cut(store, &store->records);
    tbed_state_unlock(file);
    *is_new_ret = count > 0;
    return tbed_recorders_notify() && wait_for_records(writer);
}

/* ---- The disk ---- */

static enum tbed_status fail_for_good(struct tbed_writer *writer, int system_errno, struct tbed_error *error)
{
    __atomic_store_n(&writer->syncing.failed_errno, system_errno, __ATOMIC_RELAXED);
    return tbed_fail(error, TBED_ERR_WRITE, system_errno);
}

/* Not what the helper has made ready beyond the claimed pages. The map needs no descriptor, which may be closed. */
static int write_pages(const struct tbed_file *file)
{
    uint64_t nbytes = tbed_shared_load(&tbed_shared(file)->page_count) << file->page_shift;
    int result = -1;
    errno = EINTR;
    for (int i = 0; i < TRIES_MAX && result != 0 && errno == EINTR; i++)
        result = msync(file->map, nbytes < file->map_nbytes ? (size_t)nbytes : file->map_nbytes, MS_SYNC);
    return result == 0 ? 0 : errno;
}

static bool is_folder(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

static int write_name(struct tbed_writer *writer)
{
    struct tbed_file *file = tbed_file_of(writer);
    char *folder = writer->rotation.name; /* free: we have the lock */
    const char *slash = strrchr(file->path, '/');
    if (slash == NULL || writer->syncing.named_id == file->fields.file_id)
        return 0;
    memcpy(folder, file->path, (size_t)(slash - file->path) + 1);
    folder[slash - file->path + 1] = '\0';
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    fd = tbed_descriptor_raise(fd);
    int result = fsync(fd) == 0 || errno == EINVAL ? 0 : errno; /* EINVAL: this file system cannot */
    if (is_folder(fd))                                          /* or the program has closed it */
        close(fd);
    if (result == 0)
        writer->syncing.named_id = file->fields.file_id;
    return result;
}

static enum tbed_status write_all(struct tbed_writer *writer, struct tbed_error *error)
{
    int failed = write_pages(tbed_file_of(writer));
    if (failed == EINTR)
        return tbed_fail(error, TBED_ERR_WRITE, EINTR);
    if (failed == 0 && tbed_is_lost(tbed_file_of(writer)))
        failed = EIO;
    if (failed != 0)
        return fail_for_good(writer, failed, error);
    failed = write_name(writer);
    return failed == 0 ? TBED_OK : tbed_fail(error, TBED_ERR_WRITE, failed);
}

/* The caller holds 'rotate_lock'. 'always': also if this process has recorded nothing. */
static enum tbed_status sync_locked(struct tbed_writer *writer, bool always, struct tbed_error *error)
{
    bool is_new = false;
    int failed = tbed_sync_failure(writer);
    if (failed != 0)
        return tbed_fail(error, TBED_ERR_WRITE, failed);
    writer->syncing.is_used = true;
    if (!leave_blocks(writer, &is_new))
        return tbed_fail(error, TBED_ERR_BUSY, 0);
    return is_new || always ? write_all(writer, error) : TBED_OK;
}

/* ---- On request, and by itself ---- */

enum tbed_status tbed_sync(struct tbed_writer *writer, struct tbed_error *error_ret)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_error ignored, *error = error_ret != NULL ? error_ret : &ignored;
    if (writer == NULL)
        return tbed_fail(error, TBED_ERR_ARGUMENT, 0);
    if (tbed_is_sandboxed())
        return tbed_fail(error, TBED_ERR_WRITE, EPERM);
    if (!tbed_is_usable(file))
        return tbed_fail(error, TBED_ERR_ARGUMENT, 0);
    if (tbed_is_lost(file))
        return tbed_fail(error, TBED_ERR_WRITE, EIO);
    if (!tbed_lock_take(&file->live->rotate_lock))
        return tbed_fail(error, TBED_ERR_BUSY, 0);
    int kept_errno = errno, cancel_state = tbed_cancel_disable();
    bool is_closed = __atomic_load_n(&file->is_closing, __ATOMIC_ACQUIRE);
    enum tbed_status status =
        is_closed ? tbed_fail(error, TBED_ERR_ARGUMENT, 0) : sync_locked(writer, true, error);
    tbed_lock_give(&file->live->rotate_lock);
    tbed_cancel_restore(cancel_state);
    errno = kept_errno;
    return status;
}

/* Whoever closes or rotates has the lock while waiting for the helper, so the helper must not wait for it. */
uint64_t tbed_sync_if_due(struct tbed_writer *writer)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_syncing *syncing = &writer->syncing;
    struct tbed_error error;
    uint64_t now_ns = tbed_monotonic_ns();
    if (syncing->interval_ns == 0 || tbed_is_lost(file) || tbed_sync_failure(writer) != 0)
        return UINT64_MAX;
    if (syncing->next_ns == 0)
        syncing->next_ns = now_ns + syncing->interval_ns;
    if (now_ns < syncing->next_ns)
        return syncing->next_ns - now_ns;
    if (tbed_lock_try(&file->live->rotate_lock)) {
        sync_locked(writer, false, &error);
        tbed_lock_give(&file->live->rotate_lock);
    }
    syncing->next_ns = tbed_monotonic_ns() + syncing->interval_ns;
    return syncing->interval_ns;
}

void tbed_sync_closed_file(struct tbed_writer *writer, int fd)
{
    struct tbed_error error;
    if (!tbed_descriptor_has(fd, writer->rotation.previous_id))
        return;
    if (fdatasync(fd) != 0)
        fail_for_good(writer, errno, &error);
    if (tbed_descriptor_has(fd, writer->rotation.previous_id))
        close(fd);
}

int tbed_sync_failure(const struct tbed_writer *writer)
{
    return __atomic_load_n(&writer->syncing.failed_errno, __ATOMIC_RELAXED);
}
