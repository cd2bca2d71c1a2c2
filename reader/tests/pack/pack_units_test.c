/*
 * Units of packed traces: every block comes back as it was, and a hostile unit is refused or gives some blocks, without
 * a crash and without more memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/event.h"
#include "format/layout.h"
#include "reader/tests/pack/unit_case.h"

static void assert_round(const struct unit_case *unit)
{
    assert_true(unit_case_round(unit));
}

/* ---- Blocks of files ---- */

static uint8_t *read_file(const char *path, size_t *nbytes_ret)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    uint8_t *bytes = malloc(1 << 22);
    assert_non_null(bytes);
    *nbytes_ret = fread(bytes, 1, 1 << 22, file);
    fclose(file);
    return bytes;
}

/* As units of as many blocks as one can have, and of one block. */
static void check_file(const char *path)
{
    size_t nbytes;
    uint8_t *bytes = read_file(path, &nbytes);
    for (uint32_t count = 1; count <= PACK_UNIT_BLOCKS_MAX; count += PACK_UNIT_BLOCKS_MAX - 1)
        for (size_t at = 0; at < nbytes; at += (size_t)count * 4096) {
            struct unit_case unit = unit_case_new(count, 4096);
            unit_case_fill(&unit, bytes + at, nbytes - at);
            assert_round(&unit);
            unit_case_free(&unit);
        }
    free(bytes);
}

static size_t check_folder(const char *folder)
{
    size_t count = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        char path[512];
        if (strstr(entry->d_name, ".tbed") == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        check_file(path);
        count++;
    }
    closedir(listing);
    return count;
}

static void blocks_of_all_golden_files_come_back(void **state)
{
    (void)state;
    assert_true(check_folder("spec/golden/valid") > 10);
    assert_true(check_folder("spec/golden/invalid") > 50);
}

/* ---- Random blocks ---- */

static void random_blocks_come_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        uint32_t block_nbytes = 4096u << seed % 5, most = tbed_unit_count_max(block_nbytes);
        struct unit_case unit = unit_case_new(1 + (uint32_t)(seed * 7 % most), block_nbytes);
        unit_case_make(&unit, seed);
        assert_round(&unit);
        unit_case_free(&unit);
    }
}

static void the_largest_units_come_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct unit_case unit = unit_case_new(seed % 2 == 0 ? 1 : 16, seed % 2 == 0 ? 1 << 20 : 1 << 16);
        unit_case_make(&unit, 1000 + seed);
        assert_round(&unit);
        unit_case_free(&unit);
    }
}

/* Bytes that no method makes smaller, behind a header of each kind. */
static void noise_comes_back_and_costs_one_byte(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind <= 5; kind++) {
        struct unit_case unit = unit_case_new(2, 8192);
        uint64_t random = kind;
        size_t nbytes;
        for (size_t i = 0; i < 2 * 8192; i++)
            unit.bytes[i] = (uint8_t)unit_random(&random);
        unit.blocks[0][0] = unit.blocks[1][0] = (uint8_t)kind;
        free(unit_case_pack(&unit, &nbytes));
        assert_int_equal(nbytes, 1 + 2 * 8192);
        assert_round(&unit);
        unit_case_free(&unit);
    }
}

/* A writer that was killed leaves half a record; damage leaves anything. Each changed byte must come back. */
static void changed_blocks_come_back(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct unit_case unit = unit_case_new(2, 4096);
        unit_case_make(&unit, seed);
        for (uint32_t i = 0; i < 8; i++) {
            unit.bytes[unit_random(&random) % 8192] = (uint8_t)unit_random(&random);
            unit.bytes[unit_random(&random) % 96] ^= (uint8_t)(1 << unit_random(&random) % 8);
            assert_round(&unit);
        }
        unit_case_free(&unit);
    }
}

/* What is packed does not depend on what was packed before, so files are the same however many threads make them. */
static void a_unit_is_packed_the_same_after_others(void **state)
{
    (void)state;
    uint8_t *first[20];
    size_t nbytes[20], again;
    for (uint64_t pass = 0; pass < 2; pass++)
        for (uint64_t i = 0; i < 20; i++) {
            uint64_t seed = pass == 0 ? i : 19 - i;
            struct unit_case unit = unit_case_new(3, 8192);
            unit_case_make(&unit, seed);
            uint8_t *packed = unit_case_pack(&unit, pass == 0 ? &nbytes[seed] : &again);
            unit_case_free(&unit);
            if (pass == 0) {
                first[seed] = packed;
                continue;
            }
            assert_int_equal(again, nbytes[seed]);
            assert_memory_equal(packed, first[seed], again);
            free(packed);
            free(first[seed]);
        }
}

