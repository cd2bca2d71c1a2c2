/*
 * Pairs of messages that are open on one stream: by their names, by when they began, and which of them are on the
 * stack.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SCOPE_PAIRS_H
#define TRACEBED_SCOPE_PAIRS_H

#include "reader/analysis/stacks/stacks_parts.h"

/* Pairs are told apart by their place + 1; 0: none. */
struct scope_link {
    uint32_t before, after;
};

struct scope_pair {
    struct tbed_scope scope;
    size_t level;                    /* spans that were open when it began */
    uint32_t older;                  /* of the same name */
    struct scope_link all, attached; /* in the order they began */
    bool is_attached;                /* the span that it began in has not ended */
};

struct scope_pairs {
    struct stack_labels names; /* context U+001E text */
    struct scope_pair *items;
    size_t count, room;
    uint32_t free_list; /* through 'older' */
    uint32_t *newest;   /* by name */
    size_t newest_room;
    uint32_t last, last_attached;
    size_t attached_count;
};

enum tbed_status tbed_scope_pairs_open(struct scope_pairs *pairs, const struct tbed_reader *reader);
void tbed_scope_pairs_close(struct scope_pairs *pairs);

/*
 * 'name' is context U+001E text, the context maybe empty: then the scope's is the text alone.
 * Opens one, attached; its tick and tag are the caller's to fill in. NULL: no memory. Valid until the next one.
 */
struct scope_pair *tbed_scope_pair_begin(struct scope_pairs *pairs, const char *name, size_t nbytes,
                                         size_t level);

/* The one that a message of this name closes; 0: there is none. */
uint32_t tbed_scope_pair_find(struct scope_pairs *pairs, const char *name, size_t nbytes);

/* Takes it out; it must be the newest of its name. What it was stays readable until the next begin. */
struct scope_pair *tbed_scope_pair_remove(struct scope_pairs *pairs, uint32_t pair);

/* Detaches the innermost attached one. */
void tbed_scope_pair_detach_top(struct scope_pairs *pairs);

/* The innermost attached one; NULL: none. */
static inline struct scope_pair *tbed_scope_pair_top(const struct scope_pairs *pairs)
{
    return pairs->last_attached != 0 ? &pairs->items[pairs->last_attached - 1] : NULL;
}

#endif
