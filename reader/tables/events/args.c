/*
 * The table of arguments: a row for each argument of a span, and of an event that is no part of a span.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/events/event_tables.h"
#include "reader/tables/events/span_units.h"

enum {
    TS,
    SPAN,
    EVENT,
    LABEL,
    KEY,
    VALUE,
    TYPE,
    INTEGER,
    NUMBER,
    THREAD,
    PROCESS,
    TRACK,
    TID,
    PID,
    COLUMN_COUNT
};

static const struct tbed_column columns[COLUMN_COUNT] = {
    [TS] = {"ts", TBED_COLUMN_I64, "ns", "when the span began, or the event was recorded", false},
    [SPAN] = {"span", TBED_COLUMN_I64, NULL, "the id of the span; NULL: it is an event's", false},
    [EVENT] = {"event", TBED_COLUMN_I64, NULL, "the id of the event; NULL: it is a span's", false},
    [LABEL] = {"label", TBED_COLUMN_NAME, NULL, "the label of the span or event", false},
    [KEY] = {"key", TBED_COLUMN_NAME, NULL, "its name; arg0, arg1 and so on for those without one", false},
    [VALUE] = {"value", TBED_COLUMN_TEXT, NULL, "its value as text", false},
    [TYPE] = {"type", TBED_COLUMN_NAME, NULL,
              "name, integer, unsigned, double, bool, pointer, id, text, bytes", false},
    [INTEGER] = {"integer", TBED_COLUMN_I64, NULL, "its value, if it is an integer of this type", false},
    [NUMBER] = {"number", TBED_COLUMN_F64, NULL, "its value, if it is a number", false},
    [THREAD] = {"thread", TBED_COLUMN_NAME, NULL, "the name of the thread", false},
    [PROCESS] = {"process", TBED_COLUMN_NAME, NULL, "the name of the process", false},
    [TRACK] = {"track", TBED_COLUMN_I64, NULL, "the number of the stream", false},
    [TID] = {"tid", TBED_COLUMN_I64, NULL, "the system's number of the thread", false},
    [PID] = {"pid", TBED_COLUMN_I64, NULL, "the system's number of the process", false},
};

static const struct row_columns row_columns = {TS, {THREAD, PROCESS, TID, PID, TRACK}};

/* What the arguments belong to. */
struct owner {
    uint64_t tick, begin_tick;
    uint32_t id, name_id; /* the latter is INVALID if the name's parts are no arguments */
    int64_t span, event;  /* their ids; 0: not that */
    bool is_unknown;      /* its begin is */
    struct row_arguments arguments;
};

struct unit {
    struct span_unit spans;
    struct owner *owners; /* those with arguments, by time */
    size_t count, room, at;
    size_t taken; /* arguments of the owner at 'at' */
};

struct worker {
    struct span_worker spans;
    struct unit *unit;
};

enum arg_type {
    TYPE_NAME,
    TYPE_INTEGER,
    TYPE_UNSIGNED,
    TYPE_DOUBLE,
    TYPE_BOOL,
    TYPE_POINTER,
    TYPE_ID,
    TYPE_TEXT,
    TYPE_BYTES,
    TYPE_COUNT
};
static const char *const type_names[TYPE_COUNT] = {"name",    "integer", "unsigned", "double", "bool",
                                                   "pointer", "id",      "text",     "bytes"};

struct args {
    struct row_scan rows;
    struct row_range spans, events, ts; /* ids and times that are asked for */
    uint32_t type_codes[TYPE_COUNT];    /* + 1 */
    uint32_t key, label;                /* that the constraints ask for; codes + 1; 0: any */
};

/* ---- Units ---- */

static void add_owner(struct worker *worker, const struct owner *owner)
{
    struct unit *unit = worker->unit;
    if (unit->count == unit->room) {
        size_t room = unit->room * 2 + 64;
        struct owner *grown = realloc(unit->owners, room * sizeof *grown);
        worker->spans.is_out_of_memory |= grown == NULL;
        if (grown == NULL)
            return;
        unit->owners = grown;
        unit->room = room;
    }
    unit->owners[unit->count++] = *owner;
}

