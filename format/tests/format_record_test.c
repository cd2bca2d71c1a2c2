/*
 * Records: each size, each field and each range at the limits of what spec/format.md, section 7, allows. The table of
 * fields has the letters of spec/decoder.py, which was written from the specification alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 80, NBYTES_MAX = 8 + 40 + ROOM };

/* The meaning of each 32-bit field from offset 8 on. */
static const char *const fields_of[] = {
    [1] = "s..i...a", [2] = "sst.i...", [3] = "si..",    [4] = "i.kpii.b..",  [5] = "si......", [6] = "si..",
    [7] = "i.",       [8] = "i.i0",     [9] = ".0",      [10] = "......",     [11] = "ii00",    [12] = "s0..",
    [13] = "i.",      [14] = "i.",      [15] = "....s.", [16] = ".l........", [17] = "i.",
};
enum { TYPES = sizeof fields_of / sizeof fields_of[0] };

static const struct range {
    char letter;
    uint32_t least, most;
} ranges[] = {{'0', 0, 0},  {'s', 1, UINT32_MAX}, {'i', 0, 0x3FFFFFFF}, {'k', 1, 2}, {'t', 1, 4},
              {'p', 0, 31}, {'b', 0, 64},         {'l', 0, 4},          {'a', 0, 1}};

static const struct range *range_of(char letter)
{
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (ranges[i].letter == letter)
            return &ranges[i];
    return NULL;
}

static _Alignas(8) uint8_t record[NBYTES_MAX];

static void put(size_t offset, uint32_t value)
{
    for (size_t i = 0; i < 4; i++)
        record[offset + i] = (uint8_t)(value >> 8 * i);
}

/* A record with the least that each field may be, and room after its fixed part. Returns its head. */
static uint64_t make(uint32_t type)
{
    size_t count = strlen(fields_of[type]);
    memset(record, 0, sizeof record);
    for (size_t i = 0; i < count; i++)
        put(8 + 4 * i, fields_of[type][i] != '.' ? range_of(fields_of[type][i])->least : 0);
    uint64_t head = tbed_record_head_make(type, (uint32_t)(8 + 4 * count + ROOM));
    put(0, (uint32_t)head);
    put(4, (uint32_t)(head >> 32));
    return head;
}

static void expect(uint64_t head, enum tbed_status status, uint64_t detail)
{
    uint64_t found_detail = 12345;
    enum tbed_status found = tbed_record_check(record, head, &found_detail);
    assert_string_equal(tbed_status_name(found), tbed_status_name(status));
    if (status != TBED_OK)
        assert_int_equal(found_detail, detail);
}

static void each_type_has_a_least_size(void **state)
{
    (void)state;
    for (uint32_t type = 0; type < TYPES + 3; type++) {
        uint32_t least = type > 0 && type < TYPES ? (uint32_t)(8 + 4 * strlen(fields_of[type])) : 8;
        for (uint32_t nbytes = 0; nbytes < NBYTES_MAX; nbytes++) {
            uint64_t head = tbed_record_head_make(type, nbytes);
            bool is_size = nbytes % 8 == 0 && nbytes >= least;
            assert_int_equal(tbed_record_head_check(head, nbytes),
                             is_size ? TBED_OK : TBED_ERR_RECORD_LENGTH);
            assert_int_equal(tbed_record_head_check(head, UINT64_MAX),
                             is_size ? TBED_OK : TBED_ERR_RECORD_LENGTH);
            if (nbytes > 0)
                assert_int_equal(tbed_record_head_check(head, nbytes - 1), TBED_ERR_RECORD_LENGTH);
        }
    }
}

static void each_field_has_its_range(void **state)
{
    static const uint32_t values[] = {0,  1,  2,  3,          31,         32,         33,
                                      63, 64, 65, 0x1FFFFFFF, 0x3FFFFFFF, 0x40000000, UINT32_MAX};
    (void)state;
    for (uint32_t type = 1; type < TYPES; type++) {
        expect(make(type), TBED_OK, 0);
        for (size_t i = 0; i < strlen(fields_of[type]); i++)
            for (size_t j = 0; j < sizeof values / sizeof values[0]; j++) {
                const struct range *range = range_of(fields_of[type][i]);
                uint64_t head = make(type);
                uint32_t value = values[j];
                if (range == NULL || (range->letter == 'b' && value > ROOM)) /* more than there is room for */
                    continue;
                put(8 + 4 * i, value);
                bool is_in = value >= range->least && value <= range->most;
                bool is_range =
                    i == 0 && (type == 4 || type == 8 || type == 13 || type == 17) && value >= 0x1FFFFFFF;
                if (!is_range || !is_in) /* below is a test of its own */
                    expect(head, is_in ? TBED_OK : TBED_ERR_RECORD_FIELD, value);
            }
        uint64_t head = make(type);
        expect(head | UINT64_C(1) << 16, TBED_ERR_RECORD_FIELD, 1);
        expect(head | UINT64_C(0x8000) << 16, TBED_ERR_RECORD_FIELD, 0x8000);
    }
}

/* Where the count is, how large an item is, and its fields. */
static const struct {
    uint32_t type, count_offset, item_nbytes;
    const char *fields;
} counted[] = {{4, 36, 1, ""},    {7, 12, 8, ".."},     {9, 8, 8, "ii"},
               {13, 12, 8, "ii"}, {14, 12, 16, "ii.0"}, {17, 12, 8, "ii"}};

