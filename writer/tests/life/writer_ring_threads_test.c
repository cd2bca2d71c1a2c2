/*
 * Flight recorders: the newest events are kept, nothing wrong is ever read, and killing changes nothing. Every event
 * carries a pattern by which it can be checked: the numbers of a thread's instants follow one another. Runs under
 * TSan too. TBED_LONG=1: a minute, 64 MiB, 100 kills.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/file/directory.h"
#include "writer/pages/pages.h"

#define MIB          ((uint64_t)1 << 20)
#define NUMBERS      (1u << 28) /* ids that threads count through: reserved, so they need no string */
#define THREADS      4
#define PAGE_NBYTES  65536
#define PAGE_EVENTS  ((PAGE_NBYTES - 64) / 8)
#define GROUP_EVENTS 3
#define RING_SHARE   16 /* TBED_RING_SHARE: of the ring, what a helper may hold of a kind */

static bool is_long(void)
{
    const char *text = getenv("TBED_LONG");
    return text != NULL && strcmp(text, "1") == 0;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- Threads that record what can be checked ---- */

struct worker {
    struct tbed_writer *writer;
    uint64_t *count; /* groups recorded; atomic, perhaps shared with another process */
    uint32_t number;
    uint32_t limit; /* groups to record; 0: until told to stop */
    bool is_slow;   /* runs only when nobody else wants to */
    bool stop;      /* atomic */
};

static void run_when_idle(pid_t tid)
{
    struct sched_param none = {0};
    sched_setscheduler(tid, SCHED_IDLE, &none);
}

/* begin n, instant n, end n; all in a span that is the thread's name. */
static void *record(void *argument)
{
    struct worker *worker = argument;
    char name[16];
    snprintf(name, sizeof name, "t%u", worker->number);
    struct tbed_recorder *recorder = tbed_recorder_open(worker->writer, name);
    tbed_span_begin(recorder, tbed_string_intern(worker->writer, name, strlen(name)));
    for (uint64_t i = 0;
         worker->limit == 0 ? !__atomic_load_n(&worker->stop, __ATOMIC_RELAXED) : i < worker->limit; i++) {
        tbed_span_begin(recorder, i % NUMBERS);
        tbed_instant_record(recorder, i % NUMBERS);
        tbed_span_end(recorder);
        __atomic_store_n(worker->count, i + 1, __ATOMIC_RELEASE);
        if (worker->is_slow && i == 0)
            run_when_idle(0);
    }
    return NULL;
}

/* ---- Checking one stream, block by block or event by event ---- */

struct follower {
    uint32_t last_id;   /* of the last event */
    uint32_t last_type; /* enum tbed_event_type */
    uint64_t last_tick;
    uint64_t event_count, jump_count, wrong_count;
    uint64_t run_count; /* events since the last jump */
    bool has_last;
};

static bool follows(const struct follower *follower, const struct tbed_event *event)
{
    if (event->type == TBED_EVENT_BEGIN)
        return follower->last_type == TBED_EVENT_END && event->id == (follower->last_id + 1) % NUMBERS;
    if (event->type == TBED_EVENT_INSTANT)
        return follower->last_type == TBED_EVENT_BEGIN && event->id == follower->last_id;
    return follower->last_type == TBED_EVENT_INSTANT && event->id == follower->last_id;
}

static void wrong(struct follower *follower, const struct tbed_event *event, const char *what)
{
    print_error("%s: type %u of %u at tick %llu after type %u of %u at tick %llu; %llu events, %llu jumps\n",
                what, event->type, event->id, (unsigned long long)event->tick, follower->last_type,
                follower->last_id, (unsigned long long)follower->last_tick,
                (unsigned long long)follower->event_count, (unsigned long long)follower->jump_count);
    follower->wrong_count++;
}

/* What does not follow is a jump, which must be forward and is allowed only where pages were reused. */
static void follow(struct follower *follower, const struct tbed_event *event)
{
    bool is_ours = event->type <= TBED_EVENT_INSTANT && event->id < NUMBERS;
    if (event->type == TBED_EVENT_BEGIN && event->id >= NUMBERS && !follower->has_last)
        return; /* the thread's outermost span */
    if (!is_ours || (follower->has_last && event->tick < follower->last_tick))
        wrong(follower, event, is_ours ? "an earlier tick" : "nobody's event");
    if (follower->has_last && !follows(follower, event)) {
        follower->jump_count++;
        follower->run_count = 0;
        uint32_t ahead = (event->id - follower->last_id) % NUMBERS; /* they wrap, in half a minute */
        if (ahead >= NUMBERS / 2 || (ahead == 0 && event->type <= follower->last_type))
            wrong(follower, event, "twice");
    }
    follower->has_last = true;
    follower->last_id = event->id;
    follower->last_type = event->type;
    follower->last_tick = event->tick;
    follower->event_count++;
    follower->run_count++;
}

/* The outermost open span of every block has the thread's name and the tick at which the thread began. */
static void check_open_spans(struct tbed_reader *reader, uint32_t stream, const char *name)
{
    struct tbed_stream_info info;
    size_t first, count;
    tbed_stream_blocks(reader, stream, &first, &count);
    assert_true(count > 0);
    for (size_t i = 0; tbed_stream_get(reader, i, &info) && info.stream != stream; i++)
        continue;
    for (size_t i = first; i < first + count; i++) {
        struct tbed_block block;
        uint64_t begin_tick, outer_tick = 0;
        uint32_t id;
        assert_int_equal(tbed_event_block_get(reader, i, &block), TBED_OK);
        if (block.sequence == 0)
            continue; /* it begins in there */
        assert_in_range(block.stored_count, 1, 2);
        assert_int_equal(block.stored_count, block.depth);
        tbed_block_open_span(&block, 0, &begin_tick, &id);
        assert_text(reader, id, name);
        assert_true(begin_tick >= info.tick && begin_tick < block.first_tick);
        assert_true(outer_tick == 0 || begin_tick == outer_tick);
        outer_tick = begin_tick;
    }
}

static uint32_t stream_of_worker(struct tbed_reader *reader, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "t%u", number);
    return test_stream_named(reader, name);
}

