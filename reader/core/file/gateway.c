/*
 * The gateway from an entry of the index to a block; see gateway.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/file/gateway.h"

#include "format/file/mark.h"
#include "reader/core/file/directory_read.h"

static enum tbed_block_verdict state_load(const struct tbed_indexed *entry)
{
    return (enum tbed_block_verdict)__atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
}

static void state_store(struct tbed_indexed *entry, unsigned state)
{
    __atomic_store_n(&entry->state, (uint8_t)state, __ATOMIC_RELEASE);
}

/* The state of one passage through the gateway. */
struct passage {
    const struct tbed_reader *reader;
    enum tbed_block_kind kind;
    struct tbed_indexed *entry;
    const uint8_t *bytes;
    uint64_t offset;
    uint32_t nbytes;
    struct tbed_block_fields fields;
};

static enum tbed_status refuse(const struct passage *passage, enum tbed_status status, uint64_t offset,
                               uint64_t detail)
{
    tbed_damage_tell(passage->reader, status, passage->offset + offset, passage->entry->cell, detail);
    return status;
}

static bool is_what_was_indexed(const struct passage *passage)
{
    const struct tbed_block_fields *fields = &passage->fields;
    return fields->kind == passage->kind && fields->stream == passage->entry->stream &&
           fields->sequence == passage->entry->sequence;
}

/* In a ring, the page may have been given to another block while it was being checked. */
static bool is_still_there(const struct passage *passage)
{
    const struct tbed_reader *reader = passage->reader;
    return passage->entry->cell != 0 || passage->entry->page > tbed_reader_reused_count(reader) ||
           tbed_page_still_has(reader->map.bytes, reader->header.page_nbytes, passage->entry->page,
                               passage->fields.generation);
}

static enum tbed_status check_stack(struct passage *passage)
{
    uint32_t offset = 0;
    if (passage->kind != TBED_BLOCK_EVENTS)
        return TBED_OK;
    uint32_t count = tbed_block_stored_count(passage->nbytes, passage->fields.depth);
    enum tbed_status status = tbed_block_stack_check(passage->bytes, count, &offset);
    if (status != TBED_OK && !is_still_there(passage))
        return TBED_ERR_CHANGED;
    return status == TBED_OK ? TBED_OK : refuse(passage, status, offset, 0);
}

static enum tbed_status check_content(const struct passage *passage, bool skip_hash)
{
    const struct tbed_block_fields *fields = &passage->fields;
    enum tbed_status status = tbed_block_content_check(passage->bytes, fields, passage->nbytes, skip_hash);
    if (status != TBED_OK && !is_still_there(passage))
        return TBED_ERR_CHANGED;
    if (status == TBED_ERR_BLOCK_CHECKSUM)
        return refuse(passage, status, offsetof(struct tbed_disk_block, checksum), fields->checksum);
    if (status != TBED_OK)
        return refuse(passage, status, fields->used_nbytes, fields->used_nbytes);
    return TBED_OK;
}

/*
 * A block that was found by its entry, and whose header is valid, has to be the one that the entry means; otherwise it is
 * lost, because it cannot be put in order any more. Fields that only describe it cost nothing if they differ. A damaged
 * block says nothing about the entry.
 */
static enum tbed_status compare_with_entry(const struct passage *passage)
{
    const struct tbed_indexed *indexed = passage->entry;
    const struct tbed_block_fields *fields = &passage->fields;
    bool is_other = !is_what_was_indexed(passage) ||
                    (passage->kind == TBED_BLOCK_STRINGS && fields->string_page != indexed->string_page);
    struct tbed_page_entry entry = tbed_page_entry_load(passage->reader, indexed->page);
    if (!is_other && tbed_entry_agrees(&entry.fields, fields))
        return TBED_OK;
    bool is_sealed = fields->used_nbytes != 0;
    bool is_good =
        !is_sealed || tbed_block_content_check(passage->bytes, fields, passage->nbytes, false) == TBED_OK;
    if (is_good)
        tbed_directory_tell_entry(passage->reader, indexed->page, entry.fields.state);
    if (passage->reader->shut && !is_sealed)
        refuse(passage, TBED_ERR_BLOCK_UNSEALED, offsetof(struct tbed_disk_block, used_nbytes), 0);
    if (!is_other)
        return TBED_OK;
    return is_good ? TBED_ERR_DIRECTORY_ENTRY : check_content(passage, false);
}

