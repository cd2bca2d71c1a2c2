/*
 * tbed_sync(): what was recorded before it is there after a power cut, whatever happened to the rest.
 *
 * msync() is ours: when it is called, the pages that it writes are copied to a disk of our own. A power cut then makes a
 * file of which each sector is either what that disk has, or what the running file has got since, at random.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/tests/sanitizer.h"
#include "writer/life/writer.h"
#include "writer/tests/support.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS       3
#define ROUNDS        6
#define CUTS          (TEST_HAS_TSAN ? 2 : 12) /* what is read after a cut has no threads */
#define EVENTS_MAX    400000
#define SYNC_TRIES    100
#define SECTOR_NBYTES 512

/* ---- The disk ---- */

static struct {
    const char *path; /* of the file that is written */
    uint8_t *bytes;
    size_t nbytes;
    int failure; /* an errno that the next call returns */
    unsigned page_calls, name_calls, closed_calls;
    pid_t caller;
    sem_t called;
} disk;

static size_t read_file(const char *path, uint8_t **bytes_ret)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    size_t nbytes = (size_t)status.st_size, at = 0;
    *bytes_ret = realloc(*bytes_ret, nbytes);
    while (at < nbytes) {
        ssize_t count = pread(fd, *bytes_ret + at, nbytes - at, (off_t)at);
        assert_true(count > 0);
        at += (size_t)count;
    }
    close(fd);
    return nbytes;
}

static int outcome(void)
{
    __atomic_store_n(&disk.caller, (pid_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
    errno = disk.failure;
    return disk.failure != 0 ? -1 : 0;
}

int msync(void *address, size_t nbytes, int flags)
{
    (void)address;
    assert_int_equal(flags, MS_SYNC);
    __atomic_add_fetch(&disk.page_calls, 1, __ATOMIC_RELAXED);
    if (disk.path != NULL && disk.failure == 0) {
        disk.nbytes = read_file(disk.path, &disk.bytes);
        assert_true(nbytes <= disk.nbytes);
        disk.nbytes = nbytes;
    }
    int result = outcome();
    sem_post(&disk.called);
    return result;
}

int fsync(int fd)
{
    struct stat status;
    assert_true(fstat(fd, &status) == 0 && S_ISDIR(status.st_mode));
    disk.name_calls++;
    return outcome();
}

int fdatasync(int fd)
{
    (void)fd;
    disk.closed_calls++;
    return outcome();
}

static void disk_begin(const char *path)
{
    free(disk.bytes);
    memset(&disk, 0, sizeof disk);
    disk.path = path;
    sem_init(&disk.called, 0, 0);
}

static uint32_t random_below(uint64_t *random, uint32_t bound)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33) % bound;
}

/* What the disk has after a power cut, in a file at 'to'. 'percent': how much of what changed got there. */
static void power_cut(const char *to, uint32_t percent, uint64_t *random)
{
    uint8_t *live = NULL;
    size_t nbytes = read_file(disk.path, &live);
    assert_true(nbytes >= disk.nbytes);
    for (size_t at = 0; at < nbytes; at += SECTOR_NBYTES) {
        if (random_below(random, 100) < percent)
            continue;
        if (at < disk.nbytes)
            memcpy(live + at, disk.bytes + at, SECTOR_NBYTES);
        else
            memset(live + at, 0, SECTOR_NBYTES);
    }
    if (random_below(random, 2) == 0)
        nbytes = disk.nbytes;
    FILE *file = fopen(to, "we");
    assert_true(file != NULL && fwrite(live, 1, nbytes, file) == nbytes && fclose(file) == 0);
    free(live);
}

/* ---- What is recorded ---- */

#define NUMBER_MAX 100000000u

struct worker {
    struct tbed_writer *writer;
    uint32_t number;
    uint32_t pause; /* this many microseconds after each 50 events */
    uint64_t count; /* atomic: events recorded */
    bool stop;      /* atomic */
    struct tbed_recorder *recorder;
};

