/*
 * Measures windows (<tracebed/window.h>): the first picture of a whole trace, made from headers, and what windows of a
 * part of it cost, made from headers and from every event. Each is 1600 columns wide and 32 spans deep.
 *
 * The trace has 100 million events of eight threads, in calls of random depth. In pages of 8 KiB, it has about as many
 * blocks as 800 million events have in pages of 64 KiB. Every round opens it again, so the time includes touching each page
 * for the first time. The limit of a row is the exact window of the same time; --quick has 10 million events.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tracebed/window.h>
#include <tracebed/writer.h>

#include "bench/support/measure.h"

#define STREAM_COUNT     8u
#define EVENTS_AT_A_TIME 64u
#define DEPTH_MAX        20u
#define NAME_COUNT       1000u
#define COLUMN_COUNT     1600u
#define DEPTH_COUNT      32u
#define EXACT_BLOCK_MAX  900u

/* What is measured of the trace at 'path'. */
struct subject {
    const struct bench_options *options;
    const char *path, *name;
    double zoom; /* which part of the trace a window has, inverted; it is in the middle */
    uint64_t exact_block_max;
    bool is_dropped;
};

struct run {
    double ms, cpu_ms, mebibytes;
};

/* ---- The trace ---- */

static uint64_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void record(struct tbed_recorder *recorder, const uint32_t *ids, uint32_t *depth, uint64_t *state)
{
    for (uint32_t i = 0; i < EVENTS_AT_A_TIME; i++) {
        uint64_t random = random_next(state);
        if (*depth == DEPTH_MAX || (*depth > 0 && random % 2 == 0)) {
            tbed_span_end(recorder);
            --*depth;
        } else {
            tbed_span_begin(recorder, ids[(random >> 1) % NAME_COUNT]);
            ++*depth;
        }
    }
}

static void trace_make(const char *path, uint32_t page_nbytes, size_t event_count)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .overwrite = true, .page_nbytes = page_nbytes};
    struct tbed_recorder *recorders[STREAM_COUNT];
    uint32_t ids[NAME_COUNT], depths[STREAM_COUNT] = {0};
    struct tbed_writer *writer;
    uint64_t state = 1;
    char name[32];
    if (tbed_writer_open(path, &options, &writer, NULL) != TBED_OK)
        abort();
    for (uint32_t i = 0; i < NAME_COUNT; i++) {
        int nbytes = snprintf(name, sizeof name, "function_%u", i);
        ids[i] = tbed_string_intern(writer, name, (size_t)nbytes);
    }
    for (uint32_t i = 0; i < STREAM_COUNT; i++)
        recorders[i] = tbed_recorder_open(writer, "worker");
    for (size_t done = 0; done < event_count; done += EVENTS_AT_A_TIME) {
        size_t at = done / EVENTS_AT_A_TIME % STREAM_COUNT;
        record(recorders[at], ids, &depths[at], &state);
    }
    tbed_writer_close(writer);
}

static void drop(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        abort();
    close(fd);
}

/* ---- One window ---- */

static double anonymous_mebibytes(void)
{
    char line[256];
    double kibibytes = 0;
    FILE *file = fopen("/proc/self/status", "re");
    if (file == NULL)
        abort();
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "RssAnon:", 8) == 0)
            kibibytes = strtod(line + 8, NULL);
    fclose(file);
    return kibibytes / 1024;
}

static struct run window_run(const struct subject *subject, uint64_t exact_block_max)
{
    struct tbed_reader_options how = {.size = sizeof how, .skip_hashes = true};
    struct tbed_filter_options which = {.size = sizeof which};
    struct tbed_window_options options = {.size = sizeof options,
                                          .column_count = COLUMN_COUNT,
                                          .depth_count = DEPTH_COUNT,
                                          .exact_block_max = exact_block_max};
    struct tbed_filter *filter;
    struct tbed_reader *reader;
    struct tbed_window *window;
    struct tbed_window_info window_info;
    struct tbed_trace_info info;
    if (tbed_reader_open(subject->path, &how, &reader, NULL) != TBED_OK)
        abort();
    tbed_reader_info(reader, &info);
    double ticks = (double)(info.last_tick - info.first_tick);
    which.begin_tick = info.first_tick + (uint64_t)(ticks * (1 - 1 / subject->zoom) / 2);
    which.end_tick = which.begin_tick + (uint64_t)(ticks / subject->zoom) + 1;
    if (tbed_filter_make(reader, &which, &filter, NULL) != TBED_OK)
        abort();
    options.filter = filter;
    double mebibytes = anonymous_mebibytes();
    uint64_t begin_ns = bench_ns(CLOCK_MONOTONIC), cpu_ns = bench_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (tbed_window_make(reader, &options, &window) != TBED_OK)
        abort();
    struct run run = {.ms = (double)(bench_ns(CLOCK_MONOTONIC) - begin_ns) / 1e6,
                      .cpu_ms = (double)(bench_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns) / 1e6,
                      .mebibytes = anonymous_mebibytes() - mebibytes};
    tbed_window_info(window, &window_info);
    bench_sink += window_info.block_count;
    tbed_window_close(window);
    tbed_filter_close(filter);
    tbed_reader_close(reader);
    return run;
}

