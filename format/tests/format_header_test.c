/*
 * The header page: each field at the limits of its range, with the status, offset and value that the check returns; and
 * every non-zero byte of a new file's header.
 *
 * Source: spec/format.md, sections 3 and 12.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/checksum.h"
#include "format/file/header.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { PAGE = 4096 };

static _Alignas(8) uint8_t page[PAGE + 1];

static const struct tbed_header_fields usual = {.page_nbytes = PAGE,
                                                .file_id = 0x1122334455667788,
                                                .ring_page_count = 3,
                                                .clock = TBED_CLOCK_MONOTONIC,
                                                .ticks_per_second = 1000000000,
                                                .anchor_ticks = 1,
                                                .anchor_realtime_ns = -2,
                                                .anchor_monotonic_ns = 3,
                                                .resolution_ns = 4,
                                                .clock_reason = TBED_CLOCK_ASKED_FOR};
static const struct tbed_header_fields of_user = {
    .page_nbytes = PAGE, .file_id = 1, .clock = TBED_CLOCK_USER, .clock_unit = "sixteen letters!"};

static void put(size_t offset, uint64_t value, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        page[offset + i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(size_t offset, size_t nbytes)
{
    uint64_t value = 0;
    for (size_t i = nbytes; i-- > 0;)
        value = value << 8 | page[offset + i];
    return value;
}

static void make(const struct tbed_header_fields *fields)
{
    memset(page, 0, sizeof page);
    tbed_header_make(page, fields);
}

/* Puts the checksum right, wherever the header's size says that it is. */
static void mend(void)
{
    size_t nbytes = (size_t)get(60, 4);
    if (nbytes >= TBED_HEADER_FIXED_NBYTES && nbytes <= TBED_HEADER_FIXED_MAX)
        put(nbytes - 8, tbed_header_checksum(page, nbytes), 8);
}

static void expect(enum tbed_status status, uint64_t offset, uint64_t detail)
{
    struct tbed_header_fields fields = {.file_id = 77};
    struct tbed_error error = {.status = TBED_OK, .offset = 1, .detail = 1};
    enum tbed_status found = tbed_header_check(page, PAGE, &fields, &error);
    assert_string_equal(tbed_status_name(found), tbed_status_name(status));
    if (status == TBED_OK)
        return;
    assert_int_equal(error.status, status);
    assert_int_equal(error.offset, offset);
    assert_int_equal(error.detail, detail);
    assert_int_equal(error.system_errno, 0);
    assert_int_equal(fields.file_id, 77); /* untouched */
}

static void a_new_header_has_its_fields(void **state)
{
    (void)state;
    make(&usual);
    static const struct {
        size_t offset, nbytes;
        uint64_t value;
    } expected[] = {
        {8, 4, TBED_FORMAT_VERSION},
        {12, 4, PAGE},
        {16, 8, 0},
        {24, 8, 0},
        {32, 8, 0x1122334455667788},
        {40, 4, 0x1FFFFFFF},
        {44, 4, 0x20000000},
        {48, 4, 0x3FFFFFFF},
        {52, 4, 3},
        {56, 4, TBED_CLOCK_MONOTONIC},
        {60, 4, TBED_HEADER_FIXED_NBYTES},
        {64, 8, 1000000000},
        {72, 8, 1},
        {80, 8, UINT64_MAX - 1},
        {88, 8, 3},
        {112, 4, 4},
        {offsetof(struct tbed_disk_header, page_count), 8, 4},
        {offsetof(struct tbed_disk_header, next_stream), 8, 1},
        {offsetof(struct tbed_disk_header, state), 4, TBED_STATE_OPEN},
    };
    assert_memory_equal(page, TBED_MAGIC, 8);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_int_equal(get(expected[i].offset, expected[i].nbytes), expected[i].value);
    assert_int_equal(get(offsetof(struct tbed_disk_header, checksum), 8),
                     tbed_header_checksum(page, TBED_HEADER_FIXED_NBYTES));
    struct tbed_header_fields fields;
    struct tbed_error error;
    assert_int_equal(tbed_header_check(page, PAGE, &fields, &error), TBED_OK);
    assert_int_equal(fields.fixed_nbytes, TBED_HEADER_FIXED_NBYTES);
    assert_true(fields.page_nbytes == PAGE && fields.file_id == usual.file_id && fields.ring_page_count == 3);
    assert_true(fields.clock == usual.clock && fields.ticks_per_second == usual.ticks_per_second);
    assert_true(fields.anchor_ticks == 1 && fields.anchor_realtime_ns == -2 &&
                fields.anchor_monotonic_ns == 3);
    assert_int_equal(fields.resolution_ns, 4);
    assert_int_equal(fields.clock_reason, TBED_CLOCK_ASKED_FOR);
    make(&of_user);
    assert_int_equal(tbed_header_check(page, PAGE, &fields, &error), TBED_OK);
    assert_string_equal(fields.clock_unit, "sixteen letters!");
}

