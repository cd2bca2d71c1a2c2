/*
 * The tables of statistics by label: spans, asynchronous spans, instants, counters, messages and artifacts.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/results/results.h"

struct state {
    struct tbed_statistics *statistics;
    size_t at;
};

static enum tbed_status open_statistics(struct tbed_scan *scan, bool has_percentiles)
{
    struct result_names names;
    struct tbed_analysis_options options = tbed_results_options(scan, &names);
    struct state *state = scan->state = calloc(1, sizeof *state);
    if (state == NULL)
        return TBED_ERR_MEMORY;
    options.skip_percentiles = !has_percentiles;
    if (scan->reader == NULL)
        return scan->tables->foreign_calls->statistics(scan->tables, &options, &state->statistics);
    return results_status(tbed_statistics_make(scan->reader, &options, &state->statistics), &names);
}

static enum tbed_status open_others(struct tbed_scan *scan)
{
    return open_statistics(scan, false);
}

static void close_statistics(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    if (state != NULL)
        tbed_statistics_close(state->statistics);
    free(state);
}

/* ---- Spans ---- */

enum {
    LABEL,
    COUNT,
    TOTAL,
    SELF,
    MIN,
    MEAN,
    P50,
    P90,
    P99,
    P999,
    MAX,
    OPEN,
    UNKNOWN,
    TIME,
    INVOCATIONS,
    CACHE_MISSES,
    CACHE_HITS,
    BLOCKED,
    LOAD,
    HASHING,
    COLUMN_COUNT,
    ASYNC_COLUMN_COUNT = TIME
};

#define SPAN_COLUMNS(of_label, self_summary)                                                                 \
    [LABEL] = {"label", TBED_COLUMN_NAME, NULL, of_label, false},                                            \
    [COUNT] = {"count", TBED_COLUMN_I64, NULL, "the spans with a known begin", false},                       \
    [TOTAL] = {"total", TBED_COLUMN_I64, "ns", "their durations added up", false},                           \
    [SELF] = {"self", TBED_COLUMN_I64, "ns", self_summary, false},                                           \
    [MIN] = {"min", TBED_COLUMN_I64, "ns", "the shortest duration", false},                                  \
    [MEAN] = {"mean", TBED_COLUMN_I64, "ns", "the mean duration", false},                                    \
    [P50] = {"p50", TBED_COLUMN_I64, "ns", "the median duration, accurate to 1 %", false},                   \
    [P90] = {"p90", TBED_COLUMN_I64, "ns", "the 90th percentile, accurate to 1 %", false},                   \
    [P99] = {"p99", TBED_COLUMN_I64, "ns", "the 99th percentile, accurate to 1 %", false},                   \
    [P999] = {"p999", TBED_COLUMN_I64, "ns", "the 99.9th percentile, accurate to 1 %", false},               \
    [MAX] = {"max", TBED_COLUMN_I64, "ns", "the longest duration", false},                                   \
    [OPEN] = {"open", TBED_COLUMN_I64, NULL, "among count: spans that never ended", false},                  \
    [UNKNOWN] = {"unknown", TBED_COLUMN_I64, NULL, "spans whose begin is unknown, which have no time",       \
                 false}

static const struct tbed_column columns[COLUMN_COUNT] = {
    SPAN_COLUMNS("the label of the spans", "total without the time of the spans inside"),
    [TIME] = {"time", TBED_COLUMN_I64, "ns", "total without the time spent hashing results", false},
    [INVOCATIONS] = {"invocations", TBED_COLUMN_I64, NULL,
                     "count without spans that are blocked, loading or hashing", false},
    [CACHE_MISSES] = {"cache_misses", TBED_COLUMN_I64, NULL, "of a query of rustc", false},
    [CACHE_HITS] = {"cache_hits", TBED_COLUMN_I64, NULL, "of a query of rustc", false},
    [BLOCKED] = {"blocked", TBED_COLUMN_I64, "ns", "the time of spans of the category QueryBlocked", false},
    [LOAD] = {"load", TBED_COLUMN_I64, "ns", "the time of spans of the category IncrementalLoadResult",
              false},
    [HASHING] = {"hashing", TBED_COLUMN_I64, "ns",
                 "the time of spans of the category IncrementalResultHashing", false},
};

