/*
 * A few threads that share a job: each takes the next item by one atomic add until none are left.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WORKERS_H
#define TRACEBED_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

struct tbed_work {
    size_t item_count;
    size_t next_item;                                     /* atomic */
    void (*run)(struct tbed_work *work, unsigned worker); /* calls tbed_work_take() until it returns false */
    void *context;
};

/* False: no items are left. */
static inline int tbed_work_take(struct tbed_work *work, size_t *item_ret)
{
    *item_ret = __atomic_fetch_add(&work->next_item, 1, __ATOMIC_RELAXED);
    return *item_ret < work->item_count;
}

/* Whether the caller of a job no longer wants it; NULL: that cannot be. */
static inline bool tbed_is_cancelled(const bool *is_cancelled)
{
    return is_cancelled != NULL && __atomic_load_n(is_cancelled, __ATOMIC_RELAXED);
}

/* 'wanted', or the number of processors if it is 0; at least 1 and at most the number of items. */
unsigned tbed_worker_count(unsigned wanted, size_t item_count);

/*
 * Runs the job as workers 0 … 'worker_count' - 1, one of which is the caller. If a thread cannot be created, the
 * others do its work, so a worker's number may never be used.
 */
void tbed_work_run(struct tbed_work *work, unsigned worker_count);

#endif
