/*
 * Exports a trace for viewers while memory runs out or a file call fails, as fuzz/export_memory does for other formats.
 *
 * Mutator: trace
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/export.h>

#include "fuzz/support/exported.h"
#include "fuzz/support/failing.h"
#include "fuzz/support/failing_exchange.h"
#include "fuzz/support/fuzz.h"

static enum tbed_status export_as(enum tbed_foreign_kind kind, struct failing_work *work, const char *to,
                                  struct tbed_error *error)
{
    struct tbed_reader *readers[] = {work->reader, work->reader};
    struct tbed_export_options options = {
        .size = sizeof options, .overwrite = true, .compression = TBED_COMPRESSION_NONE};
    return tbed_export(format_of_kind(kind), readers, 2, to, &options, NULL, error);
}

static enum tbed_status export_perfetto(struct failing_work *work, const char *to, struct tbed_error *error)
{
    return export_as(TBED_FOREIGN_PERFETTO, work, to, error);
}

static enum tbed_status export_firefox(struct failing_work *work, const char *to, struct tbed_error *error)
{
    return export_as(TBED_FOREIGN_FIREFOX, work, to, error);
}

static enum tbed_status export_otlp(struct failing_work *work, const char *to, struct tbed_error *error)
{
    return export_as(TBED_FOREIGN_OTLP, work, to, error);
}

/* After an export that had no memory, the next one with the same reader must succeed. */
static void export_failing(void *context)
{
    const struct failing_work *expected = context;
    struct failing_work work = *expected;
    struct failing_descriptors before = failing_descriptors_find();
    work.reader = open_input(work.data, work.nbytes);
    REQUIRE(work.reader != NULL);
    failing_work_run(&work, true);
    if (work.status == TBED_OK || failing_count() == 0)
        failing_work_expect(&work, expected);
    if (work.file_errno == 0) {
        failing_work_run(&work, false);
        failing_work_expect(&work, expected);
    }
    tbed_reader_close(work.reader);
    failing_descriptors_check(&work, before);
}

static void check_export(const struct failing_plan *plan, struct failing_work work)
{
    work.reader = open_input(work.data, work.nbytes);
    if (work.reader == NULL)
        return;
    failing_work_run(&work, false);
    tbed_reader_close(work.reader);
    failing_run(plan, export_failing, &work);
    work.file_errno = failing_errnos[0];
    failing_run(plan, export_failing, &work);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct failing_plan plan = failing_plan_cut(data, &nbytes);
    struct failing_work work = {.data = data, .nbytes = nbytes, .makes_file = true, .thread_count = 1};
    work.destination = DESTINATION_FILE;
    work.call = export_perfetto;
    check_export(&plan, work);
    work.call = export_firefox;
    check_export(&plan, work);
    work.destination = DESTINATION_FREE;
    work.call = export_otlp;
    check_export(&plan, work);
    return 0;
}
