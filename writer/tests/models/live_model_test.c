/*
 * A model of a refresh while writers leave a file, shut it, and join it again.
 *
 * It models tbed_file_attach() of writer/file/file_map.c, shut_if_alone() and tbed_file_shut() of file_leave.c, the
 * locks of descriptor.c, and look_at_header() of reader/core/open/reader.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/models/model.h"
#include "writer/tests/support.h"

#include <string.h>

/* ---- The protocol's variants ---- */

struct protocol {
    bool reads_size_first;   /* old protocol: the state is loaded after the file's size */
    bool checks_state_alone; /* old protocol: a writer that joined and left goes unnoticed */
    bool has_no_fence;       /* old protocol: no fence between the checksum and the state */
    bool shuts_early;        /* the state is stored before the checksum */
    bool attaches_late;      /* a writer that joins stores the state last */
    bool keeps_lock;         /* a failed attempt to lock the file exclusively keeps the shared lock */
    bool counts_late;        /* a writer counts itself out after the attempt */
    bool is_never_killed;
};

/* ---- The file: the header's words, and the kernel's state ---- */

/* The kernel stores the size under locks of its own, and loads it without them. */
enum { STATE, CHECKSUM, WRITERS, PAGES, SIZE, LOCATIONS };
enum { OPEN, SHUT };
enum { FILE_LOCK };

/* The current writer, one that joins, and a reader. */
enum { LEAVER, JOINER, READER, THREADS };

struct shared {
    uint8_t size;               /* of the file, in pages */
    uint8_t sharing, exclusive; /* the holders of the locks: a bit for each process */
    uint8_t has_written;        /* the writers that have joined and not left */
};

struct writer {
    uint16_t pages, count, checksum;
    bool has_lock;
};

static const char false_checksum[] = "a matching checksum was reported as damage";
static const char false_size[] = "a correct size was reported as damage";
static const char left_open[] = "the last writer has left the file open";
static const char shut_in_use[] = "a file that has a writer is shut";
static const char wrong_at_end[] = "a shut file differs from what was closed";

static uint16_t checksum_of(uint16_t pages)
{
    return (uint16_t)(0x10 + pages);
}

/* ---- Locks of the file ---- */

static bool lock_try(struct model_run *run, bool is_exclusive)
{
    struct shared *shared = model_shared(run);
    uint8_t own = (uint8_t)(1u << model_thread(run));
    model_call_kernel(run, FILE_LOCK);
    bool is_held = (shared->exclusive & ~own) != 0 || (is_exclusive && (shared->sharing & ~own) != 0);
    if (is_held)
        return false;
    if (is_exclusive)
        shared->exclusive |= own;
    else
        shared->sharing |= own;
    return true;
}

static void unlock(struct model_run *run)
{
    struct shared *shared = model_shared(run);
    uint8_t own = (uint8_t)(1u << model_thread(run));
    model_call_kernel(run, FILE_LOCK);
    shared->sharing &= (uint8_t)~own;
    shared->exclusive &= (uint8_t)~own;
}

static void killed(struct model_run *run, int process)
{
    struct shared *shared = model_shared(run);
    shared->sharing &= (uint8_t) ~(1u << process);
    shared->exclusive &= (uint8_t) ~(1u << process);
    shared->has_written &= (uint8_t) ~(1u << process);
}

/* ---- A writer ---- */

static bool attach(struct model_run *run, struct writer *self, const struct protocol *protocol)
{
    struct shared *shared = model_shared(run);
    BEGIN(run, 1);
    do {
        STEP(run, 1);
        self->has_lock = lock_try(run, false);
    } while (!self->has_lock);
    shared->has_written |= (uint8_t)(1u << model_thread(run));
    if (!protocol->attaches_late) {
        STEP(run, 1);
        model_store(run, STATE, OPEN, RELEASE);
    }
    STEP(run, 1);
    model_store(run, CHECKSUM, 0, RELEASE);
    STEP(run, 1);
    model_add(run, WRITERS, 1, ACQ_REL);
    END(run, 1);
}

