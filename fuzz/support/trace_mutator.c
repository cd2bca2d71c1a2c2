/*
 * A mutator for complete traces. It changes a meaningful place (a word of events, an entry of strings or of the directory,
 * a record, a header, a page) or takes pages of another trace, then restores what would hide the change (magic, version,
 * page numbers, file ids) and recomputes the checksums. Some mutants are left unrepaired.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "format/file/directory.h"
#include "format/layout.h"
#include "format/record.h"
#include "format/string.h"
#include "fuzz/support/mend.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t nbytes,
                        size_t max_nbytes); /* libFuzzer's, or the replay driver's */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t nbytes, size_t max_nbytes, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_nbytes, const uint8_t *other,
                                 size_t other_nbytes, uint8_t *out, size_t max_nbytes, unsigned seed);

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

/* Where a block's content ends: at its used bytes, or with the block. */
static uint32_t content_end(const uint8_t *block, uint32_t nbytes)
{
    uint32_t used = tbed_le32_load(((const struct tbed_disk_block *)block)->used_nbytes);
    return used > TBED_BLOCK_HEADER_NBYTES && used <= nbytes ? used : nbytes;
}

/* A block of that kind, if a few tries find one. */
static uint8_t *random_block_of(struct mutant *mutant, enum tbed_block_kind kind, uint32_t *nbytes_ret)
{
    for (int tries = 0; tries < 8; tries++) {
        uint8_t *block = random_block(mutant, random_page(mutant), nbytes_ret);
        if (((struct tbed_disk_block *)block)->kind == kind)
            return block;
    }
    return NULL;
}

/* Stores another event at the place of one: its word, its tag or its time changes, or the two change places. */
static void change_event(struct mutant *mutant)
{
    uint32_t nbytes;
    uint8_t *block = random_block_of(mutant, TBED_BLOCK_EVENTS, &nbytes);
    if (block == NULL)
        return;
    uint64_t *words = (uint64_t *)(block + TBED_BLOCK_HEADER_NBYTES);
    size_t count = (content_end(block, nbytes) - TBED_BLOCK_HEADER_NBYTES) / 8;
    uint64_t *word = &words[random_below(mutant, count)], *other = &words[random_below(mutant, count)];
    uint64_t old = *word;
    switch (random_below(mutant, 5)) {
    case 0:
        *word = *other;
        break;
    case 1:
        *word = *other;
        *other = old;
        break;
    case 2:
        *word ^= (uint64_t)1 << random_below(mutant, 64);
        break;
    case 3:
        *word += random_below(mutant, 9);
        break;
    default:
        *word = (old & ~(uint64_t)0xFFFFFFFF) | (*other & 0xFFFFFFFF);
    }
}

/* The entry of a strings block at random; 0: there is none. */
static uint32_t random_entry(struct mutant *mutant, const uint8_t *block, uint32_t nbytes)
{
    uint32_t end = content_end(block, nbytes), at = TBED_BLOCK_HEADER_NBYTES, found = 0, count = 0;
    while (at < end && end - at > TBED_STRING_HEAD_NBYTES) {
        uint32_t length = tbed_le32_load(((const struct tbed_disk_string *)(block + at))->nbytes);
        if (length == 0 || length > end - at - TBED_STRING_HEAD_NBYTES)
            break;
        if (random_below(mutant, ++count) == 0)
            found = at;
        at += (uint32_t)tbed_string_entry_nbytes(length);
    }
    return found;
}

/* Puts a reference into a string, to any other or to itself, or changes its length. */
static void change_string(struct mutant *mutant)
{
    uint32_t nbytes;
    uint8_t *block = random_block_of(mutant, TBED_BLOCK_STRINGS, &nbytes);
    uint32_t entry = block != NULL ? random_entry(mutant, block, nbytes) : 0;
    uint32_t target = entry != 0 ? random_entry(mutant, block, nbytes) : 0;
    if (target == 0)
        return;
    struct tbed_disk_string *string = (struct tbed_disk_string *)(block + entry);
    uint32_t length = tbed_le32_load(string->nbytes);
    uint32_t ordinal = tbed_le32_load(((struct tbed_disk_block *)block)->sequence);
    uint32_t word = 0x80000000u | tbed_string_id_make(ordinal, mutant->page_nbytes, target);
    if (length < 5 || random_below(mutant, 4) == 0) {
        string->nbytes = tbed_le32_make(length + random_below(mutant, 3) - 1);
        return;
    }
    uint8_t *at = string->content + random_below(mutant, length - 4);
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(word >> (24 - 8 * i));
}

