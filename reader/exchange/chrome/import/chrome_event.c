/*
 * One Chrome trace event as an event of a trace; see chrome_import.h. What our own export writes in a way of its own
 * (messages, spans beside their thread, spans that never ended, arguments without a name) becomes again what it was.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/chrome/import/chrome_import.h"

#include <string.h>

#define OPEN_MARK "never ended"
#define BESIDE    "beside "
#define NAME_NMAX 512 /* of the name of a series, which is put together */
#define UNIT_NMAX 64

/* ---- Tracks ---- */

static bool is_last(const char *last, size_t last_nbytes, const struct json_value *value)
{
    return value->nbytes == last_nbytes && value->nbytes > 0 && memcmp(last, value->text, last_nbytes) == 0;
}

static void remember(char *last, size_t *last_nbytes, const struct json_value *value)
{
    *last_nbytes = value->nbytes <= CHROME_LAST_NMAX ? value->nbytes : 0;
    if (*last_nbytes > 0)
        memcpy(last, value->text, *last_nbytes);
}

/* A pid or tid that is not a number is a name. */
static bool is_name(const struct json_value *value, uint32_t number)
{
    struct json_value unused;
    return value->type == JSON_STRING && value->nbytes > 0 && number == 0 &&
           !tbed_chrome_number(value, &unused);
}

static uint32_t process_of(struct chrome_import *chrome, const struct json_value *pid, uint64_t *key_ret)
{
    struct event_import *events = &chrome->events;
    size_t known = events->processes.count;
    uint32_t number;
    *key_ret = tbed_event_key(tbed_chrome_key(pid, &number), 1);
    uint32_t process = tbed_event_process(events, *key_ret, number);
    if (events->processes.count > known && is_name(pid, number)) {
        struct chrome_piece piece = tbed_chrome_text(chrome, pid);
        tbed_event_process_name(events, process, piece.text, piece.nbytes);
    }
    return process;
}

static uint32_t track_of(struct chrome_import *chrome, const struct chrome_fields *fields)
{
    struct event_import *events = &chrome->events;
    uint64_t process_key;
    uint32_t tid;
    if (chrome->last_track != EVENT_NONE &&
        is_last(chrome->last_pid, chrome->last_pid_nbytes, &fields->pid) &&
        is_last(chrome->last_tid, chrome->last_tid_nbytes, &fields->tid))
        return chrome->last_track;
    uint32_t process = process_of(chrome, &fields->pid, &process_key);
    uint64_t key = tbed_chrome_key(&fields->tid, &tid);
    size_t known = events->tracks.count;
    uint32_t track = tbed_event_track(events, tbed_event_key(process_key, key), process, tid);
    bool is_large = fields->tid.type == JSON_NUMBER && tid == 0 && key != 0;
    if (events->tracks.count > known && (is_large || is_name(&fields->tid, tid))) {
        struct chrome_piece piece = tbed_chrome_text(chrome, &fields->tid);
        tbed_event_track_name(events, track, piece.text, piece.nbytes);
    }
    remember(chrome->last_pid, &chrome->last_pid_nbytes, &fields->pid);
    remember(chrome->last_tid, &chrome->last_tid_nbytes, &fields->tid);
    chrome->last_track = track;
    return track;
}

/* ---- Arguments ---- */

/* Our export calls an argument without a name "arg" and its place. */
static bool is_nameless(const struct json_value *key, size_t place)
{
    char name[24] = "arg";
    return tbed_json_in_is(key, name, 3 + tbed_format_u64(name + 3, place));
}

static void add_argument(struct chrome_import *chrome, uint32_t name, const struct json_value *value)
{
    struct tbed_argument argument;
    if (tbed_chrome_scalar(value, &argument)) {
        argument.name_id = name;
        tbed_event_argument(&chrome->events, argument);
        return;
    }
    struct chrome_piece piece = tbed_chrome_text(chrome, value);
    tbed_event_text(&chrome->events, name, piece.text, piece.nbytes);
}

/* Returns whether one of them says that the span never ended; that is no argument. */
static bool add_arguments(struct chrome_import *chrome, const struct chrome_fields *fields)
{
    struct json_value key, value;
    bool never_ended = false;
    if (fields->args.type != JSON_OBJECT) {
        if (fields->args.type != JSON_NULL)
            add_argument(chrome, TBED_ID_INVALID, &fields->args);
        return false;
    }
    struct json_in in = tbed_json_in_inside(&fields->args);
    for (size_t place = 0; tbed_json_in_member(&in, &key, &value); place++) {
        if (value.type == JSON_TRUE && TBED_JSON_IS(&key, OPEN_MARK))
            never_ended = true;
        else
            add_argument(chrome,
                         is_nameless(&key, place) ? TBED_ID_INVALID : tbed_chrome_intern(chrome, &key),
                         &value);
    }
    return never_ended;
}

