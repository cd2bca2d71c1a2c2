/*
 * Which trace is it? The header page says so, or a copy of it, or else what most blocks have in common.
 *
 * Source: spec/format.md, sections 3.1 and 4.3.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* memmem() */
#include <string.h>

#include "format/checksum.h"
#include "format/file/directory.h"
#include "writer/base/fail.h"
#include "writer/copy/recover.h"

/* The only value that can have more than half of the votes. */
struct majority {
    uint64_t value; /* 0: none */
    uint64_t lead;
};

static void vote(struct majority *majority, uint64_t value)
{
    if (majority->lead == 0)
        majority->value = value;
    majority->value == value ? majority->lead++ : majority->lead--;
}

static struct tbed_disk_block header_at(const struct tbed_recover *recover, uint64_t offset)
{
    struct tbed_disk_block block;
    memcpy(&block, recover->map + offset, sizeof block);
    return block;
}

static bool is_page_shift(uint32_t shift)
{
    return shift >= 12 && shift <= 20;
}

/* ---- Votes ---- */

/* Could be the header of a page, of a file with pages of any size? */
static bool may_be_page(const struct tbed_disk_block *block)
{
    return block->kind >= TBED_BLOCK_EVENTS && block->kind <= TBED_BLOCK_DIRECTORY &&
           (block->kind == TBED_BLOCK_CELLS || is_page_shift(block->shift)) &&
           tbed_le16_load(block->cell) == 0 && tbed_le32_load(block->page) != 0 &&
           tbed_le64_load(block->file_id) != 0 && tbed_le32_load(block->used_nbytes) <= 1u << 20;
}

/* A header page counts as one page of its file. */
static uint64_t most_common_file_id(const struct tbed_recover *recover, uint64_t header_file_id)
{
    struct majority majority = {.value = header_file_id, .lead = header_file_id != 0};
    for (uint64_t at = 0; at + TBED_BLOCK_HEADER_NBYTES <= recover->nbytes; at += TBED_PAGE_NBYTES_MIN) {
        struct tbed_disk_block block = header_at(recover, at);
        if (may_be_page(&block))
            vote(&majority, tbed_le64_load(block.file_id));
    }
    return majority.value;
}

/* A whole page with a checksum that holds, anywhere. */
static bool is_sealed_page(const struct tbed_recover *recover, uint64_t offset, uint64_t *budget)
{
    struct tbed_disk_block block = header_at(recover, offset);
    uint32_t used = tbed_le32_load(block.used_nbytes);
    if (!may_be_page(&block) || block.kind == TBED_BLOCK_CELLS || used < TBED_BLOCK_HEADER_NBYTES ||
        used % 8 != 0 || used > recover->nbytes - offset || used > 1u << block.shift || used > *budget)
        return false;
    *budget -= used;
    return tbed_block_checksum(recover->map + offset, used) == tbed_le64_load(block.checksum);
}

/* The file id of the first page that is intact, at any offset; 0: there is none. */
static uint64_t first_file_id(const struct tbed_recover *recover)
{
    uint64_t budget = 16 * recover->nbytes;
    for (uint64_t at = 0; at + TBED_BLOCK_HEADER_NBYTES <= recover->nbytes; at++) {
        bool may_be_one = recover->map[at] >= TBED_BLOCK_EVENTS && recover->map[at] <= TBED_BLOCK_DIRECTORY;
        if (may_be_one && is_sealed_page(recover, at, &budget))
            return tbed_le64_load(header_at(recover, at).file_id);
    }
    return 0;
}

/* The shift that most pages of the file have. */
static uint32_t most_common_shift(const struct tbed_recover *recover, uint64_t file_id)
{
    struct majority majority = {0};
    tbed_le64 searched = tbed_le64_make(file_id);
    uint64_t offset = offsetof(struct tbed_disk_block, file_id);
    const uint8_t *at = recover->map, *end = recover->map + recover->nbytes;
    while ((at = memmem(at, (size_t)(end - at), &searched, sizeof searched)) != NULL) {
        uint64_t position = (uint64_t)(at - recover->map);
        at++;
        if (position < offset || position - offset + TBED_BLOCK_HEADER_NBYTES > recover->nbytes)
            continue;
        struct tbed_disk_block block = header_at(recover, position - offset);
        if (may_be_page(&block) && block.kind != TBED_BLOCK_CELLS)
            vote(&majority, block.shift);
    }
    return majority.value != 0 ? (uint32_t)majority.value : (uint32_t)__builtin_ctz(TBED_PAGE_NBYTES_DEFAULT);
}

