/*
 * A cut and merges of a trace while memory runs out or a file call fails: each must return an error and leave nothing
 * behind, or make the trace that it makes otherwise.
 *
 * The plan follows the last complete page of the trace; see fuzz/support/failing.h.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid fuzz/cut/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <tracebed/copy.h>

#include "fuzz/support/destination.h"
#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

static const int file_errnos[] = {EIO, ENOSPC, EINTR};
#define ERRNO_COUNT (sizeof file_errnos / sizeof file_errnos[0])

enum copy { CUT, MERGE_BY_CLOCK, MERGE_BY_START, COPY_COUNT };

struct work {
    const uint8_t *data;
    size_t nbytes;
    enum copy copy;
    int file_errno;             /* the errno of failing file calls; 0: memory runs out */
    struct tbed_reader *second; /* another source of merges */
    enum tbed_status status;
    struct tbed_copy_report report;
};

static enum tbed_status make_copy(struct work *work, struct tbed_reader *reader, const char *to,
                                  struct tbed_error *error)
{
    struct tbed_reader *readers[] = {reader, work->second};
    struct tbed_merge_options options = {
        .size = sizeof options,
        .time = work->copy == MERGE_BY_START ? TBED_MERGE_SAME_START : TBED_MERGE_WALL_CLOCK,
    };
    if (work->copy == CUT)
        return tbed_trace_cut(reader, to, NULL, &work->report, error);
    return tbed_traces_merge(readers, 2, to, &options, &work->report, NULL, error);
}

static void check_copy(const struct work *work)
{
    struct tbed_reader *reader;
    struct tbed_trace_info info;
    REQUIRE(tbed_reader_open(destination_path(), NULL, &reader, NULL) == TBED_OK);
    REQUIRE(tbed_reader_verify(reader) == TBED_OK);
    tbed_reader_info(reader, &info);
    REQUIRE(info.file_nbytes == work->report.nbytes);
    tbed_reader_close(reader);
}

static void run(struct work *work, bool fails)
{
    struct tbed_reader *reader = open_input(work->data, work->nbytes);
    struct tbed_error error = {.status = TBED_OK};
    const char *to = destination_make(DESTINATION_FREE);
    REQUIRE(reader != NULL);
    if (fails && work->file_errno != 0)
        failing_start_files(work->file_errno);
    else if (fails)
        failing_start();
    work->status = make_copy(work, reader, to, &error);
    failing_stop();
    REQUIRE(error.status == work->status);
    if (destination_check(DESTINATION_FREE, work->status, 0))
        check_copy(work);
    tbed_reader_close(reader);
}

static void run_failing(void *context)
{
    const struct work *expected = context;
    struct work work = *expected;
    run(&work, true);
    REQUIRE(work.status == expected->status || failing_count() > 0);
    if (work.status != TBED_OK)
        return;
    REQUIRE(work.report.event_count == expected->report.event_count);
    REQUIRE(work.report.string_count == expected->report.string_count);
    /* Without memory a reader cannot list damaged places, and may count one twice. */
    REQUIRE((work.report.loss_count > 0) == (expected->report.loss_count > 0));
}

/* A copy of the trace, which has another file id. NULL: the trace cannot be copied. */
static struct tbed_reader *open_second(const struct work *work)
{
    struct tbed_reader *reader = open_input(work->data, work->nbytes), *second = NULL;
    const char *path = scratch_path("second.tbed");
    struct tbed_cut_options options = {.size = sizeof options, .overwrite = true};
    if (reader != NULL && tbed_trace_cut(reader, path, &options, NULL, NULL) == TBED_OK)
        REQUIRE(tbed_reader_open(path, NULL, &second, NULL) == TBED_OK);
    tbed_reader_close(reader);
    return second;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct failing_plan plan = failing_plan_cut(data, &nbytes);
    struct work work = {.data = data, .nbytes = nbytes};
    work.second = open_second(&work);
    if (work.second == NULL)
        return 0;
    for (work.copy = CUT; work.copy < COPY_COUNT; work.copy++) {
        work.file_errno = 0;
        run(&work, false);
        failing_run(&plan, run_failing, &work);
        for (size_t i = 0; i < ERRNO_COUNT; i++) {
            work.file_errno = file_errnos[i];
            failing_run(&plan, run_failing, &work);
        }
    }
    tbed_reader_close(work.second);
    return 0;
}
