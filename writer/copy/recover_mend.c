/*
 * Entries and records that are damaged in a block that is not: they keep their place, so that the others keep theirs.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "format/checksum.h"
#include "format/record.h"
#include "format/string.h"
#include "writer/copy/recover.h"

/* A string whose hash does not match gets a text of question marks. */
static bool mend_string(uint8_t *entry, uint32_t nbytes)
{
    struct tbed_disk_string *string = (struct tbed_disk_string *)(void *)entry;
    if (tbed_le32_load(string->hash) == tbed_string_hash(string->content, nbytes))
        return false;
    memset(string->content, '?', nbytes - 1);
    string->content[nbytes - 1] = 0xFF;
    string->hash = tbed_le32_make(tbed_string_hash(string->content, nbytes));
    return true;
}

/* A record with impossible fields gets the type 0, which readers skip. */
static bool mend_record(uint8_t *record, uint64_t head)
{
    uint64_t detail;
    if (tbed_record_check(record, head, &detail) == TBED_OK)
        return false;
    tbed_word_store(record, tbed_record_head_make(0, tbed_record_head_nbytes(head)));
    return true;
}

bool tbed_recover_mend(uint8_t *block, enum tbed_block_kind kind, uint32_t used_nbytes)
{
    bool is_mended = false;
    uint32_t at = TBED_BLOCK_HEADER_NBYTES;
    if (kind != TBED_BLOCK_STRINGS && kind != TBED_BLOCK_RECORDS)
        return false;
    while (at < used_nbytes) { /* the block was walked before, so its sizes are valid */
        uint64_t head = tbed_word_load(block + at);
        uint32_t nbytes = tbed_string_head_nbytes(head);
        is_mended |=
            kind == TBED_BLOCK_STRINGS ? mend_string(block + at, nbytes) : mend_record(block + at, head);
        at += kind == TBED_BLOCK_STRINGS ? (uint32_t)tbed_string_entry_nbytes(nbytes)
                                         : tbed_record_head_nbytes(head);
    }
    return is_mended;
}
