/*
 * Traces as folders of Parquet files and of CTF, and a table as compressed CSV: all succeed, whatever the traces contain. While
 * memory runs out or a file call fails, the export succeeds or says why not, and leaves no half-written file.
 *
 * Four bytes behind the last whole page are a plan for failures (fuzz/support/failing.h); its number of runs, of which there
 * are a few, also chooses the compression and the table.
 *
 * Mutator: trace
 * Link with: -Wl,--wrap=dlopen,--wrap=openat,--wrap=close
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/support/exported.h"
#include "fuzz/support/failing.h"
#include "fuzz/support/failing_exchange.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"
#include "fuzz/support/strict_parquet.h"

#define RUNS_MAX 12

struct work {
    const uint8_t *data;
    size_t nbytes;
    const char *table; /* NULL: all */
    enum tbed_compression compression;
    enum tbed_foreign_kind kind; /* CSV, or a folder: PARQUET or CTF */
    int file_errno;              /* 0: memory fails */
};

/* ---- The folder ---- */

static unsigned file_count;

static int look_at(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)ftw;
    const char *end = strrchr(path, '.');
    if (type == FTW_F) {
        bool is_ctf = strstr(path, "/metadata") != NULL || strstr(path, "/stream-") != NULL;
        REQUIRE(is_ctf || (end != NULL && strcmp(end, ".parquet") == 0 && status->st_size > 0));
        file_count++;
    }
    return remove(path);
}

/* Every file in it has its full name. Removes it, and returns how many there were. */
static unsigned take_files(const char *path)
{
    file_count = 0;
    nftw(path, look_at, 8, FTW_DEPTH | FTW_PHYS);
    return file_count;
}

/* ---- Exports ---- */

static enum tbed_status make_export(const struct work *work, struct tbed_reader *reader, const char *to)
{
    struct tbed_reader *readers[] = {reader, reader};
    struct tbed_export_result result;
    struct tbed_error error = {.status = TBED_OK};
    bool is_parquet = work->kind == TBED_FOREIGN_PARQUET;
    struct tbed_export_options options = {.size = sizeof options, .overwrite = true, .thread_count = 1};
    if (work->kind != TBED_FOREIGN_CTF) {
        options.compression = work->compression;
        options.table = work->table; /* NULL: all, or "spans" as CSV */
    }
    if (is_parquet && work->table != NULL)
        options.host = "host";
    enum tbed_status status =
        tbed_export(format_of_kind(work->kind), readers, is_parquet ? 2 : 1, to, &options, &result, &error);
    REQUIRE(status == error.status);
    return status;
}

static void export_failing(void *given)
{
    const struct work *work = given;
    struct tbed_reader *reader = open_input(work->data, work->nbytes);
    const char *to = scratch_path("columns");
    REQUIRE(reader != NULL);
    if (work->file_errno != 0)
        failing_start_files(work->file_errno);
    else
        failing_start();
    enum tbed_status status = make_export(work, reader, to);
    failing_stop();
    REQUIRE(status == TBED_OK || failing_count() > 0);
    if (work->kind == TBED_FOREIGN_CSV)
        unlink(scratch_path("columns"));
    else
        take_files(scratch_path("columns"));
    tbed_reader_close(reader);
}

static void try_all(struct work *work, const struct failing_plan *plan)
{
    failing_run(plan, export_failing, work);
    for (size_t i = 0; i < FAILING_ERRNO_COUNT; i++) {
        work->file_errno = failing_errnos[i];
        failing_run(plan, export_failing, work);
    }
    work->file_errno = 0;
}

/* ---- Libraries that are missing ---- */

static bool has_no_libraries;

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags)
{
    return has_no_libraries ? NULL : __real_dlopen(name, flags);
}

/* Without libzstd, folders of Parquet are compressed by gzip, unless Zstandard was asked for. */
static void check_library(struct tbed_reader *reader)
{
    struct tbed_export_options options = {.size = sizeof options, .overwrite = true, .table = "info"};
    const struct tbed_format *parquet = format_of_kind(TBED_FOREIGN_PARQUET),
                             *csv = format_of_kind(TBED_FOREIGN_CSV);
    const char *to = scratch_path("columns");
    struct tbed_export_result result;
    has_no_libraries = true;
    REQUIRE(tbed_export(parquet, &reader, 1, to, &options, &result, NULL) == TBED_OK);
    REQUIRE(take_files(scratch_path("columns")) == 1 && result.notes[TBED_EXPORT_NOTE_GZIP] == 1);
    options.compression = TBED_COMPRESSION_ZSTD;
    REQUIRE(tbed_export(parquet, &reader, 1, scratch_path("columns"), &options, NULL, NULL) ==
            TBED_ERR_NO_LIBRARY);
    REQUIRE(tbed_export(csv, &reader, 1, scratch_path("columns"), &options, NULL, NULL) ==
            TBED_ERR_NO_LIBRARY);
    has_no_libraries = false;
}

