/*
 * The census of a ring: what this process knows of the blocks of all threads and processes, so that it takes none that
 * is among its thread's newest.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_CENSUS_H
#define TRACEBED_WRITER_CENSUS_H

#include "format/file/mark.h"
#include "writer/file/state.h"

/* What an entry has as its age when so many ring pages were handed out; 0 is none. */
static inline uint32_t tbed_ring_age(uint64_t given)
{
    return (uint32_t)given != 0 ? (uint32_t)given : 1;
}

/* Why a page should not be taken; a higher one is the better reason. */
enum tbed_keep {
    TBED_KEEP_NOTHING = 0,
    TBED_KEEP_ENDED = 1,  /* one of the newest blocks of a thread that ended not long ago */
    TBED_KEEP_LIVING = 2, /* one of the newest blocks of a thread that lives */
    /* The very newest, which may have all that it recorded lately; or newer than the census. */
    TBED_KEEP_NEWEST = 3,
};

/* Maps its memory; without memory nothing is kept. For files that are no flight recorder, nothing happens. */
void tbed_census_open(struct tbed_file *file);
void tbed_census_free(struct tbed_file *file);

/* Looks at all entries of the ring. False: this thread is at it, and is interrupted. */
bool tbed_census_make(struct tbed_file *file);

/* The same if the hand has gone a quarter of a round since the last one, unless a thread is at it. */
void tbed_census_refresh(struct tbed_file *file);

/* Of a page of the ring whose mark was loaded before. */
enum tbed_keep tbed_census_keeps(const struct tbed_file *file, uint32_t page, struct tbed_mark mark);

#endif
