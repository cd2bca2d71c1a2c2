/*
 * Numbers in decimal, independent of the locale. Not for users of the library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_NUMBER_TEXT_H
#define TRACEBED_NUMBER_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Returns the number of digits, at most 20. Not terminated. Several times as fast as printf(). */
size_t tbed_format_u64(char *out, uint64_t value);
/* The same with a sign, at most 20 bytes. */
size_t tbed_format_i64(char *out, int64_t value);

/* The shortest decimal that reads back as the same double; always with a point or an exponent. Terminated. */
const char *tbed_format_f64(char buffer[32], double value);

#endif
