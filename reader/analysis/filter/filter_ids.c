/*
 * What a filter knows of ids: two bits for each question, the first of which says that it has been answered, in leaves
 * that are made when an id in them is first asked about.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/filter/filter_ids.h"
#include "reader/analysis/filter/filter.h"
#include "reader/analysis/filter/filter_missed.h"

#include "reader/core/names/id_info.h"
#include "reader/core/names/label.h"

#include <stdlib.h>
#include <string.h>

#define LEAF_BITS  14
#define LEAF_COUNT ((TBED_ID_MAX >> LEAF_BITS) + 1)
#define SEPARATOR  '\x1E'

bool tbed_filter_ids_open(struct tbed_filter *filter)
{
    filter->leaves = calloc(LEAF_COUNT, sizeof *filter->leaves); /* only touched pages take memory */
    return filter->leaves != NULL;
}

void tbed_filter_ids_close(struct tbed_filter *filter)
{
    for (size_t i = 0; filter->leaves != NULL && i < LEAF_COUNT; i++)
        if (filter->leaves[i] != NULL) /* few are; a sanitized free() takes its time for NULL, too */
            free(filter->leaves[i]);
    free(filter->leaves);
}

/* ---- Texts ---- */

/* The name of a place in code, as the caller supplies it, up to the first U+001E. */
static bool name_place(const struct tbed_filter *filter, uint32_t id, struct tbed_label *label)
{
    size_t room = 256, nbytes;
    for (;; room = nbytes + 1) {
        char *text = realloc(label->text, room);
        if (text == NULL)
            return false;
        label->text = text;
        nbytes = filter->name != NULL ? filter->name(filter->name_context, id, text, room)
                                      : tbed_id_spell(filter->reader, id, TBED_NAME_ALL, text, room);
        if (nbytes == TBED_NO_MEMORY)
            return false;
        if (nbytes < room)
            break;
    }
    const char *separator = memchr(label->text, SEPARATOR, nbytes);
    label->nbytes = separator != NULL ? (size_t)(separator - label->text) : nbytes;
    label->text[label->nbytes] = '\0';
    return true;
}

static bool is_place(const struct tbed_filter *filter, uint32_t id)
{
    struct tbed_location location;
    return id <= TBED_ID_MAX_RESERVED && tbed_location_resolve(filter->reader, id, &location);
}

/* The label that a report shows. False: no memory. */
static bool label_make(const struct tbed_filter *filter, uint32_t id, struct tbed_label *label)
{
    struct tbed_label_strings strings = tbed_label_strings(filter->reader);
    if (is_place(filter, id))
        return name_place(filter, id, label);
    return tbed_label_make_row(&strings, id, label);
}

static bool has_match(const struct filter_patterns *patterns, const char *text)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (regexec(&patterns->items[i], text, 0, NULL, 0) == 0)
            return true;
    return false;
}

/* The function of a place in code: "parse(int)" of "parse(int) /src/parse.cpp:5" or "libfoo.so!parse(int)". */
static struct tbed_name function_of(const struct tbed_label *place)
{
    const char *start = place->text, *end = start + place->nbytes;
    const char *module_end = memchr(start, '!', place->nbytes);
    start = module_end != NULL ? module_end + 1 : start;
    const char *line = end;
    while (module_end == NULL && line > start && line[-1] != ' ')
        line--;
    bool has_line = module_end == NULL && line > start;
    return (struct tbed_name){.text = start, .nbytes = (size_t)((has_line ? line - 1 : end) - start)};
}

/* The arguments may be left out. */
static bool is_function(const char *text, size_t nbytes, const struct tbed_name *function)
{
    if (nbytes == 0 || nbytes > function->nbytes || memcmp(function->text, text, nbytes) != 0)
        return false;
    return nbytes == function->nbytes || function->text[nbytes] == '(';
}

static bool has_text(struct filter_texts *texts, const struct tbed_label *label, bool is_place)
{
    struct tbed_name name = {.text = label->text, .nbytes = label->nbytes};
    bool result = false;
    if (is_place)
        name = function_of(label);
    tbed_filter_see(texts, name.text, name.nbytes);
    for (size_t i = 0; i < texts->count; i++) {
        size_t nbytes = texts->nbytes[i];
        if ((nbytes == label->nbytes && memcmp(texts->items[i], label->text, nbytes) == 0) ||
            (is_place && is_function(texts->items[i], nbytes, &name)))
            texts->found[i] = result = true;
    }
    return result;
}

static bool answer(struct tbed_filter *filter, enum filter_question question, uint32_t id,
                   const struct tbed_label *label)
{
    switch (question) {
    case FILTER_NAME:
        return (filter->names.count == 0 || has_match(&filter->names, label->text)) &&
               !has_match(&filter->excluded, label->text);
    case FILTER_CATEGORY:
        return has_text(&filter->categories, label, false);
    default:
        return has_text(&filter->inside, label, is_place(filter, id));
    }
}

/* ---- Answers ---- */

/* The answers for an id; NULL: no memory. The lock is held. */
static uint8_t *answers_of(struct tbed_filter *filter, uint32_t id)
{
    uint8_t **leaf = &filter->leaves[id >> LEAF_BITS];
    if (*leaf == NULL)
        __atomic_store_n(leaf, calloc((size_t)1 << LEAF_BITS, 1), __ATOMIC_RELEASE);
    return *leaf != NULL ? &(*leaf)[id % (1u << LEAF_BITS)] : NULL;
}

static bool ask_slowly(struct tbed_filter *filter, enum filter_question question, uint32_t id)
{
    struct tbed_label label = {0};
    bool result = false;
    pthread_mutex_lock(&filter->lock);
    uint8_t *answers = answers_of(filter, id);
    if (answers != NULL && label_make(filter, id, &label)) {
        result = answer(filter, question, id, &label);
        unsigned bits = (1u | (unsigned)result << 1) << 2 * question;
        __atomic_fetch_or(answers, (uint8_t)bits, __ATOMIC_RELAXED);
    } else {
        __atomic_store_n(&filter->is_out_of_memory, true, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&filter->lock);
    free(label.text);
    return result;
}

bool tbed_filter_ask(const struct tbed_filter *filter, enum filter_question question, uint32_t id)
{
    id &= TBED_ID_MAX;
    const uint8_t *leaf = __atomic_load_n(&filter->leaves[id >> LEAF_BITS], __ATOMIC_ACQUIRE);
    unsigned answers = leaf != NULL ? __atomic_load_n(&leaf[id % (1u << LEAF_BITS)], __ATOMIC_RELAXED) : 0;
    answers >>= 2 * question;
    if (answers & 1)
        return (answers & 2) != 0;
    return ask_slowly((struct tbed_filter *)filter, question, id);
}
