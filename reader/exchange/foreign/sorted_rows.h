/*
 * Events put in order: by track, then by time, in bounded memory. Sorted runs that do not fit go to a file without a name, and
 * are merged when they are taken out again.
 *
 * Spans are placed at their ends. Events of the same track and time stay in the order in which they were put in.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_EVENT_ROWS_H
#define TRACEBED_EXCHANGE_EVENT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tracebed/format.h>

#define EVENT_ROW_NBYTES_MAX ((size_t)64 << 10)
#define EVENT_ARGUMENTS_MAX  255u

enum event_row_type {
    EVENT_ROW_SPAN,
    EVENT_ROW_BEGIN,
    EVENT_ROW_END,  /* with a severity: the span leaves the stack, but never ends */
    EVENT_ROW_OPEN, /* a span that never ended: 'time' is its begin, 'other' the last time known of it */
    EVENT_ROW_INSTANT,
    EVENT_ROW_COUNTER, /* the first argument is the value */
    EVENT_ROW_MESSAGE,
    EVENT_ROW_ASYNC_BEGIN, /* from here on 'other' is the key */
    EVENT_ROW_ASYNC_END,
    EVENT_ROW_FLOW_BEGIN,
    EVENT_ROW_FLOW_STEP,
    EVENT_ROW_FLOW_END,
};

/* Times are in nanoseconds, with the highest bit inverted, so that they compare as unsigned numbers. */
#define EVENT_TIME(ns) ((uint64_t)(ns) ^ UINT64_C(1) << 63)

struct event_row {
    uint64_t time;
    uint64_t other; /* of a span: its begin */
    uint32_t track;
    uint32_t id, category;
    uint32_t nbytes; /* of the row with its arguments */
    uint8_t type;    /* enum event_row_type */
    uint8_t severity;
    uint16_t argument_count;
    uint32_t zero;
};

struct event_run {
    uint64_t offset, nbytes; /* in the file */
};

struct event_rows { /* zeroed: empty */
    char *bytes;
    size_t nbytes, room;
    struct event_row **rows; /* for sorting */
    size_t row_room, row_count;
    struct event_run *runs;
    size_t run_count;
    int fd; /* of the runs; 0: none */
    uint64_t file_nbytes;
};

/* 'row' needs no size and no number of arguments. Errors: ERR_MEMORY, ERR_WRITE. */
enum tbed_status tbed_event_rows_put(struct event_rows *rows, struct event_row row,
                                     const struct tbed_argument *arguments, size_t argument_count);

/* Calls 'take' with all rows in order; it may fail, which ends the walk. Errors: also ERR_READ, and those of 'take'. */
enum tbed_status tbed_event_rows_take(struct event_rows *rows,
                                      enum tbed_status (*take)(void *context, const struct event_row *row),
                                      void *context);

void tbed_event_rows_free(struct event_rows *rows);

/* How many bytes an argument takes in a row. */
size_t tbed_event_argument_nbytes(const struct tbed_argument *argument);

/* The arguments of a row; texts point into it. */
void tbed_event_row_arguments(const struct event_row *row, struct tbed_argument *arguments);

#endif
