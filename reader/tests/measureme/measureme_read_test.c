/*
 * Hand-made profiles of every format are read correctly, wherever pages cut them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/measureme/measureme_support.h"

#include <sys/mman.h>

static void assert_event(const struct mm_file *file, uint64_t number, uint64_t id, uint64_t thread,
                         uint64_t begin, uint64_t end, enum mm_event_type type)
{
    struct mm_event event = event_get(file, number);
    assert_int_equal(event.id, id);
    assert_int_equal(event.thread, thread);
    assert_int_equal(event.begin, begin);
    assert_int_equal(event.end, end);
    assert_int_equal(event.type, type);
    assert_text(file, event.kind, "Query");
}

/* The contents made by profile_sample(), written out again. */
static void check_sample(const struct mm_file *file, uint32_t version)
{
    struct mm_info info;
    mm_info(file, &info);
    assert_int_equal(info.version, version);
    assert_int_equal(info.paged, version >= 6);
    assert_int_equal(info.damage_count, 0);
    assert_int_equal(info.event_count, version >= 8 ? 7 : 6);
    uint64_t id = event_get(file, 0).id;
    assert_event(file, 0, id, 1, 150, 150, MM_INSTANT);
    assert_text(file, id, "a\xC3\xA9\xE2\x86\x92\xF0\x9F\x8E\x82z");
    assert_text(file, event_get(file, 1).id, "");
    assert_event(file, 2, 3, 2, 0x123456789AB, 0x223456789AB, MM_INTERVAL);
    assert_text(file, 3, "bound last");
    assert_text(file, 0, "bound first");
    assert_text(file, 4, "<unknown>");
    assert_text(file, event_get(file, 3).id,
                version == 0 ? "left\x1E"
                               "right"
                             : "a\xC3\xA9\xE2\x86\x92\xF0\x9F\x8E\x82z\x1EQuery");
    assert_event(file, 4, 4242, 1, 400, 399, MM_INTERVAL);
    assert_event(file, 5, event_get(file, 5).id, 0xFFFFFFFF, 0, 0xFFFFFFFFFFFD, MM_INTERVAL);
    assert_text(file, event_get(file, 5).id,
                version == 0 ? "xleftright\xC3\xBF" : "x<unknown>bound last\xC3\xBF");
    if (version >= 8)
        assert_event(file, 6, id, 1, 0x7FFFFFFFFFFF, 0, MM_INTEGER);
    assert_text(file, info.metadata_id,
                "{ \"start_time\": 12, \"process_id\": 34, \"cmd\": \"made by hand\" }");
    assert_text(file, info.invalid_id, "<unknown>");
}

static void every_format_is_read_as_made(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        struct profile profile;
        profile_sample(&profile, versions[i]);
        struct profile_input input = input_make(&profile, 1 << 18);
        struct mm_file *file = input_open(&input);
        check_sample(file, versions[i]);
        mm_close(file);
        assert_int_equal(profile_compare(input.bytes, input.nbytes, true), TBED_OK);
        input_free(&input);
        profile_free(&profile);
    }
}

static void pages_may_cut_everything_anywhere(void **state)
{
    (void)state;
    for (uint32_t version = 6; version <= 9; version++) {
        struct profile profile;
        profile_sample(&profile, version);
        for (size_t page_nbytes = 1; page_nbytes < 300; page_nbytes++) {
            struct profile_input input = input_make(&profile, page_nbytes);
            struct mm_file *file = input_open(&input);
            /*
             * Complete events from the first byte on would be taken for a stream without a header; this one has a
             * header.
             */
            check_sample(file, version);
            mm_close(file);
            assert_int_equal(profile_compare(input.bytes, input.nbytes, false), TBED_OK);
            input_free(&input);
        }
        profile_free(&profile);
    }
}

/* Each byte of the string streams is in the file at the reported offset. */
static void check_offsets(const struct mm_file *file, const struct profile *profile,
                          const struct profile_input *input)
{
    for (enum mm_stream stream = MM_STRING_DATA; stream < MM_STREAM_COUNT; stream++) {
        const struct profile_bytes *bytes = &profile->streams[stream];
        for (size_t address = 0; address < bytes->nbytes; address++) {
            uint64_t offset = mm_file_offset(file, stream, address);
            assert_true(offset < input->nbytes[0]);
            assert_int_equal(((const uint8_t *)input->bytes[0])[offset], bytes->bytes[address]);
        }
        assert_int_equal(mm_file_offset(file, stream, bytes->nbytes + 1), UINT64_MAX);
    }
}

