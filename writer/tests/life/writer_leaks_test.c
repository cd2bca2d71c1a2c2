/*
 * A writer gives back all that it took: after many rounds of everything that it can do, and of everything that fails,
 * the process has as many mappings, as much address space and as many descriptors as after the first.
 *
 * The writer's memory comes from mmap(), where no leak sanitizer looks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/tests/sanitizer.h"
#include "writer/tests/support.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUNDS = 8 };

struct taken {
    size_t mapping_count, nbytes, descriptor_count;
};

static struct taken look(void)
{
    struct taken taken = {0};
    char line[512];
    unsigned long first, end;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "[heap]") == NULL && sscanf(line, "%lx-%lx", &first, &end) == 2) {
            taken.mapping_count++;
            taken.nbytes += end - first;
        }
    if (maps != NULL)
        fclose(maps);
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL)
        taken.descriptor_count++;
    if (folder != NULL)
        closedir(folder);
    return taken;
}

static void gives_back_all(void (*round)(void))
{
    round();
    round(); /* what is made once, or kept for the next, is there now */
    struct taken before = look();
    for (int i = 0; i < ROUNDS; i++)
        round();
    struct taken after = look();
    assert_int_equal(after.descriptor_count, before.descriptor_count);
#if !TEST_IS_SANITIZED                                                    /* which keeps memory of its own */
    assert_true(after.mapping_count < before.mapping_count + ROUNDS / 2); /* libc may keep some */
    assert_true(after.nbytes < before.nbytes + (size_t)ROUNDS / 2 * 4096);
#endif
}

static uint32_t intern(struct tbed_writer *writer, const char *text)
{
    return tbed_string_intern(writer, text, strlen(text));
}

static void use_store(struct tbed_writer *writer)
{
    static char text[300000];
    struct tbed_component parts[500];
    char name[16];
    memset(text, 'x', sizeof text);
    uint32_t a = intern(writer, "a");
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "%d", i);
        intern(writer, name);
    }
    tbed_string_intern(writer, text, sizeof text);
    for (size_t i = 0; i < 500; i++)
        parts[i] = (struct tbed_component){
            .text = i % 2 == 0 ? "text" : NULL, .nbytes = i % 2 == 0 ? 4 : 0, .id = a};
    uint32_t long_id = tbed_string_alloc(writer, parts, 500);
    uint32_t first = tbed_id_reserve(writer, 100);
    tbed_id_bind(writer, first, 50, long_id);
    tbed_id_bind_list(writer, (const uint32_t[]){first + 60, first + 61}, (const uint32_t[]){a, a}, 2);
    for (uint32_t i = 0; i < 400;
         i++) /* more than fit into a page when a rotation looks through the records */
        tbed_id_bind(writer, tbed_id_reserve(writer, 1), 1, a);
    struct tbed_unit_options unit = {
        .size = sizeof unit, .kind = TBED_UNIT_NATIVE, .name = "module", .pc_count = 4096};
    uint32_t unit_id = tbed_unit_register(writer, &unit);
    uint32_t stack = TBED_ID_INVALID;
    for (uint32_t i = 0; i < 2000; i++)
        stack = tbed_stack_intern(writer, i % 50 == 0 ? TBED_ID_INVALID : stack, unit_id + i % 7);
}

static void use_recorders(struct tbed_writer *writer, uint32_t events)
{
    struct tbed_recorder *recorders[20];
    for (size_t i = 0; i < 20; i++)
        recorders[i] = tbed_recorder_open(writer, "recorder");
    for (size_t i = 0; i < 20; i++) {
        for (uint32_t depth = 0; depth < 1000; depth++) /* the stack of open spans grows */
            tbed_span_begin(recorders[i], depth);
        for (uint32_t j = 0; j < events; j++)
            tbed_instant_record(recorders[i], j);
        tbed_message_record(recorders[i], TBED_SEVERITY_NONE, "text", 4);
    }
    for (size_t i = 0; i < 10; i++) /* the others are open at the close */
        tbed_recorder_close(recorders[i]);
}

