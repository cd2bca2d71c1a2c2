/*
 * Events of more than one word: arguments, counters, messages, memory, keys; and events that happened before.
 *
 * Each is written whole behind the cursor and committed by its first word.
 * Source: spec/format.md, sections 6.1 to 6.3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/file/private.h"

#define ARGUMENT_COUNT_MAX 255

static bool argument_is_inline(const struct tbed_argument *argument)
{
    return argument->type == TBED_ARG_TEXT || argument->type == TBED_ARG_BYTES;
}

static size_t argument_nwords(const struct tbed_argument *argument)
{
    return argument_is_inline(argument) ? 1 + ((size_t)argument->nbytes + 7) / 8 : 2;
}

static size_t arguments_nwords(const struct tbed_argument *arguments, size_t count)
{
    size_t nwords = 0;
    for (size_t i = 0; i < count; i++)
        nwords += argument_nwords(&arguments[i]);
    return nwords;
}

static uint64_t *argument_put(uint64_t *to, const struct tbed_argument *argument)
{
    uint32_t nbytes = argument_is_inline(argument) ? argument->nbytes : 8;
    *to++ = argument->type | (uint64_t)nbytes << 8 | (uint64_t)(argument->name_id & TBED_ID_MAX) << 32;
    if (!argument_is_inline(argument)) {
        *to++ = argument->type == TBED_ARG_ID ? argument->value.id : argument->value.u64;
        return to;
    }
    if (nbytes > 0) {
        to[(nbytes - 1) / 8] = 0;
        memcpy(to, argument->value.text, nbytes);
    }
    return to + ((size_t)nbytes + 7) / 8;
}

struct extended {
    enum tbed_extended type;
    uint32_t aux, id;
    uint64_t fixed[4];
    size_t fixed_count;
    const struct tbed_argument *arguments;
    size_t argument_count;
};

/* Writes the record. The recorder has been entered. False: dropped, and counted. */
static bool extended_put(struct tbed_recorder *recorder, uint64_t tick, const struct extended *record)
{
    size_t nwords = 2 + record->fixed_count + arguments_nwords(record->arguments, record->argument_count);
    if (record->argument_count > ARGUMENT_COUNT_MAX || nwords > TBED_EXTENDED_NWORDS_MAX)
        nwords = TBED_NWORDS_TOO_LARGE;
    uint64_t *at = tbed_recorder_room(recorder, nwords, tick);
    if (at == NULL)
        return false;
    at[1] = (uint64_t)record->type | (uint64_t)record->argument_count << 8 | (uint64_t)(nwords - 1) << 16 |
            (uint64_t)record->aux << 32;
    uint64_t *to = at + 2;
    for (size_t i = 0; i < record->fixed_count; i++)
        *to++ = record->fixed[i];
    for (size_t i = 0; i < record->argument_count; i++)
        to = argument_put(to, &record->arguments[i]);
    tbed_recorder_commit(recorder, at, nwords,
                         tbed_event_word(recorder, TBED_TAG_EXTENDED, record->id, tick));
    return true;
}

static void record_extended(struct tbed_recorder *recorder, const struct extended *record)
{
    if (!tbed_recorder_enter(recorder))
        return;
    extended_put(recorder, tbed_recorder_now(recorder), record);
    tbed_recorder_leave(recorder);
}

/* Whatever is not the usual case. */
static __attribute__((noinline)) void record_pair_slow(struct tbed_recorder *recorder, uint32_t id,
                                                       uint64_t second)
{
    if (!tbed_recorder_enter(recorder))
        return;
    uint64_t tick = tbed_recorder_now(recorder);
    uint64_t *at = tbed_recorder_room(recorder, 2, tick);
    if (at != NULL) {
        at[1] = second;
        tbed_recorder_commit(recorder, at, 2, tbed_event_word(recorder, TBED_TAG_PAIR, id, tick));
    }
    tbed_recorder_leave(recorder);
}

/* As recorder_inline.h records an instant: no call, so that no register has to be kept. */
static inline void record_pair(struct tbed_recorder *recorder, uint32_t id, uint64_t subtype,
                               uint64_t payload)
{
    uint64_t second = subtype << 60 | payload;
    if (!TBED_UNLIKELY(recorder->mark != TBED_MARK_READY)) {
        tbed_recorder_mark_busy(recorder);
        uint64_t tick = tbed_counter_read();
        if (!TBED_UNLIKELY(!tbed_recorder_fits(recorder, 2, tick - recorder->base))) {
            uint64_t *at = recorder->cursor;
            at[1] = second;
            tbed_recorder_commit(recorder, at, 2, tbed_event_word(recorder, TBED_TAG_PAIR, id, tick));
            tbed_recorder_mark_idle(recorder, TBED_MARK_READY);
            return;
        }
        tbed_recorder_mark_idle(recorder, TBED_MARK_READY);
    }
    record_pair_slow(recorder, id, second);
}

