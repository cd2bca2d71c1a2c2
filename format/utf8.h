/*
 * UTF-8, as strict as RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. Pure functions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_UTF8_H
#define TRACEBED_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Size of the code point at 'at', 1 to 4; 0 if none stands there whole within 'nbytes'. */
size_t tbed_utf8_step(const uint8_t *at, size_t nbytes);

/* How many of the first bytes are whole code points; 'nbytes' if all are. */
size_t tbed_utf8_valid_nbytes(const uint8_t *text, size_t nbytes);

#endif
