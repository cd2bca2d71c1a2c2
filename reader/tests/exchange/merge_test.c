/*
 * Several traces in one: the order of events, their counts, and what is said of the clocks.
 *
 * Machines are traces built byte by byte, with anchors of any kind; processes are real ones that take turns.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/tools/tool_run.h"

#include "reader/tests/core/trace_builder.h"

#include <tracebed/analysis.h>
#include <tracebed/copy.h>

#define MS             1000000u
#define S              INT64_C(1000000000)
#define START_NS       (INT64_C(1795342500) * S) /* the wall-clock time of the first event */
#define EVENTS_OF_EACH 400u

/* ---- Machines ---- */

struct machine {
    uint64_t ticks;        /* at START_NS */
    uint64_t ticks_per_ms; /* in truth; the header says 1,000,000 */
    uint64_t monotonic_ns; /* at START_NS */
    bool has_second_anchor, has_no_wall_clock;
};

static uint64_t tick_at(const struct machine *machine, uint64_t ms)
{
    return machine->ticks + ms * machine->ticks_per_ms;
}

static void set_anchor(struct trace *trace, const struct machine *machine)
{
    struct tbed_disk_header *header = trace_header(trace);
    header->anchor_ticks = tbed_le64_make(machine->ticks);
    header->anchor_realtime_ns = tbed_le64_make(machine->has_no_wall_clock ? 0 : (uint64_t)START_NS);
    header->anchor_monotonic_ns = tbed_le64_make(machine->monotonic_ns);
    trace_header_mend(trace);
}

/* An anchor 100 s after the first. */
static void add_anchor(struct trace_block *block, const struct machine *machine)
{
    uint64_t words[] = {tick_at(machine, 100000), (uint64_t)(START_NS + 100 * S),
                        machine->monotonic_ns + (uint64_t)(100 * S)};
    uint32_t fields[6];
    for (size_t i = 0; i < 6; i++)
        fields[i] = (uint32_t)(words[i / 2] >> 32 * (i % 2));
    trace_record(block, TBED_RECORD_ANCHOR, fields, 6);
}

/* Counters whose value is their time in ms since the start: first, first + step, … */
static struct tbed_reader *make_machine(struct trace *trace, const struct machine *machine, uint64_t first_ms,
                                        uint64_t step_ms)
{
    *trace = trace_make(12);
    set_anchor(trace, machine);
    struct trace_block records = trace_block_begin(trace, 1, TBED_BLOCK_RECORDS, 1, 0);
    trace_record(&records, TBED_RECORD_STREAM,
                 (uint32_t[]){2, 1, TBED_STREAM_THREAD, 7, TBED_ID_INVALID, 0, 0, 0}, 8);
    if (machine->has_second_anchor)
        add_anchor(&records, machine);
    trace_seal(&records);
    for (uint32_t page = 0; page < EVENTS_OF_EACH / 200; page++) {
        struct trace_block block = trace_block_begin(trace, 2 + page, TBED_BLOCK_EVENTS, 2, page);
        uint64_t base = tick_at(machine, first_ms + 200 * page * step_ms);
        trace_block_header(&block)->first_tick = tbed_le64_make(base);
        for (uint64_t i = 0; i < 200; i++) {
            uint64_t ms = first_ms + (200 * page + i) * step_ms, tick = tick_at(machine, ms);
            while (tick - base > UINT32_MAX / 2) {
                trace_word(&block, tbed_event_make(TBED_TAG_TIME, 1, 0));
                base += UINT64_C(1) << 31;
            }
            trace_word(&block, tbed_event_make(TBED_TAG_PAIR, 42, tick - base));
            trace_word(&block, (uint64_t)TBED_PAIR_COUNTER << 60 | ms);
            block.last_tick = tick;
        }
        trace_seal(&block);
    }
    return trace_open(trace);
}

static const struct machine steady = {50 * S, MS, 50 * S, true, false};
/* Its clock is 3 s ahead and 40 ppm fast. */
static const struct machine fast = {53 * S, MS + 40, 53 * S, true, false};

/* ---- Merges ---- */

static enum tbed_status merge(struct tbed_reader *const readers[2], const struct tbed_merge_options *options,
                              struct tbed_copy_report *report, struct tbed_reader **reader_ret)
{
    const char *path = in_folder("merged.tbed");
    struct tbed_merge_options given = options != NULL ? *options : (struct tbed_merge_options){0};
    size_t source;
    given.size = sizeof given;
    given.overwrite = true;
    enum tbed_status status = tbed_traces_merge(readers, 2, path, &given, report, &source, NULL);
    if (status != TBED_OK)
        return status;
    assert_int_equal(tbed_reader_open(path, NULL, reader_ret, NULL), TBED_OK);
    assert_int_equal(tbed_reader_verify(*reader_ret), TBED_OK);
    return TBED_OK;
}

