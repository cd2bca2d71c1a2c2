/*
 * The block checks of section 12, one test for each: one byte or field of a valid trace is changed, and exactly that
 * must be reported. The damaged block is lost, the blocks around it are not.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/checksum.h"
#include "reader/tests/core/trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Three sealed event blocks of stream 1 in pages 1 to 3, with two events each; 'spoil' gets the last one. */
struct three {
    struct trace trace;
    struct trace_block blocks[3];
};

static void three_make(struct three *three)
{
    three->trace = trace_make(4);
    for (uint32_t i = 0; i < 3; i++) {
        struct trace_block *block = &three->blocks[i];
        *block = trace_block_begin(&three->trace, 1 + i, TBED_BLOCK_EVENTS, 1, i);
        trace_event(block, TBED_TAG_BEGIN, 42, 10);
        trace_event(block, TBED_TAG_END, 42, 20);
        trace_seal(block);
    }
    trace_shut(&three->trace);
}

/*
 * Verifies, and expects exactly one damage with 'status' in 'page', and 'event_count' events that can still be read.
 */
static void expect(struct trace *trace, enum tbed_status status, uint64_t page, size_t event_count)
{
    struct tbed_damage damage;
    struct tbed_reader *reader = trace_open(trace);
    assert_string_equal(tbed_status_name(tbed_reader_verify(reader)), tbed_status_name(status));
    assert_int_equal(tbed_damage_count(reader), status == TBED_OK ? 0 : 1);
    if (status != TBED_OK) {
        assert_true(tbed_damage_get(reader, 0, &damage));
        assert_int_equal(damage.page, page);
        assert_int_equal(damage.offset / trace->page_nbytes, page);
    }
    assert_int_equal(trace_events(reader, 1, NULL, 0), event_count);
    assert_int_equal(tbed_damage_count(reader), status == TBED_OK ? 0 : 1); /* a place is reported once */
    tbed_reader_close(reader);
}

static void expect_last_lost(struct three *three, enum tbed_status status)
{
    expect(&three->trace, status, 3, 4);
    trace_free(&three->trace);
}

static void good_blocks_have_no_damage(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    expect(&three.trace, TBED_OK, 0, 6);
    trace_free(&three.trace);
}

#define HEADER(three) trace_block_header(&(three).blocks[2])

static void kind_above_the_known_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->kind = 5;
    expect_last_lost(&three, TBED_ERR_BLOCK_KIND);
}

static void shift_that_is_not_the_page_size_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->shift = 13;
    expect_last_lost(&three, TBED_ERR_BLOCK_SHIFT);
}

static void huge_shift_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->shift = 255; /* 1 << 255 must not be computed */
    expect_last_lost(&three, TBED_ERR_BLOCK_SHIFT);
}

static void cell_number_in_a_whole_page_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->cell = tbed_le16_make(1);
    expect_last_lost(&three, TBED_ERR_BLOCK_CELL);
}

static void page_number_of_another_page_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->page = tbed_le32_make(2);
    expect_last_lost(&three, TBED_ERR_BLOCK_PAGE);
}

static void file_id_of_another_file_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->file_id = tbed_le64_make(TRACE_FILE_ID + 1);
    expect_last_lost(&three, TBED_ERR_BLOCK_FILE);
}

static void stream_zero_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->stream = tbed_le32_make(0);
    expect_last_lost(&three, TBED_ERR_BLOCK_STREAM);
}

static void stream_that_was_never_handed_out_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->stream = tbed_le32_make(TRACE_NEXT_STREAM);
    expect_last_lost(&three, TBED_ERR_BLOCK_STREAM);
}

static void used_below_the_header_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->used_nbytes = tbed_le32_make(56);
    expect_last_lost(&three, TBED_ERR_BLOCK_USED);
}

static void used_that_is_no_multiple_of_8_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->used_nbytes = tbed_le32_make(84);
    expect_last_lost(&three, TBED_ERR_BLOCK_USED);
}

static void used_past_the_block_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->used_nbytes = tbed_le32_make(4104);
    expect_last_lost(&three, TBED_ERR_BLOCK_USED);
}

