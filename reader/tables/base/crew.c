/*
 * Threads that fill batches; see crew.h.
 *
 * A batch is either free, being filled by a worker, full, or lent to the caller until it asks for the next one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/base/crew.h"

struct crew_worker {
    struct crew *crew;
    void *state;
    pthread_t thread;
};

struct crew_batch {
    struct table_rows rows;
    struct crew_batch *next; /* of a list */
};

struct crew {
    struct tbed_scan *scan;
    struct crew_job job;
    struct crew_worker *workers;
    struct crew_batch *batches;
    unsigned worker_count, batch_count, started;
    bool is_alone; /* no threads: the caller is the only worker */

    pthread_mutex_t lock;
    pthread_cond_t has_free, has_full;
    struct crew_batch *free, *full, **full_end; /* full ones, the oldest first */
    struct crew_batch *lent;
    unsigned running;        /* workers that may still fill batches */
    enum tbed_status status; /* the first failure */
};

/* ---- Opening ---- */

static bool open_parts(struct crew *crew)
{
    struct tbed_scan *scan = crew->scan;
    crew->workers = calloc(crew->worker_count, sizeof *crew->workers);
    crew->batches = calloc(crew->batch_count, sizeof *crew->batches);
    bool fine = crew->workers != NULL && crew->batches != NULL;
    for (unsigned i = 0; i < crew->batch_count && fine; i++) {
        struct crew_batch *batch = &crew->batches[i];
        fine = tbed_table_rows_open(&batch->rows, &scan->source->about, scan->options.columns, &scan->names);
        batch->next = crew->free;
        crew->free = batch;
    }
    for (unsigned i = 0; i < crew->worker_count && fine; i++) {
        crew->workers[i].crew = crew;
        crew->workers[i].state = crew->job.open(crew->job.context);
        fine = crew->workers[i].state != NULL;
    }
    return fine;
}

struct crew *tbed_crew_open(struct tbed_scan *scan, const struct crew_job *job, unsigned worker_count)
{
    struct crew *crew = calloc(1, sizeof *crew);
    if (crew == NULL)
        return NULL;
    crew->scan = scan;
    crew->job = *job;
    crew->worker_count = worker_count;
    crew->is_alone = worker_count == 1;
    crew->batch_count = worker_count > 1 ? 2 * worker_count + 1 : 1;
    crew->full_end = &crew->full;
    pthread_mutex_init(&crew->lock, NULL); /* on Linux, these cannot fail without attributes */
    pthread_cond_init(&crew->has_free, NULL);
    pthread_cond_init(&crew->has_full, NULL);
    if (open_parts(crew))
        return crew;
    tbed_crew_close(crew);
    return NULL;
}

/* ---- Filling ---- */

static enum tbed_status fill(struct crew_worker *worker, struct table_rows *rows)
{
    tbed_table_rows_clear(rows);
    enum tbed_status status = worker->crew->job.fill(worker->state, rows);
    return rows->is_out_of_memory ? TBED_ERR_MEMORY : status;
}

/* A batch to fill; NULL: nobody wants more. */
static struct crew_batch *take_free(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    while (crew->free == NULL && !tbed_scan_is_stopped(crew->scan))
        pthread_cond_wait(&crew->has_free, &crew->lock);
    struct crew_batch *batch = tbed_scan_is_stopped(crew->scan) ? NULL : crew->free;
    if (batch != NULL)
        crew->free = batch->next;
    pthread_mutex_unlock(&crew->lock);
    return batch;
}

static void put_full(struct crew *crew, struct crew_batch *batch, enum tbed_status status)
{
    pthread_mutex_lock(&crew->lock);
    batch->next = NULL;
    if (batch->rows.count > 0 && (status == TBED_OK || status == TBED_END)) {
        *crew->full_end = batch;
        crew->full_end = &batch->next;
    } else {
        batch->next = crew->free;
        crew->free = batch;
        pthread_cond_signal(&crew->has_free);
    }
    if (status != TBED_OK && status != TBED_END && crew->status == TBED_OK)
        crew->status = status;
    pthread_cond_signal(&crew->has_full);
    pthread_mutex_unlock(&crew->lock);
}

