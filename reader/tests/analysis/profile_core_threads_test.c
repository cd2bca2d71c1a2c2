/*
 * The core of profiles against a slow walk that follows the documentation one event at a time, over arbitrary spans,
 * cut into chunks at arbitrary places, on one to four threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reader/analysis/statistics/span_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEST(name)  cmocka_unit_test(name)
#define EVENT_MAX   3000u
#define LABEL_COUNT 12u
#define THREAD_MAX  5u
#define STACK_MAX   (EVENT_MAX + 1)

/* ---- A source of made-up events ---- */

enum event_type { SPAN, INSTANT, COUNTER };

struct event {
    enum event_type type;
    uint64_t thread, kind, id, begin, end;
};

struct program {
    struct event events[EVENT_MAX];
    size_t event_count;
    size_t chunk_nbytes; /* events of a chunk */
    uint64_t random;
};

static uint64_t next_random(struct program *program, uint64_t below)
{
    program->random = program->random * 6364136223846793005u + 1442695040888963407u;
    return (program->random >> 33) % below;
}

static const char *const kinds[] = {"Query",
                                    "GenericActivity",
                                    "QueryBlocked",
                                    "IncrementalLoadResult",
                                    "IncrementalResultHashing",
                                    "SomethingElse",
                                    "QueryCacheHit",
                                    "QueryCacheHitCount",
                                    "ArtifactSize"};
enum { QUERY, GENERIC, BLOCKED, LOAD, HASHING, OTHER, HIT, HIT_COUNT, ARTIFACT, KIND_COUNT };

/*
 * Ids 0 … 8 are kinds; 100 + n and 2^40 + n mean "label n" by a reference to 1000 + n, with arguments if n is odd.
 * 5000 has no text.
 */
#define KIND_ID(kind) (uint64_t)(kind)
#define UNKNOWN_ID    5000u

struct walk {
    uint64_t id;
    unsigned step;
};

static enum tbed_status walk_start(const void *context, uint64_t id, struct tbed_label_walk *walk)
{
    struct walk *own = (void *)walk;
    (void)context;
    *own = (struct walk){.id = id};
    return id != UNKNOWN_ID ? TBED_OK : TBED_ERR_STRING_UNBOUND;
}

static uint64_t label_of(uint64_t id)
{
    return id >= UINT64_C(1) << 40 ? id - (UINT64_C(1) << 40) : id - 100;
}

static enum tbed_status walk_next(struct tbed_label_walk *walk, struct tbed_label_component *component_ret)
{
    static const char labels[LABEL_COUNT + 1] = "abcdefghijkl";
    struct walk *own = (void *)walk;
    *component_ret = (struct tbed_label_component){0};
    own->step++;
    if (own->id < KIND_COUNT || (own->id >= 1000 && own->id < 1000 + LABEL_COUNT)) {
        if (own->step > 1)
            return TBED_END;
        component_ret->text = own->id < KIND_COUNT ? kinds[own->id] : &labels[own->id - 1000];
        component_ret->nbytes = own->id < KIND_COUNT ? strlen(kinds[own->id]) : 1;
        return TBED_OK;
    }
    component_ret->is_reference = own->step == 1;
    component_ret->id = 1000 + label_of(own->id);
    component_ret->text = "\x1E"
                          "argument";
    component_ret->nbytes = 9;
    return own->step == 1 || (own->step == 2 && own->id % 2 == 1) ? TBED_OK : TBED_END;
}

static struct stat_place place_of(size_t index)
{
    return (struct stat_place){.order = index};
}

static void chunk_range(const struct program *program, size_t chunk, size_t *first_ret, size_t *end_ret)
{
    *first_ret = chunk * program->chunk_nbytes;
    *end_ret = *first_ret + program->chunk_nbytes;
    if (*end_ret > program->event_count)
        *end_ret = program->event_count;
}

static void take_counter(struct stat_worker *worker, const struct event *event, size_t index)
{
    struct stat_value value = {event->begin, (double)event->begin};
    tbed_stat_take_counter(worker, event->kind, event->id, event->id, &value, place_of(index));
}

