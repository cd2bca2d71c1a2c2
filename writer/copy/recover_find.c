/*
 * Finds a trace's blocks wherever they are: by the file id in their headers.
 *
 * Source: spec/format.md, section 4.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* memmem() */
#include <string.h>

#include "format/checksum.h"
#include "format/file/directory.h"
#include "writer/copy/recover.h"

#define FILE_ID_OFFSET offsetof(struct tbed_disk_block, file_id)

static struct tbed_block_fields load_header(const struct tbed_recover *recover, uint64_t offset)
{
    uint64_t words[TBED_BLOCK_HEADER_NBYTES / 8];
    memcpy(words, recover->map + offset, sizeof words);
    return tbed_block_load((const uint8_t *)words);
}

/* ---- Headers ---- */

static uint32_t nbytes_of(const struct tbed_recover *recover, const struct tbed_block_fields *fields)
{
    return fields->kind == TBED_BLOCK_CELLS ? 1u << recover->page_shift : 1u << fields->shift;
}

/* The numbers could be those of a page or cell of this trace. */
static bool place_is_possible(const struct tbed_recover *recover, const struct tbed_block_fields *fields)
{
    bool is_page = fields->cell == 0 && fields->kind != TBED_BLOCK_CELLS;
    if (fields->page == 0 || tbed_directory_has_page(1u << recover->page_shift, fields->page))
        return false;
    if (is_page)
        return fields->kind >= TBED_BLOCK_EVENTS && fields->kind <= TBED_BLOCK_RECORDS &&
               fields->shift == recover->page_shift;
    if (fields->shift < TBED_CELL_SHIFT_MIN || fields->shift + 3 > recover->page_shift)
        return false;
    if (fields->kind == TBED_BLOCK_CELLS)
        return fields->cell == 0;
    return fields->kind >= TBED_BLOCK_EVENTS && fields->kind <= TBED_BLOCK_RECORDS &&
           fields->cell < 1u << (recover->page_shift - fields->shift);
}

/* What the reader's checks of a header ask for, apart from its place and the file's counters. */
static bool header_is_possible(const struct tbed_recover *recover, const struct tbed_block_fields *fields)
{
    if (!place_is_possible(recover, fields) || fields->stream == UINT32_MAX)
        return false;
    struct tbed_block_place place = {
        .file_id = recover->fields.file_id,
        .page_nbytes = 1u << recover->page_shift,
        .page = fields->page,
        .cell = fields->cell,
        .nbytes = nbytes_of(recover, fields),
        .cells_string_page = fields->kind == TBED_BLOCK_STRINGS ? fields->string_page : 0,
        .next_stream = UINT64_MAX,
        .next_string_page = UINT64_MAX,
    };
    uint32_t field;
    uint64_t detail;
    if (tbed_block_header_check(fields, &place, &field, &detail) != TBED_OK)
        return false;
    /* A string block in a cell was compared with itself. */
    return fields->kind != TBED_BLOCK_STRINGS ||
           fields->string_page < (UINT64_C(1) << 32) >> recover->page_shift;
}

/* Loads a header at 'offset', if there can be one. */
static bool find_header(const struct tbed_recover *recover, uint64_t offset,
                        struct tbed_block_fields *fields_ret)
{
    if (recover->nbytes - offset < TBED_BLOCK_HEADER_NBYTES)
        return false;
    *fields_ret = load_header(recover, offset);
    return header_is_possible(recover, fields_ret);
}

/* The offset of the next header in ['from', 'end'); 'end': there is none. */
static uint64_t next_header(const struct tbed_recover *recover, uint64_t from, uint64_t end,
                            struct tbed_block_fields *fields_ret)
{
    tbed_le64 file_id = tbed_le64_make(recover->fields.file_id);
    uint64_t last = end + FILE_ID_OFFSET + sizeof file_id - 1;
    last = last < recover->nbytes ? last : recover->nbytes;
    for (uint64_t at = from + FILE_ID_OFFSET; at < last; at++) {
        const uint8_t *hit = memmem(recover->map + at, (size_t)(last - at), &file_id, sizeof file_id);
        if (hit == NULL)
            break;
        at = (uint64_t)(hit - recover->map);
        if (find_header(recover, at - FILE_ID_OFFSET, fields_ret))
            return at - FILE_ID_OFFSET;
    }
    return end;
}

/* ---- Content ---- */

static uint64_t place_of(const struct tbed_recover *recover, const struct tbed_found *found)
{
    return ((uint64_t)found->page << recover->page_shift) + ((uint64_t)found->cell << found->shift);
}

void tbed_recover_load(const struct tbed_recover *recover, const struct tbed_found *found, uint8_t *to)
{
    memcpy(to, recover->map + found->offset, found->there_nbytes);
    memset(to + found->there_nbytes, 0, found->used_nbytes - found->there_nbytes);
}

/* Loads the block up to 'end_nbytes' into 'scratch', with zeros behind it. */
static void load_scratch(const struct tbed_recover *recover, const struct tbed_found *found,
                         uint32_t end_nbytes, uint32_t nbytes)
{
    memcpy(recover->scratch, recover->map + found->offset, end_nbytes);
    memset(recover->scratch + end_nbytes, 0, nbytes - end_nbytes);
}

