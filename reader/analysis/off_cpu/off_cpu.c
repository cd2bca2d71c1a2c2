/*
 * When threads were off their processors; see off_cpu.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/off_cpu/off_cpu.h"

static int compare_times(const void *a, const void *b)
{
    const struct off_cpu_time *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int compare_threads(const void *a, const void *b)
{
    const struct off_cpu_thread *x = a, *y = b;
    return x->stream < y->stream ? -1 : x->stream > y->stream;
}

/* Sorts the times of one thread, and cuts off what overlaps. */
static void arrange(struct off_cpu_time *times, size_t count)
{
    uint64_t covered = 0, sum = 0;
    if (count > 1)
        qsort(times, count, sizeof *times, compare_times);
    for (size_t i = 0; i < count; i++) {
        times[i].begin = times[i].begin < covered ? covered : times[i].begin;
        times[i].end = times[i].end < times[i].begin ? times[i].begin : times[i].end;
        times[i].before = sum;
        sum += times[i].end - times[i].begin;
        covered = times[i].end;
    }
}

/* False: no memory. */
static bool take_event(struct off_cpu *off_cpu, size_t first, const struct tbed_event *event)
{
    struct off_cpu_time *time;
    if (event->type == TBED_EVENT_BEGIN) {
        time = TBED_VECTOR_PUSH(&off_cpu->times);
        if (time == NULL)
            return false;
        *time = (struct off_cpu_time){.begin = event->tick, .end = event->tick};
    } else if (event->type == TBED_EVENT_END && off_cpu->times.count > first) {
        off_cpu->times.items[off_cpu->times.count - 1].end = event->tick;
    }
    return true;
}

static enum tbed_status load_stream(struct tbed_reader *reader, struct off_cpu *off_cpu,
                                    const struct tbed_stream_info *stream)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    size_t first = off_cpu->times.count;
    enum tbed_status status = tbed_cursor_open(reader, stream->stream, &cursor);
    if (status != TBED_OK)
        return status;
    bool is_fine = true;
    while (is_fine && (status = tbed_cursor_next(cursor, &event)) == TBED_OK)
        is_fine = take_event(off_cpu, first, &event);
    tbed_cursor_close(cursor);
    struct off_cpu_thread *thread =
        is_fine && status == TBED_END ? TBED_VECTOR_PUSH(&off_cpu->threads) : NULL;
    if (thread == NULL)
        return TBED_ERR_MEMORY;
    *thread = (struct off_cpu_thread){stream->of_thread, stream->stream, first, off_cpu->times.count - first};
    if (thread->count > 0)
        arrange(&off_cpu->times.items[first], thread->count);
    return TBED_OK;
}

enum tbed_status tbed_off_cpu_load(struct tbed_reader *reader, struct off_cpu *off_cpu)
{
    struct tbed_stream_info stream;
    enum tbed_status status = TBED_OK;
    for (size_t i = 0; status == TBED_OK && tbed_stream_get(reader, i, &stream); i++)
        if (stream.kind == TBED_STREAM_OFF_CPU)
            status = load_stream(reader, off_cpu, &stream);
    if (off_cpu->threads.count > 1)
        qsort(off_cpu->threads.items, off_cpu->threads.count, sizeof *off_cpu->threads.items,
              compare_threads);
    return status;
}

void tbed_off_cpu_free(struct off_cpu *off_cpu)
{
    tbed_vector_free(&off_cpu->times.vector);
    tbed_vector_free(&off_cpu->threads.vector);
}

bool tbed_off_cpu_has(const struct off_cpu *off_cpu, uint32_t own)
{
    for (size_t i = 0; i < off_cpu->threads.count; i++)
        if (off_cpu->threads.items[i].own == own)
            return true;
    return false;
}

static const struct off_cpu_thread *find_thread(const struct off_cpu *off_cpu, uint32_t stream)
{
    size_t low = 0, high = off_cpu->threads.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (off_cpu->threads.items[middle].stream < stream)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_there = low < off_cpu->threads.count && off_cpu->threads.items[low].stream == stream;
    return is_there ? &off_cpu->threads.items[low] : NULL;
}

uint64_t tbed_off_cpu_before(const struct off_cpu *off_cpu, uint32_t stream, uint64_t tick)
{
    const struct off_cpu_thread *thread = find_thread(off_cpu, stream);
    if (thread == NULL || thread->count == 0)
        return 0;
    const struct off_cpu_time *times = &off_cpu->times.items[thread->first];
    size_t low = 0, high = thread->count; /* 'low' becomes the number of times that begin before the tick */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (times[middle].begin < tick)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    const struct off_cpu_time *last = &times[low - 1];
    return last->before + ((tick < last->end ? tick : last->end) - last->begin);
}
