/*
 * The table of how busy each thread was.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/results/results.h"

#include <tracebed/activity.h>

enum { ID, FIRST_TS, LAST_TS, SPANS, BUSY, IDLE, GAPS, P50, P90, P99, LONGEST, LONGEST_TS, COLUMN_COUNT };

static const struct tbed_column columns[COLUMN_COUNT] = {
    [ID] = {"track", TBED_COLUMN_I64, NULL, "the id of the thread", false},
    [FIRST_TS] = {"first_ts", TBED_COLUMN_I64, "ns", "its first event", false},
    [LAST_TS] = {"last_ts", TBED_COLUMN_I64, "ns", "its last event", false},
    [SPANS] = {"spans", TBED_COLUMN_I64, NULL, "its spans whose begin is known", false},
    [BUSY] = {"busy", TBED_COLUMN_I64, "ns", "how long it was in any span", false},
    [IDLE] = {"idle", TBED_COLUMN_I64, "ns", "how long it was in none", false},
    [GAPS] = {"gaps", TBED_COLUMN_I64, NULL, "how often", false},
    [P50] = {"p50_gap", TBED_COLUMN_I64, "ns", "the median of these gaps, accurate to 1 %", false},
    [P90] = {"p90_gap", TBED_COLUMN_I64, "ns", "the 90th percentile, accurate to 1 %", false},
    [P99] = {"p99_gap", TBED_COLUMN_I64, "ns", "the 99th percentile, accurate to 1 %", false},
    [LONGEST] = {"longest_gap", TBED_COLUMN_I64, "ns", "the longest gap", false},
    [LONGEST_TS] = {"longest_gap_ts", TBED_COLUMN_I64, "ns", "when it begins", false},
};

struct state {
    struct tbed_activity *activity;
    size_t at;
};

static enum tbed_status open_activity(struct tbed_scan *scan)
{
    const struct tbed_activity_options options = {.size = sizeof options,
                                                  .thread_count = scan->options.thread_count,
                                                  .filter = scan->options.filter,
                                                  .is_cancelled = scan->options.is_cancelled};
    struct state *state = scan->state = calloc(1, sizeof *state);
    return state != NULL ? tbed_activity_make(scan->reader, &options, &state->activity) : TBED_ERR_MEMORY;
}

static void close_activity(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    if (state != NULL)
        tbed_activity_close(state->activity);
    free(state);
}

static void put(struct table_rows *rows, const struct tbed_reader *reader,
                const struct tbed_activity_row *row)
{
    bool has_gaps = row->gap_count > 0;
    table_put_i64(rows, ID, row->stream);
    table_put_i64(rows, FIRST_TS, tbed_ticks_to_ns(reader, row->first_tick));
    table_put_i64(rows, LAST_TS, tbed_ticks_to_ns(reader, row->last_tick));
    tbed_facts_put_count(rows, SPANS, row->span_count);
    tbed_facts_put_span(rows, BUSY, reader, row->busy_ticks);
    tbed_facts_put_span(rows, IDLE, reader, row->idle_ticks);
    tbed_facts_put_count(rows, GAPS, row->gap_count);
    tbed_results_put_span_if(rows, P50, reader, row->p50_gap_ticks, has_gaps);
    tbed_results_put_span_if(rows, P90, reader, row->p90_gap_ticks, has_gaps);
    tbed_results_put_span_if(rows, P99, reader, row->p99_gap_ticks, has_gaps);
    tbed_results_put_span_if(rows, LONGEST, reader, row->longest_gap_ticks, has_gaps);
    table_put_i64(rows, LONGEST_TS, tbed_ticks_to_ns(reader, row->longest_gap_tick));
    if (!has_gaps)
        tbed_table_put_null(rows, LONGEST_TS);
    table_rows_end(rows);
}

static enum tbed_status fill(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    const struct tbed_activity_row *row;
    for (; !table_rows_is_full(&scan->rows) && (row = tbed_activity_get(state->activity, state->at)) != NULL;
         state->at++)
        put(&scan->rows, scan->reader, row);
    return TBED_OK;
}

const struct table_source tbed_table_activity = {
    .about = {"activity", "how busy each thread was, as in threads, in order of their numbers", columns,
              COLUMN_COUNT},
    .open = open_activity,
    .fill = fill,
    .close = close_activity,
};
