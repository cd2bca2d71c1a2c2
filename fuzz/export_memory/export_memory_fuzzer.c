/*
 * Exports a trace while memory runs out or a file call fails. The call must either return an error and leave nothing behind,
 * or produce its usual result.
 *
 * The input is a trace that may be followed by a plan (fuzz/support/failing.h). If the plan has an even number of runs,
 * exports have a filter and two threads.
 *
 * Mutator: trace
 * Seeds: fuzz/export_profile/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/failing.h"
#include "fuzz/support/failing_exchange.h"
#include "fuzz/support/fuzz.h"

static enum tbed_status export_chrome(struct failing_work *work, const char *to, struct tbed_error *error)
{
    struct tbed_reader *readers[] = {work->reader, work->reader};
    const struct tbed_filter *filters[] = {work->filter, NULL};
    struct tbed_chrome_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .collapse_threads = true,
                                          .thread_count = work->thread_count,
                                          .filters = filters};
    return tbed_export_chrome(readers, 2, to, &options, NULL, error);
}

static enum tbed_status export_profile(struct failing_work *work, const char *to, struct tbed_error *error)
{
    struct tbed_profile_export_options options = {
        .size = sizeof options, .overwrite = true, .filter = work->filter};
    return tbed_export_profile(work->reader, to, &options, NULL, error);
}

static enum tbed_status export_rtl_log(struct failing_work *work, const char *to, struct tbed_error *error)
{
    struct tbed_rtl_options options = {.size = sizeof options, .overwrite = true, .filter = work->filter};
    return tbed_export_rtl_log(work->reader, to, &options, NULL, error);
}

/* ---- Injected failures ---- */

static void open_trace(struct failing_work *work)
{
    struct tbed_trace_info info;
    work->reader = open_input(work->data, work->nbytes);
    if (work->reader == NULL || !work->has_filter)
        return;
    tbed_reader_info(work->reader, &info);
    struct tbed_filter_options options = {
        .size = sizeof options, .begin_tick = info.first_tick + (info.last_tick - info.first_tick) / 3};
    REQUIRE(tbed_filter_make(work->reader, &options, &work->filter, NULL) == TBED_OK);
}

static void close_trace(struct failing_work *work)
{
    tbed_filter_close(work->filter);
    tbed_reader_close(work->reader);
    work->filter = NULL;
}

/* After an export that had no memory, the next one with the same reader must succeed. */
static void export_failing(void *context)
{
    const struct failing_work *expected = context;
    struct failing_work work = *expected;
    struct failing_descriptors before = failing_descriptors_find();
    open_trace(&work);
    REQUIRE(work.reader != NULL);
    failing_work_run(&work, true);
    if (work.status == TBED_OK || failing_count() == 0)
        failing_work_expect(&work, expected);
    if (work.file_errno == 0) {
        failing_work_run(&work, false);
        failing_work_expect(&work, expected);
    }
    close_trace(&work);
    failing_descriptors_check(&work, before);
}

static void check_export(const struct failing_plan *plan, struct failing_work work)
{
    open_trace(&work);
    if (work.reader == NULL)
        return;
    failing_work_run(&work, false);
    close_trace(&work);
    failing_run(plan, export_failing, &work);
    for (size_t i = 0; i < FAILING_ERRNO_COUNT; i++) {
        work.file_errno = failing_errnos[i];
        failing_run(plan, export_failing, &work);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct failing_plan plan = failing_plan_cut(data, &nbytes);
    struct failing_work work = {.data = data, .nbytes = nbytes, .makes_file = true};
    work.has_filter = plan.run_count % 2 == 0;
    work.thread_count = work.has_filter ? 2 : 1;
    work.call = export_chrome;
    check_export(&plan, work);
    work.call = export_profile;
    work.destination = DESTINATION_FILE;
    check_export(&plan, work);
    work.call = export_rtl_log;
    work.destination = DESTINATION_FREE;
    check_export(&plan, work);
    return 0;
}
