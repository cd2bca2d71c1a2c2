/*
 * tbed_block_scan(): where a block that nobody sealed ends, which recovery cuts by.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/block.h"
#include "format/checksum.h"
#include "format/event.h"
#include "format/record.h"
#include "format/string.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NBYTES 512u

/* A block of 512 bytes: a nearly empty header, and words from offset 64 on. */
struct block {
    _Alignas(8) uint8_t bytes[NBYTES];
    uint32_t at;
};

static struct block block_make(enum tbed_block_kind kind)
{
    struct block block = {.at = 64};
    struct tbed_disk_block *header = (struct tbed_disk_block *)block.bytes;
    header->kind = (uint8_t)kind;
    header->first_tick = tbed_le64_make(100);
    return block;
}

static void add(struct block *block, uint64_t word)
{
    tbed_word_store(block->bytes + block->at, word);
    block->at += 8;
}

static struct tbed_block_scan scan_block(const struct block *block, enum tbed_status status)
{
    struct tbed_block_scan scan;
    const struct tbed_disk_block *header = (const struct tbed_disk_block *)block->bytes;
    enum tbed_status found = tbed_block_scan(block->bytes, NBYTES, (enum tbed_block_kind)header->kind, &scan);
    assert_string_equal(tbed_status_name(found), tbed_status_name(status));
    return scan;
}

static void empty_block_ends_at_its_header(void **state)
{
    (void)state;
    for (enum tbed_block_kind kind = TBED_BLOCK_EVENTS; kind <= TBED_BLOCK_CELLS; kind++) {
        struct block block = block_make(kind);
        struct tbed_block_scan scan = scan_block(&block, TBED_OK);
        assert_int_equal(scan.end_nbytes, kind == TBED_BLOCK_CELLS ? 512 : 64);
        assert_int_equal(scan.last_tick, 100);
        assert_false(scan.has_rest);
        assert_int_equal(scan.item_count, 0);
    }
}

static void events_end_at_the_first_zero_word_in_a_words_place(void **state)
{
    struct block block = block_make(TBED_BLOCK_EVENTS);
    (void)state;
    add(&block, tbed_event_make(TBED_TAG_TIME, 1, 0));
    add(&block, tbed_event_make(TBED_TAG_PAIR, 1, 5));
    add(&block, 0); /* a payload may be zero */
    add(&block, tbed_event_make(TBED_TAG_EXTENDED, 1, 7));
    add(&block, tbed_extended_head_make((struct tbed_extended_head){TBED_EXT_FREE, 0, 2, 0}));
    add(&block, 0);
    struct tbed_block_scan scan = scan_block(&block, TBED_OK);
    assert_int_equal(scan.end_nbytes, block.at);
    assert_int_equal(scan.last_tick, 107 + (UINT64_C(1) << 31));
    assert_int_equal(scan.item_count, 3);
    assert_false(scan.has_rest);
}

static void stored_stack_is_stepped_over(void **state)
{
    struct block block = block_make(TBED_BLOCK_EVENTS);
    (void)state;
    /* 512 / 64 spans are stored, all zero here. */
    ((struct tbed_disk_block *)block.bytes)->depth = tbed_le32_make(1000);
    block.at += 8 * 16;
    add(&block, tbed_event_make(TBED_TAG_INSTANT, 1, 5));
    assert_int_equal(scan_block(&block, TBED_OK).end_nbytes, block.at);
}

static void last_tick_is_the_latest_although_the_clock_went_back(void **state)
{
    struct block block = block_make(TBED_BLOCK_EVENTS);
    (void)state;
    add(&block, tbed_event_make(TBED_TAG_INSTANT, 1, 50));
    add(&block, tbed_event_make(TBED_TAG_INSTANT, 1, 40));
    assert_int_equal(scan_block(&block, TBED_OK).last_tick, 150);
}

static void full_block_ends_with_itself(void **state)
{
    struct block block = block_make(TBED_BLOCK_EVENTS);
    (void)state;
    while (block.at < NBYTES)
        add(&block, tbed_event_make(TBED_TAG_INSTANT, 1, 1));
    assert_int_equal(scan_block(&block, TBED_OK).end_nbytes, NBYTES);
}

