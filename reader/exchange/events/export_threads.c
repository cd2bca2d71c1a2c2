/*
 * Process and thread numbers for viewers; see export_threads.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/events/export_threads.h"
#include "reader/analysis/filter/filter.h"
#include "reader/core/names/id_info.h"
#include "reader/exchange/events/export_json.h"

#include <stdlib.h>
#include <string.h>

#define TRACK_TID_BASE UINT64_C(5000000000) /* above all thread numbers: tracks have none of their own */

void tbed_export_threads_free(struct export_threads *threads)
{
    free(threads->items);
    free(threads->rows);
    free(threads->pids);
}

/* ---- Processes ---- */

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static bool is_taken(const struct export_pids *taken, uint64_t pid)
{
    return taken->count > 0 &&
           bsearch(&pid, taken->items, taken->count, sizeof *taken->items, compare_u64) != NULL;
}

static enum tbed_status take_pids(struct export_pids *taken, const struct export_threads *threads)
{
    size_t count = taken->count + threads->process_count;
    if (count > taken->room) {
        uint64_t *grown = realloc(taken->items, count * 2 * sizeof *grown);
        if (grown == NULL)
            return TBED_ERR_MEMORY;
        taken->items = grown;
        taken->room = count * 2;
    }
    if (threads->process_count > 0)
        memcpy(taken->items + taken->count, threads->pids, threads->process_count * sizeof *taken->items);
    taken->count = count;
    if (count > 1)
        qsort(taken->items, count, sizeof *taken->items, compare_u64);
    return TBED_OK;
}

static enum tbed_status number_processes(struct tbed_reader *reader, struct export_pids *taken,
                                         uint64_t *renumbered_count, struct export_threads *threads)
{
    struct tbed_process_info process;
    uint64_t next = UINT64_C(1) << 32; /* above all pids */
    while (tbed_process_get(reader, threads->process_count, &process))
        threads->process_count++;
    threads->pids = calloc(threads->process_count + 1, sizeof *threads->pids);
    if (threads->pids == NULL)
        return TBED_ERR_MEMORY;
    if (taken->count > 0 && taken->items[taken->count - 1] >= next)
        next = taken->items[taken->count - 1] + 1;
    for (size_t i = 0; tbed_process_get(reader, i, &process); i++) {
        threads->pids[i] = process.pid;
        if (is_taken(taken, process.pid)) {
            threads->pids[i] = next++;
            (*renumbered_count)++;
        }
    }
    return take_pids(taken, threads);
}

/* The index of a process by its number; SIZE_MAX: there is none. */
static size_t find_process(struct tbed_reader *reader, const struct export_threads *threads, uint32_t number)
{
    struct tbed_process_info process;
    size_t low = 0, high = threads->process_count; /* they are in ascending order */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        tbed_process_get(reader, middle, &process);
        if (process.stream < number)
            low = middle + 1;
        else
            high = middle;
    }
    return tbed_process_get(reader, low, &process) && process.stream == number ? low : SIZE_MAX;
}

/* ---- Threads ---- */

static enum tbed_status list_threads(struct tbed_reader *reader, const struct tbed_filter *filter,
                                     struct export_threads *threads)
{
    struct tbed_stream_info stream;
    size_t count = 0;
    while (tbed_stream_get(reader, count, &stream))
        count++;
    threads->items = calloc(count + 1, sizeof *threads->items);
    threads->rows = calloc(count + 1, sizeof *threads->rows);
    if (threads->items == NULL || threads->rows == NULL)
        return TBED_ERR_MEMORY;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++)
        if (tbed_filter_has_stream(filter, stream.stream)) {
            size_t process = find_process(reader, threads, stream.process);
            threads->rows[threads->count] = &threads->items[threads->count];
            threads->items[threads->count++] = (struct export_thread){
                .stream = stream.stream,
                .process = process,
                .pid = process != SIZE_MAX ? threads->pids[process] : 0,
                .tid = stream.kind == TBED_STREAM_THREAD ? stream.tid : TRACK_TID_BASE + stream.stream,
                .system_tid = stream.tid,
                .name_id = stream.name_id,
                .kind = stream.kind,
                .parent = stream.of_thread,
            };
            threads->has_parents |= stream.of_thread != 0;
        }
    return TBED_OK;
}

/* What belongs to a thread comes behind it; otherwise streams are in order. */
static int compare_rows(const void *left, const void *right)
{
    const struct export_thread *a = *(struct export_thread *const *)left;
    const struct export_thread *b = *(struct export_thread *const *)right;
    uint32_t of_a = a->parent != 0 ? a->parent : a->stream, of_b = b->parent != 0 ? b->parent : b->stream;
    if (of_a != of_b)
        return of_a < of_b ? -1 : 1;
    if ((a->parent != 0) != (b->parent != 0))
        return a->parent != 0 ? 1 : -1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

const struct export_thread *tbed_export_threads_find(const struct export_threads *threads, uint32_t stream)
{
    size_t low = 0, high = threads->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (threads->items[middle].stream < stream)
            low = middle + 1;
        else
            high = middle;
    }
    return low < threads->count && threads->items[low].stream == stream ? &threads->items[low] : NULL;
}

static void widen(struct export_thread *thread, uint64_t begin, uint64_t end)
{
    uint64_t first = begin < end ? begin : end;
    if (!thread->has_events || first < thread->first_tick)
        thread->first_tick = first;
    if (!thread->has_events || end > thread->last_tick)
        thread->last_tick = end;
    thread->has_events = true;
}

