/*
 * The string table: finds the entry of an id, and iterates over entries and over components.
 *
 * References are followed elsewhere (string_walk.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/strings/string_table.h"
#include "format/checksum.h"
#include "format/string.h"
#include "reader/core/file/gateway.h"
#include "reader/core/records/locations.h"

/* Checks the entry at 'at' of the block. Errors: TBED_END at the end of the entries; STRING_LENGTH, STRING_HASH. */
static enum tbed_status entry_get(const struct tbed_block *block, uint32_t at, bool skip_hash,
                                  struct tbed_string_entry *entry_ret)
{
    if (at >= block->used_nbytes)
        return TBED_END;
    uint64_t head = tbed_word_load(block->bytes + at);
    if (head == 0 && !block->sealed)
        return TBED_END;
    enum tbed_status status = tbed_string_head_check(head, block->used_nbytes - at);
    if (status != TBED_OK)
        return status;
    const uint8_t *content = block->bytes + at + TBED_STRING_HEAD_NBYTES;
    uint32_t nbytes = tbed_string_head_nbytes(head);
    if (!skip_hash && tbed_string_hash(content, nbytes) != tbed_string_head_hash(head))
        return TBED_ERR_STRING_HASH;
    *entry_ret = (struct tbed_string_entry){content, nbytes};
    return TBED_OK;
}

/* The block that 'id' addresses, and the position in it. Errors: STRING_ID. */
static enum tbed_status place_get(const struct tbed_reader *reader, uint32_t id, size_t *position_ret,
                                  struct tbed_block *block_ret, uint32_t *at_ret)
{
    if (id <= TBED_ID_INVALID || id > TBED_ID_MAX)
        return TBED_ERR_STRING_ID;
    uint64_t address = tbed_string_id_address(id);
    uint32_t offset = (uint32_t)(address % reader->header.page_nbytes);
    *position_ret =
        tbed_index_string_position(&reader->index, (uint32_t)(address / reader->header.page_nbytes), offset);
    struct tbed_indexed *entry = tbed_index_string_at(&reader->index, *position_ret);
    if (entry == NULL || tbed_gateway(reader, TBED_BLOCK_STRINGS, entry, false, block_ret) != TBED_OK)
        return TBED_ERR_STRING_ID;
    *at_ret = offset - (uint32_t)(block_ret->offset % reader->header.page_nbytes);
    bool is_inside = *at_ret >= TBED_BLOCK_HEADER_NBYTES && *at_ret < block_ret->used_nbytes;
    return is_inside ? TBED_OK : TBED_ERR_STRING_ID;
}

static enum tbed_status find(const struct tbed_reader *reader, uint32_t id, bool skip_hash,
                             struct tbed_string_entry *entry_ret)
{
    struct tbed_block block;
    size_t position;
    uint32_t at = 0;
    enum tbed_status status = place_get(reader, id, &position, &block, &at);
    if (status == TBED_OK)
        status = entry_get(&block, at, skip_hash, entry_ret);
    return status == TBED_END ? TBED_ERR_STRING_LENGTH : status; /* a zero word is not an entry */
}

enum tbed_status tbed_string_find(const struct tbed_reader *reader, uint32_t id,
                                  struct tbed_string_entry *entry_ret)
{
    return find(reader, id, false, entry_ret);
}

/* Is the id's entry in the block? If so, sets '*at_ret' to its position. A block that may grow is fetched again. */
static bool is_in(const struct tbed_reader *reader, const struct tbed_block *block, uint32_t id,
                  uint32_t *at_ret)
{
    uint64_t address = tbed_string_id_address(id);
    uint32_t page_nbytes = reader->header.page_nbytes;
    if (block->bytes == NULL || !block->sealed || address / page_nbytes != block->string_page)
        return false;
    *at_ret = (uint32_t)(address % page_nbytes) - (uint32_t)(block->offset % page_nbytes);
    return *at_ret >= TBED_BLOCK_HEADER_NBYTES && *at_ret < block->used_nbytes;
}

