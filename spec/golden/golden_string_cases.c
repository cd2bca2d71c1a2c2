/*
 * Damaged strings, and ids that do not resolve: section 12, "Strings".
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz/support/mend.h"
#include "spec/golden/golden_invalid.h"

#define BYTE(offset, value) .changes = {{offset, 1, value}}
#define BOUND_TO(id)        .changes = {{IN_RECORD(AT_BIND, bind, string_id), 4, id}}

/* Replaces the trace's strings with strings of 'span' references each to the previous one. */
static void replace_strings(struct golden_file *file, uint32_t levels, uint32_t span, const char *text)
{
    uint8_t *cell = file->bytes + AT_STRINGS;
    memset(cell + TBED_BLOCK_HEADER_NBYTES, 0, GOLDEN_CELL_NBYTES - TBED_BLOCK_HEADER_NBYTES);
    file->cells_used = 1;
    struct golden_block small =
        golden_cell(file, &(struct golden_start){.kind = TBED_BLOCK_STRINGS, .stream = 1});
    golden_text(&small, "main");
    golden_seal(&small);
    struct golden_start start = {.kind = TBED_BLOCK_STRINGS, .stream = 1, .sequence = 1, .string_page = 1};
    struct golden_block strings = golden_page(file, &start);
    uint32_t ids[8], id = golden_text(&strings, text);
    for (uint32_t level = 0; level < levels; level++) {
        for (uint32_t i = 0; i < span; i++)
            ids[i] = id;
        id = golden_reference(&strings, ids, span);
    }
    golden_seal(&strings);
    golden_counts(file, 5, 2, 2000);
    memcpy(file->bytes + IN_RECORD(AT_BIND, bind, string_id), &id, 4);
}

/* 64 references and the text: 65 open at once, not counting what they are bound to. */
static void nest_too_deep(struct golden_file *file)
{
    replace_strings(file, 64, 1, "deep");
}

static void nest_as_deep_as_allowed(struct golden_file *file)
{
    replace_strings(file, 63, 1, "deep");
}

static void have_too_many_components(struct golden_file *file)
{
    replace_strings(file, 7, 8, "");
}

static void have_too_many_bytes(struct golden_file *file)
{
    static char text[513];
    memset(text, 'x', sizeof text - 1);
    replace_strings(file, 5, 8, text); /* 8^5 times 512 are 2^24 */
}

static void have_one_byte_too_many(struct golden_file *file)
{
    have_too_many_bytes(file);
    struct golden_block strings = {.at = file->bytes + AT_FILE_END,
                                   .nbytes = GOLDEN_PAGE_NBYTES,
                                   .string_address = GOLDEN_PAGE_NBYTES,
                                   .last_tick = GOLDEN_FIRST_TICK};
    strings.used_nbytes = tbed_le32_load(((struct tbed_disk_block *)strings.at)->used_nbytes);
    uint32_t bound;
    memcpy(&bound, file->bytes + IN_RECORD(AT_BIND, bind, string_id), 4);
    uint32_t main_id = TBED_ID_METADATA + (AT_MAIN - AT_CELLS) / 8;
    uint32_t id = golden_reference(&strings, (uint32_t[]){bound, main_id}, 2); /* and a little more */
    golden_seal(&strings);
    memcpy(file->bytes + IN_RECORD(AT_BIND, bind, string_id), &id, 4);
}

const struct golden_case golden_string_cases[] = {
    {"STRING_LENGTH", "STRING_LENGTH@4688", 3, 0, 0, .changes = {{AT_WORK, 4, 1000}}},
    {"STRING_LENGTH-none", "STRING_LENGTH@4688", 3, 0, 0, .changes = {{AT_WORK, 4, 0}}},
    {"STRING_LENGTH-most", "STRING_LENGTH@4688", 3, 0, 0, .changes = {{AT_WORK, 4, UINT32_MAX}}},
    {"STRING_LENGTH-zero", "STRING_LENGTH@4688", 3, 0, 0, .changes = {{AT_WORK, 8, 0}}},
    {"STRING_HASH", "STRING_HASH@4688", 3, 0, 0, BYTE(AT_WORK + 8, 'W'), .kept_sums = MEND_STRINGS},
    {"STRING_END", "STRING_END@4688", 0, 0, 0, BYTE(AT_WORK + 12, 'x')},
    {"STRING_END-early", "STRING_END@4688", 0, 0, 0, BYTE(AT_WORK + 10, 0xFF)},
    {"STRING_END-reference", "STRING_END@4688", 0, 0, 0, BYTE(AT_WORK + 9, 0x80)},
    {"STRING_END-code_point", "STRING_END@4688", 0, 0, 0, BYTE(AT_WORK + 11, 0xF0)},
    {"STRING_UTF8", "STRING_UTF8@4688", 0, 0, 0, BYTE(AT_WORK + 9, 0xC3)},
    {"STRING_UTF8-byte", "STRING_UTF8@4688", 0, 0, 0, BYTE(AT_WORK + 9, 0xF8)},
    {"STRING_UTF8-surrogate", "STRING_UTF8@4688", 0, 0, 0, .changes = {{AT_WORK + 8, 3, 0x80A0ED}}},
    {"STRING_UTF8-overlong", "STRING_UTF8@4688", 0, 0, 0, .changes = {{AT_WORK + 8, 2, 0xAFC0}}},
    {"STRING_UTF8-high", "STRING_UTF8@4688", 0, 0, 0, .changes = {{AT_WORK + 8, 4, 0x808090F4}}},
    {"STRING_ID", "-", .asks = "1073741823=STRING_ID"},
    {"STRING_ID-invalid", "-", .asks = "536870913=STRING_ID"},
    {"STRING_ID-header", "-", .asks = "536870914=STRING_ID"},
    {"STRING_ID-bound", "-", BOUND_TO(TBED_ID_INVALID), .asks = "42=STRING_ID"},
    {"STRING_LENGTH-between", "-", .asks = "536870987=STRING_LENGTH"},
    {"STRING_UNBOUND", "-", .asks = "41=STRING_UNBOUND"},
    {"STRING_UNBOUND-metadata", "-", .asks = "536870912=STRING_UNBOUND"},
    {"STRING_UNBOUND-bound", "-", BOUND_TO(41), .asks = "42=STRING_UNBOUND"},
    {"STRING_CYCLE", "-", BOUND_TO(42), .asks = "42=STRING_CYCLE"},
    {"STRING_CYCLE-string", "-", BOUND_TO(TBED_ID_METADATA + (AT_SEED - AT_CELLS) / 8),
     .asks = "42=STRING_CYCLE"},
    {"STRING_DEPTH", "-", -62, .edit = nest_too_deep, .asks = "42=STRING_DEPTH"},
    {"STRING_DEPTH-not_yet", "-", -61, .edit = nest_as_deep_as_allowed, .asks = "42=OK"},
    {"STRING_COMPONENTS", "-", -5, .edit = have_too_many_components, .asks = "42=STRING_COMPONENTS"},
    {"STRING_BYTES", "-", -4, .edit = have_one_byte_too_many, .asks = "42=STRING_BYTES"},
    {"STRING_BYTES-not_yet", "-", -3, .edit = have_too_many_bytes, .asks = "42=OK"},
    {.name = NULL},
};
