/*
 * Follows the flows of any trace, all of them and some: running and waiting add up to the time of each flow and of each
 * name, parts to rows, and one thread computes the same as three.
 *
 * fuzz/support/conditions.h says what the bytes behind the last whole page mean.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid fuzz/statistics/corpus fuzz/filter/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/flows.h>

#include "fuzz/support/conditions.h"
#include "fuzz/support/fuzz.h"

enum { SLOWEST = 5 };

static struct tbed_flows *make_flows(struct tbed_reader *reader, const struct tbed_flows_options *which,
                                     unsigned threads)
{
    struct tbed_flows_options options = *which;
    struct tbed_flows *flows;
    options.size = sizeof options;
    options.thread_count = threads;
    options.slowest_count = SLOWEST;
    REQUIRE(tbed_flows_make(reader, &options, &flows) == TBED_OK);
    return flows;
}

/* Sums end at the highest number, and begin again at 0 in the total. */
static bool add_up(uint64_t running, uint64_t waiting, uint64_t total)
{
    return running + waiting == total || running == UINT64_MAX || waiting == UINT64_MAX;
}

static void check_row(const struct tbed_flows *one, const struct tbed_flows *three, size_t index)
{
    const struct tbed_flow_row *row = tbed_flows_row(one, index), *same = tbed_flows_row(three, index);
    const struct tbed_flow_part *part, *before = NULL;
    uint64_t sums[2] = {0};
    REQUIRE(same != NULL && strcmp(row->name, same->name) == 0 && row->is_async == same->is_async);
    REQUIRE(row->count == same->count && row->open_count == same->open_count);
    REQUIRE(row->total_ticks == same->total_ticks && row->waiting_ticks == same->waiting_ticks);
    REQUIRE(row->lost_end_count == same->lost_end_count && row->part_count == same->part_count);
    REQUIRE(add_up(row->running_ticks, row->waiting_ticks, row->total_ticks));
    REQUIRE(row->min_ticks <= row->p50_ticks && row->p99_ticks <= row->max_ticks);
    for (size_t i = 0; (part = tbed_flows_part(one, index, i)) != NULL; i++, before = part) {
        REQUIRE(part->name[part->name_nbytes] == 0 && part->ticks > 0);
        REQUIRE(before == NULL || before->ticks >= part->ticks);
        sums[part->is_waiting] += part->ticks;
    }
    REQUIRE(sums[0] == row->running_ticks || row->running_ticks == UINT64_MAX);
    REQUIRE(sums[1] == row->waiting_ticks || row->waiting_ticks == UINT64_MAX);
}

static void check_slowest(const struct tbed_flows *one, const struct tbed_flows *three)
{
    const struct tbed_flow *flow, *before = NULL;
    size_t count = 0;
    for (; (flow = tbed_flows_slowest(one, count)) != NULL; count++, before = flow) {
        const struct tbed_flow *same = tbed_flows_slowest(three, count);
        uint64_t ticks = 0;
        for (size_t i = 0; i < flow->stretch_count; i++)
            ticks += flow->stretches[i].ticks;
        REQUIRE(ticks == flow->ticks && (before == NULL || before->ticks >= flow->ticks));
        REQUIRE(same != NULL && same->ticks == flow->ticks && same->key == flow->key);
        REQUIRE(same->stretch_count == flow->stretch_count && same->begin_tick == flow->begin_tick);
    }
    REQUIRE(count <= SLOWEST && tbed_flows_slowest(three, count) == NULL);
}

/* Returns the number of flows that began and ended. */
static uint64_t check(struct tbed_reader *reader, const struct tbed_flows_options *which)
{
    struct tbed_flows *one = make_flows(reader, which, 1), *three = make_flows(reader, which, 3);
    uint64_t flow_count = 0;
    size_t count = 0;
    for (; tbed_flows_row(one, count) != NULL; count++) {
        check_row(one, three, count);
        flow_count += tbed_flows_row(one, count)->count;
    }
    REQUIRE(tbed_flows_row(three, count) == NULL && tbed_flows_part(one, count, 0) == NULL);
    check_slowest(one, three);
    tbed_flows_close(one);
    tbed_flows_close(three);
    return flow_count;
}

static void check_some(struct tbed_reader *reader, const uint8_t *data, size_t nbytes, uint64_t all)
{
    struct tbed_analysis_options options = {.size = sizeof options, .thread_count = 1};
    struct tbed_statistics *statistics;
    REQUIRE(tbed_statistics_make(reader, &options, &statistics) == TBED_OK);
    struct conditions conditions = choose_conditions(reader, statistics, data, nbytes);
    struct tbed_filter *filter = filter_of_conditions(reader, &conditions);
    uint64_t key = conditions.kinds % 4;
    check(reader, &(struct tbed_flows_options){.filter = filter});
    REQUIRE(check(reader, &(struct tbed_flows_options){.names = filter}) <= all);
    REQUIRE(check(reader, &(struct tbed_flows_options){.key = &key}) <= all);
    tbed_filter_close(filter);
    tbed_statistics_close(statistics);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_flows_options none = {.size = 0};
    struct tbed_flows *refused = NULL;
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    REQUIRE(tbed_flows_make(reader, &none, &refused) == TBED_ERR_ARGUMENT && refused == NULL);
    tbed_flows_close(NULL);
    check_some(reader, data, nbytes, check(reader, &(struct tbed_flows_options){.size = 0}));
    tbed_reader_close(reader);
    return 0;
}
