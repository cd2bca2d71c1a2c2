/*
 * Exports traces as any format, to a file that appears complete or not at all, to a descriptor or to a folder.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "reader/exchange/registry/registry.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <string.h>

/* ---- What is counted ---- */

static const struct {
    const char *key, *what, *explanation;
} notes[] = {
#define NOTE(name, key, what, explanation) {key, what, explanation},
    TBED_EXPORT_NOTE_LIST(NOTE)
#undef NOTE
};
_Static_assert(TBED_EXPORT_NOTE_COUNT <= TBED_EXPORT_NOTE_ROOM, "each note has a count");

const char *tbed_export_note_key(enum tbed_export_note note)
{
    return notes[note].key;
}

const char *tbed_export_note_what(enum tbed_export_note note)
{
    return notes[note].what;
}

const char *tbed_export_note_explanation(enum tbed_export_note note)
{
    return notes[note].explanation;
}

/* ---- The call ---- */

static bool ends_with(const char *name, const char *end)
{
    size_t nbytes = strlen(name), end_nbytes = strlen(end);
    return nbytes > end_nbytes && strcmp(name + nbytes - end_nbytes, end) == 0;
}

static enum tbed_compression compression_of(enum tbed_compression asked, const char *to)
{
    if (asked != TBED_COMPRESSION_BY_NAME)
        return asked;
    if (to == NULL)
        return TBED_COMPRESSION_NONE;
    if (ends_with(to, ".gz"))
        return TBED_COMPRESSION_GZIP;
    return ends_with(to, ".zst") ? TBED_COMPRESSION_ZSTD : TBED_COMPRESSION_NONE;
}

static bool applies(const struct exchange_format *format, const struct export_job *job, const char *to)
{
    const struct tbed_export_options *options = &job->options;
    return format != NULL && format->about.has_export && job->reader_count > 0 &&
           (job->reader_count == 1 || format->about.exports_many) &&
           (!options->by_memory || format->about.exports_memory) &&
           (options->table == NULL || format->about.takes_table) &&
           (options->host == NULL || format->about.takes_host) &&
           ((!options->absolute && !options->collapse_threads) || format->about.has_rows) &&
           ((!options->skip_instants && !options->skip_counters) || format->about.skips) &&
           (format->about.compresses || compression_of(options->compression, to) == TBED_COMPRESSION_NONE) &&
           (to != NULL || !format->about.exports_folder);
}

static enum tbed_status fail_plainly(struct tbed_error *error, enum tbed_status status)
{
    errno = 0;
    return tbed_exchange_fail(error, status);
}

/* To a descriptor. */
static enum tbed_status export_to(const struct exchange_format *format, const struct export_job *job, int fd,
                                  const char *to)
{
    struct export_out out;
    enum tbed_status status = tbed_export_out_open(&out, fd, compression_of(job->options.compression, to));
    if (status != TBED_OK)
        return fail_plainly(job->error, status);
    status = format->export_file(job, &out);
    bool has_failed = status != TBED_OK && out.write_errno == 0 && !out.text.is_out_of_memory;
    struct tbed_error closing;
    enum tbed_status closed = tbed_export_out_close(&out, &job->result->nbytes, &closing);
    if (has_failed)
        return status;
    if (closed != TBED_OK)
        *job->error = closing;
    return closed;
}

static enum tbed_status export_to_file(const struct exchange_format *format, const struct export_job *job,
                                       const char *to)
{
    struct new_file file;
    enum tbed_status status =
        tbed_new_file_open(to, job->options.overwrite,
                           tbed_new_file_mode_of_readers(job->readers, job->reader_count), &file, job->error);
    if (status != TBED_OK)
        return status;
    status = export_to(format, job, file.fd, to);
    if (status == TBED_OK)
        return tbed_new_file_commit(&file, job->error);
    tbed_new_file_abandon(&file);
    return status;
}

static enum tbed_status export_any(const struct tbed_format *about, struct tbed_reader *const *readers,
                                   size_t reader_count, const char *to, int fd,
                                   const struct tbed_export_options *given,
                                   struct tbed_export_result *result_ret, size_t result_nbytes,
                                   struct tbed_error *error_ret)
{
    struct tbed_export_result result = {.written = "event"};
    struct tbed_error error;
    const struct exchange_format *format = tbed_registry_of(about);
    struct export_job job = {
        .readers = readers, .reader_count = reader_count, .result = &result, .error = &error};
    if (!tbed_options_take(&job.options, sizeof job.options, given) || !applies(format, &job, to))
        return fail_plainly(error_ret, TBED_ERR_ARGUMENT);
    enum tbed_status status = format->about.exports_folder ? format->export_folder(&job, to)
                              : to != NULL                 ? export_to_file(format, &job, to)
                                                           : export_to(format, &job, fd, NULL);
    if (result_ret != NULL)
        tbed_sized_give(result_ret, result_nbytes, &result, sizeof result);
    if (status != TBED_OK && error_ret != NULL)
        *error_ret = error;
    return status;
}

enum tbed_status tbed_export_sized(const struct tbed_format *format, struct tbed_reader *const *readers,
                                   size_t reader_count, const char *to,
                                   const struct tbed_export_options *options,
                                   struct tbed_export_result *result_ret, struct tbed_error *error_ret,
                                   size_t result_nbytes)
{
    return export_any(format, readers, reader_count, to, -1, options, result_ret, result_nbytes, error_ret);
}

enum tbed_status tbed_export_fd_sized(const struct tbed_format *format, struct tbed_reader *const *readers,
                                      size_t reader_count, int fd, const struct tbed_export_options *options,
                                      struct tbed_export_result *result_ret, struct tbed_error *error_ret,
                                      size_t result_nbytes)
{
    return export_any(format, readers, reader_count, NULL, fd, options, result_ret, result_nbytes, error_ret);
}
