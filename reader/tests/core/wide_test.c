/*
 * Compares our integers of 128 bits with the compiler's, at the limits of their halves and for random values.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reader/core/base/wide.h"

typedef unsigned __int128 native;

static const uint64_t edges[] = {0,
                                 1,
                                 2,
                                 UINT32_MAX,
                                 UINT64_C(1) << 32,
                                 (UINT64_C(1) << 32) + 1,
                                 INT64_MAX,
                                 UINT64_C(1) << 63,
                                 UINT64_MAX - 1,
                                 UINT64_MAX};
enum { EDGES = sizeof edges / sizeof edges[0], RANDOM = 1000 };

/* Returns the limits first, then random numbers of all sizes. */
static uint64_t number_at(size_t i)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return i < EDGES ? edges[i] : (state ^ state << 17) >> (state >> 58);
}

static native native_of(struct tbed_wide wide)
{
    return (native)wide.high << 64 | wide.low;
}

static struct tbed_wide wide_of(native number)
{
    return (struct tbed_wide){(uint64_t)(number >> 64), (uint64_t)number};
}

static void products_have_all_128_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < RANDOM; i++)
        for (size_t j = 0; j < RANDOM / 10; j++) {
            uint64_t a = number_at(i), b = number_at(j);
            assert_true(native_of(tbed_wide_multiply(a, b)) == (native)a * b);
            assert_true(native_of(tbed_wide_multiply_halves(a, b)) == (native)a * b);
        }
}

static void expect_quotient(native a, uint64_t b)
{
    uint64_t rest;
    assert_true(native_of(tbed_wide_divide(wide_of(a), b, &rest)) == a / b && rest == a % b);
    assert_true(native_of(tbed_wide_divide_bits(wide_of(a), b, &rest)) == a / b && rest == a % b);
}

static void quotients_and_remainders_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < EDGES + 20; i++)
        for (size_t j = 0; j < EDGES + 20; j++)
            for (size_t k = 1; k < EDGES + 20; k++)
                expect_quotient((native)number_at(i) << 64 | number_at(j), number_at(k) | (k >= EDGES));
}

static void sums_and_differences_carry(void **state)
{
    (void)state;
    for (size_t i = 0; i < RANDOM; i++) {
        native a = (native)number_at(i) << 64 | number_at(i / EDGES),
               b = (native)number_at(i / 7) << 64 | number_at(i);
        assert_true(native_of(tbed_wide_add(wide_of(a), wide_of(b))) == a + b);
        assert_true(native_of(tbed_wide_subtract(wide_of(a), wide_of(b))) == a - b);
        assert_true(native_of(tbed_wide_negate(wide_of(a))) == -a);
        assert_true(native_of(tbed_wide_extend((int64_t)(uint64_t)a)) ==
                    (native)(__int128)(int64_t)(uint64_t)a);
    }
}

static void a_number_is_clamped_to_64_bits(void **state)
{
    static const struct {
        struct tbed_wide from;
        int64_t to;
    } cuts[] = {
        {{0, 0}, 0},
        {{0, INT64_MAX}, INT64_MAX},
        {{0, UINT64_C(1) << 63}, INT64_MAX},
        {{1, 5}, INT64_MAX},
        {{INT64_MAX, 0}, INT64_MAX},
        {{UINT64_MAX, UINT64_MAX}, -1},
        {{UINT64_MAX, UINT64_C(1) << 63}, INT64_MIN},
        {{UINT64_MAX, INT64_MAX}, INT64_MIN},
        {{UINT64_MAX - 1, UINT64_MAX}, INT64_MIN},
        {{UINT64_C(1) << 63, 0}, INT64_MIN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
        assert_true(tbed_wide_clamp(cuts[i].from) == cuts[i].to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_have_all_128_bits),
        cmocka_unit_test(quotients_and_remainders_are_exact),
        cmocka_unit_test(sums_and_differences_carry),
        cmocka_unit_test(a_number_is_clamped_to_64_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
