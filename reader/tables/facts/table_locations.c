/*
 * The tables of places in code: those that call stacks and records of frames name, and the functions at each.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/facts/facts.h"

#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"

/* ---- Which places ---- */

struct state {
    uint32_t *ids; /* ascending, each once */
    size_t count, at, frame;
};

static int compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static void sort(struct state *state)
{
    size_t kept = 0;
    if (state->count > 1)
        qsort(state->ids, state->count, sizeof *state->ids, compare);
    for (size_t i = 0; i < state->count; i++)
        if (i == 0 || state->ids[i] != state->ids[kept - 1])
            state->ids[kept++] = state->ids[i];
    state->count = kept;
}

static size_t count_stacks(const struct tbed_metadata *metadata)
{
    const struct tbed_keyed_stacks *ranges = metadata->stacks.items;
    size_t count = 0;
    for (size_t i = 0; i < metadata->stacks.count; i++)
        count += ranges[i].count;
    return count;
}

static void list_stacks(const struct tbed_reader *reader, struct state *state)
{
    const struct tbed_keyed_stacks *ranges = reader->metadata->stacks.items;
    for (size_t i = 0; i < reader->metadata->stacks.count; i++)
        for (uint32_t k = 0; k < ranges[i].count; k++) {
            uint32_t parent;
            tbed_stack_get(reader, ranges[i].keyed.key + k, &state->ids[state->count++], &parent);
        }
}

static void list_frames(const struct tbed_metadata *metadata, struct state *state)
{
    const struct tbed_keyed_frames *frames = metadata->frames.items;
    for (size_t i = 0; i < metadata->frames.count; i++)
        state->ids[state->count++] = frames[i].keyed.key;
}

/* Places that only events name are found by reading these. */
static enum tbed_status list_native(struct tbed_reader *reader, struct state *state)
{
    uint32_t *native = NULL, *all;
    size_t count = 0;
    enum tbed_status status =
        reader->metadata->units.count > 0 ? tbed_native_code_find(reader, &native, &count) : TBED_OK;
    if (status != TBED_OK || count == 0) {
        free(native);
        return status;
    }
    all = realloc(state->ids, (state->count + count) * sizeof *all);
    if (all != NULL) {
        memcpy(all + state->count, native, count * sizeof *all);
        state->ids = all;
        state->count += count;
    }
    free(native);
    return all != NULL ? TBED_OK : TBED_ERR_MEMORY;
}

static enum tbed_status open_places(struct tbed_scan *scan)
{
    const struct tbed_metadata *metadata = scan->reader->metadata;
    struct state *state = scan->state = calloc(1, sizeof *state);
    if (state == NULL)
        return TBED_ERR_MEMORY;
    state->ids = malloc((count_stacks(metadata) + metadata->frames.count + 1) * sizeof *state->ids);
    if (state->ids == NULL)
        return TBED_ERR_MEMORY;
    list_stacks(scan->reader, state);
    list_frames(metadata, state);
    enum tbed_status status = list_native(scan->reader, state);
    sort(state);
    return status;
}

static void close_places(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    if (state != NULL)
        free(state->ids);
    free(state);
}

/* Looks native code up for a batch at a time. */
static void prepare(const struct tbed_scan *scan, const struct state *state)
{
    size_t left = state->count - state->at, count = left < TBED_BATCH_ROWS_MAX ? left : TBED_BATCH_ROWS_MAX;
    tbed_names_prepare(scan->reader, state->ids + state->at, count, false);
}

/* ---- Locations ---- */

enum { ID, NAME, UNIT_ID, PC, FRAMES, PLACE, COLUMN_COUNT = PLACE + FACTS_PLACE_COLUMNS };

static const struct tbed_column columns[COLUMN_COUNT] = {
    [ID] = {"id", TBED_COLUMN_I64, NULL, "its id in the trace", false},
    [NAME] = {"name", TBED_COLUMN_NAME, NULL, "its name, as reports show it", false},
    [UNIT_ID] = {"unit_id", TBED_COLUMN_I64, NULL, "the unit that contains it; NULL: none", false},
    [PC] = {"pc", TBED_COLUMN_U64, NULL,
            "the address in its ELF file, or the index of the instruction; NULL: unknown", false},
    [FRAMES] = {"frames", TBED_COLUMN_I64, NULL, "the functions at this place, including inlined ones",
                false},
    FACTS_PLACE(PLACE, "this place"),
};

