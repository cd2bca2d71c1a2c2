/*
 * The file under a writer: its descriptor, its map, its size; how it is made, joined and left.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_FILE_H
#define TRACEBED_WRITER_FILE_H

#include "writer/file/state.h"

#define TBED_GROW_NBYTES_MIN    ((uint64_t)256 << 10) /* after the first time */
#define TBED_NAME_GROWTH_NBYTES 40                    /* ".4294967295-99.4294967295" */

/* ---- descriptor.c ---- */
/* flock(), also when signal handlers interrupt it. */
int tbed_descriptor_lock(int fd, int operation);
/* Takes the lock that writers share; waits a limited time for a process that creates or seals the file. -1 with errno. */
int tbed_descriptor_share(int fd);
/* Moves it out of the way of programs that count on small numbers. -1: the program has closed it. */
int tbed_descriptor_raise(int fd);
/* A duplicate out of the way; -1 with errno. */
int tbed_descriptor_copy(int fd);
/* Every use of the descriptor asks first whether it still is our file: a daemon may have closed them all. */
bool tbed_descriptor_is_ours(const struct tbed_file *file);
/*
 * For calls that change the file: a duplicate, checked to be our file, at a number that changes each time. Other threads of
 * the program may close our descriptor and open another file in its place, between a check and a call; they do not know
 * this one. -1: the descriptor is not ours. tbed_descriptor_return() gives it back.
 */
int tbed_descriptor_borrow(const struct tbed_file *file);
void tbed_descriptor_return(const struct tbed_file *file, int fd);
/* The same as tbed_descriptor_is_ours() for a descriptor of another file, by the file's id. */
bool tbed_descriptor_has(int fd, uint64_t file_id);
enum tbed_status tbed_descriptor_remember(struct tbed_file *file, struct tbed_error *error);
/* Gets a descriptor and a shared lock of this process's own. */
bool tbed_descriptor_reopen(struct tbed_file *file);
/* A descriptor of the file for the caller to close; -1 with errno. */
int tbed_descriptor_duplicate(struct tbed_file *file);
/* In a flight recorder: shows that this process is alive; asks whether another one is. */
void tbed_process_announce(struct tbed_file *file);
bool tbed_process_lives(const struct tbed_file *file, uint32_t process);

/* ---- file_map.c ---- */
enum tbed_status tbed_file_map(struct tbed_file *file, uint64_t max_nbytes, struct tbed_error *error);
void tbed_file_advise_many(const struct tbed_file *file);
bool tbed_file_remap(struct tbed_file *file);
void tbed_file_attach(struct tbed_file *file);
/* Goes on with 'fd', with nothing of the old file; the map keeps its address. False: the old map is still in place. */
bool tbed_file_switch(struct tbed_file *file, int fd, uint64_t backed_pages);

/* ---- file_new.c ---- */
uint64_t tbed_file_id_make(void);
/* A new file, mode 0600, with the lock that writers hold; -1 with errno. */
int tbed_file_create(const char *path);
/*
 * The same in the folder of 'path', without a name until it gets one; not all file systems can do that. 'folder' has room
 * for the path: on the stack it would be too much for a signal handler's.
 */
int tbed_file_create_unnamed(const char *path, char *folder);
bool tbed_file_name(int fd, const char *path);
/* There is room for the names of the other files of a series, which add numbers. */
bool tbed_path_can_grow(const struct tbed_file *file);

/* ---- growth.c ---- */
/* Allocates the disk of [start, end); an errno. */
int tbed_file_extend(int fd, uint64_t start, uint64_t end);
/* Makes sure that 'page' is backed by the disk. False, with the cause: it is not. */
bool tbed_file_back(struct tbed_file *file, uint64_t page, enum tbed_drop_cause *cause_ret);

/* ---- file_open.c ---- */
enum tbed_status tbed_file_open(struct tbed_file *file, const char *path,
                                const struct tbed_writer_options *options, struct tbed_error *error);
enum tbed_status tbed_file_open_fd(struct tbed_file *file, int fd, const struct tbed_writer_options *options,
                                   struct tbed_error *error);

/* ---- file_hold.c ---- */
/* This process has opened the file. */
void tbed_hold_begin(struct tbed_file *file);
/* A forked child uses its parent's open file, map and lock. False: it must open the file itself. */
bool tbed_hold_join(struct tbed_file *file);
/* A forked child that has not joined gets an open file of its own. */
void tbed_hold_forget(struct tbed_file *file);
/* This process does not use it any more. False: others do, so the lock must stay. */
bool tbed_hold_leave(struct tbed_file *file);
/* Whether a process that begins is to compare the clocks: not if another one that uses the open file has just done so. */
bool tbed_hold_takes_anchor(struct tbed_file *file);

/* ---- file_leave.c ---- */
/* Leaves; shuts the file if no other writer is left. 'keeps_map': some thread may still store into it. */
void tbed_file_detach(struct tbed_file *file, bool keeps_map);
/* The same for the file 'fd' with that id, which 'file' no longer maps, and whose header no longer counts this process. */
void tbed_file_leave(const struct tbed_file *file, int fd, uint64_t file_id);
/*
 * Cuts the file, all of which is mapped, to the claimed pages and marks it as cleanly closed. The caller holds it
 * exclusively. Refuses, with EIO, a file that does not have them all.
 */
bool tbed_file_shut(uint8_t *map, uint64_t map_nbytes, uint32_t page_nbytes, int fd);

#endif
