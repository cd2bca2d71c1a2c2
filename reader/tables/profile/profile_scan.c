/*
 * Scans of a profile in place: workers take chunks of events in any order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/profile/profile_state.h"

#include "reader/analysis/shared/resolution.h"
#include "reader/core/base/workers.h"

#define PREFETCH_AHEAD 12u /* events */
#define PAGE_AHEAD     4096u

struct worker {
    struct profile_scan *scan;
    struct mm_chunk chunk;
    uint32_t at;     /* of its events */
    uint64_t thread; /* of the last row, */
    uint32_t thread_code;
    bool has_thread; /* if there is one */
    struct tbed_text scratch, json;
};

/* ---- Columns ---- */

static const struct {
    const char *name;
    enum profile_column column;
} known_columns[] = {
    {"ts", PROFILE_TS},           {"dur", PROFILE_DUR},           {"end_ts", PROFILE_END_TS},
    {"is_open", PROFILE_IS_OPEN}, {"label", PROFILE_LABEL},       {"name", PROFILE_NAME},
    {"args", PROFILE_ARGS},       {"category", PROFILE_CATEGORY}, {"thread", PROFILE_THREAD},
    {"process", PROFILE_PROCESS}, {"tid", PROFILE_TID},           {"pid", PROFILE_PID},
    {"type", PROFILE_TYPE},       {"value", PROFILE_VALUE},       {"key", PROFILE_NONE},
    {"function", PROFILE_NONE},   {"file", PROFILE_NONE},         {"line", PROFILE_NONE},
};

/* False: such a column needs an import. */
static bool find_column(const char *name, enum profile_column *column_ret)
{
    for (size_t i = 0; i < sizeof known_columns / sizeof known_columns[0]; i++)
        if (strcmp(known_columns[i].name, name) == 0) {
            *column_ret = known_columns[i].column;
            return true;
        }
    return false;
}

/* Which events are rows of a table; 0: its rows are not made here. */
static uint8_t types_of(const struct tbed_table *table)
{
    if (strcmp(table->name, "spans") == 0)
        return 1u << MM_INTERVAL;
    if (strcmp(table->name, "instants") == 0)
        return 1u << MM_INSTANT;
    return strcmp(table->name, "events") == 0 ? 1u << MM_INTERVAL | 1u << MM_INSTANT | 1u << MM_INTEGER : 0;
}

static bool constrains(const struct tbed_scan *scan, uint32_t column)
{
    for (size_t i = 0; i < scan->options.constraint_count; i++)
        if (scan->options.constraints[i].column == column)
            return true;
    return false;
}

/* A number has no time of its own, but that of the event before it. */
static bool needs_times_of_numbers(const struct tbed_scan *scan, uint32_t ts)
{
    const struct profile *profile = scan->tables->foreign;
    return (types_of(&scan->source->about) >> MM_INTEGER & 1) != 0 &&
           mm_event_shape(profile->file) != MM_SHAPE_24_NO_INTEGERS &&
           ((scan->options.columns >> ts & 1) != 0 || constrains(scan, ts));
}

/* In formats without ids of strings, an import numbers them, and damaged names are called by that number. */
static bool needs_imported_ids(const struct tbed_scan *scan, enum profile_column column)
{
    const struct profile *profile = scan->tables->foreign;
    return profile->info.version < 4 &&
           (column == PROFILE_NAME || column == PROFILE_ARGS || column == PROFILE_CATEGORY);
}

bool tbed_profile_reads(const struct tbed_scan *scan)
{
    const struct tbed_table *table = &scan->source->about;
    enum profile_column column;
    if (!scan->options.any_order || scan->options.filter != NULL || types_of(table) == 0)
        return false;
    for (uint32_t i = 0; i < table->column_count; i++) {
        bool is_known = find_column(table->columns[i].name, &column);
        if (!is_known && ((scan->options.columns >> i & 1) != 0 || constrains(scan, i)))
            return false;
        if (is_known && column == PROFILE_TS && needs_times_of_numbers(scan, i))
            return false;
        if (is_known && needs_imported_ids(scan, column) &&
            ((scan->options.columns >> i & 1) != 0 || constrains(scan, i)))
            return false;
    }
    return true;
}

