/*
 * search: spans and instants by name, messages by text, and events by their arguments.
 *
 * Spans are found by all threads; everything else in one walk in order of time, which ends after some seconds.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/view/answers/answers.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tracebed/calls.h>

#define HITS_MAX       10000
#define HITS_USUAL     2000
#define TEXT_NBYTES    2048 /* of a message, or of arguments, that is searched */
#define SHOWN_NBYTES   160  /* of it that is shown */
#define WALK_NS_MAX    2000000000
#define EVENTS_BETWEEN 4096 /* looks at the clock */

struct hit {
    uint64_t begin_tick, end_tick;
    uint32_t stream, id;
    const char *kind;
    char text[SHOWN_NBYTES + 1];
};

struct search {
    struct answer *answer;
    regex_t pattern;
    char *pattern_text;
    bool in_names, in_messages, in_arguments;
    uint64_t most;
    TBED_VECTOR(struct hit) hits;
    uint64_t total;
    bool is_complete;
    struct answer_part part;
};

/* ---- Parameters ---- */

static bool take_places(struct search *search)
{
    const char *text = request_text(search->answer->request, "in");
    if (text == NULL) {
        search->in_names = search->in_messages = true;
        return true;
    }
    for (size_t nbytes; *text != '\0'; text += nbytes + (text[nbytes] == ',')) {
        nbytes = strcspn(text, ",");
        if (nbytes == 5 && memcmp(text, "names", 5) == 0)
            search->in_names = true;
        else if (nbytes == 8 && memcmp(text, "messages", 8) == 0)
            search->in_messages = true;
        else if (nbytes == 9 && memcmp(text, "arguments", 9) == 0)
            search->in_arguments = true;
        else
            return request_refuse(search->answer->request, "in", "expected names, messages or arguments");
    }
    return true;
}

static bool take_pattern(struct search *search)
{
    struct request *request = search->answer->request;
    const char *text = request_text(request, "q");
    size_t is_regex = 0;
    char why[96], what[128];
    if (text == NULL || *text == '\0')
        return request_refuse(request, "q", "it is missing");
    if (!request_word(request, "regex", "0 1", &is_regex))
        return false;
    search->pattern_text = is_regex ? strdup(text) : answer_pattern(text, strlen(text), true);
    int problem = search->pattern_text != NULL
                      ? regcomp(&search->pattern, search->pattern_text, REG_EXTENDED | REG_NOSUB)
                      : REG_ESPACE;
    if (problem == 0)
        return true;
    regerror(problem, NULL, why, sizeof why);
    snprintf(what, sizeof what, "invalid regular expression: %s", why);
    free(search->pattern_text);
    search->pattern_text = NULL;
    return request_refuse(request, "q", what);
}

static bool take(struct search *search)
{
    search->most = HITS_USUAL;
    return take_places(search) &&
           request_number(search->answer->request, "max", 1, HITS_MAX, &search->most) && take_pattern(search);
}

/* ---- Spans ---- */

static bool add_hit(struct search *search, const struct hit *hit)
{
    struct hit *added = TBED_VECTOR_PUSH(&search->hits);
    if (added != NULL)
        *added = *hit;
    return added != NULL;
}

static enum tbed_status find_spans(struct search *search)
{
    struct tbed_calls_options options = {.size = sizeof options,
                                         .thread_count = search->answer->view->jobs,
                                         .filter = search->part.filter,
                                         .order = TBED_CALLS_AFTER,
                                         .tick = search->part.begin_tick};
    struct tbed_call *calls = calloc(search->most + 1, sizeof *calls);
    size_t found = 0;
    enum tbed_status status = calls == NULL ? TBED_ERR_MEMORY
                                            : tbed_calls_find(search->answer->trace->reader, &options, calls,
                                                              search->most, &found, &search->total);
    for (size_t i = 0; status == TBED_OK && i < found; i++)
        if (!add_hit(search, &(struct hit){.begin_tick = calls[i].begin_tick,
                                           .end_tick = calls[i].end_tick,
                                           .stream = calls[i].stream,
                                           .id = calls[i].id,
                                           .kind = "span"}))
            status = TBED_ERR_MEMORY;
    free(calls);
    return status;
}

/* ---- Events ---- */

static bool matches(const struct search *search, const char *text)
{
    return regexec(&search->pattern, text, 0, NULL, 0) == 0;
}

/* Nobody types the backslashes before the quotation marks and backslashes of a text in quotation marks. */
static bool matches_quoted(const struct search *search, const char *text)
{
    char plain[TEXT_NBYTES], *end = plain;
    for (; *text != '\0'; text++) {
        text += *text == '\\' && (text[1] == '"' || text[1] == '\\');
        *end++ = *text;
    }
    *end = '\0';
    return matches(search, plain);
}

