/*
 * Flows: which streams have any, the pass over these, and the rows. Ids with the same label share a row, and spans
 * with the same label and stream share a part of it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/analysis/filter/filter.h"
#include "reader/analysis/flows/flow_pass.h"
#include "reader/analysis/shared/labels.h"

#include <tracebed/flows.h>

/* A part, and its place in the order of parts. */
struct flow_item {
    struct tbed_flow_part part;
    size_t row;
    uint32_t label;
};

struct tbed_flows {
    struct flow_sums sums;
    struct tbed_flow_row *rows;
    struct flow_item *items; /* by row */
    size_t *first_items;     /* of each row, and one more */
    size_t row_count;
    struct named_texts texts;
};

/* The labels of some ids, by id. */
struct label {
    const char *text;
    size_t nbytes;
    uint32_t id;    /* the lowest with this text */
    uint32_t order; /* of the text */
};

struct labels {
    struct label *items;
    struct number_map of; /* by id */
};

/* ---- Labels ---- */

static bool add_label(struct labels *labels, struct named *names, size_t *count, uint32_t id)
{
    if (id == TBED_ID_INVALID || tbed_number_map_find(&labels->of, id) != NUMBER_MAP_NONE)
        return true;
    names[*count] = (struct named){.id = id};
    return tbed_number_map_add(&labels->of, id, (uint32_t)(*count)++);
}

static bool name_all(struct tbed_flows *flows, struct tbed_reader *reader,
                     const struct tbed_flows_options *options, struct labels *labels, struct named *names)
{
    const struct tbed_analysis_options naming = {.size = sizeof naming,
                                                 .name = options->name,
                                                 .name_context = options->name_context,
                                                 .prepare = options->prepare};
    size_t count = 0;
    bool fine = true;
    for (size_t i = 0; fine && i < flows->sums.names.count; i++)
        fine = add_label(labels, names, &count, flows->sums.names.items[i].id);
    for (size_t i = 0; fine && i < flows->sums.shares.count; i++)
        fine = add_label(labels, names, &count, flows->sums.shares.items[i].id);
    if (!fine || tbed_labels_resolve(&flows->texts, reader, &naming, names, count) != TBED_OK)
        return false;
    for (size_t i = 0, group; i < count; i += group) {
        group = tbed_named_group(names, count, i);
        for (size_t k = i; k < i + group; k++)
            labels->items[tbed_number_map_find(&labels->of, names[k].id)] =
                (struct label){names[i].text, names[i].nbytes, names[i].id, (uint32_t)i};
    }
    return true;
}

static bool make_labels(struct tbed_flows *flows, struct tbed_reader *reader,
                        const struct tbed_flows_options *options, struct labels *labels)
{
    size_t most = flows->sums.names.count + flows->sums.shares.count;
    struct named *names = calloc(most + 1, sizeof *names);
    labels->items = calloc(most + 1, sizeof *labels->items);
    bool fine = names != NULL && labels->items != NULL && name_all(flows, reader, options, labels, names);
    free(names);
    return fine;
}

static const struct label *label_of(const struct labels *labels, uint32_t id)
{
    static const struct label outside = {.text = "", .id = TBED_ID_INVALID, .order = UINT32_MAX};
    return id == TBED_ID_INVALID ? &outside : &labels->items[tbed_number_map_find(&labels->of, id)];
}

/* ---- Rows ---- */

/* One name, and where its label comes in the order of rows. */
struct ordered {
    uint64_t order;
    uint32_t name;
};

