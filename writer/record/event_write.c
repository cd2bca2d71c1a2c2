/*
 * Counters, messages, and events matched by a key: async spans and flows.
 *
 * Source: spec/format.md, sections 6.2 and 6.3.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "writer/record/extended.h"
#include "writer/record/recorders.h"

/* ---- Counters ---- */

void tbed_counter_record_i64(struct tbed_recorder *recorder, uint32_t id, int64_t value)
{
    if (tbed_counter_fits(value)) {
        tbed_pair_record(recorder, id, TBED_PAIR_COUNTER, tbed_counter_bits(value));
        return;
    }
    struct tbed_argument argument = {.type = TBED_ARG_I64, .name_id = TBED_ID_INVALID, .value.i64 = value};
    struct tbed_extended_event record = {
        .type = TBED_EXT_COUNTER, .id = id, .arguments = &argument, .argument_count = 1};
    tbed_extended_record(recorder, &record);
}

static void record_f64_slow(struct tbed_recorder *recorder, uint32_t id, double value)
{
    struct tbed_argument argument = {.type = TBED_ARG_F64, .name_id = TBED_ID_INVALID, .value.f64 = value};
    struct tbed_extended_event record = {
        .type = TBED_EXT_COUNTER, .id = id, .arguments = &argument, .argument_count = 1};
    tbed_extended_record(recorder, &record);
}

void tbed_counter_record_f64(struct tbed_recorder *recorder, uint32_t id, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (!tbed_words_record(recorder, TBED_TAG_EXTENDED, id & TBED_ID_MAX, 0, 4, 4,
                           tbed_counter_f64_words(bits)))
        record_f64_slow(recorder, id, value);
}

void tbed_counter_record_category(struct tbed_recorder *recorder, uint32_t id, uint32_t category,
                                  const struct tbed_argument *value)
{
    struct tbed_extended_event record = {.type = TBED_EXT_COUNTER,
                                         .aux = tbed_category_aux(category),
                                         .id = id,
                                         .arguments = value,
                                         .argument_count = 1};
    recorder = tbed_recorder_entered(recorder);
    if (recorder == NULL)
        return;
    if (value->type >= TBED_ARG_U64 && value->type <= TBED_ARG_F64)
        tbed_extended_put(recorder, tbed_recorder_now(recorder), &record);
    else
        tbed_recorder_drop(recorder, TBED_DROP_TOO_LARGE);
    tbed_recorder_leave(recorder);
}

/* ---- Messages ---- */

void tbed_message_record(struct tbed_recorder *recorder, enum tbed_severity severity, const char *text,
                         size_t nbytes)
{
    struct tbed_argument argument = {.type = TBED_ARG_TEXT,
                                     .name_id = TBED_ID_INVALID,
                                     .nbytes = nbytes > UINT32_MAX ? UINT32_MAX : (uint32_t)nbytes,
                                     .value.text = text};
    struct tbed_extended_event record = {.type = TBED_EXT_MESSAGE,
                                         .aux = (uint32_t)severity,
                                         .id = TBED_ID_INVALID,
                                         .arguments = &argument,
                                         .argument_count = 1};
    tbed_extended_record(recorder, &record);
}

void tbed_message_record_args(struct tbed_recorder *recorder, enum tbed_severity severity, uint32_t format_id,
                              const struct tbed_argument *arguments, size_t argument_count)
{
    struct tbed_extended_event record = {.type = TBED_EXT_MESSAGE,
                                         .aux = (uint32_t)severity,
                                         .id = format_id,
                                         .arguments = arguments,
                                         .argument_count = argument_count};
    tbed_extended_record(recorder, &record);
}

/* ---- Keys: async spans and flows ---- */

static void record_key(struct tbed_recorder *recorder, enum tbed_extended type, uint32_t id, uint64_t key)
{
    struct tbed_extended_event record = {.type = type, .id = id, .fixed = {key}, .fixed_count = 1};
    tbed_extended_record(recorder, &record);
}

void tbed_async_begin(struct tbed_recorder *recorder, uint32_t id, uint64_t key)
{
    record_key(recorder, TBED_EXT_ASYNC_BEGIN, id, key);
}

void tbed_async_end(struct tbed_recorder *recorder, uint32_t id, uint64_t key)
{
    record_key(recorder, TBED_EXT_ASYNC_END, id, key);
}

void tbed_flow_record(struct tbed_recorder *recorder, enum tbed_extended type, uint32_t id, uint64_t key)
{
    if (type == TBED_EXT_FLOW_BEGIN || type == TBED_EXT_FLOW_STEP || type == TBED_EXT_FLOW_END)
        record_key(recorder, type, id, key);
}
