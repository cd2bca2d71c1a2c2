/*
 * Tables of what analyses find, one file each: statistics of labels, trees, sites of allocations, histograms and so on.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_RESULTS_H
#define TRACEBED_TABLES_RESULTS_H

#include "reader/tables/facts/facts.h"

#include <tracebed/analysis.h>

extern const struct table_source tbed_table_label_statistics, tbed_table_async_statistics;
extern const struct table_source tbed_table_instant_statistics, tbed_table_counter_statistics;
extern const struct table_source tbed_table_message_statistics, tbed_table_artifact_statistics;
extern const struct table_source tbed_table_tree, tbed_table_thread_tree;
extern const struct table_source tbed_table_sites, tbed_table_stack_sites, tbed_table_size_classes;
extern const struct table_source tbed_table_process_memory, tbed_table_allocations;
extern const struct table_source tbed_table_histogram, tbed_table_activity;

/* Names places in code for an analysis, by tbed_results_name() and tbed_results_prepare(). */
struct result_names {
    const struct tbed_reader *reader;
    bool is_out_of_memory; /* then the result is unusable */
};
size_t tbed_results_name(void *names, uint32_t id, char *buffer, size_t buffer_nbytes);
void tbed_results_prepare(void *names, const uint32_t *ids, size_t count);

/* Options for an analysis that a scan needs: threads, filter, cancelling, names. Sets up 'names', which is valid until then. */
struct tbed_analysis_options tbed_results_options(const struct tbed_scan *scan, struct result_names *names);

/* The status of such an analysis. */
static inline enum tbed_status results_status(enum tbed_status status, const struct result_names *names)
{
    return status == TBED_OK && names->is_out_of_memory ? TBED_ERR_MEMORY : status;
}

/* A duration that has no value if there is nothing that it is of. */
void tbed_results_put_span_if(struct table_rows *rows, unsigned column, const struct tbed_reader *reader,
                              uint64_t ticks, bool is_known);

#endif
