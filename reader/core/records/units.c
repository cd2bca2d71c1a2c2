/*
 * Units and stacks that overlap. Which of them are kept is as if a reader had taken them one by one in file order and
 * refused each that overlaps one before it.
 *
 * A tree over their ranges, in order of their first ids, holds where the kept ones below each node start and end, so
 * each decision takes logarithmic time, however hostile the file is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"

#include <stdlib.h>

struct range { /* a unit or stacks */
    struct tbed_keyed keyed;
    uint32_t *count; /* 0: not kept */
};

struct reach { /* of the kept ones below a node */
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

/* The lowest start and the highest end of the kept ranges at [first, end). */
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

static void decide(const struct tbed_reader *reader, struct tree *tree, const struct range *range, size_t at)
{
    const struct tbed_keyed *keyed = &range->keyed;
    struct reach reach = {keyed->key, keyed->key + *range->count};
    if (*range->count == 0)
        return;
    if (ask(tree, 0, at).end <= reach.start && ask(tree, at + 1, tree->count).start >= reach.end) {
        keep(tree, at, reach);
        return;
    }
    tbed_damage_tell(reader, TBED_ERR_RECORD_RANGE, keyed->offset, keyed->cell, keyed->key);
    *range->count = 0;
}

static void collect(struct tbed_metadata *metadata, struct tbed_vector *ranges)
{
    struct tbed_keyed_unit *units = metadata->units.items;
    struct tbed_keyed_stacks *stacks = metadata->stacks.items;
    struct range *items = ranges->items;
    for (size_t i = 0; i < metadata->units.count; i++)
        items[ranges->count++] = (struct range){units[i].keyed, &units[i].info.id_count};
    for (size_t i = 0; i < metadata->stacks.count; i++)
        items[ranges->count++] = (struct range){stacks[i].keyed, &stacks[i].count};
    tbed_keyed_sort(ranges, sizeof *items);
}

static void remove_empty(struct tbed_metadata *metadata)
{
    struct tbed_keyed_unit *units = metadata->units.items;
    struct tbed_keyed_stacks *stacks = metadata->stacks.items;
    size_t kept = 0;
    for (size_t i = 0; i < metadata->units.count; i++)
        if (units[i].info.id_count > 0)
            units[kept++] = units[i];
    metadata->units.count = kept;
    kept = 0;
    for (size_t i = 0; i < metadata->stacks.count; i++)
        if (stacks[i].count > 0)
            stacks[kept++] = stacks[i];
    metadata->stacks.count = kept;
}

bool tbed_ranges_separate(const struct tbed_reader *reader, struct tbed_metadata *metadata)
{
    size_t count = metadata->units.count + metadata->stacks.count;
    struct tree tree = {.nodes = calloc(2 * count + 1, sizeof *tree.nodes), .count = count};
    struct turn *turns = calloc(count + 1, sizeof *turns);
    struct range *items = calloc(count + 1, sizeof *items);
    struct tbed_vector ranges = {.items = items};
    bool is_done = tree.nodes != NULL && turns != NULL && items != NULL;
    tbed_keyed_sort(&metadata->units, sizeof(struct tbed_keyed_unit));
    tbed_keyed_sort(&metadata->stacks, sizeof(struct tbed_keyed_stacks));
    if (is_done) {
        collect(metadata, &ranges);
        for (size_t i = 0; i < count; i++)
            turns[i] = (struct turn){items[i].keyed.offset, i};
        qsort(turns, count, sizeof *turns, compare_turns);
        for (size_t i = 0; i < count; i++)
            decide(reader, &tree, &items[turns[i].at], turns[i].at);
        remove_empty(metadata);
    }
    free(tree.nodes);
    free(turns);
    free(items);
    return is_done;
}
