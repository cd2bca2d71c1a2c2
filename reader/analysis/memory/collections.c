/*
 * Garbage collections of a trace; see collections.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/memory/collections.h"

#include "reader/analysis/filter/filter.h"

#include <stdlib.h>
#include <string.h>

static const char track_name[] = "garbage collector", span_suffix[] = "GC: sweeping";

static int compare(const void *left, const void *right)
{
    const struct collection *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->tick < b->tick ? -1 : a->tick > b->tick;
}

static bool is_collector(const struct tbed_reader *reader, const struct tbed_stream_info *stream)
{
    const char *name;
    size_t nbytes;
    return stream->kind == TBED_STREAM_TRACK &&
           tbed_string_text(reader, stream->name_id, &name, &nbytes) == TBED_OK &&
           nbytes == sizeof track_name - 1 && memcmp(name, track_name, nbytes) == 0;
}

static bool ends_marking(const struct tbed_reader *reader, const struct tbed_event *event)
{
    const char *name;
    size_t nbytes, suffix_nbytes = sizeof span_suffix - 1;
    return event->type == TBED_EVENT_BEGIN &&
           tbed_string_text(reader, event->id, &name, &nbytes) == TBED_OK && nbytes >= suffix_nbytes &&
           memcmp(name + nbytes - suffix_nbytes, span_suffix, suffix_nbytes) == 0;
}

static enum tbed_status load_stream(struct tbed_reader *reader, const struct tbed_stream_info *stream,
                                    const struct tbed_trace_info *times, struct collections *collections)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    enum tbed_status status = tbed_cursor_open(reader, stream->stream, &cursor);
    if (status != TBED_OK)
        return status;
    while ((status = tbed_cursor_next(cursor, &event)) == TBED_OK) {
        if (!ends_marking(reader, &event) || event.tick < times->first_tick || event.tick > times->last_tick)
            continue;
        struct collection *collection = TBED_VECTOR_PUSH(&collections->all);
        if (collection == NULL)
            break;
        *collection = (struct collection){event.tick, stream->process};
    }
    tbed_cursor_close(cursor);
    return status == TBED_END ? TBED_OK : TBED_ERR_MEMORY;
}

enum tbed_status tbed_collections_load(struct tbed_reader *reader, const struct tbed_filter *filter,
                                       struct collections *collections)
{
    struct tbed_trace_info times;
    struct tbed_stream_info stream;
    enum tbed_status status = TBED_OK;
    tbed_reader_info(reader, &times);
    tbed_filter_times(filter, &times);
    for (size_t i = 0; status == TBED_OK && tbed_stream_get(reader, i, &stream); i++)
        if (is_collector(reader, &stream))
            status = load_stream(reader, &stream, &times, collections);
    if (collections->all.count > 1)
        qsort(collections->all.items, collections->all.count, sizeof *collections->all.items, compare);
    return status;
}

void tbed_collections_free(struct collections *collections)
{
    free(collections->all.items);
}

/* The index of the first that does not come before. */
static size_t lower_bound(const struct collection *items, size_t count, struct collection key)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&items[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct collections_part tbed_collections_of(const struct collections *collections, uint32_t process)
{
    const struct collection *items = collections->all.items;
    size_t count = collections->all.count, first = lower_bound(items, count, (struct collection){0, process}),
           end =
               process == UINT32_MAX ? count : lower_bound(items, count, (struct collection){0, process + 1});
    return count > 0 ? (struct collections_part){items + first, end - first} : (struct collections_part){0};
}

size_t tbed_collections_before(struct collections_part part, uint64_t tick)
{
    if (part.count == 0 || tick == UINT64_MAX)
        return part.count;
    return lower_bound(part.items, part.count, (struct collection){tick + 1, part.items[0].process});
}
