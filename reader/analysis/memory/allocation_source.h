/*
 * Iterates over the allocation events of one stream and skips all others. It does the work of a cursor for the
 * one loop that follows a process, and copies nothing that the loop does not need.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ALLOCATION_SOURCE_H
#define TRACEBED_ALLOCATION_SOURCE_H

#include "format/event.h"
#include "reader/analysis/filter/filter.h"
#include "reader/analysis/memory/heap.h"
#include "reader/core/events/decode.h"
#include "reader/core/file/reader_state.h"

/* The part of a FREE of slots that has not been returned yet. */
struct allocation_slots {
    const char *at; /* further bits */
    size_t nbytes;
    uint64_t bits; /* those of the slots from 'address' on */
    uint64_t address, next_address, distance;
};

struct allocation_source {
    struct tbed_reader *reader;
    const struct tbed_filter *filter; /* NULL: none */
    size_t next_block, block_end;     /* by number */
    struct tbed_block block;
    struct tbed_lease lease;  /* of the block */
    const uint64_t *at, *end; /* in the block */
    uint64_t base;
    struct allocation_slots slots;
    uint64_t newest_address; /* the heap's, of this stream */
    struct heap_event event; /* the result of tbed_allocation_source_next() */
    uint32_t counter_id;     /* the last counter's, + 1 */
    bool is_resident;        /* it is resident memory */
    uint64_t peak_resident_nbytes;
};

static inline void tbed_allocation_source_open(struct allocation_source *source, struct tbed_reader *reader,
                                               uint32_t stream, const struct tbed_filter *filter)
{
    size_t count;
    *source = (struct allocation_source){.reader = reader, .filter = filter, .event.stream = stream};
    tbed_filter_blocks(filter, reader, stream, &source->next_block, &count);
    source->block_end = source->next_block + count;
}

/* Only what was opened, or zeroed, may be closed. */
static inline void tbed_allocation_source_close(struct allocation_source *source)
{
    tbed_lease_empty(&source->lease);
}

/* False: there are no more blocks. */
static inline bool tbed_allocation_source_turn(struct allocation_source *source)
{
    while (source->next_block < source->block_end) {
        tbed_lease_empty(&source->lease);
        tbed_lease_enter(&source->lease, source->reader->map.packed);
        enum tbed_status status = tbed_event_block_get(source->reader, source->next_block++, &source->block);
        tbed_lease_leave(&source->lease);
        if (status != TBED_OK)
            continue;
        source->at = source->block.words;
        source->end = source->block.words_end;
        source->base = source->block.first_tick;
        return true;
    }
    tbed_lease_empty(&source->lease);
    return false;
}

/* Skips the rest of the block. */
static inline bool tbed_allocation_source_skip(struct allocation_source *source, enum tbed_status status,
                                               uint64_t word)
{
    const struct tbed_block *block = &source->block;
    uint64_t offset = block->offset + (uint64_t)((const uint8_t *)source->at - block->bytes);
    tbed_damage_tell(source->reader, status, offset, block->cell, word);
    source->at = source->end;
    return false;
}

/* The range of a munmap or mremap. False: the call is neither. */
static inline bool tbed_allocation_source_range(const struct tbed_event *event, uint64_t *nbytes_ret)
{
    struct tbed_arguments at = event->arguments;
    struct tbed_argument argument;
    if (event->argument_count == 0)
        return false;
    tbed_argument_next(&at, &argument);
    if (argument.type != TBED_ARG_U64)
        return false;
    *nbytes_ret = argument.value.u64;
    return true;
}

/* The next block of a FREE of slots. False: there are no more. */
static inline bool tbed_allocation_source_slot(struct allocation_source *source)
{
    struct allocation_slots *slots = &source->slots;
    while (slots->bits == 0 && slots->nbytes > 0) {
        size_t step = slots->nbytes < 8 ? slots->nbytes : 8;
        memcpy(&slots->bits, slots->at, step); /* zero above */
        slots->bits = tbed_word_order(slots->bits);
        slots->at += step;
        slots->nbytes -= step;
        slots->address = slots->next_address;
        slots->next_address += 64 * slots->distance;
    }
    if (slots->bits == 0)
        return false;
    source->event.address = slots->address + (uint64_t)__builtin_ctzll(slots->bits) * slots->distance;
    slots->bits &= slots->bits - 1;
    return true;
}

/* False: it is a FREE of one block. */
static inline bool tbed_allocation_source_slots_open(struct allocation_source *source,
                                                     const struct tbed_event *event)
{
    struct tbed_arguments at = event->arguments;
    struct tbed_argument distance, bits;
    if (event->argument_count != 2 || event->of.alloc.function == TBED_FUNCTION_MMAP)
        return false;
    tbed_argument_next(&at, &distance);
    tbed_argument_next(&at, &bits);
    if (distance.type != TBED_ARG_U64 || bits.type != TBED_ARG_BYTES)
        return false;
    source->slots = (struct allocation_slots){.at = bits.value.text,
                                              .nbytes = bits.nbytes,
                                              .next_address = event->of.alloc.address,
                                              .distance = distance.value.u64};
    return true;
}

/* A counter: resident memory, or another. */
static inline void tbed_allocation_source_counter(struct allocation_source *source,
                                                  const struct tbed_event *event, uint32_t id, uint64_t tick)
{
    if (source->counter_id != id + 1) {
        char name[32];
        size_t nbytes;
        source->counter_id = id + 1;
        source->is_resident =
            tbed_string_resolve(source->reader, id, name, sizeof name, &nbytes) == TBED_OK &&
            strcmp(name, "resident anonymous memory") == 0;
    }
    if (source->is_resident && event->counter_value.type == TBED_ARG_I64 &&
        event->counter_value.value.i64 > 0 &&
        (uint64_t)event->counter_value.value.i64 > source->peak_resident_nbytes &&
        (source->filter == NULL || tbed_filter_takes_point(source->filter, source->event.stream, tick)))
        source->peak_resident_nbytes = (uint64_t)event->counter_value.value.i64;
}

