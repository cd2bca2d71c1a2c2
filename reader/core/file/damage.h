/*
 * The list of damage in a file: each place once, in the order found. Any thread may add to it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DAMAGE_H
#define TRACEBED_DAMAGE_H

#include "reader/core/base/hashmap.h"
#include "reader/core/base/vector.h"

#include <pthread.h>
#include <tracebed/reader.h>

struct tbed_damage_list {
    pthread_mutex_t lock;
    struct tbed_vector kept; /* struct tbed_damage, at most TBED_DAMAGE_KEPT_MAX */
    uint64_t count;
    enum tbed_status first;      /* of all, also if there was no memory to keep it; TBED_OK: there is none */
    TBED_HASHMAP(uint64_t) seen; /* hashes of (status, offset) */
    bool has_forgotten;          /* 'seen' lacks some, for which there was no memory */
};

/* False: no memory. */
bool tbed_damage_list_make(struct tbed_damage_list *list_ret);
void tbed_damage_list_free(struct tbed_damage_list *list);

/* Adds it unless the same status has been reported for the same offset. If there is no memory, it is only counted. */
void tbed_damage_list_add(struct tbed_damage_list *list, const struct tbed_damage *damage);

/* Adds all that 'from' has, in its order, and counts what it could not keep; also each place once. */
void tbed_damage_list_join(struct tbed_damage_list *list, const struct tbed_damage_list *from);

/* The status of the first damage; TBED_OK: there is none. */
enum tbed_status tbed_damage_first(const struct tbed_reader *reader);

/* Adds damage at 'offset' in the file; the page, and what is known of its block, are found from it. */
void tbed_damage_tell(const struct tbed_reader *reader, enum tbed_status status, uint64_t offset,
                      uint32_t cell, uint64_t detail);

/* The same for damage at 'offset', perhaps in the directory, that concerns 'page'. */
void tbed_damage_tell_page(const struct tbed_reader *reader, enum tbed_status status, uint64_t page,
                           uint32_t cell, uint64_t offset, uint64_t detail);

/* The same for damage that concerns 'page_count' pages. */
void tbed_damage_tell_pages(const struct tbed_reader *reader, enum tbed_status status, uint64_t offset,
                            uint64_t page_count, uint64_t detail);

/* The same for damage that concerns the file as a whole. */
void tbed_damage_tell_file(const struct tbed_reader *reader, enum tbed_status status, uint64_t offset,
                           uint64_t detail);

#endif
