/*
 * The table of spans.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/shared/resolution.h"
#include "reader/tables/events/event_tables.h"
#include "reader/tables/events/span_units.h"

enum {
    TS,
    DUR,
    SELF,
    LABEL,
    NAME,
    ARGS,
    CATEGORY,
    THREAD,
    PROCESS,
    DEPTH,
    PARENT,
    ID,
    FUNCTION,
    FILE_NAME,
    LINE,
    TRACK,
    TID,
    PID,
    END_TS,
    IS_OPEN,
    COLUMN_COUNT
};

static const struct tbed_column columns[COLUMN_COUNT] = {
    [TS] = {"ts", TBED_COLUMN_I64, "ns", "when it began; NULL: unknown", false},
    [DUR] = {"dur", TBED_COLUMN_I64, "ns", "how long it took; NULL: it never ended", false},
    [SELF] = {"self", TBED_COLUMN_I64, "ns", "its time without that of the spans inside it", false},
    [LABEL] = {"label", TBED_COLUMN_NAME, NULL, "its name without arguments", false},
    [NAME] = {"name", TBED_COLUMN_NAME, NULL, "its complete name", false},
    [ARGS] = {"args", TBED_COLUMN_TEXT, NULL, "its arguments as a JSON object", false},
    [CATEGORY] = {"category", TBED_COLUMN_NAME, NULL, "its category", false},
    [THREAD] = {"thread", TBED_COLUMN_NAME, NULL, "the name of its thread", false},
    [PROCESS] = {"process", TBED_COLUMN_NAME, NULL, "the name of its process", false},
    [DEPTH] = {"depth", TBED_COLUMN_I64, NULL, "how many spans are around it", false},
    [PARENT] = {"parent", TBED_COLUMN_I64, NULL, "the id of the span around it", false},
    [ID] = {"id", TBED_COLUMN_I64, NULL, "its number, unique in the trace", false},
    [FUNCTION] = {"function", TBED_COLUMN_NAME, NULL, "the function that its name stands for", false},
    [FILE_NAME] = {"file", TBED_COLUMN_NAME, NULL, "the source file of that function", false},
    [LINE] = {"line", TBED_COLUMN_I64, NULL, "the line in that file", false},
    [TRACK] = {"track", TBED_COLUMN_I64, NULL, "the number of its stream", false},
    [TID] = {"tid", TBED_COLUMN_I64, NULL, "the system's number of its thread", false},
    [PID] = {"pid", TBED_COLUMN_I64, NULL, "the system's number of its process", false},
    [END_TS] = {"end_ts", TBED_COLUMN_I64, "ns", "when it ended; if it never did, its thread's last time",
                false},
    [IS_OPEN] = {"is_open", TBED_COLUMN_I64, NULL, "1 if it never ended", false},
};

static const struct row_columns row_columns = {TS, {THREAD, PROCESS, TID, PID, TRACK}};

/* ---- Rows ---- */

/* What the constraints ask of a span. */
struct tests {
    struct row_range ts, dur;
    bool has_times;
    struct row_range depth;
    uint64_t parent;                /* an id; 0: any */
    bool has_depth;                 /* or a parent */
    uint32_t label, name, category; /* codes + 1; 0: any */
};

struct spans {
    struct row_scan rows;
    struct tests tests;
    uint64_t resolution;
};

struct times {
    int64_t ts, end, dur;
};

static struct times times_of(const struct spans *spans, struct span_worker *worker,
                             const struct block_span *item)
{
    const struct tbed_reader *reader = spans->rows.scan->reader;
    uint64_t begin = item->begin_tick < item->end_tick ? item->begin_tick : item->end_tick;
    struct times times = {.ts = tbed_tick_line_ns(reader, &worker->line, begin),
                          .end = tbed_tick_line_ns(reader, &worker->line, item->end_tick)};
    times.dur = nesting_ns_between(times.ts, times.end);
    if (__builtin_expect(spans->resolution > 1, 0))
        times.dur = nesting_duration(reader, &worker->line, spans->resolution, begin, item->end_tick);
    return times;
}

