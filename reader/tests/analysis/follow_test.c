/*
 * A trace that is being written is followed update by update: counts, times and stacks agree with what the test itself
 * recorded since the update before.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <tracebed/follow.h>
#include <tracebed/writer.h>

#define THREADS    3u
#define LABELS     5u
#define DEPTH_MAX  700u /* many more than a block lists */
#define STORED_MAX 64u  /* spans that a block of 4096 bytes lists */
#define UPDATES    60u

static uint64_t ticks;

static uint64_t test_clock(void)
{
    return ++ticks;
}

static uint32_t random_below(uint32_t bound)
{
    static uint64_t state = 3;
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)((state >> 33) % bound);
}

/* What a thread has done, and what the follower should say. */
struct expected_thread {
    struct tbed_recorder *recorder;
    struct tbed_follow_span open[DEPTH_MAX];
    size_t depth;
    uint64_t event_count, span_count, busy_ticks, counted_tick;
};

struct program {
    struct tbed_writer *writer;
    struct tbed_reader *reader;
    struct tbed_follow *follow;
    uint32_t ids[LABELS];
    struct expected_thread threads[THREADS];
    uint64_t counts[LABELS], self_ticks[LABELS];
    size_t depth_max;
};

static size_t label_index(const struct program *program, uint32_t id)
{
    size_t i = 0;
    while (program->ids[i] != id)
        i++;
    return i;
}

static void advance(struct program *program, struct expected_thread *thread, uint64_t tick)
{
    if (thread->depth > 0) {
        program->self_ticks[label_index(program, thread->open[thread->depth - 1].id)] +=
            tick - thread->counted_tick;
        thread->busy_ticks += tick - thread->counted_tick;
    }
    thread->counted_tick = tick;
}

static void record_one(struct program *program, struct expected_thread *thread)
{
    uint32_t what = random_below(8), id = program->ids[random_below(LABELS)];
    bool begins = what < 4 && thread->depth < program->depth_max;
    bool ends = !begins && what < 7 && thread->depth > 0;
    if (begins)
        tbed_span_begin(thread->recorder, id);
    else if (ends)
        tbed_span_end(thread->recorder);
    else
        tbed_instant_record(thread->recorder, id);
    advance(program, thread, ticks);
    if (begins) {
        thread->open[thread->depth++] = (struct tbed_follow_span){id, ticks};
    } else if (ends) {
        thread->span_count++;
        program->counts[label_index(program, thread->open[--thread->depth].id)]++;
    }
    thread->event_count++;
}

static void forget(struct program *program)
{
    memset(program->counts, 0, sizeof program->counts);
    memset(program->self_ticks, 0, sizeof program->self_ticks);
    for (size_t i = 0; i < THREADS; i++)
        program->threads[i].event_count = program->threads[i].span_count = program->threads[i].busy_ticks = 0;
}

/* Of many open spans only the innermost are known. */
static void expect_stack(const struct program *program, const struct expected_thread *expected,
                         const struct tbed_follow_thread *found)
{
    assert_in_range(found->open_count, program->depth_max <= STORED_MAX ? expected->depth : 0,
                    expected->depth);
    for (size_t i = 1; i <= found->open_count; i++) {
        const struct tbed_follow_span *x = &expected->open[expected->depth - i],
                                      *y = &found->open[found->open_count - i];
        assert_int_equal(x->id, y->id);
        assert_int_equal(x->begin_tick, y->begin_tick);
    }
}

static const struct tbed_follow_thread *find_thread(const struct program *program,
                                                    const struct tbed_recorder *recorder)
{
    const struct tbed_follow_thread *thread;
    for (size_t i = 0; (thread = tbed_follow_thread(program->follow, i)) != NULL; i++)
        if (thread->stream == tbed_recorder_stream(recorder))
            return thread;
    fail();
    return NULL;
}

static void expect_labels(const struct program *program)
{
    const struct tbed_follow_label *label, *before = NULL;
    uint64_t counts[LABELS] = {0}, self_ticks[LABELS] = {0};
    for (size_t i = 0; (label = tbed_follow_label(program->follow, i)) != NULL; i++, before = label) {
        assert_true(before == NULL || before->self_ticks >= label->self_ticks);
        counts[label_index(program, label->id)] += label->count;
        self_ticks[label_index(program, label->id)] += label->self_ticks;
    }
    assert_memory_equal(counts, program->counts, sizeof counts);
    assert_memory_equal(self_ticks, program->self_ticks, sizeof self_ticks);
}

static void expect_all(struct program *program, bool counts_are_known)
{
    struct tbed_follow_totals totals;
    uint64_t events = 0, spans = 0;
    for (size_t i = 0; i < THREADS; i++) {
        struct expected_thread *expected = &program->threads[i];
        if (expected->recorder == NULL)
            continue;
        advance(program, expected, ticks);
        const struct tbed_follow_thread *found = find_thread(program, expected->recorder);
        expect_stack(program, expected, found);
        events += expected->event_count;
        spans += expected->span_count;
        if (!counts_are_known)
            continue;
        assert_int_equal(found->event_count, expected->event_count);
        assert_int_equal(found->span_count, expected->span_count);
        assert_int_equal(found->busy_ticks, expected->busy_ticks);
    }
    tbed_follow_totals(program->follow, &totals);
    assert_int_equal(totals.now_tick, ticks);
    if (!counts_are_known)
        return;
    assert_int_equal(totals.event_count, events);
    assert_int_equal(totals.span_count, spans);
    expect_labels(program);
}

