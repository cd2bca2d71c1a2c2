/*
 * Follows the flows of any trace: running and waiting add up to the time of each flow and of each name, parts to rows,
 * and one thread computes the same as three.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid fuzz/statistics/corpus
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/flows.h>

#include "fuzz/support/fuzz.h"

enum { SLOWEST = 5 };

static struct tbed_flows *make_flows(struct tbed_reader *reader, unsigned threads)
{
    struct tbed_flows_options options = {
        .size = sizeof options, .thread_count = threads, .slowest_count = SLOWEST};
    struct tbed_flows *flows;
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    struct tbed_flows *one = make_flows(reader, 1), *three = make_flows(reader, 3);
    size_t count = 0;
    for (; tbed_flows_row(one, count) != NULL; count++)
        check_row(one, three, count);
    REQUIRE(tbed_flows_row(three, count) == NULL);
    check_slowest(one, three);
    tbed_flows_close(one);
    tbed_flows_close(three);
    tbed_reader_close(reader);
    return 0;
}
