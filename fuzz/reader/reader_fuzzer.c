/*
 * Opens and verifies a complete trace in memory, and walks it in every way that the public API offers.
 *
 * The mutator repairs checksums and structure, so that most damage lies beyond those checks.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid spec/golden/invalid
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader *reader = NULL;
    struct tbed_error error = {.status = TBED_OK};
    uint8_t *bytes = guarded_copy(data, nbytes);
    if (bytes == NULL)
        return 0;
    enum tbed_status status = tbed_reader_open_memory(bytes, nbytes, NULL, &reader, &error);
    if (status != TBED_OK) {
        REQUIRE(reader == NULL && error.status == status && status >= 64);
        return 0;
    }
    walk_everything(reader);
    tbed_reader_close(reader);
    return 0;
}
