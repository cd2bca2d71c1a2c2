/*
 * Debug annotations of Perfetto as arguments. Dictionaries and arrays become JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/json.h"
#include "reader/exchange/perfetto/import/perfetto_import.h"

#include <string.h>

enum {
    NOTE_NAME_IID = 1,
    NOTE_BOOL = 2,
    NOTE_U64 = 3,
    NOTE_I64 = 4,
    NOTE_F64 = 5,
    NOTE_TEXT = 6,
    NOTE_POINTER = 7,
    NOTE_NESTED = 8,
    NOTE_JSON = 9,
    NOTE_NAME = 10,
    NOTE_DICTIONARY = 11,
    NOTE_ARRAY = 12,
    NOTE_TEXT_IID = 17
};
enum {
    NESTED_KEYS = 2,
    NESTED_VALUES = 3,
    NESTED_ARRAY = 4,
    NESTED_I64 = 5,
    NESTED_F64 = 6,
    NESTED_BOOL = 7,
    NESTED_TEXT = 8
};
#define DEPTH_MAX 32u
#define OPEN_MARK "never ended"

struct note {
    struct proto_field name, value; /* a number of 0: there is none; of several values, the first */
    bool is_dictionary, is_array;
};

static bool read_note(const struct proto_field *message, struct note *note)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    memset(note, 0, sizeof *note);
    while (tbed_proto_next(&in, &field)) {
        if (field.number == NOTE_NAME_IID || field.number == NOTE_NAME)
            note->name = field;
        else if (field.number <= NOTE_JSON || field.number == NOTE_TEXT_IID)
            note->value = note->value.number == 0 ? field : note->value;
        note->is_dictionary |= field.number == NOTE_DICTIONARY;
        note->is_array |= field.number == NOTE_ARRAY;
    }
    return !in.is_bad;
}

/* The text of an interned string; false: it is unknown. */
static bool interned(const struct perfetto_sequence *sequence, enum perfetto_in_list list, uint64_t iid,
                     const char **text, size_t *nbytes)
{
    const struct perfetto_entry *entry = tbed_perfetto_entry(sequence, list, iid);
    if (entry == NULL)
        return false;
    *text = entry->nbytes > 0 ? sequence->texts.bytes + entry->at : "";
    *nbytes = entry->nbytes;
    return true;
}

/* ---- JSON ---- */

static void put_text(struct tbed_text *to, const char *text, size_t nbytes)
{
    tbed_json_quote(to, nbytes > 0 ? text : "", nbytes);
}

static void put_number(struct tbed_text *to, double value)
{
    struct tbed_json json = {.text = to};
    tbed_json_f64(&json, NULL, value);
}

/* The older form: keys and values in lists of their own. */
static bool put_nested(struct tbed_text *to, const struct proto_field *message, unsigned depth)
{
    struct proto_in in = tbed_proto_inside(message), keys = in;
    struct proto_field field, key;
    const char *close = NULL;
    bool is_fine = depth < DEPTH_MAX;
    while (is_fine && tbed_proto_next(&in, &field)) {
        bool is_member = field.number == NESTED_VALUES, is_element = field.number == NESTED_ARRAY;
        if (field.wire == PROTO_BYTES && (is_member || is_element)) {
            tbed_text_puts(to, close != NULL ? "," : is_member ? "{" : "[");
            close = is_member ? "}" : "]";
            while (is_member && tbed_proto_next(&keys, &key) && key.number != NESTED_KEYS)
                ;
            if (is_member) {
                put_text(to, key.number == NESTED_KEYS ? key.bytes : "",
                         key.number == NESTED_KEYS ? key.nbytes : 0);
                tbed_text_puts(to, ":");
            }
            is_fine = put_nested(to, &field, depth + 1);
        } else if (field.number == NESTED_I64 && close == NULL) {
            tbed_text_i64(to, (int64_t)field.value);
            close = "";
        } else if (field.number == NESTED_F64 && close == NULL) {
            put_number(to, tbed_proto_f64(&field));
            close = "";
        } else if (field.number == NESTED_BOOL && close == NULL) {
            tbed_text_puts(to, field.value != 0 ? "true" : "false");
            close = "";
        } else if (field.number == NESTED_TEXT && field.wire == PROTO_BYTES && close == NULL) {
            put_text(to, field.bytes, field.nbytes);
            close = "";
        }
    }
    tbed_text_puts(to, close != NULL ? close : "null");
    return is_fine && !in.is_bad;
}

