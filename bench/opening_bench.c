/*
 * Measures what 'tracebed info' of a huge trace costs, in time and memory: with the file in memory, with its pages dropped,
 * after the file was made sparse, and with very many threads.
 *
 * The limit of a row is 'tracebed info' of an empty trace: starting the program and printing. The big trace is 8 GB of
 * events of eight threads. The sparse one is the same trace, not closed, cut to 64 MB and 1 TiB long; its header page says
 * that all pages were claimed.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tracebed/writer.h>

#include "bench/support/measure.h"

#define STREAM_COUNT     8
#define EVENTS_AT_A_TIME 8192
#define THREAD_COUNT     60000
#define SPARSE_NBYTES    ((off_t)1 << 40)
#define KEPT_NBYTES      ((off_t)64 << 20)

struct opening_run {
    double ms, mebibytes;
};

static struct opening_run info_run(const char *path)
{
    char program[4096] = "", self[4096] = "";
    struct rusage usage;
    int status;
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        abort();
    snprintf(program, sizeof program, "%s/../tracebed", dirname(self));
    uint64_t begin_ns = bench_ns(CLOCK_MONOTONIC);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execl(program, "tracebed", "info", path, NULL);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) > 1)
        abort();
    return (struct opening_run){.ms = (double)(bench_ns(CLOCK_MONOTONIC) - begin_ns) / 1e6,
                                .mebibytes = (double)usage.ru_maxrss / 1024};
}

static struct tbed_writer *writer_make(const char *path)
{
    struct tbed_writer_options options = {.size = sizeof options, .overwrite = true};
    struct tbed_writer *writer;
    if (tbed_writer_open(path, &options, &writer, NULL) != TBED_OK)
        abort();
    return writer;
}

static void big_make(const char *path, size_t event_count)
{
    struct tbed_writer *writer = writer_make(path);
    struct tbed_recorder *recorders[STREAM_COUNT];
    uint32_t id = tbed_string_intern(writer, "step", 4);
    for (size_t i = 0; i < STREAM_COUNT; i++)
        recorders[i] = tbed_recorder_open(writer, "worker");
    for (size_t done = 0; done < event_count; done += EVENTS_AT_A_TIME) {
        struct tbed_recorder *recorder = recorders[done / EVENTS_AT_A_TIME % STREAM_COUNT];
        for (size_t i = 0; i < EVENTS_AT_A_TIME; i += 2) {
            tbed_span_begin(recorder, id);
            tbed_span_end(recorder);
        }
    }
    tbed_writer_close(writer);
}

static void threads_make(const char *path, size_t count)
{
    struct tbed_writer *writer = writer_make(path);
    uint32_t id = tbed_string_intern(writer, "step", 4);
    for (size_t i = 0; i < count; i++) {
        struct tbed_recorder *recorder = tbed_recorder_open(writer, "worker");
        tbed_instant_record(recorder, id);
        tbed_recorder_close(recorder);
    }
    tbed_writer_close(writer);
}

/* A killed trace of which only the start is left, in a file of 1 TiB. */
static void sparse_make(const char *path)
{
    uint64_t page_count = SPARSE_NBYTES / TBED_PAGE_NBYTES_DEFAULT;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || ftruncate(fd, KEPT_NBYTES) != 0 || ftruncate(fd, SPARSE_NBYTES) != 0 ||
        pwrite(fd, &page_count, 8, 512) != 8 || pwrite(fd, "open", 4, 608) != 4)
        abort();
    close(fd);
}

static void drop(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        abort();
    close(fd);
}

static void measure(const struct bench_options *options, const char *name, const char *path, bool is_dropped,
                    struct bench_goal time_goal, struct bench_goal memory_goal)
{
    static struct bench_pairs times, memory;
    char row[64], empty[4096];
    if (!bench_is_wanted(options, name))
        return;
    snprintf(empty, sizeof empty, "%s", bench_path(options, "opening_bench_empty.tbed"));
    threads_make(empty, 0);
    times.count = memory.count = 0;
    for (unsigned round = 0; round < options->rounds; round++) {
        struct opening_run limit = info_run(empty);
        if (is_dropped)
            drop(path);
        struct opening_run run = info_run(path);
        bench_pair_add(&times, limit.ms, run.ms);
        bench_pair_add(&memory, limit.mebibytes, run.mebibytes);
    }
    bench_row(name, "ms", &times, time_goal);
    snprintf(row, sizeof row, "%s, memory", name);
    bench_row(row, "MiB", &memory, memory_goal);
    unlink(empty);
}

int main(int argc, char **argv)
{
    const struct bench_goal none = {BENCH_NO_GOAL, 0};
    struct bench_options options;
    char path[4096];
    if (!bench_options_parse(argc, argv, "Measures 'tracebed info' of huge traces.", &options))
        return 0;
    snprintf(path, sizeof path, "%s", bench_path(&options, "opening_bench.tbed"));
    bench_table_head("Opening");
    threads_make(path, THREAD_COUNT);
    measure(&options, "60,000 threads", path, false, none, none);
    big_make(path, (size_t)1 << (options.quick ? 25 : 30));
    measure(&options, options.quick ? "0.25 GB, in memory" : "8 GB, in memory", path, false,
            (struct bench_goal){BENCH_VALUE_AT_MOST, 20}, none);
    measure(&options, options.quick ? "0.25 GB, dropped" : "8 GB, dropped", path, true,
            (struct bench_goal){BENCH_VALUE_AT_MOST, 200}, none);
    sparse_make(path);
    measure(&options, "sparse, 1 TiB", path, false, (struct bench_goal){BENCH_VALUE_AT_MOST, 1000},
            (struct bench_goal){BENCH_VALUE_AT_MOST, 64});
    unlink(path);
    return 0;
}
