/*
 * Measures what recording costs many threads, many processes, and a program that runs for a millisecond, in time and on
 * disk.
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
#include <sys/wait.h>
#include <unistd.h>

#include <tracebed/writer.h>

#include "bench/support/measure.h"

#define FILE_NAME     "small_bench.tbed"
#define EVENT_COUNT   10 /* per thread or process */
#define THREAD_COUNT  10000u
#define PROCESS_COUNT 1000u
#define PROGRAM_MODE  "--program"

static const struct bench_goal no_goal = {BENCH_NO_GOAL, 0};

static bool open_writer(const char *path, bool join, struct tbed_writer **writer_ret)
{
    struct tbed_writer_options options = {.size = sizeof options, .overwrite = !join, .join = join};
    struct tbed_error error;
    if (tbed_writer_open(path, &options, writer_ret, &error) == TBED_OK)
        return true;
    fprintf(stderr, "small_bench: %s: %s\n", path, tbed_status_text(error.status));
    return false;
}

static void record(struct tbed_writer *writer, struct tbed_recorder *recorder)
{
    uint32_t id = tbed_string_intern(writer, "work", 4);
    for (unsigned i = 0; i < EVENT_COUNT; i += 2) {
        tbed_span_begin(recorder, id);
        tbed_span_end(recorder);
    }
}

/* Returns the bytes on disk, as du counts them, and removes the file. */
static double take_file(const char *path)
{
    struct stat status = {.st_blocks = 0};
    stat(path, &status);
    unlink(path);
    return (double)status.st_blocks * 512;
}

/* ---- Threads ---- */

struct crowd {
    struct tbed_writer *writer; /* NULL: nothing is recorded */
    pthread_barrier_t *all;     /* threads alive at once */
};

static void *thread_run(void *argument)
{
    const struct crowd *crowd = argument;
    struct tbed_recorder *recorder = tbed_recorder_open(crowd->writer, NULL);
    record(crowd->writer, recorder);
    pthread_barrier_wait(crowd->all);
    tbed_recorder_close(recorder);
    return NULL;
}

/* Starts this many at once. If a thread cannot be started the benchmark ends, because the others would wait for it. */
static void run_wave(struct crowd *crowd, pthread_t *threads, unsigned count)
{
    pthread_barrier_t all;
    pthread_attr_t attributes;
    pthread_barrier_init(&all, NULL, count);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 * 1024);
    crowd->all = &all;
    for (unsigned i = 0; i < count; i++) {
        if (pthread_create(&threads[i], &attributes, thread_run, crowd) != 0) {
            fprintf(stderr, "small_bench: only %u threads at once\n", i);
            exit(0);
        }
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_attr_destroy(&attributes);
    pthread_barrier_destroy(&all);
}

static double run_threads(struct tbed_writer *writer, unsigned at_once)
{
    static pthread_t threads[THREAD_COUNT];
    struct crowd crowd = {.writer = writer};
    uint64_t begin_ns = bench_ns(CLOCK_MONOTONIC);
    for (unsigned done = 0; done < THREAD_COUNT; done += at_once)
        run_wave(&crowd, threads, at_once);
    return (double)(bench_ns(CLOCK_MONOTONIC) - begin_ns) * 1e-9;
}

static uint64_t dropped(const struct tbed_writer *writer)
{
    uint64_t count = 0;
    for (unsigned cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++)
        count += tbed_writer_drop_count(writer, (enum tbed_drop_cause)cause);
    return count;
}

static void measure_threads(const struct bench_options *options, const char *name, unsigned at_once)
{
    static struct bench_pairs seconds, disk;
    const char *path = bench_path(options, FILE_NAME);
    char title[64];
    seconds.count = disk.count = 0;
    if (!bench_is_wanted(options, name))
        return;
    for (unsigned round = 0; round < options->rounds; round++) {
        struct tbed_writer *writer;
        double limit = run_threads(NULL, at_once);
        uint64_t begin_ns = bench_ns(CLOCK_MONOTONIC);
        if (!open_writer(path, false, &writer))
            return;
        run_threads(writer, at_once);
        uint64_t drop_count = dropped(writer);
        tbed_writer_close(writer);
        bench_pair_add(&seconds, limit, (double)(bench_ns(CLOCK_MONOTONIC) - begin_ns) * 1e-9);
        bench_pair_add(&disk, THREAD_COUNT * EVENT_COUNT * 8e-6, take_file(path) * 1e-6);
        if (drop_count != 0)
            fprintf(stderr, "small_bench: %s: %llu dropped\n", name, (unsigned long long)drop_count);
    }
    bench_row(name, "s", &seconds, (struct bench_goal){BENCH_VALUE_AT_MOST, 2});
    snprintf(title, sizeof title, "%s, on disk", name);
    bench_row(title, "MB", &disk, (struct bench_goal){BENCH_VALUE_AT_MOST, 20});
}

/* ---- Processes: all append to one trace ---- */

