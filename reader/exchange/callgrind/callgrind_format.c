/*
 * Callgrind's profiles in the registry of formats.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/callgrind/callgrind.h"

const struct exchange_format tbed_exchange_callgrind = {
    .about = {.kind = TBED_FOREIGN_CALLGRIND,
              .name = "callgrind",
              .summary = "time or memory by function and call, for KCachegrind",
              .extensions = ".callgrind callgrind.out",
              .can_export = true,
              .has_export = true,
              .exports_many = true,
              .exports_to_stdout = true,
              .exports_memory = true,
              .compresses = true},
    .export_file = tbed_export_callgrind,
};