/* ---- What the columns are for ---- */

/* A block of one stream in which spans of eight names follow one another, each 3 steps of 10 ticks long. */
static void make_calls(struct unit_case *unit)
{
    uint64_t tick = 1000;
    for (uint32_t i = 0; i < unit->unit.count; i++) {
        uint64_t *words = (uint64_t *)unit->blocks[i], base = tick;
        uint32_t count = unit->unit.block_nbytes / 8;
        words[0] = TBED_BLOCK_EVENTS;
        words[4] = base;
        words[5] = (uint64_t)unit->unit.block_nbytes << 32;
        words[6] = tick + 30 * (count - 9);
        for (uint32_t j = 8; j < count; j++, tick += 30)
            words[j] = tbed_event_make(TBED_TAG_BEGIN + j % 2, 100 + j / 2 % 8, tick - base);
        for (uint32_t j = 0; j < count; j++)
            words[j] = tbed_word_order(words[j]);
        tick -= 30;
    }
}

static void regular_calls_take_almost_nothing(void **state)
{
    (void)state;
    struct unit_case unit = unit_case_new(16, 65536);
    size_t nbytes;
    make_calls(&unit);
    free(unit_case_pack(&unit, &nbytes));
    assert_true(nbytes < 2000);
    assert_round(&unit);
    unit_case_free(&unit);
}

/* ---- Hostile units ---- */

/* Whatever is changed: the unit is refused, or gives some blocks. */
static void check_changes(const struct unit_case *unit, uint64_t *random, uint32_t changes)
{
    size_t nbytes;
    enum tbed_status status;
    uint8_t *packed = unit_case_pack(unit, &nbytes);
    for (uint32_t i = 0; i < changes; i++) {
        size_t at = unit_random(random) % (i % 2 == 0 ? nbytes : nbytes < 200 ? nbytes : 200);
        uint8_t old = packed[at];
        packed[at] ^= (uint8_t)(1 + unit_random(random) % 255);
        unit_case_is(unit, packed, nbytes, &status);
        assert_true(status == TBED_OK || status == TBED_ERR_PACKED_UNIT);
        packed[at] = old;
    }
    assert_true(unit_case_is(unit, packed, nbytes, &status)); /* nothing is left of what was refused */
    free(packed);
}

static void changed_units_are_survived(void **state)
{
    (void)state;
    uint64_t random = 9;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct unit_case unit = unit_case_new(2, 4096);
        unit_case_make(&unit, seed);
        check_changes(&unit, &random, 100);
        unit_case_free(&unit);
    }
}

/* Units whose columns are not compressed, so that each change is one of a value. */
static void changed_columns_are_survived(void **state)
{
    (void)state;
    static const char *const names[] = {"events-1", "events-2", "events-3", "strings-1", "records-1"};
    uint64_t random = 11;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[64];
        size_t nbytes;
        snprintf(path, sizeof path, "fuzz/unit/corpus/columns-%s", names[i]);
        uint8_t *input = read_file(path, &nbytes),
                *packed = input + 1; /* the fuzz target's first byte: two blocks */
        struct unit_case unit = unit_case_new(2, 4096);
        assert_int_equal(unit_case_unpack(&unit, packed, --nbytes), TBED_OK);
        assert_round(&unit);
        for (uint32_t j = 0; j < 1000; j++) {
            uint8_t *at = &packed[unit_random(&random) % nbytes], old = *at;
            *at = (uint8_t)unit_random(&random);
            enum tbed_status status = unit_case_unpack(&unit, packed, nbytes);
            assert_true(status == TBED_OK || status == TBED_ERR_PACKED_UNIT);
            *at = old;
        }
        unit_case_free(&unit);
        free(input);
    }
}

