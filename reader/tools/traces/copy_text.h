/*
 * What 'tracebed cut' and 'tracebed merge' have in common.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_COPY_TEXT_H
#define TRACEBED_COPY_TEXT_H

#include "reader/tools/shared/tool.h"

#include <tracebed/copy.h>

/* Prints "OUT: WHAT: 12 events of 3 streams, 5 strings, 16.0 KiB", and what could not be copied. */
void copy_put_report(const char *to, const char *what, const struct tbed_copy_report *report);

/* Did the copy lose anything that its source has? */
bool copy_is_incomplete(const struct tbed_copy_report *report);

/* Complains that the copy failed. */
void copy_complain(const char *from, const char *to, const struct tbed_error *error);

#endif
