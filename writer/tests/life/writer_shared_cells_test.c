/*
 * Processes that record little share pages of cells. Their events and strings are found, whatever the header says about
 * free cells, and whoever is killed while it takes one.
 *
 * A damaged word could lead a writer anywhere in its memory, and a lost one to cells that are in use: it must neither
 * crash nor change what is there.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FREE_CELLS = 520, CELL_NBYTES = 1024, PAGE_NBYTES = 65536, STORM = 120, EVENTS_MAX = 400 };

static struct tbed_writer *join(const char *path)
{
    return test_writer_open(path, &(struct tbed_writer_options){.join = true, .no_helper = true});
}

/* Records 'count' events and a string, as process 'name'. */
static void record(struct tbed_writer *writer, const char *name, uint32_t count)
{
    struct tbed_recorder *recorder = tbed_recorder_open(writer, name);
    for (uint32_t i = 0; i < count; i++)
        tbed_instant_record(recorder, i + 1);
    tbed_instant_record(recorder, tbed_string_intern(writer, name, strlen(name)));
}

static void expect(struct tbed_reader *reader, const char *name, uint32_t count)
{
    size_t found;
    struct tbed_event *events = test_events(reader, test_stream_named(reader, name), &found);
    assert_int_equal(found, count + 1);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(events[i].id, i + 1);
    assert_text(reader, events[count].id, name);
    free(events);
}

static uint64_t page_count(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (uint64_t)status.st_size / PAGE_NBYTES;
}

static uint64_t word_get(const char *path)
{
    uint64_t word = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, &word, sizeof word, FREE_CELLS), sizeof word);
    close(fd);
    return word;
}

static void bytes_put(const char *path, const void *bytes, size_t nbytes, uint64_t offset)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, bytes, nbytes, (off_t)offset), nbytes);
    close(fd);
}

/* ---- Sharing ---- */

static void writers_that_record_little_share_one_page(void **state)
{
    (void)state;
    const char *path = test_path("shared.tbed");
    struct tbed_writer *one = join(path), *other = join(path);
    record(one, "one", 10);
    record(other, "other", 10);
    record(one, "one again", 3);
    tbed_writer_close(one);
    tbed_writer_close(other);
    assert_int_equal(page_count(path), 2);
    struct tbed_reader *reader = test_reader_open(path, true);
    expect(reader, "one", 10);
    expect(reader, "other", 10);
    expect(reader, "one again", 3);
    tbed_reader_close(reader);
    tbed_writer_free(one);
    tbed_writer_free(other);
}

/* 18 * 3 cells fit in the page, and no more: the last eighth is kept for signal handlers until the next page has begun. */
static void a_page_that_is_full_is_followed_by_another(void **state)
{
    (void)state;
    const char *path = test_path("full.tbed");
    for (uint32_t i = 0; i < 22; i++) {
        char name[16];
        struct tbed_writer *writer = join(path);
        snprintf(name, sizeof name, "thread %u", i);
        record(writer, name, i);
        tbed_writer_free(writer);
        assert_int_equal(page_count(path), i < 18 ? 2 : 3);
    }
    struct tbed_reader *reader = test_reader_open(path, true);
    for (uint32_t i = 0; i < 22; i++) {
        char name[16];
        snprintf(name, sizeof name, "thread %u", i);
        expect(reader, name, i);
    }
    tbed_reader_close(reader);
}

static void a_stream_gets_a_page_when_it_has_filled_as_much_in_cells(void **state)
{
    (void)state;
    const char *path = test_path("grows.tbed");
    enum { IN_CELLS = 62 * (CELL_NBYTES - 64) / 8 };
    struct tbed_writer *writer = join(path);
    record(writer, "little", IN_CELLS / 2);
    tbed_writer_free(writer);
    assert_int_equal(page_count(path), 2);
    writer = join(path);
    record(writer, "much", 2 * IN_CELLS);
    tbed_writer_free(writer);
    assert_in_range(page_count(path), 4, 5);
    struct tbed_reader *reader = test_reader_open(path, true);
    expect(reader, "little", IN_CELLS / 2);
    expect(reader, "much", 2 * IN_CELLS);
    tbed_reader_close(reader);
}

