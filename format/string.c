/*
 * String entries and the components of their content.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/string.h"

#include "format/base/utf8.h"

enum tbed_status tbed_string_head_check(uint64_t head, uint64_t left_nbytes)
{
    uint32_t nbytes = tbed_string_head_nbytes(head);
    if (left_nbytes < TBED_STRING_HEAD_NBYTES || nbytes < 1)
        return TBED_ERR_STRING_LENGTH;
    return nbytes <= left_nbytes - TBED_STRING_HEAD_NBYTES ? TBED_OK : TBED_ERR_STRING_LENGTH;
}

static bool is_reference(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/*
 * Why no code point starts at 'at', with 'left' bytes before the content's end: STRING_END if the content ends there or
 * cuts a code point off, otherwise STRING_UTF8.
 */
static enum tbed_status text_trouble(const uint8_t *at, uint32_t left)
{
    uint32_t step = at[0] < 0xC0 || at[0] > 0xF7 ? 1 : at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2;
    if (at[0] == TBED_STRING_TERMINATOR || step > left - 1)
        return TBED_ERR_STRING_END;
    return TBED_ERR_STRING_UTF8;
}

enum tbed_status tbed_content_next(const uint8_t *content, uint32_t nbytes, uint32_t *at,
                                   struct tbed_content_component *component_ret)
{
    uint32_t left = nbytes - *at; /* at least 1: the walk ends at the terminator */
    const uint8_t *from = content + *at;
    if (left == 1 && from[0] == TBED_STRING_TERMINATOR)
        return TBED_END;
    if (is_reference(from[0])) {
        if (left <= 4)
            return TBED_ERR_STRING_END;
        uint32_t word = (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
        *component_ret = (struct tbed_content_component){.is_reference = true, .id = word & TBED_ID_MAX};
        *at += 4;
        return TBED_OK;
    }
    uint32_t text_nbytes = (uint32_t)tbed_utf8_valid_nbytes(from, left - 1);
    const uint8_t *stop = from + text_nbytes;
    uint32_t rest = left - text_nbytes;
    if (!is_reference(*stop) && !(rest == 1 && *stop == TBED_STRING_TERMINATOR))
        return text_trouble(stop, rest);
    *component_ret = (struct tbed_content_component){.text = from, .nbytes = text_nbytes};
    *at += text_nbytes;
    return TBED_OK;
}

enum tbed_status tbed_content_check(const uint8_t *content, uint32_t nbytes)
{
    struct tbed_content_component component;
    uint32_t at = 0;
    enum tbed_status status;
    do
        status = tbed_content_next(content, nbytes, &at, &component);
    while (status == TBED_OK);
    return status == TBED_END ? TBED_OK : status;
}