/* An event that neither begins nor ends a span. */
static void take_event(void *context, const struct block_spans *spans, const struct tbed_event *event,
                       size_t word)
{
    struct worker *worker = context;
    struct args *args = (struct args *)worker->spans.rows;
    struct owner owner = {
        .tick = event->tick,
        .begin_tick = event->tick,
        .id = event->id,
        .name_id = event->type == TBED_EVENT_MESSAGE ? TBED_ID_INVALID : event->id,
        .event = (int64_t)((spans->block.offset +
                            (uint64_t)((const uint8_t *)(spans->block.words + word) - spans->block.bytes)) /
                           8),
        .arguments = {.of_begin = event->arguments, .begin_count = event->argument_count}};
    switch (event->type) {
    case TBED_EVENT_ALLOC:
    case TBED_EVENT_FREE:
    case TBED_EVENT_REALLOC:
    case TBED_EVENT_RESIZE:
    case TBED_EVENT_GAP:
    case TBED_EVENT_UNKNOWN:
        return;
    default:
        if (row_range_has(&args->events, owner.event) &&
            tbed_row_args_exist(&args->rows.names, owner.name_id, &owner.arguments))
            add_owner(worker, &owner);
    }
}

static void take_spans(struct worker *worker, struct args *args)
{
    const struct span_unit *unit = &worker->unit->spans;
    for (size_t i = 0; i < unit->count; i++) {
        const struct block_span *item = &unit->items[i];
        const struct row_arguments *arguments = span_unit_arguments(unit, item);
        struct owner owner = {.tick = item->end_tick,
                              .begin_tick =
                                  item->begin_tick < item->end_tick ? item->begin_tick : item->end_tick,
                              .id = item->id,
                              .name_id = item->id,
                              .span = (int64_t)(unit->first_id + i),
                              .is_unknown = item->kind == TBED_STEP_UNKNOWN};
        if (arguments != NULL)
            owner.arguments = *arguments;
        if (row_range_has(&args->spans, owner.span) &&
            tbed_row_args_exist(&args->rows.names, item->id, arguments))
            add_owner(worker, &owner);
    }
}

static int compare_owners(const void *left, const void *right)
{
    const struct owner *a = left, *b = right;
    if (a->tick != b->tick)
        return a->tick < b->tick ? -1 : 1;
    if (a->event != b->event)
        return a->event < b->event ? -1 : 1;
    return (a->span > b->span) - (a->span < b->span);
}

static bool open_worker(struct row_scan *rows, void *argument)
{
    struct worker *worker = argument;
    const struct args *args = (const struct args *)rows;
    tbed_span_worker_open(rows, &worker->spans);
    /* With an id of a span or an event, nothing of the others is wanted. */
    worker->spans.spans.other = row_range_is_all(&args->spans) ? take_event : NULL;
    return true;
}

static enum tbed_status enter(void *worker_argument, void *unit_argument, size_t block, bool is_kept)
{
    struct worker *worker = worker_argument;
    struct unit *unit = unit_argument;
    struct args *args = (struct args *)worker->spans.rows;
    unit->count = unit->at = unit->taken = 0;
    worker->unit = unit;
    enum tbed_status status = tbed_span_unit_enter(&worker->spans, &unit->spans, block, is_kept);
    if (status != TBED_OK || unit->spans.thread == NULL)
        unit->count = 0;
    if (status != TBED_OK)
        return status;
    if (row_range_is_all(&args->events))
        take_spans(worker, args);
    if (unit->count > 1)
        qsort(unit->owners, unit->count, sizeof *unit->owners, compare_owners);
    return worker->spans.is_out_of_memory ? TBED_ERR_MEMORY : TBED_OK;
}

