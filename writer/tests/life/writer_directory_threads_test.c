/*
 * The directory that writers leave behind agrees with the blocks: through several directory pages, with threads,
 * processes that join, cells, series, snapshots, and after kills, where it may say less than there is, but never more.
 * Runs under TSan too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include "format/file/directory.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SMALL   4096u
#define THREADS 4
#define KILLS   20

/* ---- A file against its directory ---- */

struct found {
    uint64_t pages, directory_pages;
    uint64_t blocks, cells; /* blocks that fill a page, or a cell */
    uint64_t sealed_entries;
    uint64_t least_begin_tick; /* of blocks of events */
};

static uint64_t count_cells(const uint8_t *page, uint32_t page_nbytes, uint32_t shift)
{
    uint64_t count = 0;
    for (uint32_t at = 1u << shift; at < page_nbytes; at += 1u << shift)
        count += page[at] != TBED_BLOCK_NONE;
    return count;
}

/* A writer may have been killed between any two stores, so the entry of an open file may be behind by one. */
static void check_page(const uint8_t *page, uint32_t page_nbytes, const struct tbed_entry_fields *entry,
                       bool shut, struct found *found)
{
    struct tbed_block_fields block = tbed_block_load(page);
    assert_true(entry->is_valid);
    if (block.kind == TBED_BLOCK_NONE) {
        assert_true(entry->state <= TBED_ENTRY_CLAIMED);
        return;
    }
    assert_true(entry->state >= (shut ? TBED_ENTRY_SEALED : TBED_ENTRY_CLAIMED));
    assert_true(entry->state < TBED_ENTRY_SEALED || block.used_nbytes != 0);
    assert_true(tbed_entry_agrees(entry, &block));
    found->blocks++;
    found->sealed_entries += entry->state == TBED_ENTRY_SEALED;
    if (block.kind == TBED_BLOCK_EVENTS && entry->state == TBED_ENTRY_SEALED &&
        entry->least_begin_tick < found->least_begin_tick)
        found->least_begin_tick = entry->least_begin_tick;
    if (block.kind != TBED_BLOCK_CELLS)
        return;
    struct tbed_header_fields fields;
    assert_true(tbed_header_copy_is_valid(page, (uint64_t)block.page * page_nbytes, &fields));
    uint64_t cells = count_cells(page, page_nbytes, block.shift);
    found->cells += cells;
    assert_true(entry->flags <= cells);
    assert_true(!shut || entry->flags == cells);
}

static struct found check_directory(const char *path)
{
    int fd = open(path, O_RDONLY);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    size_t nbytes = (size_t)status.st_size;
    uint8_t *map = mmap(NULL, nbytes, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    const struct tbed_disk_header *header = (const struct tbed_disk_header *)(const void *)map;
    uint32_t page_nbytes = tbed_le32_load(header->page_nbytes);
    bool shut = tbed_le32_load(header->state) == TBED_STATE_SHUT;
    struct found found = {.pages = tbed_le64_load(header->page_count), .least_begin_tick = UINT64_MAX};
    assert_true(found.pages * page_nbytes <= nbytes);
    for (uint64_t page = 1; page < found.pages; page++) {
        const uint8_t *at = map + page * page_nbytes;
        if (tbed_directory_has_page(page_nbytes, page)) {
            assert_true(tbed_directory_page_is_valid(at, map, (uint32_t)page));
            found.directory_pages++;
            continue;
        }
        struct tbed_entry_fields entry =
            tbed_entry_load(map + tbed_directory_entry_offset(page_nbytes, page));
        check_page(at, page_nbytes, &entry, shut, &found);
    }
    munmap(map, nbytes);
    close(fd);
    return found;
}

/* ---- Writers ---- */

struct worker {
    struct tbed_writer *writer;
    pthread_t thread;
    uint32_t event_count;
};

static void *record_events(void *argument)
{
    const struct worker *worker = argument;
    struct tbed_recorder *recorder = tbed_recorder_open(worker->writer, "worker");
    for (uint32_t i = 0; i < worker->event_count; i++)
        tbed_instant_record(recorder, 16 + i % 100);
    tbed_recorder_close(recorder);
    return NULL;
}

static void record_with_threads(struct tbed_writer *writer, uint32_t event_count)
{
    struct worker workers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.writer = writer, .event_count = event_count};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, record_events, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
}

static const struct tbed_writer_options small_pages = {.size = sizeof small_pages, .page_nbytes = SMALL};

static void threads_fill_several_directory_pages(void **state)
{
    const char *path = test_path("threads.tbed");
    (void)state;
    struct tbed_writer *writer = test_writer_open(path, &small_pages);
    record_with_threads(writer, 50000);
    char text[400];
    for (int i = 0; i < 200; i++) { /* pages of strings among them */
        int nbytes = snprintf(text, sizeof text, "%d %300d", i, i);
        tbed_string_intern(writer, text, (size_t)nbytes);
    }
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(path, true));
    struct found found = check_directory(path);
    assert_true(found.directory_pages >= 6 && found.cells >= THREADS);
    assert_int_equal(found.blocks, found.pages - 1 - found.directory_pages);
}

