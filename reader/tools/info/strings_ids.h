/*
 * A set of ids that counts how often each was added, for 'tracebed strings'.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STRINGS_IDS_H
#define TRACEBED_STRINGS_IDS_H

#include "reader/core/base/hashmap.h"
#include "reader/tools/shared/tool.h"

#include <tracebed/filter.h>

struct used_id {
    uint64_t key; /* tbed_hashmap_key32() of the id */
    uint64_t count;
};

struct used_ids { /* all zeros: empty */
    TBED_HASHMAP(struct used_id) ids;
};

/* Returns how often the id has been added, including this time. */
uint64_t used_ids_add(struct used_ids *used, uint32_t id);
void used_ids_free(struct used_ids *used);

/* Adds the ids that the events name which the filter takes; NULL: all events. */
void strings_used_count(struct tbed_reader *reader, const struct tbed_filter *filter, struct used_ids *used);

/* What is shown: everything, or a sorted list of ids. */
struct strings_shown {
    bool is_part;
    uint32_t *ids;
    size_t count;
};

/* These ids and all that they refer to: parts of strings, bindings, places in code. The caller frees the ids. */
struct strings_shown strings_used_follow(const struct tbed_reader *reader, const struct used_ids *used);

/* Is any of these ids shown? */
bool strings_shown_has(const struct strings_shown *shown, uint32_t first_id, uint32_t id_count);

static inline bool strings_binding_is_shown(const struct strings_shown *shown,
                                            const struct tbed_binding_info *binding)
{
    return strings_shown_has(shown, binding->first_id, binding->id_count) &&
           strings_shown_has(shown, binding->string_id, 1);
}

/* strings_tree.c: prints the parts of an id, their lengths, and what refers to it. */
void strings_tree_put(struct tbed_reader *reader, uint32_t id, struct tbed_json *json);

#endif
