/*
 * The options that choose a part of a trace; see tool_filter.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/filter/tool_filter.h"

#include "reader/analysis/filter/filter_missed.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool tool_filter_has_option(int option)
{
    switch (option) {
    case 'b':
    case 'e':
    case 't':
    case 'p':
    case 'n':
    case TOOL_FILTER_STREAM:
    case TOOL_FILTER_EXCLUDE:
    case TOOL_FILTER_CATEGORY:
    case TOOL_FILTER_MINIMUM:
    case TOOL_FILTER_INSIDE:
        return true;
    default:
        return false;
    }
}

const char *tool_filter_list_add(struct tool_filter_list *list, const char *item)
{
    list->items = tool_realloc(list->items, (list->count + 1) * sizeof *list->items);
    list->items[list->count++] = item;
    return NULL;
}

const char *tool_filter_explain(const char *option, const char *problem)
{
    static char text[160];
    if (problem == NULL)
        return NULL;
    snprintf(text, sizeof text, "%s: %s", option, problem);
    return text;
}

/* The same for a regular expression, which is tried before any file is opened. */
static const char *add_pattern(struct tool_filter_list *list, const char *option, const char *argument)
{
    static char text[TBED_FILTER_PROBLEM_NBYTES];
    char why[96];
    regex_t pattern;
    int result = regcomp(&pattern, argument, REG_EXTENDED | REG_NOSUB);
    if (result == 0)
        regfree(&pattern);
    if (result == 0 || result == REG_ESPACE)
        return tool_filter_list_add(list, argument);
    regerror(result, &pattern, why, sizeof why);
    snprintf(text, sizeof text, "%s: invalid regular expression '%.100s': %s", option, argument, why);
    return text;
}

const char *tool_filter_take_name(struct tool_filter *filter, const char *argument)
{
    return add_pattern(&filter->names, "NAME", argument);
}

const char *tool_filter_take_option(struct tool_filter *filter, int option, const char *argument)
{
    switch (option) {
    case 'b':
        return tool_filter_explain("--begin", filter_time_parse(argument, &filter->begin));
    case 'e':
        return tool_filter_explain("--end", filter_time_parse(argument, &filter->end));
    case 'n':
        return add_pattern(&filter->names, "--name", argument);
    case TOOL_FILTER_EXCLUDE:
        return add_pattern(&filter->excluded, "--exclude", argument);
    case TOOL_FILTER_CATEGORY:
        return tool_filter_list_add(&filter->categories, argument);
    case TOOL_FILTER_MINIMUM:
        return tool_filter_explain("--minimum-duration", filter_duration_parse(argument, &filter->minimum));
    case TOOL_FILTER_INSIDE:
        return tool_filter_list_add(&filter->inside, argument);
    default:
        return streams_take_option(&filter->streams, option == TOOL_FILTER_STREAM ? 's' : option, argument);
    }
}

bool tool_filter_asks_for_labels(const struct tool_filter *filter)
{
    return filter->minimum.kind != FILTER_TIME_NONE ||
           filter->names.count + filter->excluded.count + filter->categories.count > 0;
}

bool tool_filter_is_given(const struct tool_filter *filter)
{
    return filter->begin.kind != FILTER_TIME_NONE || filter->end.kind != FILTER_TIME_NONE ||
           streams_are_asked_for(&filter->streams) || filter->inside.count > 0 ||
           tool_filter_asks_for_labels(filter);
}

/* Without a tick for its begin, the window begins when no clock goes any more. Returns NULL, or what is wrong. */
static const char *set_begin(const struct tool_filter *filter, const struct tbed_reader *reader,
                             uint64_t *tick)
{
    const char *problem = NULL;
    if (filter->begin.kind != FILTER_TIME_NONE && !filter_time_tick(&filter->begin, reader, tick, &problem))
        *tick = UINT64_MAX;
    return problem;
}

/* An end without a tick is none. The window before tick 0 is empty, as one that begins at no tick. */
static const char *set_end(const struct tool_filter *filter, const struct tbed_reader *reader,
                           struct tbed_filter_options *options)
{
    const char *problem = NULL;
    if (filter->end.kind == FILTER_TIME_NONE ||
        !filter_time_tick(&filter->end, reader, &options->end_tick, &problem))
        return problem;
    if (filter->begin.kind != FILTER_TIME_NONE && options->end_tick <= options->begin_tick)
        return "--end is not after --begin";
    if (options->end_tick == 0)
        options->begin_tick = UINT64_MAX;
    return NULL;
}

