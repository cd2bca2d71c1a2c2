/*
 * How much memory of a process is live; see export_live.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/events/export_live.h"

#include "reader/analysis/filter/filter.h"
#include "reader/core/base/hashmap.h"

#include <stdlib.h>
#include <tracebed/analysis.h>

struct block {
    uint64_t address; /* never 0 */
    uint64_t nbytes;
};

struct live {
    TBED_HASHMAP(struct block) blocks;
    uint64_t nbytes, reported;
    uint64_t tick; /* of the latest change */
    bool has_changed, is_over, is_out_of_memory;
    export_live_function function;
    void *context;
};

static void remove_block(struct live *live, uint64_t address)
{
    struct block *block = address != 0 ? TBED_HASHMAP_FIND(&live->blocks, address) : NULL;
    if (block == NULL)
        return;
    live->nbytes -= block->nbytes;
    TBED_HASHMAP_REMOVE(&live->blocks, block);
}

static void add_block(struct live *live, uint64_t address, uint64_t nbytes)
{
    remove_block(live, address);
    struct block *block = address != 0 ? TBED_HASHMAP_ADD(&live->blocks, address) : NULL;
    live->is_out_of_memory |= address != 0 && block == NULL;
    if (block == NULL)
        return;
    /* No program has 2^64 bytes; a damaged trace may say so. */
    block->nbytes = nbytes < UINT64_MAX - live->nbytes ? nbytes : UINT64_MAX - live->nbytes;
    live->nbytes += block->nbytes;
}

static void resize_block(struct live *live, uint64_t address, uint64_t nbytes)
{
    if (address != 0 && TBED_HASHMAP_FIND(&live->blocks, address) != NULL)
        add_block(live, address, nbytes);
}

static void report(struct live *live)
{
    if (live->has_changed && live->nbytes != live->reported)
        live->is_over |= !live->function(live->context, live->tick, live->nbytes);
    live->reported = live->nbytes;
    live->has_changed = false;
}

static void take(struct live *live, const struct tbed_event *event)
{
    bool is_realloc = event->type == TBED_EVENT_REALLOC;
    bool is_other =
        event->type == TBED_EVENT_ALLOC || event->type == TBED_EVENT_FREE || event->type == TBED_EVENT_RESIZE;
    if (!is_realloc && !is_other)
        return;
    if (event->tick != live->tick)
        report(live);
    live->tick = event->tick;
    live->has_changed = true;
    if (event->type == TBED_EVENT_FREE) {
        remove_block(live, event->of.alloc.address);
    } else if (event->type == TBED_EVENT_RESIZE) {
        resize_block(live, event->of.alloc.address, event->of.alloc.size);
    } else if (!is_realloc) {
        add_block(live, event->of.alloc.address, event->of.alloc.size);
    } else if (event->of.realloc.address != 0 || event->of.realloc.size == 0) { /* otherwise it failed */
        remove_block(live, event->of.realloc.old_address);
        add_block(live, event->of.realloc.address, event->of.realloc.size);
    }
}

/* The streams of a process that the filter takes. False: no memory. */
static bool find_streams(struct tbed_reader *reader, uint32_t process, const struct tbed_filter *filter,
                         uint32_t **streams_ret, size_t *count_ret)
{
    struct tbed_stream_info info;
    size_t count = 0, taken = 0;
    while (tbed_stream_get(reader, count, &info))
        count++;
    uint32_t *streams = calloc(count + 1, sizeof *streams);
    for (size_t i = 0; streams != NULL && tbed_stream_get(reader, i, &info); i++)
        if (info.process == process && tbed_filter_has_stream(filter, info.stream))
            streams[taken++] = info.stream;
    *streams_ret = streams;
    *count_ret = taken;
    return streams != NULL;
}

enum tbed_status tbed_export_live(struct tbed_reader *reader, uint32_t process,
                                  const struct tbed_filter *filter, export_live_function function,
                                  void *context)
{
    struct live live = {.function = function, .context = context};
    struct tbed_assembler *assembler = NULL;
    struct tbed_step step;
    uint32_t *streams;
    size_t count;
    if (!find_streams(reader, process, filter, &streams, &count))
        return TBED_ERR_MEMORY;
    enum tbed_status status =
        count > 0 ? tbed_assembler_open_filtered(reader, streams, count, filter, &assembler) : TBED_END;
    while (status == TBED_OK && !live.is_over && !live.is_out_of_memory &&
           (status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        if (step.kind == TBED_STEP_EVENT)
            take(&live, step.event);
    if (!live.is_over)
        report(&live);
    tbed_assembler_close(assembler);
    tbed_hashmap_free(&live.blocks.map);
    free(streams);
    if (live.is_out_of_memory)
        return TBED_ERR_MEMORY;
    return status == TBED_END ? TBED_OK : status;
}
