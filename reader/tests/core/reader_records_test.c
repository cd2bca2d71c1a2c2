/*
 * Records: the getters for processes, streams, units, lines and counters, and the record checks of section 12.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/core/trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* A record block in page 1; damage, if any, is at its first record. */
struct records {
    struct trace trace;
    struct trace_block block;
    struct tbed_reader *reader;
};

static void records_make(struct records *records)
{
    records->trace = trace_make(2);
    records->block = trace_block_begin(&records->trace, 1, TBED_BLOCK_RECORDS, 1, 0);
}

static void records_open(struct records *records)
{
    trace_seal(&records->block);
    trace_shut(&records->trace);
    records->reader = trace_open(&records->trace);
}

static void records_close(struct records *records)
{
    tbed_reader_close(records->reader);
    trace_free(&records->trace);
}

#define RECORD(records, type, ...)                                                                           \
    trace_record(&(records)->block, type, (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4)

static void processes_and_streams_are_listed_by_number(void **state)
{
    struct records records;
    struct tbed_process_info process;
    struct tbed_stream_info stream;
    (void)state;
    records_make(&records);
    /* stream, pid, parent, name, tick (2), forked from, zero */
    RECORD(&records, TBED_RECORD_PROCESS, 9, 400, 300, TBED_ID_INVALID, 77, 0, 5, 0);
    RECORD(&records, TBED_RECORD_PROCESS, 5, 300, 1, 20, 66, 0, 0, 0);
    /* stream, process, kind, tid, name, forked from, tick (2) */
    RECORD(&records, TBED_RECORD_STREAM, 8, 5, TBED_STREAM_TRACK, 0, 30, 0, 70, 0);
    RECORD(&records, TBED_RECORD_STREAM, 7, 5, TBED_STREAM_THREAD, 301, TBED_ID_INVALID, 8, 71, 0);
    RECORD(&records, TBED_RECORD_NAME, 9, 41, 100, 0);
    RECORD(&records, TBED_RECORD_NAME, 8, 43, 90, 0);
    RECORD(&records, TBED_RECORD_NAME, 8, 42, 80, 0); /* later in the file, but older */
    RECORD(&records, TBED_RECORD_END, 7, 0, 500, 0);
    records_open(&records);
    assert_true(tbed_process_get(records.reader, 0, &process));
    assert_int_equal(process.stream, 5);
    assert_int_equal(process.name_id, 20);
    assert_int_equal(process.end_tick, 0);
    assert_true(tbed_process_get(records.reader, 1, &process));
    assert_int_equal(process.stream, 9);
    assert_int_equal(process.pid, 400);
    assert_int_equal(process.parent_pid, 300);
    assert_int_equal(process.name_id, 41);
    assert_int_equal(process.forked_from, 5);
    assert_int_equal(process.tick, 77);
    assert_false(tbed_process_get(records.reader, 2, &process));
    assert_true(tbed_stream_get(records.reader, 0, &stream));
    assert_int_equal(stream.stream, 7);
    assert_int_equal(stream.tid, 301);
    assert_int_equal(stream.forked_from, 8);
    assert_int_equal(stream.end_tick, 500);
    assert_true(tbed_stream_get(records.reader, 1, &stream));
    assert_int_equal(stream.kind, TBED_STREAM_TRACK);
    assert_int_equal(stream.name_id, 43);
    assert_int_equal(stream.block_count, 0);
    assert_false(tbed_stream_get(records.reader, 2, &stream));
    assert_int_equal(tbed_damage_count(records.reader), 0);
    records_close(&records);
}

/* The field that says what a thread was forked from says whom signal handlers interrupted. */
static void stream_of_signal_handlers_names_its_thread(void **state)
{
    struct records records;
    struct tbed_stream_info stream;
    (void)state;
    records_make(&records);
    RECORD(&records, TBED_RECORD_STREAM, 2, 5, TBED_STREAM_HANDLERS, 301, 1, 7, 0, 0);
    RECORD(&records, TBED_RECORD_STREAM, 7, 5, TBED_STREAM_THREAD, 301, 1, 6, 0, 0);
    records_open(&records);
    assert_true(tbed_stream_get(records.reader, 0, &stream));
    assert_int_equal(stream.stream, 2);
    assert_int_equal(stream.kind, TBED_STREAM_HANDLERS);
    assert_int_equal(stream.of_thread, 7);
    assert_int_equal(stream.forked_from, 0);
    assert_true(tbed_stream_get(records.reader, 1, &stream));
    assert_int_equal(stream.of_thread, 0);
    assert_int_equal(stream.forked_from, 6);
    records_close(&records);
}

static void stream_with_blocks_and_no_record_is_listed_too(void **state)
{
    struct trace trace = trace_make(3);
    struct trace_block block = trace_block_begin(&trace, 1, TBED_BLOCK_RECORDS, 1, 0);
    struct trace_block events = trace_block_begin(&trace, 2, TBED_BLOCK_EVENTS, 6, 0);
    struct tbed_stream_info stream;
    (void)state;
    trace_record(&block, TBED_RECORD_STREAM, (uint32_t[]){7, 5, 1, 0, 1, 0, 0, 0}, 8);
    trace_record(&block, TBED_RECORD_STREAM, (uint32_t[]){5, 5, 1, 0, 1, 0, 0, 0}, 8);
    (void)events;
    struct tbed_reader *reader = trace_open(&trace);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(tbed_stream_get(reader, i, &stream));
        assert_int_equal(stream.stream, 5 + i);
        assert_int_equal(stream.block_count, i == 1);
        assert_int_equal(stream.process, i == 1 ? 0 : 5);
    }
    assert_false(tbed_stream_get(reader, 3, &stream));
    tbed_reader_close(reader);
    trace_free(&trace);
}