static bool stack_is_good(const struct tbed_recover *recover, const struct tbed_found *found, uint32_t depth)
{
    uint32_t offset;
    return found->kind != TBED_BLOCK_EVENTS ||
           tbed_block_stack_check(recover->scratch, tbed_block_stored_count(1u << found->shift, depth),
                                  &offset) == TBED_OK;
}

/* The checksum holds. Out of place only so many bytes are looked at. */
static bool is_sealed_well(struct tbed_recover *recover, const struct tbed_found *found, uint64_t checksum)
{
    if (found->used_nbytes > recover->nbytes - found->offset)
        return false;
    if (!found->is_in_place && found->used_nbytes > recover->hash_budget)
        return false;
    if (!found->is_in_place)
        recover->hash_budget -= found->used_nbytes;
    return tbed_block_checksum(recover->map + found->offset, found->used_nbytes) == checksum;
}

/* Where the content of a sealed block ends, which is 'used' unless a writer was wrong. */
static void walk_sealed(const struct tbed_recover *recover, struct tbed_found *found, uint32_t depth)
{
    uint32_t nbytes = 1u << found->shift;
    struct tbed_block_scan scan;
    load_scratch(recover, found, found->used_nbytes, nbytes);
    tbed_block_scan(recover->scratch, nbytes, (enum tbed_block_kind)found->kind, &scan);
    found->is_intact = stack_is_good(recover, found, depth);
    found->is_cut = scan.end_nbytes != found->used_nbytes;
    found->used_nbytes = found->there_nbytes = scan.end_nbytes;
    found->is_cut |=
        tbed_recover_mend(recover->scratch, (enum tbed_block_kind)found->kind, found->used_nbytes);
    found->last_tick = scan.last_tick > found->last_tick ? scan.last_tick : found->last_tick;
}

/* A block that is not sealed ends at its first zero word, or where its bytes end: at the next block or the file's end. */
static void walk_unsealed(const struct tbed_recover *recover, struct tbed_found *found, uint32_t depth)
{
    uint32_t nbytes = 1u << found->shift, words = tbed_block_words_offset(nbytes, depth);
    uint64_t left = recover->nbytes - found->offset, end = found->offset + (left < nbytes ? left : nbytes);
    struct tbed_block_fields ignored;
    end = next_header(recover, found->offset + TBED_BLOCK_HEADER_NBYTES, end, &ignored);
    uint32_t there = (uint32_t)(end - found->offset) & ~7u;
    struct tbed_block_scan scan;
    load_scratch(recover, found, there, nbytes);
    enum tbed_status status =
        tbed_block_scan(recover->scratch, nbytes, (enum tbed_block_kind)found->kind, &scan);
    bool is_at_end = scan.end_nbytes >= there && there < nbytes;
    found->used_nbytes = scan.end_nbytes;
    found->there_nbytes = there < scan.end_nbytes ? there : scan.end_nbytes;
    found->last_tick = scan.last_tick;
    found->is_intact =
        (found->kind != TBED_BLOCK_EVENTS || words <= there) && stack_is_good(recover, found, depth);
    found->is_cut = status != TBED_OK || is_at_end ||
                    tbed_block_end_check(recover->scratch, nbytes, (enum tbed_block_kind)found->kind, &scan,
                                         0) != TBED_OK;
    found->is_interrupted = scan.has_rest && !found->is_cut;
    found->is_cut |=
        tbed_recover_mend(recover->scratch, (enum tbed_block_kind)found->kind, found->used_nbytes);
}

static struct tbed_found found_make(const struct tbed_recover *recover, uint64_t offset,
                                    const struct tbed_block_fields *fields)
{
    struct tbed_found found = {
        .offset = offset,
        .page = fields->page,
        .cell = fields->cell,
        .kind = fields->kind,
        .shift = fields->shift,
        .stream = fields->stream,
        .sequence = fields->sequence,
        .string_page = fields->string_page,
        .used_nbytes = fields->used_nbytes,
        .first_tick = fields->first_tick,
        .last_tick = fields->last_tick,
        .is_sealed = fields->used_nbytes != 0,
        .is_of_ring = fields->generation != 0,
    };
    found.is_in_place = offset == place_of(recover, &found);
    return found;
}

static struct tbed_found look_at(struct tbed_recover *recover, uint64_t offset,
                                 const struct tbed_block_fields *fields)
{
    struct tbed_found found = found_make(recover, offset, fields);
    if (!found.is_sealed) {
        walk_unsealed(recover, &found, fields->depth);
    } else if (is_sealed_well(recover, &found, fields->checksum)) {
        found.is_intact = true;
        found.there_nbytes = found.used_nbytes;
        if (found.kind != TBED_BLOCK_CELLS)
            walk_sealed(recover, &found, fields->depth);
    }
    return found;
}

bool tbed_recover_find(struct tbed_recover *recover)
{
    struct tbed_block_fields fields;
    recover->hash_budget = 16 * recover->nbytes;
    for (uint64_t at = 0; (at = next_header(recover, at, recover->nbytes, &fields)) < recover->nbytes;) {
        struct tbed_found found = look_at(recover, at, &fields);
        if (found.is_intact || found.is_in_place) {
            struct tbed_found *item = tbed_list_push(&recover->found, sizeof *item);
            if (item == NULL)
                return false;
            *item = found;
        }
        recover->is_ring |= found.is_of_ring && found.kind == TBED_BLOCK_EVENTS;
        at += found.is_intact ? found.there_nbytes : 1;
    }
    return true;
}