/* Instants that count up in a span, as ids and now and then as texts. */
static void record_next(struct worker *worker)
{
    char text[32];
    uint32_t id = worker->number * NUMBER_MAX + (uint32_t)worker->count + 1;
    size_t nbytes = (size_t)snprintf(text, sizeof text, "%u", id);
    if (worker->count % 100 == 99)
        tbed_span_end(worker->recorder);
    if (worker->count % 100 == 0)
        tbed_span_begin(worker->recorder, 1);
    if (worker->count % 300 == 7)
        id = tbed_string_intern(worker->writer, text, nbytes);
    tbed_instant_record(worker->recorder, id);
    __atomic_store_n(&worker->count, worker->count + 1, __ATOMIC_RELEASE);
}

static void *record_all(void *argument)
{
    struct worker *worker = argument;
    worker->recorder = tbed_recorder_open(worker->writer, "worker");
    while (!__atomic_load_n(&worker->stop, __ATOMIC_RELAXED) && worker->count < EVENTS_MAX) {
        record_next(worker);
        if (worker->pause > 0 && worker->count % 50 == 0)
            usleep(worker->pause);
    }
    return NULL;
}

/* ---- What is read ---- */

static uint32_t number_of(struct tbed_reader *reader, const struct tbed_event *event)
{
    char text[32];
    if (event->id < TBED_ID_METADATA)
        return event->id;
    bool is_found = tbed_string_resolve(reader, event->id, text, sizeof text, NULL) == TBED_OK;
    return is_found ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

static void take_stream(struct tbed_reader *reader, uint32_t stream, uint8_t *seen)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    enum tbed_status status;
    assert_int_equal(tbed_cursor_open(reader, stream, &cursor), TBED_OK);
    while ((status = tbed_cursor_next(cursor, &event)) != TBED_END)
        if (status == TBED_OK && event.type == TBED_EVENT_INSTANT) {
            uint32_t number = number_of(reader, &event);
            if (number / NUMBER_MAX < THREADS && number % NUMBER_MAX - 1 < EVENTS_MAX)
                seen[number / NUMBER_MAX * EVENTS_MAX + number % NUMBER_MAX - 1] = 1;
        }
    tbed_cursor_close(cursor);
}

static void expect_events(const char *path, const uint64_t counts[THREADS])
{
    struct tbed_reader *reader;
    uint8_t *seen = calloc(THREADS, EVENTS_MAX);
    assert_int_equal(tbed_reader_open(path, NULL, &reader, NULL), TBED_OK);
    struct tbed_stream_info stream;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++)
        take_stream(reader, stream.stream, seen);
    for (uint32_t thread = 0; thread < THREADS; thread++)
        for (uint64_t i = 0; i < counts[thread]; i++)
            if (!seen[thread * EVENTS_MAX + i])
                fail_msg("event %llu of %llu of thread %u is lost", (unsigned long long)i,
                         (unsigned long long)counts[thread], thread);
    tbed_reader_close(reader);
    free(seen);
}

static void expect_after_cuts(const uint64_t counts[THREADS], uint64_t *random)
{
    static const uint32_t percents[] = {0, 3, 50, 97, 100};
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("cut.tbed"));
    for (int i = 0; i < CUTS; i++) {
        power_cut(path, percents[random_below(random, 5)], random);
        expect_events(path, counts);
    }
}

/* ---- The promise ---- */

/* ERR_BUSY promises nothing, and is what a busy machine brings: a thread got no processor in the middle of a record. */
static enum tbed_status sync_and_count(struct tbed_writer *writer, const struct worker *workers,
                                       uint64_t counts[THREADS])
{
    for (int i = 0; i < THREADS; i++)
        counts[i] = __atomic_load_n(&workers[i].count, __ATOMIC_ACQUIRE);
    enum tbed_status status = TBED_ERR_BUSY;
    for (int i = 0; i < SYNC_TRIES && status == TBED_ERR_BUSY; i++)
        status = tbed_sync(writer, NULL);
    return status;
}

