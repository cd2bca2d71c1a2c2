/*
 * Tests functions of format/ that readers do not call, or not with such arguments.
 *
 * The input is a choice of 8 bytes, an entry of the directory, the fields of a header page, and a page with a block.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "format/base/utf8.h"
#include "format/event.h"
#include "format/file/directory.h"
#include "format/file/mark.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/mend.h"

enum { PAGE = TBED_PAGE_NBYTES_MIN, STATUSES = 512 /* more than there are */ };

struct input {
    uint64_t choice;
    struct tbed_disk_entry entry;
    uint64_t pages[2 * PAGE / 8];
};

/* Every known status must have a name of its own. */
static void check_words(uint64_t choice)
{
    enum tbed_status status = (enum tbed_status)(choice % STATUSES);
    bool is_unknown = strcmp(tbed_status_text(status), "unknown status") == 0;
    REQUIRE((strcmp(tbed_status_name(status), "UNKNOWN") == 0) == is_unknown);
    for (unsigned other = 0; other < STATUSES && !is_unknown; other++) {
        bool is_same = strcmp(tbed_status_name(status), tbed_status_name((enum tbed_status)other)) == 0;
        REQUIRE(is_same == (other == (unsigned)status) && tbed_status_text((enum tbed_status)other)[0] != 0);
    }
    REQUIRE(tbed_version() == TBED_VERSION_NUMBER);
    for (unsigned cause = 0; cause <= TBED_DROP_CAUSE_COUNT; cause++)
        REQUIRE((strcmp(tbed_drop_cause_text(cause), "unknown cause") == 0) == (cause > TBED_DROP_SANDBOX));
    for (uint32_t type = 0; type < 256; type++)
        REQUIRE(tbed_extended_fixed_nwords(type) <= 4 &&
                (type <= TBED_EXT_RESIZE || tbed_extended_fixed_nwords(type) == 0));
}

/* A header is refused at a place in it, or has the size of page that it says. */
static void check_header(const struct input *input)
{
    struct tbed_header_fields fields;
    struct tbed_error error = {.status = TBED_OK};
    uint64_t header[TBED_PAGE_NBYTES_MIN / 8];
    memcpy(header, input->pages, sizeof header);
    mend_file((uint8_t *)header, sizeof header, MEND_HEADER);
    enum tbed_status status = tbed_header_check(header, PAGE, &fields, &error);
    REQUIRE(status == TBED_OK || status == error.status);
    REQUIRE(status != TBED_OK ||
            tbed_le32_load(((struct tbed_disk_header *)header)->page_nbytes) == fields.page_nbytes);
}

/* Cutting must remove less than one code point and must not make valid text invalid. */
static void check_cuts(const uint8_t *text, size_t nbytes)
{
    size_t valid = tbed_utf8_valid_nbytes(text, nbytes);
    for (size_t i = 0; i <= nbytes; i++) {
        size_t cut = tbed_utf8_cut_nbytes(text, i);
        REQUIRE(cut <= i && i - cut < 4);
        REQUIRE(i > valid || tbed_utf8_valid_nbytes(text, cut) == cut);
    }
    REQUIRE(tbed_utf8_step(text, 0) == 0);
}

/* An entry must agree with the block that it describes, and with no other block. */
static void check_entry(const struct input *input)
{
    struct tbed_entry_fields entry = tbed_entry_load(&input->entry);
    struct tbed_block_fields block = tbed_entry_block(&entry, 1, 1, 12), other = block;
    struct tbed_block_fields of_page = tbed_block_load((const uint8_t *)input->pages + PAGE);
    bool is_in_ring = entry.generation % 4 != 0;
    REQUIRE(tbed_entry_agrees(&entry, &block));
    switch (input->choice % 8) {
    case 0:
        other.kind ^= 1;
        break;
    case 1:
        other.stream ^= 1;
        break;
    case 2:
        other.sequence ^= 1;
        break;
    case 3:
        other.generation ^= 1;
        break;
    case 4:
        other.first_tick ^= 1;
        break;
    case 5:
        other.depth ^= 1;
        break;
    default:
        other.used_nbytes ^= 8;
        other.last_tick ^= input->choice >> 8;
    }
    REQUIRE(input->choice % 8 >= 6 || !tbed_entry_agrees(&entry, &other));
    tbed_entry_agrees(&entry, &other);
    struct tbed_disk_entry made = tbed_entry_make(&of_page, of_page.first_tick);
    struct tbed_entry_fields again = tbed_entry_load(&made);
    REQUIRE(again.stream == of_page.stream && again.used_nbytes == of_page.used_nbytes);
    REQUIRE(is_in_ring || again.first_tick == of_page.first_tick);
}

