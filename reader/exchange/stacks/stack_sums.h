/*
 * What the exports that are sums by stack have in common: whether they sum up time or memory, the rows or call stacks of
 * each trace, and the counts of what they leave out.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_STACK_SUMS_H
#define TRACEBED_STACK_SUMS_H

#include "reader/exchange/shared/exchange_format.h"
#include "reader/exchange/stacks/frame_table.h"
#include "reader/exchange/stacks/memory_rows.h"

struct stack_sums {
    const struct export_job *job;
    bool by_memory;

    /* of the current trace */
    struct tbed_reader *reader;
    const struct tbed_filter *filter;
    struct tbed_trace_info info;
    struct tbed_stacks *stacks; /* of time */
    struct memory_rows memory;
    struct tbed_allocations *sites; /* call stacks */
};

/*
 * Memory is summed up if that is asked for, and if no trace has spans but one has allocations: an empty file would be of no use.
 * Fills job->error if it fails, as all calls do.
 */
enum tbed_status tbed_stack_sums_open(struct stack_sums *sums, const struct export_job *job);

/* Each makes its sums for the trace of this number, instead of those before, and counts what they leave out. */
enum tbed_status tbed_stack_sums_time(struct stack_sums *sums, size_t index);
enum tbed_status tbed_stack_sums_memory(struct stack_sums *sums, size_t index);
enum tbed_status tbed_stack_sums_sites(struct stack_sums *sums, size_t index);

/* A row of time or memory; NULL past the last. */
const struct tbed_stack_row *tbed_stack_sums_row(const struct stack_sums *sums, size_t index);

/* Ticks in nanoseconds, unchanged if the clock does not measure time; bytes as they are. */
uint64_t tbed_stack_sums_value(const struct stack_sums *sums, uint64_t ticks);

/* Writes the places of a call stack, the innermost first. Returns how many there are, at least one. */
#define STACK_SUMS_DEPTH_MAX 1023u
size_t tbed_stack_sums_places(const struct tbed_reader *reader, const struct tbed_allocation_site *site,
                              uint32_t ids[STACK_SUMS_DEPTH_MAX]);

/* The frames of a call stack, the innermost first, as numbers. False: no memory. */
typedef TBED_VECTOR(uint32_t) frame_list;
bool tbed_stack_sums_frames(struct frame_table *table, const struct tbed_allocation_site *site,
                            frame_list *list_ret);

void tbed_stack_sums_close(struct stack_sums *sums);

#endif
