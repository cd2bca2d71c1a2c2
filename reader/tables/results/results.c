/*
 * What tables of results have in common; see results.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/results/results.h"

static void prepare(void *context, const uint32_t *ids, size_t count)
{
    tbed_names_prepare(context, ids, count, false);
}

static size_t name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    return tbed_id_text(context, id, TBED_NAME_ALL, buffer, buffer_nbytes);
}

struct tbed_analysis_options tbed_results_options(const struct tbed_scan *scan)
{
    return (struct tbed_analysis_options){.size = sizeof(struct tbed_analysis_options),
                                          .thread_count = scan->options.thread_count,
                                          .name = name,
                                          .name_context = scan->reader,
                                          .prepare = prepare,
                                          .filter = scan->options.filter,
                                          .is_cancelled = scan->options.is_cancelled};
}

void tbed_results_put_span_if(struct table_rows *rows, unsigned column, const struct tbed_reader *reader,
                              uint64_t ticks, bool is_known)
{
    if (is_known)
        tbed_facts_put_span(rows, column, reader, ticks);
    else
        tbed_table_put_null(rows, column);
}