static void check_block(const struct input *input)
{
    const uint8_t *block = (const uint8_t *)input->pages + PAGE;
    uint32_t ended = (uint32_t)(input->choice >> 16) % PAGE, field;
    struct tbed_block_fields fields = tbed_block_load(block);
    struct tbed_block_place place = {.file_id = fields.file_id,
                                     .page_nbytes = PAGE,
                                     .page = fields.page,
                                     .cell = (uint32_t)(input->choice >> 8) % 4,
                                     .nbytes = PAGE,
                                     .next_stream = UINT64_MAX,
                                     .next_string_page = UINT64_MAX};
    uint64_t detail;
    if (tbed_block_header_check(&fields, &place, &field, &detail) != TBED_OK)
        REQUIRE(field < TBED_BLOCK_HEADER_NBYTES);
    for (int kind = TBED_BLOCK_EVENTS; kind <= TBED_BLOCK_CELLS; kind++) {
        struct tbed_block_scan scan;
        enum tbed_status status = tbed_block_scan(block, PAGE, (enum tbed_block_kind)kind, &scan);
        REQUIRE(scan.end_nbytes <= PAGE && (status == TBED_OK || status >= 64));
        const uint32_t ends[] = {0, ended, scan.end_nbytes};
        for (int i = 0; i < 3; i++) {
            status = tbed_block_end_check(block, PAGE, (enum tbed_block_kind)kind, &scan, ends[i]);
            REQUIRE(status == TBED_OK || (scan.has_rest || ends[i] == ended));
        }
    }
}

/* The state in a page's mark decides whether the page of a ring has a block. */
static void check_marks(struct input *input)
{
    uint8_t *map = (uint8_t *)input->pages;
    memcpy(map + tbed_directory_entry_offset(PAGE, 1), &input->entry, sizeof input->entry);
    struct tbed_mark mark = tbed_mark_load(&input->entry);
    struct tbed_block_fields fields = tbed_page_load(map, PAGE, input->choice % 3, 1);
    struct tbed_block_fields plain = tbed_block_load(map + PAGE);
    bool is_ring = input->choice % 3 > 0;
    REQUIRE(is_ring || memcmp(&fields, &plain, sizeof fields) == 0);
    REQUIRE(!is_ring || fields.generation == mark.count);
    REQUIRE(!is_ring || fields.kind == (tbed_mark_has_block(mark) ? plain.kind : TBED_BLOCK_NONE));
    REQUIRE(tbed_page_still_has(map, PAGE, 1, mark.count) == tbed_mark_has_block(mark));
    REQUIRE(!tbed_page_still_has(map, PAGE, 1, mark.count + 1));
    REQUIRE(tbed_page_load(map, PAGE, 1, 0).kind == map[0]);
    REQUIRE(tbed_mark_word(tbed_mark_of(input->choice)) == input->choice);
}

/*
 * A directory that was built must be valid and have an entry for each block; copies of the header must be recognised.
 */
static void check_directory(struct input *input)
{
    uint8_t *map = (uint8_t *)input->pages, *page = map + PAGE;
    struct tbed_header_fields fields;
    tbed_directory_build(map, PAGE, 2);
    const void *stored = map + tbed_directory_entry_offset(PAGE, 1);
    struct tbed_entry_fields entry = tbed_entry_load(stored);
    REQUIRE((entry.state == TBED_ENTRY_FREE) == (page[0] < TBED_BLOCK_EVENTS || page[0] > TBED_BLOCK_CELLS));
    mend_block(page, PAGE, MEND_ALL);
    if (tbed_header_copy_is_valid(page, PAGE, &fields))
        REQUIRE(fields.page_nbytes == PAGE / tbed_block_load(page).page);
    tbed_directory_page_make(page, map, (uint32_t)tbed_directory_page(PAGE, 0));
    REQUIRE(tbed_le32_load(((struct tbed_disk_header *)map)->page_nbytes) != PAGE ||
            tbed_directory_page_is_valid(page, map, (uint32_t)tbed_directory_page(PAGE, 0)));
    page[input->choice % 512] ^= 1;
    REQUIRE(!tbed_directory_page_is_valid(page, map, (uint32_t)tbed_directory_page(PAGE, 0)));
}

/* Copies the next bytes of the input, or fewer if it ends. */
static void take(const uint8_t **data, size_t *nbytes, void *to, size_t to_nbytes)
{
    size_t taken = *nbytes < to_nbytes ? *nbytes : to_nbytes;
    if (taken > 0)
        memcpy(to, *data, taken);
    *data += taken;
    *nbytes -= taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static struct input input;
    uint8_t *header = (uint8_t *)input.pages;
    memset(&input, 0, sizeof input);
    take(&data, &nbytes, &input.choice, sizeof input.choice);
    take(&data, &nbytes, &input.entry, sizeof input.entry);
    take(&data, &nbytes, header, sizeof(struct tbed_disk_header));
    take(&data, &nbytes, header + PAGE, PAGE);
    check_words(input.choice);
    check_header(&input);
    check_cuts((const uint8_t *)&input, 64);
    check_entry(&input);
    check_block(&input);
    check_marks(&input);
    if (tbed_le32_load(((struct tbed_disk_header *)header)->page_nbytes) == PAGE)
        check_directory(&input);
    return 0;
}
