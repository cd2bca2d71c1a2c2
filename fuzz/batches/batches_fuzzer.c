/*
 * Batches of items that several threads work on: whatever is asked of them, each item comes out once and in order, and work
 * that the caller wants for itself is its own. If memory runs out, or no thread can be started, only texts may be missing.
 *
 * The input: the number of threads (one byte), a plan for failures (fuzz/support/failing.h), then what is done, one byte each:
 * in its upper two bits, whether items are pushed, all of them are awaited, or the caller's thread works alone; or everything
 * is closed early. The other bits are the number of items, in units of 64.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <string.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "reader/core/base/batches.h"

enum { PUSH, FINISH, WORK_ALONE, CLOSE };

#define THREADS_MAX  5u
#define UNIT_ITEMS   64u
#define ITEMS_MAX    20000u
#define LARGE_NBYTES ((size_t)2 << 20) /* of a text that is not kept */
#define HEAD_NBYTES  (1 + FAILING_PLAN_NBYTES)

struct job {
    const uint8_t *steps;
    size_t step_count;
    unsigned thread_count;
    pthread_t caller;
    int in_use[THREADS_MAX]; /* atomic */
    uint64_t alone_from;     /* items from here on are the caller's own work */
    uint64_t pushed_count, put_count, let_go_count;
};

/* ---- What batches call ---- */

static void work(void *context, unsigned thread, struct tbed_batch *batch)
{
    struct job *job = context;
    const uint64_t *items = batch->items;
    REQUIRE(thread < job->thread_count && batch->text.nbytes == 0 && batch->count > 0);
    REQUIRE(__atomic_exchange_n(&job->in_use[thread], 1, __ATOMIC_ACQUIRE) == 0);
    for (size_t i = 0; i < batch->count; i++) {
        REQUIRE(items[i] < job->alone_from || thread == 0);
        tbed_text_put(&batch->text, (const char *)&items[i], sizeof items[i]);
    }
    if (items[0] % 7 == 0)
        tbed_text_reserve(&batch->text, LARGE_NBYTES);
    __atomic_store_n(&job->in_use[thread], 0, __ATOMIC_RELEASE);
}

static void put(void *context, const struct tbed_batch *batch)
{
    struct job *job = context;
    const uint64_t *items = batch->items;
    REQUIRE(pthread_equal(job->caller, pthread_self()));
    for (size_t i = 0; i < batch->count; i++)
        REQUIRE(items[i] == job->put_count++);
    if (!batch->text.is_out_of_memory)
        REQUIRE(batch->text.nbytes == batch->count * sizeof *items &&
                memcmp(batch->text.bytes, items, batch->text.nbytes) == 0);
}

static void let_go(void *kept, bool is_last)
{
    struct job *job = kept;
    REQUIRE(pthread_equal(job->caller, pthread_self()));
    job->let_go_count += !is_last;
}

/* ---- What is done ---- */

static void push(struct job *job, struct tbed_batches *batches, size_t count)
{
    for (size_t i = 0; i < count && job->pushed_count < ITEMS_MAX; i++) {
        *(uint64_t *)tbed_batches_push(batches) = job->pushed_count++;
        tbed_batches_current(batches)->kept = job;
    }
}

/* False: everything is closed early. */
static bool take_steps(struct job *job, struct tbed_batches *batches)
{
    for (size_t i = 0; i < job->step_count; i++) {
        switch (job->steps[i] >> 6) {
        case PUSH:
            push(job, batches, UNIT_ITEMS * (1 + (size_t)job->steps[i]));
            break;
        case FINISH:
            tbed_batches_finish(batches);
            REQUIRE(job->put_count == job->pushed_count);
            break;
        case WORK_ALONE:
            tbed_batches_work_alone(batches);
            job->alone_from = job->alone_from < job->pushed_count ? job->alone_from : job->pushed_count;
            break;
        default:
            return false;
        }
    }
    return true;
}

static void run(void *context)
{
    struct job *job = context;
    const struct tbed_batches_job what = {.item_nbytes = sizeof(uint64_t),
                                          .thread_count = job->thread_count,
                                          .work = work,
                                          .put = put,
                                          .let_go = let_go,
                                          .context = job};
    job->alone_from = UINT64_MAX;
    job->pushed_count = job->put_count = job->let_go_count = 0;
    failing_start();
    struct tbed_batches *batches = tbed_batches_open(&what);
    if (batches == NULL) {
        REQUIRE(failing_count() > 0);
    } else if (take_steps(job, batches)) {
        tbed_batches_finish(batches);
        REQUIRE(job->put_count == job->pushed_count);
        REQUIRE(job->let_go_count * UNIT_ITEMS * 8 >= job->pushed_count);
    }
    tbed_batches_close(batches);
    failing_stop();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    if (nbytes < HEAD_NBYTES)
        return 0;
    struct failing_plan plan = failing_plan_of(data + 1);
    struct job job = {.steps = data + HEAD_NBYTES,
                      .step_count = nbytes - HEAD_NBYTES,
                      .thread_count = 1 + data[0] % THREADS_MAX,
                      .caller = pthread_self()};
    failing_run(&plan, run, &job);
    return 0;
}
