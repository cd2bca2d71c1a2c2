/*
 * Questions that are refused or cancelled have no result, whatever trace they are asked about: options of a size that no
 * version has, numbers beyond their limits, patterns that are none, and a caller who no longer wants to know. So has a
 * question that is cancelled somewhere in the middle, unless it is answered before.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <string.h>
#include <tracebed/activity.h>
#include <tracebed/analysis.h>
#include <tracebed/calls.h>
#include <tracebed/window.h>

#include "fuzz/support/fuzz.h"

#define CALLS 3

/* Asks one question; 'options_nbytes' 0: as it should be. '*has_result_ret' says whether it has been answered. */
typedef enum tbed_status ask(struct tbed_reader *reader, size_t options_nbytes, const bool *is_cancelled,
                             bool *has_result_ret);

/* 'WHAT' is what is made with options of the type OPTIONS; what follows are further options. */
#define ASK(name, what, options_type, ...)                                                                   \
    static enum tbed_status ask_##name(struct tbed_reader *reader, size_t options_nbytes,                    \
                                       const bool *is_cancelled, bool *has_result_ret)                       \
    {                                                                                                        \
        struct options_type options = {.size = options_nbytes != 0 ? options_nbytes : sizeof options,        \
                                       .thread_count = 2,                                                    \
                                       .is_cancelled = is_cancelled,                                         \
                                       __VA_ARGS__};                                                         \
        struct tbed_##what *result = NULL;                                                                   \
        enum tbed_status status = tbed_##what##_make(reader, &options, &result);                             \
        *has_result_ret = result != NULL;                                                                    \
        tbed_##what##_close(result);                                                                         \
        return status;                                                                                       \
    }

ASK(window, window, tbed_window_options, .column_count = 50)
ASK(sketch, window, tbed_window_options, .column_count = 5, .exact_block_max = 1)
ASK(marks, marks, tbed_marks_options, .column_count = 50)
ASK(statistics, statistics, tbed_analysis_options, .skip_percentiles = true)
ASK(stacks, stacks, tbed_stacks_options, .per_thread = true)
ASK(activity, activity, tbed_activity_options, .filter = NULL)

static enum tbed_status ask_calls(struct tbed_reader *reader, size_t options_nbytes, const bool *is_cancelled,
                                  bool *has_result_ret)
{
    struct tbed_calls_options options = {.size = options_nbytes != 0 ? options_nbytes : sizeof options,
                                         .thread_count = 2,
                                         .is_cancelled = is_cancelled};
    struct tbed_call calls[CALLS];
    size_t found = SIZE_MAX;
    uint64_t total;
    enum tbed_status status = tbed_calls_find(reader, &options, calls, CALLS, &found, &total);
    *has_result_ret = found != SIZE_MAX;
    return status;
}

/* ---- Cancelled ---- */

static void *cancel(void *is_cancelled)
{
    __atomic_store_n((bool *)is_cancelled, true, __ATOMIC_RELAXED);
    return NULL;
}

static void check_question(struct tbed_reader *reader, ask *question)
{
    bool has_result, is_cancelled = true;
    pthread_t thread;
    REQUIRE(question(reader, SIZE_MAX, NULL, &has_result) == TBED_ERR_ARGUMENT && !has_result);
    enum tbed_status status = question(reader, 0, &is_cancelled, &has_result);
    REQUIRE(status == TBED_ERR_CANCELLED ? !has_result
                                         : status == TBED_OK); /* there may be nothing to read */
    is_cancelled = false;
    REQUIRE(pthread_create(&thread, NULL, cancel, &is_cancelled) == 0);
    status = question(reader, 0, &is_cancelled, &has_result);
    REQUIRE(pthread_join(thread, NULL) == 0);
    REQUIRE(status == TBED_ERR_CANCELLED ? !has_result : status == TBED_OK);
}

/* ---- Refused ---- */

static void check_columns(struct tbed_reader *reader)
{
    struct tbed_window_options of_window = {.size = sizeof of_window,
                                            .column_count = TBED_WINDOW_COLUMNS_MAX + 1};
    struct tbed_marks_options of_marks = {.size = sizeof of_marks,
                                          .column_count = TBED_MARKS_COLUMNS_MAX + 1};
    struct tbed_window *window = NULL;
    struct tbed_marks *marks = NULL;
    REQUIRE(tbed_window_make(reader, &of_window, &window) == TBED_ERR_ARGUMENT && window == NULL);
    REQUIRE(tbed_marks_make(reader, &of_marks, &marks) == TBED_ERR_ARGUMENT && marks == NULL);
}

static void check_calls(struct tbed_reader *reader)
{
    struct tbed_calls_options options = {.size = sizeof options, .order = TBED_CALLS_AFTER + 1};
    const uint64_t falling[] = {5, 5};
    uint64_t counts[2] = {7, 7}, total = 7;
    struct tbed_call calls[CALLS];
    size_t found = 7;
    REQUIRE(tbed_calls_find(reader, &options, calls, CALLS, &found, &total) == TBED_ERR_ARGUMENT);
    options.order = TBED_CALLS_SLOWEST;
    REQUIRE(tbed_calls_count(reader, &options, falling, 2, counts, NULL) == TBED_ERR_ARGUMENT);
    REQUIRE(found == 7 && total == 7 && counts[0] == 7 && counts[1] == 7);
}

static void check_filter(struct tbed_reader *reader)
{
    const char *const none[] = {"("}, *const good[] = {"a.c"};
    struct tbed_filter_options options = {.size = sizeof options, .names = none, .name_count = 1};
    char problem[TBED_FILTER_PROBLEM_NBYTES] = "";
    struct tbed_filter *filter = NULL;
    REQUIRE(tbed_filter_make(reader, &options, &filter, problem) == TBED_ERR_ARGUMENT && filter == NULL);
    REQUIRE(strchr(problem, '(') != NULL && memchr(problem, 0, sizeof problem) != NULL);
    REQUIRE(tbed_filter_make(reader, &options, &filter, NULL) == TBED_ERR_ARGUMENT && filter == NULL);
    options.names = good;
    options.size = SIZE_MAX;
    REQUIRE(tbed_filter_make(reader, &options, &filter, problem) == TBED_ERR_ARGUMENT && filter == NULL);
    options.size = sizeof options;
    REQUIRE(tbed_filter_make(reader, &options, &filter, problem) == TBED_OK && filter != NULL);
    tbed_filter_close(filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static ask *const questions[] = {ask_window, ask_sketch,   ask_marks, ask_statistics,
                                     ask_stacks, ask_activity, ask_calls};
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
        check_question(reader, questions[i]);
    check_columns(reader);
    check_calls(reader);
    check_filter(reader);
    tbed_reader_close(reader);
    return 0;
}
