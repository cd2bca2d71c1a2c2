/*
 * Opening and closing a writer.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/sized.h"
#include "writer/base/fail.h"
#include "writer/base/kernel.h"
#include "writer/base/memory.h"
#include "writer/base/sandbox_state.h"
#include "writer/file/file.h"
#include "writer/file/file_guard.h"
#include "writer/file/usable.h"
#include "writer/life/writer.h"
#include "writer/life/writer_options.h"
#include "writer/pages/census.h"
#include "writer/pages/ring.h"
#include "writer/store/entries.h"
#include "writer/store/records.h"
#include "writer/store/texts.h"

/* ---- Opening ---- */

#define LIVE_NBYTES 4096

/*
 * In one map, and beside each other what a forked child finds zeroed: first the page of locks, then the first recorders,
 * then the writer. Each map more is one more for a fork to copy.
 */
static struct tbed_writer *writer_alloc(void)
{
    uint8_t *pages = tbed_pages_alloc(LIVE_NBYTES + TBED_SLAB_NBYTES + sizeof(struct tbed_writer));
    if (pages == NULL)
        return NULL;
    if (madvise(pages, LIVE_NBYTES + TBED_RECORDER_KEPT_OFFSET, MADV_WIPEONFORK) != 0) {
        tbed_pages_free(pages, LIVE_NBYTES + TBED_SLAB_NBYTES + sizeof(struct tbed_writer));
        return NULL;
    }
    struct tbed_writer *writer = (struct tbed_writer *)(void *)(pages + LIVE_NBYTES + TBED_SLAB_NBYTES);
    tbed_file_of(writer)->live = (struct tbed_live *)(void *)pages;
    tbed_recorders_begin(&writer->recorders, pages + LIVE_NBYTES);
    return writer;
}

static void writer_free(struct tbed_writer *writer)
{
    struct tbed_file *file = tbed_file_of(writer);
    tbed_census_free(file);
    tbed_recorders_free(&writer->recorders);
    tbed_pages_free(file->live, LIVE_NBYTES);
    tbed_pages_free(writer, sizeof *writer);
}

static void begin_child(struct tbed_file *file)
{
    tbed_process_begin_child(tbed_writer_of(file));
}

static void start_helper(struct tbed_file *file)
{
    tbed_helper_start(&tbed_writer_of(file)->helper);
}

static uint64_t rotate_if_due(struct tbed_file *file, struct tbed_recorder *recorder)
{
    tbed_rotate_if_due(tbed_writer_of(file), recorder);
    return tbed_is_lost(file) ? UINT64_MAX : tbed_rotation_left_ns(tbed_writer_of(file));
}

static uint64_t sync_if_due(struct tbed_file *file)
{
    return tbed_sync_if_due(tbed_writer_of(file));
}

static void stop_recorders(struct tbed_file *file)
{
    tbed_recorders_interrupt(&tbed_writer_of(file)->recorders);
}

static const struct tbed_hooks hooks = {
    .begin_child = begin_child,
    .start_helper = start_helper,
    .rotate_if_due = rotate_if_due,
    .sync_if_due = sync_if_due,
    .stop_recorders = stop_recorders,
};

/* Without a path the file is 'fd'. */
static struct tbed_writer *writer_make(const char *path, int fd, const struct tbed_writer_options *options,
                                       struct tbed_error *error)
{
    struct tbed_writer *writer = writer_alloc();
    error->status = TBED_ERR_MEMORY;
    if (writer == NULL)
        return NULL;
    struct tbed_file *file = tbed_file_of(writer);
    file->hooks = &hooks;
    file->is_guarded = options->guard;
    file->process.annotates = options->annotate;
    file->releases_pages = options->given_ticks || options->release_pages;
    file->process.given_pid = options->process_pid;
    file->process.instants_are_allocations = options->instants_are_allocations;
    writer->helper.store = tbed_store_of(writer);
    writer->helper.is_wanted = !options->no_helper && !options->annotate;
    writer->syncing.interval_ns = options->sync_interval_ns;
    file->is_synced_often = options->sync_interval_ns != 0;
    tbed_clock_start(&file->clock, options, &file->fields); /* first: the rate needs some time in between */
    int cancel_state = tbed_cancel_disable();
    if (tbed_options_want_rotation(options) && !tbed_rotation_init(writer, options)) {
        writer_free(writer);
        return NULL;
    }
    error->status = path != NULL ? tbed_file_open(file, path, options, error)
                                 : tbed_file_open_fd(file, fd, options, error);
    tbed_cancel_restore(cancel_state);
    if (error->status != TBED_OK) {
        tbed_rotation_free(writer);
        writer_free(writer);
        return NULL;
    }
    tbed_census_open(file);
    file->live->pid = (uint32_t)getpid();
    file->live->alive = 1;
    tbed_lock_take(&file->live->state_lock);
    tbed_process_begin(writer, options->process_name, 0);
    tbed_lock_give(&file->live->state_lock);
    tbed_helper_start(&writer->helper);
    return writer;
}