/* A value at an offset of the header of 'usual', or of 'of_user'. */
static const struct {
    bool is_of_user;
    uint32_t offset, nbytes;
    uint64_t value;
    enum tbed_status status;
} cases[] = {
    {false, 8, 4, TBED_FORMAT_VERSION + 1, TBED_ERR_VERSION},
    {false, 8, 4, TBED_FORMAT_VERSION - 1, TBED_ERR_VERSION},
    {false, 16, 8, UINT64_MAX, TBED_OK}, /* compatible flags */
    {false, 24, 8, 1, TBED_ERR_FLAGS},
    {false, 24, 8, UINT64_C(1) << 63, TBED_ERR_FLAGS},
    {false, 12, 4, TBED_PAGE_NBYTES_MIN / 2, TBED_ERR_PAGE_SIZE},
    {false, 12, 4, TBED_PAGE_NBYTES_MAX * 2, TBED_ERR_PAGE_SIZE},
    {false, 12, 4, TBED_PAGE_NBYTES_MIN + 1, TBED_ERR_PAGE_SIZE},
    {false, 12, 4, 3 * TBED_PAGE_NBYTES_MIN, TBED_ERR_PAGE_SIZE},
    {false, 12, 4, 0, TBED_ERR_PAGE_SIZE},
    {false, 32, 8, 0, TBED_ERR_FILE_ID},
    {false, 32, 8, UINT64_MAX, TBED_OK},
    {false, 40, 4, TBED_ID_MAX_RESERVED + 1, TBED_ERR_ID_SPACE},
    {false, 64, 8, 999, TBED_ERR_CLOCK},
    {false, 64, 8, 1000, TBED_OK},
    {false, 64, 8, 1000000000000, TBED_OK},
    {false, 64, 8, 1000000000001, TBED_ERR_CLOCK},
    {false, 56, 4, 0, TBED_ERR_CLOCK},
    {false, 56, 4, TBED_CLOCK_X86_TSC, TBED_OK},
    {false, 56, 4, TBED_CLOCK_ARM64_VIRTUAL, TBED_OK},
    {false, 56, 4, TBED_CLOCK_USER, TBED_ERR_CLOCK}, /* it has a rate */
    {false, 56, 4, TBED_CLOCK_USER + 1, TBED_ERR_CLOCK},
    {false, 96, 1, 'x', TBED_ERR_CLOCK}, /* a unit */
    {false, 111, 1, 'x', TBED_ERR_CLOCK},
    {false, 112, 4, 1000000000, TBED_OK},
    {false, 112, 4, 1000000001, TBED_ERR_CLOCK},
    {false, 112, 4, 0, TBED_OK},
    {false, 117, 1, 1, TBED_ERR_HEADER_ZERO},
    {false, 247, 1, 1, TBED_ERR_HEADER_ZERO},
    {true, 64, 8, 0, TBED_OK},
    {true, 64, 8, 1000, TBED_ERR_CLOCK},
    {true, 112, 4, 1, TBED_ERR_CLOCK},
    {true, 96, 1, ' ', TBED_OK},
    {true, 96, 1, '~', TBED_OK},
    {true, 96, 1, 0x1F, TBED_ERR_CLOCK},
    {true, 96, 1, 0x7F, TBED_ERR_CLOCK},
    {true, 111, 1, 0x7F, TBED_ERR_CLOCK},
    {true, 111, 1, 0, TBED_OK},
    {true, 110, 1, 0, TBED_ERR_CLOCK}, /* a letter after the end */
    {true, 96, 1, 0, TBED_ERR_CLOCK},
    {true, 96, 8, 0, TBED_ERR_CLOCK},
};

/* Where a reader says that the fault is, and what it found there. */
static void expect_case(size_t i)
{
    enum tbed_status status = cases[i].status;
    uint64_t offset = cases[i].offset;
    if (status == TBED_ERR_CLOCK)
        expect(status, 56, get(56, 4));
    else if (status == TBED_ERR_HEADER_ZERO)
        expect(status, 117, 0);
    else
        expect(status, offset, cases[i].value);
}

