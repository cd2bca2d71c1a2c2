/*
 * Lists traces with the program and with the independent decoder: section 14 of the specification.
 *
 * All golden files are compared, including the invalid ones, and a trace that this test records with the clock, page
 * size and threads of real programs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/golden/golden_file.h"

#include <pthread.h>
#include <tracebed/writer.h>

#define THREAD_COUNT 4

static int compare(const char *files)
{
    const char *build = getenv("TBED_BUILD");
    char command[512];
    snprintf(command, sizeof command, "python3 spec/compare_listings.py %s/tracebed %s",
             build != NULL ? build : "build/release", files);
    return system(command);
}

static void golden_files_are_listed_alike(void **state)
{
    (void)state;
    assert_int_equal(compare(GOLDEN_FOLDER "/valid/*.tbed"), 0);
}

static void invalid_golden_files_are_listed_alike(void **state)
{
    (void)state;
    assert_int_equal(compare(GOLDEN_FOLDER "/invalid/*.tbed"), 0);
}

/* ---- A recorded trace ---- */

static uint32_t intern(struct tbed_writer *writer, const char *text)
{
    return tbed_string_intern(writer, text, strlen(text));
}

static void record_some(struct tbed_recorder *recorder, uint32_t id, uint32_t location, int i)
{
    struct tbed_argument arguments[] = {
        {.type = TBED_ARG_I64, .name_id = id, .value.i64 = -i},
        {.type = TBED_ARG_F64, .name_id = TBED_ID_INVALID, .value.f64 = i / 7.0},
        {.type = TBED_ARG_TEXT,
         .name_id = location,
         .nbytes = (uint32_t)i % 9,
         .value.text = "l\xC3\xA4nger\xFF!"},
    };
    tbed_span_begin(recorder, id);
    tbed_instant_record_args(recorder, location + (uint32_t)i % 8, arguments, 3);
    tbed_counter_record_i64(recorder, id, (int64_t)1 << (i % 62));
    tbed_counter_record_f64(recorder, id, i * 0.1);
    tbed_alloc_record(recorder, location, TBED_FUNCTION_MALLOC, 0x1000 + 16 * (uint64_t)i, (uint64_t)i);
    tbed_free_record(recorder, location, TBED_FUNCTION_MALLOC, 0x1000 + 16 * (uint64_t)i);
    tbed_message_record_args(recorder, TBED_SEVERITY_DEBUG, id, arguments, (size_t)i % 3);
    if (i % 3 != 0)
        tbed_span_end(recorder);
}

static void *record_thread(void *opaque)
{
    struct tbed_writer *writer = opaque;
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "thread");
    uint32_t location = tbed_id_reserve(writer, 8);
    for (int i = 0; i < 1000; i++)
        record_some(recorder, intern(writer, i % 2 == 0 ? "even" : "odd"), location, i);
    tbed_id_bind(writer, location, 7, intern(writer, "bound late"));
    tbed_recorder_close(recorder);
    return NULL;
}

static void recorded_trace_is_listed_alike(void **state)
{
    char path[] = "/tmp/tracebed-listing-XXXXXX";
    struct tbed_writer_options options = {.size = sizeof options, .overwrite = true};
    struct tbed_writer *writer;
    pthread_t threads[THREAD_COUNT];
    (void)state;
    close(mkstemp(path));
    assert_int_equal(tbed_writer_open(path, &options, &writer, NULL), TBED_OK);
    tbed_metadata_set(writer, "{}", 2);
    for (int i = 0; i < THREAD_COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_thread, writer), 0);
    for (int i = 0; i < THREAD_COUNT; i++)
        pthread_join(threads[i], NULL);
    tbed_writer_close(writer);
    assert_int_equal(compare(path), 0);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files_are_listed_alike),
        cmocka_unit_test(invalid_golden_files_are_listed_alike),
        cmocka_unit_test(recorded_trace_is_listed_alike),
    };
    return cmocka_run_group_tests_name("listings", tests, NULL, NULL);
}
