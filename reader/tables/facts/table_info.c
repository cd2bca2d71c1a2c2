/*
 * The table of facts about a trace, with the keys of `tracebed info --json`.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/facts/facts.h"

#include <inttypes.h>
#include <stdio.h>

enum { KEY, VALUE, NUMBER, COLUMN_COUNT };

static const struct tbed_column columns[COLUMN_COUNT] = {
    [KEY] = {"key", TBED_COLUMN_NAME, NULL, "as in info --json; a point separates the keys of nested objects",
             false},
    [VALUE] = {"value", TBED_COLUMN_TEXT, NULL, "the value as text; NULL: none", false},
    [NUMBER] = {"number", TBED_COLUMN_I64, NULL, "the value, if it is a number or a truth value", false},
};

static void put_text(struct table_rows *rows, const char *key, const char *text)
{
    tbed_table_put_string(rows, KEY, key);
    tbed_table_put_string(rows, VALUE, text);
    tbed_table_put_null(rows, NUMBER);
    table_rows_end(rows);
}

static void put_i64(struct table_rows *rows, const char *key, int64_t number)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%" PRId64, number);
    tbed_table_put_string(rows, KEY, key);
    tbed_table_put_string(rows, VALUE, digits);
    table_put_i64(rows, NUMBER, number);
    table_rows_end(rows);
}

static void put_u64(struct table_rows *rows, const char *key, uint64_t number)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    tbed_table_put_string(rows, KEY, key);
    tbed_table_put_string(rows, VALUE, digits);
    tbed_facts_put_count(rows, NUMBER, number);
    table_rows_end(rows);
}

/* Ids have 64 bits and no order: a text. */
static void put_id(struct table_rows *rows, const char *key, uint64_t id)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%016" PRIx64, id);
    put_text(rows, key, digits);
}

static void put_file(struct table_rows *rows, const struct tbed_reader *reader,
                     const struct tbed_trace_info *info)
{
    put_u64(rows, "size", info->file_nbytes);
    put_u64(rows, "page_size", info->page_nbytes);
    put_u64(rows, "pages", info->page_count);
    put_u64(rows, "ring_pages", info->ring_page_count);
    put_id(rows, "file_id", info->file_id);
    if (info->series_number != 0) {
        put_id(rows, "series.id", info->series_id);
        put_u64(rows, "series.number", info->series_number);
        if (info->series_failed_count != 0)
            put_u64(rows, "series.failed_rotations", info->series_failed_count);
        if (info->previous_file_id != 0)
            put_id(rows, "series.follows", info->previous_file_id);
    }
    put_u64(rows, "cleanly_closed", info->shut && tbed_damage_count(reader) == 0);
    put_u64(rows, "writers", info->writer_count);
}

static void put_clock(struct table_rows *rows, const struct tbed_trace_info *info)
{
    static const char *const kinds[] = {"auto", "x86_tsc", "arm64_virtual", "monotonic", "user"};
    static const char *const reasons[] = {NULL, "default", "asked_for", "counter_not_offered",
                                          "counter_not_steady"};
    put_text(rows, "clock.kind", info->clock <= TBED_CLOCK_USER ? kinds[info->clock] : NULL);
    put_u64(rows, "clock.ticks_per_second", info->ticks_per_second);
    put_text(rows, "clock.unit", info->clock == TBED_CLOCK_USER ? info->clock_unit : NULL);
    put_text(rows, "clock.reason", reasons[info->clock_reason]);
}

static void put_time(struct table_rows *rows, const struct tbed_reader *reader,
                     const struct tbed_trace_info *info)
{
    int64_t start_ns;
    put_u64(rows, "first_tick", info->first_tick);
    put_u64(rows, "last_tick", info->last_tick);
    if (info->event_block_count > 0 &&
        tbed_ticks_to_realtime_ns(reader, info->first_tick, &start_ns) == TBED_OK)
        put_i64(rows, "start_realtime_ns", start_ns);
    if (info->event_block_count > 0 && info->clock != TBED_CLOCK_USER)
        put_i64(rows, "duration_ns",
                (int64_t)((uint64_t)tbed_ticks_to_ns(reader, info->last_tick) -
                          (uint64_t)tbed_ticks_to_ns(reader, info->first_tick)));
}

static void put_blocks(struct table_rows *rows, const struct tbed_trace_info *info)
{
    put_u64(rows, "blocks.events", info->event_block_count);
    put_u64(rows, "blocks.strings", info->string_block_count);
    put_u64(rows, "blocks.records", info->record_block_count);
    put_u64(rows, "blocks.unsealed", info->unsealed_block_count);
    put_u64(rows, "unwritten_pages", info->unwritten_page_count);
    put_u64(rows, "units", info->unit_count);
    put_u64(rows, "call_stacks", info->stack_count);
    put_u64(rows, "described_places", info->described_count);
}

static void put_metadata(struct table_rows *rows, const struct tbed_reader *reader)
{
    uint32_t string_id;
    tbed_table_put_string(rows, KEY, "metadata");
    if (tbed_id_binding(reader, TBED_ID_METADATA, &string_id))
        tbed_table_put_id(rows, VALUE, reader, TBED_ID_METADATA);
    else
        tbed_table_put_null(rows, VALUE);
    tbed_table_put_null(rows, NUMBER);
    table_rows_end(rows);
}

static enum tbed_status fill(struct tbed_scan *scan)
{
    struct tbed_trace_info info;
    size_t *at = scan->state;
    if ((*at)++ > 0)
        return TBED_END;
    tbed_reader_info(scan->reader, &info);
    put_file(&scan->rows, scan->reader, &info);
    put_clock(&scan->rows, &info);
    put_time(&scan->rows, scan->reader, &info);
    put_blocks(&scan->rows, &info);
    put_u64(&scan->rows, "damage", tbed_damage_count(scan->reader));
    put_metadata(&scan->rows, scan->reader);
    return TBED_OK;
}

const struct table_source tbed_table_info = {
    .about = {"info", "facts about the trace, in a fixed order", columns, COLUMN_COUNT},
    .open = tbed_facts_open_index,
    .fill = fill,
    .close = tbed_facts_close,
};
