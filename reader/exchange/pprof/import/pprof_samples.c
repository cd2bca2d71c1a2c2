/*
 * Samples of a pprof profile: one value becomes time, the others and the labels become arguments of the innermost span.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/pprof/import/pprof_fields.h"
#include "reader/exchange/pprof/import/pprof_import.h"

/* ---- Lists of numbers, packed or not ---- */

/* The innermost is first, and the outermost ones are kept. */
static void add_location(struct pprof_import *pprof, uint64_t location)
{
    if (pprof->stack.count == (size_t)2 * SAMPLE_DEPTH_MAX) {
        memcpy(pprof->stack.items, pprof->stack.items + SAMPLE_DEPTH_MAX, SAMPLE_DEPTH_MAX * sizeof location);
        pprof->stack.count = SAMPLE_DEPTH_MAX;
        pprof->report->notes[TBED_IMPORT_NOTE_FRAMES] += SAMPLE_DEPTH_MAX;
    }
    uint64_t *added = TBED_VECTOR_PUSH(&pprof->stack);
    pprof->is_out_of_memory |= added == NULL;
    if (added != NULL)
        *added = location;
}

static void add_value(struct pprof_import *pprof, uint64_t value)
{
    if (pprof->value_count < PPROF_TYPES_MAX)
        pprof->values[pprof->value_count++] = (int64_t)value;
}

static bool take_list(struct pprof_import *pprof, const struct proto_field *field,
                      void (*add)(struct pprof_import *pprof, uint64_t value))
{
    uint64_t value;
    const char *at = field->bytes, *end = at + field->nbytes;
    if (field->wire == PROTO_VARINT)
        add(pprof, field->value);
    while (at < end) {
        size_t taken = tbed_proto_varint(at, end, &value);
        if (taken == 0)
            return false;
        at += taken;
        add(pprof, value);
    }
    return true;
}

/* ---- Arguments ---- */

static bool take_label(struct pprof_import *pprof, const struct proto_field *message)
{
    uint64_t key = 0, text = 0, number = 0;
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    while (tbed_proto_next(&in, &field)) {
        if (field.number == PPROF_LABEL_KEY)
            key = field.value;
        else if (field.number == PPROF_LABEL_STRING)
            text = field.value;
        else if (field.number == PPROF_LABEL_NUMBER)
            number = field.value;
    }
    if (in.is_bad || message->wire != PROTO_BYTES)
        return false;
    struct import_trace *trace = &pprof->samples.trace;
    struct pprof_text name = tbed_pprof_text(pprof, key), string = tbed_pprof_text(pprof, text);
    struct tbed_argument argument = {.type = TBED_ARG_I64,
                                     .name_id = tbed_import_string(trace, name.text, name.nbytes),
                                     .nbytes = 8,
                                     .value.i64 = (int64_t)number};
    if (text != 0) {
        argument.type = TBED_ARG_ID;
        argument.value.id = tbed_import_string(trace, string.text, string.nbytes);
    }
    if (argument.name_id == TBED_ID_INVALID || (text != 0 && argument.value.id == TBED_ID_INVALID))
        pprof->report->notes[TBED_IMPORT_NOTE_ARGUMENTS]++;
    else
        tbed_sample_argument(&pprof->samples, argument);
    return true;
}

static void add_other_values(struct pprof_import *pprof)
{
    for (size_t i = 0; i < pprof->value_count && i < pprof->type_count; i++)
        if (i != pprof->value_index && pprof->type_ids[i] != TBED_ID_INVALID)
            tbed_sample_argument(&pprof->samples, (struct tbed_argument){.type = TBED_ARG_I64,
                                                                         .name_id = pprof->type_ids[i],
                                                                         .nbytes = 8,
                                                                         .value.i64 = pprof->values[i]});
}

static bool take_labels(struct pprof_import *pprof, const struct proto_field *message)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    bool is_fine = true;
    while (is_fine && tbed_proto_next(&in, &field))
        if (field.number == PPROF_SAMPLE_LABEL)
            is_fine = take_label(pprof, &field);
    return is_fine;
}

/* ---- The sample ---- */

static bool read_sample(struct pprof_import *pprof, const struct proto_field *message)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    bool is_fine = message->wire == PROTO_BYTES;
    pprof->stack.count = pprof->value_count = 0;
    while (is_fine && tbed_proto_next(&in, &field)) {
        if (field.number == PPROF_SAMPLE_LOCATION)
            is_fine = take_list(pprof, &field, add_location);
        else if (field.number == PPROF_SAMPLE_VALUE)
            is_fine = take_list(pprof, &field, add_value);
    }
    return is_fine && !in.is_bad && pprof->value_count > pprof->value_index;
}

static void put_sample(struct pprof_import *pprof, uint64_t value)
{
    for (size_t i = pprof->stack.count; i-- > 0;) /* the innermost is first */
        tbed_pprof_frames(pprof, pprof->stack.items[i]);
    add_other_values(pprof);
    tbed_sample_put(&pprof->samples, value);
}

bool tbed_pprof_take_sample(struct pprof_import *pprof, const struct proto_field *field)
{
    uint64_t *notes = pprof->report->notes, value;
    if (!read_sample(pprof, field) || !take_labels(pprof, field)) {
        pprof->samples.argument_count = 0;
        return false;
    }
    if (pprof->values[pprof->value_index] < 0)
        notes[TBED_IMPORT_NOTE_NEGATIVE]++;
    else if (__builtin_mul_overflow((uint64_t)pprof->values[pprof->value_index],
                                    pprof->scale != 0 ? pprof->scale : 1, &value))
        notes[TBED_IMPORT_NOTE_RANGE]++;
    else
        put_sample(pprof, value);
    pprof->samples.argument_count = 0;
    return true;
}
