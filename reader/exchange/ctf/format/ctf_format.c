/*
 * The Common Trace Format in the registry of formats.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/ctf/export/ctf_export.h"
#include "reader/exchange/ctf/import/ctf_import.h"
#include "reader/exchange/shared/exchange_format.h"

const struct exchange_format tbed_exchange_ctf = {
    .about = {.kind = TBED_FOREIGN_CTF,
              .name = "ctf",
              .summary = "a folder of the Common Trace Format 1.8, of LTTng and others",
              .extensions = "",
              .can_import = true,
              .can_export = true,
              .has_export = true,
              .exports_folder = true,
              .exports_many = true,
              .skips = true},
    .has_path = tbed_ctf_folder_is,
    .open = tbed_ctf_source_open,
    .close = tbed_ctf_source_close,
    .import = tbed_ctf_source_import,
    .export_folder = tbed_ctf_export,
};
