/*
 * The spans of a trace for a page, as numbers in columns, compressed; the page's inside_data.js reads them.
 *
 * All is one stream of integers of 7 bits a byte, the lowest first, the last byte below 128:
 *
 *     the ids of names, by how often they occur: their number, then each
 *     rows, which are the spans of one depth of one stream: their number, then stream, depth and number of parts of each
 *     seven columns, each after its length in bytes, with a number for each part, row by row:
 *         begin, after the end of the part before in its row (the first: after the begin of the window), as zigzag
 *         duration
 *         the place of its id in the list, times 8; plus 1: joined spans; plus 2: it did not end; plus 4: it has a busy time
 *         only for joined ones: their number; the longest; how many did not end
 *         only for those with 4: the busy time, where it is not the duration
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/view/html/html.h"

#include <stdlib.h>
#include <tracebed/calls.h>
#include <tracebed/window.h>

#define COLUMN_COUNT    7
#define PART_NBYTES_MIN 2       /* none takes less, compressed */
#define PART_NBYTES     4       /* most take about as much */
#define FEW_SPANS       2000000 /* so many are tried without an estimate */
#define SAMPLES         8
#define SAMPLE_SHARE    512
#define ATTEMPTS        6

enum { BEGINS, DURATIONS, KINDS, COUNTS, LONGESTS, OPENS, BUSIES };

/* ---- Numbers ---- */

static void put_number(struct tbed_text *to, uint64_t value)
{
    char bytes[10];
    size_t nbytes = 0;
    for (; value >= 128; value >>= 7)
        bytes[nbytes++] = (char)(value | 128);
    bytes[nbytes++] = (char)value;
    tbed_text_put(to, bytes, nbytes);
}

static void put_difference(struct tbed_text *to, uint64_t value, uint64_t before)
{
    put_number(to, value >= before ? (value - before) << 1 : ((before - value) << 1) - 1);
}

/* ---- Ids, by how often they occur ---- */

struct rank {
    uint32_t id, place;
    uint64_t count;
};

struct ranks {
    struct rank *items; /* by id */
    size_t count;
};

static int compare_ids(const void *left, const void *right)
{
    const struct rank *a = left, *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int compare_counts(const void *left, const void *right)
{
    const struct rank *a = left, *b = right;
    return a->count > b->count ? -1 : a->count < b->count ? 1 : compare_ids(left, right);
}

static size_t join_equal(struct rank *ranks, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept > 0 && ranks[kept - 1].id == ranks[i].id)
            ranks[kept - 1].count += ranks[i].count;
        else
            ranks[kept++] = ranks[i];
    return kept;
}

/* False: no memory. */
static bool rank_ids(const struct tbed_window *window, size_t part_count, struct ranks *ranks)
{
    ranks->items = calloc(part_count + 1, sizeof *ranks->items);
    if (ranks->items == NULL)
        return false;
    for (size_t i = 0; i < part_count; i++)
        ranks->items[i] = (struct rank){.id = tbed_window_part(window, i)->id, .count = 1};
    qsort(ranks->items, part_count, sizeof *ranks->items, compare_ids);
    ranks->count = join_equal(ranks->items, part_count);
    return true;
}

/* Writes the list, and sets the places. False: no memory. */
static bool put_ids(struct ranks *ranks, struct html_spans *spans, struct tbed_text *to)
{
    spans->ids = calloc(ranks->count + 1, sizeof *spans->ids);
    if (spans->ids == NULL)
        return false;

    qsort(ranks->items, ranks->count, sizeof *ranks->items, compare_counts);
    put_number(to, ranks->count);
    for (size_t i = 0; i < ranks->count; i++) {
        ranks->items[i].place = (uint32_t)i;
        put_number(to, ranks->items[i].id);
        spans->ids[spans->id_count++] = ranks->items[i].id;
    }
    qsort(ranks->items, ranks->count, sizeof *ranks->items, compare_ids);
    return true;
}

static uint64_t place_of(const struct ranks *ranks, uint32_t id)
{
    size_t low = 0, high = ranks->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (ranks->items[middle].id <= id)
            low = middle;
        else
            high = middle;
    }
    return ranks->items[low].place;
}

/* ---- Parts ---- */

static size_t count_parts(const struct tbed_window *window)
{
    size_t count = 0;
    while (tbed_window_part(window, count) != NULL)
        count++;
    return count;
}

static bool is_same_row(const struct tbed_window_part *a, const struct tbed_window_part *b)
{
    return a != NULL && b != NULL && a->stream == b->stream && a->depth == b->depth;
}

