/*
 * The version is written down in four ways, which must not come apart: as a string, as three numbers, as one number,
 * and inside the library.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tracebed/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void string_agrees_with_the_numbers(void **state)
{
    char text[64];
    (void)state;
    snprintf(text, sizeof text, "%d.%d.%d", TBED_VERSION_MAJOR, TBED_VERSION_MINOR, TBED_VERSION_PATCH);
    assert_string_equal(text, TBED_VERSION_STRING);
}

static void number_orders_versions(void **state)
{
    (void)state;
    assert_true(TBED_VERSION_MINOR < 1000 && TBED_VERSION_PATCH < 1000);
    assert_int_equal(TBED_VERSION_NUMBER / 1000000, TBED_VERSION_MAJOR);
    assert_int_equal(TBED_VERSION_NUMBER / 1000 % 1000, TBED_VERSION_MINOR);
    assert_int_equal(TBED_VERSION_NUMBER % 1000, TBED_VERSION_PATCH);
}

static void library_has_the_version_of_its_headers(void **state)
{
    (void)state;
    assert_int_equal(tbed_version(), TBED_VERSION_NUMBER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(string_agrees_with_the_numbers),
        cmocka_unit_test(number_orders_versions),
        cmocka_unit_test(library_has_the_version_of_its_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
