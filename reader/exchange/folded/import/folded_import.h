/*
 * Imports of folded stacks; see folded_import.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_FOLDED_IMPORT_H
#define TRACEBED_EXCHANGE_FOLDED_IMPORT_H

#include <tracebed/exchange.h>

/* For the registry; see exchange_format.h. */
bool tbed_folded_has_start(const char *start, size_t nbytes);
enum tbed_status tbed_folded_import(const void *source, int fd, struct tbed_import_report *report,
                                    struct tbed_error *error_ret);

#endif
