/*
 * The heap of one process; see heap.h.
 *
 * The share of each site in the peak is found without visiting all sites at every new peak: a site's figure is
 * saved when the site first changes after the peak, and is its current one if the site has not changed since.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/memory/heap.h"
#include "reader/core/base/hashmap.h"

#include <stdlib.h>
#include <string.h>

void tbed_heap_open(struct heap *heap)
{
    memset(heap, 0, sizeof *heap);
    tbed_live_map_open(&heap->live);
    tbed_live_map_open(&heap->shrunk);
    tbed_given_map_open(&heap->given);
}

void tbed_heap_close(struct heap *heap)
{
    tbed_live_map_close(&heap->live);
    tbed_live_map_close(&heap->shrunk);
    tbed_given_map_close(&heap->given);
    tbed_mappings_close(&heap->mappings);
    tbed_lifetimes_close(&heap->lifetimes, heap->site_count);
    free(heap->sites);
    free(heap->site_places);
}

/* ---- Sites ---- */

static struct heap_site_place *site_place(const struct heap *heap, uint32_t id)
{
    size_t mask = heap->site_place_count - 1;
    size_t at = tbed_hash_home(id, (unsigned)__builtin_ctzll(heap->site_place_count));
    while (heap->site_places[at].number != 0 && heap->site_places[at].id != id)
        at = (at + 1) & mask;
    return &heap->site_places[at];
}

static bool grow_sites(struct heap *heap)
{
    size_t room = heap->site_room == 0 ? 256 : heap->site_room * 2;
    struct heap_site *sites = realloc(heap->sites, room * sizeof *sites);
    if (sites == NULL)
        return false;
    heap->sites = sites;
    if (!tbed_lifetimes_grow(&heap->lifetimes, room, heap->site_room))
        return false;
    struct heap_site_place *places = calloc(room * 2, sizeof *places);
    if (places == NULL)
        return false;
    free(heap->site_places);
    heap->site_places = places;
    heap->site_place_count = room * 2;
    heap->site_room = room;
    for (size_t i = 0; i < heap->site_count; i++)
        *site_place(heap, sites[i].id) = (struct heap_site_place){sites[i].id, (uint32_t)i + 1};
    return true;
}

/* The index of the site of an allocation, which is created if needed. UINT32_MAX: no memory. */
static uint32_t site_find(struct heap *heap, const struct heap_event *event)
{
    uint32_t id = heap->by_size ? tbed_size_class(event->nbytes) : event->id;
    const struct heap_site_place *place = heap->site_count == 0 ? NULL : site_place(heap, id);
    if (place != NULL && place->number != 0)
        return place->number - 1;
    if (heap->site_count == heap->site_room && !grow_sites(heap))
        return UINT32_MAX;
    heap->sites[heap->site_count++] = (struct heap_site){.id = id};
    *site_place(heap, id) = (struct heap_site_place){id, (uint32_t)heap->site_count};
    return (uint32_t)heap->site_count - 1;
}

/* Called before a site's live bytes change: saves their number at the peak. */
static void save_peak(const struct heap *heap, struct heap_site *site)
{
    if (site->peak_number == heap->peak_number)
        return;
    site->sums.peak_nbytes = site->sums.live_nbytes;
    site->peak_number = heap->peak_number;
}

/* Blocks, not mappings: no collector frees those. */
static void count_retained(struct heap *heap)
{
    size_t room = heap->live.count > 0 ? (size_t)1 << (64 - heap->live.shift) : 0;
    for (size_t i = 0; i < room; i++) {
        const struct live_block *block = &heap->live.blocks[i];
        size_t generation = tbed_collections_before(heap->collections, block->tick);
        if (block->address == 0 || heap->collections.count - generation < heap->survived_min)
            continue;
        struct heap_site *site = &heap->sites[block->site];
        if (site->retained_count == 0 || generation < site->retained_generation)
            site->retained_generation = generation;
        site->retained_count++;
        site->retained_nbytes += block->nbytes;
    }
}

