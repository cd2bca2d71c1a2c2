/*
 * The table of how long the spans of a label take, as a distribution.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/calls/duration_bounds.h"
#include "reader/tables/results/results.h"

#include <tracebed/calls.h>

enum { LABEL, LOW, HIGH, COUNT, TOTAL, COLUMN_COUNT };

static const struct tbed_column columns[COLUMN_COUNT] = {
    [LABEL] = {"label", TBED_COLUMN_NAME, NULL, "the label of the spans", true},
    [LOW] = {"low", TBED_COLUMN_F64, "ns", "the spans take at least this long", false},
    [HIGH] = {"high", TBED_COLUMN_F64, "ns", "and less than this; NULL in the last row", false},
    [COUNT] = {"count", TBED_COLUMN_I64, NULL, "how many do", false},
    [TOTAL] = {"total", TBED_COLUMN_I64, "ns", "their durations added up", false},
};

struct state {
    char *label;
    size_t nbytes;
    struct duration_bounds bounds;
    uint64_t *counts, *ticks; /* of each range */
    size_t at;
};

/* ---- The filter: exactly this label ---- */

static bool is_special(char byte)
{
    return byte != '\0' && strchr(".[\\()*+?{|^$", byte) != NULL;
}

/* A regular expression that matches nothing else. NULL: no memory. */
static char *exactly(const char *label, size_t nbytes)
{
    char *pattern = malloc(2 * nbytes + 3);
    size_t at = 0;
    if (pattern == NULL)
        return NULL;
    pattern[at++] = '^';
    for (size_t i = 0; i < nbytes; i++) {
        if (is_special(label[i]))
            pattern[at++] = '\\';
        pattern[at++] = label[i];
    }
    pattern[at++] = '$';
    pattern[at] = '\0';
    return pattern;
}

/* The names have to be there as long as the filter. */
static enum tbed_status make_filter(const struct tbed_scan *scan, const struct state *state,
                                    struct result_names *result_names, struct tbed_filter **filter_ret)
{
    char *pattern = exactly(state->label, state->nbytes);
    const char *const names[] = {pattern};
    const struct tbed_filter_options options = {.size = sizeof options,
                                                .names = names,
                                                .name_count = 1,
                                                .name = tbed_results_name,
                                                .name_context = result_names,
                                                .thread_count = scan->options.thread_count};
    enum tbed_status status =
        pattern != NULL ? tbed_filter_make(scan->reader, &options, filter_ret, NULL) : TBED_ERR_MEMORY;
    free(pattern);
    return status;
}

/* ---- Counting ---- */

static enum tbed_status find_limits(const struct tbed_scan *scan, struct tbed_calls_options options,
                                    double *least, double *most)
{
    struct tbed_call call = {0};
    enum tbed_status status = tbed_calls_find(scan->reader, &options, &call, 1, NULL, NULL);
    *most = tbed_duration_value(scan->reader, call.ticks);
    options.order = TBED_CALLS_FASTEST;
    if (status == TBED_OK)
        status = tbed_calls_find(scan->reader, &options, &call, 1, NULL, NULL);
    *least = tbed_duration_value(scan->reader, call.ticks);
    return status;
}

/* Some bounds are the same in ticks: then the last of these ranges has the spans. */
static enum tbed_status count_into(const struct tbed_scan *scan, const struct tbed_calls_options *options,
                                   struct state *state, uint64_t *scratch)
{
    size_t room = state->bounds.count, used = 0;
    uint64_t *bounds = scratch, *rows = scratch + room, *counts = rows + room, *ticks = counts + room;
    for (size_t i = 0; i < room; i++) {
        uint64_t bound = tbed_duration_ticks(scan->reader, state->bounds.items[i]);
        used -= used > 0 && bounds[used - 1] == bound;
        bounds[used] = bound;
        rows[used++] = i;
    }
    enum tbed_status status = tbed_calls_count(scan->reader, options, bounds, used, counts, ticks);
    for (size_t i = 0; status == TBED_OK && i < used; i++) {
        state->counts[rows[i]] = counts[i];
        state->ticks[rows[i]] = ticks[i];
    }
    return status;
}

