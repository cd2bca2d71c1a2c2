/*
 * Windows from headers: each block stores the spans that are open at its start, and says when that is.
 *
 * Of a stream, only some blocks are looked at, the stops: each is the last one that begins at most a column after the
 * stop before, or else the one right after it. So whatever is open at a stop and not at the next one ended in between:
 * within a column, or in the block of the stop itself, whose events are then read. Blocks that are much wider than a
 * column are read in full, because most of what can be seen there is in no header.
 *
 * A block whose header is damaged is no stop; then the blocks around it are, one by one.
 *
 * This is for blocks in which ticks do not go back. Where they do, an event may end a span before the block that has it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/analysis/assembly/neighbours.h"
#include "reader/analysis/shared/resolution.h"
#include "reader/analysis/windows/window_job.h"
#include "reader/core/file/gateway.h"
#include "reader/core/file/reader_state.h"

#define STOPS_OF_PIECE    64u
#define WIDE_COLUMN_COUNT 16u   /* of a block that is read in full */
#define READ_SHARE        8u    /* these are at most 'exact_block_max' divided by this */
#define PREFETCH_NBYTES   4096u /* the header, and as many open spans as there usually are */

static struct tbed_indexed *entry_at(const struct window_job *job, size_t at)
{
    return tbed_index_at(&job->reader->index, TBED_BLOCK_EVENTS, at);
}

/* ---- Which blocks ---- */

bool tbed_window_can_sketch(const struct window_job *job)
{
    const struct tbed_filter *filter = job->options->filter;
    return job->reader->header.anchor_monotonic_ns != 0 && (filter == NULL || tbed_filter_is_window(filter));
}

bool tbed_window_is_in_order(const struct window_job *job, size_t first, size_t count)
{
    for (size_t i = first + 1; i < first + count; i++)
        if (entry_at(job, i)->first_tick < entry_at(job, i - 1)->first_tick)
            return false;
    return true;
}

static bool add_stops(struct window_job *job, size_t first, size_t end)
{
    for (size_t at = first, next; at < end; at = next) {
        size_t *stop = TBED_VECTOR_PUSH(&job->stops);
        if (stop == NULL)
            return false;
        *stop = at;
        uint64_t tick = entry_at(job, at)->first_tick;
        for (next = at + 1; next + 1 < end; next++)
            if (entry_at(job, next + 1)->first_tick - tick > job->column_ticks)
                break;
    }
    return true;
}

bool tbed_window_add_sketch(struct window_job *job, uint32_t stream, size_t first, size_t count)
{
    size_t first_stop = job->stops.count, end = first + count;
    if (!add_stops(job, first, end))
        return false;
    job->is_sketch = true;
    for (size_t stop_end = job->stops.count, stop; stop_end > first_stop; stop_end = stop) {
        stop = first_stop + (stop_end - first_stop - 1) / STOPS_OF_PIECE * STOPS_OF_PIECE;
        struct window_piece *piece = TBED_VECTOR_PUSH(&job->pieces);
        if (piece == NULL)
            return false;
        bool is_last = stop_end == job->stops.count;
        size_t piece_first = job->stops.items[stop];
        size_t piece_end = is_last ? end : job->stops.items[stop_end];
        *piece = (struct window_piece){.stream = stream,
                                       .first = piece_first,
                                       .count = piece_end - piece_first,
                                       .is_last = is_last,
                                       .is_sketch = true,
                                       .stop = stop,
                                       .stop_count = stop_end - stop};
    }
    return true;
}

/* How many blocks of a piece are wider than that; the last of a stream lasts as long as the window. */
static size_t count_wide(const struct window_job *job, const struct window_piece *piece, uint64_t ticks)
{
    size_t count = 0;
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        bool is_last = piece->is_last && i + 1 == piece->first + piece->count;
        uint64_t end_tick = is_last ? job->end_tick : entry_at(job, i + 1)->first_tick;
        uint64_t first_tick = entry_at(job, i)->first_tick;
        count += end_tick > first_tick && end_tick - first_tick > ticks;
    }
    return count;
}

