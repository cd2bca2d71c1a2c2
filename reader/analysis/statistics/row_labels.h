/*
 * Labels: the part of a name before the first U+001E. Each label is one row, even if several ids have it.
 *
 * Threads: shared by all workers. Registering takes a lock, but each label is registered only a few times.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STAT_LABELS_H
#define TRACEBED_STAT_LABELS_H

#include "reader/analysis/shared/named.h"
#include "reader/analysis/shared/number_map.h"
#include "reader/analysis/statistics/source.h"

#include <pthread.h>

/* Small, since there may be millions. */
struct stat_label {
    const char *text; /* NUL-terminated; NULL: the source's name() supplies it at the end */
    uint64_t id;      /* the lowest id that this label was looked up by */
    uint32_t nbytes;
    uint32_t hash;
};

struct stat_labels {
    const struct stat_source *source;
    pthread_mutex_t lock;
    struct stat_label *rows; /* row 0 is unused */
    uint32_t count, room;
    size_t nbytes; /* of all texts */
    struct named_texts texts;
    uint32_t *slots;     /* a hash table of rows; 0: free */
    uint32_t slot_count; /* a power of two */
};

bool tbed_stat_labels_open(struct stat_labels *labels, const struct stat_source *source);
void tbed_stat_labels_close(struct stat_labels *labels);

/* A cheap check: true if the id's label is evidently that of another id, so that the text need not be read. */
bool tbed_stat_label_same(const struct stat_labels *labels, uint64_t id, uint64_t *same_ret);

/* The row of the id's label. 0: no memory, or the labels would take more than TBED_LABELS_NBYTES_MAX in total. */
#define STAT_UNRESOLVED 0x80000000u /* in a row's number: the id has no text */
#define STAT_LENDS      0x40000000u /* the row is that of another id that evidently has the same label */
#define STAT_ROW_MAX    0x0FFFFFFFu
uint32_t tbed_stat_label_find(struct stat_labels *labels, uint64_t id);

/*
 * Copies the text of an id, such as a category, as far as it fits. Returns its length, or SIZE_MAX if it has
 * none.
 */
size_t tbed_stat_text(const struct stat_source *source, uint64_t id, char *buffer, size_t buffer_nbytes);

/* To be called after the events: asks for the missing names; no label can be found any more. False: no memory. */
bool tbed_stat_labels_name(struct stat_labels *labels);

#endif
