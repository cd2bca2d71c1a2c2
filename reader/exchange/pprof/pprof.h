/*
 * Shared by the files of pprof profiles.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_PPROF_H
#define TRACEBED_EXCHANGE_PPROF_H

#include "reader/exchange/pprof/import/pprof_fields.h"
#include "reader/exchange/shared/exchange_format.h"

enum tbed_status tbed_export_pprof(const struct export_job *job, struct export_out *out);

#endif