static void units_loads_lines_and_counters_are_found(void **state)
{
    struct records records;
    struct tbed_unit_info unit;
    struct tbed_load_info load;
    uint64_t pc;
    (void)state;
    records_make(&records);
    trace_unit(&records.block, 5000, 10, 21, 0x400000); /* pc shift 2 */
    /* first id, count, kind, shift, name, file, line, build-id size, base (2), build-id (1 + padding) */
    RECORD(&records, TBED_RECORD_UNIT, 1000, 100, TBED_UNIT_BYTECODE, 0, 20, 21, 7, 3, 0, 0, 0x00CCBBAA, 0);
    RECORD(&records, TBED_RECORD_LOAD, 5, 1000, 0x1000, 0x7F00, 64, 0, 70, 0);
    RECORD(&records, TBED_RECORD_UNLOAD, 5, 1000, 90, 0);
    RECORD(&records, TBED_RECORD_LINES, 1000, 3, 10, 100, 20, 101, 30, 99);
    RECORD(&records, TBED_RECORD_LINES, 1000, 2, 20, 201, 40, 202); /* for pc 20, the later pair counts */
    RECORD(&records, TBED_RECORD_COUNTER, 60, 61, 0, 0);
    RECORD(&records, TBED_RECORD_COUNTER, 60, 62, 0, 0);
    records_open(&records);
    assert_true(tbed_unit_get(records.reader, 0, &unit));
    assert_int_equal(unit.first_id, 1000);
    assert_int_equal(unit.kind, TBED_UNIT_BYTECODE);
    assert_int_equal(unit.first_line, 7);
    assert_int_equal(unit.build_id_nbytes, 3);
    assert_memory_equal(unit.build_id, "\xAA\xBB\xCC", 3);
    assert_int_equal(tbed_location_line(records.reader, &unit, 9), 0);
    assert_int_equal(tbed_location_line(records.reader, &unit, 10), 100);
    assert_int_equal(tbed_location_line(records.reader, &unit, 19), 100);
    assert_int_equal(tbed_location_line(records.reader, &unit, 20), 201);
    assert_int_equal(tbed_location_line(records.reader, &unit, 35), 99);
    assert_int_equal(tbed_location_line(records.reader, &unit, UINT64_MAX), 202);
    assert_false(tbed_location_find(records.reader, 999, &unit, &pc));
    assert_true(tbed_location_find(records.reader, 1099, &unit, &pc));
    assert_int_equal(pc, 99);
    assert_false(tbed_location_find(records.reader, 1100, &unit, &pc));
    assert_true(tbed_location_find(records.reader, 5003, &unit, &pc));
    assert_int_equal(pc, 0x40000C);
    assert_int_equal(tbed_location_line(records.reader, &unit, pc), 0);
    assert_true(tbed_load_get(records.reader, 0, &load));
    assert_int_equal(load.process, 5);
    assert_int_equal(load.address, UINT64_C(0x7F0000001000));
    assert_false(tbed_load_get(records.reader, 1, &load));
    assert_int_equal(tbed_counter_unit(records.reader, 60), 62);
    assert_int_equal(tbed_counter_unit(records.reader, 59), TBED_ID_INVALID);
    records_close(&records);
}