/* ---- Spans and instants with arguments ---- */

static uint32_t category_aux(uint32_t category)
{
    return category == TBED_ID_INVALID ? 0 : category & TBED_ID_MAX;
}

void tbed_span_begin_category(struct tbed_recorder *recorder, uint32_t id, uint32_t category,
                              const struct tbed_argument *arguments, size_t argument_count)
{
    struct extended record = {.type = TBED_EXT_BEGIN,
                              .aux = category_aux(category),
                              .id = id,
                              .arguments = arguments,
                              .argument_count = argument_count};
    if (!tbed_recorder_enter(recorder))
        return;
    uint64_t tick = tbed_recorder_now(recorder);
    if (extended_put(recorder, tick, &record))
        tbed_span_push(recorder, id, tick);
    else
        tbed_span_push_dropped(recorder, id, tick);
    tbed_recorder_leave(recorder);
}

void tbed_span_begin_args(struct tbed_recorder *recorder, uint32_t id, const struct tbed_argument *arguments,
                          size_t argument_count)
{
    tbed_span_begin_category(recorder, id, TBED_ID_INVALID, arguments, argument_count);
}

void tbed_span_end_entered(struct tbed_recorder *recorder, const struct tbed_argument *arguments,
                           size_t argument_count)
{
    struct tbed_open_span span = tbed_span_top(recorder);
    struct extended record = {.type = TBED_EXT_END,
                              .id = span.id,
                              .fixed = {span.begin_tick},
                              .fixed_count = 1,
                              .arguments = arguments,
                              .argument_count = argument_count};
    if (!span.dropped)
        extended_put(recorder, tbed_recorder_now(recorder), &record);
    tbed_span_pop(recorder); /* not before: the span is open where a block begins with its end */
}

void tbed_span_end_args(struct tbed_recorder *recorder, const struct tbed_argument *arguments,
                        size_t argument_count)
{
    if (!tbed_recorder_enter(recorder))
        return;
    tbed_span_end_entered(recorder, arguments, argument_count);
    tbed_recorder_leave(recorder);
}

void tbed_instant_record_category(struct tbed_recorder *recorder, uint32_t id, uint32_t category,
                                  const struct tbed_argument *arguments, size_t argument_count)
{
    struct extended record = {.type = TBED_EXT_INSTANT,
                              .aux = category_aux(category),
                              .id = id,
                              .arguments = arguments,
                              .argument_count = argument_count};
    record_extended(recorder, &record);
}

void tbed_instant_record_args(struct tbed_recorder *recorder, uint32_t id,
                              const struct tbed_argument *arguments, size_t argument_count)
{
    tbed_instant_record_category(recorder, id, TBED_ID_INVALID, arguments, argument_count);
}

/* ---- Counters ---- */

void tbed_counter_record_i64(struct tbed_recorder *recorder, uint32_t id, int64_t value)
{
    const uint64_t mask = ((uint64_t)1 << 60) - 1;
    int64_t limit = (int64_t)1 << 59;
    if (value >= -limit && value < limit) {
        record_pair(recorder, id, TBED_PAIR_COUNTER, (uint64_t)value & mask);
        return;
    }
    struct tbed_argument argument = {.type = TBED_ARG_I64, .name_id = TBED_ID_INVALID, .value.i64 = value};
    struct extended record = {
        .type = TBED_EXT_COUNTER, .id = id, .arguments = &argument, .argument_count = 1};
    record_extended(recorder, &record);
}

void tbed_counter_record_f64(struct tbed_recorder *recorder, uint32_t id, double value)
{
    struct tbed_argument argument = {.type = TBED_ARG_F64, .name_id = TBED_ID_INVALID, .value.f64 = value};
    struct extended record = {
        .type = TBED_EXT_COUNTER, .id = id, .arguments = &argument, .argument_count = 1};
    record_extended(recorder, &record);
}

void tbed_counter_record_category(struct tbed_recorder *recorder, uint32_t id, uint32_t category,
                                  const struct tbed_argument *value)
{
    struct extended record = {.type = TBED_EXT_COUNTER,
                              .aux = category_aux(category),
                              .id = id,
                              .arguments = value,
                              .argument_count = 1};
    if (!tbed_recorder_enter(recorder))
        return;
    if (value->type >= TBED_ARG_U64 && value->type <= TBED_ARG_F64)
        extended_put(recorder, tbed_recorder_now(recorder), &record);
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
    struct extended record = {.type = TBED_EXT_MESSAGE,
                              .aux = (uint32_t)severity,
                              .id = TBED_ID_INVALID,
                              .arguments = &argument,
                              .argument_count = 1};
    record_extended(recorder, &record);
}

