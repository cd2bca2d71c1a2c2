/*
 * Call stacks: the same one has the same id for all threads and for forked children; what an event refers to is in the
 * file, whenever the process was killed. The records are read from the file's bytes. Runs under TSan too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include "format/layout.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS   8
#define IDS_MAX   (1u << 20)
#define UNWRITTEN UINT32_MAX

/* ---- What the file says: all nodes, by id ---- */

struct node {
    uint32_t location, parent;
};

struct nodes {
    struct node *at; /* location UNWRITTEN: no record has it */
    size_t count;
};

static void take_stacks(struct nodes *nodes, const uint8_t *record)
{
    const struct tbed_disk_stacks *stacks = (const void *)record;
    uint32_t first = tbed_le32_load(stacks->first_id), count = tbed_le32_load(stacks->count);
    for (uint32_t i = 0; i < count; i++) {
        struct node *node = &nodes->at[first + i];
        assert_in_range(first + i, 0, IDS_MAX - 1);
        assert_int_equal(node->location, UNWRITTEN);
        *node =
            (struct node){tbed_le32_load(stacks->pairs[i].first), tbed_le32_load(stacks->pairs[i].second)};
        assert_true(node->parent == TBED_ID_INVALID || node->parent < first + i);
        if (node->parent != TBED_ID_INVALID)
            assert_int_not_equal(nodes->at[node->parent].location, UNWRITTEN);
        nodes->count++;
    }
}

static void take_block(struct nodes *nodes, const uint8_t *block, size_t nbytes)
{
    for (size_t at = TBED_BLOCK_HEADER_NBYTES; block[0] == TBED_BLOCK_RECORDS && at < nbytes;) {
        uint64_t head = tbed_word_load(block + at);
        if (head == 0)
            return;
        if ((head & 0xFFFF) == TBED_RECORD_STACKS)
            take_stacks(nodes, block + at);
        at += head >> 32;
    }
}

static struct nodes read_nodes(const char *path)
{
    struct nodes nodes = {.at = malloc(IDS_MAX * sizeof *nodes.at)};
    struct stat status;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &status) == 0 && nodes.at != NULL);
    for (size_t i = 0; i < IDS_MAX; i++)
        nodes.at[i].location = UNWRITTEN;
    const uint8_t *map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_true(map != MAP_FAILED);
    size_t page_nbytes = tbed_le32_load(((const struct tbed_disk_header *)map)->page_nbytes);
    for (size_t page = page_nbytes; page + page_nbytes <= (size_t)status.st_size; page += page_nbytes) {
        size_t cell_nbytes = map[page] == TBED_BLOCK_CELLS ? (size_t)1 << map[page + 1] : page_nbytes;
        for (size_t cell = 0; cell < page_nbytes; cell += cell_nbytes)
            take_block(&nodes, map + page + cell, cell_nbytes);
    }
    munmap((void *)(uintptr_t)map, (size_t)status.st_size);
    close(fd);
    return nodes;
}

/* No two ids mean the same stack. */
static int compare_nodes(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct node));
}

static void assert_distinct(struct nodes *nodes)
{
    size_t count = 0;
    for (size_t i = 0; i < IDS_MAX; i++)
        if (nodes->at[i].location != UNWRITTEN)
            nodes->at[count++] = nodes->at[i];
    qsort(nodes->at, count, sizeof *nodes->at, compare_nodes);
    for (size_t i = 1; i < count; i++)
        assert_int_not_equal(compare_nodes(&nodes->at[i - 1], &nodes->at[i]), 0);
}

/* ---- One thread ---- */

