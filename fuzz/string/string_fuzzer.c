/*
 * Splits the content of one string into components, joins them again and compares. Also tests UTF-8 alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/string.h"

#include "format/base/utf8.h"
#include "fuzz/support/fuzz.h"

#define CONTENT_NBYTES_MAX 65536

/* A second implementation of RFC 3629, written differently. */
static size_t utf8_step(const uint8_t *at, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t nbytes = at[0] < 0x80   ? 1
                    : at[0] < 0xC0 ? 0
                    : at[0] < 0xE0 ? 2
                    : at[0] < 0xF0 ? 3
                    : at[0] < 0xF8 ? 4
                                   : 0;
    if (nbytes == 0 || nbytes > left)
        return 0;
    uint32_t code = nbytes == 1 ? at[0] : at[0] & (0x7Fu >> nbytes);
    for (size_t i = 1; i < nbytes; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3F);
    }
    bool is_allowed = code >= least[nbytes] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    return is_allowed ? nbytes : 0;
}

static void check_utf8(const uint8_t *text, size_t nbytes)
{
    size_t at = 0, step = 1;
    for (; at < nbytes; at += step) {
        step = utf8_step(text + at, nbytes - at);
        REQUIRE(tbed_utf8_step(text + at, nbytes - at) == step);
        if (step == 0)
            break;
    }
    REQUIRE(tbed_utf8_valid_nbytes(text, nbytes) == at);
}

/* Appends the component to the rebuilt content; returns its new size. */
static uint32_t put(uint8_t *rebuilt, uint32_t at, const struct tbed_content_component *component)
{
    if (!component->is_reference) {
        REQUIRE(component->nbytes > 0);
        REQUIRE(tbed_utf8_valid_nbytes(component->text, component->nbytes) == component->nbytes);
        memcpy(rebuilt + at, component->text, component->nbytes);
        return at + component->nbytes;
    }
    for (int shift = 24; shift >= 0; shift -= 8)
        rebuilt[at++] = (uint8_t)((component->id | 0x80000000u) >> shift);
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static uint8_t rebuilt[CONTENT_NBYTES_MAX];
    struct tbed_content_component component;
    uint32_t at = 0, rebuilt_nbytes = 0;
    enum tbed_status status;
    if (nbytes == 0 || nbytes > CONTENT_NBYTES_MAX)
        return 0;
    /* The content needs no alignment, so it ends flush with the guard page. */
    uint8_t *content = guarded_copy(data, nbytes) + (-nbytes & 7);
    memcpy(content, data, nbytes);
    check_utf8(content, nbytes);
    while ((status = tbed_content_next(content, (uint32_t)nbytes, &at, &component)) == TBED_OK) {
        rebuilt_nbytes = put(rebuilt, rebuilt_nbytes, &component);
        REQUIRE(rebuilt_nbytes == at && at < nbytes);
        REQUIRE(memcmp(rebuilt, content, at) == 0);
    }
    REQUIRE(status == TBED_END || status == TBED_ERR_STRING_END || status == TBED_ERR_STRING_UTF8);
    REQUIRE((status == TBED_END) == (at == nbytes - 1 && content[at] == TBED_STRING_TERMINATOR));
    REQUIRE(tbed_content_check(content, (uint32_t)nbytes) == (status == TBED_END ? TBED_OK : status));
    return 0;
}
