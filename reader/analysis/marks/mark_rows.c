/*
 * Marks and values by column; see mark_rows.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/marks/mark_rows.h"

/* ---- Marks ---- */

bool tbed_mark_slots_open(struct mark_slots *slots, size_t column_count)
{
    slots->column_count = column_count;
    slots->slots = calloc(column_count * TBED_MARK_KIND_COUNT, sizeof *slots->slots);
    return slots->slots != NULL;
}

static void join(struct tbed_mark_row *mark, const struct tbed_mark_row *more)
{
    if (mark->count == 0) {
        *mark = *more;
        return;
    }
    if (more->first_tick < mark->first_tick) {
        mark->first_tick = more->first_tick;
        mark->id = more->id;
    }
    if (more->last_tick > mark->last_tick)
        mark->last_tick = more->last_tick;
    if (__builtin_add_overflow(mark->count, more->count, &mark->count))
        mark->count = UINT64_MAX;
}

static uint64_t column_of(uint64_t tick, uint64_t begin_tick, uint64_t column_ticks)
{
    return tick > begin_tick ? (tick - begin_tick) / column_ticks : 0;
}

void tbed_mark_slots_add(struct mark_slots *slots, const struct tbed_mark_row *mark)
{
    uint64_t column = column_of(mark->first_tick, slots->begin_tick, slots->column_ticks);
    if (column >= slots->column_count)
        column = slots->column_count - 1;
    if (mark->count > 0)
        join(&slots->slots[column * TBED_MARK_KIND_COUNT + mark->kind], mark);
}

bool tbed_mark_slots_take(struct mark_slots *slots, mark_vector *to)
{
    for (size_t i = 0; i < slots->column_count * TBED_MARK_KIND_COUNT; i++) {
        struct tbed_mark_row *added = slots->slots[i].count > 0 ? TBED_VECTOR_PUSH(to) : NULL;
        if (slots->slots[i].count > 0 && added == NULL)
            return false;
        if (added != NULL)
            *added = slots->slots[i];
        slots->slots[i].count = 0;
    }
    return true;
}

/* Where a mark of this column and kind was written last; 'count' if nowhere. Those of the column are the last few. */
static size_t place_in(const mark_vector *marks, size_t count, const struct tbed_mark_row *mark,
                       uint64_t begin_tick, uint64_t column_ticks)
{
    uint64_t column = column_of(mark->first_tick, begin_tick, column_ticks);
    for (size_t i = count; i > 0; i--) {
        const struct tbed_mark_row *before = &marks->items[i - 1];
        if (before->stream != mark->stream ||
            column_of(before->first_tick, begin_tick, column_ticks) != column || before->kind < mark->kind)
            return i;
        if (before->kind == mark->kind)
            return i - 1;
    }
    return 0;
}

void tbed_marks_widen(mark_vector *marks, uint64_t begin_tick, uint64_t column_ticks)
{
    size_t count = 0;
    for (size_t i = 0; i < marks->count; i++) {
        struct tbed_mark_row mark = marks->items[i];
        size_t at = place_in(marks, count, &mark, begin_tick, column_ticks);
        bool is_there = at < count && marks->items[at].kind == mark.kind &&
                        marks->items[at].stream == mark.stream &&
                        column_of(marks->items[at].first_tick, begin_tick, column_ticks) ==
                            column_of(mark.first_tick, begin_tick, column_ticks);
        if (is_there) {
            join(&marks->items[at], &mark);
            continue;
        }
        memmove(&marks->items[at + 1], &marks->items[at], (count - at) * sizeof mark);
        marks->items[at] = mark;
        count++;
    }
    marks->count = count;
}

/* ---- Counters ---- */

static bool is_key(const struct counter_table *table, size_t at, struct counter_key key)
{
    return table->keys[at].process == key.process && table->keys[at].id == key.id;
}

/* TBED_MARKS_COUNTERS_MAX: there is no room. */
static size_t find(struct counter_table *table, struct counter_key key)
{
    size_t at = table->latest < table->count && is_key(table, table->latest, key) ? table->latest : 0;
    while (at < table->count && !is_key(table, at, key))
        at++;
    if (at == table->count && at < TBED_MARKS_COUNTERS_MAX) {
        table->columns[at] = calloc(table->column_count, sizeof *table->columns[at]);
        if (table->columns[at] == NULL) {
            table->is_out_of_memory = true;
            return TBED_MARKS_COUNTERS_MAX;
        }
        table->keys[at] = key;
        table->count++;
    }
    table->latest = at;
    return at;
}

void tbed_counter_table_add(struct counter_table *table, struct counter_key key, size_t column,
                            const struct counter_sums *sums)
{
    size_t at = sums->count > 0 ? find(table, key) : TBED_MARKS_COUNTERS_MAX;
    if (at == TBED_MARKS_COUNTERS_MAX) {
        table->left_out += sums->count;
        return;
    }
    struct counter_sums *to =
        &table->columns[at][column < table->column_count ? column : table->column_count - 1];
    if (to->count == 0 || sums->min < to->min)
        to->min = sums->min;
    if (to->count == 0 || sums->max > to->max)
        to->max = sums->max;
    to->count += sums->count;
    to->sum += sums->sum;
}

void tbed_counter_table_free(struct counter_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->columns[i]);
    table->count = 0;
}
