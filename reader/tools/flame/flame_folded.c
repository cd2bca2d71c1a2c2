/*
 * Folded stacks, the input of other flame graph tools: one line per path, with its labels joined by ';', a space, and
 * its self time.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/flame/flame.h"

#include <stdlib.h>
#include <string.h>

/* ';' separates labels and a newline separates stacks, so in a label both are escaped as \xHH, like control bytes. */
static void append_label(FILE *out, const struct tbed_stack_row *row)
{
    const char *at = row->label, *end = row->label + row->label_nbytes;
    while (at < end) {
        const char *mark = memchr(at, ';', (size_t)(end - at));
        const char *stop = mark != NULL ? mark : end;
        tool_print_text(out, at, (size_t)(stop - at), 0);
        if (mark != NULL)
            fputs("\\x3b", out);
        at = mark != NULL ? mark + 1 : end;
    }
}

/* The end of the label of each depth in the current line. */
struct line {
    char *bytes;
    size_t nbytes;
    FILE *out;
    size_t *ends;
    size_t end_room;
};

static void keep_end(struct line *line, uint32_t depth)
{
    if (depth >= line->end_room) {
        line->end_room = (size_t)depth * 2 + 64;
        line->ends = tool_realloc(line->ends, line->end_room * sizeof *line->ends);
    }
    line->ends[depth] = (size_t)ftell(line->out);
}

/* Rows follow their parents, so the line up to this depth is the path to this row. */
static void put_row(const struct flame *flame, struct line *line, size_t index)
{
    const struct tbed_stack_row *row = flame_row(flame, index);
    fseek(line->out, row->depth == 0 ? 0 : (long)line->ends[row->depth - 1], SEEK_SET);
    if (row->depth > 0)
        putc_unlocked(';', line->out);
    append_label(line->out, row);
    fflush(line->out);
    keep_end(line, row->depth);
    char digits[20];
    fwrite_unlocked(line->bytes, 1, line->ends[row->depth], flame->out);
    putc_unlocked(' ', flame->out);
    if (flame->olds != NULL) {
        uint64_t old = tbed_round_u64((double)flame->olds[index].self * flame->old_scale);
        fwrite_unlocked(digits, 1, tbed_format_u64(digits, old), flame->out);
        putc_unlocked(' ', flame->out);
    }
    fwrite_unlocked(digits, 1, tbed_format_u64(digits, flame_value(flame, row->self_ticks)), flame->out);
    putc_unlocked('\n', flame->out);
}

void flame_folded(const struct flame *flame)
{
    struct line line = {0};
    line.out = open_memstream(&line.bytes, &line.nbytes);
    for (size_t i = 0; line.out != NULL && flame_row(flame, i) != NULL; i++) {
        if (ferror(flame->out))
            break;
        put_row(flame, &line, i);
    }
    if (line.out != NULL)
        fclose(line.out);
    free(line.bytes);
    free(line.ends);
}
