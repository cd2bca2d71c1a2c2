/*
 * What tables of results have in common; see results.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/results/results.h"

void tbed_results_prepare(void *names, const uint32_t *ids, size_t count)
{
    tbed_names_prepare(((const struct result_names *)names)->reader, ids, count, false);
}

/* The same as tbed_id_text(), which is silent when there is no memory. */
size_t tbed_results_name(void *context, uint32_t id, char *buffer, size_t buffer_nbytes)
{
    struct result_names *names = context;
    struct tbed_name name = {0};
    enum tbed_status status = tbed_name_get(names->reader, id, &name);
    if (status == TBED_ERR_CACHE_FULL)
        return tbed_id_text(names->reader, id, TBED_NAME_ALL, buffer, buffer_nbytes);
    names->is_out_of_memory |= status == TBED_ERR_MEMORY;
    if (buffer_nbytes > 0) {
        size_t nbytes = name.nbytes < buffer_nbytes ? name.nbytes : buffer_nbytes - 1;
        if (nbytes > 0)
            memcpy(buffer, name.text, nbytes);
        buffer[nbytes] = '\0';
    }
    return name.nbytes;
}

struct tbed_analysis_options tbed_results_options(const struct tbed_scan *scan, struct result_names *names)
{
    *names = (struct result_names){.reader = scan->reader};
    return (struct tbed_analysis_options){.size = sizeof(struct tbed_analysis_options),
                                          .thread_count = scan->options.thread_count,
                                          .name = tbed_results_name,
                                          .name_context = names,
                                          .prepare = tbed_results_prepare,
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