/* ---- Counters ---- */

static uint32_t join(struct chrome_import *chrome, struct chrome_piece a, const char *between,
                     struct chrome_piece b)
{
    const struct chrome_piece pieces[] = {a, {between, strlen(between)}, b};
    char name[NAME_NMAX];
    size_t nbytes = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        size_t room = sizeof name - nbytes, taken = pieces[i].nbytes < room ? pieces[i].nbytes : room;
        memcpy(name + nbytes, pieces[i].text, taken);
        nbytes += taken;
    }
    return tbed_event_intern(&chrome->events, name, nbytes);
}

static void describe(struct chrome_import *chrome, uint32_t counter, struct chrome_piece unit)
{
    char text[UNIT_NMAX];
    bool is_none = unit.nbytes == 5 && memcmp(unit.text, "value", 5) == 0;
    if (is_none || unit.nbytes == 0 || unit.nbytes >= sizeof text)
        return;
    memcpy(text, unit.text, unit.nbytes);
    text[unit.nbytes] = '\0';
    tbed_counter_describe(chrome->events.writer, counter, text);
}

/*
 * A series that is alone in its event has the event's name, and its own name is its unit, as our export writes it. If there
 * are others, each has its own name behind the event's.
 */
static uint32_t counter_of(struct chrome_import *chrome, const struct chrome_fields *fields, uint32_t name,
                           const struct json_value *key, bool is_alone)
{
    struct chrome_piece unit = tbed_chrome_text(chrome, key);
    uint32_t unit_id = tbed_event_intern(&chrome->events, unit.text, unit.nbytes);
    struct chrome_series *series = TBED_HASHMAP_FIND(&chrome->series, tbed_hashmap_key32(name));
    if (series == NULL) {
        series = TBED_HASHMAP_ADD(&chrome->series, tbed_hashmap_key32(name));
        chrome->scratch.is_out_of_memory |= series == NULL;
        if (series == NULL)
            return name;
        series->unit = is_alone ? unit_id : TBED_ID_INVALID;
        if (is_alone)
            describe(chrome, name, unit);
    }
    bool has_name = series->unit == unit_id && is_alone;
    return has_name ? name : join(chrome, tbed_chrome_text(chrome, &fields->name), " ", unit);
}

static size_t count_members(const struct json_value *object)
{
    struct json_in in = tbed_json_in_inside(object);
    struct json_value key, value;
    size_t count = 0;
    while (tbed_json_in_member(&in, &key, &value))
        count++;
    return count;
}

static void take_counter(struct chrome_import *chrome, const struct chrome_fields *fields,
                         struct event_row *row)
{
    struct json_value key, value, number;
    uint32_t name = row->id; /* an id is an argument in the name */
    if (fields->args.type != JSON_OBJECT)
        return;
    if (fields->id.type != JSON_NULL)
        name = join(chrome, tbed_chrome_text(chrome, &fields->name), "\x1E",
                    tbed_chrome_text(chrome, &fields->id));
    bool is_alone = count_members(&fields->args) == 1;
    struct json_in in = tbed_json_in_inside(&fields->args);
    row->type = EVENT_ROW_COUNTER;
    while (tbed_json_in_member(&in, &key, &value)) {
        struct tbed_argument argument;
        if (!tbed_chrome_number(&value, &number)) {
            tbed_event_note(&chrome->events, TBED_IMPORT_NOTE_VALUES);
            continue;
        }
        tbed_chrome_scalar(&number, &argument);
        row->id = counter_of(chrome, fields, name, &key, is_alone);
        tbed_event_argument(&chrome->events, argument);
        tbed_event_put(&chrome->events, row);
    }
}

/* ---- Spans ---- */

static void put_span(struct chrome_import *chrome, struct event_row *row, uint64_t begin, uint64_t end,
                     bool never_ended)
{
    row->type = never_ended ? EVENT_ROW_OPEN : EVENT_ROW_SPAN;
    row->time = never_ended ? begin : end;
    row->other = never_ended ? end : begin;
    chrome->events.report->inverted_count += end < begin;
    tbed_event_put(&chrome->events, row);
}

