/*
 * The table of call stacks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/facts/facts.h"

#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"

#include <tracebed/analysis.h>

enum {
    ID,
    PARENT_ID,
    DEPTH,
    LOCATION_ID,
    NAME,
    PLACE,
    COLUMN_COUNT = PLACE + FACTS_PLACE_COLUMNS,
};

static const struct tbed_column columns[COLUMN_COUNT] = {
    [ID] = {"id", TBED_COLUMN_I64, NULL, "its id in the trace", false},
    [PARENT_ID] = {"parent_id", TBED_COLUMN_I64, NULL, "the stack of the caller; NULL: none", false},
    [DEPTH] = {"depth", TBED_COLUMN_I64, NULL, "the stacks of callers above it", false},
    [LOCATION_ID] = {"location_id", TBED_COLUMN_I64, NULL, "the place in code of its innermost frame", false},
    [NAME] = {"name", TBED_COLUMN_NAME, NULL, "the name of that place", false},
    FACTS_PLACE(PLACE, "that place"),
};

/* Stacks are in ranges of ids. 'base' counts those of the ranges before 'range'. */
struct state {
    size_t range, at, base;
    uint32_t *depths; /* of all stacks, in order; NULL: not asked for */
    uint32_t ids[TBED_BATCH_ROWS_MAX], batch_depths[TBED_BATCH_ROWS_MAX];
};

static const struct tbed_keyed_stacks *range_of(const struct tbed_reader *reader, size_t index)
{
    return (const struct tbed_keyed_stacks *)reader->metadata->stacks.items + index;
}

/* A caller with a type is the stack that has it. */
static uint32_t without_type(const struct tbed_reader *reader, uint32_t id)
{
    uint32_t location, type;
    return tbed_typed_get(reader, id, &location, &type) ? location : id;
}

static bool is_stack(const struct tbed_reader *reader, uint32_t id)
{
    uint32_t location, parent;
    return tbed_stack_get(reader, id, &location, &parent) && without_type(reader, id) == id;
}

/* ---- Depths ---- */

/* A parent has a lower id, so its depth is known. */
static uint32_t depth_of(const struct tbed_reader *reader, const size_t *bases, const uint32_t *depths,
                         uint32_t parent)
{
    parent = without_type(reader, parent);
    if (!is_stack(reader, parent))
        return 0;
    size_t index =
        tbed_keyed_count_up_to(&reader->metadata->stacks, sizeof(struct tbed_keyed_stacks), parent) - 1;
    return depths[bases[index] + (parent - range_of(reader, index)->keyed.key)] + 1;
}

static void fill_depths(const struct tbed_reader *reader, const size_t *bases, uint32_t *depths)
{
    for (size_t i = 0; i < reader->metadata->stacks.count; i++)
        for (uint32_t k = 0; k < range_of(reader, i)->count; k++) {
            uint32_t location, parent;
            tbed_stack_get(reader, range_of(reader, i)->keyed.key + k, &location, &parent);
            depths[bases[i] + k] = depth_of(reader, bases, depths, parent);
        }
}

/* False: no memory. */
static bool find_depths(const struct tbed_reader *reader, struct state *state)
{
    size_t range_count = reader->metadata->stacks.count, total = 0;
    size_t *bases = malloc((range_count + 1) * sizeof *bases);
    for (size_t i = 0; bases != NULL && i < range_count; total += range_of(reader, i++)->count)
        bases[i] = total;
    state->depths = bases != NULL ? malloc((total + 1) * sizeof *state->depths) : NULL;
    if (state->depths != NULL)
        fill_depths(reader, bases, state->depths);
    free(bases);
    return state->depths != NULL;
}

/* ---- Rows ---- */

static enum tbed_status open_stacks(struct tbed_scan *scan)
{
    struct state *state = scan->state = calloc(1, sizeof *state);
    if (state == NULL)
        return TBED_ERR_MEMORY;
    bool fine = !table_rows_wants(&scan->rows, DEPTH) || find_depths(scan->reader, state);
    return fine ? TBED_OK : TBED_ERR_MEMORY;
}

static void close_stacks(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    if (state != NULL)
        free(state->depths);
    free(state);
}

static void put(struct table_rows *rows, const struct tbed_reader *reader, uint32_t id, uint32_t depth)
{
    uint32_t location = TBED_ID_INVALID, parent = TBED_ID_INVALID;
    tbed_stack_get(reader, id, &location, &parent);
    parent = without_type(reader, parent);
    table_put_i64(rows, ID, id);
    if (is_stack(reader, parent))
        table_put_i64(rows, PARENT_ID, parent);
    else
        tbed_table_put_null(rows, PARENT_ID);
    table_put_i64(rows, DEPTH, depth);
    table_put_i64(rows, LOCATION_ID, location);
    tbed_table_put_id(rows, NAME, reader, location);
    tbed_facts_put_place(rows, PLACE, reader, location);
    table_rows_end(rows);
}

/* The next stacks that the constraints allow, and their indexes. Returns how many. */
static size_t collect(const struct tbed_scan *scan, struct state *state, uint32_t *depths)
{
    int64_t least, greatest;
    size_t count = 0;
    tbed_scan_range(scan, ID, &least, &greatest);
    while (count < TBED_BATCH_ROWS_MAX && state->range < scan->reader->metadata->stacks.count) {
        const struct tbed_keyed_stacks *range = range_of(scan->reader, state->range);
        int64_t first = range->keyed.key;
        if (range->has_types || state->at == range->count || least >= first + range->count ||
            greatest < first) {
            state->base += range->count;
            state->range++;
            state->at = 0;
            continue;
        }
        uint32_t id = range->keyed.key + (uint32_t)state->at;
        if (id >= least && id <= greatest) {
            depths[count] = state->depths != NULL ? state->depths[state->base + state->at] : 0;
            state->ids[count++] = id;
        }
        state->at++;
    }
    return count;
}

static enum tbed_status fill(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    uint32_t *depths = state->batch_depths;
    size_t count = collect(scan, state, depths);
    if (scan->rows.columns >> NAME != 0)
        tbed_names_prepare(scan->reader, state->ids, count, false);
    for (size_t i = 0; i < count; i++)
        put(&scan->rows, scan->reader, state->ids[i], depths[i]);
    return TBED_OK;
}

static uint64_t estimate(struct tbed_tables *tables)
{
    struct tbed_trace_info info;
    if (tables->reader == NULL)
        return 1;
    tbed_reader_info(tables->reader, &info);
    return info.stack_count;
}

const struct table_source tbed_table_stacks = {
    .about = {"stacks",
              "call stacks, each with its innermost frame and its caller's stack, in order of their ids",
              columns, COLUMN_COUNT},
    .row_estimate = estimate,
    .open = open_stacks,
    .fill = fill,
    .close = close_stacks,
};