static int compare_ordered(const void *left, const void *right)
{
    const struct ordered *a = left, *b = right;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

static uint64_t percentile(const struct flow_sums *sums, const struct stat_cell *cell, double fraction)
{
    if (cell->count == 0)
        return 0;
    uint64_t ticks = tbed_histogram_percentile(&cell->histogram, cell->count, fraction);
    ticks = (ticks + sums->resolution / 2) / sums->resolution * sums->resolution;
    ticks = ticks < stat_cell_min(cell) ? stat_cell_min(cell) : ticks;
    return ticks > cell->max ? cell->max : ticks;
}

static void fill_row(struct flow_sums *sums, struct tbed_flow_row *row, uint32_t name)
{
    struct stat_cell *cell = stat_cell(&sums->cells, name);
    row->count = cell->count;
    row->total_ticks = cell->total;
    row->min_ticks = stat_cell_min(cell);
    row->max_ticks = cell->max;
    row->p50_ticks = percentile(sums, cell, 0.5);
    row->p90_ticks = percentile(sums, cell, 0.9);
    row->p99_ticks = percentile(sums, cell, 0.99);
}

static void add_name(struct tbed_flow_row *row, const struct flow_name *name)
{
    row->open_count += name->open_count;
    row->lost_end_count += name->lost_end_count;
    row->lost_step_count += name->lost_step_count;
    row->decrease_count += name->decrease_count;
    row->running_ticks = stat_sum(row->running_ticks, name->running);
    row->waiting_ticks = stat_sum(row->waiting_ticks, name->waiting);
}

/* Makes the rows in this order of names; 'row_of' is set for each name. */
static void fill_rows(struct tbed_flows *flows, const struct labels *labels, const struct ordered *ordered,
                      size_t *row_of)
{
    struct flow_sums *sums = &flows->sums;
    size_t count = sums->names.count;
    for (size_t i = 0, end; i < count; i = end) {
        struct tbed_flow_row *row = &flows->rows[flows->row_count];
        const struct flow_name *first = &sums->names.items[ordered[i].name];
        const struct label *label = label_of(labels, first->id);
        row->name = label->text;
        row->name_nbytes = label->nbytes;
        row->is_async = first->is_async;
        row->id = first->id;
        for (end = i; end < count && ordered[end].order == ordered[i].order; end++) {
            const struct flow_name *name = &sums->names.items[ordered[end].name];
            add_name(row, name);
            row->id = name->id < row->id ? name->id : row->id;
            row_of[ordered[end].name] = flows->row_count;
            if (end > i)
                tbed_stat_cells_join(&sums->cells, ordered[i].name, ordered[end].name);
        }
        fill_row(sums, row, ordered[i].name);
        flows->row_count++;
    }
}

static bool make_rows(struct tbed_flows *flows, const struct labels *labels, size_t *row_of)
{
    size_t count = flows->sums.names.count;
    struct ordered *ordered = calloc(count + 1, sizeof *ordered);
    flows->rows = calloc(count + 1, sizeof *flows->rows);
    bool fine = ordered != NULL && flows->rows != NULL;
    for (size_t i = 0; fine && i < count; i++) {
        const struct flow_name *name = &flows->sums.names.items[i];
        uint64_t order = (uint64_t)label_of(labels, name->id)->order << 1 | name->is_async;
        ordered[i] = (struct ordered){order, (uint32_t)i};
    }
    if (fine && count > 0) {
        qsort(ordered, count, sizeof *ordered, compare_ordered);
        fill_rows(flows, labels, ordered, row_of);
    }
    free(ordered);
    return fine && !flows->sums.cells.is_out_of_memory;
}

/* ---- Parts ---- */

static int compare_same(const struct flow_item *a, const struct flow_item *b)
{
    if (a->part.is_waiting != b->part.is_waiting)
        return a->part.is_waiting ? 1 : -1;
    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return (a->part.stream > b->part.stream) - (a->part.stream < b->part.stream);
}

static int compare_parts(const void *left, const void *right)
{
    const struct flow_item *a = left, *b = right;
    return a->row != b->row ? (a->row < b->row ? -1 : 1) : compare_same(a, b);
}

static int compare_ticks(const void *left, const void *right)
{
    const struct flow_item *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->part.ticks != b->part.ticks)
        return a->part.ticks > b->part.ticks ? -1 : 1;
    return compare_same(a, b);
}

/* Adds those that are the same; returns how many are left. */
static size_t join_items(struct flow_item *items, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (used > 0 && compare_parts(&items[used - 1], &items[i]) == 0) {
            items[used - 1].part.count += items[i].part.count;
            items[used - 1].part.ticks = stat_sum(items[used - 1].part.ticks, items[i].part.ticks);
        } else {
            items[used++] = items[i];
        }
    }
    return used;
}