/* Sets the times of the options. Returns NULL, or what is wrong. */
static const char *set_times(const struct tool_filter *filter, const struct tbed_reader *reader,
                             struct tbed_filter_options *options)
{
    const char *problem = set_begin(filter, reader, &options->begin_tick);
    if (problem == NULL)
        problem = set_end(filter, reader, options);
    if (problem == NULL && filter->minimum.kind != FILTER_TIME_NONE)
        options->minimum_ticks = filter_duration_ticks(&filter->minimum, reader, &problem);
    return problem;
}

int tool_filter_open(struct tool_filter *filter, const char *path, struct tbed_reader *reader,
                     struct tool_places *places, unsigned jobs)
{
    struct tbed_filter_options options = {.size = sizeof options, .thread_count = jobs};
    char why[TBED_FILTER_PROBLEM_NBYTES];
    tool_filter_end(filter);
    if (!tool_filter_is_given(filter))
        return -1;
    const char *problem = set_times(filter, reader, &options);
    if (problem != NULL) {
        tool_complain("%s: %s", tool_path(path), problem);
        return TOOL_TROUBLE;
    }
    filter->window = (struct tool_filter_window){options.begin_tick, options.end_tick, options.minimum_ticks};
    int exit = streams_choose(&filter->streams, path, reader);
    if (exit >= 0)
        return exit;
    options.streams = streams_are_asked_for(&filter->streams) ? filter->streams.chosen.numbers : NULL;
    options.stream_count = filter->streams.chosen.count;
    options.names = filter->names.items;
    options.name_count = filter->names.count;
    options.excluded_names = filter->excluded.items;
    options.excluded_name_count = filter->excluded.count;
    options.categories = filter->categories.items;
    options.category_count = filter->categories.count;
    options.inside = filter->inside.items;
    options.inside_count = filter->inside.count;
    filter->path = path;
    options.name = tool_places_name;
    options.name_context = places;
    if (options.name_count + options.excluded_name_count + options.inside_count > 0)
        tool_places_prepare_all(places);
    tool_progress_begin(reader, false); /* the spans of --inside are looked for */
    enum tbed_status status = tbed_filter_make(reader, &options, &filter->filter, why);
    tool_progress_end();
    if (status == TBED_OK)
        return -1;
    tool_complain("%s%s%s", status == TBED_ERR_ARGUMENT ? "" : tool_path(path),
                  status == TBED_ERR_ARGUMENT ? "" : ": ",
                  status == TBED_ERR_ARGUMENT ? why : tbed_status_text(status));
    return TOOL_TROUBLE;
}

/* ---- Closing ---- */

#define CATEGORIES_TOLD_MAX 8

static void list_categories(const struct filter_missed *missed)
{
    struct tool_buffer list = {0};
    for (size_t i = 0; i < missed->there_count && i < CATEGORIES_TOLD_MAX; i++) {
        tool_append(&list, ", ", i > 0 ? 2 : 0);
        tool_append(&list, missed->there[i], strlen(missed->there[i]));
    }
    if (list.nbytes > 0)
        tool_hint("There is: %.*s%s", (int)list.nbytes, list.bytes,
                  missed->there_count > CATEGORIES_TOLD_MAX ? ", …" : "");
    free(list.bytes);
}

void tool_filter_tell_one(const char *path, const struct filter_missed *missed)
{
    const char *nearest = tool_word_nearest(missed->there, missed->there_count, missed->text);
    fflush(stdout);
    tool_complain("%s: %s '%s'%s%s%s", tool_path(path),
                  missed->is_category ? "--category: nothing is of category"
                                      : "--inside: no span has the name",
                  missed->text, nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
                  nearest != NULL ? "'?" : "");
    if (missed->is_category && nearest == NULL)
        list_categories(missed);
}

void tool_filter_tell_missed(const struct tbed_filter *filter, const char *path)
{
    struct filter_missed missed;
    for (size_t i = 0; !tool_output_failed() && tbed_filter_missed_get(filter, i, &missed); i++)
        tool_filter_tell_one(path, &missed);
}

void tool_filter_end(struct tool_filter *filter)
{
    tool_filter_tell_missed(filter->filter, filter->path);
    tbed_filter_close(filter->filter);
    filter->filter = NULL;
}

void tool_filter_close(struct tool_filter *filter)
{
    tool_filter_end(filter);
    streams_free(&filter->streams);
    free(filter->names.items);
    free(filter->excluded.items);
    free(filter->categories.items);
    free(filter->inside.items);
}
