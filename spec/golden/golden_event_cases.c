/*
 * Damage inside a block of events: section 12, "Events". Everything before the damage is still read.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/event.h"
#include "format/file/directory.h"
#include "fuzz/support/mend.h"
#include "spec/golden/golden_invalid.h"

#define WORD(at, value) .changes = {{at, 8, value}}

/* The word with the head of an EXTENDED record. */
#define EXT_HEAD(type, argument_count, nwords)                                                               \
    ((uint64_t)(type) | (uint64_t)(argument_count) << 8 | (uint64_t)(nwords) << 16)
/* The same for a PACKED_MESSAGE with four words of values, which takes its place. */
#define PACKED_HEAD(argument_count, types)                                                                   \
    (EXT_HEAD(TBED_EXT_PACKED_MESSAGE, argument_count, 5) | UINT64_C(types) << 36)
/* PACKED_INSTANT in its place: a fixed word and three words of values. */
#define SPAN_HEAD(argument_count) EXT_HEAD(TBED_EXT_PACKED_INSTANT, argument_count, 5)
#define FIXED_WORD(types, names)                                                                             \
    .changes = {{AT_EXTENDED + 8, 8, SPAN_HEAD(3)},                                                          \
                {AT_EXTENDED + 16, 8, UINT64_C(types) | UINT64_C(names) << 32}}
#define ARG_HEAD(type, nbytes, name_id)                                                                      \
    ((uint64_t)(type) | (uint64_t)(nbytes) << 8 | (uint64_t)(name_id) << 32)

/* As a writer that was killed leaves a block: without its checksum, and the directory does not say where it ends. */
static void unseal(struct golden_file *file)
{
    struct tbed_disk_header *header = (struct tbed_disk_header *)file->bytes;
    struct tbed_disk_block *block = (struct tbed_disk_block *)(file->bytes + AT_EVENTS);
    header->state = tbed_le32_make(TBED_STATE_OPEN);
    header->closing_checksum = tbed_le64_make(0);
    block->used_nbytes = tbed_le32_make(0);
    block->last_tick = block->checksum = tbed_le64_make(0);
}

static void zero_word(struct golden_file *file, size_t at)
{
    memset(file->bytes + at, 0, 8);
}

/* More than one record follows. */
static void lose_word_of_killed(struct golden_file *file)
{
    unseal(file);
    zero_word(file, AT_INSTANT);
}

/* The block's last event, in the entry of which it has ended. */
static void lose_word_of_ended(struct golden_file *file)
{
    struct tbed_disk_entry *entry =
        (struct tbed_disk_entry *)(file->bytes + tbed_directory_entry_offset(GOLDEN_PAGE_NBYTES, 2));
    unseal(file);
    zero_word(file, AT_LAST);
    entry->state = TBED_ENTRY_ENDED;
}

