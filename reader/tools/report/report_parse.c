/*
 * Numbers in the options of a report.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/report/report.h"

#include <stdlib.h>

#define MOMENTS_DEFAULT 20
#define MOMENTS_MAX     10000

bool report_parse_moments(const char *text, uint32_t *count_ret)
{
    uint64_t count = MOMENTS_DEFAULT;
    if (text != NULL && (!tool_parse_u64(text, MOMENTS_MAX, &count) || count == 0))
        return false;
    *count_ret = (uint32_t)count;
    return true;
}

bool report_parse_retained(const char *text, uint32_t *survived_min_ret)
{
    uint64_t count = 1;
    if (text != NULL && (!tool_parse_u64(text, UINT32_MAX, &count) || count == 0))
        return false;
    *survived_min_ret = (uint32_t)count;
    return true;
}

bool report_parse_limit(const char *text, size_t *limit_ret)
{
    uint64_t value;
    if (!tool_parse_u64(text, SIZE_MAX, &value))
        return false;
    *limit_ret = value == 0 ? SIZE_MAX : (size_t)value;
    return true;
}

bool report_parse_percent(const char *text, double *percent_ret)
{
    char *end;
    *percent_ret = strtod(text, &end);
    return end != text && *end == '\0' && *percent_ret >= 0 && *percent_ret <= 100;
}
