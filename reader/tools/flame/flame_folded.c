/*
 * Folded stacks, the input of other flame graph tools: one line per path, with its labels joined by ';', a space, and
 * its self time.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/stacks/stack_line.h"
#include "reader/tools/flame/flame.h"

static void put_row(const struct flame *flame, const struct stack_line *line, size_t index)
{
    char digits[20];
    fwrite_unlocked(line->text.bytes, 1, line->text.nbytes, flame->out);
    putc_unlocked(' ', flame->out);
    if (flame->olds != NULL) {
        uint64_t old = tbed_round_u64((double)flame->olds[index].self * flame->old_scale);
        fwrite_unlocked(digits, 1, tbed_format_u64(digits, old), flame->out);
        putc_unlocked(' ', flame->out);
    }
    uint64_t self = flame_value(flame, flame_row(flame, index)->self_ticks);
    fwrite_unlocked(digits, 1, tbed_format_u64(digits, self), flame->out);
    putc_unlocked('\n', flame->out);
}

bool flame_folded(const struct flame *flame)
{
    struct stack_line line = {0};
    const struct tbed_stack_row *row;
    bool fine = true;
    for (size_t i = 0; fine && (row = flame_row(flame, i)) != NULL && !ferror(flame->out); i++) {
        fine = tbed_stack_line_turn(&line, row);
        bool is_void = tbed_stack_row_is_nameless(row) && row->self_ticks == 0 && flame->olds == NULL;
        if (fine && !is_void)
            put_row(flame, &line, i);
    }
    tbed_stack_line_free(&line);
    return fine;
}
