/*
 * Tests the model checker itself with the litmus tests of the literature: programs of a few accesses whose possible
 * outcomes are known.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/models/model.h"
#include "writer/tests/support.h"

#include <string.h>

enum { X, Y, Z };

/* ---- A program: for each thread, accesses in order ---- */

enum act { END_OF_THREAD, LOAD, STORE, ADD, SWAP, FENCE, BARRIER_FOR, DEATH_OF };

struct access {
    enum act act;
    int location; /* BARRIER_FOR: a thread; DEATH_OF: a process */
    uint16_t value;
    enum model_order order;
};

/* The outcome to search for: the values that each thread loads, in order, and the final values. */
struct outcome {
    uint16_t loaded[4][3];
    bool has_last;
    uint16_t last[3];
};

struct program {
    struct access threads[4][6];
    struct outcome outcome;
};

struct local {
    uint16_t at, loaded_count;
    uint16_t loaded[3];
};

static bool step(struct model_run *run, int thread)
{
    const struct program *program = model_variant(run);
    struct local *local = model_local(run, thread);
    uint16_t *loaded = model_shared(run);
    const struct access *access = &program->threads[thread][local->at++];
    uint16_t found = 0;
    bool is_load =
        access->act == LOAD || access->act == ADD || access->act == SWAP || access->act == DEATH_OF;
    if (access->act == END_OF_THREAD)
        return true;
    if (access->act == LOAD)
        found = model_load(run, access->location, access->order);
    else if (access->act == STORE)
        model_store(run, access->location, access->value, access->order);
    else if (access->act == ADD)
        found = model_add(run, access->location, access->value, access->order);
    else if (access->act == SWAP)
        found = model_swap(run, access->location, &found, access->value, access->order, RELAXED);
    else if (access->act == FENCE)
        model_fence(run, access->order);
    else if (access->act == BARRIER_FOR)
        model_fence_other(run, access->location);
    else
        found = model_sees_death(run, access->location);
    if (is_load)
        loaded[3 * thread + local->loaded_count++] = found;
    return false;
}

static const char *broken_rule(struct model_run *run)
{
    const struct outcome *outcome = &((const struct program *)model_variant(run))->outcome;
    bool is_it =
        model_is_over(run) && memcmp(model_shared(run), outcome->loaded, sizeof outcome->loaded) == 0;
    for (int i = X; i <= Z && outcome->has_last; i++)
        is_it = is_it && model_latest(run, i) == outcome->last[i];
    return is_it ? "the outcome" : NULL;
}

static int thread_count(const struct program *program)
{
    int count = 0;
    while (count < 4 && program->threads[count][0].act != END_OF_THREAD)
        count++;
    return count;
}

static bool has_outcome(const char *name, const struct program *program)
{
    struct model model = {
        .name = name,
        .variant = program,
        .thread_count = thread_count(program),
        .location_count = 3,
        .process_of = {0, 1, 2, 3},
        .step = step,
        .broken_rule = broken_rule,
    };
    return model_search(&model, "the outcome").broken != NULL;
}

/* ---- Messages: data, then a flag ---- */

static struct program message(enum model_order store, enum model_order load)
{
    return (struct program){
        .threads = {{{STORE, X, 1, RELAXED}, {STORE, Y, 1, store}},
                    {{LOAD, Y, 0, load}, {LOAD, X, 0, RELAXED}}},
        .outcome.loaded = {{0}, {1, 0}},
    };
}

static void message_needs_release_and_acquire(void **state)
{
    (void)state;
    struct program relaxed = message(RELAXED, RELAXED), no_release = message(RELAXED, ACQUIRE);
    struct program no_acquire = message(RELEASE, RELAXED), ordered = message(RELEASE, ACQUIRE);
    assert_true(has_outcome("MP", &relaxed));
    assert_true(has_outcome("MP, acquire alone", &no_release));
    assert_true(has_outcome("MP, release alone", &no_acquire));
    assert_false(has_outcome("MP, release and acquire", &ordered));
}

static void fences_order_messages(void **state)
{
    (void)state;
    struct program both = {
        .threads = {{{STORE, X, 1, RELAXED}, {FENCE, 0, 0, RELEASE}, {STORE, Y, 1, RELAXED}},
                    {{LOAD, Y, 0, RELAXED}, {FENCE, 0, 0, ACQUIRE}, {LOAD, X, 0, RELAXED}}},
        .outcome.loaded = {{0}, {1, 0}},
    };
    struct program behind = both;
    memcpy(behind.threads[0],
           (struct access[6]){{FENCE, 0, 0, RELEASE}, {STORE, X, 1, RELAXED}, {STORE, Y, 1, RELAXED}},
           sizeof behind.threads[0]);
    assert_false(has_outcome("MP, fences", &both));
    assert_true(has_outcome("MP, a fence too early", &behind));
}

