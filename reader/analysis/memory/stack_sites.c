/*
 * Groups call stacks by the names of their frames; see stack_sites.h.
 *
 * Stacks share their outer frames, so they form a tree. It is walked twice: by locations, to find out which frames there
 * are, and, when these have names, by names.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/analysis/memory/stack_sites.h"
#include "reader/analysis/shared/named.h"
#include "reader/core/base/hashmap.h"
#include "reader/core/base/vector.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/records/keyed.h"
#include "reader/core/records/metadata.h"

#define ROOT            0u /* above all outermost frames */
#define PLACE_COUNT_MIN 1024u

struct node { /* a stack by the names of its frames */
    uint32_t parent;
    uint32_t name; /* its rank */
    uint32_t rank; /* of those that are asked for; until then, whether it is */
};

/* A node in the order of the sites. Most differ in the names of their two innermost frames. */
struct ordered_node {
    uint64_t
        names; /* that of the innermost frame, above that of its caller, which is 0 for none, else its rank + 1 */
    uint32_t node;
};

struct frame_slot { /* a location */
    uint64_t key;
    uint32_t number; /* later the rank of its name */
};

struct step { /* on the way from a stack outwards */
    uint32_t location;
    uint32_t *node; /* where its node is kept; NULL: nowhere */
};

struct stacks {
    const struct tbed_reader *reader;
    uint32_t *first;   /* of each record of stacks: the number of its first one */
    uint32_t *node_of; /* each stack's node; until there are nodes, whether its frames are known */
    uint32_t stack_count;
    size_t seen_count; /* steps on all paths: there are at most as many nodes */
    size_t record;     /* of the stack looked up last */
    TBED_HASHMAP(struct frame_slot) known_frames;
    TBED_VECTOR(struct named) frames;
    TBED_VECTOR(struct node) nodes; /* parents before children */
    uint32_t *places;               /* hash table of nodes by parent and name; ROOT: free */
    size_t place_count;
    TBED_VECTOR(struct step) path; /* the innermost first */
};

/* ---- The stacks of the trace ---- */

/* Numbers all stacks of the trace. False: no memory. */
static bool number_stacks(struct stacks *stacks)
{
    const struct tbed_vector *records = &stacks->reader->metadata->stacks;
    const struct tbed_keyed_stacks *items = records->items;
    stacks->first = calloc(records->count + 1, sizeof *stacks->first);
    for (size_t i = 0; stacks->first != NULL && i < records->count; i++) {
        stacks->first[i] = stacks->stack_count;
        stacks->stack_count += items[i].count;
    }
    stacks->node_of = calloc((size_t)stacks->stack_count + 1, sizeof *stacks->node_of);
    return stacks->first != NULL && stacks->node_of != NULL;
}

/* Finds the record of a stack, or of a type. Most are in that of the one before. False: the id is neither. */
static bool record_find(struct stacks *stacks, uint32_t id)
{
    const struct tbed_vector *records = &stacks->reader->metadata->stacks;
    const struct tbed_keyed_stacks *items = records->items;
    if (records->count > 0 && id - items[stacks->record].keyed.key < items[stacks->record].count)
        return true;
    size_t count = tbed_keyed_count_up_to(records, sizeof *items, id);
    if (count == 0 || id - items[count - 1].keyed.key >= items[count - 1].count)
        return false;
    stacks->record = count - 1;
    return true;
}

static struct tbed_disk_id_pair pair_of(const struct tbed_keyed_stacks *stacks, uint32_t index)
{
    struct tbed_disk_id_pair pair;
    memcpy(&pair, stacks->pairs + index * sizeof pair, sizeof pair);
    return pair;
}

/* The location of a stack, its parent and where its node is kept. An id that is no stack is a location: NULL. */
static uint32_t *stack_look_up(struct stacks *stacks, uint32_t id, uint32_t *location_ret,
                               uint32_t *parent_ret)
{
    const struct tbed_keyed_stacks *items = stacks->reader->metadata->stacks.items;
    uint32_t type;
    tbed_typed_get(stacks->reader, id, &id, &type);
    if (!record_find(stacks, id) || items[stacks->record].has_types) {
        *location_ret = id;
        *parent_ret = TBED_ID_INVALID;
        return NULL;
    }
    uint32_t index = id - items[stacks->record].keyed.key;
    struct tbed_disk_id_pair pair = pair_of(&items[stacks->record], index);
    uint32_t parent = tbed_le32_load(pair.second);
    *location_ret = tbed_le32_load(pair.first);
    *parent_ret = parent < id ? parent : TBED_ID_INVALID; /* so there is no circle */
    return &stacks->node_of[stacks->first[stacks->record] + index];
}

