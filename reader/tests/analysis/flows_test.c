/*
 * Flows and asynchronous spans: against an oracle that looks at each tick of each flow.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/analysis/analysis_fixture.h"

#include <tracebed/flows.h>

enum { STREAMS = 3, SPAN_IDS = 6, FLOW_IDS = 3, KEYS = 4, STEPS_MAX = 6000, PARTS_MAX = 200 };

enum odd { PLAIN = 0, WHOLE = 1, BACK = 2, LOSES = 4, INHERITS = 8, LEAVES = 16 };

/* ---- Random traces ---- */

static void random_point(struct fixture *f, uint32_t stream, uint64_t tick, uint64_t *random)
{
    static const uint32_t types[] = {TBED_EXT_FLOW_BEGIN, TBED_EXT_FLOW_STEP,   TBED_EXT_FLOW_STEP,
                                     TBED_EXT_FLOW_END,   TBED_EXT_ASYNC_BEGIN, TBED_EXT_ASYNC_END};
    uint64_t key = fixture_random(random) % KEYS;
    uint32_t type = types[fixture_random(random) % 6];
    fixture_extended(f, stream, tick, 1 + fixture_random(random) % FLOW_IDS, type, 0, &key, 1);
}

static void random_span(struct fixture *f, uint32_t stream, uint64_t tick, unsigned odd, uint64_t *random)
{
    struct fixture_stream *s = &f->streams[stream];
    uint32_t dice = fixture_random(random) % 100, id = 1 + fixture_random(random) % SPAN_IDS;
    uint64_t begin = tick - fixture_random(random) % 60, ends[2] = {0, tick + 5};
    if (odd & WHOLE && stream == 2 && dice < 30) {
        fixture_extended(f, stream, tick, id, TBED_EXT_SPAN, 0, &begin, 1);
    } else if (odd & LEAVES && dice < 10 && s->begun > 0) {
        s->depth--;
        s->begun--;
        ends[1] = dice < 5 ? 0 : ends[1];
        fixture_extended(f, stream, tick, id, TBED_EXT_LEAVE, 0, ends, 2);
    } else if (s->depth < 6 && (dice < 70 || s->depth == 0)) {
        fixture_begin(f, stream, tick, id);
    } else if (s->depth > 0) {
        fixture_end(f, stream, tick, false);
    }
}

static struct fixture *random_flows(unsigned odd, uint64_t seed)
{
    uint64_t random = seed * 0x9E3779B97F4A7C15u + odd, tick = 1000;
    struct fixture *f = fixture_new(4096);
    f->left_open = (odd & LOSES) != 0;
    for (uint32_t i = 0; odd & INHERITS && i < 3; i++)
        f->streams[1].stack[f->streams[1].depth++] = (struct fixture_span){1, 1 + i};
    f->streams[1].inherited = f->streams[1].depth;
    for (uint32_t i = 0; i < 2500; i++) {
        uint32_t stream = 1 + fixture_random(&random) % STREAMS;
        struct fixture_stream *s = &f->streams[stream];
        tick += fixture_random(&random) % 4;
        uint64_t now = tick;
        if (odd & BACK && fixture_random(&random) % 50 == 0 && s->page != 0 && tick > s->base + 30)
            now -= 30;
        if (fixture_random(&random) % 3 == 0)
            random_point(f, stream, now, &random);
        else
            random_span(f, stream, now, odd, &random);
    }
    for (size_t page = 2; odd & LOSES && page + 1 < f->page_count; page++)
        if (fixture_random(&random) % 4 == 0)
            memset(fixture_page(f, page), 0, f->page_nbytes);
    return f;
}

/* ---- The oracle ---- */

struct point {
    uint64_t tick, span_begin, span_end;
    uint32_t stream, id;
};

struct taken {
    enum tbed_step_kind kind;
    enum tbed_event_type type;
    bool is_whole, has_event;
    uint64_t tick, key, begin, end;
    uint32_t stream, id;
    size_t depth;
};

struct part {
    bool is_waiting;
    uint32_t stream, id;
    uint64_t ticks;
};

struct sums {
    uint64_t count, open, lost_ends, lost_steps, decreases, total, min, max;
    struct part parts[PARTS_MAX];
    size_t part_count;
};

struct oracle {
    struct taken steps[STEPS_MAX];
    size_t step_count;
    struct sums sums[2][FLOW_IDS + 1];
    struct tbed_flow ended[STEPS_MAX];
    size_t ended_count;
};

