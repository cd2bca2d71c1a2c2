/*
 * pprof profiles in the registry of formats.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/foreign/foreign_file.h"
#include "reader/exchange/pprof/import/pprof_import.h"
#include "reader/exchange/pprof/pprof.h"

const struct exchange_format tbed_exchange_pprof = {
    .about = {.kind = TBED_FOREIGN_PPROF,
              .name = "pprof",
              .summary = "time or memory by stack, for pprof and its relatives",
              .extensions = ".pb.gz .pprof",
              .can_import = true,
              .can_export = true,
              .has_export = true,
              .exports_many = true,
              .exports_to_stdout = true,
              .exports_memory = true,
              .compresses = true},
    .export_file = tbed_export_pprof,
    .has_start = tbed_pprof_has_start,
    .open = tbed_foreign_file_open,
    .close = tbed_foreign_file_close,
    .import = tbed_pprof_import,
};
