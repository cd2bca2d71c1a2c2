/*
 * Any file of suppressions, tracebed's or valgrind's: it is taken, or refused with the number of a line; then each live block
 * of a trace is a leak or is suppressed by one of them, whatever the number of threads. If memory runs out on the way, that
 * fails or gives the same.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/analysis.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/rich_trace.h"
#include "fuzz/support/scratch.h"

#define RUNS_MAX 60

struct use {
    const char *text;
    size_t nbytes;
    struct tbed_reader *reader;
    uint64_t expected;
};

/* NULL: no memory. */
static struct tbed_suppressions *suppressions_of(const struct use *use)
{
    struct tbed_suppressions *suppressions;
    size_t line = 0;
    if (tbed_suppressions_open(use->nbytes % 2 == 0, &suppressions) != TBED_OK)
        return NULL;
    size_t skipped = tbed_suppressions_skipped_count(suppressions);
    enum tbed_status status = tbed_suppressions_add(suppressions, use->text, use->nbytes, &line);
    REQUIRE(status == TBED_OK || status == TBED_ERR_ARGUMENT || status == TBED_ERR_MEMORY);
    if (status == TBED_ERR_ARGUMENT) /* then it has none of the file */
        REQUIRE(line > 0 && line <= use->nbytes + 1 &&
                tbed_suppressions_skipped_count(suppressions) == skipped);
    if (status != TBED_ERR_MEMORY)
        return suppressions;
    tbed_suppressions_close(suppressions);
    return NULL;
}

static uint64_t sum_up(const struct tbed_allocations *allocations)
{
    const struct tbed_allocation_suppression *suppression;
    const struct tbed_allocation_site *site;
    struct tbed_allocation_sums totals;
    uint64_t seen = 0, count = 0;
    tbed_allocations_totals(allocations, &totals);
    for (size_t i = 0; (site = tbed_allocations_site(allocations, i)) != NULL; i++) {
        count += site->leak_count;
        seen = failing_mix(failing_mix(seen, site->leak_nbytes), site->id);
    }
    for (size_t i = 0; (suppression = tbed_allocations_suppression(allocations, i)) != NULL; i++) {
        REQUIRE(suppression->pattern != NULL && suppression->site_count <= suppression->count);
        count += suppression->count;
        seen = failing_mix(failing_mix(seen, suppression->nbytes), strlen(suppression->pattern));
    }
    REQUIRE(count == totals.live_count);
    return seen;
}

static uint64_t find_leaks(const struct use *use, unsigned thread_count)
{
    struct tbed_suppressions *suppressions = suppressions_of(use);
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = thread_count, .suppressions = suppressions};
    struct tbed_allocations *allocations;
    if (suppressions == NULL)
        return FAILING_NO_MEMORY;
    enum tbed_status status = tbed_allocations_make(use->reader, &options, &allocations);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    uint64_t seen = FAILING_NO_MEMORY;
    if (status == TBED_OK) {
        seen = sum_up(allocations);
        tbed_allocations_close(allocations);
    }
    tbed_suppressions_close(suppressions);
    return seen;
}

static void find_failing(void *given)
{
    const struct use *use = given;
    failing_start();
    uint64_t seen = find_leaks(use, 1);
    failing_stop();
    REQUIRE(seen == use->expected || failing_count() > 0);
}

static struct tbed_reader *open_trace(void)
{
    static struct tbed_reader *reader;
    if (reader == NULL) {
        rich_trace_put(scratch_path("trace"));
        REQUIRE(tbed_reader_open(scratch_path("trace"), NULL, &reader, NULL) == TBED_OK);
    }
    return reader;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const struct failing_plan each = {.run_count = RUNS_MAX};
    const uint8_t *copy = guarded_copy(data, nbytes);
    if (copy == NULL)
        return 0;
    struct use use = {.text = (const char *)copy, .nbytes = nbytes, .reader = open_trace()};
    use.expected = find_leaks(&use, 1);
    REQUIRE(use.expected == find_leaks(&use, 3));
    failing_run(&each, find_failing, &use);
    return 0;
}
