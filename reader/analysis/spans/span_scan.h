/*
 * One event block's share of the statistics. Each block is read by itself: the spans that are open at its
 * start stand in it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_SPAN_SCAN_H
#define TRACEBED_SPAN_SCAN_H

#include "reader/analysis/scopes/scope_messages.h"
#include "reader/analysis/spans/name_table.h"
#include <tracebed/analysis.h>

/* What blocks have that their streams are read a second time for. */
#define SPAN_MARK_ASYNC  1u /* asynchronous spans */
#define SPAN_MARK_SCOPES 2u /* pairs of messages, spans that never ended */

struct span_frame {
    uint64_t begin_tick;
    struct name_slot *slot;
};

/* What one worker has. */
struct span_scanner {
    struct tbed_reader *reader;
    struct name_table names;
    struct tbed_statistics_totals totals;
    struct span_frame *frames; /* [0] stands for what is below all known spans */
    size_t frame_room;
    struct name_slot below; /* the slot of frames[0] */
    bool reused;            /* blocks may be overwritten while they are read: read copies */
    bool count_open;        /* spans that never ended are looked at again */
    uint64_t resolution;    /* ticks; times are cut to it */
    struct scope_formats formats;
    uint64_t *copy;       /* a block's words */
    uint8_t *block_marks; /* by block index; shared, each block's written by whoever reads the block */
};

enum tbed_status tbed_span_scanner_open(struct span_scanner *scanner, struct tbed_reader *reader,
                                        bool count_open, uint8_t *block_marks);
void tbed_span_scanner_close(struct span_scanner *scanner);

/* Reads block 'index'. Trouble with memory is kept in 'names.out_of_memory'. */
void tbed_span_scan_block(struct span_scanner *scanner, size_t index);

#endif
