/*
 * Batches: whatever the number of threads, all items come out, once and in order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/batches.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { THREADS_MAX = 5 };

struct job {
    pthread_t caller;
    int in_use[THREADS_MAX]; /* atomic */
    uint64_t alone_from;     /* items from here on are the caller's own work */
    uint64_t put_count;
};

static void work(void *context, unsigned thread, struct tbed_batch *batch)
{
    struct job *job = context;
    const uint64_t *items = batch->items;
    assert_in_range(thread, 0, THREADS_MAX - 1);
    assert_int_equal(__atomic_exchange_n(&job->in_use[thread], 1, __ATOMIC_ACQUIRE), 0);
    assert_int_equal(batch->text.nbytes, 0);
    for (size_t i = 0; i < batch->count; i++) {
        if (items[i] >= job->alone_from)
            assert_int_equal(thread, 0);
        tbed_text_u64(&batch->text, items[i]);
        tbed_text_put(&batch->text, "\n", 1);
    }
    if (batch->count > 0 && items[0] % 7 == 0) /* now and then a text that is not kept */
        tbed_text_reserve(&batch->text, 2 << 20);
    __atomic_store_n(&job->in_use[thread], 0, __ATOMIC_RELEASE);
}

static void put(void *context, const struct tbed_batch *batch)
{
    struct job *job = context;
    assert_true(pthread_equal(job->caller, pthread_self()));
    for (size_t at = 0; at < batch->text.nbytes;) {
        uint64_t value = 0;
        for (; batch->text.bytes[at] != '\n'; at++)
            value = value * 10 + (uint64_t)(batch->text.bytes[at] - '0');
        assert_int_equal(value, job->put_count++);
        at++;
    }
}

static struct tbed_batches *open_batches(struct job *job, unsigned thread_count)
{
    *job = (struct job){.caller = pthread_self(), .alone_from = UINT64_MAX};
    const struct tbed_batches_job what = {.item_nbytes = sizeof(uint64_t),
                                          .thread_count = thread_count,
                                          .work = work,
                                          .put = put,
                                          .context = job};
    struct tbed_batches *batches = tbed_batches_open(&what);
    assert_non_null(batches);
    return batches;
}

static void push(struct tbed_batches *batches, uint64_t from, uint64_t end)
{
    for (uint64_t i = from; i < end; i++)
        *(uint64_t *)tbed_batches_push(batches) = i;
}

static void all_items_come_out_in_order(void **state)
{
    static const uint64_t counts[] = {0, 1, 511, 512, 513, 1024, 1025, 40000};
    (void)state;
    for (unsigned threads = 1; threads <= THREADS_MAX; threads++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            struct job job;
            struct tbed_batches *batches = open_batches(&job, threads);
            push(batches, 0, counts[i]);
            tbed_batches_finish(batches);
            assert_int_equal(job.put_count, counts[i]);
            push(batches, counts[i], counts[i] + 3); /* and on */
            tbed_batches_finish(batches);
            assert_int_equal(job.put_count, counts[i] + 3);
            tbed_batches_close(batches);
        }
}

static void the_caller_can_do_all_the_work(void **state)
{
    (void)state;
    for (uint64_t from = 0; from <= 10240; from += 2048) {
        struct job job;
        struct tbed_batches *batches = open_batches(&job, THREADS_MAX);
        push(batches, 0, from);
        tbed_batches_work_alone(batches);
        job.alone_from = from;
        push(batches, from, from + 9999);
        tbed_batches_finish(batches);
        assert_int_equal(job.put_count, from + 9999);
        tbed_batches_close(batches);
    }
}

static void closing_early_leaves_nothing_behind(void **state)
{
    struct job job;
    (void)state;
    struct tbed_batches *batches = open_batches(&job, 3);
    push(batches, 0, 20000);
    tbed_batches_close(batches);
    assert_true(job.put_count < 20000);
    tbed_batches_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_items_come_out_in_order),
        cmocka_unit_test(the_caller_can_do_all_the_work),
        cmocka_unit_test(closing_early_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
