/*
 * The table of damage: what `tracebed verify` reports.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/facts/facts.h"

#include <tracebed/verify.h>

enum {
    CHECK,
    TEXT,
    OFFSET,
    PAGE,
    CELL,
    PAGES,
    DETAIL,
    KIND,
    STREAM,
    SEQUENCE,
    FIRST_TS,
    LAST_TS,
    COLUMN_COUNT
};

static const struct tbed_column columns[COLUMN_COUNT] = {
    [CHECK] = {"check", TBED_COLUMN_NAME, NULL, "the check that failed", false},
    [TEXT] = {"text", TBED_COLUMN_NAME, NULL, "the same in words", false},
    [OFFSET] = {"offset", TBED_COLUMN_I64, "bytes", "where it is in the file; NULL: unknown", false},
    [PAGE] = {"page", TBED_COLUMN_I64, NULL, "the number of the page; NULL: not in a page", false},
    [CELL] = {"cell", TBED_COLUMN_I64, NULL, "the number of the cell in the page, 0 if it has none", false},
    [PAGES] = {"pages", TBED_COLUMN_I64, NULL, "the number of pages concerned", false},
    [DETAIL] = {"detail", TBED_COLUMN_U64, NULL, "the value found; 0: none", false},
    [KIND] = {"kind", TBED_COLUMN_NAME, NULL, "what the block holds; NULL: unknown", false},
    [STREAM] = {"stream", TBED_COLUMN_I64, NULL,
                "the thread, or the process for strings and records; NULL: unknown", false},
    [SEQUENCE] = {"sequence", TBED_COLUMN_I64, NULL, "the number of the block; NULL: unknown", false},
    [FIRST_TS] = {"first_ts", TBED_COLUMN_I64, "ns", "when the block begins; NULL: unknown", false},
    [LAST_TS] = {"last_ts", TBED_COLUMN_I64, "ns", "when it ends; equal to first_ts if only that is known",
                 false},
};

/* Only a complete check finds everything. It adds to the reader's list what was not in it yet. */
static enum tbed_status open_damage(struct tbed_scan *scan)
{
    const struct tbed_verify_options options = {.size = sizeof options,
                                                .thread_count = scan->options.thread_count};
    if (tbed_reader_verify_with(scan->reader, &options) == TBED_ERR_MEMORY)
        return TBED_ERR_MEMORY;
    return tbed_facts_open_index(scan);
}

static void put_block(struct table_rows *rows, const struct tbed_reader *reader,
                      const struct tbed_damage *damage)
{
    bool has_block = damage->kind != TBED_BLOCK_NONE && damage->stream != 0;
    bool has_time = has_block && (damage->first_tick != 0 || damage->last_tick != 0);
    tbed_table_put_string(rows, KIND, has_block ? tbed_facts_block_kind(damage->kind) : NULL);
    table_put_i64(rows, STREAM, damage->stream);
    table_put_i64(rows, SEQUENCE, damage->sequence);
    table_put_i64(rows, FIRST_TS, tbed_ticks_to_ns(reader, damage->first_tick));
    table_put_i64(rows, LAST_TS, tbed_ticks_to_ns(reader, damage->last_tick));
    for (unsigned column = STREAM; column <= SEQUENCE && !has_block; column++)
        tbed_table_put_null(rows, column);
    for (unsigned column = FIRST_TS; column <= LAST_TS && !has_time; column++)
        tbed_table_put_null(rows, column);
}

static void put(struct table_rows *rows, const struct tbed_reader *reader, const struct tbed_damage *damage)
{
    bool has_page = damage->page != UINT64_MAX;
    tbed_table_put_string(rows, CHECK, tbed_status_name(damage->status));
    tbed_table_put_string(rows, TEXT, tbed_status_text(damage->status));
    tbed_facts_put_count(rows, OFFSET, damage->offset);
    if (damage->offset == UINT64_MAX)
        tbed_table_put_null(rows, OFFSET);
    tbed_facts_put_count(rows, PAGE, damage->page);
    table_put_i64(rows, CELL, damage->cell);
    for (unsigned column = PAGE; column <= CELL && !has_page; column++)
        tbed_table_put_null(rows, column);
    tbed_facts_put_count(rows, PAGES, damage->page_count);
    table_put_u64(rows, DETAIL, damage->detail);
    put_block(rows, reader, damage);
    table_rows_end(rows);
}

/* Damage of a foreign file comes first, then that of the trace. */
static bool damage_at(const struct tbed_scan *scan, size_t index, struct tbed_damage *damage)
{
    const struct tbed_tables *tables = scan->tables;
    if (index >= tables->foreign_damages_kept)
        return tbed_damage_get(scan->reader, index - tables->foreign_damages_kept, damage);
    *damage = tables->foreign_damages[index];
    return true;
}

/* The reader counts what it had no memory to keep. */
static bool is_complete(const struct tbed_reader *reader, size_t count)
{
    uint64_t all = tbed_damage_count(reader);
    return count >= (all < TBED_DAMAGE_KEPT_MAX ? all : TBED_DAMAGE_KEPT_MAX);
}

static enum tbed_status fill(struct tbed_scan *scan)
{
    struct tbed_damage damage;
    size_t *at = scan->state;
    for (; !table_rows_is_full(&scan->rows) && damage_at(scan, *at, &damage); (*at)++)
        put(&scan->rows, scan->reader, &damage);
    return table_rows_is_full(&scan->rows) ||
                   is_complete(scan->reader, *at - scan->tables->foreign_damages_kept)
               ? TBED_OK
               : TBED_ERR_MEMORY;
}

const struct table_source tbed_table_damage = {
    .about = {"damage",
              "the first 10,000 places of damage, in the order found; a scan checks the complete file first",
              columns, COLUMN_COUNT},
    .open = open_damage,
    .fill = fill,
    .close = tbed_facts_close,
};
