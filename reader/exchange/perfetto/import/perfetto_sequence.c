/*
 * What packets of a sequence have in common: interned texts and defaults. See perfetto_import.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/perfetto/import/perfetto_import.h"

#include <stdlib.h>

enum { ENTRY_IID = 1, ENTRY_TEXT = 2, ENTRY_FUNCTION = 3, ENTRY_LINE = 4 };
enum { DEFAULTS_EVENT = 11, DEFAULTS_CLOCK = 58 };
enum { EVENT_TRACK = 11, EVENT_COUNTERS = 31, EVENT_F64_COUNTERS = 45 };

struct perfetto_sequence *tbed_perfetto_sequence(struct perfetto_import *perfetto, uint32_t id)
{
    struct event_slot *slot = TBED_HASHMAP_FIND(&perfetto->sequence_slots, tbed_hashmap_key32(id));
    if (slot != NULL)
        return &perfetto->sequences.items[slot->index];
    if (perfetto->sequences.count >= PERFETTO_SEQUENCE_MAX)
        return NULL;
    if (!TBED_HASHMAP_RESERVE(&perfetto->sequence_slots, 1) ||
        TBED_VECTOR_PUSH(&perfetto->sequences) == NULL) {
        perfetto->is_out_of_memory = true;
        return NULL;
    }
    slot = TBED_HASHMAP_ADD(&perfetto->sequence_slots, tbed_hashmap_key32(id));
    slot->index = (uint32_t)perfetto->sequences.count - 1;
    perfetto->sequences.items[slot->index].clock = PERFETTO_CLOCK_BOOT;
    return &perfetto->sequences.items[slot->index];
}

void tbed_perfetto_sequence_clear(struct perfetto_sequence *sequence)
{
    TBED_HASHMAP_CLEAR(&sequence->entries);
    sequence->texts.nbytes = 0;
    sequence->clock = PERFETTO_CLOCK_BOOT;
    sequence->track = 0;
    sequence->counter_count = sequence->f64_counter_count = 0;
}

void tbed_perfetto_sequence_free(struct perfetto_sequence *sequence)
{
    tbed_hashmap_free(&sequence->entries.map);
    free(sequence->texts.bytes);
}

/* ---- Interned texts ---- */

static uint64_t key_of(uint32_t list, uint64_t iid)
{
    return tbed_event_key(list, iid);
}

const struct perfetto_entry *tbed_perfetto_entry(const struct perfetto_sequence *sequence,
                                                 enum perfetto_in_list list, uint64_t iid)
{
    return TBED_HASHMAP_FIND(&sequence->entries, key_of(list, iid));
}

static bool take_entry(struct perfetto_import *perfetto, struct perfetto_sequence *sequence, uint32_t list,
                       const struct proto_field *message)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field, text = {.bytes = ""}, function = {.bytes = ""};
    uint64_t iid = 0, line = 0;
    while (tbed_proto_next(&in, &field)) {
        if (field.number == ENTRY_IID && field.wire == PROTO_VARINT)
            iid = field.value;
        else if (field.number == ENTRY_TEXT && field.wire == PROTO_BYTES)
            text = field;
        else if (field.number == ENTRY_FUNCTION && field.wire == PROTO_BYTES)
            function = field;
        else if (field.number == ENTRY_LINE && field.wire == PROTO_VARINT)
            line = field.value;
    }
    if (in.is_bad || iid == 0)
        return !in.is_bad;
    struct perfetto_entry *entry = TBED_HASHMAP_ADD(&sequence->entries, key_of(list, iid));
    perfetto->is_out_of_memory |= entry == NULL;
    if (entry == NULL)
        return true;
    bool is_place = list == PERFETTO_IN_PLACE;
    const struct proto_field *named = is_place ? &function : &text;
    entry->id = is_place && named->nbytes == 0
                    ? TBED_ID_INVALID
                    : tbed_event_intern(&perfetto->events, named->bytes, named->nbytes);
    entry->file_id = is_place && text.nbytes > 0
                         ? tbed_event_intern(&perfetto->events, text.bytes, text.nbytes)
                         : TBED_ID_INVALID;
    entry->line = line <= UINT32_MAX ? (uint32_t)line : 0;
    entry->at = sequence->texts.nbytes;
    tbed_text_put(&sequence->texts, text.bytes, text.nbytes);
    entry->nbytes = sequence->texts.nbytes - entry->at;
    perfetto->is_out_of_memory |= sequence->texts.is_out_of_memory;
    return true;
}

bool tbed_perfetto_take_interned(struct perfetto_import *perfetto, struct perfetto_sequence *sequence,
                                 const struct proto_field *message)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    while (tbed_proto_next(&in, &field)) {
        bool is_known = field.number <= PERFETTO_IN_PLACE || field.number == PERFETTO_IN_STRING;
        if (is_known && field.wire == PROTO_BYTES && !take_entry(perfetto, sequence, field.number, &field))
            return false;
    }
    return !in.is_bad;
}

/* ---- Defaults ---- */

/* Repeated numbers, each in a field or packed. */
static void add_numbers(uint64_t *numbers, uint32_t *count, const struct proto_field *field)
{
    const char *at = field->bytes, *end = at + field->nbytes;
    uint64_t value = field->value;
    if (field->wire == PROTO_VARINT && *count < PERFETTO_COUNTERS_MAX)
        numbers[(*count)++] = value;
    while (field->wire == PROTO_BYTES && at < end && *count < PERFETTO_COUNTERS_MAX) {
        size_t taken = tbed_proto_varint(at, end, &value);
        if (taken == 0)
            return;
        at += taken;
        numbers[(*count)++] = value;
    }
}

static bool take_event_defaults(struct perfetto_sequence *sequence, const struct proto_field *message)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    while (tbed_proto_next(&in, &field)) {
        if (field.number == EVENT_TRACK && field.wire == PROTO_VARINT)
            sequence->track = field.value;
        else if (field.number == EVENT_COUNTERS)
            add_numbers(sequence->counters, &sequence->counter_count, &field);
        else if (field.number == EVENT_F64_COUNTERS)
            add_numbers(sequence->f64_counters, &sequence->f64_counter_count, &field);
    }
    return !in.is_bad;
}

bool tbed_perfetto_take_defaults(struct perfetto_sequence *sequence, const struct proto_field *message)
{
    struct proto_in in = tbed_proto_inside(message);
    struct proto_field field;
    sequence->counter_count = sequence->f64_counter_count = 0;
    while (tbed_proto_next(&in, &field)) {
        if (field.number == DEFAULTS_CLOCK && field.wire == PROTO_VARINT)
            sequence->clock = field.value;
        else if (field.number == DEFAULTS_EVENT && field.wire == PROTO_BYTES &&
                 !take_event_defaults(sequence, &field))
            return false;
    }
    return !in.is_bad;
}
