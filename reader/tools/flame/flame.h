/*
 * The verb `flame` is in four files: what is asked for (flame_verb.c), stacks of memory (flame_memory.c), folded stacks
 * (flame_folded.c), and the drawing (flame_svg.c, with flame_script.c for what moves in it).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FLAME_H
#define TRACEBED_FLAME_H

#include "reader/tools/shared/tool.h"
#include "reader/tools/shared/tool_places.h"

#include <tracebed/analysis.h>

enum flame_weight { /* what a frame is as wide as */
                    FLAME_TIME,
                    FLAME_BYTES,  /* allocated */
                    FLAME_COUNT,  /* allocations */
                    FLAME_PEAK,   /* live when the process had the most */
                    FLAME_LEAKED, /* never freed */
};

struct flame {
    struct tbed_reader *reader;
    const char *path;
    struct tbed_trace_info info;
    struct tool_places places;
    struct tbed_stacks *stacks;
    struct tbed_stacks_totals totals;
    FILE *out;
    double minimum; /* of all; narrower frames are left out of the drawing */
    const char *title;
    uint32_t root_depth; /* rows above this depth stand for processes and threads */
    enum flame_weight weight;

    /* Of memory: the rows, whose ticks are bytes or allocations, and what their labels are in. */
    struct tbed_stack_row *rows;
    size_t row_count, row_room;
    struct tbed_allocations *allocations;
    struct tbed_statistics *instants;
};

/* NULL past the last. */
static inline const struct tbed_stack_row *flame_row(const struct flame *flame, size_t index)
{
    if (flame->weight == FLAME_TIME)
        return tbed_stacks_row(flame->stacks, index);
    return index < flame->row_count ? &flame->rows[index] : NULL;
}

/* ---- flame_memory.c ---- */

/* NULL, or what is wrong with the argument of --weight. */
const char *flame_weight_parse(const char *text, enum flame_weight *weight_ret);
/* What has become of the bytes: "never freed". */
const char *flame_weight_text(enum flame_weight weight);
/* Makes the rows; 'root' is what all is called, NULL: "all". */
enum tbed_status flame_memory_make(struct flame *flame, const char *root);
void flame_memory_close(struct flame *flame);

/* Ticks as nanoseconds; as they are where the clock counts something else. */
static inline uint64_t flame_value(const struct flame *flame, uint64_t ticks)
{
    if (flame->weight != FLAME_TIME || flame->info.clock == TBED_CLOCK_USER ||
        flame->info.ticks_per_second == 1000000000)
        return ticks; /* exactly */
    double ns = tbed_tick_span_to_ns(flame->reader, ticks);
    return ns >= 0x1p64 ? UINT64_MAX : (uint64_t)(ns + 0.5);
}

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
