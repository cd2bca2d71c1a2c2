/*
 * The first thread that needs the index builds it; others wait for it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>

#include "reader/tests/measureme/measureme_support.h"

#define THREAD_COUNT 4
#define ID_COUNT     5000

struct asker {
    const struct mm_file *file;
    pthread_barrier_t *barrier;
    uint64_t wrong;
};

static void *ask(void *argument)
{
    struct asker *asker = argument;
    struct mm_info info;
    struct mm_damage damage;
    pthread_barrier_wait(asker->barrier);
    for (uint64_t id = 0; id < ID_COUNT; id++) {
        uint64_t address = 0;
        bool is_found = mm_string_address(asker->file, id, &address);
        asker->wrong += !is_found || address != (id % 2 == 0 ? 8 : 12);
    }
    mm_info(asker->file, &info);
    asker->wrong += info.damage_count != 1 || !mm_damage_get(asker->file, 0, &damage);
    return NULL;
}

static void threads_may_ask_at_once(void **state)
{
    (void)state;
    struct profile profile;
    struct asker askers[THREAD_COUNT];
    pthread_t threads[THREAD_COUNT];
    pthread_barrier_t barrier;
    profile_start(&profile, 9);
    profile_text(&profile, "one");
    profile_text(&profile, "two");
    for (uint64_t id = 0; id < ID_COUNT; id++)
        profile_bind(&profile, id, id % 2 == 0 ? 8 : 12);
    profile_bind(&profile, ID_COUNT, 1000);
    struct profile_input input = input_make(&profile, 1000);
    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREAD_COUNT), 0);
    for (int round = 0; round < 20; round++) {
        struct mm_file *file = input_open(&input);
        for (int i = 0; i < THREAD_COUNT; i++) {
            askers[i] = (struct asker){.file = file, .barrier = &barrier};
            assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
        }
        for (int i = 0; i < THREAD_COUNT; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(askers[i].wrong, 0);
        }
        mm_close(file);
    }
    pthread_barrier_destroy(&barrier);
    input_free(&input);
    profile_free(&profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_may_ask_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
