/*
 * A model of rotations while a thread records.
 *
 * It models the fast path of recorder_inline.h, refill(), wait_for_rotation(), may_go_on(), next_block() and end_set()
 * of writer/record/recorder_blocks.c, tbed_recorders_pause(), is_storing() and hand_over() of recorder_stop.c, and
 * pause_and_rotate() and leave_old() of writer/life/rotate.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/models/model.h"
#include "writer/tests/support.h"

struct protocol {
    bool has_no_barrier;       /* no barrier between clearing 'end' and loading the mark */
    bool does_not_wait;        /* the rotation does not wait for a recorder inside a record */
    bool marks_idle_relaxed;   /* the mark between two records has no release order */
    bool end_is_not_checked;   /* a new block is used without checking the flag again */
    bool looks_once;           /* a recorder that has waited does not check the flag again */
    bool saw_close_stays;      /* nor does it take back its announcement that it stays off the pages */
    bool saw_close_is_relaxed; /* that announcement has no release order */
    bool waits_for_nothing;    /* a recorder does not wait at 'pause_lock' */
};

enum { MARK, END_OF_BLOCK, SAW_CLOSE, IS_ROTATING, BLOCK, CURSOR, WORD, LOCATIONS };
enum { READY, BUSY };
enum { PAUSE_LOCK };
enum { RECORDER, ROTATOR };
enum { EVENTS = 3, ROTATIONS = 2, FILES = ROTATIONS + 1 };

/* A block's number is that of its file plus 1. An event goes into the file that is mapped when it is stored. */
struct files {
    uint8_t mapped;
    uint8_t stored[FILES], sealed[FILES];
    bool is_handed_over[FILES];
};

struct recorder {
    uint16_t found;
    uint8_t event, block, cursor;
};

struct rotator {
    uint16_t found, block;
    uint8_t number;
    bool fails;
};

static const char behind_seal[] = "an event is not covered by the seal";
static const char wrong_file[] = "an event is in a different file than its block";

/* ---- The recorder ---- */

static bool wait_for_rotation(struct model_run *run, struct recorder *self, const struct protocol *protocol)
{
    BEGIN(run, 2);
    for (;;) {
        STEP(run, 2);
        self->found = model_load(run, IS_ROTATING, SEQ_CST);
        if (self->found == 0)
            break;
        STEP(run, 2);
        model_store(run, SAW_CLOSE, 1, protocol->saw_close_is_relaxed ? RELAXED : SEQ_CST);
        if (!protocol->waits_for_nothing) {
            STEP(run, 2);
            model_lock(run, PAUSE_LOCK);
            STEP(run, 2);
            model_unlock(run, PAUSE_LOCK);
        }
        if (!protocol->saw_close_stays) {
            STEP(run, 2);
            model_store(run, SAW_CLOSE, 0, SEQ_CST);
        }
        if (protocol->looks_once)
            break;
    }
    END(run, 2);
}

static bool end_set(struct model_run *run, struct recorder *self, const struct protocol *protocol)
{
    BEGIN(run, 2);
    STEP(run, 2);
    model_store(run, END_OF_BLOCK, 1, SEQ_CST);
    if (protocol->end_is_not_checked)
        RETURN(run, 2);
    STEP(run, 2);
    self->found = model_load(run, IS_ROTATING, SEQ_CST);
    if (self->found != 0) {
        STEP(run, 2);
        model_store(run, END_OF_BLOCK, 0, SEQ_CST);
    }
    END(run, 2);
}

static bool refill(struct model_run *run, struct recorder *self, const struct protocol *protocol)
{
    BEGIN(run, 1);
    CALL(run, 1, wait_for_rotation(run, self, protocol));
    STEP(run, 1);
    self->block = (uint8_t)model_load(run, BLOCK, CONTROL);
    if (self->block == 0) { /* begin a new block in the current file */
        self->block = (uint8_t)(((const struct files *)model_shared(run))->mapped + 1);
        self->cursor = 0;
        STEP(run, 1);
        model_store(run, BLOCK, self->block, RELAXED);
        STEP(run, 1);
        model_store(run, CURSOR, 0, RELAXED);
    }
    CALL(run, 1, end_set(run, self, protocol));
    END(run, 1);
}

static void store_event(struct model_run *run, const struct recorder *self)
{
    struct files *files = model_shared(run);
    model_store(run, WORD, (uint16_t)(1 + self->event), RELEASE);
    files->stored[files->mapped]++;
    if (self->block != files->mapped + 1)
        model_fail(run, wrong_file);
    else if (files->is_handed_over[files->mapped])
        model_fail(run, behind_seal);
}

static bool record(struct model_run *run, struct recorder *self, const struct protocol *protocol)
{
    BEGIN(run, 0);
    self->block = 1;
    for (self->event = 0; self->event < EVENTS; self->event++) {
        STEP(run, 0);
        model_store(run, MARK, BUSY, RELAXED);
        STEP(run, 0);
        self->found = model_load(run, END_OF_BLOCK, CONTROL);
        if (self->found == 0)
            CALL(run, 0, refill(run, self, protocol));
        STEP(run, 0);
        store_event(run, self);
        STEP(run, 0);
        model_store(run, CURSOR, ++self->cursor, RELAXED);
        STEP(run, 0);
        model_store(run, MARK, READY, protocol->marks_idle_relaxed ? RELAXED : RELEASE);
    }
    END(run, 0);
}

