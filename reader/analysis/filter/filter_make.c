/*
 * Making a filter; see <tracebed/filter.h>.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/analysis/filter/filter_ids.h"
#include "reader/analysis/filter/filter_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool copy_texts(struct filter_texts *texts, const char *const *given, size_t count)
{
    texts->items = calloc(count + 1, sizeof *texts->items);
    texts->nbytes = calloc(count + 1, sizeof *texts->nbytes);
    texts->found = calloc(count + 1, sizeof *texts->found);
    if (texts->items == NULL || texts->nbytes == NULL || texts->found == NULL)
        return false;
    for (; texts->count < count; texts->count++) {
        texts->items[texts->count] = strdup(given[texts->count]);
        if (texts->items[texts->count] == NULL)
            return false;
        texts->nbytes[texts->count] = strlen(given[texts->count]);
    }
    return true;
}

static void free_texts(struct filter_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    for (size_t i = 0; i < texts->seen_count; i++)
        free(texts->seen[i]);
    free(texts->items);
    free(texts->nbytes);
    free(texts->found);
}

static enum tbed_status compile(struct filter_patterns *patterns, const char *const *given, size_t count,
                                char *problem)
{
    patterns->items = calloc(count + 1, sizeof *patterns->items);
    if (patterns->items == NULL)
        return TBED_ERR_MEMORY;
    for (; patterns->count < count; patterns->count++) {
        regex_t *pattern = &patterns->items[patterns->count];
        char why[96];
        int result = regcomp(pattern, given[patterns->count], REG_EXTENDED | REG_NOSUB);
        if (result == REG_ESPACE)
            return TBED_ERR_MEMORY;
        if (result == 0)
            continue;
        regerror(result, pattern, why, sizeof why);
        if (problem != NULL)
            snprintf(problem, TBED_FILTER_PROBLEM_NBYTES, "invalid regular expression '%.100s': %s",
                     given[patterns->count], why);
        return TBED_ERR_ARGUMENT;
    }
    return TBED_OK;
}

static void free_patterns(struct filter_patterns *patterns)
{
    for (size_t i = 0; i < patterns->count; i++)
        regfree(&patterns->items[i]);
    free(patterns->items);
}

static int compare_streams(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static bool copy_streams(struct tbed_filter *filter, const uint32_t *streams, size_t count)
{
    filter->has_streams = streams != NULL;
    if (!filter->has_streams)
        return true;
    filter->streams = calloc(count + 1, sizeof *filter->streams);
    if (filter->streams == NULL)
        return false;
    if (count > 0)
        memcpy(filter->streams, streams, count * sizeof *streams);
    if (count > 1)
        qsort(filter->streams, count, sizeof *streams, compare_streams);
    filter->stream_count = count;
    filter->asks_for_off_cpu = count > 0;
    for (size_t i = 0; i < count; i++)
        filter->asks_for_off_cpu &= tbed_filter_is_off_cpu(filter->reader, streams[i]);
    return true;
}

/* The spans of 'inside' are found first, while the filter has no conditions that they need not meet themselves. */
static enum tbed_status fill(struct tbed_filter *filter, const struct tbed_filter_options *options,
                             char *problem)
{
    enum tbed_status status = TBED_OK;
    if (!tbed_filter_ids_open(filter) || !copy_streams(filter, options->streams, options->stream_count) ||
        !copy_texts(&filter->inside, options->inside, options->inside_count))
        return TBED_ERR_MEMORY;
    if (filter->inside.count > 0)
        status = tbed_filter_find_inside(filter, options->thread_count);
    filter->minimum = options->minimum_ticks;
    if (status == TBED_OK && !copy_texts(&filter->categories, options->categories, options->category_count))
        status = TBED_ERR_MEMORY;
    if (status == TBED_OK)
        status = compile(&filter->names, options->names, options->name_count, problem);
    if (status == TBED_OK)
        status = compile(&filter->excluded, options->excluded_names, options->excluded_name_count, problem);
    return status;
}

enum tbed_status tbed_filter_make(struct tbed_reader *reader, const struct tbed_filter_options *given,
                                  struct tbed_filter **filter_ret, char problem[TBED_FILTER_PROBLEM_NBYTES])
{
    struct tbed_filter_options options;
    if (problem != NULL)
        problem[0] = '\0';
    if (!tbed_options_take(&options, sizeof options, given))
        return TBED_ERR_ARGUMENT;
    struct tbed_filter *filter = calloc(1, sizeof *filter);
    if (filter == NULL)
        return TBED_ERR_MEMORY;
    filter->reader = reader;
    filter->begin = options.begin_tick;
    filter->has_end = options.end_tick != 0;
    filter->end = options.end_tick;
    filter->name = options.name;
    filter->name_context = options.name_context;
    pthread_mutex_init(&filter->lock, NULL);
    enum tbed_status status = fill(filter, &options, problem);
    if (status == TBED_OK)
        *filter_ret = filter;
    else
        tbed_filter_close(filter);
    return status;
}

void tbed_filter_close(struct tbed_filter *filter)
{
    if (filter == NULL)
        return;
    free_patterns(&filter->names);
    free_patterns(&filter->excluded);
    free_texts(&filter->categories);
    free_texts(&filter->inside);
    tbed_filter_free_inside(filter);
    tbed_filter_ids_close(filter);
    free(filter->streams);
    pthread_mutex_destroy(&filter->lock);
    free(filter);
}
