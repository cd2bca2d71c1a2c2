/*
 * A writer: opened and closed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sched.h>
#include <sys/mman.h>

#include "format/sized.h"
#include "writer/file/private.h"

/* ---- Opening ---- */

static struct tbed_writer *writer_alloc(void)
{
    struct tbed_writer *writer = tbed_pages_alloc(sizeof *writer);
    if (writer == NULL)
        return NULL;
    writer->live = tbed_pages_alloc(sizeof *writer->live);
    if (writer->live == NULL || madvise(writer->live, sizeof *writer->live, MADV_WIPEONFORK) != 0) {
        tbed_pages_free(writer->live, sizeof *writer->live);
        tbed_pages_free(writer, sizeof *writer);
        return NULL;
    }
    return writer;
}

static void writer_free(struct tbed_writer *writer)
{
    tbed_ring_free(writer);
    tbed_pages_free(writer->live, sizeof *writer->live);
    tbed_pages_free(writer, sizeof *writer);
}

static const struct tbed_hooks hooks = {
    .begin_child = tbed_process_begin_child,
    .start_helper = tbed_helper_start,
    .rotate_if_due = tbed_rotate_if_due,
};

/* Where there is no path the file is 'fd'. */
static struct tbed_writer *writer_make(const char *path, int fd, const struct tbed_writer_options *options,
                                       struct tbed_error *error)
{
    struct tbed_writer *writer = writer_alloc();
    error->status = TBED_ERR_MEMORY;
    if (writer == NULL)
        return NULL;
    writer->hooks = &hooks;
    writer->user_clock = options->user_clock;
    writer->annotates = options->annotate;
    writer->has_given_ticks = options->given_ticks || options->annotate;
    writer->releases_pages = options->given_ticks || options->release_pages;
    writer->process_pid = options->process_pid;
    writer->wants_helper = !options->no_helper && !options->annotate;
    tbed_clock_start(writer, options); /* first of all: the rate wants some time in between */
    int cancel_state = tbed_cancel_disable();
    if (tbed_options_want_rotation(options) && !tbed_rotation_init(writer, options)) {
        writer_free(writer);
        return NULL;
    }
    error->status = path != NULL ? tbed_file_open(writer, path, options, error)
                                 : tbed_file_open_fd(writer, fd, options, error);
    tbed_cancel_restore(cancel_state);
    if (error->status != TBED_OK) {
        tbed_rotation_free(writer);
        writer_free(writer);
        return NULL;
    }
    tbed_ring_open(writer);
    writer->live->alive = 1;
    tbed_lock_take(&writer->live->lock);
    tbed_process_begin(writer, options->process_name, 0);
    tbed_lock_give(&writer->live->lock);
    tbed_helper_start(writer);
    return writer;
}

static enum tbed_status open_checked(const char *path, int fd, const struct tbed_writer_options *given,
                                     struct tbed_writer **writer_ret, struct tbed_error *error_ret)
{
    struct tbed_error error = {.status = TBED_ERR_ARGUMENT, .offset = UINT64_MAX};
    struct tbed_writer_options options;
    *writer_ret = NULL;
    if (tbed_options_take(&options, sizeof options, given) && (path != NULL || (fd >= 0 && !options.join)) &&
        tbed_options_are_allowed(&options, path))
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
    if (!tbed_writer_lock(writer))
        return false;
    __atomic_store_n(&writer->is_closing, true, __ATOMIC_SEQ_CST);
    tbed_writer_unlock(writer);
    return true;
}

static void finish_blocks(struct tbed_writer *writer)
{
    struct tbed_disk_end record = {
        .stream = tbed_le32_make(writer->process_stream),
        .tick = tbed_le64_make(tbed_clock_now(writer)),
    };
    tbed_lock_take(&writer->live->lock);
    tbed_anchor_append(writer);
    if (!writer->annotates)
        tbed_record_append(writer, &record, TBED_RECORD_END, sizeof record);
    tbed_block_writer_finish(writer, &writer->strings);
    tbed_block_writer_finish(writer, &writer->records);
    tbed_lock_give(&writer->live->lock);
}

/* From here on drops are counted in memory: the header's counters are under the closing checksum. */
static void stop_drops(struct tbed_writer *writer)
{
    __atomic_store_n(&writer->is_closed, true, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&writer->drop_users, __ATOMIC_SEQ_CST) != 0)
        sched_yield();
}

/* Recorders and the writer itself stay, small, for whoever still calls them. */
void tbed_writer_close(struct tbed_writer *writer)
{
    if (writer == NULL || !begin_closing(writer))
        return;
    if (!tbed_lock_take(&writer->live->rotate_lock)) /* waits for the end of one that is under way */
        return;
    int cancel_state = tbed_cancel_disable();
    tbed_recorders_stop(writer);
    tbed_helper_stop(writer); /* after the last recorder has handed it a page */
    tbed_ring_give_back(writer);
    finish_blocks(writer);
    stop_drops(writer);
    tbed_file_detach(writer);
    tbed_rotation_free(writer);
    tbed_lock_give(&writer->live->rotate_lock);
    tbed_intern_close(writer);
    tbed_stacks_forget(writer);
    tbed_cancel_restore(cancel_state);
}

void tbed_writer_free(struct tbed_writer *writer)
{
    tbed_writer_close(writer);
    if (writer == NULL)
        return;
    tbed_recorders_free(writer);
    tbed_intern_free(writer);
    tbed_stacks_free(writer);
    writer_free(writer);
}
