/*
 * Damaged profiles: the damage is reported with its place, and everything intact around it is read.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tests/measureme/measureme_support.h"

#include "format/tests/sanitizer.h"

#include <malloc.h>

/* ---- What cannot be opened ---- */

static void assert_refused(const void *bytes, size_t nbytes, enum tbed_status status, uint64_t offset,
                           uint64_t detail)
{
    struct profile_input input = input_paged(bytes, nbytes);
    struct mm_file *file = NULL;
    struct tbed_error error;
    assert_int_equal(mm_open_memory(input.bytes, input.nbytes, &file, &error), status);
    assert_int_equal(mm_open_memory(input.bytes, input.nbytes, &file, NULL), status);
    assert_null(file);
    assert_int_equal(error.status, status);
    assert_int_equal(error.offset, offset);
    assert_int_equal(error.detail, detail);
    assert_int_equal(profile_compare(input.bytes, input.nbytes, false), status);
    input_free(&input);
}

static void what_is_no_profile_is_refused(void **state)
{
    (void)state;
    assert_refused("", 0, TBED_ERR_EMPTY, UINT64_MAX, 0);
    assert_refused("MMP", 3, TBED_ERR_NOT_A_TRACE, UINT64_MAX, 0);
    assert_refused("MMPE\t\0\0\0", 8, TBED_ERR_NOT_A_TRACE, UINT64_MAX, 0);
    assert_refused("MMSD\t\0\0\0", 8, TBED_ERR_NOT_A_TRACE, UINT64_MAX, 0); /* as the events' file */
    assert_refused("MMPD\t\0\0", 7, TBED_ERR_PROFILE_CUT, 7, 0);
    assert_refused("MMES\3\0", 6, TBED_ERR_PROFILE_CUT, 6, 0);
    assert_true(mm_is_profile("MMPD", 4) && mm_is_profile("MMES\3", 5) && mm_is_profile("MMSI", 4));
    assert_false(mm_is_profile("MMP", 3) || mm_is_profile("MMPE", 4) || mm_is_profile("", 0));
}

static void versions_that_are_not_known_are_told(void **state)
{
    (void)state;
    static const uint32_t paged[] = {0, 1, 2, 3, 4, 5, 10, 0x109, UINT32_MAX};
    static const uint32_t three[] = {1, 2, 6, 7, 8, 9, 10, 0x103, UINT32_MAX};
    uint8_t header[8];
    for (size_t i = 0; i < sizeof paged / sizeof paged[0]; i++) {
        memcpy(header, "MMPD", 4);
        *(tbed_le32 *)(header + 4) = tbed_le32_make(paged[i]);
        assert_refused(header, 8, TBED_ERR_PROFILE_VERSION, 4, paged[i]);
        memcpy(header, "MMES", 4);
        *(tbed_le32 *)(header + 4) = tbed_le32_make(three[i]);
        assert_refused(header, 8, TBED_ERR_PROFILE_VERSION, 4, three[i]);
    }
}

/* Also that a profile of the same bytes, counted in place, is that of its import. */
static void close_compared(struct mm_file *file, struct profile_input *input, bool is_paged)
{
    mm_close(file);
    assert_int_equal(profile_compare(input->bytes, input->nbytes, is_paged), TBED_OK);
    input_free(input);
}

static void close_all(struct mm_file *file, struct profile_input *input, struct profile *profile)
{
    mm_close(file);
    input_free(input);
    profile_free(profile);
}

/* ---- Cuts ---- */

static struct profile_bytes whole_file(uint32_t version)
{
    struct profile profile;
    profile_sample(&profile, version);
    struct profile_bytes file = profile_paged(&profile, 1 << 18);
    profile_free(&profile);
    return file;
}

