/*
 * Chrome's trace events in the registry of formats.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/chrome/chrome.h"
#include "reader/exchange/chrome/import/chrome_import.h"
#include "reader/exchange/foreign/foreign_file.h"

const struct exchange_format tbed_exchange_chrome = {
    .about = {.kind = TBED_FOREIGN_CHROME,
              .name = "chrome",
              .summary = "JSON for Perfetto, chrome://tracing, speedscope and Firefox",
              .extensions = ".json .json.gz",
              .can_import = true,
              .can_export = true,
              .has_export = true,
              .compresses = true,
              .skips = true,
              .has_rows = true,
              .exports_many = true,
              .exports_to_stdout = true},
    .export_file = tbed_chrome_export_file,
    .has_start = tbed_chrome_has_start,
    .open = tbed_foreign_file_open,
    .close = tbed_foreign_file_close,
    .import = tbed_chrome_import,
};
