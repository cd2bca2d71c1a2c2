/*
 * Exports a trace by stack, and its allocations for heaptrack, while memory runs out. The call must either return an error and
 * leave nothing behind, or produce its usual result.
 *
 * The input is a trace that may be followed by a plan (fuzz/support/failing.h), whose number of runs chooses the format.
 *
 * Mutator: trace
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/export.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/failing_exchange.h"
#include "fuzz/support/fuzz.h"

static const struct {
    const char *name;
    bool by_memory;
} kinds[] = {
    {"folded", false}, {"pprof", true},  {"callgrind", true},  {"speedscope", false}, {"heaptrack", false},
    {"pprof", false},  {"folded", true}, {"callgrind", false}, {"speedscope", true},  {"firefox", true},
};
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

/* 'thread_count' is 1 + the kind: exports have one thread, so that the same call fails each time. */
static enum tbed_status make_export(struct failing_work *work, const char *to, struct tbed_error *error)
{
    struct tbed_export_options options = {.size = sizeof options,
                                          .overwrite = true,
                                          .thread_count = 1,
                                          .by_memory = kinds[work->thread_count - 1].by_memory};
    return tbed_export(tbed_format_find(kinds[work->thread_count - 1].name), &work->reader, 1, to, &options,
                       NULL, error);
}

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
    failing_work_run(&work, false);
    failing_work_expect(&work, expected);
    tbed_reader_close(work.reader);
    failing_descriptors_check(&work, before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct failing_plan plan = failing_plan_cut(data, &nbytes);
    struct failing_work work = {.data = data,
                                .nbytes = nbytes,
                                .makes_file = true,
                                .call = make_export,
                                .destination = DESTINATION_FILE};
    for (unsigned i = plan.run_count % 2; i < KIND_COUNT; i += 2) {
        work.thread_count = i + 1;
        work.reader = open_input(data, nbytes);
        if (work.reader == NULL)
            return 0;
        failing_work_run(&work, false);
        tbed_reader_close(work.reader);
        failing_run(&plan, export_failing, &work);
    }
    return 0;
}
