/*
 * A window that is being made: pieces of streams, which workers share. Each piece is walked from its end to its start,
 * and its spans are put into rows of its own; then the rows of a stream's pieces are put together.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WINDOW_JOB_H
#define TRACEBED_WINDOW_JOB_H

#include "reader/analysis/assembly/block_spans.h"
#include "reader/analysis/windows/stored_ends.h"
#include "reader/analysis/windows/window_rows.h"
#include "reader/core/base/workers.h"

/* A span around the current position of the walk. */
struct window_around {
    uint64_t begin_tick, end_tick;
};

/* The outermost first. */
struct window_arounds {
    TBED_VECTOR(struct window_around) spans;
};

/*
 * What a walk over a piece did to the spans around it. Where it began with spans that were guessed, this decides whether
 * the true ones would have made a difference.
 */
struct window_passage {
    bool has_spans;
    struct window_around first;  /* the span that was met first */
    uint64_t latest_tick;        /* the latest end of all */
    struct window_arounds outer; /* the spans around the first */
    size_t kept_count;           /* of these, the walk never left so many */
    struct window_arounds inner; /* inside of those, at the end of the walk */
};

struct window_piece {
    uint32_t stream;
    size_t first, count;           /* its event blocks */
    bool is_last;                  /* of its stream */
    bool is_sketch;                /* made from headers */
    size_t stop, stop_count;       /* of a sketch: which headers; see window_sketch.c */
    struct window_passage passage; /* of a piece that is read */
    struct window_rows rows;
    struct tbed_window_info counts; /* of this piece; times are not set */
};

/* A span that a block stores. */
struct window_stored {
    uint64_t begin_tick; /* 0: not known */
    uint32_t id;
    uint32_t depth; /* in the tree of calls */
    bool is_inherited;
};

/* What is known of a block from its header. */
struct window_header {
    size_t index;
    uint64_t first_tick;
    uint64_t deep, depth; /* open spans that are not stored, and all of them */
    TBED_VECTOR(struct window_stored) spans;
};

struct window_worker {
    struct block_spans spans;
    TBED_VECTOR(struct window_around) stack;
    struct window_passage passage;
    struct stored_ends ends;
    struct window_header headers[2];
    enum tbed_status status;
};

struct window_job {
    struct tbed_work work;
    struct tbed_reader *reader;
    const struct tbed_window_options *options;
    uint64_t resolution;
    uint64_t begin_tick, end_tick, column_ticks;
    uint64_t read_ticks;                     /* of a sketch: longer blocks are read */
    TBED_VECTOR(struct window_piece) pieces; /* by stream, the last piece of each first */
    TBED_VECTOR(size_t) stops;
    struct window_worker *workers;
    unsigned worker_count;
    uint32_t *passages; /* struct look_back */
    bool is_sketch;     /* one of the pieces is */
};

bool tbed_window_is_cancelled(const struct window_job *job);

/* Are there more parts than wanted, and can columns become wider? */
bool tbed_window_has_too_many(const struct window_job *job, size_t part_count, uint64_t column_ticks);

/* Widens columns until there are not too many parts. */
void tbed_window_keep_few(const struct window_job *job, struct window_rows *rows);

/* Cuts a span to the window. False: nothing of it is inside. */
bool tbed_window_cut(const struct window_job *job, struct block_span *span);

/* Puts in a span around or beside which the worker's stack is. */
void tbed_window_take_span(const struct window_job *job, struct window_worker *worker,
                           struct window_piece *piece, struct block_span span);

/* Takes all spans of a block, the last first. */
void tbed_window_take_block(const struct window_job *job, struct window_worker *worker,
                            struct window_piece *piece, size_t index);

/* Reads all of a piece. If it is not the last of its stream, the spans around it are guessed. */
void tbed_window_read(const struct window_job *job, struct window_worker *worker, struct window_piece *piece);

/*
 * Makes sure that a piece has been read with the spans that are around its end, which 'around' are, and replaces these
 * by the spans around its start.
 */
void tbed_window_settle(const struct window_job *job, struct window_worker *worker,
                        struct window_piece *piece, struct window_arounds *around);

void tbed_window_passage_free(struct window_passage *passage);

/* Can all that the options ask for be made from headers? */
bool tbed_window_can_sketch(const struct window_job *job);

/* Do the first ticks of these blocks never go back? */
bool tbed_window_is_in_order(const struct window_job *job, size_t first, size_t count);

/* Adds the pieces of a stream whose blocks in the window are given. False: no memory. */
bool tbed_window_add_sketch(struct window_job *job, uint32_t stream, size_t first, size_t count);

/* Sets 'read_ticks', when all pieces are there. */
void tbed_window_choose_read(struct window_job *job);

/* Makes a piece from headers. */
void tbed_window_sketch(const struct window_job *job, struct window_worker *worker,
                        struct window_piece *piece);

#endif