static void read_steps(struct oracle *oracle, struct tbed_reader *reader, const struct tbed_filter *filter)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    assert_int_equal(tbed_assembler_open_filtered(reader, NULL, 0, filter, &assembler), TBED_OK);
    while (tbed_assembler_next(assembler, &step) == TBED_OK) {
        struct taken *taken = &oracle->steps[oracle->step_count++];
        assert_true(oracle->step_count < STEPS_MAX);
        *taken = (struct taken){.kind = step.kind, .depth = step.depth, .has_event = step.event != NULL};
        if (step.event != NULL) {
            taken->type = step.event->type;
            taken->tick = step.event->tick;
            taken->id = step.event->id;
            taken->stream = step.event->stream;
            taken->key = step.event->of.async.key;
        }
        if (step.span != NULL) {
            taken->is_whole = step.span->is_whole;
            taken->begin = step.span->begin_tick;
            taken->end = step.span->end_tick;
            taken->id = step.span->id;
            taken->stream = step.span->stream;
        }
    }
    tbed_assembler_close(assembler);
}

static bool is_point(const struct taken *step)
{
    return step->kind == TBED_STEP_EVENT && step->type >= TBED_EVENT_ASYNC_BEGIN &&
           step->type <= TBED_EVENT_FLOW_END;
}

static bool is_begin(const struct taken *step)
{
    return step->type == TBED_EVENT_ASYNC_BEGIN || step->type == TBED_EVENT_FLOW_BEGIN;
}

static bool is_end(const struct taken *step)
{
    return step->type == TBED_EVENT_ASYNC_END || step->type == TBED_EVENT_FLOW_END;
}

static bool is_async(const struct taken *step)
{
    return step->type == TBED_EVENT_ASYNC_BEGIN || step->type == TBED_EVENT_ASYNC_END;
}

/*
 * The first span that ends later and that the point is in. Where a span begins later, none of its depth is around the
 * point.
 */
static struct point point_at(const struct oracle *oracle, size_t at)
{
    const struct taken *event = &oracle->steps[at];
    size_t depth = event->depth;
    for (size_t i = at + 1; i < oracle->step_count; i++) {
        const struct taken *step = &oracle->steps[i];
        if (step->stream != event->stream || step->kind == TBED_STEP_EVENT)
            continue;
        if (step->kind == TBED_STEP_BEGIN) {
            depth = step->depth < depth ? step->depth : depth;
            continue;
        }
        if (step->is_whole ? step->begin <= event->tick && event->tick <= step->end : step->depth < depth) {
            struct point point = {event->tick, step->begin, step->end, event->stream, step->id};
            if (step->kind == TBED_STEP_UNKNOWN) {
                point.span_begin = event->tick;
                point.span_end = step->has_event ? step->tick : event->tick;
            }
            return point;
        }
    }
    return (struct point){event->tick, UINT64_MAX, 0, event->stream, TBED_ID_INVALID};
}

static void add_tick(struct sums *sums, bool is_waiting, const struct point *point)
{
    for (size_t i = 0; i < sums->part_count; i++) {
        struct part *part = &sums->parts[i];
        if (part->is_waiting == is_waiting && part->stream == point->stream && part->id == point->id) {
            part->ticks++;
            return;
        }
    }
    assert_true(sums->part_count < PARTS_MAX);
    sums->parts[sums->part_count++] = (struct part){is_waiting, point->stream, point->id, 1};
}

/* The points of one flow, from its begin at 'first' to its end. */
static void add_flow(struct oracle *oracle, struct sums *sums, const size_t *points, size_t count)
{
    uint64_t begin = oracle->steps[points[0]].tick, now = begin;
    for (size_t i = 1; i < count; i++) {
        struct point from = point_at(oracle, points[i - 1]), to = point_at(oracle, points[i]);
        for (; now < to.tick; now++) {
            if (now < from.span_end)
                add_tick(sums, false, &from);
            else if (now >= to.span_begin)
                add_tick(sums, false, &to);
            else
                add_tick(sums, true, &to);
        }
    }
    sums->min = sums->count == 0 || now - begin < sums->min ? now - begin : sums->min;
    sums->max = now - begin > sums->max ? now - begin : sums->max;
    sums->total += now - begin;
    sums->count++;
    oracle->ended[oracle->ended_count++] =
        (struct tbed_flow){.begin_tick = begin, .ticks = now - begin, .point_count = count};
}