/* ---- The thread that rotates ---- */

static bool recorders_pause(struct model_run *run, const struct protocol *protocol)
{
    BEGIN(run, 1);
    STEP(run, 1);
    model_store(run, END_OF_BLOCK, 0, SEQ_CST);
    if (protocol->has_no_barrier)
        RETURN(run, 1);
    STEP(run, 1);
    model_fence(run, SEQ_CST);
    STEP(run, 1);
    model_fence_other(run, RECORDER);
    STEP(run, 1);
    model_fence(run, SEQ_CST);
    END(run, 1);
}

static bool wait_until_idle(struct model_run *run, struct rotator *self, const struct protocol *protocol)
{
    BEGIN(run, 1);
    do {
        STEP(run, 1);
        self->found = model_load(run, MARK, ACQUIRE);
        if (self->found != BUSY)
            break;
        STEP(run, 1);
        self->found = model_load(run, SAW_CLOSE, SEQ_CST);
    } while (self->found == 0 && !protocol->does_not_wait);
    END(run, 1);
}

/* Seals the old file's block and maps the next file in its place. */
static bool switch_files(struct model_run *run, struct rotator *self)
{
    struct files *files = model_shared(run);
    BEGIN(run, 1);
    STEP(run, 1);
    self->block = model_load(run, BLOCK, CONTROL);
    if (self->block != 0) {
        STEP(run, 1);
        files->sealed[self->block - 1] = (uint8_t)model_load(run, CURSOR, CONTROL);
        files->is_handed_over[self->block - 1] = true;
        STEP(run, 1);
        model_store(run, BLOCK, 0, RELAXED);
    }
    STEP(run, 1);
    files->mapped++;
    END(run, 1);
}

static bool rotate(struct model_run *run, struct rotator *self, const struct protocol *protocol)
{
    BEGIN(run, 0);
    for (self->number = 0; self->number < ROTATIONS; self->number++) {
        STEP(run, 0);
        model_lock(run, PAUSE_LOCK);
        STEP(run, 0);
        model_store(run, IS_ROTATING, 1, SEQ_CST);
        CALL(run, 0, recorders_pause(run, protocol));
        CALL(run, 0, wait_until_idle(run, self, protocol));
        self->fails = model_choose(run, 2) == 1;
        if (!self->fails)
            CALL(run, 0, switch_files(run, self));
        STEP(run, 0);
        model_store(run, IS_ROTATING, 0, SEQ_CST);
        STEP(run, 0);
        model_unlock(run, PAUSE_LOCK);
    }
    END(run, 0);
}

/* ---- The rules ---- */

static const char *broken_rule(struct model_run *run)
{
    const struct files *files = model_shared(run);
    for (int i = 0; i < FILES; i++)
        if (files->is_handed_over[i] && files->stored[i] != files->sealed[i])
            return behind_seal;
    return NULL;
}

static bool step(struct model_run *run, int thread)
{
    if (thread == RECORDER)
        return record(run, model_local(run, thread), model_variant(run));
    return rotate(run, model_local(run, thread), model_variant(run));
}

static const char *search(const char *name, struct protocol protocol, const char *wanted)
{
    struct model model = {
        .name = name,
        .variant = &protocol,
        .thread_count = 2,
        .location_count = LOCATIONS,
        .initial = {[END_OF_BLOCK] = 1, [BLOCK] = 1},
        .step = step,
        .broken_rule = broken_rule,
        .location_names = {"mark", "end", "saw_close", "is_rotating", "block", "cursor", "a word"},
        .thread_names = {"recorder", "rotator"},
    };
    return model_search(&model, wanted).broken;
}

/* ---- Tests ---- */

static void every_event_is_in_the_file_of_its_block(void **state)
{
    (void)state;
    assert_null(search("rotation", (struct protocol){.looks_once = false}, NULL));
}

static void each_part_of_a_rotation_is_needed(void **state)
{
    (void)state;
    assert_non_null(search("no barrier", (struct protocol){.has_no_barrier = true}, behind_seal));
    assert_non_null(search("no wait for records", (struct protocol){.does_not_wait = true}, behind_seal));
    assert_non_null(
        search("idle without release", (struct protocol){.marks_idle_relaxed = true}, behind_seal));
    assert_non_null(
        search("a new block without a check", (struct protocol){.end_is_not_checked = true}, behind_seal));
    assert_non_null(search("checks once", (struct protocol){.looks_once = true}, behind_seal));
    assert_non_null(search("saw_close stays", (struct protocol){.saw_close_stays = true}, behind_seal));
    assert_non_null(
        search("saw_close without release", (struct protocol){.saw_close_is_relaxed = true}, behind_seal));
    assert_non_null(search("no wait for the rotation",
                           (struct protocol){.waits_for_nothing = true, .looks_once = true}, behind_seal));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_is_in_the_file_of_its_block),
        cmocka_unit_test(each_part_of_a_rotation_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
