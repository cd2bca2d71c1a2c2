/*
 * A picture of a running program for programs: one JSON object on one line.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/follow/follow.h"

static void json_ticks(const struct follow *follow, struct tbed_json *json, const char *what, uint64_t ticks)
{
    char key[32];
    bool is_time = follow->info.clock != TBED_CLOCK_USER;
    snprintf(key, sizeof key, is_time ? "%s_ns" : "%s_ticks", what);
    tbed_json_f64(json, key, is_time ? tbed_tick_span_to_ns(follow->reader, ticks) : (double)ticks);
}

static void json_label(const struct follow *follow, struct tbed_json *json, uint32_t id)
{
    struct tbed_name label;
    if (tbed_event_label(follow->reader, id, &label) == TBED_OK)
        tbed_json_text(json, "name", label.text, label.nbytes);
    else
        tbed_json_u64(json, "id", id);
}

static void json_thread(struct follow *follow, struct tbed_json *json,
                        const struct tbed_follow_thread *thread, const struct tbed_stream_info *stream)
{
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, "stream", thread->stream);
    tbed_json_u64(json, "tid", stream->tid);
    if (stream->name_id != TBED_ID_INVALID) {
        follow->line.nbytes = 0;
        tool_append_name(&follow->line, follow->reader, stream->name_id);
        tbed_json_text(json, "name", follow->line.bytes, follow->line.nbytes);
    }
    tbed_json_bool(json, "ended", thread->has_ended);
    tbed_json_u64(json, "event_count", thread->event_count);
    tbed_json_u64(json, "span_count", thread->span_count);
    json_ticks(follow, json, "busy", thread->busy_ticks);
    tbed_json_array_open(json, "open");
    for (size_t i = 0; i < thread->open_count; i++) {
        uint64_t begin = thread->open[i].begin_tick, now = follow->totals.now_tick;
        tbed_json_object_open(json, NULL);
        json_label(follow, json, thread->open[i].id);
        json_ticks(follow, json, "age", now > begin ? now - begin : 0);
        tbed_json_object_close(json);
    }
    tbed_json_array_close(json);
    tbed_json_object_close(json);
}

static void json_spans(const struct follow *follow, struct tbed_json *json)
{
    const struct tbed_follow_label *label;
    tbed_json_array_open(json, "spans");
    for (size_t i = 0; (label = tbed_follow_label(follow->follow, i)) != NULL; i++) {
        tbed_json_object_open(json, NULL);
        json_label(follow, json, label->id);
        tbed_json_u64(json, "count", label->count);
        json_ticks(follow, json, "self", label->self_ticks);
        tbed_json_object_close(json);
    }
    tbed_json_array_close(json);
}

void follow_print_json(struct follow *follow)
{
    struct tbed_json json = {.out = stdout};
    const struct tbed_follow_thread *thread;
    struct tbed_stream_info stream;
    const char *path = tool_path(follow->path);
    tbed_json_object_open(&json, NULL);
    tbed_json_text(&json, "file", path, strlen(path));
    tbed_json_bool(&json, "shut", follow->info.shut);
    tbed_json_u64(&json, "file_bytes", follow->info.file_nbytes);
    tbed_json_u64(&json, "drop_count", tool_drops_total(follow->info.drops));
    tbed_json_u64(&json, "passed_ns", follow->passed_ns);
    tbed_json_u64(&json, "event_count", follow->totals.event_count);
    tbed_json_u64(&json, "span_count", follow->totals.span_count);
    json_ticks(follow, &json, "time", follow->totals.ticks);
    json_spans(follow, &json);
    tbed_json_array_open(&json, "threads");
    for (size_t i = 0; (thread = tbed_follow_thread(follow->follow, i)) != NULL; i++)
        if (tbed_stream_get(follow->reader, i, &stream))
            json_thread(follow, &json, thread, &stream);
    tbed_json_array_close(&json);
    tbed_json_object_close(&json);
    putchar('\n');
}
