/*
 * What a foreign format must provide to be in the registry (exchange/registry). Each format's room defines one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_FORMAT_H
#define TRACEBED_EXCHANGE_FORMAT_H

#include "reader/exchange/out/export_out.h"

#include <tracebed/exchange.h>
#include <tracebed/export.h>

/* An export that has been asked for. */
struct export_job {
    struct tbed_reader *const *readers;
    size_t reader_count; /* 1, unless the format exports many */
    struct tbed_export_options options;
    struct tbed_export_result *result; /* zeroed */
    struct tbed_error *error;          /* never NULL */
};

/* The filter of a trace; NULL: everything. */
static inline const struct tbed_filter *tbed_export_job_filter(const struct export_job *job, size_t index)
{
    return job->options.filters != NULL ? job->options.filters[index] : NULL;
}

struct exchange_format {
    struct tbed_format about;

    /* The next five are NULL if files of the format cannot be imported. */

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

    /* One of these, if tbed_export() writes the format. It fills job->error if it fails, unless writing fails. */
    enum tbed_status (*export_file)(const struct export_job *job, struct export_out *out);
    enum tbed_status (*export_folder)(const struct export_job *job, const char *to);
};

extern const struct exchange_format tbed_exchange_chrome, tbed_exchange_profile, tbed_exchange_rtl_log,
    tbed_exchange_parquet, tbed_exchange_csv, tbed_exchange_ndjson, tbed_exchange_folded, tbed_exchange_pprof,
    tbed_exchange_spall, tbed_exchange_callgrind, tbed_exchange_speedscope, tbed_exchange_heaptrack,
    tbed_exchange_perfetto, tbed_exchange_uftrace, tbed_exchange_firefox, tbed_exchange_otlp,
    tbed_exchange_ctf;

#endif
