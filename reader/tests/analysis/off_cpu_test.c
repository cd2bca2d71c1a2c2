/*
 * Statistics of traces that say when threads were off their processors, compared with counting tick by tick.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <tracebed/analysis.h>
#include <tracebed/writer.h>
#include <unistd.h>

#define THREADS  3u
#define NAMES    5u
#define TICKS    4000u
#define DEPTH    8u
#define PROGRAMS 40u

struct model {
    char path[64];
    struct tbed_writer *writer;
    uint32_t ids[NAMES], waiting;
    uint64_t random;
    bool is_off[TICKS];
    uint64_t count[NAMES], total[NAMES], off[NAMES], self_on[NAMES];
};

static uint32_t below(struct model *model, uint32_t limit)
{
    model->random = model->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(model->random >> 33) % limit;
}

static void give(struct tbed_recorder *recorder, enum tbed_given_type type, uint32_t id, uint64_t tick)
{
    struct tbed_given_event event = {.type = type, .id = id, .category = TBED_ID_INVALID, .tick = tick};
    tbed_event_record_given(recorder, &event);
}

/* Times off the processor of the thread with stream 'thread'; they are never empty here. */
static void give_off(struct model *model, uint32_t thread)
{
    struct tbed_recorder *recorder = tbed_recorder_open_off_cpu(model->writer, 0, thread, "off", thread);
    memset(model->is_off, 0, sizeof model->is_off);
    for (uint32_t tick = 1 + below(model, 50); tick < TICKS;) {
        uint32_t end = tick + 1 + below(model, 60);
        end = end > TICKS ? TICKS : end;
        give(recorder, TBED_GIVEN_BEGIN, model->waiting, tick);
        give(recorder, TBED_GIVEN_END, model->waiting, end);
        memset(model->is_off + tick, 1, end - tick);
        tick = end + below(model, 80);
    }
    tbed_recorder_close(recorder);
}

static void count(struct model *model, uint32_t name, uint32_t begin, uint32_t end, uint64_t children_on)
{
    uint64_t off = 0;
    for (uint32_t tick = begin; tick < end; tick++)
        off += model->is_off[tick];
    model->count[name]++;
    model->total[name] += end - begin;
    model->off[name] += off;
    model->self_on[name] += end - begin - off - children_on;
}

static uint64_t on(const struct model *model, uint32_t begin, uint32_t end)
{
    uint64_t ticks = 0;
    for (uint32_t tick = begin; tick < end; tick++)
        ticks += !model->is_off[tick];
    return ticks;
}

/* Random nested spans of one thread. A begin tick of 0 would be one that is not known. */
static void give_spans(struct model *model, struct tbed_recorder *recorder)
{
    struct {
        uint32_t name, begin;
        uint64_t children_on;
    } stack[DEPTH];
    uint32_t depth = 0;
    for (uint32_t tick = 1; tick < TICKS || depth > 0; tick += below(model, 30)) {
        tick = tick >= TICKS ? TICKS - 1 : tick;
        bool ends = depth > 0 && (tick == TICKS - 1 || depth == DEPTH || below(model, 2) == 0);
        if (!ends) {
            if (tick == TICKS - 1)
                break;
            stack[depth].name = below(model, NAMES);
            stack[depth].begin = tick;
            stack[depth].children_on = 0;
            give(recorder, TBED_GIVEN_BEGIN, model->ids[stack[depth++].name], tick);
            continue;
        }
        depth--;
        give(recorder, TBED_GIVEN_END, TBED_ID_INVALID, tick);
        count(model, stack[depth].name, stack[depth].begin, tick, stack[depth].children_on);
        if (depth > 0)
            stack[depth - 1].children_on += on(model, stack[depth].begin, tick);
    }
}

