/*
 * flows: arrows between threads, and asynchronous spans; critical: where the time of the slowest flow of a name went.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/answers/answers.h"

#include "reader/analysis/filter/filter.h"

#include <tracebed/flows.h>

#define FLOWS_MAX   10000
#define FLOWS_USUAL 1000
#define NBYTES_MAX  (UINT64_C(32) << 20) /* of events: they are followed one by one, in order of time */

static enum tbed_status make(struct answer *answer, const struct answer_part *part,
                             const struct tbed_filter *names, size_t count, struct tbed_flows **flows_ret)
{
    struct tbed_flows_options options = {.size = sizeof options,
                                         .thread_count = answer->view->jobs,
                                         .filter = part->filter,
                                         .names = names,
                                         .slowest_count = count,
                                         .name = tool_places_name,
                                         .name_context = &answer->trace->places,
                                         .prepare = tool_places_prepare};
    return tbed_flows_make(answer->trace->reader, &options, flows_ret);
}

/* ---- Arrows ---- */

static void put_end(struct answer *answer, const char *key, uint32_t stream, uint64_t tick)
{
    tbed_json_object_open(&answer->json, key);
    tbed_json_u64(&answer->json, "s", stream);
    answer_tick(answer, "t", tick);
    tbed_json_object_close(&answer->json);
}

/* From each point of the flow to the next. */
static void put_arrows_of(struct answer *answer, const struct tbed_flow *flow, size_t *left)
{
    for (size_t i = 1; i<flow->point_count && * left> 0; i++, (*left)--) {
        const struct tbed_flow_point *from = &flow->points[i - 1], *to = &flow->points[i];
        tbed_json_object_open(&answer->json, NULL);
        tbed_json_u64(&answer->json, "id", answer_note(answer, flow->id));
        put_end(answer, "from", from->stream, from->tick);
        put_end(answer, "to", to->stream, to->tick);
        tbed_json_object_close(&answer->json);
    }
}

static void put_arrows(struct answer *answer, const struct tbed_flows *flows, size_t left)
{
    const struct tbed_flow *flow;
    tbed_json_array_open(&answer->json, "arrows");
    for (size_t i = 0; flows != NULL && (flow = tbed_flows_slowest(flows, i)) != NULL; i++)
        if (!flow->is_async)
            put_arrows_of(answer, flow, &left);
    tbed_json_array_close(&answer->json);
}

/* ---- Asynchronous spans: each in the first row that is free ---- */

#define ROWS_MAX 64

static int compare_begins(const void *left, const void *right)
{
    const struct tbed_flow *a = *(const struct tbed_flow *const *)left,
                           *b = *(const struct tbed_flow *const *)right;
    if (a->begin_tick != b->begin_tick)
        return a->begin_tick < b->begin_tick ? -1 : 1;
    return a->ticks > b->ticks ? -1 : a->ticks < b->ticks;
}

static size_t row_for(uint64_t ends[ROWS_MAX], const struct tbed_flow *flow)
{
    size_t row = 0;
    while (row < ROWS_MAX - 1 && ends[row] > flow->begin_tick)
        row++;
    ends[row] = flow->begin_tick + flow->ticks;
    return row;
}

static void put_async(struct answer *answer, const struct tbed_flows *flows)
{
    TBED_VECTOR(const struct tbed_flow *) spans = {0};
    const struct tbed_flow *flow;
    uint64_t ends[ROWS_MAX] = {0};
    for (size_t i = 0; flows != NULL && (flow = tbed_flows_slowest(flows, i)) != NULL; i++) {
        const struct tbed_flow **added = flow->is_async ? TBED_VECTOR_PUSH(&spans) : NULL;
        if (added != NULL)
            *added = flow;
    }
    if (spans.count > 1)
        qsort(spans.items, spans.count, sizeof *spans.items, compare_begins);
    tbed_json_array_open(&answer->json, "async");
    for (size_t i = 0; i < spans.count; i++) {
        flow = spans.items[i];
        tbed_json_object_open(&answer->json, NULL);
        tbed_json_u64(&answer->json, "id", answer_note(answer, flow->id));
        answer_tick(answer, "b", flow->begin_tick);
        answer_tick(answer, "e", flow->begin_tick + flow->ticks);
        tbed_json_u64(&answer->json, "depth", row_for(ends, flow));
        tbed_json_u64(&answer->json, "s", flow->begin_stream);
        tbed_json_object_close(&answer->json);
    }
    tbed_json_array_close(&answer->json);
    tbed_vector_free(&spans.vector);
}