/* ---- Rows ---- */

static int64_t ns_of(uint64_t tick)
{
    return tick > INT64_MAX ? INT64_MAX : (int64_t)tick;
}

static uint64_t resolution_of(const struct profile *profile)
{
    return !profile->metadata.is_count && profile->metadata.resolution_ns > 1
               ? profile->metadata.resolution_ns
               : 1;
}

static uint32_t thread_code(struct worker *worker, uint64_t thread)
{
    if (!worker->has_thread || worker->thread != thread) {
        worker->thread_code = tbed_profile_thread_code(worker->scan, thread);
        worker->thread = thread;
        worker->has_thread = true;
    }
    return worker->thread_code;
}

static uint32_t name_code(struct worker *worker, uint64_t id)
{
    struct row_codes *codes = &worker->scan->names.codes[ROW_NAME];
    uint32_t code = row_code_known(codes, id);
    if (code != 0)
        return code;
    code = tbed_profile_name_code(worker->scan, id, &worker->scratch);
    if (code != ROW_CODE_FAILED)
        tbed_row_code_keep(codes, id, code);
    return code;
}

/* A kind always has a name. */
static uint32_t kind_code(struct worker *worker, uint64_t kind)
{
    static const char none[] = "<no id>";
    if (kind == worker->scan->profile->info.invalid_id)
        return tbed_row_text_code(&worker->scan->scan->names, none, sizeof none - 1);
    return name_code(worker, kind);
}

/* An event without an id has none. */
static uint32_t event_name_code(struct worker *worker, uint64_t id)
{
    return id != worker->scan->profile->info.invalid_id ? name_code(worker, id) : ROW_CODE_NULL;
}

static bool is_allowed(struct worker *worker, const struct mm_event *event)
{
    struct profile_scan *scan = worker->scan;
    uint64_t begin = event->begin < event->end ? event->begin : event->end;
    if (scan->has_times && (begin < scan->begin || begin > scan->end))
        return false;
    if (!row_range_is_all(&scan->tid) && !row_range_has(&scan->tid, (uint32_t)event->thread))
        return false;
    return (scan->label == 0 || row_name_code(&scan->names, ROW_LABEL, event->id) == scan->label) &&
           (scan->name == 0 || event_name_code(worker, event->id) == scan->name) &&
           (scan->category == 0 || kind_code(worker, event->kind) == scan->category) &&
           (scan->thread == 0 || thread_code(worker, event->thread) == scan->thread);
}

static void put_times(struct profile_scan *scan, struct table_rows *rows, const struct mm_event *event)
{
    const unsigned *columns = scan->columns;
    uint64_t begin = event->begin < event->end ? event->begin : event->end;
    if (event->type == MM_INTERVAL) {
        uint64_t dur = tbed_ticks_between(resolution_of(scan->profile), begin, event->end);
        table_put_i64(rows, columns[PROFILE_DUR], ns_of(dur));
    } else {
        tbed_table_put_null(rows, columns[PROFILE_DUR]);
    }
    /* As an event, a span is at its end. */
    bool is_span = table_rows_wants(rows, columns[PROFILE_TS]) && scan->has_begins;
    table_put_i64(rows, columns[PROFILE_TS], ns_of(is_span ? begin : event->end));
    table_put_i64(rows, columns[PROFILE_END_TS], ns_of(event->end));
}

