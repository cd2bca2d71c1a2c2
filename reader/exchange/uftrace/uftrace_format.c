/*
 * uftrace's data directory in the registry of formats, and its import: what the folder says, then one thread after the
 * other.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/base/json.h"
#include "reader/exchange/shared/exchange_format.h"
#include "reader/exchange/shared/new_file.h"
#include "reader/exchange/uftrace/uftrace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INFO_HEADER_NBYTES 40u
#define ENDIAN_LITTLE      1u
#define VERSION_MIN        3u
#define VERSION_MAX        4u

static const char magic[8] = "Ftrace!";

/* ---- Opening ---- */

/* Keeps the path of the folder, and maps its 'info'. False: it is no such folder. */
static bool map_info(struct uftrace *folder, const char *path)
{
    const struct mapped_file *info = &folder->info_file;
    int nbytes = snprintf(folder->path, sizeof folder->path, "%s", path);
    return (size_t)nbytes < sizeof folder->path && tbed_uftrace_map(folder, "info", &folder->info_file) &&
           info->nbytes >= INFO_HEADER_NBYTES && memcmp(info->bytes, magic, sizeof magic) == 0;
}

static bool is_folder(const char *path)
{
    struct uftrace *folder = calloc(1, sizeof *folder);
    if (folder == NULL)
        return false;
    bool is_ours = map_info(folder, path);
    tbed_mapped_file_close(&folder->info_file);
    free(folder);
    return is_ours;
}

static void close_folder(void *source)
{
    struct uftrace *folder = source;
    tbed_mapped_file_close(&folder->info_file);
    free(folder);
}

static enum tbed_status open_folder(const char *path, int fd, void **source_ret, struct tbed_error *error_ret)
{
    (void)fd;
    struct uftrace *folder = calloc(1, sizeof *folder);
    errno = ENOMEM;
    if (folder == NULL)
        return tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
    enum tbed_status status = TBED_OK;
    errno = 0;
    if (!map_info(folder, path)) /* never by a descriptor: no file alone is of the format */
        status = TBED_ERR_NOT_A_TRACE;
    else if (uftrace_load_u32(folder->info_file.bytes + 8) < VERSION_MIN ||
             uftrace_load_u32(folder->info_file.bytes + 8) > VERSION_MAX ||
             folder->info_file.bytes[14] != ENDIAN_LITTLE)
        status = TBED_ERR_FOREIGN_VERSION;
    if (status == TBED_OK) {
        *source_ret = folder;
        return TBED_OK;
    }
    close_folder(folder);
    return tbed_exchange_fail(error_ret, status);
}

/* ---- Import ---- */

static bool map_task(struct uftrace *folder, const struct uftrace_task *task, char name[UFTRACE_NAME_NBYTES],
                     struct mapped_file *file)
{
    snprintf(name, UFTRACE_NAME_NBYTES, "%u.dat", task->tid);
    return task->has_file && tbed_uftrace_map(folder, name, file);
}

static uint64_t first_time(struct uftrace *folder)
{
    char name[UFTRACE_NAME_NBYTES];
    uint64_t nbytes = folder->nbytes, first = UINT64_MAX;
    for (size_t i = 0; i < folder->tasks.count; i++) {
        struct mapped_file file = {.nbytes = 0};
        map_task(folder, &folder->tasks.items[i], name, &file);
        uint64_t time = tbed_uftrace_first_time(&file);
        first = time < first ? time : first;
        tbed_mapped_file_close(&file);
    }
    folder->nbytes = nbytes;
    return first != UINT64_MAX ? first : 0;
}

