/*
 * Scans of tables that have rows for events or spans: which blocks are read, by whom, and in which order.
 *
 * A unit is a block that has been read, of which the next row is known. If rows may come in any order, each worker has a unit
 * and takes the next block when it is through. Otherwise each stream has one, and the rows are merged.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_ROW_SCAN_H
#define TRACEBED_TABLES_ROW_SCAN_H

#include "reader/analysis/assembly/block_spans.h"
#include "reader/core/records/metadata.h"
#include "reader/tables/base/crew.h"
#include "reader/tables/rows/nesting.h"
#include "reader/tables/rows/row_args.h"
#include "reader/tables/rows/row_names.h"
#include "reader/tables/rows/row_threads.h"

/* The numbers that the constraints on a column allow. */
struct row_range {
    int64_t least, greatest;
};
static inline struct row_range row_range_of(const struct tbed_scan *scan, unsigned column)
{
    struct row_range range;
    tbed_scan_range(scan, column, &range.least, &range.greatest);
    return range;
}
static inline bool row_range_is_all(const struct row_range *range)
{
    return range->least == INT64_MIN && range->greatest == INT64_MAX;
}
static inline bool row_range_has(const struct row_range *range, int64_t number)
{
    return number >= range->least && number <= range->greatest;
}

struct row_scan;

/* What a table's rows are made from. */
struct row_kind {
    size_t worker_nbytes, unit_nbytes; /* of structs that begin as zeros */
    bool (*open_worker)(struct row_scan *scan, void *worker);
    void (*close_worker)(void *worker);
    /*
     * Reads a block into a unit. With 'is_kept', nothing of the unit may be in the worker. Errors: ERR_MEMORY and ERR_CANCELLED
     * end the scan; after others there is nothing to be had from the block.
     */
    enum tbed_status (*enter)(void *worker, void *unit, size_t block, bool is_kept);
    /* The time that a unit's next row is ordered by. False: it has no more. */
    bool (*peek)(void *worker, void *unit, uint64_t *tick_ret);
    /* Takes up to 'count' rows from the unit, some of which may be left out, as long as there is room in 'rows'. */
    void (*fill)(void *worker, void *unit, struct table_rows *rows, size_t count);
    void (*close_unit)(void *unit);
    bool
        is_ordered_by_end; /* rows are spans: their times are begins, by which no block can be told by its ticks alone */
};

/* Columns that all of these tables have. */
struct row_columns {
    unsigned ts;
    struct row_thread_columns thread;
};

struct row_merge;

struct row_scan {
    struct tbed_scan *scan;
    const struct row_kind *kind;
    const struct row_columns *columns;
    struct row_names names;
    struct row_threads threads;
    uint32_t *passages;             /* struct look_back */
    size_t *blocks;                 /* those that are read, by stream */
    size_t block_count, next_block; /* the latter atomic */
    struct crew *crew;
    struct row_merge *merge;
    struct nesting *nesting; /* NULL: not needed */
    bool owns_nesting;
    struct row_range ids; /* of spans */
    bool wants_arguments;
    bool wants_begins; /* categories and arguments of spans that began in an earlier block */
};

/*
 * tbed_row_scan_open() opens a scan as table_source does. 'kinds' are the kinds of names that are used. 'scan->state' becomes the
 * row scan, which is followed by 'own_nbytes' of zeros for the table.
 */
enum tbed_status tbed_row_scan_open(struct tbed_scan *scan, const struct row_kind *kind,
                                    const struct row_columns *columns, unsigned kinds, size_t own_nbytes);
/* To be called when the rest has been opened: decides what is read. */
enum tbed_status tbed_row_scan_start(struct row_scan *rows);
enum tbed_status tbed_row_scan_next(struct tbed_scan *scan, struct tbed_batch *batch_ret);

/* About how many events there are. */
uint64_t tbed_row_estimate(struct tbed_tables *tables);
void tbed_row_scan_close(struct tbed_scan *scan);

/* Sets 'nesting'. Without a filter, it is made once for all scans. Errors: ERR_MEMORY, ERR_CANCELLED. */
enum tbed_status tbed_row_scan_nest(struct row_scan *rows, uint64_t resolution);

/* The blocks that may have rows which the constraints allow. False: no memory. */
bool tbed_row_blocks_list(struct row_scan *rows);

/* In order of time; see row_merge.c. */
struct row_merge *tbed_row_merge_open(struct row_scan *rows);
enum tbed_status tbed_row_merge_fill(struct row_merge *merge, struct table_rows *rows);
void tbed_row_merge_close(struct row_merge *merge);

/* The code + 1 that the constraint TBED_EQUAL on a column of names asks for; 0: none. False: no memory. */
bool tbed_row_wanted_code(struct tbed_scan *scan, unsigned column, uint32_t *code_ret);

#endif