static void stacks_are_followed_to_their_outermost_caller(void **state)
{
    struct records records;
    uint32_t location, parent, locations[4];
    (void)state;
    records_make(&records);
    RECORD(&records, TBED_RECORD_STACKS, 300, 3, 1000, TBED_ID_INVALID, 1001, 300, 1002, 301);
    RECORD(&records, TBED_RECORD_STACKS, 100, 2, 7, 99, 8, 100); /* 99 is no stack */
    records_open(&records);
    assert_true(tbed_stack_get(records.reader, 302, &location, &parent));
    assert_int_equal(location, 1002);
    assert_int_equal(parent, 301);
    assert_false(tbed_stack_get(records.reader, 299, &location, &parent));
    assert_false(tbed_stack_get(records.reader, 303, &location, &parent));
    assert_false(tbed_stack_get(records.reader, 99, &location, &parent));
    assert_false(tbed_stack_get(records.reader, UINT32_MAX, &location, &parent));
    assert_int_equal(tbed_stack_locations(records.reader, 302, locations, 4), 3);
    assert_memory_equal(locations, ((uint32_t[]){1002, 1001, 1000}), 12);
    assert_int_equal(tbed_stack_locations(records.reader, 302, locations, 2), 2);
    assert_int_equal(tbed_stack_locations(records.reader, 101, locations, 4), 2);
    assert_int_equal(tbed_stack_locations(records.reader, 102, locations, 4), 0);
    records_close(&records);
}

