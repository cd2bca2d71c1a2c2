/*
 * From event words to 'struct tbed_event': everything except single words, which the cursor decodes itself.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/events/decode.h"

#include "format/argument.h"

static void decode_unknown(struct tbed_event *event, uint32_t tag, size_t nwords)
{
    event->type = TBED_EVENT_UNKNOWN;
    event->of.unknown.tag = tag;
    event->of.unknown.nwords = (uint32_t)nwords;
}

static void decode_pair(uint64_t second, struct tbed_event *event)
{
    switch (tbed_pair_subtype(second)) {
    case TBED_PAIR_ALLOC:
        event->type = TBED_EVENT_ALLOC;
        event->of.alloc.address = tbed_pair_alloc_address(second);
        event->of.alloc.size = tbed_pair_alloc_nbytes(second);
        event->of.alloc.function = TBED_FUNCTION_UNKNOWN;
        break;
    case TBED_PAIR_FREE:
        event->type = TBED_EVENT_FREE;
        event->of.alloc.address = tbed_pair_payload(second);
        event->of.alloc.size = 0;
        event->of.alloc.function = TBED_FUNCTION_UNKNOWN;
        break;
    case TBED_PAIR_COUNTER:
        event->type = TBED_EVENT_COUNTER;
        event->counter_value = (struct tbed_argument){
            .type = TBED_ARG_I64,
            .name_id = TBED_ID_INVALID,
            .nbytes = 8,
            .value.i64 = tbed_pair_counter_value(second),
        };
        break;
    default:
        decode_unknown(event, tbed_pair_subtype(second) * 256 + TBED_TAG_PAIR, 2);
        break;
    }
}

static const uint8_t extended_types[TBED_EXT_RESIZE + 1] = {
    [TBED_EXT_BEGIN] = TBED_EVENT_BEGIN,
    [TBED_EXT_END] = TBED_EVENT_END,
    [TBED_EXT_INSTANT] = TBED_EVENT_INSTANT,
    [TBED_EXT_COUNTER] = TBED_EVENT_COUNTER,
    [TBED_EXT_MESSAGE] = TBED_EVENT_MESSAGE,
    [TBED_EXT_ALLOC] = TBED_EVENT_ALLOC,
    [TBED_EXT_FREE] = TBED_EVENT_FREE,
    [TBED_EXT_REALLOC] = TBED_EVENT_REALLOC,
    [TBED_EXT_ASYNC_BEGIN] = TBED_EVENT_ASYNC_BEGIN,
    [TBED_EXT_ASYNC_END] = TBED_EVENT_ASYNC_END,
    [TBED_EXT_FLOW_BEGIN] = TBED_EVENT_FLOW_BEGIN,
    [TBED_EXT_FLOW_STEP] = TBED_EVENT_FLOW_STEP,
    [TBED_EXT_FLOW_END] = TBED_EVENT_FLOW_END,
    [TBED_EXT_GAP] = TBED_EVENT_GAP,
    [TBED_EXT_SPAN] = TBED_EVENT_SPAN,
    [TBED_EXT_PACKED_MESSAGE] = TBED_EVENT_MESSAGE,
    [TBED_EXT_LEAVE] = TBED_EVENT_END,
    [TBED_EXT_PACKED_BEGIN] = TBED_EVENT_BEGIN,
    [TBED_EXT_PACKED_INSTANT] = TBED_EVENT_INSTANT,
    [TBED_EXT_RESIZE] = TBED_EVENT_RESIZE,
};

static uint32_t category_of(uint32_t aux)
{
    return aux == 0 || aux > TBED_ID_MAX ? TBED_ID_INVALID : aux;
}

/* The fixed words and 'aux'; 'fixed' has the number of words that the type requires. */
static void decode_fixed(const uint64_t *fixed, uint32_t aux, struct tbed_event *event)
{
    switch (event->type) {
    case TBED_EVENT_END:
        event->of.end.begin_tick = tbed_word_load(fixed);
        event->of.end.end_tick = event->tick;
        event->of.end.leaves = false;
        event->of.end.inside = 0;
        break;
    case TBED_EVENT_SPAN:
        event->of.span.begin_tick = tbed_word_load(fixed);
        event->category = category_of(aux);
        break;
    case TBED_EVENT_BEGIN:
    case TBED_EVENT_INSTANT:
    case TBED_EVENT_COUNTER:
        event->category = category_of(aux);
        break;
    case TBED_EVENT_MESSAGE:
        event->of.message.severity = tbed_message_severity(aux);
        event->of.message.has_context = tbed_message_has_context(aux);
        break;
    case TBED_EVENT_ALLOC:
        event->of.alloc.address = tbed_word_load(fixed);
        event->of.alloc.size = tbed_word_load(fixed + 1);
        event->of.alloc.function = aux;
        break;
    case TBED_EVENT_RESIZE:
        event->of.alloc.address = tbed_word_load(fixed);
        event->of.alloc.size = tbed_word_load(fixed + 1);
        event->of.alloc.function = TBED_FUNCTION_UNKNOWN;
        break;
    case TBED_EVENT_FREE:
        event->of.alloc.address = tbed_word_load(fixed);
        event->of.alloc.size = 0;
        event->of.alloc.function = aux;
        break;
    case TBED_EVENT_REALLOC:
        event->of.realloc.old_address = tbed_word_load(fixed);
        event->of.realloc.address = tbed_word_load(fixed + 1);
        event->of.realloc.size = tbed_word_load(fixed + 2);
        event->of.realloc.begin_tick = tbed_word_load(fixed + 3);
        break;
    case TBED_EVENT_GAP:
        event->of.gap.count = tbed_word_load(fixed);
        event->of.gap.cause = aux;
        break;
    case TBED_EVENT_ASYNC_BEGIN:
    case TBED_EVENT_ASYNC_END:
    case TBED_EVENT_FLOW_BEGIN:
    case TBED_EVENT_FLOW_STEP:
    case TBED_EVENT_FLOW_END:
        event->of.async.key = tbed_word_load(fixed);
        break;
    default:
        break;
    }
}

