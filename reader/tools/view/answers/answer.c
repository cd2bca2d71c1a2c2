/*
 * What the answers have in common; see answer.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/answers/answer.h"

#include "format/base/utf8.h"
#include "reader/core/names/label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_NBYTES_MAX 200
#define TEXTS_MAX       32 /* of one condition */

/* ---- Traces ---- */

void answer_use_trace(struct answer *answer, struct view_trace *trace)
{
    pthread_rwlock_rdlock(&trace->lock);
    answer->trace = trace;
    tbed_reader_info(trace->reader, &answer->info);
    answer->end_tick = answer->info.last_tick < UINT64_MAX ? answer->info.last_tick + 1 : UINT64_MAX;
    if (answer->end_tick <= answer->info.first_tick)
        answer->end_tick = answer->info.first_tick + 1;
}

void answer_leave_trace(struct answer *answer)
{
    pthread_rwlock_unlock(&answer->trace->lock);
    answer->trace = NULL;
}

/* ---- Failures ---- */

enum answer_status answer_refuse(struct answer *answer, enum answer_status status, const char *why)
{
    snprintf(answer->request->problem, sizeof answer->request->problem, "%s", why);
    return status;
}

enum answer_status answer_fail(struct answer *answer, enum tbed_status status)
{
    answer_refuse(answer, ANSWER_FAILED, tbed_status_text(status));
    return status == TBED_ERR_CANCELLED ? ANSWER_CANCELLED : ANSWER_FAILED;
}

/* ---- Ticks and names ---- */

uint64_t answer_since(const struct answer *answer, uint64_t tick)
{
    return tick > answer->info.first_tick ? tick - answer->info.first_tick : 0;
}

void answer_tick(struct answer *answer, const char *key, uint64_t tick)
{
    tbed_json_u64(&answer->json, key, answer_since(answer, tick));
}

void answer_text(struct answer *answer, const char *key, const char *text, size_t nbytes)
{
    char cut[NAME_NBYTES_MAX + sizeof "…"];
    if (nbytes > NAME_NBYTES_MAX) {
        nbytes = tbed_utf8_cut_nbytes((const uint8_t *)text, NAME_NBYTES_MAX);
        memcpy(cut, text, nbytes);
        memcpy(cut + nbytes, "…", strlen("…"));
        nbytes += strlen("…");
        text = cut;
    }
    tbed_json_text(&answer->json, key, text, nbytes);
}

void answer_name(struct answer *answer, const char *key, uint32_t id)
{
    char name[NAME_NBYTES_MAX + 8]; /* more than is shown */
    if (id == TBED_ID_INVALID) {
        tbed_json_null(&answer->json, key);
        return;
    }
    size_t nbytes = tbed_id_text(answer->trace->reader, id, TBED_NAME_ALL, name, sizeof name);
    answer_text(answer, key, name, nbytes < sizeof name ? nbytes : sizeof name - 1);
}

void answer_unit(struct answer *answer, uint32_t id)
{
    uint32_t unit = tbed_counter_unit(answer->trace->reader, id);
    if (unit != TBED_ID_INVALID)
        answer_name(answer, "unit", unit);
    else
        tbed_json_string(&answer->json, "unit", "");
}

uint32_t answer_note(struct answer *answer, uint32_t id)
{
    uint32_t *noted = id != TBED_ID_INVALID ? TBED_VECTOR_PUSH(&answer->ids) : NULL;
    if (noted != NULL)
        *noted = id;
    else if (id != TBED_ID_INVALID)
        answer->text.is_out_of_memory = true;
    return id;
}