static void put(struct table_rows *rows, const struct tbed_reader *reader, uint32_t id)
{
    struct tbed_location location;
    table_put_i64(rows, ID, id);
    tbed_table_put_id(rows, NAME, reader, id);
    if (tbed_location_resolve(reader, id, &location) && location.has_unit) {
        table_put_i64(rows, UNIT_ID, location.unit.first_id);
        table_put_u64(rows, PC, location.pc);
    } else {
        tbed_table_put_null(rows, UNIT_ID);
        tbed_table_put_null(rows, PC);
    }
    if (table_rows_wants(rows, FRAMES))
        table_put_i64(rows, FRAMES, (int64_t)tbed_id_frames(reader, id, NULL, 0));
    tbed_facts_put_place(rows, PLACE, reader, id);
    table_rows_end(rows);
}

static enum tbed_status fill(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    int64_t least, greatest;
    tbed_scan_range(scan, ID, &least, &greatest);
    while (state->at < state->count && state->ids[state->at] < least)
        state->at++;
    prepare(scan, state);
    for (; !table_rows_is_full(&scan->rows) && state->at < state->count && state->ids[state->at] <= greatest;
         state->at++)
        put(&scan->rows, scan->reader, state->ids[state->at]);
    return TBED_OK;
}

const struct table_source tbed_table_locations = {
    .about = {"locations",
              "places in code of call stacks, records of frames and events, in order of their ids", columns,
              COLUMN_COUNT},
    .open = open_places,
    .fill = fill,
    .close = close_places,
};

/* ---- Frames ---- */

enum { LOCATION_ID, INDEX, FUNCTION, FILE_NAME, LINE, IS_INLINED, MODULE, FRAME_COLUMN_COUNT };

static const struct tbed_column frame_columns[FRAME_COLUMN_COUNT] = {
    [LOCATION_ID] = {"location_id", TBED_COLUMN_I64, NULL, "the place in code", false},
    [INDEX] = {"frame", TBED_COLUMN_I64, NULL, "0 for the innermost function, then those it was inlined into",
               false},
    [FUNCTION] = {"function", TBED_COLUMN_NAME, NULL, "its name; NULL: unknown", false},
    [FILE_NAME] = {"file", TBED_COLUMN_NAME, NULL, "its source file; NULL: unknown", false},
    [LINE] = {"line", TBED_COLUMN_I64, NULL, "the line; NULL: unknown", false},
    [IS_INLINED] = {"is_inlined", TBED_COLUMN_I64, NULL, "1: it was inlined into the next frame", false},
    [MODULE] = {"module", TBED_COLUMN_NAME, NULL, "the program or library; NULL: unknown", false},
};

#define FRAMES_MAX 1024

static void put_frame(struct table_rows *rows, uint32_t id, size_t index, const struct tbed_frame *frame,
                      const char *module)
{
    table_put_i64(rows, LOCATION_ID, id);
    table_put_i64(rows, INDEX, (int64_t)index);
    tbed_table_put_string(rows, FUNCTION, frame->function);
    tbed_table_put_string(rows, FILE_NAME, frame->file);
    tbed_facts_put_nonzero(rows, LINE, frame->line);
    table_put_i64(rows, IS_INLINED, frame->is_inlined);
    tbed_table_put_string(rows, MODULE, module);
    table_rows_end(rows);
}

/* The frames of a place that the batch has room for, from state->frame on. True: that were all. */
static bool put_frames(struct tbed_scan *scan, struct state *state)
{
    struct tbed_frame frames[FRAMES_MAX];
    struct tbed_id_info info;
    uint32_t id = state->ids[state->at];
    size_t count = tbed_id_frames(scan->reader, id, frames, FRAMES_MAX);
    tbed_id_resolve(scan->reader, id, &info);
    count = count < FRAMES_MAX ? count : FRAMES_MAX;
    for (; state->frame < count && !table_rows_is_full(&scan->rows); state->frame++)
        put_frame(&scan->rows, id, state->frame, &frames[state->frame], info.module);
    return state->frame >= count;
}

static enum tbed_status fill_frames(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    int64_t least, greatest;
    tbed_scan_range(scan, LOCATION_ID, &least, &greatest);
    while (state->at < state->count && state->ids[state->at] < least)
        state->at++;
    prepare(scan, state);
    while (!table_rows_is_full(&scan->rows) && state->at < state->count &&
           state->ids[state->at] <= greatest && put_frames(scan, state)) {
        state->at++;
        state->frame = 0;
    }
    return TBED_OK;
}

const struct table_source tbed_table_frames = {
    .about = {"frames", "the functions at each place of the table locations, the innermost first",
              frame_columns, FRAME_COLUMN_COUNT},
    .open = open_places,
    .fill = fill_frames,
    .close = close_places,
};
