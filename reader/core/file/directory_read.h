/*
 * The directory of a file that is being read: its pages checked. What it says about a page is in place.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_DIRECTORY_READ_H
#define TRACEBED_DIRECTORY_READ_H

#include "reader/core/file/place.h"

/* Is the part of the directory intact that has the entries of 'page'? That is the header page, or a directory page. */
bool tbed_directory_is_intact(const struct tbed_reader *reader, uint64_t page);

/* The number of the page that comes after those whose entries are in the same part of the directory. */
uint64_t tbed_directory_part_end(uint32_t page_nbytes, uint64_t page);

/*
 * Checks the first 512 bytes of every directory page below 'page_count', reports those that fail, and returns whether all
 * pass. The kernel is asked for all of them first, so that a cold file costs one wait.
 */
bool tbed_directory_check(const struct tbed_reader *reader, uint64_t page_count);

/* Adds DIRECTORY_ENTRY to the damage. */
void tbed_directory_tell_entry(const struct tbed_reader *reader, uint64_t page, uint64_t detail);

#endif