static void stack_is_a_frame_and_a_parent(void **state)
{
    (void)state;
    const char *path = test_path("one.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    uint32_t main_id = tbed_stack_intern(writer, TBED_ID_INVALID, 7);
    uint32_t load_id = tbed_stack_intern(writer, main_id, 8);
    uint32_t frames[4] = {7, 8, 9, 7}, ids[4];
    assert_true(tbed_stack_intern_frames(writer, TBED_ID_INVALID, frames, 4, ids));
    assert_int_equal(ids[0], main_id);
    assert_int_equal(ids[1], load_id);
    assert_int_equal(tbed_stack_intern(writer, ids[2], 7), ids[3]);
    assert_int_not_equal(ids[3], main_id);
    assert_int_not_equal(tbed_stack_intern(writer, TBED_ID_INVALID, 8), load_id);
    tbed_writer_close(writer);
    struct nodes nodes = read_nodes(path);
    assert_int_equal(nodes.count, 5);
    assert_int_equal(nodes.at[ids[3]].location, 7);
    assert_int_equal(nodes.at[ids[3]].parent, ids[2]);
    assert_int_equal(nodes.at[main_id].parent, TBED_ID_INVALID);
    assert_distinct(&nodes);
    free(nodes.at);
}

/* Deeper than what is stored at once, and wide enough for the table to grow. */
static void deep_and_many_stacks_are_kept(void **state)
{
    (void)state;
    const char *path = test_path("deep.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    enum { DEPTH = 1000, WIDTH = 20000 };
    uint32_t frames[DEPTH], ids[DEPTH], again[DEPTH], *wide = calloc(WIDTH, sizeof *wide);
    for (uint32_t i = 0; i < DEPTH; i++)
        frames[i] = i % 3;
    assert_true(tbed_stack_intern_frames(writer, TBED_ID_INVALID, frames, DEPTH, ids));
    for (uint32_t i = 0; i < WIDTH; i++)
        wide[i] = tbed_stack_intern(writer, ids[500], 100 + i);
    for (uint32_t i = 0; i < WIDTH; i++)
        assert_int_equal(tbed_stack_intern(writer, ids[500], 100 + i), wide[i]);
    assert_true(tbed_stack_intern_frames(writer, TBED_ID_INVALID, frames, DEPTH, again));
    assert_memory_equal(ids, again, sizeof ids);
    tbed_writer_close(writer);
    struct nodes nodes = read_nodes(path);
    assert_int_equal(nodes.count, DEPTH + WIDTH);
    for (uint32_t i = 0, at = ids[DEPTH - 1]; i < DEPTH; i++, at = nodes.at[at].parent)
        assert_int_equal(nodes.at[at].location, frames[DEPTH - 1 - i]);
    assert_distinct(&nodes);
    free(nodes.at);
    free(wide);
}

static void exhausted_ids_are_counted(void **state)
{
    (void)state;
    struct tbed_writer_options options = {.size = sizeof options,
                                          .first_reserved_id = TBED_ID_MAX_RESERVED - 9};
    struct tbed_writer *writer = test_writer_open(test_path("exhausted.tbed"), &options);
    uint32_t frames[12] = {0}, ids[12];
    for (uint32_t i = 0; i < 9; i++)
        assert_true(tbed_stack_intern(writer, TBED_ID_INVALID, i) <= TBED_ID_MAX_RESERVED);
    assert_false(tbed_stack_intern_frames(writer, TBED_ID_INVALID, frames, 12, ids));
    assert_true(ids[0] <= TBED_ID_MAX_RESERVED);
    assert_int_equal(ids[1], TBED_ID_INVALID);
    assert_int_equal(ids[11], TBED_ID_INVALID);
    assert_true(tbed_stack_intern(writer, TBED_ID_INVALID, 100) == TBED_ID_MAX_RESERVED);
    assert_int_equal(tbed_stack_intern(writer, TBED_ID_INVALID, 101), TBED_ID_INVALID);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_IDS_EXHAUSTED), 2);
    tbed_writer_close(writer);
    assert_int_equal(tbed_stack_intern(writer, TBED_ID_INVALID, 3), TBED_ID_INVALID);
    assert_int_equal(tbed_stack_intern(NULL, TBED_ID_INVALID, 3), TBED_ID_INVALID);
}

/* ---- Threads ---- */

#define PATHS 20000
#define DEPTH 6

struct worker {
    struct tbed_writer *writer;
    uint32_t first; /* where it begins, so that they meet from different sides */
    uint32_t ids[PATHS];
};

static void path_of(uint32_t number, uint32_t frames[DEPTH])
{
    for (uint32_t i = 0; i < DEPTH; i++)
        frames[i] = (number * 2654435761u >> (4 * i)) % 13;
}

static void *intern_all(void *argument)
{
    struct worker *worker = argument;
    uint32_t frames[DEPTH], ids[DEPTH];
    for (uint32_t i = 0; i < PATHS; i++) {
        uint32_t number = (worker->first + i) % PATHS;
        path_of(number, frames);
        tbed_stack_intern_frames(worker->writer, TBED_ID_INVALID, frames, DEPTH, ids);
        worker->ids[number] = ids[DEPTH - 1];
    }
    return NULL;
}

