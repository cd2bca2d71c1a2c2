/*
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/flow_rows.h"

#include <stdlib.h>

const struct tbed_flow *flow_rows_next(const struct tbed_flows *flows, uint64_t begin_tick, uint64_t end_tick,
                                       size_t *index)
{
    const struct tbed_flow *flow;
    while ((flow = tbed_flows_slowest(flows, *index)) != NULL) {
        ++*index;
        if (flow->begin_tick < end_tick && flow->begin_tick + flow->ticks >= begin_tick)
            break;
    }
    return flow;
}

static int compare_begins(const void *left, const void *right)
{
    const struct tbed_flow *a = ((const struct flow_row_span *)left)->flow,
                           *b = ((const struct flow_row_span *)right)->flow;
    if (a->begin_tick != b->begin_tick)
        return a->begin_tick < b->begin_tick ? -1 : 1;
    return a->ticks > b->ticks ? -1 : a->ticks < b->ticks;
}

static uint32_t row_for(uint64_t ends[FLOW_ROWS_MAX], const struct tbed_flow *flow)
{
    uint32_t row = 0;
    while (row < FLOW_ROWS_MAX - 1 && ends[row] > flow->begin_tick)
        row++;
    ends[row] = flow->begin_tick + flow->ticks;
    return row;
}

bool flow_rows_make(struct flow_rows *rows, const struct tbed_flows *flows, uint64_t begin_tick,
                    uint64_t end_tick, size_t most)
{
    const struct tbed_flow *flow;
    uint64_t ends[FLOW_ROWS_MAX] = {0};
    size_t index = 0;
    *rows = (struct flow_rows){0};
    while (rows->spans.count < most && (flow = flow_rows_next(flows, begin_tick, end_tick, &index)) != NULL) {
        struct flow_row_span *span = flow->is_async ? TBED_VECTOR_PUSH(&rows->spans) : NULL;
        if (span != NULL)
            span->flow = flow;
        else if (flow->is_async)
            return false;
    }
    if (rows->spans.count > 1)
        qsort(rows->spans.items, rows->spans.count, sizeof *rows->spans.items, compare_begins);
    for (size_t i = 0; i < rows->spans.count; i++) {
        struct flow_row_span *span = &rows->spans.items[i];
        span->row = row_for(ends, span->flow);
        rows->row_count = span->row >= rows->row_count ? span->row + 1 : rows->row_count;
    }
    return true;
}

void flow_rows_free(struct flow_rows *rows)
{
    tbed_vector_free(&rows->spans.vector);
}

uint64_t flow_rows_total(const struct tbed_flows *flows)
{
    const struct tbed_flow_row *row;
    uint64_t count = 0;
    for (size_t i = 0; (row = tbed_flows_row(flows, i)) != NULL; i++)
        count += row->count;
    return count;
}
