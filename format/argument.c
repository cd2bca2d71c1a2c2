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
    if (tbed_argument_is_scalar(head.type))
        argument_ret->value.u64 = tbed_word_load(at + 1);
    else
        argument_ret->value.text = (const char *)(at + 1);
    return at + 1 + tbed_argument_value_nwords(head.nbytes);
}

/* ---- Packed ---- */

static bool packed_is_narrow(uint32_t type)
{
    return type == TBED_PACKED_U32 || type == TBED_PACKED_I32;
}

/* Size of a value; for a text, of the size field before it. 0: unknown type. */
static size_t packed_nbytes(uint32_t type)
{
    if (packed_is_narrow(type) || type == TBED_ARG_TEXT)
        return 4;
    return tbed_argument_is_scalar(type) ? 8 : 0;
}

enum tbed_status tbed_packed_check(const uint8_t *at, size_t nbytes, uint32_t argument_count, uint32_t types)
{
    for (uint32_t i = 0; i < argument_count; i++, types >>= 4) {
        size_t value_nbytes = packed_nbytes(types & 15);
        if (value_nbytes == 0 || value_nbytes > nbytes)
            return TBED_ERR_EVENT_ARGUMENT;
        nbytes -= value_nbytes;
        size_t text_nbytes = (types & 15) == TBED_ARG_TEXT ? tbed_le32_load(*(const tbed_le32 *)at) : 0;
        if (text_nbytes > nbytes)
            return TBED_ERR_EVENT_ARGUMENT;
        at += value_nbytes + text_nbytes;
        nbytes -= text_nbytes;
    }
    return nbytes < 8 && types == 0 ? TBED_OK : TBED_ERR_EVENT_ARGUMENT;
}

const uint8_t *tbed_packed_take(const uint8_t *at, uint32_t type, struct tbed_argument *argument_ret)
{
    argument_ret->type = packed_is_narrow(type) ? type - TBED_PACKED_NARROW : type;
    argument_ret->name_id = TBED_ID_INVALID;
    argument_ret->nbytes = 8;
    if (type == TBED_PACKED_I32)
        argument_ret->value.i64 = (int32_t)tbed_le32_load(*(const tbed_le32 *)at);
    else if (type == TBED_PACKED_U32)
        argument_ret->value.u64 = tbed_le32_load(*(const tbed_le32 *)at);
    else if (type != TBED_ARG_TEXT)
        argument_ret->value.u64 = tbed_le64_load(*(const tbed_le64 *)at);
    else {
        argument_ret->nbytes = tbed_le32_load(*(const tbed_le32 *)at);
        argument_ret->value.text = (const char *)at + 4;
        at += argument_ret->nbytes;
    }
    return at + packed_nbytes(type);
}
