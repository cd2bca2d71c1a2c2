/*
 * Text made valid UTF-8, for formats that hold nothing else.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_CLEAN_TEXT_H
#define TRACEBED_TABLES_CLEAN_TEXT_H

#include "reader/core/base/text.h"

/* Appends a text with U+FFFD for each byte that is not part of a code point. False: there were such bytes. */
bool tbed_text_put_clean(struct tbed_text *to, const char *bytes, size_t nbytes);

#endif