static enum tbed_status measure_filtered(struct tbed_reader *reader, const struct tbed_filter *filter,
                                         struct export_thread *thread)
{
    struct tbed_assembler *assembler;
    struct tbed_step step;
    enum tbed_status status = tbed_assembler_open_filtered(reader, &thread->stream, 1, filter, &assembler);
    if (status != TBED_OK)
        return status;
    while ((status = tbed_assembler_next(assembler, &step)) == TBED_OK)
        if (step.kind == TBED_STEP_END || step.kind == TBED_STEP_OPEN)
            widen(thread, step.span->begin_tick, step.span->end_tick);
        else if (step.kind == TBED_STEP_EVENT)
            widen(thread, step.event->tick, step.event->tick);
    tbed_assembler_close(assembler);
    return status == TBED_END ? TBED_OK : status;
}

static enum tbed_status measure(struct tbed_reader *reader, const struct tbed_filter *filter,
                                struct export_thread *thread)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    if (filter != NULL)
        return measure_filtered(reader, filter, thread);
    enum tbed_status status = tbed_cursor_open(reader, thread->stream, &cursor);
    if (status != TBED_OK)
        return status;
    while ((status = tbed_cursor_next(cursor, &event)) == TBED_OK)
        widen(thread, event.type == TBED_EVENT_SPAN ? event.of.span.begin_tick : event.tick, event.tick);
    tbed_cursor_close(cursor);
    return status == TBED_END ? TBED_OK : status;
}

/* Only rows of one process and of one kind are shared: a thread is not shown as another one's signal handlers. */
static int compare_groups(const struct export_thread *a, const struct export_thread *b)
{
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    uint32_t kind_a = a->parent != 0 ? a->kind : 0, kind_b = b->parent != 0 ? b->kind : 0;
    return (kind_a > kind_b) - (kind_a < kind_b);
}

static int compare_first(const void *left, const void *right)
{
    const struct export_thread *a = *(struct export_thread *const *)left;
    const struct export_thread *b = *(struct export_thread *const *)right;
    int order = compare_groups(a, b);
    if (order != 0)
        return order;
    if (a->first_tick != b->first_tick)
        return a->first_tick < b->first_tick ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static int compare_last(const void *left, const void *right)
{
    const struct export_thread *a = *(struct export_thread *const *)left;
    const struct export_thread *b = *(struct export_thread *const *)right;
    int order = compare_groups(a, b);
    if (order != 0)
        return order;
    if (a->last_tick != b->last_tick)
        return a->last_tick < b->last_tick ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

/*
 * In the order in which threads began, each takes over the track of the thread that ended first, if that was before
 * it began. A thread that ended before this one began must have begun earlier, so it already has a track. Of a group, fewer
 * have been taken over than have begun, so there is always one left.
 */
static void share_places(struct export_thread **by_first, struct export_thread **by_last, size_t count)
{
    size_t ended = 0;
    for (size_t i = 0; i < count; i++) {
        struct export_thread *thread = by_first[i];
        while (compare_groups(by_last[ended], thread) < 0)
            ended++;
        if (by_last[ended]->last_tick >= thread->first_tick)
            continue;
        thread->tid = by_last[ended]->tid;
        thread->is_guest = true;
        thread->name_id = TBED_ID_INVALID; /* the track is named after its first thread */
        ended++;
    }
}

static enum tbed_status collapse(struct tbed_reader *reader, const struct tbed_filter *filter,
                                 struct export_threads *threads)
{
    struct export_thread **by_first = calloc(threads->count + 1, sizeof *by_first);
    struct export_thread **by_last = calloc(threads->count + 1, sizeof *by_last);
    enum tbed_status status = by_first != NULL && by_last != NULL ? TBED_OK : TBED_ERR_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < threads->count && status == TBED_OK; i++) {
        status = measure(reader, filter, &threads->items[i]);
        if (status == TBED_OK && threads->items[i].has_events)
            by_first[count++] = &threads->items[i];
    }
    if (status == TBED_OK && count > 1) {
        memcpy(by_last, by_first, count * sizeof *by_last);
        qsort(by_first, count, sizeof *by_first, compare_first);
        qsort(by_last, count, sizeof *by_last, compare_last);
        share_places(by_first, by_last, count);
    }
    free(by_first);
    free(by_last);
    return status;
}

enum tbed_status tbed_export_threads_make(struct tbed_reader *reader, const struct tbed_filter *filter,
                                          bool collapses, struct export_pids *taken,
                                          uint64_t *renumbered_count, struct export_threads *threads_ret)
{
    memset(threads_ret, 0, sizeof *threads_ret);
    enum tbed_status status = number_processes(reader, taken, renumbered_count, threads_ret);
    if (status == TBED_OK)
        status = list_threads(reader, filter, threads_ret);
    if (status == TBED_OK && threads_ret->has_parents)
        qsort(threads_ret->rows, threads_ret->count, sizeof *threads_ret->rows, compare_rows);
    if (status == TBED_OK && collapses)
        status = collapse(reader, filter, threads_ret);
    return status;
}

/* ---- The crate ---- */

size_t tbed_export_crate(const struct tbed_reader *reader, char *name, size_t room)
{
    static const char option[] = " --crate-name ";
    char *text = malloc(EXPORT_TEXT_MAX);
    size_t nbytes = 0;
    if (text == NULL)
        return TBED_NO_MEMORY;
    tbed_string_resolve(reader, TBED_ID_METADATA, text, EXPORT_TEXT_MAX, &nbytes);
    const char *command = strstr(text, "\"cmd\"");
    const char *found =
        command != NULL && strstr(text, "\"process_id\"") != NULL ? strstr(command, option) : NULL;
    nbytes = 0;
    if (found != NULL) {
        found += sizeof option - 1;
        nbytes = strcspn(found, " \"\\");
        nbytes = nbytes < room ? nbytes : room;
        memcpy(name, found, nbytes);
    }
    free(text);
    return nbytes;
}
