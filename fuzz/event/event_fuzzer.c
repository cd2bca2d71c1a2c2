/*
 * The input is the words of one event block; its first byte says whether the block is sealed. A walk with the functions
 * of format/ must agree with the scan that recovery uses, and with the reader's cursor.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/block.h"
#include "format/event.h"
#include "fuzz/support/fuzz.h"

struct steps {
    uint64_t event_count, item_count;
    uint32_t end_nbytes;
    enum tbed_status status;
};

static struct steps step_through(const uint8_t *block, uint32_t end_nbytes)
{
    struct steps steps = {.end_nbytes = TBED_BLOCK_HEADER_NBYTES, .status = TBED_OK};
    const uint64_t *end = (const uint64_t *)(block + end_nbytes);
    while (steps.end_nbytes < end_nbytes) {
        const uint64_t *at = (const uint64_t *)(block + steps.end_nbytes);
        size_t nwords;
        if (*at == 0)
            break;
        steps.status = tbed_event_check(*at, at, end, &nwords);
        if (steps.status != TBED_OK)
            break;
        REQUIRE(nwords >= 1 && nwords <= (size_t)(end - at));
        steps.end_nbytes += (uint32_t)nwords * 8;
        steps.item_count++;
        steps.event_count += tbed_event_tag(*at) != TBED_TAG_TIME;
    }
    return steps;
}

static void compare_scan(const uint8_t *block, const struct steps *steps)
{
    struct tbed_block_scan scan;
    enum tbed_status status = tbed_block_scan(block, ONE_BLOCK_PAGE_NBYTES, TBED_BLOCK_EVENTS, &scan);
    REQUIRE(status == steps->status && scan.end_nbytes == steps->end_nbytes);
    REQUIRE(scan.item_count == steps->item_count);
}

static uint64_t count_by_cursor(struct tbed_reader *reader)
{
    struct tbed_cursor *cursor;
    struct tbed_event event;
    uint64_t count = 0;
    REQUIRE(tbed_cursor_open(reader, 1, &cursor) == TBED_OK);
    while (tbed_cursor_next(cursor, &event) == TBED_OK)
        count++;
    tbed_cursor_close(cursor);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct tbed_reader *reader;
    bool sealed = nbytes > 0 && data[0] % 2 == 1;
    size_t taken = nbytes > 0;
    uint8_t *file = one_block_file(TBED_BLOCK_EVENTS, sealed, data + taken, nbytes - taken);
    const uint8_t *block = file + ONE_BLOCK_PAGE_NBYTES;
    uint32_t used = tbed_block_load(block).used_nbytes;
    struct steps steps = step_through(block, used != 0 ? used : ONE_BLOCK_PAGE_NBYTES);
    if (!sealed)
        compare_scan(block, &steps);
    REQUIRE(tbed_reader_open_memory(file, ONE_BLOCK_FILE_NBYTES, NULL, &reader, NULL) == TBED_OK);
    REQUIRE(count_by_cursor(reader) == steps.event_count);
    bool is_whole = steps.status == TBED_OK && (!sealed || steps.end_nbytes == used);
    REQUIRE((tbed_damage_count(reader) == 0) == is_whole);
    walk_events(reader);
    tbed_reader_close(reader);
    return 0;
}
