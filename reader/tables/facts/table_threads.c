/*
 * The table of threads and tracks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/facts/facts.h"

enum {
    ID,
    TID,
    NAME,
    KIND,
    PROCESS_ID,
    PID,
    PROCESS,
    FORKED_FROM,
    OF_THREAD,
    START_TS,
    END_TS,
    BLOCKS,
    COLUMN_COUNT
};

static const struct tbed_column columns[COLUMN_COUNT] = {
    [ID] = {"id", TBED_COLUMN_I64, NULL, "its number in the trace: the stream of its events", false},
    [TID] = {"tid", TBED_COLUMN_I64, NULL, "the system's number; NULL: unknown", false},
    [NAME] = {"name", TBED_COLUMN_NAME, NULL, "its name; NULL: none", false},
    [KIND] = {"kind", TBED_COLUMN_NAME, NULL,
              "thread; track for events of no thread; handlers for those of signal handlers; off CPU for the "
              "times when a "
              "thread was off its processor; NULL: unknown",
              false},
    [PROCESS_ID] = {"process_id", TBED_COLUMN_I64, NULL, "the id of its process; NULL: unknown", false},
    [PID] = {"pid", TBED_COLUMN_I64, NULL, "the system's number of its process", false},
    [PROCESS] = {"process", TBED_COLUMN_NAME, NULL, "the name of its process", false},
    [FORKED_FROM] = {"forked_from", TBED_COLUMN_I64, NULL,
                     "the id of the thread that called fork() to create it; NULL: none", false},
    [OF_THREAD] =
        {"of_thread", TBED_COLUMN_I64, NULL,
         "of handlers: the id of the thread whose records they interrupted; of off CPU: the thread's; "
         "NULL: none",
         false},
    [START_TS] = {"start_ts", TBED_COLUMN_I64, "ns", "when it began to record; NULL: unknown", false},
    [END_TS] = {"end_ts", TBED_COLUMN_I64, "ns", "when it stopped; NULL: unknown", false},
    [BLOCKS] = {"blocks", TBED_COLUMN_I64, NULL, "its blocks of events in the file", false},
};

static const char *kind_of(uint32_t kind)
{
    static const char *const names[] = {[TBED_STREAM_THREAD] = "thread",
                                        [TBED_STREAM_TRACK] = "track",
                                        [TBED_STREAM_HANDLERS] = "handlers",
                                        [TBED_STREAM_OFF_CPU] = "off CPU"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : NULL;
}

static void put(struct table_rows *rows, const struct tbed_reader *reader,
                const struct tbed_stream_info *stream)
{
    struct tbed_process_info process;
    table_put_i64(rows, ID, stream->stream);
    tbed_facts_put_nonzero(rows, TID, stream->tid);
    tbed_table_put_id(rows, NAME, reader, stream->name_id);
    tbed_table_put_string(rows, KIND, kind_of(stream->kind));
    tbed_facts_put_nonzero(rows, PROCESS_ID, stream->process);
    if (tbed_facts_find_process(reader, stream->process, &process)) {
        table_put_i64(rows, PID, process.pid);
        tbed_table_put_id(rows, PROCESS, reader, process.name_id);
    } else {
        tbed_table_put_null(rows, PID);
        tbed_table_put_null(rows, PROCESS);
    }
    tbed_facts_put_nonzero(rows, FORKED_FROM, stream->forked_from);
    tbed_facts_put_nonzero(rows, OF_THREAD, stream->of_thread);
    if (stream->process != 0)
        table_put_i64(rows, START_TS, tbed_ticks_to_ns(reader, stream->tick));
    else
        tbed_table_put_null(rows, START_TS);
    tbed_facts_put_tick(rows, END_TS, reader, stream->end_tick);
    table_put_i64(rows, BLOCKS, stream->block_count);
    table_rows_end(rows);
}

static enum tbed_status fill(struct tbed_scan *scan)
{
    struct tbed_stream_info stream;
    size_t *at = scan->state;
    for (; !table_rows_is_full(&scan->rows) && tbed_stream_get(scan->reader, *at, &stream); (*at)++)
        put(&scan->rows, scan->reader, &stream);
    return TBED_OK;
}

const struct table_source tbed_table_threads = {
    .about = {"threads", "the threads and tracks of the trace, in order of their numbers", columns,
              COLUMN_COUNT},
    .open = tbed_facts_open_index,
    .fill = fill,
    .close = tbed_facts_close,
};