void tbed_window_choose_read(struct window_job *job)
{
    size_t count;
    job->read_ticks = job->column_ticks < UINT64_MAX / WIDE_COLUMN_COUNT
                          ? job->column_ticks * WIDE_COLUMN_COUNT
                          : UINT64_MAX;
    do {
        count = 0;
        for (size_t i = 0; i < job->pieces.count; i++)
            if (job->pieces.items[i].is_sketch)
                count += count_wide(job, &job->pieces.items[i], job->read_ticks);
        if (count > job->options->exact_block_max / READ_SHARE)
            job->read_ticks = job->read_ticks > UINT64_MAX / 2 ? UINT64_MAX : job->read_ticks * 2;
    } while (count > job->options->exact_block_max / READ_SHARE);
}

static void prefetch_block(const struct window_job *job, size_t at, bool is_read)
{
    const struct tbed_indexed *entry = entry_at(job, at);
    size_t nbytes = entry->cell == 0 ? job->reader->header.page_nbytes : (size_t)1 << entry->shift;
    if (!is_read && nbytes > PREFETCH_NBYTES)
        nbytes = PREFETCH_NBYTES;
    tbed_map_prefetch(&job->reader->map, tbed_indexed_offset(job->reader, entry), nbytes);
}

/*
 * Asks for all that the piece will probably read, so that a cold file costs few waits, and no reading ahead. A block that
 * is read in full needs the ends of those beside it.
 */
static void prefetch(const struct window_job *job, const struct window_piece *piece)
{
    size_t first, count, end = piece->first + piece->count;
    tbed_stream_blocks(job->reader, piece->stream, &first, &count);
    if (end < first + count)
        prefetch_block(job, end, false);
    for (size_t i = 0; i < piece->stop_count; i++) {
        size_t at = job->stops.items[piece->stop + i];
        bool has_next = at + 1 < first + count;
        uint64_t end_tick = has_next ? entry_at(job, at + 1)->first_tick : UINT64_MAX;
        uint64_t ticks = end_tick - entry_at(job, at)->first_tick;
        prefetch_block(job, at, ticks > job->column_ticks);
        if (ticks > job->read_ticks && at > first)
            prefetch_block(job, at - 1, true);
        if (ticks > job->read_ticks && has_next)
            prefetch_block(job, at + 1, true);
    }
}

/* ---- One header ---- */

/* Takes the spans that the block stores, as far as they can be drawn. */
static bool load_spans(const struct window_job *job, struct window_header *header,
                       const struct tbed_block *block)
{
    uint64_t depth = tbed_block_stored_depth(block);
    uint32_t depth_count = job->options->depth_count;
    header->spans.count = 0;
    if (block->stored_count > 0 && !TBED_VECTOR_RESERVE(&header->spans, block->stored_count))
        return false;
    for (uint32_t i = 0; i < block->stored_count && (depth_count == 0 || depth < depth_count); i++) {
        struct window_stored *span = &header->spans.items[header->spans.count++];
        tbed_block_open_span(block, i, &span->begin_tick, &span->id);
        span->is_inherited = tbed_block_span_is_inherited(block, i);
        span->depth = (uint32_t)depth;
        depth += span->begin_tick != 0;
    }
    return true;
}

static bool load_held(const struct window_job *job, struct window_worker *worker, struct window_piece *piece,
                      size_t index, struct window_header *header)
{
    struct tbed_block block = {.depth = 0};
    enum tbed_status status =
        tbed_gateway_by_header(job->reader, TBED_BLOCK_EVENTS, entry_at(job, index), &block);
    if (status == TBED_OK && !load_spans(job, header, &block)) {
        worker->status = TBED_ERR_MEMORY;
        return false;
    }
    bool is_good = status == TBED_OK && tbed_block_is_there(job->reader, &block);
    piece->counts.header_count++;
    piece->counts.bad_block_count += !is_good;
    header->index = index;
    header->first_tick = block.first_tick;
    header->deep = tbed_block_stored_depth(&block);
    header->depth = block.depth;
    return is_good;
}

static bool load(const struct window_job *job, struct window_worker *worker, struct window_piece *piece,
                 size_t index, struct window_header *header)
{
    struct tbed_lease lease;
    tbed_lease_begin(&lease, job->reader->map.packed);
    bool is_good = load_held(job, worker, piece, index, header);
    tbed_lease_end(&lease);
    return is_good;
}

