/*
 * The limits of a recording: parsing sizes, and passing them to the recorder.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/record/record_verb.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The suffix as a power of two; -1 if it is invalid. */
static int unit_of(const char *text)
{
    static const char units[] = "KMGT";
    if (text[0] == '\0')
        return 0;
    const char *unit = strchr(units, text[0] >= 'a' ? text[0] - 'a' + 'A' : text[0]);
    bool is_whole = text[1] == '\0' || strcmp(text + 1, "iB") == 0 || strcmp(text + 1, "B") == 0;
    return unit != NULL && is_whole ? (int)(unit - units + 1) * 10 : -1;
}

bool record_size_parse(const char *option, const char *text, uint64_t *nbytes_ret)
{
    char *end;
    errno = 0;
    uint64_t count = strtoull(text, &end, 10);
    int unit = end == text || text[0] == '-' ? -1 : unit_of(end);
    if (unit < 0 || errno != 0 || count == 0 || count > UINT64_MAX >> 1 >> unit) {
        tool_complain("%s: invalid size '%s'", option, text);
        tool_hint("Expected a number of bytes, optionally with the suffix K, M, G or T, such as 500M.");
        return false;
    }
    *nbytes_ret = count << unit;
    return true;
}

#define LEAST_NBYTES   ((uint64_t)256 << 10) /* the header, names, and a little to record into */
#define DEFAULT_NBYTES ((uint64_t)64 << 30)  /* the library's own limit */

bool record_limits_check(const struct record_limits *limits)
{
    uint64_t most = limits->max_nbytes != 0 ? limits->max_nbytes : DEFAULT_NBYTES;
    if (most < LEAST_NBYTES) {
        tool_complain("--max-size: a trace needs at least 256K");
        return false;
    }
    if (limits->ring_nbytes != 0 && limits->ring_nbytes < LEAST_NBYTES) {
        tool_complain("--ring: a flight recorder needs at least 256K for its events");
        return false;
    }
    if (limits->ring_nbytes > most - LEAST_NBYTES) {
        tool_complain("--ring: must be at least 256K smaller than --max-size (default: 64G)");
        return false;
    }
    return true;
}

void record_limits_environment_set(const struct record_limits *limits, const char *name)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, limits->max_nbytes);
    if (limits->max_nbytes != 0)
        setenv(name, text, 1);
    else
        unsetenv(name);
}
