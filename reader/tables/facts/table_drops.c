/*
 * The tables of what is missing from a trace: dropped records, lost blocks, and gaps of a flight recorder.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/facts/facts.h"

#include <stdio.h>

/* ---- Drops ---- */

enum { CAUSE, TEXT, COUNT, COLUMN_COUNT };

static const struct tbed_column columns[COLUMN_COUNT] = {
    [CAUSE] = {"cause", TBED_COLUMN_NAME, NULL, "why records were dropped", false},
    [TEXT] = {"text", TBED_COLUMN_NAME, NULL, "the same in words", false},
    [COUNT] = {"count", TBED_COLUMN_I64, NULL, "the number of dropped records", false},
};

static const char *cause_name(unsigned cause, char buffer[32])
{
    static const char *const names[] = {"disk_full",   "size_limit",    "no_memory",
                                        "interrupted", "ids_exhausted", "too_large",
                                        "closed",      "io_error",      "sandbox"};
    if (cause < sizeof names / sizeof names[0])
        return names[cause];
    snprintf(buffer, 32, "cause_%u", cause);
    return buffer;
}

static enum tbed_status fill(struct tbed_scan *scan)
{
    struct tbed_trace_info info;
    char buffer[32];
    size_t *at = scan->state;
    tbed_reader_info(scan->reader, &info);
    for (; *at < TBED_DROP_CAUSE_COUNT; (*at)++) {
        if (info.drops[*at] == 0)
            continue;
        tbed_table_put_string(&scan->rows, CAUSE, cause_name((unsigned)*at, buffer));
        tbed_table_put_string(&scan->rows, TEXT, tbed_drop_cause_text((unsigned)*at));
        tbed_facts_put_count(&scan->rows, COUNT, info.drops[*at]);
        table_rows_end(&scan->rows);
    }
    return TBED_OK;
}

const struct table_source tbed_table_drops = {
    .about = {"drops", "records that the writer dropped, by cause", columns, COLUMN_COUNT},
    .open = tbed_facts_open_index,
    .fill = fill,
    .close = tbed_facts_close,
};

/* ---- Lost blocks ---- */

enum {
    LOST_STREAM,
    LOST_KIND,
    LOST_SEQUENCE,
    LOST_BLOCKS,
    LOST_PAGES,
    LOST_FIRST,
    LOST_LAST,
    LOST_BYTES,
    LOST_COLUMN_COUNT
};

static const struct tbed_column lost_columns[LOST_COLUMN_COUNT] = {
    [LOST_STREAM] = {"stream", TBED_COLUMN_I64, NULL,
                     "the thread, or the process for strings and records; NULL: unknown", false},
    [LOST_KIND] = {"kind", TBED_COLUMN_NAME, NULL, "what the blocks held; NULL: unknown", false},
    [LOST_SEQUENCE] = {"first_sequence", TBED_COLUMN_I64, NULL,
                       "the number of the first block; NULL: unknown", false},
    [LOST_BLOCKS] = {"blocks", TBED_COLUMN_I64, NULL,
                     "the number of blocks, 0 for a part of one; NULL: unknown", false},
    [LOST_PAGES] = {"pages", TBED_COLUMN_I64, NULL, "the number of pages where the stream is unknown", false},
    [LOST_FIRST] = {"first_ts", TBED_COLUMN_I64, "ns", "nothing lost is before this; NULL: unknown", false},
    [LOST_LAST] = {"last_ts", TBED_COLUMN_I64, "ns", "nothing lost is after this; NULL: unknown", false},
    [LOST_BYTES] = {"bytes", TBED_COLUMN_I64, "bytes", "how much was lost; NULL: unknown", false},
};

static void put_loss(struct table_rows *rows, const struct tbed_reader *reader,
                     const struct tbed_lost_info *lost)
{
    bool is_known = lost->stream != 0;
    tbed_facts_put_nonzero(rows, LOST_STREAM, lost->stream);
    tbed_table_put_string(rows, LOST_KIND, is_known ? tbed_facts_block_kind(lost->kind) : NULL);
    table_put_i64(rows, LOST_SEQUENCE, lost->first_sequence);
    table_put_i64(rows, LOST_BLOCKS, lost->count);
    table_put_i64(rows, LOST_PAGES, lost->count);
    if (!is_known)
        tbed_table_put_null(rows, LOST_SEQUENCE);
    tbed_table_put_null(rows, is_known ? LOST_PAGES : LOST_BLOCKS);
    tbed_facts_put_tick(rows, LOST_FIRST, reader, lost->first_tick);
    tbed_facts_put_tick(rows, LOST_LAST, reader, lost->last_tick != UINT64_MAX ? lost->last_tick : 0);
    tbed_facts_put_nonzero(rows, LOST_BYTES, lost->nbytes);
    table_rows_end(rows);
}

static enum tbed_status fill_losses(struct tbed_scan *scan)
{
    struct tbed_lost_info lost;
    size_t *at = scan->state;
    for (; !table_rows_is_full(&scan->rows) && tbed_lost_get(scan->reader, *at, &lost); (*at)++)
        put_loss(&scan->rows, scan->reader, &lost);
    return TBED_OK;
}

const struct table_source tbed_table_losses = {
    .about = {"losses", "blocks that were lost before the trace was recovered, in the order of the file",
              lost_columns, LOST_COLUMN_COUNT},
    .open = tbed_facts_open_index,
    .fill = fill_losses,
    .close = tbed_facts_close,
};

/* ---- Gaps ---- */

enum { GAP_STREAM, GAP_SEQUENCE, GAP_BLOCKS, GAP_FIRST, GAP_LAST, GAP_COLUMN_COUNT };

static const struct tbed_column gap_columns[GAP_COLUMN_COUNT] = {
    [GAP_STREAM] = {"stream", TBED_COLUMN_I64, NULL, "the thread", false},
    [GAP_SEQUENCE] = {"first_sequence", TBED_COLUMN_I64, NULL, "the number of the first missing block",
                      false},
    [GAP_BLOCKS] = {"blocks", TBED_COLUMN_I64, NULL, "the number of missing blocks", false},
    [GAP_FIRST] = {"first_ts", TBED_COLUMN_I64, "ns", "they were recorded after this", false},
    [GAP_LAST] = {"last_ts", TBED_COLUMN_I64, "ns", "and before this", false},
};

static enum tbed_status fill_gaps(struct tbed_scan *scan)
{
    struct tbed_ring_gap gap;
    struct table_rows *rows = &scan->rows;
    size_t *at = scan->state;
    while (!table_rows_is_full(rows) && tbed_ring_gap_next(scan->reader, at, &gap)) {
        table_put_i64(rows, GAP_STREAM, gap.stream);
        table_put_i64(rows, GAP_SEQUENCE, gap.first_sequence);
        table_put_i64(rows, GAP_BLOCKS, gap.block_count);
        table_put_i64(rows, GAP_FIRST, tbed_ticks_to_ns(scan->reader, gap.first_tick));
        table_put_i64(rows, GAP_LAST, tbed_ticks_to_ns(scan->reader, gap.last_tick));
        table_rows_end(rows);
    }
    return TBED_OK;
}

const struct table_source tbed_table_gaps = {
    .about = {"gaps", "blocks that are missing between others of a flight recorder, in order of the threads",
              gap_columns, GAP_COLUMN_COUNT},
    .open = tbed_facts_open_index,
    .fill = fill_gaps,
    .close = tbed_facts_close,
};