/* Pages of 257 bytes and more are not copied; text that fills several is cut at every place of a code point. */
static void code_points_references_and_records_straddle_large_pages(void **state)
{
    (void)state;
    for (uint32_t version = 6; version <= 9; version++) {
        struct profile profile;
        profile_start(&profile, version);
        char text[1200];
        for (size_t i = 0; i < sizeof text - 1; i++)
            text[i] = "\xF0\x9F\x8E\x82\xE2\x86\x92\xC3\xA9-"[i % 10];
        memcpy(text + sizeof text - 10, "123456789", 10);
        uint64_t id = profile_regular(&profile, profile_text(&profile, text));
        struct profile_part parts[200];
        for (size_t i = 0; i < 200; i++)
            parts[i] = (struct profile_part){.id = i % 100};
        uint64_t many = profile_entry(&profile, parts, 200);
        for (uint64_t i = 0; i < 100; i++)
            profile_bind(&profile, i, i % 2 == 0 ? 8 : many);
        for (uint64_t i = 0; i < 40; i++)
            profile_interval(&profile, 1, i, 1, i, i + 1);
        for (size_t page_nbytes = 256; page_nbytes < 300; page_nbytes++) {
            struct profile_input input = input_make(&profile, page_nbytes);
            struct mm_file *file = input_open(&input);
            assert_text(file, id, text);
            check_offsets(file, &profile, &input);
            mm_close(file);
            assert_int_equal(profile_compare(input.bytes, input.nbytes, true), TBED_OK);
            input_free(&input);
        }
        profile_free(&profile);
    }
}

static bool is_inside(const struct profile_input *input, const void *at)
{
    const char *begin = input->bytes[0];
    return (const char *)at >= begin && (const char *)at < begin + input->nbytes[0];
}

static void events_and_text_stand_in_the_file_itself(void **state)
{
    (void)state;
    struct profile profile;
    struct mm_string_walk walk;
    struct mm_component component;
    profile_sample(&profile, 9);
    while (profile.streams[1].nbytes < 300)
        profile_text(&profile, "more");
    struct profile_input input = input_make(&profile, 1 << 18);
    struct mm_file *file = input_open(&input);
    struct mm_chunk chunk = mm_chunk_get(file, 0);
    assert_true(is_inside(&input, mm_chunk_get(file, 0).bytes) || chunk.event_count * 32u < 256);
    mm_string_walk_start(file, mm_string_first(file), &walk);
    assert_int_equal(mm_component_next(&walk, &component), TBED_OK);
    assert_true(is_inside(&input, component.text));
    uint64_t offset = mm_file_offset(file, MM_STRING_DATA, mm_string_first(file));
    assert_ptr_equal(component.text, (const char *)input.bytes[0] + offset);
    mm_close(file);
    input_free(&input);
    profile_free(&profile);
}

/* ---- Format 0's pairs ---- */

static void starts_and_ends_are_paired_by_thread_kind_and_id(void **state)
{
    (void)state;
    struct profile profile;
    struct mm_info info;
    profile_start(&profile, 0);
    profile_half(&profile, 1, 10, 7, 100, 0);
    profile_half(&profile, 1, 10, 8, 110, 0); /* the same on another thread */
    profile_half(&profile, 1, 11, 7, 120, 0); /* never ends: its parent does */
    profile_half(&profile, 1, 12, 7, 130, 0);
    profile_half(&profile, 1, 12, 7, 140, 0); /* recursion */
    profile_half(&profile, 1, 12, 7, 150, 1);
    profile_half(&profile, 1, 12, 7, 160, 1);
    profile_half(&profile, 2, 12, 7, 165, 1); /* of no start: its kind is another */
    profile_half(&profile, 1, 10, 7, 170, 1);
    profile_half(&profile, 1, 11, 7, 175, 1); /* too late */
    profile_half(&profile, 1, 10, 8, 105, 1); /* before its start: kept */
    profile_half(&profile, 1, 13, UINT64_MAX, 1ull << 61, 2);
    profile_half(&profile, 1, 14, 9, 190, 0); /* open at the end */
    profile_half(&profile, 1, 15, 9, 195, 3); /* no such type */
    struct profile_input input = input_make(&profile, 0);
    struct mm_file *file = input_open(&input);
    static const uint64_t wanted[][5] = {{12, 7, 140, 150, MM_INTERVAL},
                                         {12, 7, 130, 160, MM_INTERVAL},
                                         {10, 7, 100, 170, MM_INTERVAL},
                                         {10, 8, 110, 105, MM_INTERVAL},
                                         {13, UINT64_MAX, 1ull << 61, 1ull << 61, MM_INSTANT}};
    mm_info(file, &info);
    assert_int_equal(info.event_count, 5);
    for (size_t i = 0; i < 5; i++) {
        struct mm_event event = event_get(file, i);
        assert_int_equal(event.id, wanted[i][0]);
        assert_int_equal(event.thread, wanted[i][1]);
        assert_int_equal(event.begin, wanted[i][2]);
        assert_int_equal(event.end, wanted[i][3]);
        assert_int_equal(event.type, wanted[i][4]);
    }
    assert_int_equal(info.unmatched_start_count, 2);
    assert_int_equal(info.unmatched_end_count, 2);
    assert_int_equal(info.damage_count, 1);
    assert_damage(file, 0, TBED_ERR_PROFILE_EVENT, MM_EVENTS, 8 + 13 * 24, 3);
    assert_int_equal(mm_chunk_get(file, 0).offset, 8 + 5 * 24);
    mm_close(file);
    assert_int_equal(profile_compare(input.bytes, input.nbytes, true), TBED_OK);
    input_free(&input);
    profile_free(&profile);
}