void tbed_heap_finish(struct heap *heap)
{
    heap->process.collection_count = heap->collections.count;
    if (heap->survived_min > 0)
        count_retained(heap);
    for (size_t i = 0; i < heap->site_count; i++)
        save_peak(heap, &heap->sites[i]);
    tbed_live_map_close(&heap->live);
    tbed_live_map_open(&heap->live);
    tbed_live_map_close(&heap->shrunk);
    tbed_live_map_open(&heap->shrunk);
    tbed_mappings_close(&heap->mappings);
    free(heap->site_places);
    heap->site_places = NULL;
}

/* ---- Forks ---- */

void tbed_heap_fork(struct heap *parent, struct heap *child, uint64_t fork_tick)
{
    child->parent = parent;
    child->fork_tick = fork_tick;
    if (!parent->has_children || fork_tick > parent->last_fork_tick)
        parent->last_fork_tick = fork_tick;
    parent->has_children = true;
}

/*
 * True if an ancestor of this process allocated the address before the fork. The ancestor may have freed and
 * reused it since: a child shows up in the trace only with its first event, and the time of the fork is not
 * known.
 */
static bool is_inherited(const struct heap *heap, uint64_t address)
{
    for (int i = 0; i < HEAP_GENERATIONS_MAX && heap->parent != NULL; i++, heap = heap->parent)
        if (tbed_given_map_has(&heap->parent->given, address, heap->fork_tick))
            return true;
    return false;
}

/* Handles the free of an address that is not live in this process. */
static void count_strange_free(struct heap *heap, uint64_t address)
{
    if (is_inherited(heap, address))
        heap->process.inherited_free_count++;
    else
        heap->process.unknown_free_count++;
}

/* Records the address for the children, which will look it up. False: no memory. */
static bool note_given(struct heap *heap, uint64_t address, uint64_t tick)
{
    return !heap->has_children || tick > heap->last_fork_tick ||
           tbed_given_map_add(&heap->given, address, tick);
}

/* ---- Events ---- */

/* Does somebody follow the ends of blocks? */
static bool is_watched(const struct heap *heap)
{
    return heap->watch != NULL && heap->watch->ended != NULL;
}

/* What was ever allocated for a live block: its size, and what it has shrunk by. */
static uint64_t allocated_nbytes(const struct heap *heap, const struct live_block *block)
{
    const struct live_block *shrunk = tbed_live_map_find(&heap->shrunk, block->address);
    return block->nbytes + (shrunk != NULL ? shrunk->nbytes : 0);
}

/* False: no memory. */
static bool note_shrunk(struct heap *heap, uint64_t address, uint64_t nbytes)
{
    if (!is_watched(heap))
        return true;
    struct live_block *shrunk = tbed_live_map_find(&heap->shrunk, address);
    if (shrunk != NULL)
        shrunk->nbytes += nbytes;
    return shrunk != NULL ||
           tbed_live_map_add(&heap->shrunk, &(struct live_block){.address = address, .nbytes = nbytes});
}

static void forget_shrunk(struct heap *heap, uint64_t address)
{
    struct live_block *shrunk = tbed_live_map_find(&heap->shrunk, address);
    if (shrunk != NULL)
        tbed_live_map_remove(&heap->shrunk, shrunk);
}

static void tell_block(const struct heap *heap, const struct live_block *block, uint64_t end_tick,
                       bool is_replaced, bool is_temporary)
{
    if (!is_watched(heap))
        return;
    const struct heap_block ended = {.address = block->address,
                                     .nbytes = allocated_nbytes(heap, block),
                                     .tick = block->tick,
                                     .end_tick = end_tick,
                                     .site = block->site,
                                     .stream = block->stream,
                                     .is_replaced = is_replaced,
                                     .is_temporary = is_temporary};
    heap->watch->ended(heap->watch, &ended);
}

static void tell_watch(const struct heap *heap, uint32_t id, uint64_t nbytes, bool is_more)
{
    if (heap->watch != NULL && heap->watch->change != NULL)
        heap->watch->change(heap->watch, id, nbytes, is_more);
}

