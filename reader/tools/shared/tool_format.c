/*
 * Formats figures with units, and parses figures on the command line.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/shared/tool.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool tool_parse_u64(const char *text, uint64_t max, uint64_t *value_ret)
{
    if (*text < '0' || *text > '9')
        return false;
    char *end;
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    errno = 0;
    uint64_t value = strtoull(text, &end, hexadecimal ? 16 : 10);
    if (errno != 0 || *end != '\0' || value > max)
        return false;
    *value_ret = value;
    return true;
}

const char *tool_parse_jobs(const char *text, unsigned *jobs_ret)
{
    uint64_t jobs;
    if (!tool_parse_u64(text, 1024, &jobs))
        return tool_takes("--jobs takes a number of threads up to 1024", text);
    *jobs_ret = (unsigned)jobs;
    return NULL;
}

bool tool_parse_percent(const char *text, double *part_ret)
{
    char *end;
    double percent = strtod(text, &end);
    if (end == text || *end != '\0' || !(percent >= 0) || percent > 100)
        return false;
    *part_ret = percent / 100;
    return true;
}

/* Three significant digits; integers below 1000 have no decimals. */
static const char *three_digits(char buffer[32], double value, const char *unit)
{
    double size = fabs(value);
    int decimals = size >= 99.95 || size == floor(size) ? 0 : size >= 9.995 ? 1 : 2;
    snprintf(buffer, 32, "%.*f %s", decimals, value, unit);
    return buffer;
}

static const char *long_time(char buffer[32], double seconds)
{
    const char *sign = seconds < 0 ? "-" : "";
    double size = fabs(seconds);
    if (!(size < 1e15))
        snprintf(buffer, 32, "%.3g s", seconds);
    else if (size < 3600)
        snprintf(buffer, 32, "%s%.0f min %.0f s", sign, floor(size / 60), floor(fmod(size, 60)));
    else
        snprintf(buffer, 32, "%s%.0f h %.0f min", sign, floor(size / 3600), floor(fmod(size, 3600) / 60));
    return buffer;
}

const char *tool_format_ns(char buffer[32], double ns)
{
    double size = fabs(ns);
    if (size < 999.5)
        return three_digits(buffer, ns, "ns");
    if (size < 999.5e3)
        return snprintf(buffer, 32, "%.*f us", size < 9.995e3 ? 2 : size < 99.95e3 ? 1 : 0, ns / 1e3), buffer;
    if (size < 999.5e6)
        return snprintf(buffer, 32, "%.*f ms", size < 9.995e6 ? 2 : size < 99.95e6 ? 1 : 0, ns / 1e6), buffer;
    if (size < 120e9)
        return snprintf(buffer, 32, "%.*f s", size < 9.995e9 ? 2 : size < 99.95e9 ? 1 : 0, ns / 1e9), buffer;
    return long_time(buffer, ns / 1e9);
}

const char *tool_format_time(char buffer[32], double ns, double resolution_ns)
{
    if (resolution_ns < 1e6 || fabs(ns) >= 999.5e6)
        return tool_format_ns(buffer, ns);
    double ms = ns / 1e6;
    snprintf(buffer, 32, "%.*f ms", ms == floor(ms) ? 0 : 2, ms);
    return buffer;
}

const char *tool_format_bytes(char buffer[32], double nbytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB"};
    unsigned unit = 0;
    while (fabs(nbytes) >= 1023.5 && unit + 1 < sizeof units / sizeof units[0]) {
        nbytes /= 1024;
        unit++;
    }
    return three_digits(buffer, nbytes, units[unit]);
}

const char *tool_format_count(char buffer[32], uint64_t count)
{
    char digits[20];
    size_t digit_count = tbed_format_u64(digits, count), at = 0;
    for (size_t i = 0; i < digit_count; i++) {
        if (i > 0 && (digit_count - i) % 3 == 0)
            buffer[at++] = ',';
        buffer[at++] = digits[i];
    }
    buffer[at] = '\0';
    return buffer;
}

const char *tool_format_number(char buffer[48], double number, size_t most)
{
    char digits[32];
    double size = number < 0 ? -number : number;
    if (size < 1e15 && size == (double)(uint64_t)size) {
        int length =
            snprintf(buffer, 48, "%s%s", number < 0 ? "-" : "", tool_format_count(digits, (uint64_t)size));
        if ((size_t)length <= most)
            return buffer;
    }
    snprintf(buffer, 48, "%.6g", number);
    return buffer;
}

const char *tool_format_ticks(char buffer[32], const struct tbed_reader *reader,
                              const struct tbed_trace_info *info, uint64_t ticks)
{
    if (info->clock == TBED_CLOCK_USER)
        return tool_format_count(buffer, ticks);
    return tool_format_time(buffer, tbed_tick_span_to_ns(reader, ticks),
                            tbed_tick_span_to_ns(reader, info->resolution_ticks));
}

/* In UTC, by the calendar that has been in use since 1582, for seconds that a time_t of 32 bits cannot hold. */
static void break_down(int64_t seconds, struct tm *utc)
{
    int64_t days = seconds / 86400 - (seconds % 86400 < 0), of_day = seconds - days * 86400;
    days += 719468; /* since March 1 of the year 0, so that a leap day is the last of its year */
    int64_t era = (days >= 0 ? days : days - 146096) / 146097, of_era = days - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
    *utc = (struct tm){.tm_sec = (int)(of_day % 60),
                       .tm_min = (int)(of_day / 60 % 60),
                       .tm_hour = (int)(of_day / 3600),
                       .tm_mday = (int)(of_year - (153 * month + 2) / 5) + 1,
                       .tm_mon = (int)(month + 2) % 12,
                       .tm_year = (int)(era * 400 + year + (month > 9) - 1900)};
}

const char *tool_format_wall(char buffer[48], int64_t realtime_ns)
{
    int64_t seconds = realtime_ns / 1000000000, ns = realtime_ns % 1000000000;
    if (ns < 0) {
        ns += 1000000000;
        seconds--;
    }
    time_t time = (time_t)seconds;
    struct tm local;
    if (time != seconds || localtime_r(&time, &local) == NULL)
        break_down(seconds, &local);
    char date[24];
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &local);
    unsigned offset = (unsigned)(labs(local.tm_gmtoff) / 60) % 1440;
    snprintf(buffer, 48, "%s.%09" PRId64 "%c%02u:%02u", date, ns, local.tm_gmtoff < 0 ? '-' : '+',
             offset / 60, offset % 60);
    return buffer;
}