/* Follows the flow that begins at 'at': later points of its name and key that belong to no newer one. */
static void follow(struct oracle *oracle, size_t at, bool *used)
{
    const struct taken *begin = &oracle->steps[at];
    struct sums *sums = &oracle->sums[is_async(begin)][begin->id];
    size_t points[STEPS_MAX], count = 0;
    for (size_t i = at; i < oracle->step_count; i++) {
        const struct taken *step = &oracle->steps[i];
        if (used[i] || !is_point(step) || step->id != begin->id || step->key != begin->key ||
            is_async(step) != is_async(begin))
            continue;
        used[i] = true;
        points[count++] = i;
        if (count > 1)
            sums->decreases += step->tick < oracle->steps[points[count - 2]].tick;
        if (is_end(step)) {
            add_flow(oracle, sums, points, count);
            return;
        }
    }
    sums->open++;
}

static void follow_all(struct oracle *oracle)
{
    bool used[STEPS_MAX] = {0};
    for (size_t i = oracle->step_count; i-- > 0;) /* the newest first */
        if (is_point(&oracle->steps[i]) && is_begin(&oracle->steps[i]))
            follow(oracle, i, used);
    for (size_t i = 0; i < oracle->step_count; i++) {
        const struct taken *step = &oracle->steps[i];
        struct sums *sums = &oracle->sums[is_async(step)][is_point(step) ? step->id : 0];
        if (is_point(step) && !used[i])
            *(is_end(step) ? &sums->lost_ends : &sums->lost_steps) += 1;
    }
}

/* ---- Comparing ---- */

static size_t row_of(const struct tbed_flows *flows, bool async, uint32_t id)
{
    const struct tbed_flow_row *row;
    size_t i = 0;
    while ((row = tbed_flows_row(flows, i)) != NULL && (row->id != id || row->is_async != async))
        i++;
    return i;
}

static void expect_parts(const struct tbed_flows *flows, size_t row, const struct sums *sums)
{
    const struct tbed_flow_part *part, *before = NULL;
    size_t count = 0;
    for (; (part = tbed_flows_part(flows, row, count)) != NULL; count++, before = part) {
        size_t i = 0;
        while (i < sums->part_count &&
               (sums->parts[i].is_waiting != part->is_waiting || sums->parts[i].id != part->id ||
                sums->parts[i].stream != part->stream))
            i++;
        assert_true(i < sums->part_count);
        assert_int_equal(part->ticks, sums->parts[i].ticks);
        assert_true(before == NULL || before->ticks >= part->ticks);
    }
    assert_int_equal(count, sums->part_count);
}

static void expect_row(const struct tbed_flows *flows, bool async, uint32_t id, const struct sums *sums)
{
    static const struct tbed_flow_row none;
    size_t at = row_of(flows, async, id);
    const struct tbed_flow_row *row = tbed_flows_row(flows, at);
    row = row != NULL ? row : &none;
    assert_int_equal(row->count, sums->count);
    assert_int_equal(row->open_count, sums->open);
    assert_int_equal(row->lost_end_count, sums->lost_ends);
    assert_int_equal(row->lost_step_count, sums->lost_steps);
    assert_int_equal(row->decrease_count, sums->decreases);
    assert_int_equal(row->total_ticks, sums->total);
    assert_int_equal(row->min_ticks, sums->min);
    assert_int_equal(row->max_ticks, sums->max);
    assert_int_equal(row->running_ticks + row->waiting_ticks, sums->total);
    assert_true(row->min_ticks <= row->p50_ticks && row->p50_ticks <= row->p90_ticks &&
                row->p90_ticks <= row->p99_ticks && row->p99_ticks <= row->max_ticks);
    expect_parts(flows, at, sums);
}

static int compare_flows(const void *left, const void *right)
{
    const struct tbed_flow *a = left, *b = right;
    if (a->ticks != b->ticks)
        return a->ticks > b->ticks ? -1 : 1;
    return (a->begin_tick > b->begin_tick) - (a->begin_tick < b->begin_tick);
}