/* ---- Copies of the header ---- */

static bool header_is_valid(const struct tbed_recover *recover, uint64_t offset,
                            struct tbed_header_fields *fields_ret)
{
    struct tbed_error error;
    return recover->nbytes - offset >= TBED_HEADER_COPY_NBYTES &&
           tbed_header_fixed_check(recover->map + offset, fields_ret, &error) == TBED_OK;
}

/* Calls 'see' for each copy, wherever it is, until it returns false. The header page itself is none. */
static void each_copy(struct tbed_recover *recover,
                      bool (*see)(struct tbed_recover *recover, const struct tbed_header_fields *fields,
                                  void *context),
                      void *context)
{
    const uint8_t *at = recover->map + 1, *end = recover->map + recover->nbytes;
    struct tbed_header_fields fields;
    while ((at = memmem(at, (size_t)(end - at), TBED_MAGIC, sizeof TBED_MAGIC - 1)) != NULL) {
        if (header_is_valid(recover, (uint64_t)(at - recover->map), &fields) &&
            !see(recover, &fields, context))
            return;
        at++;
    }
}

static bool count_copy(struct tbed_recover *recover, const struct tbed_header_fields *fields, void *context)
{
    (void)recover;
    vote(context, fields->file_id);
    return true;
}

/* Takes the first copy whose file id is '*context', and stores 0 there. */
static bool take_copy(struct tbed_recover *recover, const struct tbed_header_fields *fields, void *context)
{
    uint64_t *file_id = context;
    if (fields->file_id != *file_id)
        return true;
    recover->fields = *fields;
    *file_id = 0;
    return false;
}

static bool find_copy(struct tbed_recover *recover, uint64_t file_id)
{
    struct majority majority = {0};
    if (file_id == 0) {
        each_copy(recover, count_copy, &majority);
        file_id = majority.value;
    }
    if (file_id != 0)
        each_copy(recover, take_copy, &file_id);
    return recover->fields.file_id != 0 && file_id == 0;
}

/* ---- Neither ---- */

/* The clock is unknown, so ticks are ticks. */
static void make_up_header(struct tbed_recover *recover, uint64_t file_id)
{
    recover->fields = (struct tbed_header_fields){
        .page_nbytes = 1u << most_common_shift(recover, file_id),
        .file_id = file_id,
        .clock = TBED_CLOCK_USER,
        .clock_unit = "ticks",
    };
}

enum tbed_status tbed_recover_identify(struct tbed_recover *recover)
{
    struct tbed_header_fields header = {0};
    if (!header_is_valid(recover, 0, &header))
        header = (struct tbed_header_fields){0};
    uint64_t file_id = most_common_file_id(recover, header.file_id);
    /* A file that is smaller than its header page: readers believe a copy rather than that. */
    bool is_cut = header.page_nbytes > recover->nbytes;
    recover->result.header = TBED_RECOVERED_HEADER_COPY;
    if ((file_id == header.file_id && !is_cut) || !find_copy(recover, file_id)) {
        recover->fields = header;
        recover->result.header = TBED_RECOVERED_HEADER_INTACT;
    }
    if (recover->fields.file_id == 0 && find_copy(recover, 0))
        recover->result.header = TBED_RECOVERED_HEADER_COPY;
    if (recover->fields.file_id == 0) {
        file_id = file_id != 0 ? file_id : first_file_id(recover);
        if (file_id == 0)
            return tbed_fail(recover->error, TBED_ERR_NOT_A_TRACE, 0);
        recover->result.header = TBED_RECOVERED_HEADER_MADE_UP;
        make_up_header(recover, file_id);
    }
    recover->page_shift = (uint32_t)__builtin_ctz(recover->fields.page_nbytes);
    recover->is_ring = recover->fields.ring_page_count != 0;
    return TBED_OK;
}
