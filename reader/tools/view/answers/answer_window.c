/*
 * window: what to draw of a window of time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/answers/answers.h"

#include <tracebed/window.h>

#define DEPTH_MAX   4096
#define PARTS_MAX   100000
#define PARTS_USUAL 20000
/* A sketch is asked for where this many blocks would take longer than one waits for a picture. */
#define SKETCH_BLOCKS_MIN 200

struct wanted {
    uint64_t columns, depth, parts, page, sequence;
    size_t sketch; /* 0, 1 */
};

static bool take(struct answer *answer, struct wanted *wanted)
{
    struct request *request = answer->request;
    return request_number(request, "w", 1, TBED_WINDOW_COLUMNS_MAX, &wanted->columns) &&
           request_number(request, "depth", 1, DEPTH_MAX, &wanted->depth) &&
           request_number(request, "max", 1, PARTS_MAX, &wanted->parts) &&
           request_number(request, "seq", 0, UINT64_MAX, &wanted->sequence) &&
           request_word(request, "sketch", "0 1", &wanted->sketch);
}

static void put_part(struct answer *answer, const struct tbed_window_part *part)
{
    struct tbed_json *json = &answer->json;
    tbed_json_u64(json, NULL, part->depth);
    answer_tick(answer, NULL, part->begin_tick);
    tbed_json_u64(json, NULL, part->end_tick - part->begin_tick);
    tbed_json_u64(json, NULL, part->count);
    tbed_json_u64(json, NULL, part->ticks);
    tbed_json_u64(json, NULL, part->longest_ticks);
    tbed_json_u64(json, NULL, answer_note(answer, part->id));
    tbed_json_u64(json, NULL, part->open_count);
}

static void put_streams(struct answer *answer, const struct tbed_window *window)
{
    const struct tbed_window_part *part = tbed_window_part(window, 0);
    tbed_json_array_open(&answer->json, "streams");
    for (size_t i = 0; part != NULL;) {
        uint32_t stream = part->stream;
        tbed_json_object_open(&answer->json, NULL);
        tbed_json_u64(&answer->json, "s", stream);
        tbed_json_array_open(&answer->json, "parts");
        for (; part != NULL && part->stream == stream; part = tbed_window_part(window, ++i))
            put_part(answer, part);
        tbed_json_array_close(&answer->json);
        tbed_json_object_close(&answer->json);
    }
    tbed_json_array_close(&answer->json);
}

static void put(struct answer *answer, const struct wanted *wanted, const struct tbed_window *window)
{
    struct tbed_json *json = &answer->json;
    struct tbed_window_info info;
    tbed_window_info(window, &info);
    tbed_json_object_open(json, NULL);
    answer_tick(answer, "b", info.begin_tick);
    answer_tick(answer, "e", info.end_tick);
    tbed_json_u64(json, "column", info.column_ticks);
    tbed_json_bool(json, "exact", info.is_exact);
    tbed_json_u64(json, "seq", wanted->sequence);
    tbed_json_u64(json, "span_count", info.span_count);
    tbed_json_u64(json, "deeper_count", info.deeper_count);
    tbed_json_u64(json, "unknown_count", info.unknown_count);
    tbed_json_u64(json, "blocks", info.block_count);
    tbed_json_u64(json, "headers", info.header_count);
    tbed_json_u64(json, "bad_blocks", info.bad_block_count);
    put_streams(answer, window);
    answer_names(answer);
    tbed_json_object_close(json);
}

static enum answer_status make(struct answer *answer, const struct wanted *wanted, const bool *is_cancelled)
{
    struct answer_part part;
    enum answer_status answer_status;
    struct tbed_window *window = NULL;
    if (answer_part_open(answer, &part, &answer_status)) {
        struct tbed_window_options options = {.size = sizeof options,
                                              .thread_count = answer->view->jobs,
                                              .filter = part.filter,
                                              .column_count = (uint32_t)wanted->columns,
                                              .depth_count = (uint32_t)wanted->depth,
                                              .part_max = wanted->parts,
                                              .exact_block_max = wanted->sketch ? SKETCH_BLOCKS_MIN : 0,
                                              .is_cancelled = is_cancelled};
        enum tbed_status status = tbed_window_make(answer->trace->reader, &options, &window);
        answer_status = status == TBED_OK ? ANSWER_OK : answer_fail(answer, status);
    }
    if (answer_status == ANSWER_OK)
        put(answer, wanted, window);
    tbed_window_close(window);
    answer_part_close(&part);
    return answer_status;
}

enum answer_status answer_window(struct answer *answer)
{
    struct wanted wanted = {.columns = 1600, .depth = DEPTH_MAX, .parts = PARTS_USUAL};
    if (!take(answer, &wanted))
        return ANSWER_BAD;
    struct view_window *entry =
        view_window_begin(answer->view, request_page(answer->request), wanted.sequence);
    if (entry == NULL)
        return answer_refuse(answer, ANSWER_CANCELLED, "there is a newer request");
    enum answer_status status = make(answer, &wanted, &entry->is_cancelled);
    view_window_end(answer->view, entry);
    return status;
}