static double run_processes(const char *path)
{
    uint64_t begin_ns = bench_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < PROCESS_COUNT; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct tbed_writer *writer = NULL;
            if (path != NULL && open_writer(path, true, &writer)) {
                record(writer, tbed_recorder_open(writer, NULL));
                tbed_writer_close(writer);
            }
            _exit(0);
        }
        if (pid > 0)
            waitpid(pid, NULL, 0);
    }
    return (double)(bench_ns(CLOCK_MONOTONIC) - begin_ns) * 1e-9;
}

static void measure_processes(const struct bench_options *options, const char *name)
{
    static struct bench_pairs seconds, disk;
    const char *path = bench_path(options, FILE_NAME);
    char title[64];
    if (!bench_is_wanted(options, name))
        return;
    for (unsigned round = 0; round < options->rounds; round++) {
        double limit = run_processes(NULL);
        unlink(path);
        bench_pair_add(&seconds, limit, run_processes(path));
        bench_pair_add(&disk, PROCESS_COUNT * EVENT_COUNT * 8e-6, take_file(path) * 1e-6);
    }
    bench_row(name, "s", &seconds, no_goal);
    snprintf(title, sizeof title, "%s, on disk", name);
    bench_row(title, "MB", &disk, no_goal);
}

/* ---- A program that runs for a millisecond ---- */

/* The minimum that a recorder can do: create a file and map a page of it. */
static double own_a_page(const char *path)
{
    uint64_t begin_ns = bench_ns(CLOCK_MONOTONIC);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, 65536) != 0)
        return 0;
    void *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) {
        memset(memory, 1, 4096);
        munmap(memory, 65536);
    }
    close(fd);
    return (double)(bench_ns(CLOCK_MONOTONIC) - begin_ns) * 1e-6;
}

/* Returns the milliseconds up to the first stored event and after the last; it records for 1 ms in between. */
static double live_briefly(const char *path)
{
    struct tbed_writer *writer;
    uint64_t begin_ns = bench_ns(CLOCK_MONOTONIC);
    if (!open_writer(path, false, &writer))
        return 0;
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    uint32_t id = tbed_string_intern(writer, "work", 4);
    tbed_span_begin(recorder, id);
    tbed_span_end(recorder);
    uint64_t first_ns = bench_ns(CLOCK_MONOTONIC), last_ns = first_ns;
    while (last_ns < first_ns + 1000000) {
        tbed_span_begin(recorder, id);
        tbed_span_end(recorder);
        last_ns = bench_ns(CLOCK_MONOTONIC);
    }
    tbed_writer_close(writer);
    return (double)(first_ns - begin_ns + bench_ns(CLOCK_MONOTONIC) - last_ns) * 1e-6;
}

/* Runs this program again, in the mode that does nothing else; returns milliseconds, or 0. */
static double run_program(const char *what, const char *path)
{
    char command[8192], line[64] = "0";
    snprintf(command, sizeof command, "exec /proc/%d/exe " PROGRAM_MODE " %s '%s'", getpid(), what, path);
    FILE *pipe = popen(command, "r");
    if (pipe == NULL)
        return 0;
    if (fgets(line, sizeof line, pipe) == NULL)
        line[0] = '\0';
    pclose(pipe);
    return strtod(line, NULL);
}

static int be_program(const char *what, const char *path)
{
    printf("%.6f\n", strcmp(what, "page") == 0 ? own_a_page(path) : live_briefly(path));
    return 0;
}

static void measure_program(const struct bench_options *options, const char *name)
{
    static struct bench_pairs milliseconds, disk;
    const char *path = bench_path(options, FILE_NAME);
    char title[64];
    if (!bench_is_wanted(options, name))
        return;
    for (unsigned round = 0; round < options->rounds * 3 && round < BENCH_ROUNDS_MAX; round++) {
        double limit = run_program("page", path);
        double limit_nbytes = take_file(path);
        double value = run_program("record", path);
        if (value == 0)
            continue;
        bench_pair_add(&milliseconds, limit, value);
        bench_pair_add(&disk, limit_nbytes / 1024, take_file(path) / 1024);
    }
    snprintf(title, sizeof title, "%s: start-up and close", name);
    bench_row(title, "ms", &milliseconds, (struct bench_goal){BENCH_VALUE_AT_MOST, 1});
    snprintf(title, sizeof title, "%s: on disk", name);
    bench_row(title, "KiB", &disk, (struct bench_goal){BENCH_VALUE_AT_MOST, 512});
}

int main(int argc, char **argv)
{
    struct bench_options options;
    if (argc == 4 && strcmp(argv[1], PROGRAM_MODE) == 0)
        return be_program(argv[2], argv[3]);
    if (!bench_options_parse(argc, argv,
                             "Measures what recording costs many threads or processes and short programs.",
                             &options))
        return 0;
    bench_table_head(
        "Small: ten events each; the limit is the same without recording, and 8 bytes per event");
    measure_program(&options, "a program of 1 ms");
    measure_threads(&options, "10,000 threads, 50 at once", 50);
    measure_processes(&options, "1,000 processes");
    measure_threads(&options, "10,000 threads, all at once", THREAD_COUNT);
    return 0;
}