static void check_stream(struct tbed_reader *reader, uint32_t number, struct follower *follower)
{
    char name[16];
    struct tbed_cursor *cursor;
    struct tbed_event event;
    snprintf(name, sizeof name, "t%u", number);
    uint32_t stream = stream_of_worker(reader, number);
    check_open_spans(reader, stream, name);
    *follower = (struct follower){0};
    assert_int_equal(tbed_cursor_open(reader, stream, &cursor), TBED_OK);
    while (tbed_cursor_next(cursor, &event) == TBED_OK)
        follow(follower, &event);
    tbed_cursor_close(cursor);
    assert_int_equal(follower->wrong_count, 0);
}

static struct tbed_trace_info info_of(struct tbed_reader *reader)
{
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    return info;
}

/* ---- Tests ---- */

/* One thread: what is left is the end of what it recorded, without a hole, and as much as the ring must hold. */
static void newest_events_are_kept(void **state)
{
    (void)state;
    const char *path = test_path("newest.tbed");
    for (int helper = 0; helper < 2; helper++) {
        for (uint32_t pages = 1; pages <= 64; pages *= 4) {
            struct tbed_writer_options options = {.no_helper = helper == 0,
                                                  .ring_nbytes = pages * PAGE_NBYTES};
            uint64_t count = 0;
            struct worker worker = {.count = &count, .limit = 4 * pages * PAGE_EVENTS / GROUP_EVENTS + 1000};
            worker.writer = test_writer_open(path, &options);
            record(&worker);
            tbed_writer_close(worker.writer);
            struct tbed_reader *reader = test_reader_open(path, true);
            struct follower follower;
            check_stream(reader, 0, &follower);
            assert_int_equal(info_of(reader).ring_page_count, pages);
            assert_int_equal(test_drop_count(reader), 0);
            assert_true(helper || follower.jump_count == 0);
            assert_int_equal(follower.last_id, worker.limit - 1);
            assert_int_equal(follower.last_type, TBED_EVENT_END);
            /* A helper holds a share that is ready, one that waits to be sealed, and what it is just at. */
            uint64_t share = pages / RING_SHARE, held = helper && share != 0 ? 2 * share + 1 : 0;
            assert_in_range(follower.run_count, (pages - 1 - held) * (PAGE_EVENTS - 4),
                            pages * (uint64_t)PAGE_EVENTS);
            tbed_reader_close(reader);
        }
    }
}

