/*
 * The options that 'tracebed diff' and 'tracebed aggregate' have in common, and the patterns of --exclude.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "format/base/utf8.h"
#include "reader/tools/compare/compare_verbs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define JOBS_MAX 1024

static void add_exclude(struct compare_options *options, const char *text)
{
    options->excludes =
        tool_realloc(options->excludes, (options->exclude_count + 1) * sizeof *options->excludes);
    options->excludes[options->exclude_count++] = text;
}

static bool parse_percent(const char *text, double *percent_ret)
{
    char *end;
    double percent = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(percent) || percent < 0)
        return false;
    *percent_ret = percent;
    return true;
}

const char *compare_take_option(struct compare_options *options, int option, const char *argument)
{
    uint64_t value;
    switch (option) {
    case COMPARE_OPTION_JSON:
        options->json = true;
        return NULL;
    case 'e':
        add_exclude(options, argument);
        return NULL;
    case COMPARE_OPTION_BY:
        options->by_scope = true;
        return group_parse_by(argument, &options->group.by);
    case GROUP_OPTION_INCLUDE:
    case GROUP_OPTION_EXCLUDE:
        options->by_scope = true;
        return group_take_option(&options->group, option, argument);
    case 'n':
        if (!tool_parse_u64(argument, SIZE_MAX, &value))
            return "--limit takes a number of rows";
        options->limit = value == 0 ? SIZE_MAX : (size_t)value;
        return NULL;
    case 'p':
        return parse_percent(argument, &options->percent) ? NULL : "--percent-above takes a percentage";
    default: /* 'j' */
        if (!tool_parse_u64(argument, JOBS_MAX, &value))
            return "--jobs takes a number of threads up to 1024";
        options->jobs = (unsigned)value;
        return NULL;
    }
}

void compare_free_options(struct compare_options *options)
{
    free(options->excludes);
    group_free(&options->group);
}

/* The size of what '?' matches: a code point, or a byte of invalid UTF-8. */
static size_t step(const char *text, size_t nbytes)
{
    size_t size = tbed_utf8_step((const uint8_t *)text, nbytes);
    return size > 0 ? size : 1;
}

/* Only '*' and '?' are special. Backtracking to the last '*' is enough, so no label in a file can make this slow. */
static bool matches(const char *pattern, const char *text, size_t nbytes)
{
    const char *star = NULL;
    size_t at = 0, star_at = 0;
    while (at < nbytes) {
        if (*pattern == '*') {
            star = pattern++;
            star_at = at;
        } else if (*pattern == '?') {
            at += step(text + at, nbytes - at);
            pattern++;
        } else if (*pattern != '\0' && *pattern == text[at]) {
            at++;
            pattern++;
        } else if (star != NULL) {
            pattern = star + 1;
            at = star_at += step(text + star_at, nbytes - star_at);
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool compare_is_excluded(const struct compare_options *options, const struct tbed_comparison_row *row)
{
    for (size_t i = 0; i < options->exclude_count; i++)
        if (matches(options->excludes[i], row->label, row->label_nbytes))
            return true;
    return false;
}
