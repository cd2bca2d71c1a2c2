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
#include "reader/core/base/hashmap.h"
#include "reader/tools/view/html/html.h"

#include <math.h>
#include <stdlib.h>
#include <tracebed/calls.h>
#include <tracebed/window.h>

#define COLUMN_COUNT    7
#define PART_NBYTES_MIN 2 /* none takes less, compressed */
#define PART_NBYTES     4 /* most take about as much */
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
    uint64_t key; /* tbed_hashmap_key32() of the id */
    uint64_t count;
    uint32_t place;
};

typedef TBED_HASHMAP(struct rank) rank_map;

static int compare_counts(const void *left, const void *right)
{
    const struct rank *a = *(struct rank *const *)left, *b = *(struct rank *const *)right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

/* False: no memory. */
static bool count_ids(const struct tbed_window *window, rank_map *ranks)
{
    const struct tbed_window_part *part;
    struct rank *rank = NULL;
    for (size_t i = 0; (part = tbed_window_part(window, i)) != NULL; i++) {
        uint64_t key = tbed_hashmap_key32(part->id);
        if (rank == NULL || rank->key != key)
            rank = TBED_HASHMAP_ADD(ranks, key);
        if (rank == NULL)
            return false;
        rank->count++;
    }
    return true;
}

/* Writes the list, and sets the places. False: no memory. */
static bool put_ids(rank_map *ranks, struct html_spans *spans, struct tbed_text *to)
{
    size_t count = 0;
    struct rank **sorted = calloc(ranks->map.count + 1, sizeof *sorted);
    spans->ids = calloc(ranks->map.count + 1, sizeof *spans->ids);
    if (sorted == NULL || spans->ids == NULL) {
        free(sorted);
        return false;
    }
    for (struct rank *rank = TBED_HASHMAP_NEXT(ranks, NULL); rank != NULL;
         rank = TBED_HASHMAP_NEXT(ranks, rank))
        sorted[count++] = rank;
    if (count > 1)
        qsort(sorted, count, sizeof *sorted, compare_counts);
    put_number(to, count);
    for (size_t i = 0; i < count; i++) {
        sorted[i]->place = (uint32_t)i;
        spans->ids[spans->id_count] = (uint32_t)sorted[i]->key;
        put_number(to, spans->ids[spans->id_count++]);
    }
    free(sorted);
    return true;
}

static uint64_t place_of(const rank_map *ranks, uint32_t id)
{
    return ((struct rank *)TBED_HASHMAP_FIND(ranks, tbed_hashmap_key32(id)))->place;
}

/* ---- Parts ---- */

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
                     const rank_map *ranks)
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

static void put_columns(const struct tbed_window *window, const rank_map *ranks, struct tbed_text *to)
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
    rank_map ranks = {0};
    struct tbed_text plain = {0};
    struct tbed_window_info info;
    const struct tbed_window_part *part;
    tbed_window_info(window, &info);
    *spans = (struct html_spans){.column_ticks = info.column_ticks,
                                 .span_count = info.span_count,
                                 .unknown_count = info.unknown_count};
    for (; (part = tbed_window_part(window, spans->part_count)) != NULL; spans->part_count++)
        spans->single_count += part->count == 1;
    bool is_fine = count_ids(window, &ranks) && put_ids(&ranks, spans, &plain);
    if (is_fine) {
        put_rows(window, &plain);
        put_columns(window, &ranks, &plain);
        html_deflate(&spans->packed, plain.bytes, plain.nbytes);
    }
    is_fine = is_fine && !plain.is_out_of_memory && !spans->packed.is_out_of_memory;
    tbed_hashmap_free(&ranks.map);
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

static enum tbed_status make_window(const struct html_trace *trace, uint64_t column_ticks, uint64_t part_max,
                                    struct tbed_window **window_ret)
{
    struct tbed_window_options options = {.size = sizeof options,
                                          .thread_count = trace->answer.view->jobs,
                                          .filter = trace->part.filter,
                                          .column_ticks = column_ticks,
                                          .part_max = part_max};
    return tbed_window_make(trace->answer.trace->reader, &options, window_ret);
}

enum tbed_status html_spans_count(struct html_trace *trace)
{
    struct tbed_calls_options options = {
        .size = sizeof options, .thread_count = trace->answer.view->jobs, .filter = trace->part.filter};
    uint64_t bounds[HTML_DURATIONS] = {0}, *counts = trace->counts;
    for (unsigned i = 1; i < HTML_DURATIONS; i++)
        bounds[i] = UINT64_C(1) << (i - 1);
    enum tbed_status status =
        tbed_calls_count(trace->answer.trace->reader, &options, bounds, HTML_DURATIONS, counts, NULL);
    for (unsigned i = HTML_DURATIONS - 1; status == TBED_OK && i > 0; i--)
        counts[i - 1] += counts[i];
    return status;
}

