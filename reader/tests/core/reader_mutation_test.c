/*
 * Hostile bytes: whatever a file contains, reading it stays inside the file, terminates, and gives the same result
 * twice.
 *
 * The attacks: random bytes after a valid header; a valid trace with some words replaced by random, huge or almost
 * correct ones; the same with every checksum corrected, so that the code after the checksums is reached too. The
 * bytes are at the end of an allocation, so that a sanitizer detects any access past them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/checksum.h"
#include "reader/tests/core/trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

/* A trace with some of everything in it. */
static struct trace rich_trace(void)
{
    struct trace trace = trace_make(6);
    struct trace_block strings = trace_block_begin(&trace, 1, TBED_BLOCK_STRINGS, 1, 0);
    struct trace_block records = trace_block_begin(&trace, 2, TBED_BLOCK_RECORDS, 1, 0);
    struct trace_block events = trace_events_begin_deep(&trace, 3, 2, 0, 3);
    struct trace_block more = trace_block_begin(&trace, 4, TBED_BLOCK_EVENTS, 2, 1);
    uint32_t id = trace_string(&strings, "text"), five = 5;
    static const uint64_t words[] = {9, 8, 7, 6};
    uint64_t value = 3;
    for (int i = 0; i < 20; i++)
        id = trace_references(&strings, (uint32_t[]){id, five, id}, 3);
    trace_bind(&records, 5, 2, id);
    trace_record(&records, TBED_RECORD_BIND_LIST, (uint32_t[]){2, 0, 6, 5, 7, 6}, 6);
    trace_unit(&records, 1000, 50, id, 0x1000);
    trace_unit(&records, 1100, 50, id, 0x2000);
    trace_record(&records, TBED_RECORD_LINES, (uint32_t[]){1000, 2, 1, 2, 3, 4}, 6);
    trace_record(&records, TBED_RECORD_STACKS, (uint32_t[]){2000, 2, 1000, TBED_ID_INVALID, 1001, 2000}, 6);
    trace_record(&records, TBED_RECORD_FRAMES, (uint32_t[]){1003, 1, id, id, 7, 0}, 6);
    trace_record(&records, TBED_RECORD_PROCESS, (uint32_t[]){1, 2, 3, id, 5, 0, 0, 0}, 8);
    trace_record(&records, TBED_RECORD_STREAM, (uint32_t[]){2, 1, 1, 5, id, 0, 0, 0}, 8);
    trace_record(&records, TBED_RECORD_ANCHOR, (uint32_t[]){1, 1, 2, 2, 3, 3}, 6);
    for (int i = 0; i < 10; i++) {
        trace_event(&events, TBED_TAG_BEGIN, id, (uint64_t)i);
        trace_event(&events, TBED_TAG_PAIR, 1001, (uint64_t)i);
        trace_word(&events, UINT64_C(1) << 60 | 77);
        trace_extended(&events, 1, 1, (struct tbed_extended_head){TBED_EXT_REALLOC, 0, 5, 0}, words);
        trace_extended(&events, 1, 1, (struct tbed_extended_head){TBED_EXT_INSTANT, 2, 5, 0}, NULL);
        trace_argument(&events, TBED_ARG_U64, id, &value, 8);
        trace_argument(&events, TBED_ARG_TEXT, 5, "hello", 5);
        trace_event(&more, TBED_TAG_END, id, (uint64_t)i);
    }
    trace_seal(&strings);
    trace_seal(&records);
    trace_seal(&events); /* 'more' is not sealed */
    trace_cells_page(&trace, 5, 1, 0, 1);
    struct trace_block cell = trace_cell_begin(&trace, 5, 1, TBED_BLOCK_STRINGS, 1, 1);
    cell.trace = &trace;
    trace_string(&cell, "in a cell");
    trace_seal(&cell);
    struct trace_block last = trace_cell_begin(&trace, 5, 7, TBED_BLOCK_EVENTS, 3, 0);
    trace_event(&last, TBED_TAG_INSTANT, 5, 5);
    trace_directory(&trace);
    return trace;
}

/* Requests everything in the file, and more. The sum represents the answers. */
static uint64_t read_events(struct tbed_reader *reader)
{
    uint64_t sum = 0;
    struct tbed_merge *merge;
    struct tbed_event event;
    struct tbed_argument argument;
    assert_int_equal(tbed_merge_open(reader, NULL, 0, &merge), TBED_OK);
    while (tbed_merge_next(merge, &event) == TBED_OK) {
        struct tbed_arguments at = event.arguments;
        sum = sum * 31 + event.tick + event.id + (uint64_t)event.type;
        for (uint32_t i = 0; i < event.argument_count; i++) {
            tbed_argument_next(&at, &argument);
            bool is_bytes = argument.type >= TBED_ARG_TEXT || argument.type == 0;
            sum += is_bytes ? tbed_hash64(argument.value.text, argument.nbytes) : argument.value.id;
        }
    }
    tbed_merge_seek(merge, sum);
    tbed_merge_close(merge);
    return sum;
}