static enum tbed_status decode_extended(const uint64_t *at, const uint64_t *end, struct tbed_event *event,
                                        size_t *nwords_ret)
{
    if (end - at < 2)
        return TBED_ERR_EVENT_LENGTH;
    struct tbed_extended_head head = tbed_extended_head_load(tbed_word_load(at + 1));
    enum tbed_status status = tbed_extended_check(head, at + 2, (size_t)(end - at) - 2);
    if (status != TBED_OK)
        return status;
    *nwords_ret = 1 + (size_t)head.nwords;
    event->extended = true;
    if (!tbed_extended_is_known(head.type)) {
        decode_unknown(event, head.type * 256 + TBED_TAG_EXTENDED, *nwords_ret);
        return TBED_OK;
    }
    event->type = (enum tbed_event_type)extended_types[head.type];
    decode_fixed(at + 2, head.type == TBED_EXT_PACKED_MESSAGE ? tbed_packed_low_bits(head.aux) : head.aux,
                 event);
    if (head.type == TBED_EXT_LEAVE) {
        event->of.end.leaves = true;
        event->of.end.inside = head.aux;
        event->of.end.end_tick = tbed_word_load(at + 3);
    }
    event->arguments.at = at + 2 + tbed_extended_fixed_nwords(head.type);
    event->argument_count = head.argument_count;
    if (event->type == TBED_EVENT_COUNTER) {
        tbed_argument_next(&event->arguments, &event->counter_value);
        event->argument_count--;
    } else if (head.type == TBED_EXT_PACKED_MESSAGE) {
        event->arguments.packed_types = tbed_packed_types(head.aux);
        event->arguments.packed_names = TBED_ID_INVALID;
    } else if (tbed_extended_is_packed(head.type)) {
        event->arguments.packed_types = tbed_packed_fixed_types(tbed_word_load(at + 2));
        event->arguments.packed_names = tbed_packed_fixed_names(tbed_word_load(at + 2));
    }
    return TBED_OK;
}

enum tbed_status tbed_decode_long(uint64_t word, const uint64_t *at, const uint64_t *end,
                                  struct tbed_event *event, size_t *nwords_ret)
{
    *nwords_ret = 1;
    event->extended = false;
    event->category = TBED_ID_INVALID;
    event->arguments = (struct tbed_arguments){NULL, 0, 0};
    event->argument_count = 0;
    event->of.realloc.old_address = event->of.realloc.address = 0;
    event->of.realloc.size = event->of.realloc.begin_tick = 0;
    switch (tbed_event_tag(word)) {
    case 0:
        return TBED_ERR_EVENT_TAG;
    case TBED_TAG_PAIR:
        if (end - at < 2)
            return TBED_ERR_EVENT_LENGTH;
        *nwords_ret = 2;
        decode_pair(tbed_word_load(at + 1), event);
        return TBED_OK;
    case TBED_TAG_EXTENDED:
        return decode_extended(at, end, event, nwords_ret);
    default:
        decode_unknown(event, tbed_event_tag(word), 1);
        return TBED_OK;
    }
}

void tbed_argument_next(struct tbed_arguments *at, struct tbed_argument *argument_ret)
{
    if (at->packed_types == 0) {
        at->at = tbed_argument_take(at->at, argument_ret);
    } else {
        at->at = tbed_packed_take(at->at, at->packed_types & 15, argument_ret);
        at->packed_types >>= 4;
        argument_ret->name_id = at->packed_names;
        at->packed_names = tbed_packed_names_next(at->packed_names);
    }
}