/* The sample's pages: events, string data, index. */
static void a_cut_file_gives_all_events_before_the_cut(void **state)
{
    (void)state;
    for (uint32_t version = 6; version <= 9; version++) {
        struct profile_bytes whole = whole_file(version);
        size_t event_nbytes = version == 9 ? 32 : 24, in_all = version >= 8 ? 7 : 6;
        for (size_t nbytes = 8; nbytes < whole.nbytes; nbytes++) {
            struct profile_input input = input_paged(whole.bytes, nbytes);
            struct mm_file *file = input_open(&input);
            size_t wanted = nbytes < 21 ? 0 : (nbytes - 21) / event_nbytes;
            assert_int_equal(mm_event_count(file), wanted < in_all ? wanted : in_all);
            assert_true(damage_count(file) > 0);
            mm_close(file);
            assert_int_equal(profile_compare(input.bytes, input.nbytes, false), TBED_OK);
            input_free(&input);
        }
        profile_bytes_free(&whole);
    }
}

static void a_page_shorter_than_its_length_says_is_told(void **state)
{
    (void)state;
    struct profile_bytes whole = whole_file(9);
    uint32_t length = tbed_le32_at(whole.bytes + 9);
    struct profile_input input = input_paged(whole.bytes, 8 + 5 + 8 + 2 * 32 + 31);
    struct mm_file *file = input_open(&input);
    assert_int_equal(mm_event_count(file), 2);
    assert_damage(file, 0, TBED_ERR_PROFILE_CUT, 0, 8, length);
    assert_damage(file, 1, TBED_ERR_PROFILE_CUT, 0, 8 + 5 + 8 + 2 * 32, 0); /* the event */
    assert_damage(file, 2, TBED_ERR_PROFILE_STREAM, 0, UINT64_MAX, MM_STRING_DATA);
    assert_damage(file, 3, TBED_ERR_PROFILE_STREAM, 0, UINT64_MAX, MM_STRING_INDEX);
    assert_int_equal(damage_count(file), 4);
    assert_text(file, event_get(file, 0).id, "<unknown>");
    assert_text(file, 3, "<unknown>");
    mm_close(file);
    input_free(&input);
    profile_bytes_free(&whole);
}

static void a_length_past_the_end_takes_what_is_there(void **state)
{
    (void)state;
    struct profile_bytes file_bytes = {.bytes = NULL};
    struct profile profile;
    profile_start(&profile, 8);
    profile_interval(&profile, 1, 2, 3, 4, 5);
    profile_file_start(&file_bytes, 8);
    profile_page(&file_bytes, 0, profile.streams[0].bytes, profile.streams[0].nbytes);
    memset(file_bytes.bytes + 9, 0xFF, 4);
    struct profile_input input = input_paged(file_bytes.bytes, file_bytes.nbytes);
    struct mm_file *file = input_open(&input);
    assert_int_equal(mm_event_count(file), 1);
    assert_damage(file, 0, TBED_ERR_PROFILE_CUT, 0, 8, UINT32_MAX);
    mm_close(file);
    input_free(&input);
    profile_bytes_free(&file_bytes);
    profile_free(&profile);
}

/* ---- Pages and headers ---- */

static void pages_of_no_known_kind_are_skipped_by_their_length(void **state)
{
    (void)state;
    struct profile profile;
    struct profile_bytes file_bytes = {.bytes = NULL};
    profile_sample(&profile, 8);
    profile_file_start(&file_bytes, 8);
    for (uint8_t i = 0; i < 3; i++) {
        profile_page(&file_bytes, (uint8_t)(3 + 126 * i), "\0\1\2", 3);
        profile_page(&file_bytes, i, profile.streams[i].bytes, profile.streams[i].nbytes);
    }
    struct profile_input input = input_paged(file_bytes.bytes, file_bytes.nbytes);
    struct mm_file *file = input_open(&input);
    assert_int_equal(mm_event_count(file), 7);
    assert_text(file, 3, "bound last");
    assert_damage(file, 0, TBED_ERR_PROFILE_PAGE, 0, 8, 3);
    assert_null(strstr(tbed_status_text(TBED_ERR_PROFILE_PAGE), "long"));
    assert_damage(file, 1, TBED_ERR_PROFILE_PAGE, 0, 8 + 8 + 5 + profile.streams[0].nbytes, 129);
    assert_int_equal(damage_count(file), 3);
    close_compared(file, &input, true);
    profile_bytes_free(&file_bytes);
    profile_free(&profile);
}

