/*
 * Whatever the bytes of a file of Chrome trace events are, verify finds nothing wrong with the imported trace, and it has the
 * spans that the report counts.
 *
 * SPDX-License-Identifier: MIT
 */
#include <unistd.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/imported.h"
#include "fuzz/support/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_import_report report;
    struct tbed_reader *reader;
    int fd = file_of_input(data, nbytes);
    scratch_folder(); /* sets where imports are stored */
    const struct tbed_format *format = tbed_format_of_fd(fd);
    if (format != NULL && format->kind == TBED_FOREIGN_CHROME) {
        REQUIRE(tbed_import_open_fd(fd, &reader, &report, NULL) == TBED_OK);
        imported_check(reader, &report);
        tbed_reader_close(reader);
    }
    close(fd);
    return 0;
}