static void record_numbers(struct tbed_recorder *recorder, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        tbed_instant_record(recorder, i);
}

static void assert_numbers(struct tbed_reader *reader, const char *name, uint32_t count)
{
    size_t found;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, name), &found);
    assert_int_equal(found, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(events[i].id, i);
    free(events);
}

/*
 * A thread that sleeps keeps the page that it is in, and the last one that it filled, whatever the others do; when it
 * wakes it goes on where it was.
 */
static void quiet_thread_keeps_its_pages(void **state)
{
    (void)state;
    const uint32_t counts[] = {10, PAGE_EVENTS + 10};
    const char *path = test_path("quiet.tbed");
    for (int i = 0; i < 2; i++) {
        struct tbed_writer_options options = {.ring_nbytes = 8 * PAGE_NBYTES};
        struct tbed_writer *writer = test_writer_open(path, &options);
        struct tbed_recorder *quiet = tbed_recorder_open(writer, "quiet");
        record_numbers(quiet, 0, counts[i]);
        uint64_t count = 0;
        struct worker busy = {.writer = writer, .count = &count, .limit = 40 * PAGE_EVENTS / GROUP_EVENTS};
        record(&busy);
        struct tbed_reader *reader = test_reader_open(path, false);
        assert_numbers(reader, "quiet", counts[i]);
        tbed_reader_close(reader);
        record_numbers(quiet, counts[i], counts[i] + 10);
        tbed_writer_close(writer);
        reader = test_reader_open(path, true);
        assert_numbers(reader, "quiet", counts[i] + 10);
        struct follower follower;
        check_stream(reader, 0, &follower);
        assert_int_equal(follower.last_id, busy.limit - 1);
        assert_int_equal(follower.jump_count, 0);
        assert_int_equal(test_drop_count(reader), 0);
        tbed_reader_close(reader);
    }
}

/* More threads than pages: a thread with a page goes on in it, one without drops, and each drop is counted. */
static void more_threads_than_pages_drop_and_count(void **state)
{
    enum { RECORDERS = 8, PAGES = 4, EVENTS = 3 * PAGE_EVENTS };
    (void)state;
    const char *path = test_path("held.tbed");
    struct tbed_writer_options options = {.ring_nbytes = PAGES * PAGE_NBYTES, .no_helper = true};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorders[RECORDERS];
    for (size_t i = 0; i < RECORDERS; i++)
        recorders[i] = tbed_recorder_open(writer, "r");
    for (uint32_t k = 0; k < EVENTS; k++)
        for (size_t i = 0; i < RECORDERS; i++)
            tbed_instant_record(recorders[i], k);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_SIZE_LIMIT), (RECORDERS - PAGES) * EVENTS);
    tbed_recorder_close(recorders[0]); /* its page can be had now */
    usleep(2000);
    tbed_instant_record(recorders[RECORDERS - 1], 77);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_SIZE_LIMIT), (RECORDERS - PAGES) * EVENTS);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    assert_int_equal(tbed_event_block_count(reader), PAGES);
    for (size_t i = 0; i < PAGES; i++) {
        struct tbed_block block;
        struct tbed_event *events;
        size_t count;
        assert_int_equal(tbed_event_block_get(reader, i, &block), TBED_OK);
        events = test_events(reader, block.stream, &count);
        assert_int_equal(events[count - 1].id, i < PAGES - 1 ? EVENTS - 1 : 77);
        if (i == PAGES - 1) {
            assert_int_equal(events[0].type, TBED_EVENT_GAP);
            assert_int_equal(events[0].of.gap.count, EVENTS);
        }
        free(events);
    }
    tbed_reader_close(reader);
}

