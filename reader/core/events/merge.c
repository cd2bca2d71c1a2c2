/*
 * A merge: the events of many streams in order of time, by a heap of cursors.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/core/events/cursor.h"
#include "reader/core/file/reader_state.h"

#include <stdlib.h>

struct source {
    struct tbed_cursor cursor;
    struct tbed_event event; /* the next one, if the source is in the heap */
};

struct place { /* an element of the heap: the values compared are kept together */
    uint64_t tick;
    uint32_t stream;
    uint32_t source;
};

struct tbed_merge {
    const struct tbed_reader *reader;
    struct tbed_vector sources; /* struct source */
    struct place *heap;
    size_t heap_count;
    size_t heap_capacity;
    uint32_t *idle; /* sources without further events; tried again after a refresh */
    size_t idle_count;
    uint64_t window_first, window_last; /* as of a cursor */
    uint64_t epoch;
    struct tbed_merge_watch watch;
    bool is_out_of_memory; /* a source could not be read on */
    bool is_taken;         /* the first of the heap was handed out, and is advanced only by the next call */
    bool all;              /* new streams join */
};

static bool is_before(const struct place *a, const struct place *b)
{
    return a->tick != b->tick ? a->tick < b->tick : a->stream < b->stream;
}

static void sift_down(struct tbed_merge *merge, size_t at)
{
    struct place *heap = merge->heap, moving = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= merge->heap_count)
            break;
        if (child + 1 < merge->heap_count && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &moving))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static void sift_up(struct tbed_merge *merge, size_t at)
{
    struct place *heap = merge->heap, moving = heap[at];
    for (; at > 0 && is_before(&moving, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = moving;
}

static struct source *source_get(struct tbed_merge *merge, uint32_t source)
{
    return &((struct source *)merge->sources.items)[source];
}

/* Puts a source with a next event into the heap, any other among the idle ones. */
static void poll_source(struct tbed_merge *merge, uint32_t number)
{
    struct source *source = source_get(merge, number);
    enum tbed_status status = tbed_cursor_next(&source->cursor, &source->event);
    merge->is_out_of_memory |= status == TBED_ERR_MEMORY;
    if (status != TBED_OK) {
        merge->idle[merge->idle_count++] = number;
        return;
    }
    merge->heap[merge->heap_count] = (struct place){source->event.tick, source->cursor.stream, number};
    sift_up(merge, merge->heap_count++);
}

static void poll_idle(struct tbed_merge *merge)
{
    size_t count = merge->idle_count;
    merge->idle_count = 0; /* those that stay idle are put back before the place being read */
    for (size_t i = 0; i < count; i++)
        poll_source(merge, merge->idle[i]);
}

static bool make_room(struct tbed_merge *merge)
{
    size_t capacity = merge->sources.capacity;
    struct place *heap = realloc(merge->heap, capacity * sizeof *heap);
    if (heap != NULL)
        merge->heap = heap;
    uint32_t *idle = realloc(merge->idle, capacity * sizeof *idle);
    if (idle != NULL)
        merge->idle = idle;
    if (heap == NULL || idle == NULL)
        return false;
    merge->heap_capacity = capacity;
    return true;
}

static bool add_source(struct tbed_merge *merge, uint32_t stream)
{
    struct source *source = tbed_vector_push(&merge->sources, sizeof *source);
    if (source == NULL)
        return false;
    if (merge->heap_capacity < merge->sources.capacity && !make_room(merge)) {
        merge->sources.count--;
        return false;
    }
    tbed_cursor_init(&source->cursor, merge->reader, stream);
    tbed_cursor_limit(&source->cursor, merge->window_first, merge->window_last);
    source->cursor.entered = merge->watch.entered;
    source->cursor.entered_context = merge->watch.context;
    if (merge->watch.range != NULL)
        merge->watch.range(merge->watch.context, stream, &source->cursor.next_sequence,
                           &source->cursor.end_sequence);
    merge->idle[merge->idle_count++] = (uint32_t)merge->sources.count - 1;
    return true;
}

static int compare_streams(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/*
 * Adds the streams that appeared with a refresh. The old ones are recognised by their sources, which are sorted for
 * it.
 */
static bool add_new_streams(struct tbed_merge *merge)
{
    const struct tbed_vector *ranges = &merge->reader->index.stream_ranges;
    size_t known_count = merge->sources.count;
    uint32_t *known = malloc((known_count + 1) * sizeof *known);
    bool is_done = known != NULL;
    for (size_t i = 0; is_done && i < known_count; i++)
        known[i] = source_get(merge, (uint32_t)i)->cursor.stream;
    if (is_done)
        qsort(known, known_count, sizeof *known, compare_streams);
    for (size_t i = 0; is_done && i < ranges->count; i++) {
        const uint32_t *stream = &((const struct tbed_stream_range *)ranges->items)[i].stream;
        if (bsearch(stream, known, known_count, sizeof *known, compare_streams) == NULL)
            is_done = add_source(merge, *stream);
    }
    free(known);
    return is_done;
}

static enum tbed_status look_again(struct tbed_merge *merge)
{
    if (merge->all && !add_new_streams(merge))
        return TBED_ERR_MEMORY;
    merge->epoch = merge->reader->epoch;
    poll_idle(merge);
    return TBED_OK;
}

static bool add_named_streams(struct tbed_merge *merge, const uint32_t *streams, size_t stream_count)
{
    for (size_t i = 0; i < stream_count; i++)
        if (!add_source(merge, streams[i]))
            return false;
    return true;
}

enum tbed_status tbed_merge_open_watched(const struct tbed_reader *reader, const uint32_t *streams,
                                         size_t stream_count, const struct tbed_merge_watch *watch,
                                         struct tbed_merge **merge_ret)
{
    struct tbed_merge *merge = calloc(1, sizeof *merge);
    if (merge == NULL)
        return TBED_ERR_MEMORY;
    merge->reader = reader;
    merge->watch = *watch;
    merge->window_last = UINT64_MAX;
    merge->all = streams == NULL;
    bool is_whole = merge->all || add_named_streams(merge, streams, stream_count);
    if (!is_whole || look_again(merge) != TBED_OK || merge->is_out_of_memory) {
        tbed_merge_close(merge);
        return TBED_ERR_MEMORY;
    }
    *merge_ret = merge;
    return TBED_OK;
}

enum tbed_status tbed_merge_open(struct tbed_reader *reader, const uint32_t *streams, size_t stream_count,
                                 struct tbed_merge **merge_ret)
{
    static const struct tbed_merge_watch none;
    return tbed_merge_open_watched(reader, streams, stream_count, &none, merge_ret);
}

/* Advances the source whose event was handed out. */
static void advance_first(struct tbed_merge *merge)
{
    struct place *top = &merge->heap[0];
    struct source *source = source_get(merge, top->source);
    merge->is_taken = false;
    enum tbed_status status = tbed_cursor_next(&source->cursor, &source->event);
    merge->is_out_of_memory |= status == TBED_ERR_MEMORY;
    if (status == TBED_OK) {
        top->tick = source->event.tick;
    } else {
        merge->idle[merge->idle_count++] = top->source;
        *top = merge->heap[--merge->heap_count];
    }
    sift_down(merge, 0);
}

enum tbed_status tbed_merge_next_sized(struct tbed_merge *merge, struct tbed_event *event_ret,
                                       size_t event_nbytes)
{
    if (merge->is_taken)
        advance_first(merge);
    if (merge->epoch != merge->reader->epoch) {
        enum tbed_status status = look_again(merge);
        if (status != TBED_OK)
            return status;
    }
    if (merge->is_out_of_memory)
        return TBED_ERR_MEMORY;
    if (merge->heap_count == 0)
        return TBED_END;
    tbed_sized_give(event_ret, event_nbytes, &source_get(merge, merge->heap[0].source)->event,
                    sizeof *event_ret);
    merge->is_taken = true;
    return TBED_OK;
}

/* All sources, whether in the heap or idle. */
static void poll_all(struct tbed_merge *merge)
{
    merge->heap_count = 0;
    merge->idle_count = 0;
    merge->is_taken = merge->is_out_of_memory = false;
    for (uint32_t i = 0; i < merge->sources.count; i++)
        poll_source(merge, i);
}

void tbed_merge_seek(struct tbed_merge *merge, uint64_t tick)
{
    for (uint32_t i = 0; i < merge->sources.count; i++)
        tbed_cursor_seek(&source_get(merge, i)->cursor, tick);
    poll_all(merge);
}

void tbed_merge_limit(struct tbed_merge *merge, uint64_t first_tick, uint64_t last_tick)
{
    merge->window_first = first_tick;
    merge->window_last = last_tick;
    for (uint32_t i = 0; i < merge->sources.count; i++) {
        struct tbed_cursor *cursor = &source_get(merge, i)->cursor;
        tbed_cursor_limit(cursor, first_tick, last_tick);
        tbed_cursor_seek(cursor, 0);
    }
    poll_all(merge);
}

void tbed_merge_close(struct tbed_merge *merge)
{
    if (merge == NULL)
        return;
    for (uint32_t i = 0; i < merge->sources.count; i++)
        tbed_cursor_release(&source_get(merge, i)->cursor);
    tbed_vector_free(&merge->sources);
    free(merge->heap);
    free(merge->idle);
    free(merge);
}
