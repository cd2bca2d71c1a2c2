/*
 * trace: the files that are shown, their processes, threads and counters; and what has changed in live ones.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/answers/answers.h"

#include "reader/core/file/gateway.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What it has, by a sample of its blocks ---- */

#define SAMPLE_BLOCKS 48
#define SAMPLE_EVENTS 4096 /* of each block */
#define COUNTERS_MAX  200

static uint32_t process_of(const struct tbed_reader *reader, uint32_t stream)
{
    struct tbed_stream_info info;
    for (size_t i = 0; tbed_stream_get(reader, i, &info); i++)
        if (info.stream == stream)
            return info.process;
    return 0;
}

static void note_counter(struct view_trace *trace, const struct tbed_event *event)
{
    struct view_facts *facts = &trace->facts;
    if (facts->counters == NULL)
        facts->counters = calloc(COUNTERS_MAX, sizeof *facts->counters);
    if (facts->counters == NULL)
        return;
    if (facts->process_stream != event->stream) {
        facts->process_stream = event->stream;
        facts->process = process_of(trace->reader, event->stream);
    }
    size_t i = 0;
    while (i < facts->counter_count &&
           (facts->counters[i].id != event->id || facts->counters[i].process != facts->process))
        i++;
    if (i == facts->counter_count && i < COUNTERS_MAX)
        facts->counters[facts->counter_count++] = (struct view_counter){event->id, facts->process};
}

static void note_event(struct view_trace *trace, const struct tbed_event *event)
{
    struct view_facts *facts = &trace->facts;
    switch (event->type) {
    case TBED_EVENT_BEGIN:
    case TBED_EVENT_END:
    case TBED_EVENT_SPAN:
        facts->has_spans = true;
        break;
    case TBED_EVENT_INSTANT:
        facts->has_instants = true;
        break;
    case TBED_EVENT_COUNTER:
        note_counter(trace, event);
        break;
    case TBED_EVENT_MESSAGE:
        facts->has_messages = true;
        break;
    case TBED_EVENT_ALLOC:
    case TBED_EVENT_FREE:
    case TBED_EVENT_REALLOC:
    case TBED_EVENT_RESIZE:
        facts->has_allocations = true;
        break;
    case TBED_EVENT_ASYNC_BEGIN:
    case TBED_EVENT_ASYNC_END:
        facts->has_async = true;
        break;
    case TBED_EVENT_FLOW_BEGIN:
    case TBED_EVENT_FLOW_STEP:
    case TBED_EVENT_FLOW_END:
        facts->has_flows = true;
        break;
    default:
        break;
    }
}

/* Reads on from the start of a block; the cursor skips what is damaged. */
static void sample_block(struct view_trace *trace, size_t index)
{
    struct tbed_block block;
    struct tbed_cursor *cursor;
    struct tbed_event event;
    if (tbed_event_block_look(trace->reader, index, &block) != TBED_OK ||
        tbed_cursor_open(trace->reader, block.stream, &cursor) != TBED_OK)
        return;
    tbed_cursor_seek(cursor, block.first_tick);
    for (size_t i = 0; i < SAMPLE_EVENTS && tbed_cursor_next(cursor, &event) == TBED_OK; i++)
        note_event(trace, &event);
    tbed_cursor_close(cursor);
}

static void sample_all(struct view_trace *trace)
{
    struct tbed_merge *merge;
    struct tbed_event event;
    if (tbed_merge_open(trace->reader, NULL, 0, &merge) != TBED_OK)
        return;
    while (tbed_merge_next(merge, &event) == TBED_OK)
        note_event(trace, &event);
    tbed_merge_close(merge);
    trace->facts.is_complete = true;
}

/* Caller holds 'facts_lock'. */
static void find_facts(struct view_trace *trace)
{
    size_t count = tbed_event_block_count(trace->reader);
    trace->facts.is_complete = false;
    trace->facts.counter_count = 0;
    trace->facts.process_stream = 0;
    if (count <= SAMPLE_BLOCKS)
        sample_all(trace);
    for (size_t i = 0; count > SAMPLE_BLOCKS && i < SAMPLE_BLOCKS; i++)
        sample_block(trace, count / SAMPLE_BLOCKS * i + count % SAMPLE_BLOCKS * i / SAMPLE_BLOCKS);
    trace->facts_generation = trace->generation;
    trace->has_facts = true;
}