static const struct tbed_column async_columns[ASYNC_COLUMN_COUNT] = {
    SPAN_COLUMNS("the label of the asynchronous spans", "always 0: they do not nest"),
};

#define PERCENTILES (UINT64_C(15) << P50)

static enum tbed_status open_spans(struct tbed_scan *scan)
{
    return open_statistics(scan, (scan->rows.columns & PERCENTILES) != 0);
}

static void put_durations(struct table_rows *rows, const struct tbed_reader *reader,
                          const struct tbed_span_row *row)
{
    bool has_any = row->count > 0;
    tbed_facts_put_span(rows, TOTAL, reader, row->total_ticks);
    tbed_facts_put_span(rows, SELF, reader, row->self_ticks);
    tbed_results_put_span_if(rows, MIN, reader, row->min_ticks, has_any);
    tbed_results_put_span_if(rows, MEAN, reader, has_any ? row->total_ticks / row->count : 0, has_any);
    tbed_results_put_span_if(rows, P50, reader, row->p50_ticks, has_any);
    tbed_results_put_span_if(rows, P90, reader, row->p90_ticks, has_any);
    tbed_results_put_span_if(rows, P99, reader, row->p99_ticks, has_any);
    tbed_results_put_span_if(rows, P999, reader, row->p999_ticks, has_any);
    tbed_results_put_span_if(rows, MAX, reader, row->max_ticks, has_any);
}

static void put_categories(struct table_rows *rows, const struct tbed_reader *reader,
                           const struct tbed_span_row *row)
{
    tbed_facts_put_span(rows, TIME, reader, row->time_ticks);
    tbed_facts_put_count(rows, INVOCATIONS, row->invocation_count);
    tbed_facts_put_count(rows, CACHE_MISSES, row->cache_misses);
    tbed_facts_put_count(rows, CACHE_HITS, row->cache_hits);
    tbed_facts_put_span(rows, BLOCKED, reader, row->blocked_ticks);
    tbed_facts_put_span(rows, LOAD, reader, row->load_ticks);
    tbed_facts_put_span(rows, HASHING, reader, row->hashing_ticks);
}

static void put_spans(struct table_rows *rows, const struct tbed_reader *reader,
                      const struct tbed_span_row *row)
{
    tbed_table_put_text(rows, LABEL, row->name, row->name_nbytes);
    tbed_facts_put_count(rows, COUNT, row->count);
    put_durations(rows, reader, row);
    tbed_facts_put_count(rows, OPEN, row->open_count);
    tbed_facts_put_count(rows, UNKNOWN, row->unknown_count);
}

static enum tbed_status fill_spans(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    const struct tbed_span_row *row;
    for (; !table_rows_is_full(&scan->rows) &&
           (row = tbed_statistics_span(state->statistics, state->at)) != NULL;
         state->at++) {
        put_spans(&scan->rows, scan->reader, row);
        put_categories(&scan->rows, scan->reader, row);
        table_rows_end(&scan->rows);
    }
    return TBED_OK;
}

static enum tbed_status fill_asyncs(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    const struct tbed_span_row *row;
    for (; !table_rows_is_full(&scan->rows) &&
           (row = tbed_statistics_async(state->statistics, state->at)) != NULL;
         state->at++) {
        put_spans(&scan->rows, scan->reader, row);
        table_rows_end(&scan->rows);
    }
    return TBED_OK;
}

const struct table_source tbed_table_label_statistics = {
    .about = {"label_statistics", "the spans of each label, as in report, in order of the labels", columns,
              COLUMN_COUNT},
    .needs_statistics = true,
    .open = open_spans,
    .fill = fill_spans,
    .close = close_statistics,
};