/* Removes a block. */
static void end_block(struct heap *heap, struct live_block *block)
{
    struct heap_site *site = &heap->sites[block->site];
    save_peak(heap, site);
    site->sums.live_count--;
    site->sums.live_nbytes -= block->nbytes;
    heap->process.sums.live_count--;
    heap->process.sums.live_nbytes -= block->nbytes;
    tell_watch(heap, site->id, block->nbytes, false);
    forget_shrunk(heap, block->address);
    tbed_live_map_remove(&heap->live, block);
}

static void free_block(struct heap *heap, struct live_block *block, const struct heap_event *event,
                       uint64_t newest_address)
{
    struct heap_site *site = &heap->sites[block->site];
    bool temporary = block->stream == event->stream && newest_address == block->address;
    site->sums.freed_count++;
    heap->process.sums.freed_count++;
    site->sums.temporary_count += temporary;
    heap->process.sums.temporary_count += temporary;
    tbed_lifetimes_add(&heap->lifetimes, block->site, block->tick, event->tick);
    tell_block(heap, block, event->tick, false, temporary);
    end_block(heap, block);
}

static void replace_block(struct heap *heap, const struct heap_event *event)
{
    struct live_block *block = tbed_live_map_find(&heap->live, event->address);
    if (block == NULL)
        return;
    heap->sites[block->site].sums.replaced_count++;
    heap->process.sums.replaced_count++;
    tell_block(heap, block, event->tick, true, false);
    end_block(heap, block);
}

static void raise_peak(struct heap *heap, uint64_t tick)
{
    if (heap->process.sums.live_nbytes <= heap->process.sums.peak_nbytes)
        return;
    heap->process.sums.peak_nbytes = heap->process.sums.live_nbytes;
    heap->process.peak_tick = tick;
    heap->peak_number++;
}

static void grow_live(struct heap *heap, struct heap_site *site, uint64_t nbytes, uint64_t tick)
{
    struct tbed_allocation_sums *all = &heap->process.sums;
    save_peak(heap, site);
    site->sums.count++;
    site->sums.nbytes += nbytes;
    site->sums.live_count++;
    site->sums.live_nbytes += nbytes;
    all->count++;
    all->nbytes += nbytes;
    all->live_count++;
    all->live_nbytes += nbytes;
    tell_watch(heap, site->id, nbytes, true);
    raise_peak(heap, tick);
}

/* Adds a block, or counts a failure if its address is 0. */
static bool new_block(struct heap *heap, const struct heap_event *event)
{
    uint32_t site = site_find(heap, event);
    if (site == UINT32_MAX)
        return false;
    if (event->address == 0) {
        heap->sites[site].sums.failed_count++;
        heap->process.sums.failed_count++;
        return true;
    }
    replace_block(heap, event);
    struct live_block block = {event->address, event->nbytes, event->tick, site, event->stream};
    if (!tbed_live_map_add(&heap->live, &block) || !note_given(heap, event->address, event->tick))
        return false;
    grow_live(heap, &heap->sites[site], event->nbytes, event->tick);
    return true;
}

/* To another class of sizes. */
static void move_block(struct heap *heap, struct live_block *block, uint32_t index)
{
    struct heap_site *from = &heap->sites[block->site], *to = &heap->sites[index];
    save_peak(heap, from);
    save_peak(heap, to);
    from->sums.count--;
    from->sums.nbytes -= block->nbytes;
    from->sums.live_count--;
    from->sums.live_nbytes -= block->nbytes;
    to->sums.count++;
    to->sums.nbytes += block->nbytes;
    to->sums.live_count++;
    to->sums.live_nbytes += block->nbytes;
    block->site = index;
}

