/*
 * The directory's arithmetic at its borders, for every page size, against a walk over all pages; entries and directory
 * pages, which must not survive the change of a bit.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/file/directory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/checksum.h"

static void numbers_of_the_specification_hold(void **state)
{
    (void)state;
    assert_int_equal(tbed_directory_first_count(4096), 16);
    assert_int_equal(tbed_directory_page_count(4096), 56);
    assert_int_equal(tbed_directory_first_count(65536), 496);
    assert_int_equal(tbed_directory_page_count(65536), 1016);
    assert_int_equal(tbed_directory_page(65536, 0), 496);
    assert_int_equal(tbed_directory_page(65536, 1), 496 + 1017);
    assert_int_equal(tbed_directory_entry_offset(65536, 1), 1024 + 64);
    assert_int_equal(tbed_directory_entry_offset(65536, 495), 32768 - 64);
    assert_int_equal(tbed_directory_entry_offset(65536, 497), UINT64_C(496) * 65536 + 512);
    assert_int_equal(tbed_directory_entry_offset(65536, 496 + 1016), UINT64_C(497) * 65536 - 64);
    assert_int_equal(tbed_directory_entry_offset(65536, 496 + 1018), UINT64_C(1513) * 65536 + 512);
    assert_false(tbed_directory_has_page(4096, 0));
    assert_true(tbed_directory_has_page(4096, 16));
    assert_false(tbed_directory_has_page(4096, 72));
    assert_true(tbed_directory_has_page(4096, 73));
}

/* Every page has the entry after its predecessor's, or begins a page of entries. */
static void every_page_has_the_next_entry(void **state)
{
    (void)state;
    for (uint32_t page_nbytes = TBED_PAGE_NBYTES_MIN; page_nbytes <= TBED_PAGE_NBYTES_MAX; page_nbytes *= 2) {
        uint64_t expected = TBED_ENTRIES_OFFSET, end = page_nbytes / 2, found = 0;
        for (uint64_t page = 0; page < 100000; page++) {
            assert_int_equal(tbed_directory_pages_below(page_nbytes, page), found);
            bool is_full = expected == end;
            assert_int_equal(tbed_directory_has_page(page_nbytes, page), is_full);
            if (is_full) {
                assert_int_equal(tbed_directory_page(page_nbytes, found++), page);
                expected = page * page_nbytes + TBED_COPY_USED_NBYTES;
                end = (page + 1) * page_nbytes;
                continue;
            }
            assert_int_equal(tbed_directory_entry_offset(page_nbytes, page), expected);
            expected += TBED_ENTRY_NBYTES;
        }
    }
}

/* The entry of the highest page lies in the file, and is 64-bit arithmetic. */
static void highest_pages_have_entries(void **state)
{
    (void)state;
    for (uint32_t page_nbytes = TBED_PAGE_NBYTES_MIN; page_nbytes <= TBED_PAGE_NBYTES_MAX; page_nbytes *= 2) {
        uint64_t page = UINT32_MAX - 1;
        if (tbed_directory_has_page(page_nbytes, page))
            page--;
        uint64_t offset = tbed_directory_entry_offset(page_nbytes, page);
        uint64_t index = tbed_directory_pages_below(page_nbytes, page) - 1;
        assert_int_equal(offset / page_nbytes, tbed_directory_page(page_nbytes, index));
        assert_true(offset / page_nbytes < page);
        assert_true(offset % page_nbytes >= TBED_COPY_USED_NBYTES);
    }
}

static struct tbed_block_fields block_make(uint32_t kind)
{
    return (struct tbed_block_fields){
        .kind = kind,
        .sequence = 7,
        .stream = 3,
        .string_page = kind == TBED_BLOCK_STRINGS || kind == TBED_BLOCK_CELLS ? 9 : 0,
        .first_tick = 1000,
        .depth = kind == TBED_BLOCK_EVENTS ? 5 : 0,
        .used_nbytes = 512,
        .last_tick = 2000,
        .checksum = 0x1122334455667788u,
    };
}

