/*
 * Rows of events; see events.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/events/events.h"

#include "reader/analysis/filter/filter.h"

#define TYPE_COUNT ((unsigned)TBED_EVENT_UNKNOWN + 1)

struct events {
    struct row_scan rows;
    const struct event_table *table;
    uint32_t types;
    bool has_rest;                                 /* other columns than times and names are asked for */
    uint32_t type_codes[TYPE_COUNT];               /* + 1 */
    uint32_t severities[TBED_SEVERITY_DEBUG + 2u]; /* codes + 1; the last is for unknown ones */
    uint32_t label, name, category;                /* that the constraints ask for; codes + 1; 0: any */
};

static const char *const severity_names[] = {"none", "error", "warning", "information", "debug", "unknown"};

/* ---- Counters, messages, keys ---- */

static void put_counter(struct events *events, struct table_rows *rows, const struct tbed_event *event)
{
    const struct event_columns *columns = &events->table->columns;
    const struct tbed_argument *value = &event->counter_value;
    double number = value->type == TBED_ARG_F64   ? value->value.f64
                    : value->type == TBED_ARG_I64 ? (double)value->value.i64
                                                  : (double)value->value.u64;
    table_put_f64(rows, columns->value, number);
    if (value->type == TBED_ARG_I64 || (value->type == TBED_ARG_U64 && value->value.u64 <= INT64_MAX))
        table_put_i64(rows, columns->integer, value->value.i64);
    else
        tbed_table_put_null(rows, columns->integer);
    if (value->type == TBED_ARG_U64 || (value->type == TBED_ARG_I64 && value->value.i64 >= 0))
        table_put_u64(rows, columns->whole, value->value.u64);
    else
        tbed_table_put_null(rows, columns->whole);
    if (table_rows_wants(rows, columns->unit))
        row_put_name(rows, columns->unit, &events->rows.names, ROW_NAME,
                     tbed_counter_unit(events->rows.scan->reader, event->id));
}

static void put_text(struct table_rows *rows, unsigned column, const struct event_worker *worker,
                     const struct tbed_event *event, struct tbed_text *scratch)
{
    size_t nbytes = 255;
    bool fits = false;
    scratch->nbytes = 0;
    while (!fits && tbed_text_reserve(scratch, nbytes + 1)) {
        nbytes = tbed_message_text(worker->rows->scan->reader, event, TBED_MESSAGE_BODY, scratch->bytes,
                                   scratch->room);
        fits = nbytes < scratch->room;
    }
    if (fits)
        tbed_table_put_text(rows, column, scratch->bytes, nbytes);
    else
        rows->is_out_of_memory = true;
}

/* The format without its context. */
static void put_format(struct events *events, struct table_rows *rows, uint32_t id)
{
    unsigned column = events->table->columns.format;
    const char *text, *end;
    size_t nbytes;
    if (!table_rows_wants(rows, column))
        return;
    uint32_t code = row_name_code(&events->rows.names, ROW_NAME, id);
    row_put_code(rows, column, code);
    if (code == ROW_CODE_NULL || code == ROW_CODE_FAILED)
        return;
    tbed_table_names_get(&events->rows.scan->names, code - 1, &text, &nbytes);
    if (nbytes > 0 && (end = memchr(text, 0x1E, nbytes)) != NULL)
        tbed_table_put_text(rows, column, end + 1, nbytes - (size_t)(end + 1 - text));
}

static void put_message(struct events *events, struct event_worker *worker, struct table_rows *rows,
                        const struct tbed_event *event)
{
    const struct event_columns *columns = &events->table->columns;
    struct row_names *names = &events->rows.names;
    uint32_t severity = event->of.message.severity;
    if (table_rows_wants(rows, columns->text))
        put_text(rows, columns->text, worker, event, &worker->scratch);
    row_put_code(rows, columns->severity,
                 events->severities[severity <= TBED_SEVERITY_DEBUG ? severity : TBED_SEVERITY_DEBUG + 1u]);
    if (event->of.message.has_context) {
        put_format(events, rows, event->id);
        row_put_name(rows, columns->context, names, ROW_LABEL, event->id);
    } else {
        row_put_name(rows, columns->format, names, ROW_NAME, event->id);
        tbed_table_put_null(rows, columns->context);
    }
}

/* ---- Any event ---- */

static bool has_key(enum tbed_event_type type)
{
    return type >= TBED_EVENT_ASYNC_BEGIN && type <= TBED_EVENT_FLOW_END;
}

static void put_key(struct table_rows *rows, const struct event_columns *columns,
                    const struct tbed_event *event)
{
    switch (event->type) {
    case TBED_EVENT_ALLOC:
    case TBED_EVENT_FREE:
    case TBED_EVENT_RESIZE:
        table_put_u64(rows, columns->key, event->of.alloc.address);
        break;
    case TBED_EVENT_REALLOC:
        table_put_u64(rows, columns->key, event->of.realloc.address);
        break;
    default:
        if (has_key(event->type))
            table_put_u64(rows, columns->key, event->of.async.key);
        else
            tbed_table_put_null(rows, columns->key);
    }
}

