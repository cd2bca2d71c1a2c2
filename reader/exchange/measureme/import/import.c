/*
 * A foreign file becomes a bed: what is public, and how that is done with a profile of measureme.
 *
 * Strings and events are independent of each other in a profile, and go on threads of their own.
 *
 * Source: spec/measureme.md, "Import".
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/measureme/import/import.h"
#include "reader/exchange/rtl_log/rtl_log.h"
#include "reader/exchange/shared/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NS_PER_S            1000000000u
#define METADATA_NBYTES_MAX ((size_t)16 << 20)
#define START_NBYTES        4096  /* of a file, by which its kind is told */
#define PARALLEL_EVENT_MIN  10000 /* fewer are done before a thread has started */

/* ---- Metadata ---- */

/* The text of an id's entry, references left out, as far as it goes. The caller frees it; NULL: there is none. */
static char *entry_text(const struct mm_file *file, uint64_t id, size_t *nbytes_ret, bool *is_whole_ret)
{
    struct mm_string_walk walk;
    struct mm_component component;
    enum tbed_status status;
    uint64_t address;
    char *text = NULL;
    size_t nbytes = 0;
    *is_whole_ret = false;
    if (!mm_string_address(file, id, &address))
        return NULL;
    mm_string_walk_start(file, address, &walk);
    while ((status = mm_component_next(&walk, &component)) == TBED_OK) {
        size_t more = component.is_reference ? 0 : component.nbytes;
        if (more > METADATA_NBYTES_MAX - nbytes)
            break;
        char *grown = realloc(text, nbytes + more + 1);
        if (grown == NULL)
            break;
        text = grown;
        if (more > 0)
            memcpy(text + nbytes, component.text, more);
        nbytes += more;
    }
    *is_whole_ret = status == TBED_END;
    *nbytes_ret = nbytes;
    return text;
}

void tbed_import_metadata_read(const struct mm_file *file, uint64_t id, struct import_metadata *metadata_ret)
{
    size_t nbytes = 0;
    bool is_whole;
    char *text = entry_text(file, id, &nbytes, &is_whole);
    tbed_import_metadata_scan(text != NULL ? text : "", nbytes, metadata_ret);
    free(text);
    if (is_whole)
        return;
    metadata_ret->has_start = false; /* the bed has no metadata to tell that its ticks are the profile's */
    metadata_ret->start_realtime_ns = 0;
}

/* ---- Into a bed ---- */

static enum tbed_status open_bed(struct import *import, int fd, struct tbed_error *error)
{
    struct import_metadata metadata;
    tbed_import_metadata_read(import->file, import->info.metadata_id, &metadata);
    struct tbed_writer_options options = {
        .size = sizeof options,
        .process_name = metadata.process_name,
        .process_pid = metadata.pid != 0 ? metadata.pid : TBED_PID_UNKNOWN,
        .first_reserved_id = IMPORT_FIRST_FRESH,
        .given_ticks = true,
        .given_ticks_per_second = metadata.is_count ? 0 : NS_PER_S,
        .given_realtime_ns = metadata.is_count ? 0 : metadata.start_realtime_ns,
        .user_clock_unit = metadata.is_count ? metadata.unit : NULL,
    };
    return tbed_writer_open_fd(fd, &options, &import->writer, error);
}

static void *run_strings(void *import)
{
    return tbed_import_strings(import) == TBED_OK ? NULL : import;
}

static enum tbed_status import_both(struct import *import)
{
    pthread_t thread;
    /* The old formats take fresh ids for all strings: one after the other, these come in the same order each time. */
    bool is_parallel = import->info.version >= 4 && import->info.event_count >= PARALLEL_EVENT_MIN &&
                       pthread_create(&thread, NULL, run_strings, import) == 0;
    enum tbed_status status = is_parallel ? TBED_OK : tbed_import_strings(import);
    void *failed = NULL;
    if (status == TBED_OK)
        status = tbed_import_events(import);
    if (is_parallel)
        pthread_join(thread, &failed);
    if (failed != NULL)
        return TBED_ERR_MEMORY;
    return status == TBED_OK ? tbed_import_strings_finish(import) : status;
}