static void program_open(struct program *program, uint64_t ring_nbytes, size_t depth_max)
{
    static const char *const names[LABELS] = {"main", "parse", "read", "write", "wait"};
    struct tbed_writer_options options = {.size = sizeof options,
                                          .no_helper = true,
                                          .page_nbytes = 4096,
                                          .clock = TBED_CLOCK_USER,
                                          .user_clock = test_clock,
                                          .ring_nbytes = ring_nbytes};
    int fd = memfd_create("trace", MFD_CLOEXEC);
    *program = (struct program){.depth_max = depth_max};
    assert_int_equal(tbed_writer_open_fd(fd, &options, &program->writer, NULL), TBED_OK);
    for (size_t i = 0; i < LABELS; i++)
        program->ids[i] = tbed_string_intern(program->writer, names[i], strlen(names[i]));
    program->threads[0].recorder = tbed_recorder_open(program->writer, "first");
    for (int i = 0; i < 5000; i++)
        record_one(program, &program->threads[0]);
    assert_int_equal(tbed_reader_open_fd(fd, NULL, &program->reader, NULL), TBED_OK);
    assert_int_equal(tbed_follow_open(program->reader, &program->follow), TBED_OK);
    expect_all(program, false);
    forget(program);
    close(fd);
}

static void program_close(struct program *program)
{
    tbed_follow_close(program->follow);
    tbed_reader_close(program->reader);
    tbed_writer_free(program->writer);
}

/* 'most': events between two updates. In a flight recorder, most of them may be gone before the update. */
static void follow_at_random(uint64_t ring_nbytes, size_t depth_max, uint32_t most)
{
    static struct program program;
    program_open(&program, ring_nbytes, depth_max);
    for (unsigned update = 0; update < UPDATES; update++) {
        if (update == 10 || update == 20)
            program.threads[update / 10].recorder = tbed_recorder_open(program.writer, "later");
        for (uint32_t left = random_below(most); left > 0; left--) {
            struct expected_thread *thread = &program.threads[random_below(THREADS)];
            if (thread->recorder != NULL)
                record_one(&program, thread);
        }
        for (size_t i = 0; i < THREADS; i++) /* so that each is seen, and the newest tick is known */
            if (program.threads[i].recorder != NULL)
                record_one(&program, &program.threads[i]);
        assert_int_equal(tbed_follow_update(program.follow, NULL), TBED_OK);
        expect_all(&program, ring_nbytes == 0 && depth_max <= STORED_MAX);
        forget(&program);
    }
    assert_int_equal(tbed_damage_count(program.reader), 0);
    program_close(&program);
}

static void each_update_has_what_was_recorded_meanwhile(void **state)
{
    (void)state;
    follow_at_random(0, STORED_MAX, 50);
    follow_at_random(0, STORED_MAX, 6000);
}

static void of_a_deep_stack_the_innermost_spans_are_known(void **state)
{
    (void)state;
    follow_at_random(0, DEPTH_MAX, 6000);
}

static void a_flight_recorder_is_followed_past_what_is_gone(void **state)
{
    (void)state;
    follow_at_random(32 * 4096, STORED_MAX, 50);
    follow_at_random(32 * 4096, STORED_MAX, 40000);
}

/* Everything after a tick, as if it had been followed since then: wherever blocks begin, with stacks open at it. */
static void the_first_figures_begin_at_a_tick(void **state)
{
    static struct program program;
    static const unsigned meanwhile[] = {0, 1, 10, 300, 5000, 20000};
    struct tbed_follow_totals totals;
    (void)state;
    for (size_t i = 0; i < sizeof meanwhile / sizeof meanwhile[0]; i++) {
        program_open(&program, 0, STORED_MAX);
        program.threads[1].recorder = tbed_recorder_open(program.writer, "second");
        for (int j = 0; j < 3000; j++)
            record_one(&program, &program.threads[j % 2]);
        uint64_t begin_tick = ++ticks;
        for (size_t j = 0; j < 2; j++)
            advance(&program, &program.threads[j], begin_tick);
        forget(&program);
        program.threads[2].recorder = tbed_recorder_open(program.writer, "later");
        for (unsigned j = 0; j < meanwhile[i]; j++)
            record_one(&program, &program.threads[random_below(THREADS)]);
        for (size_t j = 0; j < THREADS; j++)
            record_one(&program, &program.threads[j]);
        tbed_follow_close(program.follow);
        assert_int_equal(tbed_reader_refresh(program.reader, NULL), TBED_OK);
        assert_int_equal(tbed_follow_open_at(program.reader, begin_tick, &program.follow), TBED_OK);
        expect_all(&program, true);
        tbed_follow_totals(program.follow, &totals);
        assert_int_equal(totals.ticks, ticks - begin_tick);
        program_close(&program);
    }
}

/* A merge that begins at this tick finds the newest events. */
static void the_newest_events_begin_at_a_tick(void **state)
{
    static struct program program;
    struct tbed_merge *merge;
    struct tbed_event event;
    (void)state;
    program_open(&program, 0, STORED_MAX);
    for (size_t wanted = 1; wanted <= TBED_FOLLOW_NEWEST_MAX; wanted++) {
        uint64_t tick = tbed_follow_newest_tick(program.follow, wanted);
        size_t count = 0;
        assert_int_equal(tbed_merge_open(program.reader, NULL, 0, &merge), TBED_OK);
        while (tbed_merge_next(merge, &event) == TBED_OK)
            count += event.tick >= tick;
        assert_int_equal(count, wanted);
        tbed_merge_close(merge);
    }
    program_close(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_update_has_what_was_recorded_meanwhile),
        cmocka_unit_test(of_a_deep_stack_the_innermost_spans_are_known),
        cmocka_unit_test(a_flight_recorder_is_followed_past_what_is_gone),
        cmocka_unit_test(the_first_figures_begin_at_a_tick),
        cmocka_unit_test(the_newest_events_begin_at_a_tick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
