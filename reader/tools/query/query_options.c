/*
 * The options that commands which answer a question about a trace have in common.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/query/query.h"

#include <string.h>
#include <sys/stat.h>

static bool is_of_query(int option)
{
    return option == 'j' || option == 's' ||
           (option >= QUERY_OPTION_NO_SYMBOLS && option <= QUERY_OPTION_COLUMNS) ||
           tool_filter_has_option(option);
}

/* Returns NULL, or what is wrong with the argument. */
static const char *take_option(struct query *query, int option)
{
    if (tool_filter_has_option(option))
        return tool_filter_take_option(&query->filter, option, optarg);
    switch (option) {
    case 'j':
        return tool_parse_jobs(optarg, &query->jobs);
    case 's':
        query->sort_text = optarg;
        return NULL;
    case QUERY_OPTION_COLUMNS:
        query->columns_text = optarg;
        return NULL;
    case QUERY_OPTION_CSV:
        query->csv = true;
        return NULL;
    case QUERY_OPTION_JSON:
        query->json = true;
        return NULL;
    default:
        query->no_symbols = true;
        return NULL;
    }
}

int query_option_next(struct query *query, int argc, char **argv, const char *shorts,
                      const struct option *longs, int *exit_ret)
{
    const char *wrong = NULL;
    int option;
    do
        option = tool_option_next(query->verb, argc, argv, shorts, longs, exit_ret);
    while (is_of_query(option) && (wrong = take_option(query, option)) == NULL);
    if (option == -1 && *exit_ret < 0 && query->csv && query->json)
        wrong = "--csv cannot be combined with --json";
    if (wrong == NULL)
        return option;
    *exit_ret = tool_usage(query->verb, wrong);
    return -1;
}

bool query_is_file(const char *operand)
{
    struct stat file;
    return stat(operand, &file) == 0 && !S_ISDIR(file.st_mode);
}

int query_take_operands(const struct query *query, int argc, char **argv, struct tool_filter *names)
{
    int count = argc - optind, most = names != NULL ? 2 : 1;
    const char *wrong = count < 1 ? "missing FILE operand" : count > most ? "too many operands" : NULL;
    if (wrong == NULL && count == 2 && query_is_file(argv[optind + 1]) && !query_is_file(argv[optind]) &&
        strcmp(argv[optind], "-") != 0)
        wrong = "FILE comes before NAME";
    if (wrong == NULL && count == 2)
        wrong = tool_filter_take_name(names, argv[optind + 1]);
    return wrong == NULL ? -1 : tool_usage(query->verb, wrong);
}

const char *query_take_keys(struct query *query, const struct table *tables, size_t count)
{
    const char *problem = NULL;
    if (query->sort_text != NULL)
        problem = table_sort_parse(&query->sort, tables, count, query->sort_text);
    if (problem == NULL && query->columns_text != NULL)
        problem = table_columns_parse(&query->columns, tables, count, query->columns_text);
    return problem;
}

void query_close(struct query *query)
{
    table_keys_free(&query->sort);
    table_keys_free(&query->columns);
    tool_filter_close(&query->filter);
}
