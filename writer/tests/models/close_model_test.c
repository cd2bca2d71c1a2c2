/*
 * Models of closing a writer while threads record and count drops, and of stopping its helper thread.
 *
 * The first models the fast path of recorder_inline.h, refill(), next_block() and end_set() of
 * writer/record/recorder_blocks.c, tbed_recorders_stop() of recorder_stop.c, enter_map() and leave_map() of
 * writer/file/usable.c and stop_drops() of writer/life/writer.c. The second models writer/pages/seal_queue.c,
 * tbed_helper_wake() of helper_wake.c, and helper_run(), sleep_until_woken() and tbed_helper_stop() of
 * writer/life/helper.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/models/model.h"
#include "writer/tests/support.h"

/* ======== Recording and closing ======== */

struct closing {
    bool has_no_barrier;       /* no barrier between clearing 'end' and loading the mark */
    bool marks_idle_relaxed;   /* the mark between two records has no release order */
    bool saw_close_is_relaxed; /* nor has the flag that the owner has noticed the close */
    bool end_is_not_checked;   /* a new block is used without checking the flag again */
    bool counts_users_weakly;  /* users are counted with acquire and release order only */
    bool closes_weakly;        /* the same for the flag in stop_drops() */
    bool does_not_wait;        /* closing does not wait for users */
};

enum { MARK, END_OF_BLOCK, SAW_CLOSE, IS_CLOSING, BLOCK, CURSOR, WORD, USERS, IS_CLOSED, DROPS, LOCATIONS };
enum { READY, BUSY };
enum { RECORDER, CLOSER };
enum { EVENTS = 2, BLOCKS = 2 };

struct map { /* the file's contents, and whether it is still mapped */
    uint8_t stored[BLOCKS], sealed[BLOCKS];
    bool is_unmapped;
};

struct recorder {
    uint16_t found;
    uint8_t event, block, cursor;
    bool is_dropped;
};

static const char behind_seal[] = "an event is not covered by the seal";
static const char unmapped[] = "the file is used after it was unmapped";

static void use_map(struct model_run *run)
{
    if (((const struct map *)model_shared(run))->is_unmapped)
        model_fail(run, unmapped);
}

static bool drop(struct model_run *run, struct recorder *self, const struct closing *variant)
{
    enum model_order order = variant->counts_users_weakly ? ACQ_REL : SEQ_CST;
    BEGIN(run, 2);
    STEP(run, 2);
    self->found = model_load(run, IS_CLOSED, ACQUIRE);
    if (self->found != 0)
        RETURN(run, 2);
    STEP(run, 2);
    model_add(run, USERS, 1, order);
    STEP(run, 2);
    self->found = model_load(run, IS_CLOSED, variant->counts_users_weakly ? ACQUIRE : SEQ_CST);
    if (self->found == 0) {
        STEP(run, 2);
        model_add(run, DROPS, 1, ACQ_REL);
        use_map(run);
    }
    STEP(run, 2);
    model_add(run, USERS, (uint16_t)-1, order);
    END(run, 2);
}

/* Hands over the old block and begins a new one. */
static void next_block(struct model_run *run, struct recorder *self)
{
    ((struct map *)model_shared(run))->sealed[self->block] = self->cursor;
    self->block = 1;
    self->cursor = 0;
    use_map(run);
}

static bool refill(struct model_run *run, struct recorder *self, const struct closing *variant)
{
    BEGIN(run, 1);
    STEP(run, 1);
    self->found = model_load(run, IS_CLOSING, ACQUIRE);
    self->is_dropped = self->found != 0;
    if (self->is_dropped) {
        STEP(run, 1);
        model_store(run, SAW_CLOSE, 1, variant->saw_close_is_relaxed ? RELAXED : RELEASE);
        CALL(run, 1, drop(run, self, variant));
        RETURN(run, 1);
    }
    next_block(run, self);
    STEP(run, 1);
    model_store(run, BLOCK, self->block, RELAXED);
    STEP(run, 1);
    model_store(run, CURSOR, 0, RELAXED);
    STEP(run, 1);
    model_store(run, END_OF_BLOCK, 1, SEQ_CST);
    if (variant->end_is_not_checked)
        RETURN(run, 1);
    STEP(run, 1);
    self->found = model_load(run, IS_CLOSING, SEQ_CST);
    if (self->found != 0) {
        STEP(run, 1);
        model_store(run, END_OF_BLOCK, 0, SEQ_CST);
    }
    END(run, 1);
}