static void put_value(struct events *events, struct table_rows *rows, const struct tbed_event *event)
{
    unsigned column = events->table->columns.value;
    switch (event->type) {
    case TBED_EVENT_COUNTER:
        put_counter(events, rows, event);
        break;
    case TBED_EVENT_ALLOC:
    case TBED_EVENT_RESIZE:
        table_put_f64(rows, column, (double)event->of.alloc.size);
        break;
    case TBED_EVENT_REALLOC:
        table_put_f64(rows, column, (double)event->of.realloc.size);
        break;
    case TBED_EVENT_GAP:
        table_put_f64(rows, column, (double)event->of.gap.count);
        break;
    default:
        tbed_table_put_null(rows, column);
    }
}

static void put_duration(struct events *events, struct event_worker *worker, struct table_rows *rows,
                         const struct tbed_event *event, int64_t ts)
{
    unsigned column = events->table->columns.dur;
    if (!table_rows_wants(rows, column))
        return;
    if (event->type != TBED_EVENT_SPAN)
        tbed_table_put_null(rows, column);
    else if (event->of.span.begin_tick >= event->tick)
        table_put_i64(rows, column, 0);
    else
        table_put_i64(
            rows, column,
            nesting_ns_between(
                tbed_tick_line_ns(events->rows.scan->reader, &worker->line, event->of.span.begin_tick), ts));
}

static bool is_nameless(enum tbed_event_type type)
{
    return type == TBED_EVENT_GAP || type == TBED_EVENT_UNKNOWN;
}

static void put_names(struct events *events, struct event_worker *worker, struct table_rows *rows,
                      const struct tbed_event *event)
{
    const struct event_columns *columns = &events->table->columns;
    struct row_names *names = &events->rows.names;
    struct row_arguments arguments = {.of_begin = event->arguments, .begin_count = event->argument_count};
    if (is_nameless(event->type)) {
        const char *text = event->type == TBED_EVENT_GAP ? tbed_drop_cause_text(event->of.gap.cause) : NULL;
        tbed_table_put_string(rows, columns->label, text);
        tbed_table_put_string(rows, columns->name, text);
        tbed_table_put_null(rows, columns->category);
        tbed_table_put_null(rows, columns->args);
        return;
    }
    row_put_name(rows, columns->label, names, ROW_LABEL, event->id);
    row_put_name(rows, columns->name, names, ROW_NAME, event->id);
    row_put_name(rows, columns->category, names, ROW_NAME, event->category);
    /* The parts of a format are no arguments. */
    tbed_row_args_put(rows, columns->args, names,
                      event->type == TBED_EVENT_MESSAGE ? TBED_ID_INVALID : event->id, &arguments,
                      &worker->scratch);
}

static bool is_allowed(struct events *events, const struct tbed_event *event)
{
    struct row_names *names = &events->rows.names;
    if (is_nameless(event->type))
        return true;
    return (events->label == 0 || row_name_code(names, ROW_LABEL, event->id) == events->label) &&
           (events->name == 0 || row_name_code(names, ROW_NAME, event->id) == events->name) &&
           (events->category == 0 || row_name_code(names, ROW_NAME, event->category) == events->category);
}

static void put_rest(struct events *events, struct event_worker *worker, const struct event_unit *unit,
                     int64_t ts, struct table_rows *rows)
{
    const struct event_columns *columns = &events->table->columns;
    const struct tbed_event *event = &unit->event;
    put_duration(events, worker, rows, event, ts);
    row_put_code(rows, columns->type, events->type_codes[event->type]);
    row_put_code(rows, columns->phase, events->type_codes[event->type]);
    put_key(rows, columns, event);
    put_value(events, rows, event);
    if (event->type == TBED_EVENT_MESSAGE)
        put_message(events, worker, rows, event);
    tbed_row_thread_put(rows, &columns->row.thread, unit->thread);
    table_put_i64(rows, columns->id, (int64_t)(event->offset / 8));
}

static void put(struct events *events, struct event_worker *worker, const struct event_unit *unit,
                struct table_rows *rows)
{
    const struct event_columns *columns = &events->table->columns;
    const struct tbed_event *event = &unit->event;
    if (!is_allowed(events, event))
        return;
    int64_t ts = tbed_tick_line_ns(events->rows.scan->reader, &worker->line, event->tick);
    table_put_i64(rows, columns->row.ts, ts);
    put_names(events, worker, rows, event);
    if (events->has_rest)
        put_rest(events, worker, unit, ts, rows);
    table_rows_end(rows);
}

/* ---- Scans ---- */

