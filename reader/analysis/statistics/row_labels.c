/*
 * Labels as rows; see row_labels.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/analysis/statistics/row_labels.h"

#include "reader/core/base/text.h"
#include "reader/core/names/id_info.h"

#include <stdlib.h>
#include <string.h>

#define SEPARATOR '\x1E'

size_t tbed_stat_text(const struct stat_source *source, uint64_t id, char *buffer, size_t buffer_nbytes)
{
    const struct tbed_label_strings *strings = &source->strings;
    struct tbed_label_walk walk;
    struct tbed_label_component component;
    enum tbed_status status;
    size_t nbytes = 0;
    if (strings->walk_start(strings->context, id, &walk) != TBED_OK)
        return SIZE_MAX;
    while ((status = strings->walk_next(&walk, &component)) == TBED_OK) {
        if (component.is_reference || component.nbytes > buffer_nbytes - nbytes)
            return SIZE_MAX;
        memcpy(buffer + nbytes, component.text, component.nbytes);
        nbytes += component.nbytes;
    }
    if (status == TBED_END)
        return nbytes;
    /* The string is damaged, but its label may be intact. */
    const char *separator = memchr(buffer, SEPARATOR, nbytes);
    return separator != NULL ? (size_t)(separator - buffer) : SIZE_MAX;
}

/* ---- Rows ---- */

#define SLOTS_MIN 128u

static uint32_t hash_text(const char *text, size_t nbytes)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < nbytes; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001B3u;
    return (uint32_t)(hash ^ hash >> 32);
}

static bool have_row(struct stat_labels *labels)
{
    if (labels->count < labels->room)
        return true;
    uint64_t room = labels->room < 65536 ? labels->room * 2u : labels->room + labels->room / 4u;
    struct stat_label *rows = room <= STAT_ROW_MAX ? realloc(labels->rows, room * sizeof *rows) : NULL;
    if (rows == NULL)
        return false;
    labels->rows = rows;
    labels->room = (uint32_t)room;
    return true;
}

/* The slot of the first row with this hash, or of the one after 'slot'; a free slot: there is none. */
static uint32_t find_slot(const struct stat_labels *labels, uint32_t hash, uint32_t slot)
{
    uint32_t mask = labels->slot_count - 1;
    for (slot &= mask; labels->slots[slot] != 0; slot = (slot + 1) & mask)
        if (labels->rows[labels->slots[slot]].hash == hash)
            break;
    return slot;
}

/* Keeps half of the slots free. */
static bool have_slots(struct stat_labels *labels)
{
    uint32_t old_count = labels->slot_count, *old = labels->slots;
    if (labels->count < old_count / 2)
        return true;
    uint32_t count = old_count == 0 ? SLOTS_MIN : old_count * 2, mask = count - 1;
    labels->slots = calloc(count, sizeof *labels->slots);
    if (labels->slots == NULL) {
        labels->slots = old;
        return false;
    }
    labels->slot_count = count;
    for (uint32_t row = 1; row < labels->count; row++) {
        uint32_t slot = labels->rows[row].hash & mask;
        while (labels->slots[slot] != 0)
            slot = (slot + 1) & mask;
        labels->slots[slot] = row;
    }
    free(old);
    return true;
}

/* Copies the text. NULL: no memory. */
static const char *keep_text(struct stat_labels *labels, const char *text, size_t nbytes)
{
    char *copy = nbytes <= TBED_LABELS_NBYTES_MAX - labels->nbytes
                     ? tbed_named_texts_take(&labels->texts, nbytes + 1)
                     : NULL;
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, nbytes);
    copy[nbytes] = '\0';
    labels->nbytes += nbytes;
    return copy;
}

/* Creates a row in a free slot and returns its number, 0: no memory. 'text' NULL: it will be named later. */
static uint32_t add_row(struct stat_labels *labels, uint32_t hash, uint32_t slot, const char *text,
                        size_t nbytes, uint64_t id)
{
    if (!have_row(labels) || (text != NULL && (text = keep_text(labels, text, nbytes)) == NULL))
        return 0;
    labels->rows[labels->count] = (struct stat_label){text, id, (uint32_t)nbytes, hash};
    labels->slots[slot] = labels->count;
    return labels->count++;
}

static uint32_t find_row(struct stat_labels *labels, const char *text, size_t nbytes, uint64_t id)
{
    uint32_t hash = hash_text(text, nbytes), row, slot;
    if (!have_slots(labels))
        return 0;
    for (slot = find_slot(labels, hash, hash); (row = labels->slots[slot]) != 0;
         slot = find_slot(labels, hash, slot + 1)) {
        struct stat_label *label = &labels->rows[row];
        if (label->text == NULL || label->nbytes != nbytes || memcmp(label->text, text, nbytes) != 0)
            continue;
        label->id = id < label->id ? id : label->id;
        return row;
    }
    return add_row(labels, hash, slot, text, nbytes, id);
}