/* ---- What the header says ---- */

/* The word is replaced by one that is right, and nobody gets a cell by the wrong one. */
static void a_wrong_word_costs_a_page_and_nothing_else(void **state)
{
    (void)state;
    const char *path = test_path("wrong.tbed");
    const uint64_t words[] = {
        0,
        UINT64_MAX,
        UINT64_C(10) << 48 | UINT64_C(5) << 32,              /* the header page */
        UINT64_C(10) << 48 | UINT64_C(5) << 32 | 2,          /* not claimed */
        UINT64_C(10) << 48 | UINT64_C(5) << 32 | UINT32_MAX, /* far beyond the map */
        UINT64_C(10) << 48 | UINT64_C(5) << 32 | 496,        /* a directory page */
        UINT64_C(10) << 48 | UINT64_C(64) << 32 | 1,         /* the page has 64 cells */
        UINT64_C(10) << 48 | UINT64_C(0) << 32 | 1,          /* the page's own header */
        UINT64_C(9) << 48 | UINT64_C(9) << 32 | 1,           /* smaller cells */
        UINT64_C(1) << 56 | UINT64_C(10) << 48 | UINT64_C(9) << 32 | 1,
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        unlink(path);
        struct tbed_writer *writer = join(path);
        record(writer, "before", 100);
        tbed_writer_free(writer);
        bytes_put(path, &words[i], 8, FREE_CELLS);
        writer = join(path);
        record(writer, "after", 100);
        tbed_writer_free(writer);
        assert_int_equal(page_count(path), 3);
        assert_int_equal((uint32_t)word_get(path), 2);
        struct tbed_reader *reader = test_reader_open(path, true);
        expect(reader, "before", 100);
        expect(reader, "after", 100);
        tbed_reader_close(reader);
    }
}

/* A page that has been filled with events is none of cells, whatever the word says. */
static void a_word_that_names_a_page_of_events_is_not_believed(void **state)
{
    (void)state;
    const char *path = test_path("events.tbed");
    struct tbed_writer *writer = join(path);
    record(writer, "much", 20000);
    tbed_writer_free(writer);
    uint64_t pages = page_count(path), word = UINT64_C(10) << 48 | UINT64_C(5) << 32 | (pages - 1);
    bytes_put(path, &word, 8, FREE_CELLS);
    writer = join(path);
    record(writer, "after", 100);
    tbed_writer_free(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    expect(reader, "much", 20000);
    expect(reader, "after", 100);
    tbed_reader_close(reader);
}

/* After a power cut the word may be older than the cells: they are passed over, and stay. */
static void cells_with_bytes_in_them_are_passed_over(void **state)
{
    (void)state;
    const char *path = test_path("older.tbed");
    struct tbed_writer *writer = join(path);
    record(writer, "before", 10);
    tbed_writer_free(writer);
    uint64_t older = word_get(path);
    writer = join(path);
    record(writer, "lost", 10);
    tbed_writer_free(writer);
    uint64_t newer = word_get(path);
    assert_true(newer > older);
    bytes_put(path, &older, 8, FREE_CELLS);
    writer = join(path);
    record(writer, "after", 10);
    tbed_writer_free(writer);
    assert_int_equal(word_get(path) - newer, newer - older);
    struct tbed_reader *reader = test_reader_open(path, true);
    expect(reader, "before", 10);
    expect(reader, "lost", 10);
    expect(reader, "after", 10);
    tbed_reader_close(reader);
}

static void a_series_hands_out_its_own_cells(void **state)
{
    (void)state;
    const char *path = test_path("series.tbed");
    struct tbed_writer_options options = {.rotate_nbytes = 64 << 20, .no_helper = true};
    struct tbed_writer *writer = test_writer_open(path, &options);
    record(writer, "thread", 100);
    assert_int_equal(tbed_rotate(writer, NULL), TBED_OK);
    record(writer, "later", 100);
    tbed_writer_free(writer);
    assert_int_equal(word_get(path), 0);
    struct tbed_reader *reader = test_reader_open(path, true);
    expect(reader, "later", 100);
    tbed_reader_close(reader);
}

/* ---- Many processes, and kills ---- */

static uint32_t *told; /* how many events each process has acknowledged */

static _Noreturn void be_a_process(const char *path, struct tbed_writer *inherited, uint32_t number)
{
    char name[16];
    struct tbed_writer *writer = inherited != NULL ? inherited : join(path);
    uint32_t count = number * 37 % EVENTS_MAX;
    snprintf(name, sizeof name, "p%u", number);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, name);
    for (uint32_t i = 0; i < count; i++) {
        tbed_instant_record(recorder, i + 1);
        __atomic_store_n(&told[number], i + 1, __ATOMIC_RELEASE);
    }
    if (number % 3 == 0)
        tbed_writer_close(writer);
    if (number % 3 == 1)
        raise(SIGKILL);
    _exit(0);
}