/* Stores a record of another type or length, or one record over another. */
static void change_record(struct mutant *mutant)
{
    uint32_t nbytes, at = TBED_BLOCK_HEADER_NBYTES;
    uint8_t *block = random_block_of(mutant, TBED_BLOCK_RECORDS, &nbytes);
    uint32_t end = block != NULL ? content_end(block, nbytes) : 0;
    for (uint32_t skip = random_below(mutant, 12); at < end && end - at >= 16; skip--) {
        uint64_t head;
        memcpy(&head, block + at, sizeof head);
        uint32_t length = tbed_record_head_nbytes(head);
        if (length < 8 || length > end - at)
            return;
        if (skip == 0) {
            head = random_below(mutant, 2) == 0
                       ? tbed_record_head_make(tbed_record_head_type(head),
                                               length - 8 + random_below(mutant, 3) * 8)
                       : tbed_record_head_make(random_below(mutant, 12), length);
            memcpy(block + at, &head, sizeof head);
            LLVMFuzzerMutate(block + at + 8, 8, 8);
            return;
        }
        at += (length + 7) & ~7u;
    }
}

/* Changes the entry of a page after everything was mended, so that the directory and the pages disagree. */
static void change_entry(struct mutant *mutant)
{
    size_t pages = mutant->nbytes / mutant->page_nbytes;
    uint64_t page = random_below(mutant, pages);
    if (tbed_directory_has_page(mutant->page_nbytes, page))
        return;
    uint64_t at = tbed_directory_entry_offset(mutant->page_nbytes, page);
    struct tbed_disk_entry *entry = (struct tbed_disk_entry *)(mutant->bytes + at);
    if (at > mutant->nbytes || mutant->nbytes - at < sizeof *entry)
        return;
    uint8_t *field = (uint8_t *)entry + 4 * (size_t)random_below(mutant, sizeof *entry / 4);
    LLVMFuzzerMutate(field, 4, 4);
    uint32_t check = tbed_entry_check_make(entry);
    if (random_below(mutant, 2) == 0)
        memcpy((uint8_t *)(entry + 1) - sizeof check, &check, sizeof check);
}

static void change_content(struct mutant *mutant)
{
    uint32_t nbytes;
    uint8_t *block = random_block(mutant, random_page(mutant), &nbytes);
    size_t room = content_end(block, nbytes);
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
    memset(header->zero_117, 0, sizeof header->zero_117);
    for (size_t at = mutant->page_nbytes; mutant->nbytes - at >= mutant->page_nbytes;
         at += mutant->page_nbytes)
        restore_page(mutant, mutant->bytes + at);
}

/* Restores and mends, in most cases everything, so that the change itself is what a reader meets. */
static void mend(struct mutant *mutant)
{
    if (random_below(mutant, 16) != 0 &&
        mend_page_nbytes(mutant->bytes, mutant->nbytes) == mutant->page_nbytes)
        restore(mutant);
    mend_file(mutant->bytes, mutant->nbytes,
              random_below(mutant, 16) != 0 ? MEND_ALL : random_below(mutant, MEND_ALL + 1));
    if (random_below(mutant, 8) == 0 &&
        mend_page_nbytes(mutant->bytes, mutant->nbytes) == mutant->page_nbytes)
        change_entry(mutant);
}

static bool is_trace(const struct mutant *mutant)
{
    return mutant->nbytes >= SMALLEST_NBYTES && mutant->page_nbytes != 0 &&
           mutant->nbytes / mutant->page_nbytes >= 2;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t nbytes, size_t max_nbytes, unsigned seed)
{
    static void (*const changes[])(struct mutant *) = {
        change_content, change_event, change_event,        change_string,      change_record,
        change_content, copy_page,    change_block_header, change_file_header, add_or_cut_page};
    struct mutant mutant = {.bytes = data, .nbytes = nbytes, .max_nbytes = max_nbytes, .random = seed};
    mutant.page_nbytes = mend_page_nbytes(data, nbytes);
    if (!is_trace(&mutant) || random_below(&mutant, 20) == 0)
        return LLVMFuzzerMutate(data, nbytes, max_nbytes);
    for (uint32_t count = 1 + random_below(&mutant, 3); count > 0; count--)
        changes[random_below(&mutant, sizeof changes / sizeof changes[0])](&mutant);
    mend(&mutant);
    return mutant.nbytes;
}

/* Takes some pages of the other trace, in place of its own or behind them. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_nbytes, const uint8_t *other,
                                 size_t other_nbytes, uint8_t *out, size_t max_nbytes, unsigned seed)
{
    struct mutant mutant = {.bytes = out, .max_nbytes = max_nbytes, .random = seed};
    mutant.nbytes = one_nbytes < max_nbytes ? one_nbytes : max_nbytes;
    memcpy(out, one, mutant.nbytes);
    mutant.page_nbytes = mend_page_nbytes(out, mutant.nbytes);
    size_t pages = mutant.page_nbytes != 0 ? other_nbytes / mutant.page_nbytes : 0;
    if (!is_trace(&mutant) || pages < 2)
        return mutant.nbytes;
    for (uint32_t count = 1 + random_below(&mutant, 3); count > 0; count--) {
        if (random_below(&mutant, 2) == 0)
            add_or_cut_page(&mutant);
        memcpy(random_page(&mutant),
               other + (1 + random_below(&mutant, pages - 1)) * (size_t)mutant.page_nbytes,
               mutant.page_nbytes);
    }
    mend(&mutant);
    return mutant.nbytes;
}
