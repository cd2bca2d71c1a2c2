/*
 * Blocks that are damaged outside their content: the second list of section 12.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/mend.h"
#include "spec/golden/golden_invalid.h"

#define BLOCK(at, field, nbytes, value) .changes = {{IN_BLOCK(at, field), nbytes, value}}

static struct tbed_disk_header *header_of(struct golden_file *file)
{
    return (struct tbed_disk_header *)file->bytes;
}

static void cut_last_page(struct golden_file *file)
{
    header_of(file)->state = tbed_le32_make(TBED_STATE_OPEN);
    header_of(file)->closing_checksum = tbed_le64_make(0);
    file->nbytes = AT_FILE_END - 8;
}

static void cut_two_pages(struct golden_file *file)
{
    file->nbytes = AT_EVENTS;
}

static void reopen(struct golden_file *file)
{
    header_of(file)->state = tbed_le32_make(TBED_STATE_OPEN);
    header_of(file)->closing_checksum = tbed_le64_make(0);
}

static void cut_two_pages_of_killed(struct golden_file *file)
{
    reopen(file);
    cut_two_pages(file);
}

static void lose(struct golden_file *file, size_t offset, size_t nbytes)
{
    memset(file->bytes + offset, 0, nbytes);
}

static void lose_page(struct golden_file *file)
{
    lose(file, AT_EVENTS, GOLDEN_PAGE_NBYTES);
}

static void lose_page_of_killed(struct golden_file *file)
{
    reopen(file);
    lose_page(file);
}

static void lose_cells_page(struct golden_file *file)
{
    lose(file, AT_CELLS, GOLDEN_PAGE_NBYTES);
}

static void lose_cell(struct golden_file *file)
{
    lose(file, AT_SHORT, GOLDEN_CELL_NBYTES);
}

/* Bytes in a page that no writer has begun. */
static void add_unclean_page(struct golden_file *file)
{
    size_t offset = golden_page_claim(file);
    file->bytes[offset + GOLDEN_PAGE_NBYTES - 1] = 1;
    header_of(file)->page_count = tbed_le64_make(5);
}

static void add_string_page(struct golden_file *file, uint32_t ordinal)
{
    struct golden_start start = {
        .kind = TBED_BLOCK_STRINGS, .stream = 1, .sequence = 1, .string_page = ordinal};
    struct golden_block block = golden_page(file, &start);
    golden_seal(&block);
    header_of(file)->page_count = tbed_le64_make(5);
}

static void take_ordinal_twice(struct golden_file *file)
{
    add_string_page(file, 0);
}

static void take_ordinal_past_space(struct golden_file *file)
{
    add_string_page(file, 1 << 20); /* times 4,096 is 2^32 */
    header_of(file)->next_string_page = tbed_le64_make(UINT64_C(1) << 40);
}

static void unseal(struct golden_file *file)
{
    struct tbed_disk_block *block = (struct tbed_disk_block *)(file->bytes + AT_EVENTS);
    block->used_nbytes = tbed_le32_make(0);
    block->last_tick = block->checksum = tbed_le64_make(0);
}

static void add_late_block(struct golden_file *file)
{
    struct golden_start start = {.kind = TBED_BLOCK_EVENTS, .stream = 3, .sequence = 2};
    struct golden_block block = golden_page(file, &start);
    golden_seal(&block);
    header_of(file)->page_count = tbed_le64_make(5);
}

/* A second cells page with the number of the first: its cells, here the next events of stream 4, are lost with it. */
static void add_cells_page_twice(struct golden_file *file)
{
    struct golden_start start = {.kind = TBED_BLOCK_EVENTS, .stream = 4, .sequence = 1};
    golden_cells(file, GOLDEN_CELL_NBYTES, 0, 1);
    struct golden_block block = golden_cell(file, &start);
    golden_event(&block, TBED_TAG_INSTANT, 42, 1);
    golden_seal(&block);
    golden_counts(file, 5, 2, 2000);
}

/* The events of stream 2 again, after a block with an invalid stack: this block is read nevertheless. */
static void add_block_behind_bad_stack(struct golden_file *file)
{
    size_t offset = golden_page_claim(file);
    struct tbed_disk_block *block = (struct tbed_disk_block *)(file->bytes + offset);
    memcpy(block, file->bytes + AT_EVENTS, GOLDEN_PAGE_NBYTES);
    block->page = tbed_le32_make(4);
    file->bytes[AT_SPAN + 12] = 2;
    header_of(file)->page_count = tbed_le64_make(5);
}

/* In larger cells, the first one has room behind the copy of the header. */
static void add_bytes_to_large_cell(struct golden_file *file)
{
    golden_begin(file, 2 * GOLDEN_PAGE_NBYTES);
    golden_cells(file, 2 * GOLDEN_CELL_NBYTES, 0, 0);
    file->bytes[file->cells_offset + 2 * GOLDEN_CELL_NBYTES - 8] = 1;
    golden_counts(file, 2, 1, 1);
    golden_shut(file);
}

