/*
 * What a foreign format must provide to be in the registry (exchange/registry). Each format's room defines one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_FORMAT_H
#define TRACEBED_EXCHANGE_FORMAT_H

#include <tracebed/exchange.h>

struct exchange_format {
    struct tbed_format about;

    /* The rest is NULL if files of the format cannot be imported. */

    /* Whether a file that starts with these bytes (at least one) is of the format. */
    bool (*has_start)(const char *start, size_t nbytes);

    /* Whether a path names one of several files that belong together; NULL: only the bytes decide. */
    bool (*has_path)(const char *path);

    /* Opens it by its path or, if that is NULL, by 'fd', which is not kept. */
    enum tbed_status (*open)(const char *path, int fd, void **source_ret, struct tbed_error *error_ret);
    void (*close)(void *source);

    /* Writes it as a trace to 'fd', a new file. */
    enum tbed_status (*import)(const void *source, int fd, struct tbed_import_report *report,
                               struct tbed_error *error_ret);
};

extern const struct exchange_format tbed_exchange_chrome, tbed_exchange_profile, tbed_exchange_rtl_log;

#endif