static bool is_allowed(struct spans *spans, const struct block_span *item, const struct times *times)
{
    const struct tests *tests = &spans->tests;
    struct row_names *names = &spans->rows.names;
    if (tests->has_times) {
        if (item->kind == TBED_STEP_UNKNOWN || !row_range_has(&tests->ts, times->ts))
            return false;
        if (!row_range_is_all(&tests->dur) &&
            (item->kind == TBED_STEP_OPEN || !row_range_has(&tests->dur, times->dur)))
            return false;
    }
    if (tests->label != 0 && row_name_code(names, ROW_LABEL, item->id) != tests->label)
        return false;
    if (tests->name != 0 && row_name_code(names, ROW_NAME, item->id) != tests->name)
        return false;
    return tests->category == 0 || row_name_code(names, ROW_NAME, item->category) == tests->category;
}

static bool is_at_depth(const struct tests *tests, const struct block_span *item, const struct nested *nested)
{
    return item->kind != TBED_STEP_UNKNOWN && row_range_has(&tests->depth, nested->depth) &&
           (tests->parent == 0 || nested->parent == tests->parent);
}

static void put_line(struct table_rows *rows, struct row_names *names, uint32_t id)
{
    if (!table_rows_wants(rows, LINE))
        return;
    uint32_t code = row_name_code(names, ROW_LINE, id);
    rows->is_out_of_memory |= code == ROW_CODE_FAILED;
    if (code == ROW_CODE_NULL)
        tbed_table_put_null(rows, LINE);
    else
        table_put_i64(rows, LINE, (int64_t)code - 1);
}

static void put_times(struct table_rows *rows, const struct block_span *item, const struct times *times)
{
    if (__builtin_expect(item->kind == TBED_STEP_UNKNOWN, 0)) {
        tbed_table_put_null(rows, TS);
        tbed_table_put_null(rows, DUR);
        table_put_i64(rows, END_TS, times->end);
        return;
    }
    table_put_i64(rows, TS, times->ts);
    table_put_i64(rows, END_TS, times->end);
    if (item->kind == TBED_STEP_OPEN)
        tbed_table_put_null(rows, DUR);
    else
        table_put_i64(rows, DUR, times->dur);
}

static void put_names(struct spans *spans, struct table_rows *rows, const struct block_span *item)
{
    struct row_names *names = &spans->rows.names;
    row_put_name(rows, LABEL, names, ROW_LABEL, item->id);
    row_put_name(rows, NAME, names, ROW_NAME, item->id);
    row_put_name(rows, CATEGORY, names, ROW_NAME, item->category);
    row_put_name(rows, FUNCTION, names, ROW_FUNCTION, item->id);
    row_put_name(rows, FILE_NAME, names, ROW_FILE, item->id);
    put_line(rows, names, item->id);
}

#define TIMES (UINT64_C(1) << TS | UINT64_C(1) << DUR | UINT64_C(1) << END_TS)
#define NAMES                                                                                                \
    (UINT64_C(1) << LABEL | UINT64_C(1) << NAME | UINT64_C(1) << CATEGORY | UINT64_C(1) << FUNCTION |        \
     UINT64_C(1) << FILE_NAME | UINT64_C(1) << LINE)
#define NESTED (UINT64_C(1) << SELF | UINT64_C(1) << DEPTH | UINT64_C(1) << PARENT)

static void put_nested(struct table_rows *rows, const struct span_unit *unit, const struct block_span *item)
{
    if ((rows->columns & NESTED) == 0)
        return; /* 'nested' has not been made */
    const struct nested *nested = &unit->nested[item - unit->items];
    if (item->kind == TBED_STEP_UNKNOWN) {
        tbed_table_put_null(rows, SELF);
        tbed_table_put_null(rows, DEPTH);
        tbed_table_put_null(rows, PARENT);
        return;
    }
    table_put_i64(rows, SELF, nested->self_ns);
    table_put_i64(rows, DEPTH, nested->depth);
    if (nested->parent != 0)
        table_put_i64(rows, PARENT, (int64_t)nested->parent);
    else
        tbed_table_put_null(rows, PARENT);
}

static int64_t id_of(const struct span_unit *unit, const struct block_span *item)
{
    return (int64_t)(unit->first_id + (size_t)(item - unit->items));
}

