/*
 * The mark of a ring's page: one word of its entry that says whose the page is, and how often it was taken.
 *
 * Within one count the state only rises, and each take raises the count, so no value of a mark ever returns. That makes
 * a compare-and-swap of the word safe, and lets a reader see that a page stayed the same while it was read.
 *
 * Source: spec/format.md, section 10.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_MARK_H
#define TRACEBED_MARK_H

#include "format/block.h"

enum tbed_mark_state {
    TBED_MARK_NEW = 0,      /* never taken; the page is all zero */
    TBED_MARK_TAKEN = 1,    /* being zeroed and begun: there is no block yet */
    TBED_MARK_HELD = 2,     /* a block, which the process may be writing */
    TBED_MARK_RELEASED = 3, /* a block that is sealed, or a page that was given back, all zero */
};

struct tbed_mark {
    enum tbed_mark_state state;
    uint32_t count;   /* how often the page was taken, modulo 2^30; the generation in its block's header */
    uint32_t process; /* the stream number of the process that took it last */
};

#define TBED_MARK_STATE_BITS 2

static inline struct tbed_mark tbed_mark_of(uint64_t word)
{
    return (struct tbed_mark){.state = (enum tbed_mark_state)(word & 3),
                              .count = (uint32_t)word >> TBED_MARK_STATE_BITS,
                              .process = (uint32_t)(word >> 32)};
}

static inline uint64_t tbed_mark_word(struct tbed_mark mark)
{
    return (uint64_t)mark.process << 32 | (uint32_t)(mark.count << TBED_MARK_STATE_BITS) | mark.state;
}

/* 'entry' is a struct tbed_disk_entry. */
static inline tbed_aligned_word *tbed_mark_at(void *entry)
{
    return (tbed_aligned_word *)entry + offsetof(struct tbed_disk_entry, generation) / 8;
}

/* Acquires what the process stored before the mark. */
static inline struct tbed_mark tbed_mark_load(const void *entry)
{
    return tbed_mark_of(
        tbed_word_load((const uint8_t *)entry + offsetof(struct tbed_disk_entry, generation)));
}

static inline bool tbed_mark_has_block(struct tbed_mark mark)
{
    return mark.state == TBED_MARK_HELD || mark.state == TBED_MARK_RELEASED;
}

/*
 * Loads the header of a page's block, as tbed_block_load() does, of a file that is mapped at 'map'. The kind is NONE for
 * a page of 1 to 'ring_page_count' that is being taken, or was while it was looked at; for others of these the generation
 * is the mark's. In a file that nobody may be writing to, the caller passes 0 for that.
 */
struct tbed_block_fields tbed_page_load(const uint8_t *map, uint32_t page_nbytes, uint64_t ring_page_count,
                                        uint64_t page);

/*
 * What was read until now from the page of a ring belongs to the block of this generation, which was there before. The
 * page is not a directory page.
 */
bool tbed_page_still_has(const uint8_t *map, uint32_t page_nbytes, uint64_t page, uint32_t generation);

#endif
