/*
 * Measures what an event costs the thread that records it, compared with only reading the clock.
 *
 * Each round reads the clock as often as it then records events, into a new file. The limit of every row is that loop
 * of clock reads, in the same round and on the same number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracebed/writer.h>

#include "bench/support/measure.h"

#define FILE_NAME      "recording_bench.tbed"
#define THREAD_MAX     2
#define TAIL_TICKS_MAX 65536
#define MILLION        ((size_t)1000000)

struct target {
    struct tbed_recorder *recorder;
    uint32_t id, first_name, second_name;
};

/* ---- The loops ---- */

__attribute__((noinline)) static void read_clock(const struct target *target, size_t count)
{
    uint64_t sum = 0;
    (void)target;
    for (size_t i = 0; i < count;
         i += 2) { /* twice per iteration, because one of record_spans() has two events */
        sum += tbed_counter_read();
        sum += tbed_counter_read();
    }
    bench_sink = sum;
}

#define FLOOR_NWORDS 512 /* a page of 4 KiB, which stays in the cache */

/* The minimum for an event: the clock, shifts and ors, a store, a comparison. */
__attribute__((noinline)) static void store_words(const struct target *target, size_t count)
{
    static uint64_t words[FLOOR_NWORDS];
    uint64_t base = tbed_counter_read();
    for (size_t i = 0, at = 0; i < count; i++) {
        uint64_t word = (tbed_counter_read() - base) << 33 | (uint64_t)TBED_TAG_BEGIN << 30 | target->id;
        __atomic_store_n(&words[at++], word, __ATOMIC_RELEASE);
        if (at == FLOOR_NWORDS)
            at = 0;
    }
    bench_sink = words[0];
}

__attribute__((noinline)) static void record_spans(const struct target *target, size_t count)
{
    struct tbed_recorder *recorder = target->recorder;
    uint32_t id = target->id;
    for (size_t i = 0; i < count; i += 2) {
        tbed_span_begin(recorder, id);
        tbed_span_end(recorder);
    }
}

/* Four levels deep, like a tree of calls. */
__attribute__((noinline)) static void record_nested(const struct target *target, size_t count)
{
    struct tbed_recorder *recorder = target->recorder;
    uint32_t id = target->id;
    for (size_t i = 0; i < count; i += 8) {
        for (uint32_t depth = 0; depth < 4; depth++)
            tbed_span_begin(recorder, id);
        for (uint32_t depth = 0; depth < 4; depth++)
            tbed_span_end(recorder);
    }
}

__attribute__((noinline)) static void record_instants(const struct target *target, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tbed_instant_record(target->recorder, target->id);
}

__attribute__((noinline)) static void record_counters(const struct target *target, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tbed_counter_record_i64(target->recorder, target->id, (int64_t)i);
}

__attribute__((noinline)) static void record_allocations(const struct target *target, size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        uint64_t address = 0x10000 + i % 4096 * 16;
        tbed_alloc_record(target->recorder, target->id, TBED_FUNCTION_MALLOC, address, 64);
        tbed_free_record(target->recorder, target->id, TBED_FUNCTION_MALLOC, address);
    }
}

__attribute__((noinline)) static void record_arguments(const struct target *target, size_t count)
{
    struct tbed_argument arguments[] = {
        {.type = TBED_ARG_I64, .name_id = target->first_name},
        {.type = TBED_ARG_I64, .name_id = target->second_name},
    };
    for (size_t i = 0; i < count; i++) {
        arguments[0].value.i64 = (int64_t)i;
        arguments[1].value.i64 = -(int64_t)i;
        tbed_instant_record_args(target->recorder, target->id, arguments, 2);
    }
}

__attribute__((noinline)) static void record_messages(const struct target *target, size_t count)
{
    static const char text[] = "a message of thirty-two bytes...";
    for (size_t i = 0; i < count; i++)
        tbed_message_record(target->recorder, TBED_SEVERITY_INFORMATION, text, sizeof text - 1);
}

/* ---- Rounds ---- */

struct work {
    const char *name;
    void (*run)(const struct target *target, size_t count);
    size_t event_count; /* all threads together */
    size_t event_nbytes;
    unsigned thread_count;
    bool no_helper, no_writer;
    struct bench_goal goal, process_goal; /* for the recording threads; for all threads, from open to close */
    double file_goal;                     /* bytes per event; 0: none */
    uint64_t ring_nbytes;                 /* size of a flight recorder; 0: append mode */
    bool is_long;                         /* run only if --only asks for it */
};

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    void (*run)(const struct target *target, size_t count);
    struct target target;
    size_t count;
    uint64_t cpu_ns;
};