static void put_facts(struct answer *answer)
{
    struct view_trace *trace = answer->trace;
    struct tbed_json *json = &answer->json;
    pthread_mutex_lock(&trace->facts_lock);
    if (!trace->has_facts || trace->facts_generation != trace->generation)
        find_facts(trace);
    const struct view_facts *facts = &trace->facts;
    tbed_json_array_open(json, "counters");
    for (size_t i = 0; i < facts->counter_count; i++) {
        tbed_json_object_open(json, NULL);
        const struct view_counter *counter = &facts->counters[i];
        tbed_json_u64(json, "id", counter->id);
        answer_name(answer, "name", counter->id);
        answer_unit(answer, counter->id);
        tbed_json_u64(json, "p", counter->process);
        tbed_json_object_close(json);
    }
    tbed_json_array_close(json);
    tbed_json_object_open(json, "has");
    tbed_json_bool(json, "spans", facts->has_spans);
    tbed_json_bool(json, "allocations", facts->has_allocations);
    tbed_json_bool(json, "messages", facts->has_messages);
    tbed_json_bool(json, "instants", facts->has_instants);
    tbed_json_bool(json, "counters", facts->counter_count > 0);
    tbed_json_bool(json, "flows", facts->has_flows);
    tbed_json_bool(json, "async", facts->has_async);
    tbed_json_bool(json, "complete", facts->is_complete);
    tbed_json_object_close(json);
    pthread_mutex_unlock(&trace->facts_lock);
}

/* ---- Processes and threads ---- */

static void put_processes(struct answer *answer)
{
    struct tbed_process_info process;
    tbed_json_array_open(&answer->json, "processes");
    for (size_t i = 0; tbed_process_get(answer->trace->reader, i, &process); i++) {
        tbed_json_object_open(&answer->json, NULL);
        tbed_json_u64(&answer->json, "p", process.stream);
        tbed_json_u64(&answer->json, "pid", process.pid);
        answer_name(answer, "name", process.name_id);
        tbed_json_object_close(&answer->json);
    }
    tbed_json_array_close(&answer->json);
}

static bool is_shown(const struct view_trace *trace, uint32_t stream)
{
    for (size_t i = 0; i < trace->stream_count; i++)
        if (trace->streams[i] == stream)
            return true;
    return trace->streams == NULL;
}

static void put_track(struct answer *answer, const struct tbed_stream_info *stream)
{
    struct tbed_json *json = &answer->json;
    bool is_thread = stream->kind != TBED_STREAM_TRACK;
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, "s", stream->stream);
    tbed_json_u64(json, "p", stream->process);
    tbed_json_string(json, "kind", is_thread ? "thread" : "track");
    if (is_thread && stream->kind != 0)
        tbed_json_u64(json, "tid", stream->tid);
    else
        tbed_json_null(json, "tid");
    answer_name(answer, "name", stream->name_id);
    answer_tick(answer, "begin", stream->kind != 0 ? stream->tick : answer->info.first_tick);
    answer_tick(answer, "end", stream->end_tick != 0 ? stream->end_tick : answer->end_tick);
    tbed_json_u64(json, "blocks", stream->block_count);
    tbed_json_object_close(json);
}

static void put_tracks(struct answer *answer)
{
    struct tbed_stream_info stream;
    tbed_json_array_open(&answer->json, "tracks");
    for (size_t i = 0; tbed_stream_get(answer->trace->reader, i, &stream); i++)
        if (is_shown(answer->trace, stream.stream))
            put_track(answer, &stream);
    tbed_json_array_close(&answer->json);
}

/* ---- The file ---- */

static const char *kind_of(const struct view_trace *trace)
{
    if (trace->format == NULL)
        return "trace";
    return strcmp(trace->format->name, "rtl-log") == 0 ? "log" : "profile";
}

static void put_path(struct answer *answer)
{
    const char *path = tool_path(answer->trace->path), *slash = strrchr(path, '/');
    const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : path;
    char *whole = strcmp(answer->trace->path, "-") == 0 ? NULL : realpath(answer->trace->path, NULL);
    tbed_json_string(&answer->json, "name", name);
    tbed_json_string(&answer->json, "path", answer->view->is_for_file ? name : whole != NULL ? whole : path);
    free(whole);
}

