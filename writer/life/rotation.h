/*
 * Series of files: the state of a rotation, and its functions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_ROTATION_H
#define TRACEBED_WRITER_ROTATION_H

#include <sys/types.h>

#include "format/layout.h"
#include "writer/file/state.h"

struct tbed_closed_file {
    uint32_t name_number;
    ino_t inode;
    uint64_t file_id; /* because the inode number of a removed file is used again */
};

struct tbed_rotation {       /* all but 'next_ns' and 'retry_ns': changed under rotate_lock */
    tbed_word carried_pages; /* pages that the file began with; atomic */
    uint64_t interval_ns;    /* 0: none */
    tbed_word next_ns;       /* atomic: CLOCK_MONOTONIC */
    tbed_word retry_ns;      /* atomic: a rotation failed; not before this */
    uint64_t series_id;      /* the id of its first file */
    uint64_t previous_id;    /* of the file before; 0: none */
    uint32_t failed_count;   /* failed rotations since the file was begun */
    uint32_t number;         /* of the file in the series, from 1 */
    uint32_t name_number;    /* of the newest closed file's name */
    uint32_t keep;           /* 0: all */
    uint64_t closed_count;
    struct tbed_closed_file *closed; /* the newest 'keep' of them */
    bool by_helper;                  /* the rotation that is under way */
    char name[4096]; /* the name of the file that is being made; later, of one that is removed */
};

/* ---- series.c ---- */
/* False: no memory. */
bool tbed_rotation_init(struct tbed_writer *writer, const struct tbed_writer_options *options);
void tbed_rotation_free(struct tbed_writer *writer);
struct tbed_disk_series tbed_series_make(uint64_t series_id, uint64_t previous_file_id, uint32_t number);
/* The first file of a series says so. The caller holds 'state_lock'. */
void tbed_series_record(struct tbed_writer *writer);
void tbed_series_note_failure(struct tbed_writer *writer);
bool tbed_series_is_due(const struct tbed_writer *writer);
/* How long until the file is too old; UINT64_MAX: it never is. */
uint64_t tbed_rotation_left_ns(const struct tbed_writer *writer);

typedef void tbed_series_name(const struct tbed_file *file, uint32_t number, char *name);
tbed_series_name tbed_series_closed_name, tbed_series_child_name;
/*
 * The first number from 'number' on whose name is free; 0: none, with errno. Makes the file under that name if '*fd'
 * is -1, else gives the name to '*fd'.
 */
uint32_t tbed_series_name_next(struct tbed_writer *writer, tbed_series_name *make, uint32_t number, int *fd);
enum tbed_status tbed_series_exchange(struct tbed_writer *writer, bool *is_named_ret,
                                      struct tbed_error *error);
void tbed_series_exchange_back(const struct tbed_writer *writer, bool is_named);
/* Remembers the file that was just closed, and removes the oldest one if there are enough. */
void tbed_series_keep_newest(struct tbed_writer *writer, ino_t inode);

/* ---- rotate.c ---- */
/* As struct tbed_hooks has it. */
void tbed_rotate_if_due(struct tbed_writer *writer, struct tbed_recorder *recorder);
/* A forked child of a writer that rotates gets a file of its own. */
bool tbed_rotation_fork(struct tbed_writer *writer);

#endif
