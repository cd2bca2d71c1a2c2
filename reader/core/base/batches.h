/*
 * Batches of items that several threads turn into text, while one thread makes the items and puts the texts out in order.
 *
 * The caller pushes items. A full batch is worked on by another thread, or by the caller if the others are behind; its
 * text is put out, by the caller, when those of all earlier batches have been. The number of batches is fixed, so memory does
 * not grow with the number of items, and the output does not depend on the number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_BATCHES_H
#define TRACEBED_BATCHES_H

#include "reader/core/base/text.h"

struct tbed_batch {
    void *items;
    size_t count;
    struct tbed_text text; /* empty when the work begins */
    bool is_done;
    void *kept; /* the caller's: what keeps there what items point to; NULL at first */
};

struct tbed_batches_job {
    size_t item_nbytes;
    unsigned thread_count; /* at least 1, the caller's; see tbed_worker_count() */
    /* Called by any thread, with its number below 'thread_count'; only one at a time has a number. */
    void (*work)(void *context, unsigned thread, struct tbed_batch *batch);
    /* Called by the caller's thread, in order. */
    void (*put)(void *context, const struct tbed_batch *batch);
    /* Called by the caller's thread with what is kept, after 'put'; 'is_last': it is freed. NULL: nothing is. */
    void (*let_go)(void *kept, bool is_last);
    void *context;
};

struct tbed_batches;

/* NULL: no memory. */
struct tbed_batches *tbed_batches_open(const struct tbed_batches_job *job);

/* Room for one more item, which the caller fills in before the next call. */
void *tbed_batches_push(struct tbed_batches *batches);

/* The batch of the item that was pushed last. */
struct tbed_batch *tbed_batches_current(struct tbed_batches *batches);

/* Returns when all items have been put out. */
void tbed_batches_finish(struct tbed_batches *batches);

/* From here on the caller's thread does all the work: the order in which the work is done matters. */
void tbed_batches_work_alone(struct tbed_batches *batches);

void tbed_batches_close(struct tbed_batches *batches); /* NULL is allowed; what was not put out is lost */

#endif
