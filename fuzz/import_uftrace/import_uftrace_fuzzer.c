/*
 * Whatever the files of uftrace's data directory are, verify finds nothing wrong with the imported trace, and it has the
 * spans that the report counts. If memory runs out on the way, the import fails or gives the same.
 *
 * An input has all files of a folder, each as a byte that says which, its length in two bytes, and its content.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/imported.h"
#include "fuzz/support/scratch.h"

static const char *const names[] = {"info",  "task.txt", "1.dat",         "2.dat", "sid-1.map",
                                    "a.sym", "a.dbg",    "perf-cpu0.dat", "1.txt", "99999999999.dat"};
#define RUNS_MAX   200
#define NAME_COUNT (sizeof names / sizeof names[0])

/* A path of the folder that is longer than a path may be. */
static const char *too_long(void)
{
    static char path[5000];
    memset(path, '/', sizeof path - 1);
    memcpy(path, scratch_folder(), strlen(scratch_folder()));
    return path;
}

static void import_failing(void *given)
{
    const struct tbed_import_report *whole = given;
    struct tbed_import_report report;
    struct tbed_reader *reader = NULL;
    struct tbed_error error;
    failing_start();
    enum tbed_status status = tbed_import_open(scratch_folder(), &reader, &report, &error);
    failing_stop();
    if (status != TBED_OK) {
        REQUIRE(failing_count() > 0);
        return;
    }
    REQUIRE(report.kind == TBED_FOREIGN_UFTRACE && report.event_count == whole->event_count);
    REQUIRE(report.damage_count == whole->damage_count);
    tbed_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_import_report report;
    struct tbed_reader *reader;
    struct tbed_error error;
    const char *folder = scratch_folder(); /* also sets where imports are stored */
    scratch_unpack(names, NAME_COUNT, data, nbytes);
    REQUIRE(tbed_format_of_file(too_long()) == NULL);
    const struct tbed_format *format = tbed_format_of_file(folder);
    if (format == NULL)
        return 0;
    REQUIRE(format->kind == TBED_FOREIGN_UFTRACE);
    if (tbed_import_open(folder, &reader, &report, &error) == TBED_OK) {
        static const struct failing_plan each = {.run_count = RUNS_MAX};
        imported_check(reader, &report);
        failing_run(&each, import_failing, &report);
        tbed_reader_close(reader);
    } else {
        REQUIRE(error.status == TBED_ERR_FOREIGN_VERSION);
    }
    return 0;
}