static void put_texts(struct worker *worker, struct table_rows *rows, const struct mm_event *event)
{
    struct profile_scan *scan = worker->scan;
    const unsigned *columns = scan->columns;
    if (table_rows_wants(rows, columns[PROFILE_NAME]))
        row_put_code(rows, columns[PROFILE_NAME], event_name_code(worker, event->id));
    if (table_rows_wants(rows, columns[PROFILE_CATEGORY]))
        row_put_code(rows, columns[PROFILE_CATEGORY], kind_code(worker, event->kind));
    if (table_rows_wants(rows, columns[PROFILE_THREAD]))
        row_put_code(rows, columns[PROFILE_THREAD], thread_code(worker, event->thread));
    if (table_rows_wants(rows, columns[PROFILE_ARGS])) {
        rows->is_out_of_memory |= !tbed_profile_args(scan, event->id, &worker->scratch, &worker->json);
        tbed_table_put_text(rows, columns[PROFILE_ARGS], worker->json.nbytes > 0 ? worker->json.bytes : NULL,
                            worker->json.nbytes);
    }
    row_put_code(rows, columns[PROFILE_PROCESS], scan->process_code);
    row_put_code(rows, columns[PROFILE_TYPE], scan->type_codes[event->type]);
}

static void put_rest(struct worker *worker, struct table_rows *rows, const struct mm_event *event)
{
    const struct profile_scan *scan = worker->scan;
    const unsigned *columns = scan->columns;
    put_texts(worker, rows, event);
    table_put_i64(rows, columns[PROFILE_TID], (uint32_t)event->thread);
    table_put_i64(rows, columns[PROFILE_PID], scan->profile->metadata.pid);
    table_put_i64(rows, columns[PROFILE_IS_OPEN], 0);
    if (event->type == MM_INTEGER)
        table_put_f64(rows, columns[PROFILE_VALUE], (double)event->begin);
    else
        tbed_table_put_null(rows, columns[PROFILE_VALUE]);
    for (unsigned i = 0; scan->none >> i != 0; i++)
        if ((scan->none >> i & 1) != 0)
            tbed_table_put_null(rows, i);
}

static inline void put(struct worker *worker, struct table_rows *rows, const struct mm_event *event)
{
    struct profile_scan *scan = worker->scan;
    if (scan->has_tests && !is_allowed(worker, event))
        return;
    if (table_rows_wants(rows, scan->columns[PROFILE_LABEL]))
        row_put_code(rows, scan->columns[PROFILE_LABEL], row_name_code(&scan->names, ROW_LABEL, event->id));
    put_times(scan, rows, event);
    if (scan->has_rest)
        put_rest(worker, rows, event);
    table_rows_end(rows);
}

static inline __attribute__((always_inline)) void take_events(struct worker *worker, struct table_rows *rows,
                                                              const enum mm_shape shape, const size_t nbytes)
{
    struct profile_scan *scan = worker->scan;
    const struct mm_chunk *chunk = &worker->chunk;
    const struct row_codes *labels =
        table_rows_wants(rows, scan->columns[PROFILE_LABEL]) ? &scan->names.codes[ROW_LABEL] : NULL;
    const unsigned types = scan->types;
    struct mm_event event, later;
    uint32_t at = worker->at;
    for (; at < chunk->event_count && !table_rows_is_full(rows); at++) {
        const uint8_t *bytes = chunk->bytes + at * nbytes;
        __builtin_prefetch(bytes + PAGE_AHEAD); /* the processor does not look beyond a page */
        if (types == 1u << MM_INTERVAL && !mm_event_may_be_interval(bytes, shape))
            continue;
        mm_event_load(bytes, shape, &event);
        if ((types >> event.type & 1) == 0)
            continue;
        if (labels != NULL && at + PREFETCH_AHEAD < chunk->event_count) {
            mm_event_load(bytes + PREFETCH_AHEAD * nbytes, shape, &later);
            row_code_prefetch(labels, later.id);
        }
        put(worker, rows, &event);
    }
    worker->at = at;
}

