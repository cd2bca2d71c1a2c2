/*
 * The events of a trace written on all cores, in order.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CHROME_BATCHES_H
#define TRACEBED_EXCHANGE_CHROME_BATCHES_H

#include "reader/exchange/chrome/chrome_events.h"

#include "reader/exchange/out/export_out.h"

#include <stdio.h>

struct chrome_output {
    FILE *out;
    struct export_out *packed; /* or, if it is not NULL, here */
    int write_errno;           /* 0: everything has been written */
    bool needs_comma;          /* before the next event */
    bool is_out_of_memory;
};

void tbed_chrome_output_put(struct chrome_output *output, const struct tbed_text *text);

struct chrome_batches;

/*
 * 'main' has the options and the trace, and counts the spans that do not nest; it and 'output' stay the caller's. NULL: no
 * memory.
 */
struct chrome_batches *tbed_chrome_batches_open(struct chrome_writer *main, struct chrome_output *output);
void tbed_chrome_batches_add(struct chrome_batches *batches, const struct tbed_step *step,
                             const struct export_thread *thread);
/* When everything has been written; adds to the report of 'main'. NULL is allowed. */
void tbed_chrome_batches_close(struct chrome_batches *batches);

#endif
