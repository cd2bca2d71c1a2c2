/*
 * Batches; see batches.h.
 *
 * Batches are numbered, and number n is in slot n modulo the number of slots. Those below 'put' have been put out, those
 * below 'taken' are or were worked on, those below 'full' are waiting for it, and number 'full' is being filled.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/batches.h"

#include <pthread.h>

#define BATCH_ITEMS      512u
#define TEXT_NBYTES_KEPT ((size_t)1 << 20) /* longer texts are freed when they have been put out */

struct thread {
    struct tbed_batches *batches;
    unsigned number;
    pthread_t thread;
};

struct tbed_batches {
    struct tbed_batches_job job;
    struct thread *threads;
    unsigned started; /* threads, without the caller's */
    struct tbed_batch *slots;
    size_t slot_count;
    pthread_mutex_t lock; /* protects all below, and whether a batch is done */
    pthread_cond_t has_work, has_result;
    size_t put, taken, full;
    bool is_alone, is_closing;
};

static struct tbed_batch *slot_of(const struct tbed_batches *batches, size_t number)
{
    return &batches->slots[number % batches->slot_count];
}

/* Works on the next batch, outside the lock. */
static void work_on_next(struct tbed_batches *batches, unsigned thread)
{
    struct tbed_batch *batch = slot_of(batches, batches->taken++);
    pthread_mutex_unlock(&batches->lock);
    batches->job.work(batches->job.context, thread, batch);
    pthread_mutex_lock(&batches->lock);
    batch->is_done = true;
}

static void *thread_main(void *argument)
{
    const struct thread *thread = argument;
    struct tbed_batches *batches = thread->batches;
    pthread_mutex_lock(&batches->lock);
    while (!batches->is_closing) {
        if (batches->taken == batches->full || batches->is_alone) {
            pthread_cond_wait(&batches->has_work, &batches->lock);
            continue;
        }
        work_on_next(batches, thread->number);
        pthread_cond_signal(&batches->has_result);
    }
    pthread_mutex_unlock(&batches->lock);
    return NULL;
}

static void let_go(const struct tbed_batches *batches, struct tbed_batch *batch, bool is_last)
{
    if (batch->kept != NULL)
        batches->job.let_go(batch->kept, is_last);
}

static void empty(struct tbed_batch *batch)
{
    batch->count = 0;
    batch->is_done = false;
    batch->text.nbytes = 0;
    if (batch->text.room <= TEXT_NBYTES_KEPT)
        return;
    free(batch->text.bytes);
    batch->text = (struct tbed_text){0};
}

static void put_done(struct tbed_batches *batches)
{
    while (batches->put < batches->full && slot_of(batches, batches->put)->is_done) {
        struct tbed_batch *batch = slot_of(batches, batches->put);
        pthread_mutex_unlock(&batches->lock);
        batches->job.put(batches->job.context, batch);
        let_go(batches, batch, false);
        empty(batch);
        pthread_mutex_lock(&batches->lock);
        batches->put++;
    }
}

/* Puts out what is done, and helps or waits until at most 'count' full batches are left. */
static void drain(struct tbed_batches *batches, size_t count)
{
    for (;;) {
        put_done(batches);
        if (batches->full - batches->put <= count)
            return;
        if (batches->taken < batches->full)
            work_on_next(batches, 0);
        else
            pthread_cond_wait(&batches->has_result, &batches->lock);
    }
}

/* Adds slots, as far as there is memory; what is in slot 0 stays there. */
static void add_slots(struct tbed_batches *batches, size_t count)
{
    struct tbed_batch *slots = realloc(batches->slots, count * sizeof *slots);
    if (slots == NULL)
        return;
    batches->slots = slots;
    for (; batches->slot_count < count; batches->slot_count++) {
        void *items = malloc(BATCH_ITEMS * batches->job.item_nbytes);
        if (items == NULL)
            return;
        slots[batches->slot_count] = (struct tbed_batch){.items = items};
    }
}

/* What fits into one batch needs no threads, so they start when it is full. */
static void start_threads(struct tbed_batches *batches)
{
    unsigned count = batches->job.thread_count;
    if (count == 1 || batches->is_alone)
        return;
    add_slots(batches, 2 * (size_t)count + 2);
    batches->threads = calloc(count, sizeof *batches->threads);
    for (unsigned i = 1; batches->threads != NULL && batches->slot_count > 1 && i < count; i++) {
        struct thread *thread = &batches->threads[i];
        *thread = (struct thread){.batches = batches, .number = i};
        if (pthread_create(&thread->thread, NULL, thread_main, thread) != 0)
            return; /* the others do its work */
        batches->started = i;
    }
}

static void submit(struct tbed_batches *batches)
{
    pthread_mutex_lock(&batches->lock);
    batches->full++;
    pthread_cond_signal(&batches->has_work);
    drain(batches, batches->started == 0 || batches->is_alone ? 0 : batches->slot_count - 1);
    pthread_mutex_unlock(&batches->lock);
}

void *tbed_batches_push(struct tbed_batches *batches)
{
    if (slot_of(batches, batches->full)->count == BATCH_ITEMS) {
        if (batches->full == 0)
            start_threads(batches);
        submit(batches);
    }
    struct tbed_batch *batch = slot_of(batches, batches->full);
    return (char *)batch->items + batch->count++ * batches->job.item_nbytes;
}

struct tbed_batch *tbed_batches_current(struct tbed_batches *batches)
{
    return slot_of(batches, batches->full);
}

void tbed_batches_finish(struct tbed_batches *batches)
{
    if (slot_of(batches, batches->full)->count > 0)
        submit(batches);
    pthread_mutex_lock(&batches->lock);
    drain(batches, 0);
    pthread_mutex_unlock(&batches->lock);
}

void tbed_batches_work_alone(struct tbed_batches *batches)
{
    if (batches->is_alone) /* which only the caller changes */
        return;
    pthread_mutex_lock(&batches->lock);
    batches->is_alone = true;
    drain(batches, 0);
    pthread_mutex_unlock(&batches->lock);
}

struct tbed_batches *tbed_batches_open(const struct tbed_batches_job *job)
{
    struct tbed_batches *batches = calloc(1, sizeof *batches);
    if (batches == NULL)
        return NULL;
    batches->job = *job;
    pthread_mutex_init(&batches->lock, NULL); /* on Linux, these cannot fail without attributes */
    pthread_cond_init(&batches->has_work, NULL);
    pthread_cond_init(&batches->has_result, NULL);
    add_slots(batches, 1);
    if (batches->slot_count == 1)
        return batches;
    tbed_batches_close(batches);
    return NULL;
}

void tbed_batches_close(struct tbed_batches *batches)
{
    if (batches == NULL)
        return;
    pthread_mutex_lock(&batches->lock);
    batches->is_closing = true;
    pthread_cond_broadcast(&batches->has_work);
    pthread_mutex_unlock(&batches->lock);
    for (unsigned i = 1; i <= batches->started; i++)
        pthread_join(batches->threads[i].thread, NULL);
    for (size_t i = 0; batches->slots != NULL && i < batches->slot_count; i++) {
        let_go(batches, &batches->slots[i], true);
        free(batches->slots[i].items);
        free(batches->slots[i].text.bytes);
    }
    pthread_cond_destroy(&batches->has_result);
    pthread_cond_destroy(&batches->has_work);
    pthread_mutex_destroy(&batches->lock);
    free(batches->slots);
    free(batches->threads);
    free(batches);
}
