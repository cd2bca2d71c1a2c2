/*
 * Track events of Perfetto as events of a trace, in the current form and in that of Chrome's older phases.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/perfetto/import/perfetto_import.h"

#include <string.h>

enum {
    EVENT_TIME_DELTA_US = 1,
    EVENT_CATEGORY_IID = 3,
    EVENT_ANNOTATION = 4,
    EVENT_LEGACY = 6,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_TRACK = 11,
    EVENT_MORE_VALUES = 12,
    EVENT_TIME_US = 16,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_VALUE = 30,
    EVENT_COUNTERS = 31,
    EVENT_PLACE = 33,
    EVENT_PLACE_IID = 34,
    EVENT_F64_VALUE = 44,
    EVENT_F64_COUNTERS = 45,
    EVENT_MORE_F64_VALUES = 46,
    EVENT_FLOW_OLD = 36,
    EVENT_FLOW_END_OLD = 42,
    EVENT_FLOW = 47,
    EVENT_FLOW_END = 48
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum {
    LEGACY_NAME_IID = 1,
    LEGACY_PHASE = 2,
    LEGACY_DURATION_US = 3,
    LEGACY_UNSCOPED = 6,
    LEGACY_SCOPE = 7,
    LEGACY_LOCAL = 10,
    LEGACY_GLOBAL = 11
};
#define FLOWS_MAX 8u
#define NS_PER_US 1000

struct legacy {
    uint64_t name_iid, id, scope;
    int64_t duration_us;
    char phase;
    bool is_local;
};

struct values {
    struct proto_field fields[PERFETTO_COUNTERS_MAX];
    uint32_t count;
};

struct event {
    uint64_t type, track, name_iid, place_iid;
    struct proto_field name, category, place, value;
    uint64_t category_iid;
    struct values values, f64_values;
    uint64_t flows[FLOWS_MAX];
    bool flow_ends[FLOWS_MAX];
    uint32_t flow_count;
    bool has_track, has_name_iid, has_category_iid, has_legacy, has_delta_us, has_time_us;
    int64_t delta_us, time_us;
    struct legacy legacy;
};

/* ---- Reading ---- */

static bool read_legacy(const struct proto_field *message, struct legacy *legacy)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    while (tbed_proto_next(&in, &field)) {
        if (field.number == LEGACY_NAME_IID)
            legacy->name_iid = field.value;
        else if (field.number == LEGACY_PHASE)
            legacy->phase = (char)field.value;
        else if (field.number == LEGACY_DURATION_US)
            legacy->duration_us = (int64_t)field.value;
        else if (field.number == LEGACY_UNSCOPED || field.number == LEGACY_LOCAL ||
                 field.number == LEGACY_GLOBAL) {
            legacy->id = field.value;
            legacy->is_local = field.number == LEGACY_LOCAL;
        } else if (field.number == LEGACY_SCOPE && field.wire == PROTO_BYTES)
            for (size_t i = 0; i < field.nbytes; i++)
                legacy->scope = tbed_event_key(legacy->scope, (uint8_t)field.bytes[i]);
    }
    return !in.is_bad;
}

/* Repeated numbers, each in a field or packed; those of 'is_fixed' have 8 bytes. */
static void add_values(struct values *values, const struct proto_field *field, bool is_fixed)
{
    struct proto_in in = tbed_proto_inside(field);
    struct proto_field one = {.wire = is_fixed ? PROTO_FIXED64 : PROTO_VARINT};
    if (field->wire == one.wire && values->count < PERFETTO_COUNTERS_MAX)
        values->fields[values->count++] = *field;
    while (field->wire == PROTO_BYTES && in.at < in.end && values->count < PERFETTO_COUNTERS_MAX &&
           tbed_proto_value(&in, &one))
        values->fields[values->count++] = one;
}

static void add_flows(struct event *event, const struct proto_field *field, bool is_end, bool is_fixed)
{
    struct values values = {.count = 0};
    add_values(&values, field, is_fixed);
    for (uint32_t i = 0; i < values.count && event->flow_count < FLOWS_MAX; i++) {
        event->flow_ends[event->flow_count] = is_end;
        event->flows[event->flow_count++] = values.fields[i].value;
    }
}