/* A row of the id's own, whose text is set at the end. */
static uint32_t find_named(struct stat_labels *labels, uint64_t id)
{
    uint32_t hash = (uint32_t)(id * 0xD6E8FEB86659FD93u >> 32), row, slot;
    if (!have_slots(labels))
        return 0;
    for (slot = find_slot(labels, hash, hash); (row = labels->slots[slot]) != 0;
         slot = find_slot(labels, hash, slot + 1))
        if (labels->rows[row].text == NULL && labels->rows[row].id == id)
            return row;
    return add_row(labels, hash, slot, NULL, 0, id);
}

/* The usual form: a reference to the label, followed by nothing or by a separator. */
bool tbed_stat_label_same(const struct stat_labels *labels, uint64_t id, uint64_t *same_ret)
{
    const struct tbed_label_strings *strings = &labels->source->strings;
    struct tbed_label_walk walk;
    struct tbed_label_component first, next;
    if (strings->walk_start(strings->context, id, &walk) != TBED_OK ||
        strings->walk_next(&walk, &first) != TBED_OK || !first.is_reference)
        return false;
    enum tbed_status status = strings->walk_next(&walk, &next);
    if (status != TBED_END &&
        (status != TBED_OK || next.is_reference || next.nbytes == 0 || next.text[0] != SEPARATOR))
        return false;
    *same_ret = first.id;
    return true;
}

uint32_t tbed_stat_label_find(struct stat_labels *labels, uint64_t id)
{
    const struct stat_source *source = labels->source;
    struct tbed_label label = {0};
    uint32_t row = 0;
    if (source->is_named != NULL && source->is_named(source->context, id)) {
        pthread_mutex_lock(&labels->lock);
        row = find_named(labels, id);
        pthread_mutex_unlock(&labels->lock);
        return row;
    }
    if (tbed_label_make_row(&source->strings, id, &label)) {
        pthread_mutex_lock(&labels->lock);
        row = find_row(labels, label.text, label.nbytes, id);
        pthread_mutex_unlock(&labels->lock);
    }
    free(label.text);
    if (row == 0)
        return 0;
    return row | (label.is_unknown ? STAT_UNRESOLVED : 0) | (label.lends ? STAT_LENDS : 0);
}

/* ---- Names supplied by the source ---- */

/* The name as the caller supplies it, which may have several lines; of a label, up to the first U+001E. */
static bool name_row(struct stat_labels *labels, struct stat_label *label, struct tbed_text *buffer)
{
    size_t nbytes = 255;
    do {
        buffer->nbytes = 0;
        if (!tbed_text_reserve(buffer, nbytes + 1))
            return false;
        nbytes = labels->source->name(labels->source->context, label->id, buffer->bytes, buffer->room);
        if (nbytes == TBED_NO_MEMORY)
            return false;
    } while (nbytes >= buffer->room);
    char *text = buffer->bytes;
    bool is_key = label->id >= STAT_KEY_FIRST;
    size_t length = is_key ? strlen(text) : strcspn(text, (char[]){SEPARATOR, '\0'});
    bool fits = !is_key ? length <= UINT32_MAX : length <= TBED_LABELS_NBYTES_MAX - labels->nbytes;
    char *copy = fits ? tbed_named_texts_take(&labels->texts, length + 1) : NULL;
    if (copy == NULL)
        return false;
    labels->nbytes += is_key ? length : 0;
    memcpy(copy, text, length);
    copy[length] = '\0';
    label->text = copy;
    label->nbytes = (uint32_t)length;
    return true;
}

static bool prepare(const struct stat_labels *labels)
{
    size_t count = 0;
    if (labels->source->prepare == NULL)
        return true;
    uint32_t *ids = malloc(labels->count * sizeof *ids);
    for (uint32_t row = 1; ids != NULL && row < labels->count; row++)
        if (labels->rows[row].text == NULL &&
            (labels->rows[row].id < STAT_KEY_FIRST || labels->source->has_ids_in_keys))
            ids[count++] = (uint32_t)labels->rows[row].id;
    if (count > 0)
        labels->source->prepare(labels->source->context, ids, count);
    free(ids);
    return ids != NULL;
}

bool tbed_stat_labels_name(struct stat_labels *labels)
{
    struct tbed_text buffer = {0};
    bool fine = prepare(labels);
    free(labels->slots);
    labels->slots = NULL;
    labels->slot_count = 0;
    for (uint32_t row = 1; row < labels->count && fine; row++)
        if (labels->rows[row].text == NULL)
            fine = name_row(labels, &labels->rows[row], &buffer);
    free(buffer.bytes);
    return fine;
}

bool tbed_stat_labels_open(struct stat_labels *labels, const struct stat_source *source)
{
    *labels = (struct stat_labels){.source = source, .count = 1, .room = 64};
    labels->rows = calloc(labels->room, sizeof *labels->rows);
    if (labels->rows == NULL)
        return false;
    pthread_mutex_init(&labels->lock, NULL);
    return true;
}

void tbed_stat_labels_close(struct stat_labels *labels)
{
    if (labels->rows == NULL)
        return;
    tbed_named_texts_free(&labels->texts);
    free(labels->rows);
    free(labels->slots);
    pthread_mutex_destroy(&labels->lock);
}
