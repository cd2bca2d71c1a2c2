/*
 * The rows of a differential flame graph: the paths of the newer trace, each with its figures in the older one.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/flame/flame.h"

#include <math.h>
#include <stdlib.h>

static size_t count_rows(const struct tbed_stack_differences *differences)
{
    size_t count = 0;
    while (tbed_stack_differences_row(differences, count) != NULL)
        count++;
    return count;
}

/* What the times of the old trace are multiplied by, so that both totals are the same. */
static double scale_of(const struct tbed_stack_differences *differences)
{
    const struct tbed_stack_difference *row;
    double before = 0, after = 0;
    for (size_t i = 0; (row = tbed_stack_differences_row(differences, i)) != NULL; i++)
        if (row->depth == 0) {
            before += (double)row->before.total;
            after += (double)row->after.total;
        }
    return before > 0 && after > 0 ? after / before : 1;
}

static void add_row(struct flame *flame, const struct tbed_stack_difference *row, size_t parent)
{
    flame->olds[flame->row_count] = row->before;
    flame->rows[flame->row_count++] = (struct tbed_stack_row){.label = row->label,
                                                              .label_nbytes = row->label_nbytes,
                                                              .parent = parent,
                                                              .depth = row->depth,
                                                              .count = row->after.count,
                                                              .self_ticks = row->after.self,
                                                              .total_ticks = row->after.total,
                                                              .id = TBED_ID_INVALID};
    flame->largest_change = fmax(flame->largest_change, fabs(flame_self_change(flame, flame->row_count - 1)));
}

static void add_rows(struct flame *flame, const struct tbed_stack_differences *differences, bool with_gone)
{
    size_t count = count_rows(differences);
    size_t *places = tool_realloc(NULL, (count + 1) * sizeof *places);
    flame->rows = tool_realloc(NULL, (count + 1) * sizeof *flame->rows);
    flame->olds = tool_realloc(NULL, (count + 1) * sizeof *flame->olds);
    for (size_t i = 0; i < count; i++) {
        const struct tbed_stack_difference *row = tbed_stack_differences_row(differences, i);
        places[i] = flame->row_count;
        if (row->after.present || with_gone) {
            add_row(flame, row, row->parent == SIZE_MAX ? SIZE_MAX : places[row->parent]);
        } else {
            flame->gone_count++;
            flame->gone_self += (double)row->before.self * flame->old_scale;
        }
    }
    free(places);
}

enum tbed_status flame_diff_make(struct flame *flame, bool with_gone)
{
    struct tbed_stack_differences *differences = NULL;
    enum tbed_status status = tbed_stack_differences_make(flame->old.stacks, flame->old.reader, flame->stacks,
                                                          flame->reader, &differences);
    if (status != TBED_OK)
        return status;
    flame->old_scale = flame->is_normalized ? scale_of(differences) : 1;
    add_rows(flame, differences, with_gone);
    tbed_stack_differences_close(differences);
    return TBED_OK;
}

void flame_diff_put_color(const struct flame *flame, size_t index)
{
    static const double gray[] = {238, 238, 238}, red[] = {250, 92, 74}, blue[] = {84, 148, 240};
    double change = flame_self_change(flame, index);
    const double *end = change > 0 ? red : blue;
    double part = flame->largest_change > 0 ? sqrt(fabs(change) / flame->largest_change) : 0;
    unsigned parts[3];
    for (unsigned i = 0; i < 3; i++)
        parts[i] = (unsigned)(gray[i] + (end[i] - gray[i]) * part + 0.5);
    fprintf(flame->out, "#%02x%02x%02x", parts[0], parts[1], parts[2]);
}

double flame_self_change(const struct flame *flame, size_t index)
{
    return (double)flame->rows[index].self_ticks - (double)flame->olds[index].self * flame->old_scale;
}
