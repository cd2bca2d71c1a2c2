/*
 * Models of a fork: which of its parent's memory the child uses, and how two of its threads join the trace.
 *
 * The first models tbed_recorder_enter_slow(), refill(), hand_over() and next_block() of writer/record, with the copies
 * of a recorder's two halves and of the seal queue that the child has, and tbed_process_begin_child() of
 * writer/life/process.c. The second models tbed_is_usable(), enter_map() and leave_map() of writer/file/usable.c in a
 * child with two threads, and stop_drops() of writer/life/writer.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/models/model.h"
#include "writer/tests/support.h"

/* ======== Pages ======== */

struct inheriting {
    bool keeps_hot_half;   /* not wiped: the child continues at the parent's cursor */
    bool keeps_epoch;      /* the recorder's stream and block seem to be the child's */
    bool keeps_seal_queue; /* the child seals blocks that wait for the parent's helper */
};

enum { PAGE_COUNT, WORDS, PAGES = 4, PAGE_WORDS = 2, LOCATIONS = WORDS + PAGES };
enum { PARENT, CHILD };
enum { EVENTS = 3 };

/* Which thread has claimed and sealed each page (plus 1; 0: none), and how many events it has and its seal covers. */
struct pages {
    uint8_t owner[PAGES], sealer[PAGES], sealed[PAGES], stored[PAGES];
    bool has_forked;
    uint8_t page, cursor, queued; /* the parent's at the fork */
};

struct recorder {
    uint16_t next;
    uint8_t page, cursor, queued; /* pages are counted from 1; 0: none */
    uint8_t event, fork_at;
    bool is_ours; /* the epoch is this process's */
};

static const char not_own_page[] = "a process stores into another's page";
static const char not_own_seal[] = "a process seals another's page";
static const char wrong_seal[] = "a seal does not cover all events of its page";

static void seal(struct model_run *run, unsigned page, unsigned cursor)
{
    struct pages *pages = model_shared(run);
    pages->sealer[page - 1] = (uint8_t)(model_thread(run) + 1);
    pages->sealed[page - 1] = (uint8_t)cursor;
    if (pages->owner[page - 1] != model_thread(run) + 1)
        model_fail(run, not_own_seal);
}

/* Does the helper's work, which may happen at any time. */
static void seal_queued(struct model_run *run, struct recorder *self)
{
    if (self->queued != 0)
        seal(run, self->queued, PAGE_WORDS);
    self->queued = 0;
}

static bool next_block(struct model_run *run, struct recorder *self)
{
    struct pages *pages = model_shared(run);
    BEGIN(run, 1);
    if (!self->is_ours) { /* forked: the block belongs to the parent */
        self->page = 0;
        self->is_ours = true;
    }
    STEP(run, 1);
    self->next = (uint16_t)(model_add(run, PAGE_COUNT, 1, ACQ_REL) + 1);
    pages->owner[self->next - 1] = (uint8_t)(model_thread(run) + 1);
    seal_queued(run, self);
    if (self->page != 0 && self->cursor == PAGE_WORDS)
        self->queued = self->page;
    else if (self->page != 0)
        seal(run, self->page, self->cursor);
    self->page = (uint8_t)self->next;
    self->cursor = 0;
    END(run, 1);
}

static bool record(struct model_run *run, struct recorder *self)
{
    struct pages *pages = model_shared(run);
    BEGIN(run, 1);
    if (self->page == 0 || self->cursor == PAGE_WORDS || !self->is_ours)
        RETURN(run, 1); /* the caller takes the slow path */
    STEP(run, 1);
    model_store(run, WORDS + self->page - 1, (uint16_t)(self->cursor + 1), RELEASE);
    self->cursor++;
    pages->stored[self->page - 1]++;
    if (pages->owner[self->page - 1] != model_thread(run) + 1)
        model_fail(run, not_own_page);
    END(run, 1);
}

static void fork_now(struct model_run *run, const struct recorder *self)
{
    struct pages *pages = model_shared(run);
    pages->has_forked = true;
    pages->page = self->page;
    pages->cursor = self->cursor;
    pages->queued = self->queued;
}

