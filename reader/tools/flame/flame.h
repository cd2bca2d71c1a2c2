/*
 * Shared by the files of 'tracebed flame': flame_verb.c handles options and output, flame_memory.c makes stacks of
 * allocations, flame_diff.c compares two traces, flame_folded.c prints folded stacks, and flame_svg.c draws, with the
 * script and style in flame_script.c; flame_over_time.c draws the chart of --over-time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FLAME_H
#define TRACEBED_FLAME_H

#include "reader/exchange/stacks/memory_rows.h"
#include "reader/tools/filter/tool_filter.h"
#include "reader/tools/shared/tool.h"
#include "reader/tools/shared/tool_places.h"
#include "reader/tools/tree/old_stacks.h"

#include <tracebed/analysis.h>

enum flame_weight { /* what the width of a frame shows */
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
    double minimum; /* as a fraction of the whole; narrower frames are not drawn */
    const char *title, *old_title;
    unsigned jobs;       /* threads; 0: one per processor */
    uint32_t root_depth; /* rows above this depth are processes and threads */
    enum flame_weight weight;

    struct memory_rows memory;            /* for memory: the rows, whose ticks are bytes or allocations */
    struct tbed_allocations *allocations; /* for the chart over time */
    struct tool_filter filter;

    /* For a comparison: the rows, whose ticks are nanoseconds or ticks of a clock that does not measure time. */
    struct tbed_stack_row *rows;
    size_t row_count;
    struct old_stacks old;
    struct tbed_stack_figures *olds; /* by row; NULL: nothing is compared */
    bool is_normalized;
    bool is_over_time;     /* a chart of live memory instead */
    double old_scale;      /* the times of the old trace are multiplied by this */
    double largest_change; /* of self time */
    size_t gone_count;     /* paths that only the old trace has, and their self time */
    double gone_self;
};

/* Returns NULL after the last row. */
static inline const struct tbed_stack_row *flame_row(const struct flame *flame, size_t index)
{
    if (flame->weight != FLAME_TIME)
        return index < flame->memory.rows.count ? &flame->memory.rows.items[index] : NULL;
    if (flame->olds == NULL)
        return tbed_stacks_row(flame->stacks, index);
    return index < flame->row_count ? &flame->rows[index] : NULL;
}

/* ---- flame_memory.c ---- */

/* Returns NULL, or what is wrong with the argument of --weight. */
const char *flame_weight_parse(const char *text, enum flame_weight *weight_ret);
/* What the weight counts, for example "never freed". */
const char *flame_weight_text(enum flame_weight weight);
/* Makes the rows; 'root' names the root, NULL: "all". */
enum tbed_status flame_memory_make(struct flame *flame, const char *root);
void flame_memory_close(struct flame *flame);

/* ---- flame_diff.c ---- */

/* Makes the rows of a comparison; those of paths that only the old trace has on request. Errors: ERR_MEMORY. */
enum tbed_status flame_diff_make(struct flame *flame, bool with_gone);
/* How much more self time a row has than in the old trace. */
double flame_self_change(const struct flame *flame, size_t index);
/* Red: more, blue: less. */
void flame_diff_put_color(const struct flame *flame, size_t index);

/* Ticks in nanoseconds; unchanged if the clock does not measure time. */
static inline uint64_t flame_value(const struct flame *flame, uint64_t ticks)
{
    if (flame->weight != FLAME_TIME || flame->olds != NULL || flame->info.clock == TBED_CLOCK_USER ||
        flame->info.ticks_per_second == 1000000000)
        return ticks; /* exactly */
    double ns = tbed_tick_span_to_ns(flame->reader, ticks);
    return ns >= 0x1p64 ? UINT64_MAX : (uint64_t)(ns + 0.5);
}

/* Prints one line per stack: "a;b;c N", or "a;b;c OLD NEW" for a comparison. False if there is no memory. */
bool flame_folded(const struct flame *flame);

struct flame_drawn {
    uint64_t frame_count, narrow_count; /* frames drawn; frames too narrow to draw */
};
/* False if there is no memory. */
bool flame_svg(const struct flame *flame, struct flame_drawn *drawn_ret);

/* Text of at most 'columns', in XML; 0: all of it. */
void flame_put_xml(FILE *out, const char *text, size_t nbytes, size_t columns);

/* ---- flame_over_time.c ---- */

enum tbed_status flame_over_time_make(struct flame *flame);
/* Draws the chart; returns the number of its parts. */
size_t flame_over_time(const struct flame *flame);

/* The script and the style sheet of a drawing. */
extern const char *const flame_script, *const flame_style;

#endif
