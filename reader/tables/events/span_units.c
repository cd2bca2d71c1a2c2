/*
 * The spans of blocks as units; see span_units.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/events/span_units.h"

/* ---- Arguments ---- */

static uint32_t describe(void *context, const struct tbed_assembled *span, const struct tbed_event *end)
{
    struct span_worker *worker = context;
    struct span_unit *unit = worker->unit;
    if (unit->argument_count == unit->argument_room) {
        size_t room = unit->argument_room > 0 ? unit->argument_room * 2 : 64;
        struct row_arguments *grown = realloc(unit->arguments, room * sizeof *grown);
        worker->is_out_of_memory |= grown == NULL;
        if (grown == NULL)
            return 0;
        unit->arguments = grown;
        unit->argument_room = room;
    }
    unit->arguments[unit->argument_count++] =
        (struct row_arguments){span->arguments, end != NULL ? end->arguments : (struct tbed_arguments){0},
                               span->argument_count, end != NULL ? end->argument_count : 0};
    return (uint32_t)unit->argument_count;
}

/* ---- Workers ---- */

bool tbed_span_worker_open(struct row_scan *rows, void *argument)
{
    struct span_worker *worker = argument;
    worker->rows = rows;
    worker->spans.reader = worker->spans.back.reader = rows->scan->reader;
    worker->spans.back.passages = rows->passages;
    worker->spans.filter = rows->scan->options.filter;
    worker->spans.is_cancelled = rows->scan->options.is_cancelled;
    worker->spans.has_categories = rows->wants_begins;
    worker->spans.describe = rows->wants_arguments ? describe : NULL;
    worker->spans.other_context = worker;
    return true;
}

void tbed_span_worker_close(void *argument)
{
    struct span_worker *worker = argument;
    tbed_block_spans_free(&worker->spans);
    tbed_nesting_space_free(&worker->space);
    free(worker->scratch.bytes);
}

/* ---- Units ---- */

/* The unit gets the items, and the worker its old array. */
static void swap_items(struct span_unit *unit, struct block_spans *spans)
{
    struct block_span *items = unit->items;
    size_t room = unit->room;
    unit->items = spans->items;
    unit->room = spans->room;
    spans->items = items;
    spans->room = room;
}

/* Since there is a unit for each stream, it has room for no more than it needs. */
static bool copy_items(struct span_unit *unit, const struct block_spans *spans)
{
    if (spans->count > unit->room || spans->count < unit->room / 4) {
        struct block_span *items = malloc((spans->count + 1) * sizeof *items);
        if (items == NULL)
            return false;
        free(unit->items);
        unit->items = items;
        unit->room = spans->count;
    }
    if (spans->count > 0)
        memcpy(unit->items, spans->items, spans->count * sizeof *unit->items);
    return true;
}

static bool nest(struct span_worker *worker, struct span_unit *unit, size_t block)
{
    if (unit->count > unit->nested_room) {
        free(unit->nested);
        unit->nested = malloc(unit->count * sizeof *unit->nested);
        unit->nested_room = unit->nested != NULL ? unit->count : 0;
        if (unit->nested == NULL)
            return false;
    }
    return tbed_nesting_block(worker->rows->nesting, &worker->space, block, unit->first_id, unit->items,
                              unit->count, unit->nested);
}

enum tbed_status tbed_span_unit_enter(void *worker_argument, void *unit_argument, size_t block, bool is_kept)
{
    struct span_worker *worker = worker_argument;
    struct span_unit *unit = unit_argument;
    struct block_spans *spans = &worker->spans;
    unit->count = unit->at = unit->argument_count = 0;
    worker->unit = unit;
    enum tbed_status status = tbed_block_spans_read(spans, block);
    if (worker->is_out_of_memory)
        return TBED_ERR_MEMORY;
    if (status != TBED_OK)
        return status;
    if (!is_kept)
        swap_items(unit, spans);
    else if (!copy_items(unit, spans))
        return TBED_ERR_MEMORY;
    if (unit->argument_count > 0 && is_kept) {
        struct stable_block stable = unit->stable;
        unit->stable = spans->stable;
        spans->stable = stable;
    }
    unit->count = spans->count;
    unit->first_id = nesting_first_id(&spans->block);
    unit->thread = tbed_row_thread_find(&worker->rows->threads, spans->block.stream);
    if (unit->thread == NULL)
        unit->count = 0;
    return worker->rows->nesting == NULL || nest(worker, unit, block) ? TBED_OK : TBED_ERR_MEMORY;
}

bool tbed_span_unit_peek(void *worker, void *unit_argument, uint64_t *tick_ret)
{
    const struct span_unit *unit = unit_argument;
    (void)worker;
    if (unit->at == unit->count)
        return false;
    *tick_ret = unit->items[unit->at].end_tick;
    return true;
}

void tbed_span_unit_close(void *argument)
{
    struct span_unit *unit = argument;
    free(unit->items);
    free(unit->arguments);
    free(unit->nested);
    tbed_stable_block_free(&unit->stable);
}
