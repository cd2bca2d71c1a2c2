/*
 * A model of appending: a thread records into a block and continues in the next one, a helper seals the first, and a
 * reader follows.
 *
 * It models tbed_recorder_commit() and tbed_record_head_store() of recorder_inline.h, hand_over() of
 * writer/record/recorder_blocks.c, tbed_entry_end() and tbed_entry_seal() of writer/pages/page_entry.c,
 * tbed_block_seal_alone() of block_write.c, and in the reader tbed_block_load() of format/block.c, the gateway
 * (reader/core/file/gateway.c) and next_block() and pass_end() of reader/core/events/cursor.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/models/model.h"
#include "writer/tests/support.h"

struct protocol {
    bool commits_relaxed;  /* the first word of a record has no release order */
    bool commits_early;    /* the first word is stored before the rest */
    bool queues_relaxed;   /* a block is handed to the helper without release order */
    bool queues_early;     /* a block is handed to the helper before its last event */
    bool ends_early;       /* the entry is ended before the last event */
    bool seals_relaxed;    /* 'used' has no release order */
    bool seals_backwards;  /* 'used' is stored before the checksum */
    bool enters_early;     /* the entry is sealed before the block */
    bool loads_used_late;  /* 'used' is loaded after the checksum */
    bool looks_ahead_late; /* the reader looks for the next block after it has seen the end of this one */
};

/* The first block has an event of one word and a record of two; only the first word of the second block is modelled. */
enum { EVENT, RECORD, PAYLOAD, CHECKSUM, USED, ENTRY, QUEUE, NEXT, LOCATIONS };
enum { BEGUN, ENDED, SEALED };
enum { RECORDER, HELPER, READER, THREADS };

struct thread {
    uint16_t entry, next, used, checksum, found;
    uint8_t at, event_count;
};

static const char half_record[] = "a record is read incompletely";
static const char false_checksum[] = "an intact block was reported as damage";
static const char says_more[] = "the entry claims more than is stored";
static const char passed_over[] = "an event was skipped";
static const char sealed_early[] = "a seal does not cover all events";

/* ---- The recorder and the helper ---- */

static bool record_events(struct model_run *run, const struct protocol *protocol)
{
    BEGIN(run, 1);
    STEP(run, 1);
    model_store(run, EVENT, 1, RELEASE);
    if (!protocol->commits_early) {
        STEP(run, 1);
        model_store(run, PAYLOAD, 1, RELAXED);
    }
    STEP(run, 1);
    model_store(run, RECORD, 1, protocol->commits_relaxed ? RELAXED : RELEASE);
    if (protocol->commits_early) {
        STEP(run, 1);
        model_store(run, PAYLOAD, 1, RELEASE);
    }
    END(run, 1);
}

static bool record(struct model_run *run, const struct protocol *protocol)
{
    BEGIN(run, 0);
    if (protocol->ends_early) {
        STEP(run, 0);
        model_store(run, ENTRY, ENDED, RELEASE);
    }
    if (protocol->queues_early) {
        STEP(run, 0);
        model_store(run, QUEUE, 1, RELEASE);
    }
    CALL(run, 0, record_events(run, protocol));
    STEP(run, 0);
    model_store(run, ENTRY, ENDED, RELEASE);
    STEP(run, 0);
    model_store(run, QUEUE, 1, protocol->queues_relaxed ? RELAXED : RELEASE);
    STEP(run, 0);
    model_store(run, NEXT, 1, RELEASE);
    END(run, 0);
}

/* The checksum is modelled as the number of words that it covers. */
static bool seal(struct model_run *run, struct thread *self, const struct protocol *protocol)
{
    BEGIN(run, 0);
    STEP(run, 0);
    if (model_load(run, QUEUE, ACQUIRE) == 0)
        model_wait(run);
    for (self->at = EVENT; self->at <= PAYLOAD; self->at++) {
        STEP(run, 0);
        self->checksum = (uint16_t)(self->checksum + model_load(run, self->at, CONTROL));
    }
    if (protocol->enters_early) {
        STEP(run, 0);
        model_store(run, ENTRY, SEALED, RELEASE);
    }
    if (protocol->seals_backwards) {
        STEP(run, 0);
        model_store(run, USED, 1, RELEASE);
    }
    STEP(run, 0);
    model_store(run, CHECKSUM, self->checksum, RELAXED);
    STEP(run, 0);
    model_store(run, USED, 1, protocol->seals_relaxed ? RELAXED : RELEASE);
    STEP(run, 0);
    model_store(run, ENTRY, SEALED, RELEASE);
    END(run, 0);
}

/* ---- The reader: a refresh, the gateway to the block, and a cursor in it ---- */

static bool block_load(struct model_run *run, struct thread *self, const struct protocol *protocol)
{
    BEGIN(run, 1);
    if (protocol->loads_used_late) {
        STEP(run, 1);
        self->checksum = model_load(run, CHECKSUM, RELAXED);
    }
    STEP(run, 1);
    self->used = model_load(run, USED, ACQUIRE);
    if (!protocol->loads_used_late) {
        STEP(run, 1);
        self->checksum = model_load(run, CHECKSUM, RELAXED);
    }
    END(run, 1);
}

