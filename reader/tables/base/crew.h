/*
 * A few threads that fill batches of a scan's rows, which the scan hands out in the order in which they are complete.
 *
 * The number of batches is fixed: a thread that is ahead waits, so memory does not grow with the number of rows.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_CREW_H
#define TRACEBED_TABLES_CREW_H

#include "reader/tables/base/table.h"

struct crew_job {
    void *context;
    /* A worker's own state; called by the thread that opens the crew. NULL: no memory. */
    void *(*open)(void *context);
    /* Adds rows until 'rows' is full or there are no more, which is END. Workers share out what there is to read. */
    enum tbed_status (*fill)(void *worker, struct table_rows *rows);
    void (*close)(void *worker);
};

/* After so many blocks without as many rows as fit, a worker hands out those that it has: few may be wanted of many. */
#define CREW_UNITS_MAX 32u

struct crew;

/* With one worker no thread is started. If a thread cannot be created, the others do its work. NULL: no memory. */
struct crew *tbed_crew_open(struct tbed_scan *scan, const struct crew_job *job, unsigned worker_count);

/* As tbed_scan_next(). */
enum tbed_status tbed_crew_next(struct crew *crew, struct tbed_batch *batch_ret);

void tbed_crew_close(struct crew *crew); /* NULL is allowed */

#endif
