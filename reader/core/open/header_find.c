/*
 * Finds the header's fields; see header_find.h.
 *
 * Every process that writes begins with a cells page, which has a copy, and so has every directory page. So copies are
 * looked for near the start of the file and at the places of the first directory pages.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/open/header_find.h"

#include <string.h>

#include "format/file/directory.h"
#include "reader/core/file/damage.h"

#define START_NBYTES         (UINT64_C(64) << 20)
#define DIRECTORY_PAGE_COUNT 4

static bool take_copy(struct tbed_reader *reader, uint64_t offset)
{
    if (offset > reader->map.nbytes || reader->map.nbytes - offset < TBED_COPY_USED_NBYTES)
        return false;
    const uint8_t *bytes = tbed_map_at(&reader->map, offset);
    if (!tbed_header_copy_is_valid(bytes, offset, &reader->header))
        return false;
    memcpy(reader->fixed, bytes + TBED_BLOCK_HEADER_NBYTES, reader->header.fixed_nbytes);
    reader->has_copy = true;
    return true;
}

static bool find_at_start(struct tbed_reader *reader)
{
    uint64_t end = reader->map.nbytes < START_NBYTES ? reader->map.nbytes : START_NBYTES;
    struct tbed_extent known = {0};
    for (uint64_t offset = TBED_PAGE_NBYTES_MIN; offset < end; offset += TBED_PAGE_NBYTES_MIN) {
        offset = tbed_map_data_from(&reader->map, &known, offset) & ~(uint64_t)(TBED_PAGE_NBYTES_MIN - 1);
        if (take_copy(reader, offset))
            return true;
    }
    return false;
}

static bool find_in_directory(struct tbed_reader *reader)
{
    for (uint32_t nbytes = TBED_PAGE_NBYTES_MIN; nbytes <= TBED_PAGE_NBYTES_MAX; nbytes *= 2)
        for (uint64_t i = 0; i < DIRECTORY_PAGE_COUNT; i++)
            if (take_copy(reader, tbed_directory_page(nbytes, i) * nbytes))
                return true;
    return false;
}

/* Of a packed trace, page 0 may be lost with its unit: 'detail' is then where that is in the packed file. */
static enum tbed_status check_at_start(struct tbed_reader *reader, struct tbed_error *wrong_ret)
{
    enum tbed_status status = tbed_map_take(&reader->map, 0, true);
    if (status == TBED_OK)
        return tbed_header_check(reader->map.bytes, reader->map.nbytes, &reader->header, wrong_ret);
    *wrong_ret = (struct tbed_error){.status = status, .detail = tbed_map_packed_offset(&reader->map, 0)};
    return status;
}

enum tbed_status tbed_header_find(struct tbed_reader *reader, struct tbed_error *error)
{
    struct tbed_error wrong;
    enum tbed_status status = check_at_start(reader, &wrong);
    if (status == TBED_OK) {
        memcpy(reader->fixed, reader->map.bytes, reader->header.fixed_nbytes);
        return TBED_OK;
    }
    if (!find_at_start(reader) && !find_in_directory(reader)) {
        *error = wrong;
        return status;
    }
    tbed_damage_tell_page(reader, status, 0, 0, wrong.offset, wrong.detail);
    return TBED_OK;
}
