/*
 * Suppressions in valgrind's form; see valgrind_blocks.h.
 *
 * valgrind's stacks begin with its own malloc() or operator new, ours with their caller, so a frame that goes by all of
 * these names is put before each stack.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/leaks/valgrind_blocks.h"
#include "reader/analysis/leaks/mangled.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_FUNCTION, LINE_OBJECT, LINE_REST, LINE_END };

static const char *const allocators[] = {
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "posix_memalign",
    "aligned_alloc",
    "valloc",
    "pvalloc",
    "operator new(unsigned long)",
    "operator new[](unsigned long)",
    "_Znwm",
    "_Znam",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
    "_ZnwmSt11align_val_t",
    "_ZnamSt11align_val_t",
    "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "_ZnamSt11align_val_tRKSt9nothrow_t",
};
static const char allocators_module[] = "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so";

/* ---- Reading ---- */

/* NULL: no memory. */
static char *copy_text(const char *text, size_t nbytes)
{
    char *copy = malloc(nbytes + 1);
    if (copy != NULL) {
        memcpy(copy, text, nbytes);
        copy[nbytes] = '\0';
    }
    return copy;
}

static bool add_line(struct valgrind_blocks *blocks, uint8_t kind, const char *text, size_t nbytes)
{
    char *copy = text != NULL ? copy_text(text, nbytes) : NULL;
    struct valgrind_line *line = text == NULL || copy != NULL ? TBED_VECTOR_PUSH(&blocks->lines) : NULL;
    if (line == NULL) {
        free(copy);
        return false;
    }
    *line = (struct valgrind_line){.text = copy, .kind = kind};
    return true;
}

static bool begins_with(const char *line, size_t nbytes, const char *word)
{
    size_t word_nbytes = strlen(word);
    return nbytes >= word_nbytes && memcmp(line, word, word_nbytes) == 0;
}

/* "TOOL,TOOL:Leak", with Memcheck among the tools. */
static bool is_kind_of_leaks(const char *line, size_t nbytes)
{
    const char *colon = memchr(line, ':', nbytes);
    bool is_memcheck = false;
    if (colon == NULL)
        return false;
    for (const char *tool = line; tool < colon && !is_memcheck;) {
        const char *comma = memchr(tool, ',', (size_t)(colon - tool));
        const char *end = comma != NULL ? comma : colon;
        is_memcheck = end - tool == 8 && memcmp(tool, "Memcheck", 8) == 0;
        tool = end + 1;
    }
    size_t rest = nbytes - (size_t)(colon + 1 - line);
    return is_memcheck && rest == 4 && memcmp(colon + 1, "Leak", 4) == 0;
}

static enum tbed_status begin_block(struct valgrind_blocks *blocks, const char *name, size_t nbytes)
{
    char *copy = copy_text(name, nbytes);
    struct valgrind_block *block = copy != NULL ? TBED_VECTOR_PUSH(&blocks->blocks) : NULL;
    if (block == NULL) {
        free(copy);
        return TBED_ERR_MEMORY;
    }
    *block = (struct valgrind_block){.name = copy, .first_line = blocks->lines.count};
    blocks->part = VALGRIND_KIND;
    return TBED_OK;
}

static void take_back_block(struct valgrind_blocks *blocks)
{
    struct valgrind_block *block = &blocks->blocks.items[--blocks->blocks.count];
    while (blocks->lines.count > block->first_line)
        free(blocks->lines.items[--blocks->lines.count].text);
    free(block->name);
}

static enum tbed_status take_kind(struct valgrind_blocks *blocks, const char *line, size_t nbytes)
{
    if (memchr(line, ':', nbytes) == NULL)
        return TBED_ERR_ARGUMENT;
    blocks->part = VALGRIND_FRAMES;
    if (!is_kind_of_leaks(line, nbytes)) {
        take_back_block(blocks);
        blocks->skipped_count++;
        blocks->part = VALGRIND_SKIP;
    }
    return TBED_OK;
}

static enum tbed_status end_block(struct valgrind_blocks *blocks)
{
    size_t first = blocks->blocks.items[blocks->blocks.count - 1].first_line;
    blocks->part = VALGRIND_NONE;
    if (blocks->lines.count == first) /* without frames it would match everything */
        return TBED_ERR_ARGUMENT;
    return add_line(blocks, LINE_END, NULL, 0) ? TBED_OK : TBED_ERR_MEMORY;
}

static enum tbed_status take_frame(struct valgrind_blocks *blocks, const char *line, size_t nbytes)
{
    size_t first = blocks->blocks.items[blocks->blocks.count - 1].first_line, count = blocks->lines.count;
    bool fine = true;
    if (nbytes == 1 && *line == '}')
        return end_block(blocks);
    if (begins_with(line, nbytes, "match-leak-kinds:") && count == first)
        return TBED_OK;
    if (begins_with(line, nbytes, "fun:") && nbytes > 4)
        fine = add_line(blocks, LINE_FUNCTION, line + 4, nbytes - 4);
    else if (begins_with(line, nbytes, "obj:") && nbytes > 4)
        fine = add_line(blocks, LINE_OBJECT, line + 4, nbytes - 4);
    else if (nbytes != 3 || memcmp(line, "...", 3) != 0)
        return TBED_ERR_ARGUMENT;
    else if (count == first || blocks->lines.items[count - 1].kind != LINE_REST)
        fine = add_line(blocks, LINE_REST, NULL, 0);
    return fine ? TBED_OK : TBED_ERR_MEMORY;
}