static void take_whole_span(struct chrome_import *chrome, const struct chrome_fields *fields,
                            struct event_row *row)
{
    int64_t begin = (int64_t)EVENT_TIME(row->time), duration = 0, end;
    bool has_duration = fields->dur.type != JSON_NULL;
    if ((has_duration && !tbed_chrome_ns(&fields->dur, &duration)) ||
        __builtin_add_overflow(begin, duration, &end)) {
        tbed_event_note(&chrome->events, TBED_IMPORT_NOTE_RANGE);
        return;
    }
    bool never_ended = add_arguments(chrome, fields);
    put_span(chrome, row, row->time, EVENT_TIME(end), never_ended);
}

/* ---- Asynchronous spans and flows ---- */

static bool is_beside(const struct chrome_fields *fields)
{
    size_t nbytes = sizeof BESIDE - 1;
    return fields->id.type == JSON_STRING && fields->id.nbytes > nbytes &&
           memcmp(fields->id.text, BESIDE, nbytes) == 0;
}

static void begin_beside(struct chrome_import *chrome, const struct chrome_fields *fields,
                         struct event_row *row)
{
    struct event_import *events = &chrome->events;
    row->type = add_arguments(chrome, fields) ? EVENT_ROW_OPEN : EVENT_ROW_SPAN;
    chrome->beside.nbytes = chrome->beside.row_count = 0;
    enum tbed_status status =
        tbed_event_rows_put(&chrome->beside, *row, events->arguments, events->argument_count);
    events->status = events->status == TBED_OK ? status : events->status;
    events->argument_count = events->argument_nbytes = 0;
}

/* Our export writes both events of such a span at once. */
static void end_beside(struct chrome_import *chrome, const struct event_row *end)
{
    if (chrome->beside.row_count == 0) {
        chrome->events.report->unpaired_count++;
        return;
    }
    struct event_row row = *chrome->beside.rows[0];
    tbed_event_row_arguments(chrome->beside.rows[0], chrome->events.arguments);
    chrome->events.argument_count = row.argument_count;
    chrome->beside.row_count = 0;
    put_span(chrome, &row, row.time, end->time, row.type == EVENT_ROW_OPEN);
}

static void take_keyed(struct chrome_import *chrome, const struct chrome_fields *fields,
                       struct event_row *row, enum event_row_type type)
{
    if (type == EVENT_ROW_ASYNC_BEGIN && is_beside(fields)) {
        begin_beside(chrome, fields, row);
        return;
    }
    if (type == EVENT_ROW_ASYNC_END && is_beside(fields)) {
        end_beside(chrome, row);
        return;
    }
    add_arguments(chrome, fields);
    row->type = (uint8_t)type;
    row->other = tbed_chrome_async_key(fields, type >= EVENT_ROW_FLOW_BEGIN);
    tbed_event_put(&chrome->events, row);
}

/* ---- Instants and messages ---- */

/* Whether it is a message of our own export, with its severity. */
static bool is_message(const struct chrome_fields *fields, uint8_t *severity)
{
    static const char *const severities[] = {"none", "error", "warning", "information", "debug"};
    if (!TBED_JSON_IS(&fields->category, "message") || fields->name.nbytes > EVENT_INLINE_TEXT_MAX)
        return false;
    struct json_value text = tbed_chrome_member(&fields->args, "severity");
    for (uint8_t i = 0; text.type == JSON_STRING && i < sizeof severities / sizeof severities[0]; i++) {
        *severity = i;
        if (tbed_json_in_is(&text, severities[i], strlen(severities[i])))
            return true;
    }
    return false;
}

static void take_instant(struct chrome_import *chrome, const struct chrome_fields *fields,
                         struct event_row *row)
{
    struct json_value count = tbed_chrome_member(&fields->args, "count");
    uint64_t lost;
    row->type = EVENT_ROW_INSTANT;
    if (TBED_JSON_IS(&fields->category, "gap") && count.type == JSON_NUMBER &&
        tbed_json_in_u64(&count, &lost)) {
        chrome->events.report->notes[TBED_IMPORT_NOTE_LOST] += lost; /* as our own export writes it */
        return;
    }
    if (is_message(fields, &row->severity)) {
        struct chrome_piece text = tbed_chrome_text(chrome, &fields->name);
        row->type = EVENT_ROW_MESSAGE;
        row->id = TBED_ID_INVALID;
        tbed_event_text(&chrome->events, TBED_ID_INVALID, text.text, text.nbytes);
    } else {
        row->severity = 0;
        add_arguments(chrome, fields);
    }
    tbed_event_put(&chrome->events, row);
}