static void take(struct stat_worker *worker, size_t chunk)
{
    const struct program *program = worker->context;
    size_t first, end;
    chunk_range(program, chunk, &first, &end);
    for (size_t i = end; i-- > first;) {
        const struct event *event = &program->events[i];
        worker->totals.event_count++;
        if (event->type == SPAN)
            stat_take_span(worker, event->thread, event->kind, event->id, event->begin, event->end);
        else if (event->type == INSTANT)
            tbed_stat_take_instant(worker, event->kind, event->id);
        else
            take_counter(worker, event, i);
    }
}

static void recount(struct stat_worker *worker, size_t chunk)
{
    const struct program *program = worker->context;
    size_t first, end;
    chunk_range(program, chunk, &first, &end);
    for (size_t i = first; i < end; i++)
        if (program->events[i].type == INSTANT)
            tbed_stat_take_hit(worker, program->events[i].kind, program->events[i].id, place_of(i));
}

static struct tbed_statistics *make_profile(const struct program *program, unsigned thread_count)
{
    struct stat_source source = {
        .context = program,
        .chunk_count = (program->event_count + program->chunk_nbytes - 1) / program->chunk_nbytes,
        .take = take,
        .recount = recount,
        .resolution = 1,
        .strings = {.context = program, .walk_start = walk_start, .walk_next = walk_next},
    };
    struct tbed_statistics *profile = NULL;
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = thread_count};
    assert_int_equal(tbed_stat_run(&source, &options, &profile), TBED_OK);
    return profile;
}

/* ---- The oracle ---- */

#define UNKNOWN_LABEL LABEL_COUNT

struct sums {
    int64_t time, self, load, hashing, blocked;
    uint64_t count, misses, hits, artifacts, artifact_count;
    bool is_there, has_count;
};

struct oracle {
    struct sums sums[LABEL_COUNT + 1];
    const struct event *stacks[THREAD_MAX][STACK_MAX];
    size_t depths[THREAD_MAX];
    uint64_t begins[THREAD_MAX], ends[THREAD_MAX];
    bool has_spans[THREAD_MAX];
    uint64_t overlaps, inverted;
};

static struct sums *sums_of(struct oracle *oracle, const struct event *event)
{
    return &oracle->sums[event->id == UNKNOWN_ID ? UNKNOWN_LABEL : label_of(event->id)];
}

/* A span that ends before it begins counts as beginning when it ends. */
static uint64_t begin_of(const struct event *event)
{
    return event->end < event->begin ? event->end : event->begin;
}

static int64_t duration(const struct event *event)
{
    return (int64_t)(event->end - begin_of(event));
}

static void find_parent(struct oracle *oracle, const struct event *event)
{
    size_t *depth = &oracle->depths[event->thread];
    while (*depth > 0) {
        const struct event *top = oracle->stacks[event->thread][*depth - 1];
        if (begin_of(top) <= begin_of(event) && event->end <= top->end)
            break;
        bool inside = begin_of(event) <= begin_of(top) && top->end <= event->end;
        oracle->overlaps += begin_of(top) < event->end && begin_of(event) < top->end && !inside;
        --*depth;
    }
    if (*depth > 0) {
        const struct event *parent = oracle->stacks[event->thread][*depth - 1];
        struct sums *sums = sums_of(oracle, parent);
        sums->self -= duration(event);
        sums->load -= parent->kind == LOAD ? duration(event) : 0;
        sums->hashing -= parent->kind == HASHING ? duration(event) : 0;
    }
    oracle->stacks[event->thread][(*depth)++] = event;
}

static void oracle_span(struct oracle *oracle, const struct event *event)
{
    struct sums *sums = sums_of(oracle, event);
    int64_t ticks = duration(event);
    uint64_t *begin = &oracle->begins[event->thread], *end = &oracle->ends[event->thread];
    find_parent(oracle, event);
    *begin = !oracle->has_spans[event->thread] || begin_of(event) < *begin ? begin_of(event) : *begin;
    *end = event->end > *end ? event->end : *end;
    oracle->has_spans[event->thread] = true;
    oracle->inverted += event->end < event->begin;
    sums->is_there = true;
    sums->self += ticks;
    sums->time += event->kind != HASHING ? ticks : 0;
    sums->hashing += event->kind == HASHING ? ticks : 0;
    sums->load += event->kind == LOAD ? ticks : 0;
    sums->blocked += event->kind == BLOCKED ? ticks : 0;
    sums->misses += event->kind == QUERY || event->kind == GENERIC;
    sums->count += event->kind != HASHING && event->kind != LOAD && event->kind != BLOCKED;
}