static void entry_says_what_its_block_says(void **state)
{
    (void)state;
    for (uint32_t kind = TBED_BLOCK_EVENTS; kind <= TBED_BLOCK_CELLS; kind++) {
        struct tbed_block_fields block = block_make(kind);
        struct tbed_disk_entry disk = tbed_entry_make(&block, 900);
        struct tbed_entry_fields entry = tbed_entry_load(&disk);
        assert_true(entry.is_valid);
        assert_int_equal(entry.state, TBED_ENTRY_SEALED);
        assert_int_equal(entry.least_begin_tick, 900);
        assert_int_equal(entry.checksum, 0x55667788);
        assert_true(tbed_entry_agrees(&entry, &block));
        block.sequence++;
        assert_false(tbed_entry_agrees(&entry, &block));
    }
}

static bool may_change(size_t offset)
{
    return (offset >= 2 && offset < 4) || (offset >= 8 && offset < 16) || (offset >= 52 && offset < 56);
}

/* Except where a bit of the state makes an earlier state, which no check covers. */
static void each_bit_of_a_sealed_entry_counts(void **state)
{
    (void)state;
    for (uint32_t kind = TBED_BLOCK_EVENTS; kind <= TBED_BLOCK_CELLS; kind++) {
        struct tbed_block_fields block = block_make(kind);
        struct tbed_disk_entry disk = tbed_entry_make(&block, 900);
        for (size_t bit = 0; bit < TBED_ENTRY_NBYTES * 8; bit++) {
            uint8_t *byte = (uint8_t *)&disk + bit / 8;
            *byte ^= (uint8_t)(1u << bit % 8);
            struct tbed_entry_fields entry = tbed_entry_load(&disk);
            bool is_other_state = bit < 8 && entry.state < TBED_ENTRY_SEALED;
            if (!is_other_state)
                assert_int_equal(entry.is_valid, may_change(bit / 8));
            *byte ^= (uint8_t)(1u << bit % 8);
        }
    }
}

static void unsealed_entries_need_a_kind(void **state)
{
    (void)state;
    struct tbed_disk_entry disk = {.state = TBED_ENTRY_FREE};
    assert_true(tbed_entry_load(&disk).is_valid);
    for (uint8_t entry_state = TBED_ENTRY_CLAIMED; entry_state < TBED_ENTRY_SEALED; entry_state++) {
        disk = (struct tbed_disk_entry){.state = entry_state, .kind = TBED_BLOCK_RECORDS};
        assert_true(tbed_entry_load(&disk).is_valid);
        disk.kind = 0;
        assert_false(tbed_entry_load(&disk).is_valid);
        disk.kind = TBED_BLOCK_DIRECTORY;
        assert_false(tbed_entry_load(&disk).is_valid);
    }
    disk = (struct tbed_disk_entry){.state = 5, .kind = TBED_BLOCK_RECORDS};
    assert_false(tbed_entry_load(&disk).is_valid);
}

static uint64_t header_words[4096 / 8];

static void header_begin(uint32_t page_nbytes)
{
    struct tbed_header_fields fields = {.page_nbytes = page_nbytes,
                                        .file_id = 77,
                                        .clock = TBED_CLOCK_MONOTONIC,
                                        .ticks_per_second = 1000000000};
    memset(header_words, 0, sizeof header_words);
    tbed_header_make(header_words, &fields);
}