static void locations_resolve_to_frames(void **state)
{
    struct records records;
    struct tbed_location location;
    struct tbed_frame_info frame;
    (void)state;
    records_make(&records);
    /* bytecode of function 20 in file 21 from line 7 on, with lines; native code; a stack and a binding */
    RECORD(&records, TBED_RECORD_UNIT, 1000, 100, TBED_UNIT_BYTECODE, 0, 20, 21, 7, 0, 0, 0);
    RECORD(&records, TBED_RECORD_LINES, 1000, 2, 10, 100, 20, 101);
    trace_unit(&records.block, 5000, 10, 22, 0x400000);
    RECORD(&records, TBED_RECORD_STACKS, 300, 2, 1015, TBED_ID_INVALID, 310, 300);
    trace_bind(&records.block, 310, 1, 5002);
    trace_bind(&records.block, 311, 1, 0x20000008);
    RECORD(&records, TBED_RECORD_FRAMES, 5001, 2, 30, 31, 32, 0, 40, TBED_ID_INVALID, 0, 0);
    RECORD(&records, TBED_RECORD_FRAMES, 5003, 1, 30, 31, 32, 0);
    RECORD(&records, TBED_RECORD_FRAMES, 5003, 0); /* taken back */
    records_open(&records);
    assert_true(tbed_location_resolve(records.reader, 300, &location));
    assert_int_equal(location.id, 1015);
    assert_int_equal(location.pc, 15);
    assert_int_equal(location.source, TBED_FRAMES_OF_LINES);
    assert_true(tbed_location_frame(&location, 0, &frame));
    assert_int_equal(frame.function_id, 20);
    assert_int_equal(frame.file_id, 21);
    assert_int_equal(frame.line, 100);
    assert_false(tbed_location_frame(&location, 1, &frame));
    assert_true(tbed_location_resolve(records.reader, 1009, &location));
    assert_true(tbed_location_frame(&location, 0, &frame));
    assert_int_equal(frame.line, 7); /* before the first pair */
    assert_true(tbed_location_resolve(records.reader, 301, &location));
    assert_int_equal(location.id, 5002);
    assert_int_equal(location.pc, 0x400008);
    assert_int_equal(location.source, TBED_FRAMES_NONE);
    assert_false(tbed_location_frame(&location, 0, &frame));
    assert_true(tbed_location_resolve(records.reader, 5001, &location));
    assert_int_equal(location.source, TBED_FRAMES_GIVEN);
    assert_true(tbed_location_frame(&location, 1, &frame));
    assert_int_equal(frame.function_id, 40);
    assert_false(tbed_location_frame(&location, 2, &frame));
    struct tbed_frame frames[2];
    assert_int_equal(tbed_id_frames(records.reader, 5001, frames, 2), 2);
    assert_true(frames[0].is_inlined);
    assert_false(frames[1].is_inlined);
    assert_int_equal(frames[0].line, 32);
    assert_true(tbed_location_resolve(records.reader, 5003, &location));
    assert_int_equal(location.frame_count, 0);
    assert_false(tbed_location_resolve(records.reader, 311, &location)); /* a string */
    assert_false(tbed_location_resolve(records.reader, 312, &location));
    records_close(&records);
}

static void bindings_are_listed_in_file_order(void **state)
{
    struct records records;
    struct tbed_binding_info binding;
    (void)state;
    records_make(&records);
    trace_bind(&records.block, 10, 5, 30);
    RECORD(&records, TBED_RECORD_BIND_LIST, 2, 0, 9, 31, 8, 32);
    trace_bind(&records.block, 10, 0, 33); /* binds nothing, but is reported */
    records_open(&records);
    assert_true(tbed_binding_get(records.reader, 1, &binding));
    assert_int_equal(binding.first_id, 9);
    assert_int_equal(binding.id_count, 1);
    assert_int_equal(binding.string_id, 31);
    assert_true(tbed_binding_get(records.reader, 3, &binding));
    assert_int_equal(binding.id_count, 0);
    assert_false(tbed_binding_get(records.reader, 4, &binding));
    records_close(&records);
}

static void the_newest_record_says_where_a_file_of_a_series_belongs(void **state)
{
    struct records records;
    struct tbed_trace_info info;
    (void)state;
    records_make(&records);
    /* series id (2), file before (2), number, rotations that failed */
    RECORD(&records, TBED_RECORD_SERIES, 1, 2, 3, 4, 5, 0);
    RECORD(&records, TBED_RECORD_SERIES, 6, 7, 8, 9, 10, 11);
    records_open(&records);
    assert_int_equal(tbed_reader_verify(records.reader), TBED_OK);
    tbed_reader_info(records.reader, &info);
    assert_int_equal(info.series_id, UINT64_C(0x700000006));
    assert_int_equal(info.previous_file_id, UINT64_C(0x900000008));
    assert_int_equal(info.series_number, 10);
    assert_int_equal(info.series_failed_count, 11);
    records_close(&records);
    records_make(&records);
    records_open(&records);
    tbed_reader_info(records.reader, &info);
    assert_int_equal(info.series_number, 0);
    records_close(&records);
}