/* The page has been taken. */
static struct tbed_block_fields header_load(const struct passage *passage)
{
    const struct tbed_reader *reader = passage->reader;
    return passage->entry->cell != 0 ? tbed_block_load(reader->map.bytes + passage->offset)
                                     : tbed_page_load(reader->map.bytes, reader->header.page_nbytes,
                                                      tbed_reader_reused_count(reader), passage->entry->page);
}

/* Blocks of events are unpacked while they are needed; pointers into all others are kept. */
static enum tbed_status bring(struct passage *passage)
{
    const struct tbed_map *map = &passage->reader->map;
    if (passage->offset > map->nbytes || passage->nbytes > map->nbytes - passage->offset)
        return refuse(passage, TBED_ERR_BLOCK_CUT, 0, map->nbytes);
    enum tbed_status status = tbed_map_take(map, passage->offset, passage->kind != TBED_BLOCK_EVENTS);
    if (status != TBED_OK)
        return refuse(passage, status, 0, tbed_map_packed_offset(map, passage->offset));
    passage->bytes = map->bytes + passage->offset;
    return TBED_OK;
}

static enum tbed_status check_header(struct passage *passage)
{
    const struct tbed_indexed *entry = passage->entry;
    uint32_t string_page = passage->kind == TBED_BLOCK_STRINGS ? (uint32_t)entry->string_page : 0;
    uint32_t field = 0;
    uint64_t detail = 0;
    enum tbed_status status = bring(passage);
    if (status != TBED_OK)
        return status;
    passage->fields = header_load(passage);
    if (entry->by_entry && passage->fields.kind == TBED_BLOCK_NONE)
        return refuse(passage, TBED_ERR_BLOCK_LOST, 0, TBED_ENTRY_SEALED);
    if (!entry->by_entry && !is_what_was_indexed(passage))
        return TBED_ERR_CHANGED;
    struct tbed_block_place place =
        tbed_place_make(passage->reader, entry->page, entry->cell, entry->shift, string_page);
    status = tbed_block_header_check(&passage->fields, &place, &field, &detail);
    if (status != TBED_OK)
        return refuse(passage, status, field, detail);
    return entry->by_entry && state_load(entry) == TBED_VERDICT_NONE ? compare_with_entry(passage) : TBED_OK;
}

/* The result of checking the content, now or earlier. It is remembered for sealed blocks only. */
static enum tbed_status check_once(struct passage *passage, bool force_hash)
{
    enum tbed_block_verdict state = state_load(passage->entry);
    bool skip_hash = passage->reader->skip_hashes && !force_hash;
    if (passage->fields.used_nbytes == 0)
        return TBED_OK;
    if (state == TBED_VERDICT_GOOD || (state == TBED_VERDICT_GOOD_BUT_HASH && skip_hash))
        return TBED_OK;
    if (state > TBED_VERDICT_GOOD)
        return (enum tbed_status)state;
    enum tbed_status status = check_content(passage, skip_hash);
    if (state == TBED_VERDICT_NONE && passage->kind == TBED_BLOCK_EVENTS)
        __atomic_fetch_add(passage->reader->read_count_at, 1, __ATOMIC_RELAXED);
    unsigned good = skip_hash ? TBED_VERDICT_GOOD_BUT_HASH : TBED_VERDICT_GOOD;
    if (status != TBED_ERR_CHANGED)
        state_store(passage->entry, status == TBED_OK ? good : (unsigned)status);
    return status;
}

static void fill_block(const struct passage *passage, struct tbed_block *block)
{
    const struct tbed_block_fields *fields = &passage->fields;
    bool sealed = fields->used_nbytes != 0;
    uint32_t used = sealed ? fields->used_nbytes : passage->nbytes;
    uint32_t stored =
        passage->kind == TBED_BLOCK_EVENTS ? tbed_block_stored_count(passage->nbytes, fields->depth) : 0;
    *block = (struct tbed_block){
        .bytes = passage->bytes,
        .nbytes = passage->nbytes,
        .used_nbytes = used,
        .sealed = sealed,
        .kind = passage->kind,
        .page = fields->page,
        .cell = fields->cell,
        .stream = fields->stream,
        .sequence = fields->sequence,
        .generation = fields->generation,
        .string_page = fields->string_page,
        .first_tick = fields->first_tick,
        .last_tick = sealed ? fields->last_tick : 0,
        .depth = fields->depth,
        .stored_count = stored,
        .words =
            (const uint64_t *)(passage->bytes + TBED_BLOCK_HEADER_NBYTES + stored * TBED_STACK_ENTRY_NBYTES),
        .words_end = (const uint64_t *)(passage->bytes + used),
        .offset = passage->offset,
    };
}

