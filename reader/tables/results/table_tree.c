/*
 * The tables of time by the path of labels that leads to it, for each process or thread.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/results/results.h"

enum { ID, PARENT_ID, DEPTH, LABEL, COUNT, OPEN, TOTAL, SELF, ROOT, COLUMN_COUNT };

static const struct tbed_column columns[COLUMN_COUNT] = {
    [ID] = {"id", TBED_COLUMN_I64, NULL, "the number of the row, from 0", false},
    [PARENT_ID] = {"parent_id", TBED_COLUMN_I64, NULL,
                   "the row of the path without its last label; NULL: a root", false},
    [DEPTH] = {"depth", TBED_COLUMN_I64, NULL, "0 for a root", false},
    [LABEL] = {"label", TBED_COLUMN_NAME, NULL, "the last label of the path, or the name of the root", false},
    [COUNT] = {"count", TBED_COLUMN_I64, NULL, "the spans; for a root its threads", false},
    [OPEN] = {"open", TBED_COLUMN_I64, NULL, "among them, those that never ended", false},
    [TOTAL] = {"total", TBED_COLUMN_I64, "ns", "the time of the spans; for a root that of its threads",
               false},
    [SELF] = {"self", TBED_COLUMN_I64, "ns", "total without that of longer paths; below 0 if spans overlap",
              false},
    [ROOT] = {"root", TBED_COLUMN_NAME, NULL, "the name of the root: the process", false},
};

struct state {
    struct tbed_stacks *stacks;
    size_t at;
    const struct tbed_stack_row *root; /* of the latest row */
};

static enum tbed_status open_stacks(struct tbed_scan *scan, bool per_thread)
{
    struct result_names names = {.reader = scan->reader};
    const struct tbed_stacks_options options = {.size = sizeof options,
                                                .thread_count = scan->options.thread_count,
                                                .per_thread = per_thread,
                                                .name = tbed_results_name,
                                                .name_context = &names,
                                                .prepare = tbed_results_prepare,
                                                .filter = scan->options.filter,
                                                .is_cancelled = scan->options.is_cancelled};
    struct state *state = scan->state = calloc(1, sizeof *state);
    if (state == NULL)
        return TBED_ERR_MEMORY;
    return results_status(tbed_stacks_make(scan->reader, &options, &state->stacks), &names);
}

static enum tbed_status open_tree(struct tbed_scan *scan)
{
    return open_stacks(scan, false);
}

static enum tbed_status open_thread_tree(struct tbed_scan *scan)
{
    return open_stacks(scan, true);
}

static void close_tree(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    if (state != NULL)
        tbed_stacks_close(state->stacks);
    free(state);
}

/* Negative only where a verb shows it so. */
static void put_self(struct table_rows *rows, const struct tbed_reader *reader,
                     const struct tbed_stack_row *row)
{
    int64_t *self = table_rows_wants(rows, SELF) ? (int64_t *)rows->arrays[SELF] + rows->count : NULL;
    bool is_negative = row->signed_self_ticks < 0 && row->self_ticks == 0;
    uint64_t ticks = is_negative ? 0 - (uint64_t)row->signed_self_ticks : (uint64_t)row->signed_self_ticks;
    tbed_facts_put_span(rows, SELF, reader, ticks);
    if (self != NULL && is_negative)
        *self = -*self;
}

static void put(struct table_rows *rows, const struct tbed_reader *reader, const struct state *state,
                const struct tbed_stack_row *row)
{
    table_put_i64(rows, ID, (int64_t)state->at);
    if (row->parent != SIZE_MAX)
        table_put_i64(rows, PARENT_ID, (int64_t)row->parent);
    else
        tbed_table_put_null(rows, PARENT_ID);
    table_put_i64(rows, DEPTH, row->depth);
    tbed_table_put_text(rows, LABEL, row->label, row->label_nbytes);
    tbed_facts_put_count(rows, COUNT, row->count);
    tbed_facts_put_count(rows, OPEN, row->open_count);
    tbed_facts_put_span(rows, TOTAL, reader, row->span_ticks);
    put_self(rows, reader, row);
    tbed_table_put_text(rows, ROOT, state->root->label, state->root->label_nbytes);
    table_rows_end(rows);
}

static enum tbed_status fill(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    const struct tbed_stack_row *row;
    for (; !table_rows_is_full(&scan->rows) && (row = tbed_stacks_row(state->stacks, state->at)) != NULL;
         state->at++) {
        state->root = row->parent == SIZE_MAX ? row : state->root;
        put(&scan->rows, scan->reader, state, row);
    }
    return TBED_OK;
}

const struct table_source tbed_table_tree = {
    .about = {"tree", "time by process and path of labels, as in tree; each row is followed by its children",
              columns, COLUMN_COUNT},
    .open = open_tree,
    .fill = fill,
    .close = close_tree,
};

const struct table_source tbed_table_thread_tree = {
    .about = {"thread_tree", "the same with threads below processes, as in tree --per-thread", columns,
              COLUMN_COUNT},
    .open = open_thread_tree,
    .fill = fill,
    .close = close_tree,
};
