/*
 * Mends a trace whose bytes were changed: the checksums and hashes of what was changed, and the directory.
 *
 * For files that are wrong in one place exactly: golden files, and inputs that fuzzing made. It believes
 * nothing that the bytes say, and changes nothing else.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_MEND_H
#define TRACEBED_FUZZ_MEND_H

#include <stddef.h>
#include <stdint.h>

enum mend {
    MEND_HEADER = 1,     /* the checksum of the fields that never change */
    MEND_STRINGS = 2,    /* the hashes of string entries */
    MEND_BLOCKS = 4,     /* the checksums of sealed blocks */
    MEND_CLOSING = 8,    /* the closing checksum, if the state is shut */
    MEND_DIRECTORY = 16, /* the directory, from the blocks; the copies of the header in cells pages */
    MEND_ALL = 31,
};

/* 'bytes' is aligned to 8; the page size is read from the header, if it is valid. */
void mend_file(uint8_t *bytes, size_t nbytes, unsigned what);

/* The page size stored in the header, or 0 if it is invalid or the file is shorter. */
uint32_t mend_page_nbytes(const uint8_t *bytes, size_t nbytes);

/* Recomputes one block of 'nbytes': the hashes of its strings, if it has any, and its own checksum, if it is sealed. */
void mend_block(uint8_t *block, uint32_t nbytes, unsigned what);

#endif
