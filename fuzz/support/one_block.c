/*
 * Wraps the content of one block in a trace, so that a target can spend all its input on that content.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/file/header.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/mend.h"

static void put_header(uint8_t *file)
{
    struct tbed_header_fields fields = {
        .page_nbytes = ONE_BLOCK_PAGE_NBYTES,
        .file_id = 1,
        .clock = TBED_CLOCK_MONOTONIC,
        .ticks_per_second = 1000000000,
    };
    struct tbed_disk_header *header = (struct tbed_disk_header *)file;
    tbed_header_make(file, &fields);
    header->page_count = tbed_le64_make(2);
    header->next_stream = tbed_le64_make(2);
    header->next_string_page = tbed_le64_make(1);
}

static void put_block(uint8_t *page, enum tbed_block_kind kind, bool sealed, size_t used_nbytes)
{
    struct tbed_disk_block header = {
        .kind = (uint8_t)kind,
        .shift = 12,
        .page = tbed_le32_make(1),
        .file_id = tbed_le64_make(1),
        .stream = tbed_le32_make(1),
        .used_nbytes = tbed_le32_make(sealed ? (uint32_t)used_nbytes : 0),
        .last_tick = tbed_le64_make(sealed ? UINT64_MAX : 0),
    };
    memcpy(page, &header, sizeof header);
    mend_block(page, ONE_BLOCK_PAGE_NBYTES, MEND_ALL);
}

uint8_t *one_block_file(enum tbed_block_kind kind, bool sealed, const uint8_t *content, size_t nbytes)
{
    static uint64_t file[ONE_BLOCK_FILE_NBYTES / 8];
    uint8_t *page = (uint8_t *)file + ONE_BLOCK_PAGE_NBYTES;
    if (nbytes > ONE_BLOCK_ROOM)
        nbytes = ONE_BLOCK_ROOM;
    memset(file, 0, sizeof file);
    if (nbytes > 0)
        memcpy(page + TBED_BLOCK_HEADER_NBYTES, content, nbytes);
    put_header((uint8_t *)file);
    put_block(page, kind, sealed, TBED_BLOCK_HEADER_NBYTES + tbed_round_up(nbytes, 8));
    mend_file((uint8_t *)file, sizeof file, MEND_DIRECTORY);
    return guarded_copy((uint8_t *)file, sizeof file);
}