/* A quadratic pairing takes minutes here. */
static void deep_stacks_and_ends_of_nothing_are_cheap(void **state)
{
    (void)state;
    enum { DEPTH = 200000 };
    struct profile profile;
    struct mm_info info;
    profile_start(&profile, 0);
    for (uint32_t i = 0; i < DEPTH; i++)
        profile_half(&profile, 1, i % 3, 7, i, 0);
    for (uint32_t i = 0; i < DEPTH; i++)
        profile_half(&profile, 1, 1000 + i, 7, i, 1);
    profile_half(&profile, 1, 0, 7, DEPTH, 1);
    struct profile_input input = input_make(&profile, 0);
    struct mm_file *file = input_open(&input);
    mm_info(file, &info);
    assert_int_equal(info.event_count, 1);
    assert_int_equal(event_get(file, 0).begin, (DEPTH - 1) / 3 * 3);
    assert_int_equal(info.unmatched_start_count, DEPTH - 1);
    assert_int_equal(info.unmatched_end_count, DEPTH);
    mm_close(file);
    input_free(&input);
    profile_free(&profile);
}

/* ---- Large ones ---- */

static void large_pages_become_chunks_of_at_most_256_kib(void **state)
{
    (void)state;
    struct profile profile;
    profile_start(&profile, 8);
    for (uint32_t i = 0; i < 50000; i++)
        profile_interval(&profile, 1, i, 1, i, i + 1);
    struct profile_input input = input_make(&profile, 1 << 30);
    struct mm_file *file = input_open(&input);
    assert_int_equal(mm_chunk_count(file), (50000 + 10921) / 10922);
    assert_int_equal(mm_chunk_get(file, 1).event_count, 10922);
    assert_int_equal(event_get(file, 49999).id, 49999);
    struct mm_chunk chunk = mm_chunk_get(file, 1);
    mm_release(file, &chunk); /* the caller's memory is left alone */
    assert_int_equal(event_get(file, 10922).id, 10922);
    mm_close(file);
    assert_int_equal(profile_compare(input.bytes, input.nbytes, false), TBED_OK);
    input_free(&input);
    profile_free(&profile);
}

static void ids_far_apart_and_close_together_are_found(void **state)
{
    (void)state;
    static const uint32_t steps[] = {1, 3, 4096, 99991};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct profile profile;
        struct mm_info info;
        profile_start(&profile, 9);
        uint64_t one = profile_text(&profile, "one"), two = profile_text(&profile, "two");
        for (uint64_t j = 0; j < 1000; j++) /* not in their order */
            profile_bind(&profile, j * 7 % 1000 * steps[i], j % 2 == 0 ? one : two);
        profile_bind(&profile, 7 * steps[i], one);
        struct profile_input input = input_make(&profile, 1000);
        struct mm_file *file = input_open(&input);
        assert_text(file, 0, "one");
        assert_text(file, 7 * steps[i], "one");
        assert_text(file, 21 * steps[i], "two");
        assert_text(file, 1000 * (uint64_t)steps[i], "<unknown>");
        mm_info(file, &info);
        assert_int_equal(info.max_virtual_id, 999 * (uint64_t)steps[i]);
        mm_close(file);
        assert_int_equal(profile_compare(input.bytes, input.nbytes, true), TBED_OK);
        input_free(&input);
        profile_free(&profile);
    }
}

/* ---- Ids near the limit ---- */

enum { LAST_ID = 0x3FFFFFFF, FIRST_REGULAR = 100000003 };

/* An entry that refers to the last id. */
static void put_reference(uint8_t *at, uint32_t version)
{
    static const char classic[] = "\xBF\xFF\xFF\xFF\xFF", narrow[] = "\xFE\xFF\xFF\xFF\x3F\xFF",
                      wide[] = "\xFE\xFF\xFF\xFF\x3F\0\0\0\0\xFF";
    size_t nbytes = version < 7 ? sizeof classic - 1 : version < 9 ? sizeof narrow - 1 : sizeof wide - 1;
    memcpy(at, version < 7 ? classic : version < 9 ? narrow : wide, nbytes);
}