/* The kind of hit that an event is, with its text in 'text'; NULL: it is none. */
static const char *match_event(const struct search *search, const struct tbed_event *event,
                               char text[TEXT_NBYTES])
{
    struct tbed_reader *reader = search->answer->trace->reader;
    text[0] = '\0';
    if (event->type == TBED_EVENT_MESSAGE && search->in_messages) {
        tbed_message_text(reader, event, TBED_MESSAGE_ALL, text, TEXT_NBYTES);
        if (matches(search, text))
            return "message";
    }
    if (event->type == TBED_EVENT_INSTANT && search->in_names) {
        tbed_id_text(reader, event->id, TBED_NAME_ALL, text, TEXT_NBYTES);
        if (matches(search, text))
            return "instant";
    }
    if (event->argument_count == 0 || !search->in_arguments)
        return NULL;
    tbed_arguments_text(reader, &event->arguments, event->argument_count, text, TEXT_NBYTES);
    if (!matches_quoted(search, text))
        return NULL;
    return event->type == TBED_EVENT_BEGIN || event->type == TBED_EVENT_SPAN ? "span" : "event";
}

static bool take_event(struct search *search, const struct tbed_event *event)
{
    char text[TEXT_NBYTES];
    struct hit hit = {
        .begin_tick = event->tick, .end_tick = event->tick, .stream = event->stream, .id = event->id};
    if (event->tick < search->part.begin_tick || event->tick >= search->part.end_tick)
        return true;
    hit.kind = match_event(search, event, text);
    if (hit.kind == NULL)
        return true;
    if (event->type == TBED_EVENT_SPAN)
        hit.begin_tick = event->of.span.begin_tick;
    search->total++;
    snprintf(hit.text, sizeof hit.text, "%.*s", SHOWN_NBYTES, text);
    return search->hits.count >= 2 * search->most || add_hit(search, &hit);
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Walks in order of time, so that the first hits are found if there are too many, or if it takes too long. */
static enum tbed_status find_events(struct search *search)
{
    const struct view_trace *trace = search->answer->trace;
    const struct answer_part *part = &search->part;
    struct tbed_merge *merge;
    struct tbed_event event;
    uint64_t begin_ns = clock_ns(), count = 0;
    const uint32_t *streams = part->streams != NULL ? part->streams : trace->streams;
    size_t stream_count = part->streams != NULL ? part->stream_count : trace->stream_count;
    if (streams != NULL && stream_count == 0)
        return TBED_OK;
    enum tbed_status status = tbed_merge_open(trace->reader, streams, stream_count, &merge);
    if (status != TBED_OK)
        return status;
    tbed_merge_limit(merge, part->begin_tick, part->end_tick - 1);
    while (search->is_complete && (status = tbed_merge_next(merge, &event)) == TBED_OK) {
        if (!take_event(search, &event))
            break;
        if (++count % EVENTS_BETWEEN == 0)
            search->is_complete = clock_ns() - begin_ns < WALK_NS_MAX &&
                                  !__atomic_load_n(&search->answer->view->is_ending, __ATOMIC_RELAXED);
    }
    tbed_merge_close(merge);
    return status == TBED_END || !search->is_complete ? TBED_OK : TBED_ERR_MEMORY;
}

/* ---- The result ---- */

static int compare_hits(const void *left, const void *right)
{
    const struct hit *a = left, *b = right;
    if (a->begin_tick != b->begin_tick)
        return a->begin_tick < b->begin_tick ? -1 : 1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    return a->end_tick > b->end_tick ? -1 : a->end_tick < b->end_tick;
}

static void put_hit(struct answer *answer, const struct hit *hit)
{
    struct tbed_json *json = &answer->json;
    tbed_json_object_open(json, NULL);
    tbed_json_string(json, "kind", hit->kind);
    tbed_json_u64(json, "s", hit->stream);
    answer_tick(answer, "b", hit->begin_tick);
    answer_tick(answer, "e", hit->end_tick);
    tbed_json_null(json, "depth");
    if (hit->id != TBED_ID_INVALID)
        tbed_json_u64(json, "id", answer_note(answer, hit->id));
    else
        tbed_json_i64(json, "id", -1);
    tbed_json_string(json, "text", hit->text);
    tbed_json_object_close(json);
}

static void put(struct search *search)
{
    struct answer *answer = search->answer;
    if (search->hits.count > 1)
        qsort(search->hits.items, search->hits.count, sizeof *search->hits.items, compare_hits);
    tbed_json_object_open(&answer->json, NULL);
    tbed_json_array_open(&answer->json, "hits");
    for (size_t i = 0; i < search->hits.count && i < search->most; i++)
        put_hit(answer, &search->hits.items[i]);
    tbed_json_array_close(&answer->json);
    tbed_json_u64(&answer->json, "total", search->total);
    tbed_json_bool(&answer->json, "complete", search->is_complete);
    answer_names(answer);
    tbed_json_object_close(&answer->json);
}

enum answer_status answer_search(struct answer *answer)
{
    struct search search = {.answer = answer, .is_complete = true};
    enum answer_status answer_status;
    if (!take(&search))
        return ANSWER_BAD;
    struct answer_part_kind kind = {"b", "e", true, search.in_names ? search.pattern_text : NULL};
    if (answer_part_open_as(answer, &search.part, &kind, &answer_status)) {
        enum tbed_status status = search.in_names ? find_spans(&search) : TBED_OK;
        if (status == TBED_OK)
            status = find_events(&search);
        answer_status = status == TBED_OK ? ANSWER_OK : answer_fail(answer, status);
    }
    if (answer_status == ANSWER_OK)
        put(&search);
    answer_part_close(&search.part);
    tbed_vector_free(&search.hits.vector);
    regfree(&search.pattern);
    free(search.pattern_text);
    return answer_status;
}
