/*
 * Measures how fast a trace is read, compared with only summing its 8-byte words.
 *
 * The traces are in the page cache: regular pairs with few names, a tree of calls that repeats, with 1000 names, random
 * trees with few and with many names, and allocations. Every pass opens the file again, so the time includes mapping it and
 * verifying checksums. The limit of a row is the plain sum over a fresh map on the same number of threads, in the same
 * round; for rows that say so, it is XXH3 over a fresh map. The first row is the memory that a million names take.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tracebed/analysis.h>
#include <tracebed/exchange.h>
#include <tracebed/verify.h>
#include <tracebed/writer.h>

#include "bench/support/measure.h"
#include "format/checksum.h"

#define FILE_NAME        "scanning_bench.tbed"
#define THREAD_MAX       64
#define RANDOM_STEPS     ((size_t)1 << 20)
#define RANDOM_DEPTH_MAX 20
#define NAME_COUNT_MAX   1000
#define END_STEP         UINT32_MAX
#define MANY_NAMES       1000000u
#define MANY_SPANS       3u /* of each name */
#define LIVE_BLOCKS      ((size_t)1 << 17)
#define BLOCK_NBYTES     64u
#define PAGE_NBYTES      ((size_t)1 << 16)

struct trace {
    const char *name;
    uint32_t name_count;
    void (*record)(struct tbed_recorder *recorder, const uint32_t *ids, uint32_t name_count, size_t count);
    double goal; /* for statistics on one thread, of the limit; 0: none */
    const char *path;
    size_t event_count;
    size_t nbytes;
};

/* ---- Making a trace ---- */

static void intern_names(struct tbed_writer *writer, uint32_t count, uint32_t *ids)
{
    for (uint32_t i = 0; i < count; i++) {
        char name[32];
        int nbytes = snprintf(name, sizeof name, "function_%u", i);
        ids[i] = tbed_string_intern(writer, name, (size_t)nbytes);
    }
}

static void record_regular(struct tbed_recorder *recorder, const uint32_t *ids, uint32_t name_count,
                           size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        tbed_span_begin(recorder, ids[i / 2 % name_count]);
        tbed_span_end(recorder);
    }
}

/* Calls of a tree with three branches of two leaves, each time of other functions. */
static void record_tree(struct tbed_recorder *recorder, const uint32_t *ids, uint32_t name_count,
                        size_t count)
{
    size_t call = 0;
    for (size_t i = 0; i + 20 <= count; i += 20, call++) {
        tbed_span_begin(recorder, ids[call % name_count]);
        for (size_t branch = 0; branch < 3; branch++) {
            tbed_span_begin(recorder, ids[(call * 3 + branch) % name_count]);
            for (size_t leaf = 0; leaf < 2; leaf++) {
                tbed_span_begin(recorder, ids[(call * 7 + branch * 2 + leaf) % name_count]);
                tbed_span_end(recorder);
            }
            tbed_span_end(recorder);
        }
        tbed_span_end(recorder);
    }
    record_regular(recorder, ids, name_count, count % 20);
}

static uint64_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* A walk that begins and ends with no open span; each step is a name or END_STEP. */
static void random_walk(uint32_t *steps, uint32_t name_count)
{
    uint64_t state = 1;
    size_t depth = 0;
    for (size_t i = 0; i < RANDOM_STEPS; i++) {
        bool must_end = depth == RANDOM_DEPTH_MAX || depth >= RANDOM_STEPS - i;
        bool ends = must_end || (depth > 0 && random_next(&state) % 2 == 0);
        steps[i] = ends ? END_STEP : (uint32_t)(random_next(&state) % name_count);
        depth += ends ? (size_t)-1 : 1;
    }
}

static void record_random(struct tbed_recorder *recorder, const uint32_t *ids, uint32_t name_count,
                          size_t count)
{
    uint32_t *steps = malloc(RANDOM_STEPS * sizeof *steps);
    if (steps == NULL)
        abort();
    random_walk(steps, name_count);
    for (size_t i = 0; i < count; i++) {
        uint32_t step = steps[i % RANDOM_STEPS];
        if (step == END_STEP)
            tbed_span_end(recorder);
        else
            tbed_span_begin(recorder, ids[step]);
    }
    free(steps);
}