static void headers_of_streams_that_are_wrong_are_told(void **state)
{
    (void)state;
    struct profile profile;
    profile_sample(&profile, 9);
    memcpy(profile.streams[0].bytes, "MMSI", 4);
    profile.streams[1].bytes[4] = 8;
    memcpy(profile.streams[2].bytes, "????", 4);
    struct profile_input input = input_make(&profile, 1 << 18);
    struct mm_file *file = input_open(&input);
    uint64_t data = 8 + 5 + profile.streams[0].nbytes + 5, index = data + profile.streams[1].nbytes + 5;
    assert_damage(file, 0, TBED_ERR_PROFILE_STREAM, 0, 13, 0x49534D4D);
    assert_damage(file, 1, TBED_ERR_PROFILE_STREAM, 0, data + 4, 8);
    assert_damage(file, 2, TBED_ERR_PROFILE_STREAM, 0, index, 0x3F3F3F3F);
    assert_int_equal(damage_count(file), 3);
    assert_int_equal(mm_event_count(file), 7); /* all the same */
    assert_text(file, 3, "bound last");
    close_all(file, &input, &profile);
}

static void events_without_any_header_are_read(void **state)
{
    (void)state;
    struct profile profile;
    profile_start(&profile, 5);
    profile_interval(&profile, 1, 2, 3, 4, 5);
    struct profile_input input = input_three(&profile);
    size_t nbytes = profile.streams[0].nbytes - 8;
    memmove((void *)input.bytes[0], (const uint8_t *)input.bytes[0] + 8, nbytes);
    input.nbytes[0] = nbytes;
    struct mm_file *file = input_open(&input);
    assert_int_equal(mm_event_count(file), 1);
    assert_int_equal(event_get(file, 0).end, 5);
    assert_damage(file, 0, TBED_ERR_PROFILE_STREAM, MM_EVENTS, 0, 1);
    close_compared(file, &input, true);
    profile_free(&profile);
}

static void string_files_of_another_version_are_left_out(void **state)
{
    (void)state;
    struct profile profile;
    profile_sample(&profile, 5);
    profile.streams[1].bytes[4] = 3;
    struct profile_input input = input_three(&profile);
    struct mm_file *file = input_open(&input);
    assert_int_equal(mm_event_count(file), 6);
    assert_damage(file, 0, TBED_ERR_PROFILE_STREAM, MM_STRING_DATA, 4, 3);
    assert_text(file, 3, "<unknown>");
    assert_text(file, event_get(file, 0).id, "<unknown>");
    close_compared(file, &input, true);
    profile_free(&profile);
}

static void missing_string_files_are_told(void **state)
{
    (void)state;
    struct profile profile;
    profile_sample(&profile, 3);
    struct profile_input input = input_three(&profile);
    free((void *)input.bytes[2]);
    input.bytes[2] = NULL;
    struct mm_file *file = input_open(&input);
    assert_int_equal(mm_event_count(file), 6);
    assert_damage(file, 0, TBED_ERR_PROFILE_STREAM, MM_STRING_INDEX, UINT64_MAX, MM_STRING_INDEX);
    assert_int_equal(damage_count(file), 1);
    assert_text(file, 3, "<unknown>");
    close_all(file, &input, &profile);
}

/* ---- Index ---- */

