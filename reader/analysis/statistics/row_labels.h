/*
 * Labels: the part of a name before the first U+001E. Each label is one row, whatever ids mean it.
 *
 * Threads: shared by all workers; registering takes a lock, which each label needs a few times only.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STAT_LABELS_H
#define TRACEBED_STAT_LABELS_H

#include "reader/analysis/shared/number_map.h"
#include "reader/analysis/statistics/source.h"

#include <pthread.h>

struct stat_label {
    char *text; /* terminated; NULL: the source's name() says it, at the end */
    size_t nbytes;
    uint64_t id;   /* the lowest that this label was looked up by */
    uint32_t next; /* row with the same hash, 0: none */
};

struct stat_labels {
    const struct stat_source *source;
    pthread_mutex_t lock;
    struct stat_label *rows; /* row 0 is nobody's */
    uint32_t count, room;
    size_t nbytes; /* of all texts */
    struct number_map by_hash;
};

bool tbed_stat_labels_open(struct stat_labels *labels, const struct stat_source *source);
void tbed_stat_labels_close(struct stat_labels *labels);

/* True if the id's label is that of another id, by the look of it: that spares the text. */
bool tbed_stat_label_same(const struct stat_labels *labels, uint64_t id, uint64_t *same_ret);

/* The row of the id's label. 0: no memory, or all labels together would have more than TBED_LABELS_NBYTES_MAX. */
#define STAT_UNRESOLVED 0x80000000u /* in a row's number: the id has no text */
#define STAT_LENDS      0x40000000u /* the row is that of any id whose label is that of this one, by its look */
#define STAT_ROW_MAX    0x0FFFFFFFu
uint32_t tbed_stat_label_find(struct stat_labels *labels, uint64_t id);

/* The text of an id, of a category say, as far as it fits: its length, SIZE_MAX if it has none. */
size_t tbed_stat_text(const struct stat_source *source, uint64_t id, char *buffer, size_t buffer_nbytes);

/* After the events: asks for the names that are missing. False: no memory. */
bool tbed_stat_labels_name(struct stat_labels *labels);

#endif