/* Random blocks of a heap are allocated and freed; half of them are live. */
static void record_allocations(struct tbed_recorder *recorder, const uint32_t *ids, uint32_t name_count,
                               size_t count)
{
    bool *is_live = calloc(2 * LIVE_BLOCKS, sizeof *is_live);
    uint64_t state = 1;
    if (is_live == NULL)
        abort();
    for (size_t i = 0; i < count; i++) {
        size_t block = random_next(&state) % (2 * LIVE_BLOCKS);
        uint64_t address = UINT64_C(0x7F0000000000) + block * BLOCK_NBYTES;
        uint32_t id = ids[block % name_count];
        if (is_live[block])
            tbed_free_record(recorder, id, TBED_FUNCTION_MALLOC, address);
        else
            tbed_alloc_record(recorder, id, TBED_FUNCTION_MALLOC, address, BLOCK_NBYTES);
        is_live[block] = !is_live[block];
    }
    free(is_live);
}

static bool trace_make(struct trace *trace)
{
    struct tbed_writer_options options = {.size = sizeof options, .overwrite = true};
    struct tbed_writer *writer;
    struct tbed_error error;
    struct stat status;
    uint32_t *ids = malloc(trace->name_count * sizeof *ids);
    if (ids == NULL)
        abort();
    if (tbed_writer_open(trace->path, &options, &writer, &error) != TBED_OK) {
        fprintf(stderr, "scanning_bench: %s: %s\n", trace->path, tbed_status_text(error.status));
        free(ids);
        return false;
    }
    intern_names(writer, trace->name_count, ids);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "worker");
    trace->record(recorder, ids, trace->name_count, trace->event_count);
    tbed_writer_close(writer);
    free(ids);
    if (stat(trace->path, &status) != 0)
        return false;
    trace->nbytes = (size_t)status.st_size;
    return true;
}

/* ---- The limit ---- */

struct part {
    pthread_t thread;
    const uint64_t *words;
    size_t count;
    uint64_t sum;
};

static void *part_sum(void *argument)
{
    struct part *part = argument;
    uint64_t sum = 0;
    for (size_t i = 0; i < part->count; i++)
        sum += part->words[i];
    part->sum = sum;
    return NULL;
}

