/*
 * Numbers in decimal, independent of the locale, and rounding that has a result for any number. Not for users of the library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_NUMBER_TEXT_H
#define TRACEBED_NUMBER_TEXT_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the number of digits, at most 20. Not terminated. Several times as fast as printf(). */
size_t tbed_format_u64(char *out, uint64_t value);
/* The same with a sign, at most 20 bytes. */
size_t tbed_format_i64(char *out, int64_t value);

/* The value as a double. In a register of 32-bit x86 it has more bits, and what follows would not be what it is elsewhere. */
static inline double tbed_as_double(double value)
{
#if FLT_EVAL_METHOD == 2
    volatile double stored = value;
    return stored;
#else
    return value;
#endif
}

/* The nearest integer: 0 below its range and for NaN, UINT64_MAX above. */
static inline uint64_t tbed_round_u64(double value)
{
    if (value >= 0x1p64)
        return UINT64_MAX;
    return value >= 0x1p53 ? (uint64_t)value : value > 0 ? (uint64_t)(value + 0.5) : 0;
}

/* The shortest decimal that reads back as the same double; always with a point or an exponent. Terminated. */
const char *tbed_format_f64(char buffer[32], double value);

#endif
