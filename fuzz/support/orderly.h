/*
 * Does a trace say everything once, and nothing that contradicts it?
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_ORDERLY_H
#define TRACEBED_FUZZ_ORDERLY_H

#include <tracebed/reader.h>

/*
 * True if the spans that blocks store are those that the events before them left open, if ticks never go back, and if
 * spans are only begun and ended: there are no whole spans, and none leaves the stack before or after it ends.
 */
bool is_orderly(struct tbed_reader *reader);

#endif
