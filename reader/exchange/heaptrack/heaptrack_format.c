/*
 * Heaptrack's format in the registry of formats.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/heaptrack/heaptrack.h"

const struct exchange_format tbed_exchange_heaptrack = {
    .about = {.kind = TBED_FOREIGN_HEAPTRACK,
              .name = "heaptrack",
              .summary = "all allocations and frees, for heaptrack_print and heaptrack_gui",
              .extensions = ".heaptrack.gz .heaptrack.zst",
              .can_export = true,
              .has_export = true,
              .exports_to_stdout = true,
              .compresses = true},
    .export_file = tbed_export_heaptrack,
};