static void read_number(struct event *event, const struct proto_field *field)
{
    switch (field->number) {
    case EVENT_TYPE:
        event->type = field->value;
        break;
    case EVENT_TRACK:
        event->track = field->value;
        event->has_track = true;
        break;
    case EVENT_NAME_IID:
        event->name_iid = field->value;
        event->has_name_iid = true;
        break;
    case EVENT_PLACE_IID:
        event->place_iid = field->value;
        break;
    case EVENT_VALUE:
    case EVENT_F64_VALUE:
        event->value = *field;
        break;
    case EVENT_TIME_DELTA_US:
        event->has_delta_us = true;
        event->delta_us = (int64_t)field->value;
        break;
    case EVENT_TIME_US:
        event->has_time_us = true;
        event->time_us = (int64_t)field->value;
    }
}

static bool read_repeated(struct event *event, const struct proto_field *field)
{
    struct values iids = {.count = 0};
    switch (field->number) {
    case EVENT_CATEGORY_IID:
        add_values(&iids, field, false);
        if (!event->has_category_iid && iids.count > 0)
            event->category_iid = iids.fields[0].value;
        event->has_category_iid |= iids.count > 0;
        return true;
    case EVENT_MORE_VALUES:
        add_values(&event->values, field, false);
        return true;
    case EVENT_MORE_F64_VALUES:
        add_values(&event->f64_values, field, true);
        return true;
    case EVENT_FLOW:
    case EVENT_FLOW_END:
        add_flows(event, field, field->number == EVENT_FLOW_END, true);
        return true;
    case EVENT_FLOW_OLD:
    case EVENT_FLOW_END_OLD:
        add_flows(event, field, field->number == EVENT_FLOW_END_OLD, false);
        return true;
    }
    return false;
}

static bool read_event(const struct proto_field *message, struct event *event)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    memset(event, 0, sizeof *event);
    event->name.bytes = event->category.bytes = "";
    while (tbed_proto_next(&in, &field)) {
        if (read_repeated(event, &field))
            continue;
        if (field.wire != PROTO_BYTES)
            read_number(event, &field);
        else if (field.number == EVENT_NAME)
            event->name = field;
        else if (field.number == EVENT_CATEGORY)
            event->category = event->category.number == 0 ? field : event->category;
        else if (field.number == EVENT_PLACE)
            event->place = field;
        else if (field.number == EVENT_LEGACY) {
            event->has_legacy = true;
            if (!read_legacy(&field, &event->legacy))
                return false;
        }
    }
    return !in.is_bad;
}

/* ---- Names ---- */

static uint32_t interned_id(const struct perfetto_sequence *sequence, enum perfetto_in_list list,
                            uint64_t iid)
{
    const struct perfetto_entry *entry = tbed_perfetto_entry(sequence, list, iid);
    return entry != NULL ? entry->id : TBED_ID_INVALID;
}

static uint32_t name_of(struct perfetto_import *perfetto, const struct perfetto_sequence *sequence,
                        const struct event *event)
{
    if (event->name.number != 0)
        return tbed_event_intern(&perfetto->events, event->name.bytes, event->name.nbytes);
    if (event->has_name_iid)
        return interned_id(sequence, PERFETTO_IN_NAME, event->name_iid);
    if (event->legacy.name_iid != 0)
        return interned_id(sequence, PERFETTO_IN_NAME, event->legacy.name_iid);
    return TBED_ID_INVALID;
}

static uint32_t category_of(struct perfetto_import *perfetto, const struct perfetto_sequence *sequence,
                            const struct event *event)
{
    if (event->category.nbytes > 0)
        return tbed_event_intern(&perfetto->events, event->category.bytes, event->category.nbytes);
    return event->has_category_iid ? interned_id(sequence, PERFETTO_IN_CATEGORY, event->category_iid)
                                   : TBED_ID_INVALID;
}

/* Stores where the name is used, once. */
static void describe(struct perfetto_import *perfetto, const struct perfetto_sequence *sequence,
                     const struct event *event, uint32_t name)
{
    const struct perfetto_entry *place =
        event->place_iid != 0 ? tbed_perfetto_entry(sequence, PERFETTO_IN_PLACE, event->place_iid) : NULL;
    size_t known = perfetto->places.map.count;
    if (place == NULL || name == TBED_ID_INVALID)
        return;
    struct tbed_frame_names frame = {place->id, place->file_id, place->line};
    perfetto->is_out_of_memory |= TBED_HASHMAP_ADD(&perfetto->places, tbed_hashmap_key32(name)) == NULL;
    if (perfetto->places.map.count > known)
        tbed_location_describe(perfetto->events.writer, name, &frame, 1);
}

