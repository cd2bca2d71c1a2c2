/*
 * --stream, --thread and --process; see streams.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/filter/streams.h"

#include <stdlib.h>
#include <string.h>

static void add(struct streams_list *list, uint32_t number)
{
    if ((list->count & (list->count + 1)) == 0) /* full at 0, 1, 3, 7, … */
        list->numbers = tool_realloc(list->numbers, (list->count * 2 + 1) * sizeof *list->numbers);
    list->numbers[list->count++] = number;
}

const char *streams_take_option(struct streams *streams, int option, const char *argument)
{
    uint64_t number;
    if (option != 's') {
        size_t nbytes = (streams->word_count + 1) * sizeof *streams->words;
        streams->words = tool_realloc(streams->words, nbytes);
        streams->words[streams->word_count++] = (struct streams_word){argument, option == 'p'};
        return NULL;
    }
    if (!tool_parse_u64(argument, UINT32_MAX, &number))
        return tool_takes("--stream takes a number", argument);
    add(&streams->numbers, (uint32_t)number);
    return NULL;
}

static bool is_listed(const struct streams_list *list, uint32_t number)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->numbers[i] == number)
            return true;
    return false;
}

static bool has_word(const struct streams *streams, bool is_process)
{
    for (size_t i = 0; i < streams->word_count; i++)
        if (streams->words[i].is_process == is_process)
            return true;
    return false;
}

/* Is the thread or process, which has this id and this name, one of those asked for? */
static bool is_named(const struct streams *streams, const struct tbed_reader *reader, bool is_process,
                     uint32_t number, uint32_t name_id)
{
    struct tool_buffer name = {0};
    bool is_found = false;
    if (name_id != TBED_ID_INVALID)
        tool_append_whole_name(&name, reader, name_id);
    for (size_t i = 0; i < streams->word_count && !is_found; i++) {
        const char *text = streams->words[i].text;
        uint64_t asked;
        if (streams->words[i].is_process != is_process)
            continue;
        is_found = tool_parse_u64(text, UINT32_MAX, &asked) && asked == number;
        is_found |=
            name.nbytes > 0 && strlen(text) == name.nbytes && memcmp(text, name.bytes, name.nbytes) == 0;
    }
    free(name.bytes);
    return is_found;
}

static bool find_process(const struct tbed_reader *reader, uint32_t number, struct tbed_process_info *process)
{
    for (size_t i = 0; tbed_process_get(reader, i, process); i++)
        if (process->stream == number)
            return true;
    return false;
}

static bool is_chosen(const struct streams *streams, const struct tbed_reader *reader,
                      const struct tbed_stream_info *stream)
{
    struct tbed_process_info process;
    if (is_listed(&streams->numbers, stream->stream))
        return true;
    if (streams->word_count == 0)
        return streams->numbers.count == 0;
    if (has_word(streams, false) && !is_named(streams, reader, false, stream->tid, stream->name_id))
        return false;
    return !has_word(streams, true) || (find_process(reader, stream->process, &process) &&
                                        is_named(streams, reader, true, process.pid, process.name_id));
}

int streams_choose(struct streams *streams, const char *path, const struct tbed_reader *reader)
{
    struct tbed_stream_info stream;
    streams->chosen.count = 0;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++)
        if (is_chosen(streams, reader, &stream))
            add(&streams->chosen, stream.stream);
    if (!streams_are_asked_for(streams) || streams->chosen.count > 0)
        return -1;
    tool_complain("%s: no such stream, thread or process", tool_path(path));
    tool_hint("Run 'tracebed info %s' to list them.", path);
    return TOOL_TROUBLE;
}

void streams_free(struct streams *streams)
{
    free(streams->numbers.numbers);
    free(streams->words);
    free(streams->chosen.numbers);
}
