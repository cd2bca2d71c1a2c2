/*
 * A profile of measureme as tables, read in place: spans, instants and events in any order, without what only a trace has.
 * Everything else imports it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TABLES_PROFILE_H
#define TRACEBED_TABLES_PROFILE_H

#include "reader/tables/base/table.h"

#include <tracebed/exchange.h>

/* Errors: those of mm_open(). */
enum tbed_status tbed_profile_tables_open(const char *path, struct tbed_tables **tables_ret,
                                          struct tbed_error *error_ret);

/* Keeps the damage that an import has found. Errors: ERR_MEMORY. */
enum tbed_status tbed_profile_keep_damage(struct tbed_tables *tables,
                                          const struct tbed_import_report *report);

#endif
