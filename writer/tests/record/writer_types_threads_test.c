/*
 * Types of allocated objects: a pair of a location and a type has one id for all threads, forked children and files of
 * a series; what an event refers to is in the file, whenever the process was killed. Runs under TSan too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/support.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tracebed/analysis.h>
#include <unistd.h>

#define THREADS   6
#define LOCATIONS 300
#define TYPES     7

static uint32_t name(struct tbed_writer *writer, const char *text)
{
    return tbed_string_intern(writer, text, strlen(text));
}

static void expect_pair(struct tbed_reader *reader, uint32_t id, uint32_t location, uint32_t type)
{
    uint32_t found_location, found_type;
    assert_true(tbed_typed_get(reader, id, &found_location, &found_type));
    assert_int_equal(found_location, location);
    assert_int_equal(found_type, type);
}

static void pair_has_one_id_and_keeps_the_stack(void **state)
{
    (void)state;
    const char *path = test_path("one.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    uint32_t text = name(writer, "String"), array = name(writer, "Array"),
             place = name(writer, "load a.rb:3");
    uint32_t outer = tbed_stack_intern(writer, TBED_ID_INVALID, name(writer, "main a.rb:9"));
    uint32_t stack = tbed_stack_intern(writer, outer, place);
    uint32_t ids[] = {tbed_typed_intern(writer, stack, text), tbed_typed_intern(writer, stack, array),
                      tbed_typed_intern(writer, place, text),
                      tbed_typed_intern(writer, TBED_ID_INVALID, text)};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(ids[i], ids[j]);
    assert_int_equal(tbed_typed_intern(writer, stack, text), ids[0]);
    assert_int_equal(tbed_typed_intern(writer, place, TBED_ID_INVALID), place);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    uint32_t location, parent, locations[4];
    expect_pair(reader, ids[0], stack, text);
    expect_pair(reader, ids[1], stack, array);
    expect_pair(reader, ids[2], place, text);
    expect_pair(reader, ids[3], TBED_ID_INVALID, text);
    assert_false(tbed_typed_get(reader, stack, &location, &parent));
    assert_int_equal(tbed_stack_locations(reader, ids[0], locations, 4), 2);
    assert_true(tbed_stack_get(reader, ids[0], &location, &parent));
    assert_int_equal(location, place);
    assert_int_equal(parent, outer);
    assert_int_equal(tbed_stack_locations(reader, ids[2], locations, 4), 1);
    assert_int_equal(locations[0], place);
    assert_text(reader, ids[0], "load a.rb:3");
    assert_text(reader, ids[2], "load a.rb:3");
    tbed_reader_close(reader);
}

static void exhausted_ids_cost_the_type_alone(void **state)
{
    (void)state;
    struct tbed_writer_options options = {.size = sizeof options, .first_reserved_id = TBED_ID_MAX_RESERVED};
    struct tbed_writer *writer = test_writer_open(test_path("exhausted.tbed"), &options);
    uint32_t type = name(writer, "String"), place = name(writer, "a place");
    assert_true(tbed_typed_intern(writer, place, type) == TBED_ID_MAX_RESERVED);
    assert_int_equal(tbed_typed_intern(writer, type, type), type);
    assert_true(tbed_typed_intern(writer, place, type) == TBED_ID_MAX_RESERVED);
    assert_int_equal(tbed_writer_drop_count(writer, TBED_DROP_IDS_EXHAUSTED), 1);
    tbed_writer_close(writer);
    assert_int_equal(tbed_typed_intern(writer, place, type), place);
    assert_int_equal(tbed_typed_intern(NULL, place, type), place);
}

/* Nobody has handed out the location, so it may get any meaning later, even this one. */
static void location_from_nowhere_gets_no_type(void **state)
{
    (void)state;
    const char *path = test_path("nowhere.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    assert_int_equal(tbed_typed_intern(writer, 5000, name(writer, "String")), 5000);
    tbed_writer_close(writer);
    tbed_reader_close(test_reader_open(path, true));
}

/* ---- Threads, processes, files ---- */

struct worker {
    struct tbed_writer *writer;
    uint32_t types[TYPES], first, ids[LOCATIONS * TYPES];
};

static void *intern_all(void *argument)
{
    struct worker *worker = argument;
    for (uint32_t i = 0; i < LOCATIONS * TYPES; i++) {
        uint32_t at = (worker->first + i) % (LOCATIONS * TYPES);
        worker->ids[at] =
            tbed_typed_intern(worker->writer, TBED_ID_INVALID + 1 + at / TYPES, worker->types[at % TYPES]);
    }
    return NULL;
}

static struct worker *make_worker(struct tbed_writer *writer, uint32_t first)
{
    struct worker *worker = calloc(1, sizeof *worker);
    worker->writer = writer;
    worker->first = first;
    for (uint32_t i = 0; i < TYPES; i++)
        worker->types[i] = name(writer, (char[]){(char)('A' + i), '\0'});
    return worker;
}

static void threads_agree_on_ids(void **state)
{
    (void)state;
    const char *path = test_path("threads.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    struct worker *workers[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++)
        workers[i] = make_worker(writer, i * LOCATIONS);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, intern_all, workers[i]), 0);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    for (uint32_t i = 0; i < LOCATIONS * TYPES; i++)
        expect_pair(reader, workers[0]->ids[i], TBED_ID_INVALID + 1 + i / TYPES,
                    workers[0]->types[i % TYPES]);
    for (uint32_t i = 1; i < THREADS; i++)
        assert_memory_equal(workers[i]->ids, workers[0]->ids, sizeof workers[0]->ids);
    tbed_reader_close(reader);
    for (uint32_t i = 0; i < THREADS; i++)
        free(workers[i]);
}