static void make_trace(struct model *model, uint64_t seed, bool has_off)
{
    struct tbed_writer_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .page_nbytes = 4096,
                                          .given_ticks = true,
                                          .given_ticks_per_second = 1000000000};
    memset(model, 0, sizeof *model);
    model->random = seed;
    strcpy(model->path, "/tmp/tracebed-off-cpu-XXXXXX");
    int fd = mkstemp(model->path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(tbed_writer_open(model->path, &options, &model->writer, NULL), TBED_OK);
    model->waiting = tbed_string_intern(model->writer, "waiting", 7);
    for (uint32_t i = 0; i < NAMES; i++)
        model->ids[i] = tbed_string_intern(model->writer, (const char[]){(char)('a' + i)}, 1);
    for (uint32_t thread = 0; thread < THREADS; thread++) {
        struct tbed_recorder *recorder = tbed_recorder_open_given(model->writer, NULL, thread + 1);
        give(recorder, TBED_GIVEN_INSTANT, model->ids[0], 0); /* the stream has its number */
        memset(model->is_off, 0, sizeof model->is_off);
        if (has_off && thread != 1) /* nothing is known of one of them */
            give_off(model, tbed_recorder_stream(recorder));
        give_spans(model, recorder);
        tbed_recorder_close(recorder);
    }
    tbed_writer_free(model->writer);
}

static struct tbed_statistics *statistics_of(const struct model *model, bool is_without, unsigned threads)
{
    struct tbed_analysis_options options = {.size = sizeof options,
                                            .thread_count = threads,
                                            .count_off_cpu = true,
                                            .without_off_cpu = is_without};
    struct tbed_statistics *statistics;
    struct tbed_reader *reader;
    assert_int_equal(tbed_reader_open(model->path, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_statistics_make(reader, &options, &statistics), TBED_OK);
    assert_int_equal(tbed_damage_count(reader), 0);
    tbed_reader_close(reader);
    return statistics;
}

static void compare(const struct model *model, bool is_without, unsigned threads)
{
    struct tbed_statistics *statistics = statistics_of(model, is_without, threads);
    const struct tbed_span_row *row;
    uint64_t seen = 0, known = 0;
    for (size_t i = 0; (row = tbed_statistics_span(statistics, i)) != NULL; i++) {
        uint32_t name = (uint32_t)(row->name[0] - 'a');
        assert_int_equal(row->name_nbytes, 1); /* not the times off the processor themselves */
        assert_int_equal(row->count, model->count[name]);
        assert_int_equal(row->off_cpu_ticks, model->off[name]);
        assert_int_equal(row->total_ticks, model->total[name] - (is_without ? model->off[name] : 0));
        if (is_without)
            assert_int_equal(row->self_ticks, model->self_on[name]);
        seen += row->count;
    }
    for (uint32_t name = 0; name < NAMES; name++)
        known += model->count[name];
    assert_int_equal(seen, known);
    tbed_statistics_close(statistics);
}

static void time_off_the_processor_is_counted_and_left_out(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        static struct model model;
        make_trace(&model, seed, seed % 8 != 0);
        for (unsigned threads = 1; threads <= 2; threads++) {
            compare(&model, false, threads);
            compare(&model, true, threads);
        }
        unlink(model.path);
    }
}

/* A hostile trace may have times that overlap, are turned around, do not end, or belong to a stream that is not there. */
static void odd_times_are_safe(void **state)
{
    static struct model model;
    (void)state;
    make_trace(&model, 77, false);
    struct tbed_writer_options options = {.size = sizeof options, .join = true, .annotate = true};
    assert_int_equal(tbed_writer_open(model.path, &options, &model.writer, NULL), TBED_OK);
    for (uint32_t thread = 0; thread < 2; thread++) {
        struct tbed_recorder *recorder =
            tbed_recorder_open_off_cpu(model.writer, 1, thread == 0 ? 2 : 999, NULL, 1);
        give(recorder, TBED_GIVEN_END, 0, 10);
        give(recorder, TBED_GIVEN_BEGIN, model.waiting, 500);
        give(recorder, TBED_GIVEN_BEGIN, model.waiting, 20);
        give(recorder, TBED_GIVEN_END, model.waiting, 600);
        give(recorder, TBED_GIVEN_END, model.waiting, 5);
        give(recorder, TBED_GIVEN_BEGIN, model.waiting, UINT64_MAX);
        tbed_recorder_close(recorder);
    }
    tbed_writer_free(model.writer);
    struct tbed_statistics *statistics = statistics_of(&model, true, 2);
    const struct tbed_span_row *row;
    for (size_t i = 0; (row = tbed_statistics_span(statistics, i)) != NULL; i++)
        assert_true(row->total_ticks <= THREADS * (uint64_t)TICKS * DEPTH);
    tbed_statistics_close(statistics);
    unlink(model.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_off_the_processor_is_counted_and_left_out),
        cmocka_unit_test(odd_times_are_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
