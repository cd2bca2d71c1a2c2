/*
 * Shared by the files of folded stacks, Brendan Gregg's "a;b;c N".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_FOLDED_H
#define TRACEBED_EXCHANGE_FOLDED_H

#include "reader/exchange/shared/exchange_format.h"

enum tbed_status tbed_export_folded(const struct export_job *job, struct export_out *out);

#endif
