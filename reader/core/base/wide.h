/*
 * Integers of 128 bits, which compilers for 32-bit machines lack: sums, products of two integers of 64 bits, quotients.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WIDE_H
#define TRACEBED_WIDE_H

#include <stdbool.h>
#include <stdint.h>

/* Unsigned, or signed in two's complement. */
struct tbed_wide {
    uint64_t high, low;
};

static inline struct tbed_wide tbed_wide_add(struct tbed_wide a, struct tbed_wide b)
{
    uint64_t low = a.low + b.low;
    return (struct tbed_wide){a.high + b.high + (low < a.low), low};
}

static inline struct tbed_wide tbed_wide_negate(struct tbed_wide a)
{
    return (struct tbed_wide){~a.high + (a.low == 0), -a.low};
}

static inline struct tbed_wide tbed_wide_subtract(struct tbed_wide a, struct tbed_wide b)
{
    return tbed_wide_add(a, tbed_wide_negate(b));
}

/* Converts a signed integer. */
static inline struct tbed_wide tbed_wide_extend(int64_t a)
{
    return (struct tbed_wide){a < 0 ? UINT64_MAX : 0, (uint64_t)a};
}

/* Converts a signed integer to 64 bits, or to the nearest one that fits. */
static inline int64_t tbed_wide_clamp(struct tbed_wide a)
{
    bool is_negative = a.high >> 63 != 0;
    if (a.high == (is_negative ? UINT64_MAX : 0) && a.low >> 63 == is_negative)
        return (int64_t)a.low;
    return is_negative ? INT64_MIN : INT64_MAX;
}

/* The next two are for compilers without integers of 128 bits; tests call them everywhere. */
static inline struct tbed_wide tbed_wide_multiply_halves(uint64_t a, uint64_t b)
{
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t low = a_low * b_low, middle = a_high * b_low + (low >> 32),
             other = a_low * b_high + (uint32_t)middle;
    return (struct tbed_wide){a_high * b_high + (middle >> 32) + (other >> 32), other << 32 | (uint32_t)low};
}

static inline struct tbed_wide tbed_wide_divide_bits(struct tbed_wide a, uint64_t b, uint64_t *rest_ret)
{
    uint64_t rest = a.high % b;
    struct tbed_wide quotient = {a.high / b, 0};
    for (int bit = 63; bit >= 0; bit--) {
        bool is_above = rest >> 63 != 0;
        rest = rest << 1 | (a.low >> bit & 1);
        if (is_above || rest >= b) {
            rest -= b;
            quotient.low |= UINT64_C(1) << bit;
        }
    }
    *rest_ret = rest;
    return quotient;
}

static inline struct tbed_wide tbed_wide_multiply(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)a * b;
    return (struct tbed_wide){(uint64_t)(product >> 64), (uint64_t)product};
#else
    return tbed_wide_multiply_halves(a, b);
#endif
}

/* Divides unsigned integers; 'b' must not be 0. */
static inline struct tbed_wide tbed_wide_divide(struct tbed_wide a, uint64_t b, uint64_t *rest_ret)
{
#ifdef __SIZEOF_INT128__
    unsigned __int128 whole = (unsigned __int128)a.high << 64 | a.low, quotient = whole / b;
    *rest_ret = (uint64_t)(whole - quotient * b);
    return (struct tbed_wide){(uint64_t)(quotient >> 64), (uint64_t)quotient};
#else
    return tbed_wide_divide_bits(a, b, rest_ret);
#endif
}

#endif
