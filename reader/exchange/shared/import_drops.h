/*
 * Counts the events that an import had to drop.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_IMPORT_DROPS_H
#define TRACEBED_EXCHANGE_IMPORT_DROPS_H

#include <tracebed/exchange.h>
#include <tracebed/writer.h>

/*
 * Adds the writer's drops of all causes to the report.
 *
 * Errors: those of drops whose cause can be removed, such as a full disk; the trace is then incomplete.
 */
enum tbed_status tbed_import_count_drops(const struct tbed_writer *writer, struct tbed_import_report *report,
                                         struct tbed_error *error);

#endif
