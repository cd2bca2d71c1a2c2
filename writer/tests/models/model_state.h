/*
 * The state of a model and the run of one step, for the checker's two halves: the memory (model_memory.c) and the
 * search (model_search.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_MODEL_STATE_H
#define TRACEBED_WRITER_MODEL_STATE_H

#include "writer/tests/models/model.h"

/* For each location, the oldest of its messages that may still be read, by its position in the history. */
struct view {
    uint8_t at[MODEL_LOCATIONS];
};

/* A store. */
struct message {
    uint16_t value;
    bool is_attached; /* a read-modify-write: nothing comes between it and what it read */
    struct view view; /* what is seen by whoever acquires it */
};

struct history { /* in modification order */
    uint8_t count;
    struct message messages[MODEL_MESSAGES];
};

struct thread {
    struct view now;      /* what it may not read before */
    struct view acquired; /* the same after an acquire fence */
    struct view released; /* what it had seen at its last release fence */
    struct view bound;    /* what its sequentially consistent loads may not read before */
    uint16_t depths[MODEL_DEPTH];
    uint8_t
        pending; /* location + 1 of a sequentially consistent store that others need not see yet; 0: none */
    uint8_t pending_at;
    bool has_ended;
    bool is_loose; /* it has done a relaxed load that a later store might overtake */
};

struct lock {
    uint8_t holder; /* thread + 1; 0: free */
    struct view view;
};

struct model_state {
    struct thread threads[MODEL_THREADS];
    struct view fenced;     /* what was seen at sequentially consistent fences */
    struct view consistent; /* sequentially consistent stores that all such loads see */
    struct lock locks[MODEL_LOCKS];
    struct view died[MODEL_PROCESSES]; /* what the threads of a process that have ended had seen */
    uint8_t is_dead;                   /* a bit for each process */
    uint64_t shared[MODEL_SHARED_NBYTES / 8];
    uint64_t locals[MODEL_THREADS][MODEL_LOCAL_NBYTES / 8];
    struct history histories[MODEL_LOCATIONS]; /* last: only those in use are kept */
};

enum { CHOICES_MAX = 8 };

struct model_run {
    const struct model *model;
    struct model_state state;
    int thread;
    int access_count;
    bool is_waiting; /* this step cannot be taken */
    const char *broken;
    /* What is chosen, and out of how many. */
    uint8_t choices[CHOICES_MAX], counts[CHOICES_MAX];
    int choice_count;
    bool is_printed;
};

/* ---- model_memory.c ---- */
void model_state_init(struct model_state *state, const struct model *model);
/* Makes the thread's pending store one that all sequentially consistent loads see. */
void model_publish(struct model_run *run, int thread);
/* False: no memory gets into this state. */
bool model_is_possible(const struct model_run *run);
void model_kill(struct model_run *run, int process);
/* Forgets what nobody can read any more, so that states that differ in nothing else are the same. */
void model_forget(struct model_run *run);

#endif
