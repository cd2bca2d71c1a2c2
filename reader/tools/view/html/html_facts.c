/*
 * What a page has of a trace besides spans: the server's answers about all of the time, events, and names.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/html/html.h"

#include "reader/tools/view/answers/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TARGET_NBYTES     128
#define WHOLE_NAME_NBYTES 65536
#define NAME_NBYTES       200 /* that answer_name() writes */

/* ---- The trace ---- */

/* Takes a part of the time, in ticks since the first one. */
static enum tbed_status open_part(struct html_trace *trace, uint64_t begin, uint64_t end)
{
    char target[TARGET_NBYTES];
    enum answer_status status;
    snprintf(target, sizeof target, "window?b=%llu&e=%llu", (unsigned long long)begin,
             (unsigned long long)(end > begin ? end : begin + 1));
    if (!request_parse(&trace->request, target))
        return TBED_ERR_ARGUMENT;
    if (answer_part_open(&trace->answer, &trace->part, &status))
        return TBED_OK;
    return status == ANSWER_BAD ? TBED_ERR_ARGUMENT : TBED_ERR_MEMORY;
}

bool html_trace_open(struct html_trace *trace, struct view *view, size_t number, const char **why_ret)
{
    struct view_trace *of = &view->traces[number];
    *trace = (struct html_trace){.number = number};
    trace->answer.view = view;
    trace->answer.request = &trace->request;
    answer_use_trace(&trace->answer, of);
    uint64_t end = of->has_window && of->window.end_tick != 0 ? of->window.end_tick : trace->answer.end_tick;
    uint64_t begin = answer_since(&trace->answer, of->window.begin_tick);
    enum tbed_status status = open_part(trace, of->has_window ? begin : 0, answer_since(&trace->answer, end));
    *why_ret = trace->request.problem[0] != '\0' ? trace->request.problem : tbed_status_text(status);
    return status == TBED_OK;
}

void html_trace_close(struct html_trace *trace)
{
    answer_part_close(&trace->part);
    tbed_vector_free(&trace->ids.vector);
    tbed_vector_free(&trace->categories.vector);
    tbed_vector_free(&trace->answer.ids.vector);
    answer_leave_trace(&trace->answer);
}

void html_trace_note(struct html_trace *trace, uint32_t id)
{
    size_t count = trace->ids.count;
    if (id == TBED_ID_INVALID || (count > 0 && trace->ids.items[count - 1] == id))
        return;
    uint32_t *noted = TBED_VECTOR_PUSH(&trace->ids);
    if (noted != NULL)
        *noted = id;
    else
        trace->answer.text.is_out_of_memory = true;
}

/* ---- Answers ---- */

/* Appends '"KEY":ANSWER,', or null for an answer that there is none of. */
static void put_answer(const struct html_trace *trace, struct tbed_text *to, const char *key,
                       const char *target)
{
    struct view_response response;
    view_respond(trace->answer.view, target, &response);
    size_t nbytes = response.status == ANSWER_OK ? response.text.nbytes : 0;
    while (nbytes > 0 && response.text.bytes[nbytes - 1] == '\n')
        nbytes--;
    tbed_json_quote(to, key, strlen(key));
    tbed_text_puts(to, ":");
    if (nbytes > 0)
        tbed_text_put(to, response.text.bytes, nbytes);
    else
        tbed_text_puts(to, "null");
    tbed_text_puts(to, ",");
    free(response.text.bytes);
}

/* The same for a part of the trace: 'more' are parameters. */
static void put_part_answer(const struct html_trace *trace, struct tbed_text *to, const char *key,
                            const char *path, const char *more)
{
    char target[TARGET_NBYTES];
    snprintf(target, sizeof target, "%s?f=%zu&b=%llu&e=%llu%s", path, trace->number,
             (unsigned long long)answer_since(&trace->answer, trace->part.begin_tick),
             (unsigned long long)answer_since(&trace->answer, trace->part.end_tick), more);
    put_answer(trace, to, key, target);
}

static void put_memory(const struct html_trace *trace, struct tbed_text *to)
{
    static const char *const by[] = {"site", "stack", "function"}, *const of[] = {"peak", "live", "leaks"};
    char key[48], more[48];
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 3; k++) {
            snprintf(key, sizeof key, "memory by %s of %s", by[i], of[k]);
            snprintf(more, sizeof more, "&by=%s&of=%s", by[i], of[k]);
            put_part_answer(trace, to, key, "memory", more);
        }
        snprintf(key, sizeof key, "memory_flame of %s", of[i]);
        snprintf(more, sizeof more, "&of=%s", of[i]);
        put_part_answer(trace, to, key, "memory_flame", more);
    }
}

