/*
 * The tables of allocations added up: by place in code, by call stack, by size and by process.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/results/results.h"

struct state {
    struct tbed_allocations *allocations;
    struct tbed_suppressions *suppressions;
    size_t at;
};

/* ---- Sums ---- */

enum { COUNT, BYTES, FREED, TEMPORARY, REPLACED, FAILED, LIVE, LIVE_BYTES, PEAK_BYTES, SUMS_COUNT };

#define SUMS_COLUMNS(first)                                                                                  \
    [(first) +                                                                                               \
        COUNT] = {"count", TBED_COLUMN_I64, NULL, "allocations that succeeded", false},                      \
        [(first) + BYTES] = {"bytes", TBED_COLUMN_I64, "bytes", "their sizes added up", false},              \
        [(first) + FREED] = {"freed", TBED_COLUMN_I64, NULL, "among them, blocks that were freed", false},   \
        [(first) + TEMPORARY] = {"temporary", TBED_COLUMN_I64, NULL,                                         \
                                 "among them, blocks freed before the thread's next allocation", false},     \
        [(first) + REPLACED] = {"replaced", TBED_COLUMN_I64, NULL,                                           \
                                "blocks whose address was allocated again without a recorded free", false},  \
        [(first) + FAILED] = {"failed", TBED_COLUMN_I64, NULL, "allocations that failed", false},            \
        [(first) + LIVE] = {"live", TBED_COLUMN_I64, NULL, "blocks that were never freed", false},           \
        [(first) + LIVE_BYTES] = {"live_bytes", TBED_COLUMN_I64, "bytes", "their sizes added up", false},    \
        [(first) + PEAK_BYTES] = {"peak_bytes", TBED_COLUMN_I64, "bytes",                                    \
                                  "the bytes live when the process had the most", false}

static void put_sums(struct table_rows *rows, unsigned first, const struct tbed_allocation_sums *sums)
{
    tbed_facts_put_count(rows, first + COUNT, sums->count);
    tbed_facts_put_count(rows, first + BYTES, sums->nbytes);
    tbed_facts_put_count(rows, first + FREED, sums->freed_count);
    tbed_facts_put_count(rows, first + TEMPORARY, sums->temporary_count);
    tbed_facts_put_count(rows, first + REPLACED, sums->replaced_count);
    tbed_facts_put_count(rows, first + FAILED, sums->failed_count);
    tbed_facts_put_count(rows, first + LIVE, sums->live_count);
    tbed_facts_put_count(rows, first + LIVE_BYTES, sums->live_nbytes);
    tbed_facts_put_count(rows, first + PEAK_BYTES, sums->peak_nbytes);
}

/* ---- Lifetimes ---- */

enum { LIFETIME, LIFETIME_P50, LIFETIME_P99, LIFETIME_MAX, LIFETIME_COUNT };

#define LIFETIME_COLUMNS(first)                                                                              \
    [(first) +                                                                                               \
        LIFETIME] = {"lifetime", TBED_COLUMN_I64, "ns", "the lifetimes of freed blocks added up", false},    \
        [(first) +                                                                                           \
            LIFETIME_P50] = {"lifetime_p50", TBED_COLUMN_I64, "ns", "their median, accurate to 1 %", false}, \
        [(first) + LIFETIME_P99] = {"lifetime_p99", TBED_COLUMN_I64, "ns",                                   \
                                    "their 99th percentile, accurate to 1 %", false},                        \
        [(first) + LIFETIME_MAX] = {"lifetime_max", TBED_COLUMN_I64, "ns", "the longest of them", false}

#define LIFETIMES(first) (UINT64_C(15) << (first))

static void put_lifetimes(struct table_rows *rows, unsigned first, const struct tbed_reader *reader,
                          const struct tbed_allocation_site *site)
{
    bool has_any = site->sums.freed_count > 0;
    if ((rows->columns & LIFETIMES(first)) == 0)
        return;
    tbed_facts_put_span(rows, first + LIFETIME, reader, site->lifetime_ticks);
    tbed_results_put_span_if(rows, first + LIFETIME_P50, reader, site->lifetime_p50_ticks, has_any);
    tbed_results_put_span_if(rows, first + LIFETIME_P99, reader, site->lifetime_p99_ticks, has_any);
    tbed_results_put_span_if(rows, first + LIFETIME_MAX, reader, site->lifetime_max_ticks, has_any);
}

/* ---- Opening ---- */

/* What a table of sites asks for. */
struct request {
    bool by_stack, by_size, has_leaks, has_lifetimes;
};