static void put_rows(const struct tbed_window *window, struct tbed_text *to)
{
    struct tbed_text rows = {0};
    const struct tbed_window_part *part, *first = tbed_window_part(window, 0);
    size_t row_count = 0, begin = 0;
    for (size_t i = 0; first != NULL; i++) {
        part = tbed_window_part(window, i);
        if (is_same_row(part, first))
            continue;
        put_number(&rows, first->stream);
        put_number(&rows, first->depth);
        put_number(&rows, i - begin);
        row_count++;
        begin = i;
        first = part;
    }
    put_number(to, row_count);
    tbed_text_put(to, rows.bytes, rows.nbytes);
    to->is_out_of_memory |= rows.is_out_of_memory;
    free(rows.bytes);
}

static void put_part(struct tbed_text *columns, const struct tbed_window_part *part, uint64_t before,
                     const struct ranks *ranks)
{
    bool is_joined = part->count > 1, has_busy = part->ticks != part->end_tick - part->begin_tick;
    put_difference(&columns[BEGINS], part->begin_tick, before);
    put_number(&columns[DURATIONS], part->end_tick - part->begin_tick);
    put_number(&columns[KINDS],
               place_of(ranks, part->id) * 8 + is_joined + (part->open_count > 0) * 2u + has_busy * 4u);
    if (is_joined) {
        put_number(&columns[COUNTS], part->count);
        put_number(&columns[LONGESTS], part->longest_ticks);
        put_number(&columns[OPENS], part->open_count);
    }
    if (has_busy)
        put_number(&columns[BUSIES], part->ticks);
}

static void put_columns(const struct tbed_window *window, const struct ranks *ranks, struct tbed_text *to)
{
    struct tbed_text columns[COLUMN_COUNT] = {0};
    struct tbed_window_info info;
    const struct tbed_window_part *part, *last = NULL;
    tbed_window_info(window, &info);
    for (size_t i = 0; (part = tbed_window_part(window, i)) != NULL; i++) {
        put_part(columns, part, is_same_row(part, last) ? last->end_tick : info.begin_tick, ranks);
        last = part;
    }
    for (unsigned i = 0; i < COLUMN_COUNT; i++) {
        put_number(to, columns[i].nbytes);
        tbed_text_put(to, columns[i].bytes, columns[i].nbytes);
        to->is_out_of_memory |= columns[i].is_out_of_memory;
        free(columns[i].bytes);
    }
}

static enum tbed_status pack(const struct tbed_window *window, struct html_spans *spans)
{
    struct ranks ranks;
    struct tbed_text plain = {0};
    struct tbed_window_info info;
    size_t part_count = count_parts(window);
    tbed_window_info(window, &info);
    *spans = (struct html_spans){.column_ticks = info.column_ticks,
                                 .span_count = info.span_count,
                                 .unknown_count = info.unknown_count};
    for (size_t i = 0; i < part_count; i++)
        spans->single_count += tbed_window_part(window, i)->count == 1;
    bool is_fine = rank_ids(window, part_count, &ranks) && put_ids(&ranks, spans, &plain);
    if (is_fine) {
        put_rows(window, &plain);
        put_columns(window, &ranks, &plain);
        html_deflate(&spans->packed, plain.bytes, plain.nbytes);
    }
    is_fine = is_fine && !plain.is_out_of_memory && !spans->packed.is_out_of_memory;
    free(ranks.items);
    free(plain.bytes);
    return is_fine ? TBED_OK : TBED_ERR_MEMORY;
}

void html_spans_free(struct html_spans *spans)
{
    free(spans->packed.bytes);
    free(spans->ids);
    *spans = (struct html_spans){0};
}

/* ---- How much detail ---- */

static enum tbed_status make_window(const struct html_trace *trace, const struct tbed_filter *filter,
                                    uint64_t column_ticks, uint64_t part_max, struct tbed_window **window_ret)
{
    struct tbed_window_options options = {.size = sizeof options,
                                          .thread_count = trace->answer.view->jobs,
                                          .filter = filter,
                                          .column_ticks = column_ticks,
                                          .part_max = part_max};
    return tbed_window_make(trace->answer.trace->reader, &options, window_ret);
}

/* How many spans there are, and then how many take at least 2^i ticks. */
static enum tbed_status count_spans(const struct html_trace *trace, uint64_t counts[65])
{
    struct tbed_calls_options options = {
        .size = sizeof options, .thread_count = trace->answer.view->jobs, .filter = trace->part.filter};
    uint64_t bounds[65] = {0};
    for (unsigned i = 1; i < 65; i++)
        bounds[i] = UINT64_C(1) << (i - 1);
    enum tbed_status status =
        tbed_calls_count(trace->answer.trace->reader, &options, bounds, 65, counts, NULL);
    for (unsigned i = 64; status == TBED_OK && i > 0; i--)
        counts[i - 1] += counts[i];
    return status;
}