static bool open_worker(struct row_scan *rows, void *argument)
{
    const struct events *events = (const struct events *)rows;
    const struct event_columns *columns = &events->table->columns;
    struct event_worker *worker = argument;
    bool is_named = (rows->scan->options.columns &
                     (UINT64_C(1) << columns->label | UINT64_C(1) << columns->name |
                      UINT64_C(1) << columns->category | UINT64_C(1) << columns->args)) != 0 ||
                    rows->scan->options.filter != NULL || events->label != 0 || events->name != 0 ||
                    events->category != 0;
    worker->rows = rows;
    worker->types = events->types;
    worker->has_ends = (events->types >> TBED_EVENT_END & 1) != 0 && is_named;
    worker->ts = row_range_of(rows->scan, columns->row.ts);
    return true;
}

static void fill(void *worker_argument, void *unit_argument, struct table_rows *rows, size_t count)
{
    struct event_worker *worker = worker_argument;
    struct event_unit *unit = unit_argument;
    struct events *events = (struct events *)worker->rows;
    for (; count > 0 && unit->has_event && !table_rows_is_full(rows); count--) {
        put(events, worker, unit, rows);
        tbed_event_unit_advance(worker, unit);
    }
    rows->is_out_of_memory |= worker->is_out_of_memory;
}

static const struct row_kind kind = {
    .worker_nbytes = sizeof(struct event_worker),
    .unit_nbytes = sizeof(struct event_unit),
    .open_worker = open_worker,
    .close_worker = tbed_event_worker_close,
    .enter = tbed_event_unit_enter,
    .peek = tbed_event_unit_peek,
    .fill = fill,
    .close_unit = tbed_event_unit_close,
};

static bool wants(const struct tbed_scan *scan, unsigned column)
{
    return column != EVENT_COLUMN_NONE &&
           ((scan->options.columns >> column & 1) != 0 || tbed_scan_equal(scan, column) != NULL);
}

static unsigned kinds_of(const struct tbed_scan *scan, const struct event_columns *columns)
{
    bool has_names = wants(scan, columns->name) || wants(scan, columns->category) ||
                     wants(scan, columns->unit) || wants(scan, columns->format) || wants(scan, columns->args);
    return (unsigned)(wants(scan, columns->label) || wants(scan, columns->context)) << ROW_LABEL |
           (unsigned)has_names << ROW_NAME;
}

static bool open_names(struct events *events, struct tbed_scan *scan)
{
    const struct event_columns *columns = &events->table->columns;
    bool fine = tbed_row_wanted_code(scan, columns->label, &events->label) &&
                tbed_row_wanted_code(scan, columns->name, &events->name) &&
                tbed_row_wanted_code(scan, columns->category, &events->category);
    for (unsigned i = 0; i < TYPE_COUNT && fine && wants(scan, columns->type); i++) {
        const char *name = tbed_event_type_name((enum tbed_event_type)i);
        events->type_codes[i] = tbed_row_text_code(&scan->names, name, strlen(name));
        fine = events->type_codes[i] != ROW_CODE_FAILED;
        if (!tbed_scan_allows_text(scan, columns->type, name, strlen(name)))
            events->types &= ~(1u << i);
    }
    for (unsigned i = TBED_EVENT_FLOW_BEGIN; i <= TBED_EVENT_FLOW_END && fine && wants(scan, columns->phase);
         i++) {
        const char *name = tbed_event_type_name((enum tbed_event_type)i) + strlen("flow_");
        events->type_codes[i] = tbed_row_text_code(&scan->names, name, strlen(name));
        fine = events->type_codes[i] != ROW_CODE_FAILED;
    }
    for (unsigned i = 0; i <= TBED_SEVERITY_DEBUG + 1u && fine && wants(scan, columns->severity); i++) {
        events->severities[i] =
            tbed_row_text_code(&scan->names, severity_names[i], strlen(severity_names[i]));
        fine = events->severities[i] != ROW_CODE_FAILED;
    }
    return fine;
}

enum tbed_status tbed_event_table_open(struct tbed_scan *scan, const struct event_table *table)
{
    size_t own_nbytes = sizeof(struct events) - sizeof(struct row_scan);
    enum tbed_status status =
        tbed_row_scan_open(scan, &kind, &table->columns.row, kinds_of(scan, &table->columns), own_nbytes);
    if (status != TBED_OK)
        return status;
    struct events *events = scan->state;
    events->table = table;
    events->types = table->types;
    events->has_rest = (scan->options.columns &
                        ~(UINT64_C(1) << table->columns.row.ts | UINT64_C(1) << table->columns.label |
                          UINT64_C(1) << table->columns.name | UINT64_C(1) << table->columns.category |
                          UINT64_C(1) << table->columns.args)) != 0;
    return open_names(events, scan) ? tbed_row_scan_start(&events->rows) : TBED_ERR_MEMORY;
}
