/*
 * Imports a foreign file while memory runs out or a file call fails. The call must either return an error and leave nothing
 * behind, or produce its usual result.
 *
 * Seeds: fuzz/import/corpus fuzz/rtl_log/corpus
 * Seeds: fuzz/profile/corpus
 * Seeds: fuzz/import_spall/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/analysis.h>
#include <unistd.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/failing_exchange.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

#define RUNS_MAX 300

static uint64_t sum_of_statistics(const struct tbed_statistics *statistics)
{
    const struct tbed_span_row *row;
    uint64_t sum = FAILING_SUM_START;
    for (size_t i = 0; (row = tbed_statistics_span(statistics, i)) != NULL; i++) {
        sum = failing_sum(sum, row->name, row->name_nbytes);
        sum = failing_sum(sum, &row->total_ticks, sizeof row->total_ticks);
    }
    return sum;
}

static enum tbed_status import(struct failing_work *work, const char *to, struct tbed_error *error)
{
    struct tbed_import_options options = {.size = sizeof options, .overwrite = true};
    return tbed_import_fd(work->fd, to, &options, &work->report, error);
}

static enum tbed_status import_by_path(struct failing_work *work, const char *to, struct tbed_error *error)
{
    return tbed_import(scratch_path("from"), to, NULL, &work->report, error);
}

static enum tbed_status import_open(struct failing_work *work, const char *to, struct tbed_error *error)
{
    (void)to;
    return tbed_import_open_fd(work->fd, &work->reader, &work->report, error);
}

static enum tbed_status count_in_place(struct failing_work *work, const char *to, struct tbed_error *error)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = work->thread_count};
    struct tbed_statistics *statistics = NULL;
    struct tbed_statistics_totals totals;
    (void)to;
    enum tbed_status status = tbed_statistics_make_foreign_fd(work->fd, &options, &statistics, error);
    if (status == TBED_OK) {
        tbed_statistics_totals(statistics, &totals);
        work->report.damage_count = totals.foreign_damage_count;
        work->sum = sum_of_statistics(statistics);
    }
    tbed_statistics_close(statistics);
    return status;
}

/* ---- Injected failures ---- */

static void import_failing(void *context)
{
    const struct failing_work *expected = context;
    struct failing_work work = *expected;
    struct failing_descriptors before = failing_descriptors_find();
    failing_work_run(&work, true);
    if (work.status == TBED_OK && work.reader != NULL)
        work.sum = failing_sum_of_trace(work.reader);
    if (work.status == TBED_OK || failing_count() == 0)
        failing_work_expect(&work, expected);
    tbed_reader_close(work.reader);
    failing_descriptors_check(&work, before);
}

static void check_import(struct failing_work work)
{
    static const struct failing_plan each = {.run_count = RUNS_MAX};
    static const struct failing_plan each_and_later = {.run_count = RUNS_MAX, .all_later = true};
    failing_work_run(&work, false);
    if (work.reader != NULL)
        work.sum = failing_sum_of_trace(work.reader);
    tbed_reader_close(work.reader);
    work.reader = NULL;
    failing_run(&each, import_failing, &work);
    work.file_errno = failing_errnos[work.nbytes % FAILING_ERRNO_COUNT];
    failing_run(&each, import_failing, &work);
    failing_run(&each_and_later, import_failing, &work);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct failing_work work = {
        .fd = file_of_input(data, nbytes), .nbytes = nbytes, .thread_count = 1 + nbytes % 2};
    scratch_put(scratch_path("from"), data, nbytes);
    work.call = import_open;
    check_import(work);
    work.call = count_in_place;
    check_import(work);
    work.makes_file = true;
    bool is_by_path = nbytes / 2 % 2 == 0;
    work.call = is_by_path ? import_by_path : import;
    work.destination = is_by_path ? DESTINATION_FREE : DESTINATION_FILE;
    check_import(work);
    close(work.fd);
    return 0;
}