static void each_field_has_its_limits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make(cases[i].is_of_user ? &of_user : &usual);
        put(cases[i].offset, cases[i].value, cases[i].nbytes);
        mend();
        expect_case(i);
    }
}

static void a_reason_fits_its_clock(void **state)
{
    static const uint32_t highest[] = {[TBED_CLOCK_X86_TSC] = TBED_CLOCK_ASKED_FOR,
                                       [TBED_CLOCK_ARM64_VIRTUAL] = TBED_CLOCK_ASKED_FOR,
                                       [TBED_CLOCK_MONOTONIC] = TBED_CLOCK_NOT_STEADY,
                                       [TBED_CLOCK_USER] = TBED_CLOCK_UNTOLD};
    (void)state;
    for (uint32_t clock = TBED_CLOCK_X86_TSC; clock <= TBED_CLOCK_USER; clock++)
        for (uint32_t reason = 0; reason < 256; reason++) {
            make(clock == TBED_CLOCK_USER ? &of_user : &usual);
            put(56, clock, 4);
            put(116, reason, 1);
            mend();
            if (reason <= highest[clock])
                expect(TBED_OK, 0, 0);
            else
                expect(TBED_ERR_CLOCK, 56, clock);
        }
}

static void each_end_of_the_id_space_is_fixed(void **state)
{
    (void)state;
    for (size_t offset = 40; offset <= 48; offset += 4)
        for (int more = -1; more <= 1; more += 2) {
            make(&usual);
            put(offset, get(offset, 4) + (uint64_t)(int64_t)more, 4);
            mend();
            expect(TBED_ERR_ID_SPACE, 40, get(40, 4));
        }
}

static void the_checksum_is_at_the_end_of_the_header(void **state)
{
    (void)state;
    for (uint32_t nbytes = 0; nbytes <= TBED_HEADER_FIXED_MAX + TBED_HEADER_FIXED_STEP; nbytes += 8) {
        make(&usual);
        put(TBED_HEADER_FIXED_NBYTES - 8, 0, 8);
        put(60, nbytes, 4);
        mend();
        bool is_size = nbytes >= TBED_HEADER_FIXED_NBYTES && nbytes <= TBED_HEADER_FIXED_MAX &&
                       nbytes % TBED_HEADER_FIXED_STEP == 0;
        expect(is_size ? TBED_OK : TBED_ERR_HEADER_SIZE, 60, nbytes);
        if (!is_size)
            continue;
        put(nbytes - 8, get(nbytes - 8, 8) ^ 1, 8);
        expect(TBED_ERR_HEADER_CHECKSUM, nbytes - 8, get(nbytes - 8, 8));
    }
}

static void a_file_that_ends_in_its_header_is_cut(void **state)
{
    struct tbed_header_fields fields;
    struct tbed_error error;
    (void)state;
    make(&usual);
    assert_int_equal(tbed_header_check(page, 0, &fields, &error), TBED_ERR_EMPTY);
    assert_true(error.offset == 0 && error.detail == 0);
    for (size_t nbytes = 1; nbytes < PAGE; nbytes++) {
        assert_int_equal(tbed_header_check(page, nbytes, &fields, &error), TBED_ERR_HEADER_CUT);
        assert_true(error.offset == nbytes && error.detail == nbytes);
    }
    assert_int_equal(tbed_header_check(page, PAGE, &fields, &error), TBED_OK);
    for (size_t at = 0; at < 8; at++) {
        page[at] ^= 1;
        assert_int_equal(tbed_header_check(page, at, &fields, &error),
                         at == 0 ? TBED_ERR_EMPTY : TBED_ERR_HEADER_CUT);
        assert_int_equal(tbed_header_check(page, at + 1, &fields, &error), TBED_ERR_NOT_A_TRACE);
        assert_true(error.offset == 0 && error.detail == 0);
        assert_int_equal(tbed_header_check(page, PAGE, &fields, &error), TBED_ERR_NOT_A_TRACE);
        assert_true(error.offset == 0 && error.detail == 0);
        assert_int_equal(tbed_header_fixed_check(page, &fields, &error), TBED_ERR_NOT_A_TRACE);
        assert_true(error.offset == 0 && error.detail == 0);
        page[at] ^= 1;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_header_has_its_fields),
        cmocka_unit_test(each_field_has_its_limits),
        cmocka_unit_test(a_reason_fits_its_clock),
        cmocka_unit_test(each_end_of_the_id_space_is_fixed),
        cmocka_unit_test(the_checksum_is_at_the_end_of_the_header),
        cmocka_unit_test(a_file_that_ends_in_its_header_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
