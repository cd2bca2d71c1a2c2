/*
 * Worker threads; see workers.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/workers.h"

#include <pthread.h>
#include <unistd.h>

#define WORKER_COUNT_MAX 64u

struct worker {
    struct tbed_work *work;
    unsigned number;
    pthread_t thread;
};

unsigned tbed_worker_count(unsigned wanted, size_t item_count)
{
    if (wanted == 0) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        wanted = processors > 0 ? (unsigned)processors : 1;
    }
    if (wanted > WORKER_COUNT_MAX)
        wanted = WORKER_COUNT_MAX;
    if (wanted > item_count)
        wanted = (unsigned)item_count;
    return wanted == 0 ? 1 : wanted;
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    worker->work->run(worker->work, worker->number);
    return NULL;
}

void tbed_work_run(struct tbed_work *work, unsigned worker_count)
{
    struct worker workers[WORKER_COUNT_MAX];
    unsigned started = 1;
    for (; started < worker_count && started < WORKER_COUNT_MAX; started++) {
        workers[started] = (struct worker){.work = work, .number = started};
        if (pthread_create(&workers[started].thread, NULL, worker_main, &workers[started]) != 0)
            break;
    }
    work->run(work, 0);
    while (--started > 0)
        pthread_join(workers[started].thread, NULL);
}
