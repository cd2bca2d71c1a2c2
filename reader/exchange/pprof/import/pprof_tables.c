/*
 * What samples of a pprof profile refer to: strings, functions, locations, mappings, and what values mean.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/pprof/import/pprof_fields.h"
#include "reader/exchange/pprof/import/pprof_import.h"

struct pprof_text tbed_pprof_text(const struct pprof_import *pprof, uint64_t number)
{
    if (number >= pprof->string_ends.count)
        return (struct pprof_text){"", 0};
    size_t end = pprof->string_ends.items[number];
    size_t start = number > 0 ? pprof->string_ends.items[number - 1] : 0;
    return (struct pprof_text){end > start ? pprof->strings.bytes + start : "", end - start};
}

static bool is_full(const struct pprof_import *pprof)
{
    return pprof->string_ends.count + pprof->functions.map.count + pprof->locations.map.count +
               pprof->lines.count >=
           PPROF_TABLE_COUNT_MAX;
}

static bool take_string(struct pprof_import *pprof, const struct proto_field *field)
{
    bool is_first = pprof->string_ends.count == 0;
    if ((is_first && field->nbytes > 0) || field->nbytes > PPROF_STRINGS_NBYTES_MAX - pprof->strings.nbytes)
        return false;
    tbed_text_put(&pprof->strings, field->bytes, field->nbytes);
    size_t *end = TBED_VECTOR_PUSH(&pprof->string_ends);
    pprof->is_out_of_memory |= end == NULL || pprof->strings.is_out_of_memory;
    if (end != NULL)
        *end = pprof->strings.nbytes;
    return true;
}

static bool take_type(const struct proto_field *message, struct pprof_type *type)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    *type = (struct pprof_type){0};
    while (tbed_proto_next(&in, &field)) {
        if (field.number == PPROF_VALUE_TYPE)
            type->type = field.value;
        else if (field.number == PPROF_VALUE_UNIT)
            type->unit = field.value;
    }
    return !in.is_bad;
}

static uint32_t line_number(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : 0; /* a negative one is unknown */
}

static bool take_function(struct pprof_import *pprof, const struct proto_field *message)
{
    struct pprof_in_function function = {0}, *kept;
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    while (tbed_proto_next(&in, &field)) {
        switch (field.number) {
        case PPROF_FUNCTION_ID:
            function.key = field.value;
            break;
        case PPROF_FUNCTION_NAME:
            function.name = field.value;
            break;
        case PPROF_FUNCTION_SYSTEM_NAME:
            function.system_name = field.value;
            break;
        case PPROF_FUNCTION_FILE:
            function.file = field.value;
            break;
        case PPROF_FUNCTION_LINE:
            function.line = line_number(field.value);
            break;
        default:
            break;
        }
    }
    if (in.is_bad || function.key == 0)
        return false;
    kept = TBED_HASHMAP_ADD(&pprof->functions, function.key);
    pprof->is_out_of_memory |= kept == NULL;
    if (kept != NULL)
        *kept = function;
    return true;
}

static bool take_line(struct pprof_import *pprof, const struct proto_field *message,
                      struct pprof_in_location *location)
{
    struct pprof_in_line line = {0};
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    while (tbed_proto_next(&in, &field)) {
        if (field.number == PPROF_LINE_FUNCTION)
            line.function = field.value;
        else if (field.number == PPROF_LINE_LINE)
            line.line = line_number(field.value);
    }
    if (in.is_bad || message->wire != PROTO_BYTES)
        return false;
    if (location->line_count == PPROF_LINES_MAX) {
        pprof->report->notes[TBED_IMPORT_NOTE_FRAMES]++;
        return true;
    }
    struct pprof_in_line *kept = TBED_VECTOR_PUSH(&pprof->lines);
    pprof->is_out_of_memory |= kept == NULL;
    if (kept != NULL) {
        *kept = line;
        location->line_count++;
    }
    return true;
}