enum tbed_status html_spans_count(const struct html_trace *trace, uint64_t *count_ret)
{
    uint64_t counts[65] = {0};
    enum tbed_status status = count_spans(trace, counts);
    *count_ret = counts[0];
    return status;
}

/* About how many parts a window of such columns has, from some short windows of it. */
static enum tbed_status estimate(struct html_trace *trace, uint64_t column_ticks, uint64_t *count_ret)
{
    uint64_t begin = answer_since(&trace->answer, trace->part.begin_tick);
    uint64_t ticks = trace->part.end_tick - trace->part.begin_tick, share = ticks / SAMPLE_SHARE + 1;
    enum tbed_status status = TBED_OK;
    *count_ret = 0;
    for (uint64_t i = 0; i < SAMPLES && status == TBED_OK; i++) {
        struct answer_part part;
        struct tbed_window *window = NULL;
        uint64_t at = begin + (uint64_t)((unsigned __int128)ticks * (2 * i + 1) / (2 * SAMPLES));
        status = html_part_open(trace, at, at + share, &part);
        if (status == TBED_OK)
            status = make_window(trace, part.filter, column_ticks, 0, &window);
        if (status == TBED_OK)
            *count_ret += count_parts(window) * SAMPLE_SHARE / SAMPLES;
        tbed_window_close(window);
        answer_part_close(&part);
    }
    return status;
}

/* Columns to begin with: the narrowest that seem to fit. */
static enum tbed_status choose_column(struct html_trace *trace, uint64_t room, uint64_t *column_ret)
{
    uint64_t counts[65] = {0}, count = 0;
    enum tbed_status status = count_spans(trace, counts);
    unsigned power = 0;
    if (status != TBED_OK || counts[0] <= room / PART_NBYTES_MIN) {
        *column_ret = 1;
        return status;
    }
    while (power < 62 && counts[power + 1] > room / PART_NBYTES)
        power++;
    while (counts[0] > FEW_SPANS && power < 62 &&
           (UINT64_C(1) << power) < trace->part.end_tick - trace->part.begin_tick) {
        status = estimate(trace, UINT64_C(1) << power, &count);
        if (status != TBED_OK || count <= room / PART_NBYTES)
            break;
        power++;
    }
    *column_ret = UINT64_C(1) << power;
    return status;
}

struct fitting {
    uint64_t too_narrow, fits; /* columns; 0: not known */
};

/* The columns to try next; 0: what fits is good enough. */
static uint64_t next_column(struct fitting *fitting, uint64_t column, uint64_t nbytes, uint64_t room)
{
    double share = (double)nbytes / (double)room;
    if (nbytes <= room)
        fitting->fits = column;
    else
        fitting->too_narrow = column;
    if (fitting->fits == 0)
        return column + (uint64_t)((double)column * (share < 1.1 ? 0.15 : share > 3 ? 2 : share - 0.95)) + 1;
    if (fitting->fits == 1 || (nbytes <= room && share > 0.9) ||
        fitting->fits - fitting->too_narrow <= fitting->fits / 16)
        return 0;
    uint64_t middle = fitting->too_narrow + (fitting->fits - fitting->too_narrow) / 2;
    uint64_t guess = (uint64_t)((double)fitting->fits * (share < 0.9 ? share + 0.05 : 0.9));
    return guess > fitting->too_narrow && guess < fitting->fits ? guess : middle > 0 ? middle : 1;
}

static enum tbed_status make_of_column(struct html_trace *trace, uint64_t column, uint64_t room,
                                       struct html_spans *spans)
{
    struct tbed_window *window = NULL;
    enum tbed_status status =
        make_window(trace, trace->part.filter, column, room / PART_NBYTES_MIN + 1, &window);
    if (status == TBED_OK)
        status = pack(window, spans);
    tbed_window_close(window);
    return status;
}

enum tbed_status html_spans_make(struct html_trace *trace, uint64_t room, struct html_spans *spans_ret)
{
    struct fitting fitting = {0};
    struct html_spans spans = {0};
    uint64_t column = 1, ticks = trace->part.end_tick - trace->part.begin_tick;
    enum tbed_status status = choose_column(trace, room, &column);
    *spans_ret = (struct html_spans){0};
    for (unsigned i = 0; status == TBED_OK && column != 0 && (i < ATTEMPTS || fitting.fits == 0); i++) {
        status = make_of_column(trace, column, room, &spans);
        uint64_t made = spans.column_ticks, nbytes = spans.packed.nbytes;
        bool is_last = column > ticks;
        if (status == TBED_OK && (nbytes <= room || is_last)) {
            html_spans_free(spans_ret);
            *spans_ret = spans;
        } else {
            html_spans_free(&spans);
        }
        column = is_last || status != TBED_OK ? 0 : next_column(&fitting, made, nbytes, room);
    }
    return status;
}