static bool put_scalar(struct tbed_text *to, const struct perfetto_sequence *sequence,
                       const struct proto_field *value)
{
    const char *text;
    size_t nbytes;
    switch (value->number) {
    case NOTE_BOOL:
        tbed_text_puts(to, value->value != 0 ? "true" : "false");
        return true;
    case NOTE_U64:
    case NOTE_POINTER:
        tbed_text_u64(to, value->value);
        return true;
    case NOTE_I64:
        tbed_text_i64(to, (int64_t)value->value);
        return true;
    case NOTE_F64:
        put_number(to, tbed_proto_f64(value));
        return true;
    case NOTE_TEXT:
        put_text(to, value->bytes, value->nbytes);
        return true;
    case NOTE_JSON:
        tbed_text_put(to, value->bytes, value->nbytes);
        return true;
    case NOTE_NESTED:
        return put_nested(to, value, 0);
    case NOTE_TEXT_IID:
        if (interned(sequence, PERFETTO_IN_STRING, value->value, &text, &nbytes)) {
            put_text(to, text, nbytes);
            return true;
        }
    }
    tbed_text_puts(to, "null");
    return true;
}

static bool put_json(struct tbed_text *to, const struct perfetto_sequence *sequence,
                     const struct proto_field *message, unsigned depth);

static void put_name(struct tbed_text *to, const struct perfetto_sequence *sequence,
                     const struct proto_field *message)
{
    struct note note;
    const char *text = "";
    size_t nbytes = 0;
    read_note(message, &note);
    if (note.name.number == NOTE_NAME) {
        text = note.name.bytes;
        nbytes = note.name.nbytes;
    } else {
        interned(sequence, PERFETTO_IN_ANNOTATION, note.name.value, &text, &nbytes);
    }
    put_text(to, text, nbytes);
    tbed_text_puts(to, ":");
}

static bool put_members(struct tbed_text *to, const struct perfetto_sequence *sequence,
                        const struct proto_field *message, bool is_dictionary, unsigned depth)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    bool is_fine = depth < DEPTH_MAX;
    const char *before = is_dictionary ? "{" : "[";
    while (is_fine && tbed_proto_next(&in, &field)) {
        if (field.number != (is_dictionary ? NOTE_DICTIONARY : NOTE_ARRAY) || field.wire != PROTO_BYTES)
            continue;
        tbed_text_puts(to, before);
        before = ",";
        if (is_dictionary)
            put_name(to, sequence, &field);
        is_fine = put_json(to, sequence, &field, depth + 1);
    }
    tbed_text_puts(to, is_dictionary ? "}" : "]");
    return is_fine; /* put_json() has read the message to its end */
}

static bool put_json(struct tbed_text *to, const struct perfetto_sequence *sequence,
                     const struct proto_field *message, unsigned depth)
{
    struct note note;
    if (!read_note(message, &note))
        return false;
    return note.is_dictionary || note.is_array ? put_members(to, sequence, message, note.is_dictionary, depth)
                                               : put_scalar(to, sequence, &note.value);
}

/* ---- Arguments ---- */

/* Our export calls an argument without a name "arg" and its place. */
static uint32_t name_of(struct perfetto_import *perfetto, const struct perfetto_sequence *sequence,
                        const struct note *note, size_t place)
{
    const char *text = "";
    size_t nbytes = 0;
    char nameless[24] = "arg";
    size_t nameless_nbytes = 3 + tbed_format_u64(nameless + 3, place);
    const struct perfetto_entry *entry = NULL;
    if (note->name.number == NOTE_NAME && note->name.wire == PROTO_BYTES) {
        text = note->name.bytes;
        nbytes = note->name.nbytes;
    } else if (note->name.number == NOTE_NAME_IID) {
        entry = tbed_perfetto_entry(sequence, PERFETTO_IN_ANNOTATION, note->name.value);
        interned(sequence, PERFETTO_IN_ANNOTATION, note->name.value, &text, &nbytes);
    }
    if (nbytes == 0 || (nbytes == nameless_nbytes && memcmp(text, nameless, nbytes) == 0))
        return TBED_ID_INVALID;
    return entry != NULL ? entry->id : tbed_event_intern(&perfetto->events, text, nbytes);
}

