/*
 * The stacks of two traces side by side, path by path.
 *
 * Both lists have each row before its children, and children in the order of their labels. So they are merged like any
 * sorted lists: the deeper of two rows comes first, because it still belongs to what was put last; at the same depth both
 * have the same parent, and the labels decide.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/number_text.h"
#include <tracebed/compare.h>

#include <stdlib.h>
#include <string.h>

struct tbed_stack_differences {
    struct tbed_stack_difference *rows;
    size_t count;
};

/* One of the two lists. */
struct side {
    const struct tbed_stacks *stacks;
    const struct tbed_reader *reader; /* NULL: no conversion */
    size_t count, root_count;
    size_t next; /* row */
};

struct merge {
    struct side sides[2];
    struct tbed_stack_difference *rows;
    size_t count;
    size_t last_at[TBED_STACK_DEPTH_MAX + 3]; /* the last row of each depth */
};

static struct side side_of(const struct tbed_stacks *stacks, const struct tbed_reader *reader)
{
    struct side side = {.stacks = stacks};
    struct tbed_trace_info info = {.clock = TBED_CLOCK_USER};
    const struct tbed_stack_row *row;
    if (reader != NULL)
        tbed_reader_info(reader, &info);
    if (info.clock != TBED_CLOCK_USER && info.ticks_per_second != 1000000000)
        side.reader = reader;
    for (; (row = tbed_stacks_row(stacks, side.count)) != NULL; side.count++)
        side.root_count += row->depth == 0;
    return side;
}

static uint64_t scaled(const struct side *side, uint64_t ticks)
{
    if (side->reader == NULL)
        return ticks;
    return tbed_round_u64(tbed_tick_span_to_ns(side->reader, ticks));
}

static int compare_rows(const struct merge *merge, const struct tbed_stack_row *a,
                        const struct tbed_stack_row *b)
{
    if (a->depth != b->depth)
        return a->depth > b->depth ? -1 : 1;
    if (a->depth == 0 && merge->sides[0].root_count == 1 && merge->sides[1].root_count == 1)
        return 0;
    size_t common = a->label_nbytes < b->label_nbytes ? a->label_nbytes : b->label_nbytes;
    int order = common > 0 ? memcmp(a->label, b->label, common) : 0;
    return order != 0 ? order : (a->label_nbytes > b->label_nbytes) - (a->label_nbytes < b->label_nbytes);
}

static struct tbed_stack_figures figures_of(const struct side *side, const struct tbed_stack_row *row)
{
    if (row == NULL)
        return (struct tbed_stack_figures){0};
    return (struct tbed_stack_figures){.present = true,
                                       .count = row->count,
                                       .self = scaled(side, row->self_ticks),
                                       .total = scaled(side, row->total_ticks)};
}

/* Either of the rows may be NULL. */
static void put_row(struct merge *merge, const struct tbed_stack_row *before,
                    const struct tbed_stack_row *after)
{
    const struct tbed_stack_row *row = after != NULL ? after : before;
    size_t parent = row->depth > 0 ? merge->last_at[row->depth - 1] : SIZE_MAX;
    merge->last_at[row->depth] = merge->count;
    merge->rows[merge->count++] =
        (struct tbed_stack_difference){.label = row->label,
                                       .label_nbytes = row->label_nbytes,
                                       .parent = parent,
                                       .depth = row->depth,
                                       .before = figures_of(&merge->sides[0], before),
                                       .after = figures_of(&merge->sides[1], after)};
}

static void merge_rows(struct merge *merge)
{
    struct side *before = &merge->sides[0], *after = &merge->sides[1];
    while (before->next < before->count || after->next < after->count) {
        const struct tbed_stack_row *a = tbed_stacks_row(before->stacks, before->next);
        const struct tbed_stack_row *b = tbed_stacks_row(after->stacks, after->next);
        int order = a == NULL ? 1 : b == NULL ? -1 : compare_rows(merge, a, b);
        put_row(merge, order <= 0 ? a : NULL, order >= 0 ? b : NULL);
        before->next += order <= 0;
        after->next += order >= 0;
    }
}

enum tbed_status tbed_stack_differences_make(const struct tbed_stacks *before,
                                             const struct tbed_reader *before_reader,
                                             const struct tbed_stacks *after,
                                             const struct tbed_reader *after_reader,
                                             struct tbed_stack_differences **differences_ret)
{
    struct tbed_stack_differences *differences = calloc(1, sizeof *differences);
    struct merge merge = {.sides = {side_of(before, before_reader), side_of(after, after_reader)}};
    merge.rows = calloc(merge.sides[0].count + merge.sides[1].count + 1, sizeof *merge.rows);
    if (differences == NULL || merge.rows == NULL) {
        free(differences);
        free(merge.rows);
        return TBED_ERR_MEMORY;
    }
    merge_rows(&merge);
    differences->rows = merge.rows;
    differences->count = merge.count;
    *differences_ret = differences;
    return TBED_OK;
}

void tbed_stack_differences_close(struct tbed_stack_differences *differences)
{
    if (differences == NULL)
        return;
    free(differences->rows);
    free(differences);
}

const struct tbed_stack_difference *
tbed_stack_differences_row(const struct tbed_stack_differences *differences, size_t index)
{
    return index < differences->count ? &differences->rows[index] : NULL;
}
