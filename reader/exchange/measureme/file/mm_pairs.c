/*
 * Format 0: pairs starts and ends into intervals.
 *
 * Open starts are nodes in a pool. Each is in two lists: its thread's stack, and the chain of its hash, the latest
 * first. A thread has a node of its own in the same hash table, which heads its stack. So each event costs O(1),
 * however deep the stacks are and however few ends match.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <sys/random.h>

#include "format/base/bytes.h"
#include "reader/core/base/wide.h"
#include "reader/exchange/measureme/file/mm_internal.h"

enum time_kind { TIME_START, TIME_END, TIME_INSTANT }; /* the time's two lowest bits */

struct raw_event {
    uint32_t kind, id;
    uint64_t thread;
    uint64_t time;
};
_Static_assert(sizeof(struct raw_event) == 24, "as format 0 has it");

struct paired_event {
    uint64_t kind, id, thread, begin, end;
};
_Static_assert(sizeof(struct paired_event) == MM_PAIRED_EVENT_NBYTES, "as mm_event_load() has it");

struct node {       /* number 0: none */
    uint32_t event; /* the number of the start; for a thread, of one of its events */
    uint32_t below; /* for a thread, its latest open start */
    uint32_t next;  /* in the chain */
    /* Bits of the hash, so that most events that differ need not be read. The lowest bit marks a thread. */
    uint32_t check;
};
_Static_assert(sizeof(struct node) == 16, "there may be two an event");

struct hash {
    uint32_t *head; /* of the chain */
    uint32_t check;
};

struct pairing {
    struct mm_file *file;
    const uint8_t *raw;
    struct tbed_vector nodes;
    uint32_t *heads;
    unsigned head_bits;
    uint64_t secret; /* keyed, so that a file cannot force long chains */
    uint32_t unused; /* nodes, a list by 'below' */
};

static struct raw_event event_at(const struct pairing *pairing, uint64_t number)
{
    const uint8_t *at = pairing->raw + number * sizeof(struct raw_event);
    return (struct raw_event){.kind = tbed_le32_at(at),
                              .id = tbed_le32_at(at + 4),
                              .thread = tbed_le64_at(at + 8),
                              .time = tbed_le64_at(at + 16)};
}

static struct node *node_of(const struct pairing *pairing, uint32_t node)
{
    return (struct node *)pairing->nodes.items + node;
}

static uint64_t mix(uint64_t value, uint64_t secret)
{
    struct tbed_wide product = tbed_wide_multiply(value ^ secret, secret | 1);
    return product.low ^ product.high;
}

/* The hash of an event's start, or of its thread. */
static struct hash hash_of(const struct pairing *pairing, const struct raw_event *event, bool is_thread)
{
    uint64_t what = is_thread ? UINT64_MAX : (uint64_t)event->kind << 32 | event->id;
    uint64_t hash = mix(mix(event->thread, pairing->secret) ^ what, pairing->secret + is_thread);
    return (struct hash){&pairing->heads[hash >> (64 - pairing->head_bits)], (uint32_t)hash << 1 | is_thread};
}

static bool is_same(const struct pairing *pairing, uint32_t event, const struct raw_event *wanted,
                    bool is_thread)
{
    struct raw_event other = event_at(pairing, event);
    return other.thread == wanted->thread &&
           (is_thread || (other.kind == wanted->kind && other.id == wanted->id));
}

static uint32_t node_find(const struct pairing *pairing, const struct raw_event *event, bool is_thread)
{
    struct hash hash = hash_of(pairing, event, is_thread);
    uint32_t node = *hash.head;
    while (node != 0 && !(node_of(pairing, node)->check == hash.check &&
                          is_same(pairing, node_of(pairing, node)->event, event, is_thread)))
        node = node_of(pairing, node)->next;
    return node;
}

/* A new node at the head of its chain; 0: no memory. */
static uint32_t node_add(struct pairing *pairing, const struct raw_event *event, uint32_t number,
                         bool is_thread)
{
    uint32_t node = pairing->unused;
    if (node != 0)
        pairing->unused = node_of(pairing, node)->below;
    else if (pairing->nodes.count < UINT32_MAX &&
             tbed_vector_extend(&pairing->nodes, 1, sizeof(struct node)) != NULL)
        node = (uint32_t)(pairing->nodes.count - 1);
    else
        return 0;
    struct hash hash = hash_of(pairing, event, is_thread);
    *node_of(pairing, node) = (struct node){.event = number, .next = *hash.head, .check = hash.check};
    *hash.head = node;
    return node;
}