static void used_that_cuts_the_stored_stack_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->depth = tbed_le32_make(2); /* the stack goes up to 96, used to 80 */
    expect_last_lost(&three, TBED_ERR_BLOCK_USED);
}

static void last_tick_before_the_first_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->last_tick = tbed_le64_make(999);
    expect_last_lost(&three, TBED_ERR_BLOCK_TICKS);
}

static void flipped_bit_in_the_content_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    three.blocks[2].bytes[70] ^= 1;
    expect_last_lost(&three, TBED_ERR_BLOCK_CHECKSUM);
}

static void flipped_bit_in_the_header_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->generation = tbed_le32_make(2);
    expect_last_lost(&three, TBED_ERR_BLOCK_CHECKSUM);
}

static void bytes_past_used_are_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    three.blocks[2].bytes[4095] = 1;
    expect_last_lost(&three, TBED_ERR_BLOCK_TAIL);
}

static void unsealed_block_of_a_shut_file_is_told_and_read(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->used_nbytes = tbed_le32_make(0);
    expect(&three.trace, TBED_ERR_BLOCK_UNSEALED, 3, 6);
    trace_free(&three.trace);
}

static void bytes_in_a_page_without_a_block_are_refused_in_a_shut_file(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->kind = 0;
    expect_last_lost(&three, TBED_ERR_BLOCK_NOT_ZERO);
}

static void doubled_block_costs_the_second(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->sequence = tbed_le32_make(1);
    trace_seal(&three.blocks[2]);
    expect_last_lost(&three, TBED_ERR_BLOCK_TWICE);
}

static void second_of_a_doubled_block_counts_if_the_first_is_damaged(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->sequence = tbed_le32_make(1);
    trace_seal(&three.blocks[2]);
    three.blocks[1].bytes[70] ^= 1;
    expect(&three.trace, TBED_ERR_BLOCK_CHECKSUM, 2, 4);
    trace_free(&three.trace);
}

static void missing_block_is_told_at_the_one_after_it(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->sequence = tbed_le32_make(3);
    trace_seal(&three.blocks[2]);
    expect(&three.trace, TBED_ERR_BLOCK_MISSING, 3, 6); /* what is there is read */
    trace_free(&three.trace);
}

static void damaged_block_is_not_missing_as_well(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    trace_block_header(&three.blocks[1])->last_tick = tbed_le64_make(999);
    expect(&three.trace, TBED_ERR_BLOCK_TICKS, 2, 4);
    trace_free(&three.trace);
}

static void missing_start_of_a_stream_is_no_damage_in_a_ring(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    trace_header(&three.trace)->ring_page_count = tbed_le32_make(3);
    trace_header_mend(&three.trace);
    for (uint32_t i = 0; i < 3; i++) {
        trace_block_header(&three.blocks[i])->sequence = tbed_le32_make(7 + i);
        trace_seal(&three.blocks[i]);
    }
    expect(&three.trace, TBED_OK, 0, 6);
    trace_free(&three.trace);
}

static void missing_blocks_between_others_are_gaps_in_a_ring(void **state)
{
    struct three three;
    struct tbed_ring_gap gap;
    size_t position = 0;
    (void)state;
    three_make(&three);
    trace_header(&three.trace)->ring_page_count = tbed_le32_make(3);
    trace_header_mend(&three.trace);
    trace_block_header(&three.blocks[1])->sequence = tbed_le32_make(2);
    trace_seal(&three.blocks[1]);
    HEADER(three)->sequence = tbed_le32_make(6);
    HEADER(three)->first_tick = tbed_le64_make(2000);
    HEADER(three)->last_tick = tbed_le64_make(2005);
    trace_seal(&three.blocks[2]);
    struct tbed_reader *reader = trace_open(&three.trace);
    assert_true(tbed_ring_gap_next(reader, &position, &gap));
    assert_int_equal(gap.stream, 1);
    assert_int_equal(gap.first_sequence, 1);
    assert_int_equal(gap.block_count, 1);
    assert_true(tbed_ring_gap_next(reader, &position, &gap));
    assert_int_equal(gap.first_sequence, 3);
    assert_int_equal(gap.block_count, 3);
    assert_int_equal(gap.first_tick, tbed_le64_load(trace_block_header(&three.blocks[1])->last_tick));
    assert_int_equal(gap.last_tick, 2000);
    assert_false(tbed_ring_gap_next(reader, &position, &gap));
    assert_int_equal(tbed_damage_count(reader), 0);
    tbed_reader_close(reader);
    trace_free(&three.trace);
}