/* Copies what the child inherits. */
static void inherit(struct model_run *run, struct recorder *self, const struct inheriting *variant)
{
    const struct pages *pages = model_shared(run);
    self->page = pages->page;
    self->cursor = pages->cursor;
    self->queued = variant->keeps_seal_queue ? pages->queued : 0;
    self->is_ours = variant->keeps_hot_half || variant->keeps_epoch;
    /* Without 'end', the first event takes the slow path, with the parent's block. */
    if (!variant->keeps_hot_half && variant->keeps_epoch)
        self->cursor = PAGE_WORDS;
}

static bool use_recorder(struct model_run *run, struct recorder *self, const struct inheriting *variant)
{
    BEGIN(run, 0);
    STEP(run, 0);
    if (model_thread(run) == CHILD) {
        if (!((const struct pages *)model_shared(run))->has_forked)
            model_wait(run);
        inherit(run, self, variant);
    } else {
        self->is_ours = true;
        self->fork_at = (uint8_t)model_choose(run, EVENTS + 1);
    }
    for (self->event = 0; self->event < EVENTS; self->event++) {
        if (model_thread(run) == PARENT && self->event == self->fork_at)
            fork_now(run, self);
        if (self->page == 0 || self->cursor == PAGE_WORDS || !self->is_ours)
            CALL(run, 0, next_block(run, self));
        CALL(run, 0, record(run, self));
    }
    STEP(run, 0);
    if (model_thread(run) == PARENT && self->fork_at == EVENTS)
        fork_now(run, self);
    seal_queued(run, self);
    seal(run, self->page, self->cursor);
    END(run, 0);
}

static const char *broken_rule(struct model_run *run)
{
    const struct pages *pages = model_shared(run);
    for (int i = 0; i < PAGES && model_is_over(run); i++)
        if (pages->stored[i] != pages->sealed[i])
            return wrong_seal;
    return NULL;
}

static bool inheriting_step(struct model_run *run, int thread)
{
    return use_recorder(run, model_local(run, thread), model_variant(run));
}

static const char *search_inheriting(const char *name, struct inheriting variant, const char *wanted)
{
    struct model model = {
        .name = name,
        .variant = &variant,
        .thread_count = 2,
        .location_count = LOCATIONS,
        .process_of = {PARENT, CHILD},
        .step = inheriting_step,
        .broken_rule = broken_rule,
        .location_names = {"count", "page 1", "page 2", "page 3", "page 4"},
        .thread_names = {"parent", "child"},
    };
    return model_search(&model, wanted).broken;
}

/* ======== Joining ======== */

struct joining {
    bool resets_users;   /* old protocol: a child that joins sets the number of users to 0 */
    bool inherits_users; /* the parent's users stay counted in the child */
    bool has_no_lock;    /* every thread that finds the trace not joined joins it */
};

enum { ALIVE, USERS, IS_CLOSED, DROPS, JOINING_LOCATIONS };
enum { FORK_LOCK };
enum { JOINER, ASKER };

struct child {
    uint8_t join_count;
    bool is_unmapped;
};

struct child_thread {
    uint16_t found;
};

static const char joined_twice[] = "a child joins twice";
static const char unmapped[] = "the file is used after it was unmapped";

static bool is_usable(struct model_run *run, struct child_thread *self, const struct joining *variant)
{
    struct child *child = model_shared(run);
    BEGIN(run, 1);
    STEP(run, 1);
    self->found = model_load(run, ALIVE, ACQUIRE);
    if (self->found != 0)
        RETURN(run, 1);
    if (!variant->has_no_lock) {
        STEP(run, 1);
        model_lock(run, FORK_LOCK);
        STEP(run, 1);
        self->found = model_load(run, ALIVE, CONTROL);
    }
    if (self->found == 0) {
        child->join_count++;
        if (child->join_count > 1)
            model_fail(run, joined_twice);
        if (variant->resets_users) {
            STEP(run, 1);
            model_store(run, USERS, 0, RELAXED);
        }
        STEP(run, 1);
        model_store(run, ALIVE, 1, RELEASE);
    }
    if (!variant->has_no_lock) {
        STEP(run, 1);
        model_unlock(run, FORK_LOCK);
    }
    END(run, 1);
}

