/*
 * The directory of a file that is being read; see directory_read.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/file/directory_read.h"

static uint64_t group_count(uint32_t page_nbytes)
{
    return (uint64_t)tbed_directory_page_count(page_nbytes) + 1;
}

/* The directory page that has the entry of 'page'; 0: the header page. */
static uint64_t part_of(uint32_t page_nbytes, uint64_t page)
{
    uint64_t first = tbed_directory_first_count(page_nbytes);
    return page < first ? 0 : page - (page - first) % group_count(page_nbytes);
}

void tbed_directory_tell_entry(const struct tbed_reader *reader, uint64_t page, uint64_t detail)
{
    uint64_t offset = tbed_directory_entry_offset(reader->header.page_nbytes, page);
    tbed_damage_tell_page(reader, TBED_ERR_DIRECTORY_ENTRY, page, 0, offset, detail);
}

/* ---- Directory pages ---- */

static bool page_is_intact(const struct tbed_reader *reader, uint64_t page)
{
    uint64_t offset = page * reader->header.page_nbytes;
    return offset <= reader->map.nbytes && reader->map.nbytes - offset >= reader->header.page_nbytes &&
           tbed_directory_page_is_valid(tbed_map_at(&reader->map, offset), reader->fixed, (uint32_t)page);
}

struct tbed_directory_part tbed_directory_part_of(const struct tbed_reader *reader, struct tbed_extent *known,
                                                  uint64_t page)
{
    uint32_t page_nbytes = reader->header.page_nbytes;
    uint64_t own = part_of(page_nbytes, page), at = own * page_nbytes;
    if (own == 0)
        return (struct tbed_directory_part){.end = tbed_directory_first_count(page_nbytes),
                                            .offset = TBED_ENTRIES_OFFSET,
                                            .is_intact = reader->has_counters};
    return (struct tbed_directory_part){
        .page = own,
        .end = own + group_count(page_nbytes),
        .offset = at + TBED_COPY_USED_NBYTES - TBED_ENTRY_NBYTES,
        .is_intact = tbed_map_data_from(&reader->map, known, at) == at && page_is_intact(reader, own),
    };
}

/* The first directory page from 'page', which is one, on that has data in the file; 'end' if that is not below it. */
static uint64_t next_in_file(const struct tbed_reader *reader, struct tbed_extent *known, uint64_t page,
                             uint64_t end)
{
    uint64_t page_nbytes = reader->header.page_nbytes, group = group_count(reader->header.page_nbytes);
    while (page < end && page < reader->map.nbytes / page_nbytes) {
        uint64_t data_page = tbed_map_data_from(&reader->map, known, page * page_nbytes) / page_nbytes;
        if (data_page == page)
            return page;
        page += (data_page - page + group - 1) / group * group;
    }
    return end;
}

static void prefetch(const struct tbed_reader *reader, uint64_t page_count)
{
    uint32_t page_nbytes = reader->header.page_nbytes;
    uint64_t page = tbed_directory_first_count(page_nbytes);
    struct tbed_extent known = {0};
    while ((page = next_in_file(reader, &known, page, page_count)) < page_count) {
        tbed_map_prefetch(&reader->map, page * page_nbytes, page_nbytes);
        page += group_count(page_nbytes);
    }
}

bool tbed_directory_check(const struct tbed_reader *reader, uint64_t page_count)
{
    uint32_t page_nbytes = reader->header.page_nbytes;
    uint64_t expected = tbed_directory_first_count(page_nbytes), page = 0, bad = 0;
    struct tbed_extent known = {0};
    bool are_intact = true;
    prefetch(reader, page_count);
    for (; expected < page_count; expected = page + group_count(page_nbytes)) {
        page = next_in_file(reader, &known, expected, page_count);
        bool is_intact = page < page_count && page_is_intact(reader, page);
        if (bad == 0 && (page != expected || !is_intact))
            bad = page != expected ? expected : page;
        if (bad == 0 || (page < page_count && !is_intact))
            continue;
        tbed_damage_tell_pages(reader, TBED_ERR_DIRECTORY_PAGE, bad * page_nbytes, page - bad, 0);
        are_intact = false;
        bad = 0;
    }
    if (bad != 0)
        tbed_damage_tell_pages(reader, TBED_ERR_DIRECTORY_PAGE, bad * page_nbytes, page_count - bad, 0);
    return are_intact && bad == 0;
}
