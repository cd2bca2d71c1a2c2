/*
 * Which format a foreign file has, and its import as a trace. Every format has a line in the table of this file.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "format/sized.h"
#include "reader/exchange/measureme/import/import.h"
#include "reader/exchange/rtl_log/rtl_log.h"
#include "reader/exchange/shared/new_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_NBYTES 4096 /* of a file, by which its kind is told */

/* ---- A file of either kind ---- */

struct source {
    struct mm_file *profile; /* NULL: a log */
    struct rtl_text log;
};

static enum tbed_foreign_kind kind_of(int fd)
{
    char start[START_NBYTES];
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return TBED_FOREIGN_NONE;
    ssize_t nbytes = pread(fd, start, sizeof start, 0);
    if (nbytes <= 0 || (nbytes >= 8 && memcmp(start, "tracebed", 8) == 0))
        return TBED_FOREIGN_NONE;
    if (mm_is_profile((const uint8_t *)start, (size_t)nbytes < 8 ? (size_t)nbytes : 8))
        return TBED_FOREIGN_PROFILE;
    return tbed_rtl_is_log(start, (size_t)nbytes) ? TBED_FOREIGN_RTL_LOG : TBED_FOREIGN_NONE;
}

static enum tbed_status log_map(int fd, struct source *source, struct tbed_error *error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return tbed_exchange_fail(error, TBED_ERR_READ);
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        return tbed_exchange_fail(error, TBED_ERR_MAP);
    source->log = (struct rtl_text){bytes, (size_t)status.st_size};
    return TBED_OK;
}

static enum tbed_status source_open_fd(int fd, struct source *source, struct tbed_error *error)
{
    *source = (struct source){0};
    return kind_of(fd) == TBED_FOREIGN_RTL_LOG ? log_map(fd, source, error)
                                               : mm_open_fd(fd, &source->profile, error);
}

static enum tbed_status source_open(const char *path, struct source *source, struct tbed_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_log = fd >= 0 && !mm_is_profile_path(path) && kind_of(fd) == TBED_FOREIGN_RTL_LOG;
    *source = (struct source){0};
    enum tbed_status status = is_log ? log_map(fd, source, error) : mm_open(path, &source->profile, error);
    if (fd >= 0)
        close(fd);
    return status;
}

static void source_close(struct source *source)
{
    if (source->log.bytes != NULL)
        munmap((void *)source->log.bytes, source->log.nbytes);
    else
        mm_close(source->profile);
}

static enum tbed_status source_write(const struct source *source, int fd, struct tbed_import_report *report,
                                     struct tbed_error *error)
{
    return source->profile == NULL ? tbed_rtl_import(&source->log, fd, report, error)
                                   : tbed_import_write(source->profile, fd, report, error);
}

/* ---- What is public ---- */

enum tbed_foreign_kind tbed_foreign_find_fd(int fd)
{
    return kind_of(fd);
}

enum tbed_foreign_kind tbed_foreign_find(const char *path)
{
    if (mm_is_profile_path(path))
        return TBED_FOREIGN_PROFILE;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum tbed_foreign_kind kind = fd >= 0 ? kind_of(fd) : TBED_FOREIGN_NONE;
    if (fd >= 0)
        close(fd);
    return kind == TBED_FOREIGN_RTL_LOG ? kind : TBED_FOREIGN_NONE;
}

static enum tbed_status import_to(const struct source *source, const char *to,
                                  const struct tbed_import_options *given, struct tbed_import_report *report,
                                  struct tbed_error *error)
{
    struct new_file bed;
    struct tbed_import_options options;
    if (!tbed_options_take(&options, sizeof options, given))
        return tbed_exchange_fail(error, TBED_ERR_ARGUMENT);
    enum tbed_status status = tbed_new_file_open(to, options.overwrite, 0600, &bed, error);
    if (status != TBED_OK)
        return status;
    status = source_write(source, bed.fd, report, error);
    if (status == TBED_OK)
        return tbed_new_file_commit(&bed, error);
    tbed_new_file_abandon(&bed);
    return status;
}

static enum tbed_status open_nameless(const struct source *source, struct tbed_reader **reader_ret,
                                      struct tbed_import_report *report, struct tbed_error *error)
{
    int fd = tbed_nameless_file();
    if (fd < 0)
        return tbed_exchange_fail(error, TBED_ERR_WRITE);
    enum tbed_status status = source_write(source, fd, report, error);
    if (status == TBED_OK)
        status = tbed_reader_open_fd(fd, NULL, reader_ret, error);
    close(fd);
    return status;
}

/* 'to' or 'reader_ret' is NULL. Takes the source. */
static enum tbed_status import_source(struct source *source, const char *to,
                                      const struct tbed_import_options *options,
                                      struct tbed_reader **reader_ret, struct tbed_import_report *report_ret,
                                      size_t report_nbytes, struct tbed_error *error_ret)
{
    struct tbed_import_report report = {0};
    enum tbed_status status = to != NULL ? import_to(source, to, options, &report, error_ret)
                                         : open_nameless(source, reader_ret, &report, error_ret);
    source_close(source);
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
    enum tbed_status status = source_open(from, &source, error_ret);
    return status == TBED_OK ? import_source(&source, to, options, NULL, report_ret, report_nbytes, error_ret)
                             : status;
}

enum tbed_status tbed_import_fd_sized(int from, const char *to, const struct tbed_import_options *options,
                                      struct tbed_import_report *report_ret, struct tbed_error *error_ret,
                                      size_t report_nbytes)
{
    struct source source;
    enum tbed_status status = source_open_fd(from, &source, error_ret);
    return status == TBED_OK ? import_source(&source, to, options, NULL, report_ret, report_nbytes, error_ret)
                             : status;
}

enum tbed_status tbed_import_open_sized(const char *from, struct tbed_reader **reader_ret,
                                        struct tbed_import_report *report_ret, struct tbed_error *error_ret,
                                        size_t report_nbytes)
{
    struct source source;
    enum tbed_status status = source_open(from, &source, error_ret);
    return status == TBED_OK
               ? import_source(&source, NULL, NULL, reader_ret, report_ret, report_nbytes, error_ret)
               : status;
}

enum tbed_status tbed_import_open_fd_sized(int from, struct tbed_reader **reader_ret,
                                           struct tbed_import_report *report_ret,
                                           struct tbed_error *error_ret, size_t report_nbytes)
{
    struct source source;
    enum tbed_status status = source_open_fd(from, &source, error_ret);
    return status == TBED_OK
               ? import_source(&source, NULL, NULL, reader_ret, report_ret, report_nbytes, error_ret)
               : status;
}