/* ---- Metadata ---- */

static void take_metadata(struct chrome_import *chrome, const struct chrome_fields *fields)
{
    struct json_value name = tbed_chrome_member(&fields->args, "name");
    uint64_t key;
    if (name.type == JSON_STRING && TBED_JSON_IS(&fields->name, "process_name")) {
        uint32_t process = process_of(chrome, &fields->pid, &key);
        struct chrome_piece text = tbed_chrome_text(chrome, &name);
        tbed_event_process_name(&chrome->events, process, text.text, text.nbytes);
    } else if (name.type == JSON_STRING && TBED_JSON_IS(&fields->name, "thread_name")) {
        uint32_t track = track_of(chrome, fields);
        struct chrome_piece text = tbed_chrome_text(chrome, &name);
        tbed_event_track_name(&chrome->events, track, text.text, text.nbytes);
    } else {
        tbed_event_note(&chrome->events, TBED_IMPORT_NOTE_METADATA);
    }
}

/* ---- Events ---- */

/* The phases with a key. */
static const struct {
    char phase;
    enum event_row_type type;
} keyed[] = {{'b', EVENT_ROW_ASYNC_BEGIN}, {'e', EVENT_ROW_ASYNC_END}, {'s', EVENT_ROW_FLOW_BEGIN},
             {'t', EVENT_ROW_FLOW_STEP},   {'f', EVENT_ROW_FLOW_END},  {'S', EVENT_ROW_ASYNC_BEGIN},
             {'F', EVENT_ROW_ASYNC_END}};

static void take_row(struct chrome_import *chrome, const struct chrome_fields *fields, struct event_row *row,
                     char phase)
{
    for (size_t i = 0; i < sizeof keyed / sizeof keyed[0]; i++)
        if (keyed[i].phase == phase) {
            take_keyed(chrome, fields, row, keyed[i].type);
            return;
        }
    if (phase == 'X') {
        take_whole_span(chrome, fields, row);
    } else if (phase == 'C') {
        take_counter(chrome, fields, row);
    } else if (phase == 'B' || phase == 'E') {
        add_arguments(chrome, fields);
        row->type = phase == 'B' ? EVENT_ROW_BEGIN : EVENT_ROW_END;
        tbed_event_put(&chrome->events, row);
    } else {
        take_instant(chrome, fields, row);
    }
}

static void take_timed(struct chrome_import *chrome, const struct chrome_fields *fields, char phase)
{
    int64_t ns;
    struct json_value number;
    if (!tbed_chrome_ns(&fields->ts, &ns)) {
        bool is_number = tbed_chrome_number(&fields->ts, &number);
        tbed_event_note(&chrome->events, is_number ? TBED_IMPORT_NOTE_RANGE : TBED_IMPORT_NOTE_TIMELESS);
        return;
    }
    bool has_name = fields->name.type != JSON_NULL;
    bool has_category = fields->category.type == JSON_STRING && fields->category.nbytes > 0;
    struct event_row row = {.time = EVENT_TIME(ns),
                            .track = track_of(chrome, fields),
                            .id = has_name ? tbed_chrome_intern(chrome, &fields->name) : TBED_ID_INVALID,
                            .category = has_category ? tbed_chrome_intern(chrome, &fields->category)
                                                     : TBED_ID_INVALID};
    take_row(chrome, fields, &row, phase);
}

bool tbed_chrome_take_event(struct chrome_import *chrome, const struct json_value *object)
{
    static const char timed[] = "XBECbeSFstfiInRTpP";
    struct chrome_fields fields;
    if (object->type != JSON_OBJECT)
        return false;
    tbed_chrome_fields_read(object, &fields);
    if (fields.phase.type != JSON_STRING || fields.phase.nbytes != 1)
        return false;
    chrome->scratch.nbytes = 0;
    if (!tbed_text_reserve(&chrome->scratch, object->nbytes + 1))
        return true;
    char phase = fields.phase.text[0];
    if (phase == 'M')
        take_metadata(chrome, &fields);
    else if (strchr(timed, phase) != NULL) /* which has no zero: that is no part of a string */
        take_timed(chrome, &fields, phase);
    else
        tbed_event_note(&chrome->events, TBED_IMPORT_NOTE_PHASES);
    return true;
}