/* The first thread is fast, the others record little. The disk is cut off while they go on, and after the close. */
static void run(const struct tbed_writer_options *options, uint64_t seed)
{
    static char path[256];
    uint64_t random = seed, counts[THREADS];
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    snprintf(path, sizeof path, "%s", test_path("synced.tbed"));
    disk_begin(path);
    struct tbed_writer *writer = test_writer_open(path, options);
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.writer = writer, .number = i, .pause = i == 0 ? 100 : 1000 * i};
        pthread_create(&threads[i], NULL, record_all, &workers[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        usleep(random_below(&random, 20000));
        assert_int_equal(sync_and_count(writer, workers, counts), TBED_OK);
        usleep(random_below(&random, 20000));
        if (options->ring_nbytes == 0) /* or they would be overwritten while they are read */
            expect_after_cuts(counts, &random);
    }
    for (int i = 0; i < THREADS; i++) {
        __atomic_store_n(&workers[i].stop, true, __ATOMIC_RELAXED);
        pthread_join(threads[i], NULL);
    }
    tbed_writer_close(writer);
    expect_after_cuts(counts, &random);
}

static void synced_events_survive_a_power_cut(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        run(&(struct tbed_writer_options){0}, seed);
        run(&(struct tbed_writer_options){.no_helper = true}, seed);
        run(&(struct tbed_writer_options){.page_nbytes = 4096}, seed);
    }
    run(&(struct tbed_writer_options){.ring_nbytes = 64 << 20}, 4);
}

/* ---- What it takes ---- */

static uint64_t file_nbytes(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (uint64_t)status.st_size;
}

/* A thread that records little between two syncs takes a cell, and one that records nothing takes nothing. */
static void slow_threads_take_little(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("slow.tbed"));
    disk_begin(NULL);
    struct worker worker = {.writer = test_writer_open(path, NULL)};
    worker.recorder = tbed_recorder_open(worker.writer, "slow");
    for (int i = 0; i < 100; i++) {
        record_next(&worker);
        for (int again = 0; again < 10; again++)
            assert_int_equal(tbed_sync(worker.writer, NULL), TBED_OK);
    }
    assert_int_equal(__atomic_load_n(&disk.page_calls, __ATOMIC_RELAXED), 1000);
    assert_int_equal(disk.name_calls, 1);
    tbed_writer_close(worker.writer);
    assert_true(file_nbytes(path) <= 8 * 65536);
    disk.path = path;
    expect_events(path, (uint64_t[THREADS]){100});
    tbed_reader_close(test_reader_open(path, true));
}

/* ---- The helper ---- */

static void the_helper_syncs_and_nobody_else(void **state)
{
    (void)state;
    static char path[256];
    uint64_t random = 1;
    snprintf(path, sizeof path, "%s", test_path("interval.tbed"));
    disk_begin(path);
    struct tbed_writer_options options = {.sync_interval_ns = 1000000};
    struct worker worker = {.writer = test_writer_open(path, &options)};
    worker.recorder = tbed_recorder_open(worker.writer, "alone");
    for (int i = 0; i < 20; i++) {
        for (int each = 0; each < 100; each++)
            record_next(&worker);
        sem_wait(&disk.called);
        assert_int_not_equal(__atomic_load_n(&disk.caller, __ATOMIC_RELAXED), (pid_t)syscall(SYS_gettid));
    }
    for (int i = 0; i < 2; i++) { /* the second has begun after the last event */
        tbed_instant_record(worker.recorder, 1);
        while (sem_trywait(&disk.called) == 0)
            continue;
        sem_wait(&disk.called);
    }
    tbed_writer_close(worker.writer);
    expect_after_cuts((uint64_t[THREADS]){worker.count}, &random);
}