static void *worker_run(void *argument)
{
    struct worker *worker = argument;
    pthread_barrier_wait(worker->start);
    uint64_t begin_ns = bench_ns(CLOCK_THREAD_CPUTIME_ID);
    worker->run(&worker->target, worker->count);
    worker->cpu_ns = bench_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    return NULL;
}

struct cost { /* ns per event; wall: per thread */
    double thread, wall, process, file_nbytes;
    double resident_mib; /* of the process, before the writer is closed */
};

/* Runs on all threads at once; with a writer, each thread has a recorder of its own. */
static void run_threads(const struct work *work, struct tbed_writer *writer, bool is_clock, struct cost *cost)
{
    struct worker workers[THREAD_MAX];
    pthread_barrier_t start;
    uint64_t cpu_ns = 0;
    pthread_barrier_init(&start, NULL, work->thread_count + 1);
    for (unsigned i = 0; i < work->thread_count; i++) {
        workers[i] = (struct worker){.start = &start, .run = is_clock ? read_clock : work->run};
        workers[i].count = work->event_count / work->thread_count;
        workers[i].target.recorder = tbed_recorder_open(is_clock ? NULL : writer, "worker");
        workers[i].target.id = tbed_string_intern(writer, "work", 4);
        workers[i].target.first_name = tbed_string_intern(writer, "first", 5);
        workers[i].target.second_name = tbed_string_intern(writer, "second", 6);
        if (pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]) != 0)
            abort();
    }
    pthread_barrier_wait(&start);
    uint64_t begin_ns = bench_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < work->thread_count; i++) {
        pthread_join(workers[i].thread, NULL);
        cpu_ns += workers[i].cpu_ns;
    }
    cost->wall =
        (double)(bench_ns(CLOCK_MONOTONIC) - begin_ns) / ((double)work->event_count / work->thread_count);
    cost->thread = (double)cpu_ns / (double)work->event_count;
    pthread_barrier_destroy(&start);
}

static bool open_writer(const struct bench_options *options, bool no_helper, uint64_t ring_nbytes,
                        struct tbed_writer **writer_ret)
{
    struct tbed_writer_options writer_options = {.size = sizeof writer_options, .overwrite = true};
    struct tbed_error error;
    const char *path = bench_path(options, FILE_NAME);
    writer_options.no_helper = no_helper;
    writer_options.ring_nbytes = ring_nbytes;
    if (tbed_writer_open(path, &writer_options, writer_ret, &error) == TBED_OK)
        return true;
    fprintf(stderr, "recording_bench: %s: %s\n", path, tbed_status_text(error.status));
    return false;
}

static uint64_t dropped(const struct tbed_writer *writer)
{
    uint64_t count = 0;
    for (unsigned cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++)
        count += tbed_writer_drop_count(writer, (enum tbed_drop_cause)cause);
    return count;
}