void tbed_message_record_args(struct tbed_recorder *recorder, enum tbed_severity severity, uint32_t format_id,
                              const struct tbed_argument *arguments, size_t argument_count)
{
    struct extended record = {.type = TBED_EXT_MESSAGE,
                              .aux = (uint32_t)severity,
                              .id = format_id,
                              .arguments = arguments,
                              .argument_count = argument_count};
    record_extended(recorder, &record);
}

/* ---- Keys: async spans and flows ---- */

static void record_key(struct tbed_recorder *recorder, enum tbed_extended type, uint32_t id, uint64_t key)
{
    struct extended record = {.type = type, .id = id, .fixed = {key}, .fixed_count = 1};
    record_extended(recorder, &record);
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

/* ---- Memory ---- */

static __attribute__((noinline)) void alloc_long(struct tbed_recorder *recorder, uint32_t location,
                                                 enum tbed_alloc_function function, uint64_t address,
                                                 uint64_t size)
{
    struct extended record = {.type = TBED_EXT_ALLOC,
                              .aux = (uint32_t)function,
                              .id = location,
                              .fixed = {address, size},
                              .fixed_count = 2};
    record_extended(recorder, &record);
}

static __attribute__((noinline)) void free_long(struct tbed_recorder *recorder, uint32_t location,
                                                enum tbed_alloc_function function, uint64_t address)
{
    struct extended record = {.type = TBED_EXT_FREE,
                              .aux = (uint32_t)function,
                              .id = location,
                              .fixed = {address},
                              .fixed_count = 1};
    record_extended(recorder, &record);
}

/* The short form has no room for the function: plain malloc and free are what it stands for. */
static inline bool is_plain_function(enum tbed_alloc_function function)
{
    return function == TBED_FUNCTION_MALLOC || function == TBED_FUNCTION_UNKNOWN;
}

void tbed_alloc_record(struct tbed_recorder *recorder, uint32_t location, enum tbed_alloc_function function,
                       uint64_t address, uint64_t size)
{
    bool fits = address != 0 && (address % 8 | address >> 48 | size >> 15) == 0;
    if (TBED_UNLIKELY(!is_plain_function(function) || !fits))
        alloc_long(recorder, location, function, address, size);
    else
        record_pair(recorder, location, TBED_PAIR_ALLOC, size << 45 | address / 8);
}

void tbed_free_record(struct tbed_recorder *recorder, uint32_t location, enum tbed_alloc_function function,
                      uint64_t address)
{
    if (TBED_UNLIKELY(!is_plain_function(function) || address >> 60 != 0))
        free_long(recorder, location, function, address);
    else
        record_pair(recorder, location, TBED_PAIR_FREE, address);
}

void tbed_free_slots_record(struct tbed_recorder *recorder, uint32_t location, uint64_t address,
                            uint64_t slot_nbytes, const uint64_t *bits, size_t word_count)
{
    const struct tbed_argument arguments[] = {
        {.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .value.u64 = slot_nbytes},
        {.type = TBED_ARG_BYTES,
         .name_id = TBED_ID_INVALID,
         .nbytes = word_count > TBED_EXTENDED_NWORDS_MAX ? UINT32_MAX : (uint32_t)(8 * word_count),
         .value.text = (const char *)bits},
    };
    struct extended record = {.type = TBED_EXT_FREE,
                              .id = location,
                              .fixed = {address},
                              .fixed_count = 1,
                              .arguments = arguments,
                              .argument_count = 2};
    record_extended(recorder, &record);
}

/* A range is told as an argument. */
static void record_range(struct tbed_recorder *recorder, const struct extended *record, uint64_t nbytes)
{
    struct tbed_argument range = {.type = TBED_ARG_U64, .name_id = TBED_ID_INVALID, .value.u64 = nbytes};
    struct extended with_range = *record;
    with_range.arguments = &range;
    with_range.argument_count = 1;
    record_extended(recorder, &with_range);
}

void tbed_unmap_record(struct tbed_recorder *recorder, uint32_t location, uint64_t address, uint64_t nbytes)
{
    struct extended record = {.type = TBED_EXT_FREE,
                              .aux = TBED_FUNCTION_MMAP,
                              .id = location,
                              .fixed = {address},
                              .fixed_count = 1};
    record_range(recorder, &record, nbytes);
}

void tbed_remap_record(struct tbed_recorder *recorder, uint32_t location, uint64_t old_address,
                       uint64_t old_nbytes, uint64_t address, uint64_t nbytes, uint64_t begin_tick)
{
    struct extended record = {.type = TBED_EXT_REALLOC,
                              .id = location,
                              .fixed = {old_address, address, nbytes, begin_tick},
                              .fixed_count = 4};
    record_range(recorder, &record, old_nbytes);
}

void tbed_realloc_record(struct tbed_recorder *recorder, uint32_t location, uint64_t old_address,
                         uint64_t address, uint64_t size, uint64_t begin_tick)
{
    struct extended record = {.type = TBED_EXT_REALLOC,
                              .id = location,
                              .fixed = {old_address, address, size, begin_tick},
                              .fixed_count = 4};
    record_extended(recorder, &record);
}

/* ---- Events that happened before ---- */

static uint32_t category_of(const struct tbed_given_event *event)
{
    return category_aux(event->category);
}

static bool is_plain(const struct tbed_given_event *event)
{
    return event->argument_count == 0 && category_of(event) == 0;
}

static bool give_extended(struct tbed_recorder *recorder, const struct tbed_given_event *event,
                          enum tbed_extended type)
{
    struct extended record = {.type = type,
                              .aux = category_of(event),
                              .id = event->id,
                              .fixed = {event->begin_tick},
                              .fixed_count = type == TBED_EXT_SPAN,
                              .arguments = event->arguments,
                              .argument_count = event->argument_count};
    return extended_put(recorder, event->tick, &record);
}

static void give_begin(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    if (is_plain(event))
        tbed_span_begin_at(recorder, event->id, event->tick);
    else if (give_extended(recorder, event, TBED_EXT_BEGIN))
        tbed_span_push(recorder, event->id, event->tick);
    else
        tbed_span_push_dropped(recorder, event->id, event->tick);
}

static void give_end(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    if (event->argument_count == 0 && tbed_span_is_known(recorder))
        tbed_span_end_at(recorder, event->tick);
    else
        tbed_span_end_entered(recorder, event->arguments, event->argument_count);
}

static void give_instant(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    if (is_plain(event))
        tbed_instant_at(recorder, event->id, event->tick);
    else
        give_extended(recorder, event, TBED_EXT_INSTANT);
}

/* What there are most of: straight into the block. */
static void give_span(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    if (event->argument_count != 0) {
        give_extended(recorder, event, TBED_EXT_SPAN);
        return;
    }
    uint64_t *at = tbed_recorder_room(recorder, 3, event->tick);
    if (at == NULL)
        return;
    at[1] = TBED_EXT_SPAN | (uint64_t)2 << 16 | (uint64_t)category_of(event) << 32;
    at[2] = event->begin_tick;
    tbed_recorder_commit(recorder, at, 3,
                         tbed_event_word(recorder, TBED_TAG_EXTENDED, event->id, event->tick));
}

static bool has_value(const struct tbed_given_event *event)
{
    return event->argument_count > 0 && event->arguments[0].type >= TBED_ARG_U64 &&
           event->arguments[0].type <= TBED_ARG_F64;
}

static void give_message(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    struct extended record = {.type = TBED_EXT_MESSAGE,
                              .aux = event->severity,
                              .id = event->id,
                              .arguments = event->arguments,
                              .argument_count = event->argument_count};
    extended_put(recorder, event->tick, &record);
}

static void give(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    switch (event->type) {
    case TBED_GIVEN_SPAN:
        give_span(recorder, event);
        return;
    case TBED_GIVEN_BEGIN:
        give_begin(recorder, event);
        return;
    case TBED_GIVEN_END:
        give_end(recorder, event);
        return;
    case TBED_GIVEN_INSTANT:
        give_instant(recorder, event);
        return;
    case TBED_GIVEN_MESSAGE:
        give_message(recorder, event);
        return;
    case TBED_GIVEN_COUNTER:
        if (has_value(event)) {
            give_extended(recorder, event, TBED_EXT_COUNTER);
            return;
        }
        break;
    }
    tbed_recorder_drop(recorder, TBED_DROP_TOO_LARGE);
}

void tbed_event_record_given(struct tbed_recorder *recorder, const struct tbed_given_event *event)
{
    struct tbed_recorder_kept *kept = tbed_kept_of(recorder);
    if (!tbed_recorder_enter(recorder))
        return;
    if (kept->takes_given) {
        __atomic_store_n(&kept->given_tick, event->tick, __ATOMIC_RELAXED); /* read by who closes */
        give(recorder, event);
    } else {
        tbed_recorder_drop(recorder, TBED_DROP_TOO_LARGE);
    }
    tbed_recorder_leave(recorder);
}