/* Grows the file and claims a page, which stands for all of a writer's changes. */
static bool record(struct model_run *run, struct writer *self)
{
    BEGIN(run, 1);
    STEP(run, 1);
    self->pages = model_load(run, PAGES, ACQUIRE);
    do {
        STEP(run, 1);
        model_store(run, SIZE, (uint16_t)(self->pages + 2), RELEASE); /* more than is needed yet */
        STEP(run, 1);
    } while (!model_swap(run, PAGES, &self->pages, (uint16_t)(self->pages + 1), ACQ_REL, ACQUIRE));
    END(run, 1);
}

static bool file_shut(struct model_run *run, struct writer *self, const struct protocol *protocol)
{
    struct shared *shared = model_shared(run);
    BEGIN(run, 2);
    STEP(run, 2);
    self->pages = model_load(run, PAGES, ACQUIRE);
    STEP(run, 2);
    model_store(run, SIZE, self->pages, RELEASE);
    STEP(run, 2);
    model_store(run, WRITERS, 0, RELEASE);
    if (protocol->shuts_early) {
        STEP(run, 2);
        model_store(run, STATE, SHUT, RELEASE);
    }
    STEP(run, 2);
    model_store(run, CHECKSUM, checksum_of(self->pages), RELEASE);
    if (!protocol->shuts_early) {
        STEP(run, 2);
        model_store(run, STATE, SHUT, RELEASE);
    }
    if (shared->has_written != 0)
        model_fail(run, shut_in_use);
    END(run, 2);
}

/* flock() gives up the shared lock before it tries to take the exclusive one. */
static bool shut_if_alone(struct model_run *run, struct writer *self, const struct protocol *protocol)
{
    BEGIN(run, 1);
    if (!protocol->keeps_lock) {
        STEP(run, 1);
        unlock(run);
    }
    STEP(run, 1);
    self->has_lock = lock_try(run, true);
    if (protocol->counts_late) {
        STEP(run, 1);
        model_add(run, WRITERS, (uint16_t)-1, ACQ_REL);
    }
    if (self->has_lock) {
        STEP(run, 1);
        self->count = model_load(run, WRITERS, ACQUIRE);
        if (self->count == 0)
            CALL(run, 1, file_shut(run, self, protocol));
    }
    STEP(run, 1);
    unlock(run);
    END(run, 1);
}

static bool write_file(struct model_run *run, struct writer *self, const struct protocol *protocol)
{
    struct shared *shared = model_shared(run);
    BEGIN(run, 0);
    if (model_thread(run) == JOINER) {
        CALL(run, 0, attach(run, self, protocol));
        CALL(run, 0, record(run, self));
        if (protocol->attaches_late) {
            STEP(run, 0);
            model_store(run, STATE, OPEN, RELEASE);
        }
    }
    shared->has_written &= (uint8_t) ~(1u << model_thread(run));
    if (!protocol->counts_late) {
        STEP(run, 0);
        model_add(run, WRITERS, (uint16_t)-1, ACQ_REL);
    }
    CALL(run, 0, shut_if_alone(run, self, protocol));
    END(run, 0);
}

/* ---- The reader, in a refresh ---- */

struct reader {
    uint16_t state, checksum, pages, again;
    uint8_t size, matches;
};

/* The checksum is computed from memory that may change meanwhile, so its loads are unordered. */
static bool look_at_header(struct model_run *run, struct reader *self, const struct protocol *protocol)
{
    BEGIN(run, 0);
    if (!protocol->reads_size_first) {
        STEP(run, 0);
        self->state = model_load(run, STATE, ACQUIRE);
        STEP(run, 0);
        self->checksum = model_load(run, CHECKSUM, ACQUIRE);
    }
    STEP(run, 0);
    self->size = (uint8_t)model_load(run, SIZE, RELAXED);
    if (protocol->reads_size_first) {
        STEP(run, 0);
        self->state = model_load(run, STATE, ACQUIRE);
        STEP(run, 0);
        self->checksum = model_load(run, CHECKSUM, ACQUIRE);
    }
    if (self->state != SHUT)
        RETURN(run, 0);
    STEP(run, 0);
    self->pages = model_load(run, PAGES, RELAXED);
    if (!protocol->has_no_fence)
        model_fence(run, ACQUIRE);
    STEP(run, 0);
    self->state = model_load(run, STATE, ACQUIRE);
    self->again = self->checksum;
    if (!protocol->checks_state_alone) {
        STEP(run, 0);
        self->again = model_load(run, CHECKSUM, ACQUIRE);
    }
    if (self->state != SHUT || self->again != self->checksum)
        RETURN(run, 0);
    if (self->checksum != checksum_of(self->pages))
        model_fail(run, false_checksum);
    else if (self->size != self->pages)
        model_fail(run, false_size);
    END(run, 0);
}

