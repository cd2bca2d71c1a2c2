/*
 * Damage of a file and its header page: the first list of section 12.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/mend.h"
#include "spec/golden/golden_invalid.h"

/* Only the header page is damaged, and not the copy in the cells page. */
#define GOLDEN_BY_COPY 0, 0, 0

#define HEADER(field, nbytes, value) .changes = {{IN_HEADER(field), nbytes, value}}

static void cut(struct golden_file *file, size_t nbytes)
{
    file->nbytes = nbytes;
}

static void cut_to_nothing(struct golden_file *file)
{
    cut(file, 0);
}

static void cut_in_magic(struct golden_file *file)
{
    cut(file, 3);
}

static void cut_in_fields(struct golden_file *file)
{
    cut(file, sizeof(struct tbed_disk_header) - 1);
}

static void cut_in_page(struct golden_file *file)
{
    cut(file, GOLDEN_PAGE_NBYTES - 1);
}

static void lose_header_page(struct golden_file *file)
{
    memset(file->bytes, 0, GOLDEN_PAGE_NBYTES);
}

static void write_text(struct golden_file *file)
{
    memcpy(file->bytes, "hello", 5);
    cut(file, 5);
}

static void add_bytes(struct golden_file *file)
{
    cut(file, AT_FILE_END + 8);
}

static void reopen(struct golden_file *file)
{
    struct tbed_disk_header *header = (struct tbed_disk_header *)file->bytes;
    header->state = tbed_le32_make(TBED_STATE_OPEN);
    header->closing_checksum = tbed_le64_make(0);
}

static void claim_no_page(struct golden_file *file)
{
    reopen(file);
    ((struct tbed_disk_header *)file->bytes)->page_count = tbed_le64_make(0);
}

static void claim_too_many_pages(struct golden_file *file)
{
    reopen(file);
    ((struct tbed_disk_header *)file->bytes)->page_count = tbed_le64_make(UINT64_C(1) << 32);
}

/* Recomputes the closing checksum, whatever the state is. */
static void spoil_state(struct golden_file *file)
{
    ((struct tbed_disk_header *)file->bytes)->state = tbed_le32_make(0x746F6F73);
}

