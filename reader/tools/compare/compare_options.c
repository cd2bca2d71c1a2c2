/*
 * The options that 'tracebed diff' and 'tracebed aggregate' have in common.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/compare/compare_verbs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool parse_percent(const char *text, double *percent_ret)
{
    char *end;
    double percent = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(percent) || percent < 0)
        return false;
    *percent_ret = percent;
    return true;
}

static const char *parse_figure(const char *text, enum tbed_figure *figure_ret)
{
    static const char *const names[TBED_FIGURE_COUNT] = {"self",    "time", "count",   "misses", "hits",
                                                         "blocked", "load", "hashing", "p50"};
    size_t at = *figure_ret;
    const char *problem = tool_word_choose("--of: unknown figure", names, TBED_FIGURE_COUNT, text, &at);
    *figure_ret = (enum tbed_figure)at;
    return problem;
}

const char *compare_take_option(struct compare_options *options, int option, const char *argument)
{
    uint64_t value;
    if (tool_filter_has_option(option))
        return tool_filter_take_option(&options->filter, option, argument);
    switch (option) {
    case COMPARE_OPTION_JSON:
        options->json = true;
        return NULL;
    case COMPARE_OPTION_OF:
        options->has_figure = true;
        return parse_figure(argument, &options->figure);
    case COMPARE_OPTION_BY:
        options->by_scope = true;
        return group_parse_by(argument, &options->group.by);
    case GROUP_OPTION_INCLUDE:
    case GROUP_OPTION_EXCLUDE:
        options->by_scope = true;
        return group_take_option(&options->group, option, argument);
    case 'l':
        if (!tool_parse_u64(argument, SIZE_MAX, &value))
            return "--limit takes a number of rows";
        options->limit = value == 0 ? SIZE_MAX : (size_t)value;
        return NULL;
    case COMPARE_OPTION_PERCENT:
        return parse_percent(argument, &options->percent) ? NULL : "--percent-above takes a percentage";
    default: /* 'j' */
        return tool_parse_jobs(argument, &options->jobs);
    }
}

void compare_free_options(struct compare_options *options)
{
    tool_filter_close(&options->filter);
    group_free(&options->group);
}