/* Returns how many counters there are, and in '*unordered_ret' how many have a lower value than the one before. */
static size_t count_values(struct tbed_reader *reader, size_t *unordered_ret)
{
    struct tbed_merge *events;
    struct tbed_event event;
    int64_t last = -1;
    size_t count = 0;
    *unordered_ret = 0;
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &events), TBED_OK);
    while (tbed_merge_next(events, &event) == TBED_OK)
        if (event.type == TBED_EVENT_COUNTER) {
            *unordered_ret += event.counter_value.value.i64 < last;
            last = event.counter_value.value.i64;
            count++;
        }
    tbed_merge_close(events);
    return count;
}

struct pair {
    struct trace traces[2];
    struct tbed_reader *readers[2], *merged;
    struct tbed_copy_report report;
};

/* Both for 200 s, one at even, the other at odd multiples of 250 ms. */
static void make_pair(struct pair *pair, const struct machine *first, const struct machine *second)
{
    *pair = (struct pair){0};
    pair->readers[0] = make_machine(&pair->traces[0], first, 0, 500);
    pair->readers[1] = make_machine(&pair->traces[1], second, 250, 500);
}

static void free_pair(struct pair *pair)
{
    for (size_t i = 0; i < 2; i++) {
        tbed_reader_close(pair->readers[i]);
        trace_free(&pair->traces[i]);
    }
    tbed_reader_close(pair->merged);
}

static void two_machines_are_put_in_order_by_their_anchors(void **state)
{
    struct pair pair;
    struct tbed_clock_quality quality;
    size_t unordered;
    int64_t ns;
    (void)state;
    make_pair(&pair, &steady, &fast);
    assert_int_equal(merge(pair.readers, NULL, &pair.report, &pair.merged), TBED_OK);
    assert_int_equal(count_values(pair.merged, &unordered), 2 * EVENTS_OF_EACH);
    assert_int_equal(unordered, 0);
    assert_false(pair.report.is_one_clock);
    tbed_clock_quality_get(pair.readers[1], &quality);
    assert_int_equal(quality.anchor_count, 2);
    assert_true(quality.drift_ppm > 39.9 && quality.drift_ppm < 40.1);
    /* The anchors are 100 s apart, and the events end 100 s after the second. */
    assert_true(quality.uncertainty_ns > 2900 && quality.uncertainty_ns < 3100);
    assert_true(pair.report.uncertainty_ns > 5900 && pair.report.uncertainty_ns < 6100);
    assert_int_equal(tbed_ticks_to_realtime_ns(pair.merged, 1, &ns), TBED_OK);
    assert_true(ns == START_NS);
    free_pair(&pair);
}

static void one_anchor_leaves_the_drift_unknown(void **state)
{
    struct machine unknown = fast;
    struct tbed_clock_quality quality;
    struct pair pair;
    size_t unordered;
    (void)state;
    unknown.has_second_anchor = false;
    make_pair(&pair, &steady, &unknown);
    assert_int_equal(merge(pair.readers, NULL, &pair.report, &pair.merged), TBED_OK);
    assert_int_equal(count_values(pair.merged, &unordered), 2 * EVENTS_OF_EACH);
    tbed_clock_quality_get(pair.readers[1], &quality);
    assert_int_equal(quality.anchor_count, 1);
    assert_true(quality.drift_ppm == 0);
    assert_true(quality.uncertainty_ns > 19 * MS && quality.uncertainty_ns < 21 * MS);
    free_pair(&pair);
}

static void a_trace_without_a_wall_clock_is_refused(void **state)
{
    struct machine lost = {9 * S, MS, 1, false, true};
    struct tbed_merge_options options = {.time = TBED_MERGE_SAME_START};
    struct pair pair;
    size_t unordered;
    (void)state;
    make_pair(&pair, &steady, &lost);
    assert_int_equal(merge(pair.readers, NULL, &pair.report, &pair.merged), TBED_ERR_NO_TIME);
    assert_int_equal(merge(pair.readers, &options, &pair.report, &pair.merged), TBED_OK);
    assert_int_equal(count_values(pair.merged, &unordered), 2 * EVENTS_OF_EACH);
    free_pair(&pair);
}