static void threads_agree_on_ids(void **state)
{
    (void)state;
    const char *path = test_path("threads.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct worker *workers = calloc(THREADS, sizeof *workers);
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i].writer = writer;
        workers[i].first = i * PATHS / THREADS;
        assert_int_equal(pthread_create(&threads[i], NULL, intern_all, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 1; i < THREADS; i++)
        assert_memory_equal(workers[i].ids, workers[0].ids, sizeof workers[0].ids);
    tbed_writer_close(writer);
    struct nodes nodes = read_nodes(path);
    for (uint32_t i = 0; i < PATHS; i++) {
        uint32_t frames[DEPTH], at = workers[0].ids[i];
        path_of(i, frames);
        for (uint32_t depth = DEPTH; depth-- > 0; at = nodes.at[at].parent)
            assert_int_equal(nodes.at[at].location, frames[depth]);
        assert_int_equal(at, TBED_ID_INVALID);
    }
    assert_distinct(&nodes);
    free(nodes.at);
    free(workers);
}

/* ---- Processes ---- */

/* The parent's other threads add all the while: the child finds the table as it stood at any moment. */
static void forked_child_goes_on_with_the_same_ids(void **state)
{
    (void)state;
    const char *path = test_path("fork.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct worker *worker = calloc(1, sizeof *worker);
    pthread_t thread;
    worker->writer = writer;
    uint32_t known = tbed_stack_intern(writer, TBED_ID_INVALID, 1000);
    assert_int_equal(pthread_create(&thread, NULL, intern_all, worker), 0);
    for (uint32_t i = 0; i < 8; i++) {
        pid_t child = fork();
        if (child == 0) {
            bool is_same = tbed_stack_intern(writer, TBED_ID_INVALID, 1000) == known;
            uint32_t own = tbed_stack_intern(writer, known, 2000 + i);
            bool has_own = own != TBED_ID_INVALID && tbed_stack_intern(writer, known, 2000 + i) == own;
            tbed_writer_close(writer);
            _exit(is_same && has_own ? 0 : 1);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    pthread_join(thread, NULL);
    tbed_writer_close(writer);
    struct nodes nodes = read_nodes(path);
    uint32_t of_children = 0;
    for (uint32_t i = 0; i < IDS_MAX; i++)
        if (nodes.at[i].location != UNWRITTEN && nodes.at[i].location >= 2000) {
            assert_int_equal(nodes.at[i].parent, known);
            of_children++;
        }
    assert_int_equal(of_children, 8);
    free(nodes.at);
    free(worker);
}

static _Noreturn void record_until_killed(const char *path, int ready_fd)
{
    struct tbed_writer_options options = {.size = sizeof options, .no_helper = true, .overwrite = true};
    struct tbed_writer *writer;
    uint32_t frames[DEPTH], ids[DEPTH];
    if (tbed_writer_open(path, &options, &writer, NULL) != TBED_OK)
        _exit(1);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (uint32_t i = 0;; i++) {
        path_of(i % 50000, frames); /* in the end there is nothing new */
        frames[DEPTH - 1] = i % 50000;
        tbed_stack_intern_frames(writer, TBED_ID_INVALID, frames, DEPTH, ids);
        tbed_instant_record(recorder, ids[i % DEPTH]);
        if (i == 100 && write(ready_fd, "", 1) != 1)
            _exit(1);
    }
}

static void all_events_of_a_killed_process_resolve(void **state)
{
    (void)state;
    const char *path = test_path("killed.tbed");
    for (uint32_t round = 0; round < 10; round++) {
        int pipe_fds[2];
        char byte;
        assert_int_equal(pipe(pipe_fds), 0);
        pid_t child = fork();
        if (child == 0)
            record_until_killed(path, pipe_fds[1]);
        assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
        usleep(1 + round * 1500);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        struct tbed_reader *reader = test_reader_open(path, false);
        struct nodes nodes = read_nodes(path);
        size_t count;
        struct tbed_event *events = test_events(reader, test_stream_named(reader, "main"), &count);
        assert_true(count >= 100);
        for (size_t i = 0; i < count; i++)
            assert_int_not_equal(nodes.at[events[i].id].location, UNWRITTEN);
        free(events);
        free(nodes.at);
        tbed_reader_close(reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stack_is_a_frame_and_a_parent),
        cmocka_unit_test(deep_and_many_stacks_are_kept),
        cmocka_unit_test(exhausted_ids_are_counted),
        cmocka_unit_test(threads_agree_on_ids),
        cmocka_unit_test(forked_child_goes_on_with_the_same_ids),
        cmocka_unit_test(all_events_of_a_killed_process_resolve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