static void expect_slowest(const struct tbed_flows *flows, struct oracle *oracle, size_t wanted)
{
    const struct tbed_flow *flow;
    size_t count = 0;
    qsort(oracle->ended, oracle->ended_count, sizeof oracle->ended[0], compare_flows);
    for (; (flow = tbed_flows_slowest(flows, count)) != NULL; count++) {
        uint64_t now = flow->begin_tick;
        assert_int_equal(flow->ticks, oracle->ended[count].ticks);
        assert_int_equal(flow->begin_tick, oracle->ended[count].begin_tick);
        for (size_t i = 0; i < flow->stretch_count; i++) {
            assert_int_equal(flow->stretches[i].begin_tick, now);
            assert_true(flow->stretches[i].ticks > 0);
            now += flow->stretches[i].ticks;
        }
        assert_int_equal(now - flow->begin_tick, flow->ticks);
        assert_int_equal(flow->points[0].tick, flow->begin_tick);
        assert_int_equal(flow->points[0].stream, flow->begin_stream);
        assert_int_equal(flow->points[flow->point_count - 1].stream, flow->end_stream);
    }
    assert_int_equal(count, wanted < oracle->ended_count ? wanted : oracle->ended_count);
}

static void expect_flows(struct tbed_reader *reader, const struct tbed_filter *filter, unsigned threads,
                         size_t wanted)
{
    struct oracle *oracle = calloc(1, sizeof *oracle);
    struct tbed_flows_options options = {
        .size = sizeof options, .thread_count = threads, .filter = filter, .slowest_count = wanted};
    struct tbed_flows *flows;
    assert_non_null(oracle);
    read_steps(oracle, reader, filter);
    follow_all(oracle);
    assert_int_equal(tbed_flows_make(reader, &options, &flows), TBED_OK);
    for (unsigned async = 0; async < 2; async++)
        for (uint32_t id = 1; id <= FLOW_IDS; id++)
            expect_row(flows, async, id, &oracle->sums[async][id]);
    expect_slowest(flows, oracle, wanted);
    tbed_flows_close(flows);
    free(oracle);
}

static void run(unsigned odd)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct fixture *f = random_flows(odd, seed);
        struct tbed_reader *reader = fixture_open(f);
        expect_flows(reader, NULL, (unsigned)(seed % 3 + 1), seed * seed);
        tbed_reader_close(reader);
        fixture_free(f);
    }
}

static void flows_are_followed(void **state)
{
    (void)state;
    run(PLAIN);
}

static void flows_through_whole_spans_are_followed(void **state)
{
    (void)state;
    run(WHOLE);
    run(WHOLE | INHERITS);
}

static void flows_of_a_forked_child_run_in_its_parents_spans(void **state)
{
    (void)state;
    run(INHERITS);
}

static void spans_that_leave_end_when_they_say(void **state)
{
    (void)state;
    run(LEAVES);
    run(LEAVES | INHERITS);
}

static void clocks_may_step_back(void **state)
{
    (void)state;
    run(BACK);
}

static void flows_are_followed_where_blocks_are_missing(void **state)
{
    (void)state;
    run(LOSES);
    run(LOSES | INHERITS);
}

static void a_filter_chooses_points_and_spans(void **state)
{
    const char *const names[] = {"[135]"}, *const inside[] = {"<id 2>"};
    const uint32_t streams[] = {1, 3};
    (void)state;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        struct fixture *f = random_flows(seed % 2 ? WHOLE : INHERITS, seed);
        struct tbed_reader *reader = fixture_open(f);
        struct tbed_filter_options which = {.size = sizeof which};
        struct tbed_filter *filter;
        if (seed % 3 == 0) {
            which.begin_tick = 1500;
            which.end_tick = 3000;
        }
        which.names = seed % 4 == 1 ? names : NULL;
        which.name_count = seed % 4 == 1;
        which.inside = seed % 5 == 0 ? inside : NULL;
        which.inside_count = seed % 5 == 0;
        which.streams = seed % 7 == 0 ? streams : NULL;
        which.stream_count = 2;
        which.minimum_ticks = seed % 4 == 2 ? 20 : 0;
        assert_int_equal(tbed_filter_make(reader, &which, &filter, NULL), TBED_OK);
        expect_flows(reader, filter, (unsigned)(seed % 3 + 1), 10);
        tbed_filter_close(filter);
        tbed_reader_close(reader);
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows_are_followed),
        cmocka_unit_test(flows_through_whole_spans_are_followed),
        cmocka_unit_test(flows_of_a_forked_child_run_in_its_parents_spans),
        cmocka_unit_test(spans_that_leave_end_when_they_say),
        cmocka_unit_test(clocks_may_step_back),
        cmocka_unit_test(flows_are_followed_where_blocks_are_missing),
        cmocka_unit_test(a_filter_chooses_points_and_spans),
    };
    return cmocka_run_group_tests_name("flows", tests, NULL, NULL);
}
