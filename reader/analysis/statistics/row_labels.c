/*
 * Labels as rows; see row_labels.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/analysis/statistics/row_labels.h"

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

static uint64_t hash_text(const char *text, size_t nbytes)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < nbytes; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001B3u;
    return hash;
}

static bool has_text(const struct stat_label *label, const char *text, size_t nbytes)
{
    return label->text != NULL && label->nbytes == nbytes && memcmp(label->text, text, nbytes) == 0;
}

static bool have_row(struct stat_labels *labels)
{
    if (labels->count < labels->room)
        return true;
    uint32_t room = labels->room * 2;
    struct stat_label *rows = room <= STAT_ROW_MAX ? realloc(labels->rows, room * sizeof *rows) : NULL;
    if (rows == NULL)
        return false;
    labels->rows = rows;
    labels->room = room;
    return true;
}

/* Creates a row and returns its number, 0: no memory. 'text' NULL: it will be named later. */
static uint32_t add_row(struct stat_labels *labels, uint64_t hash, uint32_t next, const char *text,
                        size_t nbytes, uint64_t id)
{
    char *copy = NULL;
    if (!have_row(labels))
        return 0;
    if (text != NULL) {
        copy = nbytes <= TBED_LABELS_NBYTES_MAX - labels->nbytes ? malloc(nbytes + 1) : NULL;
        if (copy == NULL)
            return 0;
        memcpy(copy, text, nbytes);
        copy[nbytes] = '\0';
    }
    uint32_t row = labels->count;
    if (next == 0 && !tbed_number_map_add(&labels->by_hash, hash, row)) {
        free(copy);
        return 0;
    }
    labels->rows[row] = (struct stat_label){copy, nbytes, id, 0};
    if (next != 0)
        labels->rows[next].next = row;
    labels->count++;
    labels->nbytes += nbytes;
    return row;
}

static uint32_t find_row(struct stat_labels *labels, const char *text, size_t nbytes, uint64_t id)
{
    uint64_t hash = hash_text(text, nbytes);
    uint32_t last = 0;
    pthread_mutex_lock(&labels->lock);
    uint32_t row = tbed_number_map_find(&labels->by_hash, hash);
    for (row = row == NUMBER_MAP_NONE ? 0 : row; row != 0; row = labels->rows[row].next) {
        if (has_text(&labels->rows[row], text, nbytes))
            break;
        last = row;
    }
    if (row == 0)
        row = add_row(labels, hash, last, text, nbytes, id);
    else if (id < labels->rows[row].id)
        labels->rows[row].id = id;
    pthread_mutex_unlock(&labels->lock);
    return row;
}

/* A row of the id's own, whose text is set at the end. */
static uint32_t find_named(struct stat_labels *labels, uint64_t id)
{
    uint64_t hash = id * 0xD6E8FEB86659FD93u + 1;
    uint32_t last = 0;
    pthread_mutex_lock(&labels->lock);
    uint32_t row = tbed_number_map_find(&labels->by_hash, hash);
    for (row = row == NUMBER_MAP_NONE ? 0 : row; row != 0; row = labels->rows[row].next) {
        if (labels->rows[row].text == NULL && labels->rows[row].id == id)
            break;
        last = row;
    }
    if (row == 0)
        row = add_row(labels, hash, last, NULL, 0, id);
    pthread_mutex_unlock(&labels->lock);
    return row;
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
    if (source->is_named != NULL && source->is_named(source->context, id))
        return find_named(labels, id);
    if (tbed_label_make_row(&source->strings, id, &label))
        row = find_row(labels, label.text, label.nbytes, id);
    free(label.text);
    if (row == 0)
        return 0;
    return row | (label.is_unknown ? STAT_UNRESOLVED : 0) | (label.lends ? STAT_LENDS : 0);
}

/* ---- Names supplied by the source ---- */

/* The name as the caller supplies it, which may have several lines, up to the first U+001E. */
static bool name_row(const struct stat_source *source, struct stat_label *label)
{
    size_t room = 256, nbytes;
    char *text = NULL;
    for (;; room = nbytes + 1) {
        char *larger = realloc(text, room);
        if (larger == NULL)
            break;
        text = larger;
        nbytes = source->name(source->context, label->id, text, room);
        if (nbytes < room)
            break;
    }
    label->text = text;
    if (text == NULL)
        return false;
    const char *separator = memchr(text, SEPARATOR, strlen(text));
    label->nbytes = separator != NULL ? (size_t)(separator - text) : strlen(text);
    text[label->nbytes] = '\0';
    return true;
}

static bool prepare(const struct stat_labels *labels)
{
    size_t count = 0;
    if (labels->source->prepare == NULL)
        return true;
    uint32_t *ids = malloc(labels->count * sizeof *ids);
    for (uint32_t row = 1; ids != NULL && row < labels->count; row++)
        if (labels->rows[row].text == NULL)
            ids[count++] = (uint32_t)labels->rows[row].id;
    if (count > 0)
        labels->source->prepare(labels->source->context, ids, count);
    free(ids);
    return ids != NULL;
}

bool tbed_stat_labels_name(struct stat_labels *labels)
{
    if (!prepare(labels))
        return false;
    for (uint32_t row = 1; row < labels->count; row++)
        if (labels->rows[row].text == NULL && !name_row(labels->source, &labels->rows[row]))
            return false;
    return true;
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
    for (uint32_t row = 1; row < labels->count; row++)
        free(labels->rows[row].text);
    free(labels->rows);
    tbed_number_map_free(&labels->by_hash);
    pthread_mutex_destroy(&labels->lock);
}