static uint64_t read_names(struct tbed_reader *reader)
{
    uint64_t sum = 0;
    char buffer[100];
    size_t nbytes = 0;
    const char *text;
    uint32_t id = 0;
    for (uint32_t i = 0; i < 8; i++)
        sum += (uint64_t)tbed_string_resolve(reader, i, buffer, sizeof buffer, &nbytes) + nbytes;
    for (uint32_t i = 995; i < 1160; i += 5)
        sum += (uint64_t)tbed_string_resolve(reader, i, buffer, i % 100, &nbytes) + nbytes;
    while (tbed_string_next(reader, &id)) {
        uint32_t at = 0;
        struct tbed_string_component component;
        sum = sum * 31 + (uint64_t)tbed_string_resolve(reader, id, buffer, sizeof buffer, &nbytes) + nbytes;
        while (tbed_string_component_next(reader, id, &at, &component) == TBED_OK)
            sum += component.is_reference ? component.id : tbed_hash64(component.text, component.nbytes);
        if (tbed_string_text(reader, id, &text, &nbytes) == TBED_OK)
            sum += tbed_hash64(text, nbytes);
    }
    for (uint32_t i = 0; i < 600; i++) /* ids of no entry's start */
        sum += (uint64_t)tbed_string_resolve(reader, TBED_ID_METADATA + i, buffer, sizeof buffer, &nbytes);
    return sum;
}

static uint64_t read_location(const struct tbed_reader *reader, uint32_t id)
{
    struct tbed_location location;
    struct tbed_frame_info frame;
    uint32_t locations[4];
    uint64_t sum = tbed_stack_locations(reader, id, locations, 4);
    if (!tbed_location_resolve(reader, id, &location))
        return sum;
    for (size_t i = 0; tbed_location_frame(&location, i, &frame); i++)
        sum += frame.function_id + frame.line;
    return sum + location.pc;
}

static uint64_t read_records(struct tbed_reader *reader)
{
    uint64_t sum = 0, pc;
    struct tbed_trace_info info;
    struct tbed_unit_info unit;
    struct tbed_process_info process;
    struct tbed_stream_info stream;
    struct tbed_binding_info binding;
    for (size_t i = 0; tbed_unit_get(reader, i, &unit); i++)
        sum +=
            tbed_hash64(unit.build_id, unit.build_id_nbytes) + tbed_location_line(reader, &unit, unit.base);
    for (size_t i = 0; tbed_process_get(reader, i, &process); i++)
        sum += process.name_id;
    for (size_t i = 0; tbed_stream_get(reader, i, &stream); i++)
        sum += stream.name_id + stream.block_count;
    for (size_t i = 0; tbed_binding_get(reader, i, &binding); i++)
        sum += binding.string_id;
    sum += tbed_location_find(reader, 1003, &unit, &pc) ? pc : 0;
    for (uint32_t id = 990; id < 2010; id++)
        sum += read_location(reader, id);
    tbed_reader_info(reader, &info);
    sum += info.last_tick + (uint64_t)tbed_ticks_to_ns(reader, info.last_tick);
    return sum;
}

static uint64_t read_all(struct tbed_reader *reader)
{
    return read_events(reader) * 7 + read_names(reader) * 5 + read_records(reader);
}

static void read_twice(const uint8_t *bytes, size_t nbytes)
{
    struct tbed_reader *reader;
    struct tbed_error error;
    if (tbed_reader_open_memory(bytes, nbytes, NULL, &reader, &error) != TBED_OK)
        return;
    uint64_t sum = read_all(reader), damage_count = tbed_damage_count(reader);
    enum tbed_status status = tbed_reader_verify(reader);
    assert_int_equal(status == TBED_OK, tbed_damage_count(reader) == 0);
    assert_int_equal(read_all(reader), sum);
    assert_int_equal(tbed_reader_refresh(reader, &error), TBED_OK);
    assert_int_equal(read_all(reader), sum);
    assert_true(damage_count <= tbed_damage_count(reader));
    tbed_reader_close(reader);
}

static void mend_block(uint8_t *bytes, uint32_t nbytes)
{
    struct tbed_disk_block *block = (struct tbed_disk_block *)bytes;
    uint32_t used = tbed_le32_load(block->used_nbytes);
    if (used >= 64 && used <= nbytes)
        block->checksum = tbed_le64_make(tbed_block_checksum(bytes, used));
}

static void mend_string_hashes(uint8_t *bytes, uint32_t from, uint32_t end)
{
    while (from + 8 <= end) {
        struct tbed_disk_string *entry = (struct tbed_disk_string *)(bytes + from);
        uint32_t nbytes = tbed_le32_load(entry->nbytes);
        if (nbytes == 0 || nbytes > end - from - 8)
            return;
        entry->hash = tbed_le32_make(tbed_string_hash(entry->content, nbytes));
        from += (uint32_t)tbed_string_entry_nbytes(nbytes);
    }
}

