/*
 * The verb `flame` is in three files: what is asked for (flame_verb.c), folded stacks (flame_folded.c), and the
 * drawing (flame_svg.c, with flame_script.c for what moves in it).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FLAME_H
#define TRACEBED_FLAME_H

#include "tool.h"
#include <tracebed/symbols.h>

#include <tracebed/analysis.h>

struct flame {
    struct tbed_reader *reader;
    const char *path;
    struct tbed_trace_info info;
    struct tbed_symbols *symbols; /* NULL: none wanted */
    struct tbed_stacks *stacks;
    struct tbed_stacks_totals totals;
    FILE *out;
    double minimum; /* of all; narrower frames are left out of the drawing */
    const char *title;
    uint32_t root_depth; /* rows above this depth stand for processes and threads */
};

/* Ticks as nanoseconds; as they are where the clock counts something else. */
uint64_t flame_value(const struct flame *flame, uint64_t ticks);

/* One line a stack: "a;b;c N". */
void flame_folded(const struct flame *flame);

struct flame_drawn {
    uint64_t frame_count, narrow_count; /* drawn; left out for being narrow */
};
/* False: no memory left. */
bool flame_svg(const struct flame *flame, struct flame_drawn *drawn_ret);

/* What moves in the drawing, as it stands in the file; and how it looks. */
extern const char *const flame_script, *const flame_style;

#endif