/* ---- Files that fail in a folder of CTF ---- */

static const char *failing_name; /* cannot be made; NULL: all can */
static bool close_fails;

int __real_openat(int folder, const char *name, int flags, mode_t mode);
int __wrap_openat(int folder, const char *name, int flags, ...);
int __wrap_openat(int folder, const char *name, int flags, ...)
{
    va_list values;
    va_start(values, flags);
    mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(values, mode_t) : 0;
    va_end(values);
    errno = EIO;
    return failing_name != NULL && strcmp(name, failing_name) == 0 ? -1
                                                                   : __real_openat(folder, name, flags, mode);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    int result = __real_close(fd);
    errno = close_fails ? EIO : errno;
    return close_fails ? -1 : result;
}

static enum tbed_status export_ctf(struct tbed_reader *reader, const char *to, bool overwrite)
{
    struct tbed_export_options options = {.size = sizeof options, .overwrite = overwrite};
    return tbed_export(format_of_kind(TBED_FOREIGN_CTF), &reader, 1, to, &options, NULL, NULL);
}

/* Without threads there are no streams, whose files could fail. */
static void check_ctf(struct tbed_reader *reader)
{
    char path[4096];
    failing_name = "metadata";
    REQUIRE(export_ctf(reader, scratch_path("columns"), true) == TBED_ERR_WRITE);
    failing_name = "stream-0";
    enum tbed_status status = export_ctf(reader, scratch_path("columns"), true);
    bool has_streams = status != TBED_OK;
    REQUIRE(status == TBED_OK || status == TBED_ERR_WRITE);
    failing_name = NULL;
    close_fails = true;
    status = export_ctf(reader, scratch_path("columns"), true);
    close_fails = false;
    REQUIRE(status == (has_streams ? TBED_ERR_WRITE : TBED_OK));
    REQUIRE(export_ctf(reader, scratch_path("columns"), true) == TBED_OK);
    scratch_put(scratch_path("columns/other"), "", 0);
    REQUIRE(export_ctf(reader, scratch_path("columns"), true) == TBED_ERR_EXISTS);
    REQUIRE(unlink(scratch_path("columns/other")) == 0);
    take_files(scratch_path("columns"));
    scratch_put(scratch_path("columns"), "", 0);
    REQUIRE(export_ctf(reader, scratch_path("columns"), true) == TBED_ERR_NOT_REGULAR);
    REQUIRE(unlink(scratch_path("columns")) == 0);
    REQUIRE(export_ctf(reader, scratch_path("columns///"), false) == TBED_OK);
    take_files(scratch_path("columns"));
    REQUIRE(export_ctf(reader, scratch_path("nothing/columns"), false) == TBED_ERR_OPEN);
    memset(path, 'x', sizeof path);
    path[sizeof path - 2] = '\0';
    REQUIRE(export_ctf(reader, path, false) == TBED_ERR_ARGUMENT);
    struct tbed_reader *readers[] = {reader, reader};
    struct tbed_export_options options = {.size = sizeof options};
    REQUIRE(tbed_export(format_of_kind(TBED_FOREIGN_CTF), readers, 2, scratch_path("columns"), &options, NULL,
                        NULL) == TBED_OK);
    take_files(scratch_path("columns"));
}

/* ---- What is refused ---- */

/* A folder that has the file already, that is a file, or whose files would have too long a path. */
static void check_folders(struct tbed_reader *reader)
{
    struct tbed_export_options options = {.size = sizeof options, .table = "info"};
    const struct tbed_format *parquet = format_of_kind(TBED_FOREIGN_PARQUET);
    struct tbed_trace_info info;
    struct tbed_error error;
    char path[4096];
    tbed_reader_info(reader, &info);
    REQUIRE(tbed_export(parquet, &reader, 1, scratch_path("columns"), &options, NULL, NULL) == TBED_OK);
    REQUIRE(tbed_export(parquet, &reader, 1, scratch_path("columns"), &options, NULL, &error) ==
            TBED_ERR_EXISTS);
    REQUIRE(error.detail == info.file_id);
    memset(path, '/', sizeof path);
    const char *folder = scratch_path("columns");
    memcpy(path + sizeof path - 32 - strlen(folder), folder, strlen(folder));
    path[sizeof path - 32] = '\0';
    REQUIRE(tbed_export(parquet, &reader, 1, path, &options, NULL, &error) == TBED_ERR_OPEN);
    REQUIRE(error.system_errno == ENAMETOOLONG);
    take_files(scratch_path("columns"));
    scratch_put(scratch_path("columns"), "", 0);
    REQUIRE(tbed_export(parquet, &reader, 1, scratch_path("columns"), &options, NULL, NULL) == TBED_ERR_OPEN);
    options.table = "histogram"; /* of what */
    REQUIRE(tbed_export(parquet, &reader, 1, scratch_path("columns"), &options, NULL, NULL) ==
            TBED_ERR_ARGUMENT);
    REQUIRE(unlink(scratch_path("columns")) == 0);
}