static bool peek(void *worker, void *argument, uint64_t *tick_ret)
{
    const struct unit *unit = argument;
    (void)worker;
    if (unit->at == unit->count)
        return false;
    *tick_ret = unit->owners[unit->at].tick;
    return true;
}

static void close_unit(void *argument)
{
    struct unit *unit = argument;
    tbed_span_unit_close(&unit->spans);
    free(unit->owners);
}

/* ---- Rows ---- */

struct filling {
    struct args *args;
    struct worker *worker;
    struct unit *unit;
    const struct owner *owner;
    struct table_rows *rows;
    size_t at; /* arguments of the owner that were passed */
};

static enum arg_type type_of(const struct tbed_argument *argument)
{
    if (argument == NULL)
        return TYPE_NAME;
    switch (argument->type) {
    case TBED_ARG_I64:
        return TYPE_INTEGER;
    case TBED_ARG_U64:
        return TYPE_UNSIGNED;
    case TBED_ARG_F64:
        return TYPE_DOUBLE;
    case TBED_ARG_BOOL:
        return TYPE_BOOL;
    case TBED_ARG_POINTER:
        return TYPE_POINTER;
    case TBED_ARG_ID:
        return TYPE_ID;
    case TBED_ARG_TEXT:
        return TYPE_TEXT;
    default:
        return TYPE_BYTES;
    }
}

static void put_numbers(struct table_rows *rows, const struct tbed_argument *argument)
{
    enum arg_type type = type_of(argument);
    bool is_integer = type == TYPE_INTEGER || type == TYPE_BOOL ||
                      (type == TYPE_UNSIGNED && argument->value.u64 <= INT64_MAX);
    if (is_integer)
        table_put_i64(rows, INTEGER, type == TYPE_BOOL ? argument->value.u64 != 0 : argument->value.i64);
    else
        tbed_table_put_null(rows, INTEGER);
    if (type == TYPE_DOUBLE)
        table_put_f64(rows, NUMBER, argument->value.f64);
    else if (type == TYPE_UNSIGNED)
        table_put_f64(rows, NUMBER, (double)argument->value.u64);
    else if (is_integer)
        table_put_f64(rows, NUMBER,
                      type == TYPE_BOOL ? argument->value.u64 != 0 : (double)argument->value.i64);
    else
        tbed_table_put_null(rows, NUMBER);
}

static void put_id(struct table_rows *rows, unsigned column, int64_t id)
{
    if (id != 0)
        table_put_i64(rows, column, id);
    else
        tbed_table_put_null(rows, column);
}

static void put_owner(struct filling *filling)
{
    struct table_rows *rows = filling->rows;
    const struct owner *owner = filling->owner;
    if (owner->is_unknown)
        tbed_table_put_null(rows, TS);
    else
        table_put_i64(rows, TS,
                      tbed_tick_line_ns(filling->args->rows.scan->reader, &filling->worker->spans.line,
                                        owner->begin_tick));
    put_id(rows, SPAN, owner->span);
    put_id(rows, EVENT, owner->event);
    row_put_name(rows, LABEL, &filling->args->rows.names, ROW_LABEL, owner->id);
    tbed_row_thread_put(rows, &row_columns.thread, filling->unit->spans.thread);
}

static bool put_arg(void *context, const struct row_arg *arg)
{
    struct filling *filling = context;
    struct args *args = filling->args;
    struct table_rows *rows = filling->rows;
    struct tbed_text *scratch = &filling->worker->spans.scratch;
    if (filling->at++ < filling->unit->taken)
        return true;
    if (table_rows_is_full(rows) || rows->is_out_of_memory)
        return false;
    filling->unit->taken++;
    uint32_t key = ROW_CODE_NULL;
    if (table_rows_wants(rows, KEY) || args->key != 0)
        key = tbed_row_text_code(&args->rows.scan->names, arg->key, arg->key_nbytes);
    if (args->key != 0 && key != ROW_CODE_FAILED && key != args->key)
        return true;
    row_put_code(rows, KEY, key);
    row_put_code(rows, TYPE, args->type_codes[type_of(arg->argument)]);
    put_numbers(rows, arg->argument);
    if (table_rows_wants(rows, VALUE)) {
        scratch->nbytes = 0;
        rows->is_out_of_memory |= !tbed_row_arg_text(&args->rows.names, arg, scratch);
        tbed_table_put_text(rows, VALUE, scratch->nbytes > 0 ? scratch->bytes : "", scratch->nbytes);
    }
    put_owner(filling);
    table_rows_end(rows);
    return true;
}