/* The name of the program that a process runs at first, without its folder; of a forked one, its parent's. */
static void name_of(const struct uftrace *folder, uint32_t pid, uint32_t parent,
                    char name[UFTRACE_NAME_NBYTES])
{
    struct uftrace_text program = folder->program;
    for (size_t i = folder->sessions.count; i-- > 0;)
        if (folder->sessions.items[i].pid == pid || folder->sessions.items[i].pid == parent)
            program = folder->sessions.items[i].program;
    const char *slash = program.nbytes > 0 ? memrchr(program.at, '/', program.nbytes) : NULL;
    const char *base = slash != NULL ? slash + 1 : program.at;
    size_t nbytes = program.nbytes > 0 ? (size_t)(program.at + program.nbytes - base) : 0;
    nbytes = nbytes < UFTRACE_NAME_NBYTES - 1 ? nbytes : UFTRACE_NAME_NBYTES - 1;
    memcpy(name, nbytes > 0 ? base : "", nbytes);
    name[nbytes] = '\0';
}

static void put_metadata(const struct uftrace *folder, struct import_trace *trace, uint64_t first)
{
    struct tbed_text text = {0};
    struct tbed_json json = {.text = &text};
    tbed_json_object_open(&json, NULL);
    tbed_json_object_open(&json, "uftrace");
    tbed_json_text(&json, "command", folder->command.at, folder->command.nbytes);
    tbed_json_text(&json, "date", folder->date.at, folder->date.nbytes);
    tbed_json_u64(&json, "first_ns", first);
    tbed_json_object_close(&json);
    tbed_json_object_close(&json);
    if (text.is_out_of_memory)
        trace->is_out_of_memory = true;
    else
        tbed_metadata_set(trace->writer, text.bytes, text.nbytes);
    free(text.bytes);
}

static void import_tasks(struct uftrace *folder, struct import_trace *trace)
{
    uint64_t first = first_time(folder);
    char name[UFTRACE_NAME_NBYTES];
    for (size_t i = 0; i < folder->tasks.count && !trace->is_out_of_memory; i++) {
        const struct uftrace_task *task = &folder->tasks.items[i];
        struct mapped_file file = {.nbytes = 0};
        name_of(folder, task->pid, task->parent, name);
        tbed_import_process(trace, task->pid, name, task->parent);
        if (map_task(folder, task, name, &file))
            tbed_uftrace_import_task(folder, trace, task, &file, name, first);
        else if (task->has_file)
            tbed_import_damaged(folder->report, TBED_ERR_FOREIGN_FILE, tbed_import_file(folder->report, name),
                                UINT64_MAX, 0);
        tbed_mapped_file_close(&file);
    }
    put_metadata(folder, trace, first);
}

static enum tbed_status import_folder(const void *source, int fd, struct tbed_import_report *report,
                                      struct tbed_error *error_ret)
{
    struct uftrace *folder = malloc(sizeof *folder);
    struct import_trace trace = {.report = report};
    char name[UFTRACE_NAME_NBYTES];
    errno = ENOMEM;
    if (folder == NULL)
        return tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
    memcpy(folder, source, sizeof *folder);
    folder->report = report;
    report->kind = TBED_FOREIGN_UFTRACE;
    report->version = uftrace_load_u32(folder->info_file.bytes + 8);
    tbed_uftrace_read(folder);
    uint32_t pid = folder->sessions.count > 0 ? folder->sessions.items[0].pid : 0;
    name_of(folder, pid, 0, name);
    struct import_start start = {.pid = pid, .name = name};
    enum tbed_status status = tbed_import_trace_open(&trace, fd, &start, report, error_ret);
    trace.is_out_of_memory |= folder->is_out_of_memory;
    if (status == TBED_OK && !trace.is_out_of_memory)
        import_tasks(folder, &trace);
    trace.is_out_of_memory |= folder->is_out_of_memory;
    report->file_nbytes = folder->nbytes;
    status = tbed_import_trace_close(&trace, status, error_ret);
    tbed_uftrace_free(folder);
    free(folder);
    return status;
}

const struct exchange_format tbed_exchange_uftrace = {
    .about = {.kind = TBED_FOREIGN_UFTRACE,
              .name = "uftrace",
              .summary = "data directory of uftrace",
              .extensions = ".data",
              .can_import = true},
    .has_path = is_folder,
    .open = open_folder,
    .close = close_folder,
    .import = import_folder,
};
