/*
 * Times and durations on the command line; see filter_time.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/filter/filter_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NO_CLOCK "the clock of this trace does not measure time: give times in ticks or percent"

/* ---- Parsing ---- */

/* "+01", "+0100" or "+01:00", in seconds; strptime() knows it only with some C libraries. */
static bool parse_offset(const char *text, long *offset_ret)
{
    char digits[5] = {text[1], '0', '0', '0'};
    size_t nbytes = strlen(text), colon = nbytes == 6 && text[3] == ':';
    if (nbytes != 3 && nbytes != 5 + colon)
        return false;
    digits[1] = text[2];
    if (nbytes > 3)
        memcpy(digits + 2, text + 3 + colon, 2);
    int number = atoi(digits);
    if (strspn(digits, "0123456789") != 4 || number > 1400 || number % 100 >= 60)
        return false;
    long seconds = (number / 100 * 60L + number % 100) * 60;
    *offset_ret = text[0] == '-' ? -seconds : seconds;
    return true;
}

/* "2026-11-22", "2026-11-22T10:15", "2026-11-22 10:15:00.25+01:00"; local time if there is no offset. */
static bool parse_date(const char *text, long double *ns_ret)
{
    static const char *const formats[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M",
                                          "%Y-%m-%d %H:%M", "%Y-%m-%d"};
    struct tm broken;
    char *end = NULL;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0] && end == NULL; i++) {
        broken = (struct tm){.tm_isdst = -1};
        end = strptime(text, formats[i], &broken);
    }
    if (end == NULL)
        return false;
    long double fraction = *end == '.' ? strtold(end, &end) : 0;
    long offset = 0;
    bool is_local = *end == '\0', is_utc = strcmp(end, "Z") == 0;
    bool has_offset = (*end == '+' || *end == '-') && parse_offset(end, &offset);
    if (!is_local && !is_utc && !has_offset)
        return false;
    time_t seconds = is_local ? mktime(&broken) : timegm(&broken) - offset;
    *ns_ret = ((long double)seconds + fraction) * 1e9L;
    return true;
}

static bool parse_number(const char *text, bool is_time, struct filter_time *time)
{
    static const struct {
        const char *name;
        long double ns;
    } units[] = {{"ns", 1},   {"us", 1e3L},   {"µs", 1e3L}, {"ms", 1e6L},
                 {"s", 1e9L}, {"min", 60e9L}, {"m", 60e9L}, {"h", 3600e9L}};
    char *end;
    long double value = strtold(text, &end);
    if (end == text || !isfinite(value) || fabsl(value) >= 0x1p63L)
        return false;
    end += strspn(end, " ");
    *time = (struct filter_time){FILTER_TIME_PLAIN, value};
    if (*end == '\0')
        return true;
    *time = (struct filter_time){FILTER_TIME_PERCENT, value};
    if (strcmp(end, "%") == 0)
        return is_time && value >= 0 && value <= 100;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].name) == 0) {
            *time = (struct filter_time){FILTER_TIME_NS, value * units[i].ns};
            return fabsl(time->value) < 0x1p63L;
        }
    return false;
}

const char *filter_time_parse(const char *text, struct filter_time *time_ret)
{
    long double ns;
    char *end;
    if (text[0] == '@') {
        long double seconds = strtold(text + 1, &end);
        *time_ret = (struct filter_time){FILTER_TIME_WALL, seconds * 1e9L};
        if (end != text + 1 && *end == '\0' && isfinite(seconds) && fabsl(time_ret->value) < 0x1p63L)
            return NULL;
    } else if (parse_date(text, &ns)) {
        *time_ret = (struct filter_time){FILTER_TIME_WALL, ns};
        return NULL;
    } else if (parse_number(text, true, time_ret)) {
        return NULL;
    }
    return "a time is expected, such as 1.5, 20ms, 10%, 2026-11-22T10:15:00 or @1795342500";
}

const char *filter_duration_parse(const char *text, struct filter_time *time_ret)
{
    if (parse_number(text, false, time_ret) && time_ret->value >= 0)
        return NULL;
    return "a duration is expected, such as 1.5, 20ms or 300us";
}

/* ---- Ticks ---- */

static int64_t ns_at(const struct tbed_reader *reader, uint64_t tick, bool is_wall)
{
    int64_t ns = 0;
    if (!is_wall)
        return tbed_ticks_to_ns(reader, tick);
    tbed_ticks_to_realtime_ns(reader, tick, &ns);
    return ns;
}

/* The conversion from ticks to time is monotonic. */
static bool find_tick(const struct tbed_reader *reader, int64_t ns, bool is_wall, uint64_t *tick_ret)
{
    uint64_t low = 0, high = UINT64_MAX;
    if (ns_at(reader, UINT64_MAX, is_wall) < ns)
        return false;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (ns_at(reader, middle, is_wall) < ns)
            low = middle + 1;
        else
            high = middle;
    }
    *tick_ret = low;
    return true;
}

static int64_t to_i64(long double value)
{
    return value >= 0x1p63L ? INT64_MAX : value <= -0x1p63L ? INT64_MIN : (int64_t)roundl(value);
}

/* 100 % is just behind the last tick, so that all events are before it. */
static uint64_t percent_tick(const struct tbed_trace_info *info, long double percent)
{
    uint64_t whole = info->last_tick - info->first_tick + 1;
    long double part = ceill((long double)whole * percent / 100);
    return info->first_tick + (part >= (long double)whole ? whole : (uint64_t)part);
}

bool filter_time_tick(const struct filter_time *time, const struct tbed_reader *reader, uint64_t *tick_ret,
                      const char **problem_ret)
{
    struct tbed_trace_info info;
    int64_t ns;
    tbed_reader_info(reader, &info);
    bool counts_time = info.clock != TBED_CLOCK_USER;
    *problem_ret = NULL;
    if (time->kind == FILTER_TIME_PERCENT) {
        *tick_ret = percent_tick(&info, time->value);
        return true;
    }
    if ((time->kind == FILTER_TIME_NS && !counts_time) || (time->kind == FILTER_TIME_WALL && !counts_time))
        *problem_ret = NO_CLOCK;
    else if (time->kind == FILTER_TIME_WALL &&
             tbed_ticks_to_realtime_ns(reader, info.first_tick, &ns) != TBED_OK)
        *problem_ret = "this trace does not say at what time of day it was recorded";
    if (*problem_ret != NULL)
        return false;
    bool is_seconds = time->kind == FILTER_TIME_PLAIN && counts_time;
    ns = to_i64(is_seconds ? time->value * 1e9L : time->value);
    return find_tick(reader, ns, time->kind == FILTER_TIME_WALL, tick_ret);
}

uint64_t filter_duration_ticks(const struct filter_time *time, const struct tbed_reader *reader,
                               const char **problem_ret)
{
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    bool counts_time = info.clock != TBED_CLOCK_USER;
    *problem_ret = time->kind == FILTER_TIME_NS && !counts_time ? NO_CLOCK : NULL;
    long double ns = time->kind == FILTER_TIME_PLAIN && counts_time ? time->value * 1e9L : time->value;
    if (!counts_time)
        return (uint64_t)to_i64(ceill(ns));
    uint64_t low = 0, high = INT64_MAX;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (tbed_tick_span_to_ns(reader, middle) < (double)ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