static bool is_allowed(struct filling *filling)
{
    struct args *args = filling->args;
    const struct owner *owner = filling->owner;
    if (!row_range_is_all(&args->ts) &&
        (owner->is_unknown ||
         !row_range_has(&args->ts, tbed_tick_line_ns(args->rows.scan->reader, &filling->worker->spans.line,
                                                     owner->begin_tick))))
        return false;
    return args->label == 0 || row_name_code(&args->rows.names, ROW_LABEL, owner->id) == args->label;
}

static void fill(void *worker_argument, void *unit_argument, struct table_rows *rows, size_t count)
{
    struct worker *worker = worker_argument;
    struct unit *unit = unit_argument;
    struct filling filling = {
        .args = (struct args *)worker->spans.rows, .worker = worker, .unit = unit, .rows = rows};
    for (; count > 0 && unit->at < unit->count && !table_rows_is_full(rows); count--) {
        filling.owner = &unit->owners[unit->at];
        filling.at = 0;
        bool is_done =
            !is_allowed(&filling) || tbed_row_args_each(&filling.args->rows.names, filling.owner->name_id,
                                                        &filling.owner->arguments, put_arg, &filling);
        if (!is_done && !table_rows_is_full(rows))
            rows->is_out_of_memory = true;
        if (rows->is_out_of_memory || !is_done)
            return;
        unit->at++;
        unit->taken = 0;
    }
}

static const struct row_kind kind = {
    .worker_nbytes = sizeof(struct worker),
    .unit_nbytes = sizeof(struct unit),
    .open_worker = open_worker,
    .close_worker = tbed_span_worker_close,
    .enter = enter,
    .peek = peek,
    .fill = fill,
    .close_unit = close_unit,
    .is_ordered_by_end = true,
};

/* ---- Scans ---- */

static bool open_codes(struct args *args, struct tbed_scan *scan)
{
    bool fine =
        tbed_row_wanted_code(scan, KEY, &args->key) && tbed_row_wanted_code(scan, LABEL, &args->label);
    for (unsigned i = 0; i < TYPE_COUNT && fine; i++) {
        args->type_codes[i] = tbed_row_text_code(&scan->names, type_names[i], strlen(type_names[i]));
        fine = args->type_codes[i] != ROW_CODE_FAILED;
    }
    return fine;
}

static enum tbed_status open(struct tbed_scan *scan)
{
    size_t own_nbytes = sizeof(struct args) - sizeof(struct row_scan);
    enum tbed_status status =
        tbed_row_scan_open(scan, &kind, &row_columns, 1u << ROW_LABEL | 1u << ROW_NAME, own_nbytes);
    if (status != TBED_OK)
        return status;
    struct args *args = scan->state;
    args->spans = row_range_of(scan, SPAN);
    args->events = row_range_of(scan, EVENT);
    args->ts = row_range_of(scan, TS);
    args->rows.ids = args->spans;
    args->rows.wants_arguments = true;
    args->rows.wants_begins = true;
    return open_codes(args, scan) ? tbed_row_scan_start(&args->rows) : TBED_ERR_MEMORY;
}

const struct table_source tbed_table_args = {
    .about = {"args", "arguments of spans and events, in order of the spans' ends and of the events' times",
              columns, COLUMN_COUNT},
    .row_estimate = tbed_row_estimate,
    .open = open,
    .next = tbed_row_scan_next,
    .close = tbed_row_scan_close,
};