/*
 * Puts the id and its parents on the path, up to one that has been seen. Returns the latter's node; ROOT: it has none,
 * or there is none. False: no memory.
 */
static bool path_find(struct stacks *stacks, uint32_t id, uint32_t *node_ret)
{
    *node_ret = ROOT;
    stacks->path.count = 0;
    do { /* a parent's id is below its child's, so there is no circle */
        uint32_t location, *node = stack_look_up(stacks, id, &location, &id);
        if (node != NULL && *node != ROOT) {
            *node_ret = *node;
            return true;
        }
        struct step *step = TBED_VECTOR_PUSH(&stacks->path);
        if (step == NULL)
            return false;
        *step = (struct step){location, node};
    } while (id != TBED_ID_INVALID);
    return true;
}

/* ---- Frames ---- */

static bool frame_add(struct stacks *stacks, uint32_t location)
{
    struct frame_slot *slot = TBED_HASHMAP_ADD(&stacks->known_frames, tbed_hashmap_key32(location));
    if (slot == NULL || slot->number != 0)
        return slot != NULL;
    struct named *frame = TBED_VECTOR_PUSH(&stacks->frames);
    if (frame == NULL)
        return false;
    *frame = (struct named){.id = location};
    slot->number = (uint32_t)stacks->frames.count;
    return true;
}

/* Finds the frames of all stacks. False: no memory. */
static bool find_frames(struct stacks *stacks, const uint32_t *ids, size_t count)
{
    uint32_t seen;
    for (size_t i = 0; i < count; i++) {
        if (!path_find(stacks, ids[i], &seen))
            return false;
        stacks->seen_count += stacks->path.count;
        for (size_t j = 0; j < stacks->path.count; j++) {
            const struct step *step = &stacks->path.items[j];
            if (step->node != NULL)
                *step->node = 1;
            if (!frame_add(stacks, step->location))
                return false;
        }
    }
    return true;
}

/* Names the frames, and notes the ranks of their names. False: no memory. */
static bool name_frames(struct stacks *stacks, const struct tbed_analysis_options *options)
{
    size_t count = stacks->frames.count;
    struct named *frames = stacks->frames.items;
    struct named_texts texts = {0};
    bool fine = tbed_named_resolve(&texts, stacks->reader, options, frames, count) == TBED_OK;
    uint32_t rank = 0;
    for (size_t i = 0, same; fine && i < count; i += same, rank++) {
        same = tbed_named_group(frames, count, i);
        for (size_t j = i; j < i + same; j++) {
            struct frame_slot *slot =
                TBED_HASHMAP_FIND(&stacks->known_frames, tbed_hashmap_key32(frames[j].id));
            slot->number = rank;
        }
    }
    tbed_named_texts_free(&texts);
    return fine;
}

/* ---- Nodes ---- */

/* The place of the node with this parent and name, or the free one that it would get. */
static uint32_t *node_place(const struct stacks *stacks, uint32_t parent, uint32_t name)
{
    size_t mask = stacks->place_count - 1;
    size_t at = tbed_hash_home((uint64_t)parent << 32 | name, (unsigned)__builtin_ctzll(stacks->place_count));
    for (;; at = (at + 1) & mask) {
        const struct node *node = &stacks->nodes.items[stacks->places[at]];
        if (stacks->places[at] == ROOT || (node->parent == parent && node->name == name))
            return &stacks->places[at];
    }
}

/* ROOT: no memory. */
static uint32_t node_get(struct stacks *stacks, uint32_t parent, uint32_t name)
{
    uint32_t *place = node_place(stacks, parent, name);
    if (*place != ROOT)
        return *place;
    struct node *node = TBED_VECTOR_PUSH(&stacks->nodes);
    if (node == NULL)
        return ROOT;
    *node = (struct node){.parent = parent, .name = name};
    return *place = (uint32_t)stacks->nodes.count - 1;
}