static void records_of_later_versions_are_skipped(void **state)
{
    struct records records;
    struct tbed_process_info process;
    (void)state;
    records_make(&records);
    RECORD(&records, 1000, 1, 2, 3, 4);
    trace_record(&records.block, 100, NULL, 0); /* the first word alone */
    RECORD(&records, TBED_RECORD_PROCESS, 5, 300, 1, 20, 66, 0, 0, 0, 99,
           99); /* longer than in this version */
    records_open(&records);
    assert_true(tbed_process_get(records.reader, 0, &process));
    assert_int_equal(process.pid, 300);
    assert_int_equal(tbed_damage_count(records.reader), 0);
    records_close(&records);
}

/* ---- Checks of section 12 ---- */

/* Expects that a record is damage, and that the good PROCESS after it is read unless the length was damaged. */
static void expect_damage(struct records *records, enum tbed_status status)
{
    struct tbed_damage damage;
    struct tbed_process_info process;
    RECORD(records, TBED_RECORD_PROCESS, 5, 300, 1, 20, 66, 0, 0, 0);
    records_open(records);
    assert_int_equal(tbed_damage_count(records->reader), 1);
    assert_true(tbed_damage_get(records->reader, 0, &damage));
    assert_string_equal(tbed_status_name(damage.status), tbed_status_name(status));
    assert_int_equal(damage.offset, 4096 + 64);
    assert_int_equal(tbed_process_get(records->reader, 0, &process), status != TBED_ERR_RECORD_LENGTH);
    records_close(records);
}

static void expect_length_damage(uint32_t type, uint32_t nbytes)
{
    struct records records;
    records_make(&records);
    trace_record(&records.block, type, (uint32_t[32]){0}, 30);
    tbed_word_store(records.block.bytes + 64, tbed_record_head_make(type, nbytes));
    expect_damage(&records, TBED_ERR_RECORD_LENGTH);
}

static void impossible_lengths_are_refused(void **state)
{
    (void)state;
    expect_length_damage(1000, 0);
    expect_length_damage(1000, 12);
    expect_length_damage(1000, 4096);
    expect_length_damage(1000, UINT32_MAX - 7);
    expect_length_damage(TBED_RECORD_PROCESS, 32);
    expect_length_damage(TBED_RECORD_STREAM, 32);
    expect_length_damage(TBED_RECORD_NAME, 16);
    expect_length_damage(TBED_RECORD_UNIT, 40);
    expect_length_damage(TBED_RECORD_LOAD, 32);
    expect_length_damage(TBED_RECORD_UNLOAD, 16);
    expect_length_damage(TBED_RECORD_LINES, 8);
    expect_length_damage(TBED_RECORD_BIND, 16);
    expect_length_damage(TBED_RECORD_BIND_LIST, 8);
    expect_length_damage(TBED_RECORD_ANCHOR, 24);
    expect_length_damage(TBED_RECORD_COUNTER, 16);
    expect_length_damage(TBED_RECORD_END, 16);
    expect_length_damage(TBED_RECORD_STACKS, 8);
    expect_length_damage(TBED_RECORD_FRAMES, 8);
    expect_length_damage(TBED_RECORD_TYPES, 8);
}

#define EXPECT_DAMAGE(status, type, ...)                                                                     \
    do {                                                                                                     \
        struct records records_;                                                                             \
        records_make(&records_);                                                                             \
        RECORD(&records_, type, __VA_ARGS__);                                                                \
        expect_damage(&records_, TBED_ERR_RECORD_##status);                                                  \
    } while (0)

static void counts_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    EXPECT_DAMAGE(LENGTH, TBED_RECORD_LINES, 1, 2, 1, 1);
    EXPECT_DAMAGE(LENGTH, TBED_RECORD_LINES, 1, UINT32_MAX, 1, 1);
    EXPECT_DAMAGE(LENGTH, TBED_RECORD_BIND_LIST, 0x20000000, 0, 1, 1); /* times 8 is 2^32 */
    EXPECT_DAMAGE(LENGTH, TBED_RECORD_UNIT, 1, 1, 1, 0, 1, 1, 0, 9, 0, 0, 1, 1);
    EXPECT_DAMAGE(LENGTH, TBED_RECORD_STACKS, 1, 0x20000001, 1, TBED_ID_INVALID);
    EXPECT_DAMAGE(LENGTH, TBED_RECORD_TYPES, 1, 0x20000001, 1, 1);
    EXPECT_DAMAGE(LENGTH, TBED_RECORD_FRAMES, 1, 0x10000001, 1, 1, 1, 0); /* times 16 is 2^32 + 16 */
}