static bool make_parts(struct tbed_flows *flows, const struct labels *labels, const size_t *row_of)
{
    size_t count = flows->sums.shares.count;
    flows->items = calloc(count + 1, sizeof *flows->items);
    flows->first_items = calloc(flows->row_count + 1, sizeof *flows->first_items);
    if (flows->items == NULL || flows->first_items == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct flow_share *share = &flows->sums.shares.items[i];
        const struct label *label = label_of(labels, share->id);
        flows->items[i] = (struct flow_item){.part = {share->is_waiting, label->text, label->nbytes,
                                                      label->id, share->stream, share->count, share->ticks},
                                             .row = row_of[share->name],
                                             .label = label->order};
    }
    if (count > 0) {
        qsort(flows->items, count, sizeof *flows->items, compare_parts);
        count = join_items(flows->items, count);
        qsort(flows->items, count, sizeof *flows->items, compare_ticks);
    }
    for (size_t i = 0; i < count; i++)
        flows->rows[flows->items[i].row].part_count++;
    for (size_t row = 1; row < flows->row_count; row++)
        flows->first_items[row] = flows->first_items[row - 1] + flows->rows[row - 1].part_count;
    return true;
}

/* ---- All of it ---- */

static bool make_results(struct tbed_flows *flows, struct tbed_reader *reader,
                         const struct tbed_flows_options *options)
{
    struct labels labels = {0};
    size_t *row_of = calloc(flows->sums.names.count + 1, sizeof *row_of);
    bool fine = row_of != NULL && make_labels(flows, reader, options, &labels) &&
                make_rows(flows, &labels, row_of) && make_parts(flows, &labels, row_of);
    free(row_of);
    free(labels.items);
    tbed_number_map_free(&labels.of);
    return fine;
}

static enum tbed_status make(struct tbed_flows *flows, struct tbed_reader *reader,
                             const struct tbed_flows_options *options)
{
    struct flow_streams streams = {0};
    struct tbed_trace_info info;
    tbed_reader_info(reader, &info);
    enum tbed_status status = TBED_ERR_MEMORY;
    if (tbed_flow_sums_open(&flows->sums, options->slowest_count, info.resolution_ticks) &&
        tbed_flow_streams_find(reader, options, &streams))
        status = tbed_flow_pass(reader, options, &streams, &flows->sums);
    tbed_flow_streams_free(&streams);
    if (status != TBED_OK)
        return status;
    tbed_flow_sums_sort(&flows->sums);
    return make_results(flows, reader, options) && !tbed_filter_has_failed(options->filter) &&
                   !tbed_filter_has_failed(options->names)
               ? TBED_OK
               : TBED_ERR_MEMORY;
}

enum tbed_status tbed_flows_make(struct tbed_reader *reader, const struct tbed_flows_options *given,
                                 struct tbed_flows **flows_ret)
{
    struct tbed_flows_options options;
    if (!tbed_options_take(&options, sizeof options, given))
        return TBED_ERR_ARGUMENT;
    struct tbed_flows *flows = calloc(1, sizeof *flows);
    enum tbed_status status = flows != NULL ? make(flows, reader, &options) : TBED_ERR_MEMORY;
    if (status == TBED_OK)
        *flows_ret = flows;
    else
        tbed_flows_close(flows);
    return status;
}

void tbed_flows_close(struct tbed_flows *flows)
{
    if (flows == NULL)
        return;
    tbed_flow_sums_close(&flows->sums);
    tbed_named_texts_free(&flows->texts);
    free(flows->rows);
    free(flows->items);
    free(flows->first_items);
    free(flows);
}

/* ---- Queries ---- */

const struct tbed_flow_row *tbed_flows_row(const struct tbed_flows *flows, size_t index)
{
    return index < flows->row_count ? &flows->rows[index] : NULL;
}

const struct tbed_flow_part *tbed_flows_part(const struct tbed_flows *flows, size_t row, size_t index)
{
    if (row >= flows->row_count || index >= flows->rows[row].part_count)
        return NULL;
    return &flows->items[flows->first_items[row] + index].part;
}

const struct tbed_flow *tbed_flows_slowest(const struct tbed_flows *flows, size_t index)
{
    return index < flows->sums.slowest_count ? &flows->sums.slowest[index] : NULL;
}