/* What a block grows by is allocated at its site. By size, the block belongs to the class of its greatest size. */
static bool resize_block(struct heap *heap, const struct heap_event *event)
{
    struct live_block *block = tbed_live_map_find(&heap->live, event->address);
    bool grows = block != NULL && event->nbytes > block->nbytes;
    uint32_t index = grows && heap->by_size ? site_find(heap, event) : block != NULL ? block->site : 0;
    if (block == NULL || index == UINT32_MAX)
        return block == NULL;
    if (event->nbytes < block->nbytes && !note_shrunk(heap, block->address, block->nbytes - event->nbytes))
        return false;
    if (index != block->site)
        move_block(heap, block, index);
    struct heap_site *site = &heap->sites[index];
    save_peak(heap, site);
    tell_watch(heap, site->id, block->nbytes, false);
    tell_watch(heap, site->id, event->nbytes, true);
    uint64_t difference = event->nbytes - block->nbytes; /* modulo 2^64 */
    site->sums.live_nbytes += difference;
    heap->process.sums.live_nbytes += difference;
    site->sums.nbytes += grows ? difference : 0;
    heap->process.sums.nbytes += grows ? difference : 0;
    block->nbytes = event->nbytes;
    raise_peak(heap, event->tick);
    return true;
}

/* ---- Mappings ---- */

static struct heap_block block_of_mapping(const struct mapping *mapping)
{
    return (struct heap_block){.address = mapping->whole_start,
                               .nbytes = mapping->whole_end - mapping->whole_start,
                               .tick = mapping->tick,
                               .site = mapping->site,
                               .stream = mapping->stream,
                               .is_mapping = true};
}

static void tell_mapping(const struct heap *heap, const struct mapping *mapping, uint64_t end_tick,
                         bool is_replaced)
{
    struct heap_block ended = block_of_mapping(mapping);
    ended.end_tick = end_tick;
    ended.is_replaced = is_replaced;
    if (is_watched(heap))
        heap->watch->ended(heap->watch, &ended);
}

/* Removes the mappings in the range: unmapped or, without an event, replaced. False: no memory. */
static bool cut_mappings(struct heap *heap, uint64_t start, uint64_t end, uint64_t tick, bool is_replaced)
{
    struct tbed_allocation_sums *all = &heap->process.sums;
    struct mapping part;
    bool is_last;
    while (tbed_mappings_make_room(&heap->mappings)) {
        if (!tbed_mappings_cut(&heap->mappings, start, end, &part, &is_last))
            return true;
        struct tbed_allocation_sums *site = &heap->sites[part.site].sums;
        save_peak(heap, &heap->sites[part.site]);
        site->live_nbytes -= part.end - part.start;
        all->live_nbytes -= part.end - part.start;
        tell_watch(heap, heap->sites[part.site].id, part.end - part.start, false);
        site->live_count -= is_last;
        all->live_count -= is_last;
        site->freed_count += is_last && !is_replaced;
        all->freed_count += is_last && !is_replaced;
        if (is_last && !is_replaced)
            tbed_lifetimes_add(&heap->lifetimes, part.site, part.tick, tick);
        site->replaced_count += is_last && is_replaced;
        all->replaced_count += is_last && is_replaced;
        if (is_last)
            tell_mapping(heap, &part, tick, is_replaced);
    }
    return false;
}

static uint64_t mapping_end(uint64_t start, uint64_t nbytes)
{
    return nbytes > UINT64_MAX - start ? UINT64_MAX : start + nbytes;
}

static bool new_mapping(struct heap *heap, const struct heap_event *event)
{
    uint32_t site = site_find(heap, event);
    uint64_t end = mapping_end(event->address, event->nbytes);
    struct mapping mapping = {.start = event->address,
                              .end = end,
                              .tick = event->tick,
                              .whole_start = event->address,
                              .whole_end = end,
                              .site = site,
                              .stream = event->stream};
    if (site == UINT32_MAX || !cut_mappings(heap, mapping.start, mapping.end, event->tick, true))
        return false;
    if (mapping.start == mapping.end)
        return true;
    if (heap->mappings.count >= MAPPINGS_MAX && !cut_mappings(heap, 0, UINT64_MAX, event->tick, true))
        return false;
    if (!tbed_mappings_add(&heap->mappings, mapping))
        return false;
    grow_live(heap, &heap->sites[site], mapping.end - mapping.start, event->tick);
    return true;
}