static void check_storm(const char *path)
{
    struct tbed_reader *reader = test_reader_open(path, true);
    for (uint32_t number = 0; number < STORM; number++) {
        char name[16];
        size_t count;
        snprintf(name, sizeof name, "p%u", number);
        if (told[number] == 0)
            continue;
        struct tbed_event *events = test_events(reader, test_stream_named(reader, name), &count);
        assert_in_range(count, told[number], told[number] + 1);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(events[i].id, i + 1);
        free(events);
    }
    assert_int_equal(test_drop_count(reader), 0);
    tbed_reader_close(reader);
}

/* A third of them close, a third end without that, and a third are killed, wherever they are. */
static void storm(const char *path, bool inherits)
{
    pid_t children[STORM];
    struct tbed_writer *writer = join(path);
    memset(told, 0, STORM * sizeof *told);
    tbed_instant_record(tbed_recorder_open(writer, "parent"), 1);
    for (uint32_t number = 0; number < STORM; number++) {
        children[number] = fork();
        if (children[number] == 0)
            be_a_process(path, inherits ? writer : NULL, number);
        if (number >= 8 && number % 2 == 0)
            kill(children[number - 8], SIGKILL);
    }
    for (uint32_t number = 0; number < STORM; number++)
        waitpid(children[number], NULL, 0);
    tbed_writer_free(writer);
    assert_int_equal(tbed_trace_seal(path, NULL), TBED_OK);
    check_storm(path);
    assert_in_range(page_count(path), 2, 30);
}

static void a_storm_of_forks_and_kills_loses_nothing_that_was_told(void **state)
{
    (void)state;
    told = mmap(NULL, STORM * sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(told, MAP_FAILED);
    for (uint32_t round = 0; round < 5; round++) {
        char name[32];
        snprintf(name, sizeof name, "storm%u.tbed", round);
        storm(test_path(name), round % 2 == 0);
    }
    munmap(told, STORM * sizeof *told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writers_that_record_little_share_one_page),
        cmocka_unit_test(a_page_that_is_full_is_followed_by_another),
        cmocka_unit_test(a_stream_gets_a_page_when_it_has_filled_as_much_in_cells),
        cmocka_unit_test(a_wrong_word_costs_a_page_and_nothing_else),
        cmocka_unit_test(a_word_that_names_a_page_of_events_is_not_believed),
        cmocka_unit_test(cells_with_bytes_in_them_are_passed_over),
        cmocka_unit_test(a_series_hands_out_its_own_cells),
        cmocka_unit_test(a_storm_of_forks_and_kills_loses_nothing_that_was_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