/* Decodes an event of any kind in full. True if it was an allocation event. */
static inline bool tbed_allocation_source_long(struct allocation_source *source, uint64_t word)
{
    struct tbed_event event = {.type = TBED_EVENT_UNKNOWN};
    struct heap_event *found = &source->event;
    size_t nwords;
    enum tbed_status status = tbed_decode_long(word, source->at, source->end, &event, &nwords);
    if (status != TBED_OK)
        return tbed_allocation_source_skip(source, status, word);
    source->at += nwords;
    found->type = event.type;
    found->id = tbed_event_id(word);
    found->tick = source->base + tbed_event_delta(word);
    if (event.type == TBED_EVENT_COUNTER)
        tbed_allocation_source_counter(source, &event, found->id, found->tick);
    if (event.type == TBED_EVENT_REALLOC) {
        found->address = event.of.realloc.address;
        found->nbytes = event.of.realloc.size;
        found->old_address = event.of.realloc.old_address;
        found->begin_tick = event.of.realloc.begin_tick;
        found->is_mapping = tbed_allocation_source_range(&event, &found->old_nbytes);
        return true;
    }
    found->address = event.of.alloc.address;
    found->nbytes = event.of.alloc.size;
    found->is_mapping = event.of.alloc.function == TBED_FUNCTION_MMAP && found->address != 0;
    if (event.type == TBED_EVENT_FREE && found->is_mapping)
        found->is_mapping = tbed_allocation_source_range(&event, &found->nbytes);
    else if (event.type == TBED_EVENT_FREE && tbed_allocation_source_slots_open(source, &event))
        return tbed_allocation_source_slot(source);
    return event.type == TBED_EVENT_ALLOC || event.type == TBED_EVENT_FREE || event.type == TBED_EVENT_RESIZE;
}

/* Handles what the loop below does not: the zero word, TIME, records. True if it was an allocation event. */
static __attribute__((noinline)) bool tbed_allocation_source_other(struct allocation_source *source,
                                                                   uint64_t word)
{
    if (word == 0 && !source->block.sealed) {
        source->at = source->end;
        return false;
    }
    if (word == 0)
        return tbed_allocation_source_skip(source, TBED_ERR_EVENT_ZERO, word);
    if (tbed_event_tag(word) != TBED_TAG_TIME)
        return tbed_allocation_source_long(source, word);
    if (!tbed_event_time_is_allowed(word))
        return tbed_allocation_source_skip(source, TBED_ERR_EVENT_TIME, word);
    source->base += tbed_event_time_ticks(word);
    source->at++;
    return false;
}

/* An allocation or a free in two words, which is the form of nearly all of them. */
static inline bool tbed_allocation_source_pair(struct allocation_source *source, uint64_t word)
{
    struct heap_event *found = &source->event;
    if (source->end - source->at < 2)
        return false;
    uint64_t second = tbed_word_load(source->at + 1);
    bool is_alloc = tbed_pair_subtype(second) == TBED_PAIR_ALLOC;
    if (!is_alloc && tbed_pair_subtype(second) != TBED_PAIR_FREE)
        return false;
    found->type = is_alloc ? TBED_EVENT_ALLOC : TBED_EVENT_FREE;
    found->is_mapping = false;
    found->address = is_alloc ? tbed_pair_alloc_address(second) : tbed_pair_payload(second);
    found->nbytes = is_alloc ? tbed_pair_alloc_nbytes(second) : 0;
    found->id = tbed_event_id(word);
    found->tick = source->base + tbed_event_delta(word);
    source->at += 2;
    return true;
}

/* Moves on to the next allocation event, whether the filter takes it or not. False: there is none. */
static inline bool tbed_allocation_source_any(struct allocation_source *source)
{
    if ((source->slots.bits | source->slots.nbytes) != 0 && tbed_allocation_source_slot(source))
        return true;
    for (;;) {
        if (source->at == source->end) {
            if (!tbed_allocation_source_turn(source))
                return false;
            continue;
        }
        uint64_t word = tbed_word_load(source->at);
        uint32_t tag = tbed_event_tag(word);
        if (tag == TBED_TAG_PAIR && tbed_allocation_source_pair(source, word))
            return true;
        if (tag >= TBED_TAG_BEGIN && tag <= TBED_TAG_INSTANT)
            source->at++;
        else if (tbed_allocation_source_other(source, word))
            return true;
    }
}

/* Moves on to the next allocation event. False: there is none. */
static inline bool tbed_allocation_source_next(struct allocation_source *source)
{
    while (tbed_allocation_source_any(source))
        if (source->filter == NULL ||
            tbed_filter_takes_point(source->filter, source->event.stream, source->event.tick))
            return true;
    return false;
}

/* The address in the eighth event from here if all events are pairs of words; otherwise meaningless. */
static inline uint64_t tbed_allocation_source_ahead(const struct allocation_source *source)
{
    if (source->end - source->at < 16)
        return 0;
    uint64_t second = tbed_word_load(source->at + 15);
    return tbed_pair_subtype(second) == TBED_PAIR_ALLOC ? tbed_pair_alloc_address(second)
                                                        : tbed_pair_payload(second);
}

#endif
