/*
 * Declarations shared by the files of the Chrome trace-event export.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_CHROME_H
#define TRACEBED_EXCHANGE_CHROME_H

#include <tracebed/exchange.h>

#include "reader/exchange/chrome/chrome_names.h"
#include "reader/exchange/events/export_json.h"
#include "reader/exchange/events/export_start.h"
#include "reader/exchange/events/export_threads.h"
#include "reader/exchange/shared/exchange_format.h"

/* The export as tbed_export() asks for it. */
enum tbed_status tbed_chrome_export_file(const struct export_job *job, struct export_out *out);

#endif