static enum tbed_status open_checked(const char *path, int fd, const struct tbed_writer_options *given,
                                     struct tbed_writer **writer_ret, struct tbed_error *error_ret)
{
    struct tbed_error error = {.status = TBED_ERR_ARGUMENT, .offset = UINT64_MAX};
    struct tbed_writer_options options;
    *writer_ret = NULL;
    if (tbed_is_sandboxed())
        tbed_fail(&error, TBED_ERR_OPEN, EPERM);
    else if (tbed_options_take(&options, sizeof options, given) &&
             (path != NULL || (fd >= 0 && !options.join)) && tbed_options_are_allowed(&options, path))
        *writer_ret = writer_make(path, fd, &options, &error);
    if (*writer_ret == NULL && error_ret != NULL)
        *error_ret = error;
    return *writer_ret == NULL ? error.status : TBED_OK;
}

enum tbed_status tbed_writer_open(const char *path, const struct tbed_writer_options *options,
                                  struct tbed_writer **writer_ret, struct tbed_error *error_ret)
{
    return open_checked(path, -1, options, writer_ret, error_ret);
}

enum tbed_status tbed_writer_open_fd(int fd, const struct tbed_writer_options *options,
                                     struct tbed_writer **writer_ret, struct tbed_error *error_ret)
{
    return open_checked(NULL, fd, options, writer_ret, error_ret);
}

/* ---- Closing ---- */

static bool begin_closing(struct tbed_writer *writer)
{
    struct tbed_file *file = tbed_file_of(writer);
    if (!tbed_state_lock(file))
        return false;
    __atomic_store_n(&file->is_closing, true, __ATOMIC_SEQ_CST);
    tbed_state_unlock(file);
    return true;
}

static void finish_blocks(struct tbed_writer *writer)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_store *store = tbed_store_of(writer);
    struct tbed_disk_end record = {
        .stream = tbed_le32_make(file->process.stream),
        .tick = tbed_le64_make(tbed_clock_now(&file->clock)),
    };
    if (tbed_is_lost(file))
        return;
    tbed_lock_take(&file->live->state_lock);
    tbed_anchor_append(store);
    if (!file->process.annotates)
        tbed_record_append(store, &record, TBED_RECORD_END, sizeof record);
    tbed_block_writer_finish(store, &store->strings);
    tbed_block_writer_finish(store, &store->records);
    tbed_lock_give(&file->live->state_lock);
}

/* From here on drops are counted in memory, because the header's counters are covered by the closing checksum. */
static void stop_drops(struct tbed_writer *writer)
{
    struct tbed_file *file = tbed_file_of(writer);
    __atomic_store_n(&file->is_closed, true, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&file->live->map_users, __ATOMIC_SEQ_CST) != 0)
        sched_yield();
}

/*
 * Recorders and the writer itself stay, being small, for threads that still call them. In a sandbox the file
 * is left open and mapped: everything stored is in it.
 */
void tbed_writer_close(struct tbed_writer *writer)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_store *store = tbed_store_of(writer);
    if (writer == NULL || !begin_closing(writer) || tbed_is_sandboxed())
        return;
    if (!tbed_lock_take(&file->live->rotate_lock)) /* waits for a rotation that is under way */
        return;
    int cancel_state = tbed_cancel_disable();
    tbed_recorders_stop(&writer->recorders);
    tbed_helper_stop(&writer->helper); /* after the last recorder has handed over its page */
    tbed_ring_give_back(file);
    finish_blocks(writer);
    stop_drops(writer);
    tbed_file_detach(file, writer->recorders.has_lost);
    tbed_rotation_free(writer);
    tbed_lock_give(&file->live->rotate_lock);
    tbed_intern_close(store);
    tbed_stacks_forget(store);
    tbed_types_forget(store);
    tbed_cancel_restore(cancel_state);
}

void tbed_writer_free(struct tbed_writer *writer)
{
    struct tbed_store *store = tbed_store_of(writer);
    tbed_writer_close(writer);
    if (writer == NULL || tbed_is_sandboxed())
        return;
    tbed_intern_free(store);
    tbed_stacks_free(store);
    tbed_types_free(store);
    writer_free(writer);
}
