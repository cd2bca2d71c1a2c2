/*
 * The check of all blocks of a kind; see verify_blocks.h.
 *
 * A part is a few blocks in a row. Each thread takes the next part, and lists its damage apart from that of others; when a
 * window of parts is done, they are put together in order. So nothing depends on which thread did what, and memory does not
 * grow with the file.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/open/verify_blocks.h"

#include "format/block.h"
#include "format/event.h"
#include "reader/core/base/workers.h"
#include "reader/core/file/gateway.h"

#include <stdlib.h>

#define PART_BLOCKS  16u
#define WINDOW_PARTS 128u

struct edge {        /* an event at the edge of a part */
    uint32_t stream; /* 0: there is none */
    uint64_t tick;
};

struct part {
    struct tbed_damage_list of_blocks, of_events;
    struct edge first, last;
    struct tbed_verify_counts counts;
    bool no_memory;
};

/* What a thread has for its work. */
struct worker {
    struct tbed_reader reader; /* a copy, so that its damage is listed apart */
    uint64_t *copy;            /* of a block, in a live ring; NULL: none needed so far */
};

struct window {
    const struct tbed_reader *reader;
    struct worker *workers; /* made before the threads begin, which change the reader */
    struct worker alone;    /* the only one, if there is no memory for several */
    unsigned worker_count;
    enum tbed_block_kind kind;
    size_t first_block;
    struct part parts[WINDOW_PARTS];
};

/* ---- The events of a block ---- */

/* A walk over the events of one block. */
struct walk {
    const struct tbed_reader *reader;
    const struct tbed_block *block;
    struct part *part;
    const uint64_t *at;
    uint64_t base;
    uint64_t highest_tick; /* that an event may have; UINT64_MAX: any, or an excess has been reported */
};

static uint64_t offset_of(const struct walk *walk)
{
    return walk->block->offset + (uint64_t)((const uint8_t *)walk->at - walk->block->bytes);
}

static void tell(const struct walk *walk, enum tbed_status status, uint64_t detail)
{
    tbed_damage_tell(walk->reader, status, offset_of(walk), walk->block->cell, detail);
}

static void take_tick(struct walk *walk, uint64_t tick)
{
    struct part *part = walk->part;
    if (part->first.stream == 0)
        part->first = (struct edge){walk->block->stream, tick};
    if (tick > walk->highest_tick) {
        tell(walk, TBED_ERR_EVENT_TICK, tick);
        walk->highest_tick = UINT64_MAX;
    }
    part->counts.tick_decreases += part->last.stream == walk->block->stream && tick < part->last.tick;
    part->last = (struct edge){walk->block->stream, tick};
    part->counts.events++;
}

/* Takes the events of one word each, as far as they go, and as nothing is wrong with them. */
static void take_single_words(struct walk *walk, const uint64_t *end)
{
    struct part *part = walk->part;
    const uint64_t *at = walk->at;
    uint64_t base = walk->base, highest = walk->highest_tick, last = part->last.tick, decreases = 0;
    if (part->last.stream != walk->block->stream)
        return; /* the first event of a stream has none before it */
    for (; at < end; at++) {
        uint64_t word = tbed_word_load(at);
        uint64_t tick = base + tbed_event_delta(word);
        if (tbed_event_tag(word) - TBED_TAG_BEGIN > TBED_TAG_INSTANT - TBED_TAG_BEGIN || tick > highest)
            break;
        decreases += tick < last;
        last = tick;
    }
    part->counts.events += (uint64_t)(at - walk->at);
    part->counts.tick_decreases += decreases;
    part->last.tick = last;
    walk->at = at;
}
_Static_assert(TBED_TAG_INSTANT - TBED_TAG_BEGIN == 2 && TBED_TAG_BEGIN > 0,
               "three tags in a row, none of them 0");