static void take(struct worker *worker, struct table_rows *rows)
{
    switch (mm_event_shape(worker->scan->profile->file)) {
    case MM_SHAPE_24_NO_INTEGERS:
        take_events(worker, rows, MM_SHAPE_24_NO_INTEGERS, 24);
        break;
    case MM_SHAPE_24:
        take_events(worker, rows, MM_SHAPE_24, 24);
        break;
    case MM_SHAPE_32:
        take_events(worker, rows, MM_SHAPE_32, 32);
        break;
    case MM_SHAPE_PAIRED:
        take_events(worker, rows, MM_SHAPE_PAIRED, 40);
        break;
    }
}

/* ---- Workers ---- */

static void *open_worker(void *context)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker != NULL)
        worker->scan = context;
    return worker;
}

static void close_worker(void *argument)
{
    struct worker *worker = argument;
    free(worker->scratch.bytes);
    free(worker->json.bytes);
    free(worker);
}

static enum tbed_status fill(void *argument, struct table_rows *rows)
{
    struct worker *worker = argument;
    struct profile_scan *scan = worker->scan;
    unsigned taken = 0;
    while (!table_rows_is_full(rows) && !rows->is_out_of_memory) {
        if (worker->at < worker->chunk.event_count) {
            take(worker, rows);
            continue;
        }
        if (tbed_is_cancelled(scan->scan->options.is_cancelled))
            return TBED_ERR_CANCELLED;
        if (rows->count > 0 && taken++ == CREW_UNITS_MAX)
            break;
        size_t at = __atomic_fetch_add(&scan->next_chunk, 1, __ATOMIC_RELAXED);
        if (at >= scan->chunk_count || tbed_scan_is_stopped(scan->scan))
            return TBED_END;
        worker->chunk = mm_chunk_get(scan->profile->file, at);
        worker->at = 0;
    }
    return TBED_OK;
}

/* ---- Opening ---- */

static bool label_same(const struct row_names *names, uint64_t id, uint64_t *same_ret)
{
    return tbed_profile_label_same(names->context, id, same_ret);
}

static void map_columns(struct profile_scan *own)
{
    const struct tbed_table *table = &own->scan->source->about;
    enum profile_column column;
    for (unsigned i = 0; i < PROFILE_COLUMNS; i++)
        own->columns[i] = PROFILE_ABSENT;
    for (unsigned i = 0; i < table->column_count; i++) {
        if (!find_column(table->columns[i].name, &column))
            continue;
        own->columns[column] = i;
        if (column == PROFILE_NONE)
            own->none |= UINT64_C(1) << i;
    }
    own->none &= own->scan->options.columns;
}

static uint64_t mask_of(const struct profile_scan *own, enum profile_column column)
{
    return own->columns[column] != PROFILE_ABSENT ? UINT64_C(1) << own->columns[column] : 0;
}

static bool open_codes(struct profile_scan *own)
{
    static const char *const types[] = {"span", "instant", "counter"};
    struct tbed_scan *scan = own->scan;
    const struct import_metadata *metadata = &own->profile->metadata;
    char nameless[32];
    snprintf(nameless, sizeof nameless, "process %u", metadata->pid);
    const char *process = metadata->process_name[0] != '\0' ? metadata->process_name
                          : metadata->pid != 0              ? nameless
                                                            : "<unnamed process>";
    own->process_code = tbed_row_text_code(&scan->names, process, strlen(process));
    bool fine = own->process_code != ROW_CODE_FAILED;
    for (unsigned i = 0; i < 3 && fine; i++) {
        own->type_codes[i] = tbed_row_text_code(&scan->names, types[i], strlen(types[i]));
        fine = own->type_codes[i] != ROW_CODE_FAILED;
        if (own->columns[PROFILE_TYPE] != PROFILE_ABSENT &&
            !tbed_scan_allows_text(scan, own->columns[PROFILE_TYPE], types[i], strlen(types[i])))
            own->types &= (uint8_t) ~(1u << i);
    }
    own->has_no_rows =
        !tbed_scan_allows_text(scan, own->columns[PROFILE_PROCESS], process, strlen(process)) ||
        !tbed_scan_allows_number(scan, own->columns[PROFILE_PID], metadata->pid);
    return fine;
}