/* A sealed block's checksum is compared before anything else. */
static bool gateway(struct model_run *run, struct thread *self)
{
    BEGIN(run, 1);
    if (self->entry == SEALED && self->used == 0)
        model_fail(run, says_more);
    for (self->at = EVENT; self->used != 0 && self->at <= PAYLOAD; self->at++) {
        STEP(run, 1);
        self->checksum = (uint16_t)(self->checksum - model_load(run, self->at, RELAXED));
    }
    if (self->used != 0 && self->checksum != 0)
        model_fail(run, false_checksum);
    END(run, 1);
}

static bool read_events(struct model_run *run, struct thread *self)
{
    BEGIN(run, 1);
    STEP(run, 1);
    self->found = model_load(run, EVENT, ACQUIRE);
    self->event_count = self->found != 0;
    if (self->found == 0)
        RETURN(run, 1);
    STEP(run, 1);
    self->found = model_load(run, RECORD, ACQUIRE);
    if (self->found == 0)
        RETURN(run, 1);
    self->event_count++;
    STEP(run, 1);
    if (model_load(run, PAYLOAD, RELAXED) == 0)
        model_fail(run, half_record);
    END(run, 1);
}

static bool follow(struct model_run *run, struct thread *self, const struct protocol *protocol)
{
    BEGIN(run, 0);
    STEP(run, 0);
    self->entry = model_load(run, ENTRY, ACQUIRE);
    if (!protocol->looks_ahead_late) {
        STEP(run, 0);
        self->next = model_load(run, NEXT, ACQUIRE);
    }
    CALL(run, 0, block_load(run, self, protocol));
    CALL(run, 0, gateway(run, self));
    CALL(run, 0, read_events(run, self));
    if (protocol->looks_ahead_late) {
        STEP(run, 0);
        self->next = model_load(run, NEXT, ACQUIRE);
    }
    if (self->event_count < 2 && self->next != 0)
        model_fail(run, passed_over);
    else if (self->event_count < 2 && self->entry >= ENDED)
        model_fail(run, says_more);
    END(run, 0);
}

/* ---- The rules, which hold in every state, since a kill may leave any state behind ---- */

static const char *broken_rule(struct model_run *run)
{
    int count = model_latest(run, EVENT) + model_latest(run, RECORD) + model_latest(run, PAYLOAD);
    if (model_latest(run, RECORD) != 0 && model_latest(run, PAYLOAD) == 0)
        return half_record;
    if (model_latest(run, USED) != 0 && (count != 3 || model_latest(run, CHECKSUM) != 3))
        return sealed_early;
    if (model_latest(run, ENTRY) == SEALED && model_latest(run, USED) == 0)
        return says_more;
    return model_latest(run, ENTRY) >= ENDED && count != 3 ? says_more : NULL;
}

static bool step(struct model_run *run, int thread)
{
    const struct protocol *protocol = model_variant(run);
    if (thread == RECORDER)
        return record(run, protocol);
    return thread == HELPER ? seal(run, model_local(run, thread), protocol)
                            : follow(run, model_local(run, thread), protocol);
}

static const char *search(const char *name, struct protocol protocol, const char *wanted)
{
    struct model model = {
        .name = name,
        .variant = &protocol,
        .thread_count = THREADS,
        .location_count = LOCATIONS,
        .step = step,
        .broken_rule = broken_rule,
        .location_names = {"event", "record", "its payload", "checksum", "used", "entry", "queue",
                           "next block"},
        .thread_names = {"recorder", "helper", "reader"},
    };
    return model_search(&model, wanted).broken;
}

/* ---- Tests ---- */

static void reader_misses_no_event(void **state)
{
    (void)state;
    assert_null(search("append", (struct protocol){.commits_early = false}, NULL));
}

static void each_step_of_an_append_is_needed(void **state)
{
    (void)state;
    assert_ptr_equal(search("committed early", (struct protocol){.commits_early = true}, half_record),
                     half_record);
    assert_ptr_equal(search("queued early", (struct protocol){.queues_early = true}, sealed_early),
                     sealed_early);
    assert_ptr_equal(search("ended early", (struct protocol){.ends_early = true}, says_more), says_more);
    assert_ptr_equal(
        search("used before the checksum", (struct protocol){.seals_backwards = true}, false_checksum),
        false_checksum);
    assert_ptr_equal(search("the entry sealed first", (struct protocol){.enters_early = true}, says_more),
                     says_more);
    assert_ptr_equal(
        search("the next block looked for last", (struct protocol){.looks_ahead_late = true}, passed_over),
        passed_over);
}

static void each_order_of_an_append_is_needed(void **state)
{
    (void)state;
    assert_ptr_equal(search("committed relaxed", (struct protocol){.commits_relaxed = true}, half_record),
                     half_record);
    assert_ptr_equal(search("queued relaxed", (struct protocol){.queues_relaxed = true}, sealed_early),
                     sealed_early);
    assert_ptr_equal(search("sealed relaxed", (struct protocol){.seals_relaxed = true}, false_checksum),
                     false_checksum);
    assert_ptr_equal(search("used loaded late", (struct protocol){.loads_used_late = true}, false_checksum),
                     false_checksum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reader_misses_no_event),
        cmocka_unit_test(each_step_of_an_append_is_needed),
        cmocka_unit_test(each_order_of_an_append_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
