/*
 * The table of processes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/facts/facts.h"

enum { ID, PID, NAME, PARENT_PID, FORKED_FROM, START_TS, END_TS, COLUMN_COUNT };

static const struct tbed_column columns[COLUMN_COUNT] = {
    [ID] = {"id", TBED_COLUMN_I64, NULL, "its number in the trace", false},
    [PID] = {"pid", TBED_COLUMN_I64, NULL, "the system's number", false},
    [NAME] = {"name", TBED_COLUMN_NAME, NULL, "its name; NULL: unknown", false},
    [PARENT_PID] = {"parent_pid", TBED_COLUMN_I64, NULL, "the system's number of the process that started it",
                    false},
    [FORKED_FROM] = {"forked_from", TBED_COLUMN_I64, NULL,
                     "the id of the recorded process that forked it; NULL: none", false},
    [START_TS] = {"start_ts", TBED_COLUMN_I64, "ns", "when it began to record", false},
    [END_TS] = {"end_ts", TBED_COLUMN_I64, "ns", "when it stopped; NULL: unknown", false},
};

static enum tbed_status fill(struct tbed_scan *scan)
{
    struct tbed_process_info process;
    struct table_rows *rows = &scan->rows;
    size_t *at = scan->state;
    for (; !table_rows_is_full(rows) && tbed_process_get(scan->reader, *at, &process); (*at)++) {
        table_put_i64(rows, ID, process.stream);
        table_put_i64(rows, PID, process.pid);
        tbed_table_put_id(rows, NAME, scan->reader, process.name_id);
        table_put_i64(rows, PARENT_PID, process.parent_pid);
        tbed_facts_put_nonzero(rows, FORKED_FROM, process.forked_from);
        table_put_i64(rows, START_TS, tbed_ticks_to_ns(scan->reader, process.tick));
        tbed_facts_put_tick(rows, END_TS, scan->reader, process.end_tick);
        table_rows_end(rows);
    }
    return TBED_OK;
}

const struct table_source tbed_table_processes = {
    .about = {"processes", "the processes of the trace, in order of their numbers", columns, COLUMN_COUNT},
    .open = tbed_facts_open_index,
    .fill = fill,
    .close = tbed_facts_close,
};
