/*
 * What tables of facts have in common; see facts.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tables/facts/facts.h"

enum tbed_status tbed_facts_open_index(struct tbed_scan *scan)
{
    scan->state = calloc(1, sizeof(size_t));
    return scan->state != NULL ? TBED_OK : TBED_ERR_MEMORY;
}

void tbed_facts_close(struct tbed_scan *scan)
{
    free(scan->state);
}

void tbed_facts_put_tick(struct table_rows *rows, unsigned column, const struct tbed_reader *reader,
                         uint64_t tick)
{
    if (tick != 0)
        table_put_i64(rows, column, tbed_ticks_to_ns(reader, tick));
    else
        tbed_table_put_null(rows, column);
}