/* Drops that mean that the bed is not what the profile was, for a reason that can be mended. */
enum tbed_status tbed_import_count_drops(const struct tbed_writer *writer, struct tbed_import_report *report,
                                         struct tbed_error *error)
{
    static const struct {
        enum tbed_drop_cause cause;
        enum tbed_status status;
    } fatal[] = {{TBED_DROP_DISK_FULL, TBED_ERR_DISK_FULL},
                 {TBED_DROP_SIZE_LIMIT, TBED_ERR_WRITE}, /* of the process, or of the file system */
                 {TBED_DROP_IO_ERROR, TBED_ERR_WRITE},
                 {TBED_DROP_NO_MEMORY, TBED_ERR_MEMORY}};
    for (unsigned cause = 0; cause < TBED_DROP_CAUSE_COUNT; cause++)
        report->drop_count += tbed_writer_drop_count(writer, cause);
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++) {
        errno = fatal[i].cause == TBED_DROP_SIZE_LIMIT ? EFBIG : 0;
        if (tbed_writer_drop_count(writer, fatal[i].cause) > 0)
            return tbed_exchange_fail(error, fatal[i].status);
    }
    return TBED_OK;
}

static void report_damage(const struct import *import)
{
    struct tbed_import_report *report = import->report;
    const struct import_damage *more = &import->string_damage;
    struct mm_damage damage;
    size_t kept = 0;
    for (; kept < TBED_IMPORT_DAMAGE_KEPT && mm_damage_get(import->file, kept, &damage); kept++)
        report->damages[kept] =
            (struct tbed_import_damage){damage.status, (uint32_t)damage.file, damage.offset, damage.detail};
    for (size_t i = 0; kept < TBED_IMPORT_DAMAGE_KEPT && i < more->count; i++)
        report->damages[kept++] = more->kept[i];
    report->damage_count = import->info.damage_count + more->count;
}

enum tbed_status tbed_import_write(const struct mm_file *file, int fd, struct tbed_import_report *report,
                                   struct tbed_error *error_ret)
{
    struct import import = {.file = file, .report = report};
    mm_info(file, &import.info);
    *report = (struct tbed_import_report){.kind = TBED_FOREIGN_PROFILE,
                                          .version = import.info.version,
                                          .file_nbytes = import.info.file_nbytes,
                                          .unpaired_count = import.info.unmatched_start_count +
                                                            import.info.unmatched_end_count};
    enum tbed_status status = open_bed(&import, fd, error_ret);
    if (status != TBED_OK)
        return status;
    tbed_import_ids_start(&import.ids, import.writer, &import.info);
    bool has_marks = tbed_import_marks_open(&import.marks, file, &import.info);
    status = has_marks ? import_both(&import) : TBED_ERR_MEMORY;
    tbed_import_strings_free(&import);
    tbed_import_marks_close(&import.marks);
    errno = ENOMEM;
    if (status != TBED_OK)
        tbed_exchange_fail(error_ret, status);
    else
        status = tbed_import_count_drops(import.writer, report, error_ret);
    tbed_writer_free(import.writer);
    tbed_import_ids_end(&import.ids);
    report_damage(&import);
    return status;
}

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
                                  const struct tbed_import_options *options,
                                  struct tbed_import_report *report, struct tbed_error *error)
{
    struct new_file bed;
    bool overwrite = options != NULL && options->overwrite;
    enum tbed_status status = tbed_new_file_open(to, overwrite, 0600, &bed, error);
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
                                      struct tbed_error *error_ret)
{
    struct tbed_import_report report = {0};
    enum tbed_status status = to != NULL ? import_to(source, to, options, &report, error_ret)
                                         : open_nameless(source, reader_ret, &report, error_ret);
    source_close(source);
    if (report_ret != NULL)
        *report_ret = report;
    return status;
}

enum tbed_status tbed_import(const char *from, const char *to, const struct tbed_import_options *options,
                             struct tbed_import_report *report_ret, struct tbed_error *error_ret)
{
    struct source source;
    enum tbed_status status = source_open(from, &source, error_ret);
    return status == TBED_OK ? import_source(&source, to, options, NULL, report_ret, error_ret) : status;
}

enum tbed_status tbed_import_fd(int from, const char *to, const struct tbed_import_options *options,
                                struct tbed_import_report *report_ret, struct tbed_error *error_ret)
{
    struct source source;
    enum tbed_status status = source_open_fd(from, &source, error_ret);
    return status == TBED_OK ? import_source(&source, to, options, NULL, report_ret, error_ret) : status;
}

enum tbed_status tbed_import_open(const char *from, struct tbed_reader **reader_ret,
                                  struct tbed_import_report *report_ret, struct tbed_error *error_ret)
{
    struct source source;
    enum tbed_status status = source_open(from, &source, error_ret);
    return status == TBED_OK ? import_source(&source, NULL, NULL, reader_ret, report_ret, error_ret) : status;
}

enum tbed_status tbed_import_open_fd(int from, struct tbed_reader **reader_ret,
                                     struct tbed_import_report *report_ret, struct tbed_error *error_ret)
{
    struct source source;
    enum tbed_status status = source_open_fd(from, &source, error_ret);
    return status == TBED_OK ? import_source(&source, NULL, NULL, reader_ret, report_ret, error_ret) : status;
}