static void count_unknown(struct walk *walk, uint64_t word)
{
    struct tbed_verify_counts *counts = &walk->part->counts;
    uint32_t tag = tbed_event_tag(word);
    if (tag == TBED_TAG_PAIR) {
        uint32_t subtype = tbed_pair_subtype(tbed_word_load(walk->at + 1));
        counts->unknown_events +=
            subtype != TBED_PAIR_ALLOC && subtype != TBED_PAIR_FREE && subtype != TBED_PAIR_COUNTER;
    } else if (tag == TBED_TAG_EXTENDED) {
        uint32_t type = tbed_extended_head_load(tbed_word_load(walk->at + 1)).type;
        bool is_unknown = !tbed_extended_is_known(type);
        counts->unknown_events += is_unknown && type < TBED_EXT_APPLICATION;
        counts->application_events += is_unknown && type >= TBED_EXT_APPLICATION;
    } else {
        counts->unknown_events += tag > TBED_TAG_EXTENDED;
    }
}

/* Takes one event or TIME word, whatever it is. False: the rest of the block cannot be read. */
static bool take_any(struct walk *walk, const uint64_t *end)
{
    uint64_t word = tbed_word_load(walk->at);
    size_t nwords;
    if (word == 0) {
        if (walk->block->sealed)
            tell(walk, TBED_ERR_EVENT_ZERO, 0);
        return false;
    }
    enum tbed_status status = tbed_event_check(word, walk->at, end, &nwords);
    if (status != TBED_OK) {
        tell(walk, status, word);
        return false;
    }
    if (tbed_event_tag(word) == TBED_TAG_TIME) {
        walk->base += tbed_event_time_ticks(word);
    } else {
        count_unknown(walk, word);
        take_tick(walk, walk->base + tbed_event_delta(word));
    }
    walk->at += nwords;
    return true;
}

static void check_events(const struct tbed_reader *reader, const struct tbed_block *block, struct part *part)
{
    struct walk walk = {
        .reader = reader,
        .block = block,
        .part = part,
        .at = block->words,
        .base = block->first_tick,
        .highest_tick = block->sealed ? block->last_tick : UINT64_MAX,
    };
    bool goes_on = true;
    while (goes_on && walk.at < block->words_end) {
        take_single_words(&walk, block->words_end);
        goes_on = walk.at < block->words_end && take_any(&walk, block->words_end);
    }
}

/* ---- One block ---- */

/* Where the block's content ends according to the page's entry; 0: it does not say. */
static uint32_t ended_nbytes(const struct tbed_reader *reader, const struct tbed_block *block)
{
    if (block->cell != 0)
        return 0;
    struct tbed_page_entry entry = tbed_page_entry_load(reader, block->page);
    return entry.is_begun && entry.fields.state == TBED_ENTRY_ENDED ? entry.fields.used_nbytes : 0;
}

static void check_unsealed(const struct tbed_reader *reader, struct tbed_indexed *entry,
                           const struct tbed_block *found, struct tbed_verify_counts *counts)
{
    struct tbed_block block = *found;
    struct tbed_block_scan scan;
    uint32_t ended = ended_nbytes(reader, &block); /* loaded first: an ended block is complete */
    if (tbed_block_scan(block.bytes, block.nbytes, block.kind, &scan) != TBED_OK)
        return; /* reported when it is read */
    enum tbed_status status = tbed_block_end_check(block.bytes, block.nbytes, block.kind, &scan, ended);
    if (tbed_gateway(reader, block.kind, entry, false, &block) != TBED_OK)
        return; /* a live ring has reused it meanwhile */
    if (status != TBED_OK)
        tbed_damage_tell(reader, status, block.offset + scan.end_nbytes, block.cell, 0);
    else
        counts->interrupted_records += scan.has_rest;
}

static void check_held(struct worker *worker, enum tbed_block_kind kind, size_t index, struct part *part)
{
    struct tbed_reader *reader = &worker->reader;
    struct tbed_indexed *entry = tbed_index_at(&reader->index, kind, index);
    struct tbed_block block;
    reader->damage = &part->of_blocks;
    if (tbed_gateway(reader, kind, entry, true, &block) != TBED_OK)
        return;
    if (!block.sealed)
        check_unsealed(reader, entry, &block, &part->counts);
    if (kind != TBED_BLOCK_EVENTS)
        return;
    if (tbed_reader_is_reused(reader)) {
        if (worker->copy == NULL)
            worker->copy = malloc(reader->header.page_nbytes);
        part->no_memory |= worker->copy == NULL;
        if (worker->copy == NULL || !tbed_block_copy(reader, &block, worker->copy))
            return;
    }
    reader->damage = &part->of_events;
    check_events(reader, &block, part);
}

