/*
 * The recorders of a process: the state, and what their files share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_RECORDERS_H
#define TRACEBED_WRITER_RECORDERS_H

#include "writer/store/store.h"

#define TBED_STACK_INLINE_COUNT  24
#define TBED_SLAB_NBYTES         65536
#define TBED_SLAB_RECORDER_COUNT 64
#define TBED_HANDLER_LEVEL_MAX   8 /* signal handlers that interrupt one another's records */

struct tbed_slab {
    struct tbed_slab *next;
    uint32_t used_count; /* of its recorders; atomic */
};

/* A writer begins with its recorders, these with the store. Changed under 'state_lock'. */
struct tbed_recorders {
    struct tbed_store store; /* first: tbed_store_of() */
    struct tbed_slab *slabs;
    struct tbed_recorder *free;
    bool has_lost; /* one could not be stopped */
};

/* Another thread has ended a span of the recorder. */
struct tbed_end_note {
    struct tbed_end_note *next;
    uint64_t begin_tick, end_tick;
    uint32_t id;
};

/* The part of a recorder that no hot path touches. */
struct tbed_recorder_cold {
    struct tbed_recorders *recorders;
    struct tbed_recorder *recorder;
    struct tbed_recorder *next_free;
    struct tbed_recorder
        *of_handlers; /* for signal handlers that interrupt a record of this one; NULL: none yet */
    struct tbed_recorder_cold *thread; /* of the thread, if this is a recorder of its handlers; else NULL */
    uint32_t handler_level;            /* 0: the thread's own */
    uint8_t *block;
    uint8_t *ended_block; /* the last one that was handed over; NULL: none */
    uint32_t block_nbytes;
    uint32_t epoch;  /* the process's when the stream was opened */
    uint32_t stream; /* 0: none yet */
    uint32_t next_sequence;
    uint32_t name_id;
    uint32_t kind;
    uint32_t tid;
    bool is_open;
    bool has_given_tid;
    uint32_t given_process; /* 0: the writer's own */
    uint32_t given_thread;  /* of OFF_CPU: the thread's stream */
    bool must_leave;        /* atomic: the block has been synced, so the next event goes to a new one */
    bool is_unordered;      /* ticks may have gone back within the block */
    /* The block's first tick, or the least begin tick of its SPANs if that is lower. */
    uint64_t least_begin_tick;
    tbed_word gap_count; /* drops that are not in the stream yet; atomic */
    uint32_t gap_cause;
    uint32_t inherited_count; /* open spans that a parent began before the fork, the outermost; at most */
    uint64_t inherited_tick;  /* when they began for this process */
    struct tbed_end_note *end_notes; /* of spans that other threads have ended; atomic */
    size_t stack_nbytes;             /* 0: the inline stack */
    struct tbed_open_span inline_stack[TBED_STACK_INLINE_COUNT];
};
_Static_assert(2 * 4096 + sizeof(struct tbed_slab) +
                       TBED_SLAB_RECORDER_COUNT * sizeof(struct tbed_recorder_cold) <=
                   TBED_SLAB_NBYTES,
               "a slab holds its recorders");

/* NULL stays NULL. */
static inline struct tbed_recorders *tbed_recorders_of(const struct tbed_writer *writer)
{
    return (struct tbed_recorders *)(uintptr_t)writer;
}

/* NULL for the placeholder recorder, which is used when there is no writer. */
static inline struct tbed_recorder_cold *tbed_cold_of(const struct tbed_recorder *recorder)
{
    return tbed_kept_of((struct tbed_recorder *)(uintptr_t)recorder)->cold;
}

static inline struct tbed_store *tbed_cold_store(const struct tbed_recorder_cold *cold)
{
    return &cold->recorders->store;
}

static inline struct tbed_file *tbed_cold_file(const struct tbed_recorder_cold *cold)
{
    return &cold->recorders->store.file;
}

/* The stream was opened by this process, not by a parent before a fork. */
static inline bool tbed_cold_is_ours(const struct tbed_recorder_cold *cold)
{
    return cold->epoch == tbed_cold_file(cold)->process.epoch;
}

/* The mark between two records: the fast path can only read the machine's own counter. */
static inline uint8_t tbed_idle_mark(const struct tbed_clock_state *clock)
{
    bool is_counter = clock->kind == TBED_CLOCK_X86_TSC || clock->kind == TBED_CLOCK_ARM64_VIRTUAL;
    return is_counter ? TBED_MARK_READY : TBED_MARK_SLOW;
}

/* ---- slabs.c; the caller of 'take' and 'prepare' holds 'state_lock' ---- */
/* The first slab: memory of TBED_SLAB_NBYTES that is zero, and whose first page a forked child finds zeroed. */
void tbed_recorders_begin(struct tbed_recorders *recorders, uint8_t *slab);
struct tbed_recorder *tbed_recorder_take(struct tbed_recorders *recorders);
/* Makes sure that TBED_SLAB_RECORDER_COUNT can be taken in a sandbox, if there is memory. */
void tbed_recorders_prepare(struct tbed_recorders *recorders);
/* Returns for how many open recorders 'act' returns true. */
size_t tbed_recorders_each(struct tbed_recorders *recorders, bool (*act)(struct tbed_recorder *));
void tbed_recorders_free(struct tbed_recorders *recorders);
void tbed_end_notes_free(struct tbed_end_note *first);

/* ---- recorder_slow.c ---- */
void tbed_recorder_drop(struct tbed_recorder *recorder, enum tbed_drop_cause cause);

/* ---- recorder_blocks.c ---- */
/* Ends the recorder's block after its last event, and seals it. */
void tbed_block_hand_over(struct tbed_recorder *recorder, struct tbed_recorder_cold *cold);
/* Also ends its stream; the owner stays off its pages from here on. The caller holds 'state_lock'. */
void tbed_recorder_finish(struct tbed_recorder *recorder);

/* ---- recorder_stop.c ---- */
/*
 * Asks the kernel for what stopping needs, once a process; cheap before there are threads. False: the kernel cannot do
 * it.
 */
bool tbed_barrier_register(void);
/* Makes every recorder ask for room before its next event. Async-signal-safe; needs no lock. */
void tbed_recorders_interrupt(struct tbed_recorders *recorders);
/* Stops them for good. */
void tbed_recorders_stop(struct tbed_recorders *recorders);
/* Clears the way for a rotation: no recorder stores without asking again. False: not all threads can be reached. */
bool tbed_recorders_pause(struct tbed_recorders *recorders);
/*
 * For a sync: every recorder goes on in a new block at its next event. Returns how many have recorded since the last
 * time. The caller holds 'state_lock'.
 */
size_t tbed_recorders_leave_blocks(struct tbed_recorders *recorders);
/* After that: reaches the threads. False: not all can be reached. */
bool tbed_recorders_notify(void);
/* Is a recorder still in a record that it began before it could know? The caller holds 'state_lock'. */
bool tbed_recorders_are_in_old_blocks(struct tbed_recorders *recorders);
/* The caller holds 'state_lock', for the next two. */
bool tbed_recorders_are_busy(struct tbed_recorders *recorders);
/* Seals the blocks of all recorders; they begin new ones, numbered from 0. */
void tbed_recorders_hand_over(struct tbed_recorders *recorders);

#endif
