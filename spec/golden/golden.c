/*
 * Builds trace files byte by byte.
 *
 * SPDX-License-Identifier: MIT
 */
#include "spec/golden/golden.h"

#include "format/argument.h"
#include "format/checksum.h"
#include "format/event.h"
#include "format/file/directory.h"
#include "format/record.h"
#include "format/string.h"
#include "fuzz/support/mend.h"

static uint64_t storage[GOLDEN_NBYTES_MAX / 8];

void golden_begin(struct golden_file *file, uint32_t page_nbytes)
{
    struct tbed_header_fields fields = {
        .page_nbytes = page_nbytes,
        .file_id = GOLDEN_FILE_ID,
        .clock = TBED_CLOCK_MONOTONIC,
        .ticks_per_second = 1000000000u,
        .anchor_ticks = GOLDEN_FIRST_TICK,
        .anchor_realtime_ns = 1700000000000000000,
        .anchor_monotonic_ns = GOLDEN_FIRST_TICK,
    };
    memset(storage, 0, sizeof storage);
    *file =
        (struct golden_file){.bytes = (uint8_t *)storage, .nbytes = page_nbytes, .page_nbytes = page_nbytes};
    tbed_header_make(file->bytes, &fields);
}

void golden_counts(struct golden_file *file, uint64_t next_stream, uint64_t next_string_page,
                   uint64_t next_reserved)
{
    struct tbed_disk_header *header = (struct tbed_disk_header *)file->bytes;
    header->page_count = tbed_le64_make(file->nbytes / file->page_nbytes);
    header->next_stream = tbed_le64_make(next_stream);
    header->next_string_page = tbed_le64_make(next_string_page);
    header->next_reserved_id = tbed_le64_make(next_reserved);
}

static uint32_t shift_of(uint32_t nbytes)
{
    return (uint32_t)__builtin_ctz(nbytes);
}

/* The cells that are left are free for processes that join. */
void golden_shut(struct golden_file *file)
{
    struct tbed_disk_header *header = (struct tbed_disk_header *)file->bytes;
    header->state = tbed_le32_make(TBED_STATE_SHUT);
    if (file->cells_offset != 0)
        header->free_cells =
            tbed_le64_make((uint64_t)shift_of(file->cell_nbytes) << 48 | (uint64_t)file->cells_used << 32 |
                           file->cells_offset / file->page_nbytes);
    mend_file(file->bytes, file->nbytes, MEND_HEADER | MEND_BLOCKS | MEND_DIRECTORY | MEND_CLOSING);
}

/* ---- Pages and blocks ---- */

size_t golden_page_claim(struct golden_file *file)
{
    file->nbytes += tbed_directory_has_page(file->page_nbytes, file->nbytes / file->page_nbytes)
                        ? file->page_nbytes
                        : 0; /* which golden_shut() fills in */
    size_t offset = file->nbytes;
    file->nbytes += file->page_nbytes;
    if (file->nbytes > sizeof storage)
        golden_fail("a golden file has too many pages");
    return offset;
}

static struct golden_block begin(struct golden_file *file, size_t offset, uint32_t nbytes,
                                 uint32_t header_shift, const struct golden_start *start)
{
    uint64_t tick = start->first_tick != 0 ? start->first_tick : GOLDEN_FIRST_TICK;
    uint32_t in_page = (uint32_t)(offset % file->page_nbytes);
    struct tbed_disk_block header = {
        .kind = (uint8_t)start->kind,
        .shift = (uint8_t)header_shift,
        .cell = tbed_le16_make((uint16_t)(in_page / nbytes)),
        .page = tbed_le32_make((uint32_t)(offset / file->page_nbytes)),
        .file_id = ((struct tbed_disk_header *)file->bytes)->file_id,
        .stream = tbed_le32_make(start->stream),
        .sequence = tbed_le32_make(start->sequence),
        .generation = tbed_le32_make(start->generation),
        .string_page = tbed_le32_make(start->string_page),
        .first_tick = tbed_le64_make(tick),
        .depth = tbed_le32_make(start->depth),
    };
    memcpy(file->bytes + offset, &header, sizeof header);
    return (struct golden_block){
        .at = file->bytes + offset,
        .nbytes = nbytes,
        .used_nbytes = sizeof header,
        .string_address = start->string_page * file->page_nbytes + in_page,
        .base = tick,
        .last_tick = tick,
    };
}

struct golden_block golden_page(struct golden_file *file, const struct golden_start *start)
{
    return begin(file, golden_page_claim(file), file->page_nbytes, shift_of(file->page_nbytes), start);
}

void golden_cells(struct golden_file *file, uint32_t cell_nbytes, uint32_t sequence, uint32_t string_page)
{
    struct golden_start start = {
        .kind = TBED_BLOCK_CELLS, .stream = 1, .sequence = sequence, .string_page = string_page};
    file->cells_offset = golden_page_claim(file);
    file->cells_used = 1;
    file->cell_nbytes = cell_nbytes;
    struct golden_block block =
        begin(file, file->cells_offset, file->page_nbytes, shift_of(cell_nbytes), &start);
    memcpy(block.at + block.used_nbytes, file->bytes, TBED_HEADER_COPY_NBYTES);
    block.used_nbytes += TBED_HEADER_COPY_NBYTES;
    golden_seal(&block);
}

