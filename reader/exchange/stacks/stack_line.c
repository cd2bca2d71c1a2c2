/*
 * The lines of folded stacks; see stack_line.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/stacks/stack_line.h"

#include "reader/core/base/inert.h"

static void put_escaped(struct tbed_text *text, const uint8_t *at, size_t nbytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < nbytes; i++) {
        char escaped[4] = {'\\', 'x', digits[at[i] >> 4], digits[at[i] & 15]};
        tbed_text_put(text, escaped, sizeof escaped);
    }
}

static void put_label(struct tbed_text *text, const struct tbed_stack_row *row)
{
    const uint8_t *at = (const uint8_t *)row->label, *end = at + row->label_nbytes;
    uint32_t code;
    while (at < end) {
        size_t left = (size_t)(end - at), nbytes = tbed_code_point(at, left, &code);
        bool is_plain = nbytes > 0 && code != ';' && !tbed_is_control(code);
        nbytes = nbytes > 0 ? nbytes : 1;
        if (is_plain)
            tbed_text_put(text, (const char *)at, nbytes);
        else
            put_escaped(text, at, nbytes);
        at += nbytes;
    }
}

bool tbed_stack_line_turn(struct stack_line *line, const struct tbed_stack_row *row)
{
    while (line->ends.count <= row->depth)
        if (TBED_VECTOR_PUSH(&line->ends) == NULL)
            return false;
    if (row->depth == 0)
        line->has_no_root = tbed_stack_row_is_nameless(row);
    line->text.nbytes = row->depth == 0 ? 0 : line->ends.items[row->depth - 1];
    if (row->depth > line->has_no_root)
        tbed_text_put(&line->text, ";", 1);
    put_label(&line->text, row);
    line->ends.items[row->depth] = row->depth == 0 && line->has_no_root ? 0 : line->text.nbytes;
    return !line->text.is_out_of_memory;
}

void tbed_stack_line_free(struct stack_line *line)
{
    free(line->text.bytes);
    tbed_vector_free(&line->ends.vector);
    *line = (struct stack_line){0};
}
