/*
 * A trace that has something of most kinds: for targets whose input is not a trace.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_RICH_TRACE_H
#define TRACEBED_FUZZ_RICH_TRACE_H

/*
 * Writes it to a new file: threads of two processes with nested, left and unended spans, times off their processors, flows,
 * messages, counters and arguments; memory with call stacks and types, and garbage collections between.
 */
void rich_trace_put(const char *path);

#endif