/* A paged file with the first bytes of the string data, whose page says that it has 'nbytes' more than it. */
static struct profile_bytes paged_until_strings(const struct profile *profile, size_t more)
{
    struct profile_bytes file = {.bytes = NULL};
    const struct profile_bytes *data = &profile->streams[MM_STRING_DATA];
    profile_file_start(&file, profile->version);
    profile_page(&file, MM_EVENTS, profile->streams[MM_EVENTS].bytes, profile->streams[MM_EVENTS].nbytes);
    profile_page(&file, MM_STRING_INDEX, profile->streams[MM_STRING_INDEX].bytes,
                 profile->streams[MM_STRING_INDEX].nbytes);
    profile_page(&file, MM_STRING_DATA, data->bytes, data->nbytes);
    uint32_t nbytes = (uint32_t)(data->nbytes + more);
    for (unsigned i = 0; i < 4; i++)
        file.bytes[file.nbytes - data->nbytes - 4 + i] = (uint8_t)(nbytes >> 8 * i);
    return file;
}

/*
 * From format 4 on strings of 30-bit ids may lie up to 0x3FFFFFFF - FIRST_REGULAR into the string data. The memory before
 * them is never touched, so that it costs nothing.
 */
static void strings_at_the_30_bit_limit_are_found(void **state)
{
    enum { ROOM = 4096 };
    (void)state;
    for (uint32_t version = 4; version <= 9; version++) {
        struct profile profile;
        profile_start(&profile, version);
        struct profile_input input = {{NULL}, {0}};
        size_t last = LAST_ID - FIRST_REGULAR;
        struct profile_bytes *strings = &profile.streams[MM_STRING_DATA], start = {.bytes = NULL};
        int at = version < 6 ? MM_STRING_DATA : 0;
        if (version < 6)
            profile_bytes_add(&start, strings->bytes, strings->nbytes);
        else
            start = paged_until_strings(&profile, last + ROOM - strings->nbytes);
        size_t shift = start.nbytes - strings->nbytes, nbytes = shift + last + ROOM;
        uint8_t *data =
            mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        assert_ptr_not_equal(data, MAP_FAILED);
        memcpy(data, start.bytes, start.nbytes);
        put_reference(data + shift + last - 16, version);
        memcpy(data + shift + last, "the last\xFF", 9);
        for (int i = 0; i < MM_STREAM_COUNT && version < 6; i++) {
            input.bytes[i] = profile.streams[i].bytes;
            input.nbytes[i] = profile.streams[i].nbytes;
        }
        input.bytes[at] = data;
        input.nbytes[at] = nbytes;
        struct mm_file *file = input_open(&input);
        assert_int_equal(damage_count(file), 0);
        assert_text(file, LAST_ID, "the last");
        assert_text(file, LAST_ID - 16, "the last");
        assert_text(file, LAST_ID + UINT64_C(1) + ROOM, "<unknown>");
        mm_close(file);
        munmap(data, nbytes);
        profile_bytes_free(&start);
        profile_free(&profile);
    }
}

/* In format 3 the index has all ids, and the last may be that of any string. */
static void the_last_id_of_format_3_is_found_by_the_index(void **state)
{
    (void)state;
    struct profile profile;
    profile_start(&profile, 3);
    const struct profile_part reference = {.text = NULL, .id = LAST_ID};
    uint64_t text = profile_text(&profile, "the last"), other = profile_entry(&profile, &reference, 1);
    profile_bind(&profile, LAST_ID, text);
    profile_bind(&profile, LAST_ID - 1, other);
    struct profile_input input = input_make(&profile, 0);
    struct mm_file *file = input_open(&input);
    assert_text(file, LAST_ID, "the last");
    assert_text(file, LAST_ID - 1, "the last");
    assert_text(file, LAST_ID - 2, "<unknown>");
    mm_close(file);
    assert_int_equal(profile_compare(input.bytes, input.nbytes, true), TBED_OK);
    input_free(&input);
    profile_free(&profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_is_read_as_made),
        cmocka_unit_test(pages_may_cut_everything_anywhere),
        cmocka_unit_test(code_points_references_and_records_straddle_large_pages),
        cmocka_unit_test(events_and_text_stand_in_the_file_itself),
        cmocka_unit_test(starts_and_ends_are_paired_by_thread_kind_and_id),
        cmocka_unit_test(deep_stacks_and_ends_of_nothing_are_cheap),
        cmocka_unit_test(large_pages_become_chunks_of_at_most_256_kib),
        cmocka_unit_test(ids_far_apart_and_close_together_are_found),
        cmocka_unit_test(strings_at_the_30_bit_limit_are_found),
        cmocka_unit_test(the_last_id_of_format_3_is_found_by_the_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
