/*
 * Events of Perfetto that are not spans: instants, values of counters, messages, flows, asynchronous spans, gaps.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/events/export_json.h"
#include "reader/exchange/perfetto/perfetto.h"

enum {
    EVENT_CATEGORY_IID = 3,
    EVENT_NAME_IID = 10,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_ANNOTATION = 4,
    EVENT_VALUE = 30,
    EVENT_PLACE_IID = 34,
    EVENT_F64_VALUE = 44,
    EVENT_FLOW = 47,
    EVENT_FLOW_END = 48
};
enum { ANNOTATION_U64 = 3, ANNOTATION_TEXT = 6, ANNOTATION_NAME = 10 };

void tbed_perfetto_put_name(struct perfetto *perfetto, uint32_t id, uint32_t category)
{
    struct tbed_text *event = &perfetto->event;
    if (category != TBED_ID_INVALID)
        pb_u64(event, EVENT_CATEGORY_IID, tbed_perfetto_intern(perfetto, PERFETTO_CATEGORIES, category));
    pb_u64(event, EVENT_NAME_IID, tbed_perfetto_intern(perfetto, PERFETTO_NAMES, id));
    const struct export_name *name = tbed_export_name_of(&perfetto->walk, id);
    if (name->file != NULL || name->function != NULL)
        pb_u64(event, EVENT_PLACE_IID, tbed_perfetto_intern(perfetto, PERFETTO_PLACES, id));
}

static void put_all_arguments(struct perfetto *perfetto, const struct tbed_event *event)
{
    tbed_perfetto_put_own_arguments(perfetto, event->id);
    tbed_perfetto_put_arguments(perfetto, event->arguments, event->argument_count,
                                tbed_export_name_of(&perfetto->walk, event->id)->argument_count);
}

static void end_event(struct perfetto *perfetto, const struct tbed_event *event)
{
    tbed_perfetto_end_event(perfetto, tbed_export_time(&perfetto->walk, event->tick), &perfetto->out->text);
}

static void put_instant(struct perfetto *perfetto, const struct tbed_event *event)
{
    tbed_perfetto_begin_event(perfetto, PERFETTO_INSTANT, perfetto->thread_track);
    tbed_perfetto_put_name(perfetto, event->id, event->category);
    put_all_arguments(perfetto, event);
    end_event(perfetto, event);
}

/* "label", or "label (first, second)". */
static void put_counter_name(struct perfetto *perfetto, uint32_t id)
{
    const struct export_name *name = tbed_export_name_of(&perfetto->walk, id);
    struct tbed_text *text = &perfetto->utf8;
    const char *argument;
    size_t at = 0, nbytes;
    text->nbytes = 0;
    tbed_text_put(text, name->label.bytes, name->label.nbytes);
    for (const char *before = " ("; tbed_export_name_argument(name, &at, &argument, &nbytes); before = ", ") {
        tbed_text_puts(text, before);
        tbed_text_put(text, argument, nbytes);
    }
    tbed_text_puts(text, name->argument_count > 0 ? ")" : "");
    perfetto->is_out_of_memory |= text->is_out_of_memory;
}

static uint64_t process_track(const struct perfetto *perfetto, uint64_t pid)
{
    return pid != 0 ? tbed_perfetto_uuid(perfetto, PERFETTO_TRACK_PROCESS, pid, 0, 0) : 0;
}

static void put_value(struct perfetto *perfetto, const struct tbed_argument *value)
{
    bool is_large = value->type == TBED_ARG_U64 && value->value.u64 > INT64_MAX;
    if (value->type == TBED_ARG_F64)
        pb_f64(&perfetto->event, EVENT_F64_VALUE, value->value.f64);
    else if (is_large)
        pb_f64(&perfetto->event, EVENT_F64_VALUE, (double)value->value.u64);
    else
        pb_u64(&perfetto->event, EVENT_VALUE, value->value.u64);
    tbed_export_note(&perfetto->walk, TBED_EXPORT_NOTE_CLIPPED, is_large);
}

static void put_counter(struct perfetto *perfetto, const struct tbed_event *event)
{
    uint64_t pid = perfetto->walk.thread->pid;
    uint64_t track = tbed_perfetto_uuid(perfetto, PERFETTO_TRACK_COUNTER, pid, event->id, 0);
    uint32_t unit_id = tbed_counter_unit(perfetto->walk.reader, event->id);
    const char *unit = NULL;
    size_t unit_nbytes = 0;
    put_counter_name(perfetto, event->id);
    if (unit_id != TBED_ID_INVALID)
        unit = tbed_export_text_of(&perfetto->walk, unit_id, &unit_nbytes);
    tbed_perfetto_put_counter_track(perfetto, track, process_track(perfetto, pid), perfetto->utf8.bytes,
                                    perfetto->utf8.nbytes, unit, unit_nbytes);
    tbed_perfetto_begin_event(perfetto, PERFETTO_COUNTER, track);
    if (event->category != TBED_ID_INVALID)
        pb_u64(&perfetto->event, EVENT_CATEGORY_IID,
               tbed_perfetto_intern(perfetto, PERFETTO_CATEGORIES, event->category));
    put_value(perfetto, &event->counter_value);
    put_all_arguments(perfetto, event);
    end_event(perfetto, event);
}

