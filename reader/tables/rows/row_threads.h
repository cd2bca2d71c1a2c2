/*
 * What rows say about their thread and process, and which threads the constraints of a scan allow.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_ROW_THREADS_H
#define TRACEBED_TABLES_ROW_THREADS_H

#include "reader/tables/base/table.h"

struct row_thread {
    uint32_t stream, process; /* numbers; process 0: none */
    uint32_t thread_code, process_code;
    int64_t tid, pid; /* -1: none */
    bool is_wanted;
};

struct row_threads {
    struct row_thread *items; /* by stream */
    size_t count;
};

/* The columns of a table that are about these; all must exist. */
struct row_thread_columns {
    unsigned thread, process, tid, pid, track;
};

/* False: no memory; close it nevertheless. */
bool tbed_row_threads_open(struct row_threads *threads, struct tbed_scan *scan,
                           const struct row_thread_columns *columns);
void tbed_row_threads_close(struct row_threads *threads);

/* NULL: the stream is not known. */
const struct row_thread *tbed_row_thread_find(const struct row_threads *threads, uint32_t stream);

void tbed_row_thread_put(struct table_rows *rows, const struct row_thread_columns *columns,
                         const struct row_thread *thread);

/* Whether a text, or a number, is one that the constraints of a column allow. */
bool tbed_scan_allows_text(const struct tbed_scan *scan, uint32_t column, const char *text, size_t nbytes);
bool tbed_scan_allows_number(const struct tbed_scan *scan, uint32_t column, int64_t number);

#endif