static void put_clock(struct answer *answer)
{
    const struct tbed_reader *reader = answer->trace->reader;
    struct tbed_json *json = &answer->json;
    char wall[24];
    int64_t wall_ns;
    bool is_time = answer->info.clock != TBED_CLOCK_USER;
    tbed_json_u64(json, "ticks", answer->end_tick - answer->info.first_tick);
    if (is_time)
        tbed_json_f64(json, "ns_per_tick", tbed_tick_span_to_ns(reader, 1000000) / 1e6);
    else
        tbed_json_null(json, "ns_per_tick");
    tbed_json_string(json, "unit", is_time ? NULL : answer->info.clock_unit);
    snprintf(wall, sizeof wall, "%lld",
             tbed_ticks_to_realtime_ns(reader, answer->info.first_tick, &wall_ns) == TBED_OK
                 ? (long long)wall_ns
                 : 0LL);
    tbed_json_string(json, "first_wall_ns", strcmp(wall, "0") != 0 ? wall : NULL);
    tbed_json_u64(json, "resolution", answer->info.resolution_ticks);
}

static void put_state(struct answer *answer)
{
    const struct view_trace *trace = answer->trace;
    struct tbed_json *json = &answer->json;
    bool is_open = trace->format == NULL && !answer->info.shut;
    tbed_json_u64(json, "block_count", answer->info.event_block_count);
    tbed_json_u64(json, "nbytes", answer->info.file_nbytes);
    tbed_json_bool(json, "is_ring", answer->info.ring_page_count != 0);
    tbed_json_bool(json, "is_live", is_open && trace->is_written && !answer->view->is_for_file);
    tbed_json_bool(json, "is_killed", is_open && !trace->is_written);
    tbed_json_u64(json, "damage_count", tool_damage_count(trace->reader));
    tbed_json_u64(json, "dropped_count", tool_drops_total(answer->info.drops));
    tbed_json_u64(json, "generation", trace->generation);
}

/* What was asked for on the command line, where the page begins. */
static void put_initial(struct answer *answer)
{
    const struct view_trace *trace = answer->trace;
    if (!trace->has_window)
        return;
    tbed_json_object_open(&answer->json, "initial");
    answer_tick(answer, "b", trace->window.begin_tick);
    answer_tick(answer, "e", trace->window.end_tick != 0 ? trace->window.end_tick : answer->end_tick);
    tbed_json_object_close(&answer->json);
}

static void put_file(struct answer *answer, size_t number)
{
    tbed_json_object_open(&answer->json, NULL);
    tbed_json_u64(&answer->json, "f", number);
    put_path(answer);
    tbed_json_string(&answer->json, "kind", kind_of(answer->trace));
    tbed_json_string(&answer->json, "format",
                     answer->trace->format != NULL ? answer->trace->format->name : NULL);
    put_clock(answer);
    put_state(answer);
    put_initial(answer);
    put_processes(answer);
    put_tracks(answer);
    put_facts(answer);
    tbed_json_object_close(&answer->json);
}

enum answer_status answer_trace(struct answer *answer)
{
    struct view *view = answer->view;
    uint64_t since = 0;
    if (!request_number(answer->request, "since", 0, UINT64_MAX, &since))
        return ANSWER_BAD;
    for (size_t i = 0; i < view->trace_count; i++)
        view_trace_refresh(view, &view->traces[i]);
    tbed_json_object_open(&answer->json, NULL);
    tbed_json_array_open(&answer->json, "files");
    for (size_t i = 0; i < view->trace_count; i++) {
        answer_use_trace(answer, &view->traces[i]);
        if (request_text(answer->request, "since") == NULL || answer->trace->generation > since)
            put_file(answer, i);
        answer_leave_trace(answer);
    }
    tbed_json_array_close(&answer->json);
    tbed_json_u64(&answer->json, "generation", __atomic_load_n(&view->generation, __ATOMIC_RELAXED));
    tbed_json_object_close(&answer->json);
    return ANSWER_OK;
}
