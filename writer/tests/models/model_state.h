/*
 * The state of a model and of the run of a step, shared by the checker's two halves: the memory (model_memory.c) and
 * the search (model_search.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_MODEL_STATE_H
#define TRACEBED_WRITER_MODEL_STATE_H

#include "writer/tests/models/model.h"

/* For each location, the position in its history of the oldest message that may still be read. */
struct view {
    uint8_t at[MODEL_LOCATIONS];
};

/* A store. */
struct message {
    uint16_t value;
    bool is_attached; /* a read-modify-write: no message may be inserted between it and the one it read */
    struct view view; /* joined by a thread that acquires the message */
};

struct history { /* in modification order */
    uint8_t count;
    struct message messages[MODEL_MESSAGES];
};

struct thread {
    struct view now;      /* the oldest messages it may read */
    struct view acquired; /* the same after an acquire fence */
    struct view released; /* what it had seen at its last release fence */
    struct view bound;    /* the oldest messages its sequentially consistent loads may read */
    uint16_t depths[MODEL_DEPTH];
    /*
     * Location + 1 of a sequentially consistent store that other threads need not see yet (0: none), and its position.
     */
    uint8_t pending, pending_at;
    bool has_ended;
    bool is_loose; /* it has made a relaxed load that a later store might overtake */
};

struct lock {
    uint8_t holder; /* thread + 1; 0: free */
    struct view view;
};

struct model_state {
    struct thread threads[MODEL_THREADS];
    struct view fenced;     /* what was seen at sequentially consistent fences */
    struct view consistent; /* the stores that all sequentially consistent loads see */
    struct lock locks[MODEL_LOCKS];
    struct view died[MODEL_PROCESSES]; /* the joined views of the threads of a process that have ended */
    uint8_t is_dead;                   /* a bit for each process */
    uint64_t shared[MODEL_SHARED_NBYTES / 8];
    uint64_t locals[MODEL_THREADS][MODEL_LOCAL_NBYTES / 8];
    struct history histories[MODEL_LOCATIONS]; /* the last member, since only those in use are stored */
};

enum { CHOICES_MAX = 8 };

struct model_run {
    const struct model *model;
    struct model_state state;
    int thread;
    int access_count;
    bool is_waiting; /* this step cannot be taken */
    const char *broken;
    /* The choices that the step has made, and out of how many. */
    uint8_t choices[CHOICES_MAX], counts[CHOICES_MAX];
    int choice_count;
    bool is_printed;
};

/* ---- model_memory.c ---- */
void model_state_init(struct model_state *state, const struct model *model);
/* Makes the thread's pending store visible to all sequentially consistent loads. */
void model_publish(struct model_run *run, int thread);
/* Returns false if no execution can lead to this state. */
bool model_is_possible(const struct model_run *run);
void model_kill(struct model_run *run, int process);
/* Removes messages that no thread can read any more, so that states which differ only in these become equal. */
void model_forget(struct model_run *run);

#endif