static void oracle_event(struct oracle *oracle, const struct event *event)
{
    struct sums *sums = sums_of(oracle, event);
    if (event->type == SPAN) {
        oracle_span(oracle, event);
    } else if (event->type == INSTANT && event->kind == HIT) {
        sums->hits += !sums->has_count;
        sums->is_there = true;
    } else if (event->type == COUNTER && event->kind == HIT_COUNT) {
        sums->hits += event->begin;
        sums->has_count = sums->is_there = true;
    } else if (event->type == COUNTER && event->kind == ARTIFACT) {
        sums->artifacts += event->begin;
        sums->artifact_count++;
    }
}

static struct oracle *ask_oracle(const struct program *program)
{
    struct oracle *oracle = calloc(1, sizeof *oracle);
    assert_non_null(oracle);
    for (size_t i = program->event_count; i-- > 0;)
        oracle_event(oracle, &program->events[i]);
    return oracle;
}

/* ---- Comparing ---- */

static uint64_t settled(int64_t sum)
{
    return sum < 0 ? 0 : (uint64_t)sum;
}

static const struct tbed_span_row *find_row(const struct tbed_statistics *profile, const char *label)
{
    const struct tbed_span_row *row;
    for (size_t i = 0; (row = tbed_statistics_span(profile, i)) != NULL; i++)
        if (strcmp(row->name, label) == 0)
            return row;
    return NULL;
}

static uint64_t artifact_value(const struct tbed_statistics *profile, const char *label)
{
    const struct tbed_artifact_row *row;
    for (size_t i = 0; (row = tbed_statistics_artifact(profile, i)) != NULL; i++)
        if (strcmp(row->name, label) == 0)
            return row->value;
    return 0;
}

static void assert_label(const struct oracle *oracle, const struct tbed_statistics *profile, unsigned label)
{
    char text[16] = {(char)('a' + label)};
    const struct sums *sums = &oracle->sums[label];
    if (label == UNKNOWN_LABEL)
        strcpy(text, "<unknown>");
    const struct tbed_span_row *row = find_row(profile, text);
    assert_int_equal(row != NULL, sums->is_there);
    assert_int_equal(artifact_value(profile, text), sums->artifacts);
    if (row == NULL)
        return;
    assert_int_equal(row->time_ticks, sums->time);
    assert_int_equal(row->self_ticks, settled(sums->self));
    assert_int_equal(row->invocation_count, sums->count);
    assert_int_equal(row->cache_misses, sums->misses);
    assert_int_equal(row->cache_hits, sums->hits);
    assert_int_equal(row->blocked_ticks, sums->blocked);
    assert_int_equal(row->load_ticks, settled(sums->load));
    assert_int_equal(row->hashing_ticks, settled(sums->hashing));
}

static void assert_as_oracle(const struct program *program, unsigned thread_count)
{
    struct oracle *oracle = ask_oracle(program);
    struct tbed_statistics *profile = make_profile(program, thread_count);
    struct tbed_statistics_totals totals;
    uint64_t total = 0;
    tbed_statistics_totals(profile, &totals);
    for (unsigned thread = 0; thread < THREAD_MAX; thread++)
        total += oracle->has_spans[thread] && oracle->ends[thread] > oracle->begins[thread]
                     ? oracle->ends[thread] - oracle->begins[thread]
                     : 0;
    for (unsigned label = 0; label <= LABEL_COUNT; label++)
        assert_label(oracle, profile, label);
    assert_int_equal(totals.event_count, program->event_count);
    assert_int_equal(totals.whole_span_count, totals.span_count);
    assert_int_equal(totals.span_ticks, total);
    assert_int_equal(totals.overlap_count, oracle->overlaps);
    assert_int_equal(totals.inverted_count, oracle->inverted);
    tbed_statistics_close(profile);
    free(oracle);
}

/* ---- Programs ---- */

