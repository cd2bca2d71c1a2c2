/*
 * A text that is too long for memory: what is more than a little waits in a file without a name until it is its turn.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_SPOOL_H
#define TRACEBED_EXCHANGE_SPOOL_H

#include "reader/exchange/out/export_out.h"

struct spool { /* zeroed except 'fd': empty */
    struct tbed_text text;
    int fd;          /* -1: none yet */
    uint64_t nbytes; /* in the file */
    int write_errno;
};

/* Call it after each item. False once something has failed. */
bool tbed_spool_spill(struct spool *spool);

/* Appends everything to 'out', and empties the spool. False: no memory, or one of them cannot be written or read. */
bool tbed_spool_move(struct spool *spool, struct export_out *out);

/* The same, to another spool. */
bool tbed_spool_append(struct spool *spool, struct spool *to);

void tbed_spool_close(struct spool *spool);

#endif
