/*
 * A process in its trace: the records with which it begins, and how a forked child joins.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <sys/prctl.h>

#include "writer/base/shared_words.h"
#include "writer/file/file.h"
#include "writer/file/file_guard.h"
#include "writer/life/writer.h"
#include "writer/store/entries.h"
#include "writer/store/records.h"
#include "writer/store/texts.h"

/* The kernel's name. A forked child has its parent's, which is in the file already. */
static uint32_t kernel_name_id(struct tbed_store *store)
{
    struct tbed_process *process = &store->file.process;
    char name[sizeof process->name] = "";
    prctl(PR_GET_NAME, name);
    if (process->name_id == 0 || memcmp(process->name, name, sizeof name) != 0) {
        uint32_t id = tbed_intern_locked(store, name, strnlen(name, sizeof name));
        if (id == TBED_ID_INVALID)
            return id;
        process->name_id = id;
        memcpy(process->name, name, sizeof name);
    }
    return process->name_id;
}

/* The process's number, among those of streams; 0: they are used up, and nothing can be recorded. */
static uint32_t take_number(struct tbed_file *file)
{
    uint64_t number = tbed_shared_add(&tbed_shared(file)->next_stream, 1);
    return number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* Gives the process a number and a record of itself. The caller holds 'state_lock'. */
void tbed_process_begin(struct tbed_writer *writer, const char *name, uint32_t forked_from)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_store *store = tbed_store_of(writer);
    file->process.stream = take_number(file);
    store->strings = (struct tbed_block_writer){.kind = TBED_BLOCK_STRINGS};
    store->records = (struct tbed_block_writer){.kind = TBED_BLOCK_RECORDS};
    tbed_cells_set(store, 0, 0, 0);
    if (file->fields.ring_page_count != 0)
        tbed_process_announce(file);
    if (file->is_in_series && forked_from == 0)
        tbed_series_record(writer);
    if (file->process.annotates)
        return;
    uint32_t name_id = name != NULL ? tbed_intern_locked(store, name, strlen(name)) : kernel_name_id(store);
    tbed_process_record(store, name_id, forked_from);
    if (tbed_hold_takes_anchor(file))
        tbed_anchor_append(store);
}

static bool child_file(struct tbed_writer *writer)
{
    struct tbed_file *file = tbed_file_of(writer);
    if (file->is_in_series)
        return tbed_rotation_fork(writer);
    if (!tbed_hold_join(file)) {
        tbed_hold_forget(file);
        if (!tbed_descriptor_reopen(file) || !tbed_file_remap(file))
            return false;
        tbed_hold_begin(file);
    }
    tbed_file_attach(file);
    return true;
}

/*
 * Runs in a forked child. Its memory is a copy of the parent's, perhaps in the middle of a change by a thread that the
 * child does not have. So whatever such a thread may have been changing is not used again. Meanwhile, other threads of
 * the child may wait for 'fork_lock' or ask for drops; writer/tests/models/fork_model_test.c has a model of this.
 */
void tbed_process_begin_child(struct tbed_writer *writer)
{
    struct tbed_file *file = tbed_file_of(writer);
    struct tbed_store *store = tbed_store_of(writer);
    uint32_t parent = file->process.stream;
    memset(&store->intern, 0,
           sizeof store->intern); /* the tables stay mapped: this thread may be reading one */
    memset(&writer->helper.thread, 0, sizeof writer->helper.thread);
    memset(&file->helper_link, 0, sizeof file->helper_link);
    file->seal_queue.is_inherited = true;
    memset(&file->ring, 0, sizeof file->ring); /* its pages belong to the parent */
    file->process.claimed_pages = 0;
    store->spare_stream = 0;
    file->growth.retry_ns = 0;
    file->process.given_pid = 0;
    file->process.epoch++;
    /* A parent that was closing has no thread here that would finish that. */
    if (file->is_closing || tbed_is_lost(file)) {
        file->is_closed = true;
        return;
    }
    if (!child_file(writer)) {
        file->is_closed = true;
        return;
    }
    tbed_lock_take(&file->live->state_lock);
    tbed_process_begin(writer, NULL, parent);
    tbed_lock_give(&file->live->state_lock);
}
