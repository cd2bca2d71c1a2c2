/*
 * The allocations of any trace: every block is live or has ended, and processes, sites and totals agree.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/analysis.h>

#include "fuzz/support/fuzz.h"

static void check_sums(const struct tbed_allocation_sums *sums)
{
    REQUIRE(sums->freed_count + sums->replaced_count + sums->live_count == sums->count);
    REQUIRE(sums->temporary_count <= sums->freed_count); /* sums of bytes may wrap */
}

static void add(struct tbed_allocation_sums *total, const struct tbed_allocation_sums *sums)
{
    total->count += sums->count;
    total->nbytes += sums->nbytes;
    total->freed_count += sums->freed_count;
    total->replaced_count += sums->replaced_count;
    total->temporary_count += sums->temporary_count;
    total->failed_count += sums->failed_count;
    total->live_count += sums->live_count;
    total->live_nbytes += sums->live_nbytes;
    total->peak_nbytes += sums->peak_nbytes;
}

static struct tbed_allocation_sums add_processes(const struct tbed_allocations *allocations)
{
    struct tbed_allocation_sums total = {0};
    const struct tbed_allocation_process *process;
    for (size_t i = 0; (process = tbed_allocations_process(allocations, i)) != NULL; i++) {
        check_sums(&process->sums);
        REQUIRE(process->sums.live_nbytes <= process->sums.peak_nbytes);
        add(&total, &process->sums);
    }
    return total;
}

static struct tbed_allocation_sums add_sites(const struct tbed_allocations *allocations)
{
    struct tbed_allocation_sums total = {0};
    const struct tbed_allocation_site *site;
    for (size_t i = 0; (site = tbed_allocations_site(allocations, i)) != NULL; i++) {
        check_sums(&site->sums);
        REQUIRE(site->name[site->name_nbytes] == 0);
        add(&total, &site->sums);
    }
    return total;
}

static void check_moments(const struct tbed_allocations *allocations, uint64_t count)
{
    const struct tbed_allocation_moment *moment;
    uint64_t sum = 0, tick = 0;
    size_t moments = 0;
    for (; (moment = tbed_allocations_moment(allocations, moments)) != NULL; moments++) {
        REQUIRE(moment->live_nbytes <= moment->peak_nbytes && moment->tick >= tick);
        tick = moment->tick;
        sum += moment->count;
    }
    REQUIRE(moments == 0 || sum == count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_analysis_options options = {
        .size = sizeof options, .thread_count = 1 + nbytes / 8 % 2, .moment_count = nbytes % 16};
    struct tbed_allocations *allocations;
    struct tbed_allocation_sums totals;
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    REQUIRE(tbed_allocations_make(reader, &options, &allocations) == TBED_OK);
    tbed_allocations_totals(allocations, &totals);
    struct tbed_allocation_sums processes = add_processes(allocations), sites = add_sites(allocations);
    REQUIRE(memcmp(&totals, &processes, sizeof totals) == 0);
    REQUIRE(memcmp(&totals, &sites, sizeof totals) == 0);
    check_moments(allocations, totals.count);
    tbed_allocations_close(allocations);
    tbed_reader_close(reader);
    return 0;
}
