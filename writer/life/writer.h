/*
 * The whole state of a writer. Only the files that open, fork, rotate and close it see it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_WRITER_H
#define TRACEBED_WRITER_WRITER_H

#include "writer/life/helper.h"
#include "writer/life/rotation.h"
#include "writer/record/recorders.h"

/* sync.c; changed under rotate_lock. */
struct tbed_syncing {
    uint64_t interval_ns; /* 0: none */
    uint64_t next_ns;     /* CLOCK_MONOTONIC; used by the helper only */
    uint64_t named_id;    /* the file whose name is on the disk; 0: none */
    int failed_errno;     /* of the first failure; atomic; 0: none */
    bool is_used;
};

struct tbed_writer {
    struct tbed_recorders recorders; /* first: tbed_recorders_of() */
    struct tbed_helper helper;
    struct tbed_syncing syncing;
    struct tbed_rotation rotation;
};
_Static_assert(offsetof(struct tbed_writer, recorders.store.file) == 0, "tbed_file_of()");
_Static_assert(offsetof(struct tbed_writer, recorders.store.file.seal_queue.head) % 4096 == 0 &&
                   offsetof(struct tbed_writer, rotation) -
                           offsetof(struct tbed_writer, recorders.store.file.seal_queue.head) <=
                       4096,
               "a small process touches one page of it");

/* The hooks get the file at the beginning of a writer. */
static inline struct tbed_writer *tbed_writer_of(struct tbed_file *file)
{
    return (struct tbed_writer *)(void *)file;
}

/* ---- process.c ---- */
/* Gives the process a number and a record of itself. The caller holds 'state_lock'. */
void tbed_process_begin(struct tbed_writer *writer, const char *name, uint32_t forked_from);
/* As struct tbed_hooks has it. */
void tbed_process_begin_child(struct tbed_writer *writer);

/* ---- sync.c ---- */
/* As struct tbed_hooks has it. */
uint64_t tbed_sync_if_due(struct tbed_writer *writer);
/* A file of a series that is being closed; 'fd' is a descriptor of it, -1: none. */
void tbed_sync_closed_file(struct tbed_writer *writer, int fd);
/* The errno of a sync that failed; 0: none has. */
int tbed_sync_failure(const struct tbed_writer *writer);

#endif