/* Calls what the helper calls. Bit 0 of 'what': there is a new event; bit 1: there is a new string. */
static void only_what_is_new_is_synced_at_intervals(void **state)
{
    (void)state;
    static char path[256];
    snprintf(path, sizeof path, "%s", test_path("new.tbed"));
    disk_begin(path);
    struct tbed_writer *writer = test_writer_open(path, &(struct tbed_writer_options){.no_helper = true});
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "alone");
    writer->syncing.interval_ns = UINT64_C(3600000000000);
    assert_in_range(tbed_sync_if_due(writer), UINT64_C(3500000000000), UINT64_C(3600000000000));
    assert_int_equal(disk.page_calls, 0);
    assert_int_equal(tbed_sync(writer, NULL), TBED_OK);
    for (unsigned what = 0; what < 4; what++) {
        if (what & 1)
            tbed_instant_record(recorder, 1);
        if (what & 2)
            tbed_string_intern(writer, what == 2 ? "2" : "3", 1);
        unsigned before = disk.page_calls;
        writer->syncing.next_ns = 2; /* long ago */
        tbed_sync_if_due(writer);
        assert_int_equal(disk.page_calls - before, what != 0);
    }
    tbed_writer_free(writer);
}

static void intervals_that_cannot_be_are_refused(void **state)
{
    (void)state;
    const struct tbed_writer_options wrong[] = {
        {.sync_interval_ns = 999999},
        {.sync_interval_ns = 1000000000, .no_helper = true},
        {.sync_interval_ns = 1000000000, .annotate = true, .join = true},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct tbed_writer_options options = wrong[i];
        struct tbed_writer *writer;
        options.size = sizeof options;
        assert_int_equal(tbed_writer_open(test_path("refused.tbed"), &options, &writer, NULL),
                         TBED_ERR_ARGUMENT);
    }
}

/* ---- Failures ---- */

static void expect_failure(struct tbed_writer *writer, enum tbed_status status, int system_errno)
{
    struct tbed_error error;
    errno = 123;
    assert_int_equal(tbed_sync(writer, &error), status);
    assert_int_equal(errno, 123);
    assert_int_equal(error.status, status);
    assert_int_equal(error.system_errno, system_errno);
}

/* The kernel may have forgotten what it could not write. */
static void after_a_failure_every_call_fails(void **state)
{
    (void)state;
    disk_begin(NULL);
    struct tbed_writer *writer = test_writer_open(test_path("failed.tbed"), NULL);
    disk.failure = EIO;
    expect_failure(writer, TBED_ERR_WRITE, EIO);
    disk.failure = 0;
    expect_failure(writer, TBED_ERR_WRITE, EIO);
    assert_int_equal(__atomic_load_n(&disk.page_calls, __ATOMIC_RELAXED), 1);
    tbed_writer_close(writer);
    expect_failure(writer, TBED_ERR_ARGUMENT, 0);
    expect_failure(NULL, TBED_ERR_ARGUMENT, 0);
}

static void a_failure_of_the_helper_is_found_out_by_a_call(void **state)
{
    (void)state;
    disk_begin(NULL);
    struct tbed_writer_options options = {.sync_interval_ns = 1000000};
    disk.failure = ENOSPC;
    struct tbed_writer *writer = test_writer_open(test_path("behind.tbed"), &options);
    sem_wait(&disk.called);
    expect_failure(writer, TBED_ERR_WRITE, ENOSPC);
    assert_int_equal(__atomic_load_n(&disk.page_calls, __ATOMIC_RELAXED), 1);
    tbed_writer_close(writer);
}

static void a_call_that_is_interrupted_is_tried_again_and_not_for_ever(void **state)
{
    (void)state;
    disk_begin(NULL);
    struct tbed_writer *writer = test_writer_open(test_path("interrupted.tbed"), NULL);
    disk.failure = EINTR;
    expect_failure(writer, TBED_ERR_WRITE, EINTR);
    assert_int_equal(__atomic_load_n(&disk.page_calls, __ATOMIC_RELAXED), 8);
    disk.failure = 0;
    assert_int_equal(tbed_sync(writer, NULL), TBED_OK);
    tbed_writer_close(writer);
}

static void nothing_is_called_in_a_sandbox(void **state)
{
    (void)state;
    disk_begin(NULL);
    struct tbed_writer *writer = test_writer_open(test_path("sandbox.tbed"), NULL);
    tbed_sandbox_enter(writer, 0);
    expect_failure(writer, TBED_ERR_WRITE, EPERM);
    tbed_sandbox_leave();
    assert_int_equal(__atomic_load_n(&disk.page_calls, __ATOMIC_RELAXED), 0);
    assert_int_equal(tbed_sync(writer, NULL), TBED_OK);
    tbed_writer_close(writer);
}