/* Options that a format does not have are refused. */
static void check_refusals(struct tbed_reader *reader)
{
    struct tbed_reader *readers[] = {reader, reader};
    struct tbed_export_options plain = {.size = sizeof plain, .overwrite = true}, options[8];
    const char *to = scratch_path("refused");
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        options[i] = plain;
    options[0].by_memory = true;
    options[1].host = "host";
    options[2].absolute = true;
    options[3].collapse_threads = true;
    options[4].skip_instants = true;
    options[5].skip_counters = true;
    options[6].table = "nothing";
    options[7].size = 0;
    const struct tbed_format *csv = format_of_kind(TBED_FOREIGN_CSV), *ctf = format_of_kind(TBED_FOREIGN_CTF);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        REQUIRE(tbed_export(csv, readers, 1, to, &options[i], NULL, NULL) == TBED_ERR_ARGUMENT);
    REQUIRE(tbed_export(csv, readers, 2, to, &plain, NULL, NULL) == TBED_ERR_ARGUMENT);
    REQUIRE(tbed_export(csv, readers, 0, to, &plain, NULL, NULL) == TBED_ERR_ARGUMENT);
    REQUIRE(tbed_export(NULL, readers, 1, to, &plain, NULL, NULL) == TBED_ERR_ARGUMENT);
    REQUIRE(tbed_export(format_of_kind(TBED_FOREIGN_SPALL), readers, 1, to, &plain, NULL, NULL) ==
            TBED_ERR_ARGUMENT);
    REQUIRE(tbed_export_fd(ctf, readers, 1, 1, &plain, NULL, NULL) == TBED_ERR_ARGUMENT);
    plain.compression = TBED_COMPRESSION_GZIP;
    REQUIRE(tbed_export(ctf, readers, 1, to, &plain, NULL, NULL) == TBED_ERR_ARGUMENT);
    plain.compression = TBED_COMPRESSION_BY_NAME;
    plain.table = "info";
    REQUIRE(tbed_export(ctf, readers, 1, to, &plain, NULL, NULL) == TBED_ERR_ARGUMENT);
    for (enum tbed_export_note note = 0; note < TBED_EXPORT_NOTE_COUNT; note++)
        REQUIRE(tbed_export_note_key(note)[0] != '\0');
    REQUIRE(tbed_export(csv, readers, 1, scratch_path("columns.gz"), &plain, NULL, NULL) == TBED_OK);
    REQUIRE(tbed_export(csv, readers, 1, scratch_path("columns.gz"), &plain, NULL, NULL) == TBED_OK);
    REQUIRE(tbed_export(csv, readers, 1, "/dev/null", &plain, NULL, NULL) == TBED_OK);
    plain.overwrite = false;
    REQUIRE(tbed_export(csv, readers, 1, scratch_path("columns.gz"), &plain, NULL, NULL) == TBED_ERR_EXISTS);
    REQUIRE(unlink(scratch_path("columns.gz")) == 0);
    plain.table = NULL;
    REQUIRE(tbed_export(ctf, readers, 1, scratch_path(""), &plain, NULL, NULL) == TBED_ERR_EXISTS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const enum tbed_compression compressions[] = {TBED_COMPRESSION_BY_NAME, TBED_COMPRESSION_GZIP,
                                                         TBED_COMPRESSION_ZSTD, TBED_COMPRESSION_NONE};
    static const char *const tables[] = {"messages", NULL, "spans", "args", "info"};
    struct failing_plan plan = failing_plan_cut(data, &nbytes);
    unsigned choice = plan.run_count;
    plan.run_count = 1 + plan.run_count % RUNS_MAX;
    struct tbed_reader *reader = open_input(data, nbytes);
    if (reader == NULL)
        return 0;
    struct work work = {.data = data,
                        .nbytes = nbytes,
                        .table = tables[choice % 5],
                        .compression = compressions[choice % 4],
                        .kind = TBED_FOREIGN_PARQUET};
    REQUIRE(make_export(&work, reader, scratch_path("columns")) == TBED_OK &&
            take_files(scratch_path("columns")) > 0);
    try_all(&work, &plan);
    work.kind = TBED_FOREIGN_CTF;
    REQUIRE(make_export(&work, reader, scratch_path("columns")) == TBED_OK &&
            take_files(scratch_path("columns")) > 0);
    try_all(&work, &plan);
    work.kind = TBED_FOREIGN_CSV;
    REQUIRE(make_export(&work, reader, scratch_path("columns")) == TBED_OK &&
            unlink(scratch_path("columns")) == 0);
    try_all(&work, &plan);
    check_library(reader);
    check_folders(reader);
    check_ctf(reader);
    check_refusals(reader);
    work.table = "nothing";
    REQUIRE(make_export(&work, reader, scratch_path("columns")) == TBED_ERR_ARGUMENT);
    tbed_reader_close(reader);
    return 0;
}