static int compare_ids(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

void answer_names(struct answer *answer)
{
    char key[16];
    uint32_t *ids = answer->ids.items;
    size_t count = 0;
    if (answer->ids.count > 1)
        qsort(ids, answer->ids.count, sizeof *ids, compare_ids);
    for (size_t i = 0; i < answer->ids.count; i++)
        if (i == 0 || ids[i] != ids[count - 1])
            ids[count++] = ids[i];
    if (count > 0)
        tbed_names_prepare(answer->trace->reader, ids, count, false);
    tbed_json_object_open(&answer->json, "names");
    for (size_t i = 0; i < count; i++) {
        snprintf(key, sizeof key, "%u", ids[i]);
        answer_name(answer, key, ids[i]);
    }
    tbed_json_object_close(&answer->json);
}

/* ---- A part of the trace ---- */

struct texts {
    const char *items[TEXTS_MAX];
    size_t count;
};

/*
 * The values of a parameter, or those that were given on the command line if there is none. An empty value stands for
 * nothing, and so for all.
 */
static bool take_texts(struct answer *answer, const char *name, const struct tool_filter_list *usual,
                       struct texts *texts)
{
    const char *text;
    texts->count = 0;
    if (request_text(answer->request, name) == NULL)
        for (size_t i = 0; i < usual->count && i < TEXTS_MAX; i++)
            texts->items[texts->count++] = usual->items[i];
    for (size_t at = 0; (text = request_next(answer->request, name, &at)) != NULL;) {
        if (texts->count == TEXTS_MAX)
            return request_refuse(answer->request, name, "there are too many");
        if (*text != '\0')
            texts->items[texts->count++] = text;
    }
    return true;
}

/* As analyses spell it. */
char *answer_label(struct answer *answer, uint32_t id, size_t *nbytes_ret)
{
    const struct tbed_reader *reader = answer->trace->reader;
    struct tbed_label_strings strings = tbed_label_strings(reader);
    struct tbed_label label = {0};
    struct tbed_location location;
    if (id > TBED_ID_MAX_RESERVED || !tbed_location_resolve(reader, id, &location)) {
        bool is_made = tbed_label_make_row(&strings, id, &label);
        *nbytes_ret = label.nbytes;
        if (!is_made)
            free(label.text);
        return is_made ? label.text : NULL;
    }
    size_t room = tbed_id_text(reader, id, TBED_NAME_ALL, NULL, 0) + 1;
    char *text = malloc(room);
    size_t nbytes = text != NULL ? tbed_id_text(reader, id, TBED_NAME_ALL, text, room) : 0;
    *nbytes_ret = text != NULL ? tool_label_nbytes(text, nbytes < room ? nbytes : room - 1) : 0;
    if (text != NULL)
        text[*nbytes_ret] = '\0';
    return text;
}

char *answer_pattern(const char *label, size_t nbytes, bool is_anywhere)
{
    struct tbed_text pattern = {0};
    if (!is_anywhere)
        tbed_text_puts(&pattern, "^");
    for (size_t i = 0; i < nbytes; i++) {
        if (strchr("\\.[]{}()*+?|^$", label[i]) != NULL)
            tbed_text_puts(&pattern, "\\");
        tbed_text_put(&pattern, &label[i], 1);
    }
    if (!is_anywhere)
        tbed_text_puts(&pattern, "$");
    tbed_text_put(&pattern, "", 1);
    if (pattern.is_out_of_memory)
        free(pattern.bytes);
    return pattern.is_out_of_memory ? NULL : pattern.bytes;
}

/* Takes 'label' or 'id' into the part. */
static bool take_label(struct answer *answer, struct answer_part *part)
{
    const char *label = request_text(answer->request, "label");
    uint64_t id = TBED_ID_INVALID;
    if (!request_number(answer->request, "id", 0, TBED_ID_MAX, &id))
        return false;
    if (label != NULL) {
        part->label = strdup(label);
        part->label_nbytes = strlen(label);
    } else if (id != TBED_ID_INVALID) {
        part->label = answer_label(answer, (uint32_t)id, &part->label_nbytes);
    } else {
        return true;
    }
    part->pattern = part->label != NULL ? answer_pattern(part->label, part->label_nbytes, false) : NULL;
    return part->pattern != NULL || request_refuse(answer->request, "label", "no memory");
}

/* Takes "1,2,3". */
static bool take_streams(struct answer *answer, struct answer_part *part)
{
    const char *text = request_text(answer->request, "streams");
    if (text == NULL)
        return true;
    part->streams = calloc(strlen(text) / 2 + 1, sizeof *part->streams);
    for (const char *at = text; part->streams != NULL && *at != '\0'; at += *at == ',') {
        uint64_t number = 0;
        size_t digits = strspn(at, "0123456789");
        for (size_t i = 0; i < digits && number <= UINT32_MAX; i++)
            number = number * 10 + (uint64_t)(at[i] - '0');
        at += digits;
        if (digits == 0 || number > UINT32_MAX || (*at != '\0' && (*at != ',' || at[1] == '\0')))
            return request_refuse(answer->request, "streams", "expected numbers with commas between them");
        part->streams[part->stream_count++] = (uint32_t)number;
    }
    if (part->stream_count > 1)
        qsort(part->streams, part->stream_count, sizeof *part->streams, compare_ids);
    return part->streams != NULL || request_refuse(answer->request, "streams", "no memory");
}

/* The end of the window; one that does not fit is none. */
static bool take_window(struct answer *answer, struct answer_part *part, const char *begin_name,
                        const char *end_name)
{
    uint64_t begin = 0, end = answer->end_tick - answer->info.first_tick;
    if (!request_number(answer->request, begin_name, 0, UINT64_MAX, &begin) ||
        !request_number(answer->request, end_name, 1, UINT64_MAX, &end))
        return false;
    if (begin >= end && request_text(answer->request, end_name) == NULL)
        end = begin < UINT64_MAX ? begin + 1 : begin;
    if (begin >= end)
        return request_refuse(answer->request, end_name, "it is not above the begin of the window");
    if (__builtin_add_overflow(answer->info.first_tick, begin, &part->begin_tick))
        part->begin_tick = UINT64_MAX - 1;
    if (__builtin_add_overflow(answer->info.first_tick, end, &part->end_tick))
        part->end_tick = UINT64_MAX;
    return true;
}

static bool make_filter(struct answer *answer, struct answer_part *part, struct tbed_filter_options *options,
                        enum answer_status *status_ret)
{
    char problem[TBED_FILTER_PROBLEM_NBYTES];
    options->begin_tick = part->begin_tick;
    options->end_tick = part->end_tick;
    options->streams = part->streams != NULL ? part->streams : answer->trace->streams;
    options->stream_count = part->streams != NULL ? part->stream_count : answer->trace->stream_count;
    options->name = tool_places_name;
    options->name_context = &answer->trace->places;
    options->thread_count = answer->view->jobs;
    if (options->name_count + options->excluded_name_count + options->inside_count > 0)
        view_trace_name_all(answer->trace);
    enum tbed_status status = tbed_filter_make(answer->trace->reader, options, &part->filter, problem);
    if (status == TBED_OK)
        return true;
    *status_ret = status == TBED_ERR_ARGUMENT ? answer_refuse(answer, ANSWER_BAD, problem)
                                              : answer_fail(answer, status);
    return false;
}

/* Takes what a filter has besides time and streams; the texts are kept in 'texts'. */
static bool take_conditions(struct answer *answer, struct answer_part *part, struct texts texts[4],
                            struct tbed_filter_options *options)
{
    const struct tool_filter *usual = &answer->view->filter;
    options->minimum_ticks = answer->trace->window.minimum_ticks;
    if (!take_label(answer, part) || !take_texts(answer, "n", &usual->names, &texts[0]) ||
        !take_texts(answer, "x", &usual->excluded, &texts[1]) ||
        !take_texts(answer, "inside", &usual->inside, &texts[2]) ||
        !take_texts(answer, "category", &usual->categories, &texts[3]) ||
        !request_number(answer->request, "minimum", 0, UINT64_MAX, &options->minimum_ticks))
        return false;
    options->names = part->pattern != NULL ? (const char *const *)&part->pattern : texts[0].items;
    options->name_count = part->pattern != NULL ? 1 : texts[0].count;
    options->excluded_names = texts[1].items;
    options->excluded_name_count = texts[1].count;
    options->inside = texts[2].items;
    options->inside_count = texts[2].count;
    options->categories = texts[3].items;
    options->category_count = texts[3].count;
    return true;
}

static bool take_pattern(const struct answer_part_kind *kind, struct tbed_filter_options *options)
{
    if (kind->pattern != NULL) {
        options->names = &kind->pattern;
        options->name_count = 1;
    }
    return true;
}

bool answer_part_open_as(struct answer *answer, struct answer_part *part, const struct answer_part_kind *kind,
                         enum answer_status *status_ret)
{
    struct texts texts[4];
    struct tbed_filter_options options = {.size = sizeof options};
    *part = (struct answer_part){0};
    *status_ret = ANSWER_BAD;
    return take_window(answer, part, kind->begin_name, kind->end_name) && take_streams(answer, part) &&
           (kind->is_plain || take_conditions(answer, part, texts, &options)) &&
           take_pattern(kind, &options) && make_filter(answer, part, &options, status_ret);
}

bool answer_part_open(struct answer *answer, struct answer_part *part, enum answer_status *status_ret)
{
    return answer_part_open_as(answer, part, &(struct answer_part_kind){"b", "e", false, NULL}, status_ret);
}

bool answer_part_open_plain(struct answer *answer, struct answer_part *part, enum answer_status *status_ret)
{
    return answer_part_open_as(answer, part, &(struct answer_part_kind){"b", "e", true, NULL}, status_ret);
}

void answer_part_close(struct answer_part *part)
{
    tbed_filter_close(part->filter);
    free(part->streams);
    free(part->label);
    free(part->pattern);
}