static void full_disk_is_told_at_the_start(void **state)
{
    (void)state;
    const char *path = test_path("full.tbed");
    struct tbed_writer_options options = {.size = sizeof options, .ring_nbytes = (uint64_t)1 << 45};
    struct tbed_writer *writer;
    struct tbed_error error;
    options.max_file_nbytes = (uint64_t)1 << 46;
    enum tbed_status status = tbed_writer_open(path, &options, &writer, &error);
    /* WRITE with EFBIG: no file may be that large. */
    assert_true(status == TBED_ERR_DISK_FULL || status == TBED_ERR_WRITE);
    assert_null(writer);
    assert_int_equal(access(path, F_OK), -1);
    options.ring_nbytes = (uint64_t)1 << 46;
    assert_int_equal(tbed_writer_open(path, &options, &writer, &error),
                     TBED_ERR_ARGUMENT); /* beyond the limit */
    options.ring_nbytes = UINT64_MAX;
    assert_int_equal(tbed_writer_open(path, &options, &writer, &error), TBED_ERR_ARGUMENT);
}

/* Processes share the ring; the pages of one that was killed come back, those of a living one do not. */
static void pages_of_killed_processes_come_back(void **state)
{
    enum { CHILDREN = 3, PAGES = 4 };
    (void)state;
    const char *path = test_path("killed.tbed");
    struct tbed_writer_options options = {.ring_nbytes = PAGES * PAGE_NBYTES, .no_helper = true};
    struct tbed_writer *writer = test_writer_open(path, &options);
    pid_t children[CHILDREN];
    int ready[2];
    char byte = 0;
    struct tbed_recorder *own = tbed_recorder_open(writer, "own");
    assert_int_equal(pipe(ready), 0);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            tbed_instant_record(tbed_recorder_open(writer, "child"), 1);
            _exit(write(ready[1], &byte, 1) == 1 && pause());
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
    }
    for (uint32_t k = 0; k < 3 * PAGE_EVENTS; k++)
        tbed_instant_record(own, k);
    struct tbed_reader *reader = test_reader_open(path, false);
    assert_int_equal(tbed_event_block_count(reader), PAGES); /* the children's, and one for ourselves */
    tbed_reader_close(reader);
    for (int i = 0; i < CHILDREN; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    usleep(2000);
    for (uint32_t k = 0; k < 8 * PAGE_EVENTS; k++)
        tbed_instant_record(own, k);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_SIZE_LIMIT), 0);
    tbed_writer_close(writer);
    reader = test_reader_open(path, false);
    uint32_t stream = test_stream_named(reader, "own");
    size_t first, count;
    tbed_stream_blocks(reader, stream, &first, &count);
    assert_int_equal(count, PAGES);
    tbed_reader_close(reader);
    assert_int_equal(tbed_trace_seal(path, NULL), TBED_OK);
    tbed_reader_close(test_reader_open(path, true));
    close(ready[0]);
    close(ready[1]);
}

