/*
 * Chrome's trace events in the registry of formats: export only.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/shared/exchange_format.h"

const struct exchange_format tbed_exchange_chrome = {
    .about = {.kind = TBED_FOREIGN_CHROME,
              .name = "chrome",
              .summary = "JSON for Perfetto, chrome://tracing, speedscope and Firefox",
              .extensions = ".json",
              .can_export = true,
              .exports_many = true,
              .exports_to_stdout = true},
};
