/*
 * Text made valid UTF-8; see clean_text.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/base/clean_text.h"

#include "format/base/utf8.h"

bool tbed_text_put_clean(struct tbed_text *to, const char *bytes, size_t nbytes)
{
    bool is_clean = true;
    for (size_t at = 0; at < nbytes;) {
        size_t valid = tbed_utf8_valid_nbytes((const uint8_t *)bytes + at, nbytes - at);
        tbed_text_put(to, bytes + at, valid);
        at += valid;
        if (at < nbytes) {
            is_clean = false;
            tbed_text_puts(to, "\xEF\xBF\xBD");
            at++;
        }
    }
    return is_clean;
}