static uint64_t count_flows(const struct tbed_flows *flows)
{
    const struct tbed_flow_row *row;
    uint64_t count = 0;
    for (size_t i = 0; (row = tbed_flows_row(flows, i)) != NULL; i++)
        count += row->count;
    return count;
}

static bool is_too_much(struct answer *answer, const struct answer_part *part)
{
    struct tbed_stream_info stream;
    uint64_t block_count = 0;
    size_t first, count;
    for (size_t i = 0; tbed_stream_get(answer->trace->reader, i, &stream); i++) {
        tbed_filter_blocks(part->filter, answer->trace->reader, stream.stream, &first, &count);
        block_count += count;
    }
    return block_count > NBYTES_MAX / answer->info.page_nbytes;
}

static void put_flows(struct answer *answer, const struct tbed_flows *flows, size_t most)
{
    tbed_json_object_open(&answer->json, NULL);
    put_arrows(answer, flows, most);
    put_async(answer, flows);
    tbed_json_u64(&answer->json, "total", flows != NULL ? count_flows(flows) : 0);
    tbed_json_bool(&answer->json, "complete", flows != NULL); /* false: the window is too large */
    answer_names(answer);
    tbed_json_object_close(&answer->json);
}

enum answer_status answer_flows(struct answer *answer)
{
    struct answer_part part;
    enum answer_status answer_status;
    struct tbed_flows *flows = NULL;
    uint64_t most = FLOWS_USUAL;
    if (!request_number(answer->request, "max", 1, FLOWS_MAX, &most))
        return ANSWER_BAD;
    if (answer_part_open_plain(answer, &part, &answer_status)) {
        enum tbed_status status =
            is_too_much(answer, &part) ? TBED_OK : make(answer, &part, NULL, most, &flows);
        answer_status = status == TBED_OK ? ANSWER_OK : answer_fail(answer, status);
    }
    if (answer_status == ANSWER_OK)
        put_flows(answer, flows, most);
    tbed_flows_close(flows);
    answer_part_close(&part);
    return answer_status;
}

/* ---- The critical path ---- */

static void put_step(struct answer *answer, const struct tbed_flow_stretch *stretch)
{
    struct tbed_json *json = &answer->json;
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, "s", stretch->stream);
    answer_tick(answer, "b", stretch->begin_tick);
    answer_tick(answer, "e", stretch->begin_tick + stretch->ticks);
    tbed_json_string(json, "what", stretch->is_waiting ? "waiting" : "running");
    answer_name(answer, "name", stretch->id);
    tbed_json_object_close(json);
}

static void put_flow(struct answer *answer, const struct tbed_flow *flow)
{
    struct tbed_json *json = &answer->json;
    answer_name(answer, "name", flow->id);
    answer_tick(answer, "b", flow->begin_tick);
    answer_tick(answer, "e", flow->begin_tick + flow->ticks);
    tbed_json_array_open(json, "steps");
    for (size_t i = 0; i < flow->stretch_count; i++)
        put_step(answer, &flow->stretches[i]);
    tbed_json_array_close(json);
}

/* The filter of a label counts for the flows' names; all spans are there. */
enum answer_status answer_critical(struct answer *answer)
{
    struct answer_part part;
    struct answer_part all = {0};
    enum answer_status answer_status;
    struct tbed_flows *flows = NULL;
    const struct tbed_flow *flow = NULL;
    if (answer_part_open(answer, &part, &answer_status) && part.label == NULL) {
        request_refuse(answer->request, "id", "it is missing");
        answer_status = ANSWER_BAD;
    } else if (part.filter != NULL) {
        enum tbed_status status = make(answer, &all, part.filter, 1, &flows);
        answer_status = status == TBED_OK ? ANSWER_OK : answer_fail(answer, status);
    }
    if (answer_status == ANSWER_OK && (flow = tbed_flows_slowest(flows, 0)) == NULL)
        answer_status = answer_refuse(answer, ANSWER_NONE, "no flow of this name has a begin and an end");
    if (answer_status == ANSWER_OK) {
        tbed_json_object_open(&answer->json, NULL);
        put_flow(answer, flow);
        tbed_json_object_close(&answer->json);
    }
    tbed_flows_close(flows);
    answer_part_close(&part);
    return answer_status;
}