/* About the narrowest columns of which at most so many spans are as long. */
static double column_for(const struct html_trace *trace, double span_max)
{
    unsigned power = 0;
    while (power < HTML_DURATIONS - 3 && (double)trace->counts[power + 1] > span_max)
        power++;
    if (power == 0)
        return 1;
    double above = (double)trace->counts[power], below = (double)trace->counts[power + 1];
    return ldexp(1 + (above - span_max) / (above - below), (int)power - 1);
}

/* The reverse. */
static double spans_from(const struct html_trace *trace, double column)
{
    int power = 0;
    double within = 2 * frexp(column, &power) - 1; /* from 0 to 1, of the way to the next power of 2 */
    double above = (double)trace->counts[power], below = (double)trace->counts[power + 1];
    return above - (above - below) * within;
}

/*
 * Columns to begin with: as narrow as they may be if no spans were joined; or, after spans were made for more room, what is
 * likely to fit. If there are more parts than fit in any case, a window makes its columns wider.
 */
static uint64_t first_column(const struct html_trace *trace, uint64_t room)
{
    if (trace->column_ticks != 0) {
        double less = (double)trace->room / (double)room;
        return (uint64_t)((double)trace->column_ticks * less * less) + 1;
    }
    return trace->counts[0] <= room / PART_NBYTES_MIN
               ? 1
               : (uint64_t)column_for(trace, (double)(room / PART_NBYTES));
}

struct fitting {
    uint64_t too_narrow, fits; /* columns; 0: not known */
    double nbytes;             /* of 'too_narrow' */
};

/*
 * Wider columns, for spans that take 'share' times the room. Spans become fewer at most as fast as those that are so long; how fast
 * their bytes do is what they have done since the columns before.
 */
static uint64_t wider_column(const struct html_trace *trace, const struct fitting *before, double column,
                             double nbytes, double share)
{
    double least = column_for(trace, spans_from(trace, column) / share), most = 4 * column;
    double guess = column * share * share;
    if (before->too_narrow != 0 && before->nbytes > nbytes)
        guess = column * pow(share, log(column / (double)before->too_narrow) / log(before->nbytes / nbytes));
    else if (before->too_narrow != 0)
        guess = most;
    guess = 1.03 * fmax(least, fmin(guess, most)) + 1;
    return guess < 0x1p63 ? (uint64_t)guess : UINT64_C(1) << 63;
}

/* The columns to try next; 0: what fits is good enough. */
static uint64_t next_column(const struct html_trace *trace, struct fitting *fitting,
                            const struct html_spans *spans, uint64_t room)
{
    uint64_t nbytes = spans->packed.nbytes;
    double share = (double)nbytes / (double)room;
    uint64_t column = spans->column_ticks,
             wider = wider_column(trace, fitting, (double)column, (double)nbytes, share);
    if (nbytes <= room)
        fitting->fits = column;
    else
        *fitting = (struct fitting){column, fitting->fits, (double)nbytes};
    if (fitting->fits == 0)
        return wider;
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
    enum tbed_status status = make_window(trace, column, room / PART_NBYTES_MIN + 1, &window);
    if (status == TBED_OK)
        status = pack(window, spans);
    tbed_window_close(window);
    return status;
}

enum tbed_status html_spans_make(struct html_trace *trace, uint64_t room, struct html_spans *spans_ret)
{
    struct fitting fitting = {0};
    uint64_t column = first_column(trace, room), ticks = trace->part.end_tick - trace->part.begin_tick;
    enum tbed_status status = TBED_OK;
    *spans_ret = (struct html_spans){0};
    for (unsigned i = 0; status == TBED_OK && column != 0 && (i < ATTEMPTS || fitting.fits == 0); i++) {
        struct html_spans spans = {0};
        bool is_last = column > ticks;
        status = make_of_column(trace, column, room, &spans);
        column = is_last || status != TBED_OK ? 0 : next_column(trace, &fitting, &spans, room);
        if (status == TBED_OK && (spans.packed.nbytes <= room || is_last)) {
            html_spans_free(spans_ret);
            *spans_ret = spans;
        } else {
            html_spans_free(&spans);
        }
    }
    trace->column_ticks = spans_ret->column_ticks;
    trace->room = room;
    return status;
}
