/*
 * The directory of a file that is being read: its pages checked. What it says about a page is in place.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DIRECTORY_READ_H
#define TRACEBED_DIRECTORY_READ_H

#include "reader/core/file/place.h"

/* A part of the directory: the header page, or a directory page. It has the entries of the pages after it. */
struct tbed_directory_part {
    uint64_t page, end; /* its own number, and the number of the first page whose entry is elsewhere */
    uint64_t offset;    /* where in the file the entry of 'page' would be */
    bool is_intact;     /* the entries can be believed */
};

/* The part that has the entry of 'page', or is that page. 'known' as for tbed_map_data_from(). */
struct tbed_directory_part tbed_directory_part_of(const struct tbed_reader *reader, struct tbed_extent *known,
                                                  uint64_t page);

/*
 * Checks the first 512 bytes of every directory page below 'page_count', reports those that fail, and returns whether all
 * pass. The kernel is asked for all of them first, so that a cold file costs one wait.
 */
bool tbed_directory_check(const struct tbed_reader *reader, uint64_t page_count);

/* Adds DIRECTORY_ENTRY to the damage. */
void tbed_directory_tell_entry(const struct tbed_reader *reader, uint64_t page, uint64_t detail);

#endif
