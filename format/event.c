/*
 * Event words: measured and checked.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/event.h"

#include "format/argument.h"

uint32_t tbed_extended_fixed_nwords(uint32_t type)
{
    static const uint8_t nwords[TBED_EXT_RESIZE + 1] = {
        [TBED_EXT_END] = 1,          [TBED_EXT_ALLOC] = 2,          [TBED_EXT_FREE] = 1,
        [TBED_EXT_REALLOC] = 4,      [TBED_EXT_ASYNC_BEGIN] = 1,    [TBED_EXT_ASYNC_END] = 1,
        [TBED_EXT_FLOW_BEGIN] = 1,   [TBED_EXT_FLOW_STEP] = 1,      [TBED_EXT_FLOW_END] = 1,
        [TBED_EXT_GAP] = 1,          [TBED_EXT_SPAN] = 1,           [TBED_EXT_LEAVE] = 2,
        [TBED_EXT_PACKED_BEGIN] = 1, [TBED_EXT_PACKED_INSTANT] = 1, [TBED_EXT_RESIZE] = 2,
    };
    return type <= TBED_EXT_RESIZE ? nwords[type] : 0;
}

/* The payload of a PACKED_BEGIN or PACKED_INSTANT. */
static enum tbed_status packed_check(struct tbed_extended_head head, const uint64_t *payload)
{
    if (head.nwords < 2)
        return TBED_ERR_EVENT_ARGUMENT;
    uint64_t fixed = tbed_word_load(payload);
    if (tbed_packed_fixed_names(fixed) > TBED_ID_MAX)
        return TBED_ERR_EVENT_ARGUMENT;
    return tbed_packed_check((const uint8_t *)(payload + 1), 8 * (size_t)(head.nwords - 2),
                             head.argument_count, tbed_packed_fixed_types(fixed));
}

/* The value of a COUNTER; the check of the arguments decides whether it is complete. */
static bool starts_with_number(struct tbed_extended_head head, const uint64_t *payload)
{
    if (head.argument_count == 0 || head.nwords < 2)
        return false;
    return tbed_argument_is_number(tbed_argument_head_load(tbed_word_load(payload)).type);
}

enum tbed_status tbed_extended_check(struct tbed_extended_head head, const uint64_t *payload,
                                     size_t left_nwords)
{
    if (head.nwords < 1 || head.nwords - 1 > left_nwords)
        return TBED_ERR_EVENT_LENGTH;
    if (!tbed_extended_is_known(head.type))
        return TBED_OK;
    if (head.type == TBED_EXT_PACKED_MESSAGE)
        return tbed_packed_check((const uint8_t *)payload, 8 * (size_t)(head.nwords - 1), head.argument_count,
                                 tbed_packed_types(head.aux));
    if (tbed_extended_is_packed(head.type))
        return packed_check(head, payload);
    uint32_t fixed = tbed_extended_fixed_nwords(head.type);
    if (head.nwords - 1 < fixed)
        return TBED_ERR_EVENT_ARGUMENT;
    if (head.type == TBED_EXT_COUNTER && !starts_with_number(head, payload))
        return TBED_ERR_EVENT_ARGUMENT;
    return tbed_arguments_check(payload + fixed, head.nwords - 1 - fixed, head.argument_count);
}

enum tbed_status tbed_event_check(uint64_t word, const uint64_t *at, const uint64_t *end, size_t *nwords_ret)
{
    size_t left = (size_t)(end - at);
    *nwords_ret = 1;
    switch (tbed_event_tag(word)) {
    case 0:
        return TBED_ERR_EVENT_TAG;
    case TBED_TAG_TIME:
        return tbed_event_time_is_allowed(word) ? TBED_OK : TBED_ERR_EVENT_TIME;
    case TBED_TAG_PAIR:
        *nwords_ret = 2;
        return left >= 2 ? TBED_OK : TBED_ERR_EVENT_LENGTH;
    case TBED_TAG_EXTENDED:
        if (left < 2)
            return TBED_ERR_EVENT_LENGTH;
        struct tbed_extended_head head = tbed_extended_head_load(tbed_word_load(at + 1));
        *nwords_ret = 1 + head.nwords;
        return tbed_extended_check(head, at + 2, left - 2);
    default:
        return TBED_OK;
    }
}
