/*
 * The tree of paths, and the rows made from it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/shared/named.h"
#include "reader/analysis/stacks/stacks_parts.h"

#include <stdlib.h>
#include <string.h>

enum tbed_status tbed_stack_tree_open(struct stack_tree *tree)
{
    *tree = (struct stack_tree){.count = 1, .room = 64, .slot_count = 128};
    tree->nodes = calloc(tree->room, sizeof *tree->nodes);
    tree->slots = calloc(tree->slot_count, sizeof *tree->slots);
    return tree->nodes != NULL && tree->slots != NULL ? TBED_OK : TBED_ERR_MEMORY;
}

void tbed_stack_tree_close(struct stack_tree *tree)
{
    free(tree->nodes);
    free(tree->slots);
}

static uint32_t *find(const struct stack_tree *tree, uint32_t parent, uint32_t label)
{
    uint64_t hash = ((uint64_t)parent << 32 | label) * 0x9E3779B97F4A7C15u;
    size_t slot = (hash ^ hash >> 32) & (tree->slot_count - 1);
    for (; tree->slots[slot] != 0; slot = (slot + 1) & (tree->slot_count - 1)) {
        const struct stack_node *node = &tree->nodes[tree->slots[slot]];
        if (node->parent == parent && node->label == label)
            break;
    }
    return &tree->slots[slot];
}

static bool grow(struct stack_tree *tree)
{
    if (tree->count == tree->room) {
        struct stack_node *nodes = realloc(tree->nodes, tree->room * 2 * sizeof *nodes);
        if (nodes == NULL)
            return false;
        tree->nodes = nodes;
        tree->room *= 2;
    }
    if (tree->count * 2 < tree->slot_count)
        return true;
    uint32_t *slots = calloc(tree->slot_count * 2, sizeof *slots);
    if (slots == NULL)
        return false;
    free(tree->slots);
    tree->slots = slots;
    tree->slot_count *= 2;
    for (size_t i = 1; i < tree->count; i++)
        *find(tree, tree->nodes[i].parent, tree->nodes[i].label) = (uint32_t)i;
    return true;
}

enum tbed_status tbed_stack_tree_child(struct stack_tree *tree, uint32_t parent, uint32_t label,
                                       uint32_t *node_ret)
{
    uint32_t *slot = find(tree, parent, label);
    if (*slot == 0) {
        if (tree->count > UINT32_MAX - 1 || !grow(tree))
            return TBED_ERR_MEMORY;
        slot = find(tree, parent, label); /* the slots may have moved */
        *slot = (uint32_t)tree->count;
        tree->nodes[tree->count++] =
            (struct stack_node){.parent = parent, .label = label, .depth = tree->nodes[parent].depth + 1};
    }
    *node_ret = *slot;
    return TBED_OK;
}

enum tbed_status tbed_stack_tree_merge(struct stack_tree *into, const struct stack_tree *from,
                                       const struct stack_labels *labels)
{
    uint32_t *places = calloc(from->count, sizeof *places); /* the node in 'into' for each node of 'from' */
    enum tbed_status status = places != NULL ? TBED_OK : TBED_ERR_MEMORY;
    for (size_t i = 1; i < from->count && status == TBED_OK; i++) {
        const struct stack_node *node = &from->nodes[i];
        uint32_t label = labels != NULL ? tbed_stack_label_named(labels, node->label) : node->label;
        status = tbed_stack_tree_child(into, places[node->parent], label, &places[i]);
        if (status == TBED_OK) {
            tbed_stack_node_add(&into->nodes[places[i]], node->count, node->ticks);
            into->nodes[places[i]].open_count += node->open_count;
        }
    }
    free(places);
    return status;
}

/*
 * The root is not a span. At the depth limit, all deeper spans share a node, which has the time of the outermost
 * ones.
 */
enum tbed_status tbed_stack_tree_place(struct stack_tree *tree, uint32_t root, uint32_t parent,
                                       uint32_t label, uint32_t deeper_label, uint32_t *node_ret,
                                       bool *is_inside)
{
    uint32_t depth = tree->nodes[parent].depth - tree->nodes[root].depth;
    *node_ret = parent;
    *is_inside = depth > TBED_STACK_DEPTH_MAX;
    if (*is_inside)
        return TBED_OK;
    return tbed_stack_tree_child(tree, parent, depth < TBED_STACK_DEPTH_MAX ? label : deeper_label, node_ret);
}

/* ---- Rows ---- */

/* A node with its sort key: by parent, then by label. */
struct place {
    uint32_t parent, rank, node;
};

struct ranked {
    const struct stack_label *label;
    uint32_t number;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct stack_label *a = ((const struct ranked *)left)->label;
    const struct stack_label *b = ((const struct ranked *)right)->label;
    return tbed_text_order(a->text, a->nbytes, b->text, b->nbytes);
}

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* The rank of each label in the order of texts. NULL: no memory. */
static uint32_t *rank_labels(const struct stack_label *labels, size_t count)
{
    struct ranked *sorted = malloc((count + 1) * sizeof *sorted);
    uint32_t *ranks = malloc((count + 1) * sizeof *ranks);
    if (sorted == NULL || ranks == NULL) {
        free(sorted);
        free(ranks);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct ranked){&labels[i], (uint32_t)i};
    if (count > 1)
        qsort(sorted, count, sizeof *sorted, compare_ranked);
    for (size_t i = 0; i < count; i++)
        ranks[sorted[i].number] = (uint32_t)i;
    free(sorted);
    return ranks;
}