/* tbed_drop(), or tbed_writer_drop_count() */
static bool use_header(struct model_run *run, struct child_thread *self)
{
    BEGIN(run, 1);
    STEP(run, 1);
    self->found = model_load(run, IS_CLOSED, ACQUIRE);
    if (self->found != 0)
        RETURN(run, 1);
    STEP(run, 1);
    model_add(run, USERS, 1, SEQ_CST);
    STEP(run, 1);
    self->found = model_load(run, IS_CLOSED, SEQ_CST);
    if (self->found == 0) {
        STEP(run, 1);
        model_add(run, DROPS, 1, ACQ_REL);
        if (((const struct child *)model_shared(run))->is_unmapped)
            model_fail(run, unmapped);
    }
    STEP(run, 1);
    model_add(run, USERS, (uint16_t)-1, SEQ_CST);
    END(run, 1);
}

static bool close_child(struct model_run *run, struct child_thread *self)
{
    BEGIN(run, 1);
    STEP(run, 1);
    model_store(run, IS_CLOSED, 1, SEQ_CST);
    do {
        STEP(run, 1);
        self->found = model_load(run, USERS, SEQ_CST);
    } while (self->found != 0);
    ((struct child *)model_shared(run))->is_unmapped = true;
    END(run, 1);
}

/* One thread asks for drops and then records; the other joins, counts a drop, and closes. */
static bool live_in_child(struct model_run *run, struct child_thread *self, const struct joining *variant)
{
    BEGIN(run, 0);
    if (model_thread(run) == ASKER)
        CALL(run, 0, use_header(run, self));
    CALL(run, 0, is_usable(run, self, variant));
    if (model_thread(run) == JOINER) {
        CALL(run, 0, use_header(run, self));
        CALL(run, 0, close_child(run, self));
    }
    END(run, 0);
}

static bool joining_step(struct model_run *run, int thread)
{
    return live_in_child(run, model_local(run, thread), model_variant(run));
}

static const char *search_joining(const char *name, struct joining variant, const char *wanted)
{
    struct model model = {
        .name = name,
        .variant = &variant,
        .thread_count = 2,
        .location_count = JOINING_LOCATIONS,
        .initial = {[USERS] = variant.inherits_users || variant.resets_users},
        .step = joining_step,
        .location_names = {"alive", "users", "is_closed", "drops"},
        .thread_names = {"joiner", "asker"},
    };
    return model_search(&model, wanted).broken;
}

/* ======== Tests ======== */

static void child_continues_in_its_own_pages(void **state)
{
    (void)state;
    assert_null(search_inheriting("fork", (struct inheriting){.keeps_epoch = false}, NULL));
}

static void each_wiped_part_is_needed(void **state)
{
    (void)state;
    assert_ptr_equal(
        search_inheriting("the hot half kept", (struct inheriting){.keeps_hot_half = true}, not_own_page),
        not_own_page);
    assert_ptr_equal(
        search_inheriting("the epoch kept", (struct inheriting){.keeps_epoch = true}, not_own_seal),
        not_own_seal);
    assert_ptr_equal(
        search_inheriting("the seal queue kept", (struct inheriting){.keeps_seal_queue = true}, not_own_seal),
        not_own_seal);
}

static void child_with_threads_joins_once_and_can_be_closed(void **state)
{
    (void)state;
    assert_null(search_joining("join", (struct joining){.has_no_lock = false}, NULL));
}

static void each_part_of_joining_is_needed(void **state)
{
    static const char stuck[] = "no thread can continue";
    (void)state;
    assert_string_equal(
        search_joining("users set to 0 (old protocol)", (struct joining){.resets_users = true}, stuck),
        stuck);
    assert_ptr_equal(search_joining("the same, closed", (struct joining){.resets_users = true}, unmapped),
                     unmapped);
    assert_string_equal(search_joining("users inherited", (struct joining){.inherits_users = true}, stuck),
                        stuck);
    assert_ptr_equal(search_joining("no lock", (struct joining){.has_no_lock = true}, joined_twice),
                     joined_twice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_continues_in_its_own_pages),
        cmocka_unit_test(each_wiped_part_is_needed),
        cmocka_unit_test(child_with_threads_joins_once_and_can_be_closed),
        cmocka_unit_test(each_part_of_joining_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
