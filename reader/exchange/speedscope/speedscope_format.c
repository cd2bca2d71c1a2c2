/*
 * Speedscope's profiles in the registry of formats.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/speedscope/speedscope.h"

const struct exchange_format tbed_exchange_speedscope = {
    .about = {.kind = TBED_FOREIGN_SPEEDSCOPE,
              .name = "speedscope",
              .summary = "the spans of each thread, or memory by stack, for speedscope",
              .extensions = ".speedscope.json",
              .can_export = true,
              .has_export = true,
              .exports_many = true,
              .exports_to_stdout = true,
              .exports_memory = true,
              .compresses = true},
    .export_file = tbed_export_speedscope,
};
