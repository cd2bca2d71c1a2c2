/*
 * Events formatted on all cores and printed in order.
 *
 * The main thread reads the events and looks up the names in them, so that names are made, and damage in them is found, in
 * the order of the events. The other threads find these names in the reader's memory. Once a name does not fit in there, the
 * main thread does everything: what long texts may cost is limited, and which are left out must not depend on threads.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/base/batches.h"
#include "reader/core/base/workers.h"
#include "reader/tools/dump/dump.h"

#include <stdlib.h>

#define LOOKED_UP_BITS 16 /* of the number of ids that are remembered as looked up */

struct item {
    struct tbed_event event;
    uint32_t depth;
};

struct dump_batches {
    struct tbed_batches *batches;
    struct dump *threads; /* a copy for each */
    unsigned thread_count;
    uint32_t *looked_up; /* by hash; TBED_ID_INVALID: none yet */
    bool is_alone;
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
    batches->looked_up = tool_realloc(NULL, sizeof(uint32_t) << LOOKED_UP_BITS);
    for (size_t i = 0; i < (size_t)1 << LOOKED_UP_BITS; i++)
        batches->looked_up[i] = TBED_ID_INVALID;
    const struct tbed_batches_job job = {.item_nbytes = sizeof(struct item),
                                         .thread_count = batches->thread_count,
                                         .work = work,
                                         .put = put,
                                         .context = batches};
    batches->batches = tbed_batches_open(&job);
    if (batches->batches == NULL)
        tool_out_of_memory();
    dump->batches = batches;
}

/* ---- Looking up names ---- */

static void look_up(struct dump *dump, uint32_t id)
{
    struct dump_batches *batches = dump->batches;
    uint32_t *place = &batches->looked_up[id * 2654435761u >> (32 - LOOKED_UP_BITS)];
    struct tbed_name name;
    struct tbed_id_info info;
    if (*place == id || id == TBED_ID_INVALID)
        return;
    *place = id;
    enum tbed_status status = tbed_name_get(dump->reader, id, &name);
    bool is_kept = status != TBED_ERR_CACHE_FULL && status != TBED_ERR_MEMORY;
    tbed_id_resolve(dump->reader, id, &info);
    if (is_kept || batches->is_alone)
        return;
    batches->is_alone = true;
    tbed_batches_work_alone(batches->batches);
}

static void look_up_arguments(struct dump *dump, const struct tbed_event *event)
{
    struct tbed_arguments at = event->arguments;
    for (uint32_t i = 0; i < event->argument_count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&at, &argument);
        look_up(dump, argument.name_id);
        if (argument.type == TBED_ARG_ID && argument.value.u64 <= TBED_ID_MAX)
            look_up(dump, argument.value.id);
    }
}

void dump_batches_add(struct dump *dump, const struct tbed_event *event, uint32_t depth)
{
    look_up(dump, event->id);
    look_up(dump, event->category);
    if (event->type == TBED_EVENT_COUNTER)
        look_up(dump, tbed_counter_unit(dump->reader, event->id));
    look_up_arguments(dump, event);
    struct item *item = tbed_batches_push(dump->batches->batches);
    item->event = *event;
    item->depth = depth;
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
    free(batches->looked_up);
    free(batches);
    dump->batches = NULL;
}
