/*
 * A process's hold on a trace file: the state that the lower rooms work on.
 *
 * A writer begins with it (writer/life/writer.h), so that these rooms need not see the rest of the writer.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_STATE_H
#define TRACEBED_WRITER_STATE_H

#include <sys/types.h>

#include "format/file/header.h"
#include "format/layout.h"
#include "tracebed/writer.h"
#include "writer/base/clock.h"
#include "writer/base/locks.h"

#define TBED_SEAL_QUEUE_COUNT 2048
#define TBED_RING_READY_COUNT 64
#define TBED_RING_SHARE                                                                                      \
    16 /* of a ring, at most this part is made ready ahead, or waits for its seal, by all processes together */

struct tbed_census;
struct tbed_file;
struct tbed_hold;

/* Calls from the lower rooms to the top one. */
struct tbed_hooks {
    /* In a forked child that uses the writer for the first time: it gets pages of its own, or is closed. */
    void (*begin_child)(struct tbed_file *file);
    void (*start_helper)(struct tbed_file *file);
    /*
     * Called by a recorder that is about to take a page, and by the helper (NULL). Returns how long the file has until
     * it is too old; UINT64_MAX: it never is.
     */
    uint64_t (*rotate_if_due)(struct tbed_file *file, struct tbed_recorder *recorder);
    /* Called by the helper. Returns how long until the file is to be synced again; UINT64_MAX: it never is. */
    uint64_t (*sync_if_due)(struct tbed_file *file);
    /* Called by the handler of SIGBUS when the file has been lost: every recorder's next event asks for room. */
    void (*stop_recorders)(struct tbed_file *file);
};

/* This process in the trace (life/process.c). */
struct tbed_process {
    uint32_t epoch; /* +1 in each forked child */
    uint32_t stream;
    uint32_t claimed_pages; /* atomic */
    uint32_t given_pid;     /* as in the options */
    uint32_t name_id;       /* of 'name'; 0: none yet */
    char name[16];          /* the kernel's, as it was last recorded */
    bool annotates;         /* it adds to a trace without being one of its processes */
    bool instants_are_allocations;
};

/* growth.c; the retry, page.c. */
struct tbed_growth {
    tbed_word backed_pages; /* the disk below this is allocated; atomic, changed under grow_lock */
    /* A file that was joined may have bytes in pages below this that are not claimed. */
    uint64_t found_pages;
    uint64_t step_nbytes;
    tbed_word retry_ns; /* atomic: no page before this time of CLOCK_MONOTONIC; 0: now */
    uint32_t retry_cause;
    uint64_t full_page_count; /* in a series: the next file is due when this one has so many; 0: no limit */
};

/* usable.c */
struct tbed_drops {
    tbed_word after_close;
    tbed_word at_faults; /* atomic: stores that found no file, not counted in the map yet */
};

/* Shared by recorders and the helper thread (helper_wake.c, life/helper.c); all atomic. */
struct tbed_helper_link {
    bool is_running;
    bool is_asleep;
    uint32_t wake;             /* futex */
    tbed_word populated_pages; /* pages below this were faulted in; 0: none, or all were given back */
    tbed_word ahead_nbytes;    /* the lead that the helper keeps */
};

/* seal_queue.c: many producers, one consumer. */
struct tbed_seal_queue {
    tbed_word slots[TBED_SEAL_QUEUE_COUNT]; /* page << 32 | used; 0: not there yet */
    tbed_word head, tail;
    bool is_inherited; /* it is the parent's: to be emptied before it is used */
};

/* ring.c: this process's part of a flight recorder. */
struct tbed_ring {
    tbed_word ready_head, ready_tail;      /* atomic */
    uint32_t ready[TBED_RING_READY_COUNT]; /* pages taken and zeroed ahead */
    tbed_word retry_ns;                    /* atomic: all pages were held */
    bool keeps_no_ended; /* atomic: according to the last census, no other pages were left */
};

/*
 * What is large and rarely touched comes first. The rest of a writer, up to its rotation, then lies in one page of memory,
 * which is all that a small process touches, and all that a fork makes parent and child copy.
 */
struct tbed_file {
    char path[4096]; /* absolute, to open it again after a fork or when the program closed our descriptor */
    struct tbed_seal_queue seal_queue;

    const struct tbed_hooks *hooks;
    struct tbed_live *live;     /* a page of its own */
    bool is_closed, is_closing; /* atomic */
    bool is_guarded;            /* faults in the map are caught (file_guard.h) */
    bool is_lost; /* atomic: the file was truncated, or its disk failed; nothing more is recorded */
    bool is_in_series;
    bool is_synced_often; /* the helper has work as soon as a page is claimed */
    bool releases_pages;  /* sealed pages leave the resident memory */

    struct tbed_header_fields fields;
    uint8_t *map;
    size_t map_nbytes; /* also the limit of the file's size */
    uint32_t page_nbytes;
    uint32_t page_shift;
    int fd;
    struct tbed_hold *hold; /* file_hold.c; NULL: no other process uses the open file */
    dev_t device;
    ino_t inode;

    struct tbed_clock_state clock;
    struct tbed_process process;
    struct tbed_growth growth;
    struct tbed_drops drops;
    struct tbed_helper_link helper_link;
    struct tbed_ring ring;
    struct tbed_census *census; /* of a ring (pages/census.h); kept by a forked child. NULL: none */
};

/* A writer begins with its file. NULL stays NULL. */
static inline struct tbed_file *tbed_file_of(const struct tbed_writer *writer)
{
    return (struct tbed_file *)(uintptr_t)writer;
}

/* The header page: what all writers of the file share. */
static inline struct tbed_disk_header *tbed_shared(const struct tbed_file *file)
{
    return (struct tbed_disk_header *)(void *)file->map;
}

/* This process has joined the trace: false in a forked child that has not used the writer yet. */
static inline bool tbed_has_joined(const struct tbed_file *file)
{
    return __atomic_load_n(&file->live->alive, __ATOMIC_ACQUIRE) != 0;
}

#endif