static enum tbed_status open_with(struct tbed_scan *scan, struct request request)
{
    struct result_names names;
    struct tbed_analysis_options options = tbed_results_options(scan, &names);
    struct state *state = scan->state = calloc(1, sizeof *state);
    if (state == NULL || (request.has_leaks && tbed_suppressions_open(true, &state->suppressions) != TBED_OK))
        return TBED_ERR_MEMORY;
    options.suppressions = state->suppressions;
    options.by_stack = request.by_stack;
    options.by_size = request.by_size;
    options.keep_lifetimes = request.has_lifetimes;
    return results_status(tbed_allocations_make(scan->reader, &options, &state->allocations), &names);
}

static void close_allocations(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    if (state != NULL) {
        tbed_allocations_close(state->allocations);
        tbed_suppressions_close(state->suppressions);
    }
    free(state);
}

/* ---- Places in code ---- */

enum {
    NAME,
    PLACE,
    SUMS = PLACE + FACTS_PLACE_COLUMNS,
    LEAKS = SUMS + SUMS_COUNT,
    LEAK_BYTES,
    LIFETIMES_OF,
    COLUMN_COUNT = LIFETIMES_OF + LIFETIME_COUNT
};

#define LEAK_COLUMNS                                                                                         \
    [LEAKS] = {"leaks", TBED_COLUMN_I64, NULL,                                                               \
               "live blocks, without those that the suppressions that are built in match", false},           \
    [LEAK_BYTES] = {"leak_bytes", TBED_COLUMN_I64, "bytes", "their sizes added up", false}

static const struct tbed_column columns[COLUMN_COUNT] = {
    [NAME] = {"name", TBED_COLUMN_NAME, NULL, "the place in code that allocated", false},
    FACTS_PLACE(PLACE, "this place"),
    SUMS_COLUMNS(SUMS),
    LEAK_COLUMNS,
    LIFETIME_COLUMNS(LIFETIMES_OF),
};

static const struct tbed_column stack_columns[COLUMN_COUNT] = {
    [NAME] = {"stack_id", TBED_COLUMN_I64, NULL, "the call stack that allocated, or a place in code", false},
    FACTS_PLACE(PLACE, "its innermost frame"),
    SUMS_COLUMNS(SUMS),
    LEAK_COLUMNS,
    LIFETIME_COLUMNS(LIFETIMES_OF),
};

static enum tbed_status open_places(struct tbed_scan *scan, bool by_stack)
{
    return open_with(scan,
                     (struct request){.by_stack = by_stack,
                                      .has_leaks = (scan->rows.columns >> LEAKS & 3) != 0,
                                      .has_lifetimes = (scan->rows.columns & LIFETIMES(LIFETIMES_OF)) != 0});
}

static enum tbed_status open_sites(struct tbed_scan *scan)
{
    return open_places(scan, false);
}

static enum tbed_status open_stack_sites(struct tbed_scan *scan)
{
    return open_places(scan, true);
}

static enum tbed_status fill_sites(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    struct table_rows *rows = &scan->rows;
    const struct tbed_allocation_site *site;
    for (; !table_rows_is_full(rows) && (site = tbed_allocations_site(state->allocations, state->at)) != NULL;
         state->at++) {
        if (site->name != NULL)
            tbed_table_put_text(rows, NAME, site->name, site->name_nbytes);
        else
            table_put_i64(rows, NAME, site->id);
        tbed_facts_put_place(rows, PLACE, scan->reader, site->id);
        put_sums(rows, SUMS, &site->sums);
        tbed_facts_put_count(rows, LEAKS, site->leak_count);
        tbed_facts_put_count(rows, LEAK_BYTES, site->leak_nbytes);
        put_lifetimes(rows, LIFETIMES_OF, scan->reader, site);
        table_rows_end(rows);
    }
    return TBED_OK;
}

const struct table_source tbed_table_sites = {
    .about = {"sites", "allocations by the place in code, as in report, in order of the names", columns,
              COLUMN_COUNT},
    .open = open_sites,
    .fill = fill_sites,
    .close = close_allocations,
};

const struct table_source tbed_table_stack_sites = {
    .about = {"stack_sites",
              "allocations by call stack, as in report --by=stack, in order of the names of the frames",
              stack_columns, COLUMN_COUNT},
    .open = open_stack_sites,
    .fill = fill_sites,
    .close = close_allocations,
};

/* ---- Sizes ---- */

enum {
    LEAST,
    MOST,
    SIZE_SUMS,
    SIZE_LIFETIMES = SIZE_SUMS + SUMS_COUNT,
    SIZE_COLUMN_COUNT = SIZE_LIFETIMES + LIFETIME_COUNT
};

static const struct tbed_column size_columns[SIZE_COLUMN_COUNT] = {
    [LEAST] = {"least_bytes", TBED_COLUMN_I64, "bytes", "the least size of the class", false},
    [MOST] = {"most_bytes", TBED_COLUMN_I64, "bytes", "the greatest size of the class", false},
    SUMS_COLUMNS(SIZE_SUMS),
    LIFETIME_COLUMNS(SIZE_LIFETIMES),
};