static void write_all(struct tbed_writer_options options)
{
    struct tbed_writer *writer;
    options.size = sizeof options;
    options.overwrite = !options.join;
    assert_int_equal(tbed_writer_open(test_path("round"), &options, &writer, NULL), TBED_OK);
    use_store(writer);
    use_recorders(writer, 2000);
    tbed_writer_free(writer);
}

static void write_a_file(void)
{
    write_all((struct tbed_writer_options){0});
}

static void write_without_a_helper(void)
{
    write_all((struct tbed_writer_options){.no_helper = true, .page_nbytes = 4096});
}

static void write_guarded(void)
{
    write_all((struct tbed_writer_options){.guard = true});
}

static void write_a_ring(void)
{
    write_all((struct tbed_writer_options){.ring_nbytes = 1 << 20, .page_nbytes = 16384});
}

static void write_with_given_ticks(void)
{
    write_all((struct tbed_writer_options){.given_ticks = true});
}

static void join_a_file(void)
{
    struct tbed_writer_options options = {.size = sizeof options, .join = true};
    struct tbed_writer *first, *second;
    const char *path = test_path("round");
    assert_int_equal(tbed_writer_open(path, &options, &first, NULL), TBED_OK);
    assert_int_equal(tbed_writer_open(path, &options, &second, NULL), TBED_OK);
    use_store(second);
    use_recorders(first, 100);
    use_recorders(second, 100);
    tbed_writer_free(first);
    tbed_writer_free(second);
}

static void remove_series(const char *path)
{
    char name[300];
    for (int number = 0; number < 100; number++) {
        snprintf(name, sizeof name, "%s.%06d", path, number);
        unlink(name);
    }
    unlink(path);
}

static void rotate_a_series(void)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .overwrite = true, .rotate = true, .rotate_keep = 2};
    struct tbed_writer *writer;
    struct tbed_error error;
    char path[256];
    snprintf(path, sizeof path, "%s", test_path("series"));
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    use_store(writer);
    for (int i = 0; i < 4; i++) {
        use_recorders(writer, 100);
        while (tbed_rotate(writer, &error) == TBED_ERR_BUSY)
            sched_yield();
    }
    tbed_writer_free(writer);
    remove_series(path);
}

static void take_snapshots(void)
{
    struct tbed_writer *writer;
    struct tbed_writer_options options = {.size = sizeof options, .overwrite = true, .page_nbytes = 4096};
    char path[256], folder[256];
    snprintf(path, sizeof path, "%s", test_path("copy"));
    snprintf(folder, sizeof folder, "%s", test_path("no folder/copy"));
    assert_int_equal(tbed_writer_open(test_path("round"), &options, &writer, NULL), TBED_OK);
    use_store(writer);
    use_recorders(writer, 30000); /* so many blocks that their list grows */
    unlink(path);
    assert_int_equal(tbed_snapshot(writer, path, NULL), TBED_OK);
    assert_int_not_equal(tbed_snapshot(writer, path, NULL), TBED_OK); /* it is there */
    assert_int_not_equal(tbed_snapshot(writer, folder, NULL), TBED_OK);
    tbed_writer_free(writer);
}