/* A live reader reads all that it finds, again and again, while four threads record at full speed. */
static void live_reader_sees_no_wrong_event(void **state)
{
    (void)state;
    double duration = is_long() ? 60 : 1.5;
    uint64_t ring_nbytes = is_long() ? 64 * MIB : 4 * MIB;
    const char *path = test_path("live.tbed");
    for (int helper = 1; helper >= 0; helper--) {
        struct tbed_writer_options options = {.no_helper = helper == 0, .ring_nbytes = ring_nbytes};
        struct tbed_writer *writer = test_writer_open(path, &options);
        struct worker workers[THREADS] = {{0}};
        uint64_t counts[THREADS] = {0}, events = 0, jumps = 0, refreshes = 0, recorded = 0;
        pthread_t threads[THREADS];
        struct tbed_reader *reader;
        for (uint32_t i = 0; i < THREADS; i++) {
            workers[i] = (struct worker){.writer = writer, .count = &counts[i], .number = i};
            pthread_create(&threads[i], NULL, record, &workers[i]);
        }
        assert_int_equal(tbed_reader_open(path, NULL, &reader, NULL), TBED_OK);
        struct tbed_cursor *cursors[THREADS + 2] = {0};
        struct follower followers[THREADS + 2] = {{0}};
        for (double end = seconds_now() + duration; seconds_now() < end; refreshes++) {
            struct tbed_event event;
            for (uint32_t stream = 2; stream < THREADS + 2; stream++) {
                if (cursors[stream] == NULL)
                    assert_int_equal(tbed_cursor_open(reader, stream, &cursors[stream]), TBED_OK);
                while (tbed_cursor_next(cursors[stream], &event) == TBED_OK)
                    follow(&followers[stream], &event);
                assert_int_equal(followers[stream].wrong_count, 0);
            }
            assert_int_equal(tbed_reader_refresh(reader, NULL), TBED_OK);
            assert_int_equal(tbed_damage_count(reader), 0);
            if (refreshes % 16 == 0)
                assert_int_equal(tbed_reader_verify(reader), TBED_OK);
        }
        for (uint32_t i = 0; i < THREADS; i++) {
            __atomic_store_n(&workers[i].stop, true, __ATOMIC_RELAXED);
            pthread_join(threads[i], NULL);
            recorded += GROUP_EVENTS * counts[i];
            events += followers[i + 2].event_count;
            jumps += followers[i + 2].jump_count;
            tbed_cursor_close(cursors[i + 2]);
        }
        tbed_writer_close(writer);
        tbed_reader_close(reader);
        print_message("live, helper %d: recorded %llu, read %llu, %llu jumps, %llu refreshes\n", helper,
                      (unsigned long long)recorded, (unsigned long long)events, (unsigned long long)jumps,
                      (unsigned long long)refreshes);
        assert_true(events > 100000);
        reader = test_reader_open(path, true);
        for (uint32_t i = 0; i < THREADS; i++) {
            struct follower follower;
            check_stream(reader, i, &follower);
            assert_int_equal(follower.last_id, (counts[i] - 1) % NUMBERS);
        }
        assert_int_equal(test_drop_count(reader), 0);
        tbed_reader_close(reader);
    }
}

/* ---- Takers that come too late ---- */

/* What ring.c does after it was held up: the page has another owner by now, so the mark is no longer as it was. */
static void *try_to_take(void *argument)
{
    struct tbed_disk_entry *entry = argument;
    for (int i = 0; i < 1000; i++) {
        uint64_t old = tbed_mark_word((struct tbed_mark){.state = TBED_MARK_RELEASED, .count = 1});
        uint64_t taken = tbed_mark_word((struct tbed_mark){.state = TBED_MARK_TAKEN, .count = 2});
        bool is_taken = __atomic_compare_exchange_n(tbed_mark_at(entry), &old, taken, false, __ATOMIC_ACQ_REL,
                                                    __ATOMIC_RELAXED);
        if (is_taken)
            return entry;
    }
    return NULL;
}

static void owner_seals_while_others_come_too_late(void **state)
{
    (void)state;
    struct tbed_disk_entry entry = {0};
    struct tbed_mark held = {.state = TBED_MARK_HELD, .count = 2, .process = 1};
    *tbed_mark_at(&entry) = tbed_mark_word(held);
    pthread_t thread;
    void *taken;
    pthread_create(&thread, NULL, try_to_take, &entry);
    for (uint32_t i = 0; i < 1000; i++)
        tbed_entry_seal(&entry, i);
    pthread_join(thread, &taken);
    assert_null(taken);
    assert_int_equal(tbed_mark_word(tbed_mark_load(&entry)), tbed_mark_word(held));
    assert_int_equal(entry.state, TBED_ENTRY_SEALED);
    assert_int_equal(tbed_le32_load(entry.check), tbed_entry_check_make(&entry));
}

/* ---- Killed at any moment ---- */

struct shared_counts {
    uint64_t counts[THREADS];
};

enum held_up { NOBODY, HELPER, WORKER, HELD_UP_KINDS };