static void killed_child_knows_the_parents_ids_and_leaves_its_own(void **state)
{
    (void)state;
    const char *path = test_path("fork.tbed");
    struct tbed_writer *writer = test_writer_open(path, NULL);
    uint32_t type = name(writer, "String"), place = name(writer, "a place");
    uint32_t known = tbed_typed_intern(writer, place, type);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        uint32_t told[2] = {tbed_typed_intern(writer, place, type), tbed_typed_intern(writer, type, type)};
        ssize_t sent = write(ends[1], told, sizeof told);
        kill(getpid(), sent == sizeof told ? SIGKILL : SIGTERM);
    }
    uint32_t told[2];
    int status;
    assert_int_equal(read(ends[0], told, sizeof told), sizeof told);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(told[0], known);
    struct tbed_reader *reader = test_reader_open(path, false);
    expect_pair(reader, told[1], type, type);
    tbed_reader_close(reader);
    tbed_writer_close(writer);
    close(ends[0]);
    close(ends[1]);
}

static void types_mean_the_same_in_the_next_file(void **state)
{
    (void)state;
    const char *path = test_path("series.tbed");
    struct tbed_writer_options options = {.size = sizeof options, .rotate = true};
    struct tbed_writer *writer = test_writer_open(path, &options);
    struct tbed_error error;
    struct worker *worker = make_worker(writer, 0);
    intern_all(worker);
    assert_int_equal(tbed_rotate(writer, &error), TBED_OK);
    uint32_t known = worker->ids[5], later = tbed_typed_intern(writer, worker->types[0], worker->types[1]);
    intern_all(worker);
    assert_int_equal(worker->ids[5], known);
    tbed_writer_close(writer);
    struct tbed_reader *reader = test_reader_open(path, true);
    for (uint32_t i = 0; i < LOCATIONS * TYPES; i++)
        expect_pair(reader, worker->ids[i], TBED_ID_INVALID + 1 + i / TYPES, worker->types[i % TYPES]);
    expect_pair(reader, later, worker->types[0], worker->types[1]);
    tbed_reader_close(reader);
    free(worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pair_has_one_id_and_keeps_the_stack),
        cmocka_unit_test(exhausted_ids_cost_the_type_alone),
        cmocka_unit_test(location_from_nowhere_gets_no_type),
        cmocka_unit_test(threads_agree_on_ids),
        cmocka_unit_test(killed_child_knows_the_parents_ids_and_leaves_its_own),
        cmocka_unit_test(types_mean_the_same_in_the_next_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
