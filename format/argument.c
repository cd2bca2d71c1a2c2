/*
 * The arguments of extended records.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/argument.h"

enum tbed_status tbed_arguments_check(const uint64_t *at, size_t nwords, uint32_t argument_count)
{
    for (uint32_t i = 0; i < argument_count; i++) {
        if (nwords < 1)
            return TBED_ERR_EVENT_ARGUMENT;
        struct tbed_argument_head head = tbed_argument_head_load(tbed_word_load(at));
        uint32_t value_nwords = tbed_argument_value_nwords(head.nbytes);
        if (value_nwords > nwords - 1 || head.name_id > TBED_ID_MAX)
            return TBED_ERR_EVENT_ARGUMENT;
        if (tbed_argument_is_scalar(head.type) && head.nbytes != 8)
            return TBED_ERR_EVENT_ARGUMENT;
        at += 1 + value_nwords;
        nwords -= 1 + value_nwords;
    }
    return nwords == 0 ? TBED_OK : TBED_ERR_EVENT_ARGUMENT;
}

const uint64_t *tbed_argument_take(const uint64_t *at, struct tbed_argument *argument_ret)
{
    struct tbed_argument_head head = tbed_argument_head_load(tbed_word_load(at));
    argument_ret->type = head.type;
    argument_ret->name_id = head.name_id;
    argument_ret->nbytes = head.nbytes;
    if (head.type == TBED_ARG_ID)
        argument_ret->value.id = (uint32_t)tbed_word_load(at + 1);
    else if (tbed_argument_is_scalar(head.type))
        argument_ret->value.u64 = tbed_word_load(at + 1);
    else
        argument_ret->value.text = (const char *)(at + 1);
    return at + 1 + tbed_argument_value_nwords(head.nbytes);
}
