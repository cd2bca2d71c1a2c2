/*
 * Part of every test program: runs only the cases that TBED_TEST_CASES names, a pattern with '*' and '?', which
 * './run test NAME CASE' sets.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

__attribute__((constructor)) static void choose_cases(void)
{
    const char *pattern = getenv("TBED_TEST_CASES");
    if (pattern != NULL)
        cmocka_set_test_filter(pattern);
}