static bool record(struct model_run *run, struct recorder *self, const struct closing *variant)
{
    BEGIN(run, 0);
    for (self->event = 0; self->event < EVENTS; self->event++) {
        STEP(run, 0);
        model_store(run, MARK, BUSY, RELAXED);
        STEP(run, 0);
        self->found = model_load(run, END_OF_BLOCK, CONTROL);
        self->is_dropped = false;
        if (self->found == 0)
            CALL(run, 0, refill(run, self, variant));
        if (!self->is_dropped) {
            STEP(run, 0);
            model_store(run, WORD, (uint16_t)(1 + self->event), RELEASE);
            ((struct map *)model_shared(run))->stored[self->block]++;
            use_map(run);
            STEP(run, 0);
            model_store(run, CURSOR, ++self->cursor, RELAXED);
        }
        STEP(run, 0);
        model_store(run, MARK, READY, variant->marks_idle_relaxed ? RELAXED : RELEASE);
    }
    END(run, 0);
}

struct closer {
    uint16_t found, block;
};

static bool barrier_for_all_threads(struct model_run *run)
{
    BEGIN(run, 1);
    STEP(run, 1);
    model_fence(run, SEQ_CST);
    STEP(run, 1);
    model_fence_other(run, RECORDER);
    STEP(run, 1);
    model_fence(run, SEQ_CST);
    END(run, 1);
}

static bool recorder_stop(struct model_run *run, struct closer *self)
{
    BEGIN(run, 1);
    for (;;) {
        STEP(run, 1);
        self->found = model_load(run, MARK, ACQUIRE);
        if (self->found != BUSY)
            break;
        STEP(run, 1);
        self->found = model_load(run, SAW_CLOSE, ACQUIRE);
        if (self->found != 0)
            break;
    }
    END(run, 1);
}

static bool close_writer(struct model_run *run, struct closer *self, const struct closing *variant)
{
    struct map *map = model_shared(run);
    BEGIN(run, 0);
    STEP(run, 0);
    model_store(run, IS_CLOSING, 1, SEQ_CST);
    STEP(run, 0);
    model_store(run, END_OF_BLOCK, 0, SEQ_CST);
    if (!variant->has_no_barrier)
        CALL(run, 0, barrier_for_all_threads(run));
    CALL(run, 0, recorder_stop(run, self));
    STEP(run, 0);
    self->block = model_load(run, BLOCK, RELAXED);
    STEP(run, 0);
    map->sealed[self->block] = (uint8_t)model_load(run, CURSOR, RELAXED);
    STEP(run, 0);
    model_store(run, IS_CLOSED, 1, variant->closes_weakly ? RELEASE : SEQ_CST);
    self->found = !variant->does_not_wait;
    while (self->found != 0) {
        STEP(run, 0);
        self->found = model_load(run, USERS, variant->closes_weakly ? ACQUIRE : SEQ_CST);
    }
    map->is_unmapped = true;
    END(run, 0);
}

static bool closing_step(struct model_run *run, int thread)
{
    if (thread == RECORDER)
        return record(run, model_local(run, thread), model_variant(run));
    return close_writer(run, model_local(run, thread), model_variant(run));
}

static const char *closing_rule(struct model_run *run)
{
    const struct map *map = model_shared(run);
    for (int i = 0; i < BLOCKS && model_is_over(run); i++)
        if (map->stored[i] != map->sealed[i])
            return behind_seal;
    return NULL;
}

static const char *search_closing(const char *name, struct closing variant, const char *wanted)
{
    struct model model = {
        .name = name,
        .variant = &variant,
        .thread_count = 2,
        .location_count = LOCATIONS,
        .initial = {[END_OF_BLOCK] = 1},
        .step = closing_step,
        .broken_rule = closing_rule,
        .location_names = {"mark", "end", "saw_close", "is_closing", "block", "cursor", "a word", "users",
                           "is_closed", "drops"},
        .thread_names = {"recorder", "closer"},
    };
    return model_search(&model, wanted).broken;
}

/* ======== The helper and its queue ======== */

struct helping {
    bool puts_relaxed;      /* the slot has no release order */
    bool loads_wake_last;   /* the helper loads 'wake' after the flag to stop */
    bool wakes_weakly;      /* the waking thread loads 'is_asleep' without sequential consistency */
    bool runs_no_last_time; /* the thread that stops the helper leaves the queue alone */
};

