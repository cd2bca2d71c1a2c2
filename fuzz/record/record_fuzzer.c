/*
 * The input is the content of one block of records or strings. Its first byte says which, and whether it is sealed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/block.h"
#include "fuzz/support/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader *reader;
    struct tbed_block_scan scan;
    uint8_t choice = nbytes > 0 ? data[0] : 0;
    size_t taken = nbytes > 0;
    enum tbed_block_kind kind = choice % 2 == 0 ? TBED_BLOCK_RECORDS : TBED_BLOCK_STRINGS;
    uint8_t *file = one_block_file(kind, choice / 2 % 2 == 1, data + taken, nbytes - taken);
    tbed_block_scan(file + ONE_BLOCK_PAGE_NBYTES, ONE_BLOCK_PAGE_NBYTES, kind, &scan);
    REQUIRE(scan.end_nbytes >= TBED_BLOCK_HEADER_NBYTES && scan.end_nbytes <= ONE_BLOCK_PAGE_NBYTES);
    REQUIRE(tbed_reader_open_memory(file, ONE_BLOCK_FILE_NBYTES, NULL, &reader, NULL) == TBED_OK);
    walk_everything(reader);
    tbed_reader_close(reader);
    return 0;
}
