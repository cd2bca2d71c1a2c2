/*
 * Which streams have flows; see flow_streams.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/flows/flow_streams.h"

#include "reader/analysis/assembly/block_spans.h"
#include "reader/core/base/workers.h"

#include <stdlib.h>

enum { HAS_POINTS = 1, HAS_WHOLE = 2 };

struct scanner {
    struct block_spans spans;
    bool has_points; /* the current block */
    bool is_out_of_memory;
};

struct scan {
    struct tbed_work work;
    struct scanner *scanners;
    size_t *blocks;
    uint8_t *marks;      /* of each block */
    uint32_t *of_stream; /* the stream of each block */
    uint32_t *passages;  /* struct look_back */
};

static void take_other(void *context, const struct block_spans *spans, const struct tbed_event *event,
                       size_t word)
{
    struct scanner *scanner = context;
    (void)spans;
    (void)word;
    scanner->has_points |= event->type >= TBED_EVENT_ASYNC_BEGIN && event->type <= TBED_EVENT_FLOW_END;
}

static void scan_blocks(struct tbed_work *work, unsigned number)
{
    struct scan *scan = work->context;
    struct scanner *scanner = &scan->scanners[number];
    size_t at;
    while (!scanner->is_out_of_memory && tbed_work_take(work, &at)) {
        scanner->has_points = false;
        enum tbed_status status = tbed_block_spans_read(&scanner->spans, scan->blocks[at]);
        scanner->is_out_of_memory = status == TBED_ERR_MEMORY;
        if (status != TBED_OK)
            continue;
        scan->of_stream[at] = scanner->spans.block.stream;
        scan->marks[at] = (uint8_t)((scanner->has_points ? HAS_POINTS : 0) |
                                    (scanner->spans.whole_count > 0 ? HAS_WHOLE : 0));
    }
}

/* Blocks are numbered by stream. Those that could not be read have no marks. */
static bool list_streams(const struct scan *scan, struct flow_streams *streams)
{
    size_t count = scan->work.item_count;
    unsigned marks = 0;
    streams->items = calloc(count + 1, sizeof *streams->items);
    streams->have_whole = calloc(count + 1, sizeof *streams->have_whole);
    if (streams->items == NULL || streams->have_whole == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (scan->marks[i] == 0)
            continue;
        if (streams->items[streams->count] != scan->of_stream[i]) {
            streams->count += (marks & HAS_POINTS) != 0;
            marks = 0;
        }
        marks |= scan->marks[i];
        streams->items[streams->count] = scan->of_stream[i];
        streams->have_whole[streams->count] = (marks & HAS_WHOLE) != 0;
    }
    streams->count += (marks & HAS_POINTS) != 0;
    return true;
}

static bool run(struct scan *scan, struct tbed_reader *reader, const struct tbed_flows_options *options,
                unsigned worker_count)
{
    bool fine = !tbed_filter_has_failed(options->filter);
    for (unsigned i = 0; i < worker_count; i++) {
        struct scanner *scanner = &scan->scanners[i];
        scanner->spans.reader = scanner->spans.back.reader = reader;
        scanner->spans.back.passages = scan->passages;
        scanner->spans.filter = options->filter;
        scanner->spans.has_categories = options->filter != NULL;
        scanner->spans.other = take_other;
        scanner->spans.other_context = scanner;
    }
    scan->work.run = scan_blocks;
    scan->work.context = scan;
    tbed_work_run(&scan->work, worker_count);
    for (unsigned i = 0; i < worker_count; i++) {
        fine &= !scan->scanners[i].is_out_of_memory;
        tbed_block_spans_free(&scan->scanners[i].spans);
    }
    return fine;
}

bool tbed_flow_streams_find(struct tbed_reader *reader, const struct tbed_flows_options *options,
                            struct flow_streams *streams)
{
    struct scan scan = {0};
    scan.blocks = tbed_filter_list_blocks(options->filter, reader, &scan.work.item_count);
    unsigned worker_count = tbed_worker_count(options->thread_count, scan.work.item_count);
    scan.scanners = calloc(worker_count, sizeof *scan.scanners);
    scan.marks = calloc(scan.work.item_count + 1, sizeof *scan.marks);
    scan.of_stream = calloc(scan.work.item_count + 1, sizeof *scan.of_stream);
    scan.passages = calloc(tbed_event_block_count(reader) + 1, sizeof *scan.passages);
    bool fine = scan.blocks != NULL && scan.scanners != NULL && scan.marks != NULL &&
                scan.of_stream != NULL && scan.passages != NULL &&
                run(&scan, reader, options, worker_count) && list_streams(&scan, streams);
    free(scan.blocks);
    free(scan.scanners);
    free(scan.marks);
    free(scan.of_stream);
    free(scan.passages);
    return fine;
}

void tbed_flow_streams_free(struct flow_streams *streams)
{
    free(streams->items);
    free(streams->have_whole);
}
