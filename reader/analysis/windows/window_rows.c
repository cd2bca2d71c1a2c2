/*
 * The parts of a window of one stream; see window_rows.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/windows/window_rows.h"

void tbed_window_rows_free(struct window_rows *rows)
{
    tbed_vector_free(&rows->parts.vector);
    tbed_vector_free(&rows->open.vector);
}

static void complete(struct window_rows *rows, const struct tbed_window_part *part)
{
    struct tbed_window_part *added = part->count > 0 ? TBED_VECTOR_PUSH(&rows->parts) : NULL;
    if (added != NULL)
        *added = *part;
    else
        rows->is_out_of_memory |= part->count > 0;
}

/* What short spans of this depth are joined to. NULL: no memory. */
static struct tbed_window_part *open_part(struct window_rows *rows, uint32_t depth)
{
    while (rows->open.count <= depth)
        if (TBED_VECTOR_PUSH(&rows->open) == NULL) {
            rows->is_out_of_memory = true;
            return NULL;
        }
    return &rows->open.items[depth];
}

static void join(struct tbed_window_part *part, const struct tbed_window_part *more)
{
    part->begin_tick = more->begin_tick < part->begin_tick ? more->begin_tick : part->begin_tick;
    part->end_tick = more->end_tick > part->end_tick ? more->end_tick : part->end_tick;
    part->count += more->count;
    if (__builtin_add_overflow(part->ticks, more->ticks, &part->ticks))
        part->ticks = UINT64_MAX;
    part->open_count += more->open_count;
    part->sample_count += more->sample_count;
    if (more->longest_ticks > part->longest_ticks) {
        part->longest_ticks = more->longest_ticks;
        part->id = more->id;
    }
}

static uint64_t column_of(const struct window_rows *rows, uint64_t tick)
{
    return (tick - rows->begin_tick) / rows->column_ticks;
}

/*
 * The last span that was joined began in the same column, or later: the walk goes back. A part of narrower columns has
 * all its begins in one of them, so the column of the first is that of all.
 */
void tbed_window_rows_add(struct window_rows *rows, const struct tbed_window_part *part)
{
    struct tbed_window_part *open = open_part(rows, part->depth);
    if (open == NULL)
        return;
    bool is_long = part->count == 1 && part->end_tick - part->begin_tick >= rows->column_ticks;
    if (!is_long && open->count > 0 &&
        column_of(rows, open->begin_tick) == column_of(rows, part->begin_tick)) {
        join(open, part);
        return;
    }
    complete(rows, open);
    *open = (struct tbed_window_part){0};
    if (is_long)
        complete(rows, part);
    else
        *open = *part;
}

void tbed_window_rows_finish(struct window_rows *rows)
{
    for (size_t depth = 0; depth < rows->open.count; depth++) {
        complete(rows, &rows->open.items[depth]);
        rows->open.items[depth] = (struct tbed_window_part){0};
    }
}

/* What is put in again comes in the same order. */
void tbed_window_rows_widen(struct window_rows *rows, uint64_t column_ticks)
{
    tbed_window_rows_finish(rows);
    struct window_rows narrow = *rows;
    rows->parts.vector = (struct tbed_vector){0};
    rows->column_ticks = column_ticks;
    for (size_t i = 0; i < narrow.parts.count; i++)
        tbed_window_rows_add(rows, &narrow.parts.items[i]);
    tbed_vector_free(&narrow.parts.vector);
}
