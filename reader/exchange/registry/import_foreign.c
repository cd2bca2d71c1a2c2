/*
 * Imports a foreign file of any format, to a file or to a reader.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/core/system/regular_file.h"
#include "reader/exchange/registry/registry.h"
#include "reader/exchange/shared/new_file.h"

#include <sys/stat.h>
#include <unistd.h>

struct source {
    const struct exchange_format *format;
    void *file;
    unsigned mode; /* for a file that is made from it */
};

static unsigned mode_of(const char *path, int fd)
{
    int own = -1;
    if (path != NULL)
        tbed_regular_open(path, &own);
    unsigned mode = tbed_new_file_mode(path != NULL ? &own : &fd, 1);
    if (own >= 0)
        close(own);
    return mode;
}

/* A file of no known format is opened as a profile, to report why it is not one. */
static enum tbed_status source_open(const char *path, int fd, struct source *source, struct tbed_error *error)
{
    const struct exchange_format *format =
        path != NULL ? tbed_registry_of_path(path) : tbed_registry_of_fd(fd);
    *source = (struct source){.format = format != NULL ? format : &tbed_exchange_profile,
                              .mode = mode_of(path, fd)};
    return source->format->open(path, fd, &source->file, error);
}

static enum tbed_status source_write(const struct source *source, int fd, struct tbed_import_report *report,
                                     struct tbed_error *error)
{
    return source->format->import(source->file, fd, report, error);
}

static enum tbed_status import_to(const struct source *source, const char *to,
                                  const struct tbed_import_options *given, struct tbed_import_report *report,
                                  struct tbed_error *error)
{
    struct new_file trace;
    struct tbed_import_options options;
    if (!tbed_options_take(&options, sizeof options, given))
        return tbed_exchange_fail(error, TBED_ERR_ARGUMENT);
    enum tbed_status status = tbed_new_file_open(to, options.overwrite, 0600, &trace, error);
    if (status != TBED_OK)
        return status;
    status = source_write(source, trace.fd, report, error);
    if (status == TBED_OK)
        return tbed_new_file_commit(&trace, error);
    tbed_new_file_abandon(&trace);
    return status;
}

static enum tbed_status open_nameless(const struct source *source, struct tbed_reader **reader_ret,
                                      struct tbed_import_report *report, struct tbed_error *error)
{
    int fd = tbed_nameless_file();
    if (fd < 0)
        return tbed_exchange_fail(error, TBED_ERR_WRITE);
    enum tbed_status status = source_write(source, fd, report, error);
    fchmod(fd, source->mode); /* exports of the trace have at most these */
    if (status == TBED_OK)
        status = tbed_reader_open_fd(fd, NULL, reader_ret, error);
    close(fd);
    return status;
}

/* 'to' or 'reader_ret' is NULL. Takes ownership of the source. */
static enum tbed_status import_source(struct source *source, const char *to,
                                      const struct tbed_import_options *options,
                                      struct tbed_reader **reader_ret, struct tbed_import_report *report_ret,
                                      size_t report_nbytes, struct tbed_error *error_ret)
{
    struct tbed_import_report report = {0};
    enum tbed_status status = to != NULL ? import_to(source, to, options, &report, error_ret)
                                         : open_nameless(source, reader_ret, &report, error_ret);
    source->format->close(source->file);
    if (report_ret != NULL)
        tbed_sized_give(report_ret, report_nbytes, &report, sizeof report);
    return status;
}

enum tbed_status tbed_import_sized(const char *from, const char *to,
                                   const struct tbed_import_options *options,
                                   struct tbed_import_report *report_ret, struct tbed_error *error_ret,
                                   size_t report_nbytes)
{
    struct source source;
    enum tbed_status status = source_open(from, -1, &source, error_ret);
    return status == TBED_OK ? import_source(&source, to, options, NULL, report_ret, report_nbytes, error_ret)
                             : status;
}

enum tbed_status tbed_import_fd_sized(int from, const char *to, const struct tbed_import_options *options,
                                      struct tbed_import_report *report_ret, struct tbed_error *error_ret,
                                      size_t report_nbytes)
{
    struct source source;
    enum tbed_status status = source_open(NULL, from, &source, error_ret);
    return status == TBED_OK ? import_source(&source, to, options, NULL, report_ret, report_nbytes, error_ret)
                             : status;
}

enum tbed_status tbed_import_open_sized(const char *from, struct tbed_reader **reader_ret,
                                        struct tbed_import_report *report_ret, struct tbed_error *error_ret,
                                        size_t report_nbytes)
{
    struct source source;
    enum tbed_status status = source_open(from, -1, &source, error_ret);
    return status == TBED_OK
               ? import_source(&source, NULL, NULL, reader_ret, report_ret, report_nbytes, error_ret)
               : status;
}

enum tbed_status tbed_import_open_fd_sized(int from, struct tbed_reader **reader_ret,
                                           struct tbed_import_report *report_ret,
                                           struct tbed_error *error_ret, size_t report_nbytes)
{
    struct source source;
    enum tbed_status status = source_open(NULL, from, &source, error_ret);
    return status == TBED_OK
               ? import_source(&source, NULL, NULL, reader_ret, report_ret, report_nbytes, error_ret)
               : status;
}
