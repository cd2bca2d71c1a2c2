/*
 * How a command says that it shows only a part of a trace; see tool_filter.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/filter/tool_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Text ---- */

static void put_duration(const struct tbed_reader *reader, const struct tbed_trace_info *info, uint64_t begin,
                         uint64_t end)
{
    char buffer[32];
    if (info->clock == TBED_CLOCK_USER) {
        fputs(tool_format_count(buffer, end - begin), stdout);
        return;
    }
    end -= end % info->resolution_ticks;
    double ns = end > begin ? (double)(tbed_ticks_to_ns(reader, end) - tbed_ticks_to_ns(reader, begin)) : 0;
    fputs(tool_format_time(buffer, ns, tbed_tick_span_to_ns(reader, info->resolution_ticks)), stdout);
}

void tool_filter_tell_no_spans(const struct tool_filter *filter, const char *path)
{
    fflush(stdout);
    tool_complain(tool_filter_is_given(filter) ? "%s: no spans in the chosen part" : "%s: no spans",
                  tool_path(path));
    tool_hint("Run 'tracebed report' to see all of its contents.");
}

void tool_filter_put_time(const struct tool_filter *filter, const struct tbed_reader *reader,
                          const struct tbed_trace_info *info)
{
    uint64_t begin = filter->window.begin_tick, end = filter->window.end_tick;
    if (filter->begin.kind != FILTER_TIME_NONE || filter->end.kind != FILTER_TIME_NONE) {
        begin = begin > info->first_tick ? begin : info->first_tick;
        end = end != 0 && end < info->last_tick ? end : info->last_tick;
        put_duration(reader, info, begin < end ? begin : end, end);
        fputs(" of ", stdout);
    }
    put_duration(reader, info, info->first_tick, info->last_tick);
    if (info->clock == TBED_CLOCK_USER) {
        putchar(' ');
        tool_print_text(stdout, info->clock_unit, strlen(info->clock_unit), 0);
    }
}

void tool_filter_put_streams(const struct tool_filter *filter, const struct tbed_trace_info *info)
{
    char buffer[32];
    if (streams_are_asked_for(&filter->streams))
        printf("%s of ", tool_format_count(buffer, filter->streams.chosen.count));
    printf("%s stream%s", tool_format_count(buffer, info->stream_count), info->stream_count == 1 ? "" : "s");
}

/* ---- JSON ---- */

static void put_texts(struct tbed_json *json, const char *key, const struct tool_filter_list *list)
{
    if (list->count == 0)
        return;
    tbed_json_array_open(json, key);
    for (size_t i = 0; i < list->count; i++)
        tbed_json_string(json, NULL, list->items[i]);
    tbed_json_array_close(json);
}

static void put_words(struct tbed_json *json, const char *key, const struct streams *streams, bool is_process)
{
    struct tool_filter_list list = {0};
    for (size_t i = 0; i < streams->word_count; i++)
        if (streams->words[i].is_process == is_process)
            tool_filter_list_add(&list, streams->words[i].text);
    put_texts(json, key, &list);
    free(list.items);
}

void tool_filter_json(struct tbed_json *json, const struct tool_filter *filter,
                      const struct tool_filter_window *window)
{
    const struct streams_list *numbers = &filter->streams.numbers;
    if (!tool_filter_is_given(filter))
        return;
    tbed_json_object_open(json, "filter");
    if (filter->begin.kind != FILTER_TIME_NONE)
        tbed_json_u64(json, "begin_tick", window->begin_tick);
    if (filter->end.kind != FILTER_TIME_NONE && window->end_tick == 0 && window->begin_tick != UINT64_MAX)
        tbed_json_null(json, "end_tick"); /* later than any tick */
    else if (filter->end.kind != FILTER_TIME_NONE)
        tbed_json_u64(json, "end_tick", window->end_tick);
    put_words(json, "threads", &filter->streams, false);
    put_words(json, "processes", &filter->streams, true);
    if (numbers->count > 0) {
        tbed_json_array_open(json, "streams");
        for (size_t i = 0; i < numbers->count; i++)
            tbed_json_u64(json, NULL, numbers->numbers[i]);
        tbed_json_array_close(json);
    }
    put_texts(json, "names", &filter->names);
    put_texts(json, "excluded_names", &filter->excluded);
    put_texts(json, "categories", &filter->categories);
    if (filter->minimum.kind != FILTER_TIME_NONE)
        tbed_json_u64(json, "minimum_ticks", window->minimum_ticks);
    put_texts(json, "inside", &filter->inside);
    tbed_json_object_close(json);
}
