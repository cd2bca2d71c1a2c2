/*
 * Damage of the directory: the checks DIRECTORY_PAGE and DIRECTORY_ENTRY of section 12. Nothing is lost.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/file/directory.h"
#include "fuzz/support/mend.h"
#include "spec/golden/golden_invalid.h"

#define AT_ENTRY          (TBED_ENTRIES_OFFSET + 2 * TBED_ENTRY_NBYTES) /* of page 2, the events of stream 2 */
#define AT_DIRECTORY_PAGE 65536                                         /* page 16 */

static struct tbed_disk_header *header_of(struct golden_file *file)
{
    return (struct tbed_disk_header *)file->bytes;
}

static struct tbed_disk_entry *entry_of(struct golden_file *file)
{
    return (struct tbed_disk_entry *)(file->bytes + AT_ENTRY);
}

static void reopen(struct golden_file *file)
{
    header_of(file)->state = tbed_le32_make(TBED_STATE_OPEN);
    header_of(file)->closing_checksum = tbed_le64_make(0);
}

static void free_entry(struct golden_file *file)
{
    memset(entry_of(file), 0, TBED_ENTRY_NBYTES);
}

/* A sealed entry that no checksum of the file covers. */
static void spoil_entry_of_killed(struct golden_file *file)
{
    reopen(file);
    entry_of(file)->last_tick.b[0] ^= 1;
}

/* An entry that is not sealed has no check, but has to agree with its page. */
static void spoil_unsealed_entry(struct golden_file *file)
{
    reopen(file);
    entry_of(file)->state = TBED_ENTRY_ENDED;
    entry_of(file)->stream = tbed_le32_make(3);
}

/* A directory page behind pages that were not begun, and after it one with the events that come next in stream 3. */
static void add_directory_page(struct golden_file *file)
{
    struct golden_start start = {.kind = TBED_BLOCK_EVENTS, .stream = 3, .sequence = 1};
    while (file->nbytes < AT_DIRECTORY_PAGE)
        golden_page_claim(file);
    struct golden_block block = golden_page(file, &start);
    golden_event(&block, TBED_TAG_INSTANT, 42, 1);
    golden_seal(&block);
    golden_counts(file, 5, 1, 2000);
    mend_file(file->bytes, file->nbytes, MEND_DIRECTORY);
}

static void spoil_directory_page(struct golden_file *file)
{
    add_directory_page(file);
    file->bytes[AT_DIRECTORY_PAGE + 500] = 1;
}

static void zero_directory_page(struct golden_file *file)
{
    add_directory_page(file);
    memset(file->bytes + AT_DIRECTORY_PAGE, 0, GOLDEN_PAGE_NBYTES);
}

static void cut_directory_page(struct golden_file *file)
{
    add_directory_page(file);
    reopen(file);
    file->nbytes = AT_DIRECTORY_PAGE;
}

const struct golden_case golden_directory_cases[] = {
    {"DIRECTORY_PAGE", "DIRECTORY_PAGE@65536", 0, 0, -1, .edit = spoil_directory_page,
     .kept_sums = MEND_DIRECTORY},
    {"DIRECTORY_PAGE-zero", "DIRECTORY_PAGE@65536", 0, 0, -1, .edit = zero_directory_page,
     .kept_sums = MEND_DIRECTORY},
    {"DIRECTORY_PAGE-cut", "DIRECTORY_PAGE@65536", .edit = cut_directory_page, .kept_sums = MEND_DIRECTORY},
    {"DIRECTORY_ENTRY", "DIRECTORY_ENTRY@1152", .changes = {{AT_ENTRY + 4, 4, 1}},
     .kept_sums = MEND_DIRECTORY},
    {"DIRECTORY_ENTRY-state", "DIRECTORY_ENTRY@1152", .changes = {{AT_ENTRY, 1, 5}},
     .kept_sums = MEND_DIRECTORY},
    {"DIRECTORY_ENTRY-kind", "DIRECTORY_ENTRY@1152", .changes = {{AT_ENTRY, 2, 0x0002}},
     .kept_sums = MEND_DIRECTORY},
    {"DIRECTORY_ENTRY-ended", "DIRECTORY_ENTRY@1152", .changes = {{AT_ENTRY, 1, TBED_ENTRY_ENDED}},
     .kept_sums = MEND_DIRECTORY},
    {"DIRECTORY_ENTRY-free", "DIRECTORY_ENTRY@1152", .edit = free_entry, .kept_sums = MEND_DIRECTORY},
    {"DIRECTORY_ENTRY-killed", "DIRECTORY_ENTRY@1152", .edit = spoil_entry_of_killed,
     .kept_sums = MEND_DIRECTORY},
    {"DIRECTORY_ENTRY-unsealed", "DIRECTORY_ENTRY@1152", .edit = spoil_unsealed_entry,
     .kept_sums = MEND_DIRECTORY},
    {.name = NULL},
};