/* Removes the latest start from a thread's stack. */
static void start_pop(struct pairing *pairing, uint32_t thread)
{
    uint32_t top = node_of(pairing, thread)->below;
    struct node *node = node_of(pairing, top);
    struct raw_event start = event_at(pairing, node->event);
    uint32_t *link = hash_of(pairing, &start, false).head;
    while (*link != top)
        link = &node_of(pairing, *link)->next;
    *link = node->next;
    node_of(pairing, thread)->below = node->below;
    node->below = pairing->unused;
    pairing->unused = top;
}

static bool start_push(struct pairing *pairing, const struct raw_event *event, uint32_t number)
{
    uint32_t thread = node_find(pairing, event, true);
    if (thread == 0)
        thread = node_add(pairing, event, number, true);
    uint32_t start = thread == 0 ? 0 : node_add(pairing, event, number, false);
    if (start == 0)
        return false;
    node_of(pairing, start)->below = node_of(pairing, thread)->below;
    node_of(pairing, thread)->below = start;
    return true;
}

static bool put(struct pairing *pairing, const struct raw_event *event, uint64_t number, uint64_t begin,
                uint64_t end)
{
    struct paired_event paired = {event->kind, event->id, event->thread, begin, end};
    uint64_t offset =
        (uint64_t)(pairing->raw - pairing->file->sources[MM_EVENTS].bytes) + number * sizeof *event;
    return tbed_mm_event_copy(pairing->file, (const uint8_t *)&paired, offset);
}

static bool end_match(struct pairing *pairing, const struct raw_event *event, uint64_t number)
{
    struct mm_events *events = &pairing->file->events;
    uint32_t start = node_find(pairing, event, false);
    if (start == 0) {
        events->unmatched_ends++;
        return true;
    }
    uint64_t begin = event_at(pairing, node_of(pairing, start)->event).time >> 2;
    uint32_t thread = node_find(pairing, event, true);
    while (node_of(pairing, thread)->below != start) {
        start_pop(pairing, thread);
        events->unmatched_starts++;
    }
    start_pop(pairing, thread);
    return put(pairing, event, number, begin, event->time >> 2);
}

static bool event_take(struct pairing *pairing, uint64_t number)
{
    struct raw_event event = event_at(pairing, number);
    switch (event.time & 3) {
    case TIME_START:
        return start_push(pairing, &event, (uint32_t)number);
    case TIME_END:
        return end_match(pairing, &event, number);
    case TIME_INSTANT:
        return put(pairing, &event, number, event.time >> 2, UINT64_MAX);
    default: {
        uint64_t offset = (uint64_t)(pairing->raw - pairing->file->sources[MM_EVENTS].bytes);
        tbed_mm_damage_add(pairing->file, TBED_ERR_PROFILE_EVENT, MM_EVENTS, offset + number * sizeof event,
                           3);
        return true;
    }
    }
}

static bool pairing_start(struct pairing *pairing, uint64_t count)
{
    /* Event numbers would overflow: a file of 100 GB, in a format whose files have at most 4 GB. */
    if (count > UINT32_MAX)
        return false;
    pairing->head_bits = 4;
    while (pairing->head_bits < 31 && UINT64_C(1) << pairing->head_bits < count)
        pairing->head_bits++;
    if (getrandom(&pairing->secret, sizeof pairing->secret, GRND_NONBLOCK) < 0)
        pairing->secret = UINT64_C(0x9E3779B97F4A7C15) ^ (uintptr_t)pairing;
    pairing->heads = calloc((size_t)1 << pairing->head_bits, sizeof *pairing->heads);
    return pairing->heads != NULL && tbed_vector_extend(&pairing->nodes, 1, sizeof(struct node)) != NULL;
}

static uint64_t still_open(const struct pairing *pairing)
{
    uint64_t count = 0;
    for (uint32_t node = 1; node < pairing->nodes.count; node++)
        if ((node_of(pairing, node)->check & 1) != 0)
            for (uint32_t at = node_of(pairing, node)->below; at != 0; at = node_of(pairing, at)->below)
                count++;
    return count;
}

bool tbed_mm_pair_events(struct mm_file *file)
{
    struct mm_events *events = &file->events;
    struct pairing pairing = {.file = file};
    uint64_t count = events->count;
    if (count == 0) {
        events->nbytes = MM_PAIRED_EVENT_NBYTES;
        return true;
    }
    pairing.raw = tbed_mm_place(file, MM_EVENTS, ((const struct mm_run *)events->runs.items)->place);
    events->nbytes = MM_PAIRED_EVENT_NBYTES;
    events->count = events->runs.count = 0;
    bool has_memory = pairing_start(&pairing, count);
    for (uint64_t number = 0; number < count && has_memory; number++)
        has_memory = event_take(&pairing, number);
    if (has_memory)
        events->unmatched_starts += still_open(&pairing);
    free(pairing.heads);
    free(pairing.nodes.items);
    tbed_mm_source_release(&file->sources[MM_EVENTS]);
    return has_memory;
}