/* ---- What is between two stops ---- */

static void put(const struct window_job *job, struct window_piece *piece, const struct window_stored *stored,
                uint64_t end_tick, bool is_open)
{
    struct block_span span = {.begin_tick = stored->begin_tick,
                              .end_tick = end_tick,
                              .kind = is_open ? TBED_STEP_OPEN : TBED_STEP_END};
    if (stored->begin_tick == 0 || span.begin_tick >= end_tick || !tbed_window_cut(job, &span))
        return;
    uint64_t ticks = tbed_ticks_between(job->resolution, span.begin_tick, span.end_tick);
    tbed_window_rows_add(&piece->rows, &(struct tbed_window_part){.begin_tick = span.begin_tick,
                                                                  .end_tick = span.end_tick,
                                                                  .count = 1,
                                                                  .ticks = ticks,
                                                                  .longest_ticks = ticks,
                                                                  .id = stored->id,
                                                                  .stream = piece->stream,
                                                                  .depth = stored->depth,
                                                                  .open_count = span.kind == TBED_STEP_OPEN,
                                                                  .sample_count = 1});
}

enum fate { GOES_ON, ENDED, HIDDEN };

static bool is_same(const struct window_stored *a, const struct window_stored *b)
{
    return a->begin_tick == b->begin_tick && a->id == b->id;
}

/*
 * Whether 'next' stores the span at a lower depth, because a span around it has ended before it. Of spans that look alike,
 * the outer ones go on.
 */
static bool has_moved_up(const struct window_header *header, size_t at, const struct window_header *next)
{
    const struct window_stored *span = &header->spans.items[at];
    size_t alike = 1;
    for (size_t i = at; i-- > 0 && header->spans.items[i].begin_tick >= span->begin_tick;)
        alike += is_same(&header->spans.items[i], span);
    for (size_t i = 0; i < next->spans.count && next->deep + i < header->deep + at; i++)
        if (next->deep + i >= header->deep && is_same(&next->spans.items[i], span) && --alike == 0)
            return true;
    return false;
}

/* What 'next' says about a span of 'header'. HIDDEN: it is too deep for 'next' to store it. */
static enum fate fate_of(const struct window_header *header, size_t at, const struct window_header *next)
{
    uint64_t depth = header->deep + at;
    if (next == NULL)
        return ENDED;
    if (depth < next->depth && (depth < next->deep || depth - next->deep >= next->spans.count))
        return HIDDEN;
    if (depth < next->depth && is_same(&header->spans.items[at], &next->spans.items[depth - next->deep]))
        return GOES_ON;
    return has_moved_up(header, at, next) ? GOES_ON : ENDED;
}

/* Reads when the spans end that go on at most to the end of the block. */
static void put_ends(const struct window_job *job, struct window_worker *worker, struct window_piece *piece,
                     const struct window_header *header, const struct window_header *next, size_t kept_count)
{
    struct stored_ends *ends = &worker->ends;
    enum tbed_status status = tbed_stored_ends_find(ends, job->reader, header->index, (uint32_t)kept_count);
    if (status == TBED_ERR_MEMORY)
        worker->status = status;
    piece->counts.block_count++;
    piece->counts.bad_block_count += status != TBED_OK;
    for (size_t i = header->spans.count; i-- > kept_count;) {
        const struct window_stored *stored = &header->spans.items[i];
        if (fate_of(header, i, next) != ENDED)
            continue;
        struct stored_end end = {.tick = header->first_tick};
        if (status == TBED_OK && i < ends->spans.count)
            end = ends->spans.items[i];
        if (end.never_ended)
            end.tick = tbed_stream_last_tick(job->reader, piece->stream, header->first_tick);
        put(job, piece, stored, end.tick, end.never_ended || (end.is_left && !stored->is_inherited));
    }
}