static bool add_annotations(struct perfetto_import *perfetto, const struct perfetto_sequence *sequence,
                            const struct proto_field *message, bool *never_ended)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    size_t place = 0;
    while (tbed_proto_next(&in, &field))
        if (field.number == EVENT_ANNOTATION && field.wire == PROTO_BYTES &&
            !tbed_perfetto_take_annotation(perfetto, sequence, &field, place++, never_ended))
            return false;
    return true;
}

/* ---- Counters ---- */

static void put_value(struct perfetto_import *perfetto, uint64_t uuid, uint64_t time,
                      const struct proto_field *value, bool is_f64)
{
    uint32_t index = tbed_perfetto_counter_index(perfetto, uuid);
    if (index == EVENT_NONE)
        return;
    struct perfetto_in_track *track = tbed_perfetto_track(perfetto, uuid); /* known, as it has an index */
    if (track->counter_id == TBED_ID_INVALID)
        track->counter_id =
            track->name_id != TBED_ID_INVALID ? track->name_id : tbed_event_intern(&perfetto->events, "", 0);
    struct tbed_argument argument = {.type = TBED_ARG_I64, .name_id = TBED_ID_INVALID, .nbytes = 8};
    argument.value.u64 = value->value * (uint64_t)track->multiplier;
    if (track->is_incremental && !is_f64) {
        track->sum = (int64_t)((uint64_t)track->sum + argument.value.u64);
        argument.value.i64 = track->sum;
    }
    if (!is_f64 && argument.value.i64 >= 0)
        argument.type = TBED_ARG_U64;
    if (is_f64) {
        argument.type = TBED_ARG_F64;
        argument.value.f64 = tbed_proto_f64(value) * (double)track->multiplier;
    }
    struct event_row row = {.time = time,
                            .track = index,
                            .id = track->counter_id,
                            .category = TBED_ID_INVALID,
                            .type = EVENT_ROW_COUNTER};
    tbed_event_argument(&perfetto->events, argument);
    tbed_event_put(&perfetto->events, &row);
}

/* Values of other counters at the same time. */
static void put_more_values(struct perfetto_import *perfetto, const struct perfetto_sequence *sequence,
                            const struct event *event, const struct proto_field *message, uint64_t time)
{
    struct proto_in in = tbed_proto_inside(message);
    struct values tracks = {.count = 0}, f64_tracks = {.count = 0};
    struct proto_field field;
    if (event->values.count + event->f64_values.count == 0)
        return;
    while (tbed_proto_next(&in, &field)) {
        if (field.number == EVENT_COUNTERS)
            add_values(&tracks, &field, false);
        else if (field.number == EVENT_F64_COUNTERS)
            add_values(&f64_tracks, &field, false);
    }
    uint32_t count = tracks.count > 0 ? tracks.count : sequence->counter_count;
    for (uint32_t i = 0; i < event->values.count && i < count; i++)
        put_value(perfetto, tracks.count > 0 ? tracks.fields[i].value : sequence->counters[i], time,
                  &event->values.fields[i], false);
    count = f64_tracks.count > 0 ? f64_tracks.count : sequence->f64_counter_count;
    for (uint32_t i = 0; i < event->f64_values.count && i < count; i++)
        put_value(perfetto, f64_tracks.count > 0 ? f64_tracks.fields[i].value : sequence->f64_counters[i],
                  time, &event->f64_values.fields[i], true);
}

/* ---- Flows ---- */

