/*
 * Parts of a trace, single calls, rows by other keys, sites by stack, leaks and lifetimes, and following, while memory
 * runs out: each must return an error or say the same as with enough memory.
 *
 * The plan follows the last complete page of the trace; see fuzz/support/failing.h.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <tracebed/analysis.h>
#include <tracebed/calls.h>
#include <tracebed/follow.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"

/* NULL: no memory. */
static struct tbed_filter *filter_of(struct tbed_reader *reader)
{
    static const char *const names[] = {"a", "[^x]"}, *const inside[] = {"<unknown>", "main"};
    struct tbed_trace_info info;
    struct tbed_filter *filter;
    char problem[TBED_FILTER_PROBLEM_NBYTES];
    tbed_reader_info(reader, &info);
    struct tbed_filter_options options = {.size = sizeof options,
                                          .thread_count = 1,
                                          .begin_tick = info.first_tick + 1,
                                          .names = names,
                                          .name_count = 2,
                                          .inside = inside,
                                          .inside_count = info.ring_page_count != 0 ? 2 : 0};
    enum tbed_status status = tbed_filter_make(reader, &options, &filter, problem);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    return status == TBED_OK ? filter : NULL;
}

static uint64_t use_statistics(struct tbed_reader *reader, const struct tbed_filter *filter,
                               enum tbed_row_key by)
{
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    uint64_t ticks = info.last_tick > info.first_tick ? info.last_tick - info.first_tick : 0;
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = 1, .filter = filter, .by = by, .by_ticks = ticks / 3 + 1};
    struct tbed_statistics *statistics;
    uint64_t seen = by;
    enum tbed_status status = tbed_statistics_make(reader, &options, &statistics);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    if (status != TBED_OK)
        return FAILING_NO_MEMORY;
    for (size_t i = 0; tbed_statistics_span(statistics, i) != NULL; i++)
        seen = failing_mix(seen, tbed_statistics_span(statistics, i)->count);
    tbed_statistics_close(statistics);
    return seen;
}

static uint64_t use_sites(struct tbed_reader *reader)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1, .by_stack = true};
    struct tbed_allocations *allocations;
    uint64_t seen = 0;
    enum tbed_status status = tbed_allocations_make(reader, &options, &allocations);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    if (status != TBED_OK)
        return FAILING_NO_MEMORY;
    for (size_t i = 0; tbed_allocations_site(allocations, i) != NULL; i++)
        seen = failing_mix(seen, tbed_allocations_site(allocations, i)->sums.nbytes);
    tbed_allocations_close(allocations);
    return seen;
}

static uint64_t use_leaks(struct tbed_reader *reader)
{
    static const char text[] = "leak:a\nleak:*n\n";
    struct tbed_suppressions *suppressions = NULL;
    struct tbed_allocations *allocations;
    const struct tbed_allocation_site *site;
    uint64_t seen = FAILING_NO_MEMORY;
    size_t line;
    enum tbed_status status = tbed_suppressions_open(true, &suppressions);
    if (status == TBED_OK)
        status = tbed_suppressions_add(suppressions, text, sizeof text - 1, &line);
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = 1, .suppressions = suppressions, .keep_lifetimes = true};
    if (status == TBED_OK)
        status = tbed_allocations_make(reader, &options, &allocations);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    if (status == TBED_OK) {
        seen = 0;
        for (size_t i = 0; (site = tbed_allocations_site(allocations, i)) != NULL; i++)
            seen = failing_mix(failing_mix(seen, site->leak_nbytes), site->lifetime_p99_ticks);
        tbed_allocations_close(allocations);
    }
    tbed_suppressions_close(suppressions);
    return seen;
}

static uint64_t use_calls(struct tbed_reader *reader, const struct tbed_filter *filter)
{
    static const uint64_t bounds[] = {0, 10};
    struct tbed_calls_options options = {.size = sizeof options, .thread_count = 1, .filter = filter};
    struct tbed_call calls[3];
    uint64_t counts[2], total;
    size_t found;
    enum tbed_status status = tbed_calls_find(reader, &options, calls, 3, &found, &total);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    if (status != TBED_OK || tbed_calls_count(reader, &options, bounds, 2, counts, NULL) != TBED_OK)
        return FAILING_NO_MEMORY;
    return failing_mix(failing_mix(failing_mix(total, found), counts[0]), counts[1]);
}

static uint64_t use_follow(struct tbed_reader *reader)
{
    struct tbed_follow *follow;
    struct tbed_follow_totals totals;
    enum tbed_status status = tbed_follow_open(reader, &follow);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    if (status != TBED_OK)
        return FAILING_NO_MEMORY;
    tbed_follow_totals(follow, &totals);
    tbed_follow_close(follow);
    return failing_mix(totals.event_count, totals.now_tick);
}

static uint64_t use_rows(struct tbed_reader *reader)
{
    uint64_t seen = 0;
    for (enum tbed_row_key by = TBED_BY_ARGUMENTS; by <= TBED_BY_TIME; by++) {
        uint64_t rows = use_statistics(reader, NULL, by);
        seen = rows == FAILING_NO_MEMORY || seen == FAILING_NO_MEMORY ? FAILING_NO_MEMORY
                                                                      : failing_mix(seen, rows);
    }
    return seen;
}

static uint64_t use_filter(struct tbed_reader *reader)
{
    struct tbed_filter *filter = filter_of(reader);
    if (filter == NULL)
        return FAILING_NO_MEMORY;
    uint64_t calls = use_calls(reader, filter), rows = use_statistics(reader, filter, TBED_BY_LABEL);
    tbed_filter_close(filter);
    return calls == FAILING_NO_MEMORY || rows == FAILING_NO_MEMORY ? FAILING_NO_MEMORY
                                                                   : failing_mix(calls, rows);
}

static uint64_t use_steps(struct tbed_reader *reader)
{
    static const char *const inside[] = {"[^x]"};
    struct tbed_filter_options options = {
        .size = sizeof options, .thread_count = 1, .minimum_ticks = 2, .inside = inside, .inside_count = 1};
    struct tbed_assembler *assembler;
    struct tbed_filter *filter;
    struct tbed_step step;
    uint64_t seen = 0;
    enum tbed_status status = tbed_filter_make(reader, &options, &filter, NULL);
    REQUIRE(status == TBED_OK || status == TBED_ERR_MEMORY);
    if (status != TBED_OK)
        return FAILING_NO_MEMORY;
    status = tbed_assembler_open_filtered(reader, NULL, 0, filter, &assembler);
    if (status == TBED_OK) {
        while ((status = tbed_assembler_next(assembler, &step)) == TBED_OK)
            seen = failing_mix(failing_mix(seen, (uint64_t)step.kind), step.span != NULL ? step.span->id : 0);
        tbed_assembler_close(assembler);
    }
    REQUIRE(status == TBED_END || status == TBED_ERR_MEMORY);
    tbed_filter_close(filter);
    return status == TBED_END ? seen : FAILING_NO_MEMORY;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static failing_use *const uses[] = {use_rows, use_filter, use_steps, use_sites, use_leaks, use_follow};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        failing_use_trace(data, nbytes, uses[i]);
    return 0;
}
