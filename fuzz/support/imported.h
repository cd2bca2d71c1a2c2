/*
 * What must hold for any file of another tool that has been imported.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_FUZZ_IMPORTED_H
#define TRACEBED_FUZZ_IMPORTED_H

#include <tracebed/exchange.h>

/* Verifies the trace, and that its spans and other events are as many as the report says. */
void imported_check(struct tbed_reader *reader, const struct tbed_import_report *report);

#endif
