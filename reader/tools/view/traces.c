/*
 * The traces that are shown: opened, refreshed while they grow, closed; and the windows that are being made.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/view.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tracebed/reader.h>

#define REFRESH_WAIT_NS 100000000 /* for answers to end */

/* ---- Opening ---- */

/* A time of the command line; without a tick, it is later than all. Returns NULL, or what is wrong. */
static const char *take_time(const struct filter_time *time, const struct tbed_reader *reader, uint64_t *tick)
{
    const char *problem = NULL;
    if (time->kind != FILTER_TIME_NONE && !filter_time_tick(time, reader, tick, &problem))
        *tick = UINT64_MAX;
    return problem;
}

static const char *take_window(const struct tool_filter *filter, struct view_trace *trace)
{
    const char *problem = take_time(&filter->begin, trace->reader, &trace->window.begin_tick);
    if (problem == NULL)
        problem = take_time(&filter->end, trace->reader, &trace->window.end_tick);
    if (problem == NULL && filter->minimum.kind != FILTER_TIME_NONE)
        trace->window.minimum_ticks = filter_duration_ticks(&filter->minimum, trace->reader, &problem);
    trace->has_window = filter->begin.kind != FILTER_TIME_NONE || filter->end.kind != FILTER_TIME_NONE;
    if (problem == NULL && filter->end.kind != FILTER_TIME_NONE &&
        trace->window.end_tick <= trace->window.begin_tick)
        problem = "--end is not after --begin";
    return problem;
}

static int compare_streams(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static int take_streams(struct tool_filter *filter, struct view_trace *trace)
{
    struct streams_list *chosen = &filter->streams.chosen;
    int exit = streams_choose(&filter->streams, trace->path, trace->reader);
    if (exit >= 0 || !streams_are_asked_for(&filter->streams))
        return exit;
    trace->streams = tool_realloc(NULL, (chosen->count + 1) * sizeof *trace->streams);
    for (size_t i = 0; i < chosen->count; i++)
        trace->streams[trace->stream_count++] = chosen->numbers[i];
    qsort(trace->streams, trace->stream_count, sizeof *trace->streams, compare_streams);
    return -1;
}

static int open_trace(struct view *view, struct view_trace *trace, const char *path)
{
    trace->path = path;
    trace->format = tool_format(path);
    trace->reader = tool_open(path);
    if (trace->reader == NULL)
        return TOOL_TROUBLE;
    trace->is_written = tool_is_written(path);
    tbed_reader_info(trace->reader, &trace->seen);
    trace->places = (struct tool_places){.reader = trace->reader, .part = TBED_NAME_ALL};
    if (!view->no_symbols)
        tool_places_open(&trace->places, trace->reader, TBED_NAME_ALL);
    const char *problem = take_window(&view->filter, trace);
    if (problem == NULL)
        return take_streams(&view->filter, trace);
    tool_complain("%s: %s", tool_path(path), problem);
    return TOOL_TROUBLE;
}

void view_start(struct view *view, struct view_trace *traces, size_t count)
{
    view->traces = traces;
    view->trace_count = count;
    pthread_mutex_init(&view->windows_lock, NULL);
    pthread_cond_init(&view->turns_changed, NULL);
    pthread_cond_init(&view->opened, NULL);
    view->is_open = true;
    for (size_t i = 0; i < count; i++) {
        pthread_rwlock_init(&traces[i].lock, NULL);
        pthread_mutex_init(&traces[i].facts_lock, NULL);
        pthread_mutex_init(&traces[i].memory.lock, NULL);
    }
}

void view_prepare(struct view *view, size_t count)
{
    struct view_trace *traces = tool_realloc(NULL, count * sizeof *traces);
    memset(traces, 0, count * sizeof *traces);
    view_start(view, traces, count);
    view->is_open = false;
}

int view_open(struct view *view, char *const *paths)
{
    int exit = -1;
    for (size_t i = 0; i < view->trace_count && exit < 0; i++)
        exit = open_trace(view, &view->traces[i], paths[i]);
    if (exit >= 0)
        return exit;
    pthread_mutex_lock(&view->windows_lock);
    view->is_open = true;
    pthread_cond_broadcast(&view->opened);
    pthread_mutex_unlock(&view->windows_lock);
    return -1;
}

bool view_wait_open(struct view *view)
{
    pthread_mutex_lock(&view->windows_lock);
    while (!view->is_open && !__atomic_load_n(&view->is_ending, __ATOMIC_RELAXED))
        pthread_cond_wait(&view->opened, &view->windows_lock);
    bool is_open = view->is_open;
    pthread_mutex_unlock(&view->windows_lock);
    return is_open;
}

static void close_trace(struct view_trace *trace)
{
    tool_places_close(&trace->places);
    tbed_reader_close(trace->reader);
    free(trace->streams);
    free(trace->facts.counters);
    free(trace->memory.moments);
    pthread_rwlock_destroy(&trace->lock);
    pthread_mutex_destroy(&trace->facts_lock);
    pthread_mutex_destroy(&trace->memory.lock);
}

void view_close(struct view *view)
{
    for (size_t i = 0; i < view->trace_count; i++)
        close_trace(&view->traces[i]);
    if (view->traces != NULL) {
        pthread_cond_destroy(&view->turns_changed);
        pthread_cond_destroy(&view->opened);
        pthread_mutex_destroy(&view->windows_lock);
    }
    free(view->traces);
    tool_filter_close(&view->filter);
}

/* ---- Live traces ---- */

static bool has_changed(const struct tbed_trace_info *before, const struct tbed_trace_info *now)
{
    return before->file_nbytes != now->file_nbytes || before->page_count != now->page_count ||
           before->event_block_count != now->event_block_count || before->last_tick != now->last_tick ||
           before->stream_count != now->stream_count || before->shut != now->shut;
}

/* The lock prefers answers, so that waiting for it does not delay them. */
static bool lock_for_refresh(struct view_trace *trace)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += REFRESH_WAIT_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return pthread_rwlock_timedwrlock(&trace->lock, &until) == 0;
}