static void index_records_that_lead_nowhere_do_not_count(void **state)
{
    (void)state;
    struct profile profile;
    profile_start(&profile, 9);
    uint64_t address = profile_text(&profile, "right");
    profile_bind(&profile, 1, address);
    profile_bind(&profile, 1, profile.streams[1].nbytes); /* past the end: the one before counts */
    profile_bind(&profile, 2, 7);                         /* in the header */
    profile_bind(&profile, 3, UINT64_MAX);
    profile_bind(&profile, 100000002, address); /* INVALID means nothing */
    profile_bind(&profile, 100000011, address); /* nor has a regular id another meaning */
    profile_bind(&profile, UINT64_MAX, address);
    profile_bind(&profile, 100000000,
                 profile.streams[1].nbytes - 1); /* the highest id, the last byte: fine */
    profile_bytes_add(&profile.streams[2], "cut record", 10);
    struct profile_input input = input_make(&profile, 1 << 18);
    struct mm_file *file = input_open(&input);
    uint64_t index = input.nbytes[0] - profile.streams[2].nbytes;
    assert_int_equal(damage_count(file), 6 + 1);
    assert_damage(file, 0, TBED_ERR_PROFILE_INDEX, 0, index + 8 + 16, 1);
    assert_damage(file, 5, TBED_ERR_PROFILE_INDEX, 0, index + 8 + 6 * 16, UINT64_MAX);
    assert_damage(file, 6, TBED_ERR_PROFILE_CUT, 0, index + 8 + 8 * 16, 0);
    assert_text(file, 1, "right");
    assert_text(file, 2, "<unknown>");
    assert_text(file, 3, "<unknown>");
    assert_text(file, 100000000, "");
    assert_text(file, 100000002, "<unknown>");
    assert_text(file, 100000011, "right");
    close_all(file, &input, &profile);
}

/*
 * Small pages are joined in memory, although others lie between them in the file; places are still those in the file.
 */
static void a_record_in_small_pages_is_told_where_it_starts(void **state)
{
    (void)state;
    enum { RECORD_COUNT = 200, PIECE_NBYTES = 7 };
    static const uint8_t filler[1000];
    struct profile profile;
    struct profile_bytes bytes = {.bytes = NULL};
    uint64_t offsets[8 + RECORD_COUNT * 16];
    profile_start(&profile, 9);
    for (uint64_t i = 0; i < RECORD_COUNT; i++)
        profile_bind(&profile, i, UINT64_MAX);
    profile_file_start(&bytes, 9);
    const struct profile_bytes *index = &profile.streams[2];
    for (size_t at = 0; at < index->nbytes; at += PIECE_NBYTES) {
        size_t left = index->nbytes - at, nbytes = left < PIECE_NBYTES ? left : PIECE_NBYTES;
        profile_page(&bytes, at % 3 == 0 ? 1 : 3, filler, at % sizeof filler);
        profile_page(&bytes, 2, index->bytes + at, nbytes);
        for (size_t i = 0; i < nbytes; i++)
            offsets[at + i] = bytes.nbytes - nbytes + i;
    }
    struct profile_input input = {{bytes.bytes}, {bytes.nbytes}};
    struct mm_file *file = input_open(&input);
    struct mm_damage damage;
    size_t found = 0;
    for (size_t i = 0; mm_damage_get(file, i, &damage); i++)
        if (damage.status == TBED_ERR_PROFILE_INDEX)
            assert_int_equal(damage.offset, offsets[8 + 16 * found++]);
    assert_int_equal(found, RECORD_COUNT);
    assert_int_equal(mm_file_offset(file, MM_STRING_INDEX, index->nbytes), bytes.nbytes);
    mm_close(file);
    profile_bytes_free(&bytes);
    profile_free(&profile);
}

/* ---- Strings ---- */

