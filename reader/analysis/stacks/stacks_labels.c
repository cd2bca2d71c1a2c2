/*
 * Labels: the names of the spans of a path.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/stacks/stacks_parts.h"

#include "reader/core/names/id_info.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_COUNT_MAX (STACK_LABEL_PLACE - 1)

static uint64_t mix(uint64_t value)
{
    value *= 0x9E3779B97F4A7C15u;
    return value ^ value >> 32;
}

static uint64_t text_hash(const char *text, size_t nbytes)
{
    uint64_t hash = nbytes;
    for (size_t i = 0; i < nbytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, text + i, nbytes - i < 8 ? nbytes - i : 8);
        hash = mix(hash ^ word);
    }
    return hash;
}

/* ---- Numbers by id ---- */

static struct stack_id *find_id(const struct stack_ids *ids, uint32_t id)
{
    size_t slot = mix(id) & (ids->slot_count - 1);
    while (ids->slots[slot].label != 0 && ids->slots[slot].id != id)
        slot = (slot + 1) & (ids->slot_count - 1);
    return &ids->slots[slot];
}

static bool grow_ids(struct stack_ids *ids)
{
    struct stack_ids old = *ids;
    if (ids->slot_count > 0 && ids->count * 2 < ids->slot_count)
        return true;
    ids->slot_count = old.slot_count > 0 ? old.slot_count * 2 : 1024;
    ids->slots = calloc(ids->slot_count, sizeof *ids->slots);
    if (ids->slots == NULL) {
        *ids = old;
        return false;
    }
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].label != 0)
            *find_id(ids, old.slots[i].id) = old.slots[i];
    free(old.slots);
    return true;
}

/* ---- Texts by number ---- */

enum tbed_status tbed_stack_labels_open(struct stack_labels *labels, const struct tbed_reader *reader,
                                        const struct tbed_stacks_options *options)
{
    memset(labels, 0, sizeof *labels);
    labels->reader = reader;
    labels->strings = tbed_label_strings(reader);
    labels->name = options->name;
    labels->prepare = options->prepare;
    labels->name_context = options->name_context;
    labels->slot_count = 256;
    labels->slots = calloc(labels->slot_count, sizeof *labels->slots);
    if (labels->slots == NULL)
        return TBED_ERR_MEMORY;
    pthread_mutex_init(&labels->lock, NULL);
    return TBED_OK;
}

void tbed_stack_labels_close(struct stack_labels *labels)
{
    if (labels->slots == NULL)
        return;
    pthread_mutex_destroy(&labels->lock);
    for (size_t i = 0; i < labels->count; i++)
        free(labels->items[i].text);
    free(labels->items);
    free(labels->slots);
    free(labels->places);
    free(labels->place_ids.slots);
}

static uint32_t *find_text(const struct stack_labels *labels, const char *text, size_t nbytes)
{
    size_t slot = text_hash(text, nbytes) & (labels->slot_count - 1);
    for (; labels->slots[slot] != 0; slot = (slot + 1) & (labels->slot_count - 1)) {
        const struct stack_label *label = &labels->items[labels->slots[slot] - 1];
        if (label->nbytes == nbytes && memcmp(label->text, text, nbytes) == 0)
            break;
    }
    return &labels->slots[slot];
}

static bool grow_texts(struct stack_labels *labels)
{
    if (labels->count == labels->room) {
        size_t room = labels->room * 2 + 64;
        struct stack_label *items = realloc(labels->items, room * sizeof *items);
        if (items == NULL)
            return false;
        labels->items = items;
        labels->room = room;
    }
    if (labels->count * 2 < labels->slot_count)
        return true;
    uint32_t *slots = calloc(labels->slot_count * 2, sizeof *slots);
    if (slots == NULL)
        return false;
    free(labels->slots);
    labels->slots = slots;
    labels->slot_count *= 2;
    for (size_t i = 0; i < labels->count; i++)
        *find_text(labels, labels->items[i].text, labels->items[i].nbytes) = (uint32_t)i + 1;
    return true;
}

static enum tbed_status intern_locked(struct stack_labels *labels, const char *text, size_t nbytes,
                                      uint32_t *label_ret)
{
    uint32_t *slot = find_text(labels, text, nbytes);
    if (*slot == 0) {
        bool has_room = labels->count < LABEL_COUNT_MAX && nbytes <= TBED_LABELS_NBYTES_MAX - labels->nbytes;
        char *copy = has_room && grow_texts(labels) ? malloc(nbytes + 1) : NULL;
        if (copy == NULL)
            return TBED_ERR_MEMORY;
        memcpy(copy, text, nbytes);
        copy[nbytes] = '\0';
        slot = find_text(labels, text, nbytes); /* the slots may have moved */
        labels->items[labels->count++] = (struct stack_label){copy, nbytes, STACK_LABEL_NO_ID};
        labels->nbytes += nbytes;
        *slot = (uint32_t)labels->count;
    }
    *label_ret = *slot - 1;
    return TBED_OK;
}