/* An event with the id of a flow is its begin, if it is the first, or a step; the name is the first event's. */
static void put_flows(struct perfetto_import *perfetto, const struct event *event, const struct event_row *at)
{
    for (uint32_t i = 0; i < event->flow_count; i++) {
        struct event_row row = {
            .time = at->time, .track = at->track, .category = TBED_ID_INVALID, .other = event->flows[i]};
        uint64_t key = tbed_event_key(5, event->flows[i]);
        struct perfetto_flow *flow = TBED_HASHMAP_FIND(&perfetto->flows, key);
        row.type = flow != NULL ? EVENT_ROW_FLOW_STEP : EVENT_ROW_FLOW_BEGIN;
        row.id = flow != NULL ? flow->name : at->id;
        if (event->flow_ends[i]) {
            row.type = EVENT_ROW_FLOW_END;
            if (flow != NULL)
                TBED_HASHMAP_REMOVE(&perfetto->flows, flow);
        } else if (flow == NULL) {
            flow = TBED_HASHMAP_ADD(&perfetto->flows, key);
            perfetto->is_out_of_memory |= flow == NULL;
            if (flow != NULL)
                flow->name = at->id;
        }
        tbed_event_put(&perfetto->events, &row);
    }
}

/* ---- Spans and instants ---- */

/* The begin that was held back is a span of its track. */
static void put_aside(struct perfetto_import *perfetto)
{
    struct event_import *events = &perfetto->events;
    if (perfetto->aside.row_count == 0)
        return;
    struct tbed_argument kept[EVENT_ARGUMENTS_MAX];
    size_t count = events->argument_count, nbytes = events->argument_nbytes;
    memcpy(kept, events->arguments, count * sizeof *kept);
    struct event_row row = *perfetto->aside.rows[0];
    tbed_event_row_arguments(perfetto->aside.rows[0], events->arguments);
    events->argument_count = row.argument_count;
    perfetto->aside.row_count = 0;
    tbed_event_put(events, &row);
    memcpy(events->arguments, kept, count * sizeof *kept);
    events->argument_count = count;
    events->argument_nbytes = nbytes;
}

static void hold_aside(struct perfetto_import *perfetto, const struct event_row *row, uint64_t uuid)
{
    struct event_import *events = &perfetto->events;
    perfetto->aside.nbytes = 0;
    enum tbed_status status =
        tbed_event_rows_put(&perfetto->aside, *row, events->arguments, events->argument_count);
    events->status = events->status == TBED_OK ? status : events->status;
    perfetto->aside_uuid = uuid;
    events->argument_count = events->argument_nbytes = 0;
}

/* The span that was held back and ends here is a whole one of the thread. */
static void end_aside(struct perfetto_import *perfetto, const struct event_row *end, uint32_t thread)
{
    struct event_import *events = &perfetto->events;
    struct event_row row = *perfetto->aside.rows[0];
    bool never_ended = end->severity != 0;
    tbed_event_row_arguments(perfetto->aside.rows[0], events->arguments);
    events->argument_count = row.argument_count;
    perfetto->aside.row_count = 0;
    row.type = never_ended ? EVENT_ROW_OPEN : EVENT_ROW_SPAN;
    row.other = never_ended ? end->time : row.time;
    row.time = never_ended ? row.time : end->time;
    row.track = thread;
    tbed_event_put(events, &row);
}

/*
 * A span that has the name of its track, as our export and Chrome's tracks have them, is an asynchronous one; or, if the
 * track is below a thread's, one of the thread that does not nest in it. The track is known, as the row has its index.
 */
static void put_span(struct perfetto_import *perfetto, struct event_row *row, uint64_t uuid)
{
    struct perfetto_in_track *track = tbed_perfetto_track(perfetto, uuid);
    uint32_t thread = tbed_perfetto_thread_above(perfetto, track);
    bool begins = row->type == EVENT_ROW_BEGIN, is_held = perfetto->aside.row_count > 0;
    bool has_own_name = !track->is_thread && !track->is_process && track->name_id != TBED_ID_INVALID;
    if (!begins && is_held && perfetto->aside_uuid == uuid && thread != EVENT_NONE) {
        end_aside(perfetto, row, thread);
        track->span_count--;
        return;
    }
    put_aside(perfetto);
    if (begins && has_own_name && row->id == track->name_id && track->span_count == 0 &&
        thread == EVENT_NONE) {
        row->type = EVENT_ROW_ASYNC_BEGIN;
        row->track = tbed_perfetto_async_index(perfetto, track);
        row->other = uuid;
    } else if (begins) {
        track->span_count++;
    } else if (track->span_count > 0) {
        track->span_count--;
    } else if (has_own_name && thread == EVENT_NONE) {
        row->type = EVENT_ROW_ASYNC_END;
        row->track = tbed_perfetto_async_index(perfetto, track);
        row->id = track->name_id;
        row->other = uuid;
    }
    if (begins && thread != EVENT_NONE && row->id == track->name_id && track->span_count == 1)
        hold_aside(perfetto, row, uuid);
    else
        tbed_event_put(&perfetto->events, row);
}