static void *work(void *argument)
{
    struct crew_worker *worker = argument;
    struct crew *crew = worker->crew;
    enum tbed_status status = TBED_OK;
    struct crew_batch *batch;
    while (status == TBED_OK && (batch = take_free(crew)) != NULL) {
        status = fill(worker, &batch->rows);
        put_full(crew, batch, status);
    }
    pthread_mutex_lock(&crew->lock);
    crew->running--;
    pthread_cond_signal(&crew->has_full);
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

static void start(struct crew *crew)
{
    for (unsigned i = 0; i < crew->worker_count; i++) {
        pthread_mutex_lock(&crew->lock);
        crew->running++;
        pthread_mutex_unlock(&crew->lock);
        if (pthread_create(&crew->workers[i].thread, NULL, work, &crew->workers[i]) == 0) {
            crew->started++;
            continue;
        }
        pthread_mutex_lock(&crew->lock);
        crew->running--;
        pthread_mutex_unlock(&crew->lock);
        break;
    }
    crew->is_alone = crew->started == 0;
}

/* ---- Batches ---- */

static enum tbed_status lend(const struct crew_batch *batch, struct tbed_batch *batch_ret)
{
    *batch_ret = (struct tbed_batch){.row_count = batch->rows.count, .columns = batch->rows.values};
    return TBED_OK;
}

static enum tbed_status fill_alone(struct crew *crew, struct tbed_batch *batch_ret)
{
    enum tbed_status status = fill(&crew->workers[0], &crew->batches[0].rows);
    if (status != TBED_OK && status != TBED_END)
        return status;
    return crew->batches[0].rows.count > 0 ? lend(&crew->batches[0], batch_ret) : TBED_END;
}

/* The oldest full batch; NULL: there will be no more, or a worker has failed. */
static struct crew_batch *take_full(struct crew *crew)
{
    struct crew_batch *batch;
    pthread_mutex_lock(&crew->lock);
    if (crew->lent != NULL) {
        crew->lent->next = crew->free;
        crew->free = crew->lent;
        crew->lent = NULL;
        pthread_cond_signal(&crew->has_free);
    }
    while (crew->full == NULL && crew->running > 0 && crew->status == TBED_OK)
        pthread_cond_wait(&crew->has_full, &crew->lock);
    batch = crew->status == TBED_OK ? crew->full : NULL;
    if (batch != NULL)
        crew->full = batch->next;
    if (crew->full == NULL)
        crew->full_end = &crew->full;
    crew->lent = batch;
    pthread_mutex_unlock(&crew->lock);
    return batch;
}

enum tbed_status tbed_crew_next(struct crew *crew, struct tbed_batch *batch_ret)
{
    if (crew->started == 0 && !crew->is_alone)
        start(crew);
    if (crew->is_alone)
        return fill_alone(crew, batch_ret);
    const struct crew_batch *batch = take_full(crew);
    if (batch != NULL)
        return lend(batch, batch_ret);
    return crew->status != TBED_OK ? crew->status : TBED_END;
}

/* ---- Closing ---- */

void tbed_crew_close(struct crew *crew)
{
    if (crew == NULL)
        return;
    pthread_mutex_lock(&crew->lock);
    __atomic_store_n(&crew->scan->is_stopped, true, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&crew->has_free);
    pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->started; i++)
        pthread_join(crew->workers[i].thread, NULL);
    for (unsigned i = 0; crew->workers != NULL && i < crew->worker_count; i++)
        if (crew->workers[i].state != NULL)
            crew->job.close(crew->workers[i].state);
    for (unsigned i = 0; crew->batches != NULL && i < crew->batch_count; i++)
        tbed_table_rows_free(&crew->batches[i].rows);
    pthread_cond_destroy(&crew->has_free);
    pthread_cond_destroy(&crew->has_full);
    pthread_mutex_destroy(&crew->lock);
    free(crew->workers);
    free(crew->batches);
    free(crew);
}
