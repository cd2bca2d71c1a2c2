/*
 * A writer: opened, forked, closed; its drops.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "format/header.h"
#include "writer/file/private.h"

/* ---- Drops ---- */

void tbed_drop(struct tbed_writer *writer, enum tbed_drop_cause cause, uint64_t count)
{
    if (writer == NULL)
        return;
    tbed_writer_is_usable(writer); /* a forked child joins before it counts: the file may be shut */
    __atomic_fetch_add(&writer->drop_users, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&writer->is_closed, __ATOMIC_SEQ_CST))
        __atomic_fetch_add(&writer->drops_after_close, count, __ATOMIC_RELAXED);
    else
        tbed_shared_add(&tbed_shared(writer)->drops[cause], count);
    __atomic_fetch_sub(&writer->drop_users, 1, __ATOMIC_SEQ_CST);
}

uint64_t tbed_writer_drop_count(const struct tbed_writer *writer, enum tbed_drop_cause cause)
{
    if (writer == NULL || (unsigned)cause >= TBED_DROP_CAUSE_COUNT)
        return 0;
    uint32_t *users =
        &((struct tbed_writer *)(uintptr_t)writer)->drop_users; /* keeps the map while it is read */
    uint64_t count = 0;
    __atomic_fetch_add(users, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&writer->is_closed, __ATOMIC_SEQ_CST))
        count = tbed_shared_load(&tbed_shared(writer)->drops[cause]);
    else if (cause == TBED_DROP_CLOSED)
        count = __atomic_load_n(&writer->drops_after_close, __ATOMIC_RELAXED);
    __atomic_fetch_sub(users, 1, __ATOMIC_SEQ_CST);
    return count;
}

/* ---- Processes ---- */

static const char *kernel_name(char buffer[17])
{
    buffer[16] = 0;
    return prctl(PR_GET_NAME, buffer) == 0 ? buffer : "";
}

/* The process gets a number and a record of itself. The caller holds 'lock'. */
static void process_begin(struct tbed_writer *writer, const char *name, uint32_t forked_from)
{
    char comm[17] = "";
    if (name == NULL)
        name = kernel_name(comm);
    writer->process_stream = (uint32_t)tbed_shared_add(&tbed_shared(writer)->next_stream, 1);
    writer->strings = (struct tbed_block_writer){.kind = TBED_BLOCK_STRINGS};
    writer->records = (struct tbed_block_writer){.kind = TBED_BLOCK_RECORDS};
    writer->cells = NULL;
    writer->cells_sequence = 0;
    if (writer->fields.ring_page_count != 0)
        tbed_file_announce(writer);
    if (writer->rotation.is_wanted && forked_from == 0)
        tbed_series_record(writer);
    if (writer->annotates)
        return;
    tbed_process_record(writer, tbed_intern_locked(writer, name, strlen(name)), forked_from);
    tbed_anchor_append(writer);
}

static bool child_file(struct tbed_writer *writer)
{
    if (writer->rotation.is_wanted)
        return tbed_rotation_fork(writer);
    if (!tbed_file_reopen(writer) || !tbed_file_remap(writer))
        return false;
    tbed_file_attach(writer);
    return true;
}

/*
 * In a forked child. Its memory is the parent's as it stood, perhaps in the middle of a change by a thread
 * that the child does not have: what such a thread can have been changing is not used again.
 */
static void child_begin(struct tbed_writer *writer)
{
    uint32_t parent = writer->process_stream;
    memset(&writer->intern, 0,
           sizeof writer->intern); /* the tables stay: this thread may be reading in one */
    memset(&writer->helper, 0, sizeof writer->helper);
    memset(&writer->ring, 0, sizeof writer->ring); /* the pages are the parent's */
    writer->claimed_pages = 0;
    writer->spare_stream = 0;
    writer->drop_users = 0;
    writer->retry_ns = 0;
    writer->process_pid = 0;
    writer->epoch++;
    if (writer->is_closing) { /* the parent was leaving: here nobody will */
        writer->is_closed = true;
        return;
    }
    if (!child_file(writer)) {
        writer->is_closed = true;
        return;
    }
    tbed_lock_take(&writer->live->lock);
    process_begin(writer, NULL, parent);
    tbed_lock_give(&writer->live->lock);
}

bool tbed_writer_is_usable(struct tbed_writer *writer)
{
    if (writer == NULL || __atomic_load_n(&writer->is_closed, __ATOMIC_ACQUIRE))
        return false;
    if (__atomic_load_n(&writer->live->alive, __ATOMIC_ACQUIRE))
        return true;
    if (!tbed_lock_take(&writer->live->fork_lock))
        return false;
    if (!writer->live->alive) {
        int kept_errno = errno, cancel_state = tbed_cancel_disable();
        child_begin(writer);
        tbed_cancel_restore(cancel_state);
        errno = kept_errno;
        __atomic_store_n(&writer->live->alive, 1, __ATOMIC_RELEASE);
    }
    tbed_lock_give(&writer->live->fork_lock);
    return !writer->is_closed;
}