static double resident_mib(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL && fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    if (file != NULL)
        fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

/* False: the measurement is not valid. Dropped events cost less than stored ones. */
static bool record_once(const struct bench_options *options, const struct work *work, struct cost *cost_ret)
{
    struct tbed_writer *writer = NULL;
    struct stat status = {.st_size = 0};
    if (!work->no_writer)
        bench_memory_warm(options, work->ring_nbytes != 0 ? work->ring_nbytes
                                                          : work->event_count * work->event_nbytes);
    uint64_t begin_ns = bench_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (!work->no_writer && !open_writer(options, work->no_helper, work->ring_nbytes, &writer))
        return false;
    run_threads(work, writer, false, cost_ret);
    uint64_t drop_count = dropped(writer);
    cost_ret->resident_mib = resident_mib();
    tbed_writer_close(writer);
    cost_ret->process = (double)(bench_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / (double)work->event_count;
    if (!work->no_writer) {
        stat(bench_path(options, FILE_NAME), &status);
        unlink(bench_path(options, FILE_NAME));
    }
    cost_ret->file_nbytes = (double)status.st_size / (double)work->event_count;
    if (drop_count != 0)
        fprintf(stderr, "recording_bench: %s: %llu dropped\n", work->name, (unsigned long long)drop_count);
    return drop_count == 0;
}

struct measured {
    struct bench_pairs thread, wall, process, file, resident;
};

/* The order alternates, so that neither benefits from its position. */
static void measure_round(const struct bench_options *options, const struct work *work, bool clock_is_first,
                          struct measured *measured)
{
    struct cost clock, record;
    if (clock_is_first)
        run_threads(work, NULL, true, &clock);
    bool is_good = record_once(options, work, &record);
    if (!clock_is_first)
        run_threads(work, NULL, true, &clock);
    if (!is_good)
        return;
    bench_pair_add(&measured->thread, clock.thread, record.thread);
    bench_pair_add(&measured->wall, clock.wall, record.wall);
    bench_pair_add(&measured->process, clock.thread, record.process);
    bench_pair_add(&measured->file, (double)work->event_nbytes, record.file_nbytes);
    bench_pair_add(&measured->resident, record.file_nbytes * (double)work->event_count / 1048576,
                   record.resident_mib);
}

static void detail_row(const struct work *work, const char *detail, const char *unit,
                       const struct bench_pairs *pairs, struct bench_goal goal)
{
    char name[64];
    snprintf(name, sizeof name, "%s, %s", work->name, detail);
    bench_row(name, unit, pairs, goal);
}

static void measure_work(const struct bench_options *options, const struct work *given)
{
    static struct measured measured;
    struct work work = *given;
    if (!bench_is_wanted(options, work.name) || (work.is_long && options->only == NULL))
        return;
    if (options->quick && work.event_count > 10 * MILLION)
        work.event_count /= 10;
    memset(&measured, 0, sizeof measured);
    for (unsigned round = 0; round < options->rounds; round++)
        measure_round(options, &work, round % 2 == 0, &measured);
    bench_row(work.name, "ns/event", &measured.thread, work.goal);
    if (work.no_writer)
        return;
    detail_row(&work, "whole process", "ns/event", &measured.process, work.process_goal);
    detail_row(&work, "elapsed", "ns/event", &measured.wall, (struct bench_goal){BENCH_NO_GOAL, 0});
    if (work.file_goal == 0)
        return;
    struct bench_goal file_goal = {BENCH_VALUE_AT_MOST, work.file_goal};
    detail_row(&work, "file", "byte/event", &measured.file, file_goal);
    detail_row(&work, "resident (limit: file)", "MiB", &measured.resident,
               (struct bench_goal){BENCH_NO_GOAL, 0});
}

/* ---- Tails: how long the slowest events take ---- */

/* Measured from each event's tick to the next: the whole cost of an event, including its page, lies between the two. */
struct tail {
    uint64_t counts[TAIL_TICKS_MAX];
    uint64_t *slow; /* deltas beyond TAIL_TICKS_MAX */
    size_t slow_count, slow_capacity;
};

static void tail_add_slow(struct tail *tail, uint64_t ticks)
{
    if (tail->slow_count < tail->slow_capacity)
        tail->slow[tail->slow_count++] = ticks;
}

static inline void tail_add(struct tail *tail, uint64_t ticks)
{
    if (ticks < TAIL_TICKS_MAX)
        tail->counts[ticks]++;
    else
        tail_add_slow(tail, ticks);
}

__attribute__((noinline)) static void tail_of_clock(struct tail *tail, size_t count)
{
    uint64_t last = tbed_counter_read();
    for (size_t i = 0; i < count; i++) {
        uint64_t tick = tbed_counter_read();
        tail_add(tail, tick - last);
        last = tick;
    }
}

static inline uint64_t last_tick(const struct tbed_recorder *recorder)
{
    return recorder->base + (recorder->cursor[-1] >> 33);
}

__attribute__((noinline)) static void tail_of_spans(struct tail *tail, struct tbed_recorder *recorder,
                                                    uint32_t id, size_t count)
{
    tbed_instant_record(recorder, id);
    uint64_t last = last_tick(recorder);
    for (size_t i = 0; i < count; i += 2) {
        tbed_span_begin(recorder, id);
        uint64_t middle = last_tick(recorder);
        tail_add(tail, middle - last);
        tbed_span_end(recorder);
        last = last_tick(recorder);
        tail_add(tail, last - middle);
    }
}

static int compare_ticks(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The number of ticks that all except 'above' deltas do not exceed. 'slow' is sorted. */
static uint64_t tail_ticks(const struct tail *tail, uint64_t above)
{
    if (tail->slow_count > above)
        return tail->slow[tail->slow_count - 1 - above];
    uint64_t seen = tail->slow_count;
    for (size_t ticks = TAIL_TICKS_MAX; ticks-- > 0;) {
        seen += tail->counts[ticks];
        if (seen > above)
            return ticks;
    }
    return 0;
}

#define TAIL_POINT_COUNT 5
static const struct {
    const char *name;
    double above; /* share of the events */
    struct bench_goal goal, goal_without;
} tail_points[TAIL_POINT_COUNT] = {
    {"p50", 0.5, {BENCH_NO_GOAL, 0}, {BENCH_NO_GOAL, 0}},
    {"p99.9", 1e-3, {BENCH_VALUE_AT_MOST, 25}, {BENCH_NO_GOAL, 0}},
    {"p99.99", 1e-4, {BENCH_VALUE_AT_MOST, 1000}, {BENCH_NO_GOAL, 0}},
    {"p99.999", 1e-5, {BENCH_NO_GOAL, 0}, {BENCH_NO_GOAL, 0}},
    {"max", 0, {BENCH_NO_GOAL, 0}, {BENCH_NO_GOAL, 0}},
};

/* Moves the tail to 'points', in nanoseconds. */
static void tail_take(struct tail *tail, size_t count, double ticks_per_ns, double points[TAIL_POINT_COUNT])
{
    qsort(tail->slow, tail->slow_count, sizeof *tail->slow, compare_ticks);
    for (size_t i = 0; i < TAIL_POINT_COUNT; i++)
        points[i] = (double)tail_ticks(tail, (uint64_t)((double)count * tail_points[i].above)) / ticks_per_ns;
    memset(tail->counts, 0, sizeof tail->counts);
    tail->slow_count = 0;
}

static bool tail_record(const struct bench_options *options, struct tail *tail, bool no_helper, size_t count)
{
    struct tbed_writer *writer;
    bench_memory_warm(options, count * 8);
    if (!open_writer(options, no_helper, 0, &writer))
        return false;
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "worker");
    tail_of_spans(tail, recorder, tbed_string_intern(writer, "work", 4), count);
    tbed_writer_close(writer);
    unlink(bench_path(options, FILE_NAME));
    return true;
}

/* One round; false: nothing was measured. */
static bool tail_round(const struct bench_options *options, struct tail *tail, bool no_helper, size_t count,
                       struct bench_pairs pairs[TAIL_POINT_COUNT])
{
    double clock_points[TAIL_POINT_COUNT], record_points[TAIL_POINT_COUNT];
    uint64_t begin_ns = bench_ns(CLOCK_MONOTONIC), begin_tick = tbed_counter_read();
    tail_of_clock(tail, count);
    double ticks_per_ns =
        (double)(tbed_counter_read() - begin_tick) / (double)(bench_ns(CLOCK_MONOTONIC) - begin_ns);
    tail_take(tail, count, ticks_per_ns, clock_points);
    if (!tail_record(options, tail, no_helper, count))
        return false;
    tail_take(tail, count, ticks_per_ns, record_points);
    for (size_t i = 0; i < TAIL_POINT_COUNT; i++)
        bench_pair_add(&pairs[i], clock_points[i], record_points[i]);
    return true;
}

static void measure_tail(const struct bench_options *options, const char *title, bool no_helper)
{
    static struct bench_pairs pairs[TAIL_POINT_COUNT];
    size_t count = options->quick ? 10000000 : 100000000;
    struct tail *tail = calloc(1, sizeof *tail);
    if (!bench_is_wanted(options, title) || tail == NULL) {
        free(tail);
        return;
    }
    tail->slow_capacity = count / 100;
    tail->slow = malloc(tail->slow_capacity * sizeof *tail->slow);
    memset(pairs, 0, sizeof pairs);
    for (unsigned round = 0; round < options->rounds && tail->slow != NULL; round++)
        if (!tail_round(options, tail, no_helper, count, pairs))
            break;
    for (size_t i = 0; i < TAIL_POINT_COUNT; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s %s", title, tail_points[i].name);
        bench_row(name, "ns", &pairs[i], no_helper ? tail_points[i].goal_without : tail_points[i].goal);
    }
    free(tail->slow);
    free(tail);
}

/* ---- The rows ---- */

#define NO_GOAL                                                                                              \
    {                                                                                                        \
        BENCH_NO_GOAL, 0                                                                                     \
    }

/* ---- Rotations ---- */

struct watch {
    struct tbed_recorder *recorder;
    uint64_t longest_ns; /* atomic: between two events, since it was zeroed */
    bool stop;           /* atomic */
};

static void *record_and_watch(void *argument)
{
    struct watch *watch = argument;
    uint64_t last_ns = bench_ns(CLOCK_MONOTONIC);
    while (!__atomic_load_n(&watch->stop, __ATOMIC_RELAXED)) {
        tbed_instant_record(watch->recorder, 1);
        uint64_t now_ns = bench_ns(CLOCK_MONOTONIC);
        if (now_ns - last_ns > __atomic_load_n(&watch->longest_ns, __ATOMIC_RELAXED))
            __atomic_store_n(&watch->longest_ns, now_ns - last_ns, __ATOMIC_RELAXED);
        last_ns = now_ns;
    }
    return NULL;
}

#define AROUND_NS 5000000u /* before and after a rotation */

/* Returns the longest gap in milliseconds; 'call_ms_ret' is the duration of the rotation, if there is one. */
static double watch_gap(struct watch *watch, struct tbed_writer *writer, double *call_ms_ret)
{
    __atomic_store_n(&watch->longest_ns, 0, __ATOMIC_RELAXED);
    usleep(AROUND_NS / 1000);
    uint64_t begin_ns = bench_ns(CLOCK_MONOTONIC);
    if (writer != NULL && tbed_rotate(writer, NULL) != TBED_OK)
        return -1;
    *call_ms_ret = (double)(bench_ns(CLOCK_MONOTONIC) - begin_ns) * 1e-6;
    usleep(AROUND_NS / 1000);
    return (double)__atomic_load_n(&watch->longest_ns, __ATOMIC_RELAXED) * 1e-6;
}

static void intern_many(struct tbed_writer *writer, size_t count)
{
    char text[64];
    for (size_t i = 0; i < count; i++)
        tbed_string_intern(writer, text, (size_t)snprintf(text, sizeof text, "a text of some length %zu", i));
}

static void measure_rotation(const struct bench_options *options, const char *name, size_t string_count)
{
    static struct bench_pairs gaps, calls;
    struct tbed_writer_options writer_options = {
        .size = sizeof writer_options, .overwrite = true, .rotate = true, .rotate_keep = 1};
    const char *path = bench_path(options, FILE_NAME);
    struct tbed_writer *writer;
    pthread_t thread;
    char title[96];
    gaps.count = calls.count = 0;
    if (!bench_is_wanted(options, name) || tbed_writer_open(path, &writer_options, &writer, NULL) != TBED_OK)
        return;
    struct watch watch = {.recorder = tbed_recorder_open(writer, "watched")};
    intern_many(writer, string_count);
    pthread_create(&thread, NULL, record_and_watch, &watch);
    for (unsigned round = 0; round < options->rounds; round++) {
        double no_ms, call_ms, limit = watch_gap(&watch, NULL, &no_ms);
        double gap = watch_gap(&watch, writer, &call_ms);
        if (gap < 0)
            continue;
        bench_pair_add(&gaps, limit, gap);
        bench_pair_add(&calls, limit, call_ms);
    }
    __atomic_store_n(&watch.stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    tbed_writer_free(writer);
    unlink(path);
    for (unsigned number = 1; number <= options->rounds; number++) {
        snprintf(title, sizeof title, "%s.%06u", FILE_NAME, number);
        unlink(bench_path(options, title));
    }
    snprintf(title, sizeof title, "%s: a thread's longest gap", name);
    bench_row(title, "ms", &gaps, (struct bench_goal)NO_GOAL);
    snprintf(title, sizeof title, "%s: tbed_rotate()", name);
    bench_row(title, "ms", &calls, (struct bench_goal)NO_GOAL);
}

#define AT_MOST(ratio)                                                                                       \
    {                                                                                                        \
        BENCH_RATIO_AT_MOST, ratio                                                                           \
    }

#define RING_NBYTES ((uint64_t)64 << 20)

static const struct work works[] = {
    {.name = "begin+end",
     .run = record_spans,
     .event_count = 100 * MILLION,
     .event_nbytes = 8,
     .thread_count = 1,
     .goal = AT_MOST(1.05),
     .process_goal = AT_MOST(1.25),
     .file_goal = 8.05},
    {.name = "begin+end, no helper",
     .run = record_spans,
     .event_count = 100 * MILLION,
     .event_nbytes = 8,
     .thread_count = 1,
     .no_helper = true,
     .goal = AT_MOST(1.90),
     .file_goal = 8.05},
    {.name = "begin+end, 2 threads",
     .run = record_spans,
     .event_count = 100 * MILLION,
     .event_nbytes = 8,
     .thread_count = 2,
     .goal = AT_MOST(1.10),
     .process_goal = AT_MOST(1.35),
     .file_goal = 8.05},
    {.name = "begin+end, ring of 64 MiB",
     .run = record_spans,
     .event_count = 100 * MILLION,
     .event_nbytes = 8,
     .thread_count = 1,
     .goal = AT_MOST(1.08),
     .process_goal = AT_MOST(1.30),
     .ring_nbytes = RING_NBYTES},
    {.name = "begin+end, ring of 64 MiB, no helper",
     .run = record_spans,
     .event_count = 100 * MILLION,
     .event_nbytes = 8,
     .thread_count = 1,
     .no_helper = true,
     .ring_nbytes = RING_NBYTES},
    {.name = "begin+end, 1 M events",
     .run = record_spans,
     .event_count = 1 * MILLION,
     .event_nbytes = 8,
     .thread_count = 1},
    {.name = "begin+end, 10 M events",
     .run = record_spans,
     .event_count = 10 * MILLION,
     .event_nbytes = 8,
     .thread_count = 1},
    {.name = "begin+end, 4 deep",
     .run = record_nested,
     .event_count = 40 * MILLION,
     .event_nbytes = 8,
     .thread_count = 1},
    {.name = "instant",
     .run = record_instants,
     .event_count = 40 * MILLION,
     .event_nbytes = 8,
     .thread_count = 1},
    {.name = "counter",
     .run = record_counters,
     .event_count = 40 * MILLION,
     .event_nbytes = 16,
     .thread_count = 1},
    {.name = "alloc+free",
     .run = record_allocations,
     .event_count = 40 * MILLION,
     .event_nbytes = 16,
     .thread_count = 1},
    {.name = "instant, 2 integer arguments",
     .run = record_arguments,
     .event_count = 16 * MILLION,
     .event_nbytes = 48,
     .thread_count = 1},
    {.name = "message of 32 bytes",
     .run = record_messages,
     .event_count = 16 * MILLION,
     .event_nbytes = 56,
     .thread_count = 1},
    {.name = "sustained: begin+end, 600 M events",
     .run = record_spans,
     .event_count = 600 * MILLION,
     .event_nbytes = 8,
     .thread_count = 1,
     .goal = AT_MOST(1.05),
     .process_goal = AT_MOST(1.25),
     .file_goal = 8.05,
     .is_long = true},
    {.name = "floor: clock, shift, or, store, compare",
     .run = store_words,
     .event_count = 100 * MILLION,
     .event_nbytes = 8,
     .thread_count = 1,
     .no_writer = true},
    {.name = "off: begin+end without a writer",
     .run = record_spans,
     .event_count = 100 * MILLION,
     .event_nbytes = 8,
     .thread_count = 1,
     .no_writer = true,
     .goal = {BENCH_VALUE_AT_MOST, 1}},
};

int main(int argc, char **argv)
{
    struct bench_options options;
    if (!bench_options_parse(argc, argv, "Measures the cost of an event, compared with reading the clock.",
                             &options))
        return 0;
    bench_table_head("Recording: CPU time of the recording thread; the limit is reading the clock");
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++)
        measure_work(&options, &works[i]);
    bench_table_head("Recording: from one event to the next; the limit is from one clock read to the next");
    measure_tail(&options, "tail", false);
    measure_tail(&options, "tail, no helper", true);
    bench_table_head("Rotation: the longest time between two events; the limit is the same for an equal time "
                     "without rotation");
    measure_rotation(&options, "rotation, 10 strings", 10);
    measure_rotation(&options, "rotation, 1 M strings", MILLION);
    return 0;
}
