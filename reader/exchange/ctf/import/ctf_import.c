/*
 * The import of CTF: starts the process that reads it, once or, if a file is refused, again.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/exchange/ctf/import/ctf_import.h"
#include "reader/exchange/ctf/import/ctf_read.h"
#include "reader/exchange/ctf/import/ctf_shadow.h"
#include "reader/exchange/shared/import_trace.h"
#include "reader/exchange/shared/new_file.h"
#include "reader/symbols/process/symbol_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum tbed_status tbed_ctf_source_open(const char *path, int fd, void **source_ret,
                                      struct tbed_error *error_ret)
{
    (void)fd;
    struct ctf_folder *folder = malloc(sizeof *folder);
    errno = ENOMEM;
    if (folder == NULL)
        return tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
    errno = 0;
    if (path != NULL && tbed_ctf_folder_find(path, folder)) {
        *source_ret = folder;
        return TBED_OK;
    }
    free(folder);
    return tbed_exchange_fail(error_ret, TBED_ERR_NOT_A_TRACE);
}

void tbed_ctf_source_close(void *source)
{
    tbed_ctf_folder_free(source);
    free(source);
}

/* ---- The process ---- */

static _Noreturn void become_worker(const struct ctf_folder *folder, int fd)
{
    int null = open("/dev/null", O_RDWR);
    for (int standard = 0; standard < 3 && null >= 0; standard++)
        dup2(null, standard);
    if (dup2(fd, 3) != 3)
        _exit(1);
    tbed_symbol_jail_close(4);
    tbed_ctf_worker_run(folder, 3);
}

/* The end of the pipe that the records come from; -1 with errno. */
static int start(const struct ctf_folder *folder, pid_t *pid_ret)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    *pid_ret = fork();
    if (*pid_ret == 0)
        become_worker(folder, ends[1]);
    int system_errno = errno;
    close(ends[1]);
    if (*pid_ret > 0)
        return ends[0];
    close(ends[0]);
    errno = system_errno;
    return -1;
}

/* The exit status of the process; -1 if other code reaps the program's children. */
static int end(pid_t pid, int records)
{
    int status = -1;
    close(records); /* if it still writes, it gets SIGPIPE */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

/* One try; '*early_ret' is an error of the library before the first event, which the caller frees; NULL: none. */
static enum tbed_status import_once(const struct ctf_folder *folder, int fd,
                                    struct tbed_import_report *report, char **early_ret,
                                    struct tbed_error *error_ret)
{
    pid_t pid = 0;
    int records = start(folder, &pid);
    *early_ret = NULL;
    if (records < 0)
        return tbed_exchange_fail(error_ret, TBED_ERR_READ);
    enum tbed_status status = tbed_ctf_records_import(records, fd, report, early_ret, error_ret);
    int exit = end(pid, records);
    errno = 0;
    if (exit != -1 && WIFEXITED(exit) && WEXITSTATUS(exit) == CTF_EXIT_NO_LIBRARY)
        return tbed_exchange_fail(error_ret, TBED_ERR_NO_LIBRARY);
    return status;
}

static void report_refused(const struct ctf_shadow *shadow, struct tbed_import_report *report)
{
    for (size_t i = 0; i < shadow->count; i++) {
        const struct ctf_refused *refused = &shadow->refused[i];
        const char *name = strrchr(refused->path, '/') + 1;
        tbed_import_damaged(report, refused->offset > 0 ? TBED_ERR_FOREIGN_CUT : TBED_ERR_FOREIGN_FILE,
                            tbed_import_file(report, name),
                            refused->offset > 0 ? refused->offset : UINT64_MAX, 0);
    }
}

/* Damage that is not a file's. */
static void report_error(const char *text, struct tbed_import_report *report)
{
    tbed_import_damaged(report, TBED_ERR_FOREIGN_LIBRARY, tbed_import_file(report, text), UINT64_MAX, 0);
}

/* The library refuses a whole trace for one file that is cut; then again, with a stand-in for it. */
static enum tbed_status import_tries(const struct ctf_folder *folder, struct ctf_shadow *shadow, int fd,
                                     struct tbed_import_report *report, struct tbed_error *error_ret)
{
    char *early;
    enum tbed_status status = import_once(folder, fd, report, &early, error_ret);
    while (status == TBED_OK && early != NULL &&
           tbed_ctf_shadow_refuse(shadow, folder, early, strlen(early)) &&
           tbed_ctf_shadow_make(shadow, folder) && ftruncate(fd, 0) == 0) {
        free(early);
        *report = (struct tbed_import_report){.kind = TBED_FOREIGN_CTF};
        status = import_once(&shadow->folder, fd, report, &early, error_ret);
    }
    if (status == TBED_OK && early != NULL)
        report_error(early, report);
    free(early);
    return status;
}

enum tbed_status tbed_ctf_source_import(const void *source, int fd, struct tbed_import_report *report,
                                        struct tbed_error *error_ret)
{
    const struct ctf_folder *folder = source;
    struct ctf_shadow *shadow = calloc(1, sizeof *shadow);
    errno = ENOMEM;
    if (shadow == NULL)
        return tbed_exchange_fail(error_ret, TBED_ERR_MEMORY);
    enum tbed_status status = import_tries(folder, shadow, fd, report, error_ret);
    report_refused(shadow, report);
    report->kind = TBED_FOREIGN_CTF;
    report->file_nbytes = folder->nbytes;
    tbed_ctf_shadow_remove(shadow);
    free(shadow);
    return status;
}
