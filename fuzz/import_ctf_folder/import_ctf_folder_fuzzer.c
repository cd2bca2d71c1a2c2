/*
 * Whatever the files of a trace of CTF are, verify finds nothing wrong with the imported trace, and it has the spans that
 * the report counts. If memory runs out on the way, the import fails or gives the same.
 *
 * An input has all files of a folder, each as a byte that says which, its length in two bytes, and its content. The process
 * that reads them is not sandboxed here; babeltrace2's library may crash in it.
 *
 * Link with: -Wl,--wrap=dlopen
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/imported.h"
#include "fuzz/support/scratch.h"
#include "reader/exchange/ctf/import/ctf_import.h"
#include "reader/exchange/ctf/import/ctf_read.h"
#include "reader/exchange/ctf/import/ctf_shadow.h"
#include "reader/symbols/process/symbol_worker.h"

static const char *const names[] = {"trace/metadata",
                                    "trace/one_0",
                                    "trace/one_1",
                                    "trace/index/one_0.idx",
                                    "trace/ust/uid/metadata",
                                    "trace/ust/uid/one_0",
                                    "trace/ust/uid/index/one_0.idx",
                                    "trace/.hidden",
                                    "trace/kernel/metadata",
                                    "trace/kernel/one_0"};
static const char *const folders[] = {"trace",         "trace/index",         "trace/ust",
                                      "trace/ust/uid", "trace/ust/uid/index", "trace/kernel"};
#define NAME_COUNT   (sizeof names / sizeof names[0])
#define FOLDER_COUNT (sizeof folders / sizeof folders[0])
#define RUNS_MAX     4

/* ---- Stubs for the sandbox, in which coverage could not be written ---- */

void tbed_symbol_jail_enter(void) {}

void tbed_symbol_jail_limit_time(unsigned seconds)
{
    alarm(seconds);
}

void tbed_symbol_jail_close(int first)
{
    REQUIRE(first > 3);
    failing_stop(); /* the process that reads has memory */
}

/* ---- Libraries that are missing ---- */

static bool has_no_libraries;

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags)
{
    return has_no_libraries ? NULL : __real_dlopen(name, flags);
}

/* ---- The folder ---- */

static void unpack(const uint8_t *data, size_t nbytes)
{
    for (size_t i = 0; i < FOLDER_COUNT; i++)
        mkdir(scratch_path(folders[i]), 0700);
    scratch_unpack(names, NAME_COUNT, data, nbytes);
}

static enum tbed_status import_folder(int fd, struct tbed_import_report *report)
{
    void *source;
    struct tbed_error error;
    *report = (struct tbed_import_report){.kind = TBED_FOREIGN_CTF};
    enum tbed_status status = tbed_ctf_source_open(scratch_path("trace"), -1, &source, &error);
    if (status != TBED_OK)
        return status;
    status = tbed_ctf_source_import(source, fd, report, &error);
    tbed_ctf_source_close(source);
    return status;
}

static int failing_errno; /* of file calls; 0: memory runs out */

