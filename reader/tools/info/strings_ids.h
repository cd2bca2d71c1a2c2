/*
 * A set of ids, each with how often it was added, for the verb strings.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STRINGS_IDS_H
#define TRACEBED_STRINGS_IDS_H

#include "reader/core/base/hashmap.h"
#include "reader/tools/shared/tool.h"

struct used_id {
    uint64_t key; /* tbed_hashmap_key32() of the id */
    uint64_t count;
};

struct used_ids { /* zeroed: empty */
    TBED_HASHMAP(struct used_id) ids;
};

/* Gives how often it has been added by now, this time included. */
uint64_t used_ids_add(struct used_ids *used, uint32_t id);
void used_ids_free(struct used_ids *used);

/* strings_tree.c: what one id consists of, how long it is, and what refers to it. */
void strings_tree_put(struct tbed_reader *reader, uint32_t id, struct tbed_json *json);

#endif
