/*
 * The loops that take most events of a trace, against the general code: traces whose spans have names, which the loops need,
 * with tags that can be foreseen or not, and with whatever makes a loop stop.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/trace/trace_worker.h"
#include "reader/tests/analysis/span_list.h"

#include <stdio.h>
#include <tracebed/analysis.h>

#define NAMES  30u
#define EVENTS 6000u

enum shape { REPEATED, RANDOM, DEEP, SHAPE_COUNT };
enum stop { NOTHING, INSTANTS, UNKNOWN_ENDS, LONG_PAUSES, NO_NAMES, OPEN_SPANS, STOP_COUNT };

struct making {
    struct fixture *f;
    uint32_t ids[NAMES];
    uint64_t random, tick;
    uint32_t stream;
};

/* Whether event 'i' begins a span. */
static bool begins(struct making *making, enum shape shape, uint32_t i)
{
    static const bool repeated[] = {true, true, false, true, true, false, false, true, false, false};
    uint32_t depth = making->f->streams[making->stream].depth;
    if (depth == 0)
        return true;
    if (shape == REPEATED)
        return repeated[i % 10] && depth < 8;
    if (shape == RANDOM)
        return fixture_random(&making->random) % 100 < 48;
    return i % 3000 < 1500;
}

static void stop(struct making *making, enum stop stop)
{
    uint32_t dice = fixture_random(&making->random) % 50, id = making->ids[dice % NAMES];
    if (stop == INSTANTS && dice < 2 + making->stream * 10)
        fixture_instant(making->f, making->stream, making->tick, id);
    if (stop == UNKNOWN_ENDS && making->f->streams[making->stream].depth == 0)
        fixture_event(making->f, making->stream, making->tick, TBED_TAG_END, id, NULL, 0);
    if (stop == LONG_PAUSES && dice == 0)
        making->tick += UINT64_C(3) << 31;
}

static void record(struct making *making, enum shape shape, enum stop stops)
{
    making->tick = 100;
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint32_t name = (shape == REPEATED ? i : fixture_random(&making->random)) % NAMES;
        uint32_t id = stops == NO_NAMES && name < 3 ? 1 + name : making->ids[name];
        making->tick += fixture_random(&making->random) % (2u << i % 12);
        stop(making, stops);
        if (begins(making, shape, i))
            fixture_begin(making->f, making->stream, making->tick, id);
        else
            fixture_end(making->f, making->stream, making->tick, false);
    }
    while (stops != OPEN_SPANS && making->f->streams[making->stream].depth > 0)
        fixture_end(making->f, making->stream, ++making->tick, false);
}

static struct fixture *make(enum shape shape, enum stop stops, uint32_t page_nbytes)
{
    struct making making = {.f = fixture_new(page_nbytes), .random = shape * 10 + stops + 1};
    for (uint32_t i = 0; i < NAMES; i++) {
        char name[16];
        snprintf(name, sizeof name, "name %u", i);
        making.ids[i] = fixture_string(making.f, name);
    }
    for (making.stream = 1; making.stream <= 3; making.stream++)
        record(&making, shape, stops);
    return making.f;
}

static void expect_agreement(enum shape shape, enum stop stops, unsigned threads, uint32_t page_nbytes)
{
    struct fixture *f = make(shape, stops, page_nbytes);
    struct tbed_reader *reader = fixture_open(f);
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = threads};
    struct tbed_statistics *fast, *general;
    struct tbed_statistics_totals totals;
    assert_int_equal(tbed_stat_make_trace(reader, &options, false, &fast), TBED_OK);
    assert_int_equal(tbed_stat_make_trace(reader, &options, true, &general), TBED_OK);
    expect_same(fast, general);
    tbed_statistics_totals(fast, &totals);
    assert_true(totals.span_count > 1000);
    assert_int_equal(totals.unnamed_count > 0, stops == NO_NAMES);
    assert_int_equal(totals.unknown_begin_count > 0, stops == UNKNOWN_ENDS);
    assert_true(stops == OPEN_SPANS || totals.open_span_count == 0);
    tbed_statistics_close(fast);
    tbed_statistics_close(general);
    tbed_reader_close(reader);
    fixture_free(f);
}

static void all_loops_agree_with_the_general_code(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SHAPE_COUNT * STOP_COUNT; i++) {
        expect_agreement(i % SHAPE_COUNT, i / SHAPE_COUNT, 1, 4096);
        expect_agreement(i % SHAPE_COUNT, i / SHAPE_COUNT, 1 + i % 3, 65536);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_loops_agree_with_the_general_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
