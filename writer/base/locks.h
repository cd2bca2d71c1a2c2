/*
 * The locks of a writer, and the order in which they are taken.
 *
 * Locks live in memory that a forked child finds zeroed (MADV_WIPEONFORK), so a child never waits for a thread that it
 * does not have. A thread knows which locks it holds: a signal handler that finds its own thread at a lock gets false
 * instead of a deadlock, and drops what it wanted to store.
 *
 * A lock may be taken while holding only locks that precede it here:
 *
 *     session lock    starting and stopping the process's writer; its threads and categories (writer/session)
 *     fork_lock       a forked child joining the trace, on its first use of the writer
 *     rotate_lock     one rotation, sync or close at a time; keeps a snapshot's descriptor from changing
 *     pause_lock      held during a rotation; recorders that need a page wait at it, holding no other lock
 *     state_lock      strings, records, cells, interned texts, stacks, the list of recorders
 *     grow_lock       the size of the file; held across fallocate()
 *     census_lock     what a process knows of a flight recorder's pages
 *
 * fork_lock comes early because every use of the writer first asks whether this process has joined the trace; once it
 * has, fork_lock is never taken again. A rotation takes state_lock inside rotate_lock and pause_lock, so a thread that
 * holds state_lock or grow_lock never starts one: it is a signal handler's, or has to finish first (see
 * tbed_rotate_if_due()). state_lock comes before grow_lock because an entry may need a page, and a page may need the
 * file to grow.
 *
 * The preloaded libraries keep their table of modules under a lock of their own, which precedes state_lock; they never
 * wait for the loader's lock while holding it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_LOCKS_H
#define TRACEBED_WRITER_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct tbed_lock {  /* zero: free */
    uint32_t state; /* 0 free, 1 taken, 2 taken and waited for */
};

/* The part of a writer that a forked child finds zeroed. */
struct tbed_live {
    uint32_t alive; /* atomic: this process has joined the trace */
    uint32_t pid;   /* of the process that joined; set first */
    struct tbed_lock fork_lock;
    struct tbed_lock rotate_lock;
    struct tbed_lock pause_lock;
    struct tbed_lock state_lock;
    struct tbed_lock grow_lock;
    struct tbed_lock census_lock;
    bool is_rotating;   /* atomic: recorders must wait */
    uint32_t map_users; /* atomic: threads that may be using the header; closing waits for them */
};

/*
 * False: the calling thread is already at this lock, or at the same one of another writer (it is a signal handler that
 * interrupted the holder).
 */
bool tbed_lock_take(struct tbed_lock *lock);
void tbed_lock_give(struct tbed_lock *lock);
/* Also false if another thread has it. */
bool tbed_lock_try(struct tbed_lock *lock);
/* The calling thread holds the lock, or is taking or giving it. */
bool tbed_lock_is_mine(const struct tbed_lock *lock);

/* A thread must not be cancelled in our system calls: it would take a lock with it. */
int tbed_cancel_disable(void);
void tbed_cancel_restore(int state);

#endif