const struct golden_case golden_file_cases[] = {
    {"EMPTY", "EMPTY@0", GOLDEN_ALL_LOST, .edit = cut_to_nothing},
    {"NOT_A_TRACE", "NOT_A_TRACE@0", GOLDEN_ALL_LOST, .changes = {{0, 1, 'T'}}},
    {"NOT_A_TRACE-short", "NOT_A_TRACE@0", GOLDEN_ALL_LOST, .edit = write_text},
    {"HEADER_CUT-magic", "HEADER_CUT@3", GOLDEN_ALL_LOST, .edit = cut_in_magic},
    {"HEADER_CUT", "HEADER_CUT@775", GOLDEN_ALL_LOST, .edit = cut_in_fields},
    {"HEADER_CUT-page", "HEADER_CUT@4095", GOLDEN_ALL_LOST, .edit = cut_in_page},
    {"VERSION", "VERSION@8", GOLDEN_ALL_LOST, HEADER(version, 4, 2)},
    {"FLAGS", "FLAGS@24", GOLDEN_ALL_LOST, HEADER(incompatible_flags, 8, 1)},
    {"HEADER_CHECKSUM", "HEADER_CHECKSUM@248", GOLDEN_ALL_LOST, HEADER(file_id, 1, 1),
     .kept_sums = MEND_HEADER},
    {"HEADER_CHECKSUM-copy", "HEADER_CHECKSUM@248", GOLDEN_BY_COPY, HEADER(file_id, 1, 1),
     .kept_sums = MEND_HEADER | MEND_DIRECTORY},
    {"NOT_A_TRACE-copy", "NOT_A_TRACE@0,STATE@608", GOLDEN_BY_COPY, .edit = lose_header_page,
     .kept_sums = MEND_ALL},
    {"PAGE_SIZE", "PAGE_SIZE@12", GOLDEN_BY_COPY, HEADER(page_nbytes, 4, 2048)},
    {"PAGE_SIZE-odd", "PAGE_SIZE@12", GOLDEN_BY_COPY, HEADER(page_nbytes, 4, 4097)},
    {"PAGE_SIZE-large", "PAGE_SIZE@12", GOLDEN_BY_COPY, HEADER(page_nbytes, 4, 1 << 21)},
    {"ID_SPACE-reserved", "ID_SPACE@40", GOLDEN_ALL_LOST, HEADER(max_reserved_id, 4, 0x1FFFFFFE)},
    {"ID_SPACE", "ID_SPACE@40", GOLDEN_ALL_LOST, HEADER(metadata_id, 4, 0x20000001)},
    {"ID_SPACE-highest", "ID_SPACE@40", GOLDEN_ALL_LOST, HEADER(max_id, 4, 0x7FFFFFFF)},
    {"CLOCK", "CLOCK@56", GOLDEN_ALL_LOST, HEADER(clock, 4, 5)},
    {"CLOCK-none", "CLOCK@56", GOLDEN_ALL_LOST, HEADER(clock, 4, 0)},
    {"CLOCK-slow", "CLOCK@56", GOLDEN_ALL_LOST, HEADER(ticks_per_second, 8, 999)},
    {"CLOCK-fast", "CLOCK@56", GOLDEN_ALL_LOST, HEADER(ticks_per_second, 8, 1000000000001)},
    {"CLOCK-user_rate", "CLOCK@56", GOLDEN_ALL_LOST, HEADER(clock, 4, 4)},
    {"CLOCK-unit", "CLOCK@56", GOLDEN_ALL_LOST, HEADER(clock_unit, 1, 's')},
    {"CLOCK-unit_bytes", "CLOCK@56", GOLDEN_ALL_LOST,
     .changes = {{IN_HEADER(clock), 4, 4},
                 {IN_HEADER(ticks_per_second), 8, 0},
                 {IN_HEADER(clock_unit), 2, 0xB5C2}}},
    {"CLOCK-resolution", "CLOCK@56", GOLDEN_ALL_LOST, HEADER(resolution_ns, 4, 1000000001)},
    {"CLOCK-reason", "CLOCK@56", GOLDEN_ALL_LOST, HEADER(clock_reason, 1, 5)},
    {"CLOCK-reason_of_counter", "CLOCK@56", GOLDEN_ALL_LOST,
     .changes = {{56, 4, TBED_CLOCK_X86_TSC}, {116, 1, TBED_CLOCK_NOT_OFFERED}}},
    {"CLOCK-user_resolution", "CLOCK@56", GOLDEN_ALL_LOST,
     .changes = {{IN_HEADER(clock), 4, 4},
                 {IN_HEADER(ticks_per_second), 8, 0},
                 {IN_HEADER(resolution_ns), 4, 1}}},
    {"FILE_ID", "FILE_ID@32", GOLDEN_ALL_LOST, HEADER(file_id, 8, 0)},
    {"HEADER_ZERO", "HEADER_ZERO@117", GOLDEN_ALL_LOST, .changes = {{117, 1, 1}}},
    {"HEADER_ZERO-end", "HEADER_ZERO@117", GOLDEN_ALL_LOST, .changes = {{247, 1, 1}}},
    {"HEADER_SIZE", "HEADER_SIZE@60", GOLDEN_ALL_LOST, HEADER(header_nbytes, 4, 192)},
    {"HEADER_SIZE-odd", "HEADER_SIZE@60", GOLDEN_ALL_LOST, HEADER(header_nbytes, 4, 264)},
    {"HEADER_SIZE-large", "HEADER_SIZE@60", GOLDEN_ALL_LOST, HEADER(header_nbytes, 4, 512)},

    {"STATE", "STATE@608", .edit = spoil_state},
    {"SHARED_ZERO", "SHARED_ZERO@528", .changes = {{575, 1, 1}}},
    {"SHARED_ZERO-state", "SHARED_ZERO@612", HEADER(zero_612, 1, 1)},
    {"SHARED_ZERO-ring", "SHARED_ZERO@624", .changes = {{639, 1, 1}}},
    {"SHARED_ZERO-drops", "SHARED_ZERO@712", .changes = {{712, 8, 1}}},
    {"SHARED_ZERO-end", "SHARED_ZERO@776", .changes = {{1023, 1, 1}}},
    {"SHARED_ZERO-header", "SHARED_ZERO@256", .changes = {{511, 1, 1}}},
    {"CLOSING_CHECKSUM", "CLOSING_CHECKSUM@768", HEADER(drops[0], 8, 1), .kept_sums = MEND_CLOSING},
    {"CLOSING_CHECKSUM-units", "CLOSING_CHECKSUM@768", .changes = {{2048, 8, 1}}, .kept_sums = MEND_CLOSING},
    {"CLOSING_CHECKSUM-itself", "CLOSING_CHECKSUM@768", HEADER(closing_checksum, 8, 0),
     .kept_sums = MEND_CLOSING},
    {"FILE_SIZE", "FILE_SIZE@512", .edit = add_bytes},
    {"PAGE_COUNT", "PAGE_COUNT@512", .edit = claim_no_page},
    {"PAGE_COUNT-many", "PAGE_COUNT@512", .edit = claim_too_many_pages},
    {"PAGE_COUNT-ring", "PAGE_COUNT@512", HEADER(ring_page_count, 4, 4)},
    {.name = NULL},
};