static void sum_words(const uint64_t *words, size_t count, unsigned thread_count)
{
    struct part parts[THREAD_MAX];
    size_t each = count / thread_count;
    for (unsigned i = 0; i < thread_count; i++) {
        parts[i] = (struct part){.words = words + i * each, .count = each};
        if (i + 1 == thread_count)
            part_sum(&parts[i]);
        else if (pthread_create(&parts[i].thread, NULL, part_sum, &parts[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i + 1 < thread_count; i++) {
        pthread_join(parts[i].thread, NULL);
        parts[thread_count - 1].sum += parts[i].sum;
    }
    bench_sink = parts[thread_count - 1].sum;
}

/* One thread's time is CPU time, which does not count what else runs; that of all cores has to be elapsed
 * time. */
static clockid_t clock_for(unsigned thread_count)
{
    return thread_count == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
}

/* Hashes the words as a block's checksum does, in pieces of the size of a page. */
static void hash_words(const uint64_t *words, size_t count, unsigned thread_count)
{
    size_t nbytes = 8 * count;
    (void)thread_count;
    for (size_t at = 0; at + PAGE_NBYTES <= nbytes; at += PAGE_NBYTES)
        bench_sink += tbed_hash64((const uint8_t *)words + at, PAGE_NBYTES);
}

typedef void (*over_words)(const uint64_t *words, size_t count, unsigned thread_count);

/* Over a fresh map of the file. */
static double words_ns(const struct trace *trace, over_words run, unsigned thread_count)
{
    uint64_t begin_ns = bench_ns(clock_for(thread_count));
    int fd = open(trace->path, O_RDONLY | O_CLOEXEC);
    void *map = mmap(NULL, trace->nbytes, PROT_READ, MAP_SHARED, fd, 0);
    if (fd < 0 || map == MAP_FAILED)
        abort();
    run(map, trace->nbytes / 8, thread_count);
    munmap(map, trace->nbytes);
    close(fd);
    return (double)(bench_ns(clock_for(thread_count)) - begin_ns);
}

static double plain_sum_ns(const struct trace *trace, unsigned thread_count)
{
    return words_ns(trace, sum_words, thread_count);
}

/* ---- The passes: each returns the number of events that it has seen ---- */

static size_t pass_cursor(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_stream_info info;
    struct tbed_cursor *cursor;
    struct tbed_event event;
    size_t count = 0;
    (void)thread_count;
    for (size_t i = 0; tbed_stream_get(reader, i, &info); i++) {
        if (tbed_cursor_open(reader, info.stream, &cursor) != TBED_OK)
            continue;
        while (tbed_cursor_next(cursor, &event) == TBED_OK)
            count++;
        tbed_cursor_close(cursor);
    }
    return count;
}

static size_t pass_merge(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_merge *merge;
    struct tbed_event event;
    size_t count = 0;
    (void)thread_count;
    if (tbed_merge_open(reader, NULL, 0, &merge) != TBED_OK)
        return 0;
    while (tbed_merge_next(merge, &event) == TBED_OK)
        count++;
    tbed_merge_close(merge);
    return count;
}

static size_t pass_statistics(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = thread_count};
    struct tbed_statistics *statistics;
    struct tbed_statistics_totals totals;
    if (tbed_statistics_make(reader, &options, &statistics) != TBED_OK)
        return 0;
    tbed_statistics_totals(statistics, &totals);
    tbed_statistics_close(statistics);
    return totals.event_count;
}

static size_t pass_allocations(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = thread_count};
    struct tbed_allocations *allocations;
    size_t count = 0;
    if (tbed_allocations_make(reader, &options, &allocations) != TBED_OK)
        return 0;
    for (size_t i = 0; tbed_allocations_process(allocations, i) != NULL; i++)
        count += tbed_allocations_process(allocations, i)->event_count;
    tbed_allocations_close(allocations);
    return count;
}

static size_t pass_verify(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_verify_options options = {.size = sizeof options, .thread_count = thread_count};
    struct tbed_trace_info info;
    if (tbed_reader_verify_with(reader, &options) != TBED_OK)
        return 0;
    tbed_reader_info(reader, &info);
    return info.event_count;
}

static size_t pass_export(struct tbed_reader *reader, unsigned thread_count)
{
    struct tbed_chrome_options options = {.size = sizeof options, .thread_count = thread_count};
    struct tbed_trace_info info;
    FILE *out = fopen("/dev/null", "w");
    if (out == NULL)
        return 0;
    enum tbed_status status = tbed_export_chrome_stream(&reader, 1, out, &options, NULL, NULL);
    fclose(out);
    if (status != TBED_OK || tbed_reader_verify(reader) != TBED_OK)
        return 0;
    tbed_reader_info(reader, &info); /* the export does not count events */
    return info.event_count;
}

struct pass {
    const char *name;
    size_t (*run)(struct tbed_reader *reader, unsigned thread_count); /* NULL: only open the file */
    bool all_cores, skip_hashes;
};

static const struct pass passes[] = {
    {"open", NULL, false, false},
    {"cursor", pass_cursor, false, false},
    {"cursor, no checksums", pass_cursor, false, true},
    {"merge", pass_merge, false, false},
    {"statistics", pass_statistics, false, false},
    {"statistics, no checksums", pass_statistics, false, true},
    {"statistics, all cores", pass_statistics, true, false},
    {"statistics, no checksums, all cores", pass_statistics, true, true},
    {"verify", pass_verify, false, false},
    {"verify, all cores", pass_verify, true, false},
    {"export to chrome", pass_export, false, false},
    {"export to chrome, all cores", pass_export, true, false},
};
#define PASS_COUNT (sizeof passes / sizeof passes[0])

static const struct pass statistics_pass = {"statistics", pass_statistics, false, false};
static const struct pass allocations_pass = {"allocations", pass_allocations, false, false};
static const struct pass verify_pass = {"verify", pass_verify, false, false};

/* Returns nanoseconds, or 0 if the pass did not see every event. */
static double pass_ns(const struct trace *trace, const struct pass *pass, unsigned thread_count)
{
    struct tbed_reader_options options = {.size = sizeof options, .skip_hashes = pass->skip_hashes};
    struct tbed_reader *reader;
    struct tbed_error error;
    uint64_t begin_ns = bench_ns(clock_for(thread_count));
    if (tbed_reader_open(trace->path, &options, &reader, &error) != TBED_OK) {
        fprintf(stderr, "scanning_bench: %s: %s\n", trace->path, tbed_status_text(error.status));
        return 0;
    }
    size_t count = pass->run != NULL ? pass->run(reader, thread_count) : trace->event_count;
    tbed_reader_close(reader);
    double ns = (double)(bench_ns(clock_for(thread_count)) - begin_ns);
    if (count == trace->event_count)
        return ns;
    fprintf(stderr, "scanning_bench: %s: %zu of %zu events\n", pass->name, count, trace->event_count);
    return 0;
}

/* ---- Rounds and rows ---- */

static unsigned core_count(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > THREAD_MAX ? THREAD_MAX : (unsigned)count;
}

struct measured {
    struct bench_pairs ms, gigabytes, million_events;
};

static void measure_pass(const struct trace *trace, const struct pass *pass, struct measured *measured)
{
    unsigned thread_count = pass->all_cores ? core_count() : 1;
    double limit_ns = plain_sum_ns(trace, thread_count);
    double ns = pass_ns(trace, pass, thread_count);
    double nbytes = (double)trace->nbytes;
    double million_events = (double)trace->event_count * 1e3;
    if (ns == 0)
        return;
    bench_pair_add(&measured->ms, limit_ns / 1e6, ns / 1e6);
    bench_pair_add(&measured->gigabytes, nbytes / limit_ns, nbytes / ns);
    bench_pair_add(&measured->million_events, million_events / limit_ns, million_events / ns);
}

static void pass_rows(const struct trace *trace, const struct pass *pass, const struct measured *measured)
{
    const struct bench_goal none = {BENCH_NO_GOAL, 0};
    char name[64];
    const struct bench_goal share = {BENCH_RATIO_AT_LEAST, trace->goal};
    bool has_goal = trace->goal > 0 && pass->run == pass_statistics && !pass->all_cores && !pass->skip_hashes;
    snprintf(name, sizeof name, "%s: %s", trace->name, pass->name);
    if (pass->run == NULL) {
        bench_row(name, "ms", &measured->ms, none);
        return;
    }
    bench_row(name, "GB/s", &measured->gigabytes, none);
    bench_row(name, "Mevents/s", &measured->million_events, has_goal ? share : none);
}

/* Two threads in proportion to one, by elapsed time. */
static void measure_threads(const struct bench_options *options, const struct trace *trace)
{
    static struct bench_pairs pairs;
    char name[64];
    memset(&pairs, 0, sizeof pairs);
    for (unsigned round = 0; round < options->rounds; round++) {
        double ns[2];
        for (unsigned i = 0; i < 2; i++) {
            struct tbed_reader *reader;
            uint64_t begin_ns = bench_ns(CLOCK_MONOTONIC);
            if (tbed_reader_open(trace->path, NULL, &reader, NULL) != TBED_OK)
                return;
            pass_statistics(reader, i + 1);
            tbed_reader_close(reader);
            ns[i] = (double)(bench_ns(CLOCK_MONOTONIC) - begin_ns);
        }
        double million_events = (double)trace->event_count * 1e3;
        bench_pair_add(&pairs, million_events / ns[0], million_events / ns[1]);
    }
    snprintf(name, sizeof name, "%s: statistics, two threads for one", trace->name);
    bench_row(name, "Mevents/s", &pairs, (struct bench_goal){BENCH_RATIO_AT_LEAST, 1.8});
}

/* Verifying on one thread; the limit is XXH3 alone, which every byte has to pass. */
static void measure_verify(const struct bench_options *options, const struct trace *trace)
{
    static struct bench_pairs pairs;
    char name[64];
    memset(&pairs, 0, sizeof pairs);
    for (unsigned round = 0; round < options->rounds; round++) {
        double limit_ns = words_ns(trace, hash_words, 1);
        double ns = pass_ns(trace, &verify_pass, 1);
        if (ns != 0)
            bench_pair_add(&pairs, (double)trace->nbytes / limit_ns, (double)trace->nbytes / ns);
    }
    snprintf(name, sizeof name, "%s: verify, and XXH3", trace->name);
    bench_row(name, "GB/s", &pairs, (struct bench_goal){BENCH_RATIO_AT_LEAST, 0.25});
}

/* Makes the trace and has it in the page cache. */
static bool prepare(const struct bench_options *options, struct trace *trace)
{
    static char path[4096];
    if (!bench_is_wanted(options, trace->name))
        return false;
    snprintf(path, sizeof path, "%s", bench_path(options, FILE_NAME));
    trace->path = path;
    bench_memory_warm(options, trace->event_count * 8);
    if (!trace_make(trace))
        return false;
    plain_sum_ns(trace, 1);
    return true;
}

static void measure_trace(const struct bench_options *options, struct trace *trace)
{
    static struct measured measured[PASS_COUNT];
    if (!prepare(options, trace))
        return;
    memset(measured, 0, sizeof measured);
    for (unsigned round = 0; round < options->rounds; round++)
        for (size_t i = 0; i < PASS_COUNT; i++)
            measure_pass(trace, &passes[i], &measured[i]);
    for (size_t i = 0; i < PASS_COUNT; i++)
        pass_rows(trace, &passes[i], &measured[i]);
    measure_verify(options, trace);
    if (core_count() > 1)
        measure_threads(options, trace);
    unlink(trace->path);
}

static void measure_allocations(const struct bench_options *options, size_t event_count)
{
    struct trace trace = {.name = "allocations", .name_count = 300, .record = record_allocations};
    trace.event_count = event_count;
    static struct measured measured;
    if (!prepare(options, &trace))
        return;
    for (unsigned round = 0; round < options->rounds; round++)
        measure_pass(&trace, &allocations_pass, &measured);
    pass_rows(&trace, &allocations_pass, &measured);
    measure_verify(options, &trace);
    unlink(trace.path);
}

/* ---- Memory ---- */

/* In processes of their own, whose memory counts. Returns whether 'run' did. */
static bool run_apart(bool (*run)(const struct bench_options *options, struct trace *trace),
                      const struct bench_options *options, struct trace *trace, struct rusage *usage_ret)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(!run(options, trace));
    return child > 0 && wait4(child, &status, 0, usage_ret) == child && status == 0;
}