static enum tbed_status count(const struct tbed_scan *scan, const struct tbed_calls_options *options,
                              struct state *state)
{
    size_t room = state->bounds.count;
    uint64_t *scratch = calloc(room, 4 * sizeof *scratch);
    state->counts = calloc(room, sizeof *state->counts);
    state->ticks = calloc(room, sizeof *state->ticks);
    enum tbed_status status = TBED_ERR_MEMORY;
    if (scratch != NULL && state->counts != NULL && state->ticks != NULL)
        status = count_into(scan, options, state, scratch);
    free(scratch);
    return status;
}

static enum tbed_status measure(const struct tbed_scan *scan, struct state *state,
                                const struct tbed_filter *filter)
{
    const struct tbed_calls_options options = {.size = sizeof options,
                                               .thread_count = scan->options.thread_count,
                                               .filter = filter,
                                               .is_cancelled = scan->options.is_cancelled};
    double least, most;
    enum tbed_status status = find_limits(scan, options, &least, &most);
    if (status != TBED_OK)
        return status;
    return tbed_duration_bounds_make(&state->bounds, least, most, DURATION_ROWS_DEFAULT, false)
               ? count(scan, &options, state)
               : TBED_ERR_MEMORY;
}

/* A filter of the scan's own cannot be combined with the label's. */
static enum tbed_status open_histogram(struct tbed_scan *scan)
{
    const struct tbed_constraint *label = tbed_scan_equal(scan, LABEL);
    struct tbed_filter *filter = NULL;
    if (scan->options.filter != NULL || !label->is_text)
        return TBED_ERR_ARGUMENT;
    struct state *state = scan->state = calloc(1, sizeof *state);
    if (state == NULL || (state->label = malloc(label->nbytes + 1)) == NULL)
        return TBED_ERR_MEMORY;
    if (label->nbytes > 0)
        memcpy(state->label, label->text, label->nbytes);
    state->nbytes = label->nbytes;
    if (memchr(state->label, '\0', state->nbytes) != NULL) /* no expression matches it */
        return TBED_ERR_ARGUMENT;
    struct result_names names = {.reader = scan->reader};
    enum tbed_status status = make_filter(scan, state, &names, &filter);
    if (status == TBED_OK)
        status = measure(scan, state, filter);
    tbed_filter_close(filter);
    return results_status(status, &names);
}

static void close_histogram(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    if (state == NULL)
        return;
    tbed_duration_bounds_free(&state->bounds);
    free(state->counts);
    free(state->ticks);
    free(state->label);
    free(state);
}

/* ---- Rows ---- */

static enum tbed_status fill(struct tbed_scan *scan)
{
    struct state *state = scan->state;
    struct table_rows *rows = &scan->rows;
    for (; !table_rows_is_full(rows) && state->at < state->bounds.count; state->at++) {
        tbed_table_put_text(rows, LABEL, state->label, state->nbytes);
        table_put_f64(rows, LOW, state->bounds.items[state->at]);
        if (state->at + 1 < state->bounds.count)
            table_put_f64(rows, HIGH, state->bounds.items[state->at + 1]);
        else
            tbed_table_put_null(rows, HIGH);
        tbed_facts_put_count(rows, COUNT, state->counts[state->at]);
        tbed_facts_put_span(rows, TOTAL, scan->reader, state->ticks[state->at]);
        table_rows_end(rows);
    }
    return TBED_OK;
}

const struct table_source tbed_table_histogram = {
    .about = {"histogram",
              "how many spans of a label take how long, as in histogram, in order of the durations", columns,
              COLUMN_COUNT},
    .open = open_histogram,
    .fill = fill,
    .close = close_histogram,
};