enum tbed_status tbed_stack_label_intern(struct stack_labels *labels, const char *text, size_t nbytes,
                                         uint32_t *label_ret)
{
    pthread_mutex_lock(&labels->lock);
    enum tbed_status status = intern_locked(labels, text, nbytes, label_ret);
    pthread_mutex_unlock(&labels->lock);
    return status;
}

/* The same for the text of 'id'. A label has the lowest of its ids, regardless of which worker met it first. */
static enum tbed_status intern_of_id(struct stack_labels *labels, uint32_t id, const char *text,
                                     size_t nbytes, uint32_t *label_ret)
{
    pthread_mutex_lock(&labels->lock);
    enum tbed_status status = intern_locked(labels, text, nbytes, label_ret);
    struct stack_label *label = status == TBED_OK ? &labels->items[*label_ret] : NULL;
    if (label != NULL && id < label->id)
        label->id = id;
    pthread_mutex_unlock(&labels->lock);
    return status;
}

/* ---- Code locations: named together at the end ---- */

static enum tbed_status number_place(struct stack_labels *labels, uint32_t id, uint32_t *label_ret)
{
    if (!grow_ids(&labels->place_ids))
        return TBED_ERR_MEMORY;
    struct stack_id *found = find_id(&labels->place_ids, id);
    if (found->label == 0) {
        if (labels->place_count == labels->place_room) {
            size_t room = labels->place_room * 2 + 64;
            uint32_t *places = realloc(labels->places, room * sizeof *places);
            if (places == NULL)
                return TBED_ERR_MEMORY;
            labels->places = places;
            labels->place_room = room;
        }
        labels->places[labels->place_count++] = id;
        *found = (struct stack_id){id, (uint32_t)labels->place_count};
        labels->place_ids.count++;
    }
    *label_ret = (found->label - 1) | STACK_LABEL_PLACE;
    return TBED_OK;
}

/* False: it is not a code location. */
static bool find_place(struct stack_labels *labels, uint32_t id, uint32_t *label_ret,
                       enum tbed_status *status_ret)
{
    struct tbed_location location;
    if (id > TBED_ID_MAX_RESERVED || !tbed_location_resolve(labels->reader, id, &location))
        return false;
    pthread_mutex_lock(&labels->lock);
    *status_ret = number_place(labels, id, label_ret);
    pthread_mutex_unlock(&labels->lock);
    return true;
}

enum tbed_status tbed_stack_labels_name(struct stack_labels *labels)
{
    enum tbed_status status = TBED_OK;
    char text[4096];
    if (labels->prepare != NULL && labels->place_count > 0)
        labels->prepare(labels->name_context, labels->places, labels->place_count);
    else if (labels->name == NULL)
        tbed_names_prepare(labels->reader, labels->places, labels->place_count, false);
    for (size_t i = 0; i < labels->place_count && status == TBED_OK; i++) {
        uint32_t id = labels->places[i];
        size_t nbytes = labels->name != NULL
                            ? labels->name(labels->name_context, id, text, sizeof text)
                            : tbed_id_spell(labels->reader, id, TBED_NAME_ALL, text, sizeof text);
        if (nbytes == TBED_NO_MEMORY)
            return TBED_ERR_MEMORY;
        nbytes = nbytes < sizeof text ? nbytes : sizeof text - 1;
        const char *separator = memchr(text, '\x1E', nbytes); /* as in statistics */
        nbytes = separator != NULL ? (size_t)(separator - text) : nbytes;
        status = intern_of_id(labels, id, text, nbytes, &labels->places[i]);
    }
    return status;
}

enum tbed_status tbed_stack_label_make(struct stack_labels *labels, uint32_t id, uint32_t *label_ret)
{
    struct tbed_label label = {0};
    enum tbed_status status;
    if (find_place(labels, id, label_ret, &status))
        return status;
    status = TBED_ERR_MEMORY;
    if (tbed_label_make_row(&labels->strings, id, &label))
        status = intern_of_id(labels, id, label.text, label.nbytes, label_ret);
    free(label.text);
    return status;
}

/* ---- Ids that a worker has met ---- */

enum tbed_status tbed_stack_id_label(struct stack_ids *ids, struct stack_labels *labels, uint32_t id,
                                     uint32_t *label_ret)
{
    struct stack_id *found = ids->slot_count > 0 ? find_id(ids, id) : NULL;
    if (found == NULL || found->label == 0) {
        uint32_t label;
        enum tbed_status status = grow_ids(ids) ? TBED_OK : TBED_ERR_MEMORY;
        if (status == TBED_OK)
            status = tbed_stack_label_make(labels, id, &label);
        if (status != TBED_OK)
            return status;
        found = find_id(ids, id);
        *found = (struct stack_id){id, label + 1};
        ids->count++;
    }
    *label_ret = found->label - 1;
    return TBED_OK;
}