void tbed_perfetto_put_live(void *context, uint64_t pid, int64_t ns, uint64_t nbytes)
{
    static const char name[] = "live memory", unit[] = "bytes";
    struct perfetto *perfetto = context;
    uint64_t track = tbed_perfetto_uuid(perfetto, PERFETTO_TRACK_LIVE, pid, 0, 0);
    const struct tbed_argument value = {.type = TBED_ARG_U64, .value.u64 = nbytes};
    tbed_perfetto_put_counter_track(perfetto, track, process_track(perfetto, pid), name, sizeof name - 1,
                                    unit, sizeof unit - 1);
    tbed_perfetto_begin_event(perfetto, PERFETTO_COUNTER, track);
    put_value(perfetto, &value);
    tbed_perfetto_end_event(perfetto, ns, &perfetto->out->text);
    perfetto->walk.is_over |= perfetto->is_out_of_memory;
}

static void put_plain_text(struct perfetto *perfetto, const char *name, const char *text, size_t nbytes)
{
    perfetto->scratch.nbytes = 0;
    pb_string(&perfetto->scratch, ANNOTATION_NAME, name);
    pb_bytes(&perfetto->scratch, ANNOTATION_TEXT, text, nbytes);
    pb_message(&perfetto->event, EVENT_ANNOTATION, &perfetto->scratch);
}

/* The text is the name; severity is an annotation, and the category. */
static void put_message(struct perfetto *perfetto, const struct tbed_event *event)
{
    const struct tbed_text *message = tbed_export_message_of(&perfetto->walk, event);
    const char *severity = tbed_export_severity(event->of.message.severity);
    perfetto->utf8.nbytes = 0;
    if (tbed_export_utf8(&perfetto->utf8, message->bytes, message->nbytes))
        tbed_export_note(&perfetto->walk, TBED_EXPORT_NOTE_REPLACED, 1);
    tbed_perfetto_begin_event(perfetto, PERFETTO_INSTANT, perfetto->thread_track);
    pb_string(&perfetto->event, EVENT_CATEGORY, "message");
    pb_message(&perfetto->event, EVENT_NAME, &perfetto->utf8);
    put_plain_text(perfetto, "severity", severity, strlen(severity));
    end_event(perfetto, event);
}

static void put_gap(struct perfetto *perfetto, const struct tbed_event *event)
{
    const char *cause = tbed_drop_cause_text(event->of.gap.cause);
    tbed_perfetto_begin_event(perfetto, PERFETTO_INSTANT, perfetto->thread_track);
    pb_string(&perfetto->event, EVENT_CATEGORY, "gap");
    pb_string(&perfetto->event, EVENT_NAME, "records dropped");
    put_plain_text(perfetto, "cause", cause, strlen(cause));
    perfetto->scratch.nbytes = 0;
    pb_string(&perfetto->scratch, ANNOTATION_NAME, "count");
    pb_u64(&perfetto->scratch, ANNOTATION_U64, event->of.gap.count);
    pb_message(&perfetto->event, EVENT_ANNOTATION, &perfetto->scratch);
    end_event(perfetto, event);
}

/* Flows match by key, over all processes and traces. */
static void put_flow(struct perfetto *perfetto, const struct tbed_event *event)
{
    tbed_perfetto_begin_event(perfetto, PERFETTO_INSTANT, perfetto->thread_track);
    tbed_perfetto_put_name(perfetto, event->id, TBED_ID_INVALID);
    pb_fixed64(&perfetto->event, event->type == TBED_EVENT_FLOW_END ? EVENT_FLOW_END : EVENT_FLOW,
               event->of.async.key);
    put_all_arguments(perfetto, event);
    end_event(perfetto, event);
}

/* Asynchronous spans match by name and key: each such pair is a track. */
static void put_async(struct perfetto *perfetto, const struct tbed_event *event)
{
    uint64_t pid = perfetto->walk.thread->pid;
    uint64_t track = tbed_perfetto_uuid(perfetto, PERFETTO_TRACK_ASYNC, pid, event->id, event->of.async.key);
    const struct tbed_text *label = &tbed_export_name_of(&perfetto->walk, event->id)->label;
    bool is_begin = event->type == TBED_EVENT_ASYNC_BEGIN;
    tbed_perfetto_put_track(perfetto, track, process_track(perfetto, pid), label->bytes, label->nbytes);
    tbed_perfetto_begin_event(perfetto, is_begin ? PERFETTO_BEGIN : PERFETTO_END, track);
    if (is_begin)
        tbed_perfetto_put_name(perfetto, event->id, TBED_ID_INVALID);
    put_all_arguments(perfetto, event);
    end_event(perfetto, event);
}

void tbed_perfetto_put_event(struct perfetto *perfetto, const struct tbed_event *event)
{
    switch (event->type) {
    case TBED_EVENT_INSTANT:
        put_instant(perfetto, event);
        break;
    case TBED_EVENT_COUNTER:
        put_counter(perfetto, event);
        break;
    case TBED_EVENT_MESSAGE:
        put_message(perfetto, event);
        break;
    case TBED_EVENT_GAP:
        put_gap(perfetto, event);
        break;
    case TBED_EVENT_ASYNC_BEGIN:
    case TBED_EVENT_ASYNC_END:
        put_async(perfetto, event);
        break;
    case TBED_EVENT_FLOW_BEGIN:
    case TBED_EVENT_FLOW_STEP:
    case TBED_EVENT_FLOW_END:
        put_flow(perfetto, event);
        break;
    default: /* counted by the walk */
        break;
    }
}