/* The helper's thread, once it runs, gets only processor time that is otherwise idle. */
static void helper_hold_up(void)
{
    for (pid_t tid = getpid() + 1; tid < getpid() + 64; tid++) {
        char path[64], name[16] = "";
        snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)tid);
        FILE *file = fopen(path, "r");
        if (file == NULL)
            continue;
        bool is_helper = fgets(name, sizeof name, file) != NULL && strcmp(name, "tracebed\n") == 0;
        fclose(file);
        if (is_helper) {
            run_when_idle(tid);
            return;
        }
    }
}

static void child_run(const char *path, uint64_t ring_nbytes, bool no_helper, enum held_up held_up,
                      struct shared_counts *shared)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .overwrite = true, .no_helper = no_helper, .ring_nbytes = ring_nbytes};
    struct worker workers[THREADS] = {{0}};
    struct tbed_writer *writer;
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (tbed_writer_open(path, &options, &writer, NULL) != TBED_OK)
        _exit(1);
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.writer = writer,
                                     .count = &shared->counts[i],
                                     .number = i,
                                     .is_slow = held_up == WORKER && i == 0};
        pthread_create(&thread, NULL, record, &workers[i]);
    }
    for (; held_up == HELPER; usleep(1000))
        helper_hold_up();
    for (;;)
        pause();
}

/*
 * Of each thread the last event before the kill is there, and without a gap at least as many blocks before the one that
 * was being written as half of the ring has for each thread.
 */
static void check_killed(const char *path, const struct shared_counts *shared, uint64_t ring_nbytes)
{
    struct tbed_reader *reader = test_reader_open(path, false);
    uint64_t all = 0, kept = ring_nbytes / PAGE_NBYTES / 2 / THREADS * (PAGE_EVENTS - 4);
    for (uint32_t i = 0; i < THREADS; i++) {
        struct follower follower;
        check_stream(reader, i, &follower);
        /* Groups that were complete before the kill; at most one more was begun. */
        uint64_t told = shared->counts[i];
        assert_true(follower.last_id >= told - 1 && follower.last_id <= told + 1);
        assert_true(follower.last_id != told - 1 || follower.last_type == TBED_EVENT_END);
        assert_in_range(follower.run_count, kept < GROUP_EVENTS * told ? kept : GROUP_EVENTS * told,
                        UINT64_MAX);
        all += follower.event_count;
    }
    assert_true(all <= ring_nbytes / 8);
    tbed_reader_close(reader);
}

static void killed_recorders_leave_whole_files(void **state)
{
    (void)state;
    const char *path = test_path("kill.tbed");
    uint64_t ring_nbytes = is_long() ? 64 * MIB : 4 * MIB;
    int runs = is_long() ? 100 : 12;
    struct shared_counts *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    srandom(7);
    for (int run = 0; run < runs; run++) {
        memset(shared->counts, 0, sizeof shared->counts);
        bool no_helper = run % 2 == 0;
        pid_t child = fork();
        if (child == 0)
            child_run(path, ring_nbytes, no_helper, (enum held_up)(run / 2 % HELD_UP_KINDS), shared);
        for (uint32_t i = 0; i < THREADS; i++)
            while (__atomic_load_n(&shared->counts[i], __ATOMIC_ACQUIRE) == 0)
                usleep(100);
        usleep((useconds_t)(random() % (is_long() ? 400000 : 50000)));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        check_killed(path, shared, ring_nbytes);
        assert_int_equal(tbed_trace_seal(path, NULL), TBED_OK);
        tbed_reader_close(test_reader_open(path, true));
    }
    print_message("killed %d times\n", runs);
    munmap(shared, sizeof *shared);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newest_events_are_kept),
        cmocka_unit_test(quiet_thread_keeps_its_pages),
        cmocka_unit_test(more_threads_than_pages_drop_and_count),
        cmocka_unit_test(full_disk_is_told_at_the_start),
        cmocka_unit_test(pages_of_killed_processes_come_back),
        cmocka_unit_test(live_reader_sees_no_wrong_event),
        cmocka_unit_test(owner_seals_while_others_come_too_late),
        cmocka_unit_test(killed_recorders_leave_whole_files),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]); /* one of them, in its long form */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
