/*
 * flows: arrows between threads, and asynchronous spans; critical: where the time of the slowest flow of a name went.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/answers/answers.h"
#include "reader/tools/view/flow_rows.h"

#include "reader/analysis/filter/filter.h"

#include <tracebed/flows.h>

#define FLOWS_MAX   10000
#define FLOWS_USUAL 1000
#define NBYTES_MAX  (UINT64_C(32) << 20) /* of events: they are followed one by one, in order of time */
#define AROUND_MAX  (UINT64_C(8) << 20)  /* the same, where the window is part of them */

/* The flows that have to do with a window. */
struct found {
    struct tbed_flows *flows; /* NULL: the window is too large */
    uint64_t begin_tick, end_tick;
    bool is_wider; /* than the window: 'flows' has more */
};

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

static uint64_t count_inside(const struct found *found)
{
    uint64_t count = 0;
    size_t index = 0;
    if (found->flows != NULL && !found->is_wider)
        return flow_rows_total(found->flows);
    while (found->flows != NULL &&
           flow_rows_next(found->flows, found->begin_tick, found->end_tick, &index) != NULL)
        count++;
    return count;
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
static void put_arrows_of(struct answer *answer, const struct tbed_flow *flow)
{
    for (size_t i = 1; i < flow->point_count; i++) {
        const struct tbed_flow_point *from = &flow->points[i - 1], *to = &flow->points[i];
        tbed_json_object_open(&answer->json, NULL);
        tbed_json_u64(&answer->json, "id", answer_note(answer, flow->id));
        put_end(answer, "from", from->stream, from->tick);
        put_end(answer, "to", to->stream, to->tick);
        tbed_json_object_close(&answer->json);
    }
}

/* Those of the slowest flows, at most 'left' arrows. Returns how many flows these are. */
static uint64_t put_arrows(struct answer *answer, const struct found *found, size_t left)
{
    const struct tbed_flow *flow;
    uint64_t count = 0;
    size_t index = 0;
    tbed_json_array_open(&answer->json, "arrows");
    while (found->flows != NULL &&
           (flow = flow_rows_next(found->flows, found->begin_tick, found->end_tick, &index)) != NULL)
        if (!flow->is_async && flow->point_count - 1 <= left) {
            put_arrows_of(answer, flow);
            left -= flow->point_count - 1;
            count++;
        }
    tbed_json_array_close(&answer->json);
    return count;
}

/* ---- Asynchronous spans ---- */

/* Returns how many. */
static uint64_t put_async(struct answer *answer, const struct found *found, size_t most)
{
    struct flow_rows rows = {0};
    tbed_json_array_open(&answer->json, "async");
    if (found->flows != NULL &&
        !flow_rows_make(&rows, found->flows, found->begin_tick, found->end_tick, most))
        answer->text.is_out_of_memory = true;
    for (size_t i = 0; i < rows.spans.count; i++) {
        const struct tbed_flow *flow = rows.spans.items[i].flow;
        tbed_json_object_open(&answer->json, NULL);
        tbed_json_u64(&answer->json, "id", answer_note(answer, flow->id));
        answer_tick(answer, "b", flow->begin_tick);
        answer_tick(answer, "e", flow->begin_tick + flow->ticks);
        tbed_json_u64(&answer->json, "depth", rows.spans.items[i].row);
        tbed_json_u64(&answer->json, "s", flow->begin_stream);
        tbed_json_object_close(&answer->json);
    }
    tbed_json_array_close(&answer->json);
    uint64_t count = rows.spans.count;
    flow_rows_free(&rows);
    return count;
}

/* Blocks may be much smaller than a page, so their size is taken from that of the file. */
static bool is_too_much(struct answer *answer, const struct answer_part *part, uint64_t nbytes_max)
{
    struct tbed_stream_info stream;
    uint64_t block_count = 0;
    size_t first, count;
    for (size_t i = 0; tbed_stream_get(answer->trace->reader, i, &stream); i++) {
        tbed_filter_blocks(part->filter, answer->trace->reader, stream.stream, &first, &count);
        block_count += count;
    }
    return (double)block_count * (double)answer->info.file_nbytes >
           (double)nbytes_max * (double)answer->info.event_block_count;
}

static enum tbed_status widen(struct answer *answer, const struct answer_part *part, uint64_t ticks,
                              struct answer_part *wide_ret)
{
    uint64_t before = part->begin_tick - answer->info.first_tick;
    uint64_t after = answer->end_tick > part->end_tick ? answer->end_tick - part->end_tick : 0;
    uint64_t begin = part->begin_tick - (before < ticks ? before : ticks);
    uint64_t end = part->end_tick + (after < ticks ? after : ticks);
    struct tbed_filter_options which = {.size = sizeof which,
                                        .begin_tick = begin,
                                        .end_tick = end,
                                        .streams = part->streams,
                                        .stream_count = part->stream_count};
    *wide_ret = (struct answer_part){.begin_tick = begin, .end_tick = end};
    return tbed_filter_make(answer->trace->reader, &which, &wide_ret->filter, NULL);
}

/*
 * Looks for flows in the window and around it, as far as that costs little: what begins before the window, or ends after it,
 * is known only then. If there are more flows around it than are kept, only the window counts.
 */
static enum tbed_status make_around(struct answer *answer, const struct answer_part *part,
                                    struct tbed_flows **flows_ret)
{
    uint64_t ticks = answer->end_tick - answer->info.first_tick,
             least = (part->end_tick - part->begin_tick) / 4 + 1;
    enum tbed_status status = TBED_OK;
    for (; status == TBED_OK && *flows_ret == NULL && ticks >= least; ticks /= 4) {
        struct answer_part wide;
        status = widen(answer, part, ticks, &wide);
        if (status == TBED_OK && !is_too_much(answer, &wide, AROUND_MAX))
            status = make(answer, &wide, NULL, FLOWS_MAX, flows_ret);
        tbed_filter_close(wide.filter);
        if (status == TBED_OK && *flows_ret != NULL && flow_rows_total(*flows_ret) > FLOWS_MAX) {
            tbed_flows_close(*flows_ret);
            *flows_ret = NULL;
        }
    }
    return status;
}

static enum tbed_status find(struct answer *answer, const struct answer_part *part, struct found *found)
{
    enum tbed_status status = make_around(answer, part, &found->flows);
    found->is_wider = found->flows != NULL;
    if (status == TBED_OK && found->flows == NULL && !is_too_much(answer, part, NBYTES_MAX))
        status = make(answer, part, NULL, FLOWS_MAX, &found->flows);
    return status;
}

static void put_flows(struct answer *answer, const struct found *found, size_t most)
{
    tbed_json_object_open(&answer->json, NULL);
    uint64_t count = put_arrows(answer, found, most);
    count += put_async(answer, found, most);
    tbed_json_u64(&answer->json, "left_out", count_inside(found) - count);
    tbed_json_bool(&answer->json, "complete", found->flows != NULL); /* false: the window is too large */
    answer_names(answer);
    tbed_json_object_close(&answer->json);
}

enum answer_status answer_flows(struct answer *answer)
{
    struct answer_part part;
    enum answer_status answer_status;
    struct found found = {0};
    uint64_t most = FLOWS_USUAL;
    if (!request_number(answer->request, "max", 1, FLOWS_MAX, &most))
        return ANSWER_BAD;
    if (answer_part_open_plain(answer, &part, &answer_status)) {
        found.begin_tick = part.begin_tick;
        found.end_tick = part.end_tick;
        enum tbed_status status = find(answer, &part, &found);
        answer_status = status == TBED_OK ? ANSWER_OK : answer_fail(answer, status);
    }
    if (answer_status == ANSWER_OK)
        put_flows(answer, &found, most);
    tbed_flows_close(found.flows);
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
