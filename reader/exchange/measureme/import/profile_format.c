/*
 * Profiles of measureme in the registry of formats.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/exchange/measureme/import/import.h"
#include "reader/exchange/shared/exchange_format.h"

static bool has_start(const char *start, size_t nbytes)
{
    return mm_is_profile((const uint8_t *)start, nbytes < 8 ? nbytes : 8);
}

static enum tbed_status open_profile(const char *path, int fd, void **source_ret,
                                     struct tbed_error *error_ret)
{
    struct mm_file *file = NULL;
    enum tbed_status status =
        path != NULL ? mm_open(path, &file, error_ret) : mm_open_fd(fd, &file, error_ret);
    *source_ret = file;
    return status;
}

static void close_profile(void *source)
{
    mm_close(source);
}

static enum tbed_status import_profile(const void *source, int fd, struct tbed_import_report *report,
                                       struct tbed_error *error_ret)
{
    return tbed_import_write(source, fd, report, error_ret);
}

const struct exchange_format tbed_exchange_profile = {
    .about = {.kind = TBED_FOREIGN_PROFILE,
              .name = "mm_profdata",
              .summary = "self-profile of rustc and measureme",
              .extensions = ".mm_profdata .events .string_data .string_index",
              .can_import = true,
              .can_export = true,
              .has_profile = true,
              .export_version_min = 8,
              .export_version_max = 9},
    .has_start = has_start,
    .has_path = mm_is_profile_path,
    .open = open_profile,
    .close = close_profile,
    .import = import_profile,
};