void view_trace_refresh(struct view *view, struct view_trace *trace)
{
    struct tbed_trace_info now;
    if (!lock_for_refresh(trace))
        return;
    if (trace->format == NULL && !trace->seen.shut && strcmp(trace->path, "-") != 0) {
        bool was_written = trace->is_written;
        trace->is_written = tool_is_written(trace->path);
        tbed_reader_refresh(trace->reader, NULL); /* if it fails, the reader is as before */
        tbed_reader_info(trace->reader, &now);
        if (has_changed(&trace->seen, &now) || was_written != trace->is_written)
            trace->generation = __atomic_add_fetch(&view->generation, 1, __ATOMIC_RELAXED);
        trace->seen = now;
    }
    pthread_rwlock_unlock(&trace->lock);
}

void view_trace_name_all(struct view_trace *trace)
{
    struct tbed_unit_info unit;
    bool has_code = false;
    for (size_t i = 0; !has_code && tbed_unit_get(trace->reader, i, &unit); i++)
        has_code = unit.kind == TBED_UNIT_NATIVE;
    pthread_mutex_lock(&trace->facts_lock);
    if (has_code && !trace->has_names)
        tool_places_prepare_all(&trace->places);
    trace->has_names = true;
    pthread_mutex_unlock(&trace->facts_lock);
}

/* ---- Windows that are being made ---- */

/* Whether the page has asked for something newer; cancels what it asked for before. */
static bool is_overtaken(struct view *view, uint64_t page, uint64_t sequence)
{
    bool is_old = false;
    for (size_t i = 0; i < VIEW_WINDOWS_MAX; i++) {
        struct view_window *window = &view->windows[i];
        if (!window->is_used || window->page != page || page == 0)
            continue;
        if (window->sequence < sequence)
            __atomic_store_n(&window->is_cancelled, true, __ATOMIC_RELAXED);
        is_old |= window->sequence > sequence;
    }
    return is_old;
}

