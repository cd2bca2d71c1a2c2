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
    case COMPARE_OPTION_CSV:
        options->csv = true;
        return NULL;
    case COMPARE_OPTION_COLUMNS:
        options->columns_text = argument;
        return NULL;
    case 's':
        options->sort_text = argument;
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
            return tool_takes("--limit takes a number of rows", argument);
        options->limit = value == 0 ? SIZE_MAX : (size_t)value;
        return NULL;
    case COMPARE_OPTION_PERCENT:
        return parse_percent(argument, &options->percent)
                   ? NULL
                   : tool_takes("--percent-above takes a percentage", argument);
    default: /* 'j' */
        return tool_parse_jobs(argument, &options->jobs);
    }
}

const char *compare_parse_keys(struct compare_options *options, const struct table *tables, size_t count,
                               size_t sorted_count)
{
    const char *problem = NULL;
    if (options->json && options->csv)
        return "--csv cannot be combined with --json";
    if (options->json && options->columns_text != NULL)
        return "--columns applies to text and --csv; rows in --json have all fields";
    if (options->sort_text != NULL)
        problem = table_sort_parse(&options->sort, tables, sorted_count, options->sort_text);
    if (problem == NULL && options->columns_text != NULL)
        problem = table_columns_parse(&options->columns, tables, count, options->columns_text);
    return problem;
}

void compare_free_options(struct compare_options *options)
{
    table_keys_free(&options->sort);
    table_keys_free(&options->columns);
    tool_filter_close(&options->filter);
    group_free(&options->group);
}