static void a_source_may_be_shifted(void **state)
{
    const int64_t shifts[2] = {0, 300 * S};
    struct tbed_merge_options options = {.shifts_ns = shifts};
    struct tbed_trace_info info;
    struct pair pair;
    size_t unordered;
    (void)state;
    make_pair(&pair, &steady, &fast);
    assert_int_equal(merge(pair.readers, &options, &pair.report, &pair.merged), TBED_OK);
    assert_int_equal(count_values(pair.merged, &unordered), 2 * EVENTS_OF_EACH);
    assert_int_equal(unordered, 1); /* where the second begins */
    tbed_reader_info(pair.merged, &info);
    assert_true(info.last_tick > (uint64_t)(499 * S) && info.last_tick < (uint64_t)(501 * S));
    free_pair(&pair);
}

static void the_same_trace_twice_is_refused(void **state)
{
    struct pair pair;
    (void)state;
    make_pair(&pair, &steady, &steady);
    assert_int_equal(merge(pair.readers, NULL, &pair.report, &pair.merged), TBED_ERR_ARGUMENT);
    free_pair(&pair);
}

/* ---- Processes ---- */

#define PROCESSES 8
#define ROUNDS    30

static void take_turns(const char *path, unsigned process, const int from[2], const int to[2])
{
    struct tbed_writer_options options = {
        .size = sizeof options, .overwrite = true, .no_helper = true, .page_nbytes = 4096};
    struct tbed_writer *writer = NULL;
    uint8_t token;
    if (tbed_writer_open(path, &options, &writer, NULL) != TBED_OK)
        _exit(1);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "worker");
    uint32_t turn = intern(writer, "turn"), work = intern(writer, process % 2 == 0 ? "even" : "odd");
    for (int i = 0; i < ROUNDS; i++) {
        if (read(from[0], &token, 1) != 1)
            _exit(2);
        tbed_span_begin(recorder, work);
        tbed_counter_record_i64(recorder, turn, i * PROCESSES + (int)process);
        tbed_span_end(recorder);
        if (write(to[1], &token, 1) != 1)
            _exit(3);
    }
    tbed_writer_close(writer);
    _exit(0);
}

static void record_processes(const char *format, char paths[PROCESSES][512])
{
    int pipes[PROCESSES][2];
    for (unsigned i = 0; i < PROCESSES; i++) {
        snprintf(paths[i], sizeof paths[i], format, run_folder, i);
        assert_int_equal(pipe(pipes[i]), 0);
    }
    for (unsigned i = 0; i < PROCESSES; i++)
        if (fork() == 0)
            take_turns(paths[i], i, pipes[i], pipes[(i + 1) % PROCESSES]);
    assert_int_equal(write(pipes[0][1], "x", 1), 1);
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
}

static void eight_processes_keep_their_order_and_counts(void **state)
{
    char paths[PROCESSES][512];
    const char *words[16] = {"merge"}, *merged = in_folder("eight.tbed");
    struct tbed_reader *reader;
    struct tbed_statistics *statistics;
    struct tbed_process_info process;
    struct tbed_analysis_options options = {.size = sizeof options};
    size_t unordered;
    (void)state;
    record_processes("%s/process-%u.tbed", paths);
    for (size_t i = 0; i < PROCESSES; i++)
        words[1 + i] = paths[i];
    words[1 + PROCESSES] = "-o";
    words[2 + PROCESSES] = merged;
    expect(words, 0, "one clock: the order is exact", "");
    EXPECT(0, NULL, "", "verify", merged);
    assert_int_equal(tbed_reader_open(merged, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(count_values(reader, &unordered), PROCESSES * ROUNDS);
    assert_int_equal(unordered, 0);
    assert_int_equal(tbed_statistics_make(reader, &options, &statistics), TBED_OK);
    assert_string_equal(tbed_statistics_span(statistics, 0)->name, "even");
    assert_int_equal(tbed_statistics_span(statistics, 0)->count, PROCESSES / 2 * ROUNDS);
    assert_int_equal(tbed_statistics_span(statistics, 1)->count, PROCESSES / 2 * ROUNDS);
    assert_null(tbed_statistics_span(statistics, 2));
    assert_true(tbed_process_get(reader, PROCESSES - 1, &process));
    assert_false(tbed_process_get(reader, PROCESSES, &process));
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_machines_are_put_in_order_by_their_anchors),
        cmocka_unit_test(one_anchor_leaves_the_drift_unknown),
        cmocka_unit_test(a_trace_without_a_wall_clock_is_refused),
        cmocka_unit_test(a_source_may_be_shifted),
        cmocka_unit_test(the_same_trace_twice_is_refused),
        cmocka_unit_test(eight_processes_keep_their_order_and_counts),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