struct golden_block golden_cell(struct golden_file *file, const struct golden_start *start)
{
    size_t offset = file->cells_offset + (size_t)file->cells_used++ * file->cell_nbytes;
    return begin(file, offset, file->cell_nbytes, shift_of(file->cell_nbytes), start);
}

void golden_seal(struct golden_block *block)
{
    struct tbed_disk_block *header = (struct tbed_disk_block *)block->at;
    if (block->used_nbytes > block->nbytes)
        golden_fail("a golden block is too full");
    header->used_nbytes = tbed_le32_make(block->used_nbytes);
    header->last_tick = tbed_le64_make(block->last_tick);
    mend_block(block->at, block->nbytes, MEND_BLOCKS);
}

/* ---- Events ---- */

void golden_word(struct golden_block *block, uint64_t word)
{
    if (block->nbytes - block->used_nbytes < 8)
        golden_fail("a golden block is too full");
    tbed_word_store(block->at + block->used_nbytes, word);
    block->used_nbytes += 8;
}

void golden_open_span(struct golden_block *block, uint64_t begin_tick, uint32_t id)
{
    golden_word(block, begin_tick);
    golden_word(block, id);
}

void golden_event(struct golden_block *block, enum tbed_tag tag, uint32_t id, uint64_t delta)
{
    golden_word(block, tbed_event_make(tag, id, delta));
    if (block->base + delta > block->last_tick)
        block->last_tick = block->base + delta;
}

void golden_time(struct golden_block *block, uint32_t steps)
{
    golden_word(block, tbed_event_make(TBED_TAG_TIME, steps, 0));
    block->base += (uint64_t)steps << 31;
}

void golden_pair(struct golden_block *block, uint32_t id, uint64_t delta, uint64_t subtype, uint64_t payload)
{
    golden_event(block, TBED_TAG_PAIR, id, delta);
    golden_word(block, subtype << 60 | payload);
}

void golden_fixed(struct golden_words *words, uint64_t word)
{
    words->at[words->count++] = word;
}

void golden_argument(struct golden_words *words, uint32_t type, uint32_t name_id, const void *value,
                     uint32_t nbytes)
{
    struct tbed_argument_head head = {.type = type, .nbytes = nbytes, .name_id = name_id};
    uint32_t value_nwords = tbed_argument_value_nwords(nbytes);
    words->at[words->count++] = tbed_argument_head_make(head);
    memset(&words->at[words->count], 0, 8 * value_nwords);
    memcpy(&words->at[words->count], value, nbytes);
    words->count += value_nwords;
    words->argument_count++;
}

void golden_argument_u64(struct golden_words *words, uint32_t type, uint32_t name_id, uint64_t value)
{
    golden_argument(words, type, name_id, &value, 8);
}

void golden_extended(struct golden_block *block, uint32_t id, uint64_t delta, uint32_t type, uint32_t aux,
                     const struct golden_words *words)
{
    static const struct golden_words none;
    words = words != NULL ? words : &none;
    struct tbed_extended_head head = {
        .type = type, .argument_count = words->argument_count, .nwords = 1 + words->count, .aux = aux};
    golden_event(block, TBED_TAG_EXTENDED, id, delta);
    golden_word(block, tbed_extended_head_make(head));
    for (uint32_t i = 0; i < words->count; i++)
        golden_word(block, words->at[i]);
}

/* ---- Strings and records ---- */

static void put(struct golden_block *block, const void *bytes, uint32_t nbytes)
{
    uint32_t padded = (uint32_t)tbed_round_up(nbytes, 8);
    if (padded > block->nbytes - block->used_nbytes)
        golden_fail("a golden block is too full");
    if (nbytes > 0)
        memcpy(block->at + block->used_nbytes, bytes, nbytes);
    block->used_nbytes += padded;
}

uint32_t golden_content(struct golden_block *block, const void *content, uint32_t nbytes)
{
    uint32_t address = block->string_address + block->used_nbytes;
    uint64_t head = (uint64_t)tbed_string_hash(content, nbytes) << 32 | nbytes;
    golden_word(block, head);
    put(block, content, nbytes);
    return TBED_ID_METADATA + address / 8;
}

uint32_t golden_text(struct golden_block *block, const char *text)
{
    uint8_t content[4096];
    size_t nbytes = strlen(text);
    memcpy(content, text, nbytes);
    content[nbytes] = TBED_STRING_TERMINATOR;
    return golden_content(block, content, (uint32_t)nbytes + 1);
}

uint32_t golden_reference(struct golden_block *block, const uint32_t *ids, uint32_t count)
{
    uint8_t content[4096];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t big_endian = __builtin_bswap32(0x80000000u | ids[i]);
        memcpy(content + 4 * (size_t)i, &big_endian, 4);
    }
    content[4 * (size_t)count] = TBED_STRING_TERMINATOR;
    return golden_content(block, content, 4 * count + 1);
}

void golden_record(struct golden_block *block, uint32_t type, const uint32_t *fields, uint32_t fields_nbytes)
{
    uint32_t nbytes = TBED_RECORD_HEAD_NBYTES + (uint32_t)tbed_round_up(fields_nbytes, 8);
    golden_word(block, tbed_record_head_make(type, nbytes));
    put(block, fields, fields_nbytes);
}
