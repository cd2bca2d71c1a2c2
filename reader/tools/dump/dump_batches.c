/*
 * Events formatted on all cores and printed in order.
 *
 * The main thread reads the events and looks up the names in them (names_ahead.h), so the output does not depend on what
 * the other threads do.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/base/batches.h"
#include "reader/core/base/workers.h"
#include "reader/core/events/kept_events.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/names/names_ahead.h"
#include "reader/tools/dump/dump.h"

#include <stdlib.h>

struct item {
    struct tbed_event event;
    uint32_t depth;
};

struct dump_batches {
    struct tbed_batches *batches;
    struct dump *threads; /* a copy for each */
    unsigned thread_count;
    struct tbed_names_ahead names;
    bool is_live_ring; /* being written: what an event points to does not outlive the next one */
};

static void work(void *context, unsigned thread, struct tbed_batch *batch)
{
    struct dump_batches *batches = context;
    struct dump *dump = &batches->threads[thread];
    const struct item *items = batch->items;
    dump->out = (struct tbed_json){.text = &batch->text};
    for (size_t i = 0; i < batch->count; i++)
        if (dump->json)
            dump_json_event(dump, &items[i].event);
        else
            dump_text_event(dump, &items[i].event, items[i].depth);
}

static void put(void *context, const struct tbed_batch *batch)
{
    (void)context;
    tool_check_text(&batch->text);
    fwrite_unlocked(batch->text.bytes, 1, batch->text.nbytes, stdout);
}

void dump_batches_open(struct dump *dump)
{
    struct dump_batches *batches = tool_realloc(NULL, sizeof *batches);
    *batches = (struct dump_batches){.is_live_ring = dump->info.ring_page_count != 0 && !dump->info.shut};
    batches->thread_count = batches->is_live_ring ? 1 : tbed_worker_count(dump->jobs, SIZE_MAX);
    batches->threads = tool_realloc(NULL, batches->thread_count * sizeof *batches->threads);
    for (unsigned i = 0; i < batches->thread_count; i++)
        batches->threads[i] = *dump;
    if (!tbed_names_ahead_open(&batches->names, dump->reader))
        tool_out_of_memory();
    const struct tbed_batches_job job = {.item_nbytes = sizeof(struct item),
                                         .thread_count = batches->thread_count,
                                         .work = work,
                                         .put = put,
                                         .let_go = tbed_batch_let_go,
                                         .context = batches};
    batches->batches = tbed_batches_open(&job);
    if (batches->batches == NULL)
        tool_out_of_memory();
    dump->batches = batches;
}

void dump_batches_add(struct dump *dump, const struct tbed_event *event, uint32_t depth)
{
    if (!tbed_names_ahead_take(&dump->batches->names, event))
        tbed_batches_work_alone(dump->batches->batches);
    struct item *item = tbed_batches_push(dump->batches->batches);
    item->event = *event;
    item->depth = depth;
    tbed_batch_keep_event(dump->batches->batches, &dump->reader->map, event);
    if (dump->batches->is_live_ring)
        tbed_batches_finish(dump->batches->batches);
}

void dump_batches_close(struct dump *dump)
{
    struct dump_batches *batches = dump->batches;
    if (batches == NULL)
        return;
    tbed_batches_finish(batches->batches);
    tbed_batches_close(batches->batches);
    for (unsigned i = 0; i < batches->thread_count; i++) {
        free(batches->threads[i].line.bytes);
        free(batches->threads[i].name.bytes);
    }
    free(batches->threads);
    tbed_names_ahead_close(&batches->names);
    free(batches);
    dump->batches = NULL;
}