enum {
    WAKE,
    IS_ASLEEP,
    MUST_STOP,
    HEAD,
    TAIL,
    SLOTS,
    CONTENTS = SLOTS + BLOCKS,
    HELPER_LOCATIONS = CONTENTS + BLOCKS
};
enum { FUTEX, THREAD_END };
enum { STOPPER, HELPER };

struct queue {
    uint8_t sealed[BLOCKS];
    bool is_sleeping;
};

struct helper {
    uint16_t wake, found, tail, head;
};

static const char sealed_early[] = "a block is sealed before its last event";
static const char not_sealed_once[] = "a block was sealed twice or not at all";

/* Seals all blocks in the queue. */
static bool queue_run(struct model_run *run, struct helper *self)
{
    struct queue *queue = model_shared(run);
    BEGIN(run, 1);
    for (;;) {
        STEP(run, 1);
        self->tail = model_load(run, TAIL, CONTROL); /* only this thread changes it */
        STEP(run, 1);
        self->found = model_load(run, SLOTS + self->tail % BLOCKS, ACQUIRE);
        if (self->found == 0)
            break;
        STEP(run, 1);
        model_store(run, SLOTS + self->tail % BLOCKS, 0, RELEASE);
        STEP(run, 1);
        model_store(run, TAIL, (uint16_t)(self->tail + 1), RELEASE);
        STEP(run, 1);
        if (model_load(run, CONTENTS + self->found - 1, CONTROL) == 0)
            model_fail(run, sealed_early);
        queue->sealed[self->found - 1]++;
    }
    END(run, 1);
}

/* The kernel executes a fence, then compares the word and puts the thread to sleep atomically. */
static bool sleep_until_woken(struct model_run *run, struct helper *self)
{
    struct queue *queue = model_shared(run);
    BEGIN(run, 1);
    STEP(run, 1);
    model_store(run, IS_ASLEEP, 1, SEQ_CST);
    STEP(run, 1);
    model_fence(run, SEQ_CST);
    STEP(run, 1);
    model_lock(run, FUTEX);
    STEP(run, 1);
    queue->is_sleeping = model_load(run, WAKE, CONTROL) == self->wake;
    STEP(run, 1);
    model_unlock(run, FUTEX);
    if (queue->is_sleeping) {
        STEP(run, 1);
        if (queue->is_sleeping)
            model_wait(run);
    }
    STEP(run, 1);
    model_store(run, IS_ASLEEP, 0, SEQ_CST);
    END(run, 1);
}

static bool helper_run(struct model_run *run, struct helper *self, const struct helping *variant)
{
    BEGIN(run, 0);
    for (;;) {
        STEP(run, 0);
        self->wake = model_load(run, variant->loads_wake_last ? MUST_STOP : WAKE, ACQUIRE);
        STEP(run, 0);
        self->found = model_load(run, variant->loads_wake_last ? WAKE : MUST_STOP, ACQUIRE);
        if (variant->loads_wake_last) {
            uint16_t must_stop = self->wake;
            self->wake = self->found;
            self->found = must_stop;
        }
        if (self->found != 0)
            break;
        CALL(run, 0, queue_run(run, self));
        CALL(run, 0, sleep_until_woken(run, self));
    }
    STEP(run, 0);
    model_call_kernel(run, THREAD_END);
    END(run, 0);
}

/* tbed_seal_queue_put(), with a single producer: the model leaves out that competing threads retry the swap. */
static bool put(struct model_run *run, struct helper *self, const struct helping *variant)
{
    BEGIN(run, 1);
    STEP(run, 1);
    model_store(run, CONTENTS + self->head, 1, RELAXED);
    STEP(run, 1);
    model_add(run, HEAD, 1, ACQ_REL);
    STEP(run, 1);
    model_store(run, SLOTS + self->head, (uint16_t)(self->head + 1),
                variant->puts_relaxed ? RELAXED : RELEASE);
    END(run, 1);
}

static bool wake(struct model_run *run, struct helper *self, const struct helping *variant)
{
    BEGIN(run, 1);
    STEP(run, 1);
    model_add(run, WAKE, 1, variant->wakes_weakly ? ACQ_REL : SEQ_CST);
    STEP(run, 1);
    self->found = model_load(run, IS_ASLEEP, variant->wakes_weakly ? ACQUIRE : SEQ_CST);
    if (self->found != 0) {
        STEP(run, 1);
        model_lock(run, FUTEX);
        ((struct queue *)model_shared(run))->is_sleeping = false;
        STEP(run, 1);
        model_unlock(run, FUTEX);
    }
    END(run, 1);
}

