/*
 * What tables of facts have in common; see facts.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/facts/facts.h"

#include "reader/core/base/number_text.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/records/metadata.h"

enum tbed_status tbed_facts_open_index(struct tbed_scan *scan)
{
    scan->state = calloc(1, sizeof(size_t));
    return scan->state != NULL ? TBED_OK : TBED_ERR_MEMORY;
}

void tbed_facts_close(struct tbed_scan *scan)
{
    free(scan->state);
}

void tbed_facts_put_tick(struct table_rows *rows, unsigned column, const struct tbed_reader *reader,
                         uint64_t tick)
{
    if (tick != 0)
        table_put_i64(rows, column, tbed_ticks_to_ns(reader, tick));
    else
        tbed_table_put_null(rows, column);
}

void tbed_facts_put_nonzero(struct table_rows *rows, unsigned column, uint64_t value)
{
    if (value != 0)
        tbed_facts_put_count(rows, column, value);
    else
        tbed_table_put_null(rows, column);
}

void tbed_facts_put_count(struct table_rows *rows, unsigned column, uint64_t value)
{
    table_put_i64(rows, column, value < INT64_MAX ? (int64_t)value : INT64_MAX);
}

/* Exact, beyond what a double holds, where ticks are nanoseconds, as in a profile in place, which has no reader. */
static uint64_t span_ns(const struct tbed_reader *reader, uint64_t ticks)
{
    if (reader == NULL || reader->header.clock == TBED_CLOCK_USER ||
        reader->header.ticks_per_second == 1000000000)
        return ticks;
    return tbed_round_u64(tbed_tick_span_to_ns(reader, ticks));
}

void tbed_facts_put_span(struct table_rows *rows, unsigned column, const struct tbed_reader *reader,
                         uint64_t ticks)
{
    if (table_rows_wants(rows, column))
        tbed_facts_put_count(rows, column, span_ns(reader, ticks));
}

bool tbed_facts_find_process(const struct tbed_reader *reader, uint32_t number,
                             struct tbed_process_info *process_ret)
{
    const struct tbed_keyed_process *process =
        tbed_keyed_find(&reader->metadata->processes, sizeof *process, number);
    if (process != NULL)
        *process_ret = process->info;
    return process != NULL;
}

void tbed_facts_put_place(struct table_rows *rows, unsigned first, const struct tbed_reader *reader,
                          uint32_t id)
{
    struct tbed_id_info info;
    if ((rows->columns >> first & ((UINT64_C(1) << FACTS_PLACE_COLUMNS) - 1)) == 0)
        return;
    tbed_id_resolve(reader, id, &info);
    tbed_table_put_string(rows, first + FACTS_FUNCTION, info.function);
    tbed_table_put_string(rows, first + FACTS_FILE, info.file);
    tbed_facts_put_nonzero(rows, first + FACTS_LINE, info.line);
    tbed_table_put_string(rows, first + FACTS_MODULE, info.module);
}

const char *tbed_facts_block_kind(enum tbed_block_kind kind)
{
    static const char *const names[] = {"nothing", "events", "strings", "records", "cells", "directory"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : "unknown";
}
