/*
 * What the fuzz targets share: an input before a forbidden page, properties, a walk over all that a trace
 * has.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_H
#define TRACEBED_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <tracebed/reader.h>

/* What has to hold; unlike assert() also in builds without assertions. */
#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                   \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* The targets' entry, libFuzzer's name. Takes all inputs. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

/*
 * A copy of the input, aligned to 8, that ends at a page that may not be touched (up to 7 bytes before it,
 * for the alignment's sake; those are poisoned by nobody). Valid until the next call. NULL if it is larger
 * than 4 MiB.
 */
uint8_t *guarded_copy(const uint8_t *data, size_t nbytes);

/* Walks everything, checks properties, verifies. The reader stays open. */
void walk_everything(struct tbed_reader *reader);

/* The parts of it. */
void walk_strings(struct tbed_reader *reader);
void walk_records(struct tbed_reader *reader);
void walk_events(struct tbed_reader *reader);

/* A file of one page in clock 3: 'content' is put behind the header of a block of 'kind', sealed or not. */
#define ONE_BLOCK_PAGE_NBYTES 4096
#define ONE_BLOCK_FILE_NBYTES (2 * ONE_BLOCK_PAGE_NBYTES)
#define ONE_BLOCK_ROOM        (ONE_BLOCK_PAGE_NBYTES - 64)
uint8_t *one_block_file(enum tbed_block_kind kind, bool sealed, const uint8_t *content, size_t nbytes);

#endif