bool tbed_writer_lock(struct tbed_writer *writer)
{
    if (!tbed_writer_is_usable(writer) || !tbed_lock_take(&writer->live->lock))
        return false;
    if (!__atomic_load_n(&writer->is_closing, __ATOMIC_ACQUIRE))
        return true;
    tbed_lock_give(&writer->live->lock);
    return false;
}

bool tbed_writer_lock_or_drop(struct tbed_writer *writer)
{
    if (tbed_writer_lock(writer))
        return true;
    bool is_mine = writer != NULL && tbed_lock_is_mine(&writer->live->lock);
    tbed_drop(writer, is_mine ? TBED_DROP_INTERRUPTED : TBED_DROP_CLOSED, 1);
    return false;
}

void tbed_writer_unlock(struct tbed_writer *writer)
{
    tbed_lock_give(&writer->live->lock);
}

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

/* A reader refuses the file over any other unit. */
static bool unit_is_allowed(const char *unit)
{
    size_t nbytes = 0;
    for (; unit != NULL && unit[nbytes] != 0; nbytes++)
        if (nbytes == 16 || unit[nbytes] < 0x20 || unit[nbytes] > 0x7E)
            return false;
    return true;
}

/* 0, or what a reader takes. */
static bool rate_is_allowed(uint64_t ticks_per_second)
{
    return ticks_per_second == 0 || (ticks_per_second >= 1000 && ticks_per_second <= 1000000000000);
}

static bool given_is_allowed(const struct tbed_writer_options *options)
{
    return !options->given_ticks ||
           (!options->join && options->clock == TBED_CLOCK_AUTO && options->user_clock == NULL &&
            rate_is_allowed(options->given_ticks_per_second));
}

static bool wants_rotation(const struct tbed_writer_options *options)
{
    return options->rotate || options->rotate_nbytes != 0 || options->rotate_interval_ns != 0;
}

/* Who rotates is alone in its file, and has a clock and a name for it. */
static bool rotation_is_allowed(const struct tbed_writer_options *options, const char *path)
{
    if (!wants_rotation(options))
        return options->rotate_keep == 0;
    return path != NULL && !options->join && !options->given_ticks && options->ring_nbytes == 0 &&
           options->rotate_keep <= 1000000;
}

static bool options_are_allowed(const struct tbed_writer_options *options)
{
    uint32_t page_nbytes = options->page_nbytes;
    bool has_page_size =
        page_nbytes == 0 || ((page_nbytes & (page_nbytes - 1)) == 0 && page_nbytes >= TBED_PAGE_NBYTES_MIN &&
                             page_nbytes <= TBED_PAGE_NBYTES_MAX);
    bool has_clock = (options->clock == TBED_CLOCK_USER) == (options->user_clock != NULL);
    bool has_known_clock = options->clock == TBED_CLOCK_AUTO || options->clock == TBED_CLOCK_MONOTONIC ||
                           options->clock == TBED_CLOCK_USER ||
                           options->clock == tbed_clock_pick(TBED_CLOCK_AUTO);
    return has_page_size && has_clock && has_known_clock &&
           options->first_reserved_id <= TBED_ID_MAX_RESERVED && !(options->overwrite && options->join) &&
           (options->join || !options->annotate) && unit_is_allowed(options->user_clock_unit) &&
           given_is_allowed(options);
}

/* A caller built against an older, shorter struct has zeros for what it does not know. */
static struct tbed_writer_options options_copy(const struct tbed_writer_options *given)
{
    struct tbed_writer_options options = {.size = sizeof options};
    if (given != NULL)
        memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    return options;
}

/* Where there is no path the file is 'fd'. */
static struct tbed_writer *writer_make(const char *path, int fd, const struct tbed_writer_options *options,
                                       struct tbed_error *error)
{
    struct tbed_writer *writer = writer_alloc();
    error->status = TBED_ERR_MEMORY;
    if (writer == NULL)
        return NULL;
    writer->user_clock = options->user_clock;
    writer->annotates = options->annotate;
    writer->has_given_ticks = options->given_ticks || options->annotate;
    writer->releases_pages = options->given_ticks || options->release_pages;
    writer->process_pid = options->process_pid;
    writer->wants_helper = !options->no_helper && !options->annotate;
    tbed_clock_start(writer, options); /* first of all: the rate wants some time in between */
    int cancel_state = tbed_cancel_disable();
    if (wants_rotation(options) && !tbed_rotation_init(writer, options)) {
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
    process_begin(writer, options->process_name, 0);
    tbed_lock_give(&writer->live->lock);
    tbed_helper_start(writer);
    return writer;
}

static enum tbed_status open_checked(const char *path, int fd, const struct tbed_writer_options *given,
                                     struct tbed_writer **writer_ret, struct tbed_error *error_ret)
{
    struct tbed_error error = {.status = TBED_ERR_ARGUMENT, .offset = UINT64_MAX};
    struct tbed_writer_options options = options_copy(given);
    *writer_ret = NULL;
    if ((path != NULL || (fd >= 0 && !options.join)) && options_are_allowed(&options) &&
        rotation_is_allowed(&options, path))
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