/* All nodes except the top, sorted. NULL: no memory. */
static struct place *sort_nodes(const struct stack_tree *tree, const struct stack_label *labels,
                                size_t label_count)
{
    uint32_t *ranks = rank_labels(labels, label_count);
    struct place *places = malloc(tree->count * sizeof *places);
    for (size_t i = 1; ranks != NULL && places != NULL && i < tree->count; i++)
        places[i - 1] = (struct place){tree->nodes[i].parent, ranks[tree->nodes[i].label], (uint32_t)i};
    if (ranks != NULL && places != NULL && tree->count > 2)
        qsort(places, tree->count - 1, sizeof *places, compare_places);
    if (ranks == NULL) {
        free(places);
        places = NULL;
    }
    free(ranks);
    return places;
}

/* The index in 'places' of each node's first child; one more at the end. */
static void find_children(const struct place *places, size_t count, uint32_t *firsts, size_t node_count)
{
    size_t at = 0;
    for (size_t node = 0; node <= node_count; node++) {
        while (at < count && places[at].parent < node)
            at++;
        firsts[node] = (uint32_t)at;
    }
}

/*
 * Visits each node before its children, without recursion: 'next' starts at the first child of each node and
 * advances. The parent of a row is found through its node's parent, whose row already exists ('rows_of').
 */
static void lay_out(const struct stack_tree *tree, const struct stack_label *labels,
                    const struct place *places, const uint32_t *firsts, uint32_t *next, size_t *rows_of,
                    struct tbed_stack_row *rows)
{
    uint32_t node = 0;
    size_t count = 0;
    while (node != 0 || next[0] < firsts[1]) {
        if (next[node] == firsts[node + 1]) {
            node = tree->nodes[node].parent;
            continue;
        }
        uint32_t parent = node;
        node = places[next[node]++].node;
        const struct stack_node *from = &tree->nodes[node];
        uint32_t id = labels[from->label].id;
        rows_of[node] = count;
        rows[count++] = (struct tbed_stack_row){
            .label = labels[from->label].text,
            .label_nbytes = labels[from->label].nbytes,
            .id = id != STACK_LABEL_NO_ID ? id : TBED_ID_INVALID,
            .parent = parent == 0 ? SIZE_MAX : rows_of[parent],
            .depth = from->depth - 1,
            .count = from->count,
            .open_count = from->open_count,
            .self_ticks = from->ticks, /* the children's ticks are subtracted below */
        };
    }
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* From the last row to the first: a nested row comes after the row that it is nested in. */
static void share_time(struct tbed_stack_row *rows, uint64_t *children, size_t count,
                       uint64_t *negative_count)
{
    for (size_t i = count; i-- > 0;) {
        struct tbed_stack_row *row = &rows[i];
        uint64_t own = row->self_ticks;
        *negative_count += children[i] > own;
        row->span_ticks = own;
        row->signed_self_ticks = (int64_t)(own - children[i]);
        row->self_ticks = children[i] > own ? 0 : own - children[i];
        row->total_ticks = add_up(row->self_ticks, row->total_ticks);
        if (row->parent == SIZE_MAX)
            continue;
        children[row->parent] = add_up(children[row->parent], own);
        rows[row->parent].total_ticks = add_up(rows[row->parent].total_ticks, row->total_ticks);
    }
}

enum tbed_status tbed_stack_tree_rows(const struct stack_tree *tree, const struct stack_label *labels,
                                      size_t label_count, struct tbed_stack_row **rows_ret,
                                      uint64_t *negative_count)
{
    size_t count = tree->count - 1;
    struct tbed_stack_row *rows = calloc(count + 1, sizeof *rows);
    struct place *places = sort_nodes(tree, labels, label_count);
    uint32_t *firsts = calloc(tree->count + 1, sizeof *firsts);
    uint32_t *next = calloc(tree->count + 1, sizeof *next);
    size_t *rows_of = calloc(tree->count, sizeof *rows_of);
    uint64_t *children = calloc(tree->count, sizeof *children);
    bool enough = rows != NULL && places != NULL && firsts != NULL && next != NULL && rows_of != NULL &&
                  children != NULL;
    if (enough) {
        find_children(places, count, firsts, tree->count);
        memcpy(next, firsts, (tree->count + 1) * sizeof *next);
        lay_out(tree, labels, places, firsts, next, rows_of, rows);
        share_time(rows, children, count, negative_count);
        *rows_ret = rows;
    } else
        free(rows);
    free(places);
    free(firsts);
    free(next);
    free(rows_of);
    free(children);
    return enough ? TBED_OK : TBED_ERR_MEMORY;
}