/* A damaged string page does not cost another page its ordinal. */
static void take_ordinal_of_damaged_page(struct golden_file *file)
{
    struct golden_start start = {.kind = TBED_BLOCK_STRINGS, .stream = 1, .sequence = 1, .string_page = 1};
    struct golden_block damaged = golden_page(file, &start);
    golden_seal(&damaged);
    damaged.at[offsetof(struct tbed_disk_block, last_tick)] ^= 1; /* not before the first */
    start.sequence = 2;
    struct golden_block good = golden_page(file, &start);
    golden_text(&good, "good");
    golden_seal(&good);
    golden_counts(file, 5, 2, 2000);
}

const struct golden_case golden_block_cases[] = {
    {"BLOCK_CUT", "BLOCK_CUT@12288", 0, 0, 5, .edit = cut_last_page},
    {"BLOCK_CUT-shut", "FILE_SIZE@512,BLOCK_CUT@8192,BLOCK_CUT@12288", 0, 0, 12, .edit = cut_two_pages,
     .kept_sums = MEND_DIRECTORY},
    {"BLOCK_CUT-killed", "BLOCK_CUT@8192,BLOCK_CUT@12288", 0, 0, 12, .edit = cut_two_pages_of_killed,
     .kept_sums = MEND_DIRECTORY},
    {"BLOCK_LOST", "BLOCK_LOST@8192", 0, 0, 7, .edit = lose_page, .kept_sums = MEND_DIRECTORY},
    {"BLOCK_LOST-killed", "BLOCK_LOST@8192", 0, 0, 7, .edit = lose_page_of_killed,
     .kept_sums = MEND_DIRECTORY},
    {"BLOCK_LOST-cells", "BLOCK_LOST@4096", 4, 1, 2, .edit = lose_cells_page, .kept_sums = MEND_DIRECTORY},
    {"BLOCK_LOST-cell", "BLOCK_LOST@5632", 0, 0, 2, .edit = lose_cell, .kept_sums = MEND_DIRECTORY},
    {"BLOCK_KIND", "BLOCK_KIND@8192", 0, 0, 7, BLOCK(AT_EVENTS, kind, 1, 5)},
    {"BLOCK_KIND-cell", "BLOCK_KIND@5632", 0, 0, 2, BLOCK(AT_SHORT, kind, 1, TBED_BLOCK_CELLS)},
    {"BLOCK_SHIFT", "BLOCK_SHIFT@8193", 0, 0, 7, BLOCK(AT_EVENTS, shift, 1, 13)},
    {"BLOCK_SHIFT-large", "BLOCK_SHIFT@8193", 0, 0, 7, BLOCK(AT_EVENTS, shift, 1, 255)},
    {"BLOCK_SHIFT-cell", "BLOCK_SHIFT@5633", 0, 0, 2, BLOCK(AT_SHORT, shift, 1, 12)},
    {"BLOCK_SHIFT-cells_small", "BLOCK_SHIFT@4097", 4, 1, 2, BLOCK(AT_CELLS, shift, 1, 8)},
    {"BLOCK_SHIFT-cells_large", "BLOCK_SHIFT@4097", 4, 1, 2, BLOCK(AT_CELLS, shift, 1, 10)},
    {"BLOCK_CELL", "BLOCK_CELL@8194", 0, 0, 7, BLOCK(AT_EVENTS, cell, 2, 1)},
    {"BLOCK_CELL-cell", "BLOCK_CELL@5634", 0, 0, 2, BLOCK(AT_SHORT, cell, 2, 4)},
    {"BLOCK_PAGE", "BLOCK_PAGE@8196", 0, 0, 7, BLOCK(AT_EVENTS, page, 4, 3)},
    {"BLOCK_FILE", "BLOCK_FILE@8200", 0, 0, 7, BLOCK(AT_EVENTS, file_id, 1, 'x')},
    {"BLOCK_STREAM", "BLOCK_STREAM@8208", 0, 0, 7, BLOCK(AT_EVENTS, stream, 4, 5)},
    {"BLOCK_STREAM-zero", "BLOCK_STREAM@8208", 0, 0, 7, BLOCK(AT_EVENTS, stream, 4, 0)},
    {"BLOCK_DEPTH", "BLOCK_DEPTH@4648", 4, 0, 0, BLOCK(AT_STRINGS, depth, 4, 1)},
    {"BLOCK_DEPTH-cells", "BLOCK_DEPTH@4136", 4, 1, 2, BLOCK(AT_CELLS, depth, 4, 1)},
    {"BLOCK_USED", "BLOCK_USED@8236", 0, 0, 7, BLOCK(AT_EVENTS, used_nbytes, 4, 4104)},
    {"BLOCK_USED-odd", "BLOCK_USED@8236", 0, 0, 7, BLOCK(AT_EVENTS, used_nbytes, 4, 236)},
    {"BLOCK_USED-stack", "BLOCK_USED@8236", 0, 0, 7, BLOCK(AT_EVENTS, used_nbytes, 4, 72)},
    {"BLOCK_USED-header", "BLOCK_USED@5164", 0, 1, 0, BLOCK(AT_RECORDS, used_nbytes, 4, 56)},
    {"BLOCK_USED-cells", "BLOCK_USED@4140", 4, 1, 2, BLOCK(AT_CELLS, used_nbytes, 4, 72)},
    {"BLOCK_USED-cells_unsealed", "BLOCK_USED@4140", 4, 1, 2, BLOCK(AT_CELLS, used_nbytes, 4, 0)},
    {"BLOCK_TICKS", "BLOCK_TICKS@8240", 0, 0, 7, BLOCK(AT_EVENTS, last_tick, 8, GOLDEN_FIRST_TICK - 1)},
    {"BLOCK_ORDINAL", "BLOCK_ORDINAL@4124", 4, 1, 2, BLOCK(AT_CELLS, string_page, 4, 1)},
    {"BLOCK_ORDINAL-events", "BLOCK_ORDINAL@8220", 0, 0, 7, BLOCK(AT_EVENTS, string_page, 4, 1)},
    {"BLOCK_ORDINAL-cell", "BLOCK_ORDINAL@4636", 4, 0, 0, BLOCK(AT_STRINGS, string_page, 4, 1)},
    {"BLOCK_ORDINAL-twice", "BLOCK_ORDINAL@16412", .edit = take_ordinal_twice},
    {"BLOCK_ORDINAL-space", "BLOCK_ORDINAL@16412", .edit = take_ordinal_past_space},
    {"BLOCK_CHECKSUM-ordinal", "BLOCK_CHECKSUM@16440", -1, 0, 0, .kept_sums = MEND_BLOCKS,
     .edit = take_ordinal_of_damaged_page, .asks = "536871432=OK"},
    {"BLOCK_CHECKSUM", "BLOCK_CHECKSUM@8248", 0, 0, 7, .changes = {{AT_BEGIN, 1, 1}},
     .kept_sums = MEND_BLOCKS},
    {"BLOCK_CHECKSUM-header", "BLOCK_CHECKSUM@8248", 0, 0, 7, BLOCK(AT_EVENTS, first_tick, 1, 1),
     .kept_sums = MEND_BLOCKS},
    {"BLOCK_CHECKSUM-strings", "BLOCK_CHECKSUM@4664", 4, 0, 0, .changes = {{AT_TAIL + 8, 1, 'T'}},
     .kept_sums = MEND_BLOCKS},
    {"BLOCK_CHECKSUM-records", "BLOCK_CHECKSUM@5176", 0, 1, 0, .changes = {{AT_BIND + 8, 1, 43}},
     .kept_sums = MEND_BLOCKS},
    {"BLOCK_CHECKSUM-cells", "BLOCK_CHECKSUM@4152", 4, 1, 2, BLOCK(AT_CELLS, sequence, 4, 1),
     .kept_sums = MEND_BLOCKS},
    {"BLOCK_TAIL", "BLOCK_TAIL@8424", 0, 0, 7, .changes = {{AT_OTHER - 1, 1, 1}}},
    {"BLOCK_TAIL-cell", "BLOCK_TAIL@5568", 0, 1, 0, .changes = {{AT_RECORDS_END, 1, 1}}},
    {"BLOCK_TAIL-cells", "BLOCK_TAIL@8704", GOLDEN_ALL_LOST, .edit = add_bytes_to_large_cell},
    {"BLOCK_NOT_ZERO", "BLOCK_NOT_ZERO@16384", .edit = add_unclean_page},
    {"BLOCK_NOT_ZERO-cell", "BLOCK_NOT_ZERO@6144", .changes = {{AT_FREE_CELL + 100, 1, 1}}},
    {"BLOCK_TWICE", "BLOCK_TWICE@12288", 0, 0, 5, BLOCK(AT_OTHER, stream, 4, 2)},
    {"BLOCK_TWICE-cell", "BLOCK_TWICE@12288", 0, 0, 5, BLOCK(AT_OTHER, stream, 4, 4)},
    {"BLOCK_TWICE-cells", "BLOCK_TWICE@16384", .edit = add_cells_page_twice},
    {"BLOCK_TWICE-stack", "BLOCK_TWICE@16384,EVENT_STACK@8256", 0, 0, 7, .edit = add_block_behind_bad_stack},
    {"BLOCK_UNSEALED", "BLOCK_UNSEALED@8236", .edit = unseal},
    {"BLOCK_MISSING", "BLOCK_MISSING@12288", BLOCK(AT_OTHER, sequence, 4, 1)},
    {"BLOCK_MISSING-between", "BLOCK_MISSING@16384", .edit = add_late_block},
    {"BLOCK_MISSING-records", "BLOCK_MISSING@5120", BLOCK(AT_RECORDS, sequence, 4, 3)},
    {.name = NULL},
};