static void assert_damaged_string(uint32_t version, const char *content, size_t nbytes, uint64_t damage)
{
    struct profile profile;
    struct mm_string_walk walk;
    struct mm_component component;
    enum tbed_status status;
    profile_start(&profile, version);
    profile_interval(&profile, 1, 1, 1, 1, 1);
    profile_bind(&profile, 1, 8);
    profile_bytes_add(&profile.streams[1], content, nbytes);
    uint64_t next = profile.streams[1].nbytes;
    profile_bytes_add(&profile.streams[1], version == 0 ? "\0" : "\xFF", 1);
    uint64_t after = profile_text(&profile, "next");
    struct profile_input input = input_make(&profile, 1 << 18);
    struct mm_file *file = input_open(&input);
    mm_string_walk_start(file, 8, &walk);
    while ((status = mm_component_next(&walk, &component)) == TBED_OK)
        continue;
    assert_int_equal(status, TBED_ERR_PROFILE_STRING);
    assert_int_equal(walk.damage_address, 8 + damage);
    const char *terminator = memchr(content + damage, version == 0 ? '\0' : '\xFF', nbytes - damage);
    assert_int_equal(walk.address, terminator != NULL ? 8 + (uint64_t)(terminator - content) + 1 : next + 1);
    if (terminator == NULL) {
        assert_int_equal(walk.address, after);
        assert_int_equal(mm_component_next(&walk, &component), TBED_OK);
        assert_memory_equal(component.text, "next", 4);
        assert_int_equal(mm_component_next(&walk, &component), TBED_END);
    }
    close_compared(file, &input, true);
    profile_free(&profile);
}

static void strings_that_are_not_utf8_are_told_and_skipped(void **state)
{
    (void)state;
    static const struct {
        const char *content;
        size_t nbytes;
        uint64_t damage;
    } cases[] = {
        {"ab\xC1\x80-", 5, 2},       /* too long for its value */
        {"ab\xE0\x9F\xBF-", 6, 2},   /* the same, of 3 bytes */
        {"\xF0\x8F\xBF\xBF-", 5, 0}, /* of 4 */
        {"\xED\xA0\x80-", 4, 0},     /* a surrogate */
        {"\xF4\x90\x80\x80-", 5, 0}, /* past U+10FFFF */
        {"12345678\xF5-", 10, 8},    /* never a first byte */
        {"\xE2\x86-", 3, 0},         /* ends inside a code point */
        {"\xE2\x86\xFF-", 4, 0},     /* the same, by the terminator */
    };
    for (uint32_t version = 3; version <= 9; version++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
            assert_damaged_string(version, cases[i].content, cases[i].nbytes, cases[i].damage);
    assert_damaged_string(7, "ab\x80-", 4, 2); /* a reference, in formats up to 6 */
    assert_damaged_string(6, "ab\xFE-", 4, 2); /* a reference, in formats from 7 on */
    assert_damaged_string(0, "\1\4\0ab\xE2\x86", 7, 5);
    assert_damaged_string(0, "\2\1\1\1\1", 5, 0);   /* a tag that never had an encoding */
    assert_damaged_string(0, "\1\xF0\xF0zz", 5, 0); /* longer than the file */
}

static void a_string_without_end_is_told(void **state)
{
    (void)state;
    static const char *const endings[] = {"abc", "abc\xFE\1\2", "\x85\1\2", "\xE2\x86", "\1\2"};
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        for (size_t j = 0; j < sizeof endings / sizeof endings[0]; j++) {
            struct profile profile;
            struct mm_string_walk walk;
            struct mm_component component;
            enum tbed_status status;
            profile_start(&profile, versions[i]);
            profile_instant(&profile, 1, 1, 1, 1);
            profile_bytes_add(&profile.streams[1], endings[j], strlen(endings[j]));
            struct profile_input input = input_make(&profile, 1 << 18);
            struct mm_file *file = input_open(&input);
            mm_string_walk_start(file, 8, &walk);
            while ((status = mm_component_next(&walk, &component)) == TBED_OK)
                continue;
            assert_int_equal(status, TBED_ERR_PROFILE_STRING);
            assert_int_equal(walk.address, profile.streams[1].nbytes);
            assert_int_equal(mm_component_next(&walk, &component), TBED_ERR_PROFILE_STRING);
            assert_int_equal(walk.address, profile.streams[1].nbytes);
            mm_string_walk_start(file, UINT64_MAX, &walk);
            assert_int_equal(mm_component_next(&walk, &component), TBED_ERR_PROFILE_STRING);
            mm_string_walk_start(file, 4, &walk);
            assert_int_equal(mm_component_next(&walk, &component), TBED_ERR_PROFILE_STRING);
            mm_close(file);
            input_free(&input);
            profile_free(&profile);
        }
    }
}

