/*
 * Snapshots of a trace that is being recorded: whole, clean, and of one moment. Runs under TSan too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/checksum.h"
#include "format/layout.h"

#define THREADS     3
#define ROUNDS      6
#define PAGE_NBYTES 16384
#define CELLS_PAGE  1

struct worker {
    struct tbed_writer *writer;
    uint32_t number;
    uint64_t count; /* atomic: events recorded */
    bool is_slow;   /* or the file would have gigabytes, and a small ring be gone before it is read */
    bool stop;      /* atomic */
};

/* One instant after the other, its id counting up, in a span that is never ended; and a string now and then. */
static void *count_up(void *argument)
{
    struct worker *worker = argument;
    char name[16], text[32];
    snprintf(name, sizeof name, "t%u", worker->number);
    struct tbed_recorder *recorder = tbed_recorder_open(worker->writer, name);
    tbed_span_begin(recorder, tbed_string_intern(worker->writer, name, strlen(name)));
    for (uint64_t i = 0; !__atomic_load_n(&worker->stop, __ATOMIC_RELAXED); i++) {
        uint32_t id = (uint32_t)(i % 1000000);
        if (i % 500 == 0) {
            size_t nbytes = (size_t)snprintf(text, sizeof text, "%u", id);
            id = tbed_string_intern(worker->writer, text, nbytes); /* named just before it is used */
        }
        if (worker->is_slow && i % 200 == 0)
            usleep(1000);
        tbed_instant_record(recorder, id);
        __atomic_store_n(&worker->count, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* The number that an event says: its id, or the text of it. */
static uint32_t number_of(struct tbed_reader *reader, const struct tbed_event *event)
{
    char text[32];
    if (event->id < TBED_ID_METADATA)
        return event->id;
    assert_int_equal(tbed_string_resolve(reader, event->id, text, sizeof text, NULL), TBED_OK);
    return (uint32_t)atoi(text);
}

struct taken {          /* what a snapshot ended with */
    uint64_t last_tick; /* over all threads */
    size_t counts[THREADS];
};

/* Without a hole; all that was recorded before the snapshot began; in a ring, the newest of it. */
static void check_thread(struct tbed_reader *reader, uint32_t number, uint64_t least, uint64_t most,
                         bool is_ring, uint64_t cut_tick, struct taken *taken)
{
    char name[16];
    size_t count;
    snprintf(name, sizeof name, "t%u", number);
    uint32_t stream = test_stream_named(reader, name);
    struct tbed_event *events = test_events(reader, stream, &count);
    size_t first = count > 0 && events[0].type == TBED_EVENT_BEGIN;
    assert_true(is_ring || first == 1);
    for (size_t i = first + 1; i < count; i++)
        assert_int_equal(number_of(reader, &events[i]), (number_of(reader, &events[i - 1]) + 1) % 1000000);
    assert_true(count > first);
    assert_true(events[count - 1].tick <= cut_tick);
    taken->counts[number] = count;
    if (events[count - 1].tick > taken->last_tick)
        taken->last_tick = events[count - 1].tick;
    uint64_t end = number_of(reader, &events[count - 1]) + 1u;
    assert_true(most > 1000000 || (end >= least && end <= most));
    free(events);
}

/* A snapshot from outside, of a file and to a file that are open. */
static enum tbed_status take_outside(const char *source, const char *path, uint64_t *left_out,
                                     struct tbed_error *error)
{
    int from = open(source, O_RDONLY | O_CLOEXEC),
        to = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(from >= 0 && to >= 0);
    enum tbed_status status = tbed_trace_snapshot(from, to, left_out, error);
    close(from);
    close(to);
    return status;
}

static void take_and_check(struct tbed_writer *writer, struct worker *workers, const char *source,
                           const char *path, bool is_ring, bool from_outside, struct taken *taken)
{
    uint64_t least[THREADS];
    struct tbed_error error;
    struct tbed_trace_info info;
    struct tbed_recorder *clock = tbed_recorder_open(writer, NULL);
    for (uint32_t i = 0; i < THREADS; i++)
        least[i] = __atomic_load_n(&workers[i].count, __ATOMIC_ACQUIRE);
    uint64_t left_out = 0;
    enum tbed_status status =
        from_outside ? take_outside(source, path, &left_out, &error) : tbed_snapshot(writer, path, &error);
    uint64_t cut_tick = tbed_recorder_now(clock);
    tbed_recorder_close(clock);
    assert_int_equal(status, TBED_OK);
    assert_int_equal(left_out, 0);
    struct tbed_reader *reader = test_reader_open(path, true);
    tbed_reader_info(reader, &info);
    assert_int_equal(info.ring_page_count, 0);
    assert_int_equal(info.writer_count, 0);
    for (uint32_t i = 0; i < THREADS; i++)
        check_thread(reader, i, least[i], __atomic_load_n(&workers[i].count, __ATOMIC_ACQUIRE) + 1, is_ring,
                     cut_tick, taken);
    tbed_reader_close(reader);
    assert_int_equal(tbed_snapshot(writer, path, &error), TBED_ERR_EXISTS);
    unlink(path);
}

/*
 * Of each thread there was all that was recorded up to the latest event of any thread, but for one that had its tick
 * and was not stored yet.
 */
static void check_moments(const char *source, const struct taken *taken)
{
    struct tbed_reader *reader = test_reader_open(source, true);
    for (uint32_t i = 0; i < THREADS; i++) {
        char name[16];
        size_t count;
        snprintf(name, sizeof name, "t%u", i);
        struct tbed_event *events = test_events(reader, test_stream_named(reader, name), &count);
        for (size_t round = 0; round < ROUNDS; round++) {
            size_t end = taken[round].counts[i];
            assert_true(end + 1 >= count || events[end + 1].tick > taken[round].last_tick);
        }
        free(events);
    }
    tbed_reader_close(reader);
}

static void snapshots_of_running_recorders(uint64_t ring_nbytes)
{
    const char *source = test_path("running.tbed"), *path = test_path("snapshot.tbed");
    for (int helper = 0; helper < 2; helper++) {
        struct tbed_writer_options options = {
            .page_nbytes = PAGE_NBYTES, .ring_nbytes = ring_nbytes, .no_helper = helper == 0};
        struct tbed_writer *writer = test_writer_open(source, &options);
        struct worker workers[THREADS];
        struct taken taken[ROUNDS] = {{0}};
        pthread_t threads[THREADS];
        for (uint32_t i = 0; i < THREADS; i++) {
            workers[i] = (struct worker){.writer = writer, .number = i, .is_slow = true};
            pthread_create(&threads[i], NULL, count_up, &workers[i]);
        }
        for (uint32_t i = 0; i < THREADS; i++)
            while (__atomic_load_n(&workers[i].count, __ATOMIC_RELAXED) < 10000)
                usleep(100);
        for (int round = 0; round < ROUNDS; round++)
            take_and_check(writer, workers, source, path, ring_nbytes != 0, round % 2 != 0, &taken[round]);
        for (uint32_t i = 0; i < THREADS; i++) {
            __atomic_store_n(&workers[i].stop, true, __ATOMIC_RELAXED);
            pthread_join(threads[i], NULL);
        }
        tbed_writer_close(writer);
        if (ring_nbytes == 0)
            check_moments(source, taken);
        else
            tbed_reader_close(test_reader_open(source, true));
    }
}

static void snapshot_of_an_append_trace_is_whole(void **state)
{
    (void)state;
    snapshots_of_running_recorders(0);
}

static void snapshot_of_a_flight_recorder_is_its_newest_events(void **state)
{
    (void)state;
    snapshots_of_running_recorders(64 * PAGE_NBYTES);
}

/* What is left before a gap is too old to be whole: the snapshot begins behind it. */
static void snapshot_of_a_flight_recorder_begins_behind_a_gap(void **state)
{
    enum { PAGES = 8, EVENTS = 12000, PAGE_EVENTS = (PAGE_NBYTES - 64) / 8, LOST_PAGE = 3 };
    (void)state;
    static const uint8_t zeros[PAGE_NBYTES];
    const char *source = test_path("gap.tbed"), *path = test_path("behind.tbed");
    struct tbed_writer_options options = {
        .page_nbytes = PAGE_NBYTES, .ring_nbytes = PAGES * PAGE_NBYTES, .no_helper = true};
    struct tbed_writer *writer = test_writer_open(source, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "t0");
    for (uint32_t i = 0; i < EVENTS; i++)
        tbed_instant_record(recorder, i);
    int fd = open(source, O_WRONLY); /* as if the page had been claimed by a process that was killed */
    assert_int_equal(pwrite(fd, zeros, PAGE_NBYTES, LOST_PAGE * PAGE_NBYTES), PAGE_NBYTES);
    close(fd);
    assert_int_equal(tbed_snapshot(writer, path, NULL), TBED_OK);
    struct tbed_reader *reader = test_reader_open(path, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "t0"), &count);
    assert_in_range(events[0].id, LOST_PAGE * (PAGE_EVENTS - 8), LOST_PAGE * PAGE_EVENTS);
    assert_int_equal(events[count - 1].id, EVENTS - 1);
    assert_int_equal(count, EVENTS - events[0].id);
    free(events);
    tbed_reader_close(reader);
    tbed_writer_free(writer);
}

static void flip(const char *path, uint64_t offset)
{
    FILE *file = fopen(path, "r+");
    uint8_t byte;
    assert_int_equal(fseek(file, (long)offset, SEEK_SET), 0);
    assert_int_equal(fread(&byte, 1, 1, file), 1);
    byte ^= 1;
    assert_int_equal(fseek(file, (long)offset, SEEK_SET), 0);
    assert_int_equal(fwrite(&byte, 1, 1, file), 1);
    fclose(file);
}

static uint32_t flip_first_event_block(const char *path)
{
    struct tbed_reader *reader = test_reader_open(path, true);
    struct tbed_block block;
    assert_int_equal(tbed_event_block_get(reader, 0, &block), TBED_OK);
    uint64_t offset = block.offset + 80;
    tbed_reader_close(reader);
    flip(path, offset);
    return block.stream;
}

/* A snapshot never makes damage look sound. */
static void damaged_blocks_are_left_out_and_counted(void **state)
{
    (void)state;
    const char *path = test_path("damaged.tbed"), *to = test_path("left.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_recorder *first = tbed_recorder_open(writer, "first");
    struct tbed_recorder *second = tbed_recorder_open(writer, "second");
    for (uint32_t i = 0; i < 50; i++) {
        tbed_instant_record(first, i);
        tbed_instant_record(second, i);
    }
    tbed_writer_close(writer);
    uint32_t stream = flip_first_event_block(path);
    uint64_t left_out;
    assert_int_equal(take_outside(path, to, &left_out, NULL), TBED_OK);
    assert_int_equal(left_out, 1);
    struct tbed_reader *reader = test_reader_open(to, true);
    size_t count;
    struct tbed_block block;
    assert_int_equal(tbed_event_block_count(reader), 1);
    assert_int_equal(tbed_event_block_get(reader, 0, &block), TBED_OK);
    assert_int_not_equal(block.stream, stream);
    free(test_events(reader, block.stream, &count));
    assert_int_equal(count, 50);
    tbed_reader_close(reader);
}

/* Strings, names and short threads are in cells: they stay, whatever is behind the header of their page. */
static void cells_stay_where_their_page_has_a_damaged_tail(void **state)
{
    (void)state;
    const char *path = test_path("tail.tbed"), *to = test_path("cells.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "first");
    tbed_instant_record(recorder, tbed_string_intern(writer, "named", 5));
    tbed_writer_close(writer);
    flip(path, CELLS_PAGE * 65536 + 512);
    struct tbed_reader *reader;
    assert_int_equal(tbed_reader_open(path, NULL, &reader, NULL), TBED_OK);
    assert_int_equal(tbed_reader_verify(reader), TBED_ERR_BLOCK_TAIL);
    tbed_reader_close(reader);
    uint64_t left_out;
    assert_int_equal(take_outside(path, to, &left_out, NULL), TBED_OK);
    assert_int_equal(left_out, 1); /* the tail */
    reader = test_reader_open(to, true);
    size_t count;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, "first"), &count);
    assert_int_equal(count, 1);
    assert_text(reader, events[0].id, "named");
    free(events);
    tbed_reader_close(reader);
}

static uint64_t user_now;

static uint64_t count_user_ticks(void)
{
    return ++user_now;
}

/* Sets the event word that is at 'offset' of the trace, and its block's checksum. */
static void damage_word(const char *path, uint64_t offset, uint64_t word)
{
    int fd = open(path, O_RDWR);
    uint64_t block = offset - offset % PAGE_NBYTES;
    uint8_t *map = mmap(NULL, PAGE_NBYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)block);
    assert_true(fd >= 0 && map != MAP_FAILED);
    tbed_word_store(map + offset % PAGE_NBYTES, word);
    struct tbed_disk_block *header = (struct tbed_disk_block *)map;
    header->checksum = tbed_le64_make(tbed_block_checksum(map, tbed_le32_load(header->used_nbytes)));
    munmap(map, PAGE_NBYTES);
    close(fd);
}

/*
 * Damage before the moment stays, for readers to report; what is after the moment is not in the snapshot, damaged or
 * not.
 */
static void damage_of_words_stays_as_far_as_the_moment(void **state)
{
    enum { EVENTS = 6000, MOMENT = 100, BEFORE = 50, AFTER = 150 };
    (void)state;
    for (int is_after = 0; is_after < 2; is_after++) {
        const char *path = test_path("words.tbed"), *to = test_path(is_after ? "sound.tbed" : "told.tbed");
        struct tbed_writer_options options = {.page_nbytes = PAGE_NBYTES,
                                              .clock = TBED_CLOCK_USER,
                                              .user_clock = count_user_ticks,
                                              .no_helper = true,
                                              .ring_nbytes = 8 * PAGE_NBYTES};
        user_now = 0;
        struct tbed_writer *writer = test_writer_open(path, &options);
        struct tbed_recorder *recorder = tbed_recorder_open(writer, "t0");
        user_now = 1000;
        for (uint32_t i = 0; i < EVENTS; i++)
            tbed_instant_record(recorder, i);
        damage_word(path, PAGE_NBYTES + 64 + 8 * (is_after ? AFTER : BEFORE), 1);
        user_now = 1000 + MOMENT;
        assert_int_equal(tbed_snapshot(writer, to, NULL), TBED_OK);
        struct tbed_reader *reader;
        struct tbed_event event;
        struct tbed_cursor *cursor;
        uint32_t count = 0;
        assert_int_equal(tbed_reader_open(to, NULL, &reader, NULL), TBED_OK);
        assert_int_equal(tbed_reader_verify(reader), is_after ? TBED_OK : TBED_ERR_EVENT_TAG);
        assert_int_equal(tbed_cursor_open(reader, test_stream_named(reader, "t0"), &cursor), TBED_OK);
        while (tbed_cursor_next(cursor, &event) == TBED_OK)
            assert_int_equal(event.id, count++);
        assert_in_range(count, is_after ? MOMENT - 1 : BEFORE, is_after ? MOMENT + 1 : BEFORE);
        tbed_cursor_close(cursor);
        tbed_reader_close(reader);
        tbed_writer_free(writer);
    }
}

static void what_is_no_trace_is_refused(void **state)
{
    (void)state;
    const char *to = test_path("none.tbed");
    struct tbed_error error;
    static const struct {
        const char *path;
        enum tbed_status status;
    } sources[] = {{"/dev/null", TBED_ERR_NOT_REGULAR},
                   {"/", TBED_ERR_IS_DIRECTORY},
                   {"/proc/self/exe", TBED_ERR_NOT_A_TRACE}};
    assert_int_equal(tbed_snapshot(NULL, to, &error), TBED_ERR_ARGUMENT);
    assert_int_equal(access(to, F_OK), -1);
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        assert_int_equal(take_outside(sources[i].path, to, NULL, &error), sources[i].status);
        unlink(to);
    }
    assert_int_equal(tbed_trace_snapshot(-1, -1, NULL, &error), TBED_ERR_OPEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshot_of_an_append_trace_is_whole),
        cmocka_unit_test(snapshot_of_a_flight_recorder_is_its_newest_events),
        cmocka_unit_test(snapshot_of_a_flight_recorder_begins_behind_a_gap),
        cmocka_unit_test(damaged_blocks_are_left_out_and_counted),
        cmocka_unit_test(cells_stay_where_their_page_has_a_damaged_tail),
        cmocka_unit_test(damage_of_words_stays_as_far_as_the_moment),
        cmocka_unit_test(what_is_no_trace_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