static void zero_word_before_the_end_of_a_sealed_record_block_is_refused(void **state)
{
    struct records records;
    (void)state;
    records_make(&records);
    trace_word(&records.block, 0);
    expect_damage(&records, TBED_ERR_RECORD_LENGTH);
}

static void fields_out_of_range_are_refused(void **state)
{
    (void)state;
    EXPECT_DAMAGE(FIELD, TBED_RECORD_PROCESS, 0, 1, 1, 1, 0, 0, 0, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_PROCESS, 1, 1, 1, 0x40000000, 0, 0, 0, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_PROCESS, 1, 1, 1, 1, 0, 0, 0, TBED_INSTANTS_ALLOCATIONS + 1);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_STREAM, 1, 1, 0, 1, 1, 0, 0, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_STREAM, 1, 1, 5, 1, 1, 0, 0, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_STREAM, 1, 0, 1, 1, 1, 0, 0, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_NAME, 0, 1, 0, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_UNIT, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_UNIT, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_LOAD, 0, 1, 0, 0, 0, 0, 0, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_LOAD, 1, 0x40000000, 0, 0, 0, 0, 0, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_UNLOAD, 0, 1, 0, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_LINES, 0x40000000, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_BIND, 1, 1, 0x40000000, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_BIND, 1, 1, 1, 1);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_BIND_LIST, 0, 1);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_BIND_LIST, 1, 0, 1, 0x40000000);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_COUNTER, 1, 1, 1, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_COUNTER, 1, 1, 0, 1);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_END, 0, 0, 0, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_END, 1, 1, 0, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_STACKS, 1, 1, 0x40000000, TBED_ID_INVALID);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_STACKS, 1, 1, 1, 0x40000000);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_TYPES, 1, 1, 0x40000000, 1);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_TYPES, 1, 1, TBED_ID_INVALID, 0x40000000);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_FRAMES, 0x40000000, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_FRAMES, 1, 2, 1, 1, 1, 0, 0x40000000, 1, 1, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_FRAMES, 1, 1, 1, 0x40000000, 1, 0);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_FRAMES, 1, 1, 1, 1, 1, 1);
    EXPECT_DAMAGE(FIELD, TBED_RECORD_ANCHOR | 0x10000, 0, 0, 0, 0, 0, 0); /* the middle of the first word */
}

static void ranges_outside_the_reserved_ids_are_refused(void **state)
{
    (void)state;
    EXPECT_DAMAGE(RANGE, TBED_RECORD_UNIT, 0x1FFFFFFF, 2, 1, 0, 1, 1, 0, 0, 0, 0);
    EXPECT_DAMAGE(RANGE, TBED_RECORD_UNIT, 1, UINT32_MAX, 1, 0, 1, 1, 0, 0, 0, 0);
    EXPECT_DAMAGE(RANGE, TBED_RECORD_UNIT, TBED_ID_METADATA, 1, 1, 0, 1, 1, 0, 0, 0, 0);
    EXPECT_DAMAGE(RANGE, TBED_RECORD_BIND, 0x1FFFFFFF, 2, 1, 0); /* METADATA is bound alone */
    EXPECT_DAMAGE(RANGE, TBED_RECORD_BIND, TBED_ID_METADATA, 2, 1, 0);
    EXPECT_DAMAGE(RANGE, TBED_RECORD_BIND, TBED_ID_INVALID, 1, 1, 0);
    EXPECT_DAMAGE(RANGE, TBED_RECORD_BIND, 1, UINT32_MAX, 1, 0);
    EXPECT_DAMAGE(RANGE, TBED_RECORD_BIND_LIST, 1, 0, TBED_ID_INVALID, 1);
    EXPECT_DAMAGE(RANGE, TBED_RECORD_STACKS, 0x1FFFFFFF, 2, 1, 1, 1, 1);
    EXPECT_DAMAGE(RANGE, TBED_RECORD_STACKS, 10, 2, 1, 9, 1, 11);
    EXPECT_DAMAGE(RANGE, TBED_RECORD_STACKS, 10, 1, 1, TBED_ID_METADATA);
    EXPECT_DAMAGE(RANGE, TBED_RECORD_TYPES, 0x1FFFFFFF, 2, 1, 1, 1, 1);
    EXPECT_DAMAGE(RANGE, TBED_RECORD_TYPES, 10, 1, 10, 1);
    EXPECT_DAMAGE(RANGE, TBED_RECORD_TYPES, 10, 2, 9, 1, 0x1FFFFFFF, 1);
}