static bool fill_and_stop(struct model_run *run, struct helper *self, const struct helping *variant)
{
    BEGIN(run, 0);
    for (self->head = 0; self->head < BLOCKS; self->head++)
        CALL(run, 0, put(run, self, variant));
    STEP(run, 0);
    model_store(run, MUST_STOP, 1, RELEASE);
    CALL(run, 0, wake(run, self, variant));
    STEP(run, 0);
    if (!model_has_ended(run, HELPER))
        model_wait(run);
    else
        model_call_kernel(run, THREAD_END);
    if (!variant->runs_no_last_time)
        CALL(run, 0, queue_run(run, self));
    END(run, 0);
}

static bool helping_step(struct model_run *run, int thread)
{
    if (thread == HELPER)
        return helper_run(run, model_local(run, thread), model_variant(run));
    return fill_and_stop(run, model_local(run, thread), model_variant(run));
}

static const char *helping_rule(struct model_run *run)
{
    const struct queue *queue = model_shared(run);
    for (int i = 0; i < BLOCKS && model_is_over(run); i++)
        if (queue->sealed[i] != 1)
            return not_sealed_once;
    return NULL;
}

static const char *search_helping(const char *name, struct helping variant, const char *wanted)
{
    struct model model = {
        .name = name,
        .variant = &variant,
        .thread_count = 2,
        .location_count = HELPER_LOCATIONS,
        .step = helping_step,
        .broken_rule = helping_rule,
        .location_names = {"wake", "is_asleep", "must_stop", "head", "tail", "slot 0", "slot 1", "block 0",
                           "block 1"},
        .thread_names = {"stopper", "helper"},
    };
    return model_search(&model, wanted).broken;
}

/* ======== Tests ======== */

static void close_loses_no_event_and_waits_for_drops(void **state)
{
    (void)state;
    assert_null(search_closing("close", (struct closing){.does_not_wait = false}, NULL));
}

static void each_part_of_a_close_is_needed(void **state)
{
    (void)state;
    assert_ptr_equal(search_closing("no barrier", (struct closing){.has_no_barrier = true}, behind_seal),
                     behind_seal);
    assert_ptr_equal(
        search_closing("idle without release", (struct closing){.marks_idle_relaxed = true}, behind_seal),
        behind_seal);
    assert_ptr_equal(search_closing("saw_close without release",
                                    (struct closing){.saw_close_is_relaxed = true}, behind_seal),
                     behind_seal);
    assert_ptr_equal(search_closing("a new block without a check",
                                    (struct closing){.end_is_not_checked = true}, behind_seal),
                     behind_seal);
}

static void drops_need_sequential_consistency(void **state)
{
    (void)state;
    assert_ptr_equal(
        search_closing("users counted weakly", (struct closing){.counts_users_weakly = true}, unmapped),
        unmapped);
    assert_ptr_equal(search_closing("closed weakly", (struct closing){.closes_weakly = true}, unmapped),
                     unmapped);
    assert_ptr_equal(search_closing("no wait for users", (struct closing){.does_not_wait = true}, unmapped),
                     unmapped);
}

static void helper_seals_each_block_once_and_stops(void **state)
{
    (void)state;
    assert_null(search_helping("helper", (struct helping){.puts_relaxed = false}, NULL));
}

static void each_part_of_the_helper_is_needed(void **state)
{
    static const char stuck[] = "no thread can continue";
    (void)state;
    assert_ptr_equal(
        search_helping("put without release", (struct helping){.puts_relaxed = true}, sealed_early),
        sealed_early);
    assert_string_equal(search_helping("wake loaded last", (struct helping){.loads_wake_last = true}, stuck),
                        stuck);
    assert_string_equal(search_helping("woken weakly", (struct helping){.wakes_weakly = true}, stuck), stuck);
    assert_ptr_equal(
        search_helping("no last run", (struct helping){.runs_no_last_time = true}, not_sealed_once),
        not_sealed_once);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_loses_no_event_and_waits_for_drops),
        cmocka_unit_test(each_part_of_a_close_is_needed),
        cmocka_unit_test(drops_need_sequential_consistency),
        cmocka_unit_test(helper_seals_each_block_once_and_stops),
        cmocka_unit_test(each_part_of_the_helper_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
