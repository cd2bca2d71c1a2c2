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

/* Like assert(), but also effective in builds without assertions. */
#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                   \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* The entry of every target, by libFuzzer's name for it. Accepts any input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

/*
 * Returns a copy of the input, aligned to 8, that ends at an inaccessible page or, because of the alignment, up to 7
 * bytes before it (reads of those bytes are not detected). Valid until the next call. NULL if the input is larger than
 * 4 MiB.
 */
uint8_t *guarded_copy(const uint8_t *data, size_t nbytes);

/* Opens a guarded copy of the input as a trace, without verifying checksums. NULL if it is none. Close it before the next
 * call. */
struct tbed_reader *open_input(const uint8_t *data, size_t nbytes);

/* Returns an unnamed file with these bytes, which the caller closes. */
int file_of_input(const uint8_t *data, size_t nbytes);

/* Walks everything, checks properties and verifies. The reader remains open. */
void walk_everything(struct tbed_reader *reader);

/* The parts of it. */
void walk_strings(struct tbed_reader *reader);
void walk_records(struct tbed_reader *reader);
void walk_events(struct tbed_reader *reader);

/* Whether the stream says when threads were off their processors: statistics leave it out, and the assembler does not. */
bool is_off_cpu_stream(const struct tbed_reader *reader, uint32_t number);

/* Makes a file of one page with clock 3, in which 'content' follows the header of a block of 'kind', sealed or not. */
#define ONE_BLOCK_PAGE_NBYTES 4096
#define ONE_BLOCK_FILE_NBYTES (2 * ONE_BLOCK_PAGE_NBYTES)
#define ONE_BLOCK_ROOM        (ONE_BLOCK_PAGE_NBYTES - 64)
uint8_t *one_block_file(enum tbed_block_kind kind, bool sealed, const uint8_t *content, size_t nbytes);

#endif