/* Makes room for as many nodes as there are stacks, and the root. False: no memory. */
static bool nodes_begin(struct stacks *stacks)
{
    struct node *root = TBED_VECTOR_PUSH(&stacks->nodes);
    if (root == NULL)
        return false;
    *root = (struct node){.name = UINT32_MAX};
    stacks->place_count = PLACE_COUNT_MIN;
    while (stacks->place_count / 2 <= stacks->seen_count)
        stacks->place_count *= 2;
    stacks->places = calloc(stacks->place_count, sizeof *stacks->places);
    memset(stacks->node_of, 0, stacks->stack_count * sizeof *stacks->node_of);
    return stacks->places != NULL;
}

/* Sets the nodes of all stacks. False: no memory. */
static bool find_nodes(struct stacks *stacks, const uint32_t *ids, uint32_t *nodes_ret, size_t count)
{
    if (!nodes_begin(stacks))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!path_find(stacks, ids[i], &nodes_ret[i]))
            return false;
        for (size_t j = stacks->path.count; j-- > 0;) {
            const struct step *step = &stacks->path.items[j];
            const struct frame_slot *frame =
                TBED_HASHMAP_FIND(&stacks->known_frames, tbed_hashmap_key32(step->location));
            nodes_ret[i] = node_get(stacks, nodes_ret[i], frame->number);
            if (nodes_ret[i] == ROOT)
                return false;
            if (step->node != NULL)
                *step->node = nodes_ret[i];
        }
    }
    return true;
}

/* ---- In order ---- */

static int compare_paths(const struct node *nodes, uint32_t a, uint32_t b)
{
    while (a != b && a != ROOT && b != ROOT) {
        if (nodes[a].name != nodes[b].name)
            return nodes[a].name < nodes[b].name ? -1 : 1;
        a = nodes[a].parent;
        b = nodes[b].parent;
    }
    return a == b ? 0 : a == ROOT ? -1 : 1;
}

static int compare_nodes(const void *left, const void *right, void *context)
{
    const struct ordered_node *a = left, *b = right;
    if (a->names != b->names)
        return a->names < b->names ? -1 : 1;
    return compare_paths(context, a->node, b->node);
}

static struct ordered_node node_ordered(const struct node *nodes, uint32_t node)
{
    uint32_t parent = nodes[node].parent;
    uint64_t caller = parent != ROOT ? (uint64_t)nodes[parent].name + 1 : 0;
    return (struct ordered_node){.names = (uint64_t)nodes[node].name << 32 | caller, .node = node};
}

/* Replaces the nodes by their ranks. False: no memory. */
static bool rank_nodes(const struct stacks *stacks, uint32_t *numbers, size_t count, size_t *rank_count_ret)
{
    struct node *nodes = stacks->nodes.items;
    struct ordered_node *order = malloc((count + 1) * sizeof *order);
    size_t used = 0;
    if (order == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (nodes[numbers[i]].rank == 0)
            order[used++] = node_ordered(nodes, numbers[i]);
        nodes[numbers[i]].rank = 1;
    }
    if (used > 1)
        qsort_r(order, used, sizeof *order, compare_nodes, nodes);
    for (size_t i = 0; i < used; i++)
        nodes[order[i].node].rank = (uint32_t)i;
    for (size_t i = 0; i < count; i++)
        numbers[i] = nodes[numbers[i]].rank;
    free(order);
    *rank_count_ret = used;
    return true;
}

static void stacks_free(struct stacks *stacks)
{
    free(stacks->first);
    free(stacks->node_of);
    free(stacks->places);
    tbed_hashmap_free(&stacks->known_frames.map);
    tbed_vector_free(&stacks->frames.vector);
    tbed_vector_free(&stacks->nodes.vector);
    tbed_vector_free(&stacks->path.vector);
}

enum tbed_status tbed_stack_sites_rank(const struct tbed_reader *reader,
                                       const struct tbed_analysis_options *options, const uint32_t *ids,
                                       size_t count, uint32_t **ranks_ret, size_t *rank_count_ret)
{
    struct stacks stacks = {.reader = reader};
    uint32_t *nodes = calloc(count + 1, sizeof *nodes);
    bool fine = nodes != NULL && number_stacks(&stacks) && find_frames(&stacks, ids, count) &&
                name_frames(&stacks, options) && find_nodes(&stacks, ids, nodes, count) &&
                rank_nodes(&stacks, nodes, count, rank_count_ret);
    stacks_free(&stacks);
    if (!fine) {
        free(nodes);
        return TBED_ERR_MEMORY;
    }
    *ranks_ret = nodes;
    return TBED_OK;
}
