/*
 * Random numbers for simulated runs, the same ones each time, and a comparison of figures that are not exact.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RANDOM_SAMPLES_H
#define TRACEBED_RANDOM_SAMPLES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

/* In (0, 1). */
static inline double uniform(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 0x1p53;
}

static inline double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

#define assert_near(value, expected, allowed)                                                                \
    do {                                                                                                     \
        double is_ = (value), should_ = (expected);                                                          \
        if (!(fabs(is_ - should_) <= (allowed)))                                                             \
            fail_msg("%.12g instead of %.12g", is_, should_);                                                \
    } while (0)

#endif
