/*
 * Imports Chrome trace events and Perfetto traces while memory runs out or a file call fails. The call must either return an
 * error and leave nothing behind, or produce its usual result.
 *
 * SPDX-License-Identifier: MIT
 */
#include <unistd.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/failing_exchange.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

#define RUNS_MAX 120

static enum tbed_status import_open(struct failing_work *work, const char *to, struct tbed_error *error)
{
    (void)to;
    return tbed_import_open_fd(work->fd, &work->reader, &work->report, error);
}

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const struct failing_plan each = {.run_count = RUNS_MAX};
    static const struct failing_plan each_and_later = {.run_count = RUNS_MAX / 2, .all_later = true};
    struct failing_work work = {.fd = file_of_input(data, nbytes), .nbytes = nbytes, .call = import_open};
    const struct tbed_format *format = tbed_format_of_fd(work.fd);
    scratch_folder();
    if (format != NULL && (format->kind == TBED_FOREIGN_CHROME || format->kind == TBED_FOREIGN_PERFETTO)) {
        failing_work_run(&work, false);
        if (work.reader != NULL)
            work.sum = failing_sum_of_trace(work.reader);
        tbed_reader_close(work.reader);
        work.reader = NULL;
        failing_run(&each, import_failing, &work);
        work.file_errno = failing_errnos[nbytes % FAILING_ERRNO_COUNT];
        failing_run(&each_and_later, import_failing, &work);
    }
    close(work.fd);
    return 0;
}
