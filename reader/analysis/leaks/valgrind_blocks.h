/*
 * Suppressions in valgrind's form: a name, a kind of error, and the frames of a stack, the innermost first.
 *
 * A stack is compared with all of them at once, from its outermost frame inwards: a bit for each line of the suppressions
 * says whether the rest of its suppression, from this line on, matches the frames so far.
 *
 * Source: valgrind's manual, section 2.5, "Suppressing errors".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_VALGRIND_BLOCKS_H
#define TRACEBED_VALGRIND_BLOCKS_H

#include "reader/analysis/leaks/suppression_frame.h"
#include "reader/core/base/vector.h"
#include <tracebed/format.h>

enum valgrind_part { VALGRIND_NONE, VALGRIND_NAME, VALGRIND_KIND, VALGRIND_FRAMES, VALGRIND_SKIP };

struct valgrind_line {
    char *text; /* owned; NULL for "..." and ends */
    uint8_t kind;
};

struct valgrind_block {
    char *name; /* owned */
    size_t first_line;
};

struct valgrind_blocks { /* zero: none */
    TBED_VECTOR(struct valgrind_line) lines;
    TBED_VECTOR(struct valgrind_block) blocks;
    size_t skipped_count;    /* suppressions of errors that are no leaks */
    enum valgrind_part part; /* what the next line of the text is */
};

void tbed_valgrind_free(struct valgrind_blocks *blocks);

/*
 * Takes one line without the spaces around it: "{", or any if 'part' is not NONE. Errors: ERR_ARGUMENT, ERR_MEMORY; then
 * tbed_valgrind_drop() removes what was begun.
 */
enum tbed_status tbed_valgrind_take(struct valgrind_blocks *blocks, const char *line, size_t nbytes);

/* Keeps only the first blocks. */
void tbed_valgrind_drop(struct valgrind_blocks *blocks, size_t block_count, size_t skipped_count);

/* ---- Matching: sets of bits, one for each line, each of as many words ---- */

size_t tbed_valgrind_word_count(const struct valgrind_blocks *blocks);

/* Adds the lines that match this frame. */
void tbed_valgrind_match(const struct valgrind_blocks *blocks, const struct suppression_frame *frame,
                         uint64_t *bits);

/* The same for the allocating function, which is not in our stacks and goes by many names. */
void tbed_valgrind_match_allocator(const struct valgrind_blocks *blocks, uint64_t *bits);

/* The lines from which on no frame is wanted. */
void tbed_valgrind_begin(const struct valgrind_blocks *blocks, uint64_t *state);

/* Goes on to the next frame inwards. 'next' is room for another state. */
void tbed_valgrind_step(const struct valgrind_blocks *blocks, const uint64_t *frame_bits, uint64_t *state,
                        uint64_t *next);

/* The first block that matches all frames so far; SIZE_MAX: none. */
size_t tbed_valgrind_first(const struct valgrind_blocks *blocks, const uint64_t *state);

#endif