static void directory_page_has_the_header(void **state)
{
    uint64_t words[TBED_COPY_USED_NBYTES / 8];
    struct tbed_header_fields fields;
    (void)state;
    header_begin(8192);
    uint32_t page = (uint32_t)tbed_directory_page(8192, 3);
    tbed_directory_page_make(words, header_words, page);
    struct tbed_block_fields block = tbed_block_load((uint8_t *)words);
    assert_int_equal(block.kind, TBED_BLOCK_DIRECTORY);
    assert_int_equal(block.sequence, 3);
    assert_int_equal(block.page, page);
    assert_true(tbed_directory_page_is_valid(words, header_words, page));
    assert_false(tbed_directory_page_is_valid(words, header_words, (uint32_t)tbed_directory_page(8192, 2)));
    assert_true(tbed_header_copy_is_valid(words, (uint64_t)page * 8192, &fields));
    assert_int_equal(fields.page_nbytes, 8192);
    assert_int_equal(fields.file_id, 77);
    assert_false(tbed_header_copy_is_valid(words, (uint64_t)page * 4096, &fields));
    for (size_t bit = 0; bit < TBED_COPY_USED_NBYTES * 8; bit++) {
        ((uint8_t *)words)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(tbed_directory_page_is_valid(words, header_words, page));
        assert_false(tbed_header_copy_is_valid(words, (uint64_t)page * 8192, &fields));
        ((uint8_t *)words)[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

/* A later version's header, which has more fields. */
static void header_may_be_larger(void **state)
{
    struct tbed_header_fields fields;
    struct tbed_error error;
    (void)state;
    header_begin(4096);
    struct tbed_disk_header *header = (struct tbed_disk_header *)(void *)header_words;
    header->header_nbytes = tbed_le32_make(384);
    header_words[300 / 8] = 5;
    assert_int_equal(tbed_header_check(header_words, sizeof header_words, &fields, &error),
                     TBED_ERR_HEADER_CHECKSUM);
    header_words[376 / 8] = tbed_word_order(tbed_header_checksum(header_words, 384));
    assert_int_equal(tbed_header_check(header_words, sizeof header_words, &fields, &error), TBED_OK);
    assert_int_equal(fields.fixed_nbytes, 384);
    header->header_nbytes = tbed_le32_make(512);
    assert_int_equal(tbed_header_check(header_words, sizeof header_words, &fields, &error),
                     TBED_ERR_HEADER_SIZE);
}

/* ---- The closing checksum ---- */

static void each_directory_page_counts_in_the_closing_checksum(void **state)
{
    enum { NBYTES = 4096 };
    uint64_t page_count = tbed_directory_page(NBYTES, 2) + 1;
    uint8_t *map = calloc(page_count, NBYTES);
    struct tbed_disk_header header = {0};
    (void)state;
    assert_non_null(map);
    uint64_t expected = tbed_closing_checksum(&header, map, NBYTES, page_count);
    for (uint64_t i = 0; i < 3; i++) {
        uint8_t *last = map + (tbed_directory_page(NBYTES, i) + 1) * NBYTES - 1;
        *last = 1;
        assert_int_not_equal(tbed_closing_checksum(&header, map, NBYTES, page_count), expected);
        *last = 0;
    }
    assert_int_equal(tbed_closing_checksum(&header, map, NBYTES, page_count), expected);
    free(map);
}

/* ---- Entries built from blocks ---- */

/* The header's field for the checksum may hold anything until the block is sealed. */
static void entry_of_an_unsealed_block_has_no_checksum(void **state)
{
    enum { NBYTES = 4096 };
    static uint64_t words[2 * NBYTES / 8];
    uint8_t *map = (uint8_t *)words;
    struct tbed_disk_block *block = (struct tbed_disk_block *)(void *)(map + NBYTES);
    (void)state;
    block->kind = TBED_BLOCK_EVENTS;
    block->shift = 12;
    block->stream = tbed_le32_make(3);
    block->checksum = tbed_le64_make(0x1122334455667788u);
    tbed_directory_build_page(map, NBYTES, 1);
    const struct tbed_disk_entry *entry =
        (const struct tbed_disk_entry *)(const void *)(map + tbed_directory_entry_offset(NBYTES, 1));
    assert_int_equal(entry->state, TBED_ENTRY_BEGUN);
    assert_int_equal(tbed_le32_load(entry->checksum), 0);
    assert_int_equal(tbed_le32_load(entry->check), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_the_specification_hold),
        cmocka_unit_test(every_page_has_the_next_entry),
        cmocka_unit_test(highest_pages_have_entries),
        cmocka_unit_test(entry_says_what_its_block_says),
        cmocka_unit_test(each_bit_of_a_sealed_entry_counts),
        cmocka_unit_test(unsealed_entries_need_a_kind),
        cmocka_unit_test(directory_page_has_the_header),
        cmocka_unit_test(header_may_be_larger),
        cmocka_unit_test(each_directory_page_counts_in_the_closing_checksum),
        cmocka_unit_test(entry_of_an_unsealed_block_has_no_checksum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
