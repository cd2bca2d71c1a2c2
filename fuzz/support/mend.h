/*
 * Mends a trace whose bytes were changed: the checksums and hashes that stand before what was changed.
 *
 * For files that are wrong in one place exactly: golden files, and inputs that fuzzing made. It believes
 * nothing that the bytes say, and changes nothing but sums.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_MEND_H
#define TRACEBED_FUZZ_MEND_H

#include <stddef.h>
#include <stdint.h>

enum mend {
    MEND_HEADER = 1,  /* of what never changes */
    MEND_STRINGS = 2, /* the hashes of string entries */
    MEND_BLOCKS = 4,  /* of sealed blocks */
    MEND_CLOSING = 8, /* of what all writers share, if the state is shut */
    MEND_ALL = 15,
};

/* 'bytes' is aligned to 8; its page size is taken from its header, if that is possible. */
void mend_file(uint8_t *bytes, size_t nbytes, unsigned what);

/* The page size that the header tells, or 0 if it is none or the file is shorter. */
uint32_t mend_page_nbytes(const uint8_t *bytes, size_t nbytes);

/* One block of 'nbytes': its strings' hashes, if it holds strings, and its own checksum, if it is sealed. */
void mend_block(uint8_t *block, uint32_t nbytes, unsigned what);

#endif
