/*
 * A mutator for complete traces. It changes a meaningful place, then restores what would hide the change (magic,
 * version, page numbers, file ids) and recomputes the checksums. Some mutants are left unrepaired.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "format/layout.h"
#include "fuzz/support/mend.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t nbytes,
                        size_t max_nbytes); /* libFuzzer's, or the replay driver's */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t nbytes, size_t max_nbytes, unsigned seed);

#define SMALLEST_NBYTES (2 * TBED_PAGE_NBYTES_MIN)

struct mutant {
    uint8_t *bytes;
    size_t nbytes, max_nbytes;
    uint32_t page_nbytes;
    uint64_t random;
};

static uint32_t random_below(struct mutant *mutant, size_t limit)
{
    mutant->random = mutant->random * 6364136223846793005u + 1442695040888963407u;
    return limit > 0 ? (uint32_t)((mutant->random >> 33) % limit) : 0;
}

static uint8_t *random_page(struct mutant *mutant)
{
    size_t count = mutant->nbytes / mutant->page_nbytes - 1;
    return mutant->bytes + (1 + random_below(mutant, count)) * (size_t)mutant->page_nbytes;
}

/* Chooses a block of the page: the page itself, or one of its cells. */
static uint8_t *random_block(struct mutant *mutant, uint8_t *page, uint32_t *nbytes_ret)
{
    struct tbed_disk_block *header = (struct tbed_disk_block *)page;
    *nbytes_ret = mutant->page_nbytes;
    if (header->kind != TBED_BLOCK_CELLS || header->shift < TBED_CELL_SHIFT_MIN || header->shift > 17 ||
        1u << header->shift > mutant->page_nbytes / 8)
        return page;
    *nbytes_ret = 1u << header->shift;
    return page + (size_t)random_below(mutant, mutant->page_nbytes >> header->shift) * *nbytes_ret;
}

static void change_content(struct mutant *mutant)
{
    uint32_t nbytes, used;
    uint8_t *block = random_block(mutant, random_page(mutant), &nbytes);
    used = tbed_le32_load(((struct tbed_disk_block *)block)->used_nbytes);
    size_t room = used > TBED_BLOCK_HEADER_NBYTES && used <= nbytes ? used : nbytes;
    size_t at = TBED_BLOCK_HEADER_NBYTES +
                8 * (size_t)random_below(mutant, (room - TBED_BLOCK_HEADER_NBYTES) / 8 + 1);
    size_t part = room - at < 64 ? room - at : 8 + 8 * (size_t)random_below(mutant, 8);
    if (part > 0)
        LLVMFuzzerMutate(block + at, part, part);
}

static void change_block_header(struct mutant *mutant)
{
    static const uint8_t fields[][2] = {{0, 1},  {1, 1},  {2, 2},  {16, 4}, {20, 4}, {24, 4},
                                        {28, 4}, {32, 8}, {40, 4}, {44, 4}, {44, 2}, {48, 8}};
    uint32_t nbytes, field = random_below(mutant, sizeof fields / sizeof fields[0]);
    uint8_t *block = random_block(mutant, random_page(mutant), &nbytes);
    LLVMFuzzerMutate(block + fields[field][0], fields[field][1], fields[field][1]);
}

static void change_file_header(struct mutant *mutant)
{
    static const uint16_t fields[][2] = {{12, 4},  {16, 8},  {52, 4},  {56, 4},  {60, 4},
                                         {64, 8},  {72, 24}, {96, 16}, {512, 8}, {576, 8},
                                         {584, 8}, {592, 8}, {600, 8}, {608, 4}, {640, 64}};
    uint32_t field = random_below(mutant, sizeof fields / sizeof fields[0]);
    LLVMFuzzerMutate(mutant->bytes + fields[field][0], fields[field][1], fields[field][1]);
}

/* Copies one page over another, which is then a duplicate block of the same stream, or its next one. */
static void copy_page(struct mutant *mutant)
{
    uint8_t *from = random_page(mutant), *to = random_page(mutant);
    struct tbed_disk_block *header = (struct tbed_disk_block *)to;
    memmove(to, from, mutant->page_nbytes);
    header->sequence = tbed_le32_make(tbed_le32_load(header->sequence) + random_below(mutant, 3));
    header->stream = tbed_le32_make(tbed_le32_load(header->stream) + random_below(mutant, 2));
}

