/*
 * A small model checker: runs the steps of some threads in all orders, with every value that a weak memory may return.
 *
 * A model is a function for each thread that makes one access to shared memory at a time, and rules that no state may
 * break. README.md in this folder describes the memory model, kills, and what is not covered.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_MODEL_H
#define TRACEBED_WRITER_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MODEL_LOCATIONS = 12,
    MODEL_MESSAGES = 14, /* stores to a location that some thread may still read */
    MODEL_THREADS = 6,
    MODEL_PROCESSES = 4,
    MODEL_LOCKS = 4,
    MODEL_DEPTH = 3, /* of nested calls in a thread */
    MODEL_LOCAL_NBYTES = 24,
    MODEL_SHARED_NBYTES = 48
};

/* CONTROL: a relaxed load that decides whether any later store of the thread happens. */
enum model_order { RELAXED, CONTROL, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST };

struct model_run;

struct model {
    const char *name;
    const void *variant; /* for the model's functions */
    int thread_count, location_count;
    uint16_t initial[MODEL_LOCATIONS];
    uint8_t process_of[MODEL_THREADS]; /* below MODEL_PROCESSES */
    uint8_t can_be_killed;             /* a bit for each process */
    /* Fills model_shared() before the first step. May be NULL. */
    void (*start)(struct model_run *run);
    /* Runs the thread up to its next access; returns true when it has ended. */
    bool (*step)(struct model_run *run, int thread);
    /* Returns the rule that the state breaks; NULL: none. May be NULL. */
    const char *(*broken_rule)(struct model_run *run);
    /* Does what the kernel does for a killed process. May be NULL. */
    void (*killed)(struct model_run *run, int process);
    const char *location_names[MODEL_LOCATIONS];
    const char *thread_names[MODEL_THREADS];
};

struct model_result {
    const char *broken; /* NULL: no rule was broken in any state */
    size_t state_count;
    size_t step_count; /* the fewest steps to the broken rule */
};

/*
 * Searches all states and prints the result. 'wanted' is the rule to look for; NULL: any. A broken rule that was not
 * wanted is printed with its steps.
 */
struct model_result model_search(const struct model *model, const char *wanted);

/* ---- Accesses: at most one in each step ---- */

uint16_t model_load(struct model_run *run, int location, enum model_order order);
void model_store(struct model_run *run, int location, uint16_t value, enum model_order order);
/* Compare-and-swap; on failure '*expected' becomes the value that was found. */
bool model_swap(struct model_run *run, int location, uint16_t *expected, uint16_t value,
                enum model_order order, enum model_order failure);
uint16_t model_add(struct model_run *run, int location, uint16_t value, enum model_order order);
void model_fence(struct model_run *run, enum model_order order);
/* A full fence in another thread, for membarrier(). */
void model_fence_other(struct model_run *run, int thread);

/* Locks, futexes and locks of the kernel: taking one acquires, giving it releases. */
void model_lock(struct model_run *run, int lock);
bool model_try_lock(struct model_run *run, int lock);
void model_unlock(struct model_run *run, int lock);
/* A system call on an object that the kernel protects: synchronizes with all earlier callers. */
void model_call_kernel(struct model_run *run, int lock);
/* Returns whether the process was killed, as learned from the kernel; then all its stores become visible. */
bool model_sees_death(struct model_run *run, int process);

/* Returns any number below 'count'; the search tries each. */
int model_choose(struct model_run *run, int count);
/* The thread cannot take this step now. */
void model_wait(struct model_run *run);
void model_fail(struct model_run *run, const char *rule);

/* ---- A model's variables ---- */

const void *model_variant(const struct model_run *run);
/* The thread's own variables: MODEL_LOCAL_NBYTES, initially zero. */
void *model_local(struct model_run *run, int thread);
/* Variables that all threads see at once, for rules and for the kernel's state: MODEL_SHARED_NBYTES, initially zero. */
void *model_shared(struct model_run *run);
/* The position in the thread's function at this depth; 0 is the outermost. */
uint16_t *model_at(struct model_run *run, int depth);
int model_thread(const struct model_run *run);

/* ---- For rules ---- */

/* The latest store, which is what remains when all processes have ended or were killed. */
uint16_t model_latest(const struct model_run *run, int location);
bool model_is_dead(const struct model_run *run, int process);
bool model_has_ended(const struct model_run *run, int thread);
/* All threads have ended or were killed. */
bool model_is_over(const struct model_run *run);

/*
 * A function of a thread is written like the product's:
 *
 *     BEGIN(run, 0);
 *     STEP(run, 0);
 *     self->page = model_load(run, PAGE_COUNT, ACQUIRE);
 *     ...
 *     END(run, 0);
 *
 * Other threads may run at each STEP(); variables that live across it must be in model_local(). CALL() calls a function
 * written in the same way, one level deeper.
 */
#define BEGIN(run, depth)                                                                                    \
    uint16_t *const at_##depth = model_at(run, depth);                                                       \
    switch (*at_##depth) {                                                                                   \
    case 0:
#define STEP(run, depth)                                                                                     \
    do {                                                                                                     \
        *at_##depth = __LINE__;                                                                              \
        return false;                                                                                        \
    case __LINE__:;                                                                                          \
    } while (0)
#define CALL(run, depth, call)                                                                               \
    do {                                                                                                     \
        *at_##depth = __LINE__;                                                                              \
        __attribute__((fallthrough));                                                                        \
    case __LINE__:                                                                                           \
        if (!(call))                                                                                         \
            return false;                                                                                    \
    } while (0)
#define RETURN(run, depth)                                                                                   \
    do {                                                                                                     \
        *at_##depth = 0;                                                                                     \
        return true;                                                                                         \
    } while (0)
#define END(run, depth)                                                                                      \
    }                                                                                                        \
    *at_##depth = 0;                                                                                         \
    return true

#endif
