/*
 * Trees of labels; see tree.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/answers/tree.h"

#include <stdlib.h>

#define NODES_MAX 5000
#define NOT_SHOWN SIZE_MAX

void tree_add(struct tree *tree, const struct tree_node *node)
{
    struct tree_node *added = TBED_VECTOR_PUSH(&tree->nodes);
    if (added != NULL)
        *added = *node;
    else
        tree->is_out_of_memory = true;
}

void tree_free(struct tree *tree)
{
    tbed_vector_free(&tree->nodes.vector);
}

static uint64_t weight_of(const struct tree_node *node)
{
    return node->total > node->old_total ? node->total : node->old_total;
}

static int compare_weights(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a > *b ? -1 : *a < *b;
}

/* The weight that a node needs to be shown. UINT64_MAX: no memory. */
static uint64_t least_weight(const struct tree *tree)
{
    size_t count = tree->nodes.count;
    if (count <= NODES_MAX)
        return 0;
    uint64_t *weights = calloc(count, sizeof *weights), least = UINT64_MAX;
    for (size_t i = 0; weights != NULL && i < count; i++)
        weights[i] = weight_of(&tree->nodes.items[i]);
    if (weights != NULL) {
        qsort(weights, count, sizeof *weights, compare_weights);
        least = weights[NODES_MAX / 2]; /* each may have an "<other>" besides */
        least += least < UINT64_MAX - 1;
    }
    free(weights);
    return least;
}

static void put_node(struct answer *answer, size_t parent, const struct tree_node *node, bool has_old)
{
    struct tbed_json *json = &answer->json;
    tbed_json_array_open(json, NULL);
    if (parent == NOT_SHOWN)
        tbed_json_i64(json, NULL, -1);
    else
        tbed_json_u64(json, NULL, parent);
    answer_text(answer, NULL, node->label, node->label_nbytes);
    tbed_json_u64(json, NULL, node->total);
    tbed_json_u64(json, NULL, node->self);
    tbed_json_u64(json, NULL, node->count);
    if (has_old)
        tbed_json_u64(json, NULL, node->old_total);
    tbed_json_array_close(json);
}

/* What is left out below a node that is shown. */
static void add_other(struct tree_node *other, const struct tree_node *node)
{
    other->label = "<other>";
    other->label_nbytes = sizeof "<other>" - 1;
    other->total += node->total;
    other->self += node->total;
    other->count += node->count;
    other->old_total += node->old_total;
}

/* Decides which nodes are shown: 'numbers' are theirs in what is written. */
static void number_nodes(const struct tree *tree, uint64_t least, size_t *numbers, struct tree_node *others)
{
    size_t count = 0;
    for (size_t i = 0; i < tree->nodes.count; i++) {
        const struct tree_node *node = &tree->nodes.items[i];
        bool has_parent = node->parent < i, is_below = has_parent && numbers[node->parent] == NOT_SHOWN;
        numbers[i] = NOT_SHOWN;
        if (!is_below && (!has_parent || weight_of(node) >= least))
            numbers[i] = count++;
        else if (!is_below)
            add_other(&others[node->parent], node);
    }
}

static void put_nodes(struct answer *answer, const struct tree *tree, const size_t *numbers,
                      const struct tree_node *others, bool has_old)
{
    uint64_t total = 0, old_total = 0;
    tbed_json_array_open(&answer->json, "nodes");
    for (size_t i = 0; i < tree->nodes.count; i++) {
        const struct tree_node *node = &tree->nodes.items[i];
        if (numbers[i] == NOT_SHOWN)
            continue;
        bool is_root = node->parent >= i;
        put_node(answer, is_root ? NOT_SHOWN : numbers[node->parent], node, has_old);
        total += is_root ? node->total : 0;
        old_total += is_root ? node->old_total : 0;
    }
    for (size_t i = 0; i < tree->nodes.count; i++)
        if (others[i].count > 0)
            put_node(answer, numbers[i], &others[i], has_old);
    tbed_json_array_close(&answer->json);
    tbed_json_u64(&answer->json, "total", total);
    if (has_old)
        tbed_json_u64(&answer->json, "old_total", old_total);
}

enum tbed_status tree_put(const struct tree *tree, struct answer *answer, bool has_old)
{
    size_t count = tree->nodes.count;
    size_t *numbers = calloc(count + 1, sizeof *numbers);
    struct tree_node *others = calloc(count + 1, sizeof *others);
    uint64_t least = least_weight(tree);
    bool fine = numbers != NULL && others != NULL && least != UINT64_MAX && !tree->is_out_of_memory;
    if (fine) {
        number_nodes(tree, least, numbers, others);
        put_nodes(answer, tree, numbers, others, has_old);
    }
    free(numbers);
    free(others);
    return fine ? TBED_OK : TBED_ERR_MEMORY;
}