static void counted_items_fit_in_the_record(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        uint32_t fixed = (uint32_t)(8 + 4 * strlen(fields_of[counted[i].type]));
        uint32_t fitting = ROOM / counted[i].item_nbytes;
        for (uint32_t count = fitting - 1; count <= fitting + 1; count++) {
            uint64_t head = make(counted[i].type);
            put(counted[i].count_offset, count);
            for (uint32_t at = 0; counted[i].type == 13 && at < fitting; at++)
                put(fixed + 8 * at + 4, 0x20000001); /* no parent */
            for (uint32_t at = 0; counted[i].type == 17 && at < fitting; at++)
                put(fixed + 8 * at, 0x20000001); /* no place */
            if (counted[i].type == 4 && count <= fitting)
                expect(head, TBED_ERR_RECORD_FIELD, count); /* at most 64 */
            else
                expect(head, count <= fitting ? TBED_OK : TBED_ERR_RECORD_LENGTH, count);
            put(counted[i].count_offset, UINT32_MAX);
            expect(head, TBED_ERR_RECORD_LENGTH, UINT32_MAX);
        }
        for (size_t item = 0; item < 3; item++)
            for (size_t field = 0; field < strlen(counted[i].fields); field++) {
                uint64_t head = make(counted[i].type);
                size_t offset = fixed + item * counted[i].item_nbytes + 4 * field;
                const struct range *range = range_of(counted[i].fields[field]);
                if (range == NULL)
                    continue;
                put(counted[i].count_offset, (uint32_t)item); /* it is behind the last one */
                for (uint32_t at = 0; counted[i].type == 13 && at < 3; at++)
                    put(fixed + 8 * at + 4, 0x20000001);
                for (uint32_t at = 0; counted[i].type == 17 && at < 3; at++)
                    put(fixed + 8 * at, 0x20000001);
                put(offset, range->most + 1);
                expect(head, TBED_OK, 0);
                put(counted[i].count_offset, (uint32_t)item + 1);
                expect(head, TBED_ERR_RECORD_FIELD, range->most + 1);
            }
    }
}

/* Units and stacks take reserved ids; a binding also METADATA, alone. */
static void ranges_of_ids_end_with_the_reserved_ones(void **state)
{
    static const struct {
        uint32_t first, count;
        bool is_reserved, is_bindable;
    } cases[] = {
        {0, 0, true, true},
        {0, 0x20000000, true, true},
        {0, 0x20000001, false, false},
        {0x1FFFFFFF, 1, true, true},
        {0x1FFFFFFF, 2, false, false},
        {0x20000000, 0, true, true},
        {0x20000000, 1, false, true},
        {0x20000000, 2, false, false},
        {0x20000001, 0, false, false},
        {0x20000001, UINT32_MAX, false, false},
        {5, UINT32_MAX, false, false},
        {0x3FFFFFFF, 1, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t head = make(4);
        put(8, cases[i].first);
        put(12, cases[i].count);
        expect(head, cases[i].is_reserved ? TBED_OK : TBED_ERR_RECORD_RANGE, cases[i].first);
        head = make(8);
        put(8, cases[i].first);
        put(12, cases[i].count);
        expect(head, cases[i].is_bindable ? TBED_OK : TBED_ERR_RECORD_RANGE, cases[i].first);
        head = make(9); /* a list binds one by one */
        put(8, 2);
        put(16 + 8, cases[i].first);
        bool is_one_bindable = cases[i].first <= 0x20000000;
        expect(head, is_one_bindable ? TBED_OK : TBED_ERR_RECORD_RANGE, cases[i].first);
    }
}

/* The parent of a stack has a lower id, or there is none. */
static void stacks_refer_to_stacks_before_them(void **state)
{
    static const struct {
        uint32_t first, parent;
        bool is_allowed;
    } cases[] = {
        {100, 101, true},
        {100, 102, false},
        {100, 103, false},
        {100, 0, true},
        {100, 0x20000001, true},
        {100, 0x20000000, false},
        {0x1FFFFFFD, 0x1FFFFFFE, true},
        {0x1FFFFFFE, 0, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t head = make(13);
        put(8, cases[i].first);
        put(12, 3);
        for (uint32_t at = 0; at < 3; at++)
            put(16 + 8 * at + 4, 0x20000001);
        put(16 + 16 + 4, cases[i].parent); /* of the third */
        bool is_range = cases[i].first <= 0x1FFFFFFD;
        expect(head, cases[i].is_allowed ? TBED_OK : TBED_ERR_RECORD_RANGE,
               is_range ? cases[i].parent : cases[i].first);
    }
}

static void records_of_later_versions_are_not_looked_at(void **state)
{
    (void)state;
    memset(record, 0xFF, sizeof record);
    expect(tbed_record_head_make(TYPES, 64), TBED_OK, 0);
    expect(tbed_record_head_make(0xFFFF, 8), TBED_OK, 0);
    expect(tbed_record_head_make(TYPES, 64) | 1 << 16, TBED_ERR_RECORD_FIELD, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_has_a_least_size),
        cmocka_unit_test(each_field_has_its_range),
        cmocka_unit_test(counted_items_fit_in_the_record),
        cmocka_unit_test(ranges_of_ids_end_with_the_reserved_ones),
        cmocka_unit_test(stacks_refer_to_stacks_before_them),
        cmocka_unit_test(records_of_later_versions_are_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