static void page_of_the_default_size_has_496_entries_in_the_header(void **state)
{
    enum { PAGES = 520, EVENTS = 8000 };
    const char *path = test_path("default.tbed");
    struct tbed_writer_options options = {.size = sizeof options, .given_ticks = true};
    (void)state;
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "one");
    for (uint64_t tick = 1000; tick < 1000 + (uint64_t)PAGES * EVENTS; tick++)
        tbed_event_record_given(
            recorder, &(struct tbed_given_event){.type = TBED_GIVEN_INSTANT, .tick = tick, .id = 16});
    tbed_event_record_given(
        recorder,
        &(struct tbed_given_event){.type = TBED_GIVEN_SPAN, .tick = 1000000000, .begin_tick = 77, .id = 16});
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(path, true));
    struct found found = check_directory(path);
    assert_int_equal(found.directory_pages, 1);
    assert_true(found.pages > 500);
    assert_int_equal(found.least_begin_tick, 77);
}

static _Noreturn void join_and_record(const char *path)
{
    struct tbed_writer_options options = {.size = sizeof options, .join = true};
    struct tbed_writer *writer = NULL;
    if (tbed_writer_open(path, &options, &writer, NULL) != TBED_OK)
        _exit(1);
    record_with_threads(writer, 10000);
    tbed_writer_close(writer);
    _exit(0);
}

static void processes_share_directory_pages(void **state)
{
    const char *path = test_path("processes.tbed");
    (void)state;
    struct tbed_writer *writer = test_writer_open(path, &small_pages);
    pid_t children[3];
    for (size_t i = 0; i < 3; i++) {
        children[i] = fork();
        if (children[i] == 0)
            join_and_record(path);
    }
    record_with_threads(writer, 10000);
    for (size_t i = 0; i < 3; i++) {
        int status;
        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
    }
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(path, true));
    assert_true(check_directory(path).directory_pages >= 4);
}

/* Two processes that never stop, killed some time after one of them has the file. */
static void kill_after(const char *path, useconds_t us)
{
    pid_t children[2];
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    for (size_t i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] != 0)
            continue;
        struct tbed_writer_options options = small_pages;
        options.join = true;
        struct tbed_writer *writer = NULL;
        if (tbed_writer_open(path, &options, &writer, NULL) != TBED_OK)
            _exit(1);
        if (write(ready[1], "", 1) == 1)
            record_with_threads(writer, UINT32_MAX);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    usleep(us);
    for (size_t i = 0; i < 2; i++)
        kill(children[i], SIGKILL);
    for (size_t i = 0; i < 2; i++)
        waitpid(children[i], NULL, 0);
    close(ready[0]);
    close(ready[1]);
}

static void kills_leave_a_directory_that_never_says_too_much(void **state)
{
    const char *path = test_path("killed.tbed");
    (void)state;
    for (useconds_t i = 0; i < KILLS; i++) {
        unlink(path);
        kill_after(path, 4000 + 1000 * i);
        check_directory(path);
        struct tbed_error error;
        assert_int_equal(tbed_trace_seal(path, &error), TBED_OK);
        tbed_reader_close(test_reader_open(path, true));
        struct found found = check_directory(path);
        assert_int_equal(found.sealed_entries, found.blocks);
    }
}

static void snapshot_has_a_directory_of_its_own(void **state)
{
    const char *path = test_path("source.tbed"), *to = test_path("snapshot.tbed");
    (void)state;
    struct tbed_writer *writer = test_writer_open(path, &small_pages);
    record_with_threads(writer, 20000);
    assert_int_equal(tbed_snapshot(writer, to, NULL), TBED_OK);
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(to, true));
    assert_true(check_directory(to).directory_pages >= 2);
}

static void each_file_of_a_series_has_a_directory(void **state)
{
    const char *path = test_path("series.tbed");
    struct tbed_writer_options options = small_pages;
    char text[400];
    (void)state;
    options.rotate = true;
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (int i = 0; i < 400; i++) { /* more than one directory page is carried on */
        int nbytes = snprintf(text, sizeof text, "%d %300d", i, i);
        tbed_instant_record(recorder, tbed_string_intern(writer, text, (size_t)nbytes));
    }
    assert_int_equal(tbed_rotate(writer, NULL), TBED_OK);
    record_with_threads(writer, 10000);
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(path, true));
    struct found found = check_directory(path);
    assert_true(found.directory_pages >= 2);
    assert_int_equal(found.sealed_entries, found.blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_fill_several_directory_pages),
        cmocka_unit_test(page_of_the_default_size_has_496_entries_in_the_header),
        cmocka_unit_test(processes_share_directory_pages),
        cmocka_unit_test(kills_leave_a_directory_that_never_says_too_much),
        cmocka_unit_test(snapshot_has_a_directory_of_its_own),
        cmocka_unit_test(each_file_of_a_series_has_a_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