/* ---- The rules ---- */

static const char *broken_rule(struct model_run *run)
{
    const struct protocol *protocol = model_variant(run);
    uint16_t pages = model_latest(run, PAGES);
    bool is_shut = model_latest(run, STATE) == SHUT;
    if (!model_has_ended(run, LEAVER) || !model_has_ended(run, JOINER))
        return NULL;
    if (!is_shut && protocol->is_never_killed)
        return left_open;
    return is_shut && (model_latest(run, CHECKSUM) != checksum_of(pages) || model_latest(run, SIZE) != pages)
               ? wrong_at_end
               : NULL;
}

/* At the start, one process has joined the file and holds the shared lock. */
static bool step(struct model_run *run, int thread)
{
    const struct protocol *protocol = model_variant(run);
    if (thread == READER)
        return look_at_header(run, model_local(run, thread), protocol);
    return write_file(run, model_local(run, thread), protocol);
}

static void start(struct model_run *run)
{
    *(struct shared *)model_shared(run) =
        (struct shared){.sharing = 1u << LEAVER, .has_written = 1u << LEAVER};
}

static const char *search(const char *name, struct protocol protocol, const char *wanted)
{
    struct model model = {
        .name = name,
        .variant = &protocol,
        .thread_count = THREADS,
        .location_count = LOCATIONS,
        .initial = {OPEN, 0, 1, 2, 3},
        .process_of = {LEAVER, JOINER, READER},
        .can_be_killed = protocol.is_never_killed ? 0 : 1u << LEAVER | 1u << JOINER,
        .start = start,
        .step = step,
        .broken_rule = broken_rule,
        .killed = killed,
        .location_names = {"state", "checksum", "writers", "pages", "size"},
        .thread_names = {"leaver", "joiner", "reader"},
    };
    return model_search(&model, wanted).broken;
}

/* ---- Tests ---- */

static void last_writer_shuts_the_file(void **state)
{
    (void)state;
    assert_null(search("leave, join and refresh", (struct protocol){.is_never_killed = true}, NULL));
    assert_null(search("the same, with kills", (struct protocol){.is_never_killed = false}, NULL));
}

static void each_lock_is_needed(void **state)
{
    (void)state;
    assert_ptr_equal(search("a failed attempt keeps the lock",
                            (struct protocol){.keeps_lock = true, .is_never_killed = true}, left_open),
                     left_open);
    assert_ptr_equal(search("counted out after the attempt",
                            (struct protocol){.counts_late = true, .is_never_killed = true}, left_open),
                     left_open);
}

static void refresh_notices_concurrent_changes(void **state)
{
    (void)state;
    assert_ptr_equal(
        search("the size first (old protocol)", (struct protocol){.reads_size_first = true}, false_size),
        false_size);
    assert_ptr_equal(search("the state alone (old protocol)", (struct protocol){.checks_state_alone = true},
                            false_checksum),
                     false_checksum);
    assert_ptr_equal(
        search("no fence (old protocol)", (struct protocol){.has_no_fence = true}, false_checksum),
        false_checksum);
}

static void each_order_is_needed(void **state)
{
    (void)state;
    assert_ptr_equal(search("shut before the checksum", (struct protocol){.shuts_early = true}, NULL),
                     wrong_at_end);
    assert_ptr_equal(search("opened last", (struct protocol){.attaches_late = true}, false_checksum),
                     false_checksum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_writer_shuts_the_file),
        cmocka_unit_test(each_lock_is_needed),
        cmocka_unit_test(refresh_notices_concurrent_changes),
        cmocka_unit_test(each_order_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