static void check_block(struct worker *worker, enum tbed_block_kind kind, size_t index, struct part *part)
{
    struct tbed_lease lease;
    tbed_lease_begin(&lease, worker->reader.map.packed);
    check_held(worker, kind, index, part);
    tbed_lease_end(&lease);
}

/* ---- Windows ---- */

static void run(struct tbed_work *work, unsigned number)
{
    struct window *window = work->context;
    size_t count = window->reader->index.lists[window->kind].count, item;
    while (tbed_work_take(work, &item)) {
        struct part *part = &window->parts[item];
        size_t first = window->first_block + item * PART_BLOCKS;
        for (size_t i = first; i < count && i < first + PART_BLOCKS; i++)
            check_block(&window->workers[number], window->kind, i, part);
    }
}

static void add_counts(struct tbed_verify_counts *sum, const struct tbed_verify_counts *more)
{
    sum->events += more->events;
    sum->unknown_events += more->unknown_events;
    sum->application_events += more->application_events;
    sum->tick_decreases += more->tick_decreases;
    sum->interrupted_records += more->interrupted_records;
}

/* Adds what a part found, and frees it. 'last' is the last event before it. */
static bool join_part(struct tbed_reader *reader, struct part *part, struct tbed_damage_list *events,
                      struct edge *last)
{
    tbed_damage_list_join(reader->damage, &part->of_blocks);
    tbed_damage_list_join(events, &part->of_events);
    add_counts(&reader->verified, &part->counts);
    if (part->first.stream != 0) {
        reader->verified.tick_decreases +=
            part->first.stream == last->stream && part->first.tick < last->tick;
        *last = part->last;
    }
    tbed_damage_list_free(&part->of_blocks);
    tbed_damage_list_free(&part->of_events);
    return !part->no_memory;
}

static bool check_window(struct tbed_reader *reader, struct window *window, size_t part_count,
                         struct tbed_damage_list *events, struct edge *last)
{
    struct tbed_work work = {.item_count = part_count, .run = run, .context = window};
    bool fine = true;
    size_t made = 0;
    for (; made < part_count; made++) {
        struct part *part = &window->parts[made];
        *part = (struct part){0};
        if (!tbed_damage_list_make(&part->of_blocks))
            break;
        if (tbed_damage_list_make(&part->of_events))
            continue;
        tbed_damage_list_free(&part->of_blocks);
        break;
    }
    if (made == part_count)
        tbed_work_run(&work, tbed_worker_count(window->worker_count, part_count));
    for (size_t i = 0; i < made; i++)
        fine &= join_part(reader, &window->parts[i], events, last);
    return fine && made == part_count;
}

static void open_workers(struct window *window, unsigned thread_count)
{
    window->worker_count = tbed_worker_count(thread_count, WINDOW_PARTS);
    window->workers = window->worker_count > 1 ? calloc(window->worker_count, sizeof *window->workers) : NULL;
    if (window->workers == NULL) {
        window->workers = &window->alone;
        window->worker_count = 1;
    }
    for (unsigned i = 0; i < window->worker_count; i++)
        window->workers[i].reader = *window->reader;
}

static void close_workers(struct window *window)
{
    for (unsigned i = 0; i < window->worker_count; i++)
        free(window->workers[i].copy);
    if (window->workers != &window->alone)
        free(window->workers);
}

enum tbed_status tbed_verify_blocks(struct tbed_reader *reader, enum tbed_block_kind kind,
                                    unsigned thread_count, struct tbed_damage_list *events)
{
    size_t count = reader->index.lists[kind].count;
    struct window window = {.reader = reader, .kind = kind};
    struct edge last = {0};
    bool fine = true;
    open_workers(&window, thread_count);
    while (fine && window.first_block < count) {
        size_t left = count - window.first_block;
        size_t part_count = (left - 1) / PART_BLOCKS + 1;
        if (part_count > WINDOW_PARTS)
            part_count = WINDOW_PARTS;
        fine = check_window(reader, &window, part_count, events, &last);
        window.first_block += part_count * PART_BLOCKS;
    }
    close_workers(&window);
    return fine ? TBED_OK : TBED_ERR_MEMORY;
}