/* In a process of its own, which gives no memory back to the system, so that the most that was used can be seen. */
static struct run window_run_apart(const struct subject *subject, uint64_t exact_block_max)
{
    struct run run = {0};
    int status, ends[2];
    if (pipe(ends) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        mallopt(M_MMAP_THRESHOLD, 1 << 30);
        mallopt(M_TRIM_THRESHOLD, 1 << 30);
        mallopt(M_ARENA_MAX, 1);
        run = window_run(subject, exact_block_max);
        _exit(write(ends[1], &run, sizeof run) == (ssize_t)sizeof run ? 0 : 1);
    }
    if (child < 0 || read(ends[0], &run, sizeof run) != (ssize_t)sizeof run ||
        waitpid(child, &status, 0) != child || status != 0)
        abort();
    close(ends[0]);
    close(ends[1]);
    return run;
}

static void measure(const struct subject *subject, struct bench_goal time_goal)
{
    static struct bench_pairs times, cpu_times, memory;
    char row[64];
    if (!bench_is_wanted(subject->options, subject->name))
        return;
    times.count = cpu_times.count = memory.count = 0;
    for (unsigned round = 0; round < subject->options->rounds; round++) {
        struct run limit = window_run_apart(subject, 0);
        if (subject->is_dropped)
            drop(subject->path);
        struct run run = window_run_apart(subject, subject->exact_block_max);
        bench_pair_add(&times, limit.ms, run.ms);
        bench_pair_add(&cpu_times, limit.cpu_ms, run.cpu_ms);
        bench_pair_add(&memory, limit.mebibytes, run.mebibytes);
    }
    bench_row(subject->name, "ms", &times, time_goal);
    snprintf(row, sizeof row, "%s, CPU", subject->name);
    bench_row(row, "ms", &cpu_times, (struct bench_goal){BENCH_NO_GOAL, 0});
    snprintf(row, sizeof row, "%s, memory", subject->name);
    if (subject->zoom == 1)
        bench_row(row, "MiB", &memory, (struct bench_goal){BENCH_NO_GOAL, 0});
}

static void measure_trace(const struct bench_options *options, const char *path, uint32_t page_nbytes)
{
    static const double zooms[] = {1, 10, 30, 100, 1000};
    uint32_t kibibytes = page_nbytes / 1024;
    char name[64];
    struct subject subject = {
        .options = options, .path = path, .name = name, .exact_block_max = EXACT_BLOCK_MAX};
    trace_make(path, page_nbytes, options->quick ? 10000000 : 100000000);
    for (size_t i = 0; i < sizeof zooms / sizeof zooms[0]; i++) {
        snprintf(name, sizeof name, "%u KiB, 1/%.0f of the time", kibibytes, zooms[i]);
        subject.zoom = zooms[i];
        measure(&subject, (struct bench_goal){BENCH_VALUE_AT_MOST, i == 0 ? 40 : 50});
    }
    subject.zoom = 1;
    subject.is_dropped = true;
    snprintf(name, sizeof name, "%u KiB, 1/1 of the time, dropped", kibibytes);
    measure(&subject, (struct bench_goal){BENCH_VALUE_AT_MOST, 300});
    unlink(path);
}

int main(int argc, char **argv)
{
    struct bench_options options;
    char path[4096];
    if (!bench_options_parse(argc, argv, "Measures windows of a large trace.", &options))
        return 0;
    snprintf(path, sizeof path, "%s", bench_path(&options, "windows_bench.tbed"));
    bench_table_head("Windows");
    measure_trace(&options, path, 8 << 10);
    measure_trace(&options, path, 64 << 10);
    return 0;
}