static void put_list(struct tbed_text *to, const char *key, const struct html_list *list)
{
    char head[96];
    snprintf(head, sizeof head, "\"%s\":{\"count\":%llu,\"items\":", key, (unsigned long long)list->count);
    tbed_text_puts(to, head);
    tbed_text_puts(to, list->is_cut ? "null" : "[");
    tbed_text_put(to, list->text.bytes, list->text.nbytes);
    tbed_text_puts(to, list->is_cut ? "}," : "]},");
}

static void put_events(const struct html_trace *trace, const struct html_events *events, struct tbed_text *to)
{
    char target[TARGET_NBYTES], key[48];
    bool is_all = !events->is_too_large;
    if (is_all) {
        put_list(to, "marks", &events->marks);
        put_list(to, "counters", &events->counters);
        put_list(to, "arguments", &events->arguments);
    }
    if (!is_all || events->marks.is_cut)
        put_part_answer(trace, to, "joined marks", "marks", "&w=8192");
    put_part_answer(trace, to, "joined plots", "plots", "&w=8192");
    for (size_t i = 0; i < events->flow_count; i++) {
        snprintf(key, sizeof key, "critical of %u", events->flows[i]);
        snprintf(target, sizeof target, "critical?f=%zu&id=%u", trace->number, events->flows[i]);
        put_answer(trace, to, key, target);
    }
}

void html_facts_put(struct html_trace *trace, const struct html_events *events, struct tbed_text *to)
{
    char text[128];
    const struct tool_filter *filter = &trace->answer.view->filter;
    bool is_filtered = streams_are_asked_for(&filter->streams) || tool_filter_asks_for_labels(filter) ||
                       filter->inside.count > 0;
    snprintf(text, sizeof text, "{\"filtered\":%s,\"b\":%llu,\"e\":%llu,", is_filtered ? "true" : "false",
             (unsigned long long)answer_since(&trace->answer, trace->part.begin_tick),
             (unsigned long long)answer_since(&trace->answer, trace->part.end_tick));
    tbed_text_puts(to, text);
    put_part_answer(trace, to, "table", "table", "");
    put_part_answer(trace, to, "flame", "flame", "");
    put_part_answer(trace, to, "gaps", "gaps", "");
    put_part_answer(trace, to, "flows", "flows", "&max=10000");
    put_part_answer(trace, to, "histograms", "histograms", "");
    if (trace->answer.trace->facts.has_allocations)
        put_memory(trace, to);
    put_events(trace, events, to);
    tbed_text_puts(to, "\"version\":1}");
}

/* ---- Names ---- */

/* Of ids, and of what begins with one. */
static int compare_ids(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* The whole name, if it is longer than others are shown. */
static void put_whole(struct html_trace *trace, uint32_t id)
{
    struct tbed_reader *reader = trace->answer.trace->reader;
    size_t nbytes = tbed_id_text(reader, id, TBED_NAME_ALL, NULL, 0);
    char *text = nbytes > NAME_NBYTES ? malloc(WHOLE_NAME_NBYTES) : NULL;
    if (text == NULL)
        return;
    tbed_id_text(reader, id, TBED_NAME_ALL, text, WHOLE_NAME_NBYTES);
    tbed_json_text(&trace->answer.json, "whole", text,
                   nbytes < WHOLE_NAME_NBYTES ? nbytes : WHOLE_NAME_NBYTES - 1);
    if (nbytes >= WHOLE_NAME_NBYTES)
        tbed_json_u64(&trace->answer.json, "nbytes", nbytes);
    free(text);
}

static void put_category(struct html_trace *trace, uint32_t id)
{
    struct html_category *found =
        trace->categories.count > 0
            ? bsearch(&id, trace->categories.items, trace->categories.count, sizeof *found, compare_ids)
            : NULL;
    if (found != NULL)
        answer_name(&trace->answer, "category", found->category);
}

void html_names_put(struct html_trace *trace, struct tbed_text *to)
{
    struct tbed_id_info info;
    uint32_t *ids = trace->ids.items;
    char key[16];
    if (trace->ids.count > 1)
        qsort(ids, trace->ids.count, sizeof *ids, compare_ids);
    if (trace->ids.count > 0)
        tbed_names_prepare(trace->answer.trace->reader, ids, trace->ids.count, false);
    trace->answer.json = (struct tbed_json){.text = to};
    tbed_json_object_open(&trace->answer.json, NULL);
    for (size_t i = 0; i < trace->ids.count; i++) {
        if (i > 0 && ids[i] == ids[i - 1])
            continue;
        snprintf(key, sizeof key, "%u", ids[i]);
        tbed_json_object_open(&trace->answer.json, key);
        answer_name(&trace->answer, "name", ids[i]);
        put_whole(trace, ids[i]);
        put_category(trace, ids[i]);
        if (tbed_id_resolve(trace->answer.trace->reader, ids[i], &info) &&
            (info.function != NULL || info.file != NULL || info.module != NULL))
            answer_place(&trace->answer, ids[i]);
        tbed_json_object_close(&trace->answer.json);
    }
    tbed_json_object_close(&trace->answer.json);
}