/* Stores that follow a release store may be seen before it. */
static void later_stores_may_pass_a_release_store(void **state)
{
    (void)state;
    struct program program = {
        .threads = {{{STORE, X, 1, RELEASE}, {STORE, Y, 1, RELAXED}},
                    {{LOAD, Y, 0, ACQUIRE}, {LOAD, X, 0, ACQUIRE}}},
        .outcome.loaded = {{0}, {1, 0}},
    };
    assert_true(has_outcome("MP, release first", &program));
}

static void causes_are_seen_through_a_third_thread(void **state)
{
    (void)state;
    struct program program = {
        .threads = {{{STORE, X, 1, RELAXED}, {STORE, Y, 1, RELEASE}},
                    {{LOAD, Y, 0, ACQUIRE}, {STORE, Z, 1, RELEASE}},
                    {{LOAD, Z, 0, ACQUIRE}, {LOAD, X, 0, RELAXED}}},
        .outcome.loaded = {{0}, {1}, {1, 0}},
    };
    assert_false(has_outcome("ISA2", &program));
    program.threads[1][1].order = RELAXED;
    assert_true(has_outcome("ISA2, the second relaxed", &program));
}

/* ---- Store buffering: a store, then a load ---- */

static struct program buffered(enum model_order store, enum model_order load)
{
    return (struct program){
        .threads = {{{STORE, X, 1, store}, {LOAD, Y, 0, load}}, {{STORE, Y, 1, store}, {LOAD, X, 0, load}}},
        .outcome.loaded = {{0}, {0}},
    };
}

static void store_and_load_need_sequential_consistency(void **state)
{
    (void)state;
    struct program relaxed = buffered(RELAXED, RELAXED), ordered = buffered(RELEASE, ACQUIRE);
    struct program loads = buffered(SEQ_CST, ACQUIRE), stores = buffered(RELEASE, SEQ_CST);
    struct program consistent = buffered(SEQ_CST, SEQ_CST);
    assert_true(has_outcome("SB", &relaxed));
    assert_true(has_outcome("SB, release and acquire", &ordered));
    assert_true(has_outcome("SB, only stores consistent", &loads));
    assert_true(has_outcome("SB, only loads consistent", &stores));
    assert_false(has_outcome("SB, sequentially consistent", &consistent));
}

static void fences_order_a_store_and_a_load(void **state)
{
    (void)state;
    struct program program = {
        .threads = {{{STORE, X, 1, RELAXED}, {FENCE, 0, 0, SEQ_CST}, {LOAD, Y, 0, RELAXED}},
                    {{STORE, Y, 1, RELAXED}, {FENCE, 0, 0, SEQ_CST}, {LOAD, X, 0, RELAXED}}},
        .outcome.loaded = {{0}, {0}},
    };
    assert_false(has_outcome("SB, fences", &program));
    program.threads[1][1].order = ACQ_REL;
    assert_true(has_outcome("SB, one fence too weak", &program));
    program.threads[1][0].order = program.threads[1][2].order = SEQ_CST;
    program.threads[1][1].order = ACQUIRE;
    assert_false(has_outcome("SB, a fence and consistent accesses", &program));
}

/* membarrier() in one thread replaces fences in both. */
static void barrier_orders_the_other_thread(void **state)
{
    (void)state;
    struct program program = {
        .threads = {{{STORE, X, 1, RELAXED}, {LOAD, Y, 0, RELAXED}},
                    {{STORE, Y, 1, RELAXED},
                     {FENCE, 0, 0, SEQ_CST},
                     {BARRIER_FOR, 0, 0, SEQ_CST},
                     {LOAD, X, 0, RELAXED}}},
        .outcome.loaded = {{0}, {0}},
    };
    assert_true(has_outcome("SB, barrier without its last fence", &program));
    struct program whole = {
        .threads = {{{STORE, X, 1, RELAXED}, {LOAD, Y, 0, RELAXED}},
                    {{STORE, Y, 1, RELAXED},
                     {FENCE, 0, 0, SEQ_CST},
                     {BARRIER_FOR, 0, 0, SEQ_CST},
                     {FENCE, 0, 0, SEQ_CST},
                     {LOAD, X, 0, RELAXED}}},
        .outcome.loaded = {{0}, {0}},
    };
    assert_false(has_outcome("SB, barrier", &whole));
}

