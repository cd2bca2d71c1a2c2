/*
 * Whatever the records are that the process sends which reads CTF, the trace made of them verifies, and it has the spans
 * that the report counts. If memory runs out on the way, that fails or gives the same; if they cannot be read, the
 * trace is damaged. babeltrace2's library itself is not fuzzed: it may crash, in that process.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/support/failing.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/imported.h"
#include "reader/exchange/ctf/import/ctf_read.h"

#define RUNS_MAX 200

struct run {
    int records;
    struct tbed_import_report whole;
};

static void import_failing(void *given)
{
    const struct run *run = given;
    struct tbed_import_report report = {.kind = TBED_FOREIGN_CTF};
    int fd = memfd_create("trace", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && lseek(run->records, 0, SEEK_SET) == 0);
    failing_start();
    enum tbed_status status = tbed_ctf_records_import(run->records, fd, &report, NULL, NULL);
    failing_stop();
    REQUIRE(status == TBED_OK || failing_count() > 0);
    REQUIRE(status != TBED_OK || report.event_count == run->whole.event_count);
    close(fd);
}

static void import_unreadable(void)
{
    struct tbed_import_report report = {.kind = TBED_FOREIGN_CTF};
    int records = open("/dev/null", O_WRONLY), fd = memfd_create("trace", MFD_CLOEXEC);
    REQUIRE(records >= 0 && fd >= 0);
    REQUIRE(tbed_ctf_records_import(records, fd, &report, NULL, NULL) == TBED_OK);
    REQUIRE(report.event_count == 0 && report.damage_count == 1);
    close(records);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const struct failing_plan each = {.run_count = RUNS_MAX};
    struct tbed_import_report report = {.kind = TBED_FOREIGN_CTF};
    struct tbed_reader *reader;
    int records = file_of_input(data, nbytes), fd = memfd_create("trace", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && lseek(records, 0, SEEK_SET) == 0);
    REQUIRE(tbed_ctf_records_import(records, fd, &report, NULL, NULL) == TBED_OK);
    REQUIRE(tbed_reader_open_fd(fd, NULL, &reader, NULL) == TBED_OK);
    imported_check(reader, &report);
    tbed_reader_close(reader);
    close(fd);
    struct run run = {records, report};
    failing_run(&each, import_failing, &run);
    import_unreadable();
    close(records);
    return 0;
}