static bool is_message(const struct event *event)
{
    return event->category.nbytes == 7 && memcmp(event->category.bytes, "message", 7) == 0 &&
           event->name.number != 0 && event->name.nbytes <= EVENT_INLINE_TEXT_MAX;
}

static bool is_gap(const struct event *event)
{
    return event->category.nbytes == 3 && memcmp(event->category.bytes, "gap", 3) == 0;
}

/* A message, as our own export writes it: its severity is its only annotation. */
static void put_message(struct perfetto_import *perfetto, const struct event *event, struct event_row *row)
{
    static const char *const severities[] = {"none", "error", "warning", "information", "debug"};
    struct event_import *events = &perfetto->events;
    const struct tbed_argument *severity = &events->arguments[0];
    for (uint8_t i = 0; events->argument_count == 1 && severity->type == TBED_ARG_TEXT && i < 5; i++)
        if (severity->nbytes == strlen(severities[i]) &&
            memcmp(severity->value.text, severities[i], severity->nbytes) == 0)
            row->severity = i;
    events->argument_count = events->argument_nbytes = 0;
    row->type = EVENT_ROW_MESSAGE;
    row->id = row->category = TBED_ID_INVALID;
    tbed_event_text(events, TBED_ID_INVALID, event->name.bytes, event->name.nbytes);
    tbed_event_put(events, row);
}

static void put_instant(struct perfetto_import *perfetto, const struct event *event, struct event_row *row)
{
    struct event_import *events = &perfetto->events;
    row->type = EVENT_ROW_INSTANT;
    if (is_message(event)) {
        put_message(perfetto, event, row);
    } else if (is_gap(event)) {
        for (size_t i = 0; i < events->argument_count; i++)
            events->report->notes[TBED_IMPORT_NOTE_LOST] +=
                events->arguments[i].type == TBED_ARG_U64 ? events->arguments[i].value.u64 : 0;
        events->argument_count = events->argument_nbytes = 0;
    } else if (event->flow_count == 0) {
        tbed_event_put(events, row);
    }
}

/* ---- Chrome's older phases ---- */

static void put_keyed(struct perfetto_import *perfetto, const struct legacy *legacy, struct event_row *row,
                      enum event_row_type type)
{
    row->type = (uint8_t)type;
    row->other = tbed_event_key(legacy->scope, legacy->id);
    if (legacy->is_local)
        row->other = tbed_event_key(row->other, perfetto->events.tracks.items[row->track].process + 1u);
    tbed_event_put(&perfetto->events, row);
}

static void put_whole(struct perfetto_import *perfetto, const struct legacy *legacy, struct event_row *row)
{
    int64_t duration, end;
    if (__builtin_mul_overflow(legacy->duration_us, NS_PER_US, &duration) ||
        __builtin_add_overflow((int64_t)EVENT_TIME(row->time), duration, &end)) {
        perfetto->events.argument_count = perfetto->events.argument_nbytes = 0;
        tbed_event_note(&perfetto->events, TBED_IMPORT_NOTE_RANGE);
        return;
    }
    row->type = EVENT_ROW_SPAN;
    row->other = row->time;
    row->time = EVENT_TIME(end);
    perfetto->events.report->inverted_count += duration < 0;
    tbed_event_put(&perfetto->events, row);
}

