/*
 * A trace that is written page by page: the header page, the directory, and blocks that are complete when they are stored.
 *
 * Not here: what is in the blocks.
 *
 * Source: spec/format.md, sections 3 and 4.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TRACE_FILE_H
#define TRACEBED_TRACE_FILE_H

#include "format/block.h"
#include "format/file/header.h"
#include "reader/core/base/vector.h"

struct trace_file {
    int fd;
    uint32_t page_nbytes;
    uint64_t page_count;
    uint64_t file_id;
    uint8_t *header;                        /* the header page */
    TBED_VECTOR(uint8_t *) directory_pages; /* kept until the end */
    enum tbed_status status;                /* the first failure; everything after it does nothing */
    int system_errno;
};

/* What the header page counts. */
struct trace_counters {
    uint64_t next_stream, next_string_page, next_reserved_id;
    uint64_t drops[TBED_DROP_CAUSE_COUNT];
};

/* Starts a trace in 'fd', which is empty and stays the caller's. A failure is in 'status'. */
void tbed_trace_file_open(struct trace_file *file, int fd, const struct tbed_header_fields *fields);

void tbed_trace_file_fail(struct trace_file *file, enum tbed_status status, int system_errno);

/*
 * Zeroes 'page' and makes it the next page of the file. 'block' gives kind, stream, sequence, string page, first tick and
 * depth.
 */
void tbed_trace_file_begin(struct trace_file *file, uint8_t *page, const struct tbed_block_fields *block);

/* Seals the page and stores it. */
void tbed_trace_file_end(struct trace_file *file, uint8_t *page, uint32_t used_nbytes, uint64_t last_tick,
                         uint64_t least_begin_tick);

/* Stores the directory and the header page; the trace is then closed cleanly. */
void tbed_trace_file_finish(struct trace_file *file, const struct trace_counters *counters);

void tbed_trace_file_free(struct trace_file *file);

#endif