static void missing_block_of_an_open_file_may_be_on_its_way(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    trace_header(&three.trace)->state = tbed_le32_make(TBED_STATE_OPEN);
    HEADER(three)->sequence = tbed_le32_make(3);
    trace_seal(&three.blocks[2]);
    expect(&three.trace, TBED_OK, 0, 6);
    trace_free(&three.trace);
}

static void missing_start_of_a_stream_is_damage_elsewhere(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    for (uint32_t i = 0; i < 3; i++) {
        trace_block_header(&three.blocks[i])->sequence = tbed_le32_make(7 + i);
        trace_seal(&three.blocks[i]);
    }
    expect(&three.trace, TBED_ERR_BLOCK_MISSING, 1, 6);
    trace_free(&three.trace);
}

static void page_that_the_file_ends_inside_of_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    trace_header(&three.trace)->state = tbed_le32_make(TBED_STATE_OPEN);
    three.trace.nbytes -= 8;
    expect_last_lost(&three, TBED_ERR_BLOCK_CUT);
}

static void page_that_a_shut_file_lacks_is_told_with_its_size(void **state)
{
    struct three three;
    struct tbed_damage damage;
    (void)state;
    three_make(&three);
    three.trace.nbytes -= 4096;
    struct tbed_reader *reader = trace_open(&three.trace);
    assert_int_equal(tbed_reader_verify(reader), TBED_ERR_FILE_SIZE);
    assert_int_equal(tbed_damage_count(reader), 2);
    assert_true(tbed_damage_get(reader, 1, &damage));
    assert_int_equal(damage.status, TBED_ERR_BLOCK_CUT);
    assert_int_equal(damage.page, 3);
    tbed_reader_close(reader);
    trace_free(&three.trace);
}

static void pages_past_the_end_of_an_open_file_are_unwritten(void **state)
{
    struct three three;
    struct tbed_trace_info info;
    (void)state;
    three_make(&three);
    trace_header(&three.trace)->state = tbed_le32_make(TBED_STATE_OPEN);
    trace_header(&three.trace)->page_count = tbed_le64_make(10);
    struct tbed_reader *reader = trace_open(&three.trace);
    assert_int_equal(tbed_reader_verify(reader), TBED_OK);
    tbed_reader_info(reader, &info);
    assert_int_equal(info.unwritten_page_count, 6);
    assert_int_equal(info.event_block_count, 3);
    tbed_reader_close(reader);
    trace_free(&three.trace);
}

static void absurd_count_of_pages_takes_no_time(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    trace_header(&three.trace)->state = tbed_le32_make(TBED_STATE_OPEN);
    trace_header(&three.trace)->page_count = tbed_le64_make(UINT32_MAX);
    expect(&three.trace, TBED_ERR_DIRECTORY_PAGE, 16, 6); /* the first of those that are not there */
    trace_free(&three.trace);
}

static void depth_in_a_record_block_is_refused(void **state)
{
    struct trace trace = trace_make(2);
    struct trace_block block = trace_block_begin(&trace, 1, TBED_BLOCK_RECORDS, 1, 0);
    (void)state;
    trace_block_header(&block)->depth = tbed_le32_make(1);
    trace_seal(&block);
    expect(&trace, TBED_ERR_BLOCK_DEPTH, 1, 0);
    trace_free(&trace);
}

static void string_page_ordinal_in_an_event_block_is_refused(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    HEADER(three)->string_page = tbed_le32_make(1);
    trace_seal(&three.blocks[2]);
    expect_last_lost(&three, TBED_ERR_BLOCK_ORDINAL);
}