static void import_failing(void *given)
{
    const struct tbed_import_report *whole = given;
    struct tbed_import_report report;
    int fd = memfd_create("trace", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    if (failing_errno != 0)
        failing_start_files(failing_errno);
    else
        failing_start();
    enum tbed_status status = import_folder(fd, &report);
    failing_stop();
    REQUIRE(status == TBED_OK || failing_count() > 0);
    REQUIRE(failing_count() > 0 || report.event_count == whole->event_count);
    close(fd);
}

/* ---- What needs no process ---- */

#define PLACES_MAX 40

static void find_failing(void *given)
{
    struct ctf_folder folder;
    failing_start();
    bool is_there = tbed_ctf_folder_find(given, &folder);
    failing_stop();
    REQUIRE(is_there || failing_count() > 0);
    tbed_ctf_folder_free(&folder);
}

/* A stand-in for a folder of which one file is refused. */
struct refusal {
    const struct ctf_folder *folder;
    const char *name; /* behind the path of the last trace */
};

/* The library names the file where it reads it: in the stand-in, once there is one. */
static bool refuse(struct ctf_shadow *shadow, const struct ctf_folder *in, const struct refusal *refusal)
{
    char text[CTF_PATH_NBYTES * 2];
    snprintf(text, sizeof text, "File '%s%s", in->paths[in->count - 1], refusal->name);
    return tbed_ctf_shadow_refuse(shadow, refusal->folder, text, strlen(text));
}

static void make_failing(void *given)
{
    const struct refusal *refusal = given;
    struct ctf_shadow *shadow = calloc(1, sizeof *shadow);
    REQUIRE(shadow != NULL);
    if (refuse(shadow, refusal->folder, refusal)) {
        if (failing_errno != 0)
            failing_start_files(failing_errno);
        else
            failing_start();
        bool is_made = tbed_ctf_shadow_make(shadow, refusal->folder);
        failing_stop();
        REQUIRE(is_made || failing_count() > 0);
        REQUIRE(!is_made || !refuse(shadow, &shadow->folder, refusal));
    }
    tbed_ctf_shadow_remove(shadow);
    free(shadow);
}

/* Messages of the library that name a file of the trace, and others. */
static void check_refusals(const struct ctf_folder *folder)
{
    static const char *const inside[] = {"/one_0'", "/metadata': more", "/ust/uid/one_0'", "/'", "'", "x/y'"};
    static const char *const others[] = {"", "no file", "'", "''", "' '", "'/tmp/one_0'"};
    static const struct failing_plan each = {.run_count = PLACES_MAX};
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        struct refusal refusal = {folder, inside[i]};
        failing_run(&each, make_failing, &refusal);
        failing_errno = EIO;
        failing_run(&each, make_failing, &refusal);
        failing_errno = EINTR;
        failing_run(&each, make_failing, &refusal);
        failing_errno = 0;
    }
    struct ctf_shadow *shadow = calloc(1, sizeof *shadow);
    REQUIRE(shadow != NULL);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        REQUIRE(!tbed_ctf_shadow_refuse(shadow, folder, others[i], strlen(others[i])));
    free(shadow);
}

/* Where no stand-in can be made, and where TMPDIR says nothing of use. */
static void check_places(const struct ctf_folder *folder)
{
    char path[300];
    const char *own = getenv("TMPDIR");
    REQUIRE(own != NULL);
    char *kept = strdup(own);
    struct ctf_shadow *shadow = calloc(1, sizeof *shadow);
    REQUIRE(kept != NULL && shadow != NULL);
    setenv("TMPDIR", scratch_path("nothing"), 1);
    REQUIRE(!tbed_ctf_shadow_make(shadow, folder));
    unsetenv("TMPDIR");
    REQUIRE(tbed_ctf_shadow_make(shadow, folder) && strncmp(shadow->path, "/tmp/", 5) == 0);
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    setenv("TMPDIR", path, 1);
    REQUIRE(tbed_ctf_shadow_make(shadow, folder) && strncmp(shadow->path, "/tmp/", 5) == 0);
    tbed_ctf_shadow_remove(shadow);
    setenv("TMPDIR", kept, 1);
    free(kept);
    free(shadow);
}

static void check_folder(void)
{
    static const struct failing_plan each = {.run_count = PLACES_MAX};
    struct ctf_folder folder;
    char path[CTF_PATH_NBYTES];
    snprintf(path, sizeof path, "%s", scratch_path("trace"));
    failing_run(&each, find_failing, path);
    REQUIRE(tbed_ctf_folder_find(path, &folder));
    check_refusals(&folder);
    check_places(&folder);
    tbed_ctf_folder_free(&folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const struct failing_plan each = {.run_count = RUNS_MAX},
                                     each_of_file = {.run_count = 3 * RUNS_MAX};
    struct tbed_import_report report;
    struct tbed_reader *reader;
    unpack(data, nbytes);
    if (!tbed_ctf_folder_is(scratch_path("trace")))
        return 0;
    check_folder();
    int fd = memfd_create("trace", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    has_no_libraries = true;
    REQUIRE(import_folder(fd, &report) == TBED_ERR_NO_LIBRARY && ftruncate(fd, 0) == 0);
    has_no_libraries = false;
    enum tbed_status status = import_folder(fd, &report);
    REQUIRE(status == TBED_OK || status == TBED_ERR_NO_LIBRARY);
    if (status == TBED_OK) {
        REQUIRE(tbed_reader_open_fd(fd, NULL, &reader, NULL) == TBED_OK);
        imported_check(reader, &report);
        tbed_reader_close(reader);
        failing_run(&each, import_failing, &report);
        failing_errno = EIO; /* where a stand-in is made, or the trace is written */
        failing_run(report.damage_count > 0 ? &each_of_file : &each, import_failing, &report);
        failing_errno = 0;
    }
    close(fd);
    return 0;
}
