/*
 * Inert text; see inert.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/inert.h"

#include "format/base/utf8.h"

struct range {
    uint32_t first, last;
};

size_t tbed_code_point(const uint8_t *at, size_t nbytes, uint32_t *code_ret)
{
    size_t size = tbed_utf8_step(at, nbytes);
    uint32_t code = size <= 1 ? at[0] : at[0] & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++)
        code = code << 6 | (at[i] & 0x3Fu);
    *code_ret = code;
    return size;
}

bool tbed_is_control(uint32_t code)
{
    static const struct range ranges[] = {
        {0, 0x1F},        {0x7F, 0x9F},     {0x61C, 0x61C},   {0x200E, 0x200F},
        {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}, {0xE0000, 0xE007F},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

size_t tbed_printable_nbytes(const uint8_t *at, size_t nbytes)
{
    size_t i = 0;
    while (i < nbytes && at[i] >= 0x20 && at[i] < 0x7F)
        i++;
    return i;
}

static void put_escaped(struct tbed_text *text, const uint8_t *at, size_t nbytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < nbytes; i++)
        tbed_text_put(text, (const char[]){'\\', 'x', digits[at[i] >> 4], digits[at[i] & 15]}, 4);
}

void tbed_text_put_inert(struct tbed_text *text, const char *bytes, size_t nbytes, const char *kept)
{
    const uint8_t *at = (const uint8_t *)bytes;
    for (size_t i = 0; i < nbytes;) {
        uint32_t code;
        size_t plain = tbed_printable_nbytes(at + i, nbytes - i);
        tbed_text_put(text, bytes + i, plain);
        i += plain;
        if (i == nbytes)
            return;
        size_t size = tbed_code_point(at + i, nbytes - i, &code);
        size = size > 0 ? size : 1;
        bool is_kept = code != 0 && code < 0x80 && strchr(kept, (char)code) != NULL;
        if (tbed_is_control(code) && !is_kept)
            put_escaped(text, at + i, size);
        else
            tbed_text_put(text, bytes + i, size);
        i += size;
    }
}
