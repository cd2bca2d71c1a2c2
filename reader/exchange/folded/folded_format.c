/*
 * Folded stacks in the registry of formats.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/folded/folded.h"
#include "reader/exchange/folded/import/folded_import.h"
#include "reader/exchange/foreign/foreign_file.h"

const struct exchange_format tbed_exchange_folded = {
    .about = {.kind = TBED_FOREIGN_FOLDED,
              .name = "folded",
              .summary = "folded stacks, \"a;b;c N\", for flame graph tools",
              .extensions = ".folded .collapsed",
              .can_import = true,
              .can_export = true,
              .has_export = true,
              .exports_many = true,
              .exports_to_stdout = true,
              .exports_memory = true,
              .compresses = true},
    .export_file = tbed_export_folded,
    .has_start = tbed_folded_has_start,
    .open = tbed_foreign_file_open,
    .close = tbed_foreign_file_close,
    .import = tbed_folded_import,
};
