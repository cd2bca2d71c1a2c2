/*
 * Open scopes of a log; see rtl_scopes.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/rtl_log/rtl_scopes.h"

#include <stdlib.h>
#include <string.h>

#define HASH_FACTOR   UINT64_C(0x9E3779B97F4A7C15)
#define LOOK_BACK_MAX 4096 /* pairs that a closing text is compared with, to bound the time for any log */

/* The newest open scope of a name on a thread. */
struct newest {
    uint64_t key; /* thread << 32 | name */
    uint32_t scope;
    bool is_taken;
};

struct rtl_scopes {
    const struct rtl_names *names;
    struct rtl_scope *items;
    size_t count, room;
    uint32_t free_list; /* through 'below' */
    struct newest *newest;
    size_t newest_count, newest_room;
    uint64_t begin_count, open_count;
};

struct rtl_scopes *tbed_rtl_scopes_new(const struct rtl_names *names)
{
    struct rtl_scopes *scopes = calloc(1, sizeof *scopes);
    if (scopes == NULL)
        return NULL;
    scopes->names = names;
    scopes->newest_room = 1024;
    scopes->newest = calloc(scopes->newest_room, sizeof *scopes->newest);
    if (scopes->newest != NULL)
        return scopes;
    free(scopes);
    return NULL;
}

void tbed_rtl_scopes_free(struct rtl_scopes *scopes)
{
    if (scopes == NULL)
        return;
    free(scopes->items);
    free(scopes->newest);
    free(scopes);
}

struct rtl_scope *tbed_rtl_scope_at(const struct rtl_scopes *scopes, uint32_t scope)
{
    return &scopes->items[scope - 1];
}

/* ---- By name ---- */

static struct newest *newest_find(const struct newest *table, size_t room, uint64_t key)
{
    size_t at = (key * HASH_FACTOR >> 20) & (room - 1);
    while (table[at].is_taken && table[at].key != key)
        at = (at + 1) & (room - 1);
    return (struct newest *)&table[at];
}

static struct newest *newest_of(const struct rtl_scopes *scopes, uint32_t thread, uint32_t name)
{
    return newest_find(scopes->newest, scopes->newest_room, (uint64_t)thread << 32 | name);
}

static bool newest_grow(struct rtl_scopes *scopes)
{
    size_t room = scopes->newest_room * 2;
    struct newest *table = calloc(room, sizeof *table);
    if (table == NULL)
        return false;
    for (size_t i = 0; i < scopes->newest_room; i++)
        if (scopes->newest[i].is_taken)
            *newest_find(table, room, scopes->newest[i].key) = scopes->newest[i];
    free(scopes->newest);
    scopes->newest = table;
    scopes->newest_room = room;
    return true;
}

bool tbed_rtl_scope_is_open(const struct rtl_scopes *scopes, uint32_t thread, uint32_t name)
{
    return newest_of(scopes, thread, name)->scope != 0;
}

/* ---- Begin ---- */

/* An unused one; 0: no memory. */
static uint32_t take_free(struct rtl_scopes *scopes)
{
    uint32_t scope = scopes->free_list;
    if (scope != 0) {
        scopes->free_list = tbed_rtl_scope_at(scopes, scope)->below;
        return scope;
    }
    if (scopes->count == scopes->room) {
        size_t room = scopes->room * 2 + 64;
        struct rtl_scope *items = room < UINT32_MAX ? realloc(scopes->items, room * sizeof *items) : NULL;
        if (items == NULL)
            return 0;
        scopes->items = items;
        scopes->room = room;
    }
    return (uint32_t)++scopes->count;
}

bool tbed_rtl_scope_begin(struct rtl_scopes *scopes, struct rtl_thread_scopes *stack, uint32_t thread,
                          uint32_t name, bool is_pair)
{
    if (scopes->newest_count * 2 >= scopes->newest_room && !newest_grow(scopes))
        return false;
    uint32_t scope = take_free(scopes);
    if (scope == 0)
        return false;
    struct newest *newest = newest_of(scopes, thread, name);
    struct rtl_scope *item = tbed_rtl_scope_at(scopes, scope);
    scopes->newest_count += !newest->is_taken;
    *item = (struct rtl_scope){.thread = thread,
                               .name = name,
                               .ordinal = scopes->begin_count++,
                               .below = stack->top,
                               .older = newest->scope,
                               .is_pair = is_pair};
    *newest = (struct newest){(uint64_t)thread << 32 | name, scope, true};
    stack->top = scope;
    scopes->open_count += !is_pair;
    if (!is_pair)
        return true;
    item->before = stack->last_pair;
    if (item->before != 0)
        tbed_rtl_scope_at(scopes, item->before)->after = scope;
    stack->last_pair = scope;
    return true;
}

/* ---- End ---- */

uint32_t tbed_rtl_scope_find(const struct rtl_scopes *scopes, const struct rtl_thread_scopes *stack,
                             uint32_t thread, uint32_t name, bool is_pair)
{
    uint32_t scope = newest_of(scopes, thread, name)->scope;
    if (scope != 0 || !is_pair)
        return scope;
    scope = stack->last_pair;
    for (unsigned i = 0; i < LOOK_BACK_MAX && scope != 0; i++) {
        const struct rtl_scope *item = tbed_rtl_scope_at(scopes, scope);
        if (tbed_rtl_pair_starts(scopes->names, item->name, name))
            return scope;
        scope = item->before;
    }
    return 0;
}

static void give_back(struct rtl_scopes *scopes, uint32_t scope)
{
    tbed_rtl_scope_at(scopes, scope)->below = scopes->free_list;
    scopes->free_list = scope;
}

static void unlink_pair(struct rtl_scopes *scopes, struct rtl_thread_scopes *stack,
                        const struct rtl_scope *item)
{
    if (item->before != 0)
        tbed_rtl_scope_at(scopes, item->before)->after = item->after;
    if (item->after != 0)
        tbed_rtl_scope_at(scopes, item->after)->before = item->before;
    else
        stack->last_pair = item->before;
}

void tbed_rtl_scope_end(struct rtl_scopes *scopes, struct rtl_thread_scopes *stack, uint32_t scope,
                        uint64_t tick)
{
    struct rtl_scope *item = tbed_rtl_scope_at(scopes, scope);
    newest_of(scopes, item->thread, item->name)->scope = item->older;
    scopes->open_count -= !item->is_pair;
    if (item->is_pair)
        unlink_pair(scopes, stack, item);
    item->end_tick = tick;
    if (item->has_left)
        give_back(scopes, scope);
    else
        stack->ended_count++;
}

void tbed_rtl_scope_pop(struct rtl_scopes *scopes, struct rtl_thread_scopes *stack)
{
    uint32_t scope = stack->top;
    struct rtl_scope *item = tbed_rtl_scope_at(scopes, scope);
    stack->top = item->below;
    item->has_left = true;
    if (item->end_tick == 0)
        return;
    stack->ended_count--;
    give_back(scopes, scope);
}

uint64_t tbed_rtl_scopes_open_count(const struct rtl_scopes *scopes)
{
    return scopes->open_count;
}