const struct golden_case golden_event_cases[] = {
    {"EVENT_TAG", "EVENT_TAG@8280", 0, 0, 6, WORD(AT_INSTANT, UINT64_C(2) << 33 | 42)},
    {"EVENT_TAG-id", "EVENT_TAG@8280", 0, 0, 6, WORD(AT_INSTANT, 42)},
    {"EVENT_TIME", "EVENT_TIME@8288", 0, 0, 5, WORD(AT_TIME, UINT64_C(4) << 30)},
    {"EVENT_TIME-delta", "EVENT_TIME@8288", 0, 0, 5,
     WORD(AT_TIME, UINT64_C(1) << 33 | UINT64_C(4) << 30 | 1)},
    {"EVENT_LENGTH", "EVENT_LENGTH@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, EXT_HEAD(TBED_EXT_INSTANT, 2, 14))}, /* one word more than there are */
    {"EVENT_LENGTH-none", "EVENT_LENGTH@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, EXT_HEAD(TBED_EXT_INSTANT, 2, 0))},
    {"EVENT_LENGTH-most", "EVENT_LENGTH@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, EXT_HEAD(TBED_EXT_INSTANT, 2, UINT64_C(65535)))},
    {"EVENT_LENGTH-unknown", "EVENT_LENGTH@8312", 0, 0, 4, WORD(AT_EXTENDED + 8, EXT_HEAD(200, 0, 14))},
    {"EVENT_LENGTH-pair", "EVENT_LENGTH@8416", 0, 0, 1, WORD(AT_LAST, UINT64_C(7) << 33 | UINT64_C(5) << 30)},
    {"EVENT_LENGTH-extended", "EVENT_LENGTH@8416", 0, 0, 1,
     WORD(AT_LAST, UINT64_C(7) << 33 | UINT64_C(6) << 30)},
    {"EVENT_ARGUMENT", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, EXT_HEAD(TBED_EXT_INSTANT, 1, 5))}, /* more words than the arguments fill */
    {"EVENT_ARGUMENT-many", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, EXT_HEAD(TBED_EXT_INSTANT, 3, 5))},
    {"EVENT_ARGUMENT-none", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, EXT_HEAD(TBED_EXT_INSTANT, 0, 5))},
    {"EVENT_ARGUMENT-long", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 32, ARG_HEAD(TBED_ARG_TEXT, 9, TBED_ID_INVALID))},
    {"EVENT_ARGUMENT-longest", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 32, ARG_HEAD(TBED_ARG_TEXT, 0xFFFFFF, TBED_ID_INVALID))},
    {"EVENT_ARGUMENT-scalar", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 16, ARG_HEAD(TBED_ARG_U64, 7, TBED_ID_INVALID))},
    {"EVENT_ARGUMENT-name", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 16, ARG_HEAD(TBED_ARG_U64, 8, 0x40000000u))},
    {"EVENT_ARGUMENT-fixed", "EVENT_ARGUMENT@8392", 0, 0, 2,
     WORD(AT_EXT_END + 8, EXT_HEAD(TBED_EXT_END, 0, 1))},
    {"EVENT_ARGUMENT-counter", "EVENT_ARGUMENT@8360", 0, 0, 3,
     WORD(AT_EXT_COUNTER + 8, EXT_HEAD(TBED_EXT_COUNTER, 0, 1))},
    {"EVENT_ARGUMENT-counter_type", "EVENT_ARGUMENT@8360", 0, 0, 3,
     WORD(AT_EXT_COUNTER + 16, ARG_HEAD(TBED_ARG_TEXT, 8, TBED_ID_INVALID))},
    {"EVENT_ARGUMENT-packed_rest", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, PACKED_HEAD(3, 0x111))}, /* a word after the values */
    {"EVENT_ARGUMENT-packed_long", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, PACKED_HEAD(5, 0x11111))},
    {"EVENT_ARGUMENT-packed_fewer", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, PACKED_HEAD(4, 0x111))}, /* more arguments than types */
    {"EVENT_ARGUMENT-packed_more", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, PACKED_HEAD(4, 0x11111))},
    {"EVENT_ARGUMENT-packed_hole", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, PACKED_HEAD(4, 0x1011))},
    {"EVENT_ARGUMENT-packed_bytes", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, PACKED_HEAD(4, 0x8111))},
    {"EVENT_ARGUMENT-packed_type", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, PACKED_HEAD(4, 0xB111))},
    {"EVENT_ARGUMENT-packed_text", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, PACKED_HEAD(1, 0x7))}, /* its size is 2,049 */
    {"EVENT_ARGUMENT-packed_text_head", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, PACKED_HEAD(5, 0x71111))},
    {"EVENT_ARGUMENT-packed_eight", "EVENT_ARGUMENT@8312", 0, 0, 4,
     WORD(AT_EXTENDED + 8, PACKED_HEAD(8, 0xAAAAAAA))},
    {"EVENT_ARGUMENT-packed_span_fixed", "EVENT_ARGUMENT@8392", 0, 0, 2,
     WORD(AT_EXT_END + 8, EXT_HEAD(TBED_EXT_PACKED_BEGIN, 0, 1))},
    {"EVENT_ARGUMENT-packed_span_names", "EVENT_ARGUMENT@8312", 0, 0, 4, FIXED_WORD(0x111, 0x40000000)},
    {"EVENT_ARGUMENT-packed_span_rest", "EVENT_ARGUMENT@8312", 0, 0, 4, FIXED_WORD(0x999, 1)},
    {"EVENT_ARGUMENT-packed_span_more", "EVENT_ARGUMENT@8312", 0, 0, 4, FIXED_WORD(0x1111, 1)},
    {"EVENT_ARGUMENT-packed_span_nine", "EVENT_ARGUMENT@8312", 0, 0, 4,
     .changes = {{AT_EXTENDED + 8, 8, SPAN_HEAD(9)}, {AT_EXTENDED + 16, 8, 0x99999999}}},
    {"EVENT_ZERO", "EVENT_ZERO@8280", 0, 0, 6, WORD(AT_INSTANT, 0)},
    {"EVENT_ZERO-killed", "EVENT_ZERO@8280", 0, 0, 6, .edit = lose_word_of_killed},
    {"EVENT_ZERO-ended", "EVENT_ZERO@8416", 0, 0, 1, .edit = lose_word_of_ended, .kept_sums = MEND_DIRECTORY},
    {"EVENT_STACK", "EVENT_STACK@8256", 0, 0, 7, .changes = {{AT_SPAN + 12, 4, 2}}},
    {"EVENT_STACK-id", "EVENT_STACK@8256", 0, 0, 7, .changes = {{AT_SPAN + 8, 4, 0x40000000}}},
    {"EVENT_TICK", "EVENT_TICK@8296", 0, 0, 0,
     .changes = {{IN_BLOCK(AT_EVENTS, last_tick), 8,
                  GOLDEN_FIRST_TICK + 2}}}, /* then TIME, and later events */
    {.name = NULL},
};