/* Reads all of a block. The spans that go on are those that 'next' stores; what ends in the block may be in them. */
static void read_block(const struct window_job *job, struct window_worker *worker, struct window_piece *piece,
                       const struct window_header *header, const struct window_header *next)
{
    worker->spans.filter = NULL;
    worker->spans.has_categories = false;
    worker->stack.count = 0;
    for (size_t i = 0; next != NULL && i < next->spans.count; i++) {
        if (next->spans.items[i].begin_tick == 0)
            continue;
        struct window_around *around = TBED_VECTOR_PUSH(&worker->stack);
        if (around == NULL) {
            worker->status = TBED_ERR_MEMORY;
            return;
        }
        *around = (struct window_around){next->spans.items[i].begin_tick, UINT64_MAX};
    }
    tbed_window_take_block(job, worker, piece, header->index);
}

/* Takes the spans that end between the start of a block and that of the next one that was looked at; NULL: none is. */
static void take_between(const struct window_job *job, struct window_worker *worker,
                         struct window_piece *piece, const struct window_header *header,
                         const struct window_header *next)
{
    uint64_t end_tick = next != NULL ? next->first_tick : job->end_tick;
    uint64_t ticks = end_tick > header->first_tick ? end_tick - header->first_tick : 0;
    size_t kept_count = 0, count = header->spans.count;
    bool is_known = next == NULL || next->deep == 0; /* what is around the spans that end in the block */
    if (ticks > job->read_ticks && is_known) {
        read_block(job, worker, piece, header, next);
        return;
    }
    while (kept_count < count && fate_of(header, kept_count, next) != ENDED)
        kept_count++;
    if (kept_count < count && (next == NULL || ticks > job->column_ticks)) {
        put_ends(job, worker, piece, header, next, kept_count);
        return;
    }
    for (size_t i = count; i-- > kept_count;)
        if (fate_of(header, i, next) == ENDED)
            put(job, piece, &header->spans.items[i], header->first_tick, false);
}

/* ---- One piece ---- */

struct walk {
    const struct window_job *job;
    struct window_worker *worker;
    struct window_piece *piece;
    struct window_header *header;     /* to be filled */
    const struct window_header *next; /* the last one that was; NULL: none */
};

/* False: the block is damaged. */
static bool take_stop(struct walk *walk, size_t index)
{
    struct window_header *header = walk->header;
    if (!load(walk->job, walk->worker, walk->piece, index, header))
        return false;
    take_between(walk->job, walk->worker, walk->piece, header, walk->next);
    walk->next = header;
    walk->header =
        header == &walk->worker->headers[0] ? &walk->worker->headers[1] : &walk->worker->headers[0];
    return true;
}

/*
 * Finds the first good block after the piece. What it stores goes on beyond the window, if that ends here. False: blocks
 * in between are damaged.
 */
static bool look_ahead(struct walk *walk)
{
    size_t first, count, end = walk->piece->first + walk->piece->count, at = end;
    tbed_stream_blocks(walk->job->reader, walk->piece->stream, &first, &count);
    while (at < first + count && !load(walk->job, walk->worker, walk->piece, at, walk->header))
        at++;
    if (at == first + count)
        return at == end;
    for (size_t i = walk->header->spans.count; walk->piece->is_last && i-- > 0;)
        put(walk->job, walk->piece, &walk->header->spans.items[i], walk->header->first_tick, false);
    walk->next = walk->header;
    walk->header = &walk->worker->headers[1];
    return at == end;
}

static bool goes_on(struct walk *walk)
{
    if (walk->piece->rows.is_out_of_memory)
        walk->worker->status = TBED_ERR_MEMORY;
    else if (walk->worker->status == TBED_OK && tbed_window_is_cancelled(walk->job))
        walk->worker->status = TBED_ERR_CANCELLED;
    return walk->worker->status == TBED_OK;
}

void tbed_window_sketch(const struct window_job *job, struct window_worker *worker,
                        struct window_piece *piece)
{
    struct walk walk = {.job = job, .worker = worker, .piece = piece, .header = &worker->headers[0]};
    prefetch(job, piece);
    bool is_near = look_ahead(&walk);
    size_t end = piece->first + piece->count;
    for (size_t i = piece->stop_count; i-- > 0 && goes_on(&walk);) {
        size_t stop = job->stops.items[piece->stop + i];
        if (!is_near || !take_stop(&walk, stop)) {
            is_near = true;
            for (size_t at = end; at-- > stop && goes_on(&walk);)
                is_near = take_stop(&walk, at);
        }
        end = stop;
        tbed_window_keep_few(job, &piece->rows);
    }
}
