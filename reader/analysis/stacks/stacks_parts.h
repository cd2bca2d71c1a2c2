/*
 * The parts of the stack analysis: labels, and the tree of paths.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STACKS_PARTS_H
#define TRACEBED_STACKS_PARTS_H

#include "reader/core/names/label.h"

#include <pthread.h>
#include <tracebed/analysis.h>

/* ---- Labels: texts by number, shared by all workers (stacks_labels.c) ---- */

/* Label numbers by id. Must be zeroed before use. */
struct stack_ids {
    struct stack_id {
        uint32_t id, label; /* label + 1; 0: free */
    } * slots;
    size_t slot_count, count; /* a power of two, at most half full */
};

struct stack_label {
    char *text; /* terminated */
    size_t nbytes;
    uint32_t id; /* the lowest id with this text */
};

#define STACK_LABEL_NO_ID UINT32_MAX /* in a label's id: it has none, or no worker has met one */

#define STACK_LABEL_PLACE                                                                                    \
    0x80000000u /* in a label's number: it is a code location's, and has no text until the end */

struct stack_labels {
    const struct tbed_reader *reader;
    struct tbed_label_strings strings;
    tbed_name_function name; /* of places in code; NULL: tbed_id_text() */
    tbed_prepare_function prepare;
    void *name_context;
    pthread_mutex_t lock;       /* for all that follows */
    struct stack_ids place_ids; /* their numbers */
    uint32_t *places;           /* their ids by number; named, their labels */
    size_t place_count, place_room;
    struct stack_label *items;
    size_t count, room;
    size_t nbytes;   /* of all texts */
    uint32_t *slots; /* by hash of the text: number + 1, 0 is free; a power of two */
    size_t slot_count;
};

enum tbed_status tbed_stack_labels_open(struct stack_labels *labels, const struct tbed_reader *reader,
                                        const struct tbed_stacks_options *options);
void tbed_stack_labels_close(struct stack_labels *labels);

/*
 * The number of a text, created if the text is new. Errors: ERR_MEMORY, also if the texts would take more than
 * TBED_LABELS_NBYTES_MAX in total.
 */
enum tbed_status tbed_stack_label_intern(struct stack_labels *labels, const char *text, size_t nbytes,
                                         uint32_t *label_ret);

/* The number of the label of an id. Errors: ERR_MEMORY. */
enum tbed_status tbed_stack_label_make(struct stack_labels *labels, uint32_t id, uint32_t *label_ret);

/* To be called after the events: gives all code locations their labels. Errors: ERR_MEMORY. */
enum tbed_status tbed_stack_labels_name(struct stack_labels *labels);

/* The number of a label that has a text. */
static inline uint32_t tbed_stack_label_named(const struct stack_labels *labels, uint32_t label)
{
    return label & STACK_LABEL_PLACE ? labels->places[label & ~STACK_LABEL_PLACE] : label;
}

/* Like tbed_stack_label_make(). 'ids' caches the ids that one worker has met, so that no event takes the lock. */
enum tbed_status tbed_stack_id_label(struct stack_ids *ids, struct stack_labels *labels, uint32_t id,
                                     uint32_t *label_ret);

/* ---- The tree of paths (stacks_tree.c) ---- */

struct stack_node {
    uint32_t parent; /* 0, the top, for roots and for itself */
    uint32_t label;
    uint32_t depth; /* 0: the top; 1: roots */
    uint64_t count;
    uint64_t ticks; /* added up, saturating */
    uint64_t open_count;
};

struct stack_tree {
    struct stack_node *nodes; /* [0] is the top; parents come before their children */
    size_t count, room;
    uint32_t *slots; /* by hash of (parent, label): node; 0 is free; a power of two */
    size_t slot_count;
};

enum tbed_status tbed_stack_tree_open(struct stack_tree *tree);
void tbed_stack_tree_close(struct stack_tree *tree);

/* The child of 'parent' with that label, created if it is new. Errors: ERR_MEMORY. */
enum tbed_status tbed_stack_tree_child(struct stack_tree *tree, uint32_t parent, uint32_t label,
                                       uint32_t *node_ret);

static inline void tbed_stack_node_add(struct stack_node *node, uint64_t count, uint64_t ticks)
{
    if (__builtin_add_overflow(node->ticks, ticks, &node->ticks))
        node->ticks = UINT64_MAX;
    node->count += count;
}

/*
 * Adds all of 'from'. If 'labels' is not NULL, code locations must have been named, and their labels are added
 * instead. Errors: ERR_MEMORY.
 */
enum tbed_status tbed_stack_tree_merge(struct stack_tree *into, const struct stack_tree *from,
                                       const struct stack_labels *labels);

/*
 * Makes the tree smaller: of the nodes, about 'target' stay, those with most ticks, and at most as many that are called
 * 'other_label'. Nodes that are marked in 'must_stay' stay too, with those around them. 'places' gets the new number of each
 * node; what is no node any more has that of its "other" (stacks_prune.c). Errors: ERR_MEMORY, and the tree is unchanged.
 */
enum tbed_status tbed_stack_tree_prune(struct stack_tree *tree, size_t target, uint32_t other_label,
                                       bool *must_stay, uint32_t *places, uint64_t *folded_count);

/*
 * Makes rows of the tree, without the top, and counts the figures that came out negative.
 * Errors: ERR_MEMORY.
 */
enum tbed_status tbed_stack_tree_rows(const struct stack_tree *tree, const struct stack_label *labels,
                                      size_t label_count, struct tbed_stack_row **rows_ret,
                                      uint64_t *negative_count);

/* Whether children of 'parent' share one node with everything else at their depth. */
static inline bool tbed_stack_tree_is_deep(const struct stack_tree *tree, uint32_t root, uint32_t parent)
{
    return tree->nodes[parent].depth - tree->nodes[root].depth >= TBED_STACK_DEPTH_MAX;
}

/* The child of 'parent' for a span; '*is_inside': it is deeper than the limit, and so is its parent. */
enum tbed_status tbed_stack_tree_place(struct stack_tree *tree, uint32_t root, uint32_t parent,
                                       uint32_t label, uint32_t deeper_label, uint32_t *node_ret,
                                       bool *is_inside);

#endif