static bool take_location(struct pprof_import *pprof, const struct proto_field *message)
{
    struct pprof_in_location location = {.first_line = pprof->lines.count}, *kept;
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    bool is_fine = true;
    while (is_fine && tbed_proto_next(&in, &field)) {
        if (field.number == PPROF_LOCATION_ID)
            location.key = field.value;
        else if (field.number == PPROF_LOCATION_ADDRESS)
            location.address = field.value;
        else if (field.number == PPROF_LOCATION_LINE)
            is_fine = take_line(pprof, &field, &location);
    }
    if (!is_fine || in.is_bad || location.key == 0)
        return false;
    kept = TBED_HASHMAP_ADD(&pprof->locations, location.key);
    pprof->is_out_of_memory |= kept == NULL;
    if (kept != NULL)
        *kept = location;
    return true;
}

static bool take_mapping(struct pprof_import *pprof, const struct proto_field *message)
{
    struct pprof_in_mapping mapping = {0};
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    while (tbed_proto_next(&in, &field)) {
        switch (field.number) {
        case PPROF_MAPPING_START:
            mapping.start = field.value;
            break;
        case PPROF_MAPPING_LIMIT:
            mapping.limit = field.value;
            break;
        case PPROF_MAPPING_FILE:
            mapping.file = field.value;
            break;
        case PPROF_MAPPING_BUILD_ID:
            mapping.build_id = field.value;
            break;
        default:
            break;
        }
    }
    if (pprof->mapping_count < PPROF_MAPPINGS_MAX)
        pprof->mappings[pprof->mapping_count++] = mapping;
    else
        pprof->report->notes[TBED_IMPORT_NOTE_METADATA]++;
    return !in.is_bad;
}

static bool take_sample_type(struct pprof_import *pprof, const struct proto_field *field)
{
    return pprof->type_count < PPROF_TYPES_MAX && take_type(field, &pprof->types[pprof->type_count++]);
}

static void take_comment(struct pprof_import *pprof, uint64_t comment)
{
    if (pprof->comment_count < PPROF_COMMENTS_MAX)
        pprof->comments[pprof->comment_count++] = comment;
    else
        pprof->report->notes[TBED_IMPORT_NOTE_METADATA]++;
}

static void take_number(struct pprof_import *pprof, const struct proto_field *field)
{
    switch (field->number) {
    case PPROF_TIME_NANOS:
        pprof->time_ns = (int64_t)field->value;
        break;
    case PPROF_DURATION_NANOS:
        pprof->duration_ns = (int64_t)field->value;
        break;
    case PPROF_PERIOD:
        pprof->period = field->value;
        break;
    case PPROF_COMMENT:
        if (field->wire == PROTO_VARINT)
            take_comment(pprof, field->value);
        break;
    case PPROF_DEFAULT_SAMPLE_TYPE:
        pprof->default_type = field->value;
        break;
    default:
        break;
    }
}

static void take_comments(struct pprof_import *pprof, const struct proto_field *field)
{
    uint64_t comment;
    size_t taken;
    for (const char *at = field->bytes, *end = at + field->nbytes;
         at < end && (taken = tbed_proto_varint(at, end, &comment)) > 0; at += taken)
        take_comment(pprof, comment);
}

bool tbed_pprof_take_table(struct pprof_import *pprof, const struct proto_field *field)
{
    bool is_in_table = field->number <= PPROF_STRING_TABLE || field->number == PPROF_PERIOD_TYPE;
    if (is_in_table && (field->wire != PROTO_BYTES || is_full(pprof)))
        return false;
    switch (field->number) {
    case PPROF_SAMPLE_TYPE:
        return take_sample_type(pprof, field);
    case PPROF_MAPPING:
        return take_mapping(pprof, field);
    case PPROF_LOCATION:
        return take_location(pprof, field);
    case PPROF_FUNCTION:
        return take_function(pprof, field);
    case PPROF_STRING_TABLE:
        return take_string(pprof, field);
    case PPROF_PERIOD_TYPE:
        return take_type(field, &pprof->period_type);
    default:
        if (field->number == PPROF_COMMENT && field->wire == PROTO_BYTES)
            take_comments(pprof, field);
        else
            take_number(pprof, field);
        return true;
    }
}