const struct table_source tbed_table_async_statistics = {
    .about = {"async_statistics",
              "the asynchronous spans of each label, as in report, in order of the labels", async_columns,
              ASYNC_COLUMN_COUNT},
    .needs_statistics = true,
    .open = open_spans,
    .fill = fill_asyncs,
    .close = close_statistics,
};

/* ---- Instants ---- */

enum { INSTANT_LABEL, INSTANT_COUNT, INSTANT_COLUMN_COUNT };

static const struct tbed_column instant_columns[INSTANT_COLUMN_COUNT] = {
    [INSTANT_LABEL] = {"label", TBED_COLUMN_NAME, NULL, "the label of the instants", false},
    [INSTANT_COUNT] = {"count", TBED_COLUMN_I64, NULL, "how many there are", false},
};

static enum tbed_status fill_instants(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    struct table_rows *rows = &scan->rows;
    const struct tbed_instant_row *row;
    for (; !table_rows_is_full(rows) && (row = tbed_statistics_instant(state->statistics, state->at)) != NULL;
         state->at++) {
        tbed_table_put_text(rows, INSTANT_LABEL, row->name, row->name_nbytes);
        tbed_facts_put_count(rows, INSTANT_COUNT, row->count);
        table_rows_end(rows);
    }
    return TBED_OK;
}

const struct table_source tbed_table_instant_statistics = {
    .about = {"instant_statistics", "the instants of each label, as in report, in order of the labels",
              instant_columns, INSTANT_COLUMN_COUNT},
    .needs_statistics = true,
    .open = open_others,
    .fill = fill_instants,
    .close = close_statistics,
};

/* ---- Counters ---- */

enum {
    COUNTER_LABEL,
    COUNTER_UNIT,
    COUNTER_COUNT,
    COUNTER_LAST,
    COUNTER_MIN,
    COUNTER_MAX,
    COUNTER_COLUMN_COUNT
};

static const struct tbed_column counter_columns[COUNTER_COLUMN_COUNT] = {
    [COUNTER_LABEL] = {"label", TBED_COLUMN_NAME, NULL, "the label of the counter", false},
    [COUNTER_UNIT] = {"unit", TBED_COLUMN_NAME, NULL, "the unit of its values; NULL: unknown", false},
    [COUNTER_COUNT] = {"count", TBED_COLUMN_I64, NULL, "the values recorded", false},
    [COUNTER_LAST] = {"last", TBED_COLUMN_F64, NULL, "the latest value", false},
    [COUNTER_MIN] = {"min", TBED_COLUMN_F64, NULL, "the least value", false},
    [COUNTER_MAX] = {"max", TBED_COLUMN_F64, NULL, "the greatest value", false},
};

static enum tbed_status fill_counters(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    struct table_rows *rows = &scan->rows;
    const struct tbed_counter_row *row;
    for (; !table_rows_is_full(rows) && (row = tbed_statistics_counter(state->statistics, state->at)) != NULL;
         state->at++) {
        tbed_table_put_text(rows, COUNTER_LABEL, row->name, row->name_nbytes);
        tbed_table_put_id(rows, COUNTER_UNIT, scan->reader, tbed_counter_unit(scan->reader, row->id));
        tbed_facts_put_count(rows, COUNTER_COUNT, row->count);
        table_put_f64(rows, COUNTER_LAST, row->last);
        table_put_f64(rows, COUNTER_MIN, row->min);
        table_put_f64(rows, COUNTER_MAX, row->max);
        table_rows_end(rows);
    }
    return TBED_OK;
}

const struct table_source tbed_table_counter_statistics = {
    .about = {"counter_statistics", "the values of each counter, as in report, in order of the labels",
              counter_columns, COUNTER_COLUMN_COUNT},
    .open = open_others,
    .fill = fill_counters,
    .close = close_statistics,
};