/* A sequentially consistent load may take effect before earlier plain loads, as LDAR may before LDR. */
static void consistent_load_may_be_early(void **state)
{
    (void)state;
    struct program program = {
        .threads = {{{STORE, X, 1, SEQ_CST}, {STORE, Y, 1, SEQ_CST}},
                    {{LOAD, Y, 0, RELAXED}, {LOAD, X, 0, SEQ_CST}}},
        .outcome.loaded = {{0}, {1, 0}},
    };
    assert_true(has_outcome("MP, consistent, the flag relaxed", &program));
    program.threads[1][0].order = SEQ_CST;
    assert_false(has_outcome("MP, consistent", &program));
}

/* ---- One location ---- */

static void one_location_has_one_order(void **state)
{
    (void)state;
    struct program same = {
        .threads = {{{STORE, X, 1, RELAXED}}, {{LOAD, X, 0, RELAXED}, {LOAD, X, 0, RELAXED}}},
        .outcome.loaded = {{0}, {1, 0}},
    };
    struct program two = {
        .threads = {{{STORE, X, 1, RELAXED}},
                    {{STORE, X, 2, RELAXED}},
                    {{LOAD, X, 0, RELAXED}, {LOAD, X, 0, RELAXED}},
                    {{LOAD, X, 0, RELAXED}, {LOAD, X, 0, RELAXED}}},
        .outcome.loaded = {{0}, {0}, {1, 2}, {2, 1}},
    };
    struct program own = {
        .threads = {{{STORE, X, 1, RELAXED}, {LOAD, X, 0, RELAXED}}},
        .outcome.loaded = {{0}},
    };
    assert_false(has_outcome("CoRR", &same));
    assert_false(has_outcome("CoRR, two writers", &two));
    assert_false(has_outcome("CoWR", &own));
}

static void stores_of_two_locations_may_end_crosswise(void **state)
{
    (void)state;
    struct program program = {
        .threads = {{{STORE, X, 1, RELAXED}, {STORE, Y, 2, RELAXED}},
                    {{STORE, Y, 1, RELAXED}, {STORE, X, 2, RELAXED}}},
        .outcome = {.has_last = true, .last = {1, 1, 0}},
    };
    assert_true(has_outcome("2+2W", &program));
    struct program s = {
        .threads = {{{STORE, X, 2, RELAXED}, {STORE, Y, 1, RELEASE}},
                    {{LOAD, Y, 0, ACQUIRE}, {STORE, X, 1, RELAXED}}},
        .outcome = {.loaded = {{0}, {1}}, .has_last = true, .last = {2, 1, 0}},
    };
    assert_false(has_outcome("S, release and acquire", &s));
    s.threads[0][1].order = RELAXED;
    assert_true(has_outcome("S", &s));
}

/* Test R: the modification order of a location agrees with the order of sequentially consistent stores. */
static void consistent_stores_have_one_order(void **state)
{
    (void)state;
    struct program program = {
        .threads = {{{STORE, X, 1, SEQ_CST}, {STORE, Y, 1, SEQ_CST}},
                    {{STORE, Y, 2, SEQ_CST}, {LOAD, X, 0, SEQ_CST}}},
        .outcome = {.loaded = {{0}, {0}}, .has_last = true, .last = {1, 2, 0}},
    };
    assert_false(has_outcome("R, consistent", &program));
    program.threads[1][0].order = RELEASE;
    assert_true(has_outcome("R, one store weaker", &program));
}

static void additions_and_swaps_are_atomic(void **state)
{
    (void)state;
    struct program add = {
        .threads = {{{ADD, X, 1, RELAXED}}, {{ADD, X, 1, RELAXED}}},
        .outcome = {.has_last = true, .last = {1, 0, 0}},
    };
    struct program both = {
        .threads = {{{SWAP, X, 1, RELAXED}}, {{SWAP, X, 2, RELAXED}}},
        .outcome.loaded = {{1}, {1}},
    };
    assert_false(has_outcome("two additions", &add));
    assert_false(has_outcome("two swaps", &both));
}

/* ---- Release sequences ---- */

