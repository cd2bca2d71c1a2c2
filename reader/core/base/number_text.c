/*
 * Numbers in decimal; see number_text.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/number_text.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t tbed_format_u64(char *out, uint64_t value)
{
    char reversed[20];
    size_t count = 0;
    do {
        reversed[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (size_t i = 0; i < count; i++)
        out[i] = reversed[count - 1 - i];
    return count;
}

size_t tbed_format_i64(char *out, int64_t value)
{
    bool negative = value < 0;
    if (negative)
        *out = '-';
    return negative + tbed_format_u64(out + negative, negative ? 0 - (uint64_t)value : (uint64_t)value);
}

const char *tbed_format_f64(char buffer[32], double value)
{
    /* Most doubles that people write need at most 15 digits; subnormal ones have fewer. */
    for (int digits = fabs(value) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        snprintf(buffer, 30, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    char *comma = strchr(buffer, ','); /* the decimal point in some locales */
    if (comma != NULL)
        *comma = '.';
    if (strpbrk(buffer, ".en") == NULL)
        strcat(buffer, ".0");
    return buffer;
}