static void interrupted_record_is_the_rest(void **state)
{
    struct block block = block_make(TBED_BLOCK_EVENTS);
    (void)state;
    add(&block, tbed_event_make(TBED_TAG_INSTANT, 1, 1));
    block.at += 8;
    add(&block, 7);
    struct tbed_block_scan scan = scan_block(&block, TBED_OK);
    assert_int_equal(scan.end_nbytes, 72);
    assert_true(scan.has_rest);
}

static void damage_ends_the_scan_where_it_stands(void **state)
{
    (void)state;
    struct block block = block_make(TBED_BLOCK_EVENTS);
    add(&block, tbed_event_make(TBED_TAG_INSTANT, 1, 1));
    add(&block, 1);
    assert_int_equal(scan_block(&block, TBED_ERR_EVENT_TAG).end_nbytes, 72);
    block = block_make(TBED_BLOCK_STRINGS);
    add(&block, 1000);
    assert_int_equal(scan_block(&block, TBED_ERR_STRING_LENGTH).end_nbytes, 64);
    block = block_make(TBED_BLOCK_RECORDS);
    add(&block, tbed_record_head_make(TBED_RECORD_END, 8));
    assert_int_equal(scan_block(&block, TBED_ERR_RECORD_LENGTH).end_nbytes, 64);
    block = block_make(TBED_BLOCK_EVENTS);
    block.at = NBYTES - 8;
    tbed_word_store(block.bytes + 64, tbed_event_make(TBED_TAG_EXTENDED, 1, 1));
    tbed_word_store(block.bytes + 72, tbed_extended_head_make((struct tbed_extended_head){200, 0, 56, 0}));
    assert_int_equal(scan_block(&block, TBED_ERR_EVENT_LENGTH).end_nbytes, 64); /* one word too long */
}

static void strings_and_records_are_stepped_over_whole(void **state)
{
    (void)state;
    struct block block = block_make(TBED_BLOCK_STRINGS);
    add(&block, 9); /* 8 + 9, rounded up, are 24 bytes */
    block.at += 16;
    add(&block, 1);
    block.at += 8;
    struct tbed_block_scan scan = scan_block(&block, TBED_OK);
    assert_int_equal(scan.end_nbytes, 64 + 24 + 16);
    assert_int_equal(scan.item_count, 2);
    block = block_make(TBED_BLOCK_RECORDS);
    add(&block, tbed_record_head_make(999, 16));
    block.at += 8;
    add(&block, tbed_record_head_make(TBED_RECORD_END, 24));
    scan = scan_block(&block, TBED_OK);
    assert_int_equal(scan.end_nbytes, 64 + 16 + 24);
    assert_int_equal(scan.last_tick, 100);
}

/* With arbitrary bytes, the scan terminates and its end is inside the block, at a word. */
static void random_blocks_are_scanned_safely(void **state)
{
    uint64_t random = 42;
    (void)state;
    for (int round = 0; round < 100000; round++) {
        struct block block = block_make((enum tbed_block_kind)(round % 5));
        struct tbed_block_scan scan;
        for (uint32_t at = 40; at < NBYTES; at += 8) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            uint64_t word = random >> 60 == 0 ? 0 : random >> (random >> 58);
            tbed_word_store(block.bytes + at, word);
        }
        tbed_block_scan(block.bytes, NBYTES, (enum tbed_block_kind)(round % 5), &scan);
        assert_true(scan.end_nbytes >= 64 && scan.end_nbytes <= NBYTES && scan.end_nbytes % 8 == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_block_ends_at_its_header),
        cmocka_unit_test(events_end_at_the_first_zero_word_in_a_words_place),
        cmocka_unit_test(stored_stack_is_stepped_over),
        cmocka_unit_test(last_tick_is_the_latest_although_the_clock_went_back),
        cmocka_unit_test(full_block_ends_with_itself),
        cmocka_unit_test(interrupted_record_is_the_rest),
        cmocka_unit_test(damage_ends_the_scan_where_it_stands),
        cmocka_unit_test(strings_and_records_are_stepped_over_whole),
        cmocka_unit_test(random_blocks_are_scanned_safely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
