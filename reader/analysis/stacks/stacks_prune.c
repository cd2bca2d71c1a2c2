/*
 * Pruning the tree of paths: when a stream has too many, those that took the least time so far become one, "<other>", of the
 * path around them.
 *
 * The time of a path is never less than that of the paths it is part of, so whole branches go. Figures of the paths that
 * stay are exact if they were never pruned; a path that is met again after it was pruned begins anew.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/stacks/stacks_parts.h"

#include <stdlib.h>
#include <string.h>

struct pruning {
    const struct stack_tree *tree;
    struct stack_tree kept;
    const bool *must_stay;
    uint64_t least_ticks; /* of a node that stays */
    uint32_t other_label;
    uint32_t *places; /* the new number of each node */
    bool *stays;
    uint64_t folded_count;
};

static unsigned bit_length(uint64_t value)
{
    return value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value);
}

/* A power of two such that at most 'target' nodes have so many ticks. */
static uint64_t find_least(const struct stack_tree *tree, size_t target)
{
    size_t counts[65] = {0}, above = 0;
    for (size_t i = 1; i < tree->count; i++)
        counts[bit_length(tree->nodes[i].ticks)]++;
    unsigned length = 65;
    while (length > 0 && above + counts[length - 1] <= target)
        above += counts[--length];
    return length == 0 ? 0 : length > 64 ? UINT64_MAX : UINT64_C(1) << (length - 1);
}

static enum tbed_status take_node(struct pruning *pruning, size_t number)
{
    const struct stack_node *node = &pruning->tree->nodes[number];
    uint32_t parent = pruning->places[node->parent], *place = &pruning->places[number];
    bool is_other = node->label == pruning->other_label, is_outermost = pruning->stays[node->parent];
    bool stays =
        pruning->must_stay[number] || (is_outermost && (is_other || node->ticks >= pruning->least_ticks));
    pruning->stays[number] = stays;
    pruning->folded_count += stays || is_other ? 0 : node->count;
    *place = parent; /* inside a node that became "<other>" */
    if (is_outermost) {
        uint32_t label = stays ? node->label : pruning->other_label;
        enum tbed_status status = tbed_stack_tree_child(&pruning->kept, parent, label, place);
        if (status != TBED_OK)
            return status;
    }
    struct stack_node *into = &pruning->kept.nodes[*place];
    tbed_stack_node_add(into, node->count, is_outermost ? node->ticks : 0);
    into->open_count += node->open_count;
    return TBED_OK;
}

enum tbed_status tbed_stack_tree_prune(struct stack_tree *tree, size_t target, uint32_t other_label,
                                       bool *must_stay, uint32_t *places, uint64_t *folded_count)
{
    struct pruning pruning = {.tree = tree,
                              .must_stay = must_stay,
                              .least_ticks = find_least(tree, target),
                              .other_label = other_label,
                              .places = places,
                              .stays = calloc(tree->count, sizeof *pruning.stays)};
    enum tbed_status status = pruning.stays != NULL ? tbed_stack_tree_open(&pruning.kept) : TBED_ERR_MEMORY;
    for (size_t i = tree->count; i-- > 1;)
        must_stay[tree->nodes[i].parent] |= must_stay[i];
    places[0] = 0;
    if (pruning.stays != NULL)
        pruning.stays[0] = true;
    for (size_t i = 1; i < tree->count && status == TBED_OK; i++)
        status = take_node(&pruning, i);
    free(pruning.stays);
    if (status != TBED_OK) {
        tbed_stack_tree_close(&pruning.kept);
        return status;
    }
    tbed_stack_tree_close(tree);
    *tree = pruning.kept;
    *folded_count += pruning.folded_count;
    return TBED_OK;
}
