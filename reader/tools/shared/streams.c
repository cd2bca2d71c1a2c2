/*
 * --stream and --thread; see streams.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/shared/streams.h"

#include <stdlib.h>

static void add(struct streams_list *list, uint32_t number)
{
    if ((list->count & (list->count + 1)) == 0) /* full at 0, 1, 3, 7, … */
        list->numbers = tool_realloc(list->numbers, (list->count * 2 + 1) * sizeof *list->numbers);
    list->numbers[list->count++] = number;
}

const char *streams_take_option(struct streams *streams, int option, const char *argument)
{
    uint64_t number;
    if (!tool_parse_u64(argument, UINT32_MAX, &number))
        return option == 's' ? "-s takes the number of a stream" : "-t takes a thread id";
    add(option == 's' ? &streams->numbers : &streams->tids, (uint32_t)number);
    return NULL;
}

static bool is_listed(const struct streams_list *list, uint32_t number)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->numbers[i] == number)
            return true;
    return false;
}

int streams_choose(struct streams *streams, const char *path, const struct tbed_reader *reader)
{
    struct tbed_stream_info stream;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++)
        if (!streams_are_asked_for(streams) || is_listed(&streams->numbers, stream.stream) ||
            is_listed(&streams->tids, stream.tid))
            add(&streams->chosen, stream.stream);
    if (!streams_are_asked_for(streams) || streams->chosen.count > 0)
        return -1;
    tool_complain("%s: no such stream or thread", tool_path(path));
    tool_hint("Run 'tracebed info %s' to list them.", path);
    return TOOL_TROUBLE;
}

void streams_free(struct streams *streams)
{
    free(streams->numbers.numbers);
    free(streams->tids.numbers);
    free(streams->chosen.numbers);
}
