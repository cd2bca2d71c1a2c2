/*
 * A list of spans or events that can be read in either direction, in bounded memory: what does not fit into a buffer goes
 * to a file without a name.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SPAN_SPOOL_H
#define TRACEBED_SPAN_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spool_item {
    int64_t begin, end; /* of an event: 'begin' is its time */
    uint32_t frame;
    bool is_open; /* of an event: a span begins */
};

struct span_spool { /* zeroed: empty, except that 'fd' must be -1 */
    int fd;
    struct spool_item *chunk; /* the last that was written or read */
    uint64_t count;
    bool has_failed; /* no memory, or no room for the file */

    /* While it is read: */
    uint64_t next, left;
    bool is_backward;
};

void tbed_span_spool_add(struct span_spool *spool, const struct spool_item *item);

/* Starts to read. Nothing may be added until it is cleared. */
void tbed_span_spool_read(struct span_spool *spool, bool is_backward);
bool tbed_span_spool_next(struct span_spool *spool, struct spool_item *item_ret);

void tbed_span_spool_clear(struct span_spool *spool);
void tbed_span_spool_close(struct span_spool *spool);

#endif