enum tbed_status tbed_string_find_near(const struct tbed_reader *reader, uint32_t id,
                                       struct tbed_block *block, struct tbed_string_entry *entry_ret)
{
    size_t position;
    uint32_t at = 0;
    bool is_near = id > TBED_ID_INVALID && id <= TBED_ID_MAX && is_in(reader, block, id, &at);
    enum tbed_status status = is_near ? TBED_OK : place_get(reader, id, &position, block, &at);
    if (status == TBED_OK)
        return entry_get(block, at, false, entry_ret);
    block->bytes = NULL;
    return status;
}

/* ---- Iteration over entries ---- */

static uint32_t id_of(const struct tbed_reader *reader, const struct tbed_block *block, uint32_t at)
{
    uint32_t block_offset = (uint32_t)(block->offset % reader->header.page_nbytes);
    return tbed_string_id_make(block->string_page, reader->header.page_nbytes, block_offset + at);
}

/* The first entry at or after 'at' in the block, or in a later one. Damage is reported and ends its block. */
static bool next_from(const struct tbed_reader *reader, size_t position, struct tbed_block *block,
                      bool is_good, uint32_t at, uint32_t *id_ret)
{
    struct tbed_string_entry found;
    for (;;) {
        enum tbed_status status = is_good ? entry_get(block, at, false, &found) : TBED_END;
        if (status == TBED_OK) {
            *id_ret = id_of(reader, block, at);
            return true;
        }
        if (status != TBED_END)
            tbed_damage_tell(reader, status, block->offset + at, block->cell, 0);
        struct tbed_indexed *entry = tbed_index_string_at(&reader->index, ++position);
        if (entry == NULL)
            return false;
        is_good = tbed_gateway(reader, TBED_BLOCK_STRINGS, entry, false, block) == TBED_OK;
        at = TBED_BLOCK_HEADER_NBYTES;
    }
}

bool tbed_string_next(const struct tbed_reader *reader, uint32_t *id)
{
    struct tbed_block block;
    struct tbed_string_entry entry;
    size_t position;
    uint32_t at = 0;
    if (*id == 0) /* SIZE_MAX + 1 is the first block */
        return next_from(reader, SIZE_MAX, &block, false, 0, id);
    if (place_get(reader, *id, &position, &block, &at) != TBED_OK ||
        entry_get(&block, at, true, &entry) != TBED_OK)
        return false;
    at += (uint32_t)tbed_string_entry_nbytes(entry.nbytes);
    return next_from(reader, position, &block, true, at, id);
}

/* ---- Components ---- */

enum tbed_status tbed_string_component_next(const struct tbed_reader *reader, uint32_t id, uint32_t *at,
                                            struct tbed_string_component *component_ret)
{
    struct tbed_string_entry entry;
    struct tbed_content_component component;
    enum tbed_status status = tbed_bindings_follow(reader, &id);
    if (status == TBED_OK) /* hashed once a walk, or a long list would take quadratic time */
        status = find(reader, id, *at > 0, &entry);
    if (status != TBED_OK)
        return status;
    if (*at >= entry.nbytes)
        return TBED_ERR_ARGUMENT;
    status = tbed_content_next(entry.content, entry.nbytes, at, &component);
    if (status == TBED_ERR_STRING_END || status == TBED_ERR_STRING_UTF8)
        tbed_damage_tell(reader, status,
                         (uint64_t)(entry.content - reader->map.bytes) - TBED_STRING_HEAD_NBYTES, 0, id);
    if (status == TBED_OK)
        *component_ret = (struct tbed_string_component){component.is_reference, component.id,
                                                        (const char *)component.text, component.nbytes};
    return status;
}

enum tbed_status tbed_string_text(const struct tbed_reader *reader, uint32_t id, const char **text_ret,
                                  size_t *nbytes_ret)
{
    struct tbed_string_component component, more;
    uint32_t at = 0;
    enum tbed_status status = tbed_string_component_next(reader, id, &at, &component);
    if (status == TBED_END) { /* no components */
        *text_ret = "";
        *nbytes_ret = 0;
        return TBED_OK;
    }
    if (status != TBED_OK)
        return status;
    status = tbed_string_component_next(reader, id, &at, &more);
    if (status == TBED_OK || (status == TBED_END && component.is_reference))
        return TBED_ERR_ARGUMENT;
    if (status != TBED_END)
        return status;
    *text_ret = component.text;
    *nbytes_ret = component.nbytes;
    return TBED_OK;
}