enum tbed_status tbed_valgrind_take(struct valgrind_blocks *blocks, const char *line, size_t nbytes)
{
    switch (blocks->part) {
    case VALGRIND_NONE:
        blocks->part = VALGRIND_NAME;
        return nbytes == 1 && *line == '{' ? TBED_OK : TBED_ERR_ARGUMENT;
    case VALGRIND_NAME:
        return begin_block(blocks, line, nbytes);
    case VALGRIND_KIND:
        return take_kind(blocks, line, nbytes);
    case VALGRIND_FRAMES:
        return take_frame(blocks, line, nbytes);
    case VALGRIND_SKIP:
        break;
    }
    if (nbytes == 1 && *line == '}')
        blocks->part = VALGRIND_NONE;
    return TBED_OK;
}

void tbed_valgrind_drop(struct valgrind_blocks *blocks, size_t block_count, size_t skipped_count)
{
    while (blocks->blocks.count > block_count)
        take_back_block(blocks);
    blocks->skipped_count = skipped_count;
    blocks->part = VALGRIND_NONE;
}

void tbed_valgrind_free(struct valgrind_blocks *blocks)
{
    tbed_valgrind_drop(blocks, 0, 0);
    tbed_vector_free(&blocks->lines.vector);
    tbed_vector_free(&blocks->blocks.vector);
}

/* ---- Matching ---- */

#define WORD_BITS 64u

static bool has_bit(const uint64_t *bits, size_t index)
{
    return (bits[index / WORD_BITS] >> index % WORD_BITS & 1) != 0;
}

static void set_bit(uint64_t *bits, size_t index)
{
    bits[index / WORD_BITS] |= UINT64_C(1) << index % WORD_BITS;
}

size_t tbed_valgrind_word_count(const struct valgrind_blocks *blocks)
{
    return (blocks->lines.count + WORD_BITS - 1) / WORD_BITS;
}

static bool line_matches(const struct valgrind_line *line, const struct suppression_frame *frame)
{
    if (line->kind == LINE_FUNCTION)
        return frame->function != NULL && (tbed_glob_matches(line->text, frame->function) ||
                                           tbed_mangled_matches(line->text, frame->function));
    return line->kind == LINE_OBJECT && frame->module != NULL && tbed_glob_matches(line->text, frame->module);
}

void tbed_valgrind_match(const struct valgrind_blocks *blocks, const struct suppression_frame *frame,
                         uint64_t *bits)
{
    for (size_t i = 0; i < blocks->lines.count; i++)
        if (line_matches(&blocks->lines.items[i], frame))
            set_bit(bits, i);
}

/* Those are ends, and "..." before them. */
void tbed_valgrind_begin(const struct valgrind_blocks *blocks, uint64_t *state)
{
    memset(state, 0, tbed_valgrind_word_count(blocks) * sizeof *state);
    for (size_t i = blocks->lines.count; i-- > 0;) {
        uint8_t kind = blocks->lines.items[i].kind;
        if (kind == LINE_END || (kind == LINE_REST && has_bit(state, i + 1)))
            set_bit(state, i);
    }
}

/* Going inwards, a line matches if it matches this frame and the next line the frames outside of it. */
void tbed_valgrind_step(const struct valgrind_blocks *blocks, const uint64_t *frame_bits, uint64_t *state,
                        uint64_t *next)
{
    size_t count = blocks->lines.count, word_count = tbed_valgrind_word_count(blocks);
    memset(next, 0, word_count * sizeof *next);
    for (size_t i = count; i-- > 0;) {
        uint8_t kind = blocks->lines.items[i].kind;
        bool matches =
            kind == LINE_END || (kind == LINE_REST ? has_bit(state, i) || has_bit(next, i + 1)
                                                   : has_bit(frame_bits, i) && has_bit(state, i + 1));
        if (matches)
            set_bit(next, i);
    }
    memcpy(state, next, word_count * sizeof *state);
}

void tbed_valgrind_match_allocator(const struct valgrind_blocks *blocks, uint64_t *bits)
{
    struct suppression_frame frame = {.module = allocators_module};
    for (size_t i = 0; i < sizeof allocators / sizeof allocators[0]; i++) {
        frame.function = allocators[i];
        tbed_valgrind_match(blocks, &frame, bits);
    }
}

size_t tbed_valgrind_first(const struct valgrind_blocks *blocks, const uint64_t *state)
{
    for (size_t i = 0; i < blocks->blocks.count; i++)
        if (has_bit(state, blocks->blocks.items[i].first_line))
            return i;
    return SIZE_MAX;
}