/* mremap. A range that was not seen being mapped is a file's, or nothing. */
static bool move_mapping(struct heap *heap, const struct heap_event *event)
{
    uint64_t start = event->old_address, end = mapping_end(start, event->old_nbytes);
    const struct mapping *old = tbed_mappings_above(&heap->mappings, start);
    if (old == NULL || old->start >= end || old->tick > event->begin_tick || event->address == 0)
        return true;
    return cut_mappings(heap, start, end, event->tick, false) && new_mapping(heap, event);
}

static bool take_mapping(struct heap *heap, const struct heap_event *event)
{
    if (event->type == TBED_EVENT_REALLOC)
        return move_mapping(heap, event);
    if (event->type == TBED_EVENT_ALLOC)
        return new_mapping(heap, event);
    return cut_mappings(heap, event->address, mapping_end(event->address, event->nbytes), event->tick, false);
}

/* False: no memory. */
static bool free_address(struct heap *heap, const struct heap_event *event, uint64_t newest_address)
{
    struct live_block *block = tbed_live_map_find(&heap->live, event->address);
    const struct mapping *mapping = tbed_mappings_above(&heap->mappings, event->address);
    if (block != NULL)
        free_block(heap, block, event, newest_address);
    else if (mapping != NULL && mapping->start == event->address)
        return cut_mappings(heap, mapping->start, mapping->end, event->tick, false);
    else if (event->address != 0)
        count_strange_free(heap, event->address);
    else
        heap->process.null_free_count++;
    return true;
}

/* ---- Moved blocks ---- */

/* Removes the old block, unless its address was given to another block since the call began. */
static void realloc_old(struct heap *heap, const struct heap_event *event, uint64_t newest_address)
{
    struct live_block *block = tbed_live_map_find(&heap->live, event->old_address);
    if (block == NULL)
        count_strange_free(heap, event->old_address);
    else if (block->tick <= event->begin_tick)
        free_block(heap, block, event, newest_address);
}

static bool take_realloc(struct heap *heap, const struct heap_event *event, uint64_t newest_address)
{
    bool failed = event->address == 0 && event->nbytes != 0;
    if (event->old_address != 0 && !failed)
        realloc_old(heap, event, newest_address);
    if (event->address == 0 && !failed)
        return true;
    return new_block(heap, event);
}

/* Calls that fail, and the free of nothing, come between no two others. */
static bool does_nothing(const struct heap_event *event)
{
    return event->address == 0 &&
           (event->type != TBED_EVENT_REALLOC || event->nbytes != 0 || event->old_address == 0);
}

static bool take_event(struct heap *heap, const struct heap_event *event, uint64_t *newest_address)
{
    bool fine = true;
    heap->process.event_count++;
    if (event->is_mapping) {
        *newest_address = 0;
        return take_mapping(heap, event);
    }
    if (event->type == TBED_EVENT_RESIZE)
        return resize_block(heap, event);
    if (event->type == TBED_EVENT_FREE) {
        fine = free_address(heap, event, *newest_address);
        *newest_address = does_nothing(event) ? *newest_address : 0;
        return fine;
    }
    if (event->type == TBED_EVENT_ALLOC)
        fine = new_block(heap, event);
    else
        fine = take_realloc(heap, event, *newest_address);
    *newest_address = does_nothing(event) ? *newest_address : event->address;
    return fine;
}

/* ---- What is live ---- */

/* In order of time; by address at equal times. */
static int compare_live(const void *left, const void *right)
{
    const struct heap_block *a = left, *b = right;
    if (a->tick != b->tick)
        return a->tick < b->tick ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->is_mapping > b->is_mapping) - (a->is_mapping < b->is_mapping);
}

/* Pieces of one mapping are neighbours once they are sorted: it is the only one with its address and tick. */
static size_t join_pieces(struct heap_block *blocks, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_piece = i > 0 && blocks[i].is_mapping && compare_live(&blocks[kept - 1], &blocks[i]) == 0;
        if (is_piece)
            blocks[kept - 1].live_nbytes += blocks[i].live_nbytes;
        else
            blocks[kept++] = blocks[i];
    }
    return kept;
}