static void string_page_ordinal_that_was_never_handed_out_is_refused(void **state)
{
    struct trace trace = trace_make(2);
    struct trace_block block = trace_block_begin(&trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    (void)state;
    trace_block_header(&block)->string_page = tbed_le32_make(1000);
    trace_seal(&block);
    expect(&trace, TBED_ERR_BLOCK_ORDINAL, 1, 0);
    trace_free(&trace);
}

static void string_page_ordinal_past_the_string_space_is_refused(void **state)
{
    struct trace trace = trace_make(2);
    struct trace_block block = trace_block_begin(&trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    (void)state;
    trace_header(&trace)->next_string_page = tbed_le64_make(UINT64_MAX);
    trace_block_header(&block)->string_page = tbed_le32_make(1u << 20); /* times 4096 is 2^32 */
    trace_seal(&block);
    expect(&trace, TBED_ERR_BLOCK_ORDINAL, 1, 0);
    trace_free(&trace);
}

static void doubled_string_page_ordinal_costs_the_second(void **state)
{
    struct trace trace = trace_make(3);
    struct trace_block first = trace_block_begin(&trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    struct trace_block second = trace_block_begin(&trace, 2, TBED_BLOCK_STRINGS, 1, 1);
    (void)state;
    trace_block_header(&second)->string_page = tbed_le32_make(0);
    trace_seal(&first);
    trace_seal(&second);
    expect(&trace, TBED_ERR_BLOCK_ORDINAL, 2, 0);
    trace_free(&trace);
}

static void string_page_ordinal_of_a_damaged_page_is_free(void **state)
{
    struct trace trace = trace_make(3);
    struct trace_block first = trace_block_begin(&trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    struct trace_block second = trace_block_begin(&trace, 2, TBED_BLOCK_STRINGS, 1, 1);
    char buffer[16];
    (void)state;
    trace_block_header(&second)->string_page = tbed_le32_make(0);
    uint32_t id = trace_string(&first, "one");
    assert_int_equal(trace_string(&second, "two"), id);
    trace_seal(&first);
    trace_seal(&second);
    first.bytes[56] ^= 1;
    expect(&trace, TBED_ERR_BLOCK_CHECKSUM, 1, 0);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_string_resolve(reader, id, buffer, sizeof buffer, NULL), TBED_OK);
    assert_string_equal(buffer, "two");
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void bad_stack_does_not_give_a_blocks_number_away(void **state)
{
    struct three three;
    (void)state;
    three_make(&three);
    struct trace_block first = trace_events_begin_deep(&three.trace, 2, 1, 1, 1);
    first.bytes[64 + 12] = 2;
    trace_seal(&first);
    HEADER(three)->sequence = tbed_le32_make(1);
    trace_seal(&three.blocks[2]);
    struct tbed_reader *reader = trace_open(&three.trace);
    assert_int_equal(tbed_reader_verify(reader), TBED_ERR_BLOCK_TWICE);
    assert_int_equal(tbed_damage_count(reader), 2);
    assert_int_equal(trace_events(reader, 1, NULL, 0), 2);
    tbed_reader_close(reader);
    trace_free(&three.trace);
}

/* ---- Cells ---- */

/* A cells page with events of stream 1 in cells 1 and 3, strings in cell 2. */
static struct trace cells_make(struct trace_block blocks[3])
{
    struct trace trace = trace_make(2);
    trace_cells_page(&trace, 1, 9, 0, 5);
    blocks[0] = trace_cell_begin(&trace, 1, 1, TBED_BLOCK_EVENTS, 1, 0);
    blocks[1] = trace_cell_begin(&trace, 1, 2, TBED_BLOCK_STRINGS, 9, 0);
    blocks[2] = trace_cell_begin(&trace, 1, 3, TBED_BLOCK_EVENTS, 1, 1);
    trace_event(&blocks[0], TBED_TAG_INSTANT, 1, 1);
    trace_event(&blocks[2], TBED_TAG_INSTANT, 1, 2);
    trace_string(&blocks[1], "in a cell");
    for (int i = 0; i < 3; i++) {
        blocks[i].trace = NULL;
        trace_seal(&blocks[i]);
    }
    return trace;
}

static void cells_are_blocks_of_their_own(void **state)
{
    struct trace_block blocks[3];
    struct tbed_trace_info info;
    struct tbed_block block;
    struct trace trace = cells_make(blocks);
    (void)state;
    expect(&trace, TBED_OK, 0, 2);
    struct tbed_reader *reader = trace_open(&trace);
    tbed_reader_info(reader, &info);
    assert_int_equal(info.event_block_count, 2);
    assert_int_equal(info.string_block_count, 1);
    assert_int_equal(tbed_event_block_get(reader, 1, &block), TBED_OK);
    assert_int_equal(block.cell, 3);
    assert_int_equal(block.nbytes, 512);
    assert_int_equal(block.offset, 4096 + 3 * 512);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void damaged_cell_costs_only_itself(void **state)
{
    struct trace_block blocks[3];
    struct trace trace = cells_make(blocks);
    (void)state;
    blocks[0].bytes[64] ^= 1;
    expect(&trace, TBED_ERR_BLOCK_CHECKSUM, 1, 1);
    trace_free(&trace);
}

static void cell_of_another_size_is_refused(void **state)
{
    struct trace_block blocks[3];
    struct trace trace = cells_make(blocks);
    (void)state;
    trace_block_header(&blocks[2])->shift = 10;
    expect(&trace, TBED_ERR_BLOCK_SHIFT, 1, 1);
    trace_free(&trace);
}

static void cells_page_inside_a_cell_is_refused(void **state)
{
    struct trace_block blocks[3];
    struct trace trace = cells_make(blocks);
    (void)state;
    trace_block_header(&blocks[2])->kind = TBED_BLOCK_CELLS;
    expect(&trace, TBED_ERR_BLOCK_KIND, 1, 1);
    trace_free(&trace);
}

static void string_cell_with_another_ordinal_is_refused(void **state)
{
    struct trace_block blocks[3];
    struct trace trace = cells_make(blocks);
    (void)state;
    trace_block_header(&blocks[1])->string_page = tbed_le32_make(6);
    expect(&trace, TBED_ERR_BLOCK_ORDINAL, 1, 2);
    trace_free(&trace);
}

static void cells_page_that_claims_content_is_refused(void **state)
{
    struct trace_block blocks[3];
    struct trace trace = cells_make(blocks);
    (void)state;
    ((struct tbed_disk_block *)(trace.bytes + 4096))->used_nbytes = tbed_le32_make(72);
    expect(&trace, TBED_ERR_BLOCK_USED, 1, 0);
    trace_free(&trace);
}

static void cell_size_above_an_eighth_of_the_page_is_refused(void **state)
{
    struct trace_block blocks[3];
    struct trace trace = cells_make(blocks);
    (void)state;
    trace.bytes[4096 + 1] = 10;
    expect(&trace, TBED_ERR_BLOCK_SHIFT, 1, 0);
    trace_free(&trace);
}

static void cells_page_with_a_wrong_checksum_costs_its_cells(void **state)
{
    struct trace_block blocks[3];
    struct trace trace = cells_make(blocks);
    (void)state;
    trace.bytes[4096 + 56] ^= 1;
    expect(&trace, TBED_ERR_BLOCK_CHECKSUM, 1, 0);
    trace_free(&trace);
}

static void doubled_cells_page_costs_its_cells(void **state)
{
    struct trace trace = trace_make(3);
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        trace_cells_page(&trace, 1 + i, 9, 0, i);
        struct trace_block block = trace_cell_begin(&trace, 1 + i, 1, TBED_BLOCK_EVENTS, 1, i);
        trace_event(&block, TBED_TAG_INSTANT, 1, 1);
        trace_seal(&block);
    }
    expect(&trace, TBED_ERR_BLOCK_TWICE, 2, 1);
    trace_free(&trace);
}

static void bytes_in_the_first_cell_are_told(void **state)
{
    struct trace_block blocks[3];
    struct trace trace = cells_make(blocks);
    (void)state;
    trace.bytes[4096 + 100] = 1; /* in the copy of the header */
    expect(&trace, TBED_ERR_BLOCK_CHECKSUM, 1, 0);
    trace_free(&trace);
}

/* ---- The gateway ---- */

static void skip_hashes_reads_what_a_checksum_would_refuse(void **state)
{
    struct three three;
    struct tbed_reader_options options = {.size = sizeof options, .skip_hashes = true};
    struct tbed_reader *reader;
    struct tbed_error error;
    (void)state;
    three_make(&three);
    three.blocks[2].bytes[56] ^= 1;
    assert_int_equal(
        tbed_reader_open_memory(three.trace.bytes, three.trace.nbytes, &options, &reader, &error), TBED_OK);
    assert_int_equal(trace_events(reader, 1, NULL, 0), 6);
    assert_int_equal(tbed_damage_count(reader), 0);
    assert_int_equal(tbed_reader_verify(reader),
                     TBED_ERR_BLOCK_CHECKSUM); /* if asked to check everything, it does */
    tbed_reader_close(reader);
    trace_free(&three.trace);
}

static void gateway_says_each_time_why_a_block_is_refused(void **state)
{
    struct three three;
    struct tbed_block block;
    (void)state;
    three_make(&three);
    three.blocks[1].bytes[70] ^= 1;
    struct tbed_reader *reader = trace_open(&three.trace);
    assert_int_equal(tbed_event_block_count(reader), 3);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tbed_event_block_get(reader, 0, &block), TBED_OK);
        assert_int_equal(tbed_event_block_get(reader, 1, &block), TBED_ERR_BLOCK_CHECKSUM);
        assert_int_equal(tbed_event_block_get(reader, 3, &block), TBED_ERR_ARGUMENT);
    }
    assert_int_equal(tbed_damage_count(reader), 1);
    tbed_reader_close(reader);
    trace_free(&three.trace);
}

static void blocks_of_a_stream_are_numbered_in_a_row(void **state)
{
    struct trace trace = trace_make(6);
    static const uint32_t streams[] = {5, 2, 5, 2, 9};
    struct tbed_block block;
    size_t first = 99, count = 99;
    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        struct trace_block built = trace_block_begin(&trace, 5 - i, TBED_BLOCK_EVENTS, streams[i], i / 2 % 2);
        trace_seal(&built);
    }
    trace_block_begin(&trace, 1, TBED_BLOCK_EVENTS, 9, 0);
    struct tbed_reader *reader = trace_open(&trace);
    tbed_stream_blocks(reader, 5, &first, &count);
    assert_int_equal(first, 2);
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(tbed_event_block_get(reader, first + i, &block), TBED_OK);
        assert_int_equal(block.stream, 5);
        assert_int_equal(block.sequence, i);
    }
    tbed_stream_blocks(reader, 3, &first, &count);
    assert_int_equal(first, 0);
    assert_int_equal(count, 0);
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void gateway_fills_in_all_of_a_block(void **state)
{
    struct trace trace = trace_make(2);
    struct trace_block built = trace_events_begin_deep(&trace, 1, 7, 0, 100);
    struct tbed_block block;
    uint64_t begin_tick;
    uint32_t id;
    (void)state;
    trace_event(&built, TBED_TAG_INSTANT, 1, 5);
    trace_seal(&built);
    struct tbed_reader *reader = trace_open(&trace);
    assert_int_equal(tbed_event_block_get(reader, 0, &block), TBED_OK);
    assert_ptr_equal(block.bytes, trace.bytes + 4096);
    assert_true(block.sealed);
    assert_int_equal(block.stream, 7);
    assert_int_equal(block.depth, 100);
    assert_int_equal(block.stored_count, 64); /* 4096 / 64 */
    assert_int_equal(block.words_end - block.words, 1);
    assert_int_equal(block.last_tick, 1005);
    tbed_block_open_span(&block, 0, &begin_tick, &id); /* the outermost of the innermost 64 */
    assert_int_equal(begin_tick, 100 + 36);
    assert_int_equal(id, 10 + 36);
    tbed_block_open_span(&block, 63, &begin_tick, &id);
    assert_int_equal(begin_tick, 199);
    tbed_reader_close(reader);
    trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_blocks_have_no_damage),
        cmocka_unit_test(kind_above_the_known_is_refused),
        cmocka_unit_test(shift_that_is_not_the_page_size_is_refused),
        cmocka_unit_test(huge_shift_is_refused),
        cmocka_unit_test(cell_number_in_a_whole_page_is_refused),
        cmocka_unit_test(page_number_of_another_page_is_refused),
        cmocka_unit_test(file_id_of_another_file_is_refused),
        cmocka_unit_test(stream_zero_is_refused),
        cmocka_unit_test(stream_that_was_never_handed_out_is_refused),
        cmocka_unit_test(used_below_the_header_is_refused),
        cmocka_unit_test(used_that_is_no_multiple_of_8_is_refused),
        cmocka_unit_test(used_past_the_block_is_refused),
        cmocka_unit_test(used_that_cuts_the_stored_stack_is_refused),
        cmocka_unit_test(last_tick_before_the_first_is_refused),
        cmocka_unit_test(flipped_bit_in_the_content_is_refused),
        cmocka_unit_test(flipped_bit_in_the_header_is_refused),
        cmocka_unit_test(bytes_past_used_are_refused),
        cmocka_unit_test(unsealed_block_of_a_shut_file_is_told_and_read),
        cmocka_unit_test(bytes_in_a_page_without_a_block_are_refused_in_a_shut_file),
        cmocka_unit_test(doubled_block_costs_the_second),
        cmocka_unit_test(second_of_a_doubled_block_counts_if_the_first_is_damaged),
        cmocka_unit_test(missing_block_is_told_at_the_one_after_it),
        cmocka_unit_test(damaged_block_is_not_missing_as_well),
        cmocka_unit_test(missing_start_of_a_stream_is_no_damage_in_a_ring),
        cmocka_unit_test(missing_blocks_between_others_are_gaps_in_a_ring),
        cmocka_unit_test(missing_block_of_an_open_file_may_be_on_its_way),
        cmocka_unit_test(missing_start_of_a_stream_is_damage_elsewhere),
        cmocka_unit_test(page_that_the_file_ends_inside_of_is_refused),
        cmocka_unit_test(page_that_a_shut_file_lacks_is_told_with_its_size),
        cmocka_unit_test(pages_past_the_end_of_an_open_file_are_unwritten),
        cmocka_unit_test(absurd_count_of_pages_takes_no_time),
        cmocka_unit_test(depth_in_a_record_block_is_refused),
        cmocka_unit_test(string_page_ordinal_in_an_event_block_is_refused),
        cmocka_unit_test(string_page_ordinal_that_was_never_handed_out_is_refused),
        cmocka_unit_test(string_page_ordinal_past_the_string_space_is_refused),
        cmocka_unit_test(doubled_string_page_ordinal_costs_the_second),
        cmocka_unit_test(string_page_ordinal_of_a_damaged_page_is_free),
        cmocka_unit_test(bad_stack_does_not_give_a_blocks_number_away),
        cmocka_unit_test(cells_are_blocks_of_their_own),
        cmocka_unit_test(damaged_cell_costs_only_itself),
        cmocka_unit_test(cell_of_another_size_is_refused),
        cmocka_unit_test(cells_page_inside_a_cell_is_refused),
        cmocka_unit_test(string_cell_with_another_ordinal_is_refused),
        cmocka_unit_test(cells_page_that_claims_content_is_refused),
        cmocka_unit_test(cell_size_above_an_eighth_of_the_page_is_refused),
        cmocka_unit_test(cells_page_with_a_wrong_checksum_costs_its_cells),
        cmocka_unit_test(doubled_cells_page_costs_its_cells),
        cmocka_unit_test(bytes_in_the_first_cell_are_told),
        cmocka_unit_test(skip_hashes_reads_what_a_checksum_would_refuse),
        cmocka_unit_test(gateway_says_each_time_why_a_block_is_refused),
        cmocka_unit_test(blocks_of_a_stream_are_numbered_in_a_row),
        cmocka_unit_test(gateway_fills_in_all_of_a_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