static enum tbed_status open_sizes(struct tbed_scan *scan)
{
    bool has_lifetimes = (scan->rows.columns & LIFETIMES(SIZE_LIFETIMES)) != 0;
    return open_with(scan, (struct request){.by_size = true, .has_lifetimes = has_lifetimes});
}

static enum tbed_status fill_sizes(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    struct table_rows *rows = &scan->rows;
    const struct tbed_allocation_site *site;
    for (; !table_rows_is_full(rows) && (site = tbed_allocations_site(state->allocations, state->at)) != NULL;
         state->at++) {
        tbed_facts_put_count(rows, LEAST, site->least_nbytes);
        tbed_facts_put_count(rows, MOST, site->most_nbytes);
        put_sums(rows, SIZE_SUMS, &site->sums);
        put_lifetimes(rows, SIZE_LIFETIMES, scan->reader, site);
        table_rows_end(rows);
    }
    return TBED_OK;
}

const struct table_source tbed_table_size_classes = {
    .about = {"size_classes", "allocations by size, as in report --by=size, in order of the sizes",
              size_columns, SIZE_COLUMN_COUNT},
    .open = open_sizes,
    .fill = fill_sizes,
    .close = close_allocations,
};

/* ---- Processes ---- */

enum {
    PROCESS_ID,
    PID,
    PROCESS,
    FORKED_FROM,
    PROCESS_SUMS,
    PEAK_TS = PROCESS_SUMS + SUMS_COUNT,
    INHERITED_FREES,
    UNKNOWN_FREES,
    NULL_FREES,
    EVENTS,
    PROCESS_COLUMN_COUNT
};

static const struct tbed_column process_columns[PROCESS_COLUMN_COUNT] = {
    [PROCESS_ID] = {"process_id", TBED_COLUMN_I64, NULL, "the id of the process; NULL: threads without one",
                    false},
    [PID] = {"pid", TBED_COLUMN_I64, NULL, "the system's number; NULL: unknown", false},
    [PROCESS] = {"process", TBED_COLUMN_NAME, NULL, "its name; NULL: unknown", false},
    [FORKED_FROM] = {"forked_from", TBED_COLUMN_I64, NULL,
                     "the id of the recorded process that forked it; NULL: none", false},
    SUMS_COLUMNS(PROCESS_SUMS),
    [PEAK_TS] = {"peak_ts", TBED_COLUMN_I64, "ns", "when it had the most bytes live; NULL: never any", false},
    [INHERITED_FREES] = {"inherited_frees", TBED_COLUMN_I64, NULL,
                         "frees of blocks of the processes it was forked from", false},
    [UNKNOWN_FREES] = {"unknown_frees", TBED_COLUMN_I64, NULL,
                       "frees of addresses that it did not allocate in the trace", false},
    [NULL_FREES] = {"null_frees", TBED_COLUMN_I64, NULL, "frees of the null pointer", false},
    [EVENTS] = {"events", TBED_COLUMN_I64, NULL, "its events of allocations", false},
};

static enum tbed_status open_processes(struct tbed_scan *scan)
{
    return open_with(scan, (struct request){.by_stack = false});
}

static void put_process(struct table_rows *rows, const struct tbed_reader *reader,
                        const struct tbed_allocation_process *process)
{
    tbed_facts_put_nonzero(rows, PROCESS_ID, process->process);
    tbed_facts_put_nonzero(rows, PID, process->pid);
    tbed_table_put_id(rows, PROCESS, reader, process->process != 0 ? process->name_id : TBED_ID_INVALID);
    tbed_facts_put_nonzero(rows, FORKED_FROM, process->forked_from);
    put_sums(rows, PROCESS_SUMS, &process->sums);
    tbed_facts_put_tick(rows, PEAK_TS, reader, process->peak_tick);
    tbed_facts_put_count(rows, INHERITED_FREES, process->inherited_free_count);
    tbed_facts_put_count(rows, UNKNOWN_FREES, process->unknown_free_count);
    tbed_facts_put_count(rows, NULL_FREES, process->null_free_count);
    tbed_facts_put_count(rows, EVENTS, process->event_count);
    table_rows_end(rows);
}

static enum tbed_status fill_processes(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    const struct tbed_allocation_process *process;
    for (; !table_rows_is_full(&scan->rows) &&
           (process = tbed_allocations_process(state->allocations, state->at)) != NULL;
         state->at++)
        put_process(&scan->rows, scan->reader, process);
    return TBED_OK;
}

const struct table_source tbed_table_process_memory = {
    .about = {"process_memory", "allocations by process, as in report, in order of the processes",
              process_columns, PROCESS_COLUMN_COUNT},
    .open = open_processes,
    .fill = fill_processes,
    .close = close_allocations,
};
