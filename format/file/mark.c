/*
 * Pages of a ring, whose marks say whether they have blocks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/file/mark.h"

#include "format/file/directory.h"

static struct tbed_mark mark_of_page(const uint8_t *map, uint32_t page_nbytes, uint64_t page)
{
    return tbed_mark_load(map + tbed_directory_entry_offset(page_nbytes, page));
}

bool tbed_page_still_has(const uint8_t *map, uint32_t page_nbytes, uint64_t page, uint32_t generation)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    struct tbed_mark mark = mark_of_page(map, page_nbytes, page);
    return tbed_mark_has_block(mark) && mark.count == generation;
}

struct tbed_block_fields tbed_page_load(const uint8_t *map, uint32_t page_nbytes, uint64_t ring_page_count,
                                        uint64_t page)
{
    const uint8_t *block = map + page * page_nbytes;
    if (page == 0 || page > ring_page_count || tbed_directory_has_page(page_nbytes, page))
        return tbed_block_load(block);
    struct tbed_mark before = mark_of_page(map, page_nbytes, page);
    struct tbed_block_fields fields = tbed_block_load(block);
    if (!tbed_mark_has_block(before) || !tbed_page_still_has(map, page_nbytes, page, before.count))
        fields.kind = TBED_BLOCK_NONE;
    fields.generation = before.count;
    return fields;
}
