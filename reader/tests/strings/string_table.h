/*
 * A trace for the tests of strings: one block of strings, one of records.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STRING_TABLE_H
#define TRACEBED_STRING_TABLE_H

#include "reader/tests/core/trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

/* String block in page 1, record block in page 2, each of stream 1. */
struct table {
    struct trace trace;
    struct trace_block strings;
    struct trace_block records;
    struct tbed_reader *reader;
};

static inline void table_make(struct table *table)
{
    table->trace = trace_make(3);
    table->strings = trace_block_begin(&table->trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    table->records = trace_block_begin(&table->trace, 2, TBED_BLOCK_RECORDS, 1, 0);
}

/* With pages of 1 MiB, for what a usual one cannot hold. */
static inline void table_make_large(struct table *table)
{
    table->trace = trace_make_paged(3, 1 << 20);
    table->strings = trace_block_begin(&table->trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    table->records = trace_block_begin(&table->trace, 2, TBED_BLOCK_RECORDS, 1, 0);
}

static inline void table_open(struct table *table)
{
    trace_seal(&table->strings);
    trace_seal(&table->records);
    trace_shut(&table->trace);
    table->reader = trace_open(&table->trace);
}

static inline void table_close(struct table *table)
{
    tbed_reader_close(table->reader);
    trace_free(&table->trace);
}

static inline void expect_text(const struct table *table, uint32_t id, enum tbed_status status,
                               const char *text)
{
    char buffer[256];
    size_t nbytes = 12345;
    enum tbed_status found = tbed_string_resolve(table->reader, id, buffer, sizeof buffer, &nbytes);
    assert_string_equal(tbed_status_name(found), tbed_status_name(status));
    assert_string_equal(buffer, text);
    assert_int_equal(nbytes, strlen(text));
}

static inline double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
