/*
 * Whatever the records are that the process sends which reads CTF, the trace made of them verifies, and it has the spans
 * that the report counts. babeltrace2's library itself is not fuzzed: it may crash, in that process.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/imported.h"
#include "reader/exchange/ctf_read/ctf_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_import_report report = {.kind = TBED_FOREIGN_CTF};
    struct tbed_reader *reader;
    int records = file_of_input(data, nbytes), fd = memfd_create("trace", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && lseek(records, 0, SEEK_SET) == 0);
    REQUIRE(tbed_ctf_records_import(records, fd, &report, NULL, NULL) == TBED_OK);
    REQUIRE(tbed_reader_open_fd(fd, NULL, &reader, NULL) == TBED_OK);
    imported_check(reader, &report);
    tbed_reader_close(reader);
    close(fd);
    close(records);
    return 0;
}