static void add(struct program *program, enum event_type type, uint64_t thread, uint64_t begin, uint64_t end)
{
    uint64_t label = next_random(program, LABEL_COUNT);
    uint64_t kind = type == SPAN ? next_random(program, HIT) : HIT + next_random(program, KIND_COUNT - HIT);
    if (program->event_count == EVENT_MAX)
        return;
    uint64_t id = next_random(program, 8) == 0 ? (UINT64_C(1) << 40) + label : 100 + label;
    id = next_random(program, 50) == 0 ? UNKNOWN_ID : id;
    program->events[program->event_count++] = (struct event){type, thread, KIND_ID(kind), id, begin, end};
}

/* Spans that nest, written when they end. */
static uint64_t add_nested(struct program *program, uint64_t thread, uint64_t tick, unsigned depth)
{
    uint64_t begin = tick;
    while (depth < 12 && next_random(program, 16) < 9)
        tick = add_nested(program, thread, tick + next_random(program, 3), depth + 1);
    tick += next_random(program, 10);
    add(program, SPAN, thread, begin, tick);
    return tick;
}

static void make_nested(struct program *program)
{
    uint64_t ticks[THREAD_MAX] = {0};
    while (program->event_count < EVENT_MAX) {
        uint64_t thread = next_random(program, THREAD_MAX);
        ticks[thread] = add_nested(program, thread, ticks[thread], 0);
    }
}

/*
 * Arbitrary spans: they overlap, end before they begin, and are unordered. The small range of ticks makes ends
 * coincide.
 */
static void make_garbage(struct program *program, uint64_t tick_count)
{
    while (program->event_count < EVENT_MAX) {
        uint64_t begin = next_random(program, tick_count), end = begin + next_random(program, 40);
        if (next_random(program, 20) == 0)
            end = next_random(program, tick_count);
        add(program, (enum event_type)(next_random(program, 10) < 8 ? 0 : 1 + next_random(program, 2)),
            next_random(program, THREAD_MAX), begin, end);
    }
}

/* One chunk, chunks of one event, and what is in between. */
static void assert_all_ways(struct program *program)
{
    static const size_t sizes[] = {EVENT_MAX, 1, 2, 7, 64, 1000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned threads = 1; threads <= 4; threads++) {
            program->chunk_nbytes = sizes[i];
            assert_as_oracle(program, threads);
        }
}

static struct program *new_program(uint64_t seed)
{
    struct program *program = calloc(1, sizeof *program);
    assert_non_null(program);
    program->random = seed;
    return program;
}

static void spans_that_nest_are_as_one_walk_finds_them(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct program *program = new_program(seed);
        make_nested(program);
        assert_all_ways(program);
        free(program);
    }
}

static void garbage_is_as_one_walk_finds_it(void **state)
{
    static const uint64_t tick_counts[] = {20, 300, 5000, UINT64_C(1) << 48};
    (void)state;
    for (size_t i = 0; i < sizeof tick_counts / sizeof *tick_counts; i++) {
        struct program *program = new_program(100 + i);
        make_garbage(program, tick_counts[i]);
        assert_all_ways(program);
        free(program);
    }
}

/* All children of one parent in the last chunk, in chunks of their own: in none of these is the parent known. */
static void children_in_other_chunks_find_their_parent(void **state)
{
    (void)state;
    struct program *program = new_program(9);
    for (uint64_t i = 0; i < 500; i++)
        add(program, SPAN, 0, 10 * i, 10 * i + 4);
    add(program, SPAN, 0, 0, 10000);
    for (size_t i = 0; i < program->event_count; i++)
        program->events[i].kind = QUERY;
    assert_all_ways(program);
    struct tbed_statistics *profile = make_profile(program, 2);
    uint64_t self = 0;
    const struct tbed_span_row *row;
    for (size_t i = 0; (row = tbed_statistics_span(profile, i)) != NULL; i++)
        self += row->self_ticks;
    assert_int_equal(self, 10000);
    tbed_statistics_close(profile);
    free(program);
}

static void no_events_are_a_profile_without_rows(void **state)
{
    (void)state;
    struct program *program = new_program(1);
    program->chunk_nbytes = 1;
    struct tbed_statistics *profile = make_profile(program, 4);
    assert_null(tbed_statistics_span(profile, 0));
    tbed_statistics_close(profile);
    free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(spans_that_nest_are_as_one_walk_finds_them),
        TEST(garbage_is_as_one_walk_finds_it),
        TEST(children_in_other_chunks_find_their_parent),
        TEST(no_events_are_a_profile_without_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
