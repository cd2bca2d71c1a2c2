/*
 * Writes the golden files that are damaged in one place.
 *
 * SPDX-License-Identifier: MIT
 */
#include "spec/golden/golden_invalid.h"

#include <stdio.h>

#include "fuzz/support/mend.h"

static uint32_t put_strings(struct golden_file *file)
{
    static const uint8_t seed[] = {'a', 'b', 'c', 0x80, 0, 0, 42, 'd', 'e', 'f', 0xFF};
    struct golden_block strings =
        golden_cell(file, &(struct golden_start){.kind = TBED_BLOCK_STRINGS, .stream = 1});
    uint32_t id = golden_text(&strings, "main");
    golden_text(&strings, "work");
    golden_content(&strings, seed, sizeof seed);
    golden_text(&strings, "tail");
    golden_seal(&strings);
    return id;
}

static void put_records(struct golden_file *file, uint32_t name)
{
    struct golden_block records =
        golden_cell(file, &(struct golden_start){.kind = TBED_BLOCK_RECORDS, .stream = 1});
    uint64_t tick = GOLDEN_FIRST_TICK;
    GOLDEN_RECORD(&records, TBED_RECORD_PROCESS, 1, 100, 99, name, GOLDEN_U64(tick), 0, 0);
    for (uint32_t stream = 2; stream <= 4; stream++)
        GOLDEN_RECORD(&records, TBED_RECORD_STREAM, stream, 1, TBED_STREAM_THREAD, 100 + stream, name, 0,
                      GOLDEN_U64(tick));
    GOLDEN_RECORD(&records, TBED_RECORD_BIND, 42, 1, name, 0);
    GOLDEN_RECORD(&records, TBED_RECORD_UNIT, 1000, 16, TBED_UNIT_NATIVE, 4, name, name, 0, 8,
                  GOLDEN_U64(0x4000), 0x04030201, 0x08070605);
    GOLDEN_RECORD(&records, TBED_RECORD_LOAD, 1, 1000, GOLDEN_U64(0x7F0000004000), GOLDEN_U64(256),
                  GOLDEN_U64(tick));
    GOLDEN_RECORD(&records, TBED_RECORD_NAME, 2, name, GOLDEN_U64(tick));
    GOLDEN_RECORD(&records, TBED_RECORD_COUNTER, name, name, 0, 0);
    GOLDEN_RECORD(&records, TBED_RECORD_ANCHOR, GOLDEN_U64(tick), GOLDEN_U64(1700000000000000000),
                  GOLDEN_U64(tick));
    GOLDEN_RECORD(&records, TBED_RECORD_END, 2, 0, GOLDEN_U64(tick));
    golden_seal(&records);
}

static void put_events(struct golden_file *file, uint32_t name)
{
    struct golden_block events =
        golden_page(file, &(struct golden_start){.kind = TBED_BLOCK_EVENTS, .stream = 2, .depth = 1});
    struct golden_words arguments = {.count = 0}, counter = {.count = 0}, end = {.count = 0};
    golden_open_span(&events, 5, name);
    golden_event(&events, TBED_TAG_BEGIN, name, 1);
    golden_event(&events, TBED_TAG_INSTANT, 42, 2);
    golden_time(&events, 1);
    golden_pair(&events, name, 3, TBED_PAIR_COUNTER, 7);
    golden_argument_u64(&arguments, TBED_ARG_U64, TBED_ID_INVALID, 7);
    golden_argument(&arguments, TBED_ARG_TEXT, name, "hello", 5);
    golden_extended(&events, name, 4, TBED_EXT_INSTANT, 0, &arguments);
    golden_argument_u64(&counter, TBED_ARG_I64, TBED_ID_INVALID, 8);
    golden_extended(&events, name, 5, TBED_EXT_COUNTER, 0, &counter);
    golden_fixed(&end, GOLDEN_FIRST_TICK + 1);
    golden_extended(&events, name, 6, TBED_EXT_END, 0, &end);
    golden_event(&events, TBED_TAG_END, name, 7);
    golden_seal(&events);
}

static void put_plain_events(struct golden_block events, uint32_t name, uint32_t span_count)
{
    for (uint32_t i = 0; i < span_count; i++)
        golden_event(&events, TBED_TAG_BEGIN, name, 10 * i + 1);
    for (uint32_t i = 0; i < span_count; i++)
        golden_event(&events, TBED_TAG_END, name, 10 * (span_count + i));
    if (span_count > 1)
        golden_event(&events, TBED_TAG_INSTANT, 1003, 100);
    golden_seal(&events);
}

static void make_small(struct golden_file *file)
{
    golden_begin(file, GOLDEN_PAGE_NBYTES);
    golden_cells(file, GOLDEN_CELL_NBYTES, 0, 0);
    uint32_t name = put_strings(file);
    put_records(file, name);
    put_plain_events(golden_cell(file, &(struct golden_start){.kind = TBED_BLOCK_EVENTS, .stream = 4}), name,
                     1);
    put_events(file, name);
    put_plain_events(golden_page(file, &(struct golden_start){.kind = TBED_BLOCK_EVENTS, .stream = 3}), name,
                     2);
    golden_counts(file, 5, 1, 2000);
    golden_shut(file);
}

static void expect(const char *folder, const struct golden_case *item)
{
    char line[512];
    snprintf(line, sizeof line, "invalid/%s %s %d %d %d%s%s", item->name, item->damages,
             4 - item->strings_lost, 1 - item->bindings_lost, 14 - item->events_lost,
             item->asks != NULL ? " " : "", item->asks != NULL ? item->asks : "");
    golden_expect(folder, line);
}

static void write_cases(const char *folder, const struct golden_case *item)
{
    char invalid[4096];
    snprintf(invalid, sizeof invalid, "%s/invalid", folder);
    for (; item->name != NULL; item++) {
        struct golden_file file;
        make_small(&file);
        for (size_t i = 0; i < sizeof item->changes / sizeof item->changes[0]; i++)
            memcpy(file.bytes + item->changes[i].at, &item->changes[i].value, item->changes[i].nbytes);
        if (item->edit != NULL)
            item->edit(&file);
        mend_file(file.bytes, file.nbytes, MEND_ALL & ~item->kept_sums);
        golden_write(invalid, item->name, file.bytes, file.nbytes);
        expect(folder, item);
    }
}

void golden_invalid_write_all(const char *folder)
{
    write_cases(folder, golden_file_cases);
    write_cases(folder, golden_block_cases);
    write_cases(folder, golden_directory_cases);
    write_cases(folder, golden_event_cases);
    write_cases(folder, golden_string_cases);
    write_cases(folder, golden_record_cases);
}
