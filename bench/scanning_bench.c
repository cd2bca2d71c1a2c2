/*
 * Measures how fast a trace is read, compared with only summing its 8-byte words.
 *
 * There are two traces in the page cache: regular pairs with few names, and random trees with 1000 names. Every pass
 * opens the file again, so the time includes mapping it and verifying checksums. The limit of a row is the plain sum
 * over a fresh map on the same number of threads, in the same round.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracebed/analysis.h>
#include <tracebed/writer.h>

#include "bench/support/measure.h"

#define FILE_NAME        "scanning_bench.tbed"
#define THREAD_MAX       64
#define RANDOM_STEPS     ((size_t)1 << 20)
#define RANDOM_DEPTH_MAX 20
#define NAME_COUNT_MAX   1000
#define END_STEP         UINT32_MAX

struct trace {
    const char *name;
    uint32_t name_count;
    bool is_random;
    const char *path;
    size_t event_count;
    size_t nbytes;
};

/* ---- Making a trace ---- */

static void intern_names(struct tbed_writer *writer, uint32_t count, uint32_t ids[NAME_COUNT_MAX])
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

static bool trace_make(struct trace *trace)
{
    struct tbed_writer_options options = {.size = sizeof options, .overwrite = true};
    struct tbed_writer *writer;
    struct tbed_error error;
    struct stat status;
    uint32_t ids[NAME_COUNT_MAX];
    if (tbed_writer_open(trace->path, &options, &writer, &error) != TBED_OK) {
        fprintf(stderr, "scanning_bench: %s: %s\n", trace->path, tbed_status_text(error.status));
        return false;
    }
    intern_names(writer, trace->name_count, ids);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "worker");
    if (trace->is_random)
        record_random(recorder, ids, trace->name_count, trace->event_count);
    else
        record_regular(recorder, ids, trace->name_count, trace->event_count);
    tbed_writer_close(writer);
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

static double plain_sum_ns(const struct trace *trace, unsigned thread_count)
{
    uint64_t begin_ns = bench_ns(clock_for(thread_count));
    int fd = open(trace->path, O_RDONLY | O_CLOEXEC);
    void *map = mmap(NULL, trace->nbytes, PROT_READ, MAP_SHARED, fd, 0);
    if (fd < 0 || map == MAP_FAILED)
        abort();
    sum_words(map, trace->nbytes / 8, thread_count);
    munmap(map, trace->nbytes);
    close(fd);
    return (double)(bench_ns(clock_for(thread_count)) - begin_ns);
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
};
#define PASS_COUNT (sizeof passes / sizeof passes[0])

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
    snprintf(name, sizeof name, "%s: %s", trace->name, pass->name);
    if (pass->run == NULL) {
        bench_row(name, "ms", &measured->ms, none);
        return;
    }
    bench_row(name, "GB/s", &measured->gigabytes, none);
    bench_row(name, "Mevents/s", &measured->million_events, none);
}

static void measure_trace(const struct bench_options *options, struct trace *trace)
{
    static struct measured measured[PASS_COUNT];
    char path[4096];
    if (!bench_is_wanted(options, trace->name))
        return;
    snprintf(path, sizeof path, "%s", bench_path(options, FILE_NAME));
    trace->path = path;
    bench_memory_warm(options, trace->event_count * 10);
    if (!trace_make(trace))
        return;
    plain_sum_ns(trace, 1);
    memset(measured, 0, sizeof measured);
    for (unsigned round = 0; round < options->rounds; round++)
        for (size_t i = 0; i < PASS_COUNT; i++)
            measure_pass(trace, &passes[i], &measured[i]);
    for (size_t i = 0; i < PASS_COUNT; i++)
        pass_rows(trace, &passes[i], &measured[i]);
    unlink(path);
}

int main(int argc, char **argv)
{
    struct bench_options options;
    if (!bench_options_parse(argc, argv, "Measures reading a trace, compared with a plain sum of its words.",
                             &options))
        return 0;
    size_t rounds_of_walk = options.quick ? 12 : 128; /* 134 M events, 1 GiB */
    struct trace traces[] = {
        {.name = "regular", .name_count = 8, .event_count = rounds_of_walk * RANDOM_STEPS},
        {.name = "random", .name_count = NAME_COUNT_MAX, .is_random = true},
    };
    traces[1].event_count = traces[0].event_count;
    bench_table_head("Scanning: the limit is a plain sum of the file's words on the same number of threads");
    for (size_t i = 0; i < sizeof traces / sizeof traces[0]; i++)
        measure_trace(&options, &traces[i]);
    return 0;
}