static void mend(struct trace *trace)
{
    mend_string_hashes(trace->bytes + 4096, 64, 4096);
    for (uint32_t cell = 1; cell < 8; cell++)
        mend_block(trace->bytes + 5 * 4096 + cell * 512, 512);
    for (uint32_t page = 1; page < trace->page_count; page++)
        mend_block(trace->bytes + (size_t)page * 4096, 4096);
    trace_header_mend(trace);
}

static uint64_t nasty_value(uint64_t *random, uint64_t old)
{
    switch (next_random(random) % 6) {
    case 0:
        return next_random(random);
    case 1:
        return UINT64_MAX;
    case 2:
        return old ^ UINT64_C(1) << next_random(random) % 64;
    case 3:
        return old + 8;
    case 4:
        return 0;
    default:
        return next_random(random) & 0xFFFF00FF;
    }
}

static void mutate(struct trace *trace, uint64_t *random, size_t from)
{
    for (uint64_t n = 1 + next_random(random) % 4; n > 0; n--) {
        uint64_t word;
        /* three of four among the used parts, which are near the starts of blocks */
        size_t page = next_random(random) % trace->page_count;
        size_t offset = next_random(random) % (next_random(random) % 4 == 0 ? 512 : 64) * 8;
        uint8_t *at = trace->bytes + page * 4096 + offset;
        if (page * 4096 + offset < from)
            continue;
        memcpy(&word, at, 8);
        word = nasty_value(random, word);
        memcpy(at, &word, 8);
    }
}

static void mutated_traces_are_read_safely(void **state)
{
    struct trace good = rich_trace(), bad = trace_make(6);
    uint64_t random = 88172645463325252u;
    (void)state;
    read_twice(good.bytes, good.nbytes);
    for (int round = 0; round < 1500; round++) {
        memcpy(bad.bytes, good.bytes, good.nbytes);
        mutate(&bad, &random, round % 2 == 0 ? 0 : 256);
        if (round % 4 != 0)
            mend(&bad);
        read_twice(bad.bytes, bad.nbytes);
    }
    trace_free(&good);
    trace_free(&bad);
}

static void random_bytes_behind_a_good_header_are_read_safely(void **state)
{
    struct trace trace = trace_make(4);
    uint64_t random = 1234567;
    (void)state;
    for (int round = 0; round < 200; round++) {
        for (size_t at = 4096; at < trace.nbytes; at += 8) {
            uint64_t word = nasty_value(&random, random);
            memcpy(trace.bytes + at, &word, 8);
        }
        for (uint32_t page = 1; page < 4; page++) { /* headers that pass, contents that are anything */
            struct trace_block block =
                trace_block_begin(&trace, page, (enum tbed_block_kind)(1 + random % 3), 1 + page, 0);
            trace_block_header(&block)->used_nbytes = tbed_le32_make(0);
            random = next_random(&random);
        }
        read_twice(trace.bytes, trace.nbytes);
    }
    trace_free(&trace);
}

static void every_cut_of_a_trace_is_read_safely(void **state)
{
    struct trace trace = rich_trace();
    (void)state;
    for (size_t nbytes = 0; nbytes <= trace.nbytes; nbytes += nbytes < 5000 ? 8 : 64) {
        uint8_t *copy = aligned_alloc(8, nbytes == 0 ? 8 : nbytes); /* its end is the file's */
        assert_non_null(copy);
        memcpy(copy, trace.bytes, nbytes);
        read_twice(copy, nbytes);
        free(copy);
    }
    trace_free(&trace);
}

static void no_memory_is_asked_for_by_a_count_in_the_file(void **state)
{
    struct trace trace = trace_make(2);
    struct trace_block records = trace_block_begin(&trace, 1, TBED_BLOCK_RECORDS, 1, 0);
    (void)state;
    /* 2^28 pairs claimed by a record of at most a page; with a matching size it would take 3 GiB */
    trace_record(&records, TBED_RECORD_BIND_LIST, (uint32_t[]){1u << 28, 0, 1, 1}, 4);
    trace_header(&trace)->page_count = tbed_le64_make(UINT32_MAX);
    trace_header(&trace)->next_stream = tbed_le64_make(UINT64_MAX);
    struct tbed_reader *reader = trace_open(&trace);
    struct tbed_damage damage;
    assert_true(tbed_damage_get(reader, 1, &damage)); /* after the directory pages that are not there */
    assert_int_equal(damage.status, TBED_ERR_RECORD_LENGTH);
    tbed_reader_close(reader);
    trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutated_traces_are_read_safely),
        cmocka_unit_test(random_bytes_behind_a_good_header_are_read_safely),
        cmocka_unit_test(every_cut_of_a_trace_is_read_safely),
        cmocka_unit_test(no_memory_is_asked_for_by_a_count_in_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