/* ---- Messages ---- */

enum { FORMAT, MESSAGE_COUNT, SEVERITIES, MESSAGE_COLUMN_COUNT = SEVERITIES + 5 };

static const struct tbed_column message_columns[MESSAGE_COLUMN_COUNT] = {
    [FORMAT] = {"format", TBED_COLUMN_NAME, NULL, "the format string; <inline text> for messages without one",
                false},
    [MESSAGE_COUNT] = {"count", TBED_COLUMN_I64, NULL, "the messages with this format", false},
    [SEVERITIES +
        TBED_SEVERITY_NONE] = {"none", TBED_COLUMN_I64, NULL, "among them, those without a severity", false},
    [SEVERITIES + TBED_SEVERITY_ERROR] = {"errors", TBED_COLUMN_I64, NULL, "errors", false},
    [SEVERITIES + TBED_SEVERITY_WARNING] = {"warnings", TBED_COLUMN_I64, NULL, "warnings", false},
    [SEVERITIES + TBED_SEVERITY_INFORMATION] = {"information", TBED_COLUMN_I64, NULL, "information", false},
    [SEVERITIES + TBED_SEVERITY_DEBUG] = {"debug", TBED_COLUMN_I64, NULL, "debug output", false},
};

static enum tbed_status fill_messages(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    struct table_rows *rows = &scan->rows;
    const struct tbed_message_row *row;
    for (; !table_rows_is_full(rows) && (row = tbed_statistics_message(state->statistics, state->at)) != NULL;
         state->at++) {
        tbed_table_put_text(rows, FORMAT, row->name, row->name_nbytes);
        tbed_facts_put_count(rows, MESSAGE_COUNT, row->count);
        for (unsigned severity = 0; severity < 5; severity++)
            tbed_facts_put_count(rows, SEVERITIES + severity, row->severity_counts[severity]);
        table_rows_end(rows);
    }
    return TBED_OK;
}

const struct table_source tbed_table_message_statistics = {
    .about = {"message_statistics", "the messages of each format, as in report, in order of the formats",
              message_columns, MESSAGE_COLUMN_COUNT},
    .needs_statistics = true,
    .open = open_others,
    .fill = fill_messages,
    .close = close_statistics,
};

/* ---- Artifacts ---- */

enum { ARTIFACT_LABEL, ARTIFACT_COUNT, ARTIFACT_VALUE, ARTIFACT_COLUMN_COUNT };

static const struct tbed_column artifact_columns[ARTIFACT_COLUMN_COUNT] = {
    [ARTIFACT_LABEL] = {"label", TBED_COLUMN_NAME, NULL, "the label of the counters", false},
    [ARTIFACT_COUNT] = {"count", TBED_COLUMN_I64, NULL, "the values recorded", false},
    [ARTIFACT_VALUE] = {"value", TBED_COLUMN_I64, NULL, "their sum, for rustc in bytes", false},
};

static enum tbed_status fill_artifacts(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    struct table_rows *rows = &scan->rows;
    const struct tbed_artifact_row *row;
    for (;
         !table_rows_is_full(rows) && (row = tbed_statistics_artifact(state->statistics, state->at)) != NULL;
         state->at++) {
        tbed_table_put_text(rows, ARTIFACT_LABEL, row->name, row->name_nbytes);
        tbed_facts_put_count(rows, ARTIFACT_COUNT, row->count);
        tbed_facts_put_count(rows, ARTIFACT_VALUE, row->value);
        table_rows_end(rows);
    }
    return TBED_OK;
}

const struct table_source tbed_table_artifact_statistics = {
    .about = {"artifact_statistics", "counters of the category ArtifactSize by label, in order of the labels",
              artifact_columns, ARTIFACT_COLUMN_COUNT},
    .needs_statistics = true,
    .open = open_others,
    .fill = fill_artifacts,
    .close = close_statistics,
};
