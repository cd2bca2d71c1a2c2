/*
 * Writes all allocations and frees of a trace in order of time. What is live follows the rules of the analysis of allocations,
 * whose heaps, one for each process, report each change.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/memory/allocation_source.h"
#include "reader/core/base/inert.h"
#include "reader/core/base/workers.h"
#include "reader/exchange/heaptrack/heaptrack.h"
#include "reader/exchange/shared/new_file.h"
#include "reader/exchange/stacks/left_out.h"

#include <errno.h>

#define NS_PER_MS 1000000

struct process_heap {
    uint64_t key; /* tbed_hashmap_key32() of the process */
    struct heap *heap;
};

struct stream_source {
    struct allocation_source source;
    struct heap *heap;
};

struct heaptrack_sources {
    TBED_HASHMAP(struct process_heap) heaps;
    struct stream_source *all;
    struct stream_source **by_tick; /* a heap of those that have more */
    size_t count, all_count;
};

/* ---- Streams in order of time ---- */

static bool comes_first(const struct stream_source *a, const struct stream_source *b)
{
    const struct heap_event *left = &a->source.event, *right = &b->source.event;
    return left->tick != right->tick ? left->tick < right->tick : left->stream < right->stream;
}

static void sift_down(struct heaptrack_sources *sources, size_t at)
{
    struct stream_source *moving = sources->by_tick[at];
    for (size_t child; (child = 2 * at + 1) < sources->count; at = child) {
        if (child + 1 < sources->count && comes_first(sources->by_tick[child + 1], sources->by_tick[child]))
            child++;
        if (!comes_first(sources->by_tick[child], moving))
            break;
        sources->by_tick[at] = sources->by_tick[child];
    }
    sources->by_tick[at] = moving;
}

/* NULL: no memory. */
static struct heap *heap_of(struct heaptrack_sources *sources, uint32_t process, struct heap_watch *watch)
{
    struct process_heap *slot = TBED_HASHMAP_ADD(&sources->heaps, tbed_hashmap_key32(process));
    if (slot == NULL)
        return NULL;
    if (slot->heap == NULL && (slot->heap = calloc(1, sizeof *slot->heap)) != NULL) {
        tbed_heap_open(slot->heap);
        slot->heap->watch = watch;
    }
    return slot->heap;
}

/* False: no memory. */
static bool open_sources(struct heaptrack_sources *sources, struct tbed_reader *reader,
                         const struct tbed_filter *filter, struct heap_watch *watch)
{
    struct tbed_stream_info stream;
    size_t count = 0;
    while (tbed_stream_get(reader, count, &stream))
        count++;
    sources->all_count = count;
    sources->all = calloc(count + 1, sizeof *sources->all);
    sources->by_tick = calloc(count + 1, sizeof(struct stream_source *));
    if (sources->all == NULL || sources->by_tick == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        tbed_stream_get(reader, i, &stream);
        struct stream_source *source = &sources->all[i];
        tbed_allocation_source_open(&source->source, reader, stream.stream, filter);
        if (!tbed_allocation_source_next(&source->source))
            continue;
        source->heap = heap_of(sources, stream.process, watch);
        if (source->heap == NULL)
            return false;
        sources->by_tick[sources->count++] = source;
    }
    for (size_t at = sources->count / 2; at-- > 0;)
        sift_down(sources, at);
    return true;
}

static void close_sources(struct heaptrack_sources *sources)
{
    for (struct process_heap *slot = NULL; (slot = TBED_HASHMAP_NEXT(&sources->heaps, slot)) != NULL;) {
        if (slot->heap != NULL)
            tbed_heap_close(slot->heap);
        free(slot->heap);
    }
    tbed_hashmap_free(&sources->heaps.map);
    for (size_t i = 0; sources->all != NULL && i < sources->all_count; i++)
        tbed_allocation_source_close(&sources->all[i].source);
    free(sources->all);
    free(sources->by_tick);
}

/* ---- The file ---- */

/* The time in milliseconds since the first tick, whenever that moves on. */
static void put_time(struct heaptrack *heaptrack, uint64_t tick, uint64_t *last_ms)
{
    int64_t ns = tbed_ticks_to_ns(heaptrack->reader, tick);
    uint64_t ms = ns > 0 ? (uint64_t)ns / NS_PER_MS : 0;
    if (ms <= *last_ms)
        return;
    tbed_heaptrack_line(&heaptrack->out->text, 'c', &ms, 1);
    *last_ms = ms;
}

static void put_head(struct heaptrack *heaptrack)
{
    struct tbed_text *text = &heaptrack->out->text;
    struct tbed_process_info process;
    char name[256] = "<unknown>";
    size_t nbytes = strlen(name);
    if (tbed_process_get(heaptrack->reader, 0, &process) && process.name_id != TBED_ID_INVALID)
        nbytes = tbed_frame_name(heaptrack->reader, process.name_id, name, sizeof name);
    heaptrack->is_out_of_memory |= nbytes == SIZE_MAX;
    tbed_text_puts(text, "v 10400 2\nX ");
    tbed_text_put_inert(text, name, nbytes != SIZE_MAX ? nbytes : 0, "");
    tbed_text_puts(text, "\nI 1000 0\n");
}

static enum tbed_status put_events(struct heaptrack *heaptrack, struct heaptrack_sources *sources,
                                   const bool *is_cancelled)
{
    struct tbed_trace_info info;
    uint64_t last_ms = 0;
    put_head(heaptrack);
    while (sources->count > 0 && !heaptrack->is_out_of_memory && tbed_export_out_spill(heaptrack->out)) {
        struct stream_source *first = sources->by_tick[0];
        put_time(heaptrack, first->source.event.tick, &last_ms);
        if (!tbed_heap_take(first->heap, &first->source.event, &first->source.newest_address))
            return TBED_ERR_MEMORY;
        if (tbed_is_cancelled(is_cancelled))
            return TBED_ERR_CANCELLED;
        if (!tbed_allocation_source_next(&first->source))
            sources->by_tick[0] = sources->by_tick[--sources->count];
        if (sources->count > 0)
            sift_down(sources, 0);
    }
    tbed_reader_info(heaptrack->reader, &info);
    put_time(heaptrack, info.last_tick, &last_ms);
    heaptrack->out->text.is_out_of_memory |= heaptrack->is_out_of_memory;
    return TBED_OK;
}

enum tbed_status tbed_export_heaptrack(const struct export_job *job, struct export_out *out)
{
    struct heaptrack heaptrack = {
        .watch.change = tbed_heaptrack_change, .out = out, .reader = job->readers[0]};
    struct heaptrack_sources sources = {0};
    tbed_frame_table_turn(&heaptrack.frames, heaptrack.reader);
    bool is_open = open_sources(&sources, heaptrack.reader, tbed_export_job_filter(job, 0), &heaptrack.watch);
    enum tbed_status status =
        is_open ? put_events(&heaptrack, &sources, job->options.is_cancelled) : TBED_ERR_MEMORY;
    job->result->written_count = heaptrack.event_count;
    job->result->notes[TBED_EXPORT_NOTE_REPLACED] = heaptrack.frames.texts.replaced_count;
    close_sources(&sources);
    tbed_heaptrack_free(&heaptrack);
    errno = 0;
    if (status != TBED_OK)
        return tbed_exchange_fail(job->error, status);
    return tbed_left_out_count(job, 0, LEFT_OUT_TAKES_ALLOCATIONS);
}
