/*
 * Schemas of Arrow for tables. Not for users of the library.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_ARROW_SCHEMA_H
#define TRACEBED_ARROW_SCHEMA_H

#include <tracebed/arrow.h>

/* The columns in 'columns', a bit each. False: no memory. */
bool tbed_arrow_schema_make(const struct tbed_table *table, uint64_t columns, struct ArrowSchema *schema_ret);

#endif
