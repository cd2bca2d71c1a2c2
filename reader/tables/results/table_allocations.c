/*
 * The table of blocks of memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/blocks/block_walk.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"
#include "reader/tables/results/results.h"

enum {
    TS,
    ADDRESS,
    SIZE,
    FREED_TS,
    LIFETIME,
    IS_LIVE,
    LIVE_BYTES,
    IS_REPLACED,
    IS_TEMPORARY,
    KIND,
    SITE,
    STACK_ID,
    TYPE,
    STREAM,
    TID,
    THREAD,
    PROCESS_ID,
    PID,
    PROCESS,
    PLACE,
    COLUMN_COUNT = PLACE + FACTS_PLACE_COLUMNS
};

static const struct tbed_column columns[COLUMN_COUNT] = {
    [TS] = {"ts", TBED_COLUMN_I64, "ns", "when it was allocated", false},
    [ADDRESS] = {"address", TBED_COLUMN_U64, NULL, "where it was", false},
    [SIZE] = {"size", TBED_COLUMN_I64, "bytes",
              "its size; of a block that was resized, all bytes that were allocated for it", false},
    [FREED_TS] = {"freed_ts", TBED_COLUMN_I64, "ns", "when it was freed or replaced; NULL: never", false},
    [LIFETIME] = {"lifetime", TBED_COLUMN_I64, "ns", "freed_ts - ts; NULL: it is live", false},
    [IS_LIVE] = {"is_live", TBED_COLUMN_I64, NULL, "1: it was never freed", false},
    [LIVE_BYTES] = {"live_bytes", TBED_COLUMN_I64, "bytes",
                    "its bytes at the end of the trace; a block may have shrunk, and a mapping have been "
                    "unmapped in part",
                    false},
    [IS_REPLACED] = {"is_replaced", TBED_COLUMN_I64, NULL,
                     "1: its address was allocated again without a recorded free", false},
    [IS_TEMPORARY] = {"is_temporary", TBED_COLUMN_I64, NULL,
                      "1: its thread freed it before it allocated or freed anything else", false},
    [KIND] = {"kind", TBED_COLUMN_NAME, NULL, "heap or mapping", false},
    [SITE] = {"site", TBED_COLUMN_NAME, NULL, "the place in code that allocated it, as in sites", false},
    [STACK_ID] = {"stack_id", TBED_COLUMN_I64, NULL, "the call stack that allocated it; NULL: not recorded",
                  false},
    [TYPE] = {"class", TBED_COLUMN_NAME, NULL, "the type or class of the object; NULL: not recorded", false},
    [STREAM] = {"track", TBED_COLUMN_I64, NULL, "the id of the thread that allocated it", false},
    [TID] = {"tid", TBED_COLUMN_I64, NULL, "the system's number of this thread; NULL: unknown", false},
    [THREAD] = {"thread", TBED_COLUMN_NAME, NULL, "its name; NULL: none", false},
    [PROCESS_ID] = {"process_id", TBED_COLUMN_I64, NULL, "the id of its process; NULL: unknown", false},
    [PID] = {"pid", TBED_COLUMN_I64, NULL, "the system's number of its process; NULL: unknown", false},
    [PROCESS] = {"process", TBED_COLUMN_NAME, NULL, "the name of its process; NULL: unknown", false},
    FACTS_PLACE(PLACE, "the place in code that allocated it"),
};

struct state {
    struct block_walk *walk;
    struct walked_block blocks[TBED_BATCH_ROWS_MAX];
    uint32_t ids[TBED_BATCH_ROWS_MAX];
};

static enum tbed_status open_allocations(struct tbed_scan *scan)
{
    struct block_walk_options options = {.filter = scan->options.filter,
                                         .is_cancelled = scan->options.is_cancelled};
    struct state *state = scan->state = calloc(1, sizeof *state);
    tbed_scan_range(scan, PROCESS_ID, &options.least_process, &options.greatest_process);
    return state != NULL ? tbed_block_walk_open(scan->reader, &options, &state->walk) : TBED_ERR_MEMORY;
}

static void close_allocations(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    if (state != NULL)
        tbed_block_walk_close(state->walk);
    free(state);
}

/* ---- Rows ---- */

