/*
 * Pairs of messages that are open; see scope_pairs.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/scopes/scope_pairs.h"

#include "reader/analysis/scopes/scope_messages.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_BACK_MAX 4096 /* open pairs that a closing text is compared with: no file may take for ever */

enum tbed_status tbed_scope_pairs_open(struct scope_pairs *pairs, const struct tbed_reader *reader)
{
    static const struct tbed_stacks_options none;
    memset(pairs, 0, sizeof *pairs);
    return tbed_stack_labels_open(&pairs->names, reader, &none);
}

void tbed_scope_pairs_close(struct scope_pairs *pairs)
{
    tbed_stack_labels_close(&pairs->names);
    free(pairs->items);
    free(pairs->newest);
}

/* ---- Lists ---- */

static struct scope_link *link_of(struct scope_pairs *pairs, uint32_t pair, bool attached)
{
    struct scope_pair *item = &pairs->items[pair - 1];
    return attached ? &item->attached : &item->all;
}

static void append(struct scope_pairs *pairs, uint32_t *last, uint32_t pair, bool attached)
{
    *link_of(pairs, pair, attached) = (struct scope_link){*last, 0};
    if (*last != 0)
        link_of(pairs, *last, attached)->after = pair;
    *last = pair;
}

static void take_out(struct scope_pairs *pairs, uint32_t *last, uint32_t pair, bool attached)
{
    struct scope_link link = *link_of(pairs, pair, attached);
    if (link.before != 0)
        link_of(pairs, link.before, attached)->after = link.after;
    if (link.after != 0)
        link_of(pairs, link.after, attached)->before = link.before;
    else
        *last = link.before;
}

static void detach(struct scope_pairs *pairs, uint32_t pair)
{
    take_out(pairs, &pairs->last_attached, pair, true);
    pairs->items[pair - 1].is_attached = false;
    pairs->attached_count--;
}

void tbed_scope_pair_detach_top(struct scope_pairs *pairs)
{
    detach(pairs, pairs->last_attached);
}

/* ---- Beginning ---- */

static bool have_newest(struct scope_pairs *pairs)
{
    if (pairs->names.count <= pairs->newest_room)
        return true;
    size_t room = pairs->names.room;
    uint32_t *newest = realloc(pairs->newest, room * sizeof *newest);
    if (newest == NULL)
        return false;
    memset(newest + pairs->newest_room, 0, (room - pairs->newest_room) * sizeof *newest);
    pairs->newest = newest;
    pairs->newest_room = room;
    return true;
}

/* An unused one; 0: no memory. */
static uint32_t take_free(struct scope_pairs *pairs)
{
    uint32_t pair = pairs->free_list;
    if (pair != 0) {
        pairs->free_list = pairs->items[pair - 1].older;
        return pair;
    }
    if (pairs->count == pairs->room) {
        size_t room = pairs->room * 2 + 64;
        struct scope_pair *items = room < UINT32_MAX ? realloc(pairs->items, room * sizeof *items) : NULL;
        if (items == NULL)
            return 0;
        pairs->items = items;
        pairs->room = room;
    }
    return (uint32_t)++pairs->count;
}

struct scope_pair *tbed_scope_pair_begin(struct scope_pairs *pairs, const char *name, size_t nbytes,
                                         size_t level)
{
    uint32_t number, pair;
    if (tbed_stack_label_intern(&pairs->names, name, nbytes, &number) != TBED_OK || !have_newest(pairs) ||
        (pair = take_free(pairs)) == 0)
        return NULL;
    struct scope_pair *item = &pairs->items[pair - 1];
    size_t unit = name[0] == SCOPE_UNIT; /* it has no context */
    *item = (struct scope_pair){.scope = {.is_pair = true,
                                          .id = number,
                                          .name = pairs->names.items[number].text + unit,
                                          .name_nbytes = nbytes - unit,
                                          .category = TBED_ID_INVALID},
                                .level = level,
                                .older = pairs->newest[number],
                                .is_attached = true};
    pairs->newest[number] = pair;
    append(pairs, &pairs->last, pair, false);
    append(pairs, &pairs->last_attached, pair, true);
    pairs->attached_count++;
    return item;
}

/* ---- Closing ---- */

/* Whether what was closed is the start of this one's text; U+001E ends the context, which is the same then. */
static bool is_start_of(const char *name, size_t nbytes, const struct stack_label *of)
{
    bool has_text = name[nbytes - 1] != SCOPE_UNIT;
    return has_text && of->nbytes > nbytes && memcmp(of->text, name, nbytes) == 0;
}

uint32_t tbed_scope_pair_find(struct scope_pairs *pairs, const char *name, size_t nbytes)
{
    uint32_t number, at = pairs->last;
    if (tbed_stack_label_find(&pairs->names, name, nbytes, &number) && pairs->newest[number] != 0)
        return pairs->newest[number];
    for (unsigned i = 0; i < LOOK_BACK_MAX && at != 0; i++, at = pairs->items[at - 1].all.before)
        if (is_start_of(name, nbytes, &pairs->names.items[pairs->items[at - 1].scope.id]))
            return at;
    return 0;
}

struct scope_pair *tbed_scope_pair_remove(struct scope_pairs *pairs, uint32_t pair)
{
    struct scope_pair *item = &pairs->items[pair - 1];
    if (item->is_attached)
        detach(pairs, pair);
    take_out(pairs, &pairs->last, pair, false);
    pairs->newest[item->scope.id] = item->older;
    item->older = pairs->free_list;
    pairs->free_list = pair;
    return item;
}