struct view_window *view_window_begin(struct view *view, uint64_t page, uint64_t sequence)
{
    struct view_window *window = NULL;
    pthread_mutex_lock(&view->windows_lock);
    bool is_old = is_overtaken(view, page, sequence) || __atomic_load_n(&view->is_ending, __ATOMIC_RELAXED);
    for (size_t i = 0; i < VIEW_WINDOWS_MAX && window == NULL && !is_old; i++)
        if (!view->windows[i].is_used)
            window = &view->windows[i];
    if (window != NULL)
        *window = (struct view_window){.is_used = true, .page = page, .sequence = sequence};
    pthread_mutex_unlock(&view->windows_lock);
    return window;
}

void view_window_end(struct view *view, struct view_window *window)
{
    pthread_mutex_lock(&view->windows_lock);
    window->is_used = false;
    pthread_mutex_unlock(&view->windows_lock);
}

/* ---- Turns of requests that take long ---- */

static struct view_turn *turn_of(struct view *view, uint64_t page)
{
    struct view_turn *unused = NULL;
    for (size_t i = 0; i < VIEW_TURNS_MAX; i++) {
        if (view->turns[i].is_used && view->turns[i].page == page)
            return &view->turns[i];
        if (!view->turns[i].is_used && unused == NULL)
            unused = &view->turns[i];
    }
    if (unused != NULL)
        *unused = (struct view_turn){.is_used = true, .page = page};
    return unused;
}

static bool is_wanted(const struct view *view, const struct view_turn *turn, uint64_t sequence)
{
    return sequence >= turn->newest && !__atomic_load_n(&view->is_ending, __ATOMIC_RELAXED);
}

struct view_turn *view_turn_begin(struct view *view, uint64_t page, uint64_t sequence)
{
    pthread_mutex_lock(&view->windows_lock);
    struct view_turn *turn = turn_of(view, page);
    if (turn != NULL && is_wanted(view, turn, sequence)) {
        turn->newest = sequence;
        turn->waiting++;
        __atomic_store_n(&turn->is_cancelled, true, __ATOMIC_RELAXED);
        pthread_cond_broadcast(&view->turns_changed);
        while (turn->is_running && is_wanted(view, turn, sequence))
            pthread_cond_wait(&view->turns_changed, &view->windows_lock);
        turn->waiting--;
    }
    bool is_mine = turn != NULL && is_wanted(view, turn, sequence);
    if (is_mine) {
        turn->is_running = true;
        __atomic_store_n(&turn->is_cancelled, false, __ATOMIC_RELAXED);
    } else if (turn != NULL) {
        turn->is_used = turn->is_running || turn->waiting > 0;
    }
    pthread_mutex_unlock(&view->windows_lock);
    return is_mine ? turn : NULL;
}

void view_turn_end(struct view *view, struct view_turn *turn)
{
    pthread_mutex_lock(&view->windows_lock);
    turn->is_running = false;
    turn->is_used = turn->waiting > 0;
    pthread_cond_broadcast(&view->turns_changed);
    pthread_mutex_unlock(&view->windows_lock);
}

void view_cancel(struct view *view)
{
    pthread_mutex_lock(&view->windows_lock);
    __atomic_store_n(&view->is_ending, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < VIEW_WINDOWS_MAX; i++)
        __atomic_store_n(&view->windows[i].is_cancelled, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < VIEW_TURNS_MAX; i++)
        __atomic_store_n(&view->turns[i].is_cancelled, true, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&view->turns_changed);
    pthread_cond_broadcast(&view->opened);
    pthread_mutex_unlock(&view->windows_lock);
}
