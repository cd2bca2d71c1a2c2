/*
 * A tree of labels with figures, for flame graphs: cut to the nodes that can be seen, and written.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VIEW_TREE_H
#define TRACEBED_VIEW_TREE_H

#include "reader/tools/view/answers/answer.h"

struct tree_node {
    size_t parent; /* the number of its node, which was added before; SIZE_MAX: none */
    const char *label;
    size_t label_nbytes;
    uint64_t total, self, count, old_total;
};

struct tree { /* zeroed: empty */
    TBED_VECTOR(struct tree_node) nodes;
    bool is_out_of_memory;
};

void tree_add(struct tree *tree, const struct tree_node *node);

/*
 * Writes "total" and "nodes", of which there are at most 5,000: those with the most time. All others below a node become one,
 * "<other>". 'has_old': also with the totals of before.
 */
enum tbed_status tree_put(const struct tree *tree, struct answer *answer, bool has_old);
void tree_free(struct tree *tree);

#endif
