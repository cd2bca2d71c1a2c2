/*
 * A process in its trace: what it says of itself when it begins, and what a forked child does to go on by itself.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/prctl.h>

#include "writer/file/private.h"

static const char *kernel_name(char buffer[17])
{
    buffer[16] = 0;
    return prctl(PR_GET_NAME, buffer) == 0 ? buffer : "";
}

/* The process gets a number and a record of itself. The caller holds 'lock'. */
void tbed_process_begin(struct tbed_writer *writer, const char *name, uint32_t forked_from)
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
    if (!tbed_descriptor_reopen(writer) || !tbed_file_remap(writer))
        return false;
    tbed_file_attach(writer);
    return true;
}

/*
 * In a forked child. Its memory is the parent's as it stood, perhaps in the middle of a change by a thread
 * that the child does not have: what such a thread can have been changing is not used again.
 */
void tbed_process_begin_child(struct tbed_writer *writer)
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
    tbed_process_begin(writer, NULL, parent);
    tbed_lock_give(&writer->live->lock);
}
