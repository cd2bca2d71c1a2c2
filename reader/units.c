/*
 * Units that overlap: each is kept or not as a reader would decide who takes them one by one in file order.
 *
 * A tree over the units, in order of their first ids, holds what the kept ones among them reach and where
 * they start; so each decision takes the logarithm of their number, however hostile they are.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/internal.h"

#include <stdlib.h>

struct reach { /* of the kept units below a node */
    uint32_t start;
    uint32_t end; /* 0: there is none */
};

struct tree {
    struct reach *nodes; /* the leaves are the last 'count' */
    size_t count;
};

static void keep(struct tree *tree, size_t at, struct reach reach)
{
    for (at += tree->count; at > 0; at /= 2) {
        struct reach *node = &tree->nodes[at];
        if (node->end == 0 || reach.start < node->start)
            node->start = reach.start;
        if (reach.end > node->end)
            node->end = reach.end;
    }
}

/* What the kept units at [first, end) start at and reach, together. */
static struct reach ask(const struct tree *tree, size_t first, size_t end)
{
    struct reach all = {.start = UINT32_MAX};
    for (first += tree->count, end += tree->count; first < end; first /= 2, end /= 2) {
        const struct reach *sides[2] = {first % 2 == 1 ? &tree->nodes[first++] : NULL,
                                        end % 2 == 1 ? &tree->nodes[--end] : NULL};
        for (size_t i = 0; i < 2; i++) {
            if (sides[i] == NULL || sides[i]->end == 0)
                continue;
            all.start = sides[i]->start < all.start ? sides[i]->start : all.start;
            all.end = sides[i]->end > all.end ? sides[i]->end : all.end;
        }
    }
    return all;
}

struct turn { /* in file order */
    uint64_t offset;
    size_t at;
};

static int compare_turns(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void decide(const struct tbed_reader *reader, struct tree *tree, struct tbed_keyed_unit *unit,
                   size_t at)
{
    struct reach reach = {unit->info.first_id, unit->info.first_id + unit->info.id_count};
    if (unit->info.id_count == 0)
        return;
    if (ask(tree, 0, at).end <= reach.start && ask(tree, at + 1, tree->count).start >= reach.end) {
        keep(tree, at, reach);
        return;
    }
    tbed_damage_tell(reader, TBED_ERR_RECORD_RANGE, unit->keyed.offset, unit->keyed.cell,
                     unit->info.first_id);
    unit->info.id_count = 0;
}

bool tbed_units_separate(const struct tbed_reader *reader, struct tbed_vector *units)
{
    struct tbed_keyed_unit *items = units->items;
    size_t count = units->count, kept = 0;
    struct tree tree = {.nodes = calloc(2 * count + 1, sizeof *tree.nodes), .count = count};
    struct turn *turns = calloc(count + 1, sizeof *turns);
    bool is_done = tree.nodes != NULL && turns != NULL;
    if (is_done) {
        for (size_t i = 0; i < count; i++)
            turns[i] = (struct turn){items[i].keyed.offset, i};
        qsort(turns, count, sizeof *turns, compare_turns);
        for (size_t i = 0; i < count; i++)
            decide(reader, &tree, &items[turns[i].at], turns[i].at);
        for (size_t i = 0; i < count; i++)
            if (items[i].info.id_count > 0)
                items[kept++] = items[i];
        units->count = kept;
    }
    free(tree.nodes);
    free(turns);
    return is_done;
}