/* ---- Sizes ---- */

static size_t memory_used(void)
{
#if TEST_IS_SANITIZED || !defined(__GLIBC__)
    return 0; /* its allocator counts otherwise, or does not */
#else
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#endif
}

/* Pages of 'length' bytes each fill 'nbytes'; they cost less memory than the file has bytes. */
static void assert_tiny_pages_are_cheap(uint8_t tag, uint32_t length, size_t nbytes)
{
    struct profile_bytes bytes = {.bytes = NULL};
    struct mm_info info;
    uint8_t page[300] = {tag, (uint8_t)length, (uint8_t)(length >> 8)};
    profile_file_start(&bytes, 8);
    uint64_t count = 0;
    for (; bytes.nbytes + 5 + length <= nbytes; count++)
        profile_bytes_add(&bytes, page, 5 + length);
    struct profile_input input = {{bytes.bytes}, {bytes.nbytes}};
    size_t before = memory_used();
    struct mm_file *file = input_open(&input);
    mm_info(file, &info);
    assert_true(memory_used() - before < 2 * nbytes + (1 << 20));
    if (tag < MM_STREAM_COUNT)
        assert_int_equal(info.stream_nbytes[tag], count * length);
    else
        assert_true(info.damage_count >= count);
    mm_close(file);
    profile_bytes_free(&bytes);
}

static void hostile_lists_of_pages_cost_less_than_the_file(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {0, 1, 7, 25, 255, 257};
    for (uint8_t tag = 0; tag <= MM_STREAM_COUNT; tag++)
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
            assert_tiny_pages_are_cheap(tag, lengths[i], 4 << 20);
}

/* One id at the upper limit does not cause a table for all ids below it. */
static void a_sparse_index_costs_by_its_records(void **state)
{
    (void)state;
    struct profile profile;
    struct mm_info info;
    profile_start(&profile, 9);
    uint64_t address = profile_text(&profile, "far");
    for (uint64_t i = 0; i < 100; i++)
        profile_bind(&profile, 100000000 - 1000000 * i, address);
    struct profile_input input = input_make(&profile, 1 << 18);
    struct mm_file *file = input_open(&input);
    size_t before = memory_used();
    mm_info(file, &info);
    assert_true(memory_used() - before < 65536);
    assert_text(file, 100000000, "far");
    assert_text(file, 99999999, "<unknown>");
    close_all(file, &input, &profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_profile_is_refused),
        cmocka_unit_test(versions_that_are_not_known_are_told),
        cmocka_unit_test(a_cut_file_gives_all_events_before_the_cut),
        cmocka_unit_test(a_page_shorter_than_its_length_says_is_told),
        cmocka_unit_test(a_length_past_the_end_takes_what_is_there),
        cmocka_unit_test(pages_of_no_known_kind_are_skipped_by_their_length),
        cmocka_unit_test(headers_of_streams_that_are_wrong_are_told),
        cmocka_unit_test(events_without_any_header_are_read),
        cmocka_unit_test(string_files_of_another_version_are_left_out),
        cmocka_unit_test(missing_string_files_are_told),
        cmocka_unit_test(index_records_that_lead_nowhere_do_not_count),
        cmocka_unit_test(a_record_in_small_pages_is_told_where_it_starts),
        cmocka_unit_test(strings_that_are_not_utf8_are_told_and_skipped),
        cmocka_unit_test(a_string_without_end_is_told),
        cmocka_unit_test(hostile_lists_of_pages_cost_less_than_the_file),
        cmocka_unit_test(a_sparse_index_costs_by_its_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
