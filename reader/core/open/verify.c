/*
 * Checks an entire file: every checksum, word, entry and record.
 *
 * Most damage is reported when it is read, so this reads everything. Whether an id resolves is not a property of a
 * file, so ids are not resolved here.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/base/sized.h"
#include "format/string.h"
#include "reader/core/open/verify_blocks.h"

#include "reader/core/strings/string_table.h"
#include <tracebed/verify.h>

static void check_cells_page(const struct tbed_reader *reader, const struct tbed_indexed *entry)
{
    uint64_t offset = tbed_indexed_offset(reader, entry);
    uint32_t nbytes = 1u << entry->shift;
    if (offset > reader->map.nbytes || nbytes > reader->map.nbytes - offset)
        return;
    const uint8_t *bytes = tbed_map_at(&reader->map, offset);
    if (!tbed_bytes_are_zero(bytes + TBED_COPY_USED_NBYTES, nbytes - TBED_COPY_USED_NBYTES))
        tbed_damage_tell(reader, TBED_ERR_BLOCK_TAIL, offset + TBED_COPY_USED_NBYTES, 0,
                         TBED_COPY_USED_NBYTES);
}

/* The units of a packed file that nothing else has needed. */
static void check_packed(const struct tbed_reader *reader)
{
    const struct tbed_packed_file *file =
        reader->map.packed != NULL ? tbed_packed_file(reader->map.packed) : NULL;
    for (size_t i = 0; file != NULL && i < file->units.count; i++) {
        struct tbed_lease lease;
        uint64_t page = file->pages.items[file->units.items[i].first_page];
        uint64_t offset = page * reader->header.page_nbytes;
        if (__atomic_load_n(&file->units.items[i].was_good, __ATOMIC_RELAXED))
            continue;
        tbed_lease_begin(&lease, reader->map.packed);
        enum tbed_status status = tbed_map_take(&reader->map, offset, false);
        if (status != TBED_OK)
            tbed_damage_tell(reader, status, offset, 0, file->units.items[i].offset);
        tbed_lease_end(&lease);
    }
}

static void check_strings(const struct tbed_reader *reader)
{
    uint32_t id = 0;
    while (tbed_string_next(reader, &id)) {
        struct tbed_string_entry entry;
        if (tbed_string_find(reader, id, &entry) != TBED_OK)
            continue;
        enum tbed_status status = tbed_content_check(entry.content, entry.nbytes);
        uint64_t offset = (uint64_t)(entry.content - reader->map.bytes) - TBED_STRING_HEAD_NBYTES;
        if (status != TBED_OK)
            tbed_damage_tell(reader, status, offset, 0, id);
    }
}

static enum tbed_status check_all(struct tbed_reader *reader, unsigned thread_count,
                                  struct tbed_damage_list *events)
{
    enum tbed_status status = TBED_OK;
    for (size_t i = 0; i < reader->index.lists[TBED_BLOCK_CELLS].count; i++)
        check_cells_page(reader, tbed_index_at(&reader->index, TBED_BLOCK_CELLS, i));
    for (enum tbed_block_kind kind = TBED_BLOCK_EVENTS; kind <= TBED_BLOCK_RECORDS; kind++)
        if (status == TBED_OK)
            status = tbed_verify_blocks(reader, kind, thread_count, events);
    if (status != TBED_OK)
        return status; /* what comes later must not be listed first, in case this is tried again */
    if (reader->shut)
        tbed_index_check_unwritten(reader);
    check_packed(reader);
    check_strings(reader);
    tbed_damage_list_join(reader->damage, events);
    return tbed_damage_first(reader);
}

enum tbed_status tbed_reader_verify_with(struct tbed_reader *reader, const struct tbed_verify_options *given)
{
    struct tbed_verify_options options;
    struct tbed_damage_list events; /* what is wrong with events is listed last */
    if (!tbed_options_take(&options, sizeof options, given))
        return TBED_ERR_ARGUMENT;
    if (!tbed_damage_list_make(&events))
        return TBED_ERR_MEMORY;
    reader->verified = (struct tbed_verify_counts){0};
    enum tbed_status status = check_all(reader, options.thread_count, &events);
    tbed_damage_list_free(&events);
    return status;
}

enum tbed_status tbed_reader_verify(struct tbed_reader *reader)
{
    const struct tbed_verify_options options = {.size = sizeof options, .thread_count = 1};
    return tbed_reader_verify_with(reader, &options);
}

void tbed_reader_progress(const struct tbed_reader *reader, uint64_t *read_count_ret, uint64_t *all_count_ret)
{
    *read_count_ret = __atomic_load_n(reader->read_count_at, __ATOMIC_RELAXED);
    *all_count_ret = reader->index.lists[TBED_BLOCK_EVENTS].count;
}
