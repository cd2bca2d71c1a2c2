/*
 * tracebed record --rotate: a series of files instead of one. Nobody can join a series, so the first process that
 * records gets the trace's path, and each later one a series of its own beside it: what is closed at the end is found
 * by its name.
 *
 * Not here: the rotation itself (writer/life/rotate.c).
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/record/record_verb.h"

#include <dirent.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_MAX   1000000u /* the library's */
#define NUMBER_MAX 999999999u

struct unit {
    char letter;
    uint64_t nbytes, ns;
};

/* The units of TRACEBED_ROTATE. */
static const struct unit units[] = {
    {'K', 1 << 10, 0},    {'M', 1 << 20, 0},     {'G', 1 << 30, 0},
    {'s', 0, 1000000000}, {'m', 0, 60000000000}, {'h', 0, 3600000000000},
};

static const struct unit *unit_find(char letter)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (units[i].letter == letter)
            return &units[i];
    return NULL;
}

/* Parses decimal digits up to 'end'; 0 if there is anything else or the number exceeds 'most'. */
static uint64_t number_of(const char *text, const char *end, uint64_t most)
{
    char digits[12];
    uint64_t number;
    size_t nbytes = (size_t)(end - text);
    if (nbytes == 0 || nbytes >= sizeof digits)
        return 0;
    memcpy(digits, text, nbytes);
    digits[nbytes] = '\0';
    return tool_parse_u64(digits, most, &number) ? number : 0;
}

bool record_series_parse(const char *text, struct record_series *series_ret)
{
    const char *comma = strchrnul(text, ','), *end = text + strlen(text);
    const struct unit *unit = comma > text ? unit_find(comma[-1]) : NULL;
    uint64_t number = unit != NULL ? number_of(text, comma - 1, NUMBER_MAX) : 0;
    uint64_t keep = *comma == ',' ? number_of(comma + 1, end, KEEP_MAX) : 0;
    if (number == 0 || (*comma == ',' && keep == 0)) {
        tool_complain("--rotate: invalid size or time '%s'", text);
        tool_hint("Expected a size (K, M, G) or a time (s, m, h), and optionally how many closed files to "
                  "keep: 64M,10.");
        return false;
    }
    *series_ret = (struct record_series){number * unit->nbytes, number * unit->ns, keep};
    return true;
}

bool record_series_is_wanted(const struct record_series *series)
{
    return series->nbytes != 0 || series->interval_ns != 0;
}

void record_series_environment_set(const struct record_series *series, const char *name)
{
    char text[80];
    snprintf(text, sizeof text, "%" PRIu64 ",%" PRIu64 ",%" PRIu64, series->nbytes, series->interval_ns,
             series->keep);
    if (record_series_is_wanted(series))
        setenv(name, text, 1);
    else
        unsetenv(name);
}

/* The name of the trace followed by numbers: "run.tbed.000001", "run.tbed.4711-2.000001". */
static bool is_of_series(const char *name, const char *trace_name)
{
    size_t nbytes = strlen(trace_name);
    return strncmp(name, trace_name, nbytes) == 0 && name[nbytes] == '.' && name[nbytes + 1] != '\0' &&
           strspn(name + nbytes, "0123456789.-") == strlen(name + nbytes);
}

size_t record_series_for_each(const char *path, void (*act)(const char *path, void *context), void *context)
{
    char folder[PATH_MAX], base[PATH_MAX], *full = NULL;
    size_t count = 0;
    snprintf(folder, sizeof folder, "%s", path);
    snprintf(base, sizeof base, "%s", path);
    const char *folder_name = dirname(folder), *trace_name = basename(base);
    DIR *directory = opendir(folder_name);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        if (!is_of_series(entry->d_name, trace_name) ||
            asprintf(&full, "%s/%s", folder_name, entry->d_name) < 0)
            continue;
        act(full, context);
        count++;
        free(full);
    }
    if (directory != NULL)
        closedir(directory);
    return count;
}