static size_t list_live(const struct heap *heap, struct heap_block *blocks)
{
    size_t count = 0, slot_count = heap->live.blocks != NULL ? (size_t)1 << (64 - heap->live.shift) : 0;
    for (size_t i = 0; i < slot_count; i++) {
        const struct live_block *from = &heap->live.blocks[i];
        if (from->address != 0)
            blocks[count++] = (struct heap_block){.address = from->address,
                                                  .nbytes = allocated_nbytes(heap, from),
                                                  .tick = from->tick,
                                                  .live_nbytes = from->nbytes,
                                                  .site = from->site,
                                                  .stream = from->stream,
                                                  .is_live = true};
    }
    for (size_t i = 0; i < heap->mappings.count; i++) {
        const struct mapping *mapping = &heap->mappings.items[i];
        blocks[count] = block_of_mapping(mapping);
        blocks[count].is_live = true;
        blocks[count++].live_nbytes = mapping->end - mapping->start;
    }
    return count;
}

struct heap_block *tbed_heap_live(const struct heap *heap, size_t *count_ret)
{
    struct heap_block *blocks = malloc((heap->live.count + heap->mappings.count + 1) * sizeof *blocks);
    if (blocks == NULL)
        return NULL;
    size_t count = list_live(heap, blocks);
    if (count > 1)
        qsort(blocks, count, sizeof *blocks, compare_live);
    *count_ret = join_pieces(blocks, count);
    return blocks;
}

/* ---- Over time ---- */

/* Until the tick, nothing changes. */
static void stay(struct heap_moments *moments, uint64_t tick, uint64_t live_nbytes)
{
    if (tick <= moments->last_tick)
        return;
    struct heap_stay *now = &moments->stays[moments->now];
    now->area += (double)(tick - moments->last_tick) * (double)live_nbytes;
    now->ticks += tick - moments->last_tick;
    moments->last_tick = tick;
}

/* Events with decreasing ticks are counted at the latest tick. */
static void move_on(struct heap_moments *moments, uint64_t tick, uint64_t live_nbytes)
{
    uint64_t since = tick > moments->first_tick ? tick - moments->first_tick : 0;
    size_t now = since / moments->ticks_each < moments->count ? (size_t)(since / moments->ticks_each)
                                                              : moments->count - 1;
    if (!moments->has_begun) {
        moments->now = now;
        moments->last_tick = tick;
        moments->at[now].least_nbytes = UINT64_MAX;
    }
    moments->has_begun = true;
    bool is_next = moments->now < now;
    while (moments->now < now) {
        stay(moments, moments->first_tick + moments->ticks_each * (moments->now + 1), live_nbytes);
        moments->at[++moments->now] = (struct tbed_allocation_moment){
            .live_nbytes = live_nbytes, .peak_nbytes = live_nbytes, .least_nbytes = live_nbytes};
    }
    stay(moments, tick, live_nbytes);
    if (is_next && moments->stays[now].ticks == 0) { /* what was live before was so for no time */
        moments->at[now].peak_nbytes = 0;
        moments->at[now].least_nbytes = UINT64_MAX;
    }
}

static void note_moment(struct heap *heap, uint64_t tick, uint64_t count_before, uint64_t live_before)
{
    uint64_t live_nbytes = heap->process.sums.live_nbytes;
    move_on(&heap->moments, tick, live_before);
    struct tbed_allocation_moment *moment = &heap->moments.at[heap->moments.now];
    moment->live_nbytes = live_nbytes;
    moment->count += heap->process.sums.count - count_before;
    if (live_nbytes > moment->peak_nbytes)
        moment->peak_nbytes = live_nbytes;
    if (live_nbytes < moment->least_nbytes)
        moment->least_nbytes = live_nbytes;
}

bool tbed_heap_take(struct heap *heap, const struct heap_event *event, uint64_t *newest_address)
{
    uint64_t count = heap->process.sums.count, live_nbytes = heap->process.sums.live_nbytes;
    bool fine = take_event(heap, event, newest_address);
    if (heap->moments.at != NULL)
        note_moment(heap, event->tick, count, live_nbytes);
    return fine && !heap->lifetimes.is_out_of_memory;
}