/* The clock is read inside a record. */
static sem_t is_inside, may_leave;

static uint64_t clock_that_waits(void)
{
    static __thread bool has_waited;
    static bool is_armed;
    static uint64_t ticks;
    if (!has_waited && __atomic_load_n(&is_armed, __ATOMIC_ACQUIRE)) {
        has_waited = true;
        sem_post(&is_inside);
        sem_wait(&may_leave);
    }
    __atomic_store_n(&is_armed, true, __ATOMIC_RELEASE);
    return __atomic_add_fetch(&ticks, 1, __ATOMIC_RELAXED);
}

static void *record_one(void *argument)
{
    tbed_instant_record(argument, 1);
    return NULL;
}

static void a_thread_that_stays_inside_a_record_makes_it_fail(void **state)
{
    (void)state;
    pthread_t thread;
    disk_begin(NULL);
    sem_init(&is_inside, 0, 0);
    sem_init(&may_leave, 0, 1); /* for this thread's own */
    struct tbed_writer_options options = {.clock = TBED_CLOCK_USER,
                                          .user_clock = clock_that_waits,
                                          .user_clock_unit = "ticks",
                                          .no_helper = true};
    struct tbed_writer *writer = test_writer_open(test_path("inside.tbed"), &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "inside");
    tbed_instant_record(recorder, 1);
    while (sem_trywait(&is_inside) == 0 || sem_trywait(&may_leave) == 0)
        continue;
    pthread_create(&thread, NULL, record_one, recorder);
    sem_wait(&is_inside);
    expect_failure(writer, TBED_ERR_BUSY, 0);
    assert_int_equal(__atomic_load_n(&disk.page_calls, __ATOMIC_RELAXED), 0);
    sem_post(&may_leave);
    pthread_join(thread, NULL);
    assert_int_equal(tbed_sync(writer, NULL), TBED_OK);
    tbed_writer_close(writer);
}

/* ---- Series ---- */

static void files_of_a_series_are_synced_when_they_are_closed(void **state)
{
    (void)state;
    disk_begin(NULL);
    struct tbed_writer_options options = {.rotate = true};
    struct worker worker = {.writer = test_writer_open(test_path("series.tbed"), &options)};
    worker.recorder = tbed_recorder_open(worker.writer, "series");
    record_next(&worker);
    assert_int_equal(tbed_rotate(worker.writer, NULL), TBED_OK);
    assert_int_equal(disk.closed_calls, 0); /* nobody has asked for it yet */
    assert_int_equal(tbed_sync(worker.writer, NULL), TBED_OK);
    record_next(&worker);
    assert_int_equal(tbed_rotate(worker.writer, NULL), TBED_OK);
    assert_int_equal(disk.closed_calls, 1);
    assert_int_equal(tbed_sync(worker.writer, NULL), TBED_OK);
    assert_int_equal(disk.name_calls, 2);
    disk.failure = EIO;
    assert_int_equal(tbed_rotate(worker.writer, NULL), TBED_OK);
    disk.failure = 0;
    expect_failure(worker.writer, TBED_ERR_WRITE, EIO);
    tbed_writer_close(worker.writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synced_events_survive_a_power_cut),
        cmocka_unit_test(slow_threads_take_little),
        cmocka_unit_test(the_helper_syncs_and_nobody_else),
        cmocka_unit_test(only_what_is_new_is_synced_at_intervals),
        cmocka_unit_test(intervals_that_cannot_be_are_refused),
        cmocka_unit_test(after_a_failure_every_call_fails),
        cmocka_unit_test(a_failure_of_the_helper_is_found_out_by_a_call),
        cmocka_unit_test(a_call_that_is_interrupted_is_tried_again_and_not_for_ever),
        cmocka_unit_test(nothing_is_called_in_a_sandbox),
        cmocka_unit_test(a_thread_that_stays_inside_a_record_makes_it_fail),
        cmocka_unit_test(files_of_a_series_are_synced_when_they_are_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