static bool is_open_mark(const struct note *note)
{
    return note->name.number == NOTE_NAME && note->value.number == NOTE_BOOL && note->value.value != 0 &&
           note->name.nbytes == sizeof OPEN_MARK - 1 &&
           memcmp(note->name.bytes, OPEN_MARK, note->name.nbytes) == 0;
}

static bool add_json(struct perfetto_import *perfetto, const struct perfetto_sequence *sequence,
                     uint32_t name, const struct proto_field *message)
{
    struct tbed_text text = {0};
    bool is_fine = put_json(&text, sequence, message, 0);
    perfetto->is_out_of_memory |= text.is_out_of_memory;
    struct tbed_component whole = {.text = text.bytes, .nbytes = text.nbytes};
    struct tbed_argument argument = {.type = TBED_ARG_ID, .name_id = name, .nbytes = 8};
    size_t room = perfetto->text.room - perfetto->text.nbytes;
    if (text.is_out_of_memory || perfetto->text.is_out_of_memory) {
        free(text.bytes);
        return is_fine;
    }
    if (text.nbytes <= room && text.nbytes <= EVENT_INLINE_TEXT_MAX) {
        char *copy = perfetto->text.bytes + perfetto->text.nbytes;
        tbed_text_put(&perfetto->text, text.bytes, text.nbytes);
        tbed_event_text(&perfetto->events, name, copy, text.nbytes);
    } else {
        argument.value.id = tbed_string_alloc(perfetto->events.writer, &whole, 1);
        tbed_event_argument(&perfetto->events, argument);
    }
    free(text.bytes);
    return is_fine;
}

bool tbed_perfetto_take_annotation(struct perfetto_import *perfetto, const struct perfetto_sequence *sequence,
                                   const struct proto_field *message, size_t place, bool *never_ended)
{
    static const uint32_t types[] = {[NOTE_BOOL] = TBED_ARG_BOOL,
                                     [NOTE_U64] = TBED_ARG_U64,
                                     [NOTE_I64] = TBED_ARG_I64,
                                     [NOTE_F64] = TBED_ARG_F64,
                                     [NOTE_POINTER] = TBED_ARG_POINTER};
    struct note note;
    if (!read_note(message, &note))
        return false;
    if (is_open_mark(&note)) {
        *never_ended = true;
        return true;
    }
    uint32_t name = name_of(perfetto, sequence, &note, place);
    const struct proto_field *value = &note.value;
    uint32_t type = value->number <= NOTE_POINTER ? types[value->number] : 0;
    bool is_fixed = value->wire == PROTO_FIXED64;
    struct tbed_argument argument = {.type = type, .name_id = name, .nbytes = 8, .value.u64 = value->value};
    const struct perfetto_entry *entry = value->number == NOTE_TEXT_IID
                                             ? tbed_perfetto_entry(sequence, PERFETTO_IN_STRING, value->value)
                                             : NULL;
    if (note.is_dictionary || note.is_array || value->number == NOTE_NESTED)
        return add_json(perfetto, sequence, name, message);
    if (type != 0 && value->wire != PROTO_BYTES && is_fixed == (type == TBED_ARG_F64)) {
        tbed_event_argument(&perfetto->events, argument);
    } else if ((value->number == NOTE_TEXT || value->number == NOTE_JSON) && value->wire == PROTO_BYTES) {
        tbed_event_text(&perfetto->events, name, value->bytes, value->nbytes);
    } else if (entry != NULL) {
        argument.type = TBED_ARG_ID;
        argument.value.id = entry->id;
        tbed_event_argument(&perfetto->events, argument);
    } else {
        tbed_event_note(&perfetto->events, TBED_IMPORT_NOTE_ARGUMENTS);
    }
    return true;
}
