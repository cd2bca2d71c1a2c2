/*
 * When the spans end that a block stores as open: a look at its events that goes no further than these ends.
 *
 * It finds what the spans of the block (block_spans.h) have, at a fraction of the cost, because spans that begin in the
 * block are only counted.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STORED_ENDS_H
#define TRACEBED_STORED_ENDS_H

#include "reader/analysis/assembly/block_spans.h"
#include "reader/core/base/vector.h"

#include <tracebed/reader.h>

struct stored_end {
    uint64_t tick;    /* of a span that the block leaves open: its latest tick */
    bool is_left;     /* nothing in the block ends it */
    bool never_ended; /* an event says that it never ends */
    bool has_ended;   /* an event of the block took it off the stack */
};

/* Zeroed before the first use; freed by tbed_stored_ends_free(). */
struct stored_ends {
    TBED_VECTOR(struct stored_end) spans; /* of the stored spans, the outermost first */
    struct stable_block stable;           /* holds the block that is read */
};

/*
 * Reads event block 'index'. The outermost 'kept_count' of the stored spans are not of interest: they may be said to be
 * left. Errors: the block's ERR_BLOCK_…, ERR_CHANGED, ERR_MEMORY.
 */
enum tbed_status tbed_stored_ends_find(struct stored_ends *ends, const struct tbed_reader *reader,
                                       size_t index, uint32_t kept_count);

void tbed_stored_ends_free(struct stored_ends *ends);

#endif