/* Compares with the obvious algorithm: takes units and stacks one by one, and compares each with all kept so far. */
static void overlapping_ranges_agree_with_the_slow_way(void **state)
{
    enum { RANGES = 70 };
    (void)state;
    for (unsigned seed = 1; seed < 300; seed++) {
        struct records records;
        uint32_t random = seed * 2654435761u, kept[RANGES][3], kept_count = 0;
        records_make(&records);
        for (uint32_t i = 0; i < RANGES; i++) {
            random = random * 1664525u + 1013904223u;
            bool is_unit = random >> 31;
            uint32_t first = (random >> 8) % 1000, count = (random >> 20) % (is_unit ? 40 : 4);
            bool overlaps = false;
            if (is_unit)
                trace_unit(&records.block, first, count, 20, i);
            else
                RECORD(&records, TBED_RECORD_STACKS, first, count, i, TBED_ID_INVALID, i, TBED_ID_INVALID, i,
                       TBED_ID_INVALID);
            for (uint32_t k = 0; k < kept_count; k++)
                overlaps |= first < kept[k][1] && kept[k][0] < first + count;
            if (overlaps || count == 0)
                continue;
            kept[kept_count][0] = first;
            kept[kept_count][1] = first + count;
            kept[kept_count++][2] = is_unit;
        }
        records_open(&records);
        for (uint32_t id = 0; id < 1100; id++) {
            struct tbed_unit_info unit;
            uint64_t pc;
            uint32_t location, parent, at = 0;
            while (at < kept_count && (id < kept[at][0] || id >= kept[at][1]))
                at++;
            bool is_unit = at < kept_count && kept[at][2], is_stack = at < kept_count && !kept[at][2];
            assert_int_equal(tbed_location_find(records.reader, id, &unit, &pc), is_unit);
            assert_int_equal(tbed_stack_get(records.reader, id, &location, &parent), is_stack);
            if (is_unit)
                assert_int_equal(unit.first_id, kept[at][0]);
        }
        records_close(&records);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_and_streams_are_listed_by_number),
        cmocka_unit_test(stream_of_signal_handlers_names_its_thread),
        cmocka_unit_test(stream_with_blocks_and_no_record_is_listed_too),
        cmocka_unit_test(units_loads_lines_and_counters_are_found),
        cmocka_unit_test(stacks_are_followed_to_their_outermost_caller),
        cmocka_unit_test(locations_resolve_to_frames),
        cmocka_unit_test(bindings_are_listed_in_file_order),
        cmocka_unit_test(the_newest_record_says_where_a_file_of_a_series_belongs),
        cmocka_unit_test(records_of_later_versions_are_skipped),
        cmocka_unit_test(impossible_lengths_are_refused),
        cmocka_unit_test(counts_that_do_not_fit_are_refused),
        cmocka_unit_test(zero_word_before_the_end_of_a_sealed_record_block_is_refused),
        cmocka_unit_test(fields_out_of_range_are_refused),
        cmocka_unit_test(ranges_outside_the_reserved_ids_are_refused),
        cmocka_unit_test(overlapping_ranges_agree_with_the_slow_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
