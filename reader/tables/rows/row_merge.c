/*
 * Rows in order of time: a unit for each stream, in a heap with the earliest on top; of equal times, the lower stream first.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/rows/row_scan.h"

struct track {
    uint64_t tick;    /* of its next row */
    size_t number;    /* of the stream, in order */
    size_t next, end; /* positions in the list of blocks */
    void *unit;
};

struct row_merge {
    struct row_scan *rows;
    void *worker;
    struct track *tracks; /* a heap */
    size_t count, opened;
};

/* ---- The heap ---- */

static bool comes_before(const struct track *a, const struct track *b)
{
    return a->tick != b->tick ? a->tick < b->tick : a->number < b->number;
}

static void sift_down(struct row_merge *merge, size_t at)
{
    struct track moving = merge->tracks[at];
    for (size_t child; (child = 2 * at + 1) < merge->count; at = child) {
        if (child + 1 < merge->count && comes_before(&merge->tracks[child + 1], &merge->tracks[child]))
            child++;
        if (!comes_before(&merge->tracks[child], &moving))
            break;
        merge->tracks[at] = merge->tracks[child];
    }
    merge->tracks[at] = moving;
}

/* ---- Tracks ---- */

/* Moves to the track's next row, and to its next block if there is none in this one. Errors: END, ERR_MEMORY, … */
static enum tbed_status advance(struct row_merge *merge, struct track *track)
{
    const struct row_kind *kind = merge->rows->kind;
    while (!kind->peek(merge->worker, track->unit, &track->tick)) {
        if (track->next == track->end)
            return TBED_END;
        enum tbed_status status =
            kind->enter(merge->worker, track->unit, merge->rows->blocks[track->next++], true);
        if (status == TBED_ERR_MEMORY || status == TBED_ERR_CANCELLED)
            return status;
    }
    return TBED_OK;
}

static void free_track(const struct row_merge *merge, struct track *track)
{
    if (track->unit != NULL)
        merge->rows->kind->close_unit(track->unit);
    free(track->unit);
    track->unit = NULL;
}

/* The first track has ended. */
static void drop_first(struct row_merge *merge)
{
    free_track(merge, &merge->tracks[0]);
    merge->tracks[0] = merge->tracks[--merge->count];
    merge->tracks[merge->count].unit = NULL;
}

static bool open_tracks(struct row_merge *merge)
{
    struct row_scan *rows = merge->rows;
    merge->tracks = calloc(rows->threads.count + 1, sizeof *merge->tracks);
    size_t at = 0;
    for (size_t i = 0; merge->tracks != NULL && i < rows->threads.count; i++) {
        size_t first, count, from = at;
        tbed_stream_blocks(rows->scan->reader, rows->threads.items[i].stream, &first, &count);
        while (at < rows->block_count && rows->blocks[at] >= first && rows->blocks[at] < first + count)
            at++;
        if (at == from)
            continue;
        struct track *track = &merge->tracks[merge->count];
        *track = (struct track){.number = i, .next = from, .end = at};
        track->unit = calloc(1, rows->kind->unit_nbytes);
        if (track->unit == NULL)
            return false;
        merge->count++;
    }
    return merge->tracks != NULL;
}

struct row_merge *tbed_row_merge_open(struct row_scan *rows)
{
    struct row_merge *merge = calloc(1, sizeof *merge);
    if (merge == NULL)
        return NULL;
    merge->rows = rows;
    merge->worker = calloc(1, rows->kind->worker_nbytes);
    if (merge->worker != NULL && rows->kind->open_worker(rows, merge->worker) && open_tracks(merge))
        return merge;
    tbed_row_merge_close(merge);
    return NULL;
}

void tbed_row_merge_close(struct row_merge *merge)
{
    if (merge == NULL)
        return;
    for (size_t i = 0; i < merge->count; i++)
        free_track(merge, &merge->tracks[i]);
    if (merge->worker != NULL)
        merge->rows->kind->close_worker(merge->worker);
    free(merge->worker);
    free(merge->tracks);
    free(merge);
}

/* ---- Rows ---- */

/* Finds the first row of each track. */
static enum tbed_status start(struct row_merge *merge)
{
    for (; merge->opened < merge->count; merge->opened++) {
        enum tbed_status status = advance(merge, &merge->tracks[merge->opened]);
        if (status != TBED_OK && status != TBED_END)
            return status;
        if (status == TBED_OK)
            continue;
        free_track(merge, &merge->tracks[merge->opened]);
        merge->tracks[merge->opened] = merge->tracks[--merge->count];
        merge->tracks[merge->count].unit = NULL;
        merge->opened--;
    }
    for (size_t at = merge->count / 2; at-- > 0;)
        sift_down(merge, at);
    merge->opened = SIZE_MAX;
    return TBED_OK;
}

enum tbed_status tbed_row_merge_fill(struct row_merge *merge, struct table_rows *rows)
{
    const struct row_kind *kind = merge->rows->kind;
    enum tbed_status status = merge->opened != SIZE_MAX ? start(merge) : TBED_OK;
    while (status == TBED_OK && merge->count > 0 && !table_rows_is_full(rows) && !rows->is_out_of_memory) {
        struct track *first = &merge->tracks[0];
        kind->fill(merge->worker, first->unit, rows, 1);
        status = advance(merge, first);
        if (status == TBED_END) {
            drop_first(merge);
            status = TBED_OK;
        }
        if (status == TBED_OK && merge->count > 0)
            sift_down(merge, 0);
    }
    return status == TBED_OK && merge->count == 0 ? TBED_END : status;
}