static void put_legacy(struct perfetto_import *perfetto, const struct event *event, struct event_row *row)
{
    static const char phases[] = "bSeFstf";
    static const enum event_row_type types[] = {
        EVENT_ROW_ASYNC_BEGIN, EVENT_ROW_ASYNC_BEGIN, EVENT_ROW_ASYNC_END, EVENT_ROW_ASYNC_END,
        EVENT_ROW_FLOW_BEGIN,  EVENT_ROW_FLOW_STEP,   EVENT_ROW_FLOW_END};
    char phase = event->legacy.phase;
    const char *keyed = phase != '\0' ? strchr(phases, phase) : NULL;
    if (keyed != NULL) {
        put_keyed(perfetto, &event->legacy, row, types[keyed - phases]);
    } else if (phase == 'X') {
        put_whole(perfetto, &event->legacy, row);
    } else if (phase == 'B' || phase == 'E') {
        row->type = phase == 'B' ? EVENT_ROW_BEGIN : EVENT_ROW_END;
        tbed_event_put(&perfetto->events, row);
    } else if (phase == 'i' || phase == 'I' || phase == 'n' || phase == 'R' || phase == 'T' || phase == 'p') {
        put_instant(perfetto, event, row);
    } else {
        perfetto->events.argument_count = perfetto->events.argument_nbytes = 0;
        tbed_event_note(&perfetto->events, TBED_IMPORT_NOTE_PHASES);
    }
}

/* ---- Events ---- */

static bool time_of(struct perfetto_import *perfetto, struct perfetto_sequence *sequence,
                    const struct perfetto_packet *packet, const struct event *event, int64_t *ns)
{
    if (packet->has_timestamp)
        return tbed_perfetto_time(perfetto, packet->sequence,
                                  packet->has_clock ? packet->clock : sequence->clock, packet->timestamp, ns);
    if (event->has_time_us)
        return !__builtin_mul_overflow(event->time_us, NS_PER_US, ns);
    if (!event->has_delta_us || __builtin_mul_overflow(event->delta_us, NS_PER_US, ns) ||
        __builtin_add_overflow(sequence->reference_ns, *ns, ns))
        return false;
    sequence->reference_ns = *ns;
    return true;
}

static void put_event(struct perfetto_import *perfetto, const struct event *event, struct event_row *row,
                      uint64_t uuid, bool never_ended)
{
    if (event->type != TYPE_BEGIN && event->type != TYPE_END) {
        if (event->type == 0 && event->has_legacy)
            put_legacy(perfetto, event, row);
        else
            put_instant(perfetto, event, row);
        return;
    }
    row->type = event->type == TYPE_BEGIN ? EVENT_ROW_BEGIN : EVENT_ROW_END;
    row->severity = row->type == EVENT_ROW_END && never_ended;
    put_span(perfetto, row, uuid);
}

void tbed_perfetto_finish_events(struct perfetto_import *perfetto)
{
    put_aside(perfetto);
    tbed_event_rows_free(&perfetto->aside);
}

bool tbed_perfetto_take_event(struct perfetto_import *perfetto, struct perfetto_sequence *sequence,
                              const struct perfetto_packet *packet)
{
    struct event event;
    int64_t ns;
    bool never_ended = false;
    if (!read_event(&packet->event, &event))
        return false;
    if (!time_of(perfetto, sequence, packet, &event, &ns)) {
        tbed_event_note(&perfetto->events, TBED_IMPORT_NOTE_TIMELESS);
        return true;
    }
    uint64_t uuid = event.has_track        ? event.track
                    : sequence->track != 0 ? sequence->track
                                           : sequence->thread_track;
    if (event.type == TYPE_COUNTER) {
        if (event.value.number == 0)
            tbed_event_note(&perfetto->events, TBED_IMPORT_NOTE_VALUES);
        else
            put_value(perfetto, uuid, EVENT_TIME(ns), &event.value, event.value.number == EVENT_F64_VALUE);
        return true;
    }
    put_more_values(perfetto, sequence, &event, &packet->event, EVENT_TIME(ns));
    struct event_row row = {.time = EVENT_TIME(ns), .track = tbed_perfetto_track_index(perfetto, uuid)};
    if (row.track == EVENT_NONE)
        return true;
    row.id = name_of(perfetto, sequence, &event);
    row.category = category_of(perfetto, sequence, &event);
    describe(perfetto, sequence, &event, row.id);
    perfetto->text.nbytes = 0;
    tbed_text_reserve(&perfetto->text, packet->event.nbytes * 2);
    bool is_fine = add_annotations(perfetto, sequence, &packet->event, &never_ended);
    struct event_row flow = row;
    put_event(perfetto, &event, &row, uuid, never_ended);
    perfetto->events.argument_count = perfetto->events.argument_nbytes = 0; /* a flow has none */
    put_flows(perfetto, &event, &flow);
    return is_fine;
}