static void put(struct spans *spans, struct span_worker *worker, const struct span_unit *unit,
                const struct block_span *item, struct table_rows *rows)
{
    struct times times = {0};
    if (spans->tests.has_times || (rows->columns & TIMES) != 0)
        times = times_of(spans, worker, item);
    if (!is_allowed(spans, item, &times) || !row_range_has(&spans->rows.ids, id_of(unit, item)) ||
        (spans->tests.has_depth && !is_at_depth(&spans->tests, item, &unit->nested[item - unit->items])))
        return;
    if ((rows->columns & TIMES) != 0)
        put_times(rows, item, &times);
    if ((rows->columns & NAMES) != 0)
        put_names(spans, rows, item);
    if ((rows->columns & ~(TIMES | NAMES)) != 0) {
        tbed_row_thread_put(rows, &row_columns.thread, unit->thread);
        tbed_row_args_put(rows, ARGS, &spans->rows.names, item->id, span_unit_arguments(unit, item),
                          &worker->scratch);
        put_nested(rows, unit, item);
        table_put_i64(rows, ID, id_of(unit, item));
        table_put_i64(rows, IS_OPEN, item->kind == TBED_STEP_OPEN);
    }
    table_rows_end(rows);
}

static void fill(void *worker_argument, void *unit_argument, struct table_rows *rows, size_t count)
{
    struct span_worker *worker = worker_argument;
    struct span_unit *unit = unit_argument;
    struct spans *spans = (struct spans *)worker->rows;
    size_t end = count < unit->count - unit->at ? unit->at + count : unit->count;
    while (unit->at < end && !table_rows_is_full(rows))
        put(spans, worker, unit, &unit->items[unit->at++], rows);
}

static const struct row_kind kind = {
    .worker_nbytes = sizeof(struct span_worker),
    .unit_nbytes = sizeof(struct span_unit),
    .open_worker = tbed_span_worker_open,
    .close_worker = tbed_span_worker_close,
    .enter = tbed_span_unit_enter,
    .peek = tbed_span_unit_peek,
    .fill = fill,
    .close_unit = tbed_span_unit_close,
    .is_ordered_by_end = true,
};

/* ---- Scans ---- */

static bool wants(const struct tbed_scan *scan, unsigned column)
{
    return (scan->options.columns >> column & 1) != 0 || tbed_scan_equal(scan, column) != NULL;
}

static unsigned kinds_of(const struct tbed_scan *scan)
{
    return (unsigned)wants(scan, LABEL) << ROW_LABEL |
           (unsigned)(wants(scan, NAME) || wants(scan, CATEGORY) || wants(scan, ARGS)) << ROW_NAME |
           (unsigned)wants(scan, FUNCTION) << ROW_FUNCTION | (unsigned)wants(scan, FILE_NAME) << ROW_FILE |
           (unsigned)wants(scan, LINE) << ROW_LINE;
}

static bool open_tests(struct tests *tests, struct tbed_scan *scan)
{
    tests->ts = row_range_of(scan, TS);
    tests->dur = row_range_of(scan, DUR);
    tests->depth = row_range_of(scan, DEPTH);
    const struct tbed_constraint *parent = tbed_scan_equal(scan, PARENT);
    if (parent != NULL && !parent->is_text && parent->number > 0)
        tests->parent = (uint64_t)parent->number;
    tests->has_depth = !row_range_is_all(&tests->depth) || tests->parent != 0;
    tests->has_times = !row_range_is_all(&tests->ts) || !row_range_is_all(&tests->dur);
    return tbed_row_wanted_code(scan, LABEL, &tests->label) &&
           tbed_row_wanted_code(scan, NAME, &tests->name) &&
           tbed_row_wanted_code(scan, CATEGORY, &tests->category);
}

static enum tbed_status open(struct tbed_scan *scan)
{
    struct tbed_trace_info info;
    size_t own_nbytes = sizeof(struct spans) - sizeof(struct row_scan);
    enum tbed_status status = tbed_row_scan_open(scan, &kind, &row_columns, kinds_of(scan), own_nbytes);
    if (status != TBED_OK)
        return status;
    struct spans *spans = scan->state;
    tbed_reader_info(scan->reader, &info);
    spans->resolution = info.resolution_ticks;
    spans->rows.wants_arguments = wants(scan, ARGS);
    spans->rows.wants_begins = wants(scan, ARGS) || wants(scan, CATEGORY);
    if (!open_tests(&spans->tests, scan))
        return TBED_ERR_MEMORY;
    spans->rows.ids = row_range_of(scan, ID);
    if ((scan->options.columns & NESTED) != 0 || spans->tests.has_depth)
        status = tbed_row_scan_nest(&spans->rows, spans->resolution);
    return status == TBED_OK ? tbed_row_scan_start(&spans->rows) : status;
}

const struct table_source tbed_table_spans = {
    .about = {"spans", "spans, in order of their ends", columns, COLUMN_COUNT},
    .row_estimate = tbed_row_estimate,
    .open = open,
    .next = tbed_row_scan_next,
    .close = tbed_row_scan_close,
};