static struct passage passage_begin(const struct tbed_reader *reader, enum tbed_block_kind kind,
                                    struct tbed_indexed *entry)
{
    return (struct passage){
        .reader = reader,
        .kind = kind,
        .entry = entry,
        .offset = tbed_indexed_offset(reader, entry),
        .nbytes = entry->cell == 0 ? reader->header.page_nbytes : 1u << entry->shift,
    };
}

enum tbed_status tbed_gateway(const struct tbed_reader *reader, enum tbed_block_kind kind,
                              struct tbed_indexed *entry, bool force_hash, struct tbed_block *block_ret)
{
    struct passage passage = passage_begin(reader, kind, entry);
    enum tbed_status status = check_header(&passage);
    if (status == TBED_OK)
        status = check_once(&passage, force_hash);
    if (status == TBED_OK)
        status = check_stack(&passage);
    if (status == TBED_OK)
        fill_block(&passage, block_ret);
    return status;
}

enum tbed_status tbed_gateway_by_header(const struct tbed_reader *reader, enum tbed_block_kind kind,
                                        struct tbed_indexed *entry, struct tbed_block *block_ret)
{
    struct passage passage = passage_begin(reader, kind, entry);
    enum tbed_status status = check_header(&passage);
    enum tbed_block_verdict state = state_load(entry);
    if (status == TBED_OK && passage.fields.used_nbytes != 0 && state > TBED_VERDICT_GOOD)
        status = (enum tbed_status)state;
    if (status == TBED_OK)
        status = check_stack(&passage);
    if (status == TBED_OK)
        fill_block(&passage, block_ret);
    return status;
}

bool tbed_indexed_is_good(const struct tbed_reader *reader, enum tbed_block_kind kind,
                          struct tbed_indexed *entry)
{
    struct passage passage = passage_begin(reader, kind, entry);
    if (kind == TBED_BLOCK_CELLS) /* checked when the index was built */
        return true;
    return check_header(&passage) == TBED_OK && check_once(&passage, true) == TBED_OK;
}

/* The mark of a ring's page is raised before anything else in the block changes. */
bool tbed_block_is_there(const struct tbed_reader *reader, const struct tbed_block *block)
{
    return block->cell != 0 || block->page > reader->header.ring_page_count ||
           tbed_page_still_has(reader->map.bytes, reader->header.page_nbytes, block->page, block->generation);
}

static bool copy_from(const struct tbed_reader *reader, const struct tbed_block *original, uint64_t *copy,
                      size_t at)
{
    for (size_t i = at; i < original->nbytes / 8; i++)
        copy[i] = tbed_raw_word_load(original->bytes + 8 * i);
    return tbed_block_is_there(reader, original);
}

bool tbed_block_copy(const struct tbed_reader *reader, struct tbed_block *block, uint64_t *copy)
{
    const uint8_t *original = block->bytes;
    if (!copy_from(reader, block, copy, 0))
        return false;
    block->bytes = (const uint8_t *)copy;
    block->words = copy + ((const uint8_t *)block->words - original) / 8;
    block->words_end = copy + ((const uint8_t *)block->words_end - original) / 8;
    return true;
}

bool tbed_block_copy_more(const struct tbed_reader *reader, const struct tbed_block *original, uint64_t *copy,
                          size_t at)
{
    return copy_from(reader, original, copy, at);
}

bool tbed_block_has_more(const struct tbed_block *original, size_t at)
{
    return tbed_word_load(original->bytes + 8 * at) != 0;
}

bool tbed_indexed_ends_before(const struct tbed_reader *reader, struct tbed_indexed *entry, uint64_t tick)
{
    struct passage passage = passage_begin(reader, TBED_BLOCK_EVENTS, entry);
    if (entry->by_entry) {
        struct tbed_page_entry of_page = tbed_page_entry_load(reader, entry->page);
        return of_page.is_sealed && of_page.fields.last_tick < tick;
    }
    if (passage.offset > reader->map.nbytes || passage.nbytes > reader->map.nbytes - passage.offset)
        return false;
    struct tbed_lease lease;
    tbed_lease_begin(&lease, reader->map.packed);
    tbed_map_take(&reader->map, passage.offset, false);
    passage.fields = header_load(&passage);
    tbed_lease_end(&lease);
    return is_what_was_indexed(&passage) && passage.fields.used_nbytes != 0 &&
           passage.fields.last_tick < tick;
}