/* The range of times is compared with begins; of instants they are the ends. */
static bool open_tests(struct profile_scan *own)
{
    struct tbed_scan *scan = own->scan;
    own->ts = row_range_of(scan, own->columns[PROFILE_TS]);
    own->tid = row_range_of(scan, own->columns[PROFILE_TID]);
    own->has_times = !row_range_is_all(&own->ts);
    own->begin = own->ts.least > 0 ? (uint64_t)own->ts.least : 0;
    own->end = own->ts.greatest == INT64_MAX ? UINT64_MAX : (uint64_t)own->ts.greatest;
    own->has_no_rows |= own->ts.greatest < 0;
    bool fine = tbed_row_wanted_code(scan, own->columns[PROFILE_LABEL], &own->label) &&
                tbed_row_wanted_code(scan, own->columns[PROFILE_NAME], &own->name) &&
                tbed_row_wanted_code(scan, own->columns[PROFILE_CATEGORY], &own->category) &&
                tbed_row_wanted_code(scan, own->columns[PROFILE_THREAD], &own->thread);
    own->has_tests = own->has_times || !row_range_is_all(&own->tid) || own->label != 0 || own->name != 0 ||
                     own->category != 0 || own->thread != 0;
    return fine;
}

static bool open_names(struct profile_scan *own)
{
    unsigned kinds = 0;
    uint64_t columns = own->scan->options.columns;
    if ((columns & mask_of(own, PROFILE_LABEL)) != 0 || own->label != 0)
        kinds |= 1u << ROW_LABEL;
    if ((columns & (mask_of(own, PROFILE_NAME) | mask_of(own, PROFILE_CATEGORY))) != 0 || own->name != 0 ||
        own->category != 0)
        kinds |= 1u << ROW_NAME;
    return tbed_row_names_open_foreign(&own->names, &own->scan->names, &own->profile->strings, label_same,
                                       own->profile->labels, kinds);
}

enum tbed_status tbed_profile_scan_open(struct tbed_scan *scan)
{
    struct profile_scan *own = calloc(1, sizeof *own);
    if (own == NULL)
        return TBED_ERR_MEMORY;
    scan->state = own;
    own->scan = scan;
    own->profile = scan->tables->foreign;
    own->types = types_of(&scan->source->about);
    own->has_begins = own->types == 1u << MM_INTERVAL;
    map_columns(own);
    if (!open_codes(own) || !open_tests(own) || !open_names(own))
        return TBED_ERR_MEMORY;
    own->has_rest =
        (scan->options.columns & ~(mask_of(own, PROFILE_LABEL) | mask_of(own, PROFILE_TS) |
                                   mask_of(own, PROFILE_DUR) | mask_of(own, PROFILE_END_TS))) != 0;
    own->chunk_count = own->has_no_rows ? 0 : mm_chunk_count(own->profile->file);
    struct crew_job job = {.context = own, .open = open_worker, .fill = fill, .close = close_worker};
    own->crew = tbed_crew_open(scan, &job, tbed_worker_count(scan->options.thread_count, own->chunk_count));
    return own->crew != NULL ? TBED_OK : TBED_ERR_MEMORY;
}

enum tbed_status tbed_profile_scan_next(struct tbed_scan *scan, struct tbed_batch *batch_ret)
{
    const struct profile_scan *own = scan->state;
    return tbed_crew_next(own->crew, batch_ret);
}

void tbed_profile_scan_close(struct tbed_scan *scan)
{
    struct profile_scan *own = scan->state;
    if (own == NULL)
        return;
    tbed_crew_close(own->crew);
    tbed_row_names_close(&own->names);
    free(own);
}
