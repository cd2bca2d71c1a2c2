/*
 * Arguments as debug annotations of Perfetto.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/events/export_json.h"
#include "reader/exchange/perfetto/perfetto.h"

enum { EVENT_ANNOTATION = 4 };
enum {
    ANNOTATION_IID = 1,
    ANNOTATION_BOOL = 2,
    ANNOTATION_U64 = 3,
    ANNOTATION_I64 = 4,
    ANNOTATION_F64 = 5,
    ANNOTATION_TEXT = 6,
    ANNOTATION_POINTER = 7,
    ANNOTATION_NAME = 10
};

static void put_hex(struct tbed_text *to, const char *bytes, size_t nbytes)
{
    static const char digits[] = "0123456789abcdef";
    if (!tbed_text_reserve(to, nbytes * 2))
        return;
    for (size_t i = 0; i < nbytes; i++) {
        uint8_t byte = (uint8_t)bytes[i];
        to->bytes[to->nbytes++] = digits[byte >> 4];
        to->bytes[to->nbytes++] = digits[byte & 15];
    }
}

static void put_text_value(struct perfetto *perfetto, const struct tbed_argument *argument)
{
    struct tbed_text *value = &perfetto->value;
    value->nbytes = 0;
    if (argument->type != TBED_ARG_TEXT)
        put_hex(value, argument->value.text, argument->nbytes);
    else if (tbed_export_utf8(value, argument->value.text, argument->nbytes))
        tbed_export_note(&perfetto->walk, TBED_EXPORT_NOTE_REPLACED, 1);
    pb_message(&perfetto->scratch, ANNOTATION_TEXT, value);
}

static void put_id_value(struct perfetto *perfetto, const struct tbed_argument *argument)
{
    size_t nbytes;
    uint32_t id = argument->value.u64 <= TBED_ID_MAX ? argument->value.id : TBED_ID_INVALID;
    const char *text = tbed_export_text_of(&perfetto->walk, id, &nbytes);
    pb_bytes(&perfetto->scratch, ANNOTATION_TEXT, text, nbytes);
}

static void put_value(struct perfetto *perfetto, const struct tbed_argument *argument)
{
    struct tbed_text *annotation = &perfetto->scratch;
    switch (argument->type) {
    case TBED_ARG_U64:
        pb_u64(annotation, ANNOTATION_U64, argument->value.u64);
        break;
    case TBED_ARG_I64:
        pb_u64(annotation, ANNOTATION_I64, (uint64_t)argument->value.i64);
        break;
    case TBED_ARG_F64:
        pb_f64(annotation, ANNOTATION_F64, argument->value.f64);
        break;
    case TBED_ARG_BOOL:
        pb_u64(annotation, ANNOTATION_BOOL, argument->value.u64 != 0);
        break;
    case TBED_ARG_POINTER:
        pb_u64(annotation, ANNOTATION_POINTER, argument->value.u64);
        break;
    case TBED_ARG_ID:
        put_id_value(perfetto, argument);
        break;
    default:
        put_text_value(perfetto, argument);
    }
}

static void begin_annotation(struct perfetto *perfetto, uint64_t iid)
{
    perfetto->scratch.nbytes = 0;
    pb_u64(&perfetto->scratch, ANNOTATION_IID, iid);
}

static void end_annotation(struct perfetto *perfetto)
{
    pb_message(&perfetto->event, EVENT_ANNOTATION, &perfetto->scratch);
}

void tbed_perfetto_put_arguments(struct perfetto *perfetto, struct tbed_arguments arguments, uint32_t count,
                                 uint32_t first)
{
    for (uint32_t i = 0; i < count; i++) {
        struct tbed_argument argument;
        tbed_argument_next(&arguments, &argument);
        begin_annotation(perfetto,
                         argument.name_id != TBED_ID_INVALID
                             ? tbed_perfetto_intern(perfetto, PERFETTO_ARGUMENT_NAMES, argument.name_id)
                             : tbed_perfetto_intern_number(perfetto, first + i));
        put_value(perfetto, &argument);
        end_annotation(perfetto);
    }
}

void tbed_perfetto_put_own_arguments(struct perfetto *perfetto, uint32_t id)
{
    uint32_t count = tbed_export_name_of(&perfetto->walk, id)->argument_count;
    size_t at = 0, nbytes;
    const char *text;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t iid = tbed_perfetto_intern_number(perfetto, i);
        if (!tbed_export_name_argument(tbed_export_name_of(&perfetto->walk, id), &at, &text, &nbytes))
            break;
        begin_annotation(perfetto, iid);
        pb_bytes(&perfetto->scratch, ANNOTATION_TEXT, text, nbytes);
        end_annotation(perfetto);
    }
}

void tbed_perfetto_put_flag(struct perfetto *perfetto, const char *name)
{
    perfetto->scratch.nbytes = 0;
    pb_string(&perfetto->scratch, ANNOTATION_NAME, name);
    pb_u64(&perfetto->scratch, ANNOTATION_BOOL, 1);
    end_annotation(perfetto);
}