/* A copy of an open file, sealed; and what is no file. */
static void seal_files(void)
{
    struct tbed_writer *writer;
    char path[256], closed[256];
    uint64_t left_out;
    snprintf(path, sizeof path, "%s", test_path("round"));
    snprintf(closed, sizeof closed, "%s", test_path("closed"));
    assert_int_equal(tbed_writer_open(path, NULL, &writer, NULL), TBED_OK);
    use_recorders(writer, 1000);
    int from = open(path, O_RDONLY | O_CLOEXEC), to = open(closed, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(tbed_trace_snapshot(from, to, &left_out, NULL), TBED_OK);
    assert_int_not_equal(tbed_trace_snapshot(from, -1, &left_out, NULL), TBED_OK);
    assert_int_not_equal(tbed_trace_snapshot(to, -1, &left_out, NULL), TBED_OK);
    close(from);
    close(to);
    tbed_writer_free(writer);
    assert_int_equal(tbed_trace_seal(closed, NULL), TBED_OK);
    assert_int_not_equal(tbed_trace_seal("not there", NULL), TBED_OK);
    assert_int_not_equal(tbed_trace_seal("/dev/null", NULL), TBED_OK);
    assert_int_not_equal(tbed_trace_seal("/proc/self/maps", NULL), TBED_OK);
}

static void fail_to_open(void)
{
    static const char *const paths[] = {"/", "/dev/null", "no folder/trace", "/proc/self/maps"};
    struct tbed_writer_options join = {.size = sizeof join, .join = true},
                               odd = {.size = sizeof odd, .page_nbytes = 5};
    struct tbed_writer_options large = {.size = sizeof large, .ring_nbytes = UINT64_MAX};
    struct tbed_writer *writer = NULL;
    char path[256];
    for (size_t i = 0; i < 4; i++) {
        assert_int_not_equal(tbed_writer_open(paths[i], NULL, &writer, NULL), TBED_OK);
        assert_int_not_equal(tbed_writer_open(paths[i], &join, &writer, NULL), TBED_OK);
    }
    snprintf(path, sizeof path, "%s", test_path("no trace"));
    FILE *file = fopen(path, "w");
    fputs("This is not a trace, although it is a file.", file);
    fclose(file);
    assert_int_not_equal(tbed_writer_open(path, NULL, &writer, NULL), TBED_OK);
    assert_int_not_equal(tbed_writer_open(path, &join, &writer, NULL), TBED_OK);
    unlink(path);
    assert_int_not_equal(tbed_writer_open(path, &odd, &writer, NULL), TBED_OK);
    assert_int_not_equal(tbed_writer_open(path, &large, &writer, NULL), TBED_OK);
    assert_null(writer);
}

static void fail_to_rotate(void)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .overwrite = true, .rotate = true, .no_helper = true};
    struct tbed_writer *writer;
    struct rlimit limit, small;
    assert_int_equal(tbed_writer_open(test_path("full"), &options, &writer, NULL), TBED_OK);
    use_store(writer);
    getrlimit(RLIMIT_FSIZE, &limit);
    small = limit;
    small.rlim_cur = 100000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 3; i++)
        assert_int_not_equal(tbed_rotate(writer, NULL), TBED_OK);
    setrlimit(RLIMIT_FSIZE, &limit);
    tbed_writer_free(writer);
}

static void *record_in_thread(void *writer)
{
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread");
    for (uint32_t i = 0; i < 5000; i++)
        tbed_instant_record(recorder, i);
    tbed_recorder_close(recorder);
    return NULL;
}

static void write_with_threads(void)
{
    struct tbed_writer *writer;
    struct tbed_writer_options options = {.size = sizeof options, .overwrite = true};
    pthread_t threads[4];
    assert_int_equal(tbed_writer_open(test_path("round"), &options, &writer, NULL), TBED_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_in_thread, writer), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    tbed_writer_free(writer);
}

static void everything_is_given_back(void **state)
{
    (void)state;
    gives_back_all(write_a_file);
    gives_back_all(write_without_a_helper);
    gives_back_all(write_guarded);
    gives_back_all(write_a_ring);
    gives_back_all(write_with_given_ticks);
    gives_back_all(join_a_file);
    gives_back_all(rotate_a_series);
    gives_back_all(take_snapshots);
    gives_back_all(write_with_threads);
}

static void what_fails_keeps_nothing(void **state)
{
    (void)state;
    gives_back_all(fail_to_open);
    gives_back_all(fail_to_rotate);
    gives_back_all(seal_files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_given_back),
        cmocka_unit_test(what_fails_keeps_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