/* The bytes of a column in a unit that compresses none. */
static uint8_t *column_of(uint8_t *packed, uint32_t column, size_t *nbytes_ret)
{
    uint8_t *at = packed + 1; /* behind the method */
    uint64_t value = 0;
    for (uint32_t i = 0; i < 3 + column; i++) { /* the step, the common number, and the sizes */
        at += i > 2 ? value / 2 : 0;
        value = 0;
        uint32_t shift = 0;
        do
            value |= (uint64_t)(*at & 127) << shift, shift += 7;
        while (*at++ >= 128);
    }
    *nbytes_ret = value / 2;
    return at;
}

#define RUN_COLUMN 2

static void a_run_that_is_longer_than_the_events_is_refused(void **state)
{
    (void)state;
    size_t nbytes, run_nbytes;
    uint8_t *input = read_file("fuzz/unit/corpus/columns-events-1", &nbytes);
    uint8_t *run = column_of(input + 1, RUN_COLUMN, &run_nbytes);
    struct unit_case unit = unit_case_new(2, 4096);
    assert_true(run_nbytes > 1);
    assert_int_equal(unit_case_unpack(&unit, input + 1, nbytes - 1), TBED_OK);
    for (uint32_t i = 0; i < 100; i++) {
        run[run_nbytes - 1] = (uint8_t)(100 + i);
        assert_int_equal(unit_case_unpack(&unit, input + 1, nbytes - 1), TBED_ERR_PACKED_UNIT);
    }
    unit_case_free(&unit);
    free(input);
}

static void a_unit_that_is_cut_is_refused(void **state)
{
    (void)state;
    struct unit_case unit = unit_case_new(1, 4096);
    size_t nbytes;
    enum tbed_status status;
    unit_case_make(&unit, 3);
    uint8_t *packed = unit_case_pack(&unit, &nbytes);
    for (size_t cut = 0; cut < nbytes; cut++) {
        assert_false(unit_case_is(&unit, packed, cut, &status));
        assert_int_equal(status, TBED_ERR_PACKED_UNIT);
    }
    free(packed);
    unit_case_free(&unit);
}

static void a_unit_with_a_byte_too_many_is_refused(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind <= 3; kind++) {
        struct unit_case unit = unit_case_new(1, 4096);
        size_t nbytes;
        enum tbed_status status;
        unit.blocks[0][0] = (uint8_t)kind;
        uint8_t *packed = unit_case_pack(&unit, &nbytes);
        packed = realloc(packed, nbytes + 1);
        assert_non_null(packed);
        packed[nbytes] = 0;
        assert_false(unit_case_is(&unit, packed, nbytes + 1, &status));
        assert_int_equal(status, TBED_ERR_PACKED_UNIT);
        free(packed);
        unit_case_free(&unit);
    }
}

/* A frame of a few bytes that claims to hold more than the blocks do. */
static void a_unit_of_another_size_is_refused(void **state)
{
    (void)state;
    struct unit_case large = unit_case_new(4, 4096), small = unit_case_new(2, 4096);
    for (uint32_t kind = 0; kind <= 3; kind++) {
        size_t nbytes;
        enum tbed_status status;
        large.blocks[0][0] = small.blocks[0][0] = (uint8_t)kind;
        uint8_t *packed = unit_case_pack(&large, &nbytes);
        assert_false(unit_case_is(&small, packed, nbytes, &status));
        assert_int_equal(status, TBED_ERR_PACKED_UNIT);
        free(packed);
        packed = unit_case_pack(&small, &nbytes);
        assert_false(unit_case_is(&large, packed, nbytes, &status));
        assert_int_equal(status, TBED_ERR_PACKED_UNIT);
        free(packed);
    }
    unit_case_free(&large);
    unit_case_free(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_all_golden_files_come_back),
        cmocka_unit_test(random_blocks_come_back),
        cmocka_unit_test(the_largest_units_come_back),
        cmocka_unit_test(noise_comes_back_and_costs_one_byte),
        cmocka_unit_test(changed_blocks_come_back),
        cmocka_unit_test(a_unit_is_packed_the_same_after_others),
        cmocka_unit_test(regular_calls_take_almost_nothing),
        cmocka_unit_test(changed_units_are_survived),
        cmocka_unit_test(changed_columns_are_survived),
        cmocka_unit_test(a_run_that_is_longer_than_the_events_is_refused),
        cmocka_unit_test(a_unit_that_is_cut_is_refused),
        cmocka_unit_test(a_unit_with_a_byte_too_many_is_refused),
        cmocka_unit_test(a_unit_of_another_size_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