static bool make_statistics(const struct bench_options *options, struct trace *trace)
{
    (void)options;
    return pass_ns(trace, &statistics_pass, 1) != 0;
}

/* The most memory that a process has while it makes the statistics, less the file. */
static void measure_memory(const struct bench_options *options)
{
    struct trace trace = {.name = "1,000,000 names", .name_count = MANY_NAMES, .record = record_regular};
    static struct bench_pairs pairs;
    struct rusage usage;
    struct stat status;
    trace.event_count = (size_t)MANY_NAMES * MANY_SPANS * 2;
    if (!bench_is_wanted(options, trace.name) || !run_apart(prepare, options, &trace, &usage))
        return;
    trace.path = bench_path(options, FILE_NAME);
    if (stat(trace.path, &status) != 0)
        return;
    double file_mb = (double)status.st_size / 1e6;
    for (unsigned round = 0; round < options->rounds; round++)
        if (run_apart(make_statistics, options, &trace, &usage))
            bench_pair_add(&pairs, file_mb, (double)usage.ru_maxrss * 1024 / 1e6 - file_mb);
    bench_row("1,000,000 names: memory besides the file, and it", "MB", &pairs,
              (struct bench_goal){BENCH_VALUE_AT_MOST, 256});
    unlink(trace.path);
}

int main(int argc, char **argv)
{
    struct bench_options options;
    if (!bench_options_parse(argc, argv, "Measures reading a trace, compared with a plain sum of its words.",
                             &options))
        return 0;
    size_t rounds_of_walk = options.quick ? 12 : 128; /* 134 M events, 1 GiB */
    struct trace traces[] = {
        {.name = "regular", .name_count = 8, .record = record_regular},
        {.name = "tree", .name_count = NAME_COUNT_MAX, .record = record_tree, .goal = 1.0 / 3},
        {.name = "random, 300 names", .name_count = 300, .record = record_random, .goal = 1.0 / 6},
        {.name = "random, 1000 names", .name_count = NAME_COUNT_MAX, .record = record_random},
    };
    bench_table_head("Scanning: the limit is a plain sum of the file's words on the same number of threads");
    measure_memory(&options); /* before this process is large */
    for (size_t i = 0; i < sizeof traces / sizeof traces[0]; i++) {
        traces[i].event_count = rounds_of_walk * RANDOM_STEPS;
        measure_trace(&options, &traces[i]);
    }
    measure_allocations(&options, rounds_of_walk * RANDOM_STEPS / 4);
    return 0;
}