static void add_or_cut_page(struct mutant *mutant)
{
    struct tbed_disk_header *header = (struct tbed_disk_header *)mutant->bytes;
    bool has_room = mutant->max_nbytes - mutant->nbytes >= mutant->page_nbytes;
    if (has_room && random_below(mutant, 2) == 0) {
        memcpy(mutant->bytes + mutant->nbytes, random_page(mutant), mutant->page_nbytes);
        mutant->nbytes += mutant->page_nbytes;
    } else if (mutant->nbytes / mutant->page_nbytes > 2) {
        mutant->nbytes -= mutant->page_nbytes;
    }
    header->page_count = tbed_le64_make(mutant->nbytes / mutant->page_nbytes);
}

static void restore_block(const struct mutant *mutant, uint8_t *page, uint32_t cell, uint32_t cell_nbytes)
{
    struct tbed_disk_block *header = (struct tbed_disk_block *)(page + (size_t)cell * cell_nbytes);
    if (header->kind == TBED_BLOCK_NONE)
        return;
    header->cell = tbed_le16_make((uint16_t)cell);
    header->page = tbed_le32_make((uint32_t)((size_t)(page - mutant->bytes) / mutant->page_nbytes));
    header->file_id = ((struct tbed_disk_header *)mutant->bytes)->file_id;
    if (cell != 0)
        header->shift = ((struct tbed_disk_block *)page)->shift;
}

static void restore_page(const struct mutant *mutant, uint8_t *page)
{
    struct tbed_disk_block *header = (struct tbed_disk_block *)page;
    restore_block(mutant, page, 0, 0);
    if (header->kind != TBED_BLOCK_CELLS || header->shift < TBED_CELL_SHIFT_MIN || header->shift > 17)
        return;
    for (uint32_t cell = 1; cell < mutant->page_nbytes >> header->shift; cell++)
        restore_block(mutant, page, cell, 1u << header->shift);
}

static void restore(const struct mutant *mutant)
{
    struct tbed_disk_header *header = (struct tbed_disk_header *)mutant->bytes;
    memcpy(header->magic, TBED_MAGIC, sizeof header->magic);
    header->version = tbed_le32_make(TBED_FORMAT_VERSION);
    header->incompatible_flags = tbed_le64_make(0);
    header->max_reserved_id = tbed_le32_make(TBED_ID_MAX_RESERVED);
    header->metadata_id = tbed_le32_make(TBED_ID_METADATA);
    header->max_id = tbed_le32_make(TBED_ID_MAX);
    header->resolution_ns = tbed_le32_make(0);
    memset(header->zero_116, 0, sizeof header->zero_116);
    for (size_t at = mutant->page_nbytes; mutant->nbytes - at >= mutant->page_nbytes;
         at += mutant->page_nbytes)
        restore_page(mutant, mutant->bytes + at);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t nbytes, size_t max_nbytes, unsigned seed)
{
    static void (*const changes[])(struct mutant *) = {
        change_content,     change_content, change_content, change_block_header,
        change_file_header, copy_page,      add_or_cut_page};
    struct mutant mutant = {.bytes = data, .nbytes = nbytes, .max_nbytes = max_nbytes, .random = seed};
    mutant.page_nbytes = mend_page_nbytes(data, nbytes);
    if (nbytes < SMALLEST_NBYTES || mutant.page_nbytes == 0 || nbytes / mutant.page_nbytes < 2 ||
        random_below(&mutant, 20) == 0)
        return LLVMFuzzerMutate(data, nbytes, max_nbytes);
    for (uint32_t count = 1 + random_below(&mutant, 3); count > 0; count--)
        changes[random_below(&mutant, sizeof changes / sizeof changes[0])](&mutant);
    if (random_below(&mutant, 16) != 0 && mend_page_nbytes(data, mutant.nbytes) == mutant.page_nbytes)
        restore(&mutant);
    mend_file(data, mutant.nbytes,
              random_below(&mutant, 16) != 0 ? MEND_ALL : random_below(&mutant, MEND_ALL + 1));
    return mutant.nbytes;
}
