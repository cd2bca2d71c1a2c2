/*
 * Chrome's trace events in the registry of formats: export only.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/chrome/chrome.h"

const struct exchange_format tbed_exchange_chrome = {
    .about = {.kind = TBED_FOREIGN_CHROME,
              .name = "chrome",
              .summary = "JSON for Perfetto, chrome://tracing, speedscope and Firefox",
              .extensions = ".json",
              .can_export = true,
              .has_export = true,
              .compresses = true,
              .skips = true,
              .has_rows = true,
              .exports_many = true,
              .exports_to_stdout = true},
    .export_file = tbed_chrome_export_file,
};
