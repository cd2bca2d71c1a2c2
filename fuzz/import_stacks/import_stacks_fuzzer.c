/*
 * Whatever the bytes of folded stacks or of a pprof profile are, verify finds nothing wrong with the imported trace, and it
 * has the spans that the report counts; while memory runs out or a file call fails, the import returns an error or its usual
 * result, and leaves nothing behind.
 *
 * SPDX-License-Identifier: MIT
 */
#include <unistd.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/failing_exchange.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/imported.h"
#include "fuzz/support/scratch.h"

#define RUNS_MAX       120
#define FAILING_NBYTES 2048 /* longer files are only imported, and so are most others */

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
    struct failing_work work = {.fd = file_of_input(data, nbytes), .nbytes = nbytes, .call = import_open};
    const struct tbed_format *format = tbed_format_of_fd(work.fd);
    scratch_folder(); /* sets where imports are stored */
    if (format != NULL && (format->kind == TBED_FOREIGN_FOLDED || format->kind == TBED_FOREIGN_PPROF)) {
        failing_work_run(&work, false);
        REQUIRE(work.status == TBED_OK && work.reader != NULL);
        imported_check(work.reader, &work.report);
        work.sum = failing_sum_of_trace(work.reader);
        tbed_reader_close(work.reader);
        work.reader = NULL;
        if (nbytes <= FAILING_NBYTES && nbytes % 32 == 0)
            failing_run(&each, import_failing, &work);
        if (nbytes <= FAILING_NBYTES && nbytes % 4 == 0) {
            work.file_errno = failing_errnos[nbytes / 4 % FAILING_ERRNO_COUNT];
            failing_run(&each, import_failing, &work);
        }
    }
    close(work.fd);
    return 0;
}