static void addition_continues_a_release_sequence(void **state)
{
    (void)state;
    struct program program = {
        .threads = {{{STORE, X, 1, RELAXED}, {STORE, Y, 1, RELEASE}},
                    {{ADD, Y, 1, RELAXED}},
                    {{LOAD, Y, 0, ACQUIRE}, {LOAD, X, 0, RELAXED}}},
        .outcome.loaded = {{0}, {1}, {2, 0}},
    };
    assert_false(has_outcome("a release sequence", &program));
    program.threads[1][0] = (struct access){STORE, Y, 2, RELAXED};
    program.outcome = (struct outcome){.loaded = {{0}, {0}, {2, 0}}, .has_last = true, .last = {1, 2, 0}};
    assert_true(has_outcome("a release sequence, broken by a store", &program));
}

/* ---- What the checker allows although arm64 does not, and what it does not cover ---- */

static void independent_readers_may_disagree(void **state)
{
    (void)state;
    struct program program = {
        .threads = {{{STORE, X, 1, RELEASE}},
                    {{STORE, Y, 1, RELEASE}},
                    {{LOAD, X, 0, ACQUIRE}, {LOAD, Y, 0, ACQUIRE}},
                    {{LOAD, Y, 0, ACQUIRE}, {LOAD, X, 0, ACQUIRE}}},
        .outcome.loaded = {{0}, {0}, {1, 0}, {1, 0}},
    };
    assert_true(has_outcome("IRIW", &program));
    for (int i = 0; i < 4; i++)
        program.threads[i][0].order = program.threads[i][1].order = SEQ_CST;
    assert_true(has_outcome("IRIW, consistent", &program)); /* neither C17 nor arm64 allows this */
}

static void store_that_may_overtake_a_load_is_refused(void **state)
{
    (void)state;
    struct program program = {
        .threads = {{{LOAD, X, 0, RELAXED}, {STORE, Y, 1, RELAXED}},
                    {{LOAD, Y, 0, RELAXED}, {STORE, X, 1, RELAXED}}},
        .outcome.loaded = {{1}, {1}},
    };
    struct model model = {
        .name = "LB", .variant = &program, .thread_count = 2, .location_count = 3, .step = step};
    assert_non_null(
        model_search(&model, "a store may overtake a load before it, which the checker does not cover")
            .broken);
    for (int i = 0; i < 2; i++)
        program.threads[i][0].order = ACQUIRE;
    assert_false(has_outcome("LB, acquire", &program));
}

/* ---- Kills ---- */

static bool can_load_when_killed(uint16_t y, uint16_t is_dead, uint16_t x)
{
    struct program program = {
        .threads = {{{STORE, X, 1, RELAXED}, {STORE, Y, 1, RELAXED}},
                    {{LOAD, Y, 0, RELAXED}, {DEATH_OF, 0, 0, RELAXED}, {LOAD, X, 0, RELAXED}}},
        .outcome.loaded = {{0}, {y, is_dead, x}},
    };
    struct model model = {
        .name = "a killed writer",
        .variant = &program,
        .thread_count = 2,
        .location_count = 3,
        .process_of = {0, 1},
        .can_be_killed = 1,
        .step = step,
        .broken_rule = broken_rule,
    };
    return model_search(&model, "the outcome").broken != NULL;
}

/* A thread that knows of the death sees every store before it; other threads may see the stores in any order. */
static void death_makes_stores_visible(void **state)
{
    (void)state;
    assert_true(can_load_when_killed(1, 0, 0));
    assert_true(can_load_when_killed(0, 1, 1));
    assert_true(can_load_when_killed(0, 1, 0));
    assert_false(can_load_when_killed(1, 1, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_needs_release_and_acquire),
        cmocka_unit_test(fences_order_messages),
        cmocka_unit_test(later_stores_may_pass_a_release_store),
        cmocka_unit_test(causes_are_seen_through_a_third_thread),
        cmocka_unit_test(store_and_load_need_sequential_consistency),
        cmocka_unit_test(fences_order_a_store_and_a_load),
        cmocka_unit_test(barrier_orders_the_other_thread),
        cmocka_unit_test(consistent_load_may_be_early),
        cmocka_unit_test(one_location_has_one_order),
        cmocka_unit_test(stores_of_two_locations_may_end_crosswise),
        cmocka_unit_test(consistent_stores_have_one_order),
        cmocka_unit_test(additions_and_swaps_are_atomic),
        cmocka_unit_test(addition_continues_a_release_sequence),
        cmocka_unit_test(independent_readers_may_disagree),
        cmocka_unit_test(store_that_may_overtake_a_load_is_refused),
        cmocka_unit_test(death_makes_stores_visible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
