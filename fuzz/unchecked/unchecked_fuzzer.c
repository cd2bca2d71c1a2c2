/*
 * A complete trace whose checksums are not verified (skip_hashes): the structural checks alone must protect the reader.
 *
 * Mutator: trace
 * Seeds: spec/golden/valid spec/golden/invalid
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader_options options = {.size = sizeof options, .skip_hashes = true};
    struct tbed_reader *reader = NULL;
    struct tbed_error error;
    uint8_t *bytes = guarded_copy(data, nbytes);
    if (bytes == NULL || tbed_reader_open_memory(bytes, nbytes, &options, &reader, &error) != TBED_OK)
        return 0;
    walk_strings(reader);
    walk_records(reader);
    walk_events(reader);
    tbed_reader_verify(reader);
    walk_events(reader);
    tbed_reader_close(reader);
    return 0;
}