static void put_times(struct table_rows *rows, const struct tbed_reader *reader,
                      const struct heap_block *block)
{
    int64_t ts = tbed_ticks_to_ns(reader, block->tick), end = tbed_ticks_to_ns(reader, block->end_tick);
    table_put_i64(rows, TS, ts);
    table_put_i64(rows, FREED_TS, end);
    table_put_i64(rows, LIFETIME, (int64_t)((uint64_t)end - (uint64_t)ts));
    for (unsigned column = FREED_TS; column <= LIFETIME && block->is_live; column++)
        tbed_table_put_null(rows, column);
    table_put_i64(rows, IS_LIVE, block->is_live);
}

static void put_thread(struct table_rows *rows, const struct tbed_reader *reader, uint32_t number)
{
    const struct tbed_keyed_stream *stream =
        tbed_keyed_find(&reader->metadata->streams, sizeof *stream, number);
    table_put_i64(rows, STREAM, number);
    tbed_facts_put_nonzero(rows, TID, stream != NULL ? stream->info.tid : 0);
    tbed_table_put_id(rows, THREAD, reader, stream != NULL ? stream->info.name_id : TBED_ID_INVALID);
}

static void put_process(struct table_rows *rows, const struct tbed_reader *reader, uint32_t number)
{
    struct tbed_process_info process = {.name_id = TBED_ID_INVALID};
    tbed_facts_find_process(reader, number, &process);
    tbed_facts_put_nonzero(rows, PROCESS_ID, number);
    tbed_facts_put_nonzero(rows, PID, process.pid);
    tbed_table_put_id(rows, PROCESS, reader, process.name_id);
}

static void put_site(struct table_rows *rows, const struct tbed_reader *reader, uint32_t id)
{
    uint32_t location, parent, stack = id, type = TBED_ID_INVALID;
    tbed_table_put_id(rows, SITE, reader, id);
    tbed_typed_get(reader, id, &stack, &type);
    if (tbed_stack_get(reader, stack, &location, &parent))
        table_put_i64(rows, STACK_ID, stack);
    else
        tbed_table_put_null(rows, STACK_ID);
    tbed_table_put_id(rows, TYPE, reader, type);
    tbed_facts_put_place(rows, PLACE, reader, id);
}

static void put(struct table_rows *rows, const struct tbed_reader *reader, const struct walked_block *walked)
{
    const struct heap_block *block = &walked->block;
    put_times(rows, reader, block);
    table_put_u64(rows, ADDRESS, block->address);
    tbed_facts_put_count(rows, SIZE, block->nbytes);
    tbed_facts_put_count(rows, LIVE_BYTES, block->live_nbytes);
    table_put_i64(rows, IS_REPLACED, block->is_replaced);
    table_put_i64(rows, IS_TEMPORARY, block->is_temporary);
    tbed_table_put_string(rows, KIND, block->is_mapping ? "mapping" : "heap");
    put_site(rows, reader, block->site);
    put_thread(rows, reader, block->stream);
    put_process(rows, reader, walked->process);
    table_rows_end(rows);
}

static enum tbed_status fill(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    enum tbed_status status = TBED_OK;
    size_t count = 0;
    while (count < TBED_BATCH_ROWS_MAX &&
           (status = tbed_block_walk_next(state->walk, &state->blocks[count])) == TBED_OK) {
        state->ids[count] = state->blocks[count].block.site;
        count++;
    }
    if (status != TBED_OK && status != TBED_END)
        return status;
    if (table_rows_wants(&scan->rows, SITE) || scan->rows.columns >> PLACE != 0)
        tbed_names_prepare(scan->reader, state->ids, count, false);
    for (size_t i = 0; i < count; i++)
        put(&scan->rows, scan->reader, &state->blocks[i]);
    return TBED_OK;
}

static uint64_t estimate(struct tbed_tables *tables)
{
    return tables->reader != NULL ? tbed_event_block_count(tables->reader) * 1024 : 1;
}

const struct table_source tbed_table_allocations = {
    .about = {"allocations",
              "blocks of memory, process by process in the order in which they were freed, then those that "
              "are live",
              columns, COLUMN_COUNT},
    .row_estimate = estimate,
    .open = open_allocations,
    .fill = fill,
    .close = close_allocations,
};
